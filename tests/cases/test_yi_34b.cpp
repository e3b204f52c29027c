// Distributed under the Boost Software License, Version 1.0.
// Yi-34B-Chat with every parameter trained: two nodes of eight A800 80 GB under ZeRO, which ran out of memory ("tried to allocate
// 8 GiB", about 72 GiB allocated, about 6 GB free), and one node with the layers spread over its GPUs, which was the advice.
#include <headroom/decide.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include "both.hpp"

#include <string>

namespace test_yi_34b {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t parameters_of_yi = 34'388'917'248;

constexpr job under_zero(std::int64_t stage) {
  return {.model = models::yi_34b,
          .hardware = {.gpu = gpus::a800_sxm_80gb, .nodes = 2, .gpus_per_node = 8},
          .framework = frameworks::deepspeed_2023,
          .precision = precisions::bf16_mixed,
          .optimizer = optimizers::adamw,
          .sharding = zero(stage),
          .batch = {.micro = 2, .sequence = 4096},
          .attention = attention::sdpa};
}
constexpr report stage2 = estimate(under_zero(2));
constexpr report stage3 = estimate(under_zero(3));

bytes device_of(const job& j) { return estimate(j).device(); }

}  // namespace

TEST_CASE("Yi-34B under ZeRO-2 is out of memory before the first step") {
  BOTH(stage2.parameter_count.total == parameters{parameters_of_yi});
  const auto& r = stage2.ranks[0];
  // The text's "68 GB of parameters, 68 GB of gradients, 136 GB of Adam": two bytes of each.
  CHECK(2 * parameters_of_yi == 68'777'834'496);
  CHECK(r.at_peak[row::model_parameters] >= bytes{2 * parameters_of_yi});
  CHECK(r.at_peak[row::model_parameters] < bytes{2 * parameters_of_yi} + 1_MiB);
  // One 16th of an fp32 vector is the 8 GiB that are asked for; with the weights and the master copy there, 72 GiB are allocated
  // and the first moment is what fails.
  const auto vector = bytes{4 * parameters_of_yi / 16};
  CHECK(vector > 8_GiB);
  CHECK(vector < 8_GiB + 10_MiB);
  CHECK(r.at_peak[row::master_parameters] == vector);
  CHECK(r.at_peak[row::optimizer_state] == 2 * vector);
  const auto before = r.at_peak[row::model_parameters] + r.at_peak[row::master_parameters];
  CHECK(before > 72_GiB);
  CHECK(before < 72_GiB + 100_MiB);
  CHECK(gpus::a800_sxm_80gb.memory - before < 8_GiB);
  // So no batch is small enough: one token, recomputed.
  auto least = under_zero(2);
  least.batch = {.micro = 1, .sequence = 1};
  least.recompute = recompute::full;
  CHECK_FALSE(fits(least));
}

TEST_CASE("Yi-34B under ZeRO-3: 32 GiB of states fit, 150 GiB of activations do not") {
  const auto& r = stage3.ranks[0];
  CHECK(r.at_peak[row::model_parameters] < 4_GiB + 10_MiB);
  CHECK(r.at_peak[row::master_parameters] < 8_GiB + 10_MiB);
  const auto held = r.at_peak[row::model_parameters] + r.at_peak[row::master_parameters] + r.at_peak[row::gradients] + r.at_peak[row::optimizer_state];
  CHECK(held > 32_GiB);
  CHECK(held < 33_GiB);
  CHECK(r.at_peak[row::activations] > 150_GiB);
  CHECK_FALSE(stage3.fits());
}

TEST_CASE("Yi-34B: the ways out, and what does not help") {
  auto j = under_zero(3);
  j.batch.micro = 1;
  CHECK_FALSE(decided{}(j));  // half of 150 GiB is still too much
  j = under_zero(3);
  j.offload.optimizer = place::on_cpu;
  CHECK_FALSE(decided{}(j));  // frees 28 GiB of states, and the activations stay
  j = under_zero(3);
  j.recompute = recompute::full;
  CHECK(decided{}(j));
  const auto recomputed = device_of(j);
  j.offload.optimizer = place::on_cpu;
  CHECK(device_of(j) < recomputed - 24_GiB);
  // ZeRO-2 with both, and a buffer of the embedding's size on the GPU (0.85 GiB), fits beside its 64 GiB of weights only where attention is one
  // kernel, segments expand and buckets are small.
  j.sharding = zero(2);
  CHECK_FALSE(estimate(j).may_fit());  // DeepSpeed's two communicators of 16 ranks among them
  CHECK_FALSE(decided{}(j));
  j.environment.expandable_segments = choice::yes;
  CHECK_FALSE(decided{}(j));
  j.sharding.reduce_bucket_size = 100'000'000;
  CHECK(decided{}(j));
  j.attention = attention::eager;
  CHECK_FALSE(decided{}(j));
  // Tensor and pipeline parallelism divide weights and activations: no recompute needed.
  auto m = under_zero(0);
  m.framework = frameworks::megatron;
  m.precision = {};
  m.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  m.attention = attention::flash;
  m.batch.accumulation = 8;
  m.parallel = {.tensor = 4, .sequence = true, .pipeline = 4};
  CHECK(decided{}(m));
  m.parallel = {.tensor = 8, .sequence = true, .pipeline = 2};
  CHECK(decided{}(m));
}

namespace {

constexpr job spread(const shape& m, std::int64_t gpus, const precision& p) {
  return {.model = m,
          .hardware = {.gpu = gpus::a800_sxm_80gb, .gpus_per_node = gpus},
          .framework = frameworks::hf_trainer_2023,
          .precision = p,
          .optimizer = optimizers::adamw,
          .parallel = {.pipeline = gpus, .schedule = schedule::naive},
          .batch = {.micro = 2, .sequence = 4096},
          .recompute = recompute::full,
          .attention = attention::sdpa};
}

}  // namespace

TEST_CASE("Yi-34B spread over one node: true for pure bf16, not for fp32 states") {
  const auto pure = estimate(spread(models::yi_34b, 8, precisions::bf16));
  REQUIRE(pure.size == 8);
  CHECK(pure.fits());
  for (const auto& r : pure) CHECK(r.count == 1);
  CHECK_FALSE(fits(spread(models::yi_34b, 8, precisions::bf16_mixed)));
  CHECK_FALSE(fits(spread(models::yi_34b, 8, precisions::fp32)));
  // One process: one copy of the weights is loaded, not eight.
  CHECK(pure.host.per_node < bytes{2 * parameters_of_yi} + 1_GiB);
}

TEST_CASE("what is spread over GPUs adds up to the whole") {
  for (const auto gpus : {2, 3, 8})
    for (const auto& m : {models::llama_3_1_8b, models::gemma_2b}) {
      auto j = spread(m, gpus, precisions::bf16);
      bytes weights{0}, state{0};
      for (const auto& r : estimate(j)) {
        weights += r.at_phase[static_cast<std::size_t>(phase::load)][row::model_parameters];
        state += r.at_phase[static_cast<std::size_t>(phase::save)][row::optimizer_state];
      }
      j.hardware.gpus_per_node = 1;
      j.parallel = {};
      const auto whole = states(j);
      CHECK(weights == whole.gpu[row::model_parameters]);
      CHECK(state == whole.gpu[row::optimizer_state]);
    }
}

// Llama-3.1-8B on eight GPUs by hand: 16,060,522,496 bytes, of which embedding and head 1,050,673,152 each and a layer 436,224,000
// (8,192 of norms' rounding aside). An even share and 1.25 layers are 2,552,845,312: five layers. The first GPU also keeps room
// for the largest module and holds the embedding: 451,499,008 are left, one layer. 32 - 1 - 6 x 5 = 1 is left for the last.
TEST_CASE("layers go where accelerate puts them") {
  const auto j = spread(models::llama_3_1_8b, 8, precisions::bf16);
  const auto s = settle(j);
  const auto d = detail::spread_layers(s, weights_of(s.model));
  const std::int32_t expected[] = {1, 5, 5, 5, 5, 5, 5, 1};
  for (std::size_t i = 0; i < 8; ++i) CHECK(d.stage_layers[i] == expected[i]);
}

TEST_CASE("the tightest GPU of a spread model is the one with the logits, or a full one") {
  auto j = spread(models::llama_3_1_8b, 8, precisions::bf16);
  CHECK(estimate(j).tightest().pipeline_stage == 7);  // vocabulary of 128,256: 4 and 8 bytes a logit
  j.batch.sequence = 128;
  CHECK(estimate(j).tightest().pipeline_stage == 1);
  j.model.tied = true;  // the head then lies with the embedding
  j.batch.sequence = 4096;
  CHECK(estimate(j).tightest().pipeline_stage == 0);
}

TEST_CASE("stage_layers moves layers by hand; what does not add up is refused") {
  auto j = spread(models::llama_3_1_8b, 2, precisions::bf16);
  j.parallel.chunks = 2;
  j.parallel.stage_layers[0] = 20;
  j.parallel.stage_layers[1] = 12;
  const auto r = estimate(j);
  CHECK(r.ranks[0].at_peak[row::model_parameters] > r.ranks[1].at_peak[row::model_parameters]);
  j.parallel.stage_layers[1] = 13;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("stage_layers must have parallel.pipeline entries"), job_error);
  j = spread(models::llama_3_1_8b, 2, precisions::bf16);
  j.parallel.schedule = schedule::one_forward_one_backward;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("must be \"naive\""), job_error);
  j = spread(models::llama_3_1_8b, 2, precisions::bf16);
  j.hardware.gpus_per_node = 4;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("spreads one process"), job_error);
}

}  // namespace test_yi_34b
