// Distributed under the Boost Software License, Version 1.0.
// Every key of torchtune's fine-tuning recipes: read, harmless, or refused unless it switches its feature off (pytorch/torchtune bd2a0fc7 of
// 2026-04-23: recipes/{full,lora}_finetune_{distributed,single_device}.py, qat_{distributed,single_device}.py, recipes/configs, and names of 2024).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/torchtune/import.hpp reads. `dataset` may be a list of sections.
inline constexpr auto torchtune_read = std::to_array<std::string_view>({
    "model._component_", "model.lora_attn_modules", "model.apply_lora_to_mlp", "model.apply_lora_to_output", "model.lora_rank", "model.lora_dropout",
    "model.use_dora", "model.quantize_base", "model.vocab_size", "model.num_layers", "model.num_heads", "model.num_kv_heads", "model.embed_dim", "model.intermediate_dim",
    "model.max_seq_len", "model.rope_base", "ac_mode", "ac_option", "tokenizer.max_seq_len", "dataset", "dataset.packed", "dataset.max_seq_len", "batch_size", "gradient_accumulation_steps",
    "optimizer._component_", "optimizer.fused", "optimizer.foreach", "optimizer_in_bwd", "clip_grad_norm", "loss._component_", "compile", "dtype", "enable_activation_checkpointing",
    "enable_activation_offloading", "fsdp_cpu_offload", "fsdp_reshard_after_forward", "fsdp_sharding_strategy", "custom_sharded_layers",
    "data_parallel_shard_dim", "data_parallel_replicate_dim", "quantizer._component_", "quantizer.groupsize", "batch_size_val", "run_val_every_n_steps",
});

// clang-format off
/// A validation keeps nothing for backward. low_cpu_ram loads by mmap; checkpoints are written between steps.
inline constexpr auto torchtune_passed = std::to_array<passed_key>({
    {"output_dir", "*"}, {"checkpointer", "*"}, {"metric_logger", "*"}, {"lr_scheduler", "*"}, {"profiler", "-"}, {"dataset_val", "*"},
    {"collate_fn", "*"}, {"shuffle", "*"}, {"seed", "*"}, {"epochs", "*"}, {"max_steps_per_epoch", "*"},
    {"log_every_n_steps", "*"}, {"log_peak_memory_stats", "*"}, {"log_level", "*"}, {"resume_from_checkpoint", "*"}, {"save_adapter_weights_only", "*"},
    {"save_every_n_steps", "*"}, {"save_every_n_epochs", "*"}, {"enable_async_checkpointing", "false"}, {"low_cpu_ram", "*"}, {"dataloader", "*"}, {"device", "cuda"},
    {"tensor_parallel_dim", "1"}, {"tensor_parallel_plan", "*"}, {"context_parallel_dim", "1"}, {"enable_fp8_training", "false"},
    {"fp8_recipe_name", "*"}, {"cudnn_deterministic_mode", "false"}, {"profile_memory", "false"}, {"fake_quant_after_n_steps", ""}, {"resize_token_embeddings", "false"},
    {"memory_efficient_fsdp_wrap", "false"}, {"use_distributed_state_dict", "*"}, {"fsdp_delay_all_reduce", "false"}, {"tokenizer._component_", "*"}, {"tokenizer.path", "*"},
    {"tokenizer.merges_file", "*"}, {"tokenizer.vocab_path", "*"}, {"tokenizer.merges_path", "*"}, {"tokenizer.prompt_template", "*"},
    {"tokenizer.special_tokens_path", "*"}, {"tokenizer.truncation_type", "*"}, {"optimizer.lr", "*"}, {"optimizer.weight_decay", "*"}, {"optimizer.betas", "*"},
    {"optimizer.eps", "*"}, {"optimizer.amsgrad", "false"}, {"optimizer.momentum", "0"}, {"loss.num_output_chunks", "8"}, {"loss.ignore_index", "*"},
    {"loss.mask_ignored_tokens", "*"}, {"model.lora_alpha", "*"}, {"model.attn_dropout", "0|0.0"}, {"model.norm_eps", "*"}, {"datasets", ""}, {"name", "*"}, {"model_dir", "*"},
    {"checkpoint_dir", "*"}, {"use_flex", "*"}, {"fsdp.cpu_offload", "false"}, {"activation_offloading_use_streams", "*"}, {"context_parallel_rotate_method", "*"},
});
// clang-format on

}  // namespace headroom::io::detail
