// Distributed under the Boost Software License, Version 1.0.
// expect: headroom::quantity takes a unit of Boost.Units, e.g. headroom::unit::byte
#include <headroom/units/quantity.hpp>

#ifdef FORBIDDEN
constexpr headroom::quantity<int> sum{8};
#else
constexpr headroom::quantity<headroom::unit::byte> sum{8};
#endif
