// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: required for the satisfaction of 'whole_number<T>' .with T = bool
// expect-clang: because 'bool' does not satisfy 'whole_number'
#include <headroom/units/literals.hpp>

#ifdef FORBIDDEN
headroom::bytes one{true};
#else
headroom::bytes one{1};
#endif
