// Flags in memory that several processes may share.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "backend.hpp"

namespace harness {

class SharedFlags {
public:
    // path: a file of at least that many words, which every process of the run maps; empty: this process alone.
    SharedFlags(std::size_t count, const std::string& path) : bytes_(std::max<std::size_t>(count, 1) * sizeof(Flag)) {
        int file = -1;
        if (!path.empty()) {
            file = open(path.c_str(), O_RDWR | O_CLOEXEC);
            if (file < 0 || lseek(file, 0, SEEK_END) < static_cast<off_t>(bytes_)) {
                if (file >= 0) close(file);
                throw InputError("shared: expected a file of at least " + std::to_string(bytes_) + " bytes, not " + path);
            }
        }
        void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory for flags");
        flags_ = static_cast<Flag*>(memory);
    }
    ~SharedFlags() { munmap(static_cast<void*>(flags_), bytes_); }
    SharedFlags(const SharedFlags&) = delete;
    SharedFlags& operator=(const SharedFlags&) = delete;

    Flag* data() const { return flags_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    Flag* flags_ = nullptr;
};

}  // namespace harness
