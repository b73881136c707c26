// Runs the timelines of devices for many iterations, with and without fill work, and records every start and end.
//
// A device is real (its actions are work on the backend) or played (a thread that sleeps for each action and sends its messages).
// Messages are flags that hold the number of iterations for which they were sent. A real device is enqueued ahead: it waits on the device itself.
#include <sys/prctl.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "modes.hpp"
#include "pool.hpp"
#include "post.hpp"
#include "wait.hpp"

namespace harness {

namespace {

struct Action {
    Work work;
    std::vector<std::size_t> waits, sends;
    std::int64_t takes, gives;  // bytes of the main pool, at its start and at its end
    Ns pause;                   // before it
};

struct Operator {
    Work work;
    std::int64_t memory, held;
    Ns pause;  // before it
};

// What runs in a bubble: the one before action `before`, or with the number of actions, the one after the last.
struct Visit {
    std::size_t before;
    std::int64_t limit;
    Work enter, leave;
    std::vector<Operator> operators;
    std::int64_t kept = 0;  // bytes that fill work holds from then on, until after its next visit
};

struct Device {
    std::string name;
    bool real;
    bool here;
    Pool main, fill;
    std::vector<Action> row;
    std::vector<std::vector<Visit>> turns;  // of each main iteration of the plan
    std::vector<Span*> actions, fills;      // of each iteration
    std::vector<std::size_t> fill_counts;
    std::int64_t kept = 0;  // of fill work, when the plan begins
    bool claim = false;     // both pools as memory of the device, for the whole run
};

struct Program {
    std::vector<bool> iterations;  // with fill work?
    bool barrier;
    std::vector<Ns> lags;  // of each message
    std::vector<std::size_t> senders;
    std::vector<Device> devices;
};

struct Failure {
    std::mutex mutex;
    Json document;

    void set(Json what) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (document.is_null()) document = std::move(what);
        aborted.store(true);
    }
};

// Sums of some of them must still be whole numbers of 64 bits.
constexpr std::int64_t most = std::int64_t{1} << 60;

std::int64_t checked_amount(const Json& document, const std::string& where) {
    const std::int64_t value = document.integer(where);
    if (value < 0 || value > most) throw InputError(where + ": expected 0 to " + std::to_string(most) + ", not " + std::to_string(value));
    return value;
}

std::int64_t amount(const Json& document, const char* key, const std::string& where) {
    return checked_amount(document.at(key, where), where + "." + key);
}

std::size_t index_below(const Json& document, std::size_t count, const std::string& where) {
    const std::int64_t value = document.integer(where);
    if (value < 0 || value >= static_cast<std::int64_t>(count))
        throw InputError(where + ": expected 0 to " + std::to_string(static_cast<std::int64_t>(count) - 1) + ", not " + std::to_string(value));
    return static_cast<std::size_t>(value);
}

Action read_action(const Json& document, std::size_t messages, bool real, const std::string& where) {
    Action action;
    action.work = read_work(document.at("work", where), where + ".work");
    if (!real && action.work.kind != Work::Kind::sleep && action.work.kind != Work::Kind::none)
        throw InputError(where + ".work.kind: expected sleep or none, on a device that is played");
    for (const char* key : {"waits", "sends"})
        if (document.has(key))
            for (const Json& message : document.find(key).items(where + "." + key))
                (key[0] == 'w' ? action.waits : action.sends).push_back(index_below(message, messages, where + "." + key));
    action.takes = document.has("takes") ? amount(document, "takes", where) : 0;
    action.gives = document.has("gives") ? amount(document, "gives", where) : 0;
    action.pause = document.has("pause") ? amount(document, "pause", where) : 0;
    return action;
}

Visit read_visit(const Json& document, std::size_t actions, const std::string& where) {
    Visit visit{index_below(document.at("before", where), actions + 1, where + ".before"), amount(document, "limit", where), {}, {}, {}, 0};
    if (document.has("kept")) visit.kept = amount(document, "kept", where);
    if (document.has("enter")) visit.enter = read_work(document.find("enter"), where + ".enter");
    if (document.has("leave")) visit.leave = read_work(document.find("leave"), where + ".leave");
    const std::vector<Json>& items = document.at("operators", where).items(where + ".operators");
    for (std::size_t k = 0; k < items.size(); ++k) {
        const std::string here = where + ".operators[" + std::to_string(k) + "]";
        visit.operators.push_back({read_work(items[k].at("work", here), here + ".work"), amount(items[k], "memory", here), amount(items[k], "held", here),
                                   items[k].has("pause") ? amount(items[k], "pause", here) : 0});
    }
    return visit;
}

Device read_device(const Json& document, std::size_t messages, const std::string& where) {
    Device device{document.at("name", where).text(where + ".name"), document.at("real", where).boolean(where + ".real"), true,
                  Pool(amount(document, "main_bytes", where)), Pool(amount(document, "fill_bytes", where)), {}, {}, {}, {}, {}, 0, false};
    const std::vector<Json>& actions = document.at("actions", where).items(where + ".actions");
    for (std::size_t k = 0; k < actions.size(); ++k)
        device.row.push_back(read_action(actions[k], messages, device.real, where + ".actions[" + std::to_string(k) + "]"));
    if (document.has("turns")) {
        const std::vector<Json>& turns = document.find("turns").items(where + ".turns");
        for (std::size_t h = 0; h < turns.size(); ++h) {
            device.turns.emplace_back();
            const std::string turn = where + ".turns[" + std::to_string(h) + "]";
            const std::vector<Json>& visits = turns[h].items(turn);
            for (std::size_t k = 0; k < visits.size(); ++k)
                device.turns.back().push_back(read_visit(visits[k], device.row.size(), turn + "[" + std::to_string(k) + "]"));
        }
    }
    if (document.has("main_static") && !device.main.take(amount(document, "main_static", where)))
        throw InputError(where + ".main_static: expected at most main_bytes");
    if (document.has("kept")) device.kept = amount(document, "kept", where);
    device.claim = document.has("claim") && document.find("claim").boolean(where + ".claim");
    if (!device.real && !device.turns.empty()) throw InputError(where + ".turns: expected none, on a device that is played");
    return device;
}

Program read_program(const Json& request) {
    Program program;
    for (const Json& item : request.at("iterations", "replay").items("iterations")) program.iterations.push_back(item.boolean("iterations"));
    const std::string& boundary = request.at("boundary", "replay").text("boundary");
    if (boundary != "barrier" && boundary != "flow") throw InputError("boundary: expected barrier or flow, not " + boundary);
    program.barrier = boundary == "barrier";
    for (const Json& item : request.at("lags", "replay").items("lags")) program.lags.push_back(checked_amount(item, "lags"));
    const std::vector<Json>& devices = request.at("devices", "replay").items("devices");
    for (std::size_t d = 0; d < devices.size(); ++d)
        program.devices.push_back(read_device(devices[d], program.lags.size(), "devices[" + std::to_string(d) + "]"));
    if (request.has("run")) {
        for (Device& device : program.devices) device.here = false;
        for (const Json& item : request.find("run").items("run"))
            for (Device& device : program.devices)
                if (device.name == item.text("run")) device.here = true;
    }
    program.senders.assign(program.lags.size(), program.devices.size());
    for (std::size_t d = 0; d < program.devices.size(); ++d)
        for (const Action& action : program.devices[d].row)
            for (const std::size_t message : action.sends) program.senders[message] = d;
    for (std::size_t message = 0; message < program.lags.size(); ++message)
        if (program.senders[message] == program.devices.size())
            throw InputError("lags[" + std::to_string(message) + "]: expected an action that sends this message");
    return program;
}

class Run {
public:
    Run(Backend& backend, Program program, const std::string& shared)
        : backend_(backend), program_(std::move(program)) {
        const std::size_t devices = program_.devices.size();
        flags_ = backend.flags(program_.lags.size() + 2 * devices, shared);
        arrived_ = backend.flags(program_.lags.size(), "");
        done_ = flags_ + program_.lags.size();
        ready_ = done_ + devices;
        for (Device& device : program_.devices)
            if (device.here) reserve(device);
        route_messages();
    }

    ~Run() {
        for (void* memory : claimed_) backend_.release(memory);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Json answer(Ns deadline) {
        for (std::size_t d = 0; d < program_.devices.size() && !aborted.load(); ++d)
            if (program_.devices[d].here) prepare(d);
        relay_.begin();
        std::vector<std::thread> threads;
        try {
            for (std::size_t d = 0; d < program_.devices.size(); ++d)
                if (program_.devices[d].here) {
                    ++running_;
                    threads.emplace_back([this, d] { run_guarded(d); });
                }
        } catch (...) {  // no more threads to be had
            --running_;
            keep_error();
        }
        watch(deadline);
        share_failure();
        for (std::thread& thread : threads) thread.join();
        if (error_ != nullptr) std::rethrow_exception(error_);
        return document();
    }

private:
    // Messages of real devices that take a while, to devices of this process.
    void route_messages() {
        std::vector<bool> received(program_.lags.size(), false);
        for (const Device& device : program_.devices)
            for (const Action& action : device.row)
                for (const std::size_t message : action.waits) received[message] = received[message] || device.here;
        for (std::size_t message = 0; message < received.size(); ++message)
            if (received[message] && relayed(message)) relay_.add(&flags_[message], &arrived_[message], program_.lags[message]);
    }

    bool relayed(std::size_t message) const { return program_.lags[message] != 0 && program_.devices[program_.senders[message]].real; }

    // What a receiver waits for.
    Flag* arrival(std::size_t message) { return relayed(message) ? &arrived_[message] : &flags_[message]; }

    void reserve(Device& device) {
        for (std::size_t i = 0; i < program_.iterations.size(); ++i) {
            device.actions.push_back(backend_.spans(device.row.size()));
            std::size_t count = 0;
            if (program_.iterations[i] && !device.turns.empty())
                for (const Visit& visit : device.turns[turn(i, device)]) count += visit.operators.size();
            device.fills.push_back(backend_.spans(count));
            device.fill_counts.push_back(count);
        }
    }

    // Which main iteration of the plan: counted over the iterations that have fill work.
    std::size_t turn(std::size_t iteration, const Device& device) const {
        std::size_t before = 0;
        for (std::size_t i = 0; i < iteration; ++i) before += program_.iterations[i] ? 1 : 0;
        return before % device.turns.size();
    }

    void prepare(std::size_t d) {
        Device& device = program_.devices[d];
        if (device.real) {
            if (device.claim && !claim(device)) return;
            streams_.push_back({d, backend_.make_stream(), backend_.make_stream(), backend_.make_event(), backend_.make_event()});
            const Streams& own = streams_.back();
            const auto check = [this, &device](int stream, const Work& work) {
                if (!backend_.supports(work)) throw InputError("device " + device.name + ": this backend has no " + work.type + " products");
                backend_.prepare(stream, work);
            };
            for (const Action& action : device.row) check(own.main, action.work);
            for (const std::vector<Visit>& visits : device.turns)
                for (const Visit& visit : visits) {
                    check(own.fill, visit.enter);
                    check(own.fill, visit.leave);
                    for (const Operator& entry : visit.operators) check(own.fill, entry.work);
                }
        }
        ready_[d].store(1);
    }

    bool claim(const Device& device) {
        const std::int64_t bytes = device.main.size() + device.fill.size();
        void* const memory = backend_.allocate(static_cast<std::size_t>(bytes));
        if (memory == nullptr) return fail(device, "device", 0, 0, 0, bytes, 0, 0);
        claimed_.push_back(memory);
        return true;
    }

    void run(std::size_t d) {
        if (!program_.devices[d].real) return play(d);
        if (aborted.load()) return;
        backend_.enter_thread();
        enqueue(d);
        backend_.synchronize(streams(d).main);
        backend_.synchronize(streams(d).fill);
    }

    void run_guarded(std::size_t d) {
        prctl(PR_SET_TIMERSLACK, 1UL);
        try {
            run(d);
        } catch (...) {
            keep_error();
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        --running_;
        ended_.notify_all();
    }

    // The first error of a device ends the run, whose thread must not end with it.
    void keep_error() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (error_ == nullptr) error_ = std::current_exception();
        aborted.store(true);
    }

    // Tells other processes of the run that it has failed here, and hears of it from them.
    void share_failure() {
        for (std::size_t d = 0; d < program_.devices.size(); ++d) {
            if (aborted.load() && program_.devices[d].here) ready_[d].store(failed);
            if (ready_[d].load() == failed) aborted.store(true);
        }
    }

    void watch(Ns deadline) {
        const Ns end = monotonic_ns() + deadline;
        std::unique_lock<std::mutex> lock(mutex_);
        while (running_ != 0) {
            ended_.wait_for(lock, std::chrono::milliseconds(20));
            share_failure();
            if (aborted.load()) backend_.heed_abort();
            if (running_ != 0 && monotonic_ns() > end && !aborted.load()) {
                Json what = Json::object();
                what.set("kind", "deadline");
                what.set("limit", deadline);
                failure_.set(std::move(what));
            }
        }
    }

    bool all_ready() {
        for (std::size_t d = 0; d < program_.devices.size(); ++d)
            if (!await(ready_[d], 1)) return false;
        return true;
    }

    // A device that is played: sleeps for its actions.
    void play(std::size_t d) {
        const Device& device = program_.devices[d];
        if (!all_ready()) return;
        for (std::size_t i = 0; i < program_.iterations.size() && !aborted.load(); ++i) {
            for (std::size_t other = 0; program_.barrier && other < program_.devices.size(); ++other)
                if (!await(done_[other], i)) return;
            for (std::size_t a = 0; a < device.row.size(); ++a) {
                const Action& action = device.row[a];
                for (const std::size_t message : action.waits)
                    if (!await(*arrival(message), i + 1)) return;
                const Ns began = backend_.now();
                sleep_until(monotonic_ns() + (action.work.kind == Work::Kind::sleep ? action.work.loops : 0));
                device.actions[i][a] = {began, backend_.now()};
                for (const std::size_t message : action.sends)
                    if (program_.lags[message] == 0) flags_[message].store(i + 1);
                    else post_.send(monotonic_ns() + program_.lags[message], &flags_[message], i + 1);
            }
            done_[d].store(i + 1);
        }
    }

    struct Streams {
        std::size_t device;
        int main, fill;
        int before, after;  // events: the action before the bubble has ended; its fill work has ended
    };

    const Streams& streams(std::size_t d) const {
        std::size_t k = 0;
        while (streams_[k].device != d) ++k;
        return streams_[k];
    }

    // A real device: everything is enqueued ahead.
    void enqueue(std::size_t d) {
        Device& device = program_.devices[d];
        const Streams& own = streams(d);
        if (!all_ready()) return;
        bool filling = false;
        std::int64_t kept = 0;  // bytes of fill work between its visits: the main job must do without them
        for (std::size_t i = 0; i < program_.iterations.size() && !aborted.load(); ++i) {
            for (std::size_t other = 0; program_.barrier && other < program_.devices.size(); ++other)
                if (other != d) backend_.wait_flag(own.main, &done_[other], i);
            Span* fill = device.fills[i];
            const bool filled = program_.iterations[i] && !device.turns.empty();
            if (filled && turn(i, device) == 0) kept = device.kept;
            for (std::size_t a = 0; a <= device.row.size(); ++a) {
                const Visit* visit = find_visit(device, i, a);
                if (visit != nullptr) {
                    if (filling) backend_.wait(own.main, own.after);
                    backend_.record(own.main, own.before);
                    backend_.wait(own.fill, own.before);
                    if (!enqueue_visit(device, *visit, i, own.fill, fill)) return;
                    backend_.record(own.fill, own.after);
                    fill += visit->operators.size();
                    kept = visit->kept;
                    filling = true;
                }
                if (a == device.row.size()) break;
                if (!enqueue_action(device, i, a, own, filling, filled ? kept : 0)) return;
                filling = false;
            }
            backend_.set_flag(own.main, &done_[d], i + 1);
        }
    }

    const Visit* find_visit(const Device& device, std::size_t i, std::size_t before) const {
        if (!program_.iterations[i] || device.turns.empty()) return nullptr;
        for (const Visit& visit : device.turns[turn(i, device)])
            if (visit.before == before) return &visit;
        return nullptr;
    }

    bool enqueue_action(Device& device, std::size_t i, std::size_t a, const Streams& own, bool filling, std::int64_t kept) {
        const Action& action = device.row[a];
        for (const std::size_t message : action.waits) backend_.wait_flag(own.main, arrival(message), i + 1);
        pause(own.main, action.pause);
        if (filling) backend_.wait(own.main, own.after);
        if (!device.main.take(action.takes, device.main.size() - kept))
            return fail(device, "main", i, a, 0, action.takes, device.main.used(), device.main.size() - kept);
        backend_.run(own.main, action.work, &device.actions[i][a]);
        device.main.give(action.gives);
        for (const std::size_t message : action.sends) backend_.set_flag(own.main, &flags_[message], i + 1);
        return true;
    }

    bool enqueue_visit(Device& device, const Visit& visit, std::size_t i, int stream, Span* span) {
        if (visit.enter.kind != Work::Kind::none) backend_.run(stream, visit.enter, nullptr);
        for (std::size_t k = 0; k < visit.operators.size(); ++k) {
            const Operator& entry = visit.operators[k];
            const std::int64_t bytes = entry.held + entry.memory;
            if (!device.fill.take(bytes, visit.limit))
                return fail(device, "fill", i, visit.before, k, bytes, device.fill.used(), std::min(visit.limit, device.fill.size()));
            pause(stream, entry.pause);
            backend_.run(stream, entry.work, &span[k]);
            device.fill.give(bytes);
        }
        if (visit.leave.kind != Work::Kind::none) backend_.run(stream, visit.leave, nullptr);
        return true;
    }

    void pause(int stream, Ns duration) {
        if (duration == 0) return;
        Work work;
        work.kind = Work::Kind::sleep;
        work.loops = duration;
        backend_.run(stream, work, nullptr);
    }

    bool fail(const Device& device, const char* pool, std::size_t i, std::size_t before, std::size_t entry, std::int64_t asked,
              std::int64_t used, std::int64_t limit) {
        Json what = Json::object();
        what.set("kind", "memory");
        what.set("device", device.name);
        what.set("pool", pool);
        what.set("iteration", i);
        what.set("action", before);
        what.set("operator", entry);
        what.set("asked", asked);
        what.set("used", used);
        what.set("limit", limit);
        failure_.set(std::move(what));
        return false;
    }

    static Json spans_json(const Span* spans, std::size_t count) {
        Json result = Json::array();
        for (std::size_t k = 0; k < count; ++k) {
            Json pair = Json::array();
            pair.push(spans[k].start);
            pair.push(spans[k].end);
            result.push(std::move(pair));
        }
        return result;
    }

    Json document() {
        Json devices = Json::array();
        for (const Device& device : program_.devices) {
            if (!device.here) continue;
            Json entry = Json::object();
            entry.set("name", device.name);
            entry.set("real", device.real);
            Json actions = Json::array(), fills = Json::array();
            for (std::size_t i = 0; i < program_.iterations.size() && failure_.document.is_null(); ++i) {
                actions.push(spans_json(device.actions[i], device.row.size()));
                fills.push(spans_json(device.fills[i], device.fill_counts[i]));
            }
            entry.set("actions", std::move(actions));
            entry.set("fills", std::move(fills));
            entry.set("main_high", device.main.high());
            entry.set("fill_high", device.fill.high());
            devices.push(std::move(entry));
        }
        Json result = Json::object();
        result.set("devices", std::move(devices));
        result.set("failure", failure_.document);
        return result;
    }

    static constexpr std::uint64_t failed = 2;

    Backend& backend_;
    Program program_;
    Flag* flags_ = nullptr;    // of each message: how many iterations' were sent
    Flag* arrived_ = nullptr;  // of those that the relay hands on: how many have arrived
    Flag* done_ = nullptr;
    Flag* ready_ = nullptr;    // 1: a device is ready, 2: its process has failed
    std::vector<Streams> streams_;
    std::vector<void*> claimed_;
    Failure failure_;
    Post post_;
    Relay relay_{post_};
    std::mutex mutex_;
    std::condition_variable ended_;
    std::atomic<std::size_t> running_{0};
    std::exception_ptr error_;
};

}  // namespace

Json replay(Backend& backend, const Json& request) {
    const std::string shared = request.has("shared") ? request.find("shared").text("shared") : "";
    const std::int64_t deadline = amount(request, "deadline", "replay");
    Run run(backend, read_program(request), shared);
    return run.answer(deadline);
}

}  // namespace harness
