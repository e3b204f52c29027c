// Distributed under the Boost Software License, Version 1.0.
// A job as the configuration of `llamafactory-cli train` (src/llamafactory/hparams).
#pragma once

#include <headroom/io/launchers/trainer/document.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom::io {

namespace detail {

/// Its own switches of optimizers, or the Trainer's names.
inline void factory_optimizer(json_value& a, const job& j, std::string_view target) {
  const auto& o = j.optimizer;
  const bool alone = j.hardware.gpus() == 1, third = under_deepspeed(j) && j.sharding.stage == 3;  // what get_train_args stops at: llama_factory/limits.hpp
  const auto called = in_quotes(o.label.view());
  if (o.label == optimizers::badam.label && !alone && !third) fail("headroom: " + std::string{target} + " cannot say optimizer = " + called + " on several GPUs without ZeRO-3");
  if ((o.label == optimizers::galore.label || o.label == optimizers::apollo.label) && (under_deepspeed(j) || (o.in_backward && !alone)))
    fail("headroom: " + std::string{target} + " cannot say optimizer = " + called + " beside DeepSpeed, or in backward on several GPUs");
  for (const auto& [is, name] : {std::pair<const optimizer*, std::string>{&optimizers::galore, "galore"}, {&optimizers::apollo, "apollo"}}) {
    if (o.label != is->label) continue;
    a.update({{"use_" + name, true}, {name + "_rank", o.rank}, {name + "_layerwise", o.in_backward}});
    if (o.update_interval > 0) a[name + "_update_interval"] = o.update_interval;
    return;
  }
  for (const auto& [is, key] : {std::pair{&optimizers::badam, "use_badam"}, {&optimizers::muon, "use_muon"}, {&optimizers::adam_mini, "use_adam_mini"}})
    if (o.label == is->label) return void(a[key] = true);
  a["optim"] = trainer_optimizer(j, target);
}

/// What trains: all, some layers at an end of the stack, or adapters.
inline void factory_parts(json_value& a, const job& j, std::string_view target) {
  const auto& l = j.adapter;
  a["finetuning_type"] = l.active() ? "lora" : "full";
  if (l.active()) {
    auto names = adapted_modules(l.targets, j.model, "adapter.targets", target);
    a.update({{"lora_rank", l.rank}, {"lora_target", names.is_string() ? json_value("all") : names}, {"lora_dropout", static_cast<double>(l.dropout.per_million) / 1e6}, {"use_dora", l.kind == adapter_kind::dora}});
    if (!l.modules_to_save.empty()) a["additional_target"] = adapted_modules(l.modules_to_save, j.model, "adapter.modules_to_save", target);
    if (l.base.quantised()) a.update({{"quantization_bit", l.base == formats::int8 ? 8 : 4}, {"quantization_method", "bnb"}, {"quantization_type", l.base == formats::fp4 || l.base == formats::fp4_double ? "fp4" : "nf4"}, {"double_quantization", l.base == formats::nf4_double || l.base == formats::fp4_double}});
    return;
  }
  if (j.model.vision.layers > 0) {
    const auto trains = trained_modules(j, -1);
    a.update({{"freeze_vision_tower", !trains.has(module::vision)}, {"freeze_multi_modal_projector", !trains.has(module::projector)}, {"freeze_language_model", false}});
    return;
  }
  if (j.trainable.size != 1) return;
  const auto& s = j.trainable.list[0];
  a["finetuning_type"] = "freeze";
  a["freeze_trainable_layers"] = s.last_layer + 1 == j.model.layers ? j.model.layers - s.first_layer : -(s.last_layer + 1);
  if (!s.modules.empty()) {
    std::string words;
    for (const auto& name : adapted_modules(s.modules, j.model, "trainable.modules", target)) words += (words.empty() ? "" : ",") + name.get<std::string>();
    a["freeze_trainable_modules"] = words;
  }
}

}  // namespace detail

inline json_value llama_factory_document(const job& given) {
  constexpr std::string_view target = "llama-factory";
  detail::needs_trainer(given, target);
  const auto j = stated(given);
  auto a = detail::trainer_document(j, target);
  const bool full = j.recompute.mode == recompute_mode::full;
  for (const auto* key : {"gradient_checkpointing", "gradient_checkpointing_kwargs"}) a.erase(key);
  a.update({{"stage", "sft"}, {"cutoff_len", j.batch.sequence}, {"packing", j.batch.packed}, {"neat_packing", j.batch.packed}, {"disable_gradient_checkpointing", !full}, {"enable_liger_kernel", j.loss.kind == loss_kind::fused_linear && !j.kernels.empty()}});
  if (full) a["use_reentrant_gc"] = chosen(j.recompute.reentrant, j.framework.checkpointing.reentrant);
  if (j.offload.activations == place::on_cpu) a["use_unsloth_gc"] = true;
  a["flash_attn"] = j.attention == attention::eager ? "disabled" : j.attention == attention::flash ? "fa2" : j.attention == attention::flash3 ? "fa3" : "sdpa";
  const auto& p = j.precision;
  const bool kept = j.adapter.active() ? p.autocast == choice::no : p.gradients == formats::bf16;  // an adapter's base is in bf16 either way
  if (p.parameters == formats::bf16 && kept && !p.master.present() && !detail::under_deepspeed(j)) a["pure_bf16"] = true;
  detail::factory_optimizer(a, j, target);
  detail::factory_parts(a, j, target);
  detail::check_trainer(j, a, "llama-factory", target);
  return a;
}

}  // namespace headroom::io
