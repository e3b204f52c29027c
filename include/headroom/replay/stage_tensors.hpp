// Distributed under the Boost Software License, Version 1.0.
// The weights of a pipeline stage as the tensors that a trainer of divided layers makes, one by one, in the order it makes them.
// Sources: Megatron-LM core/transformer/attention.py (linear_proj, then linear_qkv), mlp.py (linear_fc1),
// core/optimizer/distrib_optimizer.py _build_model_gbuf_range.
#pragma once

#include <headroom/engine/tensor_parallel/stage_states.hpp>

#include <algorithm>
#include <vector>

namespace headroom {

/// A tensor of one rank.
struct stage_tensor {
  std::int64_t elements{};
  bool expert{};
  bool plain{};  ///< what an optimizer for matrices leaves to AdamW
  std::int64_t chunk{};
  bool frozen{};   ///< beside adapters
  bool adapter{};
};

namespace detail {

/// The matrix that another is made with: q, k and v are one tensor, gate and up another.
constexpr module made_with(module m) {
  switch (m) {
    case module::k_proj:
    case module::v_proj: return module::q_proj;
    case module::up_proj: return module::gate_proj;
    case module::experts_up: return module::experts_gate;
    case module::shared_up: return module::shared_gate;
    default: return m;
  }
}

class stage_tensors {
 public:
  stage_tensors(const settled_job& s, const inventory& list) : job_(&s), list_(&list) {}

  std::vector<stage_tensor> of(const stage_cut& cut, std::int64_t stage) {
    const auto at_front = [](const weight& w) { return w.role == module::embedding || w.role == module::position; };
    const bool copies_embedding = job_->model.tied || job_->model.mtp_layers > 0;
    bool first = false;
    cut.for_each(stage, [&](const layer_chunk& c) {
      chunk_ = c.index;
      if (c.index == 0) outside(at_front);
      first = first || c.index == 0;
      for (std::int64_t i = 0; i < c.count; ++i) add_layer(c.first + i);
      if (c.index != cut.chunks() - 1) return;
      outside([&](const weight& w) { return !at_front(w); });
      if (copies_embedding && !first) outside([](const weight& w) { return w.role == module::embedding; });
    });
    if (job_->source->adapter.active()) adapters(cut, stage);
    return std::move(all_);
  }

 private:
  struct group {
    module role;
    bool vector;
    stage_tensor each;
    std::int64_t copies;
  };

  [[nodiscard]] stage_tensor here(const weight& w) const {
    const auto& d = job_->source->parallel;
    const auto parts = w.expert ? d.expert_tensor : w.split == split_axis::none ? 1 : d.tensor;
    return {w.elements() / parts, w.expert, plain(w), chunk_};
  }

  template <class Choose>
  void outside(Choose choose) {
    for (const auto& w : *list_)
      if (w.layers.count == 0 && choose(w)) all_.insert(all_.end(), static_cast<std::size_t>(w.per_layer), here(w));
  }

  /// LoRA's matrices come when the model is there, layer by layer; A and B of one weight are told of together.
  void adapters(const stage_cut& cut, std::int64_t stage) {
    for (auto& t : all_) t.frozen = true;
    cut.for_each(stage, [&](const layer_chunk& c) {
      for (std::int64_t i = 0; i < c.count; ++i)
        for (const auto& w : *list_) {
          const auto n = w.layers.has(c.first + i) ? adapter_elements(*job_, w) : 0;
          const auto copies = w.expert ? w.per_layer / job_->source->parallel.expert : w.per_layer;
          if (n > 0) all_.insert(all_.end(), static_cast<std::size_t>(copies), {.elements = n, .expert = w.expert, .chunk = c.index, .adapter = true});
        }
    });
  }

  void add_layer(std::int64_t layer) {
    groups_.clear();
    for (const auto& w : *list_) {
      if (!w.layers.has(layer)) continue;
      const auto with = job_->model.latent() && w.role == module::k_proj ? w.role : made_with(w.role);
      const auto same = [&](const group& g) { return g.role == with && g.vector == w.vector(); };
      const auto found = with == w.role ? groups_.end() : std::find_if(groups_.begin(), groups_.end(), same);
      const auto each = here(w);
      if (found != groups_.end())
        found->each.elements += each.elements;
      else
        groups_.push_back({with, w.vector(), each, w.expert ? w.per_layer / job_->source->parallel.expert : w.per_layer});
    }
    std::stable_partition(groups_.begin(), groups_.end(), [](const group& g) { return g.role == module::o_proj; });
    for (const auto& g : groups_) all_.insert(all_.end(), static_cast<std::size_t>(g.copies), g.each);
  }

  const settled_job* job_;
  const inventory* list_;
  std::int64_t chunk_{};       // that is being added
  std::vector<group> groups_;  // of the layer that is being added
  std::vector<stage_tensor> all_;
};

}  // namespace detail

/// The weights of a stage in the order in which they are made.
inline std::vector<stage_tensor> tensors_of_stage(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage) {
  return detail::stage_tensors(s, list).of(cut, stage);
}

/// What the last of `ranks` ranks holds of a buffer that they divide: tensors lie in it one after the other, the last first, and some
/// are cut.
inline std::vector<stage_tensor> last_share(const std::vector<stage_tensor>& all, bool experts, std::int64_t ranks) {
  std::int64_t total = 0;
  for (const auto& t : all)
    if (t.expert == experts) total += t.elements;
  auto left = total / ranks;  // from the buffer's end, which is where the first tensor lies
  std::vector<stage_tensor> mine;
  for (auto t : all) {
    if (t.expert != experts || left <= 0) continue;
    t.elements = std::min(t.elements, left);
    left -= t.elements;
    mine.push_back(t);
  }
  return mine;
}

}  // namespace headroom
