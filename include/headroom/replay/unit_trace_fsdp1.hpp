// Distributed under the Boost Software License, Version 1.0.
// FSDP1's units written out, allocation by allocation: torch distributed/fsdp/_runtime_utils.py (_unshard, _reshard, _post_backward_hook,
// _prefetch_handle), _flat_param.py, _limiter_utils.py _FreeEventQueue. Flat parameters are made on the all-gather's stream and read on
// the default one, so that what is freed is free only once an event is over. The host runs ahead of the GPU: it learns that an event is
// over by waiting for it, which the limiter makes it do for the last but one before each all-gather.
#pragma once

#include <headroom/replay/block_trace.hpp>
#include <headroom/sharding/windows.hpp>

#include <deque>
#include <vector>

namespace headroom {

class fsdp1_units {
 public:
  using handle = tensor_memory::handle;

  /// Sizes of what a unit's flat parameter is on one GPU.
  struct flat {
    bytes whole{};     ///< gathered
    bytes part{};      ///< this rank's part where it is made for the gather: copied from the host, or cast
    bytes zeros{};     ///< gradients of frozen weights among its views
    bytes gradient{};  ///< of the whole, in the format that it is computed in; none: frozen
    bytes reduced{};   ///< this rank's part of it, in the format of the reduction
    bytes kept{};      ///< … and in the parameters', 0: the same storage
  };

  fsdp1_units(const settled_job& s, const inventory& list, const state_bytes& st, tensor_memory& m) : memory_(&m) {
    const auto& j = *s.source;
    const auto& p = s.precision;
    const auto d = s.shards.parameters;
    resident_ = j.sharding.stays_gathered();
    apart_ = j.framework.sharding.wraps_adapters && j.adapter.active();
    on_gpu_ = j.offload.parameters == place::on_gpu;
    whole_gradients_ = j.sharding.no_sync && j.batch.accumulation > 1;
    updates_at_once_ = s.optimizer.in_backward;
    const bool casts = p.compute.bits != p.parameters.bits;
    const auto part_of = [&](bytes whole) { return casts || !on_gpu_ ? ceil_div(whole, d) : bytes{0}; };
    const auto layer = detail::gathered_unit(s, st), root = detail::share(st.root, p.compute.width());
    const bool frozen = j.adapter.active() && j.trainable.all();
    const bool root_trains = trained_modules(j, -1).has(module::embedding);
    const auto trains = [&](flat f, bool zeros) {
      f.gradient = f.whole;
      if (zeros) f.zeros = f.whole;
      const auto elements = checked::ceil_div(f.whole.count(), p.compute.width());
      f.reduced = bytes{checked::mul(checked::ceil_div(elements, d), p.reduce.width())};
      f.kept = p.reduce.bits == p.gradients.bits ? bytes{0} : bytes{checked::mul(checked::ceil_div(elements, d), p.gradients.width())};
      return f;
    };
    root_.of = {.whole = root, .part = part_of(root)};
    if (root_trains) root_.of = trains(root_.of, false);
    layer_ = {.whole = layer, .part = part_of(layer)};
    if (!apart_) layer_ = trains(layer_, frozen);
    layers_.resize(static_cast<std::size_t>(s.model.layers), unit{.of = layer_});
    if (!apart_) return;
    for (const auto& w : list) {
      if (w.layers.count == 0 || !w.linear || w.vector() || !s.layer.adapts(w.role)) continue;
      for (const auto elements : {checked::mul(j.adapter.rank, w.columns), checked::mul(w.rows, j.adapter.rank)})
        for (std::int64_t i = 0; i < w.per_layer; ++i) {
          const bytes whole{checked::mul(elements, s.layer.adapter_width)};
          const auto part = ceil_div(whole, d);
          adapters_.push_back({.whole = whole, .part = on_gpu_ ? bytes{0} : part, .zeros = {}, .gradient = whole, .reduced = part, .kept = {}});
        }
    }
    gradients_.resize(layers_.size() * adapters_.size(), tensor_memory::none);
  }

  void begin_forward() { unshard(root_); }
  void after_embedding() {}
  void before_forward(std::size_t layer) {
    unshard(layers_[layer]);
    visit_adapters();
  }
  void after_forward(std::size_t layer) {
    if (!resident_) reshard(layers_[layer]);
  }
  void before_head() {}
  void end_forward() {}
  /// The root's hook asks for the last layer.
  void begin_backward() { unshard(layers_.back()); }
  void after_head(gradient_sink& sink, bool) {
    waiting_.swap(sink.kept);  // the embedding's gradient lies in the same flat parameter
  }
  /// A layer's hook asks for the layer before; beside adapters that is the first adapter's, near the end of the layer's backward.
  void before_backward(std::size_t layer) {
    unshard(layers_[layer]);
    if (layer > 0 && !apart_) unshard(layers_[layer - 1]);
    visit_adapters();
  }
  void after_backward(std::size_t layer, gradient_sink& sink, bool last) {
    if (apart_) reduce_adapters(layer, sink);
    if (layer > 0) unshard(layers_[layer - 1]);
    if (!apart_) reduce(layers_[layer], sink.kept, last);
    reshard(layers_[layer]);
  }
  void before_embedding_backward() {}
  void end_backward(gradient_sink& sink, bool last) {
    for (const auto h : sink.kept) waiting_.push_back(h);
    sink.kept.clear();
    reduce(root_, waiting_, last);
    for (auto& u : layers_) reshard(u);
    reshard(root_);
    memory_->wait_for_all();
    events_.clear();
  }
  void zero_gradients() {
    for (auto& h : gradients_) memory_->free(h);
    memory_->free(root_.gradient);
    for (auto& u : layers_) memory_->free(u.gradient);
  }

 private:
  static constexpr handle none = tensor_memory::none;
  struct unit {
    flat of;
    handle whole{none};
    handle part{none};
    handle gradient{none};  ///< this rank's part of it
    handle summed{none};    ///< whole, under no_sync
  };
  static constexpr std::size_t most_events = 2;

  void unshard(unit& u) {
    if (u.whole != none) return;
    if (!on_gpu_ || u.of.part > bytes{0}) u.part = memory_->make(u.of.part, row::gathered_parameters, stream::copy);
    if (events_.size() >= most_events) {
      memory_->wait(events_.front());
      events_.pop_front();
    }
    u.whole = memory_->make(u.of.whole, row::gathered_parameters, stream::gather);
    memory_->retire(u.part);
  }
  void reshard(unit& u) {
    if (u.whole == none) return;
    memory_->retire(u.whole);
    events_.push_back(memory_->record());
  }
  /// Each adapter matrix is gathered for its own multiplication.
  void visit_adapters() {
    for (const auto& f : adapters_) {
      unit u{.of = f};
      unshard(u);
      reshard(u);
    }
  }
  void reduce_adapters(std::size_t layer, gradient_sink& sink) {
    for (std::size_t i = adapters_.size(); i-- > 0;) {
      unit u{.of = adapters_[i]};
      unshard(u);
      auto part = memory_->make(u.of.reduced, row::gradients, stream::reduce);
      auto& kept = gradients_[layer * adapters_.size() + i];
      if (on_gpu_ && kept == none && !updates_at_once_)
        kept = part;
      else
        memory_->retire(part);
      reshard(u);
    }
    for (auto& h : sink.kept) memory_->retire(h);
    sink.kept.clear();
  }
  /// Gradients of the views, zeros among them, are concatenated; that flat gradient is reduced on a stream of its own.
  void reduce(unit& u, std::vector<handle>& pieces, bool last) {
    if (u.of.gradient == bytes{0}) {
      for (auto& h : pieces) memory_->free(h);
      return pieces.clear();
    }
    auto zeros = memory_->make(u.of.zeros, row::communication_buffers);
    auto whole = memory_->make(u.of.gradient, row::communication_buffers);
    memory_->free(zeros);
    for (auto& h : pieces) memory_->free(h);
    pieces.clear();
    if (whole_gradients_ && u.summed == none)
      u.summed = whole;
    else if (whole_gradients_)
      memory_->free(whole);
    if (whole_gradients_ && !last) return;
    auto& from = whole_gradients_ ? u.summed : whole;
    auto part = memory_->make(u.of.reduced, row::gradients, stream::reduce);
    memory_->retire(from);
    if (u.of.kept > bytes{0}) {
      const auto kept = memory_->make(u.of.kept, row::gradients, stream::reduce);
      memory_->free(part);
      part = kept;
    }
    if (u.gradient == none && !updates_at_once_)
      u.gradient = part;
    else
      memory_->free(part);
  }

  tensor_memory* memory_;
  bool resident_{}, apart_{}, on_gpu_{}, whole_gradients_{}, updates_at_once_{};
  flat layer_{};
  unit root_;
  std::vector<unit> layers_;
  std::vector<flat> adapters_;
  std::vector<handle> gradients_;  ///< of adapters
  std::vector<handle> waiting_;    ///< pieces of the root's
  std::deque<std::size_t> events_;
};

}  // namespace headroom
