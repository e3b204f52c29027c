// Distributed under the Boost Software License, Version 1.0.
// A model's list of weights as a framework keeps them: where all experts of a layer are one parameter, that is one tensor to whoever shards,
// gathers or updates it.
#pragma once

#include <headroom/block/experts.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom {

namespace detail {

/// One tensor of all experts of a layer, gate and up in one (transformers since 5: gate_up_proj [experts, 2 ffn, hidden], down_proj
/// [experts, hidden, ffn]; gpt-oss' biases alike).
constexpr void join_experts(inventory& list) {
  const auto joins = [&](const weight& w, weight& to) {
    if (w.role != module::experts_up || to.role != module::experts_gate || w.layers != to.layers || w.vector() != to.vector()) return false;
    to.rows = checked::add(to.rows, w.rows);
    return true;
  };
  int kept = 0;
  for (int i = 0; i < list.size; ++i) {
    auto w = list.entries[i];
    if (w.expert) w.rows = checked::mul(w.rows, w.per_layer), w.per_layer = 1;
    bool joined = false;
    for (int k = 0; w.expert && !joined && k < kept; ++k) joined = joins(w, list.entries[k]);
    if (!joined) list.entries[kept++] = w;
  }
  list.size = kept;
}

}  // namespace detail

/// `list`, the inventory of a settled job's model, as its framework keeps it.
constexpr inventory kept_weights(const settled_job& s, inventory list) {
  if (s.model.sparse() && s.source->framework.experts.joins_gate()) detail::join_experts(list);
  return list;
}

namespace detail {

/// The weights of a job's model as its framework keeps them. Not inlined, so that no second list lies on the stack beside what follows.
[[gnu::noinline]] constexpr inventory list_of(const settled_job& s, const auto& layers) {
  auto list = layers.weights(s.model);
  if (s.model.sparse() && s.source->framework.experts.joins_gate()) join_experts(list);
  return list;
}

}  // namespace detail

}  // namespace headroom
