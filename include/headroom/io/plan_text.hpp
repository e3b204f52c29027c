// Distributed under the Boost Software License, Version 1.0.
// Plans as a table and as JSON.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/plan/plan.hpp>

namespace headroom::io {

namespace detail {

/// What distinguishes one plan of a search from another, in the words of a job file.
inline std::string plan_line(const job& j) {
  const auto& d = j.parallel;
  std::string text;
  const auto degree = [&](const char* name, std::int64_t n) {
    if (n > 1) text += std::string{text.empty() ? "" : " "} + name + " " + std::to_string(n);
  };
  degree("data", j.hardware.gpus() / (d.tensor * d.pipeline * d.context));
  degree("tensor", d.tensor);
  if (d.sequence) text += "+sequence";
  degree("pipeline", d.pipeline);
  degree("virtual", d.virtual_pipeline);
  if (d.schedule == schedule::zero_bubble) text += " zero-bubble";
  degree("context", d.context);
  degree("expert", d.expert);
  if (j.sharding.kind != sharding_kind::none) text += (text.empty() ? "" : ", ") + std::string{text_of(j.sharding.kind)};
  if (j.sharding.kind == sharding_kind::zero) text += " " + std::to_string(j.sharding.stage);
  text += (text.empty() ? "" : ", ") + std::string{"batch "} + std::to_string(j.batch.micro) + " x " + std::to_string(j.batch.accumulation);
  if (j.recompute.mode == recompute_mode::full) text += j.recompute.layers > 0 ? ", recompute " + std::to_string(j.recompute.layers) + " layers of a chunk" : std::string{", full recompute"};
  if (j.recompute.mode == recompute_mode::selective) text += ", selective recompute";
  if (j.offload.optimizer != place::on_gpu) text += ", optimizer offloaded";
  if (j.offload.parameters != place::on_gpu) text += ", parameters offloaded";
  if (j.offload.activations != place::on_gpu) text += ", activations offloaded";
  return text;
}

inline std::string plan_table(const std::vector<ranked_plan>& plans) {
  std::string text = "  " + right("step", 11) + right("tokens/s", 14) + right("device", 13) + "  plan\n";
  for (const auto& p : plans)
    text += "  " + right(fixed(p.outcome.seconds, 3) + " s", 11) + right(grouped(static_cast<std::int64_t>(cost(p.job).tokens_per_second())), 14) +
            right(gib_text(p.outcome.device), 13) + "  " + plan_line(p.job) + "\n";
  return text;
}

}  // namespace detail

inline std::string to_text(const plan_result& r, double seconds, bool colour = false) {
  const palette ink{colour};
  std::string text = ink.bold(grouped(r.evaluated) + " jobs evaluated") + ", " + grouped(r.passed_over) + " passed over, " + grouped(r.fitting) + " fit, in " + fixed(seconds, 2) + " s" +
                     (r.complete ? "" : "; stopped before the end: the best so far") + "\n\n";
  if (r.best.empty()) {
    text += ink.bad("No plan fits.") + "\n";
  } else {
    text += ink.bold("The fastest that fit") + "\n" + detail::plan_table(r.best) + "\n" + ink.bold("Less memory for more time") + "\n";
    constexpr std::size_t shown = 12;
    auto front = r.front;
    if (front.size() > shown) {  // evenly, both ends kept
      std::vector<ranked_plan> some;
      for (std::size_t i = 0; i < shown; ++i) some.push_back(front[i * (front.size() - 1) / (shown - 1)]);
      front = std::move(some);
    }
    text += detail::plan_table(front);
  }
  if (r.rejected.empty()) return text;
  text += "\n" + ink.bold("Rejected") + "\n";
  for (const auto& [reason, n] : r.rejected) text += "  " + right(grouped(n), 12) + "  " + reason + "\n";
  return text;
}

/// {"evaluated", "passed_over", "fitting", "seconds", "complete", "plans", "front", "rejected"}; read_plans() is its reverse.
inline ordered_json to_json(const plan_result& r, double seconds) {
  const auto list = [](const std::vector<ranked_plan>& plans) {
    auto all = ordered_json::array();
    for (const auto& p : plans)
      all.push_back({{"job", job_to_json(p.job)},
                     {"ordinal", p.ordinal},
                     {"step_seconds", p.outcome.seconds},
                     {"tokens_per_second", cost(p.job).tokens_per_second()},
                     {"report", to_json(estimate(p.job))}});
    return all;
  };
  auto rejected = ordered_json::array();
  for (const auto& [reason, n] : r.rejected) rejected.push_back({{"reason", reason}, {"count", n}});
  return {{"evaluated", r.evaluated}, {"passed_over", r.passed_over}, {"fitting", r.fitting}, {"seconds", seconds}, {"complete", r.complete},
          {"plans", list(r.best)}, {"front", list(r.front)}, {"rejected", rejected}};
}

}  // namespace headroom::io
