// Distributed under the Boost Software License, Version 1.0.
// Evaluation between steps, as transformers' Trainer runs it: forwards without a graph beside the states, and what is kept for metrics.
// Sources: transformers trainer.py Trainer.evaluation_loop and prediction_step; trainer_pt_utils.py EvalLoopContainer.add, nested_concat,
// torch_pad_and_concatenate; trainer_seq2seq.py Seq2SeqTrainer.prediction_step.
#pragma once

#include <headroom/engine/eager/graphless.hpp>
#include <headroom/engine/eager/other_model.hpp>
#include <headroom/settle/generation.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

/// What an evaluation keeps on a GPU until metrics are computed: each batch's part is gathered from all ranks, and concatenated to what is there.
struct kept_for_metrics {
  bytes batch{};           ///< of a batch, of all ranks
  std::int64_t batches{};  ///< that lie on the GPU at once, at most
  /// While the last batch runs.
  [[nodiscard]] constexpr bytes before() const { return batches > 0 ? (batches - 1) * batch : bytes{0}; }
  /// While it is concatenated: what was there, the new, and both.
  [[nodiscard]] constexpr bytes tallest() const { return batches > 1 ? 2 * batches * batch : batches * batch; }
};

namespace detail {

/// Logits leave the model in the format that it computes in; accelerate makes them fp32 under autocast, transformers did until 4.45.
constexpr std::int64_t returned_width(const settled_job& s) {
  const auto& f = s.source->framework;
  return (f.autocast.converts_outputs && s.precision.autocasts()) || f.date < 202410 ? 4 : s.precision.compute.width();
}

constexpr kept_for_metrics kept_of(const settled_job& s) {
  const auto& e = s.source->evaluation;
  if (e.loss_only || s.source->objective.kind != objective_kind::sft) return {};
  const auto tokens = checked::mul(e.batch, s.data, e.sequence > 0 ? e.sequence : s.source->batch.sequence);
  const auto each = e.kept_bytes > 0 ? e.kept_bytes : checked::mul(s.model.vocab, returned_width(s));
  const auto all = checked::ceil_div(e.samples, checked::mul(e.batch, s.data));
  return {bytes{checked::mul(tokens, each)}, e.accumulation_steps > 0 && e.accumulation_steps < all ? e.accumulation_steps : all};
}

/// The job as its evaluation sees it.
constexpr settled_job evaluated(const settled_job& s) {
  const auto& e = s.source->evaluation;
  auto r = s;
  auto& sc = r.layer;
  sc.samples = checked::mul(e.batch, sequences_of(s.source->objective));
  if (e.sequence > 0) sc.sequence = e.sequence;
  sc.tokens = checked::ceil_div(checked::mul(sc.samples, sc.sequence), sc.context);
  sc.drops = {};
  return r;
}

/// Kernels that make no logits while they train make them here (liger_kernel transformers/model/llama.py lce_forward: skip_logits is for training).
constexpr loss_style loss_of_evaluation(const settled_job& s) {
  const auto made = s.layer.loss_program;
  return made == loss_style::fused_linear || made == loss_style::cut || made == loss_style::chunked_head ? s.source->framework.loss.style : made;
}

/// Between the policy's logits and the loss: another model's forward.
constexpr bytes beside_other(const settled_job& s, bytes other) {
  if (other == bytes{0}) return other;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;
  return other + with_made([&] {
    auto tail = tail_of(sc, module_set{}, false);
    tail.return_at_other();
    return tail;
  }, [](const program& tail) {
    handover there;
    (void)walk_forward(tail, recording::off, &there);
    return there.there.total;
  });
}

/// Of a job as its evaluation sees it: keys and values of all layers. The Trainer of transformers 5 turns the cache off (training_args.py use_cache, false; trainer.py,
/// self.model.config.use_cache).
constexpr bytes cache_of_evaluation(const settled_job& r) {
  const bool caches = chosen(r.source->evaluation.use_cache, r.source->framework.date < 202601) && !r.model.bidirectional && r.model.head == head_kind::language && !r.model.recurs();
  return caches ? token_bytes(r.model, 1, r.precision.compute) * r.layer.tokens : bytes{0};
}

/// Not inlined: few jobs have it.
[[gnu::noinline]] constexpr void look_at_evaluation(timeline& t, const settled_job& s, const state_bytes& st, const windows& w, bytes other, const auto& layers) {
  const auto& e = s.source->evaluation;
  const auto r = evaluated(s);
  const auto stays = t.at(phase::save);
  const auto kept = kept_of(s);
  const auto bare = walk_bare(r, st, w, layers, false, loss_of_evaluation(s));
  const auto cache = cache_of_evaluation(r);
  const auto casts = r.layer.casts_weights ? walk_graphless(r, with_model(r), layers) : graphless_layers{};
  const auto before = stays + moment(row::kv_cache, cache) + moment(row::logits, kept.before());
  t.look_beside(phase::evaluate, -1, before + w.forward + casts.beside() + moment(row::activations, bare.layers));
  const bytes last{checked::mul(r.layer.tokens, s.model.hidden, r.layer.residual_width)};  // named beside the logits (models/llama/modeling_llama.py, hidden_states)
  t.look_beside(phase::evaluate, -1, before + w.loss + moment(row::activations, last) + moment(row::gathered_parameters, casts.copies) + moment(row::logits, max(bare.head, beside_other(r, other))));
  t.look_beside(phase::evaluate, -1, stays + moment(row::logits, kept.tallest()));
  if (e.generate == 0) return;
  const auto length = r.layer.sequence;
  const auto made = generated_by_module(s.model, r.layer.samples, length, e.generate, s.precision.parameters, widths_of_generation(s));
  const moment copies(row::gathered_parameters, generates_in_autocast(s) ? casts.copies : bytes{0});
  t.look_beside(phase::evaluate, -1, before + w.forward + copies + moment(row::kv_cache, made.cache + made.states - cache) + moment(row::temporaries, made.growing) + moment(row::logits, made.logits));
}

}  // namespace detail

}  // namespace headroom
