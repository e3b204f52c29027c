// Distributed under the Boost Software License, Version 1.0.
// A quick admission decides what a full one does, for every published run.
#include "records.hpp"

#include <headroom/io/admission.hpp>

#include <doctest/doctest.h>

namespace test_admission {

using namespace accuracy;

TEST_CASE("where the estimate's range decides, a replay decides alike") {
  int decided = 0, replayed = 0;
  for (const auto& r : all_records()) {
    CAPTURE(r.of.id);
    const auto quick = headroom::estimate(r.job);
    if (!headroom::io::detail::is_decided(quick)) {
      ++replayed;
      continue;
    }
    ++decided;
    CHECK(quick.fits() == r.fits);
    CHECK(headroom::fits(quick, 0.999) == r.fits_surely);  // by 95 %, which is no stricter and no laxer where 99.9 % decides
  }
  CHECK(decided > 200);
  CHECK(replayed > 0);
}

}  // namespace test_admission
