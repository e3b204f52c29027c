// Distributed under the Boost Software License, Version 1.0.
// A quick admission decides what a full one does, for every published run.
#include "records.hpp"

#include <headroom/decide.hpp>

#include <doctest/doctest.h>

namespace test_admission {

using namespace accuracy;

TEST_CASE("where the estimate decides, a replay decides alike") {
  int decided = 0, replayed = 0;
  for (const auto& r : all_records()) {
    CAPTURE(r.of.id);
    const auto quick = headroom::estimate(r.job);
    CHECK((!quick.fits() || r.fits));
    CHECK((quick.may_fit() || !r.fits));
    (headroom::is_decided(quick) ? decided : replayed) += 1;
    const headroom::confidence sure{0.95};
    if (headroom::is_decided(quick, sure)) CHECK(headroom::fits(quick, sure) == r.fits_surely);
  }
  CHECK(decided > 200);
  CHECK(replayed > 0);
}

}  // namespace test_admission
