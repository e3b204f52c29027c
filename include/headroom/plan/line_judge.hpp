// Distributed under the Boost Software License, Version 1.0.
// What plan_judge (plan/judge.hpp) does: a line of jobs is looked up once where the layers are divided, and judged job by job elsewhere.
#pragma once

#include <headroom/objection.hpp>
#include <headroom/plan/judge_plan.hpp>
#include <headroom/plan/line.hpp>

#include <optional>

namespace headroom::detail {

/// For one thread. Large: not for the stack.
class line_judge {
 public:
  /// A line of jobs begins: `j`, and what it will be when next() is called again, which may differ in batch.micro and batch.accumulation.
  void begin(const job& j) {
    line_.reset();
    job_ = &j;
    divided_ = divided(j);
  }
  /// What judge_plan() says of the job as it is now; `seconds` may be less, and `device` where it does not fit.
  judged_plan next() {
    if (!divided_) return whole();
    if (!line_ || !runs_any_batch(*job_))
      if (const auto why = objection_to(*job_)) return {.refused = why};
    if (!line_) {
      if (known_->full()) known_.emplace();
      line_.emplace(*job_, *known_, stages_);
    }
    if (!line_->alike()) return whole();
    if (line_->fits_never()) return {};
    const auto memory = job_->hardware.left_of(job_->hardware.accelerator()), device = line_->device(memory);
    if (device > memory) return {.device = device};
    return {true, device, line_->least(), {}};
  }
  /// The time of the job that next() last said to fit.
  double seconds() { return line_ && line_->alike() ? line_->seconds() : seconds_; }
  judged_plan judge(const job& j) {
    begin(j);
    auto seen = next();
    if (seen.fits) seen.seconds = seconds();
    if (!seen.fits && !seen.refused && line_ && line_->alike()) seen.device = line_->device(bytes{INT64_MAX});
    return seen;
  }

 private:
  judged_plan whole() {
    const auto seen = judge_plan(*job_);
    seconds_ = seen.seconds;
    return seen;
  }
  /// Whether a job is one of divided layers, without a measured run that corrects it and without what would be asked of its host, its pools or its graphs.
  static bool divided(const job& j) {
    return !j.measured.given() && j.framework.modules.megatron() && !j.framework.modules.nanotron() && !j.framework.modules.deepspeed() && j.framework.runtime == runtime::autograd && j.hardware.kinds() == 1 &&
           j.hardware.accelerator().maker != vendor::cpu && j.hardware.host_memory == bytes{0} && j.hardware.nvme == bytes{0} && j.offload.activations == place::on_gpu &&
           j.optimizer.vector_moments == 0 && !j.model.pattern.given() && !captures_first(j) && j.objective.kind == objective_kind::sft && j.model.vision.kind == vision_kind::none;
  }

  const job* job_{};
  bool divided_{};
  double seconds_{};
  std::optional<known_parts> known_{std::in_place};
  stage_peaks stages_;
  std::optional<divided_line> line_;
};

}  // namespace headroom::detail
