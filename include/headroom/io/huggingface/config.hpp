// Distributed under the Boost Software License, Version 1.0.
// Typed reading of one Hugging Face configuration object. Every complaint names the key's path, what is accepted and what
// was found. Keys that nobody asks for are ignored: a config holds a hundred, and few shape the network.
//
// An absent key means the default of transformers' own config class. null means what None means there: for a nullable size
// "derive it", for a flag false, anywhere else an error.
#pragma once

#include <headroom/error.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace headroom::io {

namespace detail {

using json = nlohmann::json;

[[noreturn]] inline void complain(const std::string& sentence) { headroom::detail::raise<job_error>("headroom: " + sentence); }

/// A value as it stands in the file, cut to a readable length.
inline std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// … of a key that may be absent.
inline std::string shown(const json* value) { return value == nullptr ? "nothing" : shown(*value); }

/// A word of the file, escaped: it may hold anything.
inline std::string quoted_word(const std::string& text) { return shown(json(text)); }

/// The paths of keys that somebody asked for, where a reader must answer for every key that a configuration has.
using key_log = std::set<std::string, std::less<>>;

class config {
 public:
  config(const json& object, std::string path, key_log* asked = nullptr) : object_(&object), path_(std::move(path)), asked_(asked) {
    if (!object.is_object()) complain(path_ + " must be an object, found " + shown(object));
  }

  static constexpr std::int64_t widest = std::int64_t{1} << 40;   ///< of any size; checked arithmetic guards the products
  static constexpr std::int64_t most = 1'000'000;                 ///< layers, heads, experts
  static constexpr std::int64_t required = -1;                    ///< as a default: the key must be there

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const json& object() const { return *object_; }
  [[nodiscard]] key_log* asked() const { return asked_; }
  [[nodiscard]] bool has(const char* key) const { return note(key), object_->contains(key) && !object_->at(key).is_null(); }
  [[nodiscard]] const json* find(std::initializer_list<const char*> keys) const {
    const json* found = nullptr;
    for (const char* key : keys)
      if (const auto it = (note(key), object_->find(key)); found == nullptr && it != object_->end()) found = &*it;
    return found;
  }
  /// Keys that do not shape the network, whatever they say.
  void ignore(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) note(key);
  }

  /// A whole number. `keys`: the class's own name first, then its aliases; the first one present counts.
  [[nodiscard]] std::int64_t number(std::initializer_list<const char*> keys, std::int64_t fallback, std::int64_t low = 1,
                                    std::int64_t high = widest) const {
    const char* key = *keys.begin();
    const json* value = nullptr;
    for (const char* k : keys) {
      const auto it = (note(k), object_->find(k));
      if (it == object_->end()) continue;
      if (value != nullptr && *value != *it)
        complain(at(k) + " is another name of " + at(key) + ", and must say the same; found " + shown(*it) + " and " + shown(*value));
      if (value == nullptr) value = &*it, key = k;
    }
    if (value == nullptr) {
      if (fallback == required) complain(at(key) + " is missing; this family has no default for it");
      return fallback;
    }
    return whole(*value, at(key), low, high);
  }
  [[nodiscard]] std::int64_t size(std::initializer_list<const char*> keys, std::int64_t fallback) const {
    return number(keys, fallback);
  }
  [[nodiscard]] std::int64_t count(std::initializer_list<const char*> keys, std::int64_t fallback) const {
    return number(keys, fallback, 1, most);
  }
  /// As number(), where null has a meaning of its own.
  [[nodiscard]] std::int64_t nullable(std::initializer_list<const char*> keys, std::int64_t fallback, std::int64_t when_null,
                                      std::int64_t low = 1, std::int64_t high = widest) const {
    const json* value = find(keys);
    return value != nullptr && value->is_null() ? when_null : number(keys, fallback, low, high);
  }

  [[nodiscard]] bool flag(const char* key, bool fallback) const {
    const json* value = find({key});
    if (value == nullptr) return fallback;
    if (value->is_null()) return false;
    if (!value->is_boolean()) complain(at(key) + " must be true or false, found " + shown(*value));
    return value->get<bool>();
  }

  [[nodiscard]] std::string text(std::initializer_list<const char*> keys, const char* fallback) const {
    const json* value = find(keys);
    if (value == nullptr || value->is_null()) return fallback;
    if (!value->is_string()) complain(at(*keys.begin()) + " must be a string, found " + shown(*value));
    return value->get<std::string>();
  }

  /// A number that need not be whole; null is the fallback.
  [[nodiscard]] double real(std::initializer_list<const char*> keys, double fallback, double low, double high) const {
    const json* value = find(keys);
    if (value == nullptr || value->is_null()) return fallback;
    const double v = value->is_number() ? value->get<double>() : low - 1.0;
    if (!(v >= low && v <= high)) complain(at(*keys.begin()) + " must be a number from " + shown(json(low)) + " to " + shown(json(high)) + ", found " + shown(*value));
    return v;
  }

  /// A fraction between 0 and 1, in percent.
  [[nodiscard]] std::int64_t percent(std::initializer_list<const char*> keys, std::int64_t fallback) const {
    const json* value = find(keys);
    if (value == nullptr || value->is_null()) return fallback;
    const double v = value->is_number() ? value->get<double>() : -1.0;
    if (!(v >= 0.0 && v <= 1.0)) complain(at(*keys.begin()) + " must be a number from 0 to 1, found " + shown(*value));
    return static_cast<std::int64_t>(std::lround(v * 100.0));
  }

  /// A soft cap: any positive number, rounded up to a whole one; absent or null, none.
  [[nodiscard]] std::int64_t softcap(const char* key, std::int64_t fallback) const {
    const json* value = find({key});
    if (value == nullptr) return fallback;
    if (value->is_null()) return 0;
    const double v = value->is_number() ? value->get<double>() : -1.0;
    if (!(v > 0.0 && v <= 1e6)) complain(at(key) + " must be a number above 0, or null, found " + shown(*value));
    return static_cast<std::int64_t>(std::ceil(v));
  }

  /// A nested object; absent or null, an empty one: its class's defaults then hold throughout.
  [[nodiscard]] config child(const char* key) const {
    static const json empty = json::object();
    const json* value = find({key});
    return {value == nullptr || value->is_null() ? empty : *value, at(key), asked_};
  }

  [[nodiscard]] std::string at(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  static std::int64_t whole(const json& value, const std::string& where, std::int64_t low, std::int64_t high) {
    std::int64_t v = low - 1;
    if (value.is_number_unsigned()) {
      if (value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)) v = value.get<std::int64_t>();
    } else if (value.is_number_integer()) {
      v = value.get<std::int64_t>();
    } else if (value.is_number_float()) {  // 5e8 is a whole number; NaN, infinity and 10^30 fail the comparison
      const double d = value.get<double>();
      if (d >= static_cast<double>(low) && d <= static_cast<double>(high) && d == std::floor(d)) v = static_cast<std::int64_t>(d);
    }
    if (v < low || v > high)
      complain(where + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", found " + shown(value));
    return v;
  }

 private:
  void note(const char* key) const {
    if (asked_ != nullptr) asked_->insert(at(key));
  }

  const json* object_;
  std::string path_;
  key_log* asked_;
};

/// Notes every key of an object: somebody else answers for them.
inline void ask_all(const config& c) {
  if (c.asked() == nullptr) return;
  for (const auto& [key, value] : c.object().items()) {
    c.asked()->insert(c.at(key));
    if (value.is_object()) ask_all(config{value, c.at(key), c.asked()});
  }
}

}  // namespace detail
}  // namespace headroom::io
