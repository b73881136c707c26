// JSON in and out: strict, with objects in their order. Numbers are 64-bit integers where they are written as such, else doubles.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace harness {

struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Json {
public:
    enum class Kind { null, boolean, integer, real, text, array, object };
    using Member = std::pair<std::string, Json>;

    Json() = default;
    Json(bool value) : kind_(Kind::boolean), integer_(value ? 1 : 0) {}
    Json(std::int64_t value) : kind_(Kind::integer), integer_(value) {}
    Json(int value) : Json(static_cast<std::int64_t>(value)) {}
    Json(std::size_t value) : Json(static_cast<std::int64_t>(value)) {}
    Json(double value) : kind_(Kind::real), real_(value) {}
    Json(std::string value) : kind_(Kind::text), text_(std::move(value)) {}
    Json(const char* value) : Json(std::string(value)) {}

    static Json array() { return Json(Kind::array); }
    static Json object() { return Json(Kind::object); }
    static Json parse(const std::string& text);

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::null; }

    // Each of these throws InputError, which names `where`, if the value is of another kind.
    bool boolean(const std::string& where) const;
    std::int64_t integer(const std::string& where) const;
    double real(const std::string& where) const;
    const std::string& text(const std::string& where) const;
    const std::vector<Json>& items(const std::string& where) const;
    const std::vector<Member>& members(const std::string& where) const;

    // The member of an object, or null.
    const Json& find(const std::string& key) const;
    bool has(const std::string& key) const { return !find(key).is_null(); }
    // The member of an object; InputError if it is not there.
    const Json& at(const std::string& key, const std::string& where) const;

    void push(Json value) { items_.push_back(std::move(value)); }
    void set(const std::string& key, Json value) { members_.emplace_back(key, std::move(value)); }

    std::string dump() const;

private:
    explicit Json(Kind kind) : kind_(kind) {}
    void write(std::string& out) const;

    Kind kind_ = Kind::null;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<Json> items_;
    std::vector<Member> members_;
};

}  // namespace harness
