// Distributed under the Boost Software License, Version 1.0.
// FSDP1's units: torch distributed/fsdp/_runtime_utils.py (_unshard, _reshard, _post_backward_hook, _prefetch_handle), _flat_param.py,
// _limiter_utils.py _FreeEventQueue. Flat parameters are made on the all-gather's stream and read on the default one, so that what is
// freed is free only once an event is over. The host runs ahead of the GPU: it learns that an event is over by waiting for it, which the
// limiter makes it do for the last but one before each all-gather. A unit's weights are views that one split made (_get_unflat_views):
// autograd keeps their gradients, zeros for those of frozen ones, until all have come, and concatenates them.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/sharding/windows.hpp>

namespace headroom {

/// Units of eager_step.
template <class Listener>
class fsdp1_units {
 public:
  using handle = typename Listener::handle;
  static constexpr bool gathers = true;
  static constexpr std::int64_t edges = 2;

  constexpr fsdp1_units(const step_facts& f, const inventory& list, Listener& to) : to_(&to), job_(f.job), list_(&list) {
    const auto& s = *job_;
    const auto& st = *f.states;
    const auto& j = *s.source;
    const auto& p = s.precision;
    const auto d = s.shards.parameters;
    resident_ = j.sharding.stays_gathered();
    apart_ = j.framework.sharding.wraps_adapters && j.adapter.active();
    on_gpu_ = j.offload.parameters == place::on_gpu;
    sums_whole_ = j.sharding.no_sync && j.batch.accumulation > 1;
    updates_at_once_ = s.optimizer.in_backward;
    ahead_ = chosen(j.sharding.backward_prefetch, true);
    casts_ = p.compute.bits != p.parameters.bits;
    const bool frozen = j.adapter.active() && j.trainable.all();
    root_ = flat_of(detail::share(resident_ ? st.root + st.side : st.root, p.compute.width()), d);
    if (trained_modules(j, -1).has(module::embedding)) train(root_, detail::share(st.root, p.compute.width()), d);  // an encoder's and a tower's layers are reduced by themselves
    layer_ = flat_of(detail::gathered_unit(s, st), d);
    if (!apart_) train(layer_, layer_.whole, d);
    if (!apart_ && frozen) layer_.zeros = layer_.whole;
  }

  [[nodiscard]] constexpr bool momentary(bool) const { return false; }
  [[nodiscard]] constexpr bool grows(bool) const { return false; }
  constexpr void start() {
    if (updates_at_once_) return;
    const auto on = sums_whole_ ? stream::compute : stream::reduce;
    to_->start_with(left_by(root_), row::gradients, on);
    const auto& runs = to_->runs();
    std::int64_t layers = 0;
    for (std::size_t i = 0; i < runs.size; ++i) layers += runs.list[i].back ? runs.list[i].count * runs.list[i].span : 0;
    to_->start_with(layers * left_by(layer_), row::gradients, on);
    if (!apart_ || !on_gpu_) return;
    for (std::size_t i = 0; i < runs.size; ++i)
      if (const auto& r = runs.list[i]; r.back) visit_adapters(r.first, r.span, false, [&](const flat& f) { to_->start_with(r.count * f.reduced, row::gradients, on); });
  }

  constexpr void begin_run(const detail::layer_run&) {}
  constexpr void begin_side() { side_ = to_->make(layer_.whole + layer_.part, row::gathered_parameters, stream::gather); }
  constexpr void end_side() { to_->free(side_); }

  constexpr void begin_forward() { root_there_ = unshard(root_); }
  constexpr void after_embedding() {}
  constexpr void before_forward(const layer_place& at) {
    unshard_layer(at.layer, at.span);
    gather_adapters(at);
  }
  constexpr void after_forward(const layer_place& at) {
    let_go(beside_);
    if (!resident_) reshard_layer(at.layer, at.span);
  }
  constexpr void before_head() {}
  constexpr void end_forward() {}
  constexpr void begin_micro_batch(bool exist, bool is_last) {
    exist_ = exist;
    last_ = is_last;
  }
  /// The root's hook asks for the last layer.
  constexpr void begin_backward() {
    lowest_ = job_->model.layers;
    if (!resident_ && ahead_) unshard_layer(job_->model.layers - 1);
  }
  /// The embedding's gradient lies in the same flat parameter.
  constexpr void after_head() { waiting_ = to_->gradients(); }
  /// A layer's hook asks for the layer before; beside adapters that is the first adapter's, near the end of the layer's backward.
  constexpr void before_backward(const layer_place& at) {
    if (!ahead_ && !resident_)
      unshard_layer(at.layer);
    else if (at.layer > 0 && !apart_ && !resident_)
      unshard_layer(at.layer - 1);
    gather_adapters(at);
  }
  constexpr void after_backward(const layer_place& at) {
    let_go(beside_);
    if (apart_)
      reduce_adapters(at);
    else
      reduce(layer_, at.layer);
    if (!apart_ && at.span > 1 && !exist_) [[unlikely]] to_->put(unit_slot::gradient, at.layer, (at.span - 1) * left_by(layer_), row::gradients, stream::reduce);
    reshard_layer(at.layer, at.span);
    lowest_ = at.layer - at.span + 1;
  }
  [[nodiscard]] constexpr std::int64_t cut(const detail::layer_run& r) const { return r.count; }
  /// No gradient reaches the layer: if it is there, it goes when backward ends.
  constexpr void leave_layer(const layer_place& at) {
    if (resident_ || (ahead_ && at.layer + 1 == lowest_)) reshard_layer(at.layer, at.span);
  }
  constexpr void before_embedding_backward() {}
  constexpr void end_backward() {
    to_->join_gradients(waiting_);
    reduce(root_, front_place);
    to_->retire(root_there_);
    to_->record();
  }
  constexpr void end_micro_batch() { to_->wait_for_all(); }
  constexpr void free_partition() {}
  constexpr void drop_gradients() {}

 private:
  static constexpr std::int64_t front_place = -1;

  /// Sizes of what a unit's flat parameter is on one GPU.
  struct flat {
    bytes whole{};     ///< gathered
    bytes part{};      ///< this rank's part where it is made for the gather: copied from the host, or cast
    bytes zeros{};     ///< gradients of frozen weights among its views
    bytes gradient{};  ///< of the whole, in the format that it is computed in; none: frozen
    bytes reduced{};   ///< this rank's part of it, in the format of the reduction
    bytes kept{};      ///< … and in the parameters', 0: the same storage
  };
  [[nodiscard]] constexpr flat flat_of(bytes whole, std::int64_t d) const { return {.whole = whole, .part = casts_ || !on_gpu_ ? ceil_div(whole, d) : bytes{0}}; }
  constexpr void train(flat& f, bytes gradient, std::int64_t d) const {
    const auto& p = job_->precision;
    f.gradient = gradient;
    const auto elements = checked::ceil_div(checked::ceil_div(gradient.count(), p.compute.width()), d);
    f.reduced = bytes{checked::mul(elements, p.reduce.width())};
    f.kept = p.reduce.bits == p.gradients.bits ? bytes{0} : bytes{checked::mul(elements, p.gradients.width())};
  }

  [[nodiscard]] constexpr bytes left_by(const flat& f) const {
    return updates_at_once_ ? bytes{0} : sums_whole_ ? f.gradient : f.kept > bytes{0} ? f.kept : f.reduced;
  }

  constexpr handle unshard(const flat& f) {
    auto part = to_->make(f.part, row::gathered_parameters, stream::copy);
    to_->wait_for(most_events);
    auto whole = to_->make(f.whole, row::gathered_parameters, stream::gather);
    to_->retire(part);
    return whole;
  }
  constexpr void unshard_layer(std::int64_t layer, std::int64_t span = 1) {
    auto whole = unshard(layer_);
    to_->put(unit_slot::whole, layer, whole);
    if (resident_ && span > 1) [[unlikely]] to_->put(unit_slot::whole, layer, (span - 1) * layer_.whole, row::gathered_parameters, stream::gather);
  }
  constexpr void reshard_layer(std::int64_t layer, std::int64_t span = 1) {
    to_->retire(unit_slot::whole, layer, (resident_ ? span : 1) * layer_.whole, row::gathered_parameters, stream::gather);
    to_->record();
  }

  /// Calls visit(flat) for each adapter matrix of `count` layers from `first` on, and for DoRA's magnitudes: they are a module with a weight of
  /// its own, and so a unit (peft utils/other.py fsdp_auto_wrap_policy; tuners/lora/dora.py DoraLinearLayer).
  constexpr void visit_adapters(std::int64_t first, std::int64_t count, bool backwards, const auto& visit) {
    const auto& s = *job_;
    const auto rank = s.source->adapter.rank;
    const std::size_t units = s.source->adapter.kind == adapter_kind::dora ? 3 : 2;
    const auto one = [&](const weight& w, std::int64_t layer) {
      if (!w.layers.has(layer) || !w.linear || w.vector() || !s.layer.adapts(w.role)) return;
      const auto rows = detail::adapted_rows(s, w);
      const std::int64_t elements[] = {checked::mul(rank, w.columns), checked::mul(rows, rank), rows};
      for (std::size_t k = 0; k < units && rows > 0; ++k)
        for (std::int64_t i = 0; i < w.per_layer; ++i) {
          const auto matrix = elements[backwards ? units - 1 - k : k];
          const bytes whole{checked::mul(matrix, s.layer.adapter_width)}, kept{checked::mul(matrix, s.layer.adapter_kept)};
          visit(flat{.whole = whole, .part = on_gpu_ && kept == whole ? bytes{0} : ceil_div(whole, s.shards.parameters), .gradient = whole, .reduced = ceil_div(kept, s.shards.parameters)});
        }
    };
    for (std::int64_t i = 0; i < count; ++i) {
      if (backwards)
        for (auto w = list_->end(); w != list_->begin();) one(*--w, first + count - 1 - i);
      else
        for (const auto& w : *list_) one(w, first + i);
    }
  }
  /// Each adapter matrix is gathered for its own multiplication: one of them, the widest, while the layer is at its tallest.
  constexpr void gather_adapters(const layer_place& at) {
    if (!apart_) return;
    flat widest{};
    visit_adapters(at.layer - at.span + 1, at.span, false, [&](const flat& f) {
      if (f.whole > widest.whole) widest = f;
      auto whole = unshard(f);
      let_go(whole);
    });
    beside_ = unshard(widest);
  }
  constexpr void let_go(handle& whole) {
    if (whole.size == bytes{0}) return;
    to_->retire(whole);
    to_->record();
  }
  /// An adapter's hook asks for the next one, in the reverse of the order in which forward ended; the last one's for the layer before.
  constexpr void reduce_adapters(const layer_place& at) {
    auto made = to_->gradients();
    flat last{};
    handle whole{};
    const auto reduce_last = [&] {
      if (last.whole == bytes{0}) return;
      auto part = to_->make(last.reduced, row::gradients, stream::reduce);
      if (on_gpu_ && !exist_ && !updates_at_once_)
        to_->put(unit_slot::gradient, at.layer, part);
      else
        to_->retire(part);
      let_go(whole);
    };
    visit_adapters(at.layer - at.span + 1, at.span, true, [&](const flat& f) {
      if (!ahead_) reduce_last();
      auto next = unshard(f);
      if (ahead_) reduce_last();
      last = f;
      whole = next;
    });
    if (at.layer > 0 && !resident_ && ahead_) unshard_layer(at.layer - 1);
    reduce_last();
    to_->retire(made);
  }

  /// Gradients of the views, zeros among them, are concatenated; that flat gradient is reduced on a stream of its own.
  constexpr void reduce(const flat& f, std::int64_t place) {
    auto pieces = to_->gradients();
    if (f.gradient == bytes{0}) return to_->free(pieces);
    auto zeros = to_->make(f.zeros, row::communication_buffers);
    auto whole = to_->make(f.gradient, sums_whole_ && !exist_ ? row::gradients : row::communication_buffers);
    to_->free(zeros);
    to_->free(pieces);
    if (sums_whole_) {
      if (exist_)
        to_->free(whole);  // added to those before
      else
        to_->put(unit_slot::summed, place, whole);
      if (!last_) return;
    }
    const bool keeps = !updates_at_once_ && (!exist_ || sums_whole_);
    auto part = to_->make(f.reduced, f.kept == bytes{0} && keeps ? row::gradients : row::communication_buffers, stream::reduce);
    if (sums_whole_)
      to_->retire(unit_slot::summed, place, f.gradient, row::gradients, stream::compute);
    else
      to_->retire(whole);
    if (f.kept > bytes{0}) {
      auto kept = to_->make(f.kept, row::gradients, stream::reduce);
      to_->free(part);
      part = kept;
    }
    if (keeps)
      to_->put(unit_slot::gradient, place, part);
    else
      to_->free(part);
  }

  static constexpr std::size_t most_events = 2;
  Listener* to_;
  const settled_job* job_;
  const inventory* list_;
  bool resident_{}, apart_{}, on_gpu_{}, sums_whole_{}, updates_at_once_{}, ahead_{true}, casts_{}, exist_{}, last_{true};
  std::int64_t lowest_{};
  flat layer_{}, root_{};
  handle root_there_{}, side_{}, beside_{};
  typename Listener::gradient_list waiting_{};
};

}  // namespace headroom
