// Distributed under the Boost Software License, Version 1.0.
// Configurations at which axolotl's release 0.18 ends before it loads a model: what its schema takes for no value, and what it refuses together
// (axolotl-ai-cloud/axolotl 067b021c, 2026-07: utils/schemas/{config,deprecated,training,validation,peft}.py). Held against that schema itself, run by pydantic
// over every example of the repository, those changed by hand included.
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

#include <cmath>

namespace headroom::io::detail {

class axolotl_schema {
 public:
  explicit axolotl_schema(const axolotl_arguments& a) : a_(&a) {}

  void check() const {
    removed();
    values();
    together();
    needed();
    saved();
    evaluated();
    named();
  }

  /// Once FSDP's version is known (check_multigpu_lora_kernels, check_fsdp_offload_w_8bit_optimizer, check_fsdp2_w_8bit_optimizer).
  void check_sharded() const {
    for (const auto* key : {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"})
      if (a_->fsdp && !a_->second_said && on(key)) ends(key, "axolotl refuses " + std::string{key} + " beside FSDP unless fsdp_version is 2, outside fsdp_config: take it out");
    const auto name = a_->v.word_now("optimizer");
    if (!a_->fsdp || name.find("8bit") == std::string::npos) return;
    if (a_->second && (name == "adamw_8bit" || name == "adamw_bnb_8bit")) ends("optimizer", "axolotl refuses " + name + " beside FSDP's second version: optimizer adamw_torch_8bit is taken");
    const auto config = said("fsdp_config");
    for (const auto* key : {"offload_params", "fsdp_offload_params"})
      if (!a_->second && config.is_object() && config.contains(key) && true_in_python(config[key])) ends("optimizer", "axolotl refuses " + name + " beside FSDP's first version with offload_params");
  }

 private:
  [[noreturn]] void ends(const char* key, const std::string& why) const { a_->refused(key, why); }
  /// Null where the file does not say it.
  [[nodiscard]] json_value said(const char* key) const { return a_->v.has(key) ? a_->v.all()[key] : json_value{}; }
  [[nodiscard]] bool on(const char* key) const { return true_in_python(said(key)); }
  static bool true_in_python(const json_value& v) {
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number()) return v.get<double>() != 0;
    return v.is_string() ? !v.get_ref<const std::string&>().empty() : !v.empty();
  }

  /// What there was once (DeprecatedParameters, check_deprecated_unsloth_fields, deprecate_sharegpt_datasets).
  void removed() const {
    for (const auto* key : {"max_packed_sequence_len", "rope_scaling", "s2_attention", "flash_attn_rms_norm", "unsloth_cross_entropy_loss", "unsloth_lora_mlp", "unsloth_lora_qkv", "unsloth_lora_o", "unsloth_rms_norm", "unsloth_rope"})
      if (on(key)) ends(key, "axolotl has " + std::string{key} + " no longer, and ends there (utils/schemas/deprecated.py): take it out");
    for (const auto* key : {"dpo_use_logits_to_keep", "dpo_generate_during_eval", "dpo_norm_loss", "rpo_alpha"})
      if (!said(key).is_null()) ends(key, "axolotl has " + std::string{key} + " no longer, and ends there (utils/schemas/deprecated.py): take it out");
    const auto data = said("datasets");
    if (!data.is_array()) return;
    for (const auto& one : data)
      if (one.is_object() && one.contains("type") && one["type"].is_string() && one["type"].get_ref<const std::string&>().starts_with("sharegpt"))
        ends("datasets", "axolotl has data of type sharegpt no longer, and ends there (utils/schemas/validation.py, deprecate_sharegpt_datasets): type chat_template reads them, with field_messages and message_property_mappings");
  }
  /// Keys that must have a value, and those that count.
  void values() const {
    for (const auto* key : {"output_dir", "sequence_len", "num_epochs", "learning_rate", "use_ray", "quantize_moe_experts"})
      if (a_->v.has(key) && said(key).is_null()) ends(key, std::string{key} + " is null, at which axolotl ends: give it a value, or take it out");
    for (const auto* key : {"eval_strategy", "evaluation_strategy", "save_strategy"})
      if (said(key).is_boolean()) ends(key, std::string{key} + " must be a word in axolotl, which ends at true and false, as YAML takes yes and no for: put it in quotes");
    for (const auto* key : {"warmup_steps", "max_steps", "evals_per_epoch", "saves_per_epoch", "logging_steps", "save_total_limit", "early_stopping_patience"})
      if (const auto v = said(key); v.is_number_float() && v.get<double>() != std::floor(v.get<double>()))
        ends(key, std::string{key} + " must be a whole number in axolotl, which ends at " + v.dump() + (std::string_view{key} == "warmup_steps" ? ": warmup_ratio takes a share" : ""));
  }
  /// Each of two is fine alone.
  void together() const {
    struct two {
      const char *key, *beside;
    };
    for (const auto& [key, beside] : {two{"warmup_ratio", "warmup_steps"}, two{"saves_per_epoch", "save_steps"}, two{"evals_per_epoch", "eval_steps"}, two{"batch_size", "gradient_accumulation_steps"}, two{"gpu_memory_limit", "max_memory"},
                                      two{"loraplus_lr_ratio", "lr_groups"}, two{"test_datasets", "val_set_size"}, two{"val_set_size", "pretraining_dataset"}, two{"val_set_size", "streaming"}, two{"fsdp", "deepspeed"},
                                      two{"neftune_noise_alpha", "noisy_embedding_alpha"}, two{"include_tokens_per_second", "pretraining_dataset"}, two{"dataset_exact_deduplication", "pretraining_dataset"},
                                      two{"dataset_exact_deduplication", "streaming"}, two{"dataset_exact_deduplication", "skip_prepare_dataset"}, two{"qat", "peft"}, two{"qat", "load_in_8bit"}, two{"qat", "load_in_4bit"},
                                      two{"lora_dropout", "lora_target_parameters"}, two{"lora_target_linear", "quantize_moe_experts"}, two{"lora_mlp_kernel", "trust_remote_code"}, two{"lora_qkv_kernel", "trust_remote_code"},
                                      two{"lora_o_kernel", "trust_remote_code"}})
      if (on(key) && on(beside)) ends(key, std::string{key} + " and " + beside + " end axolotl together: take one of them out");
    for (const auto* key : {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"})
      if (on(key) && on("load_in_8bit") && said("adapter") == "lora") ends(key, std::string{key} + " ends axolotl beside a base in eight bits: take it out");
  }
  /// Keys that ask for another.
  void needed() const {
    struct two {
      const char *key, *asks;
    };
    for (const auto& [key, asks] : {two{"pretraining_dataset", "max_steps"}, two{"streaming", "max_steps"}, two{"torch_compile_options", "torch_compile"}, two{"peft_layers_pattern", "peft_layers_to_transform"}, two{"quantize_moe_experts", "adapter"},
                                    two{"load_in_8bit", "adapter"}, two{"load_in_4bit", "adapter"}})
      if (on(key) && !on(asks)) ends(key, "axolotl ends at " + std::string{key} + " without " + asks + ": give it");
    if (on("streaming") && on("sample_packing") && said("datasets").is_array() && said("datasets").size() > 1) ends("streaming", "axolotl ends at streaming of several datasets beside sample_packing");
    if (on("quantize_moe_experts") && !on("load_in_4bit") && !on("load_in_8bit")) ends("quantize_moe_experts", "axolotl ends at quantize_moe_experts without load_in_4bit or load_in_8bit");
  }
  void saved() const {
    const auto when = said("save_strategy");
    if (when == "best" && !on("metric_for_best_model")) ends("save_strategy", "axolotl ends at save_strategy best without metric_for_best_model: give it");
    if (on("save_strategy") && on("save_steps") && when != "steps") ends("save_steps", "axolotl ends at save_steps beside save_strategy " + when.dump() + ": save_strategy must be steps");
    const auto save = said("save_steps"), look = said("eval_steps");
    if (!on("early_stopping_patience")) return;
    if (!on("save_steps") || !on("eval_steps")) ends("early_stopping_patience", "axolotl ends at early_stopping_patience without save_steps and eval_steps: give both, or take it out");
    if (save.is_number() && look.is_number() && std::fmod(save.get<double>(), look.get<double>()) != 0) ends("early_stopping_patience", "axolotl ends at early_stopping_patience where eval_steps does not divide save_steps");
  }
  void evaluated() const {
    const auto when = on("eval_strategy") || !said("eval_strategy").is_null() ? said("eval_strategy") : said("evaluation_strategy");
    const bool often = true_in_python(when);
    for (const auto* key : {"eval_steps", "evals_per_epoch"})
      if (often && on(key) && when != "steps") ends(key, "axolotl ends at " + std::string{key} + " beside eval_strategy " + when.dump() + ": eval_strategy must be steps");
    const auto share = said("val_set_size");
    if (share.is_number() && share.get<double>() == 0 && (on("eval_steps") || often) && !on("test_datasets") && when != "no") ends("val_set_size", "axolotl ends at val_set_size 0 where eval_steps or eval_strategy asks for an evaluation: take that out");
    const auto packs = said("eval_sample_packing");
    if (on("sample_packing") && on("eval_table_size") && packs != false) ends("eval_table_size", "axolotl ends at eval_table_size beside sample_packing where eval_sample_packing is not false");
  }
  /// Of models by their names, and of methods.
  void named() const {
    auto base = a_->v.word_now("base_model");
    for (auto& c : base) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto has = [&](const char* part) { return base.find(part) != std::string::npos; };
    if (has("falcon") && on("fsdp")) ends("fsdp", "axolotl refuses FSDP of Falcon");
    if (has("mpt") && on("gradient_checkpointing")) ends("gradient_checkpointing", "axolotl refuses gradient_checkpointing of MPT");
    if (has("nemotron-h") && on("gradient_checkpointing") && !on("sample_packing")) ends("gradient_checkpointing", "axolotl refuses gradient_checkpointing of Nemotron-H without sample_packing");
    if (on("tokenizer_use_mistral_common"))
      for (const auto* key : {"added_tokens_overrides", "special_tokens", "tokens", "chat_template", "processor_kwargs"})
        if (on(key)) ends(key, "axolotl refuses " + std::string{key} + " beside tokenizer_use_mistral_common: take one of them out");
    const auto kind = said("rl");
    if (kind == "kto" && said("remove_unused_columns") != false) ends("rl", "axolotl ends at rl kto unless remove_unused_columns is false");
    if (kind == "simpo" && on("warmup_ratio")) ends("warmup_ratio", "axolotl refuses warmup_ratio of simpo: warmup_steps is taken");
    // Its check asks the section ebft for .get, as if it were a dictionary; EBFTConfig has none (check_ebft_gradient_checkpointing_reentrant).
    if (kind == "ebft") ends("rl", "axolotl's release 0.18 ends at rl ebft before it loads a model: its own check of gradient checkpointing takes the section ebft for a dictionary (utils/schemas/validation.py)");
  }

  const axolotl_arguments* a_;
};

}  // namespace headroom::io::detail
