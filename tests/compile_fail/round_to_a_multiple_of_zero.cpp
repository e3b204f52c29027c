// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: division by zero
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto block = round_up(1000_B, 0_B);
#else
constexpr auto block = round_up(1000_B, 512_B);
#endif
