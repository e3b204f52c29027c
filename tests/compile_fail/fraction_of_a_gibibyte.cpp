// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a literal is a whole number of its unit: 1536_MiB, not 1.5_GiB
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto budget = 1.5_GiB;
#else
constexpr auto budget = 1536_MiB;
#endif
