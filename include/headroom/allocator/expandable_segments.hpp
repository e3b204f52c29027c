// Distributed under the Boost Software License, Version 1.0.
// Expandable segments of the caching allocator: one for each pool, of pages that are mapped at its end, or in holes that empty_cache left.
// Source: c10/cuda/CUDACachingAllocator.cpp (ExpandableSegment, get_free_block, find_expandable_block, map_block, unmap_block).
#pragma once

#include <headroom/allocator/memory_pieces.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace headroom {

/// One growing segment for each pool, whose pages are mapped at its end or in holes; sizes in bytes.
class expandable_segments {
 public:
  using block = memory_pieces::block;
  static constexpr block none = memory_pieces::none;

  /// The best fit, where a block that can grow counts with what it can grow to.
  static block best_fit(memory_pieces& pieces, std::size_t which, std::int64_t size) {
    auto& pool = pieces.pool(which);
    auto b = pool.peek(size);
    if (b == none) return none;
    if (const auto next = pieces[b].next; next == none || pieces[next].hole) [[unlikely]] {
      const auto after = [&](block of) { return pool.after(pieces[of].size, pieces[of].address); };
      for (auto n = after(b); n != none && reach(pieces, n) < reach(pieces, b); n = after(n)) b = n;
    }
    return b;
  }
  /// Where so many bytes would be mapped, and how many pages that takes, in bytes.
  struct place {
    block from{none};  ///< a free block or a hole; none: behind the end
    std::int64_t pages{};
  };
  [[nodiscard]] place find(const memory_pieces& pieces, std::size_t which, std::int64_t size) const {
    const auto from = room_for(pieces, which, size);
    return {from, pages_for(pieces, which, from, size)};
  }
  /// Maps what is missing there. The block is in no pool.
  block take_mapped(memory_pieces& pieces, std::size_t which, block from, std::int64_t size) {
    if (from == none || pieces[from].hole) from = map(pieces, which, from, size);
    while (pieces[from].size < size) from = map(pieces, which, pieces[from].next, size - pieces[from].size);
    pieces.remove_free(from);
    return from;
  }
  /// Gives back the whole pages of a free block (empty_cache).
  void unmap(memory_pieces& pieces, block b) {
    const std::size_t which = pieces[b].pool;
    const auto page = page_of(which), start = start_of(which);
    const auto from = pieces[b].address, to = from + pieces[b].size;
    const auto first = start + (from - start + page - 1) / page * page, last = start + (to - start) / page * page;
    if (first >= last) return;
    pieces.remove_free(b);
    if (first > from) {
      const auto kept = b;
      b = pieces.cut(b, first - from);
      pieces.insert_free(kept);
    }
    if (last < to) {
      const auto kept = pieces.cut(b, last - first);
      pieces.insert_free(kept);
    }
    pieces.reserve(which, first - last);
    leave_hole(pieces, which, b);
  }

 private:
  static std::int64_t page_of(std::size_t which) { return which % 2 == 0 ? std::int64_t{2} << 20 : std::int64_t{20} << 20; }
  static std::int64_t start_of(std::size_t which) { return static_cast<std::int64_t>(which) << 56; }
  static constexpr std::int64_t unbounded = std::int64_t{1} << 55;

  /// How far a free block reaches with the pages behind it that are not mapped.
  [[nodiscard]] static std::int64_t reach(const memory_pieces& pieces, block b) {
    const auto& p = pieces[b];
    return p.next == none ? unbounded : pieces[p.next].hole ? p.size + pieces[p.next].size : p.size;
  }
  /// A free block or a hole from which on nothing is in use for so many bytes; none: behind the end.
  [[nodiscard]] block room_for(const memory_pieces& pieces, std::size_t which, std::int64_t size) const {
    for (const auto hole : holes_[which]) {
      const auto before = pieces[hole].previous;
      const auto from = before != none && pieces[before].free ? before : hole;
      std::int64_t room = 0;
      auto b = from;
      for (; b != none && room < size && (pieces[b].free || pieces[b].hole); b = pieces[b].next) room += pieces[b].size;
      if (room >= size || b == none) return from;
    }
    const auto last = pieces.last(which);
    return last != none && pieces[last].free ? last : none;
  }
  [[nodiscard]] static std::int64_t pages_for(const memory_pieces& pieces, std::size_t which, block from, std::int64_t size) {
    const auto page = page_of(which);
    std::int64_t pages = 0;
    auto b = from;
    for (; b != none && size > 0; size -= pieces[b].size, b = pieces[b].next)
      if (pieces[b].hole) pages += std::min(pieces[b].size, (size + page - 1) / page * page);
    return size > 0 ? pages + (size + page - 1) / page * page : pages;
  }
  /// Maps so many bytes of a hole, or behind the end (none): a free block, joined to its neighbours.
  block map(memory_pieces& pieces, std::size_t which, block where, std::int64_t size) {
    const auto length = std::min(where == none ? unbounded : pieces[where].size, (size + page_of(which) - 1) / page_of(which) * page_of(which));
    if (where == none) {
      const auto last = pieces.last(which);
      const auto end = last == none ? start_of(which) : pieces[last].address + pieces[last].size;
      where = pieces.add_last({.address = end, .previous = last, .pool = static_cast<std::uint8_t>(which)});
    } else {
      auto& holes = holes_[which];
      const auto i = std::find(holes.begin(), holes.end(), where);
      if (length < pieces[where].size) {
        *i = pieces.cut(where, length);
        pieces[*i].hole = true;
      } else {
        holes.erase(i);
      }
      pieces[where].hole = false;
    }
    pieces[where].size = length;
    pieces.reserve(which, length);
    const auto before = pieces[where].previous;
    const auto joined = before != none && pieces[before].free ? before : where;
    pieces.give_back(where);
    return joined;
  }
  /// Holes are joined, and those at the end are none.
  void leave_hole(memory_pieces& pieces, std::size_t which, block b) {
    auto& holes = holes_[which];
    const auto forget = [&](block hole) { holes.erase(std::find(holes.begin(), holes.end(), hole)); };
    pieces[b].hole = true;
    if (const auto next = pieces[b].next; next != none && pieces[next].hole) {
      forget(next);
      pieces.absorb(b, next);
    }
    if (const auto previous = pieces[b].previous; previous != none && pieces[previous].hole) {
      pieces.absorb(previous, b);
      b = previous;
      forget(b);
    }
    if (pieces[b].next == none) {
      pieces.drop(b);
      return;
    }
    holes.insert(std::find_if(holes.begin(), holes.end(), [&](block o) { return pieces[o].address > pieces[b].address; }), b);
  }

  std::array<std::vector<block>, memory_pieces::pool_count> holes_;  // by address
};

}  // namespace headroom
