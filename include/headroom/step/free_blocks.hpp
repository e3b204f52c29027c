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
    if (i == sizes_.size() || sizes_[i].size != size) open(i, size);
    const auto on = sizes_[i].shelf;
    auto& s = shelves_[on];
    if (s.empty() || address < s.back().address)
      s.push_back({address, b});
    else
      s.insert(s.begin() + static_cast<std::ptrdiff_t>(place(s, address)), {address, b});
    return on;
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
    if (i == sizes_.size() || sizes_[i].size >= limit) return none;
    auto& s = shelves_[sizes_[i].shelf];
    const auto b = s.back().which;
    s.pop_back();
    if (s.empty()) close(i);
    return b;
  }

  [[nodiscard]] block peek(std::int64_t size) const {
    const auto i = place(size);
    return i == sizes_.size() ? none : shelf_at(i).back().which;
  }
  /// The next larger one, or the next of the same size by address.
  [[nodiscard]] block after(std::int64_t size, std::int64_t address) const {
    const auto i = place(size);
    if (const auto k = place(shelf_at(i), address); k > 0) return shelf_at(i)[k - 1].which;
    return i + 1 < sizes_.size() ? shelf_at(i + 1).back().which : none;
  }
  [[nodiscard]] block largest() const { return sizes_.empty() ? none : shelf_at(sizes_.size() - 1).front().which; }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& of : sizes_)
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
  [[nodiscard]] const shelf& shelf_at(std::size_t i) const { return shelves_[sizes_[i].shelf]; }

  /// The first size that is not smaller: there are about ten.
  [[nodiscard]] std::size_t place(std::int64_t size) const {
    const auto* const all = sizes_.data();
    const auto n = sizes_.size();
    std::size_t i = 0;
    for (; i + 8 < n && all[i + 7].size < size; i += 8) {}
    while (i < n && all[i].size < size) ++i;
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
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(i), {size, spare_.back()});
    spare_.pop_back();
  }
  void close(std::size_t i) {
    spare_.push_back(sizes_[i].shelf);
    sizes_.erase(sizes_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::vector<shelf_of_size> sizes_;  // ascending
  std::vector<shelf> shelves_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace headroom
