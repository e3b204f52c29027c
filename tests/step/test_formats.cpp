// Distributed under the Boost Software License, Version 1.0.
// In which number formats a job may say that a trainer computes and updates.
#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_formats {

using namespace headroom;

namespace {

constexpr precision half{.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::bf16, .reduce = formats::bf16, .master = formats::fp32, .state = formats::fp32};

job with(const profile& framework, number_format precision::*member, const number_format& format) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::b200_sxm_180gb, .gpus_per_node = 8}, .framework = framework, .batch = {.sequence = 2048}};
  j.precision = half;
  j.precision.*member = format;
  return j;
}
std::string refusal(const job& j) {
  const auto why = objection_to(j);
  return why ? std::string{why.in_words().what()} : std::string{};
}

}  // namespace

TEST_CASE("packed weights and integers are no formats to compute, add up or update in") {
  for (const auto* framework : {&frameworks::hf_trainer, &frameworks::megatron, &frameworks::torchtitan_202508})
    for (const auto member : {&precision::parameters, &precision::compute, &precision::gradients, &precision::reduce, &precision::master})
      for (const auto& format : {formats::int4, formats::int8, formats::nf4, formats::nf4_double, formats::gptq_int4, formats::awq_int4}) {
        const auto text = refusal(with(*framework, member, format));
        CHECK_MESSAGE(text.find("must be fp32, tf32, bf16, fp16 or fp8, and compute may be nvfp4") != std::string::npos, text);
        CHECK_MESSAGE(text.find("(found \"" + std::string{format.label.view()} + "\")") != std::string::npos, text);
      }
  for (const auto member : {&precision::parameters, &precision::gradients, &precision::reduce, &precision::master})
    CHECK(refusal(with(frameworks::torchtitan_202508, member, formats::nvfp4)).find("compute may be nvfp4") != std::string::npos);
  CHECK(refusal(with(frameworks::hf_trainer, &precision::parameters, formats::none)).find("must not be none") != std::string::npos);
  CHECK(refusal(with(frameworks::hf_trainer, &precision::compute, formats::none)).find("must not be none") != std::string::npos);
  CHECK(refusal(with(frameworks::hf_trainer, &precision::master, formats::none)).empty());
}

// torchao's layers keep what they multiplied in four bits: a run of torchtitan took 78.6 GiB where one in 16 bits took 112.9. TransformerEngine's do, too, and
// are walked under Megatron (tests/step/test_stages.cpp).
TEST_CASE("nvfp4 is walked under Megatron alone") {
  for (const auto* framework : {&frameworks::hf_trainer, &frameworks::torchtitan_202508})
    CHECK(refusal(with(*framework, &precision::compute, formats::nvfp4)).find("computation in so few bits is not modelled for this framework") != std::string::npos);
  CHECK(refusal(with(frameworks::megatron, &precision::compute, formats::nvfp4)).empty());
  auto j = with(frameworks::hf_trainer, &precision::master, formats::none);
  j.loss.logits = formats::nvfp4;
  CHECK(refusal(j) == "headroom: nvfp4 is a format of precision.compute alone by this version");
  j.loss = {};
  j.rollout.kv_format = formats::nvfp4;
  CHECK(refusal(j) == "headroom: nvfp4 is a format of precision.compute alone by this version");
  CHECK(refusal(with(frameworks::hf_trainer, &precision::compute, formats::fp8)).find("fp8 computation is not modelled") != std::string::npos);
}

TEST_CASE("experts under torch.compile are walked as eager ones, and the report says so") {
  job j{.model = models::deepseek_v2_lite, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202508, .sharding = fsdp2(),
        .batch = {.sequence = 4096}, .recompute = recompute::full};
  const auto eager = estimate(j);
  j.compile = true;
  const auto compiled = estimate(j);
  CHECK(compiled.ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::activations] == eager.ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::activations]);
  CHECK(compiled.assumptions.has(assumption::compiled_in_parts));
  CHECK_FALSE(compiled.assumptions.has(assumption::compiled_layers));
  CHECK_FALSE(eager.assumptions.has(assumption::compiled_in_parts));
  j.model = models::llama_3_1_8b;
  CHECK(estimate(j).assumptions.has(assumption::compiled_layers));
  CHECK_FALSE(estimate(j).assumptions.has(assumption::compiled_in_parts));
}

}  // namespace test_formats
