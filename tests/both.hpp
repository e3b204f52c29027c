// Distributed under the Boost Software License, Version 1.0.
// For tests of constexpr code: BOTH(condition) is a static_assert, and the same condition again at run time, where a
// sanitizer watches and doctest prints the values.
#pragma once

#include <headroom/units/quantity.hpp>

#include <doctest/doctest.h>

#include <string>

#define BOTH(...)               \
  do {                          \
    static_assert(__VA_ARGS__); \
    CHECK(__VA_ARGS__);         \
  } while (false)

namespace doctest {
template <class Unit>
struct StringMaker<headroom::quantity<Unit>> {
  static String convert(headroom::quantity<Unit> q) { return toString(q.count()); }
};
}  // namespace doctest
