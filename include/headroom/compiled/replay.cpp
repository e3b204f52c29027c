// Distributed under the Boost Software License, Version 1.0.
#include <headroom/replay.hpp>
#include <headroom/replay/replay_ranks.hpp>

namespace headroom {

full_report replay(const job& j, const deadline& until) { return detail::replayed(detail::uncorrected_estimate(j), j, detail::shipped_layers{}, until); }

std::vector<recorded_step> record(const job& j, const deadline& until) { return detail::recorded(detail::uncorrected_estimate(j), j, detail::shipped_layers{}, until); }

}  // namespace headroom
