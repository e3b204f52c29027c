// Distributed under the Boost Software License, Version 1.0.
// Reading configurations: absent, null and false differ; a bad value is told in a sentence.
#include <headroom/io/huggingface.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

namespace test_huggingface {

namespace {

using headroom::io::model_from_config;
using nlohmann::json;

std::int64_t total(const json& config) { return headroom::count(model_from_config(config)).total.count(); }

json llama() {
  return json::parse(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "rope_scaling": {"factor": 8.0}, "eos_token_id": [128001, 128008], "unsloth_version": "2025.1", "some_future_flag": false, "some_future_key": null})");
}

json changed(json config, const char* key, json value) {
  config[key] = std::move(value);
  return config;
}

std::string complaint(const json& config) {
  try {
    (void)model_from_config(config);
  } catch (const headroom::job_error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("keys that do not shape the network are ignored") { CHECK(total(llama()) == 8'030'261'248); }

TEST_CASE("of layers behind a window some see all positions, by a list, a pattern or the class's rule") {
  const auto full = [](json config) {
    config["architectures"] = {"XForCausalLM"};
    return model_from_config(config).full_layers;
  };
  CHECK(full({{"model_type", "gemma3_text"}, {"num_hidden_layers", 26}}) == 4);
  CHECK(full({{"model_type", "gemma3_text"}, {"num_hidden_layers", 26}, {"sliding_window_pattern", 2}}) == 13);
  CHECK(full({{"model_type", "gemma2"}, {"num_hidden_layers", 5}}) == 2);
  CHECK(full({{"model_type", "olmo3"}, {"num_hidden_layers", 32}}) == 8);
  CHECK(full({{"model_type", "exaone_moe"}, {"num_hidden_layers", 48}, {"sliding_window", 128}, {"sliding_window_pattern", "LLLG"}}) == 12);
  CHECK(full({{"model_type", "exaone4"}, {"num_hidden_layers", 30}, {"sliding_window", nullptr}}) == 0);
  CHECK(full({{"model_type", "gpt_oss"}, {"num_hidden_layers", 3}, {"layer_types", {"full_attention", "sliding_attention", "full_attention"}}}) == 2);
  CHECK(full({{"model_type", "cwm"}, {"num_hidden_layers", 5}}) == 2);
  CHECK(full({{"model_type", "mistral"}, {"sliding_window", 4096}}) == 0);
}

TEST_CASE("absent means the class's default, null means none, false is a value") {
  auto config = llama();
  config.erase("num_key_value_heads");
  CHECK(model_from_config(config).kv() == 32);
  CHECK(model_from_config(changed(llama(), "num_key_value_heads", nullptr)).kv() == 32);
  CHECK(complaint(changed(llama(), "num_key_value_heads", false)) ==
        "headroom: config.num_key_value_heads must be a whole number from 1 to 1000000, found false");

  // Qwen3: head_dim absent is 128, null is hidden / heads.
  json qwen = {{"model_type", "qwen3"}, {"hidden_size", 1024}, {"num_attention_heads", 16}, {"num_key_value_heads", 8}};
  CHECK(model_from_config(qwen).head_width() == 128);
  CHECK(model_from_config(changed(qwen, "head_dim", nullptr)).head_width() == 64);

  // Ties: absent depends on the family, null is false.
  json gpt2 = {{"model_type", "gpt2"}};
  CHECK(total(gpt2) == 124'439'808);
  CHECK(total(changed(gpt2, "tie_word_embeddings", false)) == 124'439'808 + 50257 * 768);
  CHECK(total(changed(gpt2, "tie_word_embeddings", nullptr)) == 124'439'808 + 50257 * 768);
  CHECK(total(changed(llama(), "tie_word_embeddings", true)) == 8'030'261'248 - std::int64_t{128256} * 4096);

  // DeepSeek-V2: q_lora_rank absent is 1536, null is no compression. The trap costs V2-Lite 42,508,800 parameters.
  json lite = {{"model_type", "deepseek_v2"}, {"hidden_size", 2048}, {"intermediate_size", 10944}, {"moe_intermediate_size", 1408},
               {"num_hidden_layers", 27}, {"num_attention_heads", 16}, {"n_routed_experts", 64}, {"n_shared_experts", 2},
               {"num_experts_per_tok", 6}, {"first_k_dense_replace", 1}, {"vocab_size", 102400}, {"q_lora_rank", nullptr}};
  CHECK(total(lite) == 15'706'484'224);
  lite.erase("q_lora_rank");
  CHECK(total(lite) == 15'706'484'224 + 42'508'800);
  CHECK(complaint(changed(lite, "q_lora_rank", false)) == "headroom: config.q_lora_rank must be a whole number from 1 to 1099511627776, found false");

  // Gemma 3: the nested text config's vocabulary defaults to 262208.
  CHECK(model_from_config(json{{"model_type", "gemma3"}, {"text_config", json::object()}}).vocab == 262208);
  // LLaVA without any vision_config builds CLIP-L/336; with one, absent keys are CLIP's defaults.
  CHECK(model_from_config(json{{"model_type", "llava"}}).vision.image == 336);
  CHECK(model_from_config(json{{"model_type", "llava"}, {"vision_config", {{"hidden_size", 768}}}}).vision.image == 224);
  CHECK_THROWS_WITH_AS(model_from_config(json{{"model_type", "llava"}, {"vision_config", {{"hidden_size", 1024}}}}), doctest::Contains("num_attention_heads must divide"), headroom::job_error);
}

TEST_CASE("architectures decide the head") {
  json bert = {{"hidden_size", 768}, {"num_hidden_layers", 12}, {"num_attention_heads", 12}, {"intermediate_size", 3072}};
  const auto as = [&](const char* name) { return total(changed(bert, "architectures", json::array({name}))); };
  CHECK(as("BertModel") == 109'482'240);
  CHECK(as("BertForMaskedLM") == 109'514'298);
  CHECK(as("BertForSequenceClassification") == 109'482'240 + 2 * 769);
  CHECK(as("BertForTokenClassification") == 109'482'240 - 768 * 769 + 2 * 769);
  CHECK(as("BertForPreTraining") == 110'106'428);
  CHECK(complaint(changed(bert, "architectures", {"BertForEverything"})).find("BertForEverything") != std::string::npos);
  CHECK(complaint(changed(bert, "architectures", "BertModel")).rfind("headroom: config.architectures must be a list", 0) == 0);

  auto config = llama();
  config["architectures"] = {"LlamaModel"};
  CHECK(total(config) == 8'030'261'248 - std::int64_t{128256} * 4096);
  config["architectures"] = {"LlamaForSequenceClassification"};
  config["num_labels"] = 5;
  CHECK(total(config) == 8'030'261'248 - std::int64_t{128256} * 4096 + 5 * 4096);
}

TEST_CASE("encoder-decoders, from their published counts") {
  // facebook/bart-base and bart-large, as transformers counts them.
  json bart = {{"model_type", "bart"}, {"architectures", {"BartForConditionalGeneration"}}, {"vocab_size", 50265}};
  CHECK(total(bart) == 406'291'456);
  for (const auto& [key, value] : {std::pair{"d_model", 768}, {"encoder_layers", 6}, {"decoder_layers", 6}, {"encoder_attention_heads", 12},
                                   {"decoder_attention_heads", 12}, {"encoder_ffn_dim", 3072}, {"decoder_ffn_dim", 3072}})
    bart[key] = value;
  CHECK(total(bart) == 139'420'416);
  CHECK(total(json{{"model_type", "distilbert"}, {"architectures", {"DistilBertModel"}}}) == 66'362'880);
  CHECK(total(json{{"model_type", "distilbert"}, {"architectures", {"DistilBertForMaskedLM"}}}) == 66'985'530);
  json mt5 = {{"model_type", "mt5"}, {"architectures", {"MT5ForConditionalGeneration"}}};
  // Releases differ: mt5-small has a head of its own, as transformers 4 built it, of 250112 × 512.
  CHECK_THROWS_WITH_AS(total(mt5), doctest::Contains("config.transformers_version must be stated: transformers 4 makes 300176768 parameters of this configuration, and transformers 5 172119424"), headroom::job_error);
  CHECK(total(changed(mt5, "transformers_version", "4.10.0.dev0")) == 300'176'768);
  CHECK(total(changed(mt5, "transformers_version", "5.16.0.dev0")) == 172'119'424);
  mt5["tie_word_embeddings"] = false;
  CHECK_THROWS_WITH_AS(total(mt5), doctest::Contains("transformers_version must be stated"), headroom::job_error);
  CHECK(total(changed(mt5, "transformers_version", "4.10.0.dev0")) == 300'176'768);
  CHECK(total(changed(mt5, "transformers_version", "5.0")) == 172'119'424);
  mt5["architectures"] = {"MT5Model"};  // no head to be tied
  CHECK(total(mt5) == 172'119'424);
  mt5["tie_word_embeddings"] = true;
  mt5["architectures"] = {"MT5ForConditionalGeneration"};
  CHECK(total(mt5) == 172'119'424);
  json t5 = {{"model_type", "t5"}, {"architectures", {"T5EncoderModel"}}};
  CHECK(total(t5) == 35'330'816);
}

TEST_CASE("numbers are whole, positive and bounded, however they are spelled") {
  CHECK(total(changed(llama(), "hidden_size", 4.096e3)) == 8'030'261'248);
  const std::string sentence = "headroom: config.num_attention_heads must be a whole number from 1 to 1000000, found ";
  CHECK(complaint(changed(llama(), "num_attention_heads", "abc")) == sentence + "\"abc\"");
  CHECK(complaint(changed(llama(), "num_attention_heads", -32)) == sentence + "-32");
  CHECK(complaint(changed(llama(), "num_attention_heads", 0)) == sentence + "0");
  CHECK(complaint(changed(llama(), "num_attention_heads", 32.5)) == sentence + "32.5");
  CHECK(complaint(changed(llama(), "num_attention_heads", nullptr)) == sentence + "null");
  CHECK(complaint(changed(llama(), "num_attention_heads", json::array({32}))) == sentence + "[32]");
  CHECK(complaint(changed(llama(), "num_attention_heads", std::numeric_limits<double>::quiet_NaN())) == sentence + "null");
  CHECK(complaint(changed(llama(), "num_hidden_layers", json::parse("1000000000000000000000000000000"))).find("found 1e+30") != std::string::npos);
  CHECK(complaint(changed(llama(), "vocab_size", std::numeric_limits<std::uint64_t>::max())).find("found 18446744073709551615") != std::string::npos);
  CHECK(complaint(changed(llama(), "vocab_size", (std::int64_t{1} << 40) + 1)).find("1099511627777") != std::string::npos);
  CHECK(complaint(changed(llama(), "tie_word_embeddings", "yes")) == "headroom: config.tie_word_embeddings must be true or false, found \"yes\"");
  CHECK(complaint(changed(llama(), "attention_bias", 1)) == "headroom: config.attention_bias must be true or false, found 1");
  CHECK(complaint(changed(llama(), "hidden_act", "swoosh")).find("silu") != std::string::npos);
  CHECK(complaint(changed(llama(), "model_type", 7)) == "headroom: config.model_type must be a string, found 7");
  CHECK(complaint(json::array({1})) == "headroom: config must be an object, found [1]");
  CHECK(complaint(json{{"model_type", "gemma3"}, {"text_config", {{"hidden_size", -1}}}}).find("config.text_config.hidden_size") != std::string::npos);
  CHECK(complaint(json{{"model_type", "gemma3"}, {"vision_config", 3}}) == "headroom: config.vision_config must be an object, found 3");
  CHECK(complaint(json{{"model_type", "vit"}, {"image_size", 8}}).find("config.image_size") != std::string::npos);
  CHECK(complaint(changed(llama(), "hidden_act", std::string("\xff\xfe", 2))).rfind("headroom: ", 0) == 0);  // not UTF-8
}

TEST_CASE("sizes that each pass and together do not fit are an overflow, not a number") {
  auto config = llama();
  for (const char* key : {"hidden_size", "intermediate_size", "vocab_size"}) config[key] = std::int64_t{1} << 40;
  config["num_attention_heads"] = config["num_key_value_heads"] = 1 << 10;
  CHECK_THROWS_AS((void)headroom::count(model_from_config(config)), headroom::overflow_error);
}

TEST_CASE("contradictions are told in the config's words") {
  CHECK(complaint(changed(llama(), "num_attention_heads", 33)).find("multiple of the number of attention heads") != std::string::npos);
  CHECK(complaint(changed(llama(), "num_key_value_heads", 5)).find("key-value heads, found 32 and 5") != std::string::npos);
  json mixtral = {{"model_type", "mixtral"}, {"num_experts_per_tok", 9}};
  CHECK(complaint(mixtral).find("found 9 of 8") != std::string::npos);
  json qwen = {{"model_type", "qwen3_moe"}, {"num_hidden_layers", 200}, {"mlp_only_layers", {150}}};
  CHECK(complaint(qwen).find("layers from 0 to 127") != std::string::npos);
  qwen["mlp_only_layers"] = {-1};
  CHECK(complaint(qwen).find("config.mlp_only_layers[0]") != std::string::npos);
  qwen["num_hidden_layers"] = 4, qwen["mlp_only_layers"] = {0, 4};  // layers that are not there mean nothing to the class, the first of them included
  auto without = qwen;
  without["mlp_only_layers"] = {0};
  CHECK(model_from_config(qwen) == model_from_config(without));
}

TEST_CASE("unknown families are refused, never guessed") {
  CHECK(complaint(json{{"model_type", "perceptron9000"}}).find("\"perceptron9000\" is not a family known here") != std::string::npos);
  CHECK(complaint(json{{"model_type", "kimi_linear"}}).find("kimi-delta") != std::string::npos);
  CHECK(complaint(json::object()).find("model_type or architectures") != std::string::npos);
  CHECK(complaint(json{{"architectures", {"ZebraForCausalLM"}}}).find("\"Zebra\"") != std::string::npos);
  CHECK(complaint(json{{"model_type", "baichuan"}}) == "headroom: config.num_hidden_layers is missing; this family has no default for it");
}

TEST_CASE("what shapes the network is never passed over") {
  const auto with = [](const char* key, json value) { return complaint(changed(llama(), key, std::move(value))); };
  CHECK(with("num_local_experts", 8) ==
        "headroom: config.num_local_experts describes 8 experts, which model_type \"llama\" does not have here. Give the model as a shape object, "
        "or take the key away if the model is without it");
  CHECK(with("num_experts", 1) == "accepted");
  CHECK(with("vision_config", {{"hidden_size", 1792}}).find("config.vision_config describes a vision tower") != std::string::npos);
  CHECK(with("vision_config", json::object()) == "accepted");
  CHECK(with("mm_vision_tower", "openai/clip-vit-large-patch14-336").find("vision tower") != std::string::npos);
  CHECK(with("audio_config", {{"d_model", 1280}}).find("audio tower") != std::string::npos);
  CHECK(with("text_config", {{"hidden_size", 4096}}).find("language model of its own") != std::string::npos);
  CHECK(with("num_kv_shared_layers", 10).find("share keys and values") != std::string::npos);
  CHECK(with("num_kv_shared_layers", 0) == "accepted");
  CHECK(with("layer_types", {"full_attention", "sliding_attention"}) == "accepted");
  CHECK(with("layer_types", {"full_attention", "linear_attention"}).find("config.layer_types describes layers of the kind \"linear_attention\"") != std::string::npos);
  CHECK(with("layer_types", {7}).find("of the kind 7") != std::string::npos);
  CHECK(complaint(json{{"model_type", "gpt2"}, {"add_cross_attention", true}}).find("cross-attention") != std::string::npos);
  // Qwen-VL has Qwen's model_type, GLM-4V has ChatGLM's, LLaVA's own checkpoints have llava's.
  json qwen = {{"model_type", "qwen"}, {"hidden_size", 4096}, {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"intermediate_size", 22016},
               {"vocab_size", 151936}};
  CHECK(total(qwen) == 7'721'324'544);
  CHECK(complaint(changed(qwen, "visual", {{"width", 1664}})).find("config.visual") != std::string::npos);
  CHECK(complaint(json{{"model_type", "llava"}, {"hidden_size", 5120}, {"mm_vision_tower", "x"}}).find("config.text_config is missing") != std::string::npos);
  CHECK(complaint(json{{"model_type", "llava"}, {"text_config", {{"num_experts", 4}}}}).find("config.text_config.num_experts") != std::string::npos);
  // A class that is not the family's, and whose code comes with the checkpoint or that is no bare model of it.
  auto other = changed(llama(), "architectures", {"OpenMoeForCausalLM"});
  CHECK(complaint(other) == "accepted");  // transformers picks the class by model_type
  other["auto_map"] = {{"AutoModelForCausalLM", "modeling_openmoe.OpenMoeForCausalLM"}};
  CHECK(complaint(other).find("\"OpenMoeForCausalLM\", which is no class of model_type \"llama\"") != std::string::npos);
  CHECK(with("architectures", {"LlamaForRewardModel"}).find("LlamaForRewardModel") != std::string::npos);
  // llm-foundry's blocks under MPT's name.
  CHECK(complaint(json{{"model_type", "mpt"}, {"attn_config", {{"attn_type", "grouped_query_attention"}, {"kv_n_heads", 8}}}}).find("config.attn_config.attn_type") != std::string::npos);
  CHECK(complaint(json{{"model_type", "mpt"}, {"attn_config", {{"alibi", false}}}}).find("config.attn_config.alibi") != std::string::npos);
}

TEST_CASE("decoders taken out of an encoder-decoder are refused: they are other networks") {
  // transformers 5.16: BartForCausalLM() has 254,084,096 weights, WhisperForCausalLM() 29,552,256.
  CHECK(complaint(json{{"model_type", "bart"}, {"architectures", {"BartForCausalLM"}}}).find("architectures puts a head on BART that is not known") != std::string::npos);
  CHECK(complaint(json{{"model_type", "whisper"}, {"architectures", {"WhisperForCausalLM"}}}).find("architectures puts a head on Whisper that is not known") != std::string::npos);
}

TEST_CASE("a text model's class reads the text part of a model that sees") {
  // Qwen/Qwen3.5-4B: 4,205,751,296 in model.language_model.*, whose head is the embedding.
  const json text = {{"model_type", "qwen3_5_text"}, {"num_hidden_layers", 32}, {"hidden_size", 2560}, {"intermediate_size", 9216}, {"num_attention_heads", 16},
                     {"num_key_value_heads", 4}, {"head_dim", 256}, {"vocab_size", 248320}, {"tie_word_embeddings", true}};
  const json sight = {{"model_type", "qwen3_5_vision"}, {"depth", 24}, {"hidden_size", 1024}, {"num_heads", 16}, {"intermediate_size", 4096}, {"out_hidden_size", 2560}};
  json whole = {{"model_type", "qwen3_5"}, {"architectures", {"Qwen3_5ForConditionalGeneration"}}, {"tie_word_embeddings", true}, {"text_config", text}, {"vision_config", sight}};
  CHECK(total(whole) == 4'539'265'536);
  CHECK(model_from_config(whole).vision.layers == 24);
  whole["architectures"] = {"Qwen3_5ForCausalLM"};
  CHECK(total(whole) == 4'205'751'296);
  CHECK(model_from_config(whole).vision.kind == headroom::vision_kind::none);
  // Stripped of its tower, and with the text's keys at the top.
  whole.erase("vision_config");
  CHECK(total(whole) == 4'205'751'296);
  json flat = text;
  flat["model_type"] = "qwen3_5";
  flat["architectures"] = {"Qwen3_5ForCausalLM"};
  CHECK(total(flat) == 4'205'751'296);
  // The class's defaults (transformers 5.16).
  CHECK(total(json{{"model_type", "qwen3_5"}, {"architectures", {"Qwen3_5ForCausalLM"}}}) == 8'953'803'264);
  CHECK(total(json{{"model_type", "qwen3_5_moe"}, {"architectures", {"Qwen3_5MoeForCausalLM"}}}) == 34'660'610'688);
  // What the text part does not have is refused where it stands.
  json wrong = whole;
  wrong["text_config"]["num_hidden_layers"] = 0;
  CHECK(complaint(wrong).rfind("headroom: config.text_config.num_hidden_layers must be", 0) == 0);
}

TEST_CASE("Mistral 3 says at the top whether its tables are tied") {
  // transformers 5.16: Mistral3ForConditionalGeneration() has 23,340,272,640 weights; its head would be 671,088,640 more.
  json config = {{"model_type", "mistral3"}, {"architectures", {"Mistral3ForConditionalGeneration"}}};
  CHECK(total(config) == 23'340'272'640);
  config["tie_word_embeddings"] = false;
  CHECK(total(config) == 23'340'272'640 + 671'088'640);
  config["tie_word_embeddings"] = true;
  config["text_config"] = {{"model_type", "mistral"}, {"hidden_size", 5120}, {"num_hidden_layers", 40}, {"intermediate_size", 32768}, {"num_attention_heads", 32},
                           {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 131072}, {"tie_word_embeddings", false}};
  CHECK(total(config) == 23'340'272'640);
  CHECK(total(changed(config, "transformers_version", "4.57.1")) == 23'340'272'640 + 671'088'640);  // which reads the text's key
  config.erase("tie_word_embeddings");
  CHECK(total(changed(config, "transformers_version", "4.50.0.dev0")) == 23'340'272'640 + 671'088'640);
  CHECK(total(changed(config, "transformers_version", "5.2.0")) == 23'340'272'640);
  CHECK(complaint(config) == "headroom: config.transformers_version must be stated: transformers 4 makes 24011361280 parameters of this configuration, and transformers 5 23340272640, since they differ in "
                             "whether the head is the table of words (tie_word_embeddings)");
  config["text_config"].erase("tie_word_embeddings");  // Mistral's own default is a head of its own
  CHECK(complaint(config).starts_with("headroom: config.transformers_version must be stated"));
}

TEST_CASE("class defaults stand in for a whole config") {
  CHECK(total({{"model_type", "llama"}}) == 6'738'415'616);   // Llama-7B
  CHECK(total({{"model_type", "mistral"}}) == 7'241'732'096); // Mistral-7B
  CHECK(total({{"model_type", "mixtral"}}) == 46'702'792'704);
  CHECK(total({{"model_type", "gptj"}}) == 6'050'882'784);
  CHECK(total({{"model_type", "gpt_neox"}}) == 20'554'567'680);
  CHECK(total({{"model_type", "falcon"}}) == 6'921'720'704);  // Falcon-7B
  CHECK(total({{"model_type", "deepseek_v3"}}) == 671'026'404'352);
  CHECK(total({{"model_type", "gpt_oss"}}) == 116'829'156'672);
  CHECK(total({{"model_type", "whisper"}}) == 37'760'640);    // tiny
  CHECK(total({{"model_type", "t5"}}) == 60'506'624);         // small
  CHECK(total({{"model_type", "vit"}}) == 86'389'248);        // base, with pooler
}

}  // namespace test_huggingface
