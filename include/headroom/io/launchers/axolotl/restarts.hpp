// Distributed under the Boost Software License, Version 1.0.
// Keys of axolotl's with which its release 0.18 ends before a step, and what it does between steps (axolotl-ai-cloud/axolotl 067b021c, 2026-07:
// utils/schemas/{deprecated,config,validation}.py, monkeypatch/{relora,llama_attn_hijack_flash}.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

/// Words for the tokenizer: embedding and head get a row for each that it did not have (loaders/model.py, _resize_token_embeddings).
inline void read_axolotl_words(axolotl_arguments& a, const json_value& words) {
  if (!words.is_array()) wrong_value("tokens", "a list of words", words);
  for (const auto& word : words)
    if (!word.is_string()) a.refused("tokens", "tokens must be a list of words in axolotl, which ends at anything else (utils/schemas/config.py); found " + word.dump());
  if (a.adapter && !a.v.has("lora_modules_to_save")) a.refused("tokens", "axolotl ends where an adapter trains and tokens are new: lora_modules_to_save must have the embedding and the head (loaders/utils.py, check_model_config)");
  if (words.size() > 1024) a.unmodelled("tokens");
  const auto one = "tokens adds up to " + std::to_string(words.size()) + " rows to the embedding and the head, which are not counted";
  a.d->notes.push_back(a.v.place("tokens") + ": " + one);
  a.d->assumed.push_back(one);
}

/// One kernel for an MLP was xformers' swiglu_packedw, which went with its 0.0.34 (2026-01). Wheels before it are for torch 2.9 at most, and axolotl asks for
/// 2.11 (pyproject.toml): it goes on without (monkeypatch/llama_attn_hijack_flash.py, is_xformers_swiglu_available). Beside adapters and ReLoRA it ends
/// (utils/schemas/validation.py, check_fused_lora and check_relora).
inline void read_axolotl_fused_mlp(axolotl_arguments& a) {
  if (!a.v.on("flash_attn_fuse_mlp")) return;
  if (a.adapter) a.refused("flash_attn_fuse_mlp", "axolotl ends at flash_attn_fuse_mlp beside an adapter: take it out");
  a.d->notes.push_back(a.v.place("flash_attn_fuse_mlp") + ": xformers has no fused kernel for an MLP since 0.0.34, and axolotl goes on without it");
}

inline void read_axolotl_ends(axolotl_arguments& a) {
  read_axolotl_fused_mlp(a);
  if (const auto* said = a.v.take("tokens"); said != nullptr && said->is_object())
    a.refused("tokens", "tokens must be a list of words in axolotl, which ends at anything else (utils/schemas/config.py): what a tokenizer has by name is under special_tokens");
  else if (said != nullptr && !said->empty())
    read_axolotl_words(a, *said);
}

/// ReLoRA adds its adapters to the weights every so many steps, one matrix after another, from the checkpoint's files, and begins new ones; the step in
/// between is LoRA's (ReLoRACallback.on_step_begin, merge_and_save).
inline void read_axolotl_restarts(axolotl_arguments& a) {
  const bool on = a.v.on("relora"), elsewhere = a.v.on("relora_cpu_offload");
  if (!on) return;
  if (!a.given("jagged_restart_steps")) a.refused("relora", "axolotl ends without jagged_restart_steps beside relora");
  if (a.fsdp || a.engine) a.refused("relora", "axolotl refuses relora beside FSDP and DeepSpeed");
  if (!a.adapter) return a.unmodelled("relora");
  const std::string one = std::string{"every few steps relora adds adapters to the weights"} + (elsewhere ? ", in host memory" : ", of which one matrix after another is then in memory once more") + ", which is not counted";
  a.d->notes.push_back(a.v.place("relora") + ": " + one);
  a.d->assumed.push_back(one);
}

/// bitsandbytes takes no checkpoint that is stored in another format: transformers ends there (quantizers/auto.py, merge_quantization_configs), and axolotl
/// before it where both are asked for (utils/schemas/validation.py, check_model_quantization_config_vs_bnb). OpenAI stores gpt-oss in MXFP4.
inline void check_axolotl_stored(axolotl_arguments& a, bool otherwise) {
  const std::string by = a.v.on("load_in_4bit") ? "load_in_4bit" : "load_in_8bit";
  if (!a.v.on(by == "load_in_4bit" ? "load_in_4bit" : "load_in_8bit")) return;
  if (otherwise) a.refused(by, "axolotl ends where " + by + " stands beside model_quantization_config: take one of them out");
  auto name = a.v.word_now("base_model");
  name.erase(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  if (among_words("gpt-oss-20b|gpt-oss-120b|gpt-oss-safeguard-20b|gpt-oss-safeguard-120b", name))
    a.refused(by, name + " is stored in MXFP4, and transformers ends where it is to be loaded by bitsandbytes: name a copy in bf16 as base_model (unsloth/gpt-oss-20b-BF16), or take " + by + " out and make it bf16 (model_quantization_config: Mxfp4Config, with dequantize true under model_quantization_config_kwargs)");
}

/// Code that a checkpoint brings. Forwards of Qwen's first generation, which has no other, and of Falcon call get_head_mask, and DeepSeek-V2's imports
/// is_torch_fx_available, where trust_remote_code takes them: transformers has these no longer (52f5eca7c96d and 55b172b8eb83, 2025-10). Classes from before
/// 2025-07 do not have _supports_flash_attn, which flash attention is asked for (modeling_utils.py, _flash_attn_can_dispatch).
inline void check_axolotl_code(const axolotl_arguments& a) {
  const auto name = a.v.word_now("base_model");
  const auto said = a.v.all().find("trust_remote_code");
  const bool trusted = said != a.v.all().end() && said->is_boolean() && said->get<bool>();
  const std::string by = trusted ? "trust_remote_code" : "base_model";
  const bool qwen = name.starts_with("Qwen/Qwen-"), falcon = trusted && (name.starts_with("tiiuae/falcon-7b") || name.starts_with("tiiuae/falcon-40b"));
  if (qwen || falcon)
    a.refused(by, "the code of " + name + " calls get_head_mask, which transformers 5 has no longer, and axolotl's run ends in its first forward: " + (qwen ? "Qwen/Qwen1.5 and later have classes in transformers" : "take trust_remote_code out"));
  if (!trusted) return;
  if (name.starts_with("deepseek-ai/DeepSeek-V2") || name.starts_with("deepseek-ai/DeepSeek-Coder-V2"))
    a.refused(by, "the code of " + name + " imports is_torch_fx_available, which transformers 5 has no longer, and axolotl's run ends where it is loaded: take trust_remote_code out");
  const bool phi = name.starts_with("microsoft/Phi-3");
  if (a.kernel.starts_with("flash") && (phi || name.starts_with("cerebras/btlm-") || name.starts_with("LnL-AI/dbrx-")))
    a.refused(by, "the class that " + name + " brings does not have _supports_flash_attn, which transformers 5 asks for before flash attention, and axolotl's run ends where it is loaded: " + (phi ? "take trust_remote_code out" : "name a model that transformers has a class for"));
  if (phi) a.refused(by, "the code that " + name + " brings is not modelled by this version: take trust_remote_code out, and transformers' own class runs");
}

/// A checkpoint of mxfp4 experts that is made bf16 as it is loaded (loaders/model.py, _set_quantization_config; transformers quantizers/quantizer_mxfp4.py).
inline void read_axolotl_stored(axolotl_arguments& a) {
  check_axolotl_code(a);
  const auto* kind = a.v.take("model_quantization_config");
  const auto* how = a.v.take("model_quantization_config_kwargs");
  check_axolotl_stored(a, kind != nullptr && !kind->empty() && *kind != "");
  if (kind == nullptr || kind->empty() || *kind == "") {
    if (how != nullptr && !how->empty()) a.unmodelled("model_quantization_config_kwargs");
    return;
  }
  const bool whole = *kind == "Mxfp4Config" && how != nullptr && how->is_object() && how->size() == 1 && how->value("dequantize", json_value(false)) == true;
  if (!whole || a.v.word_now("base_model").find("gpt-oss") == std::string::npos) a.unmodelled("model_quantization_config");
}

}  // namespace headroom::io::detail
