// Distributed under the Boost Software License, Version 1.0.
// What jobs that are refused alike have in common: the first clause of the sentence, without the library's name and the number that was found.
#include <headroom/plan/verdicts.hpp>

#include <doctest/doctest.h>

namespace test_reasons {

TEST_CASE("a reason is the first clause of a sentence") {
  using headroom::detail::reason_of;
  CHECK(reason_of("headroom: batch.micro must be at least 1 (found 0)") == "batch.micro must be at least 1");
  CHECK(reason_of("headroom: heads must be divided; tensor (found 3)") == "heads must be divided");
  CHECK(reason_of("headroom: one clause") == "one clause");
  CHECK(reason_of("needs more memory than there is; 3 GiB") == "needs more memory than there is");  // a verdict's own words
  CHECK(reason_of("") == "");
}

}  // namespace test_reasons
