#include "work.hpp"

namespace harness {

namespace {

constexpr std::int64_t most_loops = 4'000'000'000'000;
constexpr std::int64_t longest_side = 65536;
constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

std::int64_t whole(const Json& document, const char* key, const std::string& where, std::int64_t least, std::int64_t most) {
    const std::int64_t value = document.at(key, where).integer(where + "." + key);
    if (value < least || value > most)
        throw InputError(where + "." + key + ": expected " + std::to_string(least) + " to " + std::to_string(most) + ", not " + std::to_string(value));
    return value;
}

}  // namespace

Work read_work(const Json& document, const std::string& where) {
    Work work;
    const std::string& kind = document.at("kind", where).text(where + ".kind");
    work.loops = document.has("loops") ? whole(document, "loops", where, 0, most_loops) : 1;
    if (kind == "tiles") {
        work.kind = Work::Kind::tiles;
    } else if (kind == "sleep") {
        work.kind = Work::Kind::sleep;
    } else if (kind == "gemm") {
        work.kind = Work::Kind::gemm;
        work.m = whole(document, "m", where, 1, longest_side);
        work.n = whole(document, "n", where, 1, longest_side);
        work.k = whole(document, "k", where, 1, longest_side);
        if (document.has("type")) work.type = document.find("type").text(where + ".type");
    } else if (kind == "copy") {
        work.kind = Work::Kind::copy;
        work.bytes = whole(document, "bytes", where, 1, most_bytes);
        const std::string& direction = document.at("direction", where).text(where + ".direction");
        if (direction == "device") work.copy = Work::Copy::device;
        else if (direction == "in") work.copy = Work::Copy::in;
        else if (direction == "out") work.copy = Work::Copy::out;
        else throw InputError(where + ".direction: expected device, in or out, not " + direction);
        if (document.has("pinned")) work.pinned = document.find("pinned").boolean(where + ".pinned");
    } else if (kind == "none") {
        work.kind = Work::Kind::none;
    } else {
        throw InputError(where + ".kind: expected tiles, gemm, copy, sleep or none, not " + kind);
    }
    return work;
}

Json work_json(const Work& work) {
    Json document = Json::object();
    switch (work.kind) {
        case Work::Kind::none: document.set("kind", "none"); return document;
        case Work::Kind::tiles: document.set("kind", "tiles"); break;
        case Work::Kind::sleep: document.set("kind", "sleep"); break;
        case Work::Kind::gemm:
            document.set("kind", "gemm");
            document.set("m", work.m);
            document.set("n", work.n);
            document.set("k", work.k);
            document.set("type", work.type);
            break;
        case Work::Kind::copy:
            document.set("kind", "copy");
            document.set("bytes", work.bytes);
            document.set("direction", work.copy == Work::Copy::device ? "device" : work.copy == Work::Copy::in ? "in" : "out");
            document.set("pinned", work.pinned);
            break;
    }
    document.set("loops", work.loops);
    return document;
}

}  // namespace harness
