// Distributed under the Boost Software License, Version 1.0.
// Families whose layers are walked, exact to the parameter or refused: none is guessed. The formulas' oracle is transformers 4.56 with every
// module instantiated without storage; tests/model/test_counts.cpp holds the totals.
#pragma once

#include <headroom/io/huggingface/internvl.hpp>
#include <headroom/io/huggingface/minicpmv.hpp>
#include <headroom/io/huggingface/other_networks.hpp>
#include <headroom/io/huggingface/relatives.hpp>
#include <headroom/io/huggingface/seeing.hpp>
#include <headroom/io/huggingface/t5gemma.hpp>
#include <headroom/io/huggingface/text_encoders.hpp>
#include <headroom/io/huggingface/unread.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <headroom/model/check.hpp>

namespace headroom::io::detail {

struct family_name {
  const char* prefix;  ///< of the class names in `architectures`
  const char* type;    ///< model_type
};

inline constexpr family_name family_names[] = {
    {"Llama", "llama"},           {"Mistral", "mistral"},       {"Mixtral", "mixtral"},       {"Qwen2", "qwen2"},
    {"Qwen2Moe", "qwen2_moe"},    {"Qwen3", "qwen3"},           {"Qwen3Moe", "qwen3_moe"},    {"QWen", "qwen"},
    {"Gemma", "gemma"},           {"Gemma2", "gemma2"},         {"Gemma3", "gemma3"},         {"Gemma3Text", "gemma3_text"},
    {"Phi", "phi"},               {"Phi3", "phi3"},             {"Phimoe", "phimoe"},         {"PhiMoE", "phimoe"},
    {"Olmo", "olmo"},             {"Olmo2", "olmo2"},           {"Olmo3", "olmo3"},           {"Olmoe", "olmoe"},
    {"OlmoE", "olmoe"},           {"StableLm", "stablelm"},     {"StableLmEpoch", "stablelm"}, {"Starcoder2", "starcoder2"},
    {"Cohere", "cohere"},         {"Cohere2", "cohere2"},       {"Glm", "glm"},               {"Glm4", "glm4"},
    {"Glm4Moe", "glm4_moe"},      {"GptOss", "gpt_oss"},        {"Nemotron", "nemotron"},     {"Granite", "granite"},
    {"GraniteMoe", "granitemoe"}, {"SmolLM3", "smollm3"},       {"InternLM2", "internlm2"},   {"Baichuan", "baichuan"},
    {"MiniCPM", "minicpm"},       {"Deepseek", "deepseek"},     {"DeepseekV2", "deepseek_v2"}, {"DeepseekV3", "deepseek_v3"},
    {"MiniMaxM2", "minimax_m2"},  {"Dbrx", "dbrx"},             {"Llama4", "llama4"},         {"Llama4Text", "llama4_text"},
    {"GPT2", "gpt2"},             {"GPTBigCode", "gpt_bigcode"}, {"GPTJ", "gptj"},            {"CodeGen", "codegen"},
    {"GPTNeo", "gpt_neo"},        {"GPTNeoX", "gpt_neox"},      {"OPT", "opt"},               {"Bloom", "bloom"},
    {"Falcon", "falcon"},         {"RW", "falcon"},             {"Mpt", "mpt"},               {"MPT", "mpt"},
    {"ChatGLM", "chatglm"},       {"Bert", "bert"},             {"BertLMHeadModel", "bert"},  {"Roberta", "roberta"},
    {"XLMRoberta", "xlm-roberta"}, {"DistilBert", "distilbert"}, {"T5", "t5"},                {"T5Encoder", "t5"},
    {"MT5", "mt5"},               {"MT5Encoder", "mt5"},        {"UMT5", "umt5"},             {"UMT5Encoder", "umt5"},       {"T5Gemma", "t5gemma"},        {"Whisper", "whisper"},       {"Bart", "bart"},
    {"MBart", "mbart"},           {"ViT", "vit"},               {"CLIP", "clip"},             {"Siglip", "siglip"},
    {"Llava", "llava"},           {"Qwen2VL", "qwen2_vl"},      {"Qwen2_5_VL", "qwen2_5_vl"}, {"Qwen3VL", "qwen3_vl"},
    {"Qwen3VLMoe", "qwen3_vl_moe"}, {"MiniCPMV", "minicpmv"},     {"Yi", "llama"},              {"LLaMA", "llama"},
    {"BaiChuan", "baichuan"},     {"InternLM", "internlm"},     {"InternLM3", "internlm3"},   {"Exaone", "exaone"},
    {"Exaone4", "exaone4"},       {"SeedOss", "seed_oss"},      {"Ernie4_5", "ernie4_5"},     {"Ernie4_5_", "ernie4_5"},
    {"Ernie4_5Moe", "ernie4_5_moe"}, {"Ernie4_5_Moe", "ernie4_5_moe"}, {"Ernie4_5_MoE", "ernie4_5_moe"}, {"Dots1", "dots1"},
    {"HunYuanDenseV1", "hunyuan_v1_dense"}, {"HunYuanMoEV1", "hunyuan_v1_moe"}, {"Arcee", "arcee"}, {"Helium", "helium"},
    {"GraniteMoeShared", "granitemoeshared"}, {"PaliGemma", "paligemma"}, {"Mistral3", "mistral3"}, {"LightOnOcr", "lighton_ocr"}, {"LlavaNext", "llava_next"},
    {"Qwen3Next", "qwen3_next"},  {"Qwen3_5", "qwen3_5"},       {"Qwen3_5Moe", "qwen3_5_moe"},
    {"Gemma3n", "gemma3n"},       {"Gemma3nText", "gemma3n_text"}, {"MiMoV2Flash", "mimo_v2_flash"}, {"RecurrentGemma", "recurrent_gemma"},
    {"Gemma4Unified", "gemma4_unified"}, {"Gemma4UnifiedText", "gemma4_unified_text"},
    {"Gemma4", "gemma4"},         {"Gemma4Text", "gemma4_text"}, {"OlmoHybrid", "olmo_hybrid"}, {"FalconH1", "falcon_h1"},
    {"Mamba", "mamba"},           {"FalconMamba", "falcon_mamba"}, {"Jamba", "jamba"},
    {"Mamba2", "mamba2"},         {"Bamba", "bamba"},           {"GraniteMoeHybrid", "granitemoehybrid"}, {"NemotronH", "nemotron_h"},
    {"Lfm2", "lfm2"},             {"Lfm2Moe", "lfm2_moe"},
    {"Cwm", "cwm"},               {"Ministral3", "ministral3"}, {"Jais2", "jais2"},         {"VaultGemma", "vaultgemma"},
    {"GraniteSWA", "granite_swa"}, {"GraniteMoeSWA", "granitemoe_swa"}, {"FlexOlmo", "flex_olmo"}, {"ExaoneMoe", "exaone_moe"},
    {"SolarOpen", "solar_open"},  {"HYV3", "hy_v3"},            {"Mistral4", "mistral4"},     {"Glm4MoeLite", "glm4_moe_lite"},
    {"Youtu", "youtu"},           {"MiniCPM3", "minicpm3"},     {"MiMo", "mimo"},             {"BailingMoeV2", "bailing_moe"},
    {"Qwen2VLText", "qwen2_vl_text"}, {"Qwen2_5_VLText", "qwen2_vl_text"}, {"Qwen3VLText", "qwen3_vl_text"}, {"Qwen3VLMoeText", "qwen3_vl_moe_text"},
    {"Qwen3_5Text", "qwen3_5_text"}, {"Qwen3_5MoeText", "qwen3_5_moe_text"}, {"Camembert", "camembert"},   {"XGLM", "xglm"},             {"BioGpt", "biogpt"},         {"Ministral", "ministral"},
    {"DeepseekV32", "deepseek_v32"}, {"GlmMoeDsa", "glm_moe_dsa"},
    {"Albert", "albert"},         {"Electra", "electra"},       {"NomicBert", "nomic_bert"},  {"EuroBert", "eurobert"},     {"ModernBert", "modernbert"},
    {"M2M100", "m2m_100"},        {"DebertaV2", "deberta-v2"}, {"MPNet", "mpnet"},           {"JinaEmbeddingsV3", "jina_embeddings_v3"}, {"Pegasus", "pegasus"},
    {"Marian", "marian"},              {"Apertus", "apertus"},       {"BitNet", "bitnet"},         {"NanoChat", "nanochat"},
    {"MiniMax", "minimax"},       {"Afmoe", "afmoe"},         {"Esm", "esm"},
    {"Mellum", "mellum"},         {"HyperCLOVAX", "hyperclovax"}, {"InternVLChat", "internvl_chat"}, {"InternVL", "internvl"},
    {"Glm4v", "glm4v"},           {"Glm4vMoe", "glm4v_moe"},    {"Glm46V", "glmga"}, {"Glm46V", "glm46v"},         {"LlavaOnevision", "llava_onevision"},
    {"GlmOcr", "glm_ocr"},        {"GlmOcrText", "glm_ocr_text"}, {"Glm4vText", "glm4v_text"},  {"Glm4vMoeText", "glm4v_moe_text"},
    {"Idefics3", "idefics3"},     {"SmolVLM", "smolvlm"},       {"Voxtral", "voxtral"},       {"Qwen2Audio", "qwen2_audio"}, {"KimiK25", "kimi_k25"},       {"Kimi_K25", "kimi_k25"},
    {"Qwen2_5OmniThinker", "qwen2_5_omni_thinker"}, {"Qwen3OmniMoeThinker", "qwen3_omni_moe_thinker"}, {"Qwen2_5Omni", "qwen2_5_omni"}, {"Qwen3OmniMoe", "qwen3_omni_moe"},
    {"Data2VecText", "data2vec-text"}, {"Ernie", "ernie"},        {"MegatronBert", "megatron-bert"}, {"XLMRobertaXL", "xlm-roberta-xl"},
    {"RobertaPreLayerNorm", "roberta-prelayernorm"}, {"PLBart", "plbart"}, {"Mvp", "mvp"},      {"Blenderbot", "blenderbot"},
    {"BlenderbotSmall", "blenderbot-small"}, {"RemBert", "rembert"}, {"New", "new"},
};

/// Other spellings of model_type that checkpoints carry.
inline constexpr family_name type_aliases[] = {
    {"Yi", "llama"}, {"RefinedWeb", "falcon"}, {"RefinedWebModel", "falcon"}, {"kimi_k2", "deepseek_v3"}, {"stablelm_epoch", "stablelm"},
    {"qwen2_5_vl_text", "qwen2_vl_text"}, {"camembert", "roberta"}, {"gpt-sw3", "gpt2"}, {"glmga", "glm46v"},
};

/// Families that see, whose text model is a class of its own, ...ForCausalLM (transformers' Gemma3ForCausalLM reads a Gemma3TextConfig).
inline constexpr const char* text_classes[] = {"gemma3", "gemma4", "llama4", "qwen3_5", "qwen3_5_moe"};

/// … and whose towers are there even where the file says nothing of them.
inline constexpr const char* towered_classes[] = {"gemma3n", "gemma4_unified"};

inline std::string family_of(const config& c, const architecture& a) {
  std::string type = c.text({"model_type"}, "");
  if (type.empty()) {
    for (const auto& f : family_names)
      if (a.family == f.prefix) type = f.type;
    if (type.empty() && a.family.empty()) refuse_other_file(c);
    if (type.empty() && a.family.empty()) complain(c.path() + " must have a model_type or architectures; without one its family is unknown");
    if (type.empty()) type = a.family;
  }
  for (const auto& alias : type_aliases)
    if (type == alias.prefix) type = alias.type;
  for (const char* seeing : towered_classes)
    if (type == seeing && a.head == task::language) return type + "_text";
  const bool bare = !c.has("text_config") && !c.has("vision_config") && c.has("hidden_size");
  for (const char* seeing : text_classes)
    if (type == seeing && (a.head == task::language || (a.head == task::conditional && bare && !type.starts_with("qwen")))) return type + "_text";
  return type;
}

/// The part of a configuration that describes a model of `type`: its text_config where the class is that of the text model alone.
inline config part_of(const config& c, const std::string& type) {
  for (const char* seeing : text_classes)
    if (type == std::string{seeing} + "_text" && c.has("text_config")) return c.child("text_config");
  for (const char* seeing : towered_classes)
    if (type == std::string{seeing} + "_text" && c.has("text_config")) return c.child("text_config");
  return c;
}

/// Whether a class of that prefix is one of the family's.
inline bool belongs(const std::string& prefix, const std::string& type) {
  for (const auto& f : family_names)
    if (prefix == f.prefix && (type == f.type || type == std::string{f.type} + "_text")) return true;
  return false;
}

/// A class that the family does not have is another network, if its code comes beside the checkpoint or it is a bare model of an unknown name.
inline void check_class(const config& c, const architecture& a, const std::string& type) {
  if (a.family.empty() || belongs(a.family, type)) return;
  for (const auto& f : refused_families)
    if (type == f.type) return;
  bool known = false;
  for (const auto& f : family_names) known = known || a.family == f.prefix;
  if ((!known && a.head == task::base) || c.has("auto_map"))
    complain(c.at("architectures") + " names " + shown(c.find({"architectures"})->front()) + ", which is no class of model_type " + quoted_word(type) +
             "; give the model as a shape object, or the class that the weights belong to");
}

[[noreturn]] inline void refuse_family(const config& c, const std::string& type) {
  for (const auto& f : refused_families)
    if (type == f.type)
      complain(c.at("model_type") + " " + quoted_word(type) + " is refused: no exact formula for " + f.reason +
               " is known here. Give the model as a shape object, or use a family that is known, e.g. llama, qwen3_moe, deepseek_v3. "
               "`headroom count` may know its parameters all the same");
  complain(c.at("model_type") + " " + quoted_word(type) +
           " is not a family known here. Accepted are the families named in headroom/io/huggingface.hpp, among them llama, mistral, mixtral, "
           "qwen2, qwen3, gemma2, gemma3, phi3, gpt2, gpt_neox, opt, bloom, falcon, deepseek_v3, gpt_oss, bert, t5, whisper, vit, llava; "
           "anything else can be given as a shape object. `headroom count` may know its parameters all the same");
}

/// Contradictions, told in the config's own words.
inline void check_read(const config& c, const shape& m) {
  if (!m.latent() && m.head_dim == 0 && m.hidden % m.heads != 0)
    complain(c.path() + ": the hidden size must be a multiple of the number of attention heads where head_dim is absent, found " +
             std::to_string(m.hidden) + " and " + std::to_string(m.heads));
  if (m.heads % m.kv() != 0)
    complain(c.path() + ": the number of attention heads must be a multiple of the number of key-value heads, found " +
             std::to_string(m.heads) + " and " + std::to_string(m.kv()));
  if (m.sparse() && m.experts.active > m.experts.count)
    complain(c.path() + ": a token cannot visit more experts than there are, found " + std::to_string(m.experts.active) + " of " +
             std::to_string(m.experts.count));
  if (m.experts.first_dense_layers > m.layers)
    complain(c.path() + ": there are fewer layers than leading dense ones, found " + std::to_string(m.layers) + " and " +
             std::to_string(m.experts.first_dense_layers));
  check(m);
}

inline shape read_family(const config& c, const architecture& a, const std::string& type) {
  shape m;
  if (type == "bert" || type == "roberta" || type == "xlm-roberta") return read_bert(c, a.head);
  if (read_text_encoder(c, type, a.head, m) || read_relative(c, type, a.head, m)) return m;
  if (type == "distilbert") return read_distilbert(c, a.head);
  if (type == "t5" || type == "mt5" || type == "umt5") return read_t5(c, a.head, a.family.ends_with("T5Encoder"), type);
  if (type == "t5gemma") return read_t5gemma(c, a.head);
  if (type == "whisper") return read_whisper(c, a.head);
  if (type == "bart" || type == "mbart") return read_bart(c, a.head, type == "mbart");
  if (type == "vit") return read_vit(c, a.head);
  if (type == "clip" || type == "siglip") return read_contrastive(c, a.head, type == "siglip");
  if (type == "minicpmv") return read_minicpmv(c);
  if (type == "internvl_chat") return read_internvl_chat(c);
  if (type == "internvl") {
    m = read_internvl(c);
    if (a.head == task::base)
      set_decoder_head(c, m, a.head);
    else if (a.head != task::conditional && a.head != task::unstated)
      complain(c.at("architectures") + " puts a head on InternVL that is not known; accepted are InternVLForConditionalGeneration, InternVLModel");
    return m;
  }
  if (read_seeing(c, type, a.head, m)) return m;
  if (!read_decoder(c, type, m)) refuse_family(c, type);
  read_weight_sums(c, type, m);
  if (type != "chatglm") set_decoder_head(c, m, a.head);
  if (type == "gptj" && a.head == task::question) m.classes = labels_of(c);  // GPTJForQuestionAnswering
  return m;
}

/// The shape of a configuration whose layers are walked. Throws job_error.
inline shape walked_config(const json& object, const std::string& path) {
  key_log asked;
  const config whole{object, path, &asked};
  const auto architecture = architecture_of(whole);
  const auto type = family_of(whole, architecture);
  check_class(whole, architecture, type);
  const auto c = part_of(whole, type);
  shape m = read_family(c, architecture, type);
  check_foreign(c, m, type);
  check_asked(c.object(), c.path(), asked, {"model_type " + quoted_word(type), type});
  if (!m.sparse()) m.experts = {};
  if (m.experts.every > m.layers && m.sparse() && m.experts.every > 1) m.experts.every = m.layers + 1;
  check_read(c, m);
  check_kinds(object, path);
  const auto origin = whole.text({"_name_or_path"}, "");
  m.label = name_from(std::string_view{origin}.substr(origin.find_last_of('/') + 1));
  return m;
}

}  // namespace headroom::io::detail
