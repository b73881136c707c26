// Waiting on the host: short sleeps between looks, so that a waiting thread leaves its core to those that work.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>

#include "backend.hpp"

namespace harness {

constexpr Ns look_again_ns = 20'000;
constexpr Ns heed_abort_ns = 10'000'000;

inline Ns monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<Ns>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Until that time of the monotonic clock, or the run is aborted.
inline void sleep_until(Ns time) {
    while (!aborted.load(std::memory_order_relaxed)) {
        const Ns now = monotonic_ns();
        if (now >= time) return;
        const Ns target = std::min(time, now + heed_abort_ns);
        const timespec until{target / 1'000'000'000, target % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
}

// Until the flag is at least so much, or the run is aborted; false in that case.
inline bool await(const Flag& flag, std::uint64_t least) {
    while (flag.load(std::memory_order_acquire) < least) {
        if (aborted.load(std::memory_order_relaxed)) return false;
        const timespec pause{0, look_again_ns};
        nanosleep(&pause, nullptr);
    }
    return true;
}

}  // namespace harness
