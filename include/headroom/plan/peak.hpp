// Distributed under the Boost Software License, Version 1.0.
// The highest peak of all stages of a divided job (Megatron's layers), without the report: by the same walk as engine/tensor_parallel/stages.hpp, of which
// only the heights are added up. A search tries thousands of jobs whose stages, schedules and layers are alike, so each is looked at once.
#pragma once

#include <headroom/estimate.hpp>

#include <vector>

namespace headroom::detail {

/// A moment of a stage's schedule: what runs, and how many micro-batches are held then.
struct scheduled_moment {
  std::int32_t phase{};                ///< 0 forward, 1 loss, 2 backward
  std::int32_t chunk{};                ///< that runs, by its part
  std::array<std::int32_t, 4> held{};  ///< of each
  std::int32_t named{};                ///< tensors as large as an input, by the schedule's variables
  std::int32_t waiting{};              ///< for the gradients of weights

  /// Whether nothing that is held then is missing now.
  [[nodiscard]] constexpr bool covers(const scheduled_moment& o) const {
    return phase == o.phase && chunk == o.chunk && held[0] >= o.held[0] && held[1] >= o.held[1] && held[2] >= o.held[2] && held[3] >= o.held[3] && named >= o.named && waiting >= o.waiting;
  }
};

/// The moments of stages' schedules that no other covers. Whatever chunks weigh, the tallest is among them.
class scheduled_moments {
 public:
  void add(const scheduled_moment& m) {
    if (recent_ < all_.size() && all_[recent_].covers(m)) return;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].covers(m)) {
        recent_ = i;
        return;
      }
    std::erase_if(all_, [&](const scheduled_moment& o) { return m.covers(o); });
    recent_ = all_.size();
    all_.push_back(m);
  }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  std::vector<scheduled_moment> all_;
  std::size_t recent_ = 0;
};

/// The kinds of a stage's chunks, by number: chunks of one kind weigh the same.
class chunk_parts {
 public:
  static constexpr std::size_t most = 4;
  constexpr void set(std::size_t chunk, std::size_t part) { code_[chunk / 32] |= static_cast<std::uint64_t>(part) << (2 * (chunk % 32)); }
  [[nodiscard]] constexpr std::size_t operator[](std::int64_t chunk) const {
    const auto c = static_cast<std::size_t>(chunk);
    return static_cast<std::size_t>(code_[c / 32] >> (2 * (c % 32)) & 3U);
  }
  [[nodiscard]] constexpr std::int64_t code(std::size_t half) const { return static_cast<std::int64_t>(code_[half]); }
  friend constexpr bool operator==(const chunk_parts&, const chunk_parts&) = default;

 private:
  std::array<std::uint64_t, degrees::max_chunks / 32> code_{};
};

/// Writes down the moments of one stage while its order is followed.
class order_watch {
 public:
  order_watch(scheduled_moments& to, chunk_parts parts, std::int64_t head, bool splits) : to_(&to), parts_(parts), head_(head), splits_(splits) {}
  void forward(const work& step, std::int64_t named) {
    look(0, step, named);
    if (step.chunk == head_) look(1, step, named);
    ++now_.held[parts_[step.chunk]];
  }
  void backward(const work& step, std::int64_t named) {
    --now_.held[parts_[step.chunk]];
    look(2, step, named);
    if (splits_) ++now_.waiting;
  }
  void weight_gradient(const work&) { --now_.waiting; }

 private:
  void look(std::int32_t phase, const work& step, std::int64_t named) {
    now_.phase = phase;
    now_.chunk = static_cast<std::int32_t>(parts_[step.chunk]);
    now_.named = static_cast<std::int32_t>(named);
    to_->add(now_);
  }
  scheduled_moments* to_;
  chunk_parts parts_;
  std::int64_t head_;
  bool splits_;
  scheduled_moment now_{};
};

/// A kind of chunk, and stages in a row that hold the same kinds.
struct chunk_kind {
  basic_chunk_cost<height> cost{};
  bool has_embedding{};
};
struct stage_kind {
  std::int64_t first{}, last{};
  std::int64_t chunks{};
  chunk_parts of{};                                   ///< its chunks
  std::array<std::size_t, chunk_parts::most> kinds{}; ///< what is of which
  std::int64_t head{-1};                              ///< the chunk that has it
  std::int64_t given{};                               ///< chunks that have their input from another stage
  stage_parts parts{};
  stage_weights weights{};
};
/// How a job's layers lie on its stages, and room for what its chunks cost. Not `alike`: a stage has more kinds of chunk than are told apart.
struct stage_layout {
  bool alike{true};
  std::vector<chunk_kind> chunks;
  std::vector<stage_kind> stages;
};

/// Layers of the same kinds in the same order; where they lie does not matter, unless a checkpoint holds several that differ.
inline bool same_runs(const chunk_runs& a, const chunk_runs& b) {
  if (a.size != b.size) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size); ++i) {
    const auto &x = a.runs[i], &y = b.runs[i];
    if (x.count != y.count || x.each != y.each || x.sparse != y.sparse || x.recomputes != y.recomputes || (x.each > 1 && x.first != y.first)) return false;
  }
  return true;
}

inline stage_layout layout_of(const settled_job& s, const inventory& list) {
  const auto& j = *s.source;
  const rank_weights weights(s, list);
  const stage_cut cut(j.parallel, s.model.layers);
  stage_layout r;
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
    here.weights = weights.of_stage(cut, stage);
    if (!r.stages.empty()) {
      auto& last = r.stages.back();
      if (last.chunks == here.chunks && last.of == here.of && last.kinds == here.kinds && last.head == here.head && last.given == here.given && last.parts == here.parts && last.weights == here.weights) {
        last.last = stage;
        continue;
      }
    }
    r.stages.push_back(here);
  }
  return r;
}

/// The moments of all stages of a kind.
inline scheduled_moments moments_of(const settled_job& s, const stage_kind& k) {
  const auto& j = *s.source;
  scheduled_moments r;
  for (auto stage = k.first; stage <= k.last; ++stage) {
    const auto plan = plan_of_stage<shipped_order>(j, stage, k.chunks);
    order_watch watch(r, k.of, k.head, properties_of(j.parallel.schedule).splits_backward);
    follow_order(shipped_order{}, plan, stage, boundary_tensors(j.parallel, j.framework.pipeline, k.parts), [&](std::int64_t c) { return c == k.head; }, watch);
  }
  return r;
}

constexpr basic_layer_cost<height> height_of(const layer_cost& c) {
  return {height(c.saved), height(c.forward), height(c.backward), height(c.backward_first), height(c.kept), c.offloaded, c.doubled};
}
constexpr basic_divided_layers<height> height_of(const divided_layers& w) {
  basic_divided_layers<height> r;
  for (std::size_t i = 0; i < 2; ++i) {
    r.whole[i] = height_of(w.whole[i]);
    r.checkpoint[i] = height_of(w.checkpoint[i]);
    r.graphless[i] = height(w.graphless[i]);
  }
  r.norm = height_of(w.norm);
  r.mtp = height_of(w.mtp);
  r.head_saved = height(w.head_saved);
  r.head_forward = height(w.head_forward);
  r.head_backward = height(w.head_backward);
  r.head_kept = height(w.head_kept);
  r.input = w.input;
  return r;
}

/// What the weights of stages of a kind take all the time, and for their optimizer's step.
struct weights_held {
  bytes states, temporaries;
};
inline weights_held weights_held_of(const settled_job& s, const stage_kind& k) { return {states_of_stage(s, k.weights).total(), update_temporaries(s, k.weights)}; }

/// What a layer's walk and a stage's buffers come to for one set of layer keys. Buffers are asked for by what a stage has.
class layer_heights {
 public:
  explicit layer_heights(const settled_job& s) : walk(height_of(walk_divided_layers(s))) { buffers_.fill(bytes{-1}); }
  bytes buffers(const settled_job& s, stage_parts p) {
    auto& known = buffers_[std::size_t{p.dense} + 2 * std::size_t{p.sparse} + 4 * std::size_t{p.first} + 8 * std::size_t{p.last}];
    if (known < bytes{0}) known = resident_of_stage(s, breakdown{}, p).total;
    return known;
  }
  basic_divided_layers<height> walk;

 private:
  std::array<bytes, 16> buffers_;
};

/// The highest peak of all stages. `moments(kind)`: moments_of() it; `held(kind)`: weights_held_of() it.
template <class Moments, class Held>
bytes highest_peak(const settled_job& s, layer_heights& layers, stage_layout& layout, const Moments& moments, const Held& held) {
  const auto& w = layers.walk;
  auto& chunks = layout.chunks;
  for (auto& [cost, has_embedding] : chunks) {
    const auto [embedding_mask, mask] = masks_of(s, has_embedding, cost.has_head);
    begin_walk(cost);
    walk_chunk(cost, *s.source, s.model, w, embedding_mask, mask);
  }
  bytes highest{0};
  for (const auto& k : layout.stages) {
    const auto [states, temporaries] = held(k);
    const auto resident = states + layers.buffers(s, k.parts);
    highest = max(highest, resident + inputs_left(s.source->parallel, k.given, w.input) + temporaries);
    const std::array here{&chunks[k.kinds[0]].cost, &chunks[k.kinds[1]].cost, &chunks[k.kinds[2]].cost, &chunks[k.kinds[3]].cost};
    for (const scheduled_moment& m : moments(k)) {
      const auto& runs = *here[static_cast<std::size_t>(m.chunk)];
      auto all = resident + (m.phase == 0 ? runs.forward : m.phase == 1 ? runs.loss : runs.backward).total + m.named * w.input;
      for (std::size_t i = 0; i < here.size(); ++i)
        if (m.held[i] != 0) all += m.held[i] * here[i]->saved.total;
      if (m.waiting != 0) all += m.waiting * here[0]->kept.total;
      highest = max(highest, all);
    }
  }
  return highest;
}

}  // namespace headroom::detail
