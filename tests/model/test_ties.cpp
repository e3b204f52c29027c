// Distributed under the Boost Software License, Version 1.0.
// Whether the head is the table of words, release by release of transformers.
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace test_ties {

using namespace headroom;
using nlohmann::json;

// Glm4vForConditionalGeneration of transformers 4.57, 5.16 and 5.17 (pull request 45857 of 2026-08-25).
TEST_CASE("a table that the text alone ties is the head of GLM-V's before transformers 5 and since 5.17") {
  json config = {{"architectures", {"Glm4vForConditionalGeneration"}}, {"model_type", "glm4v"}, {"tie_word_embeddings", false}};
  config["text_config"] = {{"attention_bias", false}, {"hidden_size", 96}, {"intermediate_size", 48}, {"model_type", "glm4v_text"}, {"num_attention_heads", 2}, {"num_hidden_layers", 2}, {"num_key_value_heads", 1}, {"vocab_size", 320}, {"tie_word_embeddings", true}};
  config["vision_config"] = {{"depth", 8}, {"hidden_size", 32}, {"image_size", 56}, {"intermediate_size", 64}, {"model_type", "glm4v_vision"}, {"num_heads", 4}, {"out_hidden_size", 96}, {"patch_size", 14}, {"spatial_merge_size", 2}, {"temporal_patch_size", 2}};
  const auto walked = [&](const char* release) {
    config["transformers_version"] = release;
    return count(io::model_from_config(config)).total.count();
  };
  for (const char* release : {"4.57.1", "5.17.0", "5.17.0.dev0", "5.100.0"}) CHECK(walked(release) == 300'384);
  for (const char* release : {"5.0.0", "5.2.0", "5.16.0", "5.16"}) CHECK(walked(release) == 331'104);
  config["tie_word_embeddings"] = true;
  CHECK(walked("5.16.0") == 300'384);
}

}  // namespace test_ties
