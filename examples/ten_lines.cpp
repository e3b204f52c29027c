// Distributed under the Boost Software License, Version 1.0.
// The example of the README: Llama-3.1-8B on eight H100, refused by the compiler if it did not fit.
#include <headroom/headroom.hpp>

#include <cstdio>

using namespace headroom::literals;

constexpr headroom::job job{
    .model = headroom::models::llama_3_1_8b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
    .framework = headroom::frameworks::deepspeed,
    .sharding = headroom::zero(3),
    .batch = {.micro = 1, .sequence = 8192},
    .recompute = headroom::recompute::full,
};
static_assert(headroom::require_fits<job>);
static_assert(headroom::estimate(job).peak() < 40_GiB);

int main() {
  const headroom::report report = headroom::estimate(job);
  std::printf("%lld MiB of %lld\n", static_cast<long long>(report.device() / headroom::mib), static_cast<long long>(report.tightest().capacity / headroom::mib));
}
