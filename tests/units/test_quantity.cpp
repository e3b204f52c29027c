// Distributed under the Boost Software License, Version 1.0.
#include "both.hpp"

#include <headroom/units/literals.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <type_traits>

namespace test_quantity {

using headroom::bytes;
using headroom::parameters;
using headroom::tokens;
using namespace headroom::literals;

namespace {

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr auto smallest = std::numeric_limits<std::int64_t>::min();

// What a quantity is: an integer with a unit, and nothing more.

template <class Q>
concept plain_value = std::is_trivially_copyable_v<Q> && std::is_standard_layout_v<Q> && std::is_nothrow_copy_constructible_v<Q> &&
                      std::is_nothrow_default_constructible_v<Q> && sizeof(Q) == sizeof(std::int64_t);
static_assert(plain_value<bytes> && plain_value<parameters> && plain_value<tokens>);
static_assert(plain_value<headroom::bytes_per_parameter> && plain_value<headroom::flops> && plain_value<headroom::seconds>);

template <class Q>
concept ordered_totally = std::three_way_comparable<Q, std::strong_ordering> && std::regular<Q>;
static_assert(ordered_totally<bytes> && ordered_totally<parameters> && ordered_totally<tokens>);
static_assert(ordered_totally<headroom::bytes_per_parameter>);

template <bytes Size>
struct buffer {
  static constexpr bytes size = Size;
};
static_assert(buffer<4_KiB>::size == 4096_B, "a quantity is structural");
static_assert(std::is_same_v<buffer<4_KiB>, buffer<4096_B>>);
static_assert(!std::is_same_v<buffer<4_KiB>, buffer<4_kB>>);

// What it refuses to be made from.

template <class From, class To>
concept converts = std::is_convertible_v<From, To>;
template <class To, class... From>
concept made_of = std::is_constructible_v<To, From...>;

static_assert(made_of<bytes, int> && made_of<bytes, std::int64_t> && made_of<bytes, std::uint64_t> && made_of<bytes, unsigned char>);
static_assert(!converts<int, bytes> && !converts<std::int64_t, bytes> && !converts<std::nullptr_t, bytes>, "only explicitly");
static_assert(!made_of<bytes, double> && !made_of<bytes, float> && !made_of<bytes, bool> && !made_of<bytes, char>);
static_assert(!made_of<bytes, void*> && !made_of<bytes, std::nullptr_t>);
static_assert(!made_of<bytes, parameters> && !made_of<parameters, bytes> && !made_of<bytes, tokens>);
static_assert(!converts<bytes, std::int64_t> && !converts<bytes, bool> && !converts<bytes, double>);
static_assert(!made_of<std::int64_t, bytes> && !made_of<bool, bytes>);
static_assert(!std::is_assignable_v<bytes&, int> && !std::is_assignable_v<bytes&, parameters>);

// What it does not take part in.

template <class A, class B>
concept comparable = requires(A a, B b) { a < b; } || requires(A a, B b) { a == b; };
template <class A, class B>
concept accumulates = requires(A a, B b) { a += b; } || requires(A a, B b) { a -= b; };
template <class A, class B>
concept addable = requires(A a, B b) { a + b; } || requires(A a, B b) { a - b; };
template <class A, class B>
concept divisible = requires(A a, B b) { a / b; };

static_assert(comparable<bytes, bytes> && accumulates<bytes, bytes> && addable<bytes, bytes> && divisible<bytes, int>);
static_assert(!comparable<bytes, parameters> && !comparable<bytes, int> && !comparable<int, bytes>);
static_assert(!accumulates<bytes, parameters> && !accumulates<bytes, int> && !accumulates<bytes, double>);
static_assert(!addable<bytes, int> && !addable<int, bytes> && !addable<bytes, double>);
static_assert(!divisible<bytes, double>);
static_assert(!addable<headroom::flops, headroom::seconds> && !addable<headroom::flops, double>);

// What its products are is Boost's algebra.

static_assert(std::is_same_v<decltype(1_B / 1_B), std::int64_t>, "a ratio is a number");
static_assert(std::is_same_v<decltype(2 * 1_B), bytes> && std::is_same_v<decltype(1_B * 2), bytes>);
static_assert(std::is_same_v<decltype(1_B / 1_params * 1_params), bytes>);
static_assert(std::is_same_v<decltype(1_B * 1_tokens / 1_tokens), bytes>);
static_assert(!std::is_same_v<decltype(1_B * 1_B), bytes>);

}  // namespace

TEST_CASE("a quantity adds, subtracts, scales and compares exactly") {
  BOTH(bytes{} == 0_B);
  BOTH(bytes{7}.count() == 7);
  BOTH(3_B + 4_B == 7_B);
  BOTH(3_B - 4_B == -1_B);
  BOTH(-(3_B) == 0_B - 3_B);
  BOTH(3 * 4_B == 12_B);
  BOTH(4_B * std::uint64_t{3} == 12_B);
  BOTH(13_B / 4 == 3_B);
  BOTH(bytes{-13} / 4 == bytes{-3});
  BOTH(13_B / 4_B == 3);
  BOTH(1_B < 2_B);
  BOTH(bytes{-1} < 0_B);
  BOTH((1_B <=> 2_B) == std::strong_ordering::less);
  BOTH(ceil_div(13_B, 4) == 4_B);
  BOTH(ceil_div(12_B, 4) == 3_B);
  BOTH(ceil_div(0_B, 4) == 0_B);
  BOTH(round_up(513_B, 512_B) == 1024_B);
  BOTH(round_up(512_B, 512_B) == 512_B);
  BOTH(round_up(0_B, 512_B) == 0_B);
  BOTH(max(1_B, 2_B) == 2_B);
  BOTH(min(1_B, 2_B) == 1_B);
  BOTH([] {
    bytes sum{};
    for (int i = 1; i <= 100; ++i) sum += bytes{i};
    return sum -= 50_B;
  }() == 5000_B);
}

TEST_CASE("a quantity sorts, and is found") {
  BOTH([] {
    std::array sizes{3_GiB, 1_GB, 2_MiB, 1_GiB};
    std::ranges::sort(sizes);
    return std::ranges::is_sorted(sizes) && sizes.front() == 2_MiB && sizes[1] == 1_GB && sizes.back() == 3_GiB;
  }());
}

TEST_CASE("the ends of the range are exact") {
  BOTH(bytes{largest}.count() == largest);
  BOTH(bytes{largest} - bytes{largest} == 0_B);
  BOTH(bytes{smallest} + bytes{largest} == bytes{-1});
  BOTH(bytes{smallest} / 1 == bytes{smallest});
  BOTH(bytes{largest / 2} * 2 == bytes{largest - 1});
  BOTH(ceil_div(bytes{largest}, 1) == bytes{largest});
  BOTH(ceil_div(bytes{largest}, 2) == bytes{largest / 2 + 1});
}

TEST_CASE("outside the range is an overflow_error") {
  using headroom::overflow_error;
  const bytes high{largest};
  const bytes low{smallest};
  CHECK_THROWS_AS((void)(high + 1_B), overflow_error);
  CHECK_THROWS_AS((void)(low - 1_B), overflow_error);
  CHECK_THROWS_AS((void)-low, overflow_error);
  CHECK_THROWS_AS((void)(high * 2), overflow_error);
  CHECK_THROWS_AS((void)(low * -1), overflow_error);
  CHECK_THROWS_AS((void)(low / -1), overflow_error);
  CHECK_THROWS_AS((void)(high / 0), overflow_error);
  CHECK_THROWS_AS((void)(high / 0_B), overflow_error);
  CHECK_THROWS_AS((void)ceil_div(high, 0), overflow_error);
  CHECK_THROWS_AS((void)round_up(high, 512_B), overflow_error);
  CHECK_THROWS_AS((void)round_up(high, 0_B), overflow_error);
  CHECK_THROWS_AS((void)(high * std::uint64_t{1} * (std::uint64_t{1} << 63)), overflow_error);
  CHECK_THROWS_AS((void)bytes{std::uint64_t{1} << 63}, overflow_error);
  CHECK_THROWS_AS((void)bytes{static_cast<std::uint64_t>(std::int64_t{-1})}, overflow_error);
  bytes sum = high;
  CHECK_THROWS_AS(sum += 1_B, overflow_error);
  CHECK(sum == high);
  CHECK_THROWS_WITH_AS((void)(high + 1_B), "headroom: a sum does not fit in a signed 64-bit integer", overflow_error);
  CHECK_THROWS_AS((void)(high + 1_B), headroom::error);
}

}  // namespace test_quantity
