// Distributed under the Boost Software License, Version 1.0.
// Pipeline schedules as generators: the order in which one stage runs the forward, backward and weight-gradient work of its
// chunks. Nothing here knows about bytes; what is alive at a moment is read off the order.
#pragma once

#include <headroom/error.hpp>
#include <headroom/layout/degrees.hpp>

namespace headroom {

/// Backward is of the inputs, and of the weights too unless the schedule splits that off as work of its own.
enum class work_kind : std::uint8_t { forward, backward, weight_gradient };

/// What a stage does at once: one chunk's forward or backward of one micro-batch.
struct work {
  work_kind kind{};
  std::int64_t chunk{};  ///< of this stage, 0 the first that a micro-batch passes
  std::int64_t micro{};  ///< the micro-batch
  friend constexpr bool operator==(const work&, const work&) = default;
};

/// A pipeline as its schedule sees it.
struct pipeline_plan {
  headroom::schedule kind{};
  std::int64_t stages{1};
  std::int64_t chunks{1};  ///< of each stage (virtual pipeline); DualPipe: 2
  std::int64_t micros{1};  ///< micro-batches of a step
  std::int64_t group{};    ///< micro-batches that pass a chunk of the interleaved schedule in a row; 0: as many as stages
};

namespace detail {

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// `ahead` forwards, then one forward and one backward in turn, then the backwards that are left.
template <class Visit>
constexpr void one_forward_one_backward(std::int64_t chunk, std::int64_t ahead, std::int64_t micros, Visit& visit) {
  const auto warm = least(ahead, micros);
  for (std::int64_t i = 0; i < warm; ++i) visit(work{work_kind::forward, chunk, i});
  for (std::int64_t i = warm; i < micros; ++i) {
    visit(work{work_kind::forward, chunk, i});
    visit(work{work_kind::backward, chunk, i - warm});
  }
  for (std::int64_t i = micros - warm; i < micros; ++i) visit(work{work_kind::backward, chunk, i});
}

/// Narayanan et al. 2021, section 2.2.2; Megatron-LM core/pipeline_parallel/schedules.py
/// forward_backward_pipelining_with_interleaving: groups of micro-batches go through the chunks in turn.
template <class Visit>
constexpr void interleaved(const pipeline_plan& p, std::int64_t stage, Visit& visit) {
  const auto width = p.group > 0 ? p.group : p.stages;
  const auto total = p.micros * p.chunks;
  const auto warm = least(total, 2 * (p.stages - stage - 1) + (p.chunks - 1) * width);
  // Walks the groups: of each, `group` micro-batches pass chunk 0, then chunk 1, …; the last group may be smaller.
  struct cursor {
    std::int64_t first = 0, group = 0, chunk = 0, inside = 0;
    constexpr void step(const pipeline_plan& q, std::int64_t of) {
      if (++inside < group) return;
      inside = 0;
      if (++chunk < q.chunks) return;
      chunk = 0;
      first += group;
      group = least(of, q.micros - first);
    }
  };
  cursor forward, backward;
  forward.group = backward.group = least(width, p.micros);
  const auto go_forward = [&] {
    visit(work{work_kind::forward, forward.chunk, forward.first + forward.inside});
    forward.step(p, width);
  };
  const auto go_backward = [&] {
    visit(work{work_kind::backward, p.chunks - 1 - backward.chunk, backward.first + backward.inside});
    backward.step(p, width);
  };
  for (std::int64_t k = 0; k < warm; ++k) go_forward();
  for (std::int64_t k = warm; k < total; ++k) {
    go_forward();
    go_backward();
  }
  for (std::int64_t k = total - warm; k < total; ++k) go_backward();
}

/// ZB-H1 of Qi et al. 2023 (zero bubble), section 3.1: 1F1B's warm-up; weight gradients wait until as many micro-batches are
/// held as 1F1B holds on its first stage.
template <class Visit>
constexpr void zero_bubble(const pipeline_plan& p, std::int64_t stage, Visit& visit) {
  std::int64_t held = 0, weighted = 0;
  const auto visit_split = [&](const work& w) {
    if (w.kind == work_kind::forward && held == p.stages) {
      visit(work{work_kind::weight_gradient, 0, weighted++});
      --held;
    }
    if (w.kind == work_kind::forward) ++held;
    visit(w);
  };
  one_forward_one_backward(0, p.stages - stage - 1, p.micros, visit_split);
  while (weighted < p.micros) visit(work{work_kind::weight_gradient, 0, weighted++});
}

/// DualPipe (DeepSeek-V3 report, section 3.2.1): half of the micro-batches enter at either end, and each stage holds the chunk
/// of both directions: stages - stage micro-batches of one, stage + 1 of the other.
template <class Visit>
constexpr void dualpipe(const pipeline_plan& p, std::int64_t stage, Visit& visit) {
  const auto half = p.micros / 2;
  const auto warm0 = least(p.stages - stage - 1, half), warm1 = least(stage, p.micros - half);
  for (std::int64_t i = 0; i < warm0; ++i) visit(work{work_kind::forward, 0, i});
  for (std::int64_t i = 0; i < warm1; ++i) visit(work{work_kind::forward, 1, i});
  for (std::int64_t i = 0; i < half || i < p.micros - half; ++i) {
    if (i + warm0 < half) visit(work{work_kind::forward, 0, i + warm0});
    if (i + warm1 < p.micros - half) visit(work{work_kind::forward, 1, i + warm1});
    if (i < half) visit(work{work_kind::backward, 0, i});
    if (i < p.micros - half) visit(work{work_kind::backward, 1, i});
  }
}

/// ZB-V (arXiv 2405.15362, section 4), in the order of torch distributed/pipelining/schedules.py ScheduleZBVZeroBubble: a stage's first chunk runs
/// forward until the second's first backward is there; then chunks take turns, each with its weight gradients, until no forward is left; at the
/// end weight gradients fill what would be idle. With fewer than 2 × stages - 1 micro-batches it is the order of so many, with gaps.
template <class Visit>
constexpr void zero_bubble_v(const pipeline_plan& p, std::int64_t stage, Visit& visit) {
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
template <class Visit>
constexpr void v_schedule(const pipeline_plan& p, std::int64_t stage, Visit& visit) {
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

}  // namespace detail

/// Calls visit(work) for everything that `stage` (from 0) does in a step, in order.
/// Errors: job_error for a stage that is not there and for a schedule whose needs the plan does not meet.
template <class Visit>
constexpr void run_schedule(const pipeline_plan& p, std::int64_t stage, Visit&& visit) {
  if (p.stages < 1 || stage < 0 || stage >= p.stages) refuse("headroom: a pipeline stage must be from 0 to parallel.pipeline - 1; stage", stage);
  switch (p.kind) {
    case schedule::naive:
      for (std::int64_t i = 0; i < p.micros; ++i) {
        visit(work{work_kind::forward, 0, i});
        visit(work{work_kind::backward, 0, i});
      }
      break;
    case schedule::gpipe:
      for (std::int64_t i = 0; i < p.micros; ++i) visit(work{work_kind::forward, 0, i});
      for (std::int64_t i = 0; i < p.micros; ++i) visit(work{work_kind::backward, 0, i});
      break;
    case schedule::one_forward_one_backward: detail::one_forward_one_backward(0, p.stages - stage - 1, p.micros, visit); break;
    case schedule::interleaved: detail::interleaved(p, stage, visit); break;
    case schedule::zero_bubble: detail::zero_bubble(p, stage, visit); break;
    case schedule::dualpipe: detail::dualpipe(p, stage, visit); break;
    case schedule::zero_bubble_v: detail::zero_bubble_v(p, stage, visit); break;
    case schedule::v_half:
    case schedule::v_min: detail::v_schedule(p, stage, visit); break;
  }
}

/// An order of one's own: a value whose run(plan, stage, visit) calls visit(work) as run_schedule() does, for every micro-batch and
/// chunk a forward and, later, a backward. estimate(job, order) walks it.
template <class S>
concept own_schedule = requires(const S& order, const pipeline_plan& p, std::int64_t stage, void (*visit)(const work&)) { order.run(p, stage, visit); };

namespace detail {

/// The library's own orders, chosen by plan.kind. They repeat once they are under way.
struct shipped_order {
  static constexpr bool repeats = true;
  template <class Visit>
  static constexpr void run(const pipeline_plan& p, std::int64_t stage, Visit&& visit) {
    run_schedule(p, stage, visit);
  }
};

/// A schedule of one's own, checked while it is walked: the chunks and micro-batches that it names must exist, and each forward must have its backward.
template <own_schedule S>
struct given_order {
  static constexpr bool repeats = false;
  const S& own;
  template <class Visit>
  constexpr void run(const pipeline_plan& p, std::int64_t stage, Visit&& visit) const {
    std::int64_t forwards = 0, backwards = 0;
    own.run(p, stage, [&](const work& w) {
      if (w.chunk < 0 || w.chunk >= p.chunks) refuse("headroom: a schedule must name a chunk of the stage, from 0 to parallel.virtual_pipeline - 1; chunk", w.chunk);
      if (w.micro < 0 || w.micro >= p.micros) refuse("headroom: a schedule must name a micro-batch of the step, from 0 to batch.accumulation - 1; micro", w.micro);
      if (w.kind == work_kind::weight_gradient) refuse("headroom: a schedule of one's own runs whole backwards: split weight gradients are not walked by this version");
      ++(w.kind == work_kind::forward ? forwards : backwards);
      if (backwards > forwards) refuse("headroom: a schedule must run a forward before its backward; micro", w.micro);
      visit(w);
    });
    const auto all = checked::mul(p.micros, p.chunks);
    if (forwards != all || backwards != all) refuse("headroom: a schedule must run every micro-batch forward and backward once through every chunk; it ran backward", backwards);
  }
};

}  // namespace detail

/// The most micro-batches (of chunks) that a stage holds for backward at once, and for weight gradients where those are split.
template <class Order = detail::shipped_order>
constexpr std::int64_t in_flight(const pipeline_plan& p, std::int64_t stage, const Order& order = {}) {
  static_assert(own_schedule<Order>, "headroom: in_flight(plan, stage, order) takes an order with a run(plan, stage, visit)");
  std::int64_t now = 0, most = 0;
  const auto last = properties_of(p.kind).splits_backward ? work_kind::weight_gradient : work_kind::backward;
  order.run(p, stage, [&](const work& w) {
    if (w.kind == work_kind::forward) most = ++now > most ? now : most;
    if (w.kind == last) --now;
  });
  return most;
}

}  // namespace headroom
