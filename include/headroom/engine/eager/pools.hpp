// Distributed under the Boost Software License, Version 1.0.
// The default stream's pool of the caching allocator, where wrapping a model on the GPU has left segments in it. What other streams'
// pools hold is with the windows that make it (sharding/windows.hpp). Not a replay: what is freed is taken to be found again by tensors of
// its size, which leaves out fragmentation.
#pragma once

#include <headroom/sharding/windows.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// torch.distributed broadcasts module states in buckets of so many bytes, or one larger tensor (fsdp/_init_utils.py
/// PARAM_BROADCAST_BUCKET_SIZE; csrc/distributed/c10d/reducer.cpp broadcast_coalesced).
inline constexpr bytes broadcast_bucket = 250 * mib;

/// What wrapping leaves in the default stream's cache, for the layers and for the root: their tensors, their broadcast copies and
/// their concatenation. The root comes last; its two tables find room in what layers left if those are as large. A shard is cut
/// while the concatenation is there: it takes a tensor's place if it fits, and without shards the concatenation itself stays.
constexpr bytes left_by_wrapping(const settled_job& s, const state_bytes& st) {
  const auto width = s.precision.parameters.width();
  const auto d = s.shards.parameters;
  const bool stays = s.source->offload.parameters == place::on_gpu;
  const auto unit = gathered_unit(s, st), root = share(st.root, width), table = share(st.largest, width);
  auto layers = 2 * unit + min(unit, broadcast_bucket);
  if (stays) layers -= ceil_div(unit, d);
  auto rest = 3 * root;
  if (unit >= table) rest -= min(layers, 2 * table);
  if (stays && d == 1) rest -= root;
  if (stays && d > 1 && ceil_div(root, d) <= table) rest -= ceil_div(root, d);
  return layers + rest;
}

}  // namespace detail

/// High-water mark of the default stream's pool.
constexpr bytes default_pool_after_wrapping(const settled_job& s, const state_bytes& st, const timeline& t) {
  const auto own = [&](phase p) {
    const auto& m = t.at(p);
    return m.total - m.rows[row::gathered_parameters] - m.rows[row::communication_buffers];
  };
  bytes tallest{0};
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step}) tallest = max(tallest, own(p));
  const auto left = detail::left_by_wrapping(s, st);
  const auto width = s.precision.parameters.width();
  const auto table = detail::share(st.largest, width);
  const auto elements = checked::mul(s.layer.tokens, s.model.vocab);
  const auto& format = s.layer.loss.logits;
  // Short logits fit into the segment of an embedding table: then one pool serves all.
  if (bytes{checked::mul(elements, format.width())} <= table) return max(tallest, own(phase::save) + left);
  // Long ones are larger than any segment that layers and wrapping leave, while layers, in backward, find room in what the logits left.
  auto logits = max(t.at(phase::loss_forward).rows[row::logits], t.at(phase::backward).rows[row::logits]);
  // What the head makes before it is cast is of another size, and needs a segment to itself unless the root's concatenation left one.
  const bool root_left = s.shards.parameters > 1 || s.source->offload.parameters != place::on_gpu;
  const bytes narrow{format.width() == s.layer.width ? 0 : checked::mul(elements, s.layer.width)};
  if (narrow > (root_left ? detail::share(st.root, width) : table)) logits += narrow;
  return max(tallest, own(phase::forward) + logits) + left;
}

}  // namespace headroom
