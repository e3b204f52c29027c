// Distributed under the Boost Software License, Version 1.0.
// Pipeline schedules as generators: the order in which one stage runs the forward, backward and weight-gradient work of its
// chunks. Nothing here knows about bytes; what is alive at a moment is read off the order.
#pragma once

#include <headroom/error.hpp>
#include <headroom/layout/degrees.hpp>
#include <headroom/layout/v_schedules.hpp>
#include <headroom/layout/work.hpp>

namespace headroom {

namespace detail {

/// `ahead` forwards, then one forward and one backward in turn, then the backwards that are left.
constexpr void one_forward_one_backward(std::int64_t chunk, std::int64_t ahead, std::int64_t micros, auto& visit) {
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
constexpr void interleaved(const pipeline_plan& p, std::int64_t stage, auto& visit) {
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
constexpr void zero_bubble(const pipeline_plan& p, std::int64_t stage, auto& visit) {
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
constexpr void dualpipe(const pipeline_plan& p, std::int64_t stage, auto& visit) {
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

}  // namespace detail

/// Calls visit(work) for everything that `stage` (from 0) does in a step, in order.
/// Errors: job_error for a stage that is not there and for a schedule whose needs the plan does not meet.
constexpr void run_schedule(const pipeline_plan& p, std::int64_t stage, auto&& visit) {
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
  static constexpr void run(const pipeline_plan& p, std::int64_t stage, auto&& visit) {
    run_schedule(p, stage, visit);
  }
};

/// A schedule of one's own, checked while it is walked: the chunks and micro-batches that it names must exist, and each forward must have its backward.
template <own_schedule S>
struct given_order {
  static constexpr bool repeats = false;
  const S& own;
  constexpr void run(const pipeline_plan& p, std::int64_t stage, auto&& visit) const {
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
