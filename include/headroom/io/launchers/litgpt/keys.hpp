// Distributed under the Boost Software License, Version 1.0.
// Every argument of litgpt's fine-tuning and pretraining: read, harmless, or refused unless it switches its feature off (Lightning-AI/litgpt
// 26857050 of 2026-06-29: litgpt/finetune/{lora,full}.py and litgpt/pretrain.py, setup(); litgpt/args.py; names of 2024-03 to 2024-05).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>

namespace headroom::io::detail {

/// Keys that io/launchers/litgpt/import.hpp reads.
inline constexpr auto litgpt_read = std::to_array<std::string_view>({
    "checkpoint_dir", "model_name", "precision", "quantize", "devices", "num_nodes", "lora_r", "lora_dropout", "lora_query", "lora_key", "lora_value",
    "lora_projection", "lora_mlp", "lora_head", "train.global_batch_size", "train.micro_batch_size", "train.max_seq_length", "optimizer",
    "optimizer.class_path", "optimizer.fused", "optimizer.foreach", "optimizer.init_args.fused", "optimizer.init_args.foreach",
});

// clang-format off
/// Samples are cut to train.max_seq_length whatever the data are. A norm that gradients are clipped to is computed tensor by tensor.
inline constexpr auto litgpt_passed = std::to_array<passed_key>({
    {"out_dir", "*"}, {"lora_alpha", "*"}, {"data", "*"}, {"log", "*"}, {"eval", "*"}, {"logger_name", "*"}, {"seed", "*"}, {"access_token", "*"}, {"resume", "*"},
    {"initial_checkpoint_dir", "*"}, {"tokenizer_dir", "*"}, {"model_config", ""}, {"train.save_interval", "*"}, {"train.log_interval", "*"},
    {"train.lr_warmup_steps", "*"}, {"train.lr_warmup_fraction", "*"}, {"train.epochs", "*"}, {"train.max_tokens", "*"}, {"train.max_steps", "*"},
    {"train.max_time", "*"}, {"train.tie_embeddings", "false"}, {"train.max_norm", "*"}, {"train.min_lr", "*"}, {"train.learning_rate", "*"},
    {"train.weight_decay", "*"}, {"train.beta1", "*"}, {"train.beta2", "*"}, {"optimizer.lr", "*"}, {"optimizer.weight_decay", "*"}, {"optimizer.betas", "*"},
    {"optimizer.eps", "*"}, {"optimizer.amsgrad", "false"}, {"optimizer.momentum", "0"}, {"optimizer.init_args.lr", "*"}, {"optimizer.init_args.weight_decay", "*"},
    {"optimizer.init_args.betas", "*"}, {"optimizer.init_args.eps", "*"}, {"optimizer.init_args.amsgrad", "false"}, {"optimizer.init_args.momentum", "0"},
});
// clang-format on

}  // namespace headroom::io::detail
