// Distributed under the Boost Software License, Version 1.0.
// Layers that are alike count alike: a class with none, one, two, three and four of them, wherever a configuration says how many there are.
#include "counted_rows.hpp"

#include <headroom/io/counted.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>

namespace test_depths {

using nlohmann::json;

namespace {

/// Nothing where it is refused.
std::optional<std::int64_t> with_depth(json config, const std::string& path, int layers) {
  config[json::json_pointer(path)] = layers;
  try {
    return headroom::io::count_config(config).total.count();
  } catch (const headroom::job_error&) {
    return {};
  }
}

/// Kinds of layer that come in turns, so that each further layer may be of another kind: experts in every second one, attention in every third or fourth,
/// windows between layers that see everything.
const std::set<std::string> in_turns{"blip-2", "blip_2_qformer", "deepseek_v32", "deepseek_v4", "deepseek_vl_hybrid", "glm_moe_dsa", "got_ocr2", "granite_speech", "granite_speech_plus", "instructblip", "instructblipvideo",
                                     "jamba", "minicpmv4_6", "minimax", "mllama", "mllama_text_model", "nllb-moe", "qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "recurrent_gemma", "sam", "sam_hq",
                                     "sam_hq_vision_model", "sam_vision_model", "step3p5", "step3p7", "switch_transformers"};
/// The first layer is of a kind of its own: dense before experts, T5's table of positions, RWKV's first norm, Yolos's positions between layers.
const std::set<std::string> first_differs{"axk1", "axk2", "AXK1", "AXK2", "afmoe", "ernie4_5_vl_moe", "ernie4_5_vl_moe_text", "gpt_neox_japanese", "gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text", "glm4_moe", "glm4v_moe",
                                          "glm4v_moe_text", "laguna", "longt5", "mt5", "mimo_v2_flash", "modernbert-decoder", "olmo_hybrid", "pix2struct", "pix2struct_text_model", "pop2piano", "rwkv", "t5", "udop", "yolos", "zaya"};

}  // namespace

TEST_CASE("each further layer of a class has as many parameters as the one before it, the first one included") {
  int even = 0, from_none = 0, turns = 0, first = 0;
  for (const auto& entry : counted_rows::data("counted_keys.json")) {
    const auto config = counted_rows::config_of(entry);
    const auto type = config.at("model_type").get<std::string>();
    std::vector<std::string> parts{""};
    for (const auto& [key, value] : config.items())
      if (value.is_object()) parts.push_back("/" + key);
    for (const auto& part : parts)
      for (const char* key : {"num_hidden_layers", "num_layers", "n_layer", "n_layers", "depth", "num_decoder_layers", "num_encoder_layers", "encoder_layers", "decoder_layers", "decoder_num_hidden_layers"}) {
        if (!config.contains(json::json_pointer(part + "/" + key))) continue;
        const auto at = [&](int layers) { return with_depth(config, part + "/" + key, layers); };
        const auto two = at(2), three = at(3), four = at(4);
        if (!two || !three || !four || two == three) continue;
        CAPTURE(entry.at("architectures").dump());
        CAPTURE(part + "/" + key);
        if (*four - *three != *three - *two) {
          CAPTURE(type);
          CHECK(in_turns.count(type) == 1);
          ++turns;
          continue;
        }
        ++even;
        const auto none = at(0), one = at(1);
        if (one && *three - *two != *two - *one) {
          CAPTURE(type);
          CHECK(first_differs.count(type) == 1);
          ++first;
          continue;
        }
        if (!none || !one) continue;
        ++from_none;
        if (*one - *none != *two - *one) {
          CAPTURE(type);
          CHECK(first_differs.count(type) == 1);
          ++first;
        }
      }
  }
  CHECK(even == 1209);
  CHECK(turns == 69);
  CHECK(first == 70);
  CHECK(from_none == 840);
}

}  // namespace test_depths
