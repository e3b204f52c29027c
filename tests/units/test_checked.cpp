// Distributed under the Boost Software License, Version 1.0.
// The checked operations against 128-bit arithmetic, on every pair of values where something could go wrong.
#include "both.hpp"

#include <headroom/units/checked.hpp>

#include <array>
#include <limits>
#include <optional>

namespace test_checked {

namespace {

__extension__ using wide = __int128;

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
constexpr std::array<std::int64_t, 21> corners{0,           1,           -1,          2,           -2,          3,
                                               7,           -8,          4096,        largest,     largest - 1, largest / 2,
                                               smallest,    smallest + 1, smallest / 2, 3037000499, 3037000500,  -3037000500,
                                               largest / 3, 1LL << 32,   1LL << 62};

std::optional<std::int64_t> expected(wide exact) {
  if (exact > largest || exact < smallest) return std::nullopt;
  return static_cast<std::int64_t>(exact);
}

template <class Operation>
std::optional<std::int64_t> outcome(Operation operation) {
  try {
    return operation();
  } catch (const headroom::overflow_error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("add, sub, mul and div agree with 128-bit arithmetic or refuse") {
  namespace checked = headroom::checked;
  for (auto a : corners)
    for (auto b : corners) {
      CAPTURE(a);
      CAPTURE(b);
      REQUIRE(outcome([&] { return checked::add(a, b); }) == expected(wide{a} + b));
      REQUIRE(outcome([&] { return checked::sub(a, b); }) == expected(wide{a} - b));
      REQUIRE(outcome([&] { return checked::mul(a, b); }) == expected(wide{a} * b));
      REQUIRE(outcome([&] { return checked::div(a, b); }) == (b == 0 ? std::nullopt : expected(wide{a} / b)));
      if (a >= 0 && b > 0) {
        const wide up = (wide{a} + b - 1) / b;
        REQUIRE(outcome([&] { return checked::ceil_div(a, b); }) == expected(up));
        REQUIRE(outcome([&] { return checked::round_up(a, b); }) == expected(up * b));
      }
    }
}

TEST_CASE("small values, exhaustively") {
  namespace checked = headroom::checked;
  for (std::int64_t a = 0; a <= 200; ++a)
    for (std::int64_t b = 1; b <= 200; ++b) {
      const auto up = checked::round_up(a, b);
      REQUIRE((up >= a && up - a < b && up % b == 0 && checked::ceil_div(a, b) * b == up));
    }
}

TEST_CASE("any integer becomes a signed 64-bit one or is refused") {
  namespace checked = headroom::checked;
  BOTH(checked::of(std::uint8_t{255}) == 255);
  BOTH(checked::of(std::int8_t{-128}) == -128);
  BOTH(checked::of(~std::uint32_t{}) == 4294967295);
  BOTH(checked::of(static_cast<std::uint64_t>(largest)) == largest);
  CHECK_THROWS_AS((void)checked::of(static_cast<std::uint64_t>(largest) + 1), headroom::overflow_error);
  CHECK_THROWS_AS((void)checked::of(~std::uint64_t{}), headroom::overflow_error);
}

TEST_CASE("powers of two and long products") {
  namespace checked = headroom::checked;
  BOTH(checked::power_of_two_ceil(1) == 1);
  BOTH(checked::power_of_two_ceil(3) == 4);
  BOTH(checked::power_of_two_ceil(4096) == 4096);
  BOTH(checked::power_of_two_ceil((std::int64_t{1} << 61) + 1) == std::int64_t{1} << 62);
  CHECK_THROWS_AS((void)checked::power_of_two_ceil(largest), headroom::overflow_error);
  BOTH(checked::mul(2, 3, 4, 5) == 120);
  CHECK_THROWS_AS((void)checked::mul(1 << 20, 1 << 20, 1 << 20, 1 << 20), headroom::overflow_error);
}

}  // namespace test_checked
