// Distributed under the Boost Software License, Version 1.0.
// What a trainer adds to a GPU for a moment while it writes its weights into an inference engine.
#pragma once

#include <headroom/rollout/engine_weights.hpp>
#include <headroom/rollout/rollout.hpp>

namespace headroom {

/// How the weights travel.
enum class sync_kind : std::uint8_t {
  in_place,       ///< what is there is read as it is: whole parameters in the trainer's process
  tensor,         ///< one parameter is gathered at a time
  unit,           ///< one wrapped unit (a layer; what lies outside all layers)
  groups,         ///< the layers in so many groups, what lies outside them in one more
  all,            ///< every parameter is gathered before the first is written
  bucket,         ///< one tensor at a time is copied into a buffer of a stated size
  clones,         ///< … is cloned as it is, until clones are as large as that, while the engine reads those before
};

/// Of a model's parameters, what is whole at a moment.
struct sync_sizes {
  parameters tensor{};  ///< the largest
  parameters unit{};    ///< the largest layer, or what lies outside the layers
  parameters group{};   ///< the largest group of layers
  parameters outside{};  ///< what lies outside the layers, where that is a group of its own
  parameters all{};
};

namespace detail {

/// Parameters in layers [first, end) of the main stack.
constexpr parameters in_layers(const inventory& list, std::int64_t first, std::int64_t end) {
  parameters sum{0};
  for (const auto& w : list) {
    const auto n = w.layers.below(end) - w.layers.below(first);
    sum += parameters{checked::mul(w.elements(), w.per_layer, n)};
  }
  return sum;
}

}  // namespace detail

/// `groups`: 1 is everything at once. A group has ceil(layers / groups) layers (ms-swift rlhf_trainers/rollout_mixin.py
/// split_batches: embeddings and head are a group of their own).
/// Errors: job_error for fewer groups than one.
constexpr sync_sizes sync_sizes_of(const shape& m, const inventory& list, std::int64_t groups = 1) {
  if (groups < 1) refuse("headroom: rollout.sync_groups must be 1 or more: into how many groups the layers are divided", groups);
  sync_sizes r;
  for (const auto& w : list) {
    r.all += w.total();
    r.tensor = max(r.tensor, parameters{w.elements()});
    if (w.layers.count == 0) r.outside += w.total();
  }
  r.unit = r.outside;
  const auto each = checked::ceil_div(m.layers, groups);
  for (std::int64_t i = 0; i < m.layers; ++i) r.unit = max(r.unit, detail::in_layers(list, i, i + 1));
  for (std::int64_t i = 0; i < m.layers; i += each) r.group = max(r.group, detail::in_layers(list, i, i + each));
  if (groups == 1) r.group = r.all, r.outside = parameters{0};
  return r;
}

/// Buffers into which NeMo-RL packs tensors, of which the largest has so many bytes as it is sent. Beside an engine on the same GPUs two are, together, three
/// tenths of what is `free` then, or as large as is said (nemo_rl/algorithms/grpo.py refit_policy_generation; models/policy/utils.py
/// stream_weights_via_ipc_zmq_impl), and a tensor that one of them does not hold has a place of its own; for an engine elsewhere each is a fiftieth of the
/// card, at most 5 GiB (utils/packed_tensor.py).
constexpr bytes packing_buffers(const rollout& r, bytes largest, bytes free, bytes card) {
  if (!r.shares_gpus()) return 2 * min(card / 50, 5 * gib);
  const auto buffers = r.sync_bucket_mib > 0 ? r.bucket() : max(bytes{0}, 3 * free / 10);
  return buffers + (largest > buffers / 2 ? largest : bytes{0});
}

/// Bytes whole at a moment, beside what the trainer keeps and the engine's weights. `format`: of the gathered parameters; `sent`: of what the
/// engine takes; `bucket`: the buffer's size; `adapters`: those of the layers that are gathered. A gathered tensor and its copy in the engine's format are there together where they differ.
/// Errors: job_error where a tensor does not fit into the bucket, as the program itself stops there.
constexpr bytes sync_bytes(sync_kind kind, const sync_sizes& s, const number_format& format, const number_format& sent, bytes bucket, bytes adapters = bytes{0}) {
  switch (kind) {
    case sync_kind::in_place: return bytes{0};
    case sync_kind::tensor: return s.tensor * format.density();
    case sync_kind::unit: return s.unit * format.density();
    case sync_kind::groups: return max(s.group * format.density() + adapters, s.outside * format.density());
    case sync_kind::all: return s.all * format.density() + adapters;
    case sync_kind::clones: return 2 * max(bucket, s.tensor * format.density()) + s.tensor * format.density();
    case sync_kind::bucket: break;
  }
  const auto whole = s.tensor * sent.density();
  if (whole > bucket) refuse("headroom: rollout.sync_bucket_mib must hold the largest tensor of the model in the engine's format; verl stops there", bucket / mib);
  return bucket + s.tensor * format.density() + (format.bits == sent.bits ? bytes{0} : whole);
}

}  // namespace headroom
