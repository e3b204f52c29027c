// Distributed under the Boost Software License, Version 1.0.
// The optimizer's step written out, allocation by allocation. The first makes its state.
#pragma once

#include <headroom/replay/load_trace.hpp>

#include <utility>
#include <vector>

namespace headroom {

/// Tensors that go at once, the last one first, as a cache of blocks takes them best.
inline void free_reversed(tensor_memory& memory, std::vector<tensor_memory::handle>& handles) {
  for (auto i = handles.size(); i-- > 0;) memory.free(handles[i]);
}

/// `averaged`: the partition of gradients that ZeRO stages 1 and 2 reduced.
inline void trace_update(const settled_job& s, const windows& w, loaded_model& start, tensor_memory::handle& averaged, tensor_memory& memory) {
  const auto& habits = s.source->framework;
  for (const auto b : start.states) memory.make(b);
  start.states.clear();
  if (w.partition > bytes{0}) {
    auto flat = memory.make(w.flat_gradients), wide = memory.make(w.wide_gradients);
    memory.free(flat);
    memory.free(averaged);
    memory.free(wide);
  }
  if (w.partition == bytes{0} || w.step.total > w.flat_gradients + w.wide_gradients) {
    auto buffers = memory.make(w.step.total);
    memory.free(buffers);
  }
  if (s.source->offload.optimizer != place::on_gpu || s.optimizer.in_backward) return;
  if (s.optimizer.how == implementation::foreach) {
    std::vector<std::vector<tensor_memory::handle>> named(static_cast<std::size_t>(habits.optimizer.foreach_copies));  // until the other format's are there
    for (const auto& group : start.updates) {
      if (group.empty()) continue;
      for (auto& copy : named) {
        std::vector<tensor_memory::handle> made;
        for (const auto b : group) made.push_back(memory.make(b));
        free_reversed(memory, copy);
        copy = std::move(made);
      }
    }
    for (auto& copy : named) free_reversed(memory, copy);
  } else if (s.optimizer.how == implementation::loop) {
    for (const auto& group : start.updates)
      for (const auto b : group) {
        auto first = memory.make(b), second = memory.make(b);
        memory.free(first);
        memory.free(second);
      }
  }
}

}  // namespace headroom
