// Distributed under the Boost Software License, Version 1.0.
// The highest peak of all stages of a divided job (Megatron's layers), without the report: by the same walk as engine/tensor_parallel/stages.hpp,
// of which only the heights are added up. A search tries thousands of jobs whose stages, schedules and layers are alike, so each is looked at once.
#pragma once

#include <headroom/plan/heights.hpp>
#include <headroom/plan/moments.hpp>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace headroom::detail {

/// A kind of chunk, and stages in a row that hold the same kinds.
struct chunk_kind {
  basic_chunk_cost<height> cost{};
  bool has_embedding{};
};
class stage_order;
struct stage_kind {
  std::int64_t first{}, last{};
  std::int64_t chunks{};
  chunk_parts of{};                                   ///< its chunks
  std::array<std::size_t, chunk_parts::most> kinds{}; ///< what is of which
  std::int64_t head{-1};                              ///< the chunk that has it
  std::int64_t given{};                               ///< chunks that have their input from another stage
  stage_parts parts{};
  stage_order* order{};                               ///< of all its stages
};
/// How a job's layers lie on its stages, and room for what its chunks cost. Not `alike`: a stage has more kinds of chunk than are told apart.
struct stage_layout {
  bool alike{true};
  std::vector<chunk_kind> chunks;
  std::vector<stage_kind> stages;
};

/// Layers of the same kinds in the same order; where they lie does not matter, unless a checkpoint holds several that differ.
inline bool same_runs(const chunk_runs& a, const chunk_runs& b) {
  if (a.size != b.size || a.of_pattern != b.of_pattern) return false;
  if (a.of_pattern) return a.first == b.first && a.again == b.again;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size); ++i) {
    const auto &x = a.runs[i], &y = b.runs[i];
    if (x.count != y.count || x.each != y.each || x.place != y.place || x.recomputes != y.recomputes || (x.each > 1 && x.first != y.first)) return false;
  }
  return true;
}

/// Without the orders.
inline stage_layout layout_of(const settled_job& s) {
  const auto& j = *s.source;
  const auto cut = cut_into_stages(j, s.model);
  stage_layout r;
  r.alike = properties_of(j.parallel.schedule).place != chunk_place::in_a_v;  // chunks that wait for their weights' gradients are counted together
  const auto kind_of = [&](const chunk_kind& k) {
    for (std::size_t i = 0; i < r.chunks.size(); ++i)
      if (r.chunks[i].has_embedding == k.has_embedding && r.chunks[i].cost.has_head == k.cost.has_head && same_runs(r.chunks[i].cost, k.cost)) return i;
    r.chunks.push_back(k);
    return r.chunks.size() - 1;
  };
  for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
    stage_kind here{.first = stage, .last = stage};
    std::size_t parts = 0;
    cut.for_each(stage, [&](const layer_chunk& c) {
      const bool head = c.index == cut.chunks() - 1;
      if (here.chunks == degrees::max_chunks) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", j.parallel.virtual_pipeline);
      const auto kind = kind_of({chunk_of<height>(cut_chunk(j, s.model, c, here.parts), head), c.index == 0});
      std::size_t part = 0;
      while (part < parts && here.kinds[part] != kind) ++part;
      r.alike = r.alike && part < here.kinds.size();
      if (!r.alike) part = 0;
      if (part == parts) here.kinds[parts++] = kind;
      here.of.set(static_cast<std::size_t>(here.chunks), part);
      if (head) here.head = here.chunks;
      ++here.chunks;
      add_ends(here.parts, s.model, c.index == 0, head);
      if (c.index > 0) ++here.given;
    });
    if (!r.stages.empty()) {
      auto& last = r.stages.back();
      if (last.chunks == here.chunks && last.of == here.of && last.kinds == here.kinds && last.head == here.head && last.given == here.given && last.parts == here.parts) {
        last.last = stage;
        continue;
      }
    }
    r.stages.push_back(here);
  }
  return r;
}

/// The orders of all stages of a kind: their moments, by how many micro-batches there are.
class stage_order {
 public:
  struct followed {
    scheduled_moments all;
    scheduled_moment most = all.most();
  };
  const followed& moments(const settled_job& s, const stage_kind& k, std::int64_t micros) {
    for (const auto& known : by_micros_)
      if (known.first == micros) return known.second;
    return by_micros_.emplace_back(micros, followed{follow(s, k)}).second;
  }

 private:
  static scheduled_moments follow(const settled_job& s, const stage_kind& k) {
    const auto& j = *s.source;
    scheduled_moments r;
    for (auto stage = k.first; stage <= k.last; ++stage) {
      const auto plan = plan_of_stage<shipped_order>(j, stage, k.chunks);
      order_watch watch(r, k.of, k.head, properties_of(j.parallel.schedule).splits_backward);
      follow_order(shipped_order{}, plan, stage, boundary_tensors(j.parallel, j.framework.pipeline, k.parts), watch);
    }
    return r;
  }
  std::deque<std::pair<std::int64_t, followed>> by_micros_;  // they stay where they are
};

/// What the weights of a stage take all the time, for their optimizer's step, and while they are loaded.
struct weights_held {
  bytes states, temporaries, load;
};
inline weights_held weights_held_of(const settled_job& s, const rank_weights& weights, std::int64_t stage) {
  const auto cut = cut_into_stages(*s.source, s.model);
  const auto w = weights.of_stage(cut, stage);
  const auto states = states_of_stage(s, w);
  return {states.total(), update_temporaries(s, w), load_of_stage(s, weights, cut, stage, states).total};
}

/// The stages of jobs that differ in batch.micro and batch.accumulation alone.
class stage_peaks {
 public:
  /// `held(kind)`: weights_held_of() its first stage. The layout has to outlive this.
  template <class Held>
  void begin(const settled_job& s, stage_layout& layout, const Held& held) {
    layout_ = &layout;
    stages_.clear();
    least_ = bytes{0};
    for (const auto& k : layout.stages) {
      stages_.push_back({.kind = &k, .held = held(k), .enough = most_micros(*s.source, k.first)});
      const auto& held_here = stages_.back().held;
      least_ = max(least_, max(held_here.load, held_here.states + held_here.temporaries));
    }
  }
  /// What no batch is smaller than.
  [[nodiscard]] bytes least() const { return least_; }

  /// The highest peak of all stages, or a peak that is above `limit`.
  bytes highest(const settled_job& s, layer_heights& layers, bytes limit) {
    const auto& w = layers.plain;
    for (auto& [cost, has_embedding] : layout_->chunks) {
      const auto [embedding_mask, mask] = masks_of(s, has_embedding, cost.has_head);
      begin_walk(cost);
      walk_chunk(cost, *s.source, s.model, w, embedding_mask, mask);
    }
    bytes highest{0};
    for (auto& stage : stages_) {
      const auto& k = *stage.kind;
      const auto resident = stage.held.states + layers.buffers(s, k.parts);
      highest = max(max(highest, stage.held.load), resident + inputs_left(*s.source, k.given, w.input) + stage.held.temporaries);
      const auto micros = std::min(s.source->batch.accumulation, stage.enough);
      if (micros != stage.micros) stage.moments = &k.order->moments(s, k, stage.micros = micros);
      highest = max(highest, resident + tallest(k, *stage.moments, w.input, highest - resident));
      if (highest > limit) break;
    }
    return highest;
  }

 private:
  /// What stages of a kind hold at their tallest moment, beside what they hold all the time; or something that is not above `enough`.
  [[nodiscard]] bytes tallest(const stage_kind& k, const stage_order::followed& moments, bytes input, bytes enough) const {
    std::array<const basic_chunk_cost<height>*, chunk_parts::most> parts{};
    bytes sum{0}, peak{0};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& c = *(parts[i] = &layout_->chunks[k.kinds[i]].cost);
      peak = max(peak, max(c.forward.total, max(c.loss.total, c.backward.total)));
      sum += moments.most.held[i] * c.saved.total;
    }
    const auto kept = parts[0]->kept.total;
    sum += peak + moments.most.named * input + moments.most.waiting * kept;
    if (sum <= enough) return sum;
    std::int64_t tallest = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t phase = 0; phase < 3; ++phase) {
        const auto runs = phase == 0 ? parts[i]->forward : phase == 1 ? parts[i]->loss : parts[i]->backward;
        for (const scheduled_moment& m : moments.all.of(phase, i)) {  // no part is above `sum`, which was checked
          auto all = runs.total.count() + m.named * input.count() + m.waiting * kept.count();
          for (std::size_t n = 0; n < parts.size(); ++n) all += m.held[n] * parts[n]->saved.total.count();
          tallest = std::max(tallest, all);
        }
      }
    return bytes{tallest};
  }

  struct stage_in_line {
    const stage_kind* kind;
    weights_held held;
    std::int64_t enough;  ///< micro-batches; more of them change nothing
    std::int64_t micros{-1};
    const stage_order::followed* moments{};
  };
  stage_layout* layout_{};
  std::vector<stage_in_line> stages_;
  bytes least_{};
};

}  // namespace headroom::detail
