// Distributed under the Boost Software License, Version 1.0.
// What a server counts, in the text format that Prometheus reads (prometheus.io/docs/instrumenting/exposition_formats).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace serving {

/// How often each value of a label was met. Values are the program's own words: nobody outside can make new ones.
class counter {
 public:
  counter(const char* name, const char* help, const char* label) : name_(name), help_(help), label_(label) {}
  void add(std::string_view value) {
    const std::lock_guard lock(use_);
    ++counts_.try_emplace(std::string{value}, 0).first->second;
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(use_);
    auto all = std::string{"# HELP "} + name_ + " " + help_ + "\n# TYPE " + name_ + " counter\n";
    for (const auto& [value, n] : counts_) all += std::string{name_} + "{" + label_ + "=\"" + value + "\"} " + std::to_string(n) + "\n";
    return all;
  }

 private:
  const char *name_, *help_, *label_;
  mutable std::mutex use_;
  std::map<std::string, std::uint64_t> counts_;
};

/// How long answers took.
class latency {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::array edges{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};  ///< seconds

  latency(const char* name, const char* help) : name_(name), help_(help) {}
  void add(clock::duration took) {
    const auto seconds = std::chrono::duration<double>(took).count();
    const std::lock_guard lock(use_);
    std::size_t i = 0;
    while (i < edges.size() && seconds > edges[i]) ++i;
    ++counts_[i];
    sum_ += seconds;
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(use_);
    const std::string name{name_};
    auto all = "# HELP " + name + " " + help_ + "\n# TYPE " + name + " histogram\n";
    std::uint64_t below = 0;
    char line[160];
    for (std::size_t i = 0; i <= edges.size(); ++i) {
      below += counts_[i];
      if (i < edges.size())
        std::snprintf(line, sizeof line, "%s_bucket{le=\"%g\"} %llu\n", name_, edges[i], static_cast<unsigned long long>(below));
      else
        std::snprintf(line, sizeof line, "%s_bucket{le=\"+Inf\"} %llu\n", name_, static_cast<unsigned long long>(below));
      all += line;
    }
    std::snprintf(line, sizeof line, "%s_sum %.6f\n%s_count %llu\n", name_, sum_, name_, static_cast<unsigned long long>(below));
    return all + line;
  }

 private:
  const char *name_, *help_;
  mutable std::mutex use_;
  std::array<std::uint64_t, edges.size() + 1> counts_{};
  double sum_{};
};

inline constexpr auto prometheus_type = "text/plain; version=0.0.4";

}  // namespace serving
