// Distributed under the Boost Software License, Version 1.0.
// Every key of nanotron's configuration: read, harmless, or refused unless it switches its feature off (huggingface/nanotron
// src/nanotron/config/{config,models_config,parallelism_config}.py of 2025-08, and names of 2023 to 2024).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/nanotron/import.hpp reads.
inline constexpr auto nanotron_read = std::to_array<std::string_view>({
    "parallelism.dp", "parallelism.pp", "parallelism.tp", "parallelism.pp_engine", "parallelism.tp_mode", "parallelism.tp_linear_async_communication",
    "parallelism.recompute_layer", "parallelism.recompute_granularity", "parallelism.tp_recompute_allgather", "model.dtype", "model.make_vocab_size_divisible_by",
    "model.model_config.hidden_size", "model.model_config.intermediate_size", "model.model_config.num_attention_heads", "model.model_config.num_hidden_layers",
    "model.model_config.num_key_value_heads", "model.model_config.vocab_size", "model.model_config.tie_word_embeddings", "model.model_config.max_position_embeddings",
    "model.model_config.hidden_act", "model.model_config._attn_implementation", "model.model_config.is_llama_config", "optimizer.zero_stage", "optimizer.accumulate_grad_in_fp32", "optimizer.torch_adam_is_fused",
    "optimizer.optimizer_factory.name", "optimizer.optimizer_factory.torch_adam_is_fused", "tokens.sequence_length", "tokens.micro_batch_size",
    "tokens.batch_accumulation_per_replica", "data_stages",
});

// clang-format off
/// Gradients are scaled in place when they are clipped. DDP's buckets are as large together however they are cut. Rotary positions are turned in
/// place, whatever their base. A run that goes on from a checkpoint holds the same.
inline constexpr auto nanotron_passed = std::to_array<passed_key>({
    {"checkpoints", "*"}, {"general", "*"}, {"logging", "*"}, {"metrics_logging", "*"}, {"profiler", "*"}, {"lighteval", "*"}, {"s3_upload", "*"}, {"tokenizer", "*"},
    {"experiment_logger", "*"}, {"data", "*"}, {"kill_switch_path", "*"}, {"slurm", "*"},
    {"parallelism.expert_parallel_size", "1"}, {"parallelism.context_parallel_size", "1"},
    {"model.ddp_bucket_cap_mb", "*"}, {"model.init_method", "*"},
    {"model.model_config.bos_token_id", "*"}, {"model.model_config.eos_token_id", "*"}, {"model.model_config.pad_token_id", "*"}, {"model.model_config.initializer_range", "*"},
    {"model.model_config.pretraining_tp", "*"}, {"model.model_config.rms_norm_eps", "*"}, {"model.model_config.rope_scaling", "*"}, {"model.model_config.rope_theta", "*"},
    {"model.model_config.rope_interleaved", "*"}, {"model.model_config.use_cache", "*"}, {"model.model_config.attention_bias", "false"},
    {"model.model_config.z_loss_enabled", "false"}, {"model.model_config.z_loss_coefficient", "*"},
    {"model.model_config.is_mamba_config", "false"}, {"model.model_config.is_qwen2_config", "false"}, {"model.model_config.is_starcoder2_config", "false"},
    {"optimizer.clip_grad", "*"}, {"optimizer.learning_rate_scheduler", "*"}, {"optimizer.weight_decay", "*"}, {"optimizer.weight_decay_exclude_named_params", "*"},
    {"optimizer.adam_beta1", "*"}, {"optimizer.adam_beta2", "*"}, {"optimizer.adam_eps", "*"}, {"optimizer.optimizer_factory.adam_beta1", "*"},
    {"optimizer.optimizer_factory.adam_beta2", "*"}, {"optimizer.optimizer_factory.adam_eps", "*"},
    {"tokens.train_steps", "*"}, {"tokens.val_check_interval", "*"}, {"tokens.limit_val_batches", "0"}, {"tokens.limit_test_batches", "0"},
});
// clang-format on

}  // namespace headroom::io::detail
