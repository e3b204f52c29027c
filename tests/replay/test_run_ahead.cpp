// Distributed under the Boost Software License, Version 1.0.
// How far nanotron's host is ahead of its GPU, and what the update behind a step's layers lets the GPU reach.
#include <headroom/replay/nanotron_tensors.hpp>
#include <headroom/replay/run_ahead.hpp>

#include <doctest/doctest.h>

namespace test_run_ahead {

using namespace headroom;

namespace {

constexpr std::int64_t each = 32 * mib.count();

/// Of twelve layers' backward each has freed a tensor of 32 MiB that a collective reads. How many of them are free again behind an update.
std::int64_t free_behind(double passed, double sliced, std::size_t calls, std::size_t operations, std::size_t slices) {
  caching_allocator a;
  tensor_memory m(a);
  run_ahead ahead({.forward = 22, .backward = 13, .gained = 1, .gained_back = 1, .begins = 12, .each = passed, .slice = sliced}, m);
  ahead.begin();
  for (int i = 0; i < 12; ++i) {
    auto h = m.make(bytes{each}, row::temporaries);
    m.retire(h);
    ahead.layer(false);
  }
  REQUIRE(a.reserved() == 12 * each);  // the host was ahead of them all
  ahead.update(calls, operations, slices);
  for (std::int64_t i = 0;; ++i) {
    m.make(bytes{each}, row::temporaries);
    if (a.reserved() > 12 * each) return i;
  }
}

}  // namespace

TEST_CASE("an update's calls stand in the queue of a step's layers") {
  // CUDA takes 1,024 calls, of which a layer's backward is 75: beside 800 there is room for two layers, beside 1,000 for none.
  CHECK(free_behind(0, 0, 800, 0, 0) == 10);
  CHECK(free_behind(0, 0, 1000, 0, 0) == 12);
  CHECK(free_behind(0, 0, 2000, 0, 0) == 12);
  CHECK(free_behind(0, 0, 0, 0, 0) == 0);  // 1,024 / 75 is 13
}

TEST_CASE("the GPU goes on while the host starts them") {
  CHECK(free_behind(0.02, 0, 0, 150, 0) == 3);     // 150 operations of a fiftieth of a layer each
  CHECK(free_behind(0.02, 0.001, 0, 150, 2000) == 5);
  CHECK(free_behind(0.02, 0, 800, 150, 0) == 10);  // whichever is more
  CHECK(free_behind(1, 0, 0, 150, 0) == 12);
}

TEST_CASE("what an update of nanotron calls for each tensor") {
  // The norm of 8192 x 4096 elements is a memset and a kernel, that of 4,096 one; each is scaled by another. Of shares the whole counts.
  CHECK(detail::clipping_calls({{.elements = 8192 * 4096}, {.elements = 4096}}, 1) == 5);
  CHECK(detail::clipping_calls({{.elements = 8192 * 4096 / 16}, {.elements = 4096 / 16}}, 16) == 5);
  CHECK(detail::clipping_calls({}, 1) == 0);
}

}  // namespace test_run_ahead
