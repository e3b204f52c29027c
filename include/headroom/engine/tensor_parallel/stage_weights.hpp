// Distributed under the Boost Software License, Version 1.0.
// What one rank of a pipeline stage holds of a model's weights, where layers are divided.
#pragma once

#include <headroom/states/adapted_weight.hpp>
#include <headroom/settle/stages.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom {

namespace detail {

/// Weights of one rank of a stage: those that all data-parallel ranks hold, and experts, which fewer do.
struct stage_weights {
  parameters dense{};
  parameters experts{};
  parameters linear{};  ///< of all, matrices of TransformerEngine's linear layers: what fp8 is for
  parameters plain{};  ///< of the dense ones, vectors, embeddings and heads: an optimizer for matrices leaves them to AdamW, but for learned
                       ///< positions (core/optimizer/emerging_optimizers.py _is_nonlinear_or_embedding)
  /// LoRA's matrices beside the dense weights, and beside experts. They lie where fp8 and Muon look, which do not go with adapters
  /// (check_megatron_adapters): there is one of these for each span of layers, on the stack.
  [[nodiscard]] constexpr parameters adapters() const { return linear; }
  [[nodiscard]] constexpr parameters expert_adapters() const { return plain; }
  constexpr stage_weights& operator+=(const stage_weights& o) {
    dense += o.dense;
    experts += o.experts;
    linear += o.linear;
    plain += o.plain;
    return *this;
  }
  friend constexpr stage_weights operator*(std::int64_t n, const stage_weights& w) { return {n * w.dense, n * w.experts, n * w.linear, n * w.plain}; }
  bool operator==(const stage_weights&) const = default;
};

/// What trains of them, as weights of a stage: all, or the adapters alone.
constexpr stage_weights trained_of(const settled_job& s, const stage_weights& w) {
  return s.source->adapter.active() ? stage_weights{.dense = w.adapters(), .experts = w.expert_adapters()} : w;
}

/// A vector, an embedding or a head. Learned positions are a matrix.
constexpr bool plain(const weight& w) { return !w.expert && (w.vector() || w.role == module::embedding || w.role == module::head); }

/// How many of a weight's layers lie in a chunk.
constexpr std::int64_t layers_within(const layer_span& span, const layer_chunk& chunk) {
  return span.below(chunk.first + chunk.count) - span.below(chunk.first);
}

/// What one rank of any stage holds of the inventory: per layer of each span of layers, and outside the stack. Added up once for
/// a job, so that a stage only counts layers.
class rank_weights {
 public:
  constexpr rank_weights(const settled_job& s, const inventory& list) : list_(&list) {
    const auto& d = s.source->parallel;
    for (const auto& w : list) {
      const auto whole = w.elements();
      const bool sees = w.role == module::vision || w.role == module::projector;
      if (sees && s.model.vision.kind != vision_kind::megatron_clip) [[unlikely]] {
        frozen_ += parameters{checked::mul(whole, w.copies())};
        continue;
      }
      const bool score = w.role == module::head && s.model.head == head_kind::none;  // of classes, whole on every rank
      const auto here = w.expert ? whole / checked::mul(d.expert, d.expert_tensor) : w.split == split_axis::none || d.tensor == 1 || score ? whole : whole / d.tensor;
      const parameters all{checked::mul(here, w.per_layer)};
      auto& to = w.layers.count > 0 ? of_span(w.layers) : sees || w.role == module::embedding || w.role == module::position ? front_ : back_;
      (w.expert ? to.experts : to.dense) += all;
      if (s.source->adapter.active()) [[unlikely]] {
        const parameters beside{checked::mul(adapter_elements(s, w), w.expert ? w.per_layer / d.expert : w.per_layer)};
        (w.expert ? to.plain : to.linear) += beside;
        if (s.source->adapter.modules_to_save.has(w.role)) to.linear += all;  // a copy trains beside the original
      } else {
        if (detail::plain(w)) to.plain += all;
        if (w.linear && !w.vector() && w.role != module::head && w.role != module::router) to.linear += all;
      }
      // The head that is tied to the embedding, and the embedding that multi-token prediction reads, are a copy where it is not.
      if (w.role == module::embedding && (s.model.tied || s.model.mtp_layers > 0)) copy_ += all;
    }
  }

  /// What they were added up from; it has to outlive this.
  [[nodiscard]] constexpr const inventory& list() const { return *list_; }

  /// The weights of a stage's chunks, one by one: visit(stage_weights).
  constexpr void for_each_chunk(const stage_cut& cut, std::int64_t stage, auto&& visit) const {
    bool first = false;
    cut.for_each(stage, [&](const layer_chunk& c) { first = first || c.index == 0; });
    cut.for_each(stage, [&](const layer_chunk& c) {
      stage_weights r;
      for (int i = 0; i < size_; ++i) r += layers_within(spans_[i], c) * layers_[i];
      if (c.index == 0) r += front_;
      if (c.index == cut.chunks() - 1) {
        r += back_;
        if (!first) r.dense += copy_, r.plain += copy_;
      }
      visit(r);
    });
  }
  /// Beside them: a tower that does not train, whole on each rank of the first stage.
  [[nodiscard]] constexpr parameters frozen(std::int64_t stage) const { return stage == 0 ? frozen_ : parameters{}; }
  /// The weights of a whole stage. It stands behind what it calls, which clang could not use in a constant expression otherwise.
  constexpr stage_weights of_stage(const stage_cut& cut, std::int64_t stage) const {
    stage_weights r;
    for_each_chunk(cut, stage, [&](const stage_weights& w) { r += w; });
    return r;
  }

 private:
  constexpr stage_weights& of_span(const layer_span& span) {
    for (int i = size_; i-- > 0;)
      if (spans_[i] == span) return layers_[i];
    spans_[size_] = span;
    layers_[size_] = {};
    return layers_[size_++];
  }

  const inventory* list_;
  layer_span spans_[inventory::capacity];
  stage_weights layers_[inventory::capacity];  // of one layer of the span
  int size_ = 0;
  stage_weights front_{}, back_{};
  parameters copy_{}, frozen_{};
};

constexpr stage_weights weights_of_stage(const settled_job& s, const inventory& list, std::int64_t stage) {
  return rank_weights(s, list).of_stage(cut_into_stages(*s.source, s.model), stage);
}

}  // namespace detail

}  // namespace headroom
