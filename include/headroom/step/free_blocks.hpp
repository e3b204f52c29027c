// Distributed under the Boost Software License, Version 1.0.
// The free blocks of a pool of the caching allocator: of those that are large enough the smallest is taken, of equal ones that with the
// lowest address. A step frees and takes few different sizes, each many times over, so blocks are kept by size.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom {

class free_blocks {
 public:
  using block = std::int32_t;
  static constexpr block none = -1;

  /// Returns the shelf that it lies on.
  std::uint32_t insert(std::int64_t size, std::int64_t address, block b) {
    const auto i = place(size);
    if (i == sizes_.size() || sizes_[i] != size) open(i, size);
    auto& s = shelves_[shelf_of_[i]];
    if (s.empty() || address < s.back().address)
      s.push_back({address, b});
    else
      s.insert(s.begin() + static_cast<std::ptrdiff_t>(place(s, address)), {address, b});
    return shelf_of_[i];
  }

  /// Takes a block out that is joined to a neighbour.
  void remove(std::int64_t size, std::int64_t address, std::uint32_t on) {
    auto& s = shelves_[on];
    if (s.back().address == address)
      s.pop_back();
    else
      s.erase(s.begin() + static_cast<std::ptrdiff_t>(place(s, address)));
    if (s.empty()) close(place(size));
  }

  /// The best fit below a limit; none where all are too small, or too large.
  block take(std::int64_t size, std::int64_t limit) {
    const auto i = place(size);
    if (i == sizes_.size() || sizes_[i] >= limit) return none;
    auto& s = shelves_[shelf_of_[i]];
    const auto b = s.back().which;
    s.pop_back();
    if (s.empty()) close(i);
    return b;
  }

  [[nodiscard]] block peek(std::int64_t size) const {
    const auto i = place(size);
    return i == sizes_.size() ? none : shelves_[shelf_of_[i]].back().which;
  }
  [[nodiscard]] block largest() const { return sizes_.empty() ? none : shelves_[shelf_of_.back()].back().which; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto s : shelf_of_)
      for (const auto& e : shelves_[s]) visit(e.which);
  }

 private:
  struct entry {
    std::int64_t address;
    block which;
  };
  using shelf = std::vector<entry>;  // blocks of one size, the lowest address last

  /// The first size that is not smaller: there are about ten.
  [[nodiscard]] std::size_t place(std::int64_t size) const {
    std::size_t i = 0;
    const auto n = sizes_.size();
    for (; i + 8 < n && sizes_[i + 7] < size; i += 8) {}
    while (i < n && sizes_[i] < size) ++i;
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
  void open(std::size_t i, std::int64_t size) {
    if (spare_.empty()) {
      spare_.push_back(static_cast<std::uint32_t>(shelves_.size()));
      shelves_.emplace_back();
    }
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(i), size);
    shelf_of_.insert(shelf_of_.begin() + static_cast<std::ptrdiff_t>(i), spare_.back());
    spare_.pop_back();
  }
  void close(std::size_t i) {
    spare_.push_back(shelf_of_[i]);
    sizes_.erase(sizes_.begin() + static_cast<std::ptrdiff_t>(i));
    shelf_of_.erase(shelf_of_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::vector<std::int64_t> sizes_;    // ascending
  std::vector<std::uint32_t> shelf_of_;  // of each
  std::vector<shelf> shelves_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace headroom
