// Distributed under the Boost Software License, Version 1.0.
// PyTorch's caching allocator, replayed: which blocks a sequence of allocations and frees takes from the driver, and keeps.
// Source: c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, alloc_block, should_split, free_block,
// try_merge_blocks, release_available_cached_blocks, release_cached_blocks, try_allocate_expandable_block, find_expandable_block,
// map_block, unmap_block). Runs at run time, with a heap.
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

/// A call to the allocator, for whoever wants to repeat it.
struct allocator_call {
  enum class kind : std::uint8_t { allocate, release, retire, wait, empty_cache };
  kind what{};
  stream on{};
  std::int32_t block{};  ///< that was returned, or is meant
  std::int64_t value{};  ///< bytes, or an event
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
    auto found = settings_.expandable_segments ? take_inner(which, size) : free_[which].take(size, limit_of(size));
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
    note(allocator_call::kind::allocate, on, found, asked);
    return found;
  }

  /// Gives a block back to its pool.
  void release(block b) {
    if (b == none) return;
    note(allocator_call::kind::release, {}, b, 0);
    allocated_ -= blocks_[at(b)].size;
    asked_ -= blocks_[at(b)].asked;
    give_back(b);
  }

  /// Frees a block that another stream was told to read (Tensor.record_stream): it is nobody's, but no one else's yet.
  void retire(block b) {
    if (b == none) return;
    note(allocator_call::kind::retire, {}, b, 0);
    allocated_ -= blocks_[at(b)].size;
    asked_ -= blocks_[at(b)].asked;
    retired_bytes_ += blocks_[at(b)].size;
    retired_.push_back(b);
  }
  /// An event behind what has been retired so far, and waiting for it: from then on those blocks are free.
  [[nodiscard]] std::size_t record() const { return retired_.size(); }
  void wait(std::size_t event) {
    note(allocator_call::kind::wait, {}, none, static_cast<std::int64_t>(event));
    finish(event);
  }
  /// Gives whole free segments back to the driver, of expandable ones whole free pages (torch.cuda.empty_cache), once all events are over.
  void empty_cache() {
    note(allocator_call::kind::empty_cache, {}, none, 0);
    give_back_cache();
  }

  /// Writes calls from here on down as well; null for no longer.
  void write_calls_to(std::vector<allocator_call>* calls) { calls_ = calls; }

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
    bool hole{};                        // pages that were given back, between others of an expandable segment
  };
  static std::size_t at(block b) { return static_cast<std::size_t>(b); }
  void note(allocator_call::kind what, stream on, block b, std::int64_t value) {
    if (calls_ != nullptr) [[unlikely]] calls_->push_back({what, on, b, value});
  }

  void finish(std::size_t event) {
    for (; waited_ < event; ++waited_) {
      retired_bytes_ -= blocks_[at(retired_[waited_])].size;
      give_back(retired_[waited_]);
    }
  }
  void give_back_cache() {
    finish(retired_.size());
    for (auto& pool : free_) {
      pool.for_each([&](block f) {
        if (settings_.expandable_segments || (blocks_[at(f)].previous == none && blocks_[at(f)].next == none)) given_back_.push_back(f);
      });
      for (const auto f : given_back_) {
        if (settings_.expandable_segments) {
          unmap(f);
        } else {
          give_to_driver(f);
        }
      }
      given_back_.clear();
    }
  }

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
    const auto other = cut(b, size);
    blocks_[at(other)].free = true;
    insert_free(other);
  }

  void reserve(std::size_t which, std::int64_t more, std::int64_t size) {
    if (more > settings_.capacity - reserved_) [[unlikely]] make_room(which, more, size);
    if (more > settings_.capacity - reserved_) overflowed_ = true;
    reserved_ += more;
    held_[which] += more;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }

  /// First of blocks that are never cut (release_available_cached_blocks), then all that is cached.
  void make_room(std::size_t which, std::int64_t more, std::int64_t size) {
    if (settings_.max_split_size != std::numeric_limits<std::int64_t>::max() && !settings_.expandable_segments)
      give_back_uncut(which, std::max(size, settings_.max_split_size));
    if (more > settings_.capacity - reserved_) give_back_cache();
  }
  void give_back_uncut(std::size_t which, std::int64_t needed) {
    std::int64_t given = 0;
    auto& pool = free_[which];
    if (const auto enough = pool.peek(needed); enough != none) return give_to_driver(enough);
    for (auto b = pool.largest(); b != none && given < needed && blocks_[at(b)].size >= settings_.max_split_size; b = pool.largest()) {
      given += blocks_[at(b)].size;
      give_to_driver(b);
    }
  }
  /// A whole free segment.
  void give_to_driver(block b) {
    auto& p = blocks_[at(b)];
    remove_free(b);
    reserved_ -= p.size;
    held_[p.pool] -= p.size;
    unused_.push_back(b);
  }

  block new_segment(std::size_t which, std::int64_t size) {
    const auto length = size <= small_size ? small_segment : size < own_segment_from ? large_segment : (size + small_segment - 1) / small_segment * small_segment;
    reserve(which, length, size);
    const auto b = new_piece({.size = length, .address = next_address_, .pool = static_cast<std::uint8_t>(which)});
    next_address_ += length;
    return b;
  }

  // Expandable segments: one for each pool, of pages that are mapped at its end or in holes, as large as need be.

  static std::int64_t page_of(std::size_t which) { return which % 2 == 0 ? small_segment : large_segment; }
  static std::int64_t start_of(std::size_t which) { return static_cast<std::int64_t>(which) << 56; }
  static constexpr std::int64_t unbounded = std::int64_t{1} << 55;

  /// How far a free block reaches with the pages behind it that are not mapped.
  [[nodiscard]] std::int64_t reach(block b) const {
    const auto& p = blocks_[at(b)];
    return p.next == none ? unbounded : blocks_[at(p.next)].hole ? p.size + blocks_[at(p.next)].size : p.size;
  }
  /// The best fit, where a block that can grow counts with what it can grow to.
  block take_inner(std::size_t which, std::int64_t size) {
    auto& pool = free_[which];
    auto b = pool.peek(size);
    if (b == none) return none;
    if (const auto next = blocks_[at(b)].next; next == none || blocks_[at(next)].hole) [[unlikely]] {
      for (auto n = pool.after(blocks_[at(b)].size, blocks_[at(b)].address); n != none && reach(n) < reach(b); n = pool.after(blocks_[at(n)].size, blocks_[at(n)].address)) b = n;
    }
    if (blocks_[at(b)].size >= limit_of(size)) return none;
    remove_free(b);
    return b;
  }

  /// Maps pages in the first hole that is large enough with what is free around it, or at the end.
  block extend(std::size_t which, std::int64_t size) {
    auto from = room_for(which, size);
    if (pages_for(which, from, size) > settings_.capacity - reserved_) [[unlikely]] {
      give_back_cache();
      from = room_for(which, size);
      if (pages_for(which, from, size) > settings_.capacity - reserved_) overflowed_ = true;
    }
    if (from == none || blocks_[at(from)].hole) from = map(which, from, size);
    while (blocks_[at(from)].size < size) from = map(which, blocks_[at(from)].next, size - blocks_[at(from)].size);
    remove_free(from);
    return from;
  }
  /// A free block or a hole from which on nothing is in use for so many bytes; none: behind the end.
  [[nodiscard]] block room_for(std::size_t which, std::int64_t size) const {
    for (const auto hole : holes_[which]) {
      const auto before = blocks_[at(hole)].previous;
      const auto from = before != none && blocks_[at(before)].free ? before : hole;
      std::int64_t room = 0;
      auto b = from;
      for (; b != none && room < size && (blocks_[at(b)].free || blocks_[at(b)].hole); b = blocks_[at(b)].next) room += blocks_[at(b)].size;
      if (room >= size || b == none) return from;
    }
    const auto last = last_[which];
    return last != none && blocks_[at(last)].free ? last : none;
  }
  [[nodiscard]] std::int64_t pages_for(std::size_t which, block from, std::int64_t size) const {
    const auto page = page_of(which);
    std::int64_t pages = 0;
    auto b = from;
    for (; b != none && size > 0; size -= blocks_[at(b)].size, b = blocks_[at(b)].next)
      if (blocks_[at(b)].hole) pages += std::min(blocks_[at(b)].size, (size + page - 1) / page * page);
    return size > 0 ? pages + (size + page - 1) / page * page : pages;
  }
  /// Maps so many bytes of a hole, or behind the end (none): a free block, joined to its neighbours.
  block map(std::size_t which, block where, std::int64_t size) {
    const auto length = std::min(where == none ? unbounded : blocks_[at(where)].size, (size + page_of(which) - 1) / page_of(which) * page_of(which));
    if (where == none) {
      const auto last = last_[which];
      where = new_piece({.address = last == none ? start_of(which) : blocks_[at(last)].address + blocks_[at(last)].size, .previous = last, .pool = static_cast<std::uint8_t>(which)});
      if (last != none) blocks_[at(last)].next = where;
      last_[which] = where;
    } else {
      auto& holes = holes_[which];
      const auto i = std::find(holes.begin(), holes.end(), where);
      if (length < blocks_[at(where)].size) {
        *i = cut(where, length);
        blocks_[at(*i)].hole = true;
      } else {
        holes.erase(i);
      }
      blocks_[at(where)].hole = false;
    }
    blocks_[at(where)].size = length;
    reserved_ += length;
    held_[which] += length;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
    const auto before = blocks_[at(where)].previous;
    const bool joins = before != none && blocks_[at(before)].free;
    give_back(where);
    return joins ? before : where;
  }
  /// Gives back the whole pages of a free block.
  void unmap(block b) {
    const std::size_t which = blocks_[at(b)].pool;
    const auto page = page_of(which), start = start_of(which);
    const auto from = blocks_[at(b)].address, to = from + blocks_[at(b)].size;
    const auto first = start + (from - start + page - 1) / page * page, last = start + (to - start) / page * page;
    if (first >= last) return;
    remove_free(b);
    if (first > from) {
      const auto kept = b;
      b = cut(b, first - from);
      insert_free(kept);
    }
    if (last < to) {
      const auto kept = cut(b, last - first);
      blocks_[at(kept)].free = true;
      insert_free(kept);
    }
    blocks_[at(b)].free = false;
    reserved_ -= last - first;
    held_[which] -= last - first;
    leave_hole(which, b);
  }
  /// Holes are joined, and those at the end are none.
  void leave_hole(std::size_t which, block b) {
    auto& holes = holes_[which];
    const auto forget = [&](block hole) { holes.erase(std::find(holes.begin(), holes.end(), hole)); };
    blocks_[at(b)].hole = true;
    if (const auto next = blocks_[at(b)].next; next != none && blocks_[at(next)].hole) {
      forget(next);
      absorb(b, next);
    }
    if (const auto previous = blocks_[at(b)].previous; previous != none && blocks_[at(previous)].hole) {
      absorb(previous, b);
      b = previous;
      forget(b);
    }
    if (blocks_[at(b)].next == none) {
      last_[which] = blocks_[at(b)].previous;
      if (last_[which] != none) blocks_[at(last_[which])].next = none;
      unused_.push_back(b);
      return;
    }
    holes.insert(std::find_if(holes.begin(), holes.end(), [&](block o) { return blocks_[at(o)].address > blocks_[at(b)].address; }), b);
  }
  /// Cuts a piece in two; the second is returned, neither free nor a hole.
  block cut(block b, std::int64_t size) {
    const auto& whole = blocks_[at(b)];
    const auto other = new_piece({.size = whole.size - size, .address = whole.address + size, .previous = b, .next = whole.next, .pool = whole.pool});
    auto& own = blocks_[at(b)];
    if (own.next != none) blocks_[at(own.next)].previous = other;
    if (last_[own.pool] == b) last_[own.pool] = other;
    own.next = other;
    own.size = size;
    return other;
  }

  allocator_settings settings_;
  std::vector<piece> blocks_;
  std::vector<block> unused_;
  std::array<free_blocks, pool_count> free_;
  std::array<std::vector<block>, pool_count> holes_;  // by address
  std::vector<block> given_back_;
  std::array<std::int64_t, pool_count> held_{};
  std::array<block, pool_count> last_{none, none, none, none, none, none, none, none};  // of expandable segments
  std::int64_t next_address_ = 0;
  std::int64_t asked_ = 0, allocated_ = 0, reserved_ = 0, retired_bytes_ = 0, peak_asked_ = 0, peak_allocated_ = 0, peak_active_ = 0, peak_reserved_ = 0;
  std::vector<block> retired_;  // in order; before waited_ they are free
  std::size_t waited_ = 0;
  bool overflowed_ = false;
  std::vector<allocator_call>* calls_ = nullptr;
};

}  // namespace headroom
