// Distributed under the Boost Software License, Version 1.0.
// Searches over jobs whose step time is not predicted: by memory alone.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/objection.hpp>
#include <headroom/plan/axes.hpp>
#include <headroom/plan/result.hpp>

#include <string>

namespace headroom {

/// Why the times of a search's jobs are not predicted; nothing where they are. It lies with the model and the GPU, which no axis changes.
inline std::string untimed(const search& s) {
  const auto why = detail::check_cost(s.job, objecting{});
  if (!why) return {};
  const std::string text = why.in_words().what(), prefix = "headroom: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// All plans are as fast; those that need least come first.
constexpr judged_plan judge_memory(const job& j) {
  if (const auto why = objection_to(j)) return {.refused = why};
  const auto r = estimate(j);
  return {r.may_fit(), r.device(), 0.0, {}};
}

}  // namespace headroom
