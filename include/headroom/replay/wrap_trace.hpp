// Distributed under the Boost Software License, Version 1.0.
// Loading a model into FSDP1 units on the GPU, allocation by allocation. Nothing of it is needed later, but the segments stay cached.
#pragma once

#include <headroom/engine/eager/pools.hpp>
#include <headroom/replay/block_trace.hpp>
#include <headroom/states/outside.hpp>

#include <deque>
#include <vector>

namespace headroom {

namespace detail {

/// Each weight is quantised on the GPU and leaves its statistics there (bitsandbytes functional.py quantize_4bit); then the cache is emptied
/// (fsdp_qlora train.py, load_and_quantize, fsdp_main).
inline void quantise_weights(tensor_memory& m, caching_allocator& a, const settled_job& s, const inventory& list) {
  const auto& format = s.source->adapter.base;
  for (const auto& w : list) {
    if (!w.linear || w.vector() || !s.layer.quantised.has(w.role)) continue;
    for (std::int64_t i = 0; i < w.copies(); ++i) {
      auto wide = m.make(bytes{checked::mul(w.elements(), s.precision.parameters.width())}, row::temporaries);
      auto scales = m.make(bytes{checked::mul(checked::ceil_div(w.elements(), 64), 4)}, row::temporaries);
      auto packed = m.make(bytes{checked::ceil_div(checked::mul(w.elements(), format.bits), 8)}, row::model_parameters);
      m.make(format.metadata(w.rows, w.columns), row::model_parameters);
      m.free(scales);
      m.free(wide);
      m.free(packed);
    }
  }
  a.empty_cache();
}

/// One unit: its parameters and buffers are moved, broadcast in buckets of which two are under way, concatenated, and cut. A bucket of one
/// tensor is that tensor itself (torch csrc/utils/tensor_flatten.h). NCCL's stream is told of what it reads, so that this is not free
/// before the next unit's first copy from the host has waited for it.
inline void wrap_unit(tensor_memory& m, const std::vector<bytes>& tensors, bytes buffers, std::int64_t ranks, bool stays) {
  struct tensor {
    tensor_memory::handle storage;
    bool sent;
  };
  std::vector<tensor> moved;
  bytes all{0};
  for (const auto t : tensors) {
    moved.push_back({m.make(t, row::model_parameters), false});
    m.wait_for_all();
    all += t;
  }
  m.make(buffers, row::activations);
  std::deque<tensor_memory::handle> under_way;
  bytes bucket{0};
  std::size_t count = 0;
  const auto send = [&](std::size_t end) {
    if (under_way.size() == 2) {
      m.retire(under_way.front());
      under_way.pop_front();
    }
    under_way.push_back(count == 1 ? tensor_memory::none : m.make(bucket, row::communication_buffers));
    if (count == 1) moved[end - 1].sent = true;
    bucket = bytes{0};
    count = 0;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bucket += tensors[i];
    ++count;
    if (bucket >= broadcast_bucket) send(i + 1);
  }
  if (count > 0) send(tensors.size());
  for (auto& h : under_way) m.retire(h);
  auto flat = m.make(all, row::gathered_parameters);
  for (auto& t : moved) {
    if (t.sent)
      m.retire(t.storage);
    else
      m.free(t.storage);
  }
  if (stays && ranks > 1) m.make(ceil_div(all, ranks), row::model_parameters);
  if (!stays || ranks > 1) m.free(flat);
}

/// Units from the inside out: a layer's adapters, the layer, and at last what lies outside the layers.
inline void wrap_units(tensor_memory& m, const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  const auto d = s.shards.parameters;
  const bool stays = j.offload.parameters == place::on_gpu;
  const auto width = s.precision.parameters.width();
  const auto size_of = [&](const weight& w) {
    const bool packed = w.linear && !w.vector() && s.layer.quantised.has(w.role);
    return bytes{packed ? checked::ceil_div(checked::mul(w.elements(), j.adapter.base.bits), 8) : checked::mul(w.elements(), width)};
  };
  std::vector<bytes> root, one(1);
  for (const auto& w : list)
    for (std::int64_t i = 0; w.layers.count == 0 && i < w.per_layer; ++i) root.push_back(size_of(w));
  for (std::int64_t layer = 0; layer < s.model.layers; ++layer) {
    std::vector<bytes> unit, norms;  // a decoder layer of transformers names its norms last
    for (const auto& w : list) {
      if (!w.layers.has(layer)) continue;
      for (std::int64_t i = 0; i < w.per_layer; ++i) (w.role == module::norm ? norms : unit).push_back(size_of(w));
      const auto rows = w.linear && !w.vector() && s.layer.adapts(w.role) ? adapted_rows(s, w) : 0;
      if (rows == 0) continue;
      for (const auto elements : {checked::mul(j.adapter.rank, w.columns), checked::mul(rows, j.adapter.rank)}) {
        const bytes matrix{checked::mul(elements, s.layer.adapter_kept)};
        if (!j.framework.sharding.wraps_adapters) {
          unit.push_back(matrix);
          continue;
        }
        one[0] = matrix;
        wrap_unit(m, one, bytes{0}, d, stays);
      }
    }
    unit.insert(unit.end(), norms.begin(), norms.end());
    wrap_unit(m, unit, j.framework.rotary.tables == rope_tables::in_each_layer ? rotary_caches(s) : bytes{0}, d, stays);
  }
  wrap_unit(m, root, bytes{0}, d, stays);
  m.wait_for_all();
}

}  // namespace detail

}  // namespace headroom
