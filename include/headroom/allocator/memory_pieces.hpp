// Distributed under the Boost Software License, Version 1.0.
// Segments of the caching allocator as pieces next to each other, in use or free, and what they hold of the GPU.
#pragma once

#include <headroom/allocator/free_blocks.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace headroom {

class memory_pieces {
 public:
  using block = std::int32_t;
  static constexpr block none = -1;
  static constexpr std::size_t pool_count = 8;  ///< of four streams, small and large

  struct piece {
    std::int64_t size{};
    std::int64_t address{};
    block previous{none}, next{none};  ///< neighbours in the segment
    std::int64_t asked{};              ///< while it is not free
    std::uint32_t shelf{};             ///< where it lies while it is free
    std::uint8_t pool{};
    bool free{};
    bool hole{};                       ///< pages that were given back, between others of an expandable segment
  };

  memory_pieces() { all_.reserve(4096); }

  piece& operator[](block b) { return all_[static_cast<std::size_t>(b)]; }
  const piece& operator[](block b) const { return all_[static_cast<std::size_t>(b)]; }
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
    return static_cast<block>(all_.size() - 1);
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
    p.shelf = free_[p.pool].insert(p.size, p.address, b);
  }
  void remove_free(block b) {
    const auto& p = (*this)[b];
    free_[p.pool].remove(p.address, p.shelf);
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

  /// Into its pool, with its neighbours where they are free: the piece that they are now.
  block give_back(block b) {
    (*this)[b].free = true;
    if (const auto next = (*this)[b].next; next != none && (*this)[next].free) {
      remove_free(next);
      absorb(b, next);
    }
    if (const auto previous = (*this)[b].previous; previous != none && (*this)[previous].free) {
      remove_free(previous);
      absorb(previous, b);
      b = previous;
    }
    insert_free(b);
    return b;
  }

  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t reserved(std::size_t which) const { return held_[which]; }
  [[nodiscard]] std::int64_t peak_reserved() const { return peak_reserved_; }
  void reset_peak() { peak_reserved_ = reserved_; }
  /// What the driver gives, or takes back.
  void reserve(std::size_t which, std::int64_t more) {
    reserved_ += more;
    held_[which] += more;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }

 private:
  std::vector<piece> all_;
  std::vector<block> unused_;
  std::array<free_blocks, pool_count> free_;
  std::array<block, pool_count> last_{none, none, none, none, none, none, none, none};
  std::array<std::int64_t, pool_count> held_{};
  std::int64_t reserved_ = 0, peak_reserved_ = 0;
};

}  // namespace headroom
