// Distributed under the Boost Software License, Version 1.0.
// Segments of the caching allocator as pieces next to each other, in use or free, and what they hold of the GPU.
#pragma once

#include <headroom/allocator/free_blocks.hpp>
#include <headroom/units/checked.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace headroom {

/// The pieces of all segments, each with its neighbours in memory; sizes in bytes.
class memory_pieces {
 public:
  using block = std::int32_t;
  static constexpr block none = -1;
  static constexpr std::size_t pool_count = 8;  ///< of four streams, small and large

  struct piece {
    std::int64_t size{};
    std::int64_t address{};
    block previous{none}, next{none};  ///< neighbours in the segment
    free_blocks::shelf_id shelf{};     ///< where it lies while it is free, or lay last
    std::uint8_t pool{};
    bool free{};
    bool hole{};    ///< pages that were given back, between others of an expandable segment
    bool uneven{};  ///< in use, and larger than was asked for
  };
  static_assert(sizeof(piece) == 32);

  memory_pieces() {
    all_.reserve(4096);
    all_.emplace_back();
  }

  /// Of none, a piece that is neither free nor a hole.
  piece& operator[](block b) { return all_[static_cast<std::size_t>(b + 1)]; }
  const piece& operator[](block b) const { return all_[static_cast<std::size_t>(b + 1)]; }
  [[nodiscard]] free_blocks& pool(std::size_t which) { return free_[which]; }
  [[nodiscard]] const free_blocks& pool(std::size_t which) const { return free_[which]; }
  /// The last piece of an expandable segment.
  [[nodiscard]] block last(std::size_t which) const { return last_[which]; }

  block add(const piece& p) {
    if (!unused_.empty()) {
      const auto b = unused_.back();
      unused_.pop_back();
      (*this)[b] = p;
      return b;
    }
    all_.push_back(p);
    return static_cast<block>(all_.size()) - 2;
  }
  /// … at the end of an expandable segment.
  block add_last(const piece& p) {
    const auto b = add(p);
    if (p.previous != none) (*this)[p.previous].next = b;
    last_[p.pool] = b;
    return b;
  }
  /// It is no more.
  void drop(block b) {
    auto& p = (*this)[b];
    if (last_[p.pool] == b) {
      last_[p.pool] = p.previous;
      if (p.previous != none) (*this)[p.previous].next = none;
    }
    unused_.push_back(b);
  }

  void insert_free(block b) {
    auto& p = (*this)[b];
    auto& pool = free_[p.pool];
    p.free = true;
    if (!pool.holds(p.shelf, p.size)) [[unlikely]] p.shelf = pool.shelf_of(p.size);
    pool.insert({p.address, b}, p.shelf);
  }
  void remove_free(block b) {
    auto& p = (*this)[b];
    p.free = false;
    free_[p.pool].remove(p.address, p.shelf);
  }
  /// Takes a free block of exactly this size; none: there is none.
  block take(std::size_t which, std::int64_t size) {
    const auto b = free_[which].take(size);
    (*this)[b].free = false;
    return b;
  }
  /// Takes a free block. What it has beyond a size stays free, unless it is less than that.
  void take(block b, std::int64_t size, std::int64_t least_rest) {
    auto& whole = (*this)[b];
    if (whole.size - size < least_rest) return remove_free(b);
    auto& pool = free_[whole.pool];
    const auto on = whole.shelf;
    whole.free = false;
    const auto rest = cut(b, size);
    auto& left = (*this)[rest];
    left.free = true;
    left.shelf = on;
    if (pool.replace(on, left.size, {left.address, rest})) return;
    pool.remove((*this)[b].address, on);
    insert_free(rest);
  }
  /// Leaves what a block has beyond a size to its pool, unless it is less than that.
  void cut_rest(block b, std::int64_t size, std::int64_t least_rest) {
    if ((*this)[b].size - size >= least_rest) insert_free(cut(b, size));
  }

  /// Joins a piece to the one before it.
  void absorb(block left, block right) {
    auto& l = (*this)[left];
    const auto& r = (*this)[right];
    l.size += r.size;
    l.next = r.next;
    if (r.next != none) (*this)[r.next].previous = left;
    if (last_[l.pool] == right) last_[l.pool] = left;
    unused_.push_back(right);
  }
  /// Cuts a piece in two; the second is returned, neither free nor a hole.
  block cut(block b, std::int64_t size) {
    const auto& whole = (*this)[b];
    const auto other = add({.size = whole.size - size, .address = whole.address + size, .previous = b, .next = whole.next, .pool = whole.pool});
    auto& own = (*this)[b];
    if (own.next != none) (*this)[own.next].previous = other;
    if (last_[own.pool] == b) last_[own.pool] = other;
    own.next = other;
    own.size = size;
    return other;
  }

  /// Into its pool, with its neighbours where they are free.
  void give_back(block b) {
    const auto& p = (*this)[b];
    if ((*this)[p.next].free || (*this)[p.previous].free)
      join(b);
    else
      insert_free(b);
  }

  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t reserved(std::size_t which) const { return held_[which]; }
  [[nodiscard]] std::int64_t peak_reserved() const { return peak_reserved_; }
  void reset_peak() { peak_reserved_ = reserved_; }
  /// What the driver gives, or takes back. Errors: overflow_error.
  void reserve(std::size_t which, std::int64_t more) {
    reserved_ = checked::add(reserved_, more);
    held_[which] += more;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }

 private:
  /// A block, and its free neighbours: one of them gives its place to all.
  [[gnu::noinline]] void join(block b) {
    const auto next = (*this)[b].next, previous = (*this)[b].previous;
    auto& pool = free_[(*this)[b].pool];
    const bool behind = (*this)[next].free, before = (*this)[previous].free;
    const auto old = behind ? (*this)[next] : (*this)[previous];
    if (behind) absorb(b, next);
    if (before) {
      if (behind) pool.remove((*this)[previous].address, (*this)[previous].shelf);
      absorb(previous, b);
      b = previous;
    }
    auto& all = (*this)[b];
    all.free = true;
    all.shelf = old.shelf;
    if (pool.replace(old.shelf, all.size, {all.address, b})) return;
    pool.remove(old.address, old.shelf);
    insert_free(b);
  }

  std::vector<piece> all_;  // the first stands for none
  std::vector<block> unused_;
  std::array<free_blocks, pool_count> free_;
  std::array<block, pool_count> last_{none, none, none, none, none, none, none, none};
  std::array<std::int64_t, pool_count> held_{};
  std::int64_t reserved_ = 0, peak_reserved_ = 0;
};

}  // namespace headroom
