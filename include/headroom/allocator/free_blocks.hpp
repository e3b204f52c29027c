// Distributed under the Boost Software License, Version 1.0.
// The free blocks of a pool of the caching allocator: of those that are large enough the smallest is taken, of equal ones that with the
// lowest address. A step frees and takes few different sizes, each many times over, so blocks are kept by size.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace headroom {

class free_blocks {
 public:
  using block = std::int32_t;
  static constexpr block none = -1;

  free_blocks() : sizes_{{-1, end}, {std::numeric_limits<std::int64_t>::max(), end}}, shelves_{{{0, none}}} { guesses_.fill(1); }

  /// Returns the shelf that it lies on.
  std::uint32_t insert(std::int64_t size, std::int64_t address, block b) {
    const auto i = place(size);
    const auto on = sizes_[i].size == size ? sizes_[i].shelf : open(i, size);
    auto& s = shelves_[on];
    if (s.empty() || address < s.back().address)
      s.push_back({address, b});
    else
      s.insert(s.begin() + (address > s.front().address ? 0 : static_cast<std::ptrdiff_t>(place(s, address))), {address, b});
    return on;
  }

  /// Takes a block out that is joined to a neighbour.
  void remove(std::int64_t address, std::uint32_t on) {
    auto& s = shelves_[on];
    if (s.back().address == address)
      s.pop_back();
    else
      s.erase(s.begin() + static_cast<std::ptrdiff_t>(place(s, address)));
  }

  /// The best fit below a limit; none where all are too small, or too large.
  block take(std::int64_t size, std::int64_t limit) {
    const auto i = filled(place(size));
    if (sizes_[i].size >= limit) return none;
    auto& s = shelves_[sizes_[i].shelf];
    const auto b = s.back().which;
    s.pop_back();
    return b;
  }

  [[nodiscard]] block peek(std::int64_t size) { return shelf_at(filled(place(size))).back().which; }
  /// The next larger one, or the next of the same size by address.
  [[nodiscard]] block after(std::int64_t size, std::int64_t address) {
    const auto i = place(size);
    if (const auto k = place(shelf_at(i), address); k > 0) return shelf_at(i)[k - 1].which;
    return shelf_at(filled(i + 1)).back().which;
  }
  [[nodiscard]] block largest() const {
    auto i = sizes_.size() - 2;
    while (i > 0 && shelf_at(i).empty()) --i;
    return shelf_at(i).front().which;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& of : sizes_)
      if (of.shelf != end)
        for (const auto& e : shelves_[of.shelf]) visit(e.which);
  }

 private:
  struct entry {
    std::int64_t address;
    block which;
  };
  using shelf = std::vector<entry>;  // blocks of one size, the lowest address last
  struct shelf_of_size {
    std::int64_t size;
    std::uint32_t shelf;
  };
  static constexpr std::uint32_t end = 0;  ///< the shelf before the smallest size and behind the largest: `none` lies on it
  static constexpr std::size_t most_empty = 16;  ///< shelves, before they are closed
  static constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  ///< 2^64 over the golden ratio
  [[nodiscard]] const shelf& shelf_at(std::size_t i) const { return shelves_[sizes_[i].shelf]; }

  /// The first size that is not smaller; mostly it is where it was found last time.
  [[nodiscard]] std::size_t place(std::int64_t size) {
    auto& i = guesses_[static_cast<std::uint64_t>(size) * spread >> 58];
    const auto* const all = sizes_.data();
    if (all[i - 1].size < size && all[i].size >= size) return i;
    i = 1;
    for (; i + 8 < sizes_.size() && all[i + 7].size < size; i += 8) {}
    while (all[i].size < size) ++i;
    return i;
  }
  /// From there on, the first of which there is a block.
  [[nodiscard]] std::size_t filled(std::size_t i) const {
    while (shelf_at(i).empty()) ++i;
    return i;
  }
  /// The first entry whose address is not higher.
  static std::size_t place(const shelf& s, std::int64_t address) {
    std::size_t low = 0, count = s.size();
    while (count > 0) {
      const auto half = count / 2;
      const bool higher = s[low + half].address > address;
      low = higher ? low + half + 1 : low;
      count = higher ? count - half - 1 : half;
    }
    return low;
  }
  /// An empty shelf waits for the next block of its size; when there may be many of them they are closed.
  std::uint32_t open(std::size_t i, std::int64_t size) {
    if (sizes_.size() >= close_at_) {
      close_empty();
      i = place(size);
    }
    if (spare_.empty()) {
      spare_.push_back(static_cast<std::uint32_t>(shelves_.size()));
      shelves_.emplace_back();
    }
    const auto on = spare_.back();
    spare_.pop_back();
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(i), {size, on});
    return on;
  }
  void close_empty() {
    std::size_t left = 0;
    for (const auto of : sizes_) {
      if (shelves_[of.shelf].empty())
        spare_.push_back(of.shelf);
      else
        sizes_[left++] = of;
    }
    sizes_.resize(left);
    close_at_ = left + most_empty;
    guesses_.fill(1);
  }

  std::vector<shelf_of_size> sizes_;  // ascending
  std::vector<shelf> shelves_;
  std::vector<std::uint32_t> spare_;
  std::size_t close_at_ = most_empty;
  std::array<std::size_t, 64> guesses_;  // where a size was found last, by six bits of a hash of it
};

}  // namespace headroom
