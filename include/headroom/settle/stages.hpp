// Distributed under the Boost Software License, Version 1.0.
// A job's layers cut into stages, by what the job states or its framework does.
#pragma once

#include <headroom/job.hpp>
#include <headroom/layout/stages.hpp>

namespace headroom {

namespace detail {

/// Multiplications of a token with the matrices of a layer and of the head (nanotron models/llama.py get_block_compute_costs, which counts
/// k and v as if no heads were grouped).
constexpr block_costs costs_of_blocks(const shape& m) {
  return {checked::add(checked::mul(4, m.query_width(), m.hidden), checked::mul(3, m.ffn, m.hidden)), checked::mul(m.vocab, m.hidden)};
}

}  // namespace detail

/// The result refers to `j`, which must outlive it.
/// Errors: job_error where the layers do not come out even, or do not add up.
constexpr stage_cut cut_into_stages(const job& j, const shape& m) { return stage_cut(j.parallel, m.layers, j.framework.pipeline.split, detail::costs_of_blocks(m)); }

}  // namespace headroom
