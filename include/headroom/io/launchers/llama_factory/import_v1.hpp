// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's second trainer: the YAML of USE_V1=1 llamafactory-cli sft FILE (hiyouga/LLaMA-Factory ff6d4d12 of 2026-08-18: src/llamafactory/v1/config/*.py,
// launcher.py, core/*.py, plugins/*). Supervised fine-tuning of whole models of text is read, on one GPU, under DDP and under FSDP2.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/fsdp2_root.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/nested_values.hpp>

namespace headroom::io {

namespace detail {

// clang-format off
inline constexpr auto llama_factory_v1_read = std::to_array<std::string_view>({
    "model", "model_class", "flash_attn", "init_config.name", "peft_config", "quant_config", "kernel_config.name", "micro_batch_size", "global_batch_size", "cutoff_len", "bf16",
    "batching_strategy", "enable_activation_checkpointing", "dist_config.name", "dist_config.reshard_after_forward", "dist_config.offload_params", "dist_config.pin_memory", "cp_size",
    "mp_replicate_size", "mp_shard_size", "dp_size", "optim_config",
});
inline constexpr auto llama_factory_v1_passed = std::to_array<passed_key>({
    {"custom_chat_template", "*"}, {"trust_remote_code", "*"}, {"train_dataset", "*"}, {"eval_dataset", "*"}, {"output_dir", "*"}, {"learning_rate", "*"}, {"num_train_epochs", "*"},
    {"max_steps", "*"}, {"max_grad_norm", "*"}, {"batching_workers", "*"}, {"dist_timeout", "*"}, {"lr_scheduler_config", "*"}, {"seed", "*"}, {"resume_from_checkpoint", "*"},
    {"save_steps", "*"}, {"save_epochs", "*"}, {"save_ckpt_as_hf", "*"}, {"save_total_limit", "*"}, {"logging_steps", "*"}, {"sample_backend", "*"}, {"max_new_tokens", "*"},
    {"cp_mode", "*"}, {"dist_config.dcp_path", ""}, {"full_determinism", "false"},
    {"pref_loss", ""}, {"pref_beta", ""}, {"pref_ftx", ""}, {"simpo_gamma", ""}, {"dpo_label_smoothing", ""}, {"ld_alpha", ""},
});
// clang-format on

class llama_factory_v1 {
 public:
  llama_factory_v1(draft& d, const document& from) : d_(&d), k_(from) {}

  void import() {
    d_->framework_is("llama-factory-v1", k_.source());
    model();
    for (const auto* key : {"peft_config", "quant_config", "optim_config"})
      if (const auto* said = k_.find(key)) d_->unmodelled_key(key, said->is_object() ? said->value("name", *said) : *said, k_.place(key), whose(key));
    if (k_.number("cp_size", 1) > 1) d_->unmodelled_key("cp_size", *k_.find("cp_size"), k_.place("cp_size"), "Ulysses' exchange of heads, and a loss of its own");
    layout();
    batch();
    d_->replace("recompute", k_.on("enable_activation_checkpointing", true) ? json_value{{"mode", "full"}, {"reentrant", false}} : json_value("none"), k_.place("enable_activation_checkpointing"));
    d_->replace("optimizer", "adamw", k_.source());
  }

 private:
  [[nodiscard]] std::string one_of(const std::string& key, std::string_view otherwise, std::initializer_list<std::string_view> accepted) const {
    auto said = k_.word(key, otherwise);
    if (std::find(accepted.begin(), accepted.end(), said) == accepted.end()) unknown_name(key, said, std::span{accepted.begin(), accepted.size()});
    return said;
  }
  static constexpr std::string_view whose(std::string_view key) {
    if (key == "peft_config") return "each matrix of an adapter is a unit of FSDP2's own, and layers that are frozen are units of another format";
    return key == "optim_config" ? "its Muon gathers the gradient of a whole matrix" : "a base of few bits in FSDP2's units";
  }
  void model() {
    const auto name = k_.word("model", "Qwen/Qwen3-4B-Instruct-2507");
    if (const auto kind = k_.word("model_class", "llm"); kind != "llm") d_->unmodelled_key("model_class", kind, k_.place("model_class"), "another head than the vocabulary's");
    const std::string what = "taken to be for llamafactory-cli sft, of texts";
    d_->notes.push_back(k_.source() + ": " + what);
    d_->assumed.push_back(what);
    d_->trained_name = name;
    say_model(*d_, name, k_.place("model"));
    const auto m = model_of(*d_);
    if (m.layers == 0) fail("headroom: " + k_.place("model") + ": the units of FSDP2 depend on the model: give its config.json before this file, or --model NAME");
    if (m.vision.layers > 0 || m.encoder.layers > 0 || m.sparse() || m.classes > 0)
      fail("headroom: " + k_.place("model") + ": LLaMA-Factory's second trainer (USE_V1) is read for dense models of text by this version; the same training by its first trainer (model_name_or_path, finetuning_type) is");
    const auto kernel = one_of("flash_attn", "sdpa", {"eager", "sdpa", "flash_attention_2"});
    d_->replace("attention", kernel == "flash_attention_2" ? "flash" : kernel, k_.place("flash_attn"));
    const auto kernels = k_.word("kernel_config.name", "auto");
    if (kernels != "auto") d_->unmodelled_key("kernel_config.name", kernels, k_.place("kernel_config.name"), "auto has kernels for an Ascend NPU alone");
    if (k_.has("kernel_config")) d_->npu_kernels = draft::said{"kernel_config", k_.place("kernel_config")};
  }
  /// One process shards nothing, whatever dist_config says, and computes in fp32; several without dist_config are DDP's, in fp32. Several are started by
  /// torchrun, with expandable segments (launcher.py, OPTIM_TORCH).
  void layout() {
    d_->open_gpus = draft::said{"llamafactory-cli starts a process on each of the machine's GPUs", k_.source()};
    const auto place = k_.place("dist_config");
    const auto* said = k_.find("dist_config");
    if (said == nullptr) {
      d_->of_several = draft::said_keys{{{"sharding", "ddp"}, {"environment", {{"allocator", {{"expandable_segments", true}}}}}}, k_.source()};
      return;
    }
    const auto name = k_.word("dist_config.name");
    if (name != "fsdp2") d_->unmodelled_key("dist_config.name", name, place, "of its backends fsdp2 is read");
    if (const auto how = k_.word("init_config.name", "init_on_default"); how != "init_on_default") d_->unmodelled_key("init_config.name", how, k_.place("init_config"), "the model is not whole on each GPU then");
    if (k_.on("dist_config.offload_params")) d_->unmodelled_key("dist_config.offload_params", true, k_.place("dist_config.offload_params"));
    if (k_.on("dist_config.reshard_after_forward", true)) date_torch_of_root(*d_, place);
    json_value keys{{"sharding", {{"kind", "fsdp2"}, {"stage", 3}, {"reshard_after_forward", k_.on("dist_config.reshard_after_forward", true)}}}};
    keys["environment"] = {{"allocator", {{"expandable_segments", true}}}};
    if (const auto replicas = k_.number("mp_replicate_size", 1); replicas > 1) d_->say({"parallel", "replicate"}, replicas, k_.place("mp_replicate_size"));
    for (const auto* key : {"mp_shard_size", "dp_size"})
      if (k_.find(key) != nullptr) d_->unmodelled_key(key, *k_.find(key), k_.place(key), "what the GPUs leave is read");
    if (k_.on("bf16", true)) keys["precision"] = {{"parameters", "fp32"}, {"compute", "bf16"}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}};
    d_->of_several = draft::said_keys{keys, place};
  }
  /// Samples are cut at cutoff_len, and padded to the longest of a micro-batch or laid into one row; dynamic micro-batches have at most micro_batch_size × cutoff_len tokens.
  void batch() {
    const auto micro = k_.number("micro_batch_size", 1), longest = k_.number("cutoff_len", 2048);
    const auto how = one_of("batching_strategy", "normal", {"normal", "padding_free", "dynamic_batching", "dynamic_padding_free"});
    const auto place = k_.place("batching_strategy");
    const bool row = how == "padding_free" || how == "dynamic_padding_free";
    if (row && k_.word("flash_attn", "sdpa") != "flash_attention_2") fail("headroom: " + place + ": " + how + " without flash_attn flash_attention_2 is not read: padding_free stops there, and dynamic_padding_free makes a mask of all tokens by all tokens");
    if (how.starts_with("dynamic")) d_->notes.push_back(place + ": micro-batches have as many samples as fill micro_batch_size × cutoff_len tokens: the longest samples are counted");
    if (row) d_->say({"batch"}, {{"micro", 1}, {"sequence", checked::mul(micro, longest)}, {"packed", true}}, place);
    else {
      d_->say({"batch"}, {{"micro", micro}, {"sequence", longest}}, k_.place("micro_batch_size"));
      d_->keeps_lengths = k_.place("cutoff_len");
    }
    if (k_.find("global_batch_size") == nullptr) return;
    if (row) d_->unmodelled_key("global_batch_size", *k_.find("global_batch_size"), k_.place("global_batch_size"), "beside rows of several samples");
    d_->know(d_->global_batch, "samples of a step", k_.number("global_batch_size", 1), k_.place("global_batch_size"));
  }

  draft* d_;
  nested_values k_;
};

/// Whether an object is a configuration of it.
inline bool is_llama_factory_v1(const json_value& root) {
  if (root.contains("model_name_or_path") || root.contains("finetuning_type")) return false;
  return (root.contains("model_class") && root.contains("train_dataset")) || (root.contains("micro_batch_size") && (root.contains("dist_config") || root.contains("batching_strategy")));
}

}  // namespace detail

/// A configuration of LLaMA-Factory's second trainer.
inline void import_llama_factory_v1(draft& d, const document& from) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("LLaMA-Factory's configuration", "an object", from.root);
    auto judged = from;
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::llama_factory_v1_read, detail::llama_factory_v1_passed});
    detail::llama_factory_v1{d, judged}.import();
  });
}

}  // namespace headroom::io
