// Distributed under the Boost Software License, Version 1.0.
// FSDP's windows, both generations.
#pragma once

#include <headroom/sharding/window_types.hpp>

namespace headroom::detail {

/// Quantised weights of one layer, with their statistics only where these are divided, too.
constexpr bytes packed_unit(const settled_job& s, const state_bytes& st) {
  const bytes elements{checked::ceil_div(checked::mul(st.packed.count(), s.layer.base.bits), 8)};
  return s.source->framework.quantised.divides_statistics ? elements + s.layer.base.metadata(st.packed.count()) : elements;
}
/// One layer as it is gathered: quantised weights pass packed.
constexpr bytes gathered_unit(const settled_job& s, const state_bytes& st) { return share(st.unit - st.packed, s.precision.compute.width()) + packed_unit(s, st); }

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
  const auto unit = habits.sharding.gathers_in_fp8 ? share(st.unit, 1) : gathered_unit(s, st) + (frozen ? share(reduced, c) : bytes{0});
  const bool resident = s.source->sharding.stays_gathered();
  const auto units = s.model.tied ? root_units::whole : root_of(*s.source);
  const bool split = units == root_units::split, apart = units == root_units::embedding_apart;
  const auto first = split ? st.embedding : st.root;                     // gathered when forward begins, reduced when backward ends
  const auto head = split || apart ? st.root - st.embedding : st.root;   // gathered in the loss
  const auto beside = resident ? st.side : parameters{0};                // an encoder's or a tower's layers, which stay, too
  const auto root = share((split ? parameters{0} : head) + beside, c);   // gathered all the way
  const auto kept = keeps_last_layer(*s.source) ? unit : bytes{0};
  const auto shard = [&](parameters n) { return share(n, r, d) + (r == m ? bytes{0} : share(n, m, d)); };
  w.path = gradient_path::unit;
  w.ends_apart = true;
  w.forward = moment(row::gathered_parameters, root + (resident ? layers * unit + unit : 2 * unit));
  // A model that computes its own loss has its last unit's all-gather there until it returns; its first gradient asks for the last layer.
  const auto beside_loss = s.layer.loss_outside() || kept > bytes{0} || s.layer.loss_program == loss_style::chunked_head ? kept : unit;
  w.turn = w.loss = moment(row::gathered_parameters, share(head + beside, c) + (resident ? layers * unit : beside_loss));
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
  if (gradients_leave(*s.source)) w.kept_per_unit = w.kept_root = w.kept_embedding = bytes{0};
  if (d > 1 && !s.layer.host) {
    w.pools = true;
    w.gathering = resident ? bytes{0} : unit;
    const auto largest = st.embedding.count() > head.count() ? (apart ? st.embedding : first) : head;
    w.gather_pool = share(largest, c) + share(largest, c, d);
    const auto at_once = share(largest, c) + unit + share(st.unit, habits.sharding.gathers_in_fp8 ? 1 : c, d);
    w.gather_pool = max(w.gather_pool, at_once);
    if (apart) w.gather_pool = max(w.gather_pool, share(st.root, c) + share(st.embedding, c, d));  // the root's stays until the embedding has been copied out
    const auto staying = gradients_leave(*s.source) ? share(reduced_of(largest), m, d) : st.gpu[row::gradients];
    w.reduce_pool = staying + (r == m ? bytes{0} : share(reduced_of(largest), r, d));
  }
}

/// A frozen layer is gathered and let go, and has no gradient; each adapter matrix is a unit of its own, gathered, reduced and
/// let go by itself (fsdp_qlora train.py get_wrapping_policy). The model computes its own loss, whose gradient is the first thing
/// that the root's pre-backward hook sees: it prefetches the last layer before the loss goes backward.
constexpr void fsdp1_frozen_windows(windows& w, const settled_job& s, const state_bytes& st, bytes unit, bytes root, bool resident) {
  const auto& j = *s.source;
  const auto layers = s.model.layers;
  const auto matrix = share(st.largest_adapter, s.layer.adapter_width);
  const auto held = resident ? layers * unit : bytes{0};
  const bool ahead = chosen(j.sharding.backward_prefetch, true);
  w.path = gradient_path::leaves;
  w.forward = moment(row::gathered_parameters, root + (resident ? held : unit) + matrix);
  w.loss = moment(row::gathered_parameters, root + held);
  w.turn = moment(row::gathered_parameters, root + (resident ? held : ahead ? unit : bytes{0}));
  // The layer before is asked for by the first adapter's backward (the next in the reverse order of forward), near the end of the layer's.
  const auto reducing = moment(row::communication_buffers, share(st.largest_adapter, s.layer.adapter_kept, s.shards.gradients));
  const auto matrices = (ahead ? 2 : 1) * matrix;
  w.backward = moment(row::gathered_parameters, root + (resident ? held : unit) + matrices) + reducing;
  w.reduce = moment(row::gathered_parameters, root + (resident ? held : (ahead ? 2 : 1) * unit) + matrices) + reducing;
  const bool stays = j.offload.parameters == place::on_gpu;
  if (stays) w.kept_per_unit = ceil_div(st.gpu[row::gradients], layers);
  // Gathers, copies from the host and reductions have a stream each. The limiter lets the host run two frees ahead (_limiter_utils.py
  // _FreeEventQueue): beside the layer at hand and the prefetched one, a third buffer is free but not yet known to be.
  const auto d = s.shards.parameters;
  const std::int64_t buffers = ahead ? 3 : 2;
  w.pools = true;
  w.gather_pool = root + buffers * unit + 2 * matrix + (stays ? bytes{0} : max(ceil_div(root, d), buffers * ceil_div(unit, d)));
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
  const bool resident = j.sharding.stays_gathered();
  const auto root = share(resident ? st.root + st.side : st.root, c);
  if (j.framework.sharding.wraps_adapters && j.adapter.active()) return fsdp1_frozen_windows(w, s, st, unit, root, resident);
  const auto layers = s.model.layers;
  const auto cast_shard = c == m ? bytes{0} : share(st.unit, c, d);
  const bool ahead = chosen(j.sharding.backward_prefetch, true);
  const auto gathered = (ahead ? 2 : 1) * unit;
  w.path = gradient_path::unit;
  w.forward = moment(row::gathered_parameters, root + (resident ? layers * unit : unit) + cast_shard);
  w.loss = moment(row::gathered_parameters, root + (resident ? layers * unit : bytes{0}));
  // The first gradient of what the model returns asks for the last layer: the loss's own where the model computes it.
  w.turn = moment(row::gathered_parameters, root + (resident ? layers * unit : s.layer.loss_outside() || !ahead ? bytes{0} : unit));
  w.backward = moment(row::gathered_parameters, root + (resident ? layers * unit : gathered) + cast_shard);
  const bool root_trains = trained_modules(j, -1).has(module::embedding);
  const auto zeros = j.adapter.active() && j.trainable.all() ? unit : bytes{0};
  w.flat_pieces = true;
  w.root_waits = true;
  w.ends_apart = true;
  w.end = moment(row::gathered_parameters, root);
  w.last_reduce = w.end + moment(row::communication_buffers, root_trains ? root : bytes{0});
  w.reduce = moment(row::gathered_parameters, root + (resident ? layers * unit : gathered)) + moment(row::communication_buffers, zeros + unit);
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

}  // namespace headroom::detail
