// Distributed under the Boost Software License, Version 1.0.
// Strong types for what is counted. Boost.Units does the dimension algebra: what a product is a unit of is decided by its
// types, never by ours. Its own quantity is not structural, accepts a literal 0 and converts through double, so the value
// sits in this thin front instead, with a checked signed 64-bit count; conversion to and from boost::units::quantity is
// explicit.
#pragma once

#include <headroom/units/checked.hpp>
#include <headroom/units/unit.hpp>

#include <boost/units/is_unit.hpp>
#include <boost/units/units_fwd.hpp>

#include <compare>
#include <type_traits>

namespace headroom {

/// A whole number of some unit. Structural, trivially copyable, totally ordered. Built only explicitly and only from an
/// integer; every operation is exact or an overflow_error (an error of compilation inside a constant expression).
template <class Unit>
struct quantity {
  static_assert(boost::units::is_unit<Unit>::value, "headroom::quantity takes a unit of Boost.Units, e.g. headroom::unit::byte");
  using unit_type = Unit;

  std::int64_t value;  // public because a structural type has no private members; read it with count()

  /// As for an integer: `bytes b{}` is zero, `bytes b;` is not initialised.
  constexpr quantity() noexcept = default;
  template <whole_number T>
  constexpr explicit quantity(T n) : value(checked::of(n)) {}
  quantity(std::nullptr_t) = delete;

  /// From and to Boost's quantity of the same unit, with an integer `Rep`. Including <boost/units/quantity.hpp>, a third
  /// of a second of compile time, is left to those who convert.
  template <whole_number Rep>
  constexpr explicit quantity(const boost::units::quantity<Unit, Rep>& q) : value(checked::of(q.value())) {}
  template <std::same_as<std::int64_t> Rep>
  constexpr explicit operator boost::units::quantity<Unit, Rep>() const {
    return boost::units::quantity<Unit, Rep>::from_value(value);
  }

  [[nodiscard]] constexpr std::int64_t count() const { return value; }

  friend constexpr auto operator<=>(const quantity&, const quantity&) = default;

  constexpr quantity operator-() const { return quantity{checked::sub(0, value)}; }
  constexpr quantity& operator+=(quantity b) { value = checked::add(value, b.value); return *this; }
  constexpr quantity& operator-=(quantity b) { value = checked::sub(value, b.value); return *this; }
  friend constexpr quantity operator+(quantity a, quantity b) { return quantity{checked::add(a.value, b.value)}; }
  friend constexpr quantity operator-(quantity a, quantity b) { return quantity{checked::sub(a.value, b.value)}; }

  template <whole_number T>
  friend constexpr quantity operator*(quantity a, T n) { return quantity{checked::mul(a.value, checked::of(n))}; }
  template <whole_number T>
  friend constexpr quantity operator*(T n, quantity a) { return quantity{checked::mul(a.value, checked::of(n))}; }
  /// Truncates toward zero; ceil_div() below rounds up.
  template <whole_number T>
  friend constexpr quantity operator/(quantity a, T n) { return quantity{checked::div(a.value, checked::of(n))}; }
};

template <class A, class B>
constexpr auto operator*(quantity<A> a, quantity<B> b) {
  return quantity<unit::product<A, B>>{checked::mul(a.value, b.value)};
}

/// The ratio of two quantities of one unit is a plain number, truncated; of different units it is a quantity.
template <class A, class B>
constexpr auto operator/(quantity<A> a, quantity<B> b) {
  if constexpr (std::is_same_v<A, B>)
    return checked::div(a.value, b.value);
  else
    return quantity<unit::quotient<A, B>>{checked::div(a.value, b.value)};
}

namespace detail {
template <class A, class B>
struct same_unit {
  static constexpr bool value = std::is_same_v<A, B>;
};
}  // namespace detail

// Quantities of different units do not add up, compare or assign. Said here once, in a sentence, because the compiler's
// own list of rejected candidates does not say it.
template <class A, class B>
  requires(!std::is_same_v<A, B>)
constexpr quantity<A> operator+(quantity<A>, quantity<B>) {
  static_assert(detail::same_unit<A, B>::value,
                "headroom: only quantities of one unit add up (bytes with bytes, parameters with parameters); multiply "
                "parameters by a bytes_per_parameter first");
  return {};
}
template <class A, class B>
  requires(!std::is_same_v<A, B>)
constexpr quantity<A> operator-(quantity<A>, quantity<B>) {
  static_assert(detail::same_unit<A, B>::value,
                "headroom: only quantities of one unit subtract (bytes from bytes, parameters from parameters); multiply "
                "parameters by a bytes_per_parameter first");
  return {};
}

/// The least whole number not below a / n; the least multiple of a quantity not below a; the larger and the smaller of two. Errors: overflow_error.
template <class U, whole_number T>
constexpr quantity<U> ceil_div(quantity<U> a, T n) { return quantity<U>{checked::ceil_div(a.value, checked::of(n))}; }
template <class U>
constexpr quantity<U> round_up(quantity<U> a, quantity<U> multiple) { return quantity<U>{checked::round_up(a.value, multiple.value)}; }
template <class U>
constexpr quantity<U> max(quantity<U> a, quantity<U> b) { return a < b ? b : a; }
template <class U>
constexpr quantity<U> min(quantity<U> a, quantity<U> b) { return b < a ? b : a; }

/// Memory. 1 GiB is 2^30 bytes, 1 GB is 10^9 bytes; the literals in units/literals.hpp keep them apart.
using bytes = quantity<unit::byte>;
/// Weights of a model, trainable or not: the elements of its parameter tensors.
using parameters = quantity<unit::parameter>;
/// Positions of sequences: micro-batch × sequence length.
using tokens = quantity<unit::token>;

/// How much room one parameter takes. Held in bits, so that int4 is exact and nothing truncates to zero.
struct bytes_per_parameter {
  std::int64_t bits{};

  constexpr bytes_per_parameter() = default;
  template <whole_number T>
  static constexpr bytes_per_parameter of_bits(T n) { bytes_per_parameter r; r.bits = checked::of(n); return r; }
  template <whole_number T>
  static constexpr bytes_per_parameter of_bytes(T n) { return of_bits(checked::mul(checked::of(n), 8)); }

  friend constexpr auto operator<=>(const bytes_per_parameter&, const bytes_per_parameter&) = default;
  friend constexpr bytes_per_parameter operator+(bytes_per_parameter a, bytes_per_parameter b) { return of_bits(checked::add(a.bits, b.bits)); }
  template <whole_number T>
  friend constexpr bytes_per_parameter operator*(T n, bytes_per_parameter a) { return of_bits(checked::mul(checked::of(n), a.bits)); }

  /// Rounded up to a whole byte, once, after the product: an odd number of int4 values ends in half a byte.
  friend constexpr bytes operator*(parameters p, bytes_per_parameter b) { return bytes{checked::ceil_div(checked::mul(p.value, b.bits), 8)}; }
  friend constexpr bytes operator*(bytes_per_parameter b, parameters p) { return p * b; }
};
static_assert(std::is_same_v<unit::product<unit::quotient<unit::byte, unit::parameter>, unit::parameter>, unit::byte>);

/// Floating-point operations and seconds are measured or predicted, never counted to the last one: real numbers.
template <class Tag>
struct real_quantity {
  double value{};
  constexpr real_quantity() = default;
  constexpr explicit real_quantity(double v) : value(v) {}
  friend constexpr auto operator<=>(const real_quantity&, const real_quantity&) = default;
  friend constexpr real_quantity operator+(real_quantity a, real_quantity b) { return real_quantity{a.value + b.value}; }
  friend constexpr real_quantity operator-(real_quantity a, real_quantity b) { return real_quantity{a.value - b.value}; }
  friend constexpr real_quantity operator*(real_quantity a, double n) { return real_quantity{a.value * n}; }
  friend constexpr real_quantity operator*(double n, real_quantity a) { return real_quantity{n * a.value}; }
  friend constexpr double operator/(real_quantity a, real_quantity b) { return a.value / b.value; }
};
using flops = real_quantity<struct flops_tag>;
using seconds = real_quantity<struct seconds_tag>;

}  // namespace headroom
