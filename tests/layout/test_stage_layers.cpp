// Distributed under the Boost Software License, Version 1.0.
// Layers of each chunk: a list need not say how long it is, and one that does not fit the stages is refused.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

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
static_assert(stage_cut(uneven, 16).at(2).first == 8);

}  // namespace

TEST_CASE("a list that does not say how long it is") {
  auto said = uneven;
  said.chunks = 4;
  CHECK((estimate(pipeline(uneven)) == estimate(pipeline(said))));
  CHECK_FALSE((estimate(pipeline(uneven)) == estimate(pipeline({.pipeline = 4}))));
  CHECK(stage_cut(uneven, 16).at(3).count == 3);
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
