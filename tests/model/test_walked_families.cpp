// Distributed under the Boost Software License, Version 1.0.
// Families that are walked since they were only counted: the reader of shapes against the classes' totals, and against the count that lists modules.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "counted_rows.hpp"

namespace test_walked_families {

using nlohmann::json;

TEST_CASE("a shape has the parameters that the class has") {
  // Of each family, the rows that are read as a shape, and those that are refused there and counted alone.
  struct rows {
    int walked{}, counted{};
    bool operator==(const rows&) const = default;
  };
  const std::map<std::string, rows> expected = {
      {"deberta-v2", {3, 4}}, {"jina_embeddings_v3", {3, 1}}, {"marian", {2, 1}}, {"mpnet", {6, 0}}, {"pegasus", {0, 4}}, {"apertus", {9, 0}}, {"bitnet", {8, 0}},     {"electra", {7, 1}}, {"albert", {1, 5}},  {"eurobert", {3, 1}},
      {"m2m_100", {2, 2}}, {"modernbert", {4, 1}}, {"nanochat", {5, 0}}, {"nomic_bert", {3, 1}},
      {"umt5", {2, 1}}, {"t5gemma", {0, 4}}, {"gemma4", {4, 4}}, {"ernie", {3, 3}}, {"megatron-bert", {5, 2}}, {"xlm-roberta-xl", {2, 2}}, {"roberta-prelayernorm", {2, 3}}, {"data2vec-text", {2, 2}},
      {"rembert", {4, 3}}, {"plbart", {2, 3}}, {"mvp", {1, 4}}, {"blenderbot", {1, 3}}, {"blenderbot-small", {2, 1}},
  };
  std::map<std::string, rows> seen;
  for (const char* file : {"counted_encoders.json", "counted_languages.json", "models_2026.json", "model_fuzz_found.json"})
    for (const auto& entry : counted_rows::data(file)) {
      const auto config = counted_rows::config_of(entry);
      const auto type = config.value("model_type", std::string{});
      if (!expected.contains(type)) continue;
      CAPTURE(config.dump());
      const auto total = entry.at("params_total").get<std::int64_t>();
      std::int64_t walked = 0;
      try {
        walked = headroom::count(headroom::io::model_from_config(config)).total.count();
      } catch (const headroom::job_error&) {
        ++seen[type].counted;
        continue;
      }
      ++seen[type].walked;
      CHECK(walked == total);
      CHECK(headroom::io::count_config(config).total.count() == total);
    }
  for (const auto& [name, of] : expected) {
    const auto& type = name;
    CAPTURE(type);
    CHECK(seen[type].walked == of.walked);
    CHECK(seen[type].counted == of.counted);
  }
}

TEST_CASE("what a walk does not read, the count that lists modules does") {
  // Found by changing leaves of the data's configurations at random: both readers knew them, and said different totals.
  json sight = {{"architectures", {"Mistral3Model"}}, {"model_type", "mistral3"}, {"text_config", {{"hidden_size", 32}, {"intermediate_size", 48}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"num_key_value_heads", 1}, {"head_dim", 16}, {"vocab_size", 64}}},
                {"vision_config", {{"model_type", "siglip_vision_model"}, {"hidden_size", 32}, {"intermediate_size", 48}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"image_size", 32}, {"patch_size", 8}, {"vision_use_head", false}}}};
  CHECK_THROWS_WITH_AS((void)headroom::io::model_from_config(sight), doctest::Contains("vision_config.model_type must be pixtral, found"), headroom::job_error);
  // By hand: SigLIP's patches with a bias, 16 places, a layer of biased matrices with two norms, a norm; the merger and its two matrices; Mistral's table, layer and norm.
  constexpr long long eye = 3 * 64 * 32 + 32 + 16 * 32 + 4 * (32 * 32 + 32) + 2 * 32 * 48 + 48 + 32 + 4 * 32 + 2 * 32, joint = 32 + 4 * 32 * 32 + 2 * 32 * 32;
  constexpr long long text = 64 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 3 * 32;
  CHECK(headroom::io::count_config(sight).total.count() == eye + joint + text);
  const json umt5 = {{"architectures", {"UMT5ForConditionalGeneration"}}, {"model_type", "umt5"}, {"d_model", 16}, {"d_ff", 64}, {"d_kv", 4}, {"num_heads", 4}, {"num_layers", 1}, {"vocab_size", 150}, {"is_gated_act", nullptr}};
  CHECK_THROWS_WITH_AS((void)headroom::io::model_from_config(umt5), doctest::Contains("is_gated_act must be true, as feed_forward_proj says"), headroom::job_error);
}

// Totals of the checkpoints' files: written down from their pages, from memory. The configurations are those pages' too.
TEST_CASE("published models") {
  const auto total = [](const json& config) { return headroom::count(headroom::io::model_from_config(config)).total.count(); };
  // nomic-ai/nomic-embed-text-v1.5, whose code beside the checkpoint has GPT-2's names of the sizes
  CHECK(total({{"architectures", {"NomicBertModel"}}, {"model_type", "nomic_bert"}, {"n_embd", 768}, {"n_head", 12}, {"n_inner", 3072}, {"n_layer", 12}, {"n_positions", 2048}, {"vocab_size", 30528},
               {"type_vocab_size", 2}, {"activation_function", "swiglu"}, {"rotary_emb_fraction", 1.0}, {"prenorm", false}, {"qkv_proj_bias", false}, {"auto_map", {{"AutoModel", "modeling.NomicBertModel"}}}}) == 136'731'648);
  // Alibaba-NLP/gte-base-en-v1.5: tables of words, a norm; in each layer four biased matrices, three of the MLP of which the last has a bias, two norms
  const json gte = {{"architectures", {"NewModel"}}, {"model_type", "new"}, {"hidden_size", 768}, {"num_hidden_layers", 12}, {"num_attention_heads", 12}, {"intermediate_size", 3072}, {"vocab_size", 30528},
                    {"type_vocab_size", 0}, {"layer_norm_type", "layer_norm"}, {"position_embedding_type", "rope"}, {"pack_qkv", true}, {"auto_map", {{"AutoModel", "modeling.NewModel"}}}};
  constexpr long long h = 768, layer = 4 * (h * h + h) + 3 * h * 3072 + h + 4 * h;
  CHECK(total(gte) == 30528 * h + 2 * h + 12 * layer);
  CHECK(total(gte) == 136'776'192);
  auto words = gte;
  words["architectures"] = {"NewForMaskedLM"};
  CHECK_THROWS_WITH_AS((void)total(words), doctest::Contains("puts a head on GTE that is not known"), headroom::job_error);
  // microsoft/deberta-v3-base, without the head that its file has
  CHECK(total({{"architectures", {"DebertaV2Model"}}, {"model_type", "deberta-v2"}, {"hidden_size", 768}, {"num_hidden_layers", 12}, {"num_attention_heads", 12}, {"intermediate_size", 3072},
               {"vocab_size", 128100}, {"relative_attention", true}, {"position_buckets", 256}, {"norm_rel_ebd", "layer_norm"}, {"share_att_key", true}, {"pos_att_type", "p2c|c2p"},
               {"max_relative_positions", -1}, {"position_biased_input", false}, {"type_vocab_size", 0}, {"max_position_embeddings", 512}}) == 183'831'552);
  // sentence-transformers/all-mpnet-base-v2: its file holds 514 numbers of positions more
  CHECK(total({{"architectures", {"MPNetModel"}}, {"model_type", "mpnet"}, {"vocab_size", 30527}, {"max_position_embeddings", 514}}) == 109'486'464);
  // google/pegasus-large: what trains of it; the sines of both sides' positions do not
  const auto pegasus = headroom::count(headroom::io::model_from_config({{"architectures", {"PegasusForConditionalGeneration"}}, {"model_type", "pegasus"}, {"vocab_size", 96103}, {"encoder_layers", 16},
                                                                        {"decoder_layers", 16}, {"activation_function", "relu"}}));
  CHECK(pegasus.trainable().count() == 568'699'904);
  CHECK(pegasus.frozen.count() == 2 * 1024 * 1024);
  // facebook/nllb-200-distilled-600M
  CHECK(total({{"architectures", {"M2M100ForConditionalGeneration"}}, {"model_type", "m2m_100"}, {"vocab_size", 256206}}) == 615'073'792);
  // answerdotai/ModernBERT-base: its file has 149,655,232
  CHECK(total({{"architectures", {"ModernBertForMaskedLM"}}, {"model_type", "modernbert"}, {"classifier_pooling", "mean"}, {"global_attn_every_n_layers", 3}, {"local_attention", 128}}) == 149'655'232);
}

}  // namespace test_walked_families
