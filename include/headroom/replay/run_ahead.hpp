// Distributed under the Boost Software License, Version 1.0.
// How far the host is ahead of the GPU. A tensor that a collective on another stream reads is free to be used again only when the GPU has
// passed the collective; the host has asked for the tensors of later layers by then.
// Sources: torch c10/cuda/CUDACachingAllocator.cpp free_block, process_events; ProcessGroupNCCL.cpp (recordStream, unless
// TORCH_NCCL_AVOID_RECORD_STREAMS).
#pragma once

#include <headroom/cost/step.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <deque>

namespace headroom {

namespace detail {

/// Layers of nanotron by which the host can be ahead of the GPU at most: CUDA takes 1,024 calls that have not run. A layer under tensor
/// parallelism is 45 in forward and 75 in backward: kernels, and two events and two waits around each collective (counted in its source).
inline constexpr std::size_t queued_calls = 1024, forward_calls = 45, backward_calls = 75;

struct layers_ahead {
  std::size_t forward{}, backward{};         ///< at most
  double gained{}, gained_back{};            ///< on the GPU while a layer is started in forward, in backward
  double begins{1};                          ///< where the first micro-batch of a step begins that is replayed
};

/// By how many layers the host is ahead. It works on the layer behind the GPU's at least, and is as far ahead at most as CUDA takes calls. At a step's end
/// it reads the loss (trainer.py training_step, train_step_logs): a step begins even, and while it starts a layer the host gains what of the layer the GPU has
/// not run by then. Stages tell each other the shapes of what they send, which the host writes and reads: it is even after each message. Of a step of
/// one process with more micro-batches than are replayed these are its last, before which it has gained all that it can.
/// Source: parallel/pipeline_parallel/p2p.py _send_meta (a copy from pageable memory waits for the stream), _recv_meta.
inline layers_ahead layers_ahead_of(const settled_job& s, const inventory& list, std::int64_t micros) {
  if (!s.source->framework.modules.nanotron() || s.layer.sequence_split == 1) return {};
  if (check_rates(*s.on, objecting{})) return {1, 1};
  const auto c = cost_scene_of(s, rates_of(*s.on));
  const auto layer = passes_of(c, list).dense;
  const auto forward = layer.forward.device(), backward = layer.backward.device();
  const bool gains = layer.forward.host + layer.backward.host < forward + backward && s.source->parallel.pipeline == 1;
  constexpr auto most = queued_calls / forward_calls;
  return {most, queued_calls / backward_calls, 1 - layer.forward.host / forward, 1 - layer.backward.host / backward, gains && s.source->batch.accumulation > micros ? static_cast<double>(most) : 1};
}

}  // namespace detail

/// What the GPU has not reached when the host asks for a layer's tensors.
class run_ahead {
 public:
  run_ahead(const detail::layers_ahead& by, tensor_memory& m) : by_(by), memory_(&m) {}
  [[nodiscard]] bool any() const { return by_.forward > 0; }

  /// A step begins.
  void begin() {
    ahead_ = by_.begins;
    if (ahead_ == 1) wait();
  }

  /// The host waits for all that it has started: a message of its pipeline, a step's end.
  void wait() {
    ahead_ = by_.begins;
    for (; !events_.empty(); events_.pop_front()) memory_->wait(events_.front());
  }

  /// The host is through with a layer.
  void layer(bool forward) {
    if (!any()) return;
    const auto most = static_cast<double>(forward ? by_.forward : by_.backward);
    ahead_ += forward ? by_.gained : by_.gained_back;
    ahead_ = ahead_ < 1 ? 1 : ahead_ > most ? most : ahead_;
    events_.push_back(memory_->record());
    for (; events_.size() > static_cast<std::size_t>(ahead_); events_.pop_front()) memory_->wait(events_.front());
  }

 private:
  detail::layers_ahead by_;
  tensor_memory* memory_;
  double ahead_{1};  ///< layers by which the host is ahead
  std::deque<std::size_t> events_;  // behind each layer that the GPU may not have run
};

}  // namespace headroom
