// Distributed under the Boost Software License, Version 1.0.
// Which windows a job has.
#pragma once

#include <headroom/sharding/windows_fsdp.hpp>
#include <headroom/sharding/windows_zero.hpp>

namespace headroom {

namespace detail {

/// DDP (torch csrc/distributed/c10d/reducer.cpp): every bucket is allocated when the reducer is built, so one more copy of the
/// gradients stays; with gradient_as_bucket_view the gradients lie in it.
constexpr void ddp_windows(windows& w, const settled_job& s, const state_bytes& st) {
  const auto all = st.gpu[row::gradients];
  if (chosen(s.source->sharding.gradient_as_bucket_view, false)) {
    w.path = gradient_path::leaves;
    w.gradients_before = moment(row::gradients, all);
  } else {
    w.always = moment(row::communication_buffers, all);
  }
}

}  // namespace detail

/// Whether a job wraps its model on the GPU, unit by unit (FSDP1).
constexpr bool wraps_on_gpu(const settled_job& s) { return s.source->framework.sharding.wraps_on_gpu && s.flat && s.source->sharding.fully_sharded(); }

/// The windows of a settled job.
constexpr windows windows_of(const settled_job& s, const state_bytes& st) {
  windows w;
  const auto& j = *s.source;
  switch (j.sharding.kind) {
    case sharding_kind::ddp: detail::ddp_windows(w, s, st); break;
    case sharding_kind::fsdp1: detail::fsdp1_windows(w, s, st); break;
    case sharding_kind::fsdp2: detail::fsdp2_windows(w, s, st); break;
    case sharding_kind::zero: {
      const auto z = detail::zero_sizes_of(j.sharding);
      if (j.sharding.cuts(sharded_state::weights))
        detail::zero3_windows(w, s, st, z);
      else
        detail::zero12_windows(w, s, st, z);
      break;
    }
    case sharding_kind::none:
      if (s.data > 1) detail::ddp_windows(w, s, st);  // gradients have to be averaged somehow
      break;
    case sharding_kind::megatron_distributed_optimizer:
    case sharding_kind::megatron_fsdp: break;
  }
  if (st.trained - st.adapters < st.total) {  // a layer keeps gradients of what trains in it, spread evenly over the layers
    w.kept_per_unit = min(w.kept_per_unit, ceil_div(st.gpu[row::gradients], s.model.layers));
    w.kept_root = min(w.kept_root, st.gpu[row::gradients]);
    w.kept_embedding = min(w.kept_embedding, w.kept_root);
  }
  if (s.optimizer.in_backward) w.path = gradient_path::leaves;
  w.gradients_at_load = w.gradients_before.total > bytes{0} && j.sharding.kind != sharding_kind::fsdp1 && j.sharding.kind != sharding_kind::fsdp2;
  const bool exist = j.batch.accumulation > 1 || j.framework.gradients.stay;
  if (exist && w.gradients_before.total == bytes{0} && !gradients_leave(j)) w.gradients_before = moment(row::gradients, st.gpu[row::gradients]);
  return w;
}

}  // namespace headroom
