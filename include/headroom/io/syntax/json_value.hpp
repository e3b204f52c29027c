// Distributed under the Boost Software License, Version 1.0.
// One value of a JSON document: read as what it has to be, or refused in a sentence with its path, what was found and what is accepted.
#pragma once

#include <headroom/error.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <headroom/io/syntax/spelling.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace headroom::io {

using json_value = nlohmann::json;

/// The largest whole number that a double holds together with all smaller ones: 2^53.
inline constexpr std::int64_t largest_exact = std::int64_t{1} << 53;

/// Throws job_error. What the sentence quotes of a file can obey nobody: it is printable(). Longer sentences are cut where a character ends,
/// since an error holds 399 bytes.
[[noreturn]] inline void fail(const std::string& sentence) {
  constexpr std::size_t room = 396;
  const auto shown = printable(sentence);
  headroom::detail::raise<job_error>(shown.size() > room ? std::string{cut_to(shown, room)} + "…" : shown);
}

/// `text` fit for a sentence: one line, printable, at most `room` bytes of it.
inline std::string in_quotes(std::string_view text, std::size_t room = 60) { return '"' + printable(cut_to(text, room)) + (text.size() > room ? "…\"" : "\""); }

/// What a value is, in words.
inline std::string described(const json_value& value) {
  switch (value.type()) {
    case json_value::value_t::null:
      return "null";
    case json_value::value_t::boolean:
      return *value.get_ptr<const json_value::boolean_t*>() ? "true" : "false";
    case json_value::value_t::string:
      return in_quotes(*value.get_ptr<const json_value::string_t*>());
    case json_value::value_t::object:
      return "an object";
    case json_value::value_t::array:
      return value.empty() ? "an empty list" : "a list";
    default:
      return value.dump();
  }
}

inline std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string{key} : path + "." + std::string{key};
}
inline std::string joined(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

/// Where a value is left to a search: what reads those.
inline constexpr std::string_view for_searches = "; \"auto\" is for headroom plan";

/// "must be `expected`, found …".
[[noreturn]] inline void wrong_value(const std::string& path, std::string_view expected, const json_value& found) {
  fail("headroom: " + path + " must be " + std::string{expected} + ", found " + described(found) + (found == "auto" ? std::string{for_searches} : ""));
}

// One value each. All throw job_error with the path.

/// A whole number in [low, high]. A float spelling counts if it is whole and exact: 5e8 does, 1e29 and 0.5 do not.
inline std::int64_t whole_at(const json_value& value, const std::string& path, std::int64_t low, std::int64_t high) {
  const auto refuse_it = [&] {
    wrong_value(path, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), value);
  };
  std::int64_t n{};
  if (value.is_number_unsigned()) {
    const auto u = *value.get_ptr<const json_value::number_unsigned_t*>();
    if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) refuse_it();
    n = static_cast<std::int64_t>(u);
  } else if (value.is_number_integer()) {
    n = *value.get_ptr<const json_value::number_integer_t*>();
  } else if (value.is_number_float()) {
    const double d = *value.get_ptr<const json_value::number_float_t*>();
    if (!(std::fabs(d) <= static_cast<double>(largest_exact)) || d != std::trunc(d)) refuse_it();
    n = static_cast<std::int64_t>(d);
  } else {
    refuse_it();
  }
  if (n < low || n > high) refuse_it();
  return n;
}

/// The same where a program counts: int("1e3") and int("8.0") end it in Python, and so does a float in its place (argparse's type=int; torch's
/// BatchSampler, dacite, GPT-NeoX's validate_types).
inline std::int64_t count_at(const json_value& value, const std::string& path, std::int64_t low, std::int64_t high) {
  const auto n = whole_at(value, path, low, high);
  if (value.is_number_float()) wrong_value(path, "a whole number in digits alone", value);
  return n;
}

/// A number in [low, high], whole or not.
inline double number_at(const json_value& value, const std::string& path, double low, double high) {
  double d{};
  if (value.is_number_unsigned())
    d = static_cast<double>(*value.get_ptr<const json_value::number_unsigned_t*>());
  else if (value.is_number_integer())
    d = static_cast<double>(*value.get_ptr<const json_value::number_integer_t*>());
  else if (value.is_number_float())
    d = *value.get_ptr<const json_value::number_float_t*>();
  if (!value.is_number() || !(d >= low && d <= high))
    wrong_value(path, "a number from " + json_value(low).dump() + " to " + json_value(high).dump(), value);
  return d;
}

inline bool flag_at(const json_value& value, const std::string& path) {
  if (!value.is_boolean()) wrong_value(path, "true or false", value);
  return *value.get_ptr<const json_value::boolean_t*>();
}

inline const std::string& string_at(const json_value& value, const std::string& path,
                                    std::string_view expected = "a string") {
  if (!value.is_string()) wrong_value(path, expected, value);
  return *value.get_ptr<const json_value::string_t*>();
}

/// A word that is none of `names`: says which are, and which was probably meant.
[[noreturn]] inline void unknown_name(const std::string& path, std::string_view found,
                                      std::span<const std::string_view> names) {
  std::string sentence = "headroom: " + path + " must not be " + in_quotes(found);
  if (found == "auto") sentence += for_searches;
  if (const auto meant = likely(found, names); !meant.empty()) sentence += "; did you mean \"" + std::string{meant} + "\"?";
  fail(sentence + (sentence.back() == '?' ? " accepted: " : "; accepted: ") + listed(names, 200));
}

/// A list, element by element: f(element, path of the element).
template <class F>
void each_at(const json_value& value, const std::string& path, std::string_view expected, F f) {
  if (!value.is_array()) wrong_value(path, expected, value);
  for (std::size_t i = 0; i < value.size(); ++i) f(value[i], joined(path, i));
}

}  // namespace headroom::io
