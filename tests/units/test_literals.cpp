// Distributed under the Boost Software License, Version 1.0.
#include "both.hpp"

#include <headroom/units/literals.hpp>

namespace test_literals {

using namespace headroom::literals;

TEST_CASE("GiB are powers of two, GB are powers of ten") {
  BOTH(1_B == headroom::bytes{1});
  BOTH(1_KiB == 1024_B);
  BOTH(1_MiB == 1024 * 1_KiB);
  BOTH(1_GiB == 1024 * 1_MiB);
  BOTH(1_TiB == 1024 * 1_GiB);
  BOTH(1_kB == 1000_B);
  BOTH(1_MB == 1000 * 1_kB);
  BOTH(1_GB == 1000 * 1_MB);
  BOTH(1_TB == 1000 * 1_GB);
  BOTH(headroom::kib == 1_KiB);
  BOTH(headroom::mib == 1_MiB);
  BOTH(headroom::gib == 1_GiB);
}

TEST_CASE("the difference is not small") {
  BOTH(80_GiB - 80_GB == 5'899'345'920_B);
  BOTH(80_GB < 75_GiB);
  BOTH(80_GB > 74_GiB);
  BOTH(1_TiB / 1_MB == 1'099'511);
}

TEST_CASE("parameters and tokens") {
  BOTH(8_Bparams == 8000 * 1_Mparams);
  BOTH(1_Mparams == headroom::parameters{1'000'000});
  BOTH(5_params + 2_params == 7_params);
  BOTH(4 * 8192_tokens == headroom::tokens{32768});
}

}  // namespace test_literals
