// Distributed under the Boost Software License, Version 1.0.
// To and from Boost's own quantity: explicitly, exactly, of the same unit.
#include "both.hpp"

#include <headroom/units/literals.hpp>

#include <boost/units/quantity.hpp>

namespace test_boost_units {

using namespace headroom::literals;

namespace {

using headroom::bytes;
using headroom::parameters;
using boost_bytes = boost::units::quantity<headroom::unit::byte, std::int64_t>;
using boost_real_bytes = boost::units::quantity<headroom::unit::byte, double>;
using boost_parameters = boost::units::quantity<headroom::unit::parameter, std::int64_t>;

static_assert(std::is_constructible_v<boost_bytes, bytes> && std::is_constructible_v<bytes, boost_bytes>);
static_assert(!std::is_convertible_v<boost_bytes, bytes> && !std::is_convertible_v<bytes, boost_bytes>, "only explicitly");
static_assert(!std::is_constructible_v<bytes, boost_real_bytes>, "a fraction of a byte has nowhere to go");
static_assert(!std::is_constructible_v<bytes, boost_parameters> && !std::is_constructible_v<parameters, boost_bytes>);

constexpr boost_bytes theirs = boost_bytes::from_value(512);
constexpr boost_bytes there(bytes q) { return static_cast<boost_bytes>(q); }

}  // namespace

TEST_CASE("the value survives the way there and back") {
  BOTH(bytes{theirs} == 512_B);
  BOTH(there(512_B).value() == 512);
  BOTH(bytes{there(bytes{std::numeric_limits<std::int64_t>::max()})}.count() == std::numeric_limits<std::int64_t>::max());
  BOTH(bytes{there(bytes{-1})} == bytes{-1});
  BOTH(bytes{boost::units::quantity<headroom::unit::byte, std::uint32_t>::from_value(7)} == 7_B);
}

TEST_CASE("an unsigned value above 63 bits is refused") {
  const auto huge = boost::units::quantity<headroom::unit::byte, std::uint64_t>::from_value(~std::uint64_t{});
  CHECK_THROWS_AS((void)bytes{huge}, headroom::overflow_error);
}

TEST_CASE("Boost's arithmetic gives the units that ours gives") {
  constexpr auto product = there(6_B) * boost_parameters::from_value(2);
  static_assert(std::is_same_v<decltype(6_B * 2_params)::unit_type, decltype(product)::unit_type>);
  BOTH((6_B * 2_params).count() == product.value());
  constexpr auto quotient = there(6_B) / boost_parameters::from_value(2);
  static_assert(std::is_same_v<decltype(6_B / 2_params)::unit_type, decltype(quotient)::unit_type>);
  BOTH((6_B / 2_params).count() == quotient.value());
}

TEST_CASE("Boost's quantities of our units calculate with nothing else included") {
  constexpr auto three = boost_bytes::from_value(3);
  BOTH((-three + three * std::int64_t{4} - three).value() == 6);
  BOTH((+three).value() == 3);
  BOTH((5 * headroom::unit::byte{}).value() == 5);
  CHECK((boost_real_bytes{three} * 0.5).value() == 1.5);
  const auto inverse = 6.0 / boost_real_bytes{three};
  CHECK(inverse * boost_real_bytes{three} == 6.0);
  static_assert(std::is_same_v<decltype(inverse * three)::unit_type, headroom::unit::none>);
}

}  // namespace test_boost_units
