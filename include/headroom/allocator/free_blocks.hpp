// Distributed under the Boost Software License, Version 1.0.
// The free blocks of a pool of the caching allocator: of those that are large enough the smallest is taken, of equal ones that with the
// lowest address. A step frees and takes few different sizes, each many times over, so each size has a shelf of blocks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace headroom {

/// A pool's free blocks: the smallest that is large enough, of equal ones that with the lowest address.
class free_blocks {
 public:
  using block = std::int32_t;
  using shelf_id = std::uint32_t;
  static constexpr block none = -1;

  free_blocks() : shelves_(1), order_{end}, filled_{1} { insert({0, none}, end); }

  /// The shelf of a size. It keeps its number while it is open: who remembers that asks first whether `holds` is still true.
  [[nodiscard]] shelf_id shelf_of(std::int64_t size) {
    auto& guess = guesses_[static_cast<std::uint64_t>(size) * spread >> 58];
    if (!holds(guess, size)) [[unlikely]] guess = found_or_open(size);
    return guess;
  }
  [[nodiscard]] bool holds(shelf_id on, std::int64_t size) const { return shelves_[on].size == size; }

  /// Takes a block of exactly this size; none: there is none.
  [[nodiscard]] block take(std::int64_t size) {
    auto& s = shelves_[guesses_[static_cast<std::uint64_t>(size) * spread >> 58]];
    if (s.size != size || s.count == 0) return none;
    if (--s.count == 0) clear_filled(s.place);
    return s.entries[s.count].which;
  }
  /// The best fit; none: all are too small.
  [[nodiscard]] block peek(std::int64_t size) { return first_from(shelves_[shelf_of(size)].place); }
  /// The next larger one, or the next of the same size by address.
  [[nodiscard]] block after(std::int64_t size, std::int64_t address) {
    const auto& s = shelves_[shelf_of(size)];
    if (const auto k = place(s, s.count, address); k > 0) return s.entries[k - 1].which;
    return first_from(s.place + 1);
  }
  [[nodiscard]] block largest() const {
    auto i = order_.size() - 1;
    while (i > 0 && shelves_[order_[i - 1]].count == 0) --i;
    return i > 0 ? shelves_[order_[i - 1]].entries[0].which : none;
  }

  struct entry {
    std::int64_t address;
    block which;
  };
  void insert(const entry& e, shelf_id on) {
    auto& s = shelves_[on];
    if (s.count == s.entries.size() || (s.count > 0 && s.entries[s.count - 1].address < e.address)) return insert_between(s, e);
    s.entries[s.count] = e;
    if (s.count++ == 0) set_filled(s.place);
  }
  void remove(std::int64_t address, shelf_id on) {
    auto& s = shelves_[on];
    if (s.entries[s.count - 1].address != address) return remove_between(s, address);
    if (--s.count == 0) clear_filled(s.place);
  }
  /// Makes the only block of a shelf another one, of another size, where the order of sizes stays as it is.
  [[nodiscard]] bool replace(shelf_id on, std::int64_t size, const entry& e) {
    auto& s = shelves_[on];
    if (s.count != 1 || size >= shelves_[order_[s.place + 1]].size || (s.place > 0 && size <= shelves_[order_[s.place - 1]].size)) return false;
    s.size = size;
    s.entries[0] = e;
    return true;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto on : order_)
      for (std::size_t i = 0; on != end && i < shelves_[on].count; ++i) visit(shelves_[on].entries[i].which);
  }

 private:
  struct shelf {
    std::int64_t size = std::numeric_limits<std::int64_t>::max();
    std::size_t place = 0;       ///< in the order of sizes
    std::size_t count = 0;
    std::vector<entry> entries;  ///< the lowest address last; as many as there are, and room for more
  };
  static constexpr shelf_id end = 0;             ///< behind the shelf of the largest size: `none` lies on it
  static constexpr std::int64_t closed = -1;     ///< the size of no block
  static constexpr std::size_t most_empty = 16;  ///< shelves, before they are closed
  static constexpr std::size_t most_near = 8;    ///< entries that are moved one by one
  static constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  ///< 2^64 over the golden ratio

  void set_filled(std::size_t place) { filled_[place / 64] |= std::uint64_t{1} << place % 64; }
  void clear_filled(std::size_t place) { filled_[place / 64] &= ~(std::uint64_t{1} << place % 64); }
  /// The first block of sizes from a place on.
  [[nodiscard]] block first_from(std::size_t at) const {
    auto word = at / 64;
    auto bits = filled_[word] >> at % 64 << at % 64;
    while (bits == 0) bits = filled_[++word];
    const auto& s = shelves_[order_[64 * word + static_cast<std::size_t>(std::countr_zero(bits))]];
    return s.entries[s.count - 1].which;
  }

  /// The first of so many entries whose address is not higher.
  static std::size_t place(const shelf& s, std::size_t count, std::int64_t address) {
    std::size_t low = 0;
    while (count > 0) {
      const auto half = count / 2;
      const bool higher = s.entries[low + half].address > address;
      low = higher ? low + half + 1 : low;
      count = higher ? count - half - 1 : half;
    }
    return low;
  }
  [[gnu::noinline]] void insert_between(shelf& s, const entry& e) {
    if (s.count == s.entries.size()) s.entries.resize(2 * s.count + 8);
    const auto first = s.entries.data();
    auto i = s.count++;
    if (i == 0) set_filled(s.place);
    for (const auto near = std::max(i, most_near) - most_near; i > near && first[i - 1].address < e.address; --i) first[i] = first[i - 1];
    if (i > 0 && first[i - 1].address < e.address) {
      const auto to = e.address > first[0].address ? 0 : place(s, i, e.address);
      std::move_backward(first + to, first + i, first + i + 1);
      i = to;
    }
    first[i] = e;
  }
  [[gnu::noinline]] static void remove_between(shelf& s, std::int64_t address) {
    const auto first = s.entries.begin();
    const auto i = static_cast<std::ptrdiff_t>(place(s, s.count, address));
    std::move(first + i + 1, first + static_cast<std::ptrdiff_t>(s.count), first + i);
    --s.count;
  }

  [[gnu::noinline]] shelf_id found_or_open(std::int64_t size) {
    std::size_t i = 0;
    while (shelves_[order_[i]].size < size) ++i;
    return holds(order_[i], size) ? order_[i] : open(i, size);
  }
  /// An empty shelf waits for the next block of its size; when there may be many of them they are closed.
  shelf_id open(std::size_t i, std::int64_t size) {
    if (order_.size() >= close_at_) i -= close_empty(i);
    if (spare_.empty()) {
      spare_.push_back(static_cast<shelf_id>(shelves_.size()));
      shelves_.emplace_back();
    }
    const auto on = spare_.back();
    spare_.pop_back();
    shelves_[on].size = size;
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(i), on);
    number(i);
    return on;
  }
  /// How many of the first `before` shelves were closed.
  std::size_t close_empty(std::size_t before) {
    std::size_t left = 0, closed_before = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto on = order_[i];
      if (shelves_[on].count > 0) {
        order_[left++] = on;
        continue;
      }
      shelves_[on].size = closed;
      spare_.push_back(on);
      if (i < before) ++closed_before;
    }
    order_.resize(left);
    close_at_ = left + most_empty;
    number(0);
    return closed_before;
  }
  /// Tells shelves their places.
  void number(std::size_t from) {
    filled_.resize(order_.size() / 64 + 1);
    for (auto i = from; i < order_.size(); ++i) {
      auto& s = shelves_[order_[i]];
      s.place = i;
      if (s.count == 0)
        clear_filled(i);
      else
        set_filled(i);
    }
  }

  std::vector<shelf> shelves_;
  std::vector<shelf_id> order_;        // by size
  std::vector<std::uint64_t> filled_;  // a bit for each shelf in that order, set where there is a block
  std::vector<shelf_id> spare_;
  std::size_t close_at_ = most_empty;
  std::array<shelf_id, 64> guesses_{};  // where a size was found last, by six bits of a hash of it
};

}  // namespace headroom
