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

/// Calls visit(owner, bytes) for each of a set of tensors of a program, owners from `first`.
template <class Visit>
constexpr void for_each_tensor(const program& p, tensor_set s, std::size_t first, const Visit& visit) {
  for (; s != 0; s &= s - 1) visit(static_cast<std::int32_t>(first + first_of(s)), p.size(tensor{s & -s}).count());
}

}  // namespace detail

/// The segment that a block's forward and then its backward need, without the block's input. The order is walk_forward's and
/// walk_backward's; gradients that an addition hands on count as tensors of their own.
constexpr bytes span_of(const program& p) {
  constexpr std::size_t gradients = program::max_tensors, weights = 2 * gradients;
  constexpr std::int32_t temporary = 3 * static_cast<std::int32_t>(gradients);
  detail::segment room;
  const auto place = [&](std::int32_t owner, std::int64_t size) { room.place(size, owner); };
  const auto remove = [&](std::int32_t owner, std::int64_t) { room.remove(owner); };

  const auto stays = p.sticky() | p.held();
  const detail::last_readers last(p, p.cached() | stays | p.saved() | p.held_in_forward());
  tensor_set alive = p.storages(p.input().bit());
  for (std::size_t i = 0; i < p.operations(); ++i) {
    const auto& o = p[i];
    room.place(o.forward_temporary.count(), temporary);
    const auto fresh = p.storages(o.makes) & ~alive;
    detail::for_each_tensor(p, fresh, 0, place);
    alive |= fresh;
    room.remove(temporary);
    detail::for_each_tensor(p, last.gone[i] & alive, 0, remove);
    alive &= ~last.gone[i];
  }
  const auto kept = p.saved() | stays | p.storages(p.output().bit());
  detail::for_each_tensor(p, alive & ~kept, 0, remove);

  tensor_set present = p.output().bit() & p.gradients();
  detail::for_each_tensor(p, present, gradients, place);
  for (auto i = p.operations(); i-- > 0;) {
    const auto& o = p[i];
    if (!o.recorded) continue;
    const auto arriving = o.makes & present;
    const auto operands = o.reads & p.gradients();
    const auto released = o.saves & ~stays;
    if (o.releases_first) detail::for_each_tensor(p, released, 0, remove);
    room.place(o.backward_temporary.count(), temporary);
    detail::for_each_tensor(p, operands & ~present, gradients, place);
    room.place(o.weight_gradient.count(), static_cast<std::int32_t>(weights + i));
    room.remove(temporary);
    if (!o.releases_first) detail::for_each_tensor(p, released, 0, remove);
    detail::for_each_tensor(p, arriving, gradients, remove);
    present = (present & ~arriving) | operands;
  }
  return room.extent() + p.holes();
}

}  // namespace headroom
