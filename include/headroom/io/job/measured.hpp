// Distributed under the Boost Software License, Version 1.0.
// The `measured` key of a job: what was measured of a run, and what was predicted of it. The second part is what a program fills in
// (io/measured_job.hpp), and what a job that is written carries along.
#pragma once

#include <headroom/cost/uncertainty.hpp>
#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/io/syntax/keys.hpp>
#include <headroom/measured/run.hpp>

#include <charconv>
#include <cmath>
#include <optional>

namespace headroom::io {

template <>
inline constexpr auto names_of<measured_rank> = std::array<named<measured_rank>, 3>{{{"most", measured_rank::most}, {"first", measured_rank::first}, {"last", measured_rank::last}}};

inline constexpr double longest_step = 1e6;  ///< seconds

/// Bytes in words: "61.2 GiB", "61203283968". GiB are 2^30, GB 10^9; PyTorch's own messages call 2^30 GiB since 2.0 and GB before. Nothing where
/// it is neither.
inline std::optional<bytes> bytes_in_words(std::string_view text) {
  struct unit {
    std::string_view name;
    double size;
  };
  constexpr unit units[] = {{"", 1}, {"B", 1}, {"bytes", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}, {"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (read.ec != std::errc{} || value < 0) return std::nullopt;
  auto rest = text.substr(static_cast<std::size_t>(read.ptr - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const auto& u : units)
    if (rest == u.name && value * u.size <= static_cast<double>(largest_exact)) return bytes{std::llround(value * u.size)};
  return std::nullopt;
}

/// `measured` as a file says it.
struct measured_key {
  measured_run run{};
  measured_rank rank{};
  const json_value* of{};  ///< the job that was run, or what it had otherwise
  bool complete{};         ///< what is predicted stands beside it
};

namespace detail {

inline bytes amount_at(const json_value& v, const std::string& path) {
  if (v.is_string())
    if (const auto b = bytes_in_words(v.get_ref<const std::string&>())) return *b;
  if (!v.is_number_integer() && !v.is_number_unsigned()) wrong_value(path, "whole bytes, or an amount with its unit such as \"61.2 GiB\" (2^30) or \"65.7 GB\" (10^9)", v);
  return bytes{whole_at(v, path, 0, largest_exact)};
}

/// {"tensors": 1234, …}: by the names of a table's lines; `put(i, value)`.
template <class Table, class Put>
void each_error(const json_value& v, const std::string& path, const Table& table, std::int64_t most, const Put& put) {
  if (!v.is_object()) wrong_value(path, "an object of sources of error", v);
  const auto names = texts(table, [](const auto& u) { return u.from; });
  for (const auto& [key, of] : v.items()) {
    const auto at = std::find(names.begin(), names.end(), key);
    if (at == names.end()) unknown_name(path, key, names);
    put(static_cast<std::size_t>(at - names.begin()), whole_at(of, joined(path, key), 0, most));
  }
}

/// Sixteen digits of base 16: JSON's numbers have no 64 bits.
inline std::uint64_t fingerprint_at(const json_value& v, const std::string& path) {
  std::uint64_t n = 0;
  if (const auto* s = v.get_ptr<const json_value::string_t*>(); s != nullptr && s->size() == 16)
    if (const auto read = std::from_chars(s->data(), s->data() + 16, n, 16); read.ec == std::errc{} && read.ptr == s->data() + 16) return n;
  wrong_value(path, "sixteen digits of base 16", v);
}
inline std::string fingerprint_text(std::uint64_t n) {
  std::string text(16, '0');
  for (auto at = text.rbegin(); at != text.rend(); ++at, n >>= 4) *at = "0123456789abcdef"[n & 15U];
  return text;
}

/// Bytes by the names of readings.
inline void read_readings(const json_value& value, const std::string& path, std::array<bytes, reading_count>& to) {
  key_reader k{value, path};
  for (int m = 0; m < reading_count; ++m)
    if (const auto* v = k.take(text(static_cast<reading>(m)))) to[static_cast<std::size_t>(m)] = bytes{whole_at(*v, k.at(text(static_cast<reading>(m))), 0, largest_exact)};
  k.finish();
}

inline void read_predicted(const json_value& value, const std::string& path, measured_run& run) {
  key_reader k{value, path};
  for (int m = 0; m < reading_count; ++m)
    if (const auto* v = k.take(text(static_cast<reading>(m)))) run.predicted[static_cast<std::size_t>(m)] = bytes{whole_at(*v, k.at(text(static_cast<reading>(m))), 0, largest_exact)};
  if (const auto* v = k.take("estimated")) read_readings(*v, k.at("estimated"), run.estimated);
  if (const auto* v = k.take("fingerprint")) run.search = fingerprint_at(*v, k.at("fingerprint"));
  if (const auto* v = k.take("errors"))
    each_error(*v, k.at("errors"), uncertainties, largest_exact, [&](std::size_t i, std::int64_t n) { run.of[i] = bytes{n}; });
  k.whole("step_nanoseconds", run.predicted_step, {}, 0, static_cast<std::int64_t>(longest_step * 1e9));
  if (const auto* v = k.take("step_errors"))
    each_error(*v, k.at("step_errors"), time_uncertainties, 100'000'000, [&](std::size_t i, std::int64_t n) { run.step_errors[i] = static_cast<std::int32_t>(n); });
  k.finish();
}

}  // namespace detail

inline measured_key read_measured_key(const json_value& value, const std::string& path) {
  measured_key r;
  key_reader k{value, path};
  bool any = false;
  for (int m = 0; m < reading_count; ++m) {
    const auto name = text(static_cast<reading>(m));
    if (const auto* v = k.take(name)) r.run.measured[static_cast<std::size_t>(m)] = detail::amount_at(*v, k.at(name)), any = true;
  }
  if (const auto* v = k.take("step")) {
    const double seconds = number_at(*v, k.at("step"), 1e-6, longest_step);
    r.run.step = std::llround(seconds * 1e9);
    any = true;
  }
  k.word("rank", r.rank);
  r.of = k.take("of");
  if (const auto* v = k.take("predicted")) {
    detail::read_predicted(*v, k.at("predicted"), r.run);
    r.complete = true;
  }
  k.finish();
  if (!any) fail("headroom: " + path + " says nothing: one of allocated, active, reserved, device (bytes of one GPU) and step (seconds) is needed");
  if (r.complete && r.of != nullptr) fail("headroom: " + k.at("of") + " is the job that was run, of which " + k.at("predicted") + " is said already; leave one out");
  return r;
}

/// What a job file that is complete says; of another the sentence who completes it.
inline measured_run read_complete_measured(const json_value& value, const std::string& path) {
  const auto key = read_measured_key(value, path);
  if (!key.complete) fail("headroom: " + path + " lacks what is predicted of the run that was measured: io::read_measured_job() and the program work it out, read_job() does not");
  if (!key.run.given()) fail("headroom: " + joined(path, "predicted") + " does not say what was measured: allocated and errors, or step_nanoseconds and step_errors");
  return key.run;
}

inline json_value measured_to_json(const measured_run& run) {
  json_value out = json_value::object(), predicted = json_value::object();
  if (run.of_memory()) {
    auto& errors = predicted["errors"] = json_value::object();
    for (std::size_t m = 0; m < reading_count; ++m) {
      const std::string name{text(static_cast<reading>(m))};
      if (run.measured[m] >= bytes{0}) out[name] = run.measured[m].count();
      predicted[name] = run.predicted[m].count();
      if (run.estimated[0] > bytes{0}) predicted["estimated"][name] = run.estimated[m].count();
    }
    for (std::size_t i = 0; i < uncertainties.size(); ++i)
      if (run.of[i] > bytes{0}) errors[std::string{uncertainties[i].from}] = run.of[i].count();
  }
  if (run.of_time()) {
    out["step"] = static_cast<double>(run.step) / 1e9;
    predicted["step_nanoseconds"] = run.predicted_step;
    auto& errors = predicted["step_errors"] = json_value::object();
    for (std::size_t i = 0; i < time_uncertainties.size(); ++i)
      if (run.step_errors[i] > 0) errors[std::string{time_uncertainties[i].from}] = run.step_errors[i];
  }
  predicted["fingerprint"] = detail::fingerprint_text(run.search);
  out["predicted"] = std::move(predicted);
  return out;
}

}  // namespace headroom::io
