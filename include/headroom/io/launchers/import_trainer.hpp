// Distributed under the Boost Software License, Version 1.0.
// The Hugging Face Trainer's arguments and LLaMA-Factory's, which are the same and more: a YAML file, or a command line
// (transformers/training_args.py; LLaMA-Factory src/llamafactory/hparams/*_args.py).
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io {

namespace detail {

/// Data, logging, saving, evaluation, learning rate: nothing of a step's memory.
inline constexpr auto trainer_elsewhere = std::to_array<std::string_view>({
    // transformers
    "output_dir", "overwrite_output_dir", "do_train", "do_eval", "do_predict", "eval_strategy", "evaluation_strategy", "prediction_loss_only", "per_device_eval_batch_size", "eval_accumulation_steps",
    "eval_delay", "learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "num_train_epochs", "max_steps", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_ratio",
    "warmup_steps", "log_level", "log_level_replica", "log_on_each_node", "logging_dir", "logging_strategy", "logging_first_step", "logging_steps", "logging_nan_inf_filter", "save_strategy", "save_steps",
    "save_total_limit", "save_safetensors", "save_on_each_node", "save_only_model", "restore_callback_states_from_checkpoint", "use_cpu", "seed", "data_seed", "jit_mode_eval", "fp16_opt_level",
    "half_precision_backend", "local_rank", "ddp_backend", "debug", "dataloader_drop_last", "eval_steps", "dataloader_num_workers", "dataloader_prefetch_factor", "past_index", "run_name", "disable_tqdm",
    "remove_unused_columns", "label_names", "load_best_model_at_end", "metric_for_best_model", "greater_is_better", "ignore_data_skip", "fsdp_config", "accelerator_config", "label_smoothing_factor",
    "length_column_name", "report_to", "ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_broadcast_buffers", "ddp_timeout", "dataloader_pin_memory", "dataloader_persistent_workers",
    "skip_memory_metrics", "push_to_hub", "resume_from_checkpoint", "hub_model_id", "hub_strategy", "hub_token", "hub_private_repo", "hub_always_push", "hub_revision", "include_for_metrics",
    "include_inputs_for_metrics", "eval_do_concat_batches", "mp_parameters", "auto_find_batch_size", "full_determinism", "ray_scope", "torch_empty_cache_steps", "include_tokens_per_second",
    "include_num_input_tokens_seen", "average_tokens_across_devices", "neftune_noise_alpha", "batch_eval_metrics", "eval_on_start", "eval_use_gather_object", "predict_with_generate", "generation_max_length",
    "generation_num_beams", "generation_config", "group_by_length", "optim_args", "optim_target_modules", "tf32", "fp16_full_eval", "bf16_full_eval", "gradient_checkpointing_kwargs", "torch_compile_backend",
    "torch_compile_mode", "project", "trackio_space_id",
    // LLaMA-Factory
    "adapter_name_or_path", "adapter_folder", "cache_dir", "use_fast_tokenizer", "resize_vocab", "split_special_tokens", "add_tokens", "add_special_tokens", "new_special_tokens_config",
    "init_special_tokens", "model_revision", "low_cpu_mem_usage", "rope_scaling", "moe_aux_loss_coef", "train_from_scratch", "infer_backend", "offload_folder", "use_kv_cache", "use_cache", "infer_dtype",
    "hf_hub_token", "ms_hub_token", "om_hub_token", "print_param_status", "trust_remote_code", "quantization_device_map", "image_max_pixels", "image_min_pixels", "image_do_pan_and_scan", "crop_to_patches",
    "video_max_pixels", "video_min_pixels", "video_fps", "video_maxlen", "use_audio_in_video", "audio_sampling_rate", "export_dir", "export_size", "export_device", "export_legacy_format",
    "export_hub_model_id", "template", "dataset", "eval_dataset", "dataset_dir", "media_dir", "train_on_prompt", "mask_history", "streaming", "buffer_size", "mix_strategy", "interleave_probs",
    "overwrite_cache", "preprocessing_batch_size", "preprocessing_num_workers", "max_samples", "eval_num_beams", "ignore_pad_token_for_loss", "val_size", "eval_on_each_dataset", "tool_format",
    "default_system", "enable_thinking", "preserve_thinking", "tokenized_path", "data_shared_file_system", "lora_alpha", "loraplus_lr_ratio", "loraplus_lr_embedding", "use_rslora", "pissa_init",
    "pissa_iter", "pissa_convert", "create_new_adapter", "galore_scale", "galore_proj_type", "galore_target", "apollo_scale", "apollo_proj", "apollo_proj_type", "apollo_scale_type", "apollo_target",
    "apollo_scale_front", "badam_start_block", "badam_switch_mode", "badam_switch_interval", "badam_verbose", "badam_update_ratio", "badam_mask_mode", "use_swanlab", "swanlab_project", "swanlab_workspace",
    "swanlab_run_name", "swanlab_mode", "swanlab_api_key", "swanlab_logdir", "swanlab_lark_webhook_url", "swanlab_lark_secret", "compute_accuracy", "disable_shuffling", "early_stopping_steps", "plot_loss",
    "include_effective_tokens_per_second", "ray_num_workers", "ray_init_kwargs", "ray_run_name", "ray_storage_path", "ray_storage_filesystem", "resources_per_worker", "placement_strategy", "master_addr",
    "master_port", "use_dft_loss", "max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "num_beams", "max_length", "repetition_penalty", "length_penalty", "skip_special_tokens", "pref_beta",
    "pref_ftx", "pref_loss", "dpo_label_smoothing", "upcast_layernorm", "enable_torch_profiler", "use_v1_kernels",
});

/// What would change memory in ways that are not modelled: accepted where it is switched off.
inline constexpr auto trainer_unmodelled = std::to_array<std::string_view>({
    "shift_attn", "mixture_of_depths", "use_unsloth", "use_kt", "use_mca", "use_megatron_bridge", "use_hyper_parallel", "use_llama_pro", "use_adam_mini", "use_asft_loss", "use_eaft_loss", "fp8", "ref_model",
    "reward_model", "oft_rank", "oft_block_size", "upcast_lmhead_output", "tp_size", "sequence_parallel_size", "parallelism_config",
});

class trainer_arguments {
 public:
  trainer_arguments(draft& d, const document& from) : d_(&d), from_(&from) {}

  void import() {
    if (!from_->root.is_object()) wrong_value("the Trainer's arguments", "an object", from_->root);
    factory_ = from_->root.contains("finetuning_type") || from_->root.contains("cutoff_len");
    if (!d_->framework_is("deepspeed")) d_->framework_is("hf-trainer", from_->source);
    stage();
    model();
    batch();
    formats();
    adapters();
    updates();
    memory();
    distribution();
    rest();
  }

 private:
  const json_value* take(std::string_view key) {
    if (std::find(taken_.begin(), taken_.end(), key) == taken_.end()) taken_.emplace_back(key);
    const auto it = from_->root.find(key);
    return it == from_->root.end() || it->is_null() ? nullptr : &*it;
  }
  bool on(std::string_view key, bool otherwise = false) {
    const auto* v = take(key);
    return v == nullptr ? otherwise : flag_at(*v, std::string{key});
  }
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t low = 1) {
    const auto* v = take(key);
    return v == nullptr ? otherwise : whole_at(*v, std::string{key}, low, std::int64_t{1} << 31);
  }
  std::string word(std::string_view key, std::string_view otherwise) {
    const auto* v = take(key);
    return v == nullptr ? std::string{otherwise} : string_at(*v, std::string{key});
  }
  std::string one_of(std::string_view key, std::string_view otherwise, std::initializer_list<std::string_view> accepted) {
    auto said = word(key, otherwise);
    if (std::find(accepted.begin(), accepted.end(), said) == accepted.end()) unknown_name(std::string{key}, said, std::span{accepted.begin(), accepted.size()});
    return said;
  }
  [[nodiscard]] std::string at(std::string_view key) const { return from_->place(std::string{key}); }

  void stage() {
    const auto what = one_of("stage", "sft", {"pt", "sft", "rm", "ppo", "dpo", "kto"});
    if (what != "pt" && what != "sft") fail("headroom: stage " + in_quotes(what) + " is not modelled by this version (a second model, a value head, pairs of answers); accepted: pt, sft");
  }
  void model() {
    const auto name = word("model_name_or_path", "");
    if (!name.empty()) say_model(*d_, name, at("model_name_or_path"));
  }
  void batch() {
    d_->say({"batch", "micro"}, number("per_device_train_batch_size", 8), at("per_device_train_batch_size"));
    if (take("gradient_accumulation_steps") != nullptr) d_->say({"batch", "accumulation"}, number("gradient_accumulation_steps", 1), at("gradient_accumulation_steps"));
    for (const auto* key : {"cutoff_len", "max_seq_length", "model_max_length", "block_size"})
      if (take(key) != nullptr) d_->say({"batch", "sequence"}, number(key, 0), at(key));
    if (factory_ && !from_->root.contains("cutoff_len")) d_->say({"batch", "sequence"}, 2048, from_->source);
    const bool neat = on("neat_packing"), packs = on("packing");
    if (neat) d_->say({"batch", "packed"}, true, at("neat_packing"));
    (void)packs;  // samples are cut to one length either way
  }
  void formats() {
    const bool brain = on("bf16"), half = on("fp16"), pure = on("pure_bf16");
    if ((brain || pure) && half) fail("headroom: fp16 and bf16 must not both be true");
    if (pure)
      d_->replace("precision", "bf16", at("pure_bf16"));
    else if (brain || half)
      d_->half = draft::said{brain ? "bf16" : "fp16", at(brain ? "bf16" : "fp16")};
    else if (!d_->half)
      d_->half = draft::said{"no", from_->source};
  }
  void adapters() {
    const auto type = one_of("finetuning_type", factory_ ? "lora" : "full", {"lora", "freeze", "full", "oft"});
    if (type == "oft") fail("headroom: finetuning_type \"oft\" is not modelled by this version; accepted: lora, freeze, full");
    const auto bits = number("quantization_bit", 0), rank = number("lora_rank", 8);
    const auto method = one_of("quantization_method", "bnb", {"bnb", "bitsandbytes", "BNB", "hqq", "eetq"});
    const bool twice = on("double_quantization", true);
    const auto kind = one_of("quantization_type", "nf4", {"nf4", "fp4"});
    const bool magnitudes = on("use_dora");
    const auto* targets = take("lora_target");
    const auto* more = take("additional_target");
    const auto* chance = take("lora_dropout");
    const auto layers = number("freeze_trainable_layers", 2, -(std::int64_t{1} << 20));
    const auto modules = word("freeze_trainable_modules", "all");
    const bool tower = on("freeze_vision_tower", true), projector = on("freeze_multi_modal_projector", true), language = on("freeze_language_model");
    if (bits > 0 && type != "lora") fail("headroom: quantization_bit needs finetuning_type \"lora\"");
    if (language) fail("headroom: freeze_language_model = true is not read by this version: say what trains with --set trainable=[…]");
    if (type == "lora") {
      json_value a = {{"kind", magnitudes ? "dora" : "lora"}, {"rank", rank}, {"targets", names_in(targets, "lora_target", "all-linear")}};
      if (chance != nullptr) a["dropout"] = number_at(*chance, "lora_dropout", 0.0, 1.0);
      if (more != nullptr) a["modules_to_save"] = names_in(more, "additional_target", "");
      if (bits > 0) {
        if (method == "hqq" || method == "eetq" || (bits != 4 && bits != 8)) fail("headroom: quantization_bit " + std::to_string(bits) + " by " + method + " is not modelled by this version; accepted: 4 and 8 by bnb");
        a["base"] = bits == 8 ? "int8" : kind == "nf4" ? (twice ? "nf4-double" : "nf4") : "int4";
        a["base_skips"] = {"lm_head"};  // bitsandbytes leaves the head as it is (transformers/integrations/bitsandbytes.py)
      }
      a["format"] = "fp32";
      d_->replace("adapter", a, at("finetuning_type"));
    } else if (type == "freeze") {
      freeze(layers, modules);
    } else if (factory_ && (tower || projector)) {
      if (!d_->has({"model"})) return;
      const auto m = read_model(*d_->find({"model"}), "model", "/nonexistent/folder");
      if (m.vision.layers == 0) return;
      module_set trains{};
      trains.bits = (std::uint32_t{1} << module_count) - 1;
      if (tower) trains.bits &= ~module_set{module::vision}.bits;
      if (projector) trains.bits &= ~module_set{module::projector}.bits;
      d_->replace("trainable", json_value::array({{{"modules", modules_to_json(trains, m)}}}), at("freeze_vision_tower"));
    }
  }
  static json_value names_in(const json_value* said, const std::string& path, std::string_view all) {
    if (said == nullptr) return json_value(all);
    auto list = json_value::array();
    if (said->is_array()) return *said;
    const auto& text = string_at(*said, path, "names between commas or a list");
    if (text == "all" && !all.empty()) return json_value(all);
    for_each_word(text, [&](std::string_view w) { list.push_back(w); });
    return list;
  }
  void freeze(std::int64_t count, const std::string& modules) {
    if (!d_->has({"model"})) fail("headroom: finetuning_type \"freeze\" counts layers: give the model first, with --model or its config.json before this file");
    const auto layers = read_model(*d_->find({"model"}), "model", "/nonexistent/folder").layers;
    if (count == 0 || count > layers || -count > layers) fail("headroom: freeze_trainable_layers must be from 1 to the model's layers, " + std::to_string(layers) + ", or their negative");
    json_value one = {{"layers", count > 0 ? json_value{layers - count, layers - 1} : json_value{0, -count - 1}}};
    if (modules != "all") {
      const json_value list(modules);
      one["modules"] = names_in(&list, "freeze_trainable_modules", "");
    }
    d_->replace("trainable", json_value::array({one}), at("freeze_trainable_layers"));
  }
  void updates() {
    const auto rate = number("galore_rank", 16), every = number("galore_update_interval", 200), apollo = number("apollo_rank", 16), again = number("apollo_update_interval", 200);
    const bool layerwise = on("galore_layerwise"), layers = on("apollo_layerwise");
    const auto mode = one_of("badam_mode", "layer", {"layer", "ratio"});
    const auto optim = word("optim", "adamw_torch");
    if (on("use_galore")) return d_->replace("optimizer", json_value{{"name", "galore"}, {"rank", rate}, {"update_interval", every}, {"in_backward", layerwise}}, at("use_galore"));
    if (on("use_apollo")) return d_->replace("optimizer", json_value{{"name", "apollo"}, {"rank", apollo}, {"update_interval", again}, {"in_backward", layers}}, at("use_apollo"));
    if (on("use_badam")) {
      if (mode != "layer") fail("headroom: badam_mode \"ratio\" is not modelled by this version; accepted: layer");
      return d_->replace("optimizer", "badam", at("use_badam"));
    }
    if (on("use_muon")) return d_->replace("optimizer", "muon", at("use_muon"));
    // transformers/training_args.py, OptimizerNames.
    struct known {
      std::string_view theirs, ours, how;
    };
    static constexpr known names[] = {
        {"adamw_torch", "adamw", ""}, {"adamw_hf", "adamw", ""}, {"adamw_torch_fused", "adamw", "fused"}, {"adamw_apex_fused", "adamw", "fused"}, {"adamw_8bit", "adamw-8bit", ""},
        {"adamw_bnb_8bit", "adamw-8bit", ""}, {"paged_adamw_8bit", "paged-adamw-8bit", ""}, {"paged_adamw", "paged-adamw", ""}, {"paged_adamw_32bit", "paged-adamw", ""}, {"adafactor", "adafactor", ""},
        {"lion", "lion", ""}, {"lion_32bit", "lion", ""}, {"sgd", "sgd", ""}, {"adagrad", "adagrad", ""}, {"galore_adamw", "galore", ""}, {"apollo_adamw", "apollo", ""}, {"lomo", "lomo", ""}, {"adalomo", "adalomo", ""}};
    std::vector<std::string_view> accepted;
    for (const auto& n : names) {
      accepted.push_back(n.theirs);
      if (n.theirs != optim) continue;
      d_->replace("optimizer", n.how.empty() ? json_value(n.ours) : json_value{{"name", n.ours}, {"implementation", n.how}}, at("optim"));
      return;
    }
    unknown_name("optim", optim, accepted);
  }
  void memory() {
    const bool off = on("disable_gradient_checkpointing"), reentrant = on("use_reentrant_gc", true), asked = on("gradient_checkpointing", factory_), to_host = on("use_unsloth_gc");
    if (asked && !off)
      d_->replace("recompute", factory_ ? json_value{{"mode", "full"}, {"reentrant", reentrant}} : json_value("full"), at("gradient_checkpointing"));
    else
      d_->replace("recompute", "none", at("disable_gradient_checkpointing"));
    if (to_host) d_->say({"offload", "activations"}, "cpu", at("use_unsloth_gc"));
    const auto flash = one_of("flash_attn", "auto", {"auto", "disabled", "sdpa", "fa2", "fa3"});
    const auto kernel = one_of("attn_implementation", "", {"", "eager", "sdpa", "flash_attention_2", "flash_attention_3"});
    if (flash == "fa2" || kernel == "flash_attention_2" || flash == "fa3" || kernel == "flash_attention_3")
      d_->replace("attention", flash == "fa3" || kernel == "flash_attention_3" ? "flash3" : "flash", at(kernel.empty() ? "flash_attn" : "attn_implementation"));
    else if (flash != "auto" || !kernel.empty())
      d_->replace("attention", flash == "disabled" || kernel == "eager" ? "eager" : "sdpa", at(kernel.empty() ? "flash_attn" : "attn_implementation"));
    for (const auto* key : {"enable_liger_kernel", "use_liger_kernel"})
      if (on(key)) d_->say({"loss", "kind"}, "fused-linear", at(key));
    if (on("torch_compile")) d_->replace("compile", true, at("torch_compile"));
  }
  void distribution() {
    if (const auto* ds = take("deepspeed"); ds != nullptr && !(ds->is_string() && ds->get_ref<const std::string&>().empty())) {
      d_->framework_is("deepspeed", at("deepspeed"));
      d_->say({"sharding", "kind"}, "zero", at("deepspeed"));
      if (!ds->is_string()) fail("headroom: deepspeed must be the path of a configuration here");
      d_->awaits = draft::said{ds->get_ref<const std::string&>(), at("deepspeed")};
    }
    const auto* fsdp = take("fsdp");
    if (fsdp == nullptr || (fsdp->is_boolean() && !flag_at(*fsdp, "fsdp"))) return;
    std::string kind = "fsdp1", text = fsdp->is_boolean() ? "full_shard" : "";
    if (fsdp->is_array())
      each_at(*fsdp, "fsdp", "a list of words", [&](const json_value& v, const std::string& path) { text += string_at(v, path) + " "; });
    else if (!fsdp->is_boolean())
      text = string_at(*fsdp, "fsdp");
    std::int64_t stage = 0;
    for_each_word(text, [&](std::string_view w) {
      if (w == "full_shard" || w == "hybrid_shard")
        stage = 3;
      else if (w == "shard_grad_op" || w == "hybrid_shard_zero2")
        stage = 2;
      else if (w == "no_shard")
        kind = "ddp";
      else if (w == "offload")
        d_->say({"offload"}, {{"parameters", "cpu"}, {"optimizer", "cpu"}}, at("fsdp"));
      else if (w != "auto_wrap")
        fail("headroom: fsdp must not have " + in_quotes(w) + "; accepted: full_shard, shard_grad_op, hybrid_shard, hybrid_shard_zero2, no_shard, offload, auto_wrap");
      if (w.starts_with("hybrid")) d_->hybrid = at("fsdp");
    });
    d_->replace("sharding", stage > 0 ? json_value{{"kind", kind}, {"stage", stage}} : json_value("ddp"), at("fsdp"));
  }
  void rest() {
    for (const auto key : trainer_unmodelled) {
      const auto* v = take(key);
      const bool off = v == nullptr || (v->is_boolean() && !flag_at(*v, "")) || (v->is_string() && v->get_ref<const std::string&>().empty()) || (v->is_number() && *v == 1);
      if (!off) fail("headroom: " + std::string{key} + " is not modelled by this version");
    }
    for (const auto key : trainer_elsewhere) take(key);
    if (factory_) return check_keys(from_->root, "", taken_);
    for (const auto& [key, value] : from_->root.items())  // a script has arguments of its own
      if (std::find(taken_.begin(), taken_.end(), key) == taken_.end()) {
        const auto meant = closest(key, taken_);
        d_->notes.push_back(at(key) + ": " + key + " is not read" + (meant.empty() ? "" : "; did you mean " + std::string{meant} + "?"));
      }
  }

  draft* d_;
  const document* from_;
  bool factory_{};
  std::vector<std::string_view> taken_;
};

/// Whether a value is needed: one that a script leaves open may be a path or a rate.
inline bool trainer_reads(std::string_view key) {
  return key != "model_name_or_path" && key != "deepspeed" && std::find(trainer_elsewhere.begin(), trainer_elsewhere.end(), key) == trainer_elsewhere.end() &&
         (key.find("batch_size") != std::string_view::npos || key.find("accumulation") != std::string_view::npos || key.find("_len") != std::string_view::npos || key.find("rank") != std::string_view::npos);
}

}  // namespace detail

inline void import_trainer(draft& d, const document& from) {
  with_places(from, [&] { detail::trainer_arguments{d, from}.import(); });
}

}  // namespace headroom::io
