// Distributed under the Boost Software License, Version 1.0.
// A job as axolotl's configuration (axolotl-ai-cloud/axolotl src/axolotl/utils/schemas).
#pragma once

#include <headroom/io/launchers/trainer/document.hpp>

namespace headroom::io {

namespace detail {

inline void axolotl_adapter(json_value& a, const job& j, std::string_view target) {
  const auto& l = j.adapter;
  const bool four = l.base == formats::nf4 || l.base == formats::nf4_double;
  a.update({{"adapter", four ? "qlora" : "lora"}, {"load_in_4bit", four}, {"load_in_8bit", l.base == formats::int8}, {"lora_r", l.rank}, {"lora_dropout", static_cast<double>(l.dropout.per_million) / 1e6}, {"peft_use_dora", l.kind == adapter_kind::dora}});
  const auto names = adapted_modules(l.targets, j.model, "adapter.targets", target);
  a["lora_target_linear"] = names.is_string();
  if (!names.is_string()) a["lora_target_modules"] = names;
  if (!l.modules_to_save.empty()) a["lora_modules_to_save"] = adapted_modules(l.modules_to_save, j.model, "adapter.modules_to_save", target);
  for (const auto& [key, kernel] : {std::pair{"lora_mlp_kernel", fused_kernel::adapted_mlp}, {"lora_qkv_kernel", fused_kernel::adapted_qkv}, {"lora_o_kernel", fused_kernel::adapted_output}}) a[key] = j.kernels.has(kernel);
}

/// Liger's kernels and Cut Cross-Entropy, each by its plugin.
inline void axolotl_plugins(json_value& a, const job& j) {
  auto plugins = json_value::array();
  const auto& k = j.kernels;
  const bool joined_loss = j.loss.kind == loss_kind::fused_linear;
  if (joined_loss || k.has(fused_kernel::norm) || k.has(fused_kernel::gated) || k.has(fused_kernel::rotary)) {
    plugins.push_back("axolotl.integrations.liger.LigerPlugin");
    a.update({{"liger_rope", k.has(fused_kernel::rotary)}, {"liger_rms_norm", k.has(fused_kernel::norm)}, {"liger_glu_activation", k.has(fused_kernel::gated)}, {"liger_fused_linear_cross_entropy", joined_loss}});
  }
  if (j.loss.kind == loss_kind::cut) {
    plugins.push_back("axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin");
    a["cut_cross_entropy"] = true;
  }
  if (!plugins.empty()) a["plugins"] = plugins;
}

inline void axolotl_sharding(json_value& a, const job& j) {
  if (under_deepspeed(j)) a["deepspeed"] = deepspeed_file;
  const bool two = j.sharding.kind == sharding_kind::fsdp2;
  if (!two && j.sharding.kind != sharding_kind::fsdp1) return;
  a["fsdp_version"] = two ? 2 : 1;
  a["fsdp_config"] = {{"auto_wrap_policy", "TRANSFORMER_BASED_WRAP"}, {"offload_params", j.offload.parameters == place::on_cpu}};
  if (two) a["fsdp_config"]["reshard_after_forward"] = true;
  if (two && j.parallel.replicate > 1) a.update({{"dp_replicate_size", j.parallel.replicate}, {"dp_shard_size", j.parallel.data / j.parallel.replicate}});
}

}  // namespace detail

inline json_value axolotl_document(const job& given) {
  constexpr std::string_view target = "axolotl";
  detail::needs_trainer(given, target);
  const auto j = stated(given);
  const auto& f = j.precision.compute;
  const bool full = j.recompute.mode == recompute_mode::full;
  const auto kernel = j.attention;
  json_value a = {{"base_model", detail::model_path(j.model)},
                  {"micro_batch_size", j.batch.micro},
                  {"gradient_accumulation_steps", j.batch.accumulation},
                  {"sequence_len", j.batch.sequence},
                  {"sample_packing", j.batch.packed},
                  {"bf16", f != formats::bf16 ? json_value(false) : j.precision.autocast == choice::no && j.precision.parameters == f ? json_value("full") : json_value(true)},
                  {"fp16", f == formats::fp16},
                  {"gradient_checkpointing", full},
                  {"activation_offloading", j.offload.activations == place::on_cpu},
                  {"torch_compile", j.compile}};
  if (j.batch.padded && !j.batch.packed && (j.batch.lengths.unknown || j.batch.lengths.given()))
    fail("headroom: axolotl cannot say batch.padded beside batch.lengths: its pad_to_sequence_len makes all samples as long as batch.sequence");
  if (!j.batch.packed) a["pad_to_sequence_len"] = j.batch.padded;
  if (full) a["gradient_checkpointing_kwargs"] = {{"use_reentrant", chosen(j.recompute.reentrant, j.framework.checkpointing.reentrant)}};
  if (kernel == attention::flash3)
    a["attn_implementation"] = detail::attention_word(kernel);
  else
    a[kernel == attention::flash ? "flash_attention" : kernel == attention::eager ? "eager_attention" : "sdp_attention"] = true;
  a["optimizer"] = detail::trainer_optimizer(j, target);
  if (j.adapter.active()) detail::axolotl_adapter(a, j, target);
  detail::axolotl_plugins(a, j);
  detail::axolotl_sharding(a, j);
  detail::check_trainer(j, a, "axolotl", target);
  return a;
}

}  // namespace headroom::io
