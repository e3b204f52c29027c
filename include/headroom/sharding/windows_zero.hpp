// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed ZeRO's windows.
#pragma once

#include <headroom/layout/zero_sizes.hpp>
#include <headroom/sharding/window_types.hpp>

namespace headroom::detail {

/// ZeRO stages 1 and 2 (runtime/zero/stage_1_and_2.py): a bucket, two with overlap_comm, through backward; in the step a flat copy
/// of the partition's gradients and its fp32 cast.
constexpr void zero12_windows(windows& w, const settled_job& s, const state_bytes& st, const zero_sizes& z) {
  const auto& j = *s.source;
  const auto& p = s.precision;
  const auto e = p.parameters.width(), g = p.gradients.width();
  if (j.sharding.cuts(sharded_state::optimizer)) {
    const auto bucket = bytes{checked::mul(e, z.reduce_bucket)};
    const bool contiguous = chosen(j.sharding.contiguous_gradients, true) || j.offload.optimizer != place::on_gpu;  // __init__: contiguous_gradients or cpu_offload
    if (contiguous) {
      w.turn = w.backward = w.reduce = moment(row::communication_buffers, z.overlap ? 2 * bucket : bucket);
      w.buckets = z.overlap ? 2 : 1;
    }
    if (j.sharding.cuts(sharded_state::gradients)) {
      w.path = gradient_path::leaves;
      if (j.offload.optimizer == place::on_gpu && contiguous) {
        // copy_grads_in_partition; the first micro-batch's stays as averaged_gradients, later ones' are added to it.
        w.partition = share(st.trained, g, s.shards.gradients);
        w.partition_after = z.reduce_bucket / checked::ceil_div(st.trained.count() + 1, s.model.layers) + 1;
        w.partition_apart = z.overlap;
      } else if (j.offload.optimizer == place::on_gpu) {  // parameters of the own partition keep their gradients
        w.kept_per_unit = share(st.unit, g, s.shards.gradients);
        w.kept_root = share(st.root, g, s.shards.gradients);
      }
    }
    const auto flat = share(st.trained, g, s.shards.optimizer);
    const auto wide = p.master.present() && g < p.master.width() ? share(st.trained, p.master.width(), s.shards.optimizer) : bytes{0};
    const bool on_gpu = j.offload.optimizer == place::on_gpu;
    if (on_gpu) {
      w.step = moment(row::temporaries, flat + wide);
      w.flat_gradients = flat;
      w.wide_gradients = wide;
    } else {  // temp_grad_buffer_for_gpu_offload: made with the optimizer, for good
      w.always = moment(row::communication_buffers, share(st.largest_to_train, e));
    }
    // The updated partitions come back in pieces of the all-gather bucket.
    const auto gathered = share(parameters{smaller(z.allgather_bucket, st.trained.count())}, e);
    w.step = w.step.total > gathered ? w.step : moment(row::communication_buffers, gathered);
  }
  if (j.framework.sharding.bf16_optimizer && j.sharding.stage == 1 && g == 4 && e == 2) {
    w.gradients_before = moment(row::gradients, share(st.trained, 4));
    w.step = moment(row::temporaries, bytes{0});
    w.flat_gradients = w.wide_gradients = bytes{0};
  }
}

/// ZeRO stage 3 (runtime/zero/stage3.py, partitioned_param_coordinator.py): the gradient partition and one bucket stay; small
/// parameters are never partitioned; a layer's parameters are gathered with the prefetched ones after it, and those used again
/// within max_reuse_distance (counted forward and back) are not released.
constexpr void zero3_windows(windows& w, const settled_job& s, const state_bytes& st, const zero_sizes& z) {
  const auto& j = *s.source;
  const auto& p = s.precision;
  const auto e = p.parameters.width();
  const auto all = st.total.count();
  const auto layer = st.unit.count();
  const auto fetched = smaller(all, checked::add(layer, smaller(z.prefetch, z.max_live)));
  const auto kept = smaller(all, checked::add(z.max_reuse / 2, layer));
  const auto window = share(parameters{fetched}, e);
  const auto turn = share(parameters{kept > fetched ? kept : fetched}, e);
  const auto bucket = bytes{checked::mul(e, z.reduce_bucket)};
  const auto coalesced = share(parameters{smaller(z.reduce_bucket, st.trained.count())}, e);
  // Gathers run on a stream of their own. Several parameters are gathered in one buffer and then copied out of it, one by one
  // (partition_parameters.py AllGatherCoalescedHandle.wait): so is the head, prefetched with what lies before it.
  w.gather_pool = max(turn, share(parameters{2 * (s.model.tied ? 0 : st.largest.count())}, e));
  w.path = gradient_path::leaves;
  w.always = moment(row::communication_buffers, bucket) + moment(row::gathered_parameters, share(st.small, e));
  w.forward = moment(row::gathered_parameters, window);
  w.turn = w.loss = moment(row::gathered_parameters, turn);
  w.backward = moment(row::gathered_parameters, turn) + moment(row::communication_buffers, coalesced);
  w.gradients_before = moment(row::gradients, j.offload.optimizer == place::on_gpu ? st.gpu[row::gradients] : bytes{0});
  if (s.shards.secondary > 1 && j.offload.parameters == place::on_gpu) {
    // ZeRO++ hpZ (partition_parameters.py _partition_param_sec): what forward releases is partitioned again within a node, for
    // backward to gather from; the optimizer step makes it invalid.
    const moment second(row::gathered_parameters, share(st.total, e, s.shards.secondary));
    for (auto* at : {&w.forward, &w.loss, &w.turn, &w.backward, &w.reduce}) *at += second;
  }
  const auto group = smaller(z.sub_group > 0 ? z.sub_group : all, checked::ceil_div(st.trained.count(), s.shards.optimizer));
  if (j.offload.optimizer == place::on_gpu && p.master.present())
    w.step = moment(row::temporaries, share(parameters{group}, p.gradients.width() + p.master.width()));
}

}  // namespace headroom::detail
