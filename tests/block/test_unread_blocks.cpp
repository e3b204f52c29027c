// Distributed under the Boost Software License, Version 1.0.
// Blocks of a tower behind the one whose result LLaVA reads (models/llava/modeling_llava.py, hidden_states[vision_feature_layer]): they run and have no gradients.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <nlohmann/json.hpp>

namespace test_unread_blocks {

using namespace headroom;

namespace {

nlohmann::json llava(nlohmann::json layer) {
  nlohmann::json c{{"model_type", "llava"}, {"architectures", {"LlavaForConditionalGeneration"}},
                   {"text_config", {{"model_type", "llama"}, {"num_hidden_layers", 3}, {"hidden_size", 2048}, {"num_attention_heads", 32}, {"num_key_value_heads", 32}, {"intermediate_size", 5632}, {"vocab_size", 32064}}},
                   {"vision_config", {{"model_type", "clip_vision_model"}, {"hidden_size", 1024}, {"num_hidden_layers", 4}, {"num_attention_heads", 16}, {"intermediate_size", 4096}, {"image_size", 336}, {"patch_size", 14}}}};
  if (!layer.is_null()) c["vision_feature_layer"] = std::move(layer);
  return c;
}
job of(nlohmann::json layer) {
  return {.model = io::model_from_config(llava(std::move(layer))), .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 1}, .framework = frameworks::hf_trainer,
          .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 1024}};
}
// A block of CLIP-L: four matrices of attention, two of the MLP, their biases, and two norms.
constexpr std::int64_t block = 4 * (1024 * 1024 + 1024) + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024;

}  // namespace

TEST_CASE("which block is read") {
  CHECK(of(nullptr).model.vision.unread == 1);  // the class's default
  CHECK(of(-1).model.vision.unread == 0);
  CHECK(of(-2).model.vision.unread == 1);
  CHECK(of(3).model.vision.unread == 1);
  CHECK(of(nlohmann::json::array({-3})).model.vision.unread == 2);
  CHECK_THROWS_WITH(of(5), doctest::Contains("vision_feature_layer must be a layer of the tower's, which has 4, found 5"));
  CHECK_THROWS_WITH(of(-5), doctest::Contains("vision_feature_layer must be a layer of the tower's, which has 4, found -5"));
}

TEST_CASE("what is not read has no gradients, and so no states") {
  const auto all = states(of(-1)), read = states(of(-2));
  CHECK(all.total == read.total);
  // Norms of all blocks are one list with the tower's own two, of which a share is left out.
  const auto apart = all.trained.count() - read.trained.count();
  CHECK(apart >= block);
  CHECK(apart <= block + 2048);
  // Divided with others' they are kept.
  auto j = of(-2);
  j.hardware.gpus_per_node = 2;
  j.sharding = fsdp2();
  CHECK(states(j).trained == all.trained);
}

TEST_CASE("… and keeps nothing for backward") {
  const auto last = estimate(of(-1)).ranks[0], read = estimate(of(-2)).ranks[0];
  CHECK(last[phase::loss_forward] > read[phase::loss_forward]);
  CHECK(last[phase::step] - read[phase::step] >= bytes{3 * 2 * block});
  auto frozen = of(-2), other = of(-1);
  frozen.trainable = other.trainable = {{.modules = all_linear}};
  CHECK(estimate(frozen).ranks[0].allocated == estimate(other).ranks[0].allocated);
}

TEST_CASE("a block is left to be read") {
  auto j = of(-2);
  j.model.vision.unread = 4;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.vision.unread must leave a block of the tower that is read: from 0 to model.vision.layers - 1 (found 4)"), job_error);
}

}  // namespace test_unread_blocks
