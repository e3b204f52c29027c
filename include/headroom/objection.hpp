// Distributed under the Boost Software License, Version 1.0.
// objection_to(job): why a job is refused. Each sentence stands with whoever has the limit: contradictions in settle/check.hpp, layers without
// a program in block/limits.hpp and beside it, what an engine does not run in its own folder.
#pragma once

#include <headroom/engine/eager/limits.hpp>
#include <headroom/engine/preallocated/limits.hpp>
#include <headroom/engine/tensor_parallel/deepspeed_limits.hpp>
#include <headroom/engine/tensor_parallel/limits.hpp>
#include <headroom/engine/tensor_parallel/nanotron_limits.hpp>
#include <headroom/settle/check.hpp>
#include <headroom/settle/objective.hpp>

namespace headroom {

namespace detail {

/// A critic's step is walked as a job's is. Not inlined, so that this job lies on nobody else's stack.
[[gnu::noinline]] constexpr objection check_critic(const job& j, const auto& no) {
  return check_eager(standing_of_critic(j), no);
}

}  // namespace detail

/// Refuses a job whose states can be counted, but whose step the framework's engine does not run in this version; or does what `no` does.
template <class No = refusing>
constexpr objection check_walk(const job& j, const No& no = {}) {
  if (j.objective.critic.given()) [[unlikely]]
    if (const auto why = detail::check_critic(j, no)) return why;
  if (j.framework.runtime == runtime::preallocated) return detail::check_preallocated(j, no);
  if (j.framework.modules.nanotron()) return detail::check_nanotron(j, no);
  if (j.framework.modules.deepspeed())
    if (const auto why = detail::check_deepspeed_pipeline(j, no)) return why;
  return j.framework.modules.megatron() ? detail::check_megatron(j, no) : detail::check_eager(j, no);
}

namespace detail {

/// … whatever layers it is given.
constexpr objection objection_to_any(const job& j) {
  if (const auto why = check(j, objecting{})) return why;
  return check_walk(j, objecting{});
}

constexpr objection objection_to_shipped(const job& j) {
  if (j.model.pattern.names_own()) return object_to_own(j.model, mixer_kind::own, objecting{});
  return objection_to_any(j);
}

}  // namespace detail

#ifdef HEADROOM_COMPILED
namespace compiled {
objection objection_to(const job& j);  ///< in the library headroom::compiled
}
#endif

/// Why estimate(j) refuses a job that contradicts itself or is not modelled, without refusing it: for who asks about many jobs, or builds
/// without exceptions. Empty where nothing is known against it; sizes that overflow are still an overflow_error.
constexpr objection objection_to(const job& j) {
#ifdef HEADROOM_COMPILED
  if (__builtin_is_constant_evaluated())  // the operator itself, and in this order: see estimate()
    return detail::objection_to_shipped(j);
  else
    return compiled::objection_to(j);
#else
  return detail::objection_to_shipped(j);
#endif
}

}  // namespace headroom
