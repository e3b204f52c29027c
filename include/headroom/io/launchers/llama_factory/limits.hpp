// Distributed under the Boost Software License, Version 1.0.
// What LLaMA-Factory itself does not train, once it is known on how many GPUs and under what (hiyouga/LLaMA-Factory ff6d4d12e of 2026-08-18:
// src/llamafactory/hparams/parser.py get_train_args).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/settle/gpus.hpp>

namespace headroom::io::detail {

/// Whether DeepSpeed's stage 3 is on, by a configuration or by --set.
inline bool third_stage(const draft& d) {
  if (!d.framework_is("deepspeed")) return false;
  const auto* said = d.find({"framework", "options", "zero_optimization", "stage"});
  const auto* s = d.find({"sharding"});
  if (said != nullptr) return *said == 3;
  return s != nullptr && (*s == "zero3" || (s->is_object() && s->value("stage", json_value{}) == 3));
}

/// hparams/finetuning_args.py, __post_init__. `no(key, why)` refuses.
inline void check_factory_tuning(const json_value& said, const auto& no) {
  const auto given = [&](const char* key) { return said.contains(key) && !said[key].is_null() && said[key] != false; };
  if (!given("finetuning_type") && !given("stage") && !given("template") && !given("cutoff_len")) return;  // another program's
  const auto type = given("finetuning_type") && said["finetuning_type"].is_string() ? said["finetuning_type"].get<std::string>() : std::string{"lora"};
  const char* whole = nullptr;
  for (const auto* key : {"use_galore", "use_apollo", "use_badam"}) {
    if (!given(key)) continue;
    if (type == "lora") no(key, "does not go with finetuning_type lora" + std::string{given("finetuning_type") ? "" : ", its default"});
    if (whole != nullptr) no(key, "does not go with " + std::string{whole});
    whole = key;
  }
  if (type != "lora")
    for (const auto* key : {"loraplus_lr_ratio", "use_rslora", "use_dora", "pissa_init"})
      if (given(key)) no(key, "is of finetuning_type lora alone");
}

/// Errors: job_error for what LLaMA-Factory stops at.
inline void check_factory(const draft& d) {
  if (!d.trainer || !d.trainer->root.contains("model_name_or_path")) return;  // ms-swift, which has use_galore, too, says model
  const auto& said = d.trainer->root;
  const auto on = [&](const char* key) { return said.contains(key) && !said[key].is_null() && truth(said[key], key); };
  const auto no = [&](const char* key, const std::string& why) { fail("headroom: " + d.trainer->place(key) + ": " + key + " " + why + ", and LLaMA-Factory stops there"); };
  const auto gpus = checked::mul(std::max<std::int64_t>(draft_nodes(d), 1), std::max<std::int64_t>(draft_gpus_per_node(d), 1));
  if (on("use_badam") && gpus > 1 && !third_stage(d)) no("use_badam", "on several GPUs needs DeepSpeed's ZeRO-3");
  for (const auto& [what, layers] : {std::pair{"use_galore", "galore_layerwise"}, {"use_apollo", "apollo_layerwise"}}) {
    if (on(what) && on(layers) && gpus > 1) no(layers, "is for one GPU alone");
    if (on(what) && d.framework_is("deepspeed")) no(what, "does not go with DeepSpeed");
  }
  check_factory_tuning(said, no);
  if (on("pissa_init") && third_stage(d)) no("pissa_init", "does not go with ZeRO-3, before which scripts/pissa_init.py makes the adapters");
  if (on("pure_bf16") && third_stage(d)) no("pure_bf16", "does not go with ZeRO-3");
  const bool factory = said.contains("finetuning_type") || said.contains("stage") || said.contains("template") || said.contains("cutoff_len");  // keys of its own: other programs read model_name_or_path, too
  if (factory && model_of(d).vision.held > 0)  // data/collator.py, MultiModalDataCollatorForSeq2Seq
    fail("headroom: " + d.trainer->place("model_name_or_path") + ": LLaMA-Factory puts a small picture or sound into each batch that has none, so that this model's towers run, which is not modelled by this version");
}

}  // namespace headroom::io::detail
