// harness < request.json > result.json: one request, one result. Exit code 2: the request is wrong; 1: the device failed; 128 + signal.
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "modes.hpp"

namespace {

volatile std::sig_atomic_t caught = 0;

void on_signal(int number) {
    caught = number;
    harness::aborted.store(true);
}

std::string all_of_input() {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

harness::Json answer(const harness::Json& request) {
    const std::string& mode = request.at("mode", "request").text("mode");
    const int device = harness::device_number(request);
    const std::unique_ptr<harness::Backend> backend = harness::open_backend(device);
    harness::Json result = harness::Json::object();
    result.set("format", 1);
    result.set("mode", mode);
    result.set("backend", backend->name());
    result.set("device", backend->info());
    result.set("clock", backend->clock());
    if (mode == "calibrate") result.set("calibrate", harness::calibrate(*backend, request));
    else if (mode == "tune") result.set("tune", harness::tune(*backend, request));
    else if (mode == "replay") result.set("replay", harness::replay(*backend, request));
    else if (mode != "info") throw harness::InputError("mode: expected info, calibrate, tune or replay, not " + mode);
    result.set("device_after", backend->info());
    return result;
}

int run() {
    const harness::Json result = answer(harness::Json::parse(all_of_input()));
    if (caught != 0) return 128 + caught;
    const std::string text = result.dump() + "\n";
    for (std::size_t written = 0; written < text.size();) {
        const ssize_t count = write(STDOUT_FILENO, text.data() + written, text.size() - written);
        if (count <= 0) return 1;
        written += static_cast<std::size_t>(count);
    }
    return 0;
}

}  // namespace

int harness::device_number(const Json& request) {
    const std::int64_t number = request.has("device") ? request.find("device").integer("device") : 0;
    if (number < 0 || number > 1023) throw InputError("device: expected 0 to 1023, not " + std::to_string(number));
    return static_cast<int>(number);
}

int main(int count, char** arguments) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    try {
        if (count == 3 && std::string(arguments[1]) == "--peer") return harness::serve_peer(std::atoi(arguments[2]));
        return run();
    } catch (const harness::InputError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return caught != 0 ? 128 + caught : 1;
    }
}
