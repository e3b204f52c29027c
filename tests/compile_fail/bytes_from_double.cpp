// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: required for the satisfaction of 'whole_number<T>' .with T = double
// expect-clang: because 'double' does not satisfy 'whole_number'
#include <headroom/units/literals.hpp>

#ifdef FORBIDDEN
headroom::bytes half{0.5e9};
#else
headroom::bytes half{500'000'000};
#endif
