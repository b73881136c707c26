// The device layer: streams that run work in order, events and flags that order streams, spans that the device itself writes.
// `host.cpp` and `cuda.cu` each implement it; all else in this folder is the same source for both.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "json.hpp"
#include "work.hpp"

namespace harness {

using Flag = std::atomic<std::uint64_t>;
static_assert(sizeof(Flag) == 8, "a flag is a word that devices and other processes can read");

// Set once when the run must end: a signal came, or something failed. Every wait ends then.
extern std::atomic<bool> aborted;

class Backend {
public:
    virtual ~Backend() = default;

    virtual const char* name() const = 0;
    // Name, driver, memory, clocks, temperature, what products are computed by.
    virtual Json info() = 0;
    // Where spans come from, their resolution, how far they may be off the host's clock.
    virtual Json clock() = 0;
    // The host's present time on the device's clock.
    virtual Ns now() = 0;

    virtual bool supports(const Work& work) const = 0;
    // Make this stream's buffers for this work. To be done before anything waits: an allocation may wait for the whole device.
    virtual void prepare(int stream, const Work& work) = 0;

    // Memory that the device can write spans to, and flags that it can read and write; both live as long as the backend.
    virtual Span* spans(std::size_t count) = 0;
    // path: a file that several processes share, or empty.
    virtual Flag* flags(std::size_t count, const std::string& path) = 0;

    virtual int make_stream() = 0;
    virtual int make_event() = 0;
    // These only enqueue. A span may be null: then nothing is timed.
    virtual void run(int stream, const Work& work, Span* span) = 0;
    virtual void record(int stream, int event) = 0;
    virtual void wait(int stream, int event) = 0;
    virtual void wait_flag(int stream, Flag* flag, std::uint64_t least) = 0;
    virtual void set_flag(int stream, Flag* flag, std::uint64_t value) = 0;
    // Until all that was enqueued has ended.
    virtual void synchronize(int stream) = 0;
    // To be called by every thread that enqueues, before it does.
    virtual void enter_thread() {}
    // Let work that waits on the device know of `aborted`.
    virtual void heed_abort() {}

    // Device memory, null if there is not so much.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) = 0;
};

std::unique_ptr<Backend> open_backend(int device);

}  // namespace harness
