// Distributed under the Boost Software License, Version 1.0.
// Models that see, and models that see and speak: random configurations against the classes' own totals.
#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "counted_rows.hpp"

namespace test_counted_vision {

TEST_CASE("random configurations of models that see count exactly") {
  const auto seen = counted_rows::count_all("counted_vision.json");
  CHECK(seen.exact == 575);
  CHECK(seen.refused == 0);
}

TEST_CASE("a model that sees and speaks answers for its tower") {
  nlohmann::json llava = {{"architectures", {"LlavaForConditionalGeneration"}}, {"model_type", "llava"}, {"text_config", {{"model_type", "llama"}}}, {"vision_config", {{"model_type", "eye"}}}};
  CHECK_THROWS_WITH_AS(headroom::io::count_config(llava), doctest::Contains("config.vision_config.model_type \"eye\" is not a family known here, as a part of another model"), headroom::job_error);
  llava["vision_config"] = {{"model_type", "pixtral"}, {"lenses", 2}};
  CHECK_THROWS_WITH_AS(headroom::io::count_config(llava), doctest::Contains("config.vision_config.lenses is not known for LlavaForConditionalGeneration"), headroom::job_error);
}

TEST_CASE("a retriever without a configuration of its model has that class's defaults") {
  // PaliGemma's 2,910,390,528 and Qwen2-VL's 72,136,254,464 without a head, and one biased matrix to 128 features
  CHECK(headroom::io::count_config({{"architectures", {"ColPaliForRetrieval"}}, {"model_type", "colpali"}}).total.count() == 2'910'390'528 + 2048 * 128 + 128);
  CHECK(headroom::io::count_config({{"architectures", {"ColQwen2ForRetrieval"}}, {"model_type", "colqwen2"}}).total.count() == 72'136'254'464 + 8192 * 128 + 128);
}

TEST_CASE("GroupViT's two ratios are two numbers") {
  const auto with = [](const nlohmann::json& ratios) {
    return nlohmann::json{{"architectures", {"GroupViTModel"}}, {"model_type", "groupvit"}, {"text_config", {{"model_type", "groupvit_text_model"}}}, {"vision_config", {{"model_type", "groupvit_vision_model"}, {"assign_mlp_ratio", ratios}}}};
  };
  for (const auto& wrong : {nlohmann::json{0.5, 4, 3}, nlohmann::json{0.5}, nlohmann::json{"half", 4}, nlohmann::json{0.5, "four"}, nlohmann::json{{"a", 0.5}, {"b", 4}}, nlohmann::json(0.5)}) {
    CAPTURE(wrong.dump());
    CHECK_THROWS_WITH_AS(headroom::io::count_config(with(wrong)), doctest::Contains("assign_mlp_ratio must be a list of two numbers"), headroom::job_error);
  }
  const auto total = [&](const nlohmann::json& ratios) { return headroom::io::count_config(with(ratios)).total.count(); };
  // Each of two stages that gather has an MLP over channels: 2 x 384 x (4 x 384) and its biases; half the ratio is half of the matrices and of the inner bias.
  CHECK(total({0.5, 4}) - total({0.5, 2}) == 2 * (2 * 384 * 2 * 384 + 2 * 384));
}

TEST_CASE("ViViT's tubes are as long, high and wide as they are said to be") {
  const auto total = [](const nlohmann::json& image, const nlohmann::json& tube) {
    return headroom::io::count_config({{"architectures", {"VivitModel"}}, {"model_type", "vivit"}, {"num_hidden_layers", 3}, {"image_size", image}, {"tubelet_size", tube}}).total.count();
  };
  // 25,446,144 with 16 x 14 x 14 tubes of 2 x 16 x 16 (the class's own): a row of 768 for each tube, and a kernel of as many values.
  CHECK(total(224, {2, 16, 16}) == 25'446'144);
  CHECK(total({224, 224}, {2, 16, 16}) == 25'446'144);
  CHECK(total({224, 112}, {2, 16, 16}) == 25'446'144 - 16 * 14 * 7 * 768);
  CHECK(total({112, 224}, {2, 16, 16}) == 25'446'144 - 16 * 14 * 7 * 768);
  CHECK(total({224, 112}, {4, 16, 8}) == 25'446'144 - 8 * 14 * 14 * 768);
  CHECK(total({112, 224}, {4, 8, 16}) == 25'446'144 - 8 * 14 * 14 * 768);
  CHECK(total({224, 112}, {2, 32, 16}) == 25'446'144 - (16 * 14 * 14 - 16 * 7 * 7) * 768 + 3 * 2 * 16 * 16 * 768);
}

TEST_CASE("Swin2SR's three convolutions behind a stage instead of one") {
  const auto total = [](const char* kind) {
    return headroom::io::count_config({{"architectures", {"Swin2SRModel"}}, {"model_type", "swin2sr"}, {"embed_dim", 60}, {"depths", {2, 2, 3}}, {"num_heads", {6, 6, 6}}, {"resi_connection", kind}}).total.count();
  };
  // modeling_swin2sr.py Swin2SRStage: 60 to 15 by 3 x 3, 15 to 15 by 1 x 1, 15 to 60 by 3 x 3, with biases; or 60 to 60 by 3 x 3.
  constexpr std::int64_t one = 9 * 60 * 60 + 60, three = (9 * 60 * 15 + 15) + (15 * 15 + 15) + (9 * 15 * 60 + 60);
  CHECK(total("1conv") - total("3conv") == 3 * (one - three));
  CHECK_THROWS_WITH_AS((void)total("2conv"), doctest::Contains("resi_connection must be 1conv or 3conv"), headroom::job_error);
}

}  // namespace test_counted_vision
