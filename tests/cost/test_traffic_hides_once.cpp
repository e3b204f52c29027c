// Distributed under the Boost Software License, Version 1.0.
// More work never makes a step shorter, whatever hides behind it.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <random>

namespace test_traffic_hides_once {

using namespace headroom;

TEST_CASE("a step with offloaded states never becomes shorter as the sequence grows") {
  std::mt19937 dice{20'261'127};
  const auto one_of = [&](auto... choices) {
    const std::common_type_t<decltype(choices)...> list[] = {choices...};
    return list[dice() % sizeof...(choices)];
  };
  int drawn = 0;
  for (int i = 0; i < 400; ++i) {
    job j;
    j.model = one_of(models::llama_3_1_8b, models::llama_3_2_1b, models::qwen2_5_7b);
    j.framework = one_of(frameworks::deepspeed, frameworks::hf_trainer);
    j.hardware = {.gpu = one_of(gpus::h100_sxm_80gb, gpus::rtx_4090, gpus::a100_sxm_80gb), .nodes = one_of(1, 2, 4), .gpus_per_node = one_of(1, 4, 8)};
    j.hardware.network_gbit = one_of(0, 10, 100);
    j.precision = precisions::bf16_mixed;
    j.sharding = one_of(zero(1), zero(2), zero(3), zero(3));
    j.sharding.overlap_comm = one_of(choice::unset, choice::yes);
    j.offload.optimizer = one_of(place::on_gpu, place::on_cpu, place::on_nvme);
    if (j.sharding.stage == 3 && j.offload.optimizer != place::on_gpu) j.offload.parameters = one_of(place::on_gpu, place::on_cpu, place::on_nvme);
    if (one_of(0, 1) == 1) j.recompute = recompute::full, j.offload.activations = one_of(place::on_gpu, place::on_cpu);
    j.batch = {.micro = one_of(1, 2), .sequence = 128, .accumulation = one_of(1, 3, 16)};
    if (objection_to(j)) continue;
    ++drawn;
    for (double before = 0; j.batch.sequence <= 65536; j.batch.sequence *= 2) {
      const double step = cost(j).step.value;
      INFO(i << ": sequence " << j.batch.sequence);
      CHECK(step >= before * (1 - 1e-12));
      before = step;
    }
  }
  CHECK(drawn > 200);
}

}  // namespace test_traffic_hides_once
