// Distributed under the Boost Software License, Version 1.0.
// expect: headroom: a count does not fit in a signed 64-bit integer
// A negative size that went through an unsigned type comes out here.
#include <headroom/units/literals.hpp>

#ifdef FORBIDDEN
constexpr headroom::bytes size{static_cast<std::uint64_t>(std::int64_t{-4096})};
#else
constexpr headroom::bytes size{std::uint64_t{4096}};
#endif
