// Distributed under the Boost Software License, Version 1.0.
// When nobody reads a storage of a program any more.
#pragma once

#include <headroom/block/program.hpp>

#include <array>
#include <utility>

namespace headroom::detail {

/// For each operation the storages that nobody reads after it and nothing else keeps.
template <class Set>
class last_readers {
 public:
  constexpr last_readers(const program& p, const Set& kept) {
    auto seen = kept | p.storages(p.output().as<Set>());
    for (auto i = p.operations(); i-- > 0;) {
      const auto& o = p.at<Set>(i);
      const auto used = p.storages(o.reads | o.makes | p.rare(o).holds);
      put(i, used & ~seen);
      seen |= used;
    }
  }
  [[nodiscard]] constexpr Set gone(std::size_t i) const {
    if constexpr (near) {
      return gone_[i];
    } else {
      Set r{};
      for (auto n = gone_.first[i]; n != 0; n = gone_.next[n - 1U]) r |= tensor::at(n - 1U).bit();
      return r;
    }
  }

 private:
  static constexpr bool near = std::is_same_v<Set, near_set>;
  /// Wide sets would take 5 KB: lists of places instead, each plus one.
  struct lists {
    std::array<std::uint8_t, program::max_operations> first{};
    std::array<std::uint8_t, program::max_tensors> next{};
    static constexpr lists open() { return {}; }
  };
  constexpr void put(std::size_t i, const Set& s) {
    if constexpr (near) {
      gone_.put(i, s);
    } else {
      for (const auto t : each(s)) gone_.next[t.place()] = std::exchange(gone_.first[i], static_cast<std::uint8_t>(t.place() + 1));
    }
  }
  using sets = std::conditional_t<near, room<Set, program::near_operations>, lists>;
  sets gone_ = sets::open();
};

}  // namespace headroom::detail
