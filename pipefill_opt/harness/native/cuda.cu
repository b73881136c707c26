// The CUDA backend. Every span is written by the device: a stamp of %globaltimer in the stream, before and after the work.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <library_types.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "backend.hpp"
#include "shared.hpp"
#include "wait.hpp"

namespace harness {

std::atomic<bool> aborted{false};

namespace {

constexpr int side = 16;
constexpr int tile_threads = side * side;
constexpr unsigned device_pause_ns = 500;

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

__device__ Ns device_ns() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return static_cast<Ns>(now);
}

__global__ void stamp(Ns* where) {
    *where = device_ns();
    __threadfence_system();
}

// Ends when the flag is at least so much, or the run is aborted.
__global__ void await_flag(const volatile unsigned long long* flag, unsigned long long least, const volatile unsigned* stop) {
    while (*flag < least && *stop == 0) __nanosleep(device_pause_ns);
    __threadfence_system();
}

__global__ void put_flag(volatile unsigned long long* flag, unsigned long long value) {
    __threadfence_system();
    *flag = value;
    __threadfence_system();
}

__global__ void pause_for(Ns duration, const volatile unsigned* stop) {
    const Ns end = device_ns() + duration;
    while (device_ns() < end && *stop == 0) __nanosleep(device_pause_ns);
}

// Each block multiplies tiles in shared memory for so many loops.
__global__ void multiply_tiles(long long loops, float* out, const volatile unsigned* stop) {
    __shared__ float a[tile_threads], b[tile_threads];
    const int row = static_cast<int>(threadIdx.x) / side, column = static_cast<int>(threadIdx.x) % side;
    a[threadIdx.x] = static_cast<float>(threadIdx.x % 7) * 0.01F;
    b[threadIdx.x] = static_cast<float>(threadIdx.x % 5) * 0.01F;
    __syncthreads();
    float sum = 0;
    for (long long loop = 0; loop < loops; ++loop) {
        if ((loop & 0xfff) == 0 && *stop != 0) break;
#pragma unroll
        for (int k = 0; k < side; ++k) sum += a[row * side + k] * b[k * side + column];
        sum *= 0.5F;
    }
    out[blockIdx.x * tile_threads + threadIdx.x] = sum;
}

template <typename Number>
__device__ float widen(Number value) {
    return static_cast<float>(value);
}

template <typename Number>
__device__ Number narrow(float value) {
    return static_cast<Number>(value);
}

// c = a b, a tile of `side` x `side` a block: what computes products where there is no cuBLAS.
template <typename Number>
__global__ void multiply(const Number* a, const Number* b, Number* c, int m, int n, int k) {
    __shared__ float left[side][side + 1], right[side][side + 1];
    const int i = static_cast<int>(blockIdx.y) * side + static_cast<int>(threadIdx.y);
    const int j = static_cast<int>(blockIdx.x) * side + static_cast<int>(threadIdx.x);
    float sum = 0;
    for (int step = 0; step < k; step += side) {
        const int over = step + static_cast<int>(threadIdx.x), down = step + static_cast<int>(threadIdx.y);
        left[threadIdx.y][threadIdx.x] = i < m && over < k ? widen(a[static_cast<long long>(i) * k + over]) : 0.0F;
        right[threadIdx.y][threadIdx.x] = down < k && j < n ? widen(b[static_cast<long long>(down) * n + j]) : 0.0F;
        __syncthreads();
        for (int t = 0; t < side; ++t) sum += left[threadIdx.y][t] * right[t][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[static_cast<long long>(i) * n + j] = narrow<Number>(sum);
}

// A shared library that may or may not be there, under one of its names.
class Library {
public:
    explicit Library(std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    ~Library() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <typename Function>
    Function find(const char* name) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
    }

private:
    void* handle_ = nullptr;
};

// cuBLAS, as far as products need it.
class Blas {
public:
    Blas() : library_({"libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
        create_ = library_.find<int (*)(void**)>("cublasCreate_v2");
        destroy_ = library_.find<int (*)(void*)>("cublasDestroy_v2");
        set_stream_ = library_.find<int (*)(void*, cudaStream_t)>("cublasSetStream_v2");
        gemm_ = library_.find<Gemm>("cublasGemmEx");
        if (create_ == nullptr || destroy_ == nullptr || set_stream_ == nullptr || gemm_ == nullptr || create_(&handle_) != 0) handle_ = nullptr;
    }
    ~Blas() {
        if (handle_ != nullptr) destroy_(handle_);
    }
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;

    bool there() const { return handle_ != nullptr; }

    // Row-major c = a b is column-major c' = b' a'.
    void multiply(cudaStream_t stream, const Work& work, const void* a, const void* b, void* c) const {
        const float one = 1, zero = 0;
        const cudaDataType_t type = work.type == "fp16" ? CUDA_R_16F : work.type == "bf16" ? CUDA_R_16BF : CUDA_R_32F;
        const int compute = work.type == "tf32" ? compute_tf32 : compute_fp32;
        const int m = static_cast<int>(work.m), n = static_cast<int>(work.n), k = static_cast<int>(work.k);
        const std::lock_guard<std::mutex> lock(mutex_);  // several devices of one process share the handle, which has one stream at a time
        if (set_stream_(handle_, stream) != 0) throw std::runtime_error("cuBLAS refused a stream");
        if (gemm_(handle_, 0, 0, n, m, k, &one, b, type, n, a, type, k, &zero, c, type, n, compute, -1) != 0)
            throw std::runtime_error("cuBLAS refused a product of " + work.type);
    }

private:
    using Gemm = int (*)(void*, int, int, int, int, int, const void*, const void*, cudaDataType_t, int, const void*, cudaDataType_t, int,
                         const void*, void*, cudaDataType_t, int, int, int);
    static constexpr int compute_fp32 = 68, compute_tf32 = 77;

    Library library_;
    int (*create_)(void**) = nullptr;
    int (*destroy_)(void*) = nullptr;
    int (*set_stream_)(void*, cudaStream_t) = nullptr;
    Gemm gemm_ = nullptr;
    void* handle_ = nullptr;
    mutable std::mutex mutex_;
};

// What the management library says of clocks and temperature.
class Management {
public:
    Management() : library_({"libnvidia-ml.so.1", "libnvidia-ml.so"}) {
        const auto start = library_.find<int (*)()>("nvmlInit_v2");
        there_ = start != nullptr && start() == 0;
    }
    ~Management() {
        const auto stop = library_.find<int (*)()>("nvmlShutdown");
        if (there_ && stop != nullptr) stop();
    }
    Management(const Management&) = delete;
    Management& operator=(const Management&) = delete;

    void describe(const char* bus, Json& document) const {
        if (!there_) return;
        const auto version = library_.find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
        char text[96] = "";
        if (version != nullptr && version(text, sizeof text) == 0) document.set("driver", std::string(text));
        const auto find = library_.find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
        const auto clock = library_.find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
        const auto heat = library_.find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
        void* device = nullptr;
        if (find == nullptr || find(bus, &device) != 0) return;
        unsigned value = 0;
        if (clock != nullptr && clock(device, 1, &value) == 0) document.set("clock_mhz", static_cast<double>(value));
        if (clock != nullptr && clock(device, 2, &value) == 0) document.set("memory_clock_mhz", static_cast<double>(value));
        if (heat != nullptr && heat(device, 0, &value) == 0) document.set("temperature_c", static_cast<double>(value));
    }

private:
    Library library_;
    bool there_ = false;
};

// Memory of the device or of the host (pinned or not), zeroed, given back with the object.
class Memory {
public:
    enum class Place { device, pinned, pageable };

    Memory(std::size_t bytes, Place place) : place_(place) {
        if (place == Place::device) {
            check(cudaMalloc(&memory_, bytes), "device memory");
            check(cudaMemset(memory_, 0, bytes), "device memory");
        } else if (place == Place::pinned) {
            check(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "pinned memory");
            std::memset(memory_, 0, bytes);
        } else {
            memory_ = std::calloc(bytes, 1);
            if (memory_ == nullptr) throw std::runtime_error("no memory for a buffer of " + std::to_string(bytes) + " bytes");
            std::memset(memory_, 1, bytes);
        }
    }
    ~Memory() {
        if (place_ == Place::device) cudaFree(memory_);
        else if (place_ == Place::pinned) cudaFreeHost(memory_);
        else std::free(memory_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* get() const { return memory_; }

private:
    Place place_;
    void* memory_ = nullptr;
};

struct Registered {
    std::unique_ptr<SharedFlags> flags;
    explicit Registered(std::unique_ptr<SharedFlags> own) : flags(std::move(own)) {
        check(cudaHostRegister(flags->data(), flags->bytes(), cudaHostRegisterMapped | cudaHostRegisterPortable), "flags");
    }
    ~Registered() { cudaHostUnregister(flags->data()); }
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;
};

class Cuda final : public Backend {
public:
    explicit Cuda(int device) : device_(device) {
        // Loading a kernel at its first launch may wait for kernels that wait for it; so may streams that share a queue of the device.
        // The driver reads both when it starts, so that nothing may use CUDA before.
        setenv("CUDA_MODULE_LOADING", "EAGER", 1);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
        int count = 0;
        check(cudaGetDeviceCount(&count), "no CUDA device");
        if (device < 0 || device >= count) throw InputError("device: expected 0 to " + std::to_string(count - 1) + ", not " + std::to_string(device));
        check(cudaSetDevice(device), "device");
        check(cudaGetDeviceProperties(&properties_, device), "device");
        blas_ = std::make_unique<Blas>();  // of the device that is set now
        check(cudaDeviceGetPCIBusId(bus_, sizeof bus_, device), "device");
        check(cudaDriverGetVersion(&driver_), "driver");
        check(cudaRuntimeGetVersion(&runtime_), "runtime");
        stop_ = std::make_unique<Memory>(sizeof(unsigned), Memory::Place::pinned);
        tiles_ = 2 * properties_.multiProcessorCount;
        find_offset();
    }

    ~Cuda() override {
        *static_cast<volatile unsigned*>(stop_->get()) = 1;
        cudaDeviceSynchronize();  // what still runs after an error reads flags and buffers that go now
        for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
        for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }

    const char* name() const override { return "cuda"; }

    Json info() override {
        Json document = Json::object();
        document.set("name", std::string(properties_.name));
        management_.describe(bus_, document);
        document.set("cuda_driver", static_cast<std::int64_t>(driver_));
        document.set("cuda_runtime", static_cast<std::int64_t>(runtime_));
        document.set("compute_capability", std::to_string(properties_.major) + "." + std::to_string(properties_.minor));
        document.set("cores", static_cast<std::int64_t>(properties_.multiProcessorCount));
        document.set("memory_bytes", static_cast<std::int64_t>(properties_.totalGlobalMem));
        document.set("products", blas_->there() ? "cuBLAS" : "own");
        return document;
    }

    Json clock() override {
        Json document = Json::object();
        document.set("source", "%globaltimer, stamped in the stream before and after the work");
        document.set("resolution_ns", resolution_);
        document.set("host_offset_ns", offset_);
        document.set("host_offset_uncertainty_ns", uncertainty_);
        return document;
    }

    Ns now() override { return monotonic_ns() + offset_; }

    bool supports(const Work& work) const override {
        if (work.kind != Work::Kind::gemm) return true;
        if (work.type == "tf32") return blas_->there() && properties_.major >= 8;
        return work.type == "fp32" || work.type == "fp16" || (work.type == "bf16" && properties_.major >= 8);
    }

    void prepare(int stream, const Work& work) override {
        buffers(stream, work);
        if (work.kind != Work::Kind::gemm || !blas_->there()) return;
        run(stream, work, nullptr);  // the first call makes a workspace, and may wait for the whole device
        synchronize(stream);
    }

    Span* spans(std::size_t count) override {
        spans_.push_back(std::make_unique<Memory>(std::max<std::size_t>(count, 1) * sizeof(Span), Memory::Place::pinned));
        return static_cast<Span*>(spans_.back()->get());
    }

    Flag* flags(std::size_t count, const std::string& path) override {
        flags_.push_back(std::make_unique<Registered>(std::make_unique<SharedFlags>(count, path)));
        return flags_.back()->flags->data();
    }

    int make_stream() override {
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        streams_.push_back(stream);
        return static_cast<int>(streams_.size()) - 1;
    }

    int make_event() override {
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
        events_.push_back(event);
        return static_cast<int>(events_.size()) - 1;
    }

    void run(int index, const Work& work, Span* span) override {
        if (aborted.load()) return raise_stop();
        const cudaStream_t stream = at(index);
        const std::vector<void*> memory = buffers(index, work);
        if (span != nullptr) stamp<<<1, 1, 0, stream>>>(&span->start);
        perform(stream, work, memory);
        if (span != nullptr) stamp<<<1, 1, 0, stream>>>(&span->end);
        check(cudaGetLastError(), "launch");
    }

    void record(int stream, int event) override { check(cudaEventRecord(events_[static_cast<std::size_t>(event)], at(stream)), "event"); }
    void wait(int stream, int event) override { check(cudaStreamWaitEvent(at(stream), events_[static_cast<std::size_t>(event)], 0), "event"); }

    void wait_flag(int stream, Flag* flag, std::uint64_t least) override {
        await_flag<<<1, 1, 0, at(stream)>>>(reinterpret_cast<const volatile unsigned long long*>(on_device(flag)), least, stop());
        check(cudaGetLastError(), "launch");
    }

    void set_flag(int stream, Flag* flag, std::uint64_t value) override {
        put_flag<<<1, 1, 0, at(stream)>>>(reinterpret_cast<volatile unsigned long long*>(on_device(flag)), value);
        check(cudaGetLastError(), "launch");
    }

    // Looks again and again, so that an abort reaches kernels that wait.
    void synchronize(int stream) override {
        for (cudaError_t status = cudaStreamQuery(at(stream)); status != cudaSuccess; status = cudaStreamQuery(at(stream))) {
            if (status != cudaErrorNotReady) check(status, "stream");
            if (aborted.load()) raise_stop();
            const timespec pause{0, look_again_ns};
            nanosleep(&pause, nullptr);
        }
    }

    void enter_thread() override { check(cudaSetDevice(device_), "device"); }
    void heed_abort() override { raise_stop(); }

    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
        cudaGetLastError();  // it is no error of the next call
        return nullptr;
    }
    void release(void* memory) override { cudaFree(memory); }

private:
    using Shape = std::tuple<int, int, int, std::int64_t, std::int64_t, std::int64_t, std::string, bool>;

    cudaStream_t at(int stream) const { return streams_[static_cast<std::size_t>(stream)]; }

    const volatile unsigned* stop() const { return static_cast<const volatile unsigned*>(stop_->get()); }
    void raise_stop() const { *static_cast<volatile unsigned*>(stop_->get()) = 1; }

    static void* on_device(Flag* flag) {
        void* device = nullptr;
        check(cudaHostGetDevicePointer(&device, flag, 0), "flag");
        return device;
    }

    // The device's clock against the host's: of many stamps the one that took the shortest round.
    void find_offset() {
        constexpr int rounds = 100;
        const int stream = make_stream();
        Span* span = spans(1);
        uncertainty_ = INT64_MAX;
        resolution_ = INT64_MAX;
        for (int round = 0; round < rounds; ++round) {
            const Ns before = monotonic_ns();
            stamp<<<1, 1, 0, at(stream)>>>(&span->start);
            check(cudaStreamSynchronize(at(stream)), "clock");
            const Ns after = monotonic_ns();
            if ((after - before) / 2 < uncertainty_) {
                uncertainty_ = (after - before) / 2;
                offset_ = span->start - (before + after) / 2;
            }
            resolution_ = std::min(resolution_, lowest_bit(span->start));
        }
    }

    // Stamps are multiples of the clock's step.
    static Ns lowest_bit(Ns value) { return value & -value; }

    std::vector<void*> buffers(int stream, const Work& work) {
        if (work.kind == Work::Kind::none || work.kind == Work::Kind::sleep) return {};
        const bool copies = work.kind == Work::Kind::copy;
        const bool tiles = work.kind == Work::Kind::tiles;
        const Shape shape{stream, static_cast<int>(work.kind), copies ? static_cast<int>(work.copy) : 0, copies ? work.bytes : tiles ? 0 : work.m,
                          tiles ? 0 : work.n, tiles ? 0 : work.k, tiles ? "" : work.type, work.pinned};
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<std::unique_ptr<Memory>>& own = buffers_[shape];
        if (own.empty()) {
            if (tiles) {
                add(own, static_cast<std::int64_t>(tiles_) * tile_threads * static_cast<std::int64_t>(sizeof(float)), Memory::Place::device);
            } else if (copies) {
                const Memory::Place host = work.pinned ? Memory::Place::pinned : Memory::Place::pageable;
                add(own, work.bytes, work.copy == Work::Copy::out ? host : Memory::Place::device);
                add(own, work.bytes, work.copy == Work::Copy::in ? host : Memory::Place::device);
            } else {
                const std::int64_t size = work.type == "fp16" || work.type == "bf16" ? 2 : 4;
                for (const std::int64_t count : {work.m * work.k, work.k * work.n, work.m * work.n}) add(own, count * size, Memory::Place::device);
            }
        }
        std::vector<void*> result;
        for (const auto& memory : own) result.push_back(memory->get());
        return result;
    }

    static void add(std::vector<std::unique_ptr<Memory>>& own, std::int64_t bytes, Memory::Place place) {
        own.push_back(std::make_unique<Memory>(static_cast<std::size_t>(bytes), place));
    }

    void perform(cudaStream_t stream, const Work& work, const std::vector<void*>& memory) const {
        switch (work.kind) {
            case Work::Kind::none: break;
            case Work::Kind::sleep: pause_for<<<1, 1, 0, stream>>>(work.loops, stop()); break;
            case Work::Kind::tiles:
                multiply_tiles<<<static_cast<unsigned>(tiles_), tile_threads, 0, stream>>>(work.loops, static_cast<float*>(memory[0]), stop());
                break;
            case Work::Kind::gemm:
                for (std::int64_t loop = 0; loop < work.loops; ++loop) product(stream, work, memory);
                break;
            case Work::Kind::copy:
                for (std::int64_t loop = 0; loop < work.loops; ++loop)
                    check(cudaMemcpyAsync(memory[0], memory[1], static_cast<std::size_t>(work.bytes), cudaMemcpyDefault, stream), "copy");
                break;
        }
    }

    void product(cudaStream_t stream, const Work& work, const std::vector<void*>& memory) const {
        if (blas_->there()) return blas_->multiply(stream, work, memory[0], memory[1], memory[2]);
        if (work.type == "fp16") launch<__half>(stream, work, memory);
        else if (work.type == "bf16") launch<__nv_bfloat16>(stream, work, memory);
        else launch<float>(stream, work, memory);
    }

    template <typename Number>
    static void launch(cudaStream_t stream, const Work& work, const std::vector<void*>& memory) {
        const dim3 threads(side, side);
        const dim3 blocks(static_cast<unsigned>((work.n + side - 1) / side), static_cast<unsigned>((work.m + side - 1) / side));
        multiply<Number><<<blocks, threads, 0, stream>>>(static_cast<const Number*>(memory[0]), static_cast<const Number*>(memory[1]),
                                                         static_cast<Number*>(memory[2]), static_cast<int>(work.m),
                                                         static_cast<int>(work.n), static_cast<int>(work.k));
    }

    int device_;
    cudaDeviceProp properties_{};
    char bus_[32] = "";
    int driver_ = 0, runtime_ = 0, tiles_ = 1;
    Ns offset_ = 0, uncertainty_ = 0, resolution_ = 0;
    std::unique_ptr<Blas> blas_;
    Management management_;
    std::mutex mutex_;
    std::unique_ptr<Memory> stop_;
    std::map<Shape, std::vector<std::unique_ptr<Memory>>> buffers_;
    std::vector<std::unique_ptr<Memory>> spans_;
    std::vector<std::unique_ptr<Registered>> flags_;
    std::vector<cudaStream_t> streams_;
    std::vector<cudaEvent_t> events_;
};

}  // namespace

std::unique_ptr<Backend> open_backend(int device) { return std::make_unique<Cuda>(device); }

}  // namespace harness
