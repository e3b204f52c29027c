// Distributed under the Boost Software License, Version 1.0.
// replay(job): estimate(job) with what the caching allocator really takes. At run time, with a heap; about a millisecond.
#pragma once

#include <headroom/deadline.hpp>
#include <headroom/fragmentation.hpp>
#include <headroom/full_report.hpp>
#include <headroom/replay/recording.hpp>
#ifndef HEADROOM_COMPILED
#include <headroom/replay/replay_ranks.hpp>
#endif

#include <vector>

namespace headroom {

/// The report of estimate(), with blocks instead of tensors: `allocated`, `reserved` and `device` after a replay of two steps, of at most
/// two micro-batches or as many as show a stage at work, through the rules of PyTorch's caching allocator: rounding, segments, splitting,
/// what stays cached, what a full GPU gives back. A job that would take too long is not replayed (replay/size.hpp): then the
/// report lists assumption::replay_too_long.
/// Errors: those of estimate(); out_of_time where it is not done by a deadline.
full_report replay(const job& j, const deadline& until = {});

/// What happens in a step of each kind of rank, in the report's order: the last step of replay(), tensor by tensor.
/// Errors: those of estimate(); job_error for a job that is not replayed; out_of_time.
std::vector<recorded_step> record(const job& j, const deadline& until = {});

#ifndef HEADROOM_COMPILED
inline full_report replay(const job& j, const deadline& until) { return detail::replayed(detail::uncorrected_estimate(j), j, detail::shipped_layers{}, until); }
inline std::vector<recorded_step> record(const job& j, const deadline& until) { return detail::recorded(detail::uncorrected_estimate(j), j, detail::shipped_layers{}, until); }
#endif

}  // namespace headroom
