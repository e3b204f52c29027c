// Distributed under the Boost Software License, Version 1.0.
// The walk over a step: load, forward, loss, backward, reduce, step, save. Layers of one kind save alike, so saved bytes fall
// and gradients grow linearly through backward: only the first and the last layer of each kind need a visit.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/embedding.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/step/windows.hpp>

namespace headroom {

/// The tallest moment of each phase.
class timeline {
 public:
  constexpr timeline() {
    for (auto& m : tallest_) m = moment(bytes{0}, breakdown{});
    for (auto& l : layer_) l = -1;
  }
  constexpr void look(phase p, std::int64_t layer, const moment& base, const moment& extra = {}) {
    const auto i = static_cast<std::size_t>(p);
    const auto total = base.total + extra.total;
    if (total <= tallest_[i].total) return;
    tallest_[i].total = total;
    tallest_[i].rows = base.rows + extra.rows;
    layer_[i] = layer;
  }
  [[nodiscard]] constexpr const moment& at(phase p) const { return tallest_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] constexpr std::int64_t layer(phase p) const { return layer_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] constexpr phase peak() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < tallest_.size(); ++i)
      if (tallest_[i].total > tallest_[best].total) best = i;
    return static_cast<phase>(best);
  }

 private:
  std::array<moment, phase_count> tallest_;
  std::array<std::int64_t, phase_count> layer_;
};

namespace detail {

/// Layers in a row that train the same modules.
struct layer_run {
  std::int64_t first{};
  std::int64_t count{};
  module_set trained{};
  bool input_has_gradient{};

  // Of one layer of it:
  moment saved{};           ///< for backward; a checkpoint's input under recompute
  moment sticky{};          ///< of it, what stays until the graph dies
  moment forward{};         ///< the forward's peak, its input included
  moment backward{};        ///< the backward's peak, what it saved and its output's gradient included
  moment input_gradient{};  ///< what is left when its backward is done
  bytes gradients{};        ///< of its weights, as autograd makes them
  bool keeps_input{};       ///< its input is among what it saved
};

struct layer_runs {
  static constexpr int capacity = 2 * trainable::capacity + 2;
  std::array<layer_run, capacity> list{};
  int size{};
  constexpr void add(std::int64_t first, std::int64_t count, const module_set& trained, bool gradient) {
    if (count <= 0) return;
    auto& r = list[static_cast<std::size_t>(size++)];
    r.first = first;
    r.count = count;
    r.trained = trained;
    r.input_has_gradient = gradient;
  }
};

/// Whether something trains in a layer: a module of its own, or an adapter.
constexpr bool anything_trains(const scene& s, const module_set& trained) {
  constexpr module_set layer_modules{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj, module::norm};
  return (trained.bits & layer_modules.bits) != 0 || (s.side->active() && (s.side->targets.bits & layer_modules.bits) != 0);
}

/// Cuts the stack where `trainable` changes, and after the first layer that trains below a frozen rest: nothing flows back
/// into that one's input.
constexpr layer_runs cut_layers(const settled_job& s, const scene& sc, bool embedding_has_gradient) {
  const auto& j = *s.source;
  const auto layers = s.model.layers;
  layer_runs runs;
  std::int64_t at = 0;
  bool flows = embedding_has_gradient;
  while (at < layers) {
    std::int64_t next = layers;
    for (std::int32_t i = 0; i < j.trainable.size; ++i) {
      const auto& t = j.trainable.list[i];
      if (t.last_layer < 0) continue;
      if (t.first_layer > at && t.first_layer < next) next = t.first_layer;
      if (t.last_layer + 1 > at && t.last_layer + 1 < next) next = t.last_layer + 1;
    }
    const auto trained = trained_modules(j, at);
    if (!flows && anything_trains(sc, trained)) {
      runs.add(at, 1, trained, false);
      flows = true;
      ++at;
    }
    runs.add(at, next - at, trained, flows);
    at = next;
  }
  return runs;
}

/// State that torch.utils.checkpoint keeps of the random number generators: 5056 bytes of the CPU's (torch.get_rng_state()),
/// which count where tensors are counted on a CPU.
inline constexpr bytes cpu_generator_state{5056};

/// Fills in what one layer of a run costs.
constexpr void cost_layer(layer_run& run, const settled_job& s, const scene& sc, bool accumulate) {
  const bool recomputes = s.source->recompute.mode == recompute_mode::full;
  const auto layer = walk_layer(sc, run.trained, run.input_has_gradient, recomputes, accumulate);
  const auto input = moment(row::activations, layer.input);
  run.gradients = layer.weight_gradients;
  run.keeps_input = recomputes || layer.input_saved;
  run.input_gradient = run.input_has_gradient ? moment(row::temporaries, layer.input) : moment{};
  if (!recomputes) {
    run.saved = layer.saved;
    run.sticky = layer.sticky;
    run.forward = layer.forward;
    run.backward = layer.backward;
    return;
  }
  // The input is kept; forward runs without a graph, and once more, with one, before its backward.
  const bool on_host = s.source->offload.activations != place::on_gpu;
  run.saved = on_host ? moment{} : input;
  if (sc.host) run.saved += moment(row::activations, cpu_generator_state);
  run.saved += layer.cached;
  run.forward = layer.forward_off;
  run.backward = layer.backward;
  if (!layer.input_saved) run.backward += input;
  if (s.reentrant) run.backward += input;  // the recomputed output, as large as the input, is a local of the engine's caller
  run.backward = taller(run.backward, layer.forward + moment(row::temporaries, layer.output_has_gradient ? layer.input : bytes{0}));
}

}  // namespace detail

/// Walks a step of one rank. `resident`: what is there before forward and stays. Static parts of the walk (states, windows)
/// come in, moments go out; nothing here depends on how many ranks there are.
constexpr timeline walk_step(const settled_job& s, const state_bytes& st, const windows& w, const moment& resident, bytes& checkpoints_on_host) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  const auto& habits = *sc.habits;
  timeline t;

  // Whether gradients that autograd makes are added to existing ones, or leave at once: then they are only a moment.
  const bool momentary = w.gradients_before.total > bytes{0} ? w.path != gradient_path::unit || j.sharding.no_sync : w.path == gradient_path::leaves;
  const bool keeps = !momentary && w.path == gradient_path::grows;

  const auto outside = trained_modules(j, -1);
  const auto emb = embedding(sc, outside);
  const auto emb_forward = walk_forward(emb);
  const auto emb_backward = walk_backward(emb, momentary);
  const bool recomputes = j.recompute.mode == recompute_mode::full;
  const bool leaf = !emb.needs_gradient(emb.output()) && j.adapter.active() &&
                    (habits.embeddings_need_gradient == input_gradient::always ||
                     (habits.embeddings_need_gradient == input_gradient::if_checkpointed && (recomputes || sc.base.quantised())));
  auto runs = detail::cut_layers(s, sc, leaf || emb.needs_gradient(emb.output()));
  bool flows = leaf || emb.needs_gradient(emb.output());
  for (int i = 0; i < runs.size; ++i) {
    auto& r = runs.list[static_cast<std::size_t>(i)];
    detail::cost_layer(r, s, sc, momentary);
    flows = flows || detail::anything_trains(sc, r.trained);
  }
  const auto tail = head_and_loss(sc, outside, flows);
  const auto tail_forward = walk_forward(tail);
  const auto tail_backward = walk_backward(tail, momentary);
  const auto tail_held = moment(row::logits, tail_forward.held);

  // What is alive from forward to the end of backward whatever the layer.
  moment shared = moment(emb_forward.saved, emb_forward.saved_rows);
  if (leaf && !runs.list[0].keeps_input) shared += moment(row::activations, emb.size(emb.output()));
  if (s.model.position == position_kind::rope && !habits.rotary_cache)  // cos and sin, in the compute format, for every sample
    shared += moment(row::activations, bytes{checked::mul(checked::mul(2 * sc.tokens, s.model.head_width()), sc.width)});

  moment all_saved{}, all_sticky{};
  for (int i = 0; i < runs.size; ++i) {
    const auto& r = runs.list[static_cast<std::size_t>(i)];
    all_saved += r.count * r.saved;
    all_sticky += r.count * r.sticky;
  }
  all_sticky += moment(row::activations, tail_forward.sticky);

  const auto begin = resident + w.gradients_before;
  // What the previous micro-batch leaves behind until this one's forward has returned.
  const bool lingers = habits.keeps_loss_graph && (all_sticky.total > bytes{0});
  const auto previous_graph = lingers ? all_sticky : moment{};
  const auto previous_outputs = habits.keeps_loss_graph ? tail_held : moment{};

  // Forward.
  t.look(phase::forward, -1, begin + w.forward + previous_graph + previous_outputs, emb_forward.peak);
  auto live = begin + shared + previous_graph;
  for (int i = 0; i < runs.size; ++i) {
    const auto& r = runs.list[static_cast<std::size_t>(i)];
    const auto before_last = (r.count - 1) * r.saved;
    t.look(phase::forward, r.first + r.count - 1, live + before_last + w.forward + previous_outputs, r.forward);
    live += r.count * r.saved;
  }
  if (recomputes && j.offload.activations != place::on_gpu)
    checkpoints_on_host = bytes{checked::mul(s.model.layers, checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.residual_width))};

  // Loss, and the way back to the last layer.
  t.look(phase::loss_forward, -1, live + previous_outputs + w.forward_end, tail_forward.before_return);
  t.look(phase::loss_forward, -1, live + w.forward_end, tail_forward.peak);
  live = begin + shared + all_saved + tail_held;
  // Autocast's cache is dropped when the forward's context closes.
  if (recomputes && sc.autocast) {
    moment cache{};
    cache.rows[row::gathered_parameters] = cache.total = all_saved.rows[row::gathered_parameters];
    live = live - cache;
  }
  t.look(phase::backward, -1, live - tail_held + w.forward_end, tail_backward.peak);
  moment grown{};
  if (keeps) grown += moment(row::gradients, tail_backward.weight_gradients);
  if (w.path == gradient_path::unit && w.gradients_before.total == bytes{0}) grown += moment(row::gradients, w.kept_root);
  moment sticky_above = moment(row::activations, tail_forward.sticky);

  // Backward, from the last layer down.
  for (int i = runs.size; i-- > 0;) {
    const auto& r = runs.list[static_cast<std::size_t>(i)];
    auto own = r.saved;
    if (recomputes && sc.autocast) own = own - moment(row::gathered_parameters, own.rows[row::gathered_parameters]);
    const auto kept = w.path == gradient_path::unit ? moment(row::gradients, w.gradients_before.total > bytes{0} ? bytes{0} : w.kept_per_unit)
                                                    : moment(row::gradients, keeps ? r.gradients : bytes{0});
    const bool reaches = r.input_has_gradient || detail::anything_trains(sc, r.trained);
    for (const std::int64_t n : {std::int64_t{0}, r.count - 1}) {  // layers of this run that are done
      if (n > 0 || n == r.count - 1 || r.count > 1) {
        const auto below = live - (n + 1) * own;
        const auto above = grown + n * kept + sticky_above + n * r.sticky;
        const auto layer = r.first + r.count - 1 - n;
        if (reaches) {
          // own holds what backward's peak counts again; a checkpoint's input is in both, too
          const auto extra_own = recomputes && sc.host ? moment(row::activations, detail::cpu_generator_state) : moment{};
          t.look(phase::backward, layer, below + above + w.backward + extra_own, r.backward);
          t.look(phase::reduce, layer, below + above + w.reduce + r.input_gradient, moment(row::gradients, w.path == gradient_path::unit ? r.gradients : bytes{0}));
        }
      }
    }
    live = live - r.count * own;
    if (recomputes && s.reentrant && sc.host) live += moment(row::activations, r.count * detail::cpu_generator_state);
    grown += r.count * kept;
    sticky_above += r.count * r.sticky;
  }
  // The embedding, with every gradient made.
  t.look(phase::backward, -1, live + grown + sticky_above + w.backward - moment(row::activations, emb_forward.saved), emb_backward.peak);
  if (keeps) grown += moment(row::gradients, emb_backward.weight_gradients);
  t.look(phase::reduce, -1, begin + grown);

  // Optimizer step: activations are gone.
  auto step = resident;
  if (!s.optimizer.in_backward && j.offload.optimizer == place::on_gpu) step += moment(row::gradients, st.gpu[row::gradients]);
  auto temporaries = w.step;
  if (j.offload.optimizer == place::on_gpu && !s.optimizer.in_backward) {
    bytes update{0};
    switch (s.optimizer.how) {
      case implementation::foreach: update = habits.foreach_copies * st.trained_copy; break;
      case implementation::loop: update = habits.loop_keeps_previous ? st.loop_temporary : 2 * st.largest_trained; break;
      case implementation::fused:
      case implementation::unset: break;
    }
    const auto alone = moment(row::temporaries, update);
    temporaries = alone.total > temporaries.total ? alone : temporaries;
  }
  t.look(phase::step, -1, step, temporaries);
  return t;
}

}  // namespace headroom
