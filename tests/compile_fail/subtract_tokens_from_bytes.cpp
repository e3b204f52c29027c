// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: only quantities of one unit subtract
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto left = 80_GiB - 4096_tokens;
#else
constexpr auto left = 80_GiB - 4096_B;
#endif
