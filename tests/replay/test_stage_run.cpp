// Distributed under the Boost Software License, Version 1.0.
// The tensors that a rank of a pipeline stage makes: those of Megatron's modules, and together what the walk counts for the stage.
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>
#include <long_table.hpp>

namespace test_stage_run {

using namespace headroom;

namespace {

job megatron_job(const shape& model) {
  job j{.model = model, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.micro = 1, .sequence = 512, .accumulation = 4}};
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  return j;
}

std::vector<std::int64_t> sizes(const job& j, std::int64_t stage) {
  const auto s = settle(j);
  std::vector<std::int64_t> n;
  for (const auto& t : tensors_of_stage(s, weights_of(s.model), stage_cut(j.parallel, s.model.layers, j.framework.pipeline.split), stage)) n.push_back(t.elements);
  return n;
}

}  // namespace

// Llama-3.1-8B: 4,096 hidden, 32 heads and 8 key-value heads of 128, 14,336 wide, 128,256 tokens.
TEST_CASE("a layer is made in the order of Megatron's modules, with q, k and v as one matrix") {
  auto j = megatron_job(models::llama_3_1_8b);
  j.model.layers = 2;
  j.parallel.pipeline = 2;
  CHECK(sizes(j, 0) == std::vector<std::int64_t>{128'256 * 4'096, 4'096 * 4'096, 6'144 * 4'096, 4'096, 4'096, 28'672 * 4'096, 4'096 * 14'336});
  CHECK(sizes(j, 1) == std::vector<std::int64_t>{4'096 * 4'096, 6'144 * 4'096, 4'096, 4'096, 28'672 * 4'096, 4'096 * 14'336, 4'096, 128'256 * 4'096});
}

TEST_CASE("a tied head is a tensor of the last stage, where that is not the first") {
  auto j = megatron_job(models::llama_3_1_8b);
  j.model.layers = 2;
  j.model.tied = true;
  j.parallel.pipeline = 2;
  CHECK(sizes(j, 1).back() == 128'256 * 4'096);
  j.parallel.pipeline = 1;
  CHECK(sizes(j, 0).back() == 4'096);
}

TEST_CASE("together they are what the walk counts for the stage") {
  for (const auto& model : {models::llama_3_1_8b, long_table(models::gpt2_medium), models::mixtral_8x7b, models::deepseek_v3, models::qwen3_30b_a3b}) {
    auto j = megatron_job(model);
    j.model.mtp_layers = 0;
    j.model.layers = 8;
    for (const std::int64_t tensor : {1, 2}) {
      for (const std::int64_t pipeline : {1, 2, 4}) {
        j.parallel.tensor = tensor;
        j.parallel.pipeline = pipeline;
        j.parallel.expert = model.sparse() ? 4 : 1;
        const auto s = settle(j);
        const stage_cut cut(j.parallel, s.model.layers, j.framework.pipeline.split);
        const auto list = weights_of(s.model);
        for (std::int64_t stage = 0; stage < pipeline; ++stage) {
          CAPTURE(model.label.view());
          CAPTURE(tensor);
          CAPTURE(stage);
          const auto counted = detail::rank_weights(s, list).of_stage(cut, stage);
          std::int64_t dense = 0, experts = 0, plain = 0;
          for (const auto& t : tensors_of_stage(s, list, cut, stage)) {
            (t.expert ? experts : dense) += t.elements;
            if (t.plain) plain += t.elements;
          }
          CHECK(parameters{dense} == counted.dense);
          CHECK(parameters{experts} == counted.experts);
          CHECK(parameters{plain} == counted.plain);
        }
      }
    }
  }
}

// Three tensors of 10, 20 and 30 lie as 30, 20, 10 in the buffer; the last of four ranks has its last 15.
TEST_CASE("the last rank's share of a divided buffer holds the first tensors, and a part of one") {
  const std::vector<stage_tensor> all{{10}, {20}, {30}, {.elements = 7, .expert = true}};
  const auto mine = last_share(all, false, 4);
  REQUIRE(mine.size() == 2);
  CHECK(mine[0].elements == 10);
  CHECK(mine[1].elements == 5);
  CHECK(last_share(all, false, 1).size() == 3);
  CHECK(last_share(all, true, 1).size() == 1);
}

}  // namespace test_stage_run
