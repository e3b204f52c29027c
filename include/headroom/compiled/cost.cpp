// Distributed under the Boost Software License, Version 1.0.
#include <headroom/cost/cost.hpp>

headroom::step_cost headroom::compiled::cost(const job& j) { return detail::cost_by(j, rates_of); }
