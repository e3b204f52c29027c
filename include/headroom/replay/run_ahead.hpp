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
  std::size_t forward{}, backward{};
};

/// By how many layers the host is ahead. It works on the layer behind the GPU's at least. Where it takes less time to start a layer than the
/// GPU takes to run it, and nothing makes it wait, it is as far ahead as it can be; where stages send each other messages that it reads, it
/// waits for the GPU at each.
inline layers_ahead layers_ahead_of(const settled_job& s, const inventory& list) {
  if (!s.source->framework.modules.nanotron() || s.layer.sequence_split == 1) return {};
  if (s.source->parallel.pipeline > 1 || check_rates(*s.on, objecting{})) return {1, 1};
  const auto c = cost_scene_of(s, rates_of(*s.on));
  const auto layer = passes_of(c, list).dense;
  return {layer.forward.host < layer.forward.device() ? queued_calls / forward_calls : 1, layer.backward.host < layer.backward.device() ? queued_calls / backward_calls : 1};
}

}  // namespace detail

/// What the GPU has not reached when the host asks for a layer's tensors.
class run_ahead {
 public:
  run_ahead(const detail::layers_ahead& by, tensor_memory& m) : by_(by), memory_(&m) {}
  [[nodiscard]] bool any() const { return by_.forward > 0; }

  /// The host is through with a layer.
  void layer(bool forward) {
    if (!any()) return;
    events_.push_back(memory_->record());
    for (const auto most = forward ? by_.forward : by_.backward; events_.size() > most; events_.pop_front()) memory_->wait(events_.front());
  }

 private:
  detail::layers_ahead by_;
  tensor_memory* memory_;
  std::deque<std::size_t> events_;  // behind each layer that the GPU may not have run
};

}  // namespace headroom
