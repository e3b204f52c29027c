// Distributed under the Boost Software License, Version 1.0.
// A stage's order of forwards and backwards, where layers are divided: what is held and named at each, and which is the tallest.
// Source: Megatron-LM core/pipeline_parallel/schedules.py; the orders are generated in layout/schedule.hpp.
#pragma once

#include <headroom/engine/tensor_parallel/chunks.hpp>
#include <headroom/engine/tensor_parallel/interleaved_tensors.hpp>
#include <headroom/layout/schedule.hpp>

namespace headroom::detail {

/// Tensors as large as a stage's input that the variables of 1F1B name, beside what the layers hold (forward_backward_pipelining_without_interleaving).
/// A forward finds `output_tensor` of the micro-batch that ran backward last: its graph, though used, holds the input that it began with and that
/// one's gradient; and `output_tensor_grad`. A backward finds the previous `input_tensor_grad`.
class boundary_tensors {
 public:
  constexpr boundary_tensors(const degrees& d, const pipeline_profile& how, stage_parts parts) : first_(parts.first), last_(parts.last), overlaps_(how.overlaps_warm_up) {
    if (!how.keeps_tensors || d.pipeline == 1 || properties_of(d.schedule).place != chunk_place::in_turn) return;
    plain_ = d.virtual_pipeline == 1;
    interleaved_ = !plain_;
  }
  [[nodiscard]] constexpr bool interleaved() const { return interleaved_; }
  [[nodiscard]] constexpr bool overlaps_warm_up() const { return overlaps_; }
  [[nodiscard]] constexpr std::int64_t in_forward() const { return plain_ && went_back_ ? (first_ ? 0 : 2) + (last_ ? 0 : 1) : 0; }
  [[nodiscard]] constexpr std::int64_t in_backward() const { return plain_ && went_back_ && !first_ ? 1 : 0; }
  constexpr void went_back() { went_back_ = true; }

 private:
  bool first_, last_, overlaps_, plain_ = false, interleaved_ = false, went_back_ = false;
};

/// What a stage holds of layers whose activations are moved to host memory, beside the layer that runs (Megatron-LM core/pipeline_parallel/
/// fine_grained_activation_offload.py). A chunk whose backward is the next keeps its last layer (should_bulk_offload). Otherwise a layer
/// ahead is brought back while backward runs, of the chunk whose backward is the next, once that has run forward (bulk_reload).
/// The most that is away at once is what the pinned pool on the host holds.
class offloaded_layers {
 public:
  constexpr offloaded_layers(const auto& chunks, std::size_t n, const pipeline_plan& plan, bool beside) : beside_(beside), group_(plan.group > 0 ? plan.group : plan.stages) {
    for (std::size_t c = 0; c < n; ++c)
      if (chunks[c].stays > bytes{0}) last_ = static_cast<std::int64_t>(c), stays_ = chunks[c].stays, comes_ = chunks[c].comes, ++moving_;
    if (n == 1) group_ = plan.micros;
  }
  [[nodiscard]] constexpr bytes in_forward(const work& step) const { return next(step) && !beside_ ? bytes{0} : here_; }
  [[nodiscard]] constexpr bytes in_loss(const work& step) const { return next(step) ? stays_ : here_; }
  [[nodiscard]] constexpr bytes on_host() const { return most_; }
  constexpr void forward(const work& step, bytes leaves) {
    if (next(step)) {
      here_ = stays_;
      leaves -= comes_;
    }
    away_ += leaves;
    most_ = max(most_, away_);
  }
  constexpr void backward(bytes returns) {
    if (returns == bytes{0}) return;
    away_ = max(away_ - returns, bytes{0});
    here_ = comes_;
    ++done_;
  }

 private:
  /// Whether the backward of a forward's chunk comes before all others: in groups of micro-batches, last chunk first.
  [[nodiscard]] constexpr bool next(const work& step) const {
    return step.chunk == last_ && done_ == (step.micro / group_) * group_ * moving_ + step.micro % group_;
  }

  bool beside_;  // a backward runs at the same time
  std::int64_t group_, last_ = -1, moving_ = 0, done_ = 0;
  bytes stays_{}, comes_{}, here_{}, away_{}, most_{};
};

/// Micro-batches that show every state of a stage: with more it does nothing new.
constexpr std::int64_t most_micros(const job& j, std::int64_t stage) {
  const auto& d = j.parallel;
  return properties_of(schedule_of(d)).steady(d.pipeline, stage, j.framework.pipeline.microbatch_group > 0 ? j.framework.pipeline.microbatch_group : d.pipeline);
}
/// … of those that the job has.
constexpr std::int64_t enough_micros(const job& j, std::int64_t stage) { return least(j.batch.accumulation, most_micros(j, stage)); }

/// The order of a stage with so many chunks, as long as it has to be followed.
template <class Order>
constexpr pipeline_plan plan_of_stage(const job& j, std::int64_t stage, std::int64_t chunks) {
  const auto& d = j.parallel;
  return {schedule_of(d), d.pipeline, chunks, Order::repeats ? enough_micros(j, stage) : j.batch.accumulation, j.framework.pipeline.microbatch_group};
}

/// Not inlined, so that no other frame has room for what it remembers.
[[gnu::noinline]] constexpr void follow_interleaved(const auto& order, const pipeline_plan& plan, std::int64_t stage, bool overlaps_warm_up, auto& seen) {
  interleaved_tensors named(plan, stage, overlaps_warm_up);
  order.run(plan, stage, [&](const work& step) { step.kind == work_kind::forward ? seen.forward(step, named.forward(step)) : seen.backward(step, named.backward(step)); });
}
/// Follows a stage's order: forward(step, inputs), backward(step, inputs) and weight_gradient(step) of `seen` are told of each, with how
/// many tensors as large as an input the schedule's variables name then.
constexpr void follow_order(const auto& order, const pipeline_plan& plan, std::int64_t stage, boundary_tensors boundary, auto& seen) {
  if (boundary.interleaved()) [[unlikely]] return follow_interleaved(order, plan, stage, boundary.overlaps_warm_up(), seen);
  order.run(plan, stage, [&](const work& step) {
    switch (step.kind) {
      case work_kind::forward: seen.forward(step, boundary.in_forward()); break;
      case work_kind::backward:
        seen.backward(step, boundary.in_backward());
        boundary.went_back();
        break;
      case work_kind::weight_gradient: seen.weight_gradient(step); break;
    }
  });
}

/// The tallest moment of each phase: which chunk, how many micro-batches of each chunk are held then, and which of those only for the
/// gradients of their weights.
class tallest_of_stage {
 public:
  using counts = std::array<std::int32_t, degrees::max_chunks>;
  using pair = std::array<std::int32_t, 2>;  // schedules that split backward have two chunks at most
  struct moment_held {
    bytes total;
    std::size_t chunk;
    std::int64_t boundary;
    counts held;
    pair waiting;
    bytes ahead;
  };

  constexpr tallest_of_stage(const chunk_totals* chunks, std::size_t n, bytes input, bool splits, offloaded_layers& offloaded)
      : chunks_(chunks), n_(n), input_(input), splits_(splits), offloaded_(&offloaded) {
    for (auto& b : best_) b.total = bytes{-1};
    for (std::size_t c = 0; c < n; ++c) held_[c] = 0;
    if (std::is_constant_evaluated()) {
      held_ = {};
      for (auto& b : best_) b = {bytes{-1}, 0, 0, {}, {}, bytes{0}};
    }
  }
  /// Of forward, loss and backward.
  [[nodiscard]] constexpr const std::array<moment_held, 3>& best() const { return best_; }

  constexpr void forward(const work& step, std::int64_t boundary) {
    const auto c = static_cast<std::size_t>(step.chunk);
    const auto& k = chunks_[c];
    look(0, c, k.forward, boundary, offloaded_->in_forward(step));
    if (k.has_head) look(1, c, k.loss, boundary, offloaded_->in_loss(step));
    offloaded_->forward(step, k.on_host);
    live_ += k.saved;
    ++held_[c];
  }
  constexpr void backward(const work& step, std::int64_t boundary) {
    const auto c = static_cast<std::size_t>(step.chunk);
    const auto& k = chunks_[c];
    live_ -= k.saved;
    --held_[c];
    look(2, c, k.backward, boundary, bytes{0});
    offloaded_->backward(k.on_host);
    if (splits_) live_ += k.kept, ++waiting_[c];
  }
  constexpr void weight_gradient(const work& step) {
    const auto c = static_cast<std::size_t>(step.chunk);
    live_ -= chunks_[c].kept;
    --waiting_[c];
  }

 private:
  constexpr void look(std::size_t which, std::size_t chunk, bytes peak, std::int64_t boundary, bytes ahead) {
    const auto all = live_ + peak + boundary * input_ + ahead;
    auto& b = best_[which];
    if (all <= b.total) return;
    b.total = all;
    b.chunk = chunk;
    b.boundary = boundary;
    b.waiting = waiting_;
    b.ahead = ahead;
    for (std::size_t c = 0; c < n_; ++c) b.held[c] = held_[c];
  }

  const chunk_totals* chunks_;
  std::size_t n_;
  bytes input_;
  bool splits_;
  offloaded_layers* offloaded_;
  std::array<moment_held, 3> best_;
  counts held_;
  pair waiting_{};
  bytes live_{0};
};

}  // namespace headroom::detail
