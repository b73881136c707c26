// Messages that take a while.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "backend.hpp"
#include "wait.hpp"

namespace harness {

// Sets flags at times to come: messages of played devices that take a while.
class Post {
public:
    Post() : thread_([this] { loop(); }) {}
    ~Post() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Post(const Post&) = delete;
    Post& operator=(const Post&) = delete;

    void send(Ns due, Flag* flag, std::uint64_t value) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            letters_.push({due, flag, value});
        }
        changed_.notify_all();
    }

private:
    struct Letter {
        Ns due;
        Flag* flag;
        std::uint64_t value;
        bool operator<(const Letter& other) const { return due > other.due; }
    };

    void loop() {
        prctl(PR_SET_TIMERSLACK, 1UL);
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return closed_ || !letters_.empty(); });
            if (letters_.empty()) return;
            if (aborted.load()) {
                letters_ = {};
                continue;
            }
            const Letter next = letters_.top();
            const Ns left = next.due - monotonic_ns();
            if (left > 0) {
                changed_.wait_for(lock, std::chrono::nanoseconds(std::min(left, heed_abort_ns)));
                continue;
            }
            letters_.pop();
            next.flag->store(next.value);
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::priority_queue<Letter> letters_;
    bool closed_ = false;
    std::thread thread_;
};

// Hands messages of real devices on, their lag after they were sent: the device that sends cannot wait, and who receives may be busy meanwhile.
class Relay {
public:
    explicit Relay(Post& post) : post_(post) {}
    ~Relay() {
        closed_.store(true);
        if (thread_.joinable()) thread_.join();
    }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    void add(const Flag* sent, Flag* arrived, Ns lag) { routes_.push_back({sent, arrived, lag, 0}); }
    void begin() {
        if (!routes_.empty()) thread_ = std::thread([this] { loop(); });
    }

private:
    struct Route {
        const Flag* sent;
        Flag* arrived;
        Ns lag;
        std::uint64_t seen;
    };

    void loop() {
        prctl(PR_SET_TIMERSLACK, 1UL);
        while (!closed_.load() && !aborted.load()) {
            for (Route& route : routes_) {
                const std::uint64_t value = route.sent->load(std::memory_order_acquire);
                if (value == route.seen) continue;
                route.seen = value;
                post_.send(monotonic_ns() + route.lag, route.arrived, value);
            }
            const timespec pause{0, look_again_ns};
            nanosleep(&pause, nullptr);
        }
    }

    Post& post_;
    std::vector<Route> routes_;
    std::atomic<bool> closed_{false};
    std::thread thread_;
};

}  // namespace harness
