// Distributed under the Boost Software License, Version 1.0.
// PyTorch's caching allocator, replayed: which blocks a sequence of allocations and frees takes from the driver, and keeps.
// Source: c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, alloc_block, should_split, free_block,
// try_merge_blocks, release_cached_blocks, try_allocate_expandable_block). Runs at run time, with a heap.
#pragma once

#include <headroom/step/free_blocks.hpp>
#include <headroom/units/quantity.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace headroom {

/// Streams whose blocks are never lent to each other.
enum class stream : std::uint8_t { compute, gather, reduce, copy };
inline constexpr std::size_t stream_count = 4;

struct allocator_settings {
  bool expandable_segments{};
  std::int64_t max_split_size{std::numeric_limits<std::int64_t>::max()};
  std::int64_t roundup_power2_divisions{1};
  std::int64_t capacity{std::numeric_limits<std::int64_t>::max()};  ///< reserved at most; then cached segments are given back first
};

class caching_allocator {
 public:
  using block = std::int32_t;

  // Sizes of the source: kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge.
  static constexpr std::int64_t granule = 512;
  static constexpr std::int64_t small_size = 1 << 20;
  static constexpr std::int64_t small_segment = 2 << 20;
  static constexpr std::int64_t large_segment = 20 << 20;
  static constexpr std::int64_t own_segment_from = 10 << 20;

  explicit caching_allocator(allocator_settings s = {}) : settings_(s) { blocks_.reserve(4096); }

  /// A block of at least so many bytes; none for no bytes.
  block allocate(std::int64_t asked, stream on = stream::compute) {
    if (asked <= 0) return none;
    const auto size = settings_.roundup_power2_divisions > 1 ? rounded_to_divisions(asked) : std::max(granule, (asked + granule - 1) / granule * granule);
    const auto which = static_cast<std::size_t>(on) * 2 + (size <= small_size ? 0 : 1);
    auto found = free_[which].take(size, limit_of(size));
    if (found == none) found = settings_.expandable_segments ? extend(which, size) : new_segment(which, size);
    split(found, size);
    auto& b = blocks_[at(found)];
    b.free = false;
    b.asked = size;
    asked_ += size;
    allocated_ += b.size;
    peak_asked_ = std::max(peak_asked_, asked_);
    peak_allocated_ = std::max(peak_allocated_, allocated_);
    peak_active_ = std::max(peak_active_, allocated_ + retired_bytes_);
    return found;
  }

  /// Gives a block back to its pool.
  void release(block b) {
    if (b == none) return;
    allocated_ -= blocks_[at(b)].size;
    asked_ -= blocks_[at(b)].asked;
    give_back(b);
  }

  /// Frees a block that another stream was told to read (Tensor.record_stream): it is nobody's, but no one else's yet.
  void retire(block b) {
    if (b == none) return;
    allocated_ -= blocks_[at(b)].size;
    asked_ -= blocks_[at(b)].asked;
    retired_bytes_ += blocks_[at(b)].size;
    retired_.push_back(b);
  }
  /// An event behind what has been retired so far, and waiting for it: from then on those blocks are free.
  [[nodiscard]] std::size_t record() const { return retired_.size(); }
  void wait(std::size_t event) {
    for (; waited_ < event; ++waited_) {
      retired_bytes_ -= blocks_[at(retired_[waited_])].size;
      give_back(retired_[waited_]);
    }
  }
  /// Gives whole free segments back to the driver (torch.cuda.empty_cache), once all events are over.
  void empty_cache() {
    wait(retired_.size());
    for (auto& pool : free_) {
      pool.for_each([&](block f) {
        auto& b = blocks_[at(f)];
        const bool whole = settings_.expandable_segments ? b.next == none : b.previous == none && b.next == none;
        if (!whole) return;
        reserved_ -= b.size;
        held_[b.pool] -= b.size;
        if (b.previous != none) blocks_[at(b.previous)].next = none;
        if (settings_.expandable_segments) last_[b.pool] = b.previous;
        given_back_.push_back(f);
      });
      for (const auto f : given_back_) {
        pool.remove(blocks_[at(f)].size, blocks_[at(f)].address, blocks_[at(f)].shelf);
        unused_.push_back(f);
      }
      given_back_.clear();
    }
  }

  /// Peaks count from here on (torch.cuda.reset_peak_memory_stats).
  void reset_peaks() {
    peak_allocated_ = allocated_;
    peak_asked_ = asked_;
    peak_active_ = allocated_ + retired_bytes_;
    peak_reserved_ = reserved_;
  }

  [[nodiscard]] const allocator_settings& settings() const { return settings_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  /// Of it, what one stream's pools hold.
  [[nodiscard]] std::int64_t reserved(stream on) const { return held_[static_cast<std::size_t>(on) * 2] + held_[static_cast<std::size_t>(on) * 2 + 1]; }
  [[nodiscard]] std::int64_t peak_allocated() const { return peak_allocated_; }
  /// The same without what blocks are larger than was asked for, 512 bytes apart.
  [[nodiscard]] std::int64_t asked() const { return asked_; }
  [[nodiscard]] std::int64_t peak_asked() const { return peak_asked_; }
  /// With what is held for other streams.
  [[nodiscard]] std::int64_t peak_active() const { return peak_active_; }
  [[nodiscard]] std::int64_t peak_reserved() const { return peak_reserved_; }
  /// Whether more than the capacity was needed at some time.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  static constexpr block none = -1;
  static constexpr std::size_t pool_count = 2 * stream_count;

  struct piece {
    std::int64_t size{};
    std::int64_t address{};
    block previous{none}, next{none};  // neighbours in the segment
    std::int64_t asked{};               // while it is not free
    std::uint32_t shelf{};              // where it lies while it is free
    std::uint8_t pool{};
    bool free{};
  };
  static std::size_t at(block b) { return static_cast<std::size_t>(b); }

  void give_back(block b) {
    blocks_[at(b)].free = true;
    if (const auto next = blocks_[at(b)].next; next != none && blocks_[at(next)].free) {
      remove_free(next);
      absorb(b, next);
    }
    if (const auto previous = blocks_[at(b)].previous; previous != none && blocks_[at(previous)].free) {
      remove_free(previous);
      absorb(previous, b);
      b = previous;
    }
    insert_free(b);
  }

  /// round_size with roundup_power2_divisions: so many steps from one power of two to the next.
  [[nodiscard]] std::int64_t rounded_to_divisions(std::int64_t asked) const {
    const auto plain = std::max(granule, (asked + granule - 1) / granule * granule);
    if (asked <= granule * settings_.roundup_power2_divisions) return plain;
    const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(asked)));
    const auto step = floor / settings_.roundup_power2_divisions;
    return (asked + step - 1) / step * step;
  }

  /// Blocks that are not cut serve only requests that are nearly as large (get_free_block).
  [[nodiscard]] std::int64_t limit_of(std::int64_t size) const {
    if (settings_.max_split_size == std::numeric_limits<std::int64_t>::max()) [[likely]] return settings_.max_split_size;
    return size < settings_.max_split_size ? settings_.max_split_size : size + large_segment;
  }

  block new_piece(const piece& p) {
    if (!unused_.empty()) {
      const auto b = unused_.back();
      unused_.pop_back();
      blocks_[at(b)] = p;
      return b;
    }
    blocks_.push_back(p);
    return static_cast<block>(blocks_.size() - 1);
  }

  void insert_free(block b) {
    auto& p = blocks_[at(b)];
    p.shelf = free_[p.pool].insert(p.size, p.address, b);
  }
  void remove_free(block b) {
    const auto& p = blocks_[at(b)];
    free_[p.pool].remove(p.size, p.address, p.shelf);
  }

  void absorb(block left, block right) {
    auto& l = blocks_[at(left)];
    const auto& r = blocks_[at(right)];
    l.size += r.size;
    l.next = r.next;
    if (r.next != none) blocks_[at(r.next)].previous = left;
    if (last_[l.pool] == right) last_[l.pool] = left;
    unused_.push_back(right);
  }

  /// What is left of a block goes back to its pool, unless it is too little to be worth it.
  void split(block b, std::int64_t size) {
    const auto rest = blocks_[at(b)].size - size;
    const bool small = blocks_[at(b)].pool % 2 == 0;
    if (small || settings_.expandable_segments ? rest < granule : rest <= small_size || size >= settings_.max_split_size) return;
    piece p{.size = rest, .address = blocks_[at(b)].address + size, .previous = b, .next = blocks_[at(b)].next, .pool = blocks_[at(b)].pool, .free = true};
    const auto other = new_piece(p);
    if (p.next != none) blocks_[at(p.next)].previous = other;
    auto& own = blocks_[at(b)];
    own.next = other;
    own.size = size;
    if (last_[own.pool] == b) last_[own.pool] = other;
    insert_free(other);
  }

  void reserve(std::size_t which, std::int64_t more) {
    if (more > settings_.capacity - reserved_) [[unlikely]] make_room(which, more);
    if (more > settings_.capacity - reserved_) overflowed_ = true;
    reserved_ += more;
    held_[which] += more;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }

  /// First of blocks that are never cut (release_available_cached_blocks), then all that is cached.
  void make_room(std::size_t which, std::int64_t more) {
    if (settings_.max_split_size != std::numeric_limits<std::int64_t>::max() && !settings_.expandable_segments) {
      wait(retired_.size());
      give_back_uncut(which, std::max(more, settings_.max_split_size));
    }
    if (more > settings_.capacity - reserved_) empty_cache();
  }
  void give_back_uncut(std::size_t which, std::int64_t needed) {
    std::int64_t given = 0;
    const auto drop = [&](block b) {
      auto& p = blocks_[at(b)];
      remove_free(b);
      reserved_ -= p.size;
      held_[p.pool] -= p.size;
      given += p.size;
      unused_.push_back(b);
    };
    auto& pool = free_[which];
    if (const auto enough = pool.peek(needed); enough != none) return drop(enough);
    for (auto b = pool.largest(); b != none && given < needed && blocks_[at(b)].size >= settings_.max_split_size; b = pool.largest()) drop(b);
  }

  block new_segment(std::size_t which, std::int64_t size) {
    const auto length = size <= small_size ? small_segment : size < own_segment_from ? large_segment : (size + small_segment - 1) / small_segment * small_segment;
    reserve(which, length);
    const auto b = new_piece({.size = length, .address = next_address_, .pool = static_cast<std::uint8_t>(which)});
    next_address_ += length;
    return b;
  }

  /// An expandable segment grows at its end; its last block, where free, is used with it.
  block extend(std::size_t which, std::int64_t size) {
    const auto step = which % 2 == 0 ? small_segment : large_segment;
    const auto needed = [&] {
      const auto last = last_[which];
      const auto there = last != none && blocks_[at(last)].free ? blocks_[at(last)].size : 0;
      return (size - there + step - 1) / step * step;
    };
    if (needed() > settings_.capacity - reserved_) empty_cache();
    const auto length = needed();
    reserve(which, length);
    const auto last = last_[which];
    if (last != none && blocks_[at(last)].free) {
      remove_free(last);
      blocks_[at(last)].size += length;
      return last;
    }
    const auto address = last == none ? static_cast<std::int64_t>(which) << 56 : blocks_[at(last)].address + blocks_[at(last)].size;
    const auto b = new_piece({.size = length, .address = address, .previous = last, .pool = static_cast<std::uint8_t>(which)});
    if (last != none) blocks_[at(last)].next = b;
    last_[which] = b;
    return b;
  }

  allocator_settings settings_;
  std::vector<piece> blocks_;
  std::vector<block> unused_;
  std::array<free_blocks, pool_count> free_;
  std::vector<block> given_back_;
  std::array<std::int64_t, pool_count> held_{};
  std::array<block, pool_count> last_{none, none, none, none, none, none, none, none};  // of expandable segments
  std::int64_t next_address_ = 0;
  std::int64_t asked_ = 0, allocated_ = 0, reserved_ = 0, retired_bytes_ = 0, peak_asked_ = 0, peak_allocated_ = 0, peak_active_ = 0, peak_reserved_ = 0;
  std::vector<block> retired_;  // in order; before waited_ they are free
  std::size_t waited_ = 0;
  bool overflowed_ = false;
};

}  // namespace headroom
