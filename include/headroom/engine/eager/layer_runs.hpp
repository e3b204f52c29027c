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
  bool still{};             ///< no gradient comes by: neither in it nor below it is anything that trains
  bool recomputes{};
  layer_kind kind{};        ///< of a group: its first layer's
  std::int64_t experts{};   ///< routed experts that train in each
  bool adds{};              ///< a layer above, which runs backward first, has made these gradients: its own are added to them (ALBERT)
  bool recasts{true};       ///< its weights are not those of the layer below, which autocast has cast already
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

/// Modules of layers.
inline constexpr module_set layer_modules{module::q_proj,    module::k_proj,       module::v_proj,     module::o_proj,       module::gate_proj,
                                          module::up_proj,   module::down_proj,    module::norm,       module::mla_down,     module::router,
                                          module::experts_up, module::experts_down, module::experts_gate, module::shared_gate, module::shared_up,
                                          module::shared_down, module::cross_attention, module::mixer_in,  module::mixer_out, module::mixer,
                                          module::layer_input};

/// Whether something trains in a layer: a module of its own, or an adapter.
constexpr bool anything_trains(const scene& s, const module_set& trained, const module_set& of = layer_modules) {
  return (trained.bits & of.bits) != 0 || (s.side->active() && (s.side->targets.bits & of.bits) != 0);
}
/// … a layer of this kind: where positions are scanned there are no projections of heads, and where heads attend nothing scans.
constexpr bool anything_trains(const scene& s, const module_set& trained, mixer_kind mixer) {
  auto of = layer_modules;
  if (!attends(mixer) && !is_own(mixer)) of.bits &= ~module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj}.bits;
  if (!recurrent(mixer) && !is_own(mixer)) of.bits &= ~module_set{module::mixer_in, module::mixer_out, module::mixer}.bits;
  return anything_trains(s, trained, of);
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
constexpr void cut_kinds(auto& runs, const shape& m, layer_run like, std::int64_t next) {
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

/// … of a slice, where each stage counts its own (torchtitan distributed/activation_checkpoint.py apply_ac, of one part of the model).
constexpr std::int64_t recomputed_of(const settled_job& s, const model_slice& here) {
  return checked::mul(recomputed_layers(s.source->recompute, s.model.layers), here.count) / s.model.layers;
}

/// Cuts the layers of a slice where `trainable` and recomputation change, and after the first layer that trains below a frozen rest:
/// nothing flows back into that one's input. `flows`: something below the slice trains.
constexpr void cut_layers(auto& runs, const settled_job& s, const scene& sc, const model_slice& here, bool flows) {
  const auto& j = *s.source;
  const auto layers = here.end();
  const auto recomputed = here.first + recomputed_of(s, here);
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
    const auto each = s.model.distinct_layers > 0 ? s.model.layers / s.model.distinct_layers : 1;
    const bool adds = (at + 1) % each != 0, recasts = at % each == 0;
    if (const auto last = at / each * each + each - 1; each > 1 && (recasts || !adds)) next = at + 1;
    else if (each > 1 && last < next) next = last;
    const auto trained = trained_modules(j, at);
    const bool recomputes = at < recomputed;
    const auto experts = s.model.sparse() ? trained_experts(j, at) : 0;
    const auto add = [&](std::int64_t end, bool still = false) {
      cut_kinds(runs, s.model, {.first = at, .trained = trained, .input_has_gradient = flows, .still = still, .recomputes = recomputes, .experts = experts, .adds = adds, .recasts = recasts}, end);
    };
    if (auto first = at; !flows && anything_trains(sc, trained)) {
      while (first < next && !anything_trains(sc, trained, s.model.kind_of(first).mixer)) ++first;
      if (first > at) add(first, true);
      at = first;
      if (at == next) continue;
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
  if (s.source->trainable.size == 0 && !s.model.sparse() && !s.model.pattern.given() && s.model.distinct_layers == 0) return true;
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
constexpr decltype(auto) with_runs(const settled_job& s, const scene& sc, const model_slice& here, const auto& use) {
  return few_runs(s, sc, here) ? with_run_room<few>(use) : with_run_room<layer_runs::most>(use);
}

}  // namespace detail

}  // namespace headroom
