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

}  // namespace test_counted_vision
