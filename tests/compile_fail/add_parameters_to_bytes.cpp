// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: only quantities of one unit add up
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto weights = 16_GiB + 8_Bparams;
#else
constexpr auto weights = 16_GiB + 8_Bparams * headroom::bytes_per_parameter::of_bytes(2);
#endif
