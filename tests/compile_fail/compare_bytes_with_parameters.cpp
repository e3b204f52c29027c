// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: no match for 'operator<'
// expect-clang: invalid operands to binary expression
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr bool smaller = 16_GB < 8_Bparams;
#else
constexpr bool smaller = 16_GB < 80_GiB;
#endif
