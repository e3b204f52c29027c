// Distributed under the Boost Software License, Version 1.0.
// The step time of methods with several models: parts that are known, in proportion.
#include <headroom/cost/bounds.hpp>
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_methods {

using namespace headroom;

namespace {

constexpr job dpo(reference_way way) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
          .batch = {.micro = 2, .sequence = 2048}, .recompute = recompute::full, .attention = attention::flash, .objective = {.kind = objective_kind::dpo, .code = method_code::trl, .reference = way}};
}
constexpr job grpo(std::int64_t completions, std::int64_t tensor = 1) {
  auto j = dpo(reference_way::none);
  j.batch = {.micro = completions, .sequence = 1024};
  j.objective.kind = objective_kind::grpo;
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.6), .tensor = tensor, .sleep = 2, .prompt = 512, .completion = 512, .generations = 8};
  return j;
}
/// By itself: of matrices, which read their weights once for a token of all sequences.
double bandwidth_bound(double read) { return 512 * read / (calibrated::hopper.memory * 3.35e12); }

}  // namespace

TEST_CASE("a reference is one forward more, and none where it was computed before") {
  const auto copied = cost(dpo(reference_way::copy)), before = cost(dpo(reference_way::precomputed));
  CHECK(before.other_models.value == 0.0);
  CHECK(copied.step.value - copied.other_models.value == doctest::Approx(before.step.value).epsilon(0.01));
  // A step with every layer recomputed has four forwards' worth of matrices: the reference's is a fourth of it, or less where the policy has more to wait for.
  CHECK(copied.other_models.value > 0.2 * before.matmul.value);
  CHECK(copied.other_models.value < 0.35 * before.step.value);
  // Four sequences of 2,048 on each of eight GPUs.
  CHECK(copied.tokens == 8 * 4 * 2048);
  // 6 × parameters × tokens, and attention beside them: the embedding is a look-up.
  CHECK(copied.model.value > 6.0 * (8'030'261'248 - 128'256 * 4096.0) * copied.tokens);
  CHECK(copied.model.value < 6.5 * 8'030'261'248 * copied.tokens);
}

TEST_CASE("few completions take as long as reading the weights for each token") {
  const auto few = cost(grpo(1));
  const double weights = 2.0 * (8'030'261'248 - 128'256 * 4096.0);  // the embedding is a look-up
  const double cache = 131'072.0 * (512 + 256);
  CHECK(few.generation.value > bandwidth_bound(weights + cache));
  CHECK(few.generation.value < 1.05 * bandwidth_bound(weights + cache));
  // Many share them: eight times as many take less than twice as long.
  CHECK(cost(grpo(8)).generation.value < 2 * few.generation.value);
  // Two GPUs read half of the weights each; what they exchange takes some of that.
  CHECK(cost(grpo(1, 2)).generation.value < few.generation.value);
  CHECK(cost(grpo(1, 2)).generation.value > few.generation.value / 2);
}

TEST_CASE("the head reads the completion's positions alone") {
  auto whole = grpo(4), last = grpo(4);
  whole.rollout.prompt = 1, whole.rollout.completion = 1023;
  last.rollout.prompt = 1023, last.rollout.completion = 1;
  const auto difference = cost(whole).matmul - cost(last).matmul;
  // 3 × 2 × V × h for each of 4 × 1,022 positions.
  const double flops = 3 * 2 * 128'256.0 * 4096 * 4 * 1022;
  CHECK(difference.value == doctest::Approx(flops / (calibrated::hopper.matmul * static_cast<double>(gpus::h100_sxm_80gb.matmul_tflops_x10) * 1e11)).epsilon(0.02).scale(0));
}

TEST_CASE("PPO has a critic's step, values, rewards and a reference beside the policy's") {
  auto j = dpo(reference_way::copy);
  j.batch = {.micro = 1, .sequence = 1024, .accumulation = 4};
  j.objective = {.kind = objective_kind::ppo, .code = method_code::openrlhf, .reference = reference_way::copy, .frozen = {.model = models::llama_3_1_8b}, .critic = {.model = models::llama_3_1_8b}};
  j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512};
  REQUIRE(!objection_to(j));
  const auto c = cost(j);
  // The critic's step is nearly the policy's; four forwards (policy, reference, reward, value) are each a fourth or less of one.
  CHECK(c.other_models.value > 1.4 * (c.matmul.value + c.attention.value));
  CHECK(c.assumptions.has(time_assumption::methods_from_parts));
  CHECK(c.assumptions.has(time_assumption::generation_by_bandwidth));
  // A range that says how little is known: six tenths of generation.
  const auto range = bounds(c);
  CHECK(range.high / c.step > 1.5);
}

TEST_CASE("an engine on other GPUs needs to be told how many") {
  auto j = grpo(4);
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 512, .generations = 8};
  CHECK_THROWS_AS((void)cost(j), job_error);
  j.rollout.gpus = 8;
  const auto c = cost(j);
  CHECK(c.gpus == 16);
  CHECK(c.generation.value > 0);
  j.rollout.gpus = 4;
  CHECK(cost(j).generation > c.generation);
}

}  // namespace test_methods
