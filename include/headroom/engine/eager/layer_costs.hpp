// Distributed under the Boost Software License, Version 1.0.
// What a layer of a run costs, or a group of layers: the walk over its blocks, and what checkpoints make of it.
#pragma once

#include <headroom/engine/eager/layer_runs.hpp>

namespace headroom {

namespace detail {

/// T5's biases of the scores, and the mask in them: made once for a stack, read by all its layers. DeBERTa's mask of all pairs and their distances, in
/// eight bytes each; its table's gradient is no larger.
constexpr moment relative_positions(const scene& s) {
  if (s.model->position == position_kind::disentangled) return {row::activations, bytes{checked::mul(8, checked::mul(checked::add(s.samples, 1), checked::mul(s.sequence, s.sequence)))}};
  if (!s.model->biased_scores() || s.model->layer_biases) return {};
  return {row::activations, bytes{checked::mul(ops::masks_biases(s, *s.model) ? 1 : s.samples, s.model->heads, checked::mul(s.sequence, s.sequence), s.residual_width)}};
}

/// The bucket of each pair of positions, which the table of T5's biases keeps for its gradient.
constexpr bytes position_buckets(const scene& s) {
  return ops::masks_biases(s, *s.model) && !s.model->layer_biases ? bytes{checked::mul(8, checked::mul(s.sequence, s.sequence))} : bytes{0};
}

/// What one place of a model makes and many layers read: embeddings of each layer; keys and values of the layers before those that share them.
struct read_by_layers {
  bytes kept{};        ///< through forward and backward
  bytes in_forward{};  ///< to the end of forward, where the caller names it
  bytes gradient{};    ///< to which each layer adds its own
};
constexpr read_by_layers shared_by_layers(const settled_job& s, const scene& sc) {
  const auto& m = s.model;
  read_by_layers r;
  const auto rounded = [&](std::int64_t elements, std::int64_t width) { return bytes{checked::round_up(checked::mul(elements, width), sc.granule)}; };
  if (m.layer_input.width > 0) {
    r.kept = rounded(layer_inputs(sc), sc.residual_width);
    if (sc.layer_inputs_train) r.gradient = r.kept;
  }
  const auto masks = ops::model_masks(sc);
  (s.source->recompute.mode == recompute_mode::full || !(ops::boolean_masks(sc) || ops::adds_mask(sc)) ? r.kept : r.in_forward) += bytes{checked::round_up(masks.value, sc.granule)};
  r.kept += position_buckets(sc);
  if (ops::masks_biases(sc, m) && m.encoder.layers > 0) {
    const bool whole = s.source->recompute.mode != recompute_mode::full;
    const auto zeros = rounded(checked::mul(m.heads, checked::mul(sc.sequence, sc.memory)), sc.width);  // T5's cross-attention has no biases; UMT5's layers each make theirs
    r.kept += (m.layer_biases && whole ? m.layers : 1) * zeros;
    // The decoder's own configuration, a copy, still asks for a cache (T5Model.__init__), whose keys and values are copies; checkpoints turn it off.
    if (whole) r.in_forward += m.layers * 2 * rounded(checked::mul(sc.tokens, m.kv_width()), sc.width);
  }
  if (!m.pattern.given()) return r;
  // Attention of the layer that makes them saves them, unless it saves copies, or a checkpoint has them for its argument.
  const bool lays = ops::lays_out(sc), repeats = ops::writes_scores(sc) || ops::repeats_heads(sc);
  bytes keys{0}, copied{0};
  for (const auto& k : kinds_of(m)) {
    if (!shares_keys(k.kind.mixer)) continue;
    const auto own = attending(m, k.kind.mixer);
    const auto size = 2 * rounded(checked::mul(sc.tokens, own.kv_width()), sc.width);
    keys += size;
    if (lays || (repeats && own.kv() < own.heads)) copied += size;
  }
  r.gradient += keys;
  if (s.source->recompute.mode == recompute_mode::full)
    r.kept += keys;
  else
    r.in_forward += copied;
  return r;
}

/// State that torch.utils.checkpoint keeps of the random number generators: 5056 bytes of the CPU's (torch.get_rng_state()),
/// which count where tensors are counted on a CPU.
inline constexpr bytes cpu_generator_state{5056};

/// Fills in what one layer of a run costs.
constexpr void cost_layer(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, const auto& layers) {
  run.back = run.input_has_gradient || (!run.still && anything_trains(sc, run.trained));
  run.recomputes = run.recomputes && run.back;  // a checkpoint without a graph keeps nothing
  const bool recomputes = run.recomputes;
  const auto layer = layers.walk(sc, run, accumulate);
  run.gradients = layer.weight_gradients;
  run.made = layer.made;
  run.stream = layer.input;
  run.keeps_input = recomputes || layer.input_saved;
  run.input_gradient = run.input_has_gradient ? layer.input : bytes{0};
  if (!recomputes) {
    run.saved = layer.saved;
    run.sticky = layer.sticky;
    run.forward = layer.forward;
    run.backward = layer.backward;
    if (layer.again.total > bytes{0}) [[unlikely]]
      run.backward.rise_to(layer.again, part{row::temporaries, layer.output_has_gradient ? layer.input : bytes{0}});
    return;
  }
  // The input is kept; forward runs without a graph, and once more, with one, before its backward.
  const bool on_host = s.source->offload.activations != place::on_gpu;
  run.saved = layer.cached;
  run.cached = layer.cached.rows[row::gathered_parameters];
  run.sticky = s.reentrant ? bytes{0} : layer.sticky;  // a reentrant checkpoint's graph dies with its backward
  if (!on_host) run.saved.add(row::activations, layer.input);
  if (sc.host) run.saved.add(row::activations, cpu_generator_state);
  run.forward = layer.forward_off;
  if (sc.host) run.forward.add(row::activations, cpu_generator_state);
  run.backward = layer.backward;
  if (!layer.input_saved) run.backward.add(row::activations, layer.input);
  if (s.reentrant) run.backward.add(row::activations, layer.input);  // the recomputed output, as large as the input, is a local of the engine's caller
  run.backward.rise_to(layer.forward, part{row::temporaries, layer.output_has_gradient ? layer.input : bytes{0}},
                       part{row::activations, sc.host ? cpu_generator_state : bytes{0}});  // of the random numbers outside, meanwhile
}

/// A layer on top of what `low` costs: both together. `grow`: weight gradients stay whole.
constexpr void stack(layer_run& low, const layer_run& up, bool grow) {
  low.forward.rise_to(up.forward, low.saved);
  auto lower = low.backward;
  if (grow) lower.add(row::gradients, up.gradients);
  low.backward = up.backward;
  low.backward += low.saved;
  low.backward.rise_to(lower);
  low.saved += up.saved;
  low.cached += up.cached;
  low.sticky += up.sticky;
  low.made += up.made;
  low.gradients = grow ? low.gradients + up.gradients : max(low.gradients, up.gradients);
}

/// Fills in what a group of layers costs: each kind is walked once.
[[gnu::noinline]] constexpr void cost_group(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, bool grow, const auto& layers) {
  auto kinds = room<layer_run, layer_kinds::capacity>::open();
  std::size_t known = 0;
  const auto of = [&](std::int64_t i) -> const layer_run& {
    const auto kind = s.model.kind_of(i);
    for (std::size_t k = 0; k < known; ++k)
      if (kinds[k].kind == kind) return kinds[k];
    auto& r = kinds[known++] = run;
    r.kind = kind;
    cost_layer(r, s, sc, accumulate, layers);
    return r;
  };
  auto group = of(run.first);
  for (std::int64_t i = run.first + 1; i < run.first + run.span; ++i) stack(group, of(i), grow);
  group.span = run.span;
  run = group;
}

/// Fills in what a run's layer costs, or a group of them.
constexpr void cost_run(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, bool grow, const auto& layers) {
  if (run.span == 1) {
    cost_layer(run, s, sc, accumulate || run.adds, layers);
    if (!run.recasts)
      for (auto* m : {&run.saved, &run.forward, &run.backward}) m->add(row::gathered_parameters, -m->rows[row::gathered_parameters]);
    return;
  }
  cost_group(run, s, sc, accumulate, grow, layers);
}

}  // namespace detail

}  // namespace headroom
