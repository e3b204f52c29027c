// Distributed under the Boost Software License, Version 1.0.
// estimate(job): the one function that most users need.
#pragma once

#include <headroom/ranks.hpp>

#include <concepts>

namespace headroom {

#ifdef HEADROOM_COMPILED
namespace compiled {
report estimate(const job& j);  ///< in the library headroom::compiled
}
#endif

/// What a job occupies on every GPU, in host memory and on NVMe, at every moment of a step. One function at compile time and
/// at run time; two to three microseconds for a dense model, and no heap. Of more than eight kinds of rank the report holds those that decide:
/// for_each_rank() shows all, estimate_all() (full_report.hpp) keeps them.
/// Errors: job_error for a job that contradicts itself or that this version does not model; overflow_error where a size does
/// not fit in 63 bits.
constexpr report estimate(const job& j) {
  // The operator itself, and in this order: where the library is linked, g++ then generates no code for what is in the headers.
  if (__builtin_is_constant_evaluated()) {
    check(j);  // at once, so that compilers show the sentence near the top
    detail::shipped_layers::check(j, refusing{});
    check_walk(j);
    return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{});
  } else {
#ifdef HEADROOM_COMPILED
    return compiled::estimate(j);
#else
    return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{});
#endif
  }
}

/// The same; `visit(rank)` is called for every kind of rank, stage by stage, of each kind of GPU.
template <std::invocable<const rank_report&> Visit>
constexpr report for_each_rank(const job& j, Visit&& visit) {
  report r;
  const auto add = [&]() -> rank_report& {
    if (r.size > 0) visit(r.last());
    return r.add();
  };
  detail::estimate_into(r, add, j, detail::shipped_layers{}, detail::shipped_order{});
  visit(r.last());
  return r;
}

/// objection_to(j) (objection.hpp) where layers of one's own are given.
template <own_stack Own>
constexpr objection objection_to(const job& j, const Own& own) {
  if (const auto why = detail::layers_from(own).check(j, objecting{})) return why;
  return detail::objection_to_any(j);
}

/// estimate() with a part of one's own: layers (block/own_layer.hpp), own_layers{a, b} that the model's pattern names or one that the whole
/// stack is made of, or a pipeline's order (own_schedule, layout/schedule.hpp).
/// Errors: those of estimate(job); job_error for a pattern that names a layer which is not among those given.
template <class Own>
constexpr report estimate(const job& j, const Own& own) {
  static_assert(own_stack<Own> || own_schedule<Own>,
                "headroom: estimate(job, x) takes layers or a schedule of your own: a layer, or own_layers{…} of such with a label(), has "
                "add_weights(list, shape, where), parts() and part(i, scene, trained, flows) that returns a program; a schedule has run(plan, stage, visit)");
  if constexpr (own_stack<Own>) {
    const auto layers = detail::layers_from(own);
    layers.check(j, refusing{});
    return detail::estimate_with(j, layers, detail::shipped_order{});
  } else if constexpr (own_schedule<Own>) {
    if (!j.framework.modules.megatron()) refuse("headroom: a schedule of one's own is walked for megatron alone by this version; framework", j.framework.label);
    if (!properties_of(j.parallel.schedule).plain())
      refuse("headroom: with a schedule of one's own parallel.schedule must be 1f1b, gpipe or interleaved-1f1b: chunks lie as these lay them");
    if (j.batch.accumulation > 65'536) refuse("headroom: with a schedule of one's own batch.accumulation must be from 1 to 65536; accumulation", j.batch.accumulation);
    return detail::estimate_with(j, detail::shipped_layers{}, detail::given_order<Own>{own});
  } else {
    return {};
  }
}

}  // namespace headroom
