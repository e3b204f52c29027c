// Distributed under the Boost Software License, Version 1.0.
// plan(search) by estimate() and cost().
#pragma once

#include <headroom/objection.hpp>
#include <headroom/plan/line.hpp>
#include <headroom/plan/plan.hpp>

#include <memory>
#include <optional>

namespace headroom {

/// Memory first; the time only of what may fit. Which of the plans that a search names do fit is for confirmed_plan() (plan/confirm.hpp).
constexpr judged_plan judge_plan(const job& j) {
  if (const auto why = objection_to(j)) return {.refused = why};
  const auto r = estimate(j);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j).step.value : 0.0, {}};
}

/// … with layers of one's own (block/own_layer.hpp).
template <own_stack Own>
constexpr judged_plan judge_own_plan(const job& j, const Own& own) {
  if (const auto why = objection_to(j, own)) return {.refused = why};
  const auto r = estimate(j, own);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j, own).step.value : 0.0, {}};
}

/// judge_plan() for the jobs of one search, one after the other: what jobs have in common is worked out once. They may differ in what
/// axes.hpp opens, in the batch, and in nothing else. For one thread; a copy begins with nothing known.
/// Errors: those of estimate() and cost().
class plan_judge {
 public:
  plan_judge() = default;
  plan_judge(const plan_judge&) {}
  plan_judge& operator=(const plan_judge&) {
    of_->line.reset();
    of_->known.emplace();
    return *this;
  }

  judged_plan operator()(const job& j) {
    begin(j);
    auto seen = next();
    if (seen.fits) seen.seconds = seconds();
    if (!seen.fits && !seen.refused && of_->line && of_->line->alike()) seen.device = of_->line->device(bytes{INT64_MAX});
    return seen;
  }

  /// A line of jobs begins: `j`, and what it will be when next() is called again, which may differ in batch.micro and batch.accumulation.
  void begin(const job& j) {
    of_->line.reset();
    job_ = &j;
    divided_ = divided(j);
  }
  /// What judge_plan() says of the job as it is now; `seconds` may be less, and `device` where it does not fit.
  judged_plan next() {
    if (!divided_) return whole();
    if (!of_->line || !detail::runs_any_batch(*job_))
      if (const auto why = objection_to(*job_)) return {.refused = why};
    if (!of_->line) {
      if (of_->known->full()) of_->known.emplace();
      of_->line.emplace(*job_, *of_->known, of_->stages);
    }
    if (!of_->line->alike()) return whole();
    if (of_->line->fits_never()) return {};
    const auto memory = job_->hardware.left_of(job_->hardware.accelerator()), device = of_->line->device(memory);
    if (device > memory) return {.device = device};
    return {true, device, of_->line->least(), {}};
  }
  /// The time of the job that next() last said to fit.
  double seconds() { return of_->line && of_->line->alike() ? of_->line->seconds() : seconds_; }

 private:
  judged_plan whole() {
    const auto seen = judge_plan(*job_);
    seconds_ = seen.seconds;
    return seen;
  }
  /// Whether a job is one of divided layers, without what would be asked of its host, its pools or its graphs.
  static bool divided(const job& j) {
    return j.framework.modules.megatron() && j.framework.runtime == runtime::autograd && j.hardware.kinds() == 1 &&
           j.hardware.accelerator().maker != vendor::cpu && j.hardware.host_memory == bytes{0} && j.hardware.nvme == bytes{0} && j.offload.activations == place::on_gpu &&
           j.optimizer.vector_moments == 0 && !j.model.pattern.given() && !captures_first(j);
  }

  const job* job_{};
  bool divided_{};
  double seconds_{};
  struct found {
    std::optional<detail::known_parts> known{std::in_place};
    detail::stage_peaks stages;
    std::optional<detail::divided_line> line;
  };
  std::unique_ptr<found> of_ = std::make_unique<found>();  ///< large, so not on the stack
};

inline plan_result plan(const search& s, const plan_options& o = {}) { return plan(s, plan_judge{}, o); }
/// … with layers of one's own (block/own_layer.hpp).
/// Errors: those of plan(search). A job whose pattern names a layer that is not among those given is rejected, as any that is refused.
template <own_stack Own>
plan_result plan(const search& s, const Own& own, const plan_options& o = {}) {
  return plan(s, [&](const job& j) { return judge_own_plan(j, own); }, o);
}

}  // namespace headroom
