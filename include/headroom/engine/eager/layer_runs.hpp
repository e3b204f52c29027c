// Distributed under the Boost Software License, Version 1.0.
// A stack of layers as runs of layers that are alike. Layers of one kind save alike, so saved bytes fall and gradients grow
// linearly through backward: only the first and the last layer of each run need a visit.
#pragma once

#include <headroom/block/stack_layers.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/layout/stages.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom {

namespace detail {

/// Layers in a row that train the same modules.
struct layer_run {
  std::int64_t first{};
  std::int64_t count{};
  module_set trained{};
  bool input_has_gradient{};
  bool recomputes{};
  layer_kind kind{};        ///< of a group: its first layer's
  std::int64_t experts{};   ///< routed experts that train in each
  std::int64_t span{1};     ///< a group of so many layers, whose kinds repeat from group to group, counts as one

  // Of one layer of it:
  bool back{};              ///< backward comes by: something trains in it or below it
  moment saved{};           ///< for backward; a checkpoint's input under recompute
  bytes cached{};           ///< of its gathered_parameters, what goes when forward closes: weights that a checkpointed layer cast
  bytes sticky{};           ///< of it, what stays until the graph dies
  moment forward{};         ///< the forward's peak, its input included
  moment backward{};        ///< the backward's peak, what it saved and its output's gradient included
  bytes input_gradient{};   ///< what is left when its backward is done
  bytes gradients{};        ///< of its weights, as autograd makes them, as far as they stay
  bytes made{};             ///< … all of them
  bytes stream{};           ///< of the residual stream
  bool keeps_input{};       ///< its input is among what it saved
};

/// As many runs as most slices have, at most.
inline constexpr std::size_t few = 5;

/// A list of runs, in room that is somebody else's.
struct layer_runs {
  static constexpr std::size_t most = 2 * trainable::capacity + 15;
  layer_run* list{};
  std::size_t capacity{};
  std::size_t size{};
  constexpr void add(const layer_run& r) {
    if (r.count <= 0) return;
    if (size == capacity) refuse("headroom: model: kinds of layer, trained and frozen, change too often; at most 31 runs of equal layers are walked", static_cast<std::int64_t>(size));
    list[size++] = r;
  }
};
/// How many there are.
struct run_count {
  std::size_t size{};
  constexpr void add(const layer_run& r) { size += r.count > 0 ? 1 : 0; }
};
template <std::size_t Size>
struct run_room {
  room<layer_run, Size> runs = room<layer_run, Size>::open();
  [[nodiscard]] constexpr layer_runs all() { return {&runs[0], Size}; }
};

/// Whether something trains in a layer: a module of its own, or an adapter.
constexpr bool anything_trains(const scene& s, const module_set& trained) {
  constexpr module_set layer_modules{module::q_proj,    module::k_proj,       module::v_proj,     module::o_proj,       module::gate_proj,
                                     module::up_proj,   module::down_proj,    module::norm,       module::mla_down,     module::router,
                                     module::experts_up, module::experts_down, module::experts_gate, module::shared_gate, module::shared_up,
                                     module::shared_down, module::cross_attention, module::mixer_in,  module::mixer_out, module::mixer};
  return (trained.bits & layer_modules.bits) != 0 || (s.side->active() && (s.side->targets.bits & layer_modules.bits) != 0);
}

/// How many routed experts train in a layer.
constexpr std::int64_t trained_experts(const job& j, std::int64_t layer) {
  constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};
  const auto all = j.model.experts.count;
  if ((trained_modules(j, layer).bits & experts.bits) == 0) return 0;
  if (j.trainable.all() || (j.adapter.modules_to_save.bits & experts.bits) != 0) return all;
  std::int64_t most = 0;
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& t = j.trainable.list[i];
    if ((t.last_layer >= 0 && (layer < t.first_layer || layer > t.last_layer)) || (!t.modules.empty() && (t.modules.bits & experts.bits) == 0)) continue;
    const auto n = t.experts >= 0 && t.experts < all ? t.experts : all;
    if (n > most) most = n;
  }
  return most;
}

/// Layers from `like.first` up to `next`, which train alike, cut where their kind changes; where kinds repeat, in groups.
template <class Runs>
constexpr void cut_kinds(Runs& runs, const shape& m, layer_run like, std::int64_t next) {
  for (auto at = like.first; at < next;) {
    auto run = like;
    run.first = at;
    run.kind = m.kind_of(at);
    if (const auto period = m.period_from(at); period > 1 && next - at >= period) {
      run.span = period;
      run.count = (next - at) / period;
    } else if (period == 1) {
      run.count = next - at;
    } else {
      auto end = at + 1;
      while (end < next && m.kind_of(end) == run.kind && (m.period_from(end) > 1) == (period > 1)) ++end;
      run.count = end - at;
    }
    runs.add(run);
    at += run.count * run.span;
  }
}

/// Layers from the first that are recomputed whole (Megatron's block method; torchtitan's "every n-th layer" comes to as many).
constexpr std::int64_t recomputed_layers(const recompute& r, std::int64_t layers) {
  if (r.mode != recompute_mode::full) return 0;
  return r.method == recompute_method::block && r.layers > 0 && r.layers < layers ? r.layers : layers;
}

/// Cuts the layers of a slice where `trainable` and recomputation change, and after the first layer that trains below a frozen rest:
/// nothing flows back into that one's input. `flows`: something below the slice trains.
template <class Runs>
constexpr void cut_layers(Runs& runs, const settled_job& s, const scene& sc, const model_slice& here, bool flows) {
  const auto& j = *s.source;
  const auto layers = here.end();
  const auto recomputed = recomputed_layers(j.recompute, s.model.layers);
  std::int64_t at = here.first;
  while (at < layers) {
    std::int64_t next = layers;
    for (std::int32_t i = 0; i < j.trainable.size; ++i) {
      const auto& t = j.trainable.list[i];
      if (t.last_layer < 0) continue;
      if (t.first_layer > at && t.first_layer < next) next = t.first_layer;
      if (t.last_layer + 1 > at && t.last_layer + 1 < next) next = t.last_layer + 1;
    }
    if (recomputed > at && recomputed < next) next = recomputed;
    const auto trained = trained_modules(j, at);
    const bool recomputes = at < recomputed;
    const auto experts = s.model.sparse() ? trained_experts(j, at) : 0;
    const auto add = [&](std::int64_t end) {
      cut_kinds(runs, s.model, {.first = at, .trained = trained, .input_has_gradient = flows, .recomputes = recomputes, .experts = experts}, end);
    };
    if (!flows && anything_trains(sc, trained)) {
      add(at + 1);
      flows = true;
      ++at;
    }
    add(next);
    at = next;
  }
}

/// Whether a slice has so few runs that little room will do. Layers that are all alike are cut at the first that trains, and where
/// recomputation ends.
constexpr bool few_runs(const settled_job& s, const scene& sc, const model_slice& here) {
  if (s.source->trainable.size == 0 && !s.model.sparse() && !s.model.pattern.given()) return true;
  run_count flowing, still;
  cut_layers(flowing, s, sc, here, true);
  cut_layers(still, s, sc, here, false);
  return flowing.size <= few && still.size <= few;
}
template <std::size_t Size, class Use>
[[gnu::noinline]] constexpr decltype(auto) with_run_room(const Use& use) {
  run_room<Size> room;
  return use(room.all());
}
/// use(runs): room for the runs of a slice. Most have one or two, and 31 of them take 12 KB.
template <class Use>
constexpr decltype(auto) with_runs(const settled_job& s, const scene& sc, const model_slice& here, const Use& use) {
  return few_runs(s, sc, here) ? with_run_room<few>(use) : with_run_room<layer_runs::most>(use);
}

/// T5's biases of the scores, and the mask in them: made once for a stack, read by all its layers.
constexpr moment relative_positions(const scene& s) {
  if (s.model->position != position_kind::relative) return {};
  return {row::activations, bytes{checked::mul(checked::mul(checked::mul(s.samples, s.model->heads), checked::mul(s.sequence, s.sequence)), s.residual_width)}};
}

/// State that torch.utils.checkpoint keeps of the random number generators: 5056 bytes of the CPU's (torch.get_rng_state()),
/// which count where tensors are counted on a CPU.
inline constexpr bytes cpu_generator_state{5056};

/// Fills in what one layer of a run costs.
template <class Layers>
constexpr void cost_layer(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, const Layers& layers) {
  run.back = run.input_has_gradient || anything_trains(sc, run.trained);
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
template <class Layers>
[[gnu::noinline]] constexpr void cost_group(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, bool grow, const Layers& layers) {
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
template <class Layers>
constexpr void cost_run(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, bool grow, const Layers& layers) {
  if (run.span == 1) return cost_layer(run, s, sc, accumulate, layers);
  cost_group(run, s, sc, accumulate, grow, layers);
}

}  // namespace detail

}  // namespace headroom
