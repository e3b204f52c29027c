// Distributed under the Boost Software License, Version 1.0.
// Pipeline schedules, one entry each: what they are called, how they lay a stage's chunks, and what else the library asks of them. The
// order of each is in layout/schedule.hpp. Nothing else names a schedule: a new one is an enumerator and an entry here, and its order there.
#pragma once

#include <headroom/name.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom {

/// Of a pipeline's micro-batches: 1F1B (Narayanan et al. 2019), one stage at a time (`naive`), GPipe, 1F1B over virtual stages (Narayanan et
/// al. 2021), zero bubble (Qi et al. 2023), DualPipe (DeepSeek-V3), zero bubble over two chunks in a V (ZB-V, and V-Half and V-Min, which hold a half
/// and a third of it: Qi et al. 2024, arXiv 2405.15362).
enum class schedule : std::uint8_t { one_forward_one_backward, naive, gpipe, interleaved, zero_bubble, dualpipe, zero_bubble_v, v_half, v_min };

/// Which chunks of the model a stage holds.
enum class chunk_place : std::uint8_t {
  in_turn,    ///< chunk i lies on stage i mod stages
  in_a_v,     ///< two chunks a stage: up the stages and down again, chunk i on stage i, then on stage 2 × stages - 1 - i
  both_ways,  ///< as many chunks as stages: chunk i lies on stage i and, for the micro-batches that enter at the other end, on stage stages - 1 - i
};

/// What one stage spends on one micro-batch, all its chunks together. Weight gradients are a part of `backward`.
struct stage_seconds {
  double forward{};
  double backward{};
  double weights{};
  [[nodiscard]] constexpr double both() const { return forward + backward; }
};

/// A schedule, as the rest of the library sees it.
struct schedule_properties {
  headroom::schedule kind{};
  std::string_view name{};         ///< in job files
  std::string_view torch{};        ///< in torch.distributed.pipelining (schedules.py get_schedule_class); empty: it has none
  bool megatron{};                 ///< Megatron-LM or what is built on it runs it
  std::int64_t chunks{1};          ///< of each stage (parallel.virtual_pipeline); 0: as many as the job says
  chunk_place place{};
  bool splits_backward{};          ///< weight gradients are work of their own
  std::int64_t least_rounds{};     ///< micro-batches of a step, at least, for each stage
  bool in_groups{};                ///< micro-batches pass the chunks in groups of as many as there are stages
  bool one_process{};              ///< a process that drives all stages, one after the other
  bool searched{};                 ///< a search tries it
  /// Micro-batches after which a stage only repeats what it has done: memory has then seen every state of the steady phase. `group`: of those that pass a chunk in a row.
  std::int64_t (*steady)(std::int64_t stages, std::int64_t stage, std::int64_t group){};
  /// Idle time of a rank in a step, of stages that all take `t`.
  double (*bubble)(double stages, double chunks, const stage_seconds& t){};
  /// … and for each micro-batch, where work of unequal length comes in a fixed pattern; null: none.
  double (*stall)(std::int64_t stages, const stage_seconds& t){};

  [[nodiscard]] constexpr bool both_ways() const { return place == chunk_place::both_ways; }
  /// A micro-batch enters at the first stage, and what a stage saves for it is used up by one backward.
  [[nodiscard]] constexpr bool plain() const { return !splits_backward && !both_ways(); }
};

namespace detail {

constexpr double least_none(double x) { return x > 0 ? x : 0.0; }
/// GPipe (Huang et al. 2019) and 1F1B (Narayanan et al. 2021, section 2.2.1): (p - 1)(F + B); interleaved (section 2.2.2): that over v.
constexpr double fill_and_drain(double stages, double chunks, const stage_seconds& t) { return (stages - 1) * t.both() / chunks; }
constexpr std::int64_t three_rounds(std::int64_t stages, std::int64_t, std::int64_t) { return 3 * stages; }
/// Of V-Half, and of V-Min over three stages.
constexpr double wait_for_inputs(std::int64_t stages, const stage_seconds& t) {
  return stages < 3 ? 0.0 : least_none(t.backward - t.weights - t.forward - (stages % 2 == 0 && stages > 4 ? 0.0 : t.weights / 2));
}
constexpr double longest_of(double a, double b, double c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }

}  // namespace detail

/// All of them, in the order of the enumerators.
inline constexpr std::array schedules{
    schedule_properties{.kind = schedule::one_forward_one_backward,
                        .name = "1f1b",
                        .torch = "1F1B",
                        .megatron = true,
                        .steady = [](std::int64_t stages, std::int64_t stage, std::int64_t) { return stages - stage + 2; },
                        .bubble = detail::fill_and_drain},
    // The backward of the first forward after the warm-up, whose input Megatron-LM keeps, runs in the fourth group, and a whole group comes after it.
    schedule_properties{.kind = schedule::interleaved,
                        .name = "interleaved-1f1b",
                        .torch = "Interleaved1F1B",
                        .megatron = true,
                        .chunks = 0,
                        .in_groups = true,
                        .steady = [](std::int64_t, std::int64_t, std::int64_t group) { return 5 * group; },
                        .bubble = detail::fill_and_drain},
    schedule_properties{.kind = schedule::gpipe,
                        .name = "gpipe",
                        .torch = "GPipe",
                        .megatron = true,
                        .steady = [](std::int64_t, std::int64_t, std::int64_t) { return INT64_MAX; },
                        .bubble = detail::fill_and_drain},
    // ZB-H1 (Qi et al. 2023, section 3.1): (p - 1)(F + B - 2W), where B includes W.
    schedule_properties{.kind = schedule::zero_bubble,
                        .name = "zero-bubble",
                        .megatron = true,
                        .splits_backward = true,
                        .searched = true,
                        .steady = detail::three_rounds,
                        .bubble = [](double stages, double, const stage_seconds& t) { return (stages - 1) * detail::least_none(t.both() - 2 * t.weights); }},
    // DeepSeek-V3 report, table 2: (p/2 - 1)(F&B + B - 3W), with an overlapped pair F&B at F + B.
    schedule_properties{.kind = schedule::dualpipe,
                        .name = "dualpipe",
                        .megatron = true,
                        .place = chunk_place::both_ways,
                        .steady = [](std::int64_t stages, std::int64_t, std::int64_t) { return 4 * stages; },
                        .bubble = [](double stages, double, const stage_seconds& t) { return (stages / 2 - 1) * detail::least_none(t.both() + t.backward - 3 * t.weights); }},
    // Zero at F = B = W where the optimizer does not wait for other stages (arXiv 2405.15362, table 1: of the longest stage); here it does,
    // and stages begin and end a chunk's input gradient after one another. Where that takes longer than W, the last ones wait for it at the end.
    // Both are read off the order; exact where neither F nor W takes longer than the input gradient.
    schedule_properties{.kind = schedule::zero_bubble_v,
                        .name = "zero-bubble-v",
                        .torch = "ZBVZeroBubble",
                        .megatron = true,
                        .chunks = 2,
                        .place = chunk_place::in_a_v,
                        .splits_backward = true,
                        .least_rounds = 1,
                        .searched = true,
                        .steady = detail::three_rounds,
                        .bubble =
                            [](double stages, double, const stage_seconds& t) {
                              const double inputs = t.backward - t.weights;
                              const auto longer = t.forward > inputs ? t.forward / 2 : inputs / 2;
                              return (stages - 1) * (longer < inputs - t.weights ? inputs - t.weights : longer);
                            }},
    // Both are read off the tables of AMD-AGI/Primus (core/pipeline_parallel/scheduler/algorithms/zbv_greedy.py, fd1eeabb), which fills idle time with
    // work from later: exact where F, B and W take alike, else within a twelfth of the step for 2 to 16 stages. Its pattern comes anew every six
    // pieces of work. Where an input gradient takes longer than a forward, V-Half waits for it in each; V-Min, whose pieces are close to one another, for the longest.
    schedule_properties{.kind = schedule::v_half,
                        .name = "v-half",
                        .megatron = true,
                        .chunks = 2,
                        .place = chunk_place::in_a_v,
                        .splits_backward = true,
                        .steady = detail::three_rounds,
                        .bubble =
                            [](double stages, double, const stage_seconds& t) {
                              const bool even = static_cast<std::int64_t>(stages) % 2 == 0;
                              const double pieces = 3 * stages - (even ? 7 : 4);
                              return (pieces < 1 ? 1.0 : pieces) * (t.both() - t.weights) / 4;
                            },
                        .stall = detail::wait_for_inputs},
    schedule_properties{.kind = schedule::v_min,
                        .name = "v-min",
                        .megatron = true,
                        .chunks = 2,
                        .place = chunk_place::in_a_v,
                        .splits_backward = true,
                        .steady = detail::three_rounds,
                        .bubble = [](double stages, double, const stage_seconds& t) { return (4 * stages - 7 + static_cast<double>(2 * static_cast<std::int64_t>(stages) % 3)) * t.both() / 6; },
                        .stall =
                            [](std::int64_t stages, const stage_seconds& t) {
                              if (stages == 3) return detail::wait_for_inputs(stages, t);
                              return (3 * detail::longest_of(t.forward, t.backward - t.weights, t.weights) - t.both()) / (stages == 2 ? 2 : 1);
                            }},
    // Every micro-batch passes all stages before the next one starts: see pipeline_seconds().
    schedule_properties{.kind = schedule::naive,
                        .name = "naive",
                        .one_process = true,
                        .steady = detail::three_rounds,
                        .bubble = [](double, double, const stage_seconds&) { return 0.0; }}};

/// The entry of a schedule.
constexpr const schedule_properties& properties_of(schedule kind) {
  std::size_t i = 0;
  while (i + 1 < schedules.size() && schedules[i].kind != kind) ++i;
  return schedules[i];
}

/// The schedule that is meant where none is stated: chunks are interleaved.
constexpr schedule usual_schedule(std::int64_t chunks) { return chunks > 1 ? schedule::interleaved : schedule::one_forward_one_backward; }

namespace detail {

/// `before`, and the names of the schedules that `keep(entry)` says: "1f1b, gpipe or dualpipe".
constexpr basic_name<256> with_schedules(std::string_view before, auto keep) {
  basic_name<256> r{};
  std::size_t at = 0, left = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) r.text[at++] = c;
  };
  add(before);
  for (const auto& s : schedules) left += std::size_t{keep(s)};
  for (const auto& s : schedules) {
    if (!keep(s)) continue;
    add(s.name);
    --left;
    add(left > 1 ? ", " : left == 1 ? " or " : "");
  }
  return r;
}

}  // namespace detail

}  // namespace headroom
