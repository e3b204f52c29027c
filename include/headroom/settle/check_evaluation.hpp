// Distributed under the Boost Software License, Version 1.0.
// Evaluations that contradict themselves, leave open what decides, or are not modelled.
#pragma once

#include <headroom/job.hpp>
#include <headroom/rollout/engine_weights.hpp>

namespace headroom::detail {

/// Examples whose positions the model has not learned. Of what is generated the last token is not read again (transformers generation/utils.py, _sample).
constexpr objection check_evaluated_positions(const job& j, const auto& no) {
  const auto& e = j.evaluation;
  const auto& m = j.model;
  if (m.position != position_kind::learned || m.max_positions == 0 || (m.vision.kind != vision_kind::none && m.vision.layers == 0)) return {};
  const auto length = e.sequence > 0 ? e.sequence : j.batch.sequence;
  if (e.sequence > m.max_positions && !j.batch.packed)
    return no("headroom: evaluation.sequence must be at most model.max_positions, the positions that this model has learned; they are", m.max_positions);
  if (e.generate > 0 && checked::add(length, e.generate) - 1 > m.max_positions)
    return no("headroom: evaluation.sequence + generate must be at most model.max_positions + 1: the model has learned no later position; max_positions", m.max_positions);
  return {};
}

constexpr objection check_evaluation(const job& j, const auto& no) {
  const auto& e = j.evaluation;
  if (e == evaluation{}) return {};
  if (e.batch < 1) return no("headroom: evaluation.batch is required: how many examples a GPU evaluates at once (per_device_eval_batch_size)", e.batch);
  const auto& f = j.framework;
  if (f.runtime != runtime::autograd || !f.modules.eager() || (f.label != "hf-trainer" && f.label != "deepspeed"))
    return no("headroom: evaluation is modelled as transformers' Trainer runs it: framework must be hf-trainer or deepspeed, or leave evaluation out", f.label);
  // ms-swift cuts rows that are evaluated, too (swift/trainers/mixin.py get_eval_dataloader).
  if (j.parallel.pipeline > 1 || (j.parallel.context > 1 && (!of_swift(j.objective.code) || generates(j.objective.kind) || (!e.loss_only && j.objective.kind == objective_kind::sft)))) return no("headroom: evaluation is not modelled with layers spread over GPUs or with context parallelism; leave it out");
  if (j.model.encoder.layers > 0 || (j.model.vision.kind != vision_kind::none && !j.batch.images.none && !j.adapter.active()))
    return no("headroom: evaluation of models with encoders, or with towers that may train, is not modelled by this version; leave evaluation out");
  if (const auto why = check_evaluated_positions(j, no)) return why;
  const auto kind = j.objective.kind;
  const auto code = j.objective.code;
  const bool shows = keeps_generated_scores(j.objective);
  if (shows && e.batch <= checked::mul(j.batch.micro, j.batch.accumulation)) return no("headroom: completions that TRL's PPO, and RLOO up to 0.21, generate to show them take no more than a rollout's where they are no more, batch.micro × accumulation: leave evaluation out", e.batch);
  if (j.rollout.given() && !shows && ((kind != objective_kind::grpo && kind != objective_kind::rloo && kind != objective_kind::distill) || code == method_code::verl)) return no("headroom: evaluation beside generated completions is modelled of TRL's and ms-swift's GRPO and RLOO, and of ms-swift's distillation, alone; leave evaluation out");
  if (j.rollout.given() && e != evaluation{.batch = e.batch, .loss_only = e.loss_only, .use_cache = e.use_cache}) return no("headroom: of an evaluation beside generated completions, how many at once is all that is modelled: of evaluation, batch");
  const bool keeps = !e.loss_only && j.objective.kind == objective_kind::sft;
  if (keeps && e.samples < 1) return no("headroom: evaluation.samples is required: the Trainer keeps the logits of all evaluated examples for compute_metrics; without it write evaluation.loss_only true");
  if (e.loss_only && (e.samples > 0 || e.accumulation_steps > 0 || e.kept_bytes > 0)) return no("headroom: evaluation.loss_only keeps nothing but losses; leave samples, accumulation_steps and kept_bytes out");
  if (e.generate > 0) {
    if (j.objective.kind != objective_kind::sft) return no("headroom: evaluation.generate is modelled for objective.kind \"sft\" alone", e.generate);
    const auto length = e.sequence > 0 ? e.sequence : j.batch.sequence;
    if (j.model.sliding_window > 0 && j.model.sliding_window < length + e.generate) return no("headroom: evaluation.generate: how much a cache keeps of a sliding window depends on the release of transformers, and is not modelled; the window", j.model.sliding_window);
    return check_generated(j.model, 1, no);
  }
  return {};
}

}  // namespace headroom::detail
