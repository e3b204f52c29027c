// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: use of deleted function 'headroom::quantity
// expect-clang: call to deleted constructor
#include <headroom/units/literals.hpp>

#ifdef FORBIDDEN
headroom::bytes none{nullptr};
#else
headroom::bytes none{};
#endif
