#include "json.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace harness {

namespace {

constexpr int deepest = 100;

class Parser {
public:
    explicit Parser(const std::string& text) : text_(text) {}

    Json document() {
        Json value = this->value(0);
        blank();
        if (at_ != text_.size()) fail("nothing more");
        return value;
    }

private:
    [[noreturn]] void fail(const std::string& expected) const {
        throw InputError("byte " + std::to_string(at_) + ": expected " + expected);
    }

    void blank() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool take(char wanted) {
        blank();
        if (peek() != wanted) return false;
        ++at_;
        return true;
    }

    void need(char wanted) {
        if (!take(wanted)) fail(std::string("'") + wanted + "'");
    }

    Json word(const char* text, Json value) {
        for (const char* c = text; *c != '\0'; ++c, ++at_)
            if (peek() != *c) fail(text);
        return value;
    }

    Json value(int depth) {
        if (depth > deepest) fail("fewer levels");
        blank();
        switch (peek()) {
            case '{': return object(depth);
            case '[': return array(depth);
            case '"': return Json(string());
            case 't': return word("true", Json(true));
            case 'f': return word("false", Json(false));
            case 'n': return word("null", Json());
            default: return number();
        }
    }

    Json object(int depth) {
        Json result = Json::object();
        need('{');
        if (take('}')) return result;
        do {
            blank();
            if (peek() != '"') fail("a key");
            std::string key = string();
            if (result.has(key)) fail("a key that is not there twice, not " + key);
            need(':');
            result.set(key, value(depth + 1));
        } while (take(','));
        need('}');
        return result;
    }

    Json array(int depth) {
        Json result = Json::array();
        need('[');
        if (take(']')) return result;
        do result.push(value(depth + 1));
        while (take(','));
        need(']');
        return result;
    }

    std::string string() {
        std::string result;
        for (++at_; peek() != '"'; ++at_) {
            if (at_ >= text_.size() || static_cast<unsigned char>(peek()) < 0x20) fail("'\"'");
            if (peek() != '\\') {
                result += peek();
                continue;
            }
            ++at_;
            switch (peek()) {
                case '"': case '\\': case '/': result += peek(); break;
                case 'b': result += '\b'; break;
                case 'f': result += '\f'; break;
                case 'n': result += '\n'; break;
                case 'r': result += '\r'; break;
                case 't': result += '\t'; break;
                case 'u': result += escaped(); break;
                default: fail("an escape");
            }
        }
        ++at_;
        return result;
    }

    // \uXXXX below 0x80 only: whoever writes requests leaves the rest as UTF-8.
    char escaped() {
        unsigned code = 0;
        for (int digit = 0; digit < 4; ++digit) {
            ++at_;
            const char c = peek();
            if (c >= '0' && c <= '9') code = code * 16 + static_cast<unsigned>(c - '0');
            else if (c >= 'a' && c <= 'f') code = code * 16 + static_cast<unsigned>(c - 'a' + 10);
            else if (c >= 'A' && c <= 'F') code = code * 16 + static_cast<unsigned>(c - 'A' + 10);
            else fail("four hexadecimal digits");
        }
        if (code >= 0x80) fail("UTF-8 for characters outside ASCII");
        return static_cast<char>(code);
    }

    Json number() {
        const std::size_t begin = at_;
        bool whole = true;
        if (peek() == '-') ++at_;
        if (peek() < '0' || peek() > '9') fail("a value");
        while ((peek() >= '0' && peek() <= '9') || peek() == '.' || peek() == 'e' || peek() == 'E' || peek() == '+' || peek() == '-') {
            if (peek() < '0' || peek() > '9') whole = false;
            ++at_;
        }
        const std::string digits = text_.substr(begin, at_ - begin);
        char* end = nullptr;
        errno = 0;
        if (whole) {
            const long long integer = std::strtoll(digits.c_str(), &end, 10);
            if (*end != '\0' || errno != 0) fail("a whole number of 64 bits");
            return Json(static_cast<std::int64_t>(integer));
        }
        const double real = std::strtod(digits.c_str(), &end);
        if (*end != '\0' || errno != 0 || !std::isfinite(real)) fail("a number");
        return Json(real);
    }

    const std::string& text_;
    std::size_t at_ = 0;
};

void quote(std::string& out, const std::string& text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += code;
        } else {
            out += c;
        }
    }
    out += '"';
}

[[noreturn]] void wrong(const std::string& where, const char* expected) {
    throw InputError(where + ": expected " + expected);
}

}  // namespace

Json Json::parse(const std::string& text) { return Parser(text).document(); }

bool Json::boolean(const std::string& where) const {
    if (kind_ != Kind::boolean) wrong(where, "true or false");
    return integer_ != 0;
}

std::int64_t Json::integer(const std::string& where) const {
    if (kind_ != Kind::integer) wrong(where, "a whole number");
    return integer_;
}

double Json::real(const std::string& where) const {
    if (kind_ == Kind::integer) return static_cast<double>(integer_);
    if (kind_ != Kind::real) wrong(where, "a number");
    return real_;
}

const std::string& Json::text(const std::string& where) const {
    if (kind_ != Kind::text) wrong(where, "a text");
    return text_;
}

const std::vector<Json>& Json::items(const std::string& where) const {
    if (kind_ != Kind::array) wrong(where, "a list");
    return items_;
}

const std::vector<Json::Member>& Json::members(const std::string& where) const {
    if (kind_ != Kind::object) wrong(where, "an object");
    return members_;
}

const Json& Json::find(const std::string& key) const {
    static const Json missing;
    for (const Member& member : members_)
        if (member.first == key) return member.second;
    return missing;
}

const Json& Json::at(const std::string& key, const std::string& where) const {
    if (kind_ != Kind::object) wrong(where, "an object");
    const Json& value = find(key);
    if (value.is_null()) throw InputError(where + ": expected the key " + key);
    return value;
}

void Json::write(std::string& out) const {
    switch (kind_) {
        case Kind::null: out += "null"; break;
        case Kind::boolean: out += integer_ != 0 ? "true" : "false"; break;
        case Kind::integer: out += std::to_string(integer_); break;
        case Kind::real: {
            char digits[32];
            std::snprintf(digits, sizeof digits, "%.17g", std::isfinite(real_) ? real_ : 0.0);
            out += digits;
            break;
        }
        case Kind::text: quote(out, text_); break;
        case Kind::array: {
            out += '[';
            for (std::size_t i = 0; i < items_.size(); ++i) {
                if (i != 0) out += ',';
                items_[i].write(out);
            }
            out += ']';
            break;
        }
        case Kind::object: {
            out += '{';
            for (std::size_t i = 0; i < members_.size(); ++i) {
                if (i != 0) out += ',';
                quote(out, members_[i].first);
                out += ':';
                members_[i].second.write(out);
            }
            out += '}';
            break;
        }
    }
}

std::string Json::dump() const {
    std::string out;
    write(out);
    return out;
}

}  // namespace harness
