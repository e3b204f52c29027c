// Distributed under the Boost Software License, Version 1.0.
// What an optimizer's update makes for a moment, allocation by allocation.
#pragma once

#include <headroom/engine/eager/step.hpp>
#include <headroom/replay/load_trace.hpp>

#include <utility>
#include <vector>

namespace headroom::detail {

/// Tensors that go at once, the last one first, as a cache of blocks takes them best.
inline void free_reversed(tensor_memory& m, std::vector<tensor_memory::handle>& list) {
  for (auto i = list.size(); i-- > 0;) m.free(list[i]);
  list.clear();
}

/// Copies of the tensors of one format, then of the other's, each named until the next is there.
inline void update_foreach(tensor_memory& m, const loaded_model& model, std::size_t copies) {
  std::vector<std::vector<tensor_memory::handle>> named(copies);
  for (const auto& group : model.updates) {
    if (group.empty()) continue;
    for (auto& copy : named) {
      std::vector<tensor_memory::handle> made;
      for (const auto b : group) made.push_back(m.make(b, row::temporaries));
      free_reversed(m, copy);
      copy = std::move(made);
    }
  }
  for (auto& copy : named) free_reversed(m, copy);
}

/// Two temporaries of each tensor, then the tallest moment: Python still names the result of the tensor before (states/state_sum.hpp).
inline void update_one_by_one(tensor_memory& m, const loaded_model& model, const state_bytes& st, bool keeps_previous) {
  for (const auto& group : model.updates)
    for (const auto b : group) {
      auto first = m.make(b, row::temporaries), second = m.make(b, row::temporaries);
      m.free(first);
      m.free(second);
    }
  const auto previous = keeps_previous ? st.loop_previous : bytes{0};
  const auto one = keeps_previous ? (st.loop_temporary - st.loop_previous) / 2 : st.largest_trained;
  tensor_memory::handle tallest[] = {m.make(previous, row::temporaries), m.make(one, row::temporaries), m.make(one, row::temporaries)};
  for (auto& h : tallest) m.free(h);
}

/// An optimizer's own code, tensor by tensor (recipe/update_programs.hpp), then the tallest moment of all, in blocks of the largest tensor.
inline void update_by_own_code(tensor_memory& m, const update_program& p, const loaded_model& model, const state_bytes& st) {
  struct held {
    tensor_memory::handle of{tensor_memory::none};
  };
  std::array<held, update_program::names> named{};
  const auto free = [&](held& h) { m.free(h.of); };
  bytes largest{0};
  const auto make = [&](std::int64_t n) {
    largest = max(largest, bytes{n});
    return held{n > 0 ? m.make(bytes{n}, row::temporaries) : tensor_memory::none};
  };
  for (const auto& t : model.updated) run_update(p, t, named, make, free);
  for (auto& h : named) free(h);
  auto tallest = m.make_cut(st.own_update, largest, row::temporaries);
  m.free(tallest);
}

inline void allocate_update(tensor_memory& m, const settled_job& s, const loaded_model& model, const state_bytes& st) {
  const auto& habits = s.source->framework.optimizer;
  m.begin_product();  // where no matrix was multiplied in backward
  if (updates_by_copies(s)) {
    auto copies = m.make(update_of_one(s, st), row::temporaries);
    m.free(copies);
  } else if (s.optimizer.by_tensor != nullptr) {
    update_by_own_code(m, *s.optimizer.by_tensor, model, st);
  } else if (s.optimizer.how == implementation::foreach) {
    update_foreach(m, model, static_cast<std::size_t>(foreach_copies(s)));
  } else if (s.optimizer.how == implementation::loop) {
    update_one_by_one(m, model, st, habits.loop_keeps_previous);
  }
}

}  // namespace headroom::detail
