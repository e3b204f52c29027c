// Distributed under the Boost Software License, Version 1.0.
// verl's trainer of supervised fine-tuning over FSDP, by the overrides of its command: torchrun -m verl.trainer.fsdp_sft_trainer KEY=VALUE …
// (volcengine/verl b178a3cd of 2026-01-29: verl/trainer/fsdp_sft_trainer.py, verl/trainer/config/sft_trainer.yaml, verl/utils/dataset/sft_dataset.py).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/verl/actor.hpp>
#include <headroom/io/launchers/verl/document.hpp>

namespace headroom::io {

namespace detail {

/// What cannot change memory, time or shape: whatever it says ("*"), or as long as it says so.
inline constexpr auto verl_sft_passed = std::to_array<passed_key>({
    {"data.apply_chat_template_kwargs", "*"}, {"data.balance_dp_token", "*"}, {"data.chat_template", ""}, {"data.custom_cls.name", "*"},
    {"data.custom_cls.path", ""}, {"data.micro_batch_size", "*"},  // nobody reads it any more
    {"data.multiturn.enable", "*"}, {"data.multiturn.enable_thinking_key", "*"}, {"data.multiturn.messages_key", "*"}, {"data.multiturn.tools_key", "*"},
    {"data.pad_mode", "right"}, {"data.prompt_dict_keys", "*"}, {"data.prompt_key", "*"}, {"data.response_dict_keys", "*"}, {"data.response_key", "*"},
    {"data.train_files", "*"}, {"data.train_max_samples", "*"}, {"data.truncation", "*"}, {"data.use_shm", "*"}, {"data.val_files", "*"},
    {"data.val_max_samples", "*"}, {"model.external_lib", "*"}, {"model.fsdp_config.cpu_offload", "false"}, {"model.fsdp_config.offload_params", "*"},
    {"model.fsdp_config.wrap_policy.min_num_params", "0"}, {"model.lora_adapter_path", ""}, {"model.lora_alpha", "*"}, {"model.trust_remote_code", "*"},
    {"model.use_liger", "false"}, {"optim.betas", "*"}, {"optim.clip_grad", "*"}, {"optim.lr", "*"}, {"optim.lr_scheduler", "*"},
    {"optim.lr_scheduler_type", "*"}, {"optim.lr_warmup_steps", "*"}, {"optim.lr_warmup_steps_ratio", "*"}, {"optim.min_lr_ratio", "*"},
    {"optim.num_cycles", "*"}, {"optim.optimizer", "AdamW"}, {"optim.optimizer_impl", "torch.optim"}, {"optim.override_optimizer_config", ""},
    {"optim.total_training_steps", "*"}, {"optim.warmup_style", "*"}, {"optim.weight_decay", "*"}, {"trainer.checkpoint.load_contents", "*"},
    {"trainer.checkpoint.save_contents", "*"}, {"trainer.default_hdfs_dir", "*"}, {"trainer.default_local_dir", "*"}, {"trainer.device", "cuda"},
    {"trainer.experiment_name", "*"}, {"trainer.logger", "*"}, {"trainer.max_ckpt_to_keep", "*"}, {"trainer.n_gpus_per_node", "*"},  // torchrun says how many
    {"trainer.nnodes", "*"}, {"trainer.project_name", "*"}, {"trainer.resume_from_path", "*"}, {"trainer.resume_mode", "*"}, {"trainer.save_freq", "*"},
    {"trainer.seed", "*"}, {"trainer.test_freq", "*"}, {"trainer.total_epochs", "*"}, {"trainer.total_training_steps", "*"},
});

class verl_sft {
 public:
  verl_sft(draft& d, const document& from) : d_(&d), v_(from, std::int64_t{1} << 31) {}

  void import() {
    d_->framework_is("hf-trainer", v_.source());
    const auto* path = "model.partial_pretrain";
    const auto model = v_.word(path, "~/models/gemma-1.1-7b-it");
    d_->trained_name = model;
    say_model(*d_, model, v_.place(path));
    const auto strategy = v_.one_of("model.strategy", "fsdp2", {"fsdp", "fsdp2"});
    d_->replace("sharding", {{"kind", strategy == "fsdp2" ? "fsdp2" : "fsdp1"}, {"stage", 3}}, v_.place("model.strategy"));
    d_->replace("objective", {{"kind", "sft"}, {"trainer", "verl"}}, v_.source());
    recipe();
    samples();
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key) || key.starts_with("hydra.")) continue;
      const auto rule = rule_of(verl_sft_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule == key_rule::unknown) d_->unknown_key(key, v_.place(key));
    }
  }

 private:
  void recipe() {
    v_.one_of("model.fsdp_config.model_dtype", "fp32", {"fp32"});
    d_->replace("precision", {{"parameters", "fp32"}, {"compute", "bf16"}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}}, v_.source());
    d_->replace("optimizer", "adamw", v_.source());
    d_->replace("attention", "flash", v_.source());
    const auto* again = "model.enable_gradient_checkpointing";
    d_->replace("recompute", v_.on(again, true) ? json_value{{"mode", "full"}, {"reentrant", false}} : json_value("none"), v_.place(again));
    if (v_.on("model.use_shm")) say_files_in_memory(*d_, v_.place("model.use_shm"));
    const auto rank = v_.number("model.lora_rank", 0, 0);
    const auto* targets = v_.take("model.target_modules");
    if (rank > 0) d_->replace("adapter", {{"kind", "lora"}, {"rank", rank}, {"targets", verl_targets(targets)}, {"format", "fp32"}}, v_.place("model.lora_rank"));
  }
  /// Samples are padded to their longest length; where several GPUs cut them, padding is taken out before, and nowhere else (_compute_loss_and_backward).
  void samples() {
    const auto *cuts = "ulysses_sequence_parallel_size", *bare = "use_remove_padding", *all = "data.train_batch_size";
    const auto cut = v_.number(cuts, 1);
    const bool removes = v_.on(bare);
    if (cut > 1 && !removes) fail("headroom: " + v_.place(cuts) + ": verl's trainer of supervised fine-tuning stops where ulysses_sequence_parallel_size is above 1 without use_remove_padding=True");
    if (cut > 1) d_->say({"parallel"}, {{"context", cut}, {"context_kind", "ulysses"}}, v_.place(cuts));
    d_->say({"batch"}, {{"micro", v_.number("data.micro_batch_size_per_gpu", 4)}, {"sequence", v_.number("data.max_length", 1024)}, {"padded", cut == 1}}, v_.place("data.micro_batch_size_per_gpu"));
    d_->know(d_->global_batch, all, v_.number(all, 256), v_.place(all));
  }

  draft* d_;
  named_values v_;
};

}  // namespace detail

/// Adds what a command of it says.
/// Errors: job_error for keys that are neither read nor harmless, and for a configuration of one's own.
inline void import_verl_sft(draft& d, std::span<const shell_word> words, const std::string& source) {
  const auto name = detail::verl_config_of(words);
  if (!name.text.empty() && name.text != "sft_trainer") fail("headroom: " + source + ":" + std::to_string(name.line) + ": " + in_quotes(name.shown()) + " is a configuration that is not read by this version: overrides of verl's own sft_trainer are");
  const auto from = detail::verl_overrides_of(words, source, {.source = source, .root = json_value::object(), .lines = {}}, [](std::string_view key) {
    return key != "model.partial_pretrain" && std::none_of(detail::verl_sft_passed.begin(), detail::verl_sft_passed.end(), [&](const detail::passed_key& k) { return k.name == key && k.off == "*"; });
  });
  with_places(from, [&] { detail::verl_sft{d, from}.import(); });
}

}  // namespace headroom::io
