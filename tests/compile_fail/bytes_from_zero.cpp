// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: use of deleted function 'headroom::quantity
// expect-clang: from 'int' to 'headroom::bytes'
#include <headroom/units/literals.hpp>

#ifdef FORBIDDEN
headroom::bytes none = 0;
#else
headroom::bytes none{0};
#endif
