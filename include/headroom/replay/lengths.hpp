// Distributed under the Boost Software License, Version 1.0.
// What a rank reserves over samples of different lengths, by the order in which they come, and the least that it can do with.
#pragma once

#include <headroom/replay/length_run.hpp>
#include <headroom/replay/sample_orders.hpp>
#include <headroom/report.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace headroom {

/// How much is replayed: so many orders, each of a run's micro-batches or of so many, fewer where their calls to the allocator would be more than
/// a second or two take. What a run leaves cached grows with each new longest micro-batch, about as the logarithm of how many there are.
struct length_sizes {
  std::int32_t orders{11};
  std::int64_t micro_batches{128};
  std::int64_t least_micro_batches{32};
  std::int64_t calls{std::int64_t{1} << 25};
};

namespace detail {

/// The runs of a rank in several orders, most of them more than once.
template <class Layers>
class ordered_runs {
 public:
  /// None are made where even few micro-batches would take too long.
  ordered_runs(const job& j, std::size_t kind, std::int64_t data, const Layers& layers, const length_sizes& most, const deadline& until) : run_(j, kind, layers, until) {
    const auto& b = j.batch;
    const auto calls = static_cast<std::int64_t>(run_.calls_of(b.longest())) * most.orders;
    if (calls * most.least_micro_batches > most.calls) return;
    auto n = std::clamp(most.calls / calls, most.least_micro_batches, most.micro_batches);
    if (b.lengths.samples > 0) n = std::min(n, checked::ceil_div(b.lengths.samples, checked::mul(b.micro, data)));
    // Of different lengths there are as many as of micro-batches: each is walked.
    auto samples = typical_samples(b, n);
    const auto copies = static_cast<std::size_t>(std::min<std::int64_t>(b.micro, 64));
    std::vector<std::int64_t> all;
    for (const auto s : samples) all.insert(all.end(), copies, s);
    auto as_drawn = b;
    as_drawn.micro = static_cast<std::int64_t>(copies);
    for (std::int32_t i = 0; i < most.orders; ++i) {
      auto order = micro_batches_in_order(as_drawn, all, static_cast<std::uint64_t>(i));
      if (std::find(orders_.begin(), orders_.end(), order) == orders_.end()) orders_.push_back(std::move(order));
    }
  }
  [[nodiscard]] std::size_t size() const { return orders_.size(); }
  [[nodiscard]] std::size_t micro_batches() const { return orders_.front().size(); }
  std::optional<run_result> run(std::size_t order, allocator_settings s, bytes room, bool stops = false) {
    s.capacity = room.count();
    return run_.run(orders_[order], s, stops);
  }

 private:
  length_run<Layers> run_;
  std::vector<std::vector<std::int64_t>> orders_;
};

/// The least room, within a sixteenth of what lies between, that is enough for every order. `at_room`: what each took where there was `room`.
/// Runs: an ordered_runs, or what answers as it does.
template <class Runs>
bytes least_room(Runs& runs, const allocator_settings& s, const std::vector<run_result>& at_room, bytes room, bytes least) {
  const auto suffices = [&](std::size_t order, bytes b) { return runs.run(order, s, b, true)->found_room; };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (least < room && suffices(i, least)) continue;
    auto low = least, high = min(at_room[i].reserved, room);
    if (!at_room[i].found_room) {
      low = max(least, room);
      for (high = max(at_room[i].reserved, low + 2 * mib); !suffices(i, high); high += high / 8) low = high;
    } else if (least >= room) {
      continue;
    }
    const auto near = max(32 * mib, (high - low) / 16);
    while (high - low > near) {
      const auto middle = low + (high - low) / 2;
      (suffices(i, middle) ? high : low) = middle;
    }
    least = max(least, high);
  }
  return least;
}

}  // namespace detail

/// Fills in rank_report::lengths, and `reserved` and `device` by their median. False where nothing is said: there would be too much to replay, or
/// micro-batches of different lengths differ in more than their sizes.
/// Errors: out_of_time.
template <class Layers>
bool replay_lengths(rank_report& rank, const job& j, std::size_t kind, std::int64_t data, const allocator_settings& settings, const Layers& layers, const deadline& until = {}, const length_sizes& most = {}) {
  detail::ordered_runs<Layers> runs(j, kind, data, layers, most, until);
  if (runs.size() == 0) return false;
  const auto room = rank.capacity - rank.outside.total();
  std::vector<run_result> at_room;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto r = runs.run(i, settings, room);
    if (!r) return false;
    at_room.push_back(*r);
  }
  std::vector<bytes> reserved;
  for (const auto& r : at_room) reserved.push_back(max(rank.active, r.reserved));
  std::sort(reserved.begin(), reserved.end());
  const auto at = [&](std::size_t tenths) { return reserved[(reserved.size() - 1) * tenths / 10]; };
  const auto least = detail::least_room(runs, settings, at_room, room, round_up(rank.active, 2 * mib));
  rank.lengths = {at(1), at(5), at(9), least, static_cast<std::int32_t>(runs.size()), static_cast<std::int32_t>(runs.micro_batches())};
  rank.reserved = rank.lengths.median;
  rank.device = rank.reserved + rank.outside.total();
  return true;
}

}  // namespace headroom
