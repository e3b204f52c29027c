// Distributed under the Boost Software License, Version 1.0.
// Weights that do not train stay in 16 bits beside others in fp32: LLaMA-Factory casts what trains alone (src/llamafactory/model/adapter.py,
// init_adapter), and Accelerate's FSDP2, too (utils/fsdp_utils.py, fsdp2_prepare_model).
#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace test_frozen_format {

using namespace headroom;

namespace {

constexpr precision mixed{.parameters = formats::fp32, .compute = formats::bf16, .frozen = formats::bf16};
constexpr precision all_bf16{.parameters = formats::bf16, .compute = formats::bf16};
constexpr precision all_fp32{.parameters = formats::fp32, .compute = formats::bf16};

/// The last four layers of Llama 3.1 8B train.
job last_four(const precision& p) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .batch = {.sequence = 4096}, .recompute = recompute::none};
  j.precision = p;
  j.trainable.list[0] = {.first_layer = 28, .last_layer = 31};
  j.trainable.size = 1;
  return j;
}
constexpr module_set tower{module::vision, module::projector};
/// All of Qwen2.5-VL 7B trains but its tower and merger.
job language_alone(const precision& p) {
  job j{.model = models::qwen2_5_vl_7b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .batch = {.sequence = 2048}, .recompute = recompute::full};
  j.batch.images = {.width = 560, .height = 560};
  j.precision = p;
  j.trainable.list[0].modules.bits = ((std::uint32_t{1} << module_count) - 1) & ~tower.bits;
  j.trainable.size = 1;
  return j;
}
std::int64_t at_peak(const job& j, row of) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][of].count(); }
std::string refusal(const job& j) {
  const auto why = objection_to(j);
  return why ? std::string{why.in_words().what()} : std::string{};
}

constexpr std::int64_t h = 4096, tokens = 4096, matrices = 2 * h * h + 2 * h * 1024 + 3 * h * 14'336;  // of a layer

}  // namespace

TEST_CASE("frozen layers weigh two bytes a parameter and trained ones four, with gradients and moments in fp32") {
  const std::int64_t total = 8'030'261'248, trained = 4 * (matrices + 2 * h);
  const auto r = estimate(last_four(mixed)).ranks[0];
  const auto& rows = r.at_phase[static_cast<std::size_t>(phase::save)];
  CHECK(rows[row::model_parameters].count() == 2 * (total - trained) + 4 * trained);
  CHECK(rows[row::optimizer_state].count() >= 8 * trained);  // and a counter for each tensor
  CHECK(rows[row::optimizer_state].count() < 8 * trained + 4 * 9 * 512 + 1);
}

TEST_CASE("a trained layer over a stream in 16 bits casts what its norms make, for each matrix anew, and its own weights") {
  // LlamaRMSNorm multiplies a weight in fp32 with rows in bf16, which makes fp32; q, k and v cast it three times where one tensor had served all, gate and up
  // twice. The stream itself, which begins in a frozen table, is bf16 either way.
  const auto a = last_four(mixed), b = last_four(all_bf16);
  CHECK(at_peak(a, row::activations) - at_peak(b, row::activations) == 4 * 3 * (2 * tokens * h));
  CHECK(at_peak(a, row::gathered_parameters) - at_peak(b, row::gathered_parameters) == 4 * 2 * matrices);
  CHECK(at_peak(a, row::logits) == at_peak(b, row::logits));  // a frozen head multiplies in bf16, and Accelerate makes its logits fp32 either way
  // Everything in fp32 casts the head, too, and its stream is twice as wide.
  const auto c = last_four(all_fp32);
  CHECK(at_peak(c, row::gathered_parameters) - at_peak(a, row::gathered_parameters) == 2 * h * 128'256);
  CHECK(at_peak(c, row::activations) > at_peak(a, row::activations));
}

TEST_CASE("a frozen tower weighs half, and the language model is as if all were in fp32") {
  const std::int64_t visual = 676'550'144;  // of Qwen2.5-VL 7B's 8,292,166,656 parameters, patch merger included
  const auto a = language_alone(mixed), b = language_alone(all_fp32);
  // Some 400 tensors, each rounded up to 512 bytes in either format.
  CHECK(std::abs(at_peak(b, row::model_parameters) - at_peak(a, row::model_parameters) - 2 * visual) < 400 * 512);
  CHECK(at_peak(a, row::gradients) == at_peak(b, row::gradients));
  CHECK(at_peak(a, row::optimizer_state) == at_peak(b, row::optimizer_state));
}

TEST_CASE("FSDP2's shards are of what trains in fp32, and of the rest in 16 bits") {
  auto a = language_alone({.parameters = formats::bf16, .compute = formats::bf16, .master = formats::fp32, .frozen = formats::bf16});
  a.hardware.gpus_per_node = 8;
  a.sharding = fsdp2();
  auto b = a;
  b.precision.frozen = {};
  // Each tensor's first dimension is cut by 8 and rounded up, and its bytes to 512.
  CHECK(std::abs(at_peak(b, row::model_parameters) - at_peak(a, row::model_parameters) - 2 * 676'550'144 / 8) < 400 * 512);
  CHECK(at_peak(a, row::optimizer_state) == at_peak(b, row::optimizer_state));
}

TEST_CASE("what is not modelled with a format of frozen weights is refused by name") {
  auto j = last_four(mixed);
  CHECK(refusal(j).empty());
  j.sharding = fsdp1();
  CHECK(refusal(j).find("others keep all weights in one format") != std::string::npos);
  j = last_four(mixed);
  j.framework = frameworks::deepspeed;
  j.sharding = zero(2);
  CHECK(refusal(j).find("others keep all weights in one format") != std::string::npos);
  j = last_four(mixed);
  j.precision.frozen = formats::fp32;
  CHECK(refusal(j).find("precision.frozen must be bf16 or fp16 beside trained weights in fp32") != std::string::npos);
  j = last_four(mixed);
  j.precision.parameters = formats::bf16;
  CHECK(refusal(j).find("precision.frozen must be bf16 or fp16 beside trained weights in fp32") != std::string::npos);
  j.precision.frozen = formats::nf4;
  CHECK(refusal(j).find("master and frozen must be fp32") != std::string::npos);
  j = last_four(mixed);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  CHECK(refusal(j).find("is for sft under the Trainer, without adapters") != std::string::npos);
  j = last_four(mixed);
  j.objective.kind = objective_kind::orpo;
  CHECK(refusal(j).find("is for sft under the Trainer") != std::string::npos);
  j = last_four(mixed);
  j.model = models::qwen3_30b_a3b;
  CHECK(refusal(j).find("layers of dense decoders with rotary positions") != std::string::npos);
}

}  // namespace test_frozen_format
