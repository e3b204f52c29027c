// Distributed under the Boost Software License, Version 1.0.
// A law of replays: more samples or tokens never have fewer bytes alive at once. What is reserved may be less all the same: a bucket of 2 GB that is freed behind a step
// is taken again as it is, or cut for a tensor that finds nothing smaller, and then the next bucket is a segment beside it. Where less is reserved, an allocator
// written differently reserves as much for either job (plain_allocator.hpp).
#include "../estimate/draw.hpp"
#include "../replayed_steps.hpp"
#include "repeated_calls.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

namespace test_more_of_it {

using namespace headroom;

namespace {

bool same_in_both(const job& j) {
  const auto calls = repeated_calls::calls_of(j, {});
  return repeated_calls::alike_until(calls, {}) == calls.size();
}

}  // namespace

TEST_CASE("more samples or tokens never have fewer bytes alive, and less is reserved where an allocator of another hand reserves less") {
  draw::jobs source(20261151);
  int seen = 0, less = 0, held = 0;
  for (int i = 0; i < draw::watched(draw::some(1'500)); ++i) {
    auto j = source.next();
    if (j.optimizer.paged_from > 0) continue;  // pages move by themselves
    draw::even_scores(j);
    CAPTURE(i);
    for (const int what : {0, 1, 2}) {
      auto more = j;
      if (what == 2 && j.batch.sequence < 8) continue;  // a loss in pieces makes fewer of so few tokens
      (what == 2 ? more.batch.sequence : more.batch.micro) += what == 1 ? 1 : what == 2 ? j.batch.sequence : j.batch.micro;
      CAPTURE(what);
      try {
        if (!replays(j) || !detail::replays_steps(j) || !replays(more)) continue;
        (void)estimate(more);
        const replayed_steps a(j), b(more);
        ++seen;
        REQUIRE(b.asked >= a.asked);
        REQUIRE(b.reserved() >= a.asked);
        if (b.reserved() >= a.reserved()) continue;
        if (++less % 4 != 0) continue;  // the plain one is slow
        ++held;
        REQUIRE((same_in_both(j) && same_in_both(more)));
      } catch (const error&) {
      }
    }
  }
  MESSAGE(less, " of ", seen, " reserve less, ", held, " of them held to the plain allocator");
  CHECK(seen > draw::watched(draw::some(400)));
}

}  // namespace test_more_of_it
