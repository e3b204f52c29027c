// Distributed under the Boost Software License, Version 1.0.
// One pipeline stage's step, allocation by allocation: its schedule's order (engine/tensor_parallel/stage_order.hpp) and its chunks
// (engine/tensor_parallel/chunk_step.hpp) with the caching allocator for a listener. What stays for the whole run lies in buffers of its own
// and is left out.
#pragma once

#include <headroom/engine/tensor_parallel/stages.hpp>
#include <headroom/replay/allocated_chunk.hpp>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace headroom {

/// One pipeline stage's step, allocation by allocation.
class stage_trace {
 public:
  stage_trace(const settled_job& s, const stage_cut& cut, std::int64_t stage, caching_allocator& a, const replay_watch& watch = {}, const detail::layers_ahead& ahead = {})
      : job_(&s), memory_(a, watch), input_(detail::residual_tensor(s)), tensors_(s, input_, memory_, ahead) {
    cut.for_each(stage, [&](const layer_chunk& c) {
      auto& k = chunks_.emplace_back();
      k.has_head = c.index == cut.chunks() - 1;
      if (c.index > 0) ++given_;
      k.first_layer = c.first;
      k.layers = c.count;
      k.masks = detail::masks_of(s, c.index == 0, k.has_head);
      k.runs = detail::cut_chunk(*s.source, s.model, c, parts_);
      detail::add_ends(parts_, s.model, c.index == 0, k.has_head);
    });
  }
  stage_trace(const stage_trace&) = delete;
  stage_trace& operator=(const stage_trace&) = delete;

  [[nodiscard]] tensor_memory& memory() { return memory_; }
  /// What of its chunks' inputs a step leaves.
  [[nodiscard]] bytes inputs_left() const { return detail::inputs_left(*job_->source, given_, input_); }
  /// The most bytes that have been asked for at a time.
  [[nodiscard]] bytes peak_asked() const { return memory_.peak_asked(); }

  /// Weights of this stage are gathered, and gradients reduced, on the way.
  void gather(const detail::fsdp_layout& l) { gathered_.emplace(*job_, l, tensors_); }

  /// What an update starts behind a step's layers (run_ahead::update).
  void update(std::size_t calls, std::size_t operations, std::size_t slices) { tensors_.update(calls, operations, slices); }

  /// The order of layout/schedule.hpp for this stage, as many micro-batches as show its steady state.
  void run(std::int64_t stage) { run(stage, detail::enough_micros(*job_->source, stage)); }
  void run(std::int64_t stage, std::int64_t micros) {
    const auto& j = *job_->source;
    const auto& d = j.parallel;
    tensors_.begin_step();
    const pipeline_plan plan{schedule_of(d), d.pipeline, static_cast<std::int64_t>(chunks_.size()), micros, j.framework.pipeline.microbatch_group};
    detail::follow_order(detail::shipped_order{}, plan, stage, detail::boundary_tensors(d, j.framework.pipeline, parts_), *this);
    tensors_.name(0);
  }

  // --- what the schedule does ------------------------------------------------------------------------------------------

  void forward(const work& step, std::int64_t named) {
    tensors_.name(named);
    visit(step, [&](auto& chunk, auto& leaves) { chunk.forward(leaves); });
  }
  void backward(const work& step, std::int64_t named) {
    tensors_.name(named);
    visit(step, [&](auto& chunk, auto& leaves) { chunk.backward(leaves); });
    held_.erase({step.chunk, step.micro});
  }
  void weight_gradient(const work&) {}  // a part of backward

 private:
  struct stage_chunk {
    detail::chunk_runs runs{};
    detail::chunk_masks masks{};
    std::int64_t first_layer{}, layers{};
    bool has_head{};
  };
  [[nodiscard]] const stage_chunk& chunk_at(std::int64_t c) const { return chunks_[static_cast<std::size_t>(c)]; }

  /// run(chunk_step, what the micro-batch leaves)
  template <class Run>
  void visit(const work& step, const Run& run) {
    const auto& k = chunk_at(step.chunk);
    auto& held = held_[{step.chunk, step.micro}];
    tensors_.of(held, k.first_layer, k.layers);
    const auto facts = detail::facts_of(*job_->source, job_->model, k.runs, k.has_head, input_, k.masks, detail::memory_of(*job_));
    const auto with = [&](auto& units) {
      chunk_step chunk(facts, units, tensors_);
      run(chunk, held.leaves);
    };
    if (gathered_) return with(*gathered_);
    detail::with_units(*job_, step.chunk == 0 && parts_.first, k.has_head, tensors_, with);
  }

  const settled_job* job_;
  tensor_memory memory_;
  bytes input_;
  allocated_chunk tensors_;
  std::optional<detail::fsdp_units<allocated_chunk>> gathered_;
  std::vector<stage_chunk> chunks_;
  std::int64_t given_ = 0;  // that have their input from another stage
  detail::stage_parts parts_;
  std::map<std::pair<std::int64_t, std::int64_t>, allocated_chunk::micro_batch> held_;  // by chunk and micro-batch
};

}  // namespace headroom
