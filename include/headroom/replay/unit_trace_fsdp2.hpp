// Distributed under the Boost Software License, Version 1.0.
// FSDP2's units written out, allocation by allocation: what sharding/windows_fsdp.hpp adds up, in the order of torch's own calls
// (distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py, _fsdp_state.py).
#pragma once

#include <headroom/replay/block_trace.hpp>
#include <headroom/sharding/windows.hpp>

#include <vector>

namespace headroom {

/// Parameters that are gathered and reduced together, in bytes of one GPU.
struct sharded_unit {
  std::vector<bytes> whole;  ///< each parameter as it is computed with
  bytes gathered{};          ///< all of them, as they arrive
  bytes shard{};             ///< this rank's part of that, where it is made for the gather
  bytes reduced{};           ///< gradients in the format of the reduction
  bytes sum{};               ///< this rank's part of them, on the way
  bytes gradient{};          ///< … and in the parameters' format, where that is another
};

namespace detail {

/// Adds up units from weights as they are met.
class unit_builder {
 public:
  explicit unit_builder(const settled_job& s) : job_(&s) {}

  /// A weight of rows × columns, gathered in elements of `width` bytes.
  void add(sharded_unit& u, std::int64_t rows, std::int64_t columns, bool trains, std::int64_t bits) const {
    const auto& p = job_->precision;
    const auto d = job_->shards.parameters;
    const auto here = checked::mul(checked::ceil_div(rows, d), columns), all = checked::mul(here, d);
    const bytes whole{checked::ceil_div(checked::mul(all, bits), 8)};
    u.whole.push_back(whole);
    u.gathered += whole;
    if (bits != p.parameters.bits) u.shard += bytes{checked::ceil_div(checked::mul(here, bits), 8)};
    if (!trains) return;
    u.reduced += bytes{checked::mul(all, p.reduce.width())};
    u.sum += bytes{checked::mul(here, p.reduce.width())};
    if (p.reduce.bits != p.gradients.bits) u.gradient += bytes{checked::mul(here, p.gradients.width())};
  }

 private:
  const settled_job* job_;
};

}  // namespace detail

/// FSDP2.
class fsdp2_units {
 public:
  using handle = tensor_memory::handle;

  fsdp2_units(const settled_job& s, const inventory& list, tensor_memory& m) : memory_(&m) {
    const auto& j = *s.source;
    const detail::unit_builder builder(s);
    const auto& habits = j.framework;
    split_ = habits.sharding.splits_root && !s.model.tied;
    resident_ = j.sharding.stays_gathered();
    keeps_last_ = habits.sharding.keeps_last_layer;
    whole_gradients_ = j.sharding.no_sync && j.batch.accumulation > 1;
    accumulated_ = s.precision.reduce.width() != s.precision.compute.width();
    updates_at_once_ = s.optimizer.in_backward;
    layers_.resize(static_cast<std::size_t>(s.model.layers));
    for (auto w : list) {
      if (habits.modules.dtensor) w = detail::divided(w, j.parallel.tensor);
      w = detail::joined(w, s);
      const bool linear = w.linear && !w.vector();
      const bool packed = linear && s.layer.quantised.has(w.role);
      const bool narrow = habits.sharding.gathers_in_fp8 && linear && w.role != module::head;
      const auto bits = packed ? s.layer.base.bits : narrow ? 8 : s.precision.compute.bits;
      const auto add = [&](sharded_unit& u, std::int64_t layer) {
        for (std::int64_t i = 0; i < w.per_layer; ++i) builder.add(u, w.rows, w.columns, !packed && !w.frozen && trained_modules(j, layer).has(w.role), bits);
        if (!linear || !s.layer.adapts(w.role)) return;
        const auto width = s.layer.adapter_width * 8;
        builder.add(u, j.adapter.rank, w.columns, true, width);
        builder.add(u, w.rows, j.adapter.rank, true, width);
        if (j.adapter.kind == adapter_kind::dora) builder.add(u, w.rows, 1, true, width);
      };
      if (w.layers.count == 0) {
        const bool first = w.role == module::embedding || w.role == module::position || !split_;
        add(first ? front_.of : back_.of, -1);
        continue;
      }
      for (std::int64_t i = 0; i < w.layers.count; ++i) {
        const auto layer = w.layers.first + i * w.layers.stride;
        add(layers_[static_cast<std::size_t>(layer)].of, layer);
      }
    }
  }

  void begin_forward() {
    gather(front_);
    unshard(front_, true);
  }
  void after_embedding() {
    if (split_ && !resident_) reshard(front_);
  }
  void before_forward(std::size_t layer) {
    gather(layers_[layer]);
    unshard(layers_[layer], true);
  }
  void after_forward(std::size_t layer) {
    if (!resident_ && !(keeps_last_ && layer + 1 == layers_.size())) reshard(layers_[layer]);
  }
  void before_head() {
    if (!split_) return;
    gather(back_);
    unshard(back_, true);
  }
  void end_forward() { memory_->free(gathered_); }

  /// The root's hook, or the head's, asks for the last layer.
  void begin_backward() { gather(layers_.back()); }
  /// Gradients of the head go at once where it is a unit of its own.
  void after_head(gradient_sink& sink, bool last) {
    if (split_) reduce(back_, sink, last);
  }
  void before_backward(std::size_t layer) {
    gather(layers_[layer]);
    unshard(layers_[layer], false);
    if (layer > 0)
      gather(layers_[layer - 1]);
    else if (split_)
      gather(front_);
  }
  void after_backward(std::size_t layer, gradient_sink& sink, bool last) { reduce(layers_[layer], sink, last); }
  void before_embedding_backward() {
    gather(front_);
    unshard(front_, false);
  }
  void end_backward(gradient_sink& sink, bool last) {
    reduce(front_, sink, last);
    memory_->free(reducing_);
  }
  void zero_gradients() {
    for_all([&](unit& u) { memory_->free(u.gradient); });
  }

 private:
  struct unit {
    sharded_unit of;
    handle arriving{tensor_memory::none};
    std::vector<handle> whole;
    bool there{};
    handle gradient{tensor_memory::none};
    std::vector<handle> summed;  ///< whole gradients, under no_sync
  };
  template <class Visit>
  void for_all(Visit&& visit) {
    visit(front_);
    for (auto& u : layers_) visit(u);
    visit(back_);
  }

  /// foreach_all_gather, on the copy-in stream.
  void gather(unit& u) {
    if (u.there || u.arriving != tensor_memory::none || u.of.whole.empty()) return;
    auto shard = memory_->make(u.of.shard, row::communication_buffers, stream::gather);
    u.arriving = memory_->make(u.of.gathered, row::gathered_parameters, stream::gather);
    memory_->free(shard);
  }
  /// wait_for_unshard: parameters are copied out. In forward what they are copied from stays until the next unit's turn.
  void unshard(unit& u, bool forward) {
    if (u.there || u.arriving == tensor_memory::none) return;
    if (forward) memory_->free(gathered_);
    for (const auto b : u.of.whole) u.whole.push_back(memory_->make(b, row::gathered_parameters));
    u.there = true;
    if (forward)
      gathered_ = u.arriving;
    else
      memory_->free(u.arriving);
    u.arriving = tensor_memory::none;
  }
  void reshard(unit& u) {
    for (auto& h : u.whole) memory_->free(h);
    u.whole.clear();
    u.there = false;
  }

  /// post_backward: parameters go, then the reduction before this one's input; gradients are copied into this one's.
  void reduce(unit& u, gradient_sink& sink, bool last) {
    reshard(u);
    if (whole_gradients_) keep_whole(u, sink);
    if (whole_gradients_ && !last) return;
    auto& gradients = whole_gradients_ ? u.summed : sink.kept;
    if (u.of.reduced == bytes{0}) return;
    memory_->free(reducing_);
    reducing_ = memory_->make(u.of.reduced, row::communication_buffers);
    for (auto& h : gradients) memory_->free(h);
    gradients.clear();
    auto sum = memory_->make(u.of.sum, row::gradients, stream::reduce);
    if (u.of.gradient > bytes{0}) {
      const auto wide = memory_->make(u.of.gradient, row::gradients, stream::reduce);
      memory_->free(sum);
      sum = wide;
    }
    if (u.gradient == tensor_memory::none && !updates_at_once_)
      u.gradient = sum;
    else
      memory_->free(sum);
  }
  /// Under no_sync whole gradients are kept, in the format of the reduction.
  void keep_whole(unit& u, gradient_sink& sink) {
    if (u.summed.empty() && !accumulated_) {
      u.summed.swap(sink.kept);
      return;
    }
    if (u.summed.empty()) u.summed.push_back(memory_->make(u.of.reduced, row::gradients));
    for (auto& h : sink.kept) memory_->free(h);
    sink.kept.clear();
  }

  tensor_memory* memory_;
  bool split_{}, resident_{}, keeps_last_{}, whole_gradients_{}, accumulated_{}, updates_at_once_{};
  unit front_, back_;
  std::vector<unit> layers_;
  handle gathered_{tensor_memory::none};  ///< of the unit before, in forward
  handle reducing_{tensor_memory::none};
};

}  // namespace headroom
