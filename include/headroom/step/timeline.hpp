// Distributed under the Boost Software License, Version 1.0.
// The tallest moment of each phase of a step, and of what other models do in it.
#pragma once

#include <headroom/block/moment.hpp>

namespace headroom {

/// The tallest moment of each phase.
class timeline {
 public:
  constexpr timeline() {
    for (auto& l : layer_) l = -1;
  }
  /// Considers the sum of some moments.
  template <class... Parts>
  constexpr void look(phase p, std::int64_t layer, const Parts&... parts) {
    const auto i = static_cast<std::size_t>(p);
    if (tallest_[i].rise_to(parts...)) layer_[i] = layer;
    if (pools_) [[unlikely]] default_pool_ = max(default_pool_, (parts.total + ...) - elsewhere_);
  }
  /// Considers a moment of a phase that not every step has. Before an engine wakes trainers give what is cached back (empty_cache), so that
  /// other streams' pools hold nothing then.
  constexpr void look_beside(phase p, std::int64_t layer, const moment& m) {
    auto& most = beside_[static_cast<std::size_t>(p) - tallest_.size()];
    most = max(most, m.total);
    if (pools_ && p != phase::generate && p != phase::sync) [[unlikely]] default_pool_ = max(default_pool_, m.total - elsewhere_);
    if (!tallest_beside_.rise_to(m)) return;
    at_beside_ = p;
    layer_beside_ = layer;
  }
  /// Something else lies there during a phase.
  constexpr void add(phase p, row r, bytes b) { tallest_[static_cast<std::size_t>(p)].add(r, b); }
  /// From now on the pool of the default stream is watched: of the moments to come, so many bytes lie in other streams' pools.
  constexpr void watch_pools(bytes gather, bytes reduce) {
    pools_ = true;
    gather_pool_ = gather;
    reduce_pool_ = reduce;
  }
  constexpr void elsewhere(bytes b) { elsewhere_ = b; }
  /// The default stream's pool was so large at some moment.
  constexpr void reach(bytes b) { default_pool_ = max(default_pool_, b - elsewhere_); }
  [[nodiscard]] constexpr bool watches_pools() const { return pools_; }
  [[nodiscard]] constexpr bytes default_pool() const { return default_pool_; }
  [[nodiscard]] constexpr bytes gather_pool() const { return gather_pool_; }
  [[nodiscard]] constexpr bytes reduce_pool() const { return reduce_pool_; }
  /// Of a phase of every step, or of the tallest of the others.
  [[nodiscard]] constexpr const moment& at(phase p) const { return in_every_step(p) ? tallest_[static_cast<std::size_t>(p)] : tallest_beside_; }
  [[nodiscard]] constexpr std::int64_t layer(phase p) const { return in_every_step(p) ? layer_[static_cast<std::size_t>(p)] : layer_beside_; }
  [[nodiscard]] constexpr bytes total(phase p) const { return in_every_step(p) ? at(p).total : beside_[static_cast<std::size_t>(p) - tallest_.size()]; }
  [[nodiscard]] constexpr phase peak() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < tallest_.size(); ++i)
      if (tallest_[i].total > tallest_[best].total) best = i;
    return tallest_beside_.total > tallest_[best].total ? at_beside_ : static_cast<phase>(best);
  }

 private:
  std::array<moment, step_phase_count> tallest_;
  std::array<std::int64_t, step_phase_count> layer_;
  moment tallest_beside_;
  std::array<bytes, phase_count - step_phase_count> beside_{};
  phase at_beside_{phase::reference};
  std::int64_t layer_beside_{-1};
  bool pools_{};
  bytes elsewhere_{}, default_pool_{}, gather_pool_{}, reduce_pool_{};
};

}  // namespace headroom
