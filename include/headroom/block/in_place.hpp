// Distributed under the Boost Software License, Version 1.0.
// A program (10.4 KB) in a frame of its own. Threads have small stacks in some runtimes (128 KB in musl), so that a function which builds several programs,
// or calls far with one in its frame, does not keep them there.
#pragma once

namespace headroom {

/// use(make()), of which nothing stays on the stack.
[[gnu::noinline]] constexpr decltype(auto) with_made(const auto& make, const auto& use) {
  return use(make());
}

}  // namespace headroom
