// Distributed under the Boost Software License, Version 1.0.
#include <headroom/full_report.hpp>
#include <headroom/objection.hpp>

namespace headroom {

report compiled::estimate(const job& j) { return detail::estimate_with(j, detail::shipped_layers{}, detail::shipped_order{}); }

objection compiled::objection_to(const job& j) { return detail::objection_to_shipped(j); }

full_report detail::uncorrected_estimate(const job& j) { return estimate_of_all(j); }

full_report estimate_all(const job& j) {
  auto r = detail::estimate_of_all(j);
  detail::correct_estimate(r, j);
  return r;
}

}  // namespace headroom
