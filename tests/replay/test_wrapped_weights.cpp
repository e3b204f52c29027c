// Distributed under the Boost Software License, Version 1.0.
// What wrapping a model on the GPU leaves there: sums on paper.
#include <headroom/hardware/gpu.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/job.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/replay.hpp>
#include <headroom/replay/wrap_trace.hpp>

#include <doctest/doctest.h>

namespace test_wrapped_weights {

using namespace headroom;

TEST_CASE("adapters are wrapped as they are kept, in fp32, though FSDP's mixed precision multiplies in bf16") {
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 2}, .framework = frameworks::fsdp_qlora, .precision = precisions::bf16, .sharding = fsdp1(3)};
  j.precision.parameters = formats::fp32;
  j.batch.sequence = 512;
  const auto wrapped = [&](std::int64_t rank) {
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = all_linear, .format = formats::fp32};
    const auto s = settle(j);
    REQUIRE(s.layer.adapter_width == 2);
    caching_allocator allocator;
    tensor_memory memory(allocator);
    headroom::detail::wrap_units(memory, s, weights_of(s.model));
    return allocator.asked();
  };
  CHECK(wrapped(32) - wrapped(16) == 32LL * 16 * (4 * (4096 + 4096) + 3 * (4096 + 11008)) * 4 / 2);  // of each, one of two ranks has a half
}

}  // namespace test_wrapped_weights
