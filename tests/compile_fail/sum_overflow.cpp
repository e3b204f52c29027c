// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a sum does not fit in a signed 64-bit integer
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto sum = 8388607_TiB + 1_TiB;
#else
constexpr auto sum = 8388606_TiB + 1_TiB;
#endif
