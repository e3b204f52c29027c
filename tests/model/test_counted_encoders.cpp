// Distributed under the Boost Software License, Version 1.0.
// Encoders of text and sound, and models of an encoder and a decoder, that are counted and not walked: random configurations against the classes' own totals.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "counted_rows.hpp"

namespace test_counted_encoders {

TEST_CASE("random configurations of encoders and of models with a decoder count exactly") {
  const auto seen = counted_rows::count_all("counted_encoders.json");
  CHECK(seen.exact == 419);
  CHECK(seen.refused == 0);
}

}  // namespace test_counted_encoders
