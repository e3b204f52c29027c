// Distributed under the Boost Software License, Version 1.0.
// Two steps of a job, replayed on a rank of one of its kinds of GPU, as replay() runs them: what they ask for, beside what estimate() counts.
#pragma once

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <vector>

struct replayed_steps {
  headroom::caching_allocator allocator;
  headroom::bytes asked{};  ///< the most at once
  std::int64_t made{};      ///< tensors

  /// `calls`: where what they ask of the allocator is written.
  explicit replayed_steps(const headroom::job& j, std::size_t kind = 0, const headroom::allocator_settings& a = {}, std::vector<headroom::allocator_call>* calls = nullptr) : allocator(a) {
    if (calls != nullptr) allocator.write_calls_to(calls);
    const auto s = headroom::settle(j, kind);
    const auto list = headroom::weights_of(s.model);
    const auto st = headroom::states(s, list);
    const auto w = headroom::windows_of(s, st);
    headroom::step_trace trace(s, list, st, w, headroom::detail::resident_bytes(s, st, w), allocator);
    trace.run();
    trace.run();
    asked = trace.peak_asked();
    made = trace.made();
  }
  [[nodiscard]] headroom::bytes reserved() const { return headroom::bytes{allocator.peak_reserved()}; }
};
