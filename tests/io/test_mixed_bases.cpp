// Distributed under the Boost Software License, Version 1.0.
// Checkpoints of which some layers are quantised and others are not: unsloth/Qwen2.5-7B-Instruct-unsloth-bnb-4bit's kind of config.json.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_mixed_bases {

using namespace imported;

namespace {

imported::text config(const std::string& more, const std::string& other = {}) {
  return {"config.json", R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064, )" + other +
                             R"("max_position_embeddings": 32768, "tie_word_embeddings": false, "quantization_config": {)" + more + "}}"};
}
const imported::text yaml{"sft.yaml", "model_name_or_path: mine\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: all\nquantization_bit: 4\ntemplate: qwen\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"};
const imported::text unquantised{"sft.yaml", "model_name_or_path: mine\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ntemplate: qwen\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"};
const std::string four = R"("quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true)";

}  // namespace

TEST_CASE("a list of what is kept as it was names the head alone, or stops") {
  const auto skips = [](const std::string& list) { return refusal_of({yaml, config(four + ", \"llm_int8_skip_modules\": " + list)}); };
  CHECK(skips("null").empty());
  CHECK(skips("[]").empty());
  CHECK(skips(R"(["lm_head"])").empty());
  CHECK(skips(R"(["lm_head", "multi_modal_projector", "merger", "modality_projection"])").empty());  // Unsloth's own words, of a model that reads text alone
  CHECK(holds(skips(R"(["lm_head", "merger", "model.layers.3.mlp", "model.layers.0.self_attn"])"), "config.json: quantization_config: llm_int8_skip_modules keeps \"model.layers.3.mlp\" as it was, and a base with layers of several formats"));
  CHECK(holds(skips(R"(["model.layers.5.mlp.down_proj", "lm_head"])"), "keeps \"model.layers.5.mlp.down_proj\""));
  CHECK(holds(skips(R"(["merger"])"), "llm_int8_skip_modules does not name lm_head, which is quantised then"));
}

TEST_CASE("… of other methods, too, and from a job file") {
  const auto of = [](const std::string& more) { return refusal_of({unquantised, config(more)}); };
  CHECK(of(R"("quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["lm_head"])").empty());
  CHECK(of(R"("quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["mlp.gate"])").empty());
  CHECK(holds(of(R"("quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["self_attn"])"), "modules_to_not_convert keeps \"self_attn\""));
  CHECK(holds(of(R"("quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [["self_attn.q_proj"]])"), "modules_in_block_to_quantize quantises a part"));
  CHECK(holds(of(R"("quant_method": "gptq", "bits": 4, "dynamic": {"-:.*down.*": {}})"), "dynamic quantises a part"));
  CHECK(of(R"("quant_method": "gptq", "bits": 4, "dynamic": {}, "modules_in_block_to_quantize": null)").empty());
  // A tower that is there, and is kept in 16 bits, is counted as quantised by nobody.
  CHECK(io::detail::has_tower(io::parse_json(R"({"vision_config": {}})", "x")));
  bool refused = false;
  try {
    io::detail::stored_format(io::parse_json("{" + four + R"(, "llm_int8_skip_modules": ["lm_head", "visual"]})", "x"), "here", true);
  } catch (const headroom::error& e) {
    refused = holds(e.what(), "here: llm_int8_skip_modules keeps \"visual\"");
  }
  CHECK(refused);
}

}  // namespace test_mixed_bases

#endif
