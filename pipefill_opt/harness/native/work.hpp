// What a stream can be told to do.
#pragma once

#include <cstdint>
#include <string>

#include "json.hpp"

namespace harness {

using Ns = std::int64_t;

// A start and an end by the device's clock, in ns.
struct Span {
    Ns start = 0;
    Ns end = 0;
};

struct Work {
    // tiles: `loops` rounds of small matrix products in fast memory, so fine that a duration can be met to the microsecond.
    // gemm: `loops` products of m x k by k x n. copy: `loops` copies of `bytes`. sleep: `loops` ns without work.
    enum class Kind { none, tiles, gemm, copy, sleep };
    enum class Copy { device, in, out };

    Kind kind = Kind::none;
    std::int64_t loops = 1;
    std::int64_t m = 0, n = 0, k = 0;
    std::string type = "fp32";
    Copy copy = Copy::device;
    bool pinned = true;
    std::int64_t bytes = 0;
};

Work read_work(const Json& document, const std::string& where);
Json work_json(const Work& work);

}  // namespace harness
