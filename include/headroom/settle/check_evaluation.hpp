// Distributed under the Boost Software License, Version 1.0.
// Evaluations that contradict themselves, leave open what decides, or are not modelled.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

template <class No>
constexpr objection check_evaluation(const job& j, const No& no) {
  const auto& e = j.evaluation;
  if (e == evaluation{}) return {};
  return no("headroom: evaluation between steps is not modelled by this version; leave evaluation out");
}

}  // namespace headroom::detail
