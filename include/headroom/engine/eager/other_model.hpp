// Distributed under the Boost Software License, Version 1.0.
// A model that runs forward beside the one that trains, without a graph: a reference, a teacher or a reward model. Its standing is a job of its own
// (settle/objective.hpp), so that its weights, what is gathered of them and its layers are counted by what counts those of any job.
#pragma once

#include <headroom/engine/eager/prelude.hpp>
#include <headroom/engine/eager/step.hpp>
#include <headroom/settle/objective.hpp>
#include <headroom/sharding/host.hpp>

namespace headroom {

/// A model beside the one that trains; a step may have several (other_models).
struct other_model {
  bytes resident{};    ///< its weights, and what of them is never let go; a critic's states, too
  bytes forward{};     ///< on top of that, at the tallest moment of its forward: gathered weights, one layer, logits
  bytes at_head{};     ///< … when its logits are there
  host_bytes host{};
};

/// What a critic has beside that, above what is resident. It trains in a module of its own, or in one with the policy.
struct critic_step {
  bytes tallest{};                 ///< of its own step
  bytes forward{}, backward{}, update{};  ///< … of its phases
  bytes graph{};                   ///< what its forward leaves for its backward
  bytes gradients{};               ///< that are there while the policy computes
  bytes moved{};                   ///< of its states, that go to the host while it does nothing
};

/// The models beside the one that trains.
struct other_models {
  other_model compared;            ///< a reference or a teacher
  other_model reward;
  other_model critic;
  critic_step training;            ///< of the critic

  [[nodiscard]] constexpr bytes resident() const { return compared.resident + reward.resident + critic.resident; }
  /// While the trained model's graph is there.
  [[nodiscard]] constexpr bytes in_step(objective_kind k) const {
    return scores_first(k) ? bytes{0} : max(compared.forward, k == objective_kind::nash_md ? bytes{0} : reward.forward);
  }
};

namespace detail {

/// The tallest moment of a forward that keeps nothing, or the inputs of its layers, without what is gathered: before the head, and there.
struct bare_forward {
  bytes layers{}, head{};
};
constexpr bare_forward walk_bare(const settled_job& s, const state_bytes& st, const windows& w, const auto& layers, bool keeps_inputs = false, loss_style makes = loss_style::logits) {
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;
  sc.loss_program = makes;
  const model_slice all{0, s.model.layers};
  bare_forward r;
  const auto tallest = [](const program& p) { return walk_forward(p, recording::off).peak.total; };
  const module_set nothing{};
  bytes stays{0};
  if (s.model.vision.layers > 0 && !s.source->batch.images.none) {
    const auto tower = walk_tower(s, w, bytes{0}, false);
    r.layers = tower.forward.total;
    stays = tower.saved.total;
  }
  const bool patches = s.model.vision.kind != vision_kind::none && s.model.vision.layers == 0;
  r.layers = max(r.layers, stays + with_made([&] { return patches ? patch_embedding(sc, nothing) : embedding(sc, nothing); }, tallest));
  const step_facts f(s, sc, st, w, all);
  stays += 2 * f.angles + f.bias + f.shared.kept + f.shared.in_forward;
  with_runs(s, sc, all, [&](layer_runs runs) {
    cut_layers(runs, s, sc, all, false);
    for (std::size_t i = 0; i < runs.size; ++i) {
      cost_run(runs.list[i], s, sc, false, false, layers);
      const auto& run = runs.list[i];
      if (keeps_inputs) stays += (run.count * run.span) * run.stream;
      r.layers = max(r.layers, stays + run.forward.total - (keeps_inputs ? run.stream : bytes{0}));
    }
  });
  // Nothing of the tail is recorded; what the model's code names lives until its loss is there.
  const auto named = [](const program& p) { return walk_forward(p, recording::on).peak.total; };
  const auto tail = [&] { return tail_of(sc, nothing, false); };
  r.head = stays + (makes == loss_style::logits ? with_made(tail, tallest) : with_made(tail, named));
  return r;
}

/// verl's scores of padded samples: the completions' part of the logits is copied where there are several, for flash-attn's kernel; entropies, of the policy alone, are
/// torch's: probabilities in fp32 beside such a copy, or their product with the logits (dp_actor.py _forward_micro_batch, verl/utils/torch_functional.py
/// entropy_from_logits). Samples without padding are copied nowhere, and their entropies are one kernel's, or torch's, too, of all tokens or of 2,048 at a time
/// (entropy_from_logits_with_chunking: a piece in fp32, its probabilities, and their product).
constexpr bytes scores_of_padded(const settled_job& s, const scene& sc, bool entropy) {
  if (!generates(s.source->objective.kind) || sc.loss_program == loss_style::fused_scores) return bytes{0};
  const auto code = entropy && !s.source->batch.padded ? s.source->loss.entropies : entropy_code::unset;
  if (code == entropy_code::whole) return bytes{checked::mul(8, sc.tokens, sc.vocabulary)};
  if (code == entropy_code::pieces) return bytes{checked::mul(12, sc.tokens < 2048 ? sc.tokens : 2048, sc.vocabulary)};
  if (!s.source->batch.padded) return bytes{0};
  const auto read = checked::mul(sc.samples, s.source->rollout.completion, sc.vocabulary);
  return bytes{entropy ? checked::mul(8, read) : sc.samples > 1 ? checked::mul(sc.width, read) : 0};
}

/// A language head beside a value head makes its logits fp32 (trl/models/modeling_value_head.py forward, up to TRL 0.11).
constexpr bytes wide_logits(const job& j, const settled_job& of) {
  const bool wide = j.objective.kind == objective_kind::ppo && j.objective.code == method_code::llama_factory && of.precision.compute.width() < 4;
  return wide ? bytes{checked::mul(of.layer.tokens, of.layer.vocabulary, 4)} : bytes{0};
}

/// Not inlined, so that the list of weights does not lie on the stack beside what follows.
[[gnu::noinline]] constexpr state_bytes states_of_other(const settled_job& s, const auto& layers) {
  return states(s, list_of(s, layers));
}

/// What is gathered of another model, while its layers run and at its head. Weights of its own are gathered beside what the trained model has gathered; shared
/// ones are those of the trained model's engine, of which ZeRO-3 still has gathered as much as a forward needs.
struct gathered_beside {
  bytes layers{}, head{};
};
constexpr gathered_beside gathered_of_other(const settled_job& s, const state_bytes& st, const windows& w, other_weights which) {
  const auto& sharding = s.source->sharding;
  if (!sharding.by(sharder::deepspeed) || !sharding.cuts(sharded_state::weights)) return {w.forward.total, w.loss.total};
  if (which == other_weights::shared) return {};
  return {w.forward.total, max(w.forward.total, share(st.largest, s.precision.parameters.width()))};  // it is not run back through: nothing is kept for reuse
}

[[gnu::noinline]] constexpr other_model walk_other(const settled_job& trained, std::size_t kind, other_weights which, const auto& layers, const model_role& role) {
  const job standing = standing_of_other(*trained.source, role);
  settled_job s = settle_checked(standing, kind);
  if (trained.layer.scoring.in_pieces) s.layer.kept = trained.layer.kept;  // of the teacher, too, the last positions alone make logits
  const auto st = states_of_other(s, layers);
  const auto w = windows_of(s, st);
  const bool joined = trained.layer.loss_program == loss_style::fused_scores && !role.given();  // its class is patched (verl/models/transformers/monkey_patch.py)
  const auto bare = walk_bare(s, st, w, layers, trained.layer.scoring.keeps_hidden_states, joined ? loss_style::fused_scores : loss_style::logits);
  const bool zero3 = standing.sharding.by(sharder::deepspeed) && standing.sharding.cuts(sharded_state::weights);
  other_model r;
  const auto around = gathered_of_other(s, st, w, which);
  const auto copied = trained.source->objective.code == method_code::verl && !role.given() && !joined ? scores_of_padded(trained, s.layer, false) : bytes{0};
  r.at_head = bare.head + around.head + wide_logits(*trained.source, s) + copied;
  r.forward = max(bare.layers + around.layers, r.at_head);
  if (which == other_weights::shared) return r;
  r.resident = place_of_parameters(standing) == place::on_gpu ? st.gpu[row::model_parameters] : st.frozen_extra;
  if (zero3) r.resident += share(st.small, s.precision.parameters.width());
  r.host = host_of(s, st, bytes{0});
  return r;
}

}  // namespace detail

}  // namespace headroom
