// Distributed under the Boost Software License, Version 1.0.
#include "both.hpp"

#include <headroom/units/literals.hpp>

namespace test_bytes_per_parameter {

using headroom::bytes;
using headroom::bytes_per_parameter;
using headroom::parameters;
using namespace headroom::literals;

namespace {
constexpr auto fp32 = bytes_per_parameter::of_bytes(4);
constexpr auto bf16 = bytes_per_parameter::of_bytes(2);
constexpr auto int8 = bytes_per_parameter::of_bytes(1);
constexpr auto int4 = bytes_per_parameter::of_bits(4);

template <bytes_per_parameter Width>
struct tensor {};
static_assert(std::is_same_v<tensor<bf16>, tensor<bytes_per_parameter::of_bits(16)>>, "structural");
static_assert(!std::is_constructible_v<bytes_per_parameter, int>, "bits or bytes has to be said");

template <class A, class B>
concept multiplies = requires(A a, B b) { a * b; };
static_assert(multiplies<parameters, bytes_per_parameter> && multiplies<bytes_per_parameter, parameters>);
static_assert(!multiplies<bytes, bytes_per_parameter> && !multiplies<bytes_per_parameter, double>);
}  // namespace

TEST_CASE("bytes per parameter times parameters are bytes") {
  BOTH(8_Bparams * bf16 == 16_GB);
  BOTH(bf16 * 8_Bparams == 16_GB);
  BOTH(1_Bparams * fp32 == 4_GB);
  BOTH(1_Bparams * (bf16 + bf16 + 3 * fp32) == 16_GB);
  BOTH(3 * int4 == bytes_per_parameter::of_bits(12));
  BOTH(int8 + int8 == bf16);
  BOTH(int4 < int8);
}

TEST_CASE("half a byte is held exactly and rounded up once") {
  BOTH(2_params * int4 == 1_B);
  BOTH(1_params * int4 == 1_B);
  BOTH(3_params * int4 == 2_B);
  BOTH(1'000'000'001_params * int4 == 500'000'001_B);
  BOTH(0_params * int4 == 0_B);
  BOTH(3_params * int4 + 3_params * int4 == 4_B);
  BOTH((3_params + 3_params) * int4 == 3_B);
  BOTH(7_params * bytes_per_parameter::of_bits(1) == 1_B);
  BOTH(9_params * bytes_per_parameter::of_bits(1) == 2_B);
}

TEST_CASE("every odd and even count of 4-bit values") {
  for (std::int64_t n = 0; n < 5000; ++n) REQUIRE(parameters{n} * int4 == bytes{(n + 1) / 2});
}

TEST_CASE("a product outside the range is an overflow_error") {
  const parameters many{std::int64_t{1} << 59};
  CHECK(many * int8 == bytes{many.count()});
  CHECK_THROWS_AS((void)(many * bf16), headroom::overflow_error);  // the product is taken in bits
  CHECK_THROWS_AS((void)(many * fp32 + many * fp32), headroom::overflow_error);
  CHECK_THROWS_AS((void)bytes_per_parameter::of_bytes(std::int64_t{1} << 61), headroom::overflow_error);
}

}  // namespace test_bytes_per_parameter
