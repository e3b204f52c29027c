// Distributed under the Boost Software License, Version 1.0.
#include <headroom/full_report.hpp>

namespace headroom {

report compiled::estimate(const job& j) { return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{}); }

full_report estimate_all(const job& j) { return detail::estimate_of_all(j); }

}  // namespace headroom
