// Distributed under the Boost Software License, Version 1.0.
// Methods that contradict themselves, and those that this version does not model.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

template <class No>
constexpr objection check_objective(const job& j, const No& no) {
  const auto& o = j.objective;
  const auto& method = traits_of(o.kind);
  if (!method.modelled) return no("headroom: methods with more than one model are not modelled by this version; objective.kind must be \"sft\"");
  if (o.teacher.given() && !method.teacher) return no("headroom: objective.teacher is for a distillation; objective.kind must be \"distill\"");
  if (!method.reference && o.reference != reference_way::unset && o.reference != reference_way::none)
    return no("headroom: this objective.kind has no reference model; leave objective.reference out");
  return {};
}

}  // namespace headroom::detail
