// Distributed under the Boost Software License, Version 1.0.
// FSDP2's units, in the order of torch's own calls (distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py,
// _fsdp_state.py). Streams (foreach_all_gather, foreach_reduce): gathered buffers are made on the all-gather's copy-in stream, where one
// unit's stays until the next has been copied out; reduce-scatter outputs, which become the sharded gradients, on the reduce-scatter's;
// all else, reduce-scatter inputs included, on the default stream.
#pragma once

#include <headroom/engine/eager/sharded_unit.hpp>
#include <headroom/engine/eager/step.hpp>

namespace headroom {

/// Units of eager_step.
template <class Listener>
class fsdp2_units {
 public:
  using handle = typename Listener::handle;
  using unit = sharded_unit<typename Listener::tensors>;
  static constexpr bool gathers = true;
  static constexpr std::int64_t edges = 2;  ///< what the next layer needs is gathered ahead

  constexpr fsdp2_units(const step_facts& f, const inventory& list, Listener& to) : to_(&to), job_(f.job), list_(&list) {
    const auto& s = *job_;
    const auto& j = *s.source;
    const auto root = s.model.tied ? root_units::whole : root_of(j);
    split_ = root == root_units::split;
    apart_ = root == root_units::embedding_apart;
    lets_root_go_ = lets_root_go(j);
    resident_ = j.sharding.stays_gathered();
    keeps_last_ = keeps_last_layer(j);
    sums_whole_ = j.sharding.no_sync && j.batch.accumulation > 1;
    widens_ = s.precision.reduce.width() != s.precision.compute.width();
    updates_at_once_ = s.optimizer.in_backward || gradients_leave(j);
    averages_ = j.parallel.replicate > 1;
    for (const auto& w : list)
      if (w.layers.count == 0 && w.role != module::encoder && (w.role != module::vision || j.sharding.towers_in_root)) {
        const bool first = w.role == module::embedding || w.role == module::position || root == root_units::whole;
        sizes().add(first ? front_ : back_, w, -1);
      }
    if (f.before != nullptr) [[unlikely]] add_side();
  }

  [[nodiscard]] constexpr bool momentary(bool exist) const { return sums_whole_ && exist && !widens_; }
  [[nodiscard]] constexpr bool grows(bool) const { return false; }
  /// What the micro-batches before have left: whole gradients under no_sync, shards otherwise.
  constexpr void start() {
    exist_ = true;
    if (updates_at_once_ && !sums_whole_) return;
    if (sums_whole_ && !widens_) return to_->start_with(to_->all_gradients(), row::gradients);
    auto all = left_by(front_) + left_by(back_);
    const auto& runs = to_->runs();
    for (std::size_t i = 0; i < runs.size; ++i) {
      begin_run(runs.list[i]);
      if (runs.list[i].back) all += runs.list[i].count * left_by(here_);
    }
    to_->start_with(all, row::gradients, sums_whole_ ? stream::compute : stream::reduce);
  }

  /// The layers of a run are alike.
  constexpr void begin_run(const detail::layer_run& r) {
    if (run_.first == r.first && run_.span == r.span) return;  // as in forward
    run_ = {r.first, r.span};
    here_ = unit_of(r.first, r.span);
    if (r.first > 0) below_ = unit_of(r.first - 1, 1);
  }
  /// A layer of a group, one by one.
  constexpr void select(const layer_place& at) {
    if (at.span == run_.span) [[likely]] return;
    here_ = unit_of(at.layer, at.span);
    if (at.layer > 0) below_ = unit_of(at.layer - 1, 1);
  }
  /// Those that stay gathered are there until backward has been through them, or ends (_fsdp_param_group.py, post_forward and finalize_backward).
  constexpr void begin_side() {
    if (side_kept_.size == bytes{0}) {
      if (resident_) side_kept_ = to_->make(side_all_, row::gathered_parameters);
      side_ = to_->make((resident_ ? 1 : 2) * side_unit_.gathered, row::gathered_parameters, stream::gather);
      return;
    }
    side_ = side_kept_;
    side_kept_ = {};
  }
  constexpr void end_side() { to_->free(side_); }

  constexpr void begin_forward() {
    if (apart_) [[unlikely]] gather_root(true);
    gather(front_);
    copy_out(front_, front_place, true);
    root_there_ = front_there_ = true;
  }
  constexpr void after_embedding() {
    if (!(split_ || apart_) || resident_) return;
    reshard(front_, front_place);
    front_there_ = false;
  }
  constexpr void before_forward(const layer_place& at) {
    select(at);
    gather(here_);
    copy_out(here_, at.layer, true);
  }
  constexpr void after_forward(const layer_place& at) {
    if (!resident_ && !(keeps_last_ && last(at))) reshard(here_, at.layer);
  }
  constexpr void before_head() {
    if (!split_) return;
    gather(back_);
    copy_out(back_, back_place, true);
  }
  /// What the model computes is there; called once more where the loss is computed behind it.
  constexpr void end_forward() {
    to_->free(gathered_);
    if (!lets_root_go_ || !root_there_) return;
    reshard(root(), root_place());
    root_there_ = front_there_ = false;
  }

  constexpr void begin_micro_batch(bool exist, bool is_last) {
    exist_ = exist;
    last_ = is_last;
  }
  /// The root's hook, or the head's, asks for the last layer.
  constexpr void begin_backward() {
    if (resident_ || keeps_last_) return;
    if (lets_root_go_) gather_root(false);
    gather(run_.span == 1 ? here_ : unit_of(job_->model.layers - 1, 1));  // forward's last run is still the one at hand
  }
  /// Gradients of the head go at once where it is a unit of its own, and wait for the root's otherwise.
  constexpr void after_head() {
    if (split_)
      reduce(back_, back_place);
    else
      waiting_ = to_->gradients();
  }
  constexpr void before_backward(const layer_place& at) {
    select(at);
    const bool there = resident_ || (keeps_last_ && last(at));
    if (!there) copy_out(here_, at.layer, false);
    if (resident_) return;
    if (at.layer >= at.span)
      gather(at.layer >= run_.first + at.span && at.span == run_.span ? here_ : below_);
    else if (split_ || apart_)
      gather(front_);
  }
  constexpr void after_backward(const layer_place& at) { reduce(here_, at.layer); }
  [[nodiscard]] constexpr std::int64_t cut(const detail::layer_run& r) const { return r.count; }
  /// No gradient reaches the layer: it is resharded when backward ends.
  constexpr void leave_layer(const layer_place& at) {
    select(at);
    if (resident_ || (keeps_last_ && last(at))) reshard(here_, at.layer);
  }
  constexpr void before_embedding_backward() {
    if (front_there_ || !to_->runs().list[0].back) return;
    copy_out(front_, front_place, false);
    front_there_ = true;
  }
  constexpr void end_backward() {
    if (apart_) [[unlikely]] {  // _root_post_backward_final_callback: states in the reverse order of the modules
      reduce(front_, front_place);
      to_->join_gradients(waiting_);
      reduce(back_, back_place);
    } else {
      to_->join_gradients(waiting_);
      reduce(front_, front_place);
    }
    to_->free(reducing_);
    to_->free(averaging_);
    to_->free(arriving_);
  }
  constexpr void end_micro_batch() {}
  constexpr void free_partition() {}
  constexpr void drop_gradients() {}

 private:
  static constexpr std::int64_t front_place = -1, back_place = -2;

  [[nodiscard]] constexpr detail::unit_sizes<typename Listener::tensors> sizes() const { return {*job_, *list_}; }
  [[nodiscard]] constexpr unit unit_of(std::int64_t first, std::int64_t span) const { return sizes().unit_of(first, span, resident_); }
  [[nodiscard]] constexpr bool last(const layer_place& at) const { return at.layer + 1 == job_->model.layers; }
  [[nodiscard]] constexpr bytes left_by(const unit& u) const { return sums_whole_ ? u.reduced : u.gradient > bytes{0} ? u.gradient : u.sum; }

  [[nodiscard]] constexpr const unit& root() const { return apart_ ? back_ : front_; }
  [[nodiscard]] constexpr std::int64_t root_place() const { return apart_ ? back_place : front_place; }
  /// The root's own hooks, before forward and before backward.
  constexpr void gather_root(bool forward) {
    gather(root());
    copy_out(root(), root_place(), forward);
    root_there_ = true;
    if (!apart_) front_there_ = true;
  }
  /// foreach_all_gather, on the copy-in stream.
  constexpr void gather(const unit& u) {
    if (u.gathered == bytes{0} || arriving_.size > bytes{0}) return;
    auto shard = to_->make(u.shard, row::gathered_parameters, stream::gather);
    arriving_ = to_->make(u.gathered, row::gathered_parameters, stream::gather);
    to_->free(shard);
  }
  /// wait_for_unshard: parameters are copied out. In forward what they are copied from stays until the next unit's turn.
  constexpr void copy_out(const unit& u, std::int64_t place, bool forward) {
    if (u.gathered == bytes{0}) return;
    if (forward) to_->free(gathered_);
    to_->put_each(unit_slot::whole, place, u.whole, row::gathered_parameters);
    if (forward) {
      gathered_ = arriving_;
      arriving_ = {};
    } else {
      to_->free(arriving_);
    }
  }
  constexpr void reshard(const unit& u, std::int64_t place) { to_->drop_each(unit_slot::whole, place, u.whole, row::gathered_parameters); }

  /// post_backward: parameters go, then the reduction before this one's input; gradients are copied into this one's.
  constexpr void reduce(const unit& u, std::int64_t place) {
    if (place != front_place || front_there_) reshard(u, place);
    if (place == front_place) front_there_ = false;
    auto made = to_->gradients();
    if (u.reduced == bytes{0}) return to_->free(made);
    // Under no_sync whole gradients are kept, in the format of the reduction, and reduced after the last micro-batch.
    const auto summed = widens_ ? u.reduced : made.all;
    if (sums_whole_ && !exist_ && widens_) to_->put(unit_slot::summed, place, summed, row::gradients);
    if (sums_whole_ && !exist_ && !widens_) to_->keep(unit_slot::summed, place, made);
    if (sums_whole_) to_->free(made);
    if (sums_whole_ && !last_) return;
    to_->free(reducing_);
    reducing_ = to_->make(u.reduced, row::communication_buffers);
    to_->free(made);
    if (sums_whole_) to_->drop(unit_slot::summed, place, summed, row::gradients);
    scatter(u, place);
  }
  constexpr void scatter(const unit& u, std::int64_t place) {
    to_->free(averaging_);
    if (updates_at_once_ || (exist_ && !sums_whole_)) {  // added to the gradient that exists, or used up
      auto sum = to_->make(u.sum, row::communication_buffers, stream::reduce);
      auto wide = to_->make(u.gradient, row::communication_buffers, stream::reduce);
      to_->free(sum);
      to_->free(wide);
    } else if (u.gradient == bytes{0}) {
      to_->put(unit_slot::gradient, place, u.sum, row::gradients, stream::reduce);
    } else {
      auto sum = to_->make(u.sum, row::communication_buffers, stream::reduce);
      to_->put(unit_slot::gradient, place, u.gradient, row::gradients, stream::reduce);
      if (averages_)  // still on its way while the next layer runs
        averaging_ = sum;
      else
        to_->free(sum);
    }
  }

  /// Layers of an encoder or a tower, evenly.
  constexpr void add_side() {
    const auto& m = job_->model;
    parameters all{};
    for (const auto& w : *list_)
      if (w.layers.count == 0 && (w.role == module::encoder || w.role == module::vision)) all += parameters{w.elements()} * w.per_layer;
    const auto layers = m.encoder.layers + m.vision.layers;
    const auto width = job_->precision.compute.width();
    side_all_ = bytes{checked::mul(all.count(), width)};
    side_unit_.gathered = bytes{checked::mul(checked::ceil_div(all.count(), layers > 0 ? layers : 1), width)};
  }

  Listener* to_;
  const settled_job* job_;
  const inventory* list_;
  bool split_{}, apart_{}, lets_root_go_{}, root_there_{}, resident_{}, keeps_last_{}, sums_whole_{}, widens_{}, updates_at_once_{}, averages_{}, exist_{}, last_{true}, front_there_{};
  struct {
    std::int64_t first{-1}, span{};
  } run_{};
  unit front_{}, back_{}, here_{}, below_{}, side_unit_{};
  bytes side_all_{};
  handle arriving_{}, gathered_{}, reducing_{}, averaging_{}, side_{}, side_kept_{};
  typename Listener::gradient_list waiting_{};
};

}  // namespace headroom
