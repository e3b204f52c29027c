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
    for (auto& m : tallest_) m = moment{};
    for (auto& l : layer_) l = -1;
  }
  /// Considers the sum of some moments (and multiples of moments). Rows are added up only for a new tallest one.
  template <class... Parts>
  constexpr void look(phase p, std::int64_t layer, const Parts&... parts) {
    const auto i = static_cast<std::size_t>(p);
    bytes sum{0};
    ((sum += total_of(parts)), ...);
    if (sum <= tallest_[i].total) return;
    tallest_[i] = moment{};
    tallest_[i].total = sum;
    (add_rows(tallest_[i].rows, parts), ...);
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
  static constexpr bytes total_of(const moment& m) { return m.total; }
  static constexpr bytes total_of(const multiple& m) { return m.total(); }
  static constexpr void add_rows(breakdown& b, const moment& m) {
    if (m.total != bytes{0}) b += m.rows;
  }
  static constexpr void add_rows(breakdown& b, const multiple& m) { m.add_to(b); }

  std::array<moment, phase_count> tallest_;
  std::array<std::int64_t, phase_count> layer_;
};

namespace detail {

/// Layers in a row that train the same modules.
struct layer_run {
  std::int64_t first;
  std::int64_t count;
  module_set trained;
  bool input_has_gradient;

  // Of one layer of it:
  moment saved;           ///< for backward; a checkpoint's input under recompute
  bytes sticky;           ///< of it, what stays until the graph dies
  moment forward;         ///< the forward's peak, its input included
  moment backward;        ///< the backward's peak, what it saved and its output's gradient included
  moment input_gradient;  ///< what is left when its backward is done
  bytes gradients;        ///< of its weights, as autograd makes them
  bool keeps_input;       ///< its input is among what it saved
};

struct layer_runs {
  static constexpr int capacity = 2 * trainable::capacity + 2;
  std::array<layer_run, capacity> list;  // only the first `size` are ever read
  int size{};
  constexpr layer_runs() {
    if (std::is_constant_evaluated()) list = {};
  }
  constexpr void add(std::int64_t first, std::int64_t count, const module_set& trained, bool gradient) {
    if (count <= 0) return;
    auto& r = list[static_cast<std::size_t>(size++)];
    r = layer_run{};
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

  bytes sticky = tail_forward.sticky;
  for (int i = 0; i < runs.size; ++i) sticky += runs.list[static_cast<std::size_t>(i)].count * runs.list[static_cast<std::size_t>(i)].sticky;

  const auto begin = resident + w.gradients_before;
  // What the previous micro-batch leaves behind until this one's forward has returned.
  const auto previous_graph = habits.keeps_loss_graph ? moment(row::activations, sticky) : moment{};
  const auto previous_outputs = habits.keeps_loss_graph ? tail_held : moment{};

  // Forward.
  t.look(phase::forward, -1, begin, w.forward, previous_graph, previous_outputs, emb_forward.peak);
  auto live = begin + shared;
  live += previous_graph;
  for (int i = 0; i < runs.size; ++i) {
    const auto& r = runs.list[static_cast<std::size_t>(i)];
    t.look(phase::forward, r.first + r.count - 1, live, multiple{r.count - 1, r.saved}, w.forward, previous_outputs, r.forward);
    live += r.count * r.saved;
  }
  if (recomputes && j.offload.activations != place::on_gpu)
    checkpoints_on_host = bytes{checked::mul(s.model.layers, checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.residual_width))};

  // Loss, and the way back to the last layer.
  t.look(phase::loss_forward, -1, live, previous_outputs, w.loss, tail_forward.before_return);
  t.look(phase::loss_forward, -1, live, w.loss, tail_forward.peak);
  live -= previous_graph;
  // Autocast's cache is dropped when the forward's context closes.
  const bool drops_cache = recomputes && sc.autocast;
  if (drops_cache) live -= moment(row::gathered_parameters, live.rows[row::gathered_parameters]);
  t.look(phase::backward, -1, live, w.turn, tail_backward.peak);
  live += tail_held;
  const bool shards_grow = w.path != gradient_path::grows && w.gradients_before.total == bytes{0};
  live.add(row::gradients, shards_grow ? w.kept_root : keeps ? tail_backward.weight_gradients : bytes{0});
  live.add(row::activations, tail_forward.sticky);

  // Backward, from the last layer down: a layer's saved tensors go, its gradients and what is sticky of it stay.
  const auto recomputing = recomputes && sc.host ? moment(row::activations, detail::cpu_generator_state) : moment{};
  for (int i = runs.size; i-- > 0;) {
    const auto& r = runs.list[static_cast<std::size_t>(i)];
    auto own = r.saved;
    if (drops_cache) own -= moment(row::gathered_parameters, own.rows[row::gathered_parameters]);
    moment grown(row::gradients, shards_grow ? w.kept_per_unit : keeps ? r.gradients : bytes{0});
    grown.add(row::activations, r.sticky);
    if (recomputes && s.reentrant && sc.host) grown.add(row::activations, detail::cpu_generator_state);
    live -= own;
    if (r.input_has_gradient || detail::anything_trains(sc, r.trained)) {
      const moment unit_gradients(row::gradients, w.path == gradient_path::unit ? r.gradients : bytes{0});
      const auto visit = [&](std::int64_t done) {
        const auto layer = r.first + r.count - 1 - done;
        t.look(phase::backward, layer, live, multiple{-done, own}, multiple{done, grown}, w.backward, recomputing, r.backward);
        t.look(phase::reduce, layer, live, multiple{-done, own}, multiple{done, grown}, w.reduce, r.input_gradient, unit_gradients);
      };
      visit(0);
      if (r.count > 1) visit(r.count - 1);
    }
    live -= (r.count - 1) * own;
    live += r.count * grown;
  }
  // The embedding, with every gradient made.
  live -= moment(emb_forward.saved, emb_forward.saved_rows);
  t.look(phase::backward, -1, live, w.backward, emb_backward.peak);
  live.add(row::gradients, keeps ? emb_backward.weight_gradients : bytes{0});
  t.look(phase::reduce, -1, begin, moment(row::gradients, live.rows[row::gradients] - begin.rows[row::gradients]));

  // Optimizer step: activations are gone, the loss is not. On a CPU the scalars of a tensor-by-tensor update are tensors, too
  // (ATen/ScalarOps.h wrapped_scalar_tensor: one double at a time).
  auto step = resident + moment(row::activations, tail.size(tail.output()));
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
    if (sc.host && s.optimizer.how == implementation::loop) update += bytes{8};
    const auto alone = moment(row::temporaries, update);
    temporaries = alone.total > temporaries.total ? alone : temporaries;
  }
  t.look(phase::step, -1, step, temporaries);
  return t;
}

}  // namespace headroom
