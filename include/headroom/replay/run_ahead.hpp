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
  double each{}, slice{};                    ///< layers' backward that the GPU runs while the host starts an operation of an update, and while it cuts a tensor for a rank
  bool past_sends{};                         ///< a stage that has nothing to receive starts its later forwards before its messages have arrived
};

/// Whether nanotron's host goes on while what its stage sent waits to be taken. The loop that is published waits for each message (p2p.py _send_meta). Of its
/// sweep (tests/accuracy/README.md) 317 of 408 runs did not, by their times, on up to 32 nodes with up to 16 tensor-parallel ranks; of larger ones 151 of 155 did.
constexpr bool starts_past_sends(const degrees& d, std::int64_t gpus, std::int64_t per_node) { return d.pipeline > 2 && d.tensor <= 16 && gpus <= 32 * per_node; }

/// By how many layers the host is ahead. It works on the layer behind the GPU's at least, and is as far ahead at most as CUDA takes calls. At a step's end
/// it reads the loss (trainer.py training_step, train_step_logs): a step begins even, and while it starts a layer the host gains what of the layer the GPU has
/// not run by then. Stages tell each other the shapes of what they send, which the host writes and reads: it is even after each message that it receives. The
/// first stage receives none before its first backward: from its third forward on its GPU stands at a message that the second, which has forwards and messages
/// of its own, has not taken, while the host starts layers. Of a step of one process with more micro-batches than are replayed these are its last, before which
/// it has gained all that it can: collectives wait for the slowest host of their ranks, so that the others gain even where hosts set the pace.
/// Source: parallel/pipeline_parallel/p2p.py _send_meta (a copy from pageable memory waits for the stream), _recv_meta.
inline layers_ahead layers_ahead_of(const settled_job& s, const inventory& list, std::int64_t micros) {
  if (!s.source->framework.modules.nanotron() || s.layer.sequence_split == 1) return {};
  if (check_rates(*s.on, objecting{})) return {1, 1};
  const auto c = cost_scene_of(s, rates_of(*s.on));
  const auto layer = passes_of(c, list).dense;
  const auto forward = layer.forward.device(), backward = layer.backward.device();
  const bool longer = s.source->parallel.pipeline == 1 && s.source->batch.accumulation > micros;
  const auto gained = [&](double host, double device) { return longer && host > device ? 0 : 1 - host / device; };
  constexpr auto most = queued_calls / forward_calls;
  return {most, queued_calls / backward_calls, gained(layer.forward.host, forward), gained(layer.backward.host, backward), longer ? static_cast<double>(most) : 1,
          c.host_operation / backward, c.share.host_slice / backward,
          starts_past_sends(s.source->parallel, s.source->hardware.gpus(), s.source->hardware.gpus_per_node)};
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
    sent_ = 0;
    if (ahead_ == 1) wait();
  }

  /// The host waits for all that it has started: a message of its pipeline, a step's end.
  void wait() {
    ahead_ = by_.begins;
    stands_ = false;
    for (; !events_.empty(); events_.pop_front()) memory_->wait(events_.front());
  }

  /// A stage has sent what the next one works on.
  void send(bool first_stage) {
    if (++sent_ >= 2 && by_.past_sends && first_stage) stands_ = true;
    else wait();
  }

  /// The last layer's backward is started. The host starts so many calls of an update, by as many operations, and cuts so many slices for ranks. Its calls stand in the same
  /// queue, and while it works the GPU goes on: layers that there is no room for and those have run.
  void update(std::size_t calls, std::size_t operations, std::size_t slices) {
    if (!any()) return;
    const auto run = by_.each * static_cast<double>(operations) + by_.slice * static_cast<double>(slices), left = static_cast<double>(events_.size()) - run;
    const auto room = calls < detail::queued_calls ? (detail::queued_calls - calls) / detail::backward_calls : 0;
    for (; events_.size() > room || static_cast<double>(events_.size()) > (left > 0 ? left : 0); events_.pop_front()) memory_->wait(events_.front());
  }

  /// The host is through with a layer.
  void layer(bool forward) {
    if (!any()) return;
    const auto most = static_cast<double>(forward ? by_.forward : by_.backward);
    ahead_ += stands_ ? 1 : forward ? by_.gained : by_.gained_back;
    ahead_ = ahead_ < 1 ? 1 : ahead_ > most ? most : ahead_;
    events_.push_back(memory_->record());
    for (; events_.size() > static_cast<std::size_t>(ahead_); events_.pop_front()) memory_->wait(events_.front());
  }

 private:
  detail::layers_ahead by_;
  tensor_memory* memory_;
  double ahead_{1};   ///< layers by which the host is ahead
  int sent_{};        // messages of this step
  bool stands_{};     // the GPU does, at a message
  std::deque<std::size_t> events_;  // behind each layer that the GPU may not have run
};

}  // namespace headroom
