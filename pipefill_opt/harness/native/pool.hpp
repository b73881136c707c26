// Accounts for memory of a stated size: what goes beyond it fails, as it would on a device of that size.
#pragma once

#include <algorithm>
#include <cstdint>

namespace harness {

class Pool {
public:
    explicit Pool(std::int64_t size) : size_(size) {}

    // False, and nothing changes, if `bytes` more would pass the size or `limit`.
    bool take(std::int64_t bytes, std::int64_t limit) {
        if (bytes > std::min(size_, limit) - used_) return false;
        used_ += bytes;
        high_ = std::max(high_, used_);
        return true;
    }
    bool take(std::int64_t bytes) { return take(bytes, size_); }
    void give(std::int64_t bytes) { used_ -= bytes; }

    std::int64_t size() const { return size_; }
    std::int64_t used() const { return used_; }
    std::int64_t high() const { return high_; }

private:
    std::int64_t size_;
    std::int64_t used_ = 0;
    std::int64_t high_ = 0;
};

}  // namespace harness
