// Distributed under the Boost Software License, Version 1.0.
// Where DeepSpeed's ZeRO 1 and 2 add up the gradients of micro-batches whose update is on the processor.
// Source: DeepSpeed runtime/zero/stage_1_and_2.py async_accumulate_grad_in_cpu_via_gpu, get_partition_info (edaa722126; since ZeRO-Offload, 41db1c2f0).
#pragma once

#include <headroom/model/inventory.hpp>
#include <headroom/states/adapted_weight.hpp>
#include <headroom/states/state_sum.hpp>

namespace headroom::detail {

/// Whether there are such buffers: copy_grads_in_partition makes them where a step has more than one backward.
constexpr bool accumulates_on_host(const job& j) {
  return j.batch.accumulation > 1 && j.offload.optimizer == place::on_cpu && j.sharding.by(sharder::deepspeed) && !j.sharding.cuts(sharded_state::weights);
}

/// A rank has a buffer for each tensor that it updates any part of, as long as the whole tensor, in its format, each pinned by itself. It is told of all
/// that trains in the model's order, which is one vector here (DeepSpeed's groups with and without decay are one each), cut into equal parts.
class accumulated_on_host {
 public:
  /// `part` elements of each rank, `ranks` of a node.
  constexpr accumulated_on_host(std::int64_t part, std::int64_t ranks, bool pins) : part_(part), left_(part), ranks_(ranks), pins_(pins) {}
  /// `copies` tensors, one behind the other.
  constexpr void add(std::int64_t elements, std::int64_t width, std::int64_t copies) {
    const auto size = checked::mul(elements, width);
    const bytes one{pins_ ? checked::power_of_two_ceil(size) : size};
    const auto all = checked::mul(elements, copies);
    for (std::int64_t at = 0; at < all;) {
      const auto here = all - at < left_ ? all - at : left_;
      node_ += ((at + here - 1) / elements - at / elements + 1) * one;
      at += here;
      left_ -= here;
      if (left_ == 0) next_rank();
    }
  }
  /// What the ranks of the fullest node have.
  [[nodiscard]] constexpr bytes most() const { return max(most_, node_); }

 private:
  constexpr void next_rank() {
    left_ = part_;
    if (++rank_ % ranks_ != 0) return;
    most_ = max(most_, node_);
    node_ = bytes{0};
  }
  std::int64_t part_, left_, ranks_, rank_{0};
  bool pins_;
  bytes node_{}, most_{};
};

/// Of one rank, on average over the fullest node. `trained`: all that trains; copies_of(weight) of a weight's copies do.
[[gnu::noinline]] constexpr bytes accumulated_by_rank(const settled_job& s, const inventory& list, parameters trained, const auto& copies_of) {
  if (trained == parameters{0}) return bytes{0};
  const auto d = s.shards.optimizer, near = s.source->hardware.gpus_per_node, ranks = near < d ? near : d;
  accumulated_on_host sum(2 * checked::ceil_div(trained.count(), 2 * d), ranks, s.source->offload.pin_memory);  // aligned to 4 bytes
  const auto tell = [&](const weight& w) {
    sum.add(w.elements(), s.precision.parameters.width(), copies_of(w));
    if (const auto copies = w.linear && !w.vector() ? s.layer.side->beside(w, w.copies()) : 0; copies > 0)
      for_each_adapter(s, w, [&](std::int64_t rows, std::int64_t columns) { sum.add(checked::mul(rows, columns), s.layer.adapter_width, copies); });
  };
  for (auto w = list.begin(); w != list.end();) {
    auto end = w;
    while (end != list.end() && end->layers.count > 0) ++end;
    for (std::int64_t layer = 0; w != end && layer < s.model.layers; ++layer)
      for (const bool norms : {false, true})  // which come last in a layer (models/llama/modeling_llama.py LlamaDecoderLayer)
        for (auto of_layer = w; of_layer != end; ++of_layer) {
          auto one = *of_layer;
          one.layers = one.layers.within(layer, layer + 1);
          if (one.layers.count > 0 && (one.role == module::norm) == norms) tell(one);
        }
    if (end == w) tell(*end++);
    w = end;
  }
  return ceil_div(sum.most(), ranks);
}

}  // namespace headroom::detail
