// Distributed under the Boost Software License, Version 1.0.
// What sharded data parallelism adds around a layer: parameters gathered for a moment, gradients on their way to their owners,
// buffers that stay. Sizes in bytes of one GPU.
#pragma once

#include <headroom/block/moment.hpp>
#include <headroom/step/states.hpp>

namespace headroom {

/// What becomes of a weight gradient when autograd has made it.
enum class gradient_path : std::uint8_t {
  grows,   ///< stays whole until the optimizer step
  leaves,  ///< goes at once: into a bucket, a partition, or the update itself
  unit,    ///< stays whole until its layer is done, then shrinks to a shard
};

struct windows {
  gradient_path path{gradient_path::grows};
  moment always{};            ///< buffers from the first step on
  moment forward{};           ///< while a layer runs forward
  moment loss{};              ///< at the end of forward and in the loss
  moment turn{};              ///< in the backward of loss and head
  moment backward{};          ///< while a layer runs backward
  moment reduce{};            ///< when a layer's gradients are reduced, on top of those gradients
  moment step{};              ///< in the optimizer step
  moment gradients_before{};  ///< gradients that exist already when a step's last forward begins
  bool ends_apart{};          ///< `end` and `last_reduce` hold, else `backward` to the end
  moment end{};               ///< in the embedding's backward
  moment last_reduce{};       ///< when the last gradients of a step are reduced, beside them
  bytes pending{};            ///< what of the layer before is still being reduced while a layer runs backward
  bytes pending_first{};      ///< … of the head, while the last layer does
  bool root_waits{};          ///< the head's gradients stay whole until the root is reduced
  bool flat_pieces{};         ///< gradients of a unit's weights stay until all have come and are concatenated, even if others exist already
  bytes kept_per_unit{};      ///< of a layer's gradients, after they are reduced (paths `leaves` and `unit`)
  bytes kept_root{};
  bytes kept_embedding{};     ///< of kept_root, what is reduced at the end

  // Blocks of the caching allocator belong to the stream that they were made on. Where communication streams make their own, memory is
  // reserved in pools that never lend to each other: as much as the tallest moment of each.
  bool pools{};
  bytes gathering{};          ///< while a layer runs, what of it lies in the pool of the all-gather
  bytes gather_pool{};
  bytes reduce_pool{};
};

namespace detail {

constexpr bytes share(parameters p, std::int64_t width, std::int64_t d = 1) {
  return bytes{checked::ceil_div(checked::mul(p.count(), width), d)};
}
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

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

/// FSDP2 (torch distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py). Forward: the all-gather's output
/// and the parameters copied out of it. Backward: a layer's parameters, the next one's all-gather, the previous one's
/// reduce-scatter input; at its end its own reduce-scatter input and output. The root's unit is gathered from the first layer to the
/// last gradient, unless embedding and head are units of their own.
/// Streams (foreach_all_gather, foreach_reduce): gathered buffers are made on the all-gather's copy-in stream, where one unit's stays
/// until the next has been copied out; reduce-scatter outputs, which become the sharded gradients, on the reduce-scatter's, so that
/// pool holds them for ever; all else, reduce-scatter inputs included, on the default stream.
constexpr void fsdp2_windows(windows& w, const settled_job& s, const state_bytes& st) {
  const auto& p = s.precision;
  const auto& habits = s.source->framework;
  const auto c = p.compute.width(), r = p.reduce.width(), m = p.parameters.width();
  const auto d = s.shards.gradients;
  const auto layers = s.model.layers;
  // Beside a frozen base only adapters are reduced (_fsdp_param_group.py post_backward: parameters that have a gradient).
  const auto& side = s.source->adapter;
  const bool frozen = side.active() && side.modules_to_save.empty() && s.source->trainable.all();
  const auto reduced = frozen ? ceil_div(st.adapters, layers) : st.unit;
  const auto reduced_of = [&](parameters n) { return frozen ? parameters{0} : n; };
  const auto unit = share(frozen ? st.unit + reduced : st.unit, habits.gathers_in_fp8 ? 1 : c);
  const bool resident = s.source->sharding.stage == 2 || s.source->sharding.reshard_after_forward == choice::no;
  const bool split = habits.splits_root && !s.model.tied;
  const auto first = split ? st.embedding : st.root;             // gathered when forward begins, reduced when backward ends
  const auto head = split ? st.root - st.embedding : st.root;    // gathered in the loss
  const auto root = split ? bytes{0} : share(resident ? st.root + st.side : st.root, c);  // gathered all the way
  const auto kept = habits.keeps_last_layer ? unit : bytes{0};
  const auto shard = [&](parameters n) { return share(n, r, d) + (r == m ? bytes{0} : share(n, m, d)); };
  w.path = gradient_path::unit;
  w.ends_apart = true;
  w.forward = moment(row::gathered_parameters, root + (resident ? layers * unit + unit : 2 * unit));
  w.turn = w.loss = moment(row::gathered_parameters, share(head, c) + (resident ? layers * unit : kept));
  w.backward = moment(row::gathered_parameters, root + (resident ? layers * unit : 2 * unit));
  // Hybrid sharding: a layer's shard is still being averaged over the replicas while the next layer runs.
  w.pending = share(reduced, r) + (s.source->parallel.replicate > 1 && r != m ? share(reduced, r, d) : bytes{0});
  w.pending_first = split ? share(reduced_of(head), r) : bytes{0};
  w.root_waits = !split && !frozen;
  w.reduce = moment(row::gathered_parameters, root + (resident ? (layers - 1) * unit : unit)) + moment(row::communication_buffers, share(reduced, r) + shard(reduced));
  w.end = moment(row::gathered_parameters, share(first, c)) + moment(row::communication_buffers, w.pending);
  w.last_reduce = moment(row::communication_buffers, share(reduced_of(first), r) + shard(reduced_of(first)));
  w.kept_per_unit = share(reduced, p.gradients.width(), d);
  w.kept_root = share(reduced_of(st.root), p.gradients.width(), d);
  w.kept_embedding = share(reduced_of(first), p.gradients.width(), d);
  if (s.source->sharding.no_sync && s.source->batch.accumulation > 1) {
    // Micro-batches add up whole gradients, in the format of the reduction (_fsdp_param.py, to_accumulated_grad_if_needed).
    w.gradients_before = moment(row::gradients, share(reduced, r) * layers + share(reduced_of(st.root), r));
    w.kept_per_unit = w.kept_root = w.kept_embedding = bytes{0};
    w.root_waits = false;
  }
  if (d > 1 && !s.layer.host) {
    w.pools = true;
    w.gathering = resident ? bytes{0} : unit;
    const auto largest = st.embedding.count() > head.count() ? first : head;
    w.gather_pool = share(largest, c) + share(largest, c, d);
    const auto beside = share(largest, c) + unit + share(st.unit, habits.gathers_in_fp8 ? 1 : c, d);
    w.gather_pool = w.gather_pool > beside ? w.gather_pool : beside;
    w.reduce_pool = st.gpu[row::gradients] + (r == m ? bytes{0} : share(reduced_of(largest), r, d));
  }
}

/// One layer as it is gathered: quantised weights pass packed, their statistics stay where they are.
constexpr bytes gathered_unit(const settled_job& s, const state_bytes& st) {
  return share(st.unit - st.packed, s.precision.compute.width()) + bytes{checked::ceil_div(checked::mul(st.packed.count(), s.layer.base.bits), 8)};
}

/// A frozen layer is gathered and let go, and has no gradient; each adapter matrix is a unit of its own, gathered, reduced and
/// let go by itself (fsdp_qlora train.py get_wrapping_policy). The model computes its own loss, whose gradient is the first thing
/// that the root's pre-backward hook sees: it prefetches the last layer before the loss goes backward.
constexpr void fsdp1_frozen_windows(windows& w, const settled_job& s, const state_bytes& st, bytes unit, bytes root, bool resident) {
  const auto& j = *s.source;
  const auto layers = s.model.layers;
  const auto matrix = share(st.largest_adapter, s.layer.adapter_width);
  const auto held = resident ? layers * unit : bytes{0};
  w.path = gradient_path::leaves;
  w.forward = moment(row::gathered_parameters, root + (resident ? held : unit) + matrix);
  w.loss = moment(row::gathered_parameters, root + held);
  w.turn = moment(row::gathered_parameters, root + (resident ? held : unit));
  w.backward = moment(row::gathered_parameters, root + (resident ? held : 2 * unit) + 2 * matrix) +
               moment(row::communication_buffers, share(st.largest_adapter, s.layer.adapter_width, s.shards.gradients));
  w.reduce = w.backward;
  const bool stays = j.offload.parameters == place::on_gpu;
  if (stays) w.kept_per_unit = ceil_div(st.gpu[row::gradients], layers);
  // Gathers, copies from the host and reductions have a stream each. The limiter lets the host run two frees ahead (_limiter_utils.py
  // _FreeEventQueue): beside the layer at hand and the prefetched one, a third buffer is free but not yet known to be.
  const auto d = s.shards.parameters;
  w.pools = true;
  w.gather_pool = root + 3 * unit + 2 * matrix + (stays ? bytes{0} : max(ceil_div(root, d), 3 * ceil_div(unit, d)));
  w.reduce_pool = stays ? st.gpu[row::gradients] : bytes{0};
}

/// FSDP1 (torch distributed/fsdp/_runtime_utils.py, _flat_param.py). One flat parameter a layer: gathered current and
/// prefetched. Its weights are views that one split made (_get_unflat_views): autograd keeps their gradients, zeros for those of frozen
/// ones, until all have come, and concatenates them. So the head's waits for the embedding's, which lies in the root's unit, too. Under
/// no_sync the flat gradients of all layers stay whole, and each new one is added to it.
constexpr void fsdp1_windows(windows& w, const settled_job& s, const state_bytes& st) {
  const auto& p = s.precision;
  const auto& j = *s.source;
  const auto c = p.compute.width(), r = p.reduce.width(), m = p.parameters.width();
  const auto d = s.shards.gradients;
  if (j.sharding.stage == 0 && c == m) return;  // NO_SHARD: whole flat parameters, and gradients averaged in place
  const auto unit = gathered_unit(s, st);
  const bool resident = j.sharding.stage == 2 || j.sharding.reshard_after_forward == choice::no;
  const auto root = share(resident ? st.root + st.side : st.root, c);
  if (j.framework.wraps_adapters && j.adapter.active()) return fsdp1_frozen_windows(w, s, st, unit, root, resident);
  const auto layers = s.model.layers;
  const auto cast_shard = c == m ? bytes{0} : share(st.unit, c, d);
  w.path = gradient_path::unit;
  w.forward = moment(row::gathered_parameters, root + (resident ? layers * unit : unit) + cast_shard);
  w.turn = w.loss = moment(row::gathered_parameters, root + (resident ? layers * unit : bytes{0}));
  w.backward = moment(row::gathered_parameters, root + (resident ? layers * unit : 2 * unit) + cast_shard);
  const bool root_trains = trained_modules(j, -1).has(module::embedding);
  const auto zeros = j.adapter.active() && j.trainable.all() ? unit : bytes{0};
  w.flat_pieces = true;
  w.root_waits = true;
  w.ends_apart = true;
  w.end = moment(row::gathered_parameters, root);
  w.last_reduce = w.end + moment(row::communication_buffers, root_trains ? root : bytes{0});
  w.reduce = moment(row::gathered_parameters, root + (resident ? layers * unit : 2 * unit)) + moment(row::communication_buffers, zeros + unit);
  if (j.sharding.no_sync && j.batch.accumulation > 1) {
    w.gradients_before = moment(row::gradients, layers * unit + (root_trains ? root : bytes{0}));
    w.kept_per_unit = bytes{0};
    w.kept_root = bytes{0};
    return;
  }
  w.reduce += moment(row::communication_buffers, (r == c ? bytes{0} : share(st.unit, r)) + share(st.unit, r, d));
  w.kept_per_unit = share(st.unit, p.gradients.width(), d);
  if (root_trains) w.kept_embedding = w.kept_root = share(st.root, p.gradients.width(), d);
}

/// DeepSpeed's own defaults (runtime/zero/config.py), in elements.
struct zero_sizes {
  std::int64_t reduce_bucket{500'000'000};
  std::int64_t allgather_bucket{500'000'000};
  std::int64_t sub_group{1'000'000'000};
  std::int64_t prefetch{50'000'000};
  std::int64_t max_live{1'000'000'000};
  std::int64_t max_reuse{1'000'000'000};
  bool overlap{};
};
constexpr zero_sizes zero_sizes_of(const job& j) {
  const auto& z = j.sharding;
  zero_sizes r;
  const auto set = [](std::int64_t& to, std::int64_t from) {
    if (from >= 0) to = from;
  };
  set(r.reduce_bucket, z.reduce_bucket_size);
  set(r.allgather_bucket, z.allgather_bucket_size);
  set(r.sub_group, z.sub_group_size);
  set(r.prefetch, z.stage3_prefetch_bucket_size);
  set(r.max_live, z.stage3_max_live_parameters);
  set(r.max_reuse, z.stage3_max_reuse_distance);
  r.overlap = chosen(z.overlap_comm, z.stage == 3);
  return r;
}

/// ZeRO stages 1 and 2 (runtime/zero/stage_1_and_2.py): a bucket, two with overlap_comm, through backward; in the step a flat copy
/// of the partition's gradients and its fp32 cast.
constexpr void zero12_windows(windows& w, const settled_job& s, const state_bytes& st, const zero_sizes& z) {
  const auto& j = *s.source;
  const auto& p = s.precision;
  const auto e = p.parameters.width(), g = p.gradients.width();
  if (j.sharding.stage >= 1) {
    const auto bucket = bytes{checked::mul(e, z.reduce_bucket)};
    const bool contiguous = chosen(j.sharding.contiguous_gradients, true);
    if (contiguous) w.turn = w.backward = w.reduce = moment(row::communication_buffers, z.overlap ? 2 * bucket : bucket);
    if (j.sharding.stage == 2) {
      w.path = gradient_path::leaves;
      if (j.offload.optimizer == place::on_gpu) {  // parameters of the own partition keep their gradients
        w.kept_per_unit = share(st.unit, g, s.shards.gradients);
        w.kept_root = share(st.root, g, s.shards.gradients);
      }
    }
    const auto flat = share(st.trained, g, s.shards.optimizer);
    const auto wide = p.master.present() && g < p.master.width() ? share(st.trained, p.master.width(), s.shards.optimizer) : bytes{0};
    const bool on_gpu = j.offload.optimizer == place::on_gpu;
    w.step = moment(row::temporaries, on_gpu ? flat + wide : share(st.largest, e));
    // The updated partitions come back in pieces of the all-gather bucket.
    const auto gathered = share(parameters{smaller(z.allgather_bucket, st.trained.count())}, e);
    w.step = w.step.total > gathered ? w.step : moment(row::communication_buffers, gathered);
  }
  if (j.framework.bf16_optimizer && j.sharding.stage == 1 && g == 4 && e == 2) {
    w.gradients_before = moment(row::gradients, share(st.trained, 4));
    w.step = moment(row::temporaries, bytes{0});
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

}  // namespace detail

/// The windows of a settled job.
constexpr windows windows_of(const settled_job& s, const state_bytes& st) {
  windows w;
  const auto& j = *s.source;
  switch (j.sharding.kind) {
    case sharding_kind::ddp: detail::ddp_windows(w, s, st); break;
    case sharding_kind::fsdp1: detail::fsdp1_windows(w, s, st); break;
    case sharding_kind::fsdp2: detail::fsdp2_windows(w, s, st); break;
    case sharding_kind::zero: {
      const auto z = detail::zero_sizes_of(j);
      if (j.sharding.stage == 3)
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
  const bool exist = j.batch.accumulation > 1 || j.framework.gradients_stay;
  if (exist && w.gradients_before.total == bytes{0}) w.gradients_before = moment(row::gradients, st.gpu[row::gradients]);
  return w;
}

}  // namespace headroom
