// Distributed under the Boost Software License, Version 1.0.
// Our dimensions and our one system of units, as Boost.Units makes them by base_unit and make_system. The headers of these bring <cmath>, with it an
// eighth of the text that including the core reads, for numbers that nothing here has. So what they make is written out, and what
// <boost/units/unit.hpp> says of every unit is said of ours alone; tests/units/test_system_of_units.cpp holds all of it equal to Boost's.
#pragma once

#include <boost/units/base_dimension.hpp>
#include <boost/units/detail/ordinal.hpp>
#include <boost/units/dimension.hpp>
#include <boost/units/homogeneous_system.hpp>
#include <boost/units/operators.hpp>
#include <boost/units/units_fwd.hpp>

#include <type_traits>

// Of <boost/units/heterogeneous_system.hpp>, by name.
namespace boost::units {
template <class BaseUnit, class Exponent>
struct heterogeneous_system_dim;
template <class List, class Dimension, class Scale>
struct heterogeneous_system_impl;
template <class Impl>
struct heterogeneous_system;
}  // namespace boost::units

namespace headroom {

/// Our base dimensions and the one system of units that the library computes in.
namespace dimension {
struct information : boost::units::base_dimension<information, 4801> {};
struct parameter : boost::units::base_dimension<parameter, 4802> {};
struct token : boost::units::base_dimension<token, 4803> {};
}  // namespace dimension

/// Bytes, parameters and tokens as units of Boost.Units, and the units of products and quotients.
namespace unit {
/// A base unit of a dimension, as boost::units::base_unit makes it; `Ordinal` sorts the base units of a system.
template <class Derived, class Dimension, int Ordinal>
struct base : boost::units::ordinal<Ordinal> {
  using boost_units_is_base_unit_type = void;
  using type = Derived;
  using dimension_type = Dimension;
  using unit_type = boost::units::unit<Dimension, boost::units::heterogeneous_system<boost::units::heterogeneous_system_impl<
      boost::units::list<boost::units::heterogeneous_system_dim<Derived, boost::units::static_rational<1>>, boost::units::dimensionless_type>,
      Dimension, boost::units::dimensionless_type>>>;
};
struct byte_base : base<byte_base, dimension::information::dimension_type, 4801> {};
struct parameter_base : base<parameter_base, dimension::parameter::dimension_type, 4802> {};
struct token_base : base<token_base, dimension::token::dimension_type, 4803> {};
using system = boost::units::homogeneous_system<
    boost::units::list<byte_base, boost::units::list<parameter_base, boost::units::list<token_base, boost::units::dimensionless_type>>>>;

using byte = boost::units::unit<dimension::information::dimension_type, system>;
using parameter = boost::units::unit<dimension::parameter::dimension_type, system>;
using token = boost::units::unit<dimension::token::dimension_type, system>;
using none = boost::units::unit<boost::units::dimensionless_type, system>;

/// The unit of a product and of a quotient, by Boost.
template <class A, class B>
using product = typename boost::units::multiply_typeof_helper<A, B>::type;
template <class A, class B>
using quotient = typename boost::units::divide_typeof_helper<A, B>::type;
}  // namespace unit
}  // namespace headroom

// What Boost's quantity asks of a unit. Units of other systems come with <boost/units/unit.hpp>, which says the same of them.
namespace boost::units {

template <class Dimension>
class unit<Dimension, headroom::unit::system> {
 public:
  using unit_type = unit;
  using this_type = unit;
  using dimension_type = Dimension;
  using system_type = headroom::unit::system;
};

template <class A>
struct unary_plus_typeof_helper<unit<A, headroom::unit::system>> {
  using type = unit<A, headroom::unit::system>;
};
template <class A>
struct unary_minus_typeof_helper<unit<A, headroom::unit::system>> {
  using type = unit<A, headroom::unit::system>;
};
template <class A>
struct add_typeof_helper<unit<A, headroom::unit::system>, unit<A, headroom::unit::system>> {
  using type = unit<A, headroom::unit::system>;
};
template <class A>
struct subtract_typeof_helper<unit<A, headroom::unit::system>, unit<A, headroom::unit::system>> {
  using type = unit<A, headroom::unit::system>;
};
template <class A, class B>
struct multiply_typeof_helper<unit<A, headroom::unit::system>, unit<B, headroom::unit::system>> {
  using type = unit<typename mpl::times<A, B>::type, headroom::unit::system>;
};
template <class A, class B>
struct divide_typeof_helper<unit<A, headroom::unit::system>, unit<B, headroom::unit::system>> {
  using type = unit<typename mpl::divides<A, B>::type, headroom::unit::system>;
};
template <class A, long N, long D>
struct power_typeof_helper<unit<A, headroom::unit::system>, static_rational<N, D>> {
  using type = unit<typename static_power<A, static_rational<N, D>>::type, headroom::unit::system>;
  static constexpr type value(const unit<A, headroom::unit::system>&) { return {}; }
};
template <class A, long N, long D>
struct root_typeof_helper<unit<A, headroom::unit::system>, static_rational<N, D>> {
  using type = unit<typename static_root<A, static_rational<N, D>>::type, headroom::unit::system>;
  static constexpr type value(const unit<A, headroom::unit::system>&) { return {}; }
};
template <class A, class B>
struct is_implicitly_convertible<unit<A, headroom::unit::system>, unit<B, headroom::unit::system>> : mpl::bool_<std::is_same_v<A, B>> {};

}  // namespace boost::units
