// Distributed under the Boost Software License, Version 1.0.
// One growing segment against a slow one that keeps addresses alone: what is between them is free.
#include <headroom/block/span.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace test_span {

using namespace headroom;

namespace {

constexpr std::int64_t mib_ = 1 << 20;

/// Best fit of c10/cuda/CUDACachingAllocator.cpp (get_free_block), its blocks found anew each time.
class slow_segment {
 public:
  void place(std::int64_t size, std::int32_t owner) {
    if (size <= mib_) return;
    std::int64_t at = -1, room = 0, from = 0;
    const auto see = [&](std::int64_t to) {
      if (to - from >= size && (at < 0 || to - from < room)) at = from, room = to - from;
    };
    for (const auto& [address, b] : used_) {
      see(address);
      from = address + b.size;
    }
    see(extent_);
    if (at < 0) at = from, extent_ = from + size;  // the free end grows
    used_[at] = {size, owner};
  }
  void remove(std::int32_t owner) {
    for (auto b = used_.begin(); b != used_.end(); ++b)
      if (b->second.owner == owner) return void(used_.erase(b));
  }
  void hand_on(std::int32_t from, std::int32_t to) {
    for (auto& [address, b] : used_)
      if (b.owner == from) b.owner = to;
  }
  [[nodiscard]] std::int64_t extent() const { return extent_; }

 private:
  struct block {
    std::int64_t size{};
    std::int32_t owner{};
  };
  std::map<std::int64_t, block> used_;
  std::int64_t extent_ = 0;
};

}  // namespace

TEST_CASE("random blocks end where they do in a segment of addresses") {
  std::mt19937 dice(20261127);
  const auto of = [&](std::size_t n) { return static_cast<std::size_t>(dice() % n); };
  for (int run = 0; run < 300; ++run) {
    detail::segment fast;
    slow_segment slow;
    std::vector<std::int32_t> alive;
    std::int32_t next = 0;
    for (int step = 0; step < 120; ++step) {
      const auto kind = of(10);
      if (alive.empty() || kind < 5) {
        const auto size = (static_cast<std::int64_t>(of(run % 2 == 0 ? 6 : 60)) + 1) * (mib_ / (run % 3 == 0 ? 1 : 2)) + (kind == 0 ? 512 : 0);
        fast.place(size, next);
        slow.place(size, next);
        alive.push_back(next++);
      } else if (kind < 9) {
        const auto i = of(alive.size());
        fast.remove(alive[i]);
        slow.remove(alive[i]);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        const auto i = of(alive.size());
        fast.hand_on(alive[i], next);
        slow.hand_on(alive[i], next);
        alive[i] = next++;
      }
      REQUIRE(fast.extent() == bytes{slow.extent()});
    }
  }
}

TEST_CASE("a hole serves what fits into it, the smallest first, and neighbours are one") {
  detail::segment s;
  s.place(10 * mib_, 0);
  s.place(4 * mib_, 1);
  s.place(6 * mib_, 2);
  s.place(2 * mib_, 3);
  CHECK(s.extent() == bytes{22 * mib_});
  s.remove(0);
  s.remove(2);
  s.place(5 * mib_, 4);  // of 10 and 6 the 6
  s.place(10 * mib_, 5);
  CHECK(s.extent() == bytes{22 * mib_});
  s.remove(4);
  s.remove(1);           // 4, and behind it 6
  s.place(10 * mib_, 6);
  CHECK(s.extent() == bytes{22 * mib_});
  s.remove(3);
  s.place(3 * mib_, 7);  // the end's 2, and one more
  CHECK(s.extent() == bytes{23 * mib_});
  s.place(mib_, 8);      // of the pool of small blocks
  CHECK(s.extent() == bytes{23 * mib_});
}

}  // namespace test_span
