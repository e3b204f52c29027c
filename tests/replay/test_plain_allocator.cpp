// Distributed under the Boost Software License, Version 1.0.
// The replay's allocator and one written differently, from the same rules, end every call alike: over random calls, and over the calls of
// random jobs' steps.
#include "plain_allocator.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace test_plain_allocator {

using namespace headroom;

namespace {

constexpr std::int64_t mib_ = 1024 * 1024;

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  allocator_settings settings() {
    allocator_settings s;
    s.expandable_segments = one_in(2);
    if (one_in(3)) s.max_split_size = (20 + below(40)) * mib_;
    if (one_in(4)) s.roundup_power2_divisions = std::int64_t{1} << (1 + below(4));
    if (one_in(2)) s.capacity = (40 + below(400)) * mib_;
    return s;
  }
  /// Of any size, or one of few, as the layers of a step have.
  std::int64_t size(bool few) { return few ? (1 + below(8)) * 3 * mib_ / 2 + below(2) * 512 : 1 + below(std::int64_t{1} << (6 + below(21))); }

 private:
  std::mt19937_64 engine_;
};

/// Both allocators, call by call.
class pair_of_allocators {
 public:
  explicit pair_of_allocators(const allocator_settings& s) : fast_(s), plain_(s) {}

  void random_call(random_numbers& r, bool few) {
    const auto what = r.below(20);
    if (alive_.empty() || what < 11) {
      const auto size = r.size(few);
      const auto on = r.below(3) == 0 ? static_cast<stream>(r.below(stream_count)) : stream::compute;
      alive_.emplace_back(fast_.allocate(size, on), plain_.allocate(size, static_cast<int>(on)));
    } else if (what < 18) {
      const auto k = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(alive_.size())));
      fast_.release(alive_[k].first);
      plain_.release(alive_[k].second);
      forget(k);
    } else if (what < 19) {
      const auto k = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(alive_.size())));
      fast_.retire(alive_[k].first);
      plain_.retire(alive_[k].second);
      forget(k);
      if (r.one_in(2)) event_ = fast_.record();
    } else if (r.one_in(3)) {
      fast_.empty_cache();
      plain_.empty_cache();
    } else {
      fast_.wait(event_);
      plain_.wait(event_);
    }
  }
  [[nodiscard]] bool alike() const {
    return fast_.allocated() == plain_.allocated() && fast_.reserved() == plain_.reserved() && fast_.overflowed() == plain_.overflowed &&
           fast_.record() == plain_.record();
  }

 private:
  void forget(std::size_t k) {
    alive_[k] = alive_.back();
    alive_.pop_back();
  }
  caching_allocator fast_;
  plain_allocator plain_;
  std::vector<std::pair<caching_allocator::block, std::int64_t>> alive_;
  std::size_t event_ = 0;
};

}  // namespace

TEST_CASE("random calls end as they do under the plain allocator") {
  for (std::uint64_t round = 0; round < 400; ++round) {
    random_numbers r(round);
    const bool few = r.one_in(2);
    pair_of_allocators both(r.settings());
    CAPTURE(round);
    for (int i = 0; i < 300; ++i) {
      both.random_call(r, few);
      CAPTURE(i);
      REQUIRE(both.alike());
    }
  }
}

}  // namespace test_plain_allocator
