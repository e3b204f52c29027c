// Distributed under the Boost Software License, Version 1.0.
// The core under -fno-exceptions: an estimate works, and an error prints its sentence and aborts.
#include <headroom/headroom.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static_assert(HEADROOM_EXCEPTIONS == 0);

using namespace headroom::literals;

namespace {

constexpr headroom::job job{
    .model = headroom::models::llama_3_2_1b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 1024},
};

constexpr headroom::job with_sequence(std::int64_t sequence) {
  auto j = job;
  j.batch.sequence = sequence;
  return j;
}
static_assert(!headroom::objection_to(job));
static_assert(headroom::objection_to(with_sequence(0)));
static_assert(headroom::objection_to(with_sequence(-7)).found == -7);

extern "C" void aborted(int) {
  std::fputs("then aborted\n", stderr);
  std::_Exit(0);
}

/// Keeps the compiler from evaluating what it is asked to do at run time.
std::int64_t hidden(std::int64_t n) {
  volatile std::int64_t v = n;
  return v;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, aborted);
  const char* what = argc > 1 ? argv[1] : "estimate";
  if (std::strcmp(what, "estimate") == 0) {
    headroom::job j = job;
    j.batch.micro = hidden(1);
    return headroom::estimate(j) == headroom::estimate(job) ? 0 : 1;
  }
  if (std::strcmp(what, "overflow") == 0) return (8388607_TiB * hidden(2)).count() == 0;
  if (std::strcmp(what, "division") == 0) return (1_TiB / hidden(0)).count() == 0;
  if (std::strcmp(what, "refused") == 0) {
    headroom::job j = job;
    j.batch.sequence = hidden(0);
    return headroom::estimate(j).fits();
  }
  if (std::strcmp(what, "asked") == 0) {
    const auto why = headroom::objection_to(with_sequence(hidden(0)));
    return std::strcmp(why.in_words().what(), "headroom: batch.sequence is required: a whole number from 1 to 2^40 (found 0)") == 0 ? 0 : 1;
  }
  return 2;
}
