// Distributed under the Boost Software License, Version 1.0.
// The chunks of one pipeline stage where layers are divided: what each costs for one micro-batch.
#pragma once

#include <headroom/engine/tensor_parallel/chunk_units.hpp>
#include <headroom/engine/tensor_parallel/fsdp_chunk.hpp>

namespace headroom::detail {

/// A stage seldom has more than a few chunks, and may have 64. Of the first few all that they cost is kept; of the others totals are, and the
/// rest is worked out again for who asks.
class stage_chunks {
 public:
  static constexpr std::size_t kept_whole = 4;

  constexpr stage_chunks(const settled_job& s, const stage_cut& cut, const divided_layers& w, std::int64_t stage, const fsdp_layout* fsdp)
      : s_(&s), cut_(&cut), layers_(&w), fsdp_(fsdp), stage_(stage) {
    cut.for_each(stage, [&](const layer_chunk& c) { add(c); });
  }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr const chunk_totals& operator[](std::size_t c) const { return totals_[c]; }
  [[nodiscard]] constexpr const chunk_totals* totals() const { return &totals_[0]; }
  /// Which kinds of layer and which ends the stage has.
  [[nodiscard]] constexpr const stage_parts& parts() const { return parts_; }
  /// How many are given their input by another stage.
  [[nodiscard]] constexpr std::int64_t inputs() const { return inputs_; }
  /// What Megatron-FSDP's buffers of whole parameters hold.
  [[nodiscard]] constexpr bytes gathered() const { return gathered_; }
  /// use(chunk_cost) with all of a chunk.
  constexpr void with(std::size_t c, const auto& use) const {
    if (c < kept_whole) return use(whole_[c]);
    use(again(c));
  }

 private:
  constexpr void add(const layer_chunk& c) {
    if (size_ == degrees::max_chunks) refuse("headroom: a stage holds at most 64 chunks; parallel.virtual_pipeline", s_->source->parallel.virtual_pipeline);
    if (c.index > 0) ++inputs_;
    const auto i = size_++;
    if (i < kept_whole) {
      auto& k = whole_.put(i, cut_chunk(*s_->source, s_->model, c, parts_), has_head(c));
      gathered_ = walk(k, c);
      totals_.put(i, totals_of(k));
    } else {
      totals_.put(i, totals_of(made(c, parts_)));
    }
    add_ends(parts_, s_->model, c.index == 0, has_head(c));
  }
  [[nodiscard]] constexpr bool has_head(const layer_chunk& c) const { return c.index == cut_->chunks() - 1; }
  constexpr bytes walk(chunk_cost& k, const layer_chunk& c) const {
    const auto masks = masks_of(*s_, c.index == 0, k.has_head);
    if (fsdp_ != nullptr) [[unlikely]] return walk_fsdp_chunk(k, *s_, *layers_, *fsdp_, masks);
    if (units_of(*s_) != chunk_units::none) [[unlikely]] {
      chunk_count<moment> to(k, s_->model, *layers_);
      with_units(*s_, c.index == 0, k.has_head, to, [&](auto& units) { walk_chunk(k, *s_->source, s_->model, *layers_, masks, to, units); });
      return bytes{0};
    }
    walk_chunk(k, *s_->source, s_->model, *layers_, masks.embedding, masks.attention);
    return bytes{0};
  }
  [[nodiscard]] [[gnu::noinline]] constexpr chunk_cost made(const layer_chunk& c, stage_parts& parts) const {
    chunk_cost k{cut_chunk(*s_->source, s_->model, c, parts), has_head(c)};
    walk(k, c);
    return k;
  }
  [[nodiscard]] [[gnu::noinline]] constexpr chunk_cost again(std::size_t c) const {
    layer_chunk here{};
    std::size_t i = 0;
    cut_->for_each(stage_, [&](const layer_chunk& at) {
      if (i++ == c) here = at;
    });
    stage_parts parts;
    return made(here, parts);
  }

  const settled_job* s_;
  const stage_cut* cut_;
  const divided_layers* layers_;
  const fsdp_layout* fsdp_;
  std::int64_t stage_;
  std::size_t size_ = 0;
  std::int64_t inputs_ = 0;
  bytes gathered_{0};
  stage_parts parts_{};
  room<chunk_cost, kept_whole> whole_ = room<chunk_cost, kept_whole>::open();
  room<chunk_totals, degrees::max_chunks> totals_ = room<chunk_totals, degrees::max_chunks>::open();
};

}  // namespace headroom::detail
