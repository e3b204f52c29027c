// Distributed under the Boost Software License, Version 1.0.
// Pipeline schedules whose stages each hold two chunks in a V: the first stage has the first chunk and the last.
#pragma once

#include <headroom/layout/work.hpp>

namespace headroom::detail {

/// ZB-V (arXiv 2405.15362, section 4), in the order of torch distributed/pipelining/schedules.py ScheduleZBVZeroBubble: a stage's first chunk runs
/// forward until the second's first backward is there; then chunks take turns, each with its weight gradients, until no forward is left; at the
/// end weight gradients fill what would be idle. With fewer than 2 × stages - 1 micro-batches it is the order of so many, with gaps.
constexpr void zero_bubble_v(const pipeline_plan& p, std::int64_t stage, auto& visit) {
  const auto micros = p.micros < 2 * p.stages - 1 ? 2 * p.stages - 1 : p.micros;
  std::int64_t done[3][2]{};  // micro-batches, by kind of work and chunk
  const auto run = [&](work_kind kind, std::int64_t chunk) {
    const auto micro = done[static_cast<int>(kind)][chunk]++;
    if (micro < p.micros) visit(work{kind, chunk, micro});
  };
  const auto back = [&](std::int64_t chunk) {
    run(work_kind::backward, chunk);
    run(work_kind::weight_gradient, chunk);
  };
  const auto& forwards = done[static_cast<int>(work_kind::forward)];
  const auto& weighted = done[static_cast<int>(work_kind::weight_gradient)];
  for (auto i = 2 * (p.stages - stage) - 1; i > 0; --i) run(work_kind::forward, 0);
  for (std::int64_t i = 0; i < stage; ++i) run(work_kind::forward, 1), run(work_kind::forward, 0);
  for (auto i = p.stages - stage; i > 0; --i) run(work_kind::forward, 1), back(1);
  while (forwards[1] < micros) {
    if (forwards[0] < micros) run(work_kind::forward, 0);
    back(0);
    run(work_kind::forward, 1);
    back(1);
  }
  for (std::int64_t i = 0; i < stage; ++i) run(work_kind::backward, 0), run(work_kind::backward, 1);
  for (auto i = p.stages - stage; i > 0; --i) run(work_kind::backward, 0), run(work_kind::weight_gradient, 0);
  for (const std::int64_t chunk : {1, 0})
    while (weighted[chunk] < micros) run(work_kind::weight_gradient, chunk);
}

/// When a stage begins each piece of work of its first micro-batch, in units of one piece: a forward up the V and down it, backward the same way
/// back. Every micro-batch after it six units later.
struct v_pattern {
  std::int64_t up, down, back_down, back_up;
};
/// arXiv 2405.15362, section 3; AMD-AGI/Primus core/pipeline_parallel/scheduler/algorithms/zbv_greedy.py stable_pattern_v_half, stable_pattern_v_min.
constexpr v_pattern v_pattern_of(const pipeline_plan& p, std::int64_t stage) {
  const auto n = p.stages;
  if (p.kind == schedule::v_half) {
    const std::int64_t wait = n % 2 == 0 ? 3 : 0;
    return {2 * stage, 3 * n - stage - 2, 3 * n + wait + 2 * stage - 1, 6 * n + wait - stage - 2};
  }
  const std::int64_t wait = n % 3 == 0 ? 2 : 0;
  const std::int64_t ahead = n % 3 == 2 && stage == 0 ? 12 : 0;
  return {stage - ahead, 2 * n - stage - 1, 2 * n + wait + stage, 4 * n + wait - stage - 1};
}

/// V-Half and V-Min: weight gradients take the units that the pattern leaves idle, oldest first. Primus then moves work into earlier idle units, where that
/// holds no more than the fullest stage does. How much that one holds stays as it is here; of the others the first, which has the embedding and the head,
/// fills up with two more forwards where V-Min leaves it room.
constexpr void v_schedule(const pipeline_plan& p, std::int64_t stage, auto& visit) {
  const auto at = v_pattern_of(p, stage);
  std::int64_t backwards = 0, weighted = 0;
  // Backwards come in the order of their units: both chunks' micro-batches, one after the other.
  const auto lead = (at.back_up - at.back_down) / 6 + ((at.back_up - at.back_down) % 6 == 0 ? 0 : 1);  // of the second chunk, before the first chunk's first
  const auto nth_backward = [&](std::int64_t i) {
    if (i < lead && i < p.micros) return work{work_kind::weight_gradient, 1, i};
    const auto rest = i - least(lead, p.micros), paired = 2 * (p.micros - least(lead, p.micros));
    if (rest >= paired) return work{work_kind::weight_gradient, 0, rest - paired + paired / 2};
    return rest % 2 == 0 ? work{work_kind::weight_gradient, 0, rest / 2} : work{work_kind::weight_gradient, 1, least(lead, p.micros) + rest / 2};
  };
  const auto weigh = [&] { visit(nth_backward(weighted++)); };
  const auto last = at.back_up + 6 * (p.micros - 1);
  const auto begins = [&](std::int64_t first, std::int64_t unit, std::int64_t& micro) {
    micro = (unit - first) / 6;
    return unit >= first && (unit - first) % 6 == 0 && micro < p.micros;
  };
  for (auto unit = at.up; unit <= last; ++unit) {
    std::int64_t micro = 0;
    if (begins(at.up, unit, micro)) {
      visit(work{work_kind::forward, 0, micro});
    } else if (begins(at.down, unit, micro)) {
      visit(work{work_kind::forward, 1, micro});
    } else if (begins(at.back_down, unit, micro)) {
      visit(work{work_kind::backward, 1, micro});
      ++backwards;
    } else if (begins(at.back_up, unit, micro)) {
      visit(work{work_kind::backward, 0, micro});
      ++backwards;
    } else if (weighted < backwards) {
      weigh();
    }
  }
  while (weighted < backwards) weigh();
}

}  // namespace headroom::detail
