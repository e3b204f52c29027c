// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a confidence must be a share from 0.5 to 0.999 .0.95 is 95 %.
#include <headroom/bounds.hpp>

#ifdef FORBIDDEN
constexpr headroom::confidence sure{95.0};
#else
constexpr headroom::confidence sure{0.95};
#endif
