// Distributed under the Boost Software License, Version 1.0.
// The date of a framework's version, and how a framework's own options meet the neutral keys of a job.
#pragma once

#include <headroom/framework/frameworks.hpp>
#include <headroom/io/syntax/keys.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

/// yyyymm of the first date in a version, 0 for none. "2024-12", "2024-12-26" and "dev20241226" are dates; a lone year
/// ("Composer FSDP1, 2023") stands for its middle, where no more exact date is given.
inline std::int32_t version_date(std::string_view version) {
  const auto digit = [&](std::size_t i) { return i < version.size() && version[i] >= '0' && version[i] <= '9'; };
  const auto number = [&](std::size_t i, std::size_t n) {
    std::int32_t value = 0;
    for (std::size_t k = 0; k < n; ++k) value = value * 10 + (version[i + k] - '0');
    return value;
  };
  const auto run = [&](std::size_t i) {
    std::size_t n = 0;
    while (n < 10 && digit(i + n)) ++n;
    return n;
  };
  const auto is_month = [](std::int32_t m) { return m >= 1 && m <= 12; };
  const auto is_year = [](std::int32_t y) { return y >= 2015 && y < 2100; };
  std::int32_t packed = 0;
  std::int32_t year = 0;
  for (std::size_t i = 0; i < version.size(); ++i) {
    if (!digit(i) || (i > 0 && digit(i - 1))) continue;
    const auto digits = run(i);
    if (digits == 4 && is_year(number(i, 4))) {
      if (i + 4 < version.size() && version[i + 4] == '-' && run(i + 5) == 2 && is_month(number(i + 5, 2)))
        return number(i, 4) * 100 + number(i + 5, 2);
      if (year == 0) year = number(i, 4);
    }
    if (digits == 8 && packed == 0 && is_year(number(i, 4)) && is_month(number(i + 4, 2)))
      packed = number(i, 4) * 100 + number(i + 4, 2);
  }
  return packed != 0 ? packed : year != 0 ? year * 100 + 6 : 0;
}

/// Throws job_error for a profile that this library does not ship.
inline json_value framework_to_json(const profile& p) {
  const auto year = p.date / 100;
  const auto month = p.date % 100;
  const std::string version = std::to_string(year) + (month < 10 ? "-0" : "-") + std::to_string(month);
  const auto* known = frameworks::find(p.label.view(), version_date(version));
  if (known == nullptr || *known != p)
    fail("headroom: a job file cannot describe the framework " + in_quotes(p.label.view()) +
         ": it is not one that this library ships");
  return {{"name", p.label.view()}, {"version", version}};
}

/// Lets a framework's options fill in what the neutral keys of a job leave open. An option that repeats a neutral key is
/// fine, one that contradicts it is an error.
class option_merger {
 public:
  explicit option_merger(const json_value& job) : job_(&job) {
    const auto found = job.find("framework");
    if (found != job.end() && found->is_object() && found->contains("version") && (*found)["version"].is_string()) version_ = version_date((*found)["version"].get_ref<const std::string&>());
  }

  /// yyyymm of the framework's version, 0 where the job does not say one: the newest.
  [[nodiscard]] std::int32_t version() const { return version_; }

  /// Whether the job states the neutral key: one at top level, or one a level below. A section given as a bare word
  /// ("zero3") states all its keys.
  [[nodiscard]] bool given(std::string_view section, std::string_view key = {}) const {
    const auto found = job_->find(section);
    if (found == job_->end()) return false;
    return key.empty() || !found->is_object() || found->contains(key);
  }

  /// `field = value`, unless the job states the neutral key: then both have to agree. `said` is the option's path.
  template <class T>
  void set(T& field, const T& value, std::string_view section, std::string_view key, const std::string& said) const {
    if (given(section, key) && field != value)
      fail("headroom: " + said + " contradicts " + joined(std::string{section}, key) + "; state one of them, or both alike");
    field = value;
  }

 private:
  const json_value* job_;
  std::int32_t version_{};
};

}  // namespace headroom::io
