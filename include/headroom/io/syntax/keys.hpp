// Distributed under the Boost Software License, Version 1.0.
// The keys of an object, described once and used both ways. `describe(keys, value)` names each key with the member it
// stands for; run with a key_reader it fills the members, run with a key_writer it writes those that differ from the
// default. What describe() never named is an unknown key, so the list of accepted keys cannot fall behind.
#pragma once

#include <cmath>
#include <concepts>
#include <headroom/io/syntax/names.hpp>
#include <headroom/units/quantity.hpp>

namespace headroom::io {

/// Counts in a job file: large enough for every element count, small enough that a few of them still multiply.
inline constexpr std::int64_t largest_count = std::int64_t{1} << 40;

/// Throws job_error for keys of `object` that are not in `accepted`.
inline void check_keys(const json_value& object, const std::string& path, std::span<const std::string_view> accepted) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const auto& key = it.key();
    if (std::find(accepted.begin(), accepted.end(), key) != accepted.end()) continue;
    std::string sentence = "headroom: unknown key " + in_quotes(key) + (path.empty() ? " at top level" : " in " + path);
    if (path == "batch" && key == "global") sentence += ", which is for headroom plan: a job has batch.micro and batch.accumulation";
    else if (const auto meant = likely(key, accepted); !meant.empty())
      sentence += "; did you mean \"" + std::string{meant} + "\"?";
    fail(sentence + (sentence.back() == '?' ? " accepted: " : "; accepted: ") + listed(accepted));
  }
}

class key_reader {
 public:
  static constexpr bool reads = true;

  /// Throws job_error unless `value` is an object. `value` outlives the reader.
  key_reader(const json_value& value, std::string path) : object_(&value), path_(std::move(path)) {
    if (!value.is_object()) wrong_value(path_.empty() ? "a job" : path_, "an object", value);
  }

  [[nodiscard]] std::string at(std::string_view key) const { return joined(path_, key); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// The value of an accepted key, or null where it is absent.
  const json_value* take(std::string_view key) {
    if (std::find(accepted_.begin(), accepted_.end(), key) == accepted_.end()) accepted_.push_back(key);
    const auto it = object_->find(key);
    return it == object_->end() ? nullptr : &*it;
  }
  const json_value& need(std::string_view key, std::string_view what) {
    if (const auto* v = take(key)) return *v;
    fail("headroom: " + at(key) + " is required: " + std::string{what});
  }

  template <std::integral T>
  void whole(std::string_view key, T& field, T /*fresh*/ = {}, std::int64_t low = 0, std::int64_t high = largest_count) {
    if (const auto* v = take(key))
      field = static_cast<T>(whole_at(*v, at(key), low, std::min<std::int64_t>(high, std::numeric_limits<T>::max())));
  }
  void flag(std::string_view key, bool& field, bool /*fresh*/ = false) {
    if (const auto* v = take(key)) field = flag_at(*v, at(key));
  }
  void flag(std::string_view key, choice& field) {
    if (const auto* v = take(key)) field = flag_at(*v, at(key)) ? choice::yes : choice::no;
  }
  template <class E>
  void word(std::string_view key, E& field, E /*fresh*/ = {}) {
    if (const auto* v = take(key)) field = name_at<E>(*v, at(key));
  }
  /// A number of which `scale` times is whole: fractions kept as per cent, rates as tenths.
  template <std::integral T>
  void scaled(std::string_view key, T& field, T /*fresh*/, double scale, double high) {
    const auto* v = take(key);
    if (v == nullptr) return;
    const double d = number_at(*v, at(key), 0.0, high) * scale;
    if (std::fabs(d - std::round(d)) > 1e-6) wrong_value(at(key), "a multiple of " + json_value(1.0 / scale).dump(), *v);
    field = static_cast<T>(std::llround(d));
  }
  /// Bytes given in GiB, whole or not.
  void gib(std::string_view key, bytes& field) {
    constexpr double one = 1024.0 * 1024.0 * 1024.0;
    if (const auto* v = take(key))
      field = bytes{std::llround(number_at(*v, at(key), 0.0, static_cast<double>(largest_exact) / one) * one)};
  }
  void text(std::string_view key, name& field) {
    const auto* v = take(key);
    if (v == nullptr) return;
    const auto& s = string_at(*v, at(key));
    if (s.size() > name::capacity || printable(s) != s) wrong_value(at(key), "a name of at most 47 characters that can be seen", *v);
    field = name{std::string_view{s}};
  }
  template <class T>
  void nested(std::string_view key, T& field) {
    const auto* v = take(key);
    if (v == nullptr) return;
    key_reader inner{*v, at(key)};
    describe(inner, field);
    inner.finish();
  }

  /// Call once every key has been named.
  void finish() const { check_keys(*object_, path_, accepted_); }

 private:
  const json_value* object_;
  std::string path_;
  std::vector<std::string_view> accepted_;
};

class key_writer {
 public:
  static constexpr bool reads = false;

  template <std::integral T>
  void whole(std::string_view key, T& field, T fresh = {}, std::int64_t = 0, std::int64_t = 0) {
    if (field != fresh) put(key, field);
  }
  void flag(std::string_view key, bool& field, bool fresh = false) {
    if (field != fresh) put(key, field);
  }
  void flag(std::string_view key, choice& field) {
    if (field != choice::unset) put(key, field == choice::yes);
  }
  template <class E>
  void word(std::string_view key, E& field, E fresh = {}) {
    if (field != fresh) put(key, text_of(field));
  }
  template <std::integral T>
  void scaled(std::string_view key, T& field, T fresh, double scale, double) {
    if (field != fresh) put(key, static_cast<double>(field) / scale);
  }
  void gib(std::string_view key, bytes& field) {
    if (field != bytes{}) put(key, static_cast<double>(field.count()) / (1024.0 * 1024.0 * 1024.0));
  }
  void text(std::string_view key, name& field) {
    if (!field.empty()) put(key, field.view());
  }
  template <class T>
  void nested(std::string_view key, T& field) {
    key_writer inner;
    describe(inner, field);
    if (!inner.written().empty()) put(key, inner.written());
  }

  template <class T>
  void put(std::string_view key, const T& value) {
    object_[std::string{key}] = value;
  }
  [[nodiscard]] const json_value& written() const { return object_; }

 private:
  json_value object_ = json_value::object();
};

/// Reads an object that describe() covers whole.
template <class T>
void read_keys(const json_value& value, const std::string& path, T& into) {
  key_reader keys{value, path};
  describe(keys, into);
  keys.finish();
}
/// The keys of `from` that differ from the default.
template <class T>
json_value written_keys(T from) {
  key_writer keys;
  describe(keys, from);
  return keys.written();
}

}  // namespace headroom::io
