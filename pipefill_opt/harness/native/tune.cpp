// Finds how many loops of a kind of work take a wanted time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "modes.hpp"

namespace harness {

namespace {

constexpr int most_rounds = 12;

// The lower quartile: other work on the machine only ever makes a time longer.
Ns typical(std::vector<Ns> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 4];
}

std::vector<Ns> measure(Backend& backend, int stream, const Work& work, std::int64_t repeats) {
    Span* spans = backend.spans(static_cast<std::size_t>(repeats));
    for (std::int64_t k = 0; k < repeats && !aborted.load(); ++k) backend.run(stream, work, &spans[k]);
    backend.synchronize(stream);
    std::vector<Ns> durations;
    for (std::int64_t k = 0; k < repeats; ++k) durations.push_back(spans[k].end - spans[k].start);
    return durations;
}

// ns a loop: between two measurements where these agree with the time for each loop within a factor of 3, else that time.
double slope_of(std::int64_t loops, Ns time, std::int64_t other_loops, Ns other_time) {
    const double plain = std::max(1e-3, static_cast<double>(time) / static_cast<double>(loops));
    if (loops == other_loops) return plain;
    const double secant = static_cast<double>(time - other_time) / static_cast<double>(loops - other_loops);
    return secant > plain / 3 && secant < plain * 3 ? secant : plain;
}

// The number of loops whose typical time is nearest to the target, by secants from what was measured.
Json tune_one(Backend& backend, int stream, Work work, Ns target, std::int64_t repeats, double tolerance) {
    backend.prepare(stream, work);
    Json best = Json::object();
    double best_error = INFINITY;
    std::int64_t known_loops = 0;
    Ns known_time = 0;
    work.loops = 1;
    for (int round = 0; round < most_rounds && best_error > tolerance && !aborted.load(); ++round) {
        const std::vector<Ns> durations = measure(backend, stream, work, repeats);
        const Ns found = typical(durations);
        const double error = std::fabs(static_cast<double>(found - target)) / static_cast<double>(target);
        if (error < best_error) {
            best_error = error;
            best = Json::object();
            best.set("target", target);
            best.set("work", work_json(work));
            Json samples = Json::array();
            for (const Ns duration : durations) samples.push(duration);
            best.set("ns", std::move(samples));
            best.set("error", error);
        }
        const double slope = slope_of(work.loops, found, known_loops, known_time);
        known_loops = work.loops;
        known_time = found;
        const double step = static_cast<double>(target - found) / slope;
        const double wanted = static_cast<double>(work.loops) + step;
        // Far from the target, a factor of 50 at most: the first loops are mostly overhead.
        std::int64_t next = std::llround(std::min(std::max(wanted, 1.0), static_cast<double>(work.loops) * 50.0));
        if (next == work.loops) next += step > 0 ? 1 : -1;
        work.loops = std::max<std::int64_t>(1, next);
    }
    best.set("within", best_error <= tolerance);
    return best;
}

}  // namespace

Json tune(Backend& backend, const Json& request) {
    const std::int64_t repeats = request.has("repeats") ? request.find("repeats").integer("repeats") : 15;
    const double tolerance = request.has("tolerance") ? request.find("tolerance").real("tolerance") : 0.01;
    if (repeats < 1 || repeats > 1'000'000) throw InputError("repeats: expected 1 to 1000000");
    const int stream = backend.make_stream();
    Json results = Json::array();
    const std::vector<Json>& items = request.at("targets", "tune").items("targets");
    for (std::size_t k = 0; k < items.size() && !aborted.load(); ++k) {
        const std::string where = "targets[" + std::to_string(k) + "]";
        const Ns target = items[k].at("ns", where).integer(where + ".ns");
        if (target < 1) throw InputError(where + ".ns: expected 1 or more");
        const Work work = read_work(items[k].at("work", where), where + ".work");
        if (work.kind == Work::Kind::none || !backend.supports(work)) throw InputError(where + ".work: expected work that this backend can do");
        results.push(tune_one(backend, stream, work, target, repeats, tolerance));
    }
    Json result = Json::object();
    result.set("works", std::move(results));
    return result;
}

}  // namespace harness
