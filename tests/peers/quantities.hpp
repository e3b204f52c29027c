// Distributed under the Boost Software License, Version 1.0.
// What other estimators compute, as this library says it: one number of a job by name.
#pragma once

#include <headroom/headroom.hpp>
#include <headroom/states/states.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace peers {

using namespace headroom;

/// States of the stage that holds most.
inline breakdown states_of(const job& j) {
  if (!j.framework.modules.megatron()) return states(j).gpu;
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  breakdown most{};
  for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
    const auto b = detail::states_of_stage(s, detail::weights_of_stage(s, list, stage));
    if (b.total() > most.total()) most = b;
  }
  return most;
}

/// Bytes that one layer leaves for its backward, not rounded to the allocator's blocks: peers do not round either.
inline std::int64_t saved_by_layer(const job& j, bool sparse) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  const bool recomputes = j.recompute.mode == recompute_mode::full;
  if (j.framework.modules.megatron())
    return detail::cost_of(detail::walk_divided_layer(sc, trained_modules(j, -1), {s.model.attention(), sparse ? feed_forward_kind::experts : feed_forward_kind::dense}, recomputes), recomputes).saved.total.count();
  const auto w = walk_layer(sc, trained_modules(j, 0), true, recomputes);
  return (recomputes ? w.cached.total + w.input : w.saved.total).count();
}

/// What the layers of the first stage hold when most micro-batches are on their way.
inline std::int64_t saved_by_layers(const job& j) {
  const auto& d = j.parallel;
  std::vector<std::int64_t> chunks;
  stage_cut(d, j.model.layers, j.framework.pipeline.split).for_each(0, [&](const layer_chunk& c) {
    std::int64_t bytes = 0;
    for (auto i = c.first; i < c.first + c.count; ++i) bytes += saved_by_layer(j, j.model.sparse_layer(i));
    chunks.push_back(bytes);
  });
  const auto kind = d.virtual_pipeline > 1 ? schedule::interleaved : d.schedule;
  std::int64_t live = 0, most = 0;
  run_schedule({kind, d.pipeline, d.virtual_pipeline, j.batch.accumulation}, 0, [&](const work& w) {
    live += (w.kind == work_kind::forward ? 1 : -1) * chunks[static_cast<std::size_t>(w.chunk)];
    most = std::max(most, live);
  });
  return most;
}

inline std::int64_t quantity(const job& j, const std::string& name) {
  if (name == "states") return states_of(j).total().count();
  if (name == "state parameters") return states_of(j)[row::model_parameters].count();
  if (name == "state gradients") return states_of(j)[row::gradients].count();
  if (name == "state optimizer") return (states_of(j)[row::optimizer_state] + states_of(j)[row::master_parameters]).count();
  if (name == "states but parameters") return (states_of(j).total() - states_of(j)[row::model_parameters]).count();
  if (name == "states without optimizer") return (states_of(j)[row::model_parameters] + states_of(j)[row::gradients]).count();
  if (name == "saved by a layer") return saved_by_layer(j, j.model.sparse_layer(j.model.layers - 1));
  if (name == "saved by layers") return saved_by_layers(j);
  if (name == "host") return estimate(j).host.per_node.count();
  const auto r = estimate(j);
  if (name == "peak") return r.peak().count();
  if (name == "peak of first stage") return r.ranks[0].allocated.count();
  if (name == "peak of last stage") return r.ranks[static_cast<std::size_t>(r.size - 1)].allocated.count();
  throw std::invalid_argument("no quantity is called " + name);
}

/// Letters that formulas use, in the notation of the papers.
inline std::map<std::string, double> letters(const job& j) {
  const auto s = settle(j);
  const auto& m = s.model;
  const auto& d = j.parallel;
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  return {{"P", of(count(m).total.count())}, {"N", of(j.hardware.gpus())}, {"G", of(j.hardware.gpus_per_node)}, {"d", of(s.data)}, {"c", of(d.context)},
          {"t", of(d.tensor)}, {"p", of(d.pipeline)}, {"v", of(d.virtual_pipeline)}, {"e", of(d.expert)}, {"L", of(m.layers)}, {"h", of(m.hidden)},
          {"a", of(m.heads)}, {"k", of(m.kv_width())}, {"f", of(m.ffn)}, {"V", of(m.vocab)}, {"s", of(j.batch.sequence)}, {"b", of(j.batch.micro)},
          {"m", of(j.batch.accumulation)}, {"E", of(m.experts.count)}};
}

}  // namespace peers
