// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: conversion from 'const headroom::bytes' .* to non-scalar type
// expect-clang: no viable conversion from 'const headroom::bytes'
#include <headroom/units/literals.hpp>

#include <boost/units/quantity.hpp>

using theirs = boost::units::quantity<headroom::unit::byte, std::int64_t>;
constexpr headroom::bytes ours{512};
#ifdef FORBIDDEN
constexpr theirs same = ours;
#else
constexpr theirs same{ours};
#endif
