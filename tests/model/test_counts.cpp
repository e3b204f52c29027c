// Distributed under the Boost Software License, Version 1.0.
// Parameter counts against the real modules' totals, to the parameter.
#include <headroom/io/counted.hpp>
#include <headroom/io/huggingface.hpp>
#include <headroom/io/job/model.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "counted_rows.hpp"

namespace test_counts {

namespace {

using namespace counted_rows;

}  // namespace

TEST_CASE("every model of the collection counts exactly, or is refused by name") {
  int exact = 0;
  for (const auto& entry : data("models.json")) {
    const auto name = entry.at("name").get<std::string>();
    CAPTURE(name);
    if (entry.at("grade") != "exact") {  // MiniCPM-V-2, unverified: its tower comes from timm
      CHECK_THROWS_AS(headroom::io::model_from_config(config_of(entry)), headroom::job_error);
      continue;
    }
    const auto counted = headroom::count(headroom::io::model_from_config(config_of(entry)));
    CHECK(counted.total.count() == entry.at("params_total").get<std::int64_t>());
    if (entry.contains("params_active")) CHECK(counted.active.count() == entry["params_active"].get<std::int64_t>());
    if (const char* key = "params_trainable_if_frozen_excluded"; entry.contains(key)) CHECK(counted.trainable().count() == entry[key].get<std::int64_t>());
    ++exact;
  }
  CHECK(exact == 165);
}

TEST_CASE("model types of 2025 and 2026 count exactly, or are refused") {
  const auto seen = count_all("models_2026.json");
  CHECK(seen.exact == 449);
  CHECK(seen.refused == 16);  // detectors, OCR, codecs
}

TEST_CASE("a class that is counted and not walked answers for every key that it has") {
  json deberta = {{"architectures", {"DebertaForMaskedLM"}}, {"model_type", "deberta"}, {"vocab_size", 128}, {"hidden_size", 32}, {"num_hidden_layers", 4}, {"num_attention_heads", 1},
                  {"intermediate_size", 40}, {"type_vocab_size", 120}, {"relative_attention", false}, {"pos_att_type", {"c2p"}}};
  CHECK(headroom::io::count_config(deberta).total.count() == 53'440);  // of the class's own modules, see tests/data/README.md
  CHECK_THROWS_WITH_AS(headroom::io::model_from_config(deberta), doctest::Contains("`headroom count` may know its parameters"), headroom::job_error);
  deberta["pooler_dropout"] = 0.1;
  CHECK(headroom::io::count_config(deberta).total.count() == 53'440);
  deberta["depth_of_towers"] = 2;
  CHECK_THROWS_WITH_AS(headroom::io::count_config(deberta),
                       "headroom: config.depth_of_towers is not known for DebertaForMaskedLM, and may shape the network. Take it away if it does not, found 2", headroom::job_error);
  // A model that is walked is counted as it always was.
  const json llama = {{"model_type", "llama"}};
  CHECK(headroom::io::count_config(llama) == headroom::count(headroom::io::model_from_config(llama)));
}

TEST_CASE("which layers of a list are dense, and what the class does not read") {
  const json lite = {{"model_type", "glm4_moe_lite"}, {"num_hidden_layers", 4}};
  const auto with = [&](const char* key, json value) {
    auto config = lite;
    config[key] = std::move(value);
    return config;
  };
  const auto plain = headroom::io::model_from_config(lite);
  CHECK(plain.sparse_layers(0, 4) == 3);
  CHECK(headroom::io::model_from_config(with("mlp_layer_types", {"dense", "sparse", "sparse", "sparse"})) == plain);
  CHECK(headroom::io::model_from_config(with("first_k_dense_replace", 1)) == plain);
  const auto mixed = headroom::io::model_from_config(with("mlp_layer_types", {"sparse", "dense", "sparse", "dense"}));
  CHECK(mixed.sparse_layer(0));
  CHECK_FALSE(mixed.sparse_layer(1));
  CHECK(mixed.sparse_layers(0, 4) == 2);
  CHECK_THROWS_WITH_AS(headroom::io::model_from_config(with("first_k_dense_replace", 2)),
                       "headroom: config.first_k_dense_replace must be 1 without mlp_layer_types, as the class builds it, found 2", headroom::job_error);
  CHECK_THROWS_WITH_AS(headroom::io::model_from_config(with("mlp_layer_types", {"dense", "moe", "sparse", "sparse"})),
                       "headroom: config.mlp_layer_types must hold dense and sparse alone, found \"moe\"", headroom::job_error);
  CHECK_THROWS_WITH_AS(headroom::io::model_from_config(with("mlp_layer_types", {"dense"})),
                       doctest::Contains("config.mlp_layer_types must be a list of 4 words, one for each layer"), headroom::job_error);
  // Only MiniCPM3's class derives the width of a head's values.
  CHECK_THROWS_WITH_AS(headroom::io::model_from_config(with("v_head_dim", nullptr)), doctest::Contains("config.v_head_dim must be a whole number"), headroom::job_error);
  CHECK(headroom::io::model_from_config({{"model_type", "minicpm3"}, {"v_head_dim", nullptr}, {"hidden_size", 1280}}).mla.value_dim == 32);
}

// modeling_deepseek.py: a layer routes where it is not below first_k_dense_replace and its number is a multiple of moe_layer_freq.
TEST_CASE("DeepSeek's layers route at a frequency") {
  const json config = {{"model_type", "deepseek_v2"}, {"vocab_size", 102400}, {"num_hidden_layers", 7}, {"first_k_dense_replace", 1}, {"n_routed_experts", 8}, {"num_experts_per_tok", 2}, {"moe_layer_freq", 2}};
  const auto m = headroom::io::model_from_config(config);
  for (const auto layer : {0, 1, 3, 5}) CHECK_FALSE(m.sparse_layer(layer));
  for (const auto layer : {2, 4, 6}) CHECK(m.sparse_layer(layer));
  CHECK(m.sparse_layers(0, 7) == 3);
}

TEST_CASE("small random configurations count exactly") {
  int exact = 0;
  for (const auto& entry : data("model_fuzz_vectors.json")) {
    const auto name = entry.at("name").get<std::string>();
    CAPTURE(name);
    const auto counted = headroom::count(headroom::io::model_from_config(config_of(entry)));
    CHECK(counted.total.count() == entry.at("params_total").get<std::int64_t>());
    ++exact;
  }
  CHECK(exact == 112);
}

TEST_CASE("random configurations that were once counted wrongly count exactly, or are refused") {
  const auto seen = count_all("model_fuzz_found.json");
  CHECK(seen.exact == 39);  // four more have a key that their class does not know
  CHECK(seen.refused == 68);
}

TEST_CASE("checkpoints of other families have as many parameters as their pages say") {
  int exact = 0;
  for (const auto& entry : data("hub_totals.json")) {
    const auto name = entry.at("name").get<std::string>();
    CAPTURE(name);
    const auto counted = headroom::count(headroom::io::model_from_config(entry.at("config")));
    CHECK(counted.total.count() + entry.value("buffers", 0) == entry.at("hub_total").get<std::int64_t>());
    ++exact;
  }
  CHECK(exact == 77);
}

TEST_CASE("the zoo agrees with the collection") {
  int found = 0;
  for (const auto& entry : data("models.json")) {
    const auto name = entry.at("name").get<std::string>();
    if (name == "allenai/Olmo-3-32B") continue;  // the file has Qwen3-Next's configuration under this name
    const auto* model = headroom::models::find(name);
    if (model == nullptr) continue;
    CAPTURE(name);
    CHECK(headroom::count(*model).total.count() == entry.at("params_total").get<std::int64_t>());
    ++found;
  }
  CHECK(found >= 130);
  for (const auto& entry : data("hub_totals.json")) {
    const auto name = entry.at("name").get<std::string>();
    const auto* model = headroom::models::find(name);
    if (model == nullptr) continue;
    CAPTURE(name);
    CHECK(headroom::count(*model).total.count() + entry.value("buffers", 0) == entry.at("hub_total").get<std::int64_t>());
    ++found;
  }
  CHECK(found >= 170);
}

TEST_CASE("what some checkpoints carry and transformers does not build") {
  for (const auto& entry : data("models.json")) {
    if (!entry.contains("extra_correction_bias")) continue;
    const auto name = entry.at("name").get<std::string>();
    CAPTURE(name);
    auto model = headroom::io::model_from_config(config_of(entry));
    const auto plain = headroom::count(model).total;
    model.experts.router_bias = true;  // DeepSeek's e_score_correction_bias, one number for each expert
    const auto biased = headroom::count(model).total;
    CHECK((biased - plain).count() == entry["extra_correction_bias"].get<std::int64_t>());
    if (!entry.contains("extra_mtp_module_unique")) continue;
    model.mtp_layers = 1;
    CHECK((headroom::count(model).total - biased).count() == entry["extra_mtp_module_unique"].get<std::int64_t>());
  }
}

TEST_CASE("names of the zoo") {
  using headroom::models::find;
  std::set<std::string> labels;
  for (const auto& model : headroom::models::all()) {
    const std::string label{model.label.view()};
    CAPTURE(label);
    CHECK(labels.insert(label).second);
    CHECK(find(label) == &model);
    CHECK(headroom::count(model).total.count() > 0);
  }
  CHECK(labels.size() == headroom::models::all().size());
  CHECK(labels.size() >= 150);
  CHECK(find("meta-llama/Llama-3.1-8B") == &headroom::models::llama_3_1_8b);
  CHECK(find("LLAMA-3.1-8B-instruct") == &headroom::models::llama_3_1_8b);
  CHECK(find("Mistral-7B-v0.1") == &headroom::models::mistral_7b);
  CHECK(find("Qwen/Qwen2.5-7B-Instruct") == &headroom::models::qwen2_5_7b);
  CHECK(find("google/gemma-2-9b-it") == &headroom::models::gemma_2_9b);
  CHECK(find("codellama/CodeLlama-13b-Instruct-hf") == &headroom::models::codellama_13b);
  CHECK(find("mistralai/Mixtral-8x22B-Instruct-v0.1") == &headroom::models::mixtral_8x22b_instruct);  // another vocabulary
  CHECK(find("codellama/CodeLlama-7b-Python-hf") == nullptr);                                         // likewise, and not in the zoo
  CHECK(find("lmsys/vicuna-13b-v1.5") == &headroom::models::llama_2_13b);
  CHECK(find("HuggingFaceH4/zephyr-7b-beta") == &headroom::models::mistral_7b);
  CHECK(find("HuggingFaceTB/SmolLM-1.7B-Instruct") == &headroom::models::smollm2_1_7b);
  CHECK(find("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B") == &headroom::models::qwen3_8b);
  for (const auto& d : headroom::models::descendants) {
    CAPTURE(d.name);
    CHECK(find(d.name) != nullptr);
    CHECK(find(d.name) == find(d.of));
  }
  for (const auto* quantised : {"Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "unsloth/llama-3.1-8b-bnb-4bit", "TheBloke/Llama-2-7B-GPTQ", "zephyr-7b-beta-awq"}) {
    CAPTURE(quantised);
    CHECK(find(quantised) == nullptr);
    CHECK_THROWS_WITH_AS((void)headroom::io::read_model_named(quantised, "model", headroom::io::no_files), doctest::Contains("names a checkpoint of quantised weights: give \""), headroom::job_error);
  }
  CHECK_THROWS_WITH_AS((void)headroom::io::read_model_named("me/mine-AWQ", "model", headroom::io::no_files), doctest::Contains("the model that was quantised"), headroom::job_error);
  CHECK(find("-instruct") == nullptr);
  CHECK(find("") == nullptr);
  CHECK(find("meta-llama/") == nullptr);
  CHECK(find("llama-3.1-8") == nullptr);
}

}  // namespace test_counts
