// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: division by zero
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto shard = 16_GiB / 0;
#else
constexpr auto shard = 16_GiB / 8;
#endif
