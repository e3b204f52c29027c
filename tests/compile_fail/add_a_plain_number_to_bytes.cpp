// Distributed under the Boost Software License, Version 1.0.
// expect-gcc: no match for 'operator\+'
// expect-clang: invalid operands to binary expression
#include <headroom/units/literals.hpp>
using namespace headroom::literals;

#ifdef FORBIDDEN
constexpr auto sum = std::int64_t{512} + 1_MiB;
#else
constexpr auto sum = headroom::bytes{512} + 1_MiB;
#endif
