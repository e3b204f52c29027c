// Distributed under the Boost Software License, Version 1.0.
// Streams of a GPU, as far as the caching allocator keeps their blocks apart.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom {

/// Streams whose blocks are never lent to each other.
enum class stream : std::uint8_t { compute, gather, reduce, copy };
inline constexpr std::size_t stream_count = 4;

}  // namespace headroom
