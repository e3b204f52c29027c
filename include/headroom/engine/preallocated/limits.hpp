// Distributed under the Boost Software License, Version 1.0.
// What llm.c does not train.
#pragma once

#include <headroom/job.hpp>
#include <headroom/model/check.hpp>

namespace headroom::detail {

constexpr objection check_preallocated(const job& j, const auto& no) {
  const auto& m = j.model;
  if (m.position != position_kind::learned || m.mlp != mlp_kind::plain || m.norm != norm_kind::layernorm || m.sparse() || j.adapter.active())
    return no("headroom: llm.c trains GPT-2 models in full; model must have learned positions, layernorm and a plain MLP, and adapter be absent", m.label);
  if (j.parallel.tensor > 1 || j.parallel.pipeline > 1 || j.parallel.context > 1)
    return no("headroom: llm.c has data parallelism alone; parallel.tensor, pipeline and context must be 1", j.parallel.tensor);
  return {};
}

}  // namespace headroom::detail
