// The host backend: streams are threads with a queue each, work is real work, spans come from the monotonic clock.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <vector>

#include "backend.hpp"
#include "shared.hpp"
#include "wait.hpp"

namespace harness {

std::atomic<bool> aborted{false};

namespace {

constexpr int side = 16;
volatile float sink = 0;

// One round of `tiles`: c += a b on tiles that stay in the first-level cache.
void multiply_tiles(const float* a, const float* b, float* c) {
    for (int i = 0; i < side; ++i)
        for (int k = 0; k < side; ++k) {
            const float factor = a[i * side + k];
            for (int j = 0; j < side; ++j) c[i * side + j] += factor * b[k * side + j];
        }
}

void run_tiles(std::int64_t loops) {
    alignas(64) float a[side * side], b[side * side], c[side * side];
    for (int i = 0; i < side * side; ++i) {
        a[i] = static_cast<float>(i % 7) * 0.01F;
        b[i] = static_cast<float>(i % 5) * 0.01F;
        c[i] = 0;
    }
    for (std::int64_t loop = 0; loop < loops; ++loop) {
        if ((loop & 0xfff) == 0 && aborted.load(std::memory_order_relaxed)) break;
        multiply_tiles(a, b, c);
    }
    sink = c[0];
}

template <typename Number>
void run_gemm(const Work& work, const Number* a, const Number* b, Number* c) {
    constexpr std::int64_t block = 64;
    for (std::int64_t loop = 0; loop < work.loops && !aborted.load(std::memory_order_relaxed); ++loop)
        for (std::int64_t i0 = 0; i0 < work.m; i0 += block)
            for (std::int64_t k0 = 0; k0 < work.k; k0 += block)
                for (std::int64_t i = i0; i < std::min(i0 + block, work.m); ++i)
                    for (std::int64_t k = k0; k < std::min(k0 + block, work.k); ++k) {
                        const Number factor = a[i * work.k + k];
                        for (std::int64_t j = 0; j < work.n; ++j) c[i * work.n + j] += factor * b[k * work.n + j];
                    }
}

// Bytes of page-aligned, touched memory; locked where that is asked for and allowed.
class Buffer {
public:
    Buffer(std::size_t bytes, bool pinned) : bytes_(bytes) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory for a buffer of " + std::to_string(bytes) + " bytes");
        memory_ = memory;
        std::memset(memory_, 0, bytes);
        locked_ = pinned && mlock(memory_, bytes) == 0;
    }
    ~Buffer() {
        if (locked_) munlock(memory_, bytes_);
        munmap(memory_, bytes_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    template <typename Number>
    Number* as() const {
        return static_cast<Number*>(memory_);
    }

private:
    std::size_t bytes_;
    void* memory_ = nullptr;
    bool locked_ = false;
};

class Stream {
public:
    Stream() : thread_([this] { loop(); }) {}
    ~Stream() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void put(std::function<void()> task) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_all();
    }

    void synchronize() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
    }

private:
    void loop() {
        prctl(PR_SET_TIMERSLACK, 1UL);  // else every sleep is 50 us longer
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            busy_ = true;
            lock.unlock();
            task();
            lock.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool closed_ = false;
    bool busy_ = false;
    std::thread thread_;
};

struct Event {
    std::uint64_t recorded = 0;
    std::atomic<std::uint64_t> done{0};
};

class Host final : public Backend {
public:
    ~Host() override { streams_.clear(); }

    const char* name() const override { return "host"; }

    Json info() override {
        Json document = Json::object();
        document.set("name", cpu_name());
        utsname system{};
        uname(&system);
        document.set("driver", std::string(system.sysname) + " " + system.release);
        document.set("cores", static_cast<std::int64_t>(std::thread::hardware_concurrency()));
        document.set("memory_bytes", static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
        document.set("products", "own");
        number_from("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", 1e-3, "clock_mhz", document);
        number_from("/sys/class/thermal/thermal_zone0/temp", 1e-3, "temperature_c", document);
        return document;
    }

    Json clock() override {
        timespec resolution{};
        clock_getres(CLOCK_MONOTONIC, &resolution);
        Json document = Json::object();
        document.set("source", "CLOCK_MONOTONIC, read by the thread that does the work");
        document.set("resolution_ns", static_cast<std::int64_t>(resolution.tv_nsec));
        document.set("host_offset_ns", 0);
        document.set("host_offset_uncertainty_ns", 0);
        return document;
    }

    Ns now() override { return monotonic_ns(); }

    bool supports(const Work& work) const override {
        return work.kind != Work::Kind::gemm || work.type == "fp32" || work.type == "fp64";
    }

    void prepare(int stream, const Work& work) override { buffers(stream, work); }

    Span* spans(std::size_t count) override {
        spans_.push_back(std::make_unique<std::vector<Span>>(count));
        return spans_.back()->data();
    }

    Flag* flags(std::size_t count, const std::string& path) override {
        flags_.push_back(std::make_unique<SharedFlags>(count, path));
        return flags_.back()->data();
    }

    int make_stream() override {
        streams_.push_back(std::make_unique<Stream>());
        return static_cast<int>(streams_.size()) - 1;
    }

    int make_event() override {
        events_.push_back(std::make_unique<Event>());
        return static_cast<int>(events_.size()) - 1;
    }

    void run(int stream, const Work& work, Span* span) override {
        const std::vector<Buffer*> memory = buffers(stream, work);
        put(stream, [work, memory, span] {
            if (aborted.load()) return;
            const Ns start = monotonic_ns();
            perform(work, memory);
            if (span != nullptr) *span = {start, monotonic_ns()};
        });
    }

    void record(int stream, int event) override {
        Event* const it = events_[static_cast<std::size_t>(event)].get();
        const std::uint64_t number = ++it->recorded;
        put(stream, [this, it, number] {
            const std::lock_guard<std::mutex> lock(mutex_);
            it->done.store(number);
            changed_.notify_all();
        });
    }

    void wait(int stream, int event) override {
        Event* const it = events_[static_cast<std::size_t>(event)].get();
        const std::uint64_t number = it->recorded;
        put(stream, [this, it, number] {
            std::unique_lock<std::mutex> lock(mutex_);
            while (it->done.load() < number && !aborted.load()) changed_.wait_for(lock, std::chrono::milliseconds(10));
        });
    }

    void wait_flag(int stream, Flag* flag, std::uint64_t least) override {
        put(stream, [flag, least] { await(*flag, least); });
    }

    void set_flag(int stream, Flag* flag, std::uint64_t value) override {
        put(stream, [flag, value] { flag->store(value); });
    }

    void synchronize(int stream) override { streams_[static_cast<std::size_t>(stream)]->synchronize(); }

    void* allocate(std::size_t bytes) override { return ::operator new(bytes, std::nothrow); }
    void release(void* memory) override { ::operator delete(memory); }

private:
    using Shape = std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, std::string, bool>;

    void put(int stream, std::function<void()> task) { streams_[static_cast<std::size_t>(stream)]->put(std::move(task)); }

    static std::string cpu_name() {
        std::ifstream file("/proc/cpuinfo");
        for (std::string line; std::getline(file, line);)
            if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
        return "unknown processor";
    }

    static void number_from(const char* path, double factor, const char* key, Json& document) {
        std::ifstream file(path);
        double number = 0;
        if (file >> number) document.set(key, number * factor);
    }

    std::vector<Buffer*> buffers(int stream, const Work& work) {
        if (work.kind != Work::Kind::gemm && work.kind != Work::Kind::copy) return {};
        const bool copies = work.kind == Work::Kind::copy;
        const Shape shape{stream, static_cast<int>(work.kind), copies ? work.bytes : work.m, work.n, work.k, work.type, work.pinned};
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<std::unique_ptr<Buffer>>& own = buffers_[shape];
        if (own.empty()) {
            const auto size = static_cast<std::int64_t>(work.type == "fp64" ? sizeof(double) : sizeof(float));
            const std::vector<std::int64_t> sizes = copies ? std::vector<std::int64_t>{work.bytes, work.bytes}
                : std::vector<std::int64_t>{work.m * work.k * size, work.k * work.n * size, work.m * work.n * size};
            for (const std::int64_t bytes : sizes) own.push_back(std::make_unique<Buffer>(static_cast<std::size_t>(bytes), copies && work.pinned));
        }
        std::vector<Buffer*> result;
        for (const auto& buffer : own) result.push_back(buffer.get());
        return result;
    }

    static void perform(const Work& work, const std::vector<Buffer*>& memory) {
        switch (work.kind) {
            case Work::Kind::none: break;
            case Work::Kind::tiles: run_tiles(work.loops); break;
            case Work::Kind::sleep: sleep_until(monotonic_ns() + work.loops); break;
            case Work::Kind::gemm:
                if (work.type == "fp64") run_gemm(work, memory[0]->as<double>(), memory[1]->as<double>(), memory[2]->as<double>());
                else run_gemm(work, memory[0]->as<float>(), memory[1]->as<float>(), memory[2]->as<float>());
                break;
            case Work::Kind::copy:
                for (std::int64_t loop = 0; loop < work.loops && !aborted.load(); ++loop)
                    std::memcpy(memory[1]->as<char>(), memory[0]->as<char>(), static_cast<std::size_t>(work.bytes));
                break;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Shape, std::vector<std::unique_ptr<Buffer>>> buffers_;
    std::vector<std::unique_ptr<std::vector<Span>>> spans_;
    std::vector<std::unique_ptr<SharedFlags>> flags_;
    std::vector<std::unique_ptr<Event>> events_;
    std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace

std::unique_ptr<Backend> open_backend(int device) {
    if (device != 0) throw InputError("device: the host backend has device 0 only, not " + std::to_string(device));
    return std::make_unique<Host>();
}

}  // namespace harness
