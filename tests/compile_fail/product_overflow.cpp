// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a product does not fit in a signed 64-bit integer
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto weights = 2'000'000'000_Bparams * headroom::bytes_per_parameter::of_bytes(2);
#else
constexpr auto weights = 2'000_Bparams * headroom::bytes_per_parameter::of_bytes(2);
#endif
