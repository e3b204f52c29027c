// Distributed under the Boost Software License, Version 1.0.
// The `framework` key: which profile is meant, and how a framework's own options meet the neutral keys.
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

/// What a job file may name. Those without a profile yet are refused as such, not as misspelt.
inline constexpr std::array<std::string_view, 9> framework_names{
    "torchtitan", "megatron", "deepspeed", "hf-trainer", "torchtune", "litgpt", "fsdp-qlora", "llm.c", "libtorch"};

/// Throws job_error for an unknown name, and for one that this version has no profile of.
inline profile read_framework_named(const std::string& label, std::string_view version, const std::string& path) {
  for (const auto& n : frameworks::named_profiles)
    if (n.framework == label && version.find(n.text) != std::string_view::npos) return n.of;
  auto date = version_date(version);
  for (const auto& d : frameworks::dated_names)
    if (d.framework == label && version.find(d.text) != std::string_view::npos) date = d.date;
  if (const auto* known = frameworks::find(label, date)) return *known;
  std::vector<std::string_view> supported;
  for (const auto& p : frameworks::known)
    if (std::find(supported.begin(), supported.end(), p.label.view()) == supported.end())
      supported.push_back(p.label.view());
  if (std::find(framework_names.begin(), framework_names.end(), label) != framework_names.end())
    fail("headroom: " + path + " " + in_quotes(label) +
         " is not supported by this version; supported: " + listed(supported));
  unknown_name(path, label, framework_names);
}

struct framework_choice {
  profile chosen{frameworks::libtorch};
  const json_value* options{};  ///< of the framework, where the job states any
};

/// A name, or {"name", "version", "options"}. The options are not looked at here.
inline framework_choice read_framework(const json_value& value, const std::string& path) {
  if (value.is_string()) return {read_framework_named(*value.get_ptr<const json_value::string_t*>(), {}, path), nullptr};
  key_reader k{value, path};
  const auto& label = string_at(k.need("name", "one of " + listed(framework_names)), k.at("name"));
  const auto* version = k.take("version");
  const auto* options = k.take("options");
  k.finish();
  if (options != nullptr && !options->is_object()) wrong_value(k.at("options"), "an object", *options);
  return {read_framework_named(
              label, version != nullptr ? std::string_view{string_at(*version, k.at("version"))} : std::string_view{},
              k.at("name")),
          options};
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
  explicit option_merger(const json_value& job) : job_(&job) {}

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
};

}  // namespace headroom::io
