// Distributed under the Boost Software License, Version 1.0.
// What a job's first two steps ask of the allocator, call by call, and the same calls again in the replay's allocator and in the plain one.
#pragma once

#include "plain_allocator.hpp"
#include "../replayed_steps.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace repeated_calls {

using namespace headroom;

/// What two steps of a job ask of the allocator.
inline std::vector<allocator_call> calls_of(const job& j, const allocator_settings& a) {
  std::vector<allocator_call> calls;
  if (detail::replays_steps(j)) {
    const replayed_steps run(j, 0, a, &calls);
    return calls;
  }
  caching_allocator allocator(a);
  allocator.write_calls_to(&calls);
  const auto s = settle(j);
  stage_run(s, weights_of(s.model), stage_cut(j.parallel, s.model.layers, j.framework.pipeline.split), 0, allocator).run();
  return calls;
}

/// Repeats them in both allocators: the first call after which they differ, or all.
inline std::size_t alike_until(const std::vector<allocator_call>& calls, const allocator_settings& a) {
  caching_allocator fast(a);
  plain_allocator plain(a);
  std::map<std::int32_t, std::int64_t> names;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& c = calls[i];
    using kind = allocator_call::kind;
    if (c.what == kind::allocate) {
      const auto block = fast.allocate(c.value, c.on);
      if (block != c.block) return i;
      names[block] = plain.allocate(c.value, static_cast<int>(c.on));
    } else if (c.what == kind::release) {
      fast.release(c.block);
      plain.release(names[c.block]);
    } else if (c.what == kind::retire) {
      fast.retire(c.block);
      plain.retire(names[c.block]);
    } else if (c.what == kind::wait) {
      fast.wait(static_cast<std::size_t>(c.value));
      plain.wait(static_cast<std::size_t>(c.value));
    } else {
      fast.empty_cache();
      plain.empty_cache();
    }
    if (fast.allocated() != plain.allocated() || fast.reserved() != plain.reserved() || fast.overflowed() != plain.overflowed) return i;
  }
  return calls.size();
}

}  // namespace repeated_calls
