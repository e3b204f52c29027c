// Distributed under the Boost Software License, Version 1.0.
// A forward without a graph, and what is made of its logits: scores before the step that trains on them.
#pragma once

#include <headroom/engine/eager/graphless.hpp>
#include <headroom/engine/eager/other_model.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom::detail {

/// What is made of a model's logits where they are only scored.
constexpr bytes score_temporaries(const settled_job& s, const scene& sc) {
  const auto& how = sc.scoring;
  if (s.source->objective.code == method_code::verl) return scores_of_padded(s, sc, true);
  const auto width = how.widens ? 4 : sc.loss.logits.width();
  const bool alone = (sc.samples == 1 || s.source->batch.packed) && s.source->objective.code == method_code::nemo_rl;  // a slice of one row is contiguous as it is
  const auto positions = sc.kept > 0 ? sc.kept : sc.scored > 0 ? sc.scored : sc.sequence;
  const auto of = [&](std::int64_t samples) { return bytes{checked::mul(checked::ceil_div(checked::mul(samples, positions), sc.context), sc.vocabulary, width)}; };
  // Where they are evaluated, entropies are made of a copy, too.
  const bool evaluates = evaluated_at_once(*s.source) > 0;
  const auto copied = evaluates && (how.entropy == logits_entropy::of_copy || how.entropy == logits_entropy::all_at_once) ? of(sc.samples) : bytes{0};
  if (how.divides == divided_by_temperature::into_copy && !how.shifts) return 2 * of(sc.samples);
  if (how.divides == divided_by_temperature::into_copy) return max(of(sc.samples), of(evaluates && how.entropy == logits_entropy::by_sample ? 3 : 1));
  // OpenRLHF's log-probabilities are one kernel's, or of 1,024 positions at a time (openrlhf/models/utils.py log_probs_from_logits, _logsumexp_by_chunk).
  const auto piece = bytes{checked::mul(sc.tokens < 1024 ? sc.tokens : 1024, sc.vocabulary, width)};
  const auto one = how.scores == label_scores::in_kernel ? bytes{0} : how.scores == label_scores::in_chunks ? piece : of(1);
  return copied + (how.widens ? of(sc.samples) : bytes{0}) + (how.scores == label_scores::whole ? (alone ? 1 : 2) * of(sc.samples) : one);
}

/// The copy that accelerate or transformers make of 16-bit logits, where they leave the model in fp32.
constexpr bytes widened_logits(const settled_job& s, const scene& sc) {
  if (s.source->objective.code == method_code::verl || sc.scoring.widens || sc.loss.logits.width() <= s.precision.compute.width()) return bytes{0};
  const auto positions = sc.kept > 0 ? sc.kept : sc.sequence;
  return bytes{checked::mul(checked::ceil_div(checked::mul(sc.samples, positions), sc.context), sc.vocabulary, sc.loss.logits.width())};
}

/// Logits that the policy and the reference leave while the others score (DeepSpeed-Chat dschat/rlhf/ppo_trainer.py generate_experience).
constexpr bytes left_logits(const settled_job& s, const scene& sc) {
  if (s.source->objective.code != method_code::deepspeed_chat) return bytes{0};
  return bytes{checked::mul(sc.tokens, sc.vocabulary, s.precision.compute.width())};
}

/// A forward without a graph of so many sequences, and their scores. Not inlined, so that its copy of the job lies on the stack for its own time.
[[gnu::noinline]] constexpr void look_at_forward_alone(timeline& t, phase p, const settled_job& s, const state_bytes& st, const windows& w, const moment& here, std::int64_t samples, const auto& layers) {
  auto at_once = s;
  auto& sc = at_once.layer;
  sc.samples = samples;
  sc.tokens = checked::ceil_div(checked::mul(samples, sc.sequence), sc.context);
  const auto bare = walk_bare(at_once, st, w, layers, false, sc.loss_program == loss_style::fused_scores ? loss_style::fused_scores : loss_style::logits);
  const auto casts = sc.casts_weights ? walk_graphless(at_once, with_model(at_once), layers) : graphless_layers{};
  t.look_beside(p, -1, here + w.forward + casts.beside() + moment(row::activations, bare.layers));
  const auto wide = widened_logits(at_once, sc), beside = score_temporaries(at_once, sc);
  t.look_beside(p, -1, here + w.loss + moment(row::gathered_parameters, casts.copies) + moment(row::logits, wide > bytes{0} ? max(bare.head + wide, wide + beside) : bare.head + beside));
}

/// NeMo-RL's reference: its weights are written over the policy's, and examples are scored before the step (nemo_rl/models/policy/workers/
/// dtensor_policy_worker_v2.py use_reference_model; nemo_rl/algorithms/dpo.py add_ref_logprobs_to_data).
constexpr void look_at_swapped(timeline& t, const settled_job& s, const state_bytes& st, const windows& w, const moment& here, const auto& layers) {
  if (reference_of(*s.source) == reference_way::swapped) look_at_forward_alone(t, phase::reference, s, st, w, here, scored_at_once(*s.source), layers);
}

}  // namespace headroom::detail
