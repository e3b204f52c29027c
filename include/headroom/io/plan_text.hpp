// Distributed under the Boost Software License, Version 1.0.
// Plans as a table and as JSON.
#pragma once

#include <headroom/decide.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/plan/plan.hpp>
#include <headroom/plan/price.hpp>
#include <headroom/plan/tied.hpp>

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
  if (properties_of(d.schedule).searched) text += " " + std::string{text_of(d.schedule)};
  degree("context", d.context);
  degree("expert", d.expert);
  degree("expert tensor", d.expert_tensor);
  bool uneven = j.hardware.kinds() > 1;
  for (std::int32_t i = 1; i < chunks_given(d); ++i) uneven = uneven || d.stage_layers[i] != d.stage_layers[0];
  if (chunks_given(d) > 0 && uneven) {
    text += " (";
    for (std::int32_t i = 0; i < chunks_given(d); ++i) text += (i > 0 ? "+" : "") + std::to_string(d.stage_layers[i]);
    text += " layers)";
  }
  if (!j.sharding.by(sharder::nobody)) text += (text.empty() ? "" : ", ") + std::string{text_of(j.sharding.kind)};
  if (j.sharding.by(sharder::deepspeed)) text += " " + std::to_string(j.sharding.stage);
  text += (text.empty() ? "" : ", ") + std::string{"batch "} + std::to_string(j.batch.micro) + " x " + std::to_string(j.batch.accumulation);
  if (j.recompute.mode == recompute_mode::full) text += j.recompute.layers > 0 ? ", recompute " + std::to_string(j.recompute.layers) + " layers of a chunk" : std::string{", full recompute"};
  if (j.recompute.mode == recompute_mode::selective) text += ", selective recompute";
  if (j.offload.optimizer != place::on_gpu) text += ", optimizer offloaded";
  if (place_of_parameters(j) != place::on_gpu) text += ", parameters offloaded";
  if (j.offload.activations != place::on_gpu) text += ", activations offloaded";
  if (const auto& r = j.rollout; r.shares_gpus()) {
    text += ", engine " + fixed(r.share.per_million / 1e6, 2) + (r.tensor > 1 ? " on " + std::to_string(r.tensor) + " GPUs" : std::string{});
    if (r.sleeps()) text += ", sleeps " + std::to_string(r.sleep);
  } else if (r.gpus > 0) {
    text += ", engine on " + std::to_string(r.gpus) + " other GPUs" + (r.tensor > 1 ? ", " + std::to_string(r.tensor) + " together" : std::string{});
  }
  return text;
}

/// "4 x 8 h100-sxm-80gb", of an object of `hardware`.
inline std::string cluster_name(const json_value& hardware) {
  const auto count = [&](const std::string& key) {
    if (hardware.contains("max_" + key)) return "up to " + hardware.at("max_" + key).dump();
    return hardware.contains(key) ? hardware.at(key).dump() : std::string{"1"};
  };
  return count("nodes") + " x " + count("gpus_per_node") + " " + hardware.at("gpu").get<std::string>();
}

/// What sets a search of a sweep apart: names as they are, clusters by their GPUs, numbers with their key.
inline std::string sweep_name(const json_value& values) {
  std::string text;
  for (auto it = values.begin(); it != values.end(); ++it) {
    const auto& v = *it;
    text += text.empty() ? "" : ", ";
    if (v.is_string())
      text += v.get<std::string>();
    else if (v.is_object() && v.contains("gpu") && v.at("gpu").is_string())
      text += cluster_name(v);
    else
      text += it.key().substr(it.key().rfind('.') + 1) + " " + v.dump();
  }
  return text;
}

/// Whether plans differ in how many GPUs they take.
inline bool several_sizes(const plan_result& r) {
  const auto differs = [&](const ranked_plan& p) { return all_gpus_of(p.job) != all_gpus_of(r.front.front().job); };
  return std::any_of(r.best.begin(), r.best.end(), differs) || std::any_of(r.front.begin(), r.front.end(), differs);
}

using headroom::detail::tokens_per_second;

/// "4.31-5.62": a range of seconds, to three digits.
inline std::string range_text(const ranked_plan& p, confidence sure) {
  const auto c = cost_of_plan(p);
  if (!c) return "";
  const auto seen = bounds(*c, sure);
  const auto digits = [](double v) { return fixed(v, v < 1 ? 3 : v < 10 ? 2 : v < 100 ? 1 : 0); };
  return digits(seen.low.value) + "-" + digits(seen.high.value);
}
inline std::string share_text(confidence sure) { return fixed(sure.share() * 100, sure.per_mille % 10 == 0 ? 0 : 1) + " %"; }

/// Of a plan, what decide() says, whose figures are those of replay() where a replay or a measured run decides.
inline full_report report_of_plan(const ranked_plan& p, const deadline& until) { return until.passed() ? estimate_all(p.job) : decide(p.job); }
/// `device` of its tightest GPU; of a plan that only a judge of one's own judges, what that said.
inline bytes device_of_plan(const ranked_plan& p, const deadline& until = {}) {
#if HEADROOM_EXCEPTIONS
  try {
#endif
    return report_of_plan(p, until).device();
#if HEADROOM_EXCEPTIONS
  } catch (const job_error&) {
    return p.outcome.device;
  }
#endif
}

/// Step and its range, tokens a second, memory of the tightest GPU.
inline std::string plan_columns(const ranked_plan& p, bool gpus, confidence sure, const deadline& until = {}) {
  const bool timed = p.outcome.seconds > 0;
  return (gpus ? right(grouped(all_gpus_of(p.job)), 7) : "") + right(timed ? fixed(p.outcome.seconds, 3) + " s" : "-", 11) + right(range_text(p, sure), 13) +
         right(timed ? grouped(static_cast<std::int64_t>(tokens_per_second(p))) : "-", 14) + right(gib_text(device_of_plan(p, until)), 13);
}
inline std::string plan_header(bool gpus, confidence sure) {
  return (gpus ? right("GPUs", 7) : "") + right("step", 11) + right(share_text(sure) + " sure", 13) + right("tokens/s", 14) + right("device", 13);
}

/// `numbered`: what plans are called in the sentence below.
inline std::string plan_table(const std::vector<ranked_plan>& plans, bool gpus, confidence sure, const deadline& until = {}, bool numbered = false) {
  const auto number = [&](const std::string& n) { return numbered ? right(n, 4) : std::string{}; };
  std::string text = "  " + number("") + plan_header(gpus, sure) + "  plan\n";
  std::size_t i = 0;
  for (const auto& p : plans) text += "  " + number(std::to_string(++i)) + plan_columns(p, gpus, sure, until) + "  " + plan_line(p.job) + "\n";
  return text;
}

/// "1 to 4", "1, 2 and 5": of those that are true.
inline std::string numbers_text(const std::vector<bool>& of) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!of[i]) continue;
    const auto from = i;
    while (i + 1 < of.size() && of[i + 1]) ++i;
    parts.push_back(std::to_string(from + 1));
    if (i == from + 1) parts.push_back(std::to_string(i + 1));
    if (i > from + 1) parts.back() += " to " + std::to_string(i + 1);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

/// What the order of the fastest is worth.
inline std::string tied_text(const std::vector<ranked_plan>& best, confidence sure) {
  if (best.size() < 2) return "";
  const auto tied = tied_with_first(best, sure);
  const auto n = std::count(tied.begin(), tied.end(), true);
  if (n == 0) return "";
  if (n == 1) return "The first is the fastest, " + share_text(sure) + " sure of each of the others.\n";
  const bool all = static_cast<std::size_t>(n) == tied.size();
  return wrapped("Plans " + numbers_text(tied) + (all ? ", all of these," : "") + " are within the error of the prediction: measure them." +
                     (all ? " More that are slower may be, too (--top)." : ""), "  ");
}

/// At most so many, evenly, both ends kept.
inline std::vector<ranked_plan> thinned(const std::vector<ranked_plan>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<ranked_plan> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

/// The fastest of the front on each number of GPUs, from the most to the fewest; fewer GPUs that are faster leave out more.
inline std::vector<ranked_plan> fewer_gpus(const std::vector<ranked_plan>& front) {
  std::vector<ranked_plan> each;
  for (const auto& p : front)
    if (each.empty() || all_gpus_of(p.job) < all_gpus_of(each.back().job)) each.push_back(p);
  return each;
}

}  // namespace detail

/// `sure`: of the ranges of times, and of which plans the prediction tells apart.
inline std::string to_text(const plan_result& r, double seconds, bool colour = false, confidence sure = {}, const deadline& until = {}) {
  const palette ink{colour};
  std::string text = ink.bold(grouped(r.evaluated) + (r.evaluated == 1 ? " job" : " jobs") + " evaluated") + ", " + grouped(r.passed_over) + " passed over, " + grouped(r.fitting) + " fit, in " + fixed(seconds, 2) + " s" +
                     (r.complete ? "" : "; stopped before the end: the best so far") + "\n\n";
  if (r.best.empty()) {
    const bool too_large = r.rejected.contains("does not fit");
    const bool refused = r.complete && !too_large && !r.rejected.empty();
    text += ink.bad(refused ? "No plan is possible" : r.complete ? "No plan fits" : "Not decided") + (refused ? ": every job is refused.\n" : r.complete ? ".\n" : ": none of them fits.\n");
  } else {
    const bool gpus = detail::several_sizes(r), timed = r.untimed.empty();
    if (!timed) text += detail::wrapped("No step times, so that plans are in order of memory: " + r.untimed + ".", "") + "\n";
    text += ink.bold(timed ? "The fastest that fit" : "The smallest that fit") + "\n" + detail::plan_table(r.best, gpus, sure, until, true) + detail::tied_text(r.best, sure);
    if (gpus && timed) text += "\n" + ink.bold("Fewer GPUs for more time") + "\n" + detail::plan_table(detail::thinned(detail::fewer_gpus(r.front), 12), gpus, sure, until);
    if (timed) text += "\n" + ink.bold(gpus ? "Less memory or fewer GPUs for more time" : "Less memory for more time") + "\n" + detail::plan_table(detail::thinned(r.front, 12), gpus, sure, until);
  }
  if (r.rejected.empty()) return text;
  text += "\n" + ink.bold("Rejected") + "\n";
  for (const auto& [reason, n] : r.rejected) text += "  " + right(grouped(n), 12) + "  " + reason + "\n";
  return text;
}

/// A sweep: the fastest plan of each search. `names` say what sets them apart.
inline std::string sweep_text(const std::vector<std::string>& names, const std::vector<plan_result>& results, double seconds, bool colour = false, confidence sure = {}, const deadline& until = {}) {
  const palette ink{colour};
  std::int64_t evaluated = 0, fitting = 0;
  bool complete = true;
  std::size_t width = 6;
  for (const auto& n : names) width = std::max(width, n.size());
  std::string rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& r = results[i];
    evaluated += r.evaluated, fitting += r.fitting;
    complete = complete && r.complete;
    rows += "  " + left(names[i], width) + (r.best.empty() ? "  " + ink.bad(r.complete ? "no plan fits" : "stopped") : detail::plan_columns(r.best.front(), true, sure, until) + "  " + detail::plan_line(r.best.front().job)) + "\n";
  }
  return ink.bold(std::to_string(results.size()) + " searches, " + grouped(evaluated) + " jobs evaluated") + ", " + grouped(fitting) + " fit, in " + fixed(seconds, 2) + " s" +
         (complete ? "" : "; stopped before the end: the best so far") + "\n\n" + ink.bold("The fastest that fit") + "\n  " + left("search", width) + detail::plan_header(true, sure) + "  plan\n" + rows;
}

/// {"evaluated", "passed_over", "fitting", "seconds", "complete", "plans", "front", "rejected"}; read_plans() is its reverse. Of each plan the
/// range of its time and, of the fastest, whether the prediction tells it from the first.
inline ordered_json to_json(const plan_result& r, double seconds, confidence sure = {}, const deadline& until = {}) {
  const auto list = [&](const std::vector<ranked_plan>& plans, const std::vector<bool>& tied) {
    auto all = ordered_json::array();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto& p = plans[i];
      const bool timed = p.outcome.seconds > 0;
      ordered_json one{{"job", job_to_json(p.job)}, {"ordinal", p.ordinal}, {"step_seconds", timed ? ordered_json(p.outcome.seconds) : ordered_json(nullptr)}};
      if (const auto c = cost_of_plan(p)) {
        const auto seen = bounds(*c, sure);
        one["step_bounds"] = {{"low", seen.low.value}, {"high", seen.high.value}, {"confidence", sure.share()}};
      }
      one["tokens_per_second"] = timed ? ordered_json(detail::tokens_per_second(p)) : ordered_json(nullptr);
      if (!tied.empty()) one["tied"] = static_cast<bool>(tied[i]);
      one["report"] = to_json(detail::report_of_plan(p, until));
      all.push_back(std::move(one));
    }
    return all;
  };
  auto rejected = ordered_json::array();
  for (const auto& [reason, n] : r.rejected) rejected.push_back({{"reason", reason}, {"count", n}});
  ordered_json all{{"evaluated", r.evaluated}, {"passed_over", r.passed_over}, {"fitting", r.fitting}, {"seconds", seconds}, {"complete", r.complete},
          {"plans", list(r.best, r.untimed.empty() ? tied_with_first(r.best, sure) : std::vector<bool>{})}, {"front", list(r.front, {})}, {"rejected", rejected}};
  if (!r.untimed.empty()) all["untimed"] = r.untimed;
  return all;
}

}  // namespace headroom::io
