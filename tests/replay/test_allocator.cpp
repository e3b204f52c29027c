// Distributed under the Boost Software License, Version 1.0.
// The caching allocator's rules: sequences worked out by hand from c10/cuda/CUDACachingAllocator.cpp.
#include <headroom/allocator/allocator.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace test_allocator {

using namespace headroom;

namespace {

constexpr std::int64_t kib = 1024, mib_ = 1024 * kib;

}  // namespace

TEST_CASE("sizes are rounded to 512 bytes, segments to 2 MiB, 20 MiB, or what is asked") {
  caching_allocator a;
  a.allocate(1);
  CHECK(a.allocated() == 512);
  CHECK(a.reserved() == 2 * mib_);
  a.allocate(mib_);  // still small: the same segment
  CHECK(a.reserved() == 2 * mib_);
  a.allocate(mib_ + 1);
  CHECK(a.reserved() == 22 * mib_);
  a.allocate(10 * mib_ - 512);  // below 10 MiB: the 20 MiB segment again
  CHECK(a.reserved() == 22 * mib_);
  a.allocate(11 * mib_ + 1);
  CHECK(a.reserved() == 34 * mib_);
  CHECK(a.allocate(0) == -1);
}

TEST_CASE("a large block is split only if more than 1 MiB is left, and counts whole") {
  caching_allocator a;
  a.allocate(2 * mib_);            // of a segment of 20
  a.allocate(17 * mib_ + 512);     // of the 18 left: 1 MiB less 512 bytes is not worth a block
  CHECK(a.allocated() == 20 * mib_);
  caching_allocator b;
  b.allocate(2 * mib_);
  b.allocate(17 * mib_ - 512);  // 1 MiB and 512 bytes are
  CHECK(b.allocated() == 19 * mib_ - 512);
}

TEST_CASE("the smallest block that fits is taken, neighbours are joined, and what is cached stays reserved") {
  caching_allocator a;
  const auto x = a.allocate(40 * mib_), y = a.allocate(30 * mib_), z = a.allocate(20 * mib_);
  a.release(x);
  a.release(y);
  CHECK(a.allocated() == 20 * mib_);
  CHECK(a.reserved() == 90 * mib_);
  a.allocate(25 * mib_);  // into the 30
  a.allocate(38 * mib_);  // into the 40
  CHECK(a.reserved() == 90 * mib_);
  a.allocate(5 * mib_);  // what the 30 left is just enough
  CHECK(a.reserved() == 90 * mib_);
  a.release(z);
  CHECK(a.peak_reserved() == 90 * mib_);
}

TEST_CASE("what another stream was told of is free once an event behind it is waited for") {
  caching_allocator a;
  const auto x = a.allocate(64 * mib_, stream::gather);
  a.retire(x);
  const auto event = a.record();
  CHECK(a.allocated() == 0);
  const auto y = a.allocate(64 * mib_, stream::gather);  // not into x
  CHECK(a.reserved() == 128 * mib_);
  CHECK(a.peak_active() == 128 * mib_);
  CHECK(a.peak_allocated() == 64 * mib_);
  a.retire(y);
  a.wait(event);
  a.allocate(64 * mib_, stream::gather);  // into x, not y
  CHECK(a.reserved() == 128 * mib_);
  a.allocate(64 * mib_, stream::gather);
  CHECK(a.reserved() == 192 * mib_);
  caching_allocator full({.capacity = 100 * mib_});
  full.retire(full.allocate(60 * mib_));
  full.allocate(80 * mib_);  // a GPU that is full waits for all events before it gives anything back
  CHECK(full.reserved() == 80 * mib_);
  CHECK_FALSE(full.overflowed());
}

TEST_CASE("max_split_size: larger blocks are not cut, and serve no smaller request") {
  caching_allocator a({.max_split_size = 100 * mib_});
  a.release(a.allocate(200 * mib_));
  a.allocate(40 * mib_);  // not out of the 200
  CHECK(a.reserved() == 240 * mib_);
  a.allocate(190 * mib_);  // whole: less than 20 MiB would be left
  CHECK(a.reserved() == 240 * mib_);
  CHECK(a.allocated() == 240 * mib_);
  caching_allocator b({.max_split_size = 100 * mib_});
  b.release(b.allocate(200 * mib_));
  b.allocate(150 * mib_);  // 50 MiB would be left
  CHECK(b.reserved() == 350 * mib_);
  // Full: of the blocks that are not cut the smallest that is large enough goes first.
  caching_allocator c({.max_split_size = 100 * mib_, .capacity = 600 * mib_});
  const auto x = c.allocate(150 * mib_), y = c.allocate(200 * mib_), z = c.allocate(250 * mib_);
  c.release(x);
  c.release(y);
  c.release(z);
  c.allocate(120 * mib_);
  CHECK(c.reserved() == (600 - 150 + 120) * mib_);
}

TEST_CASE("roundup_power2_divisions: 1,200 MiB are 1,280 with four steps from 1,024 to 2,048") {
  caching_allocator a({.roundup_power2_divisions = 4});
  a.allocate(1200 * mib_);
  CHECK(a.allocated() == 1280 * mib_);
  a.allocate(1024 * mib_);  // a power of two
  CHECK(a.allocated() == (1280 + 1024) * mib_);
  a.allocate(4 * 512);  // not more than 512 bytes a step
  CHECK(a.allocated() == (1280 + 1024) * mib_ + 2048);
}

TEST_CASE("streams do not lend to each other") {
  caching_allocator a;
  a.release(a.allocate(64 * mib_));
  a.allocate(64 * mib_, stream::reduce);
  CHECK(a.reserved() == 128 * mib_);
}

TEST_CASE("empty_cache gives back whole segments, and a full GPU does so by itself") {
  caching_allocator a;
  const auto x = a.allocate(2 * mib_), y = a.allocate(40 * mib_);
  a.allocate(2 * mib_);
  a.release(x);
  a.release(y);
  a.empty_cache();
  CHECK(a.reserved() == 20 * mib_);  // half used
  caching_allocator small({.capacity = 100 * mib_});
  small.release(small.allocate(60 * mib_));
  small.allocate(80 * mib_);
  CHECK(small.reserved() == 80 * mib_);
  CHECK_FALSE(small.overflowed());
  small.allocate(40 * mib_);
  CHECK(small.overflowed());
}

// gpt2-b16's and llama-3.2-1b-recompute-s8192's traces: 96 MiB at 22880, 22784, 22688, …; 4,008 MiB at 15904, 11872, 7840.
TEST_CASE("of equal segments the first is taken in the room that the driver fills from below, and the last beyond it") {
  caching_allocator a;
  const auto first = a.allocate(1536 * mib_), second = a.allocate(1536 * mib_), third = a.allocate(1536 * mib_), fourth = a.allocate(1536 * mib_);
  for (const auto b : {third, first, fourth, second}) a.release(b);
  CHECK(a.allocate(1536 * mib_) == fourth);
  CHECK(a.allocate(1536 * mib_) == third);
  CHECK(a.allocate(1536 * mib_) == first);
  CHECK(a.allocate(1536 * mib_) == second);
  CHECK(a.reserved() == 4 * 1536 * mib_);
}

TEST_CASE("addresses and segments beyond 63 bits are an error") {
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  caching_allocator a;
  for (int i = 0; i < 3; ++i) {  // nothing is held, but no address comes twice
    a.release(a.allocate(huge));
    a.empty_cache();
    CHECK(a.reserved() == 0);
  }
  CHECK_THROWS_AS(a.allocate(huge), overflow_error);
  caching_allocator b({.expandable_segments = true});
  b.allocate(huge);
  b.allocate(huge, stream::reduce);
  b.allocate(huge, stream::gather);
  CHECK_THROWS_AS(b.allocate(huge, stream::compute), overflow_error);
}

TEST_CASE("an expandable segment grows by 20 MiB at its end, uses its free end, and splits to the byte") {
  caching_allocator a({.expandable_segments = true});
  const auto x = a.allocate(30 * mib_);
  CHECK(a.reserved() == 40 * mib_);
  a.allocate(10 * mib_ - 512);
  CHECK(a.allocated() == 40 * mib_ - 512);
  CHECK(a.reserved() == 40 * mib_);
  const auto y = a.allocate(50 * mib_);  // the last 512 bytes are small: they count towards it all the same
  CHECK(a.reserved() == 100 * mib_);
  a.release(x);
  a.release(y);
  a.allocate(60 * mib_);  // not into the 30, but over the end: 60.0005 MiB are free there
  CHECK(a.reserved() == 100 * mib_);
  a.allocate(31 * mib_);
  CHECK(a.reserved() == 140 * mib_);
}

TEST_CASE("the end of an expandable segment is kept for what fits nowhere else") {
  // get_free_block's expandable_size: a block that can grow counts with what it can grow to.
  caching_allocator a({.expandable_segments = true});
  const auto x = a.allocate(60 * mib_);
  a.allocate(10 * mib_);  // 10 MiB are left at the end of 80
  a.release(x);
  const auto y = a.allocate(8 * mib_);  // into the 60, not into the 10
  CHECK(a.reserved() == 80 * mib_);
  a.allocate(52 * mib_);  // what is left of the 60
  a.allocate(29 * mib_);  // the 10, and a page
  CHECK(a.reserved() == 100 * mib_);
  a.release(y);
}

TEST_CASE("an expandable segment gives back whole pages, also between what is in use, and maps them again first") {
  caching_allocator a({.expandable_segments = true});
  const auto x = a.allocate(70 * mib_);
  a.allocate(5 * mib_);  // of 80
  a.release(x);
  a.empty_cache();  // 0 to 60 of the 70; the 5 behind 75 are no page
  CHECK(a.reserved() == 20 * mib_);
  a.allocate(25 * mib_);  // two pages from 0 on
  CHECK(a.reserved() == 60 * mib_);
  a.allocate(30 * mib_);  // the 15 that are left there, and the page up to 60 and the 10 behind it
  CHECK(a.reserved() == 80 * mib_);
  a.allocate(16 * mib_);  // 15 are left before 70, 5 at the end: a page more
  CHECK(a.reserved() == 100 * mib_);
}

TEST_CASE("a hole and the end take as many pages as fill them, and no more") {
  caching_allocator a({.expandable_segments = true});
  const auto x = a.allocate(60 * mib_);
  a.allocate(20 * mib_);
  CHECK(a.reserved() == 80 * mib_);
  a.release(x);
  a.empty_cache();
  CHECK(a.reserved() == 20 * mib_);
  const auto y = a.allocate(40 * mib_);  // two pages of the hole's three
  CHECK(a.reserved() == 60 * mib_);
  const auto z = a.allocate(20 * mib_);  // the third
  CHECK(a.reserved() == 80 * mib_);
  a.allocate(20 * mib_);  // one at the end
  CHECK(a.reserved() == 100 * mib_);
  a.release(y);
  a.release(z);
  a.empty_cache();
  CHECK(a.reserved() == 40 * mib_);
  a.allocate(60 * mib_ + 512);  // not into the hole of 60: four pages at the end
  CHECK(a.reserved() == 120 * mib_);
  a.allocate(59 * mib_);  // all three of the hole
  CHECK(a.reserved() == 180 * mib_);
  CHECK(a.peak_reserved() == 180 * mib_);
  // Small blocks have pages of 2 MiB.
  caching_allocator b({.expandable_segments = true});
  for (int i = 1; i <= 4; ++i) b.allocate(mib_);
  CHECK(b.reserved() == 4 * mib_);
  b.allocate(512);
  CHECK(b.reserved() == 6 * mib_);
}

}  // namespace test_allocator
