// Distributed under the Boost Software License, Version 1.0.
// A training program that does not compile for a GPU on which it would run out of memory.
#include <headroom/fits.hpp>
#include <headroom/headroom.hpp>

#include <cstdio>

using namespace headroom::literals;

// The job is a constant, so its report is one too.
constexpr headroom::job finetune{
    .model = headroom::models::llama_3_2_1b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
    .batch = {.micro = 1, .sequence = 2048},
};
// Where it does not fit, the compiler names the model, the GPU, the MiB needed and the MiB there are.
static_assert(headroom::require_fits<finetune>);
// The same as a plain bool, for what is decided rather than required; a static_assert of it says no more than "false".
static_assert(headroom::fits(finetune));
static_assert(headroom::estimate(finetune).peak() < 60_GiB);

// A job is also a template argument: a trainer that knows at compile time what it trains.
template <headroom::job Job>
struct trainer {
  static constexpr headroom::job job = Job;
  static_assert(headroom::require_fits<job>);
  static constexpr headroom::bytes arena = headroom::estimate(job).peak();

  void run() const {
    std::printf("%s: an arena of %lld MiB, %lld tokens a step\n", job.model.label.text,
                static_cast<long long>(arena / headroom::mib),
                static_cast<long long>(job.batch.micro * job.batch.sequence * job.batch.accumulation));
  }
};

// Overloads and specialisations may depend on it as well.
constexpr headroom::job with_micro_batch(std::int64_t micro) {
  headroom::job job = finetune;
  job.batch.micro = micro;
  return job;
}

/// The largest micro-batch, a power of two, that fits: found while compiling.
consteval std::int64_t largest_micro_batch() {
  std::int64_t micro = 1;
  while (micro < 1024 && headroom::fits(with_micro_batch(2 * micro))) micro *= 2;
  return micro;
}

int main() {
  trainer<finetune>{}.run();
  trainer<with_micro_batch(largest_micro_batch())>{}.run();
}
