// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: no match for 'operator\*'
// expect-clang: invalid operands to binary expression
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto most = 80_GiB * 0.9;
#else
constexpr auto most = 80_GiB * 9 / 10;
#endif
