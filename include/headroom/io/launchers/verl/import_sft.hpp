// Distributed under the Boost Software License, Version 1.0.
// verl's trainer of supervised fine-tuning over FSDP, by the overrides of its command: torchrun -m verl.trainer.fsdp_sft_trainer KEY=VALUE …
// (volcengine/verl b178a3cd of 2026-01-29: verl/trainer/fsdp_sft_trainer.py, verl/trainer/config/sft_trainer.yaml, verl/utils/dataset/sft_dataset.py).
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/fsdp2_root.hpp>
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

/// Keys that are no older than release 0.4 (15ca90ce, 2025-06-04) and 0.5 (74591314 and 5d52d15f, 2025-07): who gives one has a trainer of that age.
inline constexpr std::string_view verl_sft_since_04 = "model.strategy|model.fsdp_config.model_dtype|trainer.save_freq|trainer.test_freq|trainer.nnodes|trainer.n_gpus_per_node|trainer.max_ckpt_to_keep";
inline constexpr std::string_view verl_sft_since_05 = "trainer.device|trainer.resume_mode|trainer.resume_from_path|trainer.checkpoint.save_contents|trainer.checkpoint.load_contents|data.multiturn.enable_thinking_key|"
                                                      "data.train_max_samples|data.val_max_samples|optim.lr_warmup_steps_ratio|optim.optimizer|optim.optimizer_impl";

class verl_sft {
 public:
  verl_sft(draft& d, const document& from) : d_(&d), v_(from, std::int64_t{1} << 31) {}

  void import() {
    d_->framework_is("hf-trainer", v_.source());
    const auto* path = "model.partial_pretrain";
    const auto model = v_.word(path, "~/models/gemma-1.1-7b-it");
    d_->trained_name = model;
    say_model(*d_, model, v_.place(path));
    ages();
    const auto strategy = v_.one_of("model.strategy", "fsdp2", {"fsdp", "fsdp2"});
    d_->replace("sharding", {{"kind", strategy == "fsdp2" ? "fsdp2" : "fsdp1"}, {"stage", 3}}, v_.place("model.strategy"));
    if (strategy == "fsdp2") date_torch_of_root(*d_, v_.place("model.strategy"));
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
  /// Whether --set has said it.
  static bool set(const draft& d, const char* key, const char* part) { return d.place_of(key).starts_with("--set") || d.place_of(part).starts_with("--set"); }
  /// What copies of older releases do where the command is silent.
  void ages() {
    const auto any = [&](std::string_view keys) { return std::any_of(v_.all().items().begin(), v_.all().items().end(), [&](const auto& one) { return among_words(keys, one.key()); }); };
    if (any(verl_sft_since_05)) return;
    const bool told = any(verl_sft_since_04);
    // f2a76acd of 2025-01-27: micro_batch_size_per_gpu; before it micro_batch_size was divided by the processes, and since nobody reads it.
    if (const auto* all = v_.take("data.micro_batch_size"); all != nullptr && !told && !v_.has("data.micro_batch_size_per_gpu"))
      d_->releases.push_back({"verl", 2, v_.place("data.micro_batch_size"), "verl divides data.micro_batch_size among the GPUs before 0.2 (2025-01), and since then data.micro_batch_size_per_gpu alone counts", true, nullptr, nullptr,
                              [](draft& d, const std::string& place) { d.unmodelled_key("data.micro_batch_size", true, place, "as verl before 0.2 reads it: give data.micro_batch_size_per_gpu, what it makes of a GPU"); }});
    // 195f61b0 of 2025-05-29.
    if (!told)
      d_->releases.push_back({"verl", 4, v_.source(), "model.strategy is not given, and verl's trainer of supervised fine-tuning shards by FSDP's first version before 0.4 (2025-05-29), and by its second since", true, nullptr, [](const draft& d) { return !set(d, "sharding", "sharding.kind"); },
                              [](draft& d, const std::string& place) { d.replace("sharding", {{"kind", "fsdp1"}, {"stage", 3}}, place); }});
    // cfa4e701 of 2025-06-10, between 0.4.0 and 0.4.1.
    if (!v_.has("model.enable_gradient_checkpointing"))
      d_->releases.push_back({"verl", 5, v_.source(), "model.enable_gradient_checkpointing is not given, and is false in verl before 0.4.1 (2025-06-10), and true since", true, nullptr, [](const draft& d) { return !set(d, "recompute", "recompute.mode"); }, [](draft& d, const std::string& place) {
                                const auto release = d.find({"environment", "verl"})->get<std::string>();
                                if (release == "0.4") fail("headroom: " + place + ": model.enable_gradient_checkpointing is not given, and is false in verl 0.4.0 and true in 0.4.1: --set environment.verl says which of them");
                                if (!release.starts_with("0.4.") || release.starts_with("0.4.0")) d.replace("recompute", "none", place);
                              }});
  }
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
