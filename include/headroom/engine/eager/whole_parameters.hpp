// Distributed under the Boost Software License, Version 1.0.
// What data parallelism adds to a step where no unit is gathered layer by layer: nothing, DDP's buckets, DeepSpeed's ZeRO. Sizes are in
// sharding/windows.hpp; here stands when they come and go.
#pragma once

#include <headroom/allocator/stream.hpp>
#include <headroom/engine/eager/step.hpp>
#include <headroom/sharding/windows.hpp>

#include <array>

namespace headroom {

/// Units of eager_step without units.
template <class Listener>
class whole_parameters {
 public:
  using handle = typename Listener::handle;
  static constexpr bool gathers = false;    ///< nothing comes or goes where the model hands its outputs over
  static constexpr std::int64_t edges = 1;  ///< layers are alike, but for the first and the last

  constexpr whole_parameters(const step_facts& f, const inventory&, Listener& to) : to_(&to), job_(f.job), w_(f.around) {
    whole_ = job_->source->sharding.kind == sharding_kind::zero && job_->source->sharding.stage == 3;
  }

  /// Whether a weight gradient goes as soon as it is made.
  [[nodiscard]] constexpr bool momentary(bool exist) const { return exist || w_->path == gradient_path::leaves; }
  [[nodiscard]] constexpr bool grows(bool exist) const { return !exist && w_->path == gradient_path::grows; }
  /// What the micro-batches before have left.
  constexpr void start() {
    if (w_->gradients_at_load) return to_->start_with(w_->gradients_before.total, row::gradients);
    if (w_->partition > bytes{0}) {
      averaged_ = make_partition();
      return;
    }
    if (w_->path == gradient_path::leaves)
      to_->start_with(w_->kept_root + job_->model.layers * w_->kept_per_unit, row::gradients);
    else
      to_->start_with(to_->all_gradients(), row::gradients);
  }

  constexpr void begin_side() {
    if (whole_) side_ = to_->make(w_->forward.total, row::gathered_parameters, stream::gather);
  }
  constexpr void end_side() { to_->free(side_); }
  constexpr void begin_run(const detail::layer_run&) {}
  constexpr void begin_forward() {
    if (whole_) gathered_ = to_->make(w_->forward.total, row::gathered_parameters, stream::gather);
  }
  constexpr void after_embedding() {}
  constexpr void before_forward(const layer_place&) {}
  constexpr void after_forward(const layer_place&) {}
  /// ZeRO-3 keeps what backward uses again soon.
  constexpr void before_head() {
    if (!whole_) return;
    to_->free(gathered_);
    gathered_ = to_->make(w_->loss.total, row::gathered_parameters, stream::gather);
  }
  constexpr void end_forward() {}

  /// Buckets are made when backward begins.
  constexpr void begin_micro_batch(bool exist, bool) {
    share_ = !exist && w_->path == gradient_path::leaves && w_->partition == bytes{0};
    for (std::int32_t i = 0; i < w_->buckets; ++i) buckets_[static_cast<std::size_t>(i)] = to_->make(ceil_div(w_->turn.total, w_->buckets), row::communication_buffers);
  }
  constexpr void begin_backward() {}
  constexpr void after_head() {
    if (whole_) buckets_[0] = to_->make(w_->backward.rows[row::communication_buffers], row::communication_buffers, stream::reduce);
    keep(front_place, w_->kept_root - w_->kept_embedding);
  }
  /// The layer of a run after which something else begins, counted from the last one: the partition is made.
  [[nodiscard]] constexpr std::int64_t cut(const detail::layer_run& r) const {
    if (w_->partition == bytes{0}) return r.count;
    const auto behind = job_->model.layers - r.first - r.count * r.span;
    const auto n = w_->partition_after <= behind ? 0 : checked::ceil_div(w_->partition_after - behind, r.span);
    return n < r.count ? n : r.count;
  }
  constexpr void before_backward(const layer_place&) {}
  constexpr void after_backward(const layer_place& at) {
    keep(at.layer, at.span * w_->kept_per_unit);
    if (job_->model.layers - at.layer + at.span - 1 >= w_->partition_after) reduce();
  }
  constexpr void leave_layer(const layer_place&) {}
  constexpr void before_embedding_backward() {}
  constexpr void end_backward() {
    keep(back_place, w_->kept_embedding);
    reduce();
  }
  constexpr void end_micro_batch() {
    if (averaged_.size == bytes{0})
      averaged_ = partition_;
    else
      to_->free(partition_);
    partition_ = {};
    for (auto& b : buckets_) to_->free(b);
    to_->free(gathered_);
  }
  constexpr void free_partition() { to_->free(averaged_); }
  constexpr void drop_gradients() { to_->free(averaged_); }

 private:
  static constexpr std::int64_t front_place = -1, back_place = -2;

  /// Gradients stay, or leave a share.
  constexpr void keep(std::int64_t place, bytes share) {
    to_->keep_gradients();
    if (share_ && share > bytes{0}) to_->put(unit_slot::gradient, place, share, row::gradients);
  }
  /// ZeRO stages 1 and 2 copy reduced gradients into one partition when the first bucket is full.
  constexpr void reduce() {
    if (w_->partition > bytes{0} && partition_.size == bytes{0}) partition_ = make_partition();
  }
  constexpr handle make_partition() { return to_->make(w_->partition, row::gradients, w_->partition_apart ? stream::reduce : stream::compute); }

  Listener* to_;
  const settled_job* job_;
  const windows* w_;
  bool whole_{}, share_{};
  std::array<handle, 2> buckets_{};
  handle side_{}, gathered_{}, partition_{}, averaged_{};
};

}  // namespace headroom
