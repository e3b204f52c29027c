// Distributed under the Boost Software License, Version 1.0.
// A model whose layers are spread over the GPUs of one process, one micro-batch at a time: device_map="auto".
// Source: accelerate utils/modeling.py get_balanced_memory, infer_auto_device_map; big_modeling.py dispatch_model.
#pragma once

#include <headroom/layout/stages.hpp>
#include <headroom/states/states.hpp>

namespace headroom {

namespace detail {

/// The weights of a slice.
constexpr inventory weights_of_slice(const inventory& list, const model_slice& here) {
  inventory r = inventory::blank();
  for (auto w : list) {
    if (w.layers.count == 0) {
      const bool in_front = w.role == module::embedding || w.role == module::position || w.role == module::vision || w.role == module::projector;
      if (in_front ? here.embedding : here.head) r.add(w);
      continue;
    }
    w.layers = w.layers.within(here.first, here.end());
    if (w.layers.count > 0) r.add(w);
  }
  return r;
}

[[gnu::noinline]] constexpr state_bytes states_of_slice(const settled_job& s, const inventory& list, const model_slice& here) {
  return states(s, weights_of_slice(list, here));
}

/// Where accelerate puts the layers: every GPU but the last takes an even share of the weights and 1.25 layers more, the first
/// one less the largest module (room for what might be offloaded); the last takes what is left. Modules are whole: embedding,
/// layers, head. (Where a model has fewer bytes in a layer than in its modules' mean, that mean would count instead.)
constexpr degrees spread_layers(const settled_job& s, const inventory& list) {
  auto d = s.source->parallel;
  if (chunks_given(d) > 0) return d;
  const auto size_of = [&](const model_slice& here) { return states_of_slice(s, list, here).gpu[row::model_parameters].count(); };
  const auto layers = s.model.layers;
  const auto embedding = size_of({0, 0, true, false}), head = size_of({0, 0, false, true});
  const auto all = size_of({0, layers, true, true});
  d.chunks = static_cast<std::int32_t>(d.pipeline);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < d.pipeline; ++i) {
    auto& here = d.stage_layers[i];
    here = 0;
    const auto layer = next < layers ? size_of({next, 1, false, false}) : 0;
    auto room = checked::add(all / d.pipeline, checked::mul(5, layer) / 4);
    if (i == 0) room -= embedding + (head > layer ? head : layer);
    for (; next < layers && (i == d.pipeline - 1 || room >= layer); ++next, ++here) room -= layer;
  }
  return d;
}

}  // namespace detail

/// The slices of a job whose layers are spread over devices. A tied head lies with its embedding.
constexpr model_slice slice_of(const degrees& d, bool tied, std::int64_t device) {
  model_slice r;
  for (std::int64_t i = 0; i < device; ++i) r.first += d.stage_layers[i];
  r.count = d.stage_layers[device];
  r.embedding = device == 0;
  r.head = tied ? device == 0 : device == d.pipeline - 1;
  return r;
}

}  // namespace headroom
