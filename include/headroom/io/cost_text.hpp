// Distributed under the Boost Software License, Version 1.0.
// A predicted step time as a person reads it, and as JSON.
#pragma once

#include <headroom/cost/bounds.hpp>
#include <headroom/io/report/cost_assumptions.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>

#include <string>
#include <utility>

namespace headroom::io {

namespace detail {

/// The parts of a step, in the order in which they are said.
inline constexpr std::pair<const char*, seconds step_cost::*> step_parts[] = {
    {"matmul", &step_cost::matmul},       {"attention", &step_cost::attention},         {"memory", &step_cost::memory},
    {"communication", &step_cost::communication}, {"launch", &step_cost::launch},       {"data_parallel", &step_cost::data_parallel},
    {"bubble", &step_cost::bubble},       {"optimizer", &step_cost::optimizer},         {"offload", &step_cost::offload},
    {"other_models", &step_cost::other_models},   {"generation", &step_cost::generation}, {"sync", &step_cost::sync}};

}  // namespace detail

/// The time and its parts in seconds, with the range of a confidence; rates of all GPUs, and of one.
inline ordered_json to_json(const step_cost& c, confidence sure = {}) {
  ordered_json parts = ordered_json::object();
  for (const auto& [name, part] : detail::step_parts) parts[name] = (c.*part).value;
  ordered_json assumed = ordered_json::array();
  for (int i = 0; i < time_assumption_count; ++i)
    if (c.assumptions.has(static_cast<time_assumption>(i))) assumed.push_back(std::string{assumption_text(static_cast<time_assumption>(i))});
  const auto seen = bounds(c, sure);
  ordered_json out = {{"step_seconds", c.step.value},
          {"step_bounds", {{"low", seen.low.value}, {"high", seen.high.value}, {"confidence", sure.share()}}},
          {"tokens_per_second", c.tokens_per_second()},
          {"tokens_per_second_per_gpu", c.tokens_per_second_per_gpu()},
          {"tflops_per_gpu", c.hardware_tflops_per_gpu()},
          {"mfu", c.mfu()},
          {"step_parts", std::move(parts)},
          {"step_assumptions", std::move(assumed)}};
  if (c.measured.moved != 1 || c.measured.left != 1) out["step_measured"] = {{"moved", c.measured.moved}, {"left", c.measured.left}, {"unexplained", c.measured.unexplained}};
  return out;
}

/// The predicted time of a step as a person reads it: seconds, tokens a second, and where the time goes. Its range is that of a confidence.
inline std::string to_text(const step_cost& c, bool colour = false, confidence sure = {}) {
  const palette ink{colour};
  const auto time = [&](seconds s) { return fixed(s.value, c.step.value < 10 ? 3 : 1) + " s"; };
  const auto rate = [](double v) { return grouped(static_cast<std::int64_t>(v)); };
  std::string text = ink.bold("Predicted step time") + "  " + time(c.step) + ", " + rate(c.tokens_per_second()) + " tokens/s (" +
                     rate(c.tokens_per_second_per_gpu()) + " per GPU), " + fixed(c.mfu() * 100, 1) + " % MFU\n";
  const auto seen = bounds(c, sure);
  text += ink.dim(fixed(sure.share() * 100.0, sure.per_mille % 10 == 0 ? 0 : 1) + " % sure: a step between " + time(seen.low) + " and " + time(seen.high)) + "\n";
  if (const auto corrected = measured_text(c); !corrected.empty()) text += detail::wrapped(corrected, "");
  for (const auto& [name, part] : detail::step_parts) {
    const double share = c.*part / c.step;
    if (share < 0.001) continue;
    std::string label{name};
    for (auto& letter : label)
      if (letter == '_') letter = ' ';
    text += "  " + left(label, 23) + right(fixed((c.*part).value, 3) + " s", 11) + right(fixed(share * 100, 1) + " %", 9) + "  " + ink.hue(bar(share, 30)) + "\n";
  }
  text += ink.bold("Assumed of the time") + "\n";
  for (int i = 0; i < time_assumption_count; ++i)
    if (c.assumptions.has(static_cast<time_assumption>(i))) text += detail::wrapped(assumption_text(static_cast<time_assumption>(i)), "  - ");
  return text + "\n";
}

}  // namespace headroom::io
