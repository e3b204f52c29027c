// Distributed under the Boost Software License, Version 1.0.
// Our system of units is the one that Boost's own headers make of three base units, and calculates as that one does.
#include <headroom/units/literals.hpp>

#include <boost/units/base_unit.hpp>
#include <boost/units/get_dimension.hpp>
#include <boost/units/get_system.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/scaled_base_unit.hpp>
#include <boost/units/systems/si/length.hpp>

#include <doctest/doctest.h>

namespace test_system_of_units {

namespace {

using namespace boost::units;
namespace ours = headroom::unit;

template <class Base>
constexpr bool as_boost_makes_it = std::is_same_v<typename base_unit<Base, typename Base::dimension_type, Base::value + 1000>::unit_type, typename Base::unit_type>;
static_assert(as_boost_makes_it<ours::byte_base> && as_boost_makes_it<ours::parameter_base> && as_boost_makes_it<ours::token_base>);
static_assert(std::is_same_v<make_system<ours::token_base, ours::byte_base, ours::parameter_base>::type, ours::system>);

// The same dimensions in a system that Boost made.
struct first : base_unit<first, headroom::dimension::information::dimension_type, 4901> {};
struct second : base_unit<second, headroom::dimension::parameter::dimension_type, 4902> {};
struct third : base_unit<third, headroom::dimension::token::dimension_type, 4903> {};
using theirs = make_system<first, second, third>::type;

template <class Ours, class Theirs>
constexpr bool same = std::is_same_v<typename get_dimension<typename Ours::type>::type, typename get_dimension<typename Theirs::type>::type> &&
                      std::is_same_v<typename get_system<typename Ours::type>::type, ours::system> &&
                      std::is_same_v<typename get_system<typename Theirs::type>::type, theirs>;
template <class A, class B>
constexpr bool two_alike() {
  using a = unit<typename A::dimension_type, theirs>;
  using b = unit<typename B::dimension_type, theirs>;
  return same<multiply_typeof_helper<A, B>, multiply_typeof_helper<a, b>> && same<divide_typeof_helper<A, B>, divide_typeof_helper<a, b>> &&
         is_implicitly_convertible<A, B>::value == is_implicitly_convertible<a, b>::value;
}
template <class A>
constexpr bool alike() {
  using a = unit<typename A::dimension_type, theirs>;
  return two_alike<A, ours::byte>() && two_alike<A, ours::parameter>() && two_alike<A, ours::token>() && two_alike<A, ours::none>() &&
         same<add_typeof_helper<A, A>, add_typeof_helper<a, a>> && same<subtract_typeof_helper<A, A>, subtract_typeof_helper<a, a>> &&
         same<unary_plus_typeof_helper<A>, unary_plus_typeof_helper<a>> && same<unary_minus_typeof_helper<A>, unary_minus_typeof_helper<a>> &&
         same<power_typeof_helper<A, static_rational<-3, 2>>, power_typeof_helper<a, static_rational<-3, 2>>> &&
         same<root_typeof_helper<A, static_rational<2>>, root_typeof_helper<a, static_rational<2>>>;
}
static_assert(alike<ours::byte>() && alike<ours::parameter>() && alike<ours::token>() && alike<ours::none>());
static_assert(alike<ours::product<ours::byte, ours::token>>() && alike<ours::quotient<ours::byte, ours::parameter>>());

// With a unit of another system, all is Boost's.
using lengths = headroom::quantity<si::length>;
static_assert(std::is_same_v<decltype(lengths{} * headroom::bytes{})::unit_type, multiply_typeof_helper<si::length, ours::byte>::type>);
static_assert(std::is_same_v<decltype(headroom::bytes{} / lengths{})::unit_type, divide_typeof_helper<ours::byte, si::length>::type>);

}  // namespace

TEST_CASE("Boost converts our units into others, and back") {
  using kibibyte = scaled_base_unit<ours::byte_base, scale<2, static_rational<10>>>;
  using kibibytes = quantity<kibibyte::unit_type, double>;
  using real_bytes = quantity<ours::byte, double>;
  CHECK(kibibytes{real_bytes::from_value(512.0)}.value() == 0.5);
  CHECK(real_bytes{kibibytes::from_value(3.0)}.value() == 3072.0);
}

}  // namespace test_system_of_units
