// Distributed under the Boost Software License, Version 1.0.
// An estimate never touches the heap: this program counts what passes through operator new.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

namespace {
long allocations = 0;
}

// Not inlined, or g++ sees free() meet a pointer that came from operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
void operator delete[](void* p, std::size_t) noexcept { operator delete(p); }

namespace test_no_heap {

namespace {

constexpr headroom::job one_gpu{
    .model = headroom::models::llama_3_1_8b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 4096},
};

constexpr headroom::job eight_gpus{
    .model = headroom::models::llama_3_1_8b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
    .sharding = headroom::zero(3),
    .batch = {.micro = 2, .sequence = 8192},
    .recompute = headroom::recompute::full,
};

long allocations_of(const headroom::job& job) {
  const long before = allocations;
  const auto report = headroom::estimate(job);
  const long after = allocations;
  CHECK(report.size > 0);
  return after - before;
}

}  // namespace

TEST_CASE("the counter counts") {
  const long before = allocations;
  delete new int;
  CHECK(allocations >= before);  // the pair may be optimised away
  ::operator delete(::operator new(64));
  CHECK(allocations > before);
}

TEST_CASE("an estimate allocates nothing") {
  CHECK(allocations_of(one_gpu) == 0);
  CHECK(allocations_of(eight_gpus) == 0);
}

TEST_CASE("nor does a step time") {
  const long before = allocations;
  const auto time = headroom::cost(eight_gpus);
  const long after = allocations;
  CHECK(time.step.value > 0);
  CHECK(after == before);
}

TEST_CASE("nor does copying a job or a report") {
  headroom::job job = eight_gpus;
  const auto report = headroom::estimate(job);
  const long before = allocations;
  const headroom::job copy = job;
  const headroom::report again = report;
  const bool same = copy == job && again == report;
  const long after = allocations;
  CHECK(same);
  CHECK(after == before);
}

TEST_CASE("nor does refusing a job") {
  headroom::job job = one_gpu;
  job.batch.sequence = 0;
  long inside = -1;
  const long before = allocations;
  try {
    (void)headroom::estimate(job);
  } catch (const headroom::error&) {
    inside = allocations - before;  // the exception itself is the C++ runtime's, which does not use operator new
  }
  CHECK(inside == 0);
}

}  // namespace test_no_heap
