// Distributed under the Boost Software License, Version 1.0.
// What a trace of a step runs: the programs of embedding, layers and loss, and of each layer the tensors that it has at the moment.
#pragma once

#include <headroom/engine/eager/layer_runs.hpp>
#include <headroom/engine/eager/step_parts.hpp>
#include <headroom/replay/block_trace.hpp>

#include <memory>
#include <vector>

namespace headroom {

/// A layer of a stack that is replayed.
struct traced_layer {
  std::size_t kind{};      ///< in traced_stack::kinds
  bool recomputes{};
  tensor_memory::handle input{tensor_memory::none};  ///< of a checkpoint
  std::vector<block_tensors> parts;
};

/// What layers of a run have in common.
struct traced_kind {
  std::vector<program> parts;
};

/// Layers that run one behind another, and the scripts of their kinds.
struct traced_stack {
  scene sizes;
  bool leaf{};             ///< the embedding's result is a leaf that needs a gradient
  std::unique_ptr<detail::run_room<detail::layer_runs::most>> room = std::make_unique<detail::run_room<detail::layer_runs::most>>();  ///< large, so not on the stack
  detail::layer_runs cut = room->all();
  std::vector<traced_kind> kinds;
  std::vector<traced_layer> layers;

  template <class Layers>
  traced_stack(const settled_job& s, const Layers& own, const prelude* beside = nullptr) : sizes(s.layer) {
    sizes.model = &s.model;
    sizes.memory_has_gradient = beside != nullptr && beside->has_gradient;
    const auto& j = *s.source;
    const auto outside = trained_modules(j, -1);
    const bool compiled = sizes.compiled;
    sizes.compiled = false;
    ends_.reserve(2);
    const auto keep = [&](const program& p) { ends_.push_back(p); };
    const bool patches = s.model.vision.kind != vision_kind::none && s.model.vision.layers == 0;
    with_made([&] { return patches ? patch_embedding(sizes, outside) : headroom::embedding(sizes, outside); }, keep);
    const auto& emb = embedding();
    leaf = detail::embedding_is_leaf(s, emb);
    bool flows = leaf || emb.needs_gradient(emb.output()) || (sizes.memory_has_gradient && s.model.encoder.layers == 0);
    auto& runs = cut;
    detail::cut_layers(runs, s, sizes, {0, s.model.layers}, flows);
    sizes.compiled = compiled;
    for (std::size_t i = 0; i < runs.size; ++i) {
      auto& r = runs.list[i];
      r.back = r.input_has_gradient || (!r.still && detail::anything_trains(sizes, r.trained));
      r.recomputes = r.recomputes && r.back;
      const auto before = kinds.size();  // those of this run begin here, in the order of the group
      for (auto l = r.first; l < r.first + r.span; ++l) {
        traced_kind kind;
        own.for_each_block(sizes, s.model.kind_of(l), r.trained, r.input_has_gradient, [&](const program& p) { kind.parts.push_back(p); });
        kinds.push_back(std::move(kind));
      }
      flows = flows || r.back;
      for (std::int64_t n = 0; n < r.count * r.span; ++n) {
        const auto k = before + static_cast<std::size_t>(n % r.span);
        layers.push_back({k, r.recomputes, tensor_memory::none, std::vector<block_tensors>(kinds[k].parts.size())});
      }
    }
    sizes.compiled = false;
    with_made([&] { return detail::tail_of(sizes, outside, flows); }, keep);
  }

  /// A stack before the main one (engine/eager/prelude.hpp), of layers that are alike.
  traced_stack(const scene& of, detail::layer_run run, const auto& front, const auto& back) : sizes(of), own_(std::make_unique<kept_parts>(kept_parts{*of.model, *of.side})) {
    sizes.model = &own_->stack;
    sizes.side = &own_->side;
    const auto keep = [&](const program& p) { ends_.push_back(p); };
    with_made(front, keep);
    leaf = run.input_has_gradient && !embedding().needs_gradient(embedding().output());
    traced_kind kind;
    headroom::for_each_block(sizes, run.kind, run.trained, run.input_has_gradient, [&](const program& p) { kind.parts.push_back(p); });
    kinds.push_back(std::move(kind));
    const bool back_runs = run.input_has_gradient || detail::anything_trains(sizes, run.trained);
    for (std::int64_t n = 0; n < run.count; ++n)
      layers.push_back({0, run.recomputes && back_runs, tensor_memory::none, std::vector<block_tensors>(kinds[0].parts.size())});
    with_made(back, keep);
  }

  [[nodiscard]] const program& embedding() const { return ends_.front(); }
  [[nodiscard]] const program& tail() const { return ends_.back(); }

 private:
  struct kept_parts {
    shape stack;
    adapter side;
  };
  std::unique_ptr<kept_parts> own_{};  ///< what the scene of a stack before the main one points to
  std::vector<program> ends_;  // the embedding's, and what comes after the layers
};

}  // namespace headroom
