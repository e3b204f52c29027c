// Distributed under the Boost Software License, Version 1.0.
// Layers of each chunk: a list need not say how long it is, and one that does not fit the stages is refused.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace test_stage_layers {

using namespace headroom;

namespace {

job pipeline(const degrees& d) { return {.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 4}, .framework = frameworks::megatron, .parallel = d, .batch = {.sequence = 512, .accumulation = 8}}; }

std::string refused(const job& j) {
  try {
    (void)estimate(j);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

constexpr degrees uneven{.pipeline = 4, .stage_layers = {3, 5, 5, 3}};
static_assert(chunks_given(uneven) == 4);
static_assert(chunks_given({.pipeline = 4}) == 0);
static_assert(chunks_given({.pipeline = 2, .virtual_pipeline = 2, .stage_layers = {0, 6, 5, 5}}) == 4);  // the embedding alone in the first
static_assert(stage_cut(uneven, 16, layer_split::even).at(2).first == 8);

}  // namespace

TEST_CASE("a list that does not say how long it is") {
  auto said = uneven;
  said.chunks = 4;
  CHECK((estimate(pipeline(uneven)) == estimate(pipeline(said))));
  CHECK_FALSE((estimate(pipeline(uneven)) == estimate(pipeline({.pipeline = 4}))));
  CHECK(stage_cut(uneven, 16, layer_split::even).at(3).count == 3);
}

TEST_CASE("layers that no list divides: as the framework does") {
  const auto layers = [](const degrees& d, std::int64_t all, layer_split split) {
    const stage_cut cut(d, all, split);
    std::vector<std::int64_t> counts;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < cut.chunks(); ++i) {
      CHECK(cut.at(i).first == next);
      next += cut.at(i).count;
      counts.push_back(cut.at(i).count);
    }
    CHECK(next == all);
    return counts;
  };
  using list = std::vector<std::int64_t>;
  // torchtitan's own function, generate_llm_fqn_per_model_part at 238fa995, run with (4, 32), (8, 32), (8, 126), (2, 3), (3, 4) and (1, 5).
  CHECK(layers({.pipeline = 4}, 32, layer_split::ends_count_layers) == list{8, 9, 8, 7});
  CHECK(layers({.pipeline = 4, .virtual_pipeline = 2}, 32, layer_split::ends_count_layers) == list{4, 5, 4, 4, 4, 4, 4, 3});
  CHECK(layers({.pipeline = 8}, 126, layer_split::ends_count_layers) == list{15, 16, 16, 16, 16, 16, 16, 15});
  CHECK(layers({.pipeline = 2}, 3, layer_split::ends_count_layers) == list{2, 1});
  CHECK(layers({.pipeline = 3}, 4, layer_split::ends_count_layers) == list{1, 2, 1});
  CHECK(layers({}, 5, layer_split::ends_count_layers) == list{5});
  // generate_split_points at 9dec370.
  CHECK(layers({.pipeline = 4}, 32, layer_split::ends_least) == list{8, 8, 8, 8});
  CHECK(layers({.pipeline = 8}, 126, layer_split::ends_least) == list{15, 16, 16, 16, 16, 16, 16, 15});
  CHECK(layers({.pipeline = 4}, 7, layer_split::ends_least) == list{1, 2, 2, 2});
  CHECK(layers({.pipeline = 2}, 7, layer_split::ends_least) == list{3, 4});
  // What a job says comes first.
  CHECK(layers({.pipeline = 4, .first_stage_layers = 5}, 32, layer_split::ends_count_layers) == list{5, 9, 9, 9});
  CHECK(layers({.pipeline = 2, .first_stage_layers = 5, .last_stage_layers = 3}, 8, layer_split::even) == list{5, 3});  // nothing is left to divide
  CHECK_THROWS_AS(stage_cut({.pipeline = 2, .first_stage_layers = 5, .last_stage_layers = 4}, 8, layer_split::even), job_error);
  CHECK(layers({.pipeline = 2, .stage_layers = {10, 22}}, 32, layer_split::ends_count_layers) == list{10, 22});
  CHECK_THROWS_AS(stage_cut({.pipeline = 8}, 5, layer_split::ends_count_layers), job_error);

  job titan{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202504, .parallel = {.pipeline = 4}, .sharding = {.kind = sharding_kind::fsdp2, .stage = 3}, .batch = {.sequence = 2048, .accumulation = 8}};
  auto said = titan;
  for (std::size_t i = 0; const auto n : {8, 9, 8, 7}) said.parallel.stage_layers[i++] = n;
  CHECK((estimate(titan) == estimate(said)));
  titan.framework = frameworks::torchtitan_202411;
  said.framework = titan.framework;
  for (auto& n : std::span{said.parallel.stage_layers}.first(4)) n = 8;
  CHECK((estimate(titan) == estimate(said)));
}

// nanotron's models/base.py build_model by hand. A 1B Llama (h 2048, I 8192, V 131,072): a layer costs 4 h² + 3 h I = 67,108,864, the head V h, four times
// that. Of 20 layers' cost eight stages have 2.5 each, and a stage ends with the layer that takes it past 2.5, 5, 7.5, …: after layers 3, 6, 8, 11, 13 and 16.
TEST_CASE("layers dealt by cost") {
  const block_costs small{67'108'864, 268'435'456};
  const degrees eight{.pipeline = 8};
  const stage_cut cut(eight, 16, layer_split::by_cost, small);
  std::int64_t i = 0;
  for (const auto n : {3, 3, 2, 3, 2, 3, 0, 0}) CHECK(cut.at(i++).count == n);
  CHECK(cut.at(5).first == 13);
  CHECK(cut.at(7).first == 16);
  // Ends that come out even take one more: ten layers of 20 are not more than half.
  const degrees two{.pipeline = 2};
  CHECK(stage_cut(two, 16, layer_split::by_cost, small).at(0).count == 11);
  // 8B: 32 layers of 243,269,632, a head of 536,870,912: 34.2 layers' cost.
  const block_costs large{243'269'632, 536'870'912};
  std::int64_t stages = 2;
  for (const auto first : {18, 9, 5, 3, 2}) {
    const degrees d{.pipeline = stages};
    CHECK(stage_cut(d, 32, layer_split::by_cost, large).at(0).count == first);
    stages *= 2;
  }
  CHECK(stage_cut({}, 16, layer_split::by_cost, small).at(0).count == 16);
}

TEST_CASE("a list that does not fit") {
  const std::string each = "headroom: parallel.stage_layers must have an entry for each chunk, as many as parallel.pipeline × virtual_pipeline; they are ";
  CHECK(refused(pipeline(uneven)).empty());
  CHECK(refused(pipeline({.pipeline = 4, .stage_layers = {3, 5, 5, 4}})) == "headroom: parallel.stage_layers must add up to model.layers; they add up to (found 17)");
  CHECK(refused(pipeline({.pipeline = 4, .stage_layers = {8, 8}, .chunks = 2})) == each + "(found 4)");
  CHECK(refused(pipeline({.pipeline = 2, .stage_layers = {4, 4, 4, 4}})) == each + "(found 2)");
  CHECK(refused(pipeline({.stage_layers = {8, 8}})) == each + "(found 1)");
  CHECK(refused(pipeline({.pipeline = 4, .stage_layers = {4, 4, 4, 4}, .chunks = 257})) == "headroom: parallel.stage_layers must have at most 256 entries; it has (found 257)");
  CHECK(refused(pipeline({.pipeline = 4, .stage_layers = {4, 4, 4, 4}, .chunks = -1})) == "headroom: parallel.stage_layers must have at most 256 entries; it has (found -1)");
}

}  // namespace test_stage_layers
