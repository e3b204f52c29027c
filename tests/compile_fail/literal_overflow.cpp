// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a product does not fit in a signed 64-bit integer
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto all = 8388608_TiB;
#else
constexpr auto all = 8388607_TiB;
#endif
