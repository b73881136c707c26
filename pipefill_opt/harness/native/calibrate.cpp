// Microbenchmarks. Every result is a list of single samples in ns; whoever reads them takes medians and spreads.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "modes.hpp"
#include "pool.hpp"
#include "wait.hpp"

namespace harness {

namespace {

constexpr Ns settle_ns = 200'000;
constexpr std::int64_t some_loops = 64;
constexpr std::int64_t thrash_bytes = 128 << 20;

Work empty() { return {}; }

Work tiles(std::int64_t loops) {
    Work work;
    work.kind = Work::Kind::tiles;
    work.loops = loops;
    return work;
}

Work gemm(const std::vector<std::int64_t>& shape, const std::string& type) {
    Work work;
    work.kind = Work::Kind::gemm;
    work.m = shape[0];
    work.n = shape[1];
    work.k = shape[2];
    work.type = type;
    return work;
}

Work copy(Work::Copy direction, std::int64_t bytes, bool pinned) {
    Work work;
    work.kind = Work::Kind::copy;
    work.copy = direction;
    work.bytes = bytes;
    work.pinned = pinned;
    return work;
}

const char* word(Work::Copy direction) {
    return direction == Work::Copy::device ? "device" : direction == Work::Copy::in ? "in" : "out";
}

class Calibration {
public:
    Calibration(Backend& backend, const Json& request, int device) : backend_(backend), device_(device) {
        repeats_ = whole(request, "repeats", 30);
        warmup_ = whole(request, "warmup", 5);
        shapes_ = shapes(request);
        for (const char* key : {"types", "sizes", "measure"})
            if (request.has(key))
                for (const Json& item : request.find(key).items(key)) {
                    if (key[0] == 's') sizes_.push_back(item.integer(key));
                    else (key[0] == 't' ? types_ : wanted_).push_back(item.text(key));
                }
        if (types_.empty()) types_ = {"fp32"};
        if (sizes_.empty()) sizes_ = {1 << 20};
        for (const std::int64_t size : sizes_)
            if (size < 1) throw InputError("sizes: expected bytes above 0");
        first_ = backend.make_stream();
        second_ = backend.make_stream();
    }

    Json answer() {
        const std::vector<std::pair<std::string, std::function<void()>>> all = {
            {"timer", [this] { timer(); }},
            {"launch", [this] { launch(); }},
            {"event", [this] { between_streams("event", empty()); }},
            {"handover", [this] { between_streams("handover", tiles(some_loops)); }},
            {"wakeup", [this] { wakeup(); }},
            {"cold", [this] { cold(); }},
            {"gemm", [this] { products(); }},
            {"copy", [this] { copies(); }},
            {"allocation", [this] { allocation(); }},
            {"process", [this] { process(); }},
            {"beside", [this] { beside(); }},
        };
        for (const std::string& name : wanted_) {
            bool known = false;
            for (const auto& entry : all) known = known || entry.first == name;
            if (!known) throw InputError("measure: expected names of measurements, not " + name);
        }
        for (const auto& [name, measure] : all) {
            bool asked = wanted_.empty();
            for (const std::string& other : wanted_) asked = asked || other == name;
            if (asked && !aborted.load()) measure();
        }
        Json result = Json::object();
        result.set("samples", std::move(samples_));
        result.set("skipped", std::move(skipped_));
        return result;
    }

private:
    static std::int64_t whole(const Json& request, const char* key, std::int64_t otherwise) {
        if (!request.has(key)) return otherwise;
        const std::int64_t value = request.find(key).integer(key);
        if (value < 1 || value > 1'000'000) throw InputError(std::string(key) + ": expected 1 to 1000000");
        return value;
    }

    static std::vector<std::vector<std::int64_t>> shapes(const Json& request) {
        std::vector<std::vector<std::int64_t>> result;
        if (request.has("shapes"))
            for (const Json& item : request.find("shapes").items("shapes")) {
                std::vector<std::int64_t> shape;
                for (const Json& side : item.items("shapes")) shape.push_back(side.integer("shapes"));
                if (shape.size() != 3) throw InputError("shapes: expected [m, n, k]");
                for (const std::int64_t side : shape)
                    if (side < 1 || side > 65536) throw InputError("shapes: expected sides of 1 to 65536");
                result.push_back(std::move(shape));
            }
        if (result.empty()) result.push_back({256, 256, 256});
        return result;
    }

    void keep(const std::string& name, Json parameters, const std::vector<Ns>& durations) {
        Json list = Json::array();
        for (const Ns duration : durations) list.push(duration);
        Json sample = Json::object();
        sample.set("name", name);
        sample.set("parameters", std::move(parameters));
        sample.set("ns", std::move(list));
        samples_.push(std::move(sample));
    }

    void skip(const std::string& name, const std::string& why) {
        Json entry = Json::object();
        entry.set("name", name);
        entry.set("why", why);
        skipped_.push(std::move(entry));
    }

    // `once` measures one sample, several numbers at a time; the first `warmup_` samples do not count.
    std::vector<std::vector<Ns>> repeat(std::size_t numbers, const std::function<std::vector<Ns>()>& once) {
        std::vector<std::vector<Ns>> found(numbers);
        for (std::int64_t k = 0; k < warmup_ + repeats_ && !aborted.load(); ++k) {
            const std::vector<Ns> sample = once();
            for (std::size_t j = 0; k >= warmup_ && j < numbers; ++j) found[j].push_back(sample[j]);
        }
        return found;
    }

    // What the clock itself costs: an empty piece of work as it is timed, and the time between two of them.
    void timer() {
        Span* spans = backend_.spans(2);
        const auto found = repeat(2, [&]() -> std::vector<Ns> {
            backend_.run(first_, empty(), &spans[0]);
            backend_.run(first_, empty(), &spans[1]);
            backend_.synchronize(first_);
            return {spans[0].end - spans[0].start, spans[1].start - spans[0].end};
        });
        keep("timer", Json::object(), found[0]);
        keep("timer-gap", Json::object(), found[1]);
    }

    // From the call on the host to the start on an idle stream; and how long the call itself takes.
    void launch() {
        Span* span = backend_.spans(1);
        const auto found = repeat(2, [&]() -> std::vector<Ns> {
            sleep_until(monotonic_ns() + settle_ns);
            const Ns asked = backend_.now();
            const Ns before = monotonic_ns();
            backend_.run(first_, empty(), span);
            const Ns called = monotonic_ns() - before;
            backend_.synchronize(first_);
            return {span->start - asked, called};
        });
        keep("launch", Json::object(), found[0]);
        keep("launch-call", Json::object(), found[1]);
    }

    // From the end of work on one stream to the start on another that waits for its event.
    void between_streams(const char* name, const Work& work) {
        Span* spans = backend_.spans(2);
        const int event = backend_.make_event();
        const auto found = repeat(1, [&]() -> std::vector<Ns> {
            backend_.run(first_, work, &spans[0]);
            backend_.record(first_, event);
            backend_.wait(second_, event);
            backend_.run(second_, work, &spans[1]);
            backend_.synchronize(first_);
            backend_.synchronize(second_);
            return {spans[1].start - spans[0].end};
        });
        keep(name, Json::object(), found[0]);
    }

    // From the message that ends an empty bubble to the start of the work that waited for it.
    void wakeup() {
        Span* span = backend_.spans(1);
        Flag* flag = backend_.flags(1, "");
        std::uint64_t value = 0;
        const auto found = repeat(1, [&]() -> std::vector<Ns> {
            ++value;
            backend_.wait_flag(first_, flag, value);
            backend_.run(first_, empty(), span);
            sleep_until(monotonic_ns() + settle_ns);
            const Ns sent = backend_.now();
            flag->store(value);
            backend_.synchronize(first_);
            return {span->start - sent};
        });
        keep("wakeup", Json::object(), found[0]);
    }

    // The same product right after itself, and after other work has been through the caches.
    void cold() {
        const Work work = gemm(shapes_.front(), types_.front());
        if (!backend_.supports(work)) return skip("cold", "no " + work.type + " products");
        const Work other = copy(Work::Copy::device, thrash_bytes, false);
        backend_.prepare(first_, work);
        backend_.prepare(first_, other);
        Span* spans = backend_.spans(3);
        const auto found = repeat(2, [&]() -> std::vector<Ns> {
            backend_.run(first_, work, nullptr);
            backend_.run(first_, work, &spans[0]);
            backend_.run(first_, other, nullptr);
            backend_.run(first_, work, &spans[1]);
            backend_.synchronize(first_);
            return {spans[0].end - spans[0].start, spans[1].end - spans[1].start};
        });
        keep("warm", shape_json(work), found[0]);
        keep("cold", shape_json(work), found[1]);
    }

    static Json shape_json(const Work& work) {
        Json parameters = Json::object();
        parameters.set("m", work.m);
        parameters.set("n", work.n);
        parameters.set("k", work.k);
        parameters.set("type", work.type);
        return parameters;
    }

    std::vector<Ns> durations(const Work& work) {
        backend_.prepare(first_, work);
        Span* span = backend_.spans(1);
        return repeat(1, [&]() -> std::vector<Ns> {
            backend_.run(first_, work, span);
            backend_.synchronize(first_);
            return {span->end - span->start};
        })[0];
    }

    void products() {
        for (const std::string& type : types_)
            for (const auto& shape : shapes_) {
                const Work work = gemm(shape, type);
                if (!backend_.supports(work)) {
                    skip("gemm", "no " + type + " products");
                    break;
                }
                if (aborted.load()) return;
                keep("gemm", shape_json(work), durations(work));
            }
    }

    void copies() {
        for (const std::int64_t bytes : sizes_)
            for (const Work::Copy direction : {Work::Copy::device, Work::Copy::in, Work::Copy::out})
                for (const bool pinned : {false, true}) {
                    if (aborted.load()) return;
                    if (direction == Work::Copy::device && pinned) continue;
                    Json parameters = Json::object();
                    parameters.set("bytes", bytes);
                    parameters.set("direction", word(direction));
                    parameters.set("pinned", pinned);
                    keep("copy", std::move(parameters), durations(copy(direction, bytes, pinned)));
                }
        for (const std::int64_t bytes : sizes_) both_ways(bytes);
    }

    // Pinned copies in and out at once: from the first start to the last end.
    void both_ways(std::int64_t bytes) {
        if (aborted.load()) return;
        const Work in = copy(Work::Copy::in, bytes, true), out = copy(Work::Copy::out, bytes, true);
        backend_.prepare(first_, in);
        backend_.prepare(second_, out);
        Span* spans = backend_.spans(2);
        const auto found = repeat(1, [&]() -> std::vector<Ns> {
            backend_.run(first_, in, &spans[0]);
            backend_.run(second_, out, &spans[1]);
            backend_.synchronize(first_);
            backend_.synchronize(second_);
            return {std::max(spans[0].end, spans[1].end) - std::min(spans[0].start, spans[1].start)};
        });
        Json parameters = Json::object();
        parameters.set("bytes", bytes);
        keep("copy-both", std::move(parameters), found[0]);
    }

    // Memory of the device, asked for and given back by its own means, and out of a pool that is there already.
    void allocation() {
        for (const std::int64_t bytes : sizes_) {
            const auto found = repeat(1, [&]() -> std::vector<Ns> {
                const Ns before = monotonic_ns();
                void* const memory = backend_.allocate(static_cast<std::size_t>(bytes));
                const Ns after = monotonic_ns();
                if (memory == nullptr) throw std::runtime_error("no device memory of " + std::to_string(bytes) + " bytes");
                backend_.release(memory);
                return {after - before};
            });
            Json parameters = Json::object();
            parameters.set("bytes", bytes);
            keep("allocation", std::move(parameters), found[0]);
        }
        Pool pool(std::int64_t{1} << 40);
        const auto found = repeat(1, [&]() -> std::vector<Ns> {
            const Ns before = monotonic_ns();
            for (int k = 0; k < 1000; ++k) pool.take(1);
            const Ns after = monotonic_ns();
            pool.give(1000);
            return {(after - before) / 1000};
        });
        keep("pool", Json::object(), found[0]);
    }

    // From the end of work in this process to its start in another that was told so, and back; half of both ways together.
    void process() {
        int down[2], up[2];
        if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        const pid_t child = fork();
        if (child < 0) throw std::runtime_error("no process");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(down[0], STDIN_FILENO);
            dup2(up[1], STDOUT_FILENO);
            const std::string device = std::to_string(device_);
            execl("/proc/self/exe", "harness", "--peer", device.c_str(), static_cast<char*>(nullptr));
            _exit(127);
        }
        close(down[0]);
        close(up[1]);
        Span* spans = backend_.spans(2);
        bool alive = true;
        const auto found = repeat(1, [&]() -> std::vector<Ns> {
            Span other;
            backend_.run(first_, empty(), &spans[0]);
            backend_.synchronize(first_);
            alive = alive && write(down[1], "x", 1) == 1 && read(up[0], &other, sizeof other) == static_cast<ssize_t>(sizeof other);
            backend_.run(first_, empty(), &spans[1]);
            backend_.synchronize(first_);
            return {(other.start - spans[0].end + spans[1].start - other.end) / 2};
        });
        close(down[1]);
        close(up[0]);
        int status = 0;
        waitpid(child, &status, 0);
        if (!alive) return skip("process", "the other process ended");
        Json parameters = Json::object();
        parameters.set("mps", std::getenv("CUDA_MPS_PIPE_DIRECTORY") != nullptr);
        keep("process", std::move(parameters), found[0]);
    }

    // A product alone, and while another stream computes or copies.
    void beside() {
        const Work work = gemm(shapes_.front(), types_.front());
        if (!backend_.supports(work)) return skip("beside", "no " + work.type + " products");
        std::map<std::string, Work> others;
        others["nothing"] = empty();
        others["product"] = work;
        others["copy"] = copy(Work::Copy::device, sizes_.back(), false);
        others["copy in"] = copy(Work::Copy::in, sizes_.back(), true);
        others["copy out"] = copy(Work::Copy::out, sizes_.back(), true);
        backend_.prepare(first_, work);
        Span* spans = backend_.spans(2);
        for (const auto& [name, other] : others) {
            backend_.prepare(second_, other);
            const auto found = repeat(1, [&, &beside = other]() -> std::vector<Ns> {
                backend_.run(second_, beside, &spans[1]);
                for (int k = 0; k < 3; ++k) backend_.run(second_, beside, nullptr);
                backend_.run(first_, work, &spans[0]);
                backend_.synchronize(first_);
                backend_.synchronize(second_);
                return {spans[0].end - spans[0].start};
            });
            Json parameters = shape_json(work);
            parameters.set("beside", name);
            keep("beside", std::move(parameters), found[0]);
        }
    }

    Backend& backend_;
    int device_;
    std::int64_t repeats_, warmup_;
    std::vector<std::vector<std::int64_t>> shapes_;
    std::vector<std::string> types_, wanted_;
    std::vector<std::int64_t> sizes_;
    int first_ = 0, second_ = 0;
    Json samples_ = Json::array();
    Json skipped_ = Json::array();
};

}  // namespace

Json calibrate(Backend& backend, const Json& request) {
    return Calibration(backend, request, device_number(request)).answer();
}

int serve_peer(int device) {
    const std::unique_ptr<Backend> backend = open_backend(device);
    const int stream = backend->make_stream();
    Span* span = backend->spans(1);
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        backend->run(stream, empty(), span);
        backend->synchronize(stream);
        if (write(STDOUT_FILENO, span, sizeof *span) != static_cast<ssize_t>(sizeof *span)) return 1;
    }
    return 0;
}

}  // namespace harness
