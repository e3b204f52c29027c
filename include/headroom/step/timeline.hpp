// Distributed under the Boost Software License, Version 1.0.
// The walk over a step: load, forward, loss, backward, reduce, step, save. Layers of one kind save alike, so saved bytes fall
// and gradients grow linearly through backward: only the first and the last layer of each kind need a visit.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/embedding.hpp>
#include <headroom/block/encoder.hpp>
#include <headroom/block/experts.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/layout/stages.hpp>
#include <headroom/step/windows.hpp>

namespace headroom {

/// The tallest moment of each phase.
class timeline {
 public:
  constexpr timeline() {
    for (auto& m : tallest_) m.clear();
    for (auto& l : layer_) l = -1;
  }
  /// Considers the sum of some moments.
  template <class... Parts>
  constexpr void look(phase p, std::int64_t layer, const Parts&... parts) {
    const auto i = static_cast<std::size_t>(p);
    if (tallest_[i].rise_to(parts...)) layer_[i] = layer;
    if (pools_) [[unlikely]] default_pool_ = max(default_pool_, (parts.total + ...) - elsewhere_);
  }
  /// From now on the pool of the default stream is watched: of the moments to come, so many bytes lie in other streams' pools.
  constexpr void watch_pools(bytes gather, bytes reduce) {
    pools_ = true;
    gather_pool_ = gather;
    reduce_pool_ = reduce;
  }
  constexpr void elsewhere(bytes b) { elsewhere_ = b; }
  /// The default stream's pool was so large at some moment.
  constexpr void reach(bytes b) { default_pool_ = max(default_pool_, b - elsewhere_); }
  [[nodiscard]] constexpr bool watches_pools() const { return pools_; }
  [[nodiscard]] constexpr bytes default_pool() const { return default_pool_; }
  [[nodiscard]] constexpr bytes gather_pool() const { return gather_pool_; }
  [[nodiscard]] constexpr bytes reduce_pool() const { return reduce_pool_; }
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
  bool pools_{};
  bytes elsewhere_{}, default_pool_{}, gather_pool_{}, reduce_pool_{};
};

namespace detail {

/// Layers in a row that train the same modules.
struct layer_run {
  std::int64_t first{};
  std::int64_t count{};
  module_set trained{};
  bool input_has_gradient{};
  bool recomputes{};
  bool sparse{};
  std::int64_t experts{};   ///< routed experts that train in each
  std::int64_t span{1};     ///< a group of so many layers, dense and sparse in turn, counts as one

  // Of one layer of it:
  moment saved{};           ///< for backward; a checkpoint's input under recompute
  bytes sticky{};           ///< of it, what stays until the graph dies
  moment forward{};         ///< the forward's peak, its input included
  moment backward{};        ///< the backward's peak, what it saved and its output's gradient included
  bytes input_gradient{};   ///< what is left when its backward is done
  bytes gradients{};        ///< of its weights, as autograd makes them
  bool keeps_input{};       ///< its input is among what it saved
};

struct layer_runs {
  static constexpr std::size_t capacity = 2 * trainable::capacity + 15;
  room<layer_run, capacity> list = room<layer_run, capacity>::open();
  std::size_t size{};
  constexpr void add(std::int64_t first, std::int64_t count, const module_set& trained, bool gradient, bool recomputes) {
    if (count > 0) list.put(size++, first, count, trained, gradient, recomputes);
  }
  constexpr void add_routed(std::int64_t first, std::int64_t count, const module_set& trained, bool gradient, bool recomputes, bool sparse,
                            std::int64_t experts, std::int64_t span) {
    if (count <= 0) return;
    if (size == capacity) refuse("headroom: model.experts: dense and sparse layers, trained and frozen, change too often; at most 30 runs are walked", static_cast<std::int64_t>(size));
    list.put(size++, first, count, trained, gradient, recomputes, sparse, experts, span);
  }
};

/// Whether something trains in a layer: a module of its own, or an adapter.
constexpr bool anything_trains(const scene& s, const module_set& trained) {
  constexpr module_set layer_modules{module::q_proj,    module::k_proj,       module::v_proj,     module::o_proj,       module::gate_proj,
                                     module::up_proj,   module::down_proj,    module::norm,       module::mla_down,     module::router,
                                     module::experts_up, module::experts_down, module::experts_gate, module::shared_gate, module::shared_up,
                                     module::shared_down, module::cross_attention};
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

/// Layers from `at` up to `next`, which train alike, cut where dense and sparse ones meet; where they alternate, in groups.
constexpr void cut_routed(layer_runs& runs, const settled_job& s, std::int64_t at, std::int64_t next, const module_set& trained, bool flows, bool recomputes) {
  const auto& m = s.model;
  const auto experts = trained_experts(*s.source, at);
  while (at < next) {
    const auto every = m.experts.every;
    if (every > 1 && !m.experts.masked_dense() && at >= m.experts.first_dense_layers && next - at >= every) {
      const auto groups = (next - at) / every;
      runs.add_routed(at, groups, trained, flows, recomputes, false, experts, every);
      at += groups * every;
      continue;
    }
    const bool sparse = m.sparse_layer(at);
    auto end = at + 1;
    while (end < next && m.sparse_layer(end) == sparse) ++end;
    if (every > 1 && !m.experts.masked_dense() && at < m.experts.first_dense_layers && end > m.experts.first_dense_layers) end = m.experts.first_dense_layers;
    runs.add_routed(at, end - at, trained, flows, recomputes, sparse, experts, 1);
    at = end;
  }
}

/// Layers from the first that are recomputed whole (Megatron's block method; torchtitan's "every n-th layer" comes to as many).
constexpr std::int64_t recomputed_layers(const recompute& r, std::int64_t layers) {
  if (r.mode != recompute_mode::full) return 0;
  return r.method == recompute_method::block && r.layers > 0 && r.layers < layers ? r.layers : layers;
}

/// Cuts the layers of a slice where `trainable` and recomputation change, and after the first layer that trains below a frozen rest:
/// nothing flows back into that one's input. `flows`: something below the slice trains.
constexpr layer_runs cut_layers(const settled_job& s, const scene& sc, const model_slice& here, bool flows) {
  const auto& j = *s.source;
  const auto layers = here.end();
  const auto recomputed = recomputed_layers(j.recompute, s.model.layers);
  layer_runs runs;
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
    const auto add = [&](std::int64_t end) {
      if (s.model.sparse())
        cut_routed(runs, s, at, end, trained, flows, recomputes);
      else
        runs.add(at, end - at, trained, flows, recomputes);
    };
    if (!flows && anything_trains(sc, trained)) {
      add(at + 1);
      flows = true;
      ++at;
    }
    add(next);
    at = next;
  }
  return runs;
}

/// State that torch.utils.checkpoint keeps of the random number generators: 5056 bytes of the CPU's (torch.get_rng_state()),
/// which count where tensors are counted on a CPU.
inline constexpr bytes cpu_generator_state{5056};

/// Fills in what one layer of a run costs.
constexpr void cost_layer(layer_run& run, const settled_job& s, const scene& sc, bool accumulate) {
  const bool recomputes = run.recomputes;
  const auto layer = run.sparse ? walk_sparse_layer(sc, run.trained, run.experts, run.input_has_gradient, recomputes, accumulate)
                                : walk_layer(sc, run.trained, run.input_has_gradient, recomputes, accumulate);
  run.gradients = layer.weight_gradients;
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
  if (!on_host) run.saved.add(row::activations, layer.input);
  if (sc.host) run.saved.add(row::activations, cpu_generator_state);
  run.forward = layer.forward_off;
  run.backward = layer.backward;
  if (!layer.input_saved) run.backward.add(row::activations, layer.input);
  if (s.reentrant) run.backward.add(row::activations, layer.input);  // the recomputed output, as large as the input, is a local of the engine's caller
  run.backward.rise_to(layer.forward, part{row::temporaries, layer.output_has_gradient ? layer.input : bytes{0}});
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
  low.sticky += up.sticky;
  low.gradients = grow ? low.gradients + up.gradients : max(low.gradients, up.gradients);
}

/// Fills in what a run's layer costs, or a group of them.
constexpr void cost_run(layer_run& run, const settled_job& s, const scene& sc, bool accumulate, bool grow) {
  if (run.span == 1) return cost_layer(run, s, sc, accumulate);
  auto dense = run, sparse = run;
  sparse.sparse = true;
  cost_layer(dense, s, sc, accumulate);
  cost_layer(sparse, s, sc, accumulate);
  const auto of = [&](std::int64_t i) -> const layer_run& { return s.model.sparse_layer(i) ? sparse : dense; };
  const auto span = run.span, first = run.first, count = run.count;
  run = of(first);
  run.span = span, run.count = count;
  for (std::int64_t i = first + 1; i < first + span; ++i) stack(run, of(i), grow);
}

}  // namespace detail

/// Walks a step of one rank, which runs a slice of the model. `resident`: what is there before forward and stays. Static parts of
/// the walk (states, windows) come in, moments go out; nothing here depends on how many ranks there are.
constexpr timeline walk_step(const settled_job& s, const state_bytes& st, const windows& w, const moment& resident, const model_slice& here,
                             bytes& checkpoints_on_host) {
  const auto& j = *s.source;
  scene sc = s.layer;
  sc.model = &s.model;
  sc.compiled = false;  // embedding and head are not
  const auto& habits = *sc.habits;
  timeline t;
  if (w.pools) [[unlikely]] t.watch_pools(w.gather_pool, w.reduce_pool);

  // Whether gradients that autograd makes are added to existing ones, or leave at once: then they are only a moment.
  const bool momentary = w.gradients_before.total > bytes{0} ? w.path != gradient_path::unit || j.sharding.no_sync : w.path == gradient_path::leaves;
  const bool keeps = !momentary && w.path == gradient_path::grows;

  const auto outside = trained_modules(j, -1);
  const auto emb = embedding(sc, outside);
  const auto emb_forward = here.embedding ? walk_forward(emb) : forward_walk{};
  const auto emb_backward = here.embedding ? walk_backward(emb, momentary) : backward_walk{};
  const bool recomputes = j.recompute.mode == recompute_mode::full;
  const bool leaf = !emb.needs_gradient(emb.output()) && j.adapter.active() &&
                    (habits.embeddings_need_gradient == input_gradient::always ||
                     (habits.embeddings_need_gradient == input_gradient::if_checkpointed && (recomputes || sc.base.quantised())));
  bool flows = leaf || emb.needs_gradient(emb.output());
  for (std::int64_t i = 0; i < here.first && !flows; ++i) flows = detail::anything_trains(sc, trained_modules(j, i));
  auto runs = detail::cut_layers(s, sc, here, flows);
  sc.compiled = s.layer.compiled;
  for (std::size_t i = 0; i < runs.size; ++i) {
    auto& r = runs.list[i];
    detail::cost_run(r, s, sc, momentary, keeps);
    flows = flows || detail::anything_trains(sc, r.trained);
  }
  sc.compiled = false;
  const auto tail = sc.model->head == head_kind::language && sc.model->classes == 0 ? head_and_loss(sc, outside, flows) : encoder_head(sc, outside, flows);
  const auto tail_forward = here.head ? walk_forward(tail) : forward_walk{};
  const auto tail_backward = here.head ? walk_backward(tail, momentary) : backward_walk{};
  const part tail_held{row::logits, tail_forward.held};

  bytes sticky = tail_forward.sticky;
  for (std::size_t i = 0; i < runs.size; ++i) sticky += runs.list[i].count * runs.list[i].sticky;

  auto begin = resident;
  begin += w.gradients_before;
  const auto sharded_before = w.gradients_before.total;  // where pools are watched, gradients that lie in the reduction's
  t.elsewhere(w.gathering + sharded_before);
  // What the previous micro-batch leaves behind until this one's forward has returned.
  const part previous_graph{row::activations, habits.keeps_loss_graph ? sticky : bytes{0}};
  const part previous_outputs{row::logits, habits.keeps_loss_graph ? tail_forward.held : bytes{0}};

  // Forward.
  t.look(phase::forward, -1, begin, w.forward, previous_graph, previous_outputs, emb_forward.peak);
  // What is alive from forward to the end of backward whatever the layer.
  const moment emb_saved(emb_forward.saved, emb_forward.saved_rows);
  auto live = begin;
  live += emb_saved;
  if (leaf && here.embedding && !(runs.size > 0 && runs.list[0].keeps_input)) live.add(row::activations, emb.size(emb.output()));
  if (s.model.position == position_kind::rope && !habits.rotary_cache)  // cos and sin, in the compute format, for every sample
    live.add(row::activations, bytes{checked::mul(checked::mul(2 * sc.tokens, s.model.mla.kv_rank > 0 ? s.model.mla.rope_dim : s.model.head_width()), sc.width)});
  live += previous_graph;
  for (std::size_t i = 0; i < runs.size; ++i) {
    const auto& r = runs.list[i];
    live += multiple{r.count - 1, r.saved};
    t.look(phase::forward, r.first + r.count * r.span - 1, live, w.forward, previous_outputs, r.forward);
    live += r.saved;
  }
  if (here.embedding && !here.head) {  // accelerate hands the logits back on the device that the tokens were on
    const auto width = sc.loss_program == loss_style::upcast_in_loss ? sc.width : sc.loss.logits.width();
    t.look(phase::loss_forward, -1, live, part{row::logits, bytes{checked::mul(checked::mul(sc.tokens, sc.vocabulary), width)}});
  }
  if (recomputes && j.offload.activations != place::on_gpu)
    checkpoints_on_host = bytes{checked::mul(detail::recomputed_layers(j.recompute, s.model.layers), checked::mul(checked::mul(sc.tokens, s.model.hidden), sc.residual_width))};

  // Loss, and the way back to the last layer.
  t.elsewhere(sharded_before);
  t.look(phase::loss_forward, -1, live, previous_outputs, w.loss, tail_forward.before_return);
  t.look(phase::loss_forward, -1, live, w.loss, tail_forward.peak);
  if (w.pools) [[unlikely]] t.reach(live.total + w.loss.total + tail.size(tail.input()) + span_of(tail));
  live.add(row::activations, -previous_graph.total);
  // Autocast's cache is dropped when the forward's context closes.
  const bool drops_cache = recomputes && sc.autocast;
  if (drops_cache) live.add(row::gathered_parameters, -live.rows[row::gathered_parameters]);
  t.look(phase::backward, -1, live, w.turn, tail_backward.peak);
  live += tail_held;
  const bool shards_grow = w.path != gradient_path::grows && w.gradients_before.total == bytes{0};
  const auto kept_head = shards_grow ? w.kept_root - w.kept_embedding : bytes{0};
  const bool waits = shards_grow && w.root_waits;
  live.add(row::gradients, shards_grow ? (waits ? tail_backward.weight_gradients : kept_head) : keeps ? tail_backward.weight_gradients : bytes{0});
  auto sharded = sharded_before + (waits ? bytes{0} : kept_head);
  auto pending = w.pending_first;
  live.add(row::activations, tail_forward.sticky);

  // Backward, from the last layer down: a layer's saved tensors go, its gradients and what is sticky of it stay.
  for (auto i = runs.size; i-- > 0;) {
    const auto& r = runs.list[i];
    const part recomputing{row::activations, r.recomputes && sc.host ? detail::cpu_generator_state : bytes{0}};
    auto own = r.saved;
    if (drops_cache) own.add(row::gathered_parameters, -own.rows[row::gathered_parameters]);
    const auto gradients = shards_grow ? r.span * w.kept_per_unit : keeps ? r.gradients : bytes{0};
    const auto sticky_here = r.recomputes && s.reentrant && sc.host ? r.sticky + detail::cpu_generator_state : r.sticky;
    live -= own;  // in the layer's own peak
    if (r.input_has_gradient || detail::anything_trains(sc, r.trained)) {
      const part input_gradient{row::temporaries, r.input_gradient};
      const part unit_gradients{row::gradients, w.path == gradient_path::unit ? r.gradients : bytes{0}};
      const auto visit = [&](std::int64_t done) {
        const auto layer = r.first + (r.count - done) * r.span - 1;
        const multiple gone{-done, own};
        const part stuck{row::activations, done * sticky_here};
        const part made{row::gradients, done * gradients};
        t.elsewhere(w.gathering + sharded + done * gradients);
        t.look(phase::backward, layer, live, gone, stuck, made, w.backward, part{row::communication_buffers, pending}, recomputing, r.backward);
        pending = w.pending;
        t.look(phase::reduce, layer, live, gone, stuck, made, w.reduce, input_gradient, unit_gradients);
      };
      visit(0);
      if (r.count > 1) visit(r.count - 1);
    }
    live += multiple{1 - r.count, own};
    live.add(row::activations, r.count * sticky_here);
    live.add(row::gradients, r.count * gradients);
    if (shards_grow) sharded += r.count * gradients;
  }
  // The embedding, with every gradient made.
  live -= emb_saved;
  t.elsewhere(sharded);
  t.look(phase::backward, -1, live, w.ends_apart ? w.end : w.backward, emb_backward.peak);
  if (w.ends_apart) t.look(phase::reduce, -1, live, w.last_reduce, part{row::gradients, emb_backward.weight_gradients});
  live.add(row::gradients, keeps ? emb_backward.weight_gradients : shards_grow ? w.kept_embedding - (waits ? tail_backward.weight_gradients : bytes{0}) : bytes{0});
  t.look(phase::reduce, -1, begin, part{row::gradients, live.rows[row::gradients] - begin.rows[row::gradients]});

  // Optimizer step: activations are gone, the loss is not. On a CPU the scalars of a tensor-by-tensor update are tensors, too
  // (ATen/ScalarOps.h wrapped_scalar_tensor: one double at a time).
  const bool on_gpu = j.offload.optimizer == place::on_gpu && !s.optimizer.in_backward;
  const part loss{row::activations, here.head ? tail.size(tail.output()) : bytes{0}};
  const part gradients{row::gradients, on_gpu ? st.gpu[row::gradients] : bytes{0}};
  t.elsewhere(gradients.total);
  t.look(phase::step, -1, resident, loss, gradients, w.step);
  if (on_gpu) {
    bytes update{0};
    switch (s.optimizer.how) {
      case implementation::foreach: update = habits.foreach_copies * st.trained_copy; break;
      case implementation::loop: update = habits.loop_keeps_previous ? st.loop_temporary : 2 * st.largest_trained; break;
      case implementation::fused:
      case implementation::unset: break;
    }
    if (sc.host && s.optimizer.how == implementation::loop) update += bytes{8};
    t.look(phase::step, -1, resident, loss, gradients, part{row::temporaries, update});
  }
  return t;
}

}  // namespace headroom
