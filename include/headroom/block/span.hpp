// Distributed under the Boost Software License, Version 1.0.
// How much room a program's tensors take where what is freed serves only what fits into it: the caching allocator with one segment that
// grows (c10/cuda/CUDACachingAllocator.cpp, get_free_block: best fit; free_block: neighbours are merged). For a program whose tensors
// dwarf all others, such as the loss over whole logits: a freed bf16 tensor has no use for an fp32 one.
#pragma once

#include <headroom/block/walk.hpp>

namespace headroom {

namespace detail {

/// Blocks side by side in one growing segment.
class segment {
 public:
  /// Places a block for `owner`, in the smallest hole that holds it, else at the end.
  constexpr void place(std::int64_t size, std::int32_t owner) {
    if (size <= smallest) return;
    std::size_t best = count_;
    for (std::size_t i = 0; i < count_; ++i)
      if (blocks_[i].owner == nobody && blocks_[i].size >= size && (best == count_ || blocks_[i].size < blocks_[best].size)) best = i;
    if (best == count_ && count_ > 0 && blocks_[count_ - 1].owner == nobody) {
      extent_ += size - blocks_[count_ - 1].size;
      blocks_[count_ - 1] = {size, owner};
      return;
    }
    if (best == count_) {
      extent_ += size;
      insert(count_, {size, owner});
      return;
    }
    const auto rest = blocks_[best].size - size;
    blocks_[best] = {size, owner};
    if (rest > 0) insert(best + 1, {rest, nobody});
  }
  constexpr void remove(std::int32_t owner) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (blocks_[i].owner != owner) continue;
      blocks_[i].owner = nobody;
      if (i + 1 < count_ && blocks_[i + 1].owner == nobody) merge(i);
      if (i > 0 && blocks_[i - 1].owner == nobody) merge(i - 1);
      return;
    }
  }
  constexpr void hand_on(std::int32_t from, std::int32_t to) {
    for (std::size_t i = 0; i < count_; ++i)
      if (blocks_[i].owner == from) blocks_[i].owner = to;
  }
  /// The most that was ever in use, holes included.
  [[nodiscard]] constexpr bytes extent() const { return bytes{extent_}; }

 private:
  static constexpr std::int32_t nobody = -1;
  static constexpr std::int64_t smallest = 1 << 20;  // the allocator keeps a pool of its own for blocks up to 1 MiB
  struct block {
    std::int64_t size;
    std::int32_t owner;
  };
  constexpr void insert(std::size_t at, block b) {
    if (count_ == blocks_.size()) refuse("headroom: a program's tensors need at most 256 blocks of a segment", static_cast<std::int64_t>(count_));
    for (auto i = count_++; i > at; --i) blocks_[i] = blocks_[i - 1];
    blocks_[at] = b;
  }
  constexpr void merge(std::size_t i) {
    blocks_[i].size += blocks_[i + 1].size;
    for (auto k = i + 1; k + 1 < count_; ++k) blocks_[k] = blocks_[k + 1];
    --count_;
  }

  std::array<block, 256> blocks_{};
  std::size_t count_ = 0;
  std::int64_t extent_ = 0;
};

/// The listener that finds a place for everything in one segment. Storages are owners 0 and up, then gradients of tensors and second
/// ones; the gradients of weights, which stay, are nobody's to remove. The block's input lies elsewhere.
class placing {
 public:
  using set = wide_set;
  wide_set alive;

  constexpr explicit placing(const program& p) : program_(&p), input_(p.storages(p.input().bit())) {}
  [[nodiscard]] constexpr bytes extent() const { return room_.extent(); }

  constexpr void make(const wide_set& s) { place(s & ~input_, storages); }
  constexpr void free(const wide_set& s) { remove(s & ~input_, storages); }
  constexpr void make_temporary(bytes b, const operation&) { room_.place(b.count(), temporary); }
  constexpr void free_temporary(const operation&) { room_.remove(temporary); }
  constexpr void returns() {}
  constexpr void enters() {}

  constexpr void adopt(tensor t) { place(t.bit(), gradients); }
  constexpr void make_gradients(const wide_set& s, const wide_set& second) {
    for (const auto t : each(s)) place(t.bit(), has(second, t) ? seconds : gradients);
  }
  constexpr void free_gradients(const wide_set& s) { remove(s, gradients); }
  constexpr void free_second(tensor t) { remove(t.bit(), seconds); }
  constexpr void make_sum(tensor t) { room_.place(program_->size(t).count(), sum); }
  constexpr void settle_sum(tensor t) { room_.hand_on(sum, owner(gradients, t)); }
  constexpr void keep_gradients(const wide_set&) {}
  constexpr void hand_back(tensor) {}
  constexpr void make_weight(const operation& o) { room_.place(o.weight_gradient.count(), weights); }
  constexpr void keep_weight(const operation&) {}

  // What comes in pieces counts as whole.
  constexpr void begin_pieces(const wide_set&, const operation&) {}
  constexpr void begin_gradient_pieces(const wide_set&, const wide_set&, const operation&) {}
  constexpr void make_piece(const wide_set& s, const operation&, std::int64_t) { make(s); }
  constexpr void make_gradient_piece(const wide_set& s, const wide_set& second, const operation&, std::int64_t) { make_gradients(s, second); }
  constexpr void drop_piece(const wide_set&, const wide_set&, const operation&) {}
  constexpr void add_weight(const operation&) {}
  constexpr void free_added_weight(const operation&) {}
  constexpr void end_pieces() {}
  static constexpr std::int64_t after_piece(std::int64_t, const operation& o) { return o.pieces; }

 private:
  static constexpr std::size_t storages = 0, gradients = program::max_tensors, seconds = 2 * gradients;
  static constexpr std::int32_t temporary = 3 * static_cast<std::int32_t>(gradients), sum = temporary + 1, weights = sum + 1;
  static constexpr std::int32_t owner(std::size_t first, tensor t) { return static_cast<std::int32_t>(first + t.place()); }
  constexpr void place(const wide_set& s, std::size_t first) {
    for (const auto t : each(s)) room_.place(program_->size(t).count(), owner(first, t));
  }
  constexpr void remove(const wide_set& s, std::size_t first) {
    for (const auto t : each(s)) room_.remove(owner(first, t));
  }

  const program* program_;
  wide_set input_;
  segment room_;
};

}  // namespace detail

/// The segment that a block's forward and then its backward need, without the block's input.
constexpr bytes span_of(const program& p) {
  detail::placing to(p);
  run_forward(p, recording::on, to);
  run_backward(p, weight_work::with_inputs, to);
  return to.extent() + p.holes();
}

}  // namespace headroom
