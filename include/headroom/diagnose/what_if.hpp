// Distributed under the Boost Software License, Version 1.0.
// What another micro-batch, sequence, recompute mode or ZeRO stage would do to a job, one at a time.
#pragma once

#include <headroom/cost/cost.hpp>

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A key of a job, and values of it that are worth a look. One of one's own is one more of these.
struct knob {
  std::string_view key;
  std::int64_t (*value)(const job&);
  std::vector<std::int64_t> (*values)(const job&);  ///< ascending, the job's own among them
  void (*set)(job&, std::int64_t);
};

/// The job with one knob at a value.
struct setting {
  std::int64_t value{};
  bool own{};                                ///< the job's value
  std::optional<headroom::report> report{};  ///< unless the framework refuses it
  std::optional<step_cost> cost{};           ///< of jobs whose step time is predicted
  std::string refused{};                     ///< why there is no report
};
/// One knob, and the job at each of its values.
struct what_if {
  const headroom::knob* knob{};
  std::vector<setting> settings{};
};

namespace knobs {

namespace detail {
/// `now` halved and doubled, `down` and `up` times.
inline std::vector<std::int64_t> doublings(std::int64_t now, int down, int up) {
  std::vector<std::int64_t> all{now};
  for (; down > 0 && all.front() > 1 && all.front() % 2 == 0; --down) all.insert(all.begin(), all.front() / 2);
  for (; up > 0 && all.back() < std::int64_t{1} << 40; --up) all.push_back(all.back() * 2);
  return all;
}
}  // namespace detail

/// Examples that a rank works on at once.
inline constexpr knob micro_batch{"batch.micro", [](const job& j) { return j.batch.micro; }, [](const job& j) { return detail::doublings(j.batch.micro, 3, 4); },
                                  [](job& j, std::int64_t n) { j.batch.micro = n; }};
/// Tokens of an example.
inline constexpr knob sequence{"batch.sequence", [](const job& j) { return j.batch.sequence; }, [](const job& j) { return detail::doublings(j.batch.sequence, 3, 3); },
                               [](job& j, std::int64_t n) { j.batch.sequence = n; }};
/// By recompute_mode's numbers.
inline constexpr knob recompute{"recompute", [](const job& j) { return static_cast<std::int64_t>(j.recompute.mode); },
                                [](const job&) { return std::vector<std::int64_t>{0, 1, 2}; },
                                [](job& j, std::int64_t n) {
                                  if (n != static_cast<std::int64_t>(j.recompute.mode)) j.recompute = {.mode = static_cast<recompute_mode>(n)};
                                }};
/// Of ZeRO and FSDP, which shards gradients (2) or parameters too (3).
inline constexpr knob stage{"sharding.stage", [](const job& j) { return j.sharding.stage; },
                            [](const job& j) -> std::vector<std::int64_t> {
                              if (j.sharding.by(sharder::deepspeed)) return {0, 1, 2, 3};
                              if (j.sharding.fully_sharded()) return {2, 3};
                              return {};
                            },
                            [](job& j, std::int64_t n) { j.sharding.stage = n; }};
inline constexpr std::array all{micro_batch, sequence, recompute, stage};

}  // namespace knobs

/// Each knob at each of its values, by a reporter of one's own: reporter(job) -> report, which throws headroom::error for what it refuses.
template <std::invocable<const job&> Reporter>
std::vector<what_if> explore(const job& j, Reporter reporter, std::span<const knob> over = knobs::all) {
  std::vector<what_if> found;
  for (const auto& k : over) {
    what_if one{&k, {}};
    for (const auto v : k.values(j)) {
      auto other = j;
      k.set(other, v);
      setting s{v, v == k.value(j), {}, {}, {}};
      try {
        s.report = reporter(other);
        s.cost = cost(other);
      } catch (const error& e) {
        if (!s.report) s.refused = e.what();
      }
      one.settings.push_back(std::move(s));
    }
    if (one.settings.size() > 1) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace headroom
