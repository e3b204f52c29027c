// Distributed under the Boost Software License, Version 1.0.
// The caching allocator's rules: sequences worked out by hand from c10/cuda/CUDACachingAllocator.cpp, and a slow allocator written
// differently.
#include <headroom/step/allocator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

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

namespace {

/// The same rules over plain lists of intervals, every search from end to end.
class slow_allocator {
 public:
  std::size_t allocate(std::int64_t asked) {
    std::int64_t size = 512;
    while (size < asked) size += 512;
    const bool small = size <= mib_;
    std::optional<std::pair<std::size_t, std::size_t>> best;
    for (std::size_t s = 0; s < segments_.size(); ++s)
      for (std::size_t i = 0; i < segments_[s].pieces.size() && segments_[s].small == small; ++i) {
        const auto& p = segments_[s].pieces[i];
        if (p.owner == 0 && p.size >= size && (!best || p.size < segments_[best->first].pieces[best->second].size)) best = {s, i};
      }
    if (!best) {
      const auto length = small ? 2 * mib_ : size < 10 * mib_ ? 20 * mib_ : (size + 2 * mib_ - 1) / (2 * mib_) * (2 * mib_);
      segments_.push_back({small, {{length, 0}}});
      best = {segments_.size() - 1, 0};
    }
    auto& pieces = segments_[best->first].pieces;
    const auto rest = pieces[best->second].size - size;
    if (small ? rest >= 512 : rest > mib_) {
      pieces[best->second].size = size;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(best->second) + 1, {rest, 0});
    }
    pieces[best->second].owner = ++last_;
    return last_;
  }
  void release(std::size_t owner) {
    for (auto& s : segments_) {
      for (auto& p : s.pieces)
        if (p.owner == owner) p.owner = 0;
      for (std::size_t i = 1; i < s.pieces.size();) {
        if (s.pieces[i - 1].owner == 0 && s.pieces[i].owner == 0) {
          s.pieces[i - 1].size += s.pieces[i].size;
          s.pieces.erase(s.pieces.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
    }
  }
  [[nodiscard]] std::int64_t allocated() const { return sum(false); }
  [[nodiscard]] std::int64_t reserved() const { return sum(true); }

 private:
  struct piece {
    std::int64_t size;
    std::size_t owner;  // 0: free
  };
  struct segment {
    bool small;
    std::vector<piece> pieces;
  };
  [[nodiscard]] std::int64_t sum(bool all) const {
    std::int64_t n = 0;
    for (const auto& s : segments_)
      for (const auto& p : s.pieces)
        if (all || p.owner != 0) n += p.size;
    return n;
  }
  std::vector<segment> segments_;
  std::size_t last_ = 0;
};

}  // namespace

TEST_CASE("random sequences end as they do under the slow allocator") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    caching_allocator fast;
    slow_allocator slow;
    std::vector<std::pair<caching_allocator::block, std::size_t>> alive;
    for (int i = 0; i < 400; ++i) {
      if (alive.empty() || random() % 5 < 3) {
        // Every other round takes few sizes, as the layers of a step do.
        const auto few = static_cast<std::int64_t>(1 + random() % 6) * 3 * mib_ / 2;
        const auto size = round % 2 == 1 ? few : static_cast<std::int64_t>(1 + random() % (std::uint64_t{1} << (6 + random() % 20)));
        alive.emplace_back(fast.allocate(size), slow.allocate(size));
      } else {
        const auto k = random() % alive.size();
        fast.release(alive[k].first);
        slow.release(alive[k].second);
        alive[k] = alive.back();
        alive.pop_back();
      }
      REQUIRE(fast.allocated() == slow.allocated());
      REQUIRE(fast.reserved() == slow.reserved());
    }
  }
}
