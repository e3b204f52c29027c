// Distributed under the Boost Software License, Version 1.0.
// The example of the README: what a fine-tuning job of Llama 3.1 8B takes of each of eight H100.
#include <headroom/headroom.hpp>

#include <cstdio>

int main() {
  const headroom::job job{
      .model = headroom::models::llama_3_1_8b,
      .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8},
      .sharding = headroom::zero(3),
      .batch = {.micro = 1, .sequence = 8192},
      .recompute = headroom::recompute::full,
  };
  const headroom::report report = headroom::estimate(job);
  std::printf("%lld MiB of %lld: it %s\n", static_cast<long long>(report.device() / headroom::mib),
              static_cast<long long>(report.tightest().capacity / headroom::mib), report.fits() ? "fits" : "does not fit");
}
