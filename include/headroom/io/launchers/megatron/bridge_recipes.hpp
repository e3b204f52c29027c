// Distributed under the Boost Software License, Version 1.0.
// Recipes of Megatron-Bridge by name, a row each: what its functions set (NVIDIA-NeMo/Megatron-Bridge 067f987d of 2026-08-22
// src/megatron/bridge/recipes/{llama/h100/llama2,llama/h100/llama3,qwen/h100/qwen2,qwen/h100/qwen3}.py, run with recorders in the place of what they import,
// and read a second time as text; the shorter names are those of recipes/llama/*.py and recipes/qwen/*.py). Dense models in bf16 (bf16_mixed: gradients are
// added up and reduced in fp32). Not here: adapters, experts, models that see, 8 and 4 bits, other positions than the checkpoint's, deterministic kernels,
// and gradients in 16 bits.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom::io::detail {

struct bridge_recipe {
  std::string_view names;  ///< between bars
  std::string_view model;  ///< of Hugging Face
  std::int64_t tensor, pipeline, chunks, context;
  bool sequence_parallel;
  std::int64_t length, micro, global;
  /// te, native: the loss is fused, and by whom; null-tokenizer: the model has as many rows as that has tokens, tokenizer: as its own has, else: as the
  /// checkpoint; packed: documents in one row, told apart; full: each layer is checkpointed; tp-overlap, overlap: exchanges of tensors, of gradients and
  /// parameters overlap; edges: embedding and loss count as a layer each; replicated: optimizer states are not divided; cp-a2a: ranks exchange heads.
  std::string_view says;
};

// clang-format off
inline constexpr auto bridge_recipes = std::to_array<bridge_recipe>({
    {"llama2_7b_pretrain_2gpu_h100_bf16_config|llama2_7b_pretrain_config", "meta-llama/Llama-2-7b-hf", 2, 1, 1, 1, false, 4096, 1, 512, "native|null-tokenizer|overlap"},
    {"llama31_405b_pretrain_256gpu_h100_bf16_config|llama31_405b_pretrain_config", "meta-llama/Meta-Llama-3.1-405B", 8, 8, 2, 4, true, 131072, 1, 512, "te|null-tokenizer|tp-overlap|edges|overlap"},
    {"llama31_70b_pretrain_32gpu_h100_bf16_config|llama31_70b_pretrain_config", "meta-llama/Meta-Llama-3.1-70B", 4, 4, 5, 2, true, 131072, 1, 512, "te|null-tokenizer|tp-overlap|overlap"},
    {"llama31_70b_sft_32gpu_h100_bf16_config|llama31_70b_sft_config", "meta-llama/Meta-Llama-3.1-70B", 8, 4, 1, 1, false, 4096, 1, 8, "native|packed"},
    {"llama31_8b_pretrain_2gpu_h100_bf16_config|llama31_8b_pretrain_config", "meta-llama/Meta-Llama-3.1-8B", 1, 1, 1, 2, false, 8192, 1, 512, "te|null-tokenizer|overlap"},
    {"llama31_8b_sft_2gpu_h100_bf16_config|llama31_8b_sft_config", "meta-llama/Meta-Llama-3.1-8B", 2, 1, 1, 1, false, 4096, 1, 8, "native|packed"},
    {"llama32_1b_pretrain_1gpu_h100_bf16_config|llama32_1b_pretrain_config", "meta-llama/Llama-3.2-1B", 1, 1, 1, 1, false, 8192, 1, 512, "te|null-tokenizer|overlap"},
    {"llama32_1b_sft_1gpu_h100_bf16_config|llama32_1b_sft_config", "meta-llama/Llama-3.2-1B", 1, 1, 1, 1, false, 4096, 1, 8, "native|packed"},
    {"llama32_3b_pretrain_1gpu_h100_bf16_config|llama32_3b_pretrain_config", "meta-llama/Llama-3.2-3B", 1, 1, 1, 1, false, 8192, 1, 512, "te|null-tokenizer|overlap"},
    {"llama32_3b_sft_1gpu_h100_bf16_config|llama32_3b_sft_config", "meta-llama/Llama-3.2-3B", 1, 1, 1, 1, false, 4096, 1, 8, "native|packed"},
    {"llama3_70b_pretrain_256gpu_h100_bf16_64k_config|llama3_70b_64k_pretrain_config", "meta-llama/Meta-Llama-3-70B", 8, 4, 1, 8, true, 65536, 1, 512, "te|null-tokenizer|tp-overlap|overlap"},
    {"llama3_70b_pretrain_32gpu_h100_bf16_16k_config|llama3_70b_16k_pretrain_config", "meta-llama/Meta-Llama-3-70B", 8, 2, 1, 2, true, 16384, 1, 512, "te|null-tokenizer|tp-overlap|overlap"},
    {"llama3_70b_pretrain_32gpu_h100_bf16_config|llama3_70b_pretrain_config", "meta-llama/Meta-Llama-3-70B", 4, 4, 5, 2, true, 8192, 1, 512, "te|null-tokenizer|tp-overlap|overlap"},
    {"llama3_8b_pretrain_16gpu_h100_bf16_16k_config|llama3_8b_16k_pretrain_config", "meta-llama/Meta-Llama-3-8B", 4, 2, 1, 2, true, 16384, 1, 512, "te|null-tokenizer|overlap"},
    {"llama3_8b_pretrain_2gpu_h100_bf16_config|llama3_8b_pretrain_config", "meta-llama/Meta-Llama-3-8B", 1, 1, 1, 2, false, 8192, 1, 512, "te|null-tokenizer|overlap"},
    {"llama3_8b_pretrain_32gpu_h100_bf16_64k_config|llama3_8b_64k_pretrain_config", "meta-llama/Meta-Llama-3-8B", 4, 2, 1, 4, true, 65536, 1, 512, "te|null-tokenizer|overlap"},
    {"llama3_8b_pretrain_64gpu_h100_bf16_128k_config|llama3_8b_128k_pretrain_config", "meta-llama/Meta-Llama-3-8B", 4, 2, 1, 8, true, 131072, 1, 512, "te|null-tokenizer|overlap"},
    {"llama3_8b_sft_2gpu_h100_bf16_config|llama3_8b_sft_config", "meta-llama/Meta-Llama-3-8B", 2, 1, 1, 1, false, 4096, 1, 8, "native|packed"},
    {"qwen25_14b_pretrain_4gpu_h100_bf16_config|qwen25_14b_pretrain_config", "Qwen/Qwen2.5-14B", 4, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_14b_sft_4gpu_h100_bf16_config|qwen25_14b_sft_config", "Qwen/Qwen2.5-14B", 4, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen25_1p5b_pretrain_1gpu_h100_bf16_config|qwen25_1p5b_pretrain_config", "Qwen/Qwen2.5-1.5B", 1, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_1p5b_sft_1gpu_h100_bf16_config|qwen25_1p5b_sft_config", "Qwen/Qwen2.5-1.5B", 1, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen25_32b_pretrain_16gpu_h100_bf16_config|qwen25_32b_pretrain_config", "Qwen/Qwen2.5-32B", 8, 2, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_32b_sft_16gpu_h100_bf16_config|qwen25_32b_sft_config", "Qwen/Qwen2.5-32B", 8, 2, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen25_500m_pretrain_1gpu_h100_bf16_config|qwen25_500m_pretrain_config", "Qwen/Qwen2.5-0.5B", 1, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_500m_sft_1gpu_h100_bf16_config|qwen25_500m_sft_config", "Qwen/Qwen2.5-0.5B", 1, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen25_72b_pretrain_32gpu_h100_bf16_config|qwen25_72b_pretrain_config", "Qwen/Qwen2.5-72B", 8, 4, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_72b_sft_32gpu_h100_bf16_config|qwen25_72b_sft_config", "Qwen/Qwen2.5-72B", 8, 4, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen25_7b_pretrain_2gpu_h100_bf16_config|qwen25_7b_pretrain_config", "Qwen/Qwen2.5-7B", 2, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen25_7b_sft_2gpu_h100_bf16_config|qwen25_7b_sft_config", "Qwen/Qwen2.5-7B", 2, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen2_1p5b_pretrain_1gpu_h100_bf16_config|qwen2_1p5b_pretrain_config", "Qwen/Qwen2-1.5B", 1, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen2_1p5b_sft_1gpu_h100_bf16_config|qwen2_1p5b_sft_config", "Qwen/Qwen2-1.5B", 1, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen2_500m_pretrain_1gpu_h100_bf16_config|qwen2_500m_pretrain_config", "Qwen/Qwen2-0.5B", 1, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen2_500m_sft_1gpu_h100_bf16_config|qwen2_500m_sft_config", "Qwen/Qwen2-0.5B", 1, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen2_72b_pretrain_32gpu_h100_bf16_config|qwen2_72b_pretrain_config", "Qwen/Qwen2-72B", 8, 4, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen2_72b_sft_32gpu_h100_bf16_config|qwen2_72b_sft_config", "Qwen/Qwen2-72B", 8, 4, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen2_7b_pretrain_2gpu_h100_bf16_config|qwen2_7b_pretrain_config", "Qwen/Qwen2-7B", 2, 1, 1, 1, false, 4096, 2, 32, "native|null-tokenizer"},
    {"qwen2_7b_sft_2gpu_h100_bf16_config|qwen2_7b_sft_config", "Qwen/Qwen2-7B", 2, 1, 1, 1, false, 2048, 1, 128, "native|packed|overlap"},
    {"qwen3_14b_pretrain_8gpu_h100_bf16_config|qwen3_14b_pretrain_config", "Qwen/Qwen3-14B", 8, 1, 1, 1, false, 4096, 2, 32, "te|tokenizer|overlap"},
    {"qwen3_14b_sft_8gpu_h100_bf16_config|qwen3_14b_sft_config", "Qwen/Qwen3-14B", 8, 1, 1, 1, false, 2048, 1, 8, "native|packed"},
    {"qwen3_1p7b_pretrain_1gpu_h100_bf16_config|qwen3_1p7b_pretrain_config", "Qwen/Qwen3-1.7B", 1, 1, 1, 1, false, 4096, 2, 32, "te|tokenizer|overlap"},
    {"qwen3_1p7b_sft_1gpu_h100_bf16_config|qwen3_1p7b_sft_config", "Qwen/Qwen3-1.7B", 1, 1, 1, 1, false, 2048, 1, 8, "native|packed"},
    {"qwen3_32b_pretrain_16gpu_h100_bf16_config|qwen3_32b_pretrain_config", "Qwen/Qwen3-32B", 8, 2, 1, 1, false, 4096, 2, 32, "te|tokenizer|full|overlap"},
    {"qwen3_32b_sft_16gpu_h100_bf16_config|qwen3_32b_sft_config", "Qwen/Qwen3-32B", 8, 2, 1, 1, false, 2048, 1, 8, "native|packed|full"},
    {"qwen3_4b_pretrain_2gpu_h100_bf16_config|qwen3_4b_pretrain_config", "Qwen/Qwen3-4B", 2, 1, 1, 1, false, 4096, 2, 32, "te|tokenizer|overlap"},
    {"qwen3_4b_sft_2gpu_h100_bf16_config|qwen3_4b_sft_config", "Qwen/Qwen3-4B", 2, 1, 1, 1, false, 2048, 1, 8, "native|packed"},
    {"qwen3_600m_pretrain_1gpu_h100_bf16_config|qwen3_600m_pretrain_config", "Qwen/Qwen3-0.6B", 1, 1, 1, 1, false, 4096, 2, 32, "te|tokenizer|overlap"},
    {"qwen3_600m_sft_1gpu_h100_bf16_config|qwen3_600m_sft_config", "Qwen/Qwen3-0.6B", 1, 1, 1, 1, false, 2048, 1, 8, "native|packed"},
    {"qwen3_600m_sft_8gpu_h100_bf16_128k_config|qwen3_600m_sft_128k_config", "Qwen/Qwen3-0.6B", 1, 1, 1, 8, false, 131072, 1, 2, "packed|replicated|cp-a2a"},
    {"qwen3_8b_pretrain_4gpu_h100_bf16_config", "Qwen/Qwen3-8B", 4, 1, 1, 1, false, 4096, 2, 32, "te|tokenizer|overlap"},
    {"qwen3_8b_sft_4gpu_h100_bf16_config|qwen3_8b_sft_config", "Qwen/Qwen3-8B", 4, 1, 1, 1, false, 2048, 1, 32, "native|packed"},
    {"qwen3_8b_sft_8gpu_h100_bf16_32k_config|qwen3_8b_sft_32k_config", "Qwen/Qwen3-8B", 4, 1, 1, 2, true, 32768, 1, 8, "packed|cp-a2a"},
});
// clang-format on

/// Tokens of the NullTokenizer (recipes/utils/tokenizer_utils.py DEFAULT_NULL_TOKENIZER_VOCAB_SIZE; Megatron-LM core/tokenizers/text/libraries/
/// null_tokenizer.py). A training from scratch takes its rows from the tokenizer, whatever the model's own are (recipes/common.py
/// use_tokenizer_vocab_size, training/setup.py _validate_and_set_vocab_size).
inline constexpr std::int64_t bridge_null_tokens = 32'000;

/// Settings that change logs, checkpoints, samples, seeds and rates alone (training/config.py): all of a section, or a key.
inline constexpr std::string_view bridge_passed =
    "logger|scheduler|rng|checkpoint.save|checkpoint.load|checkpoint.save_interval|checkpoint.pretrained_checkpoint|checkpoint.load_optim|checkpoint.save_optim|checkpoint.finetune|checkpoint.most_recent_k|validation.eval_interval|"
    "validation.eval_iters|optimizer.lr|optimizer.min_lr|optimizer.weight_decay|optimizer.adam_beta1|optimizer.adam_beta2|optimizer.adam_eps|optimizer.clip_grad|train.train_iters|train.exit_interval|train.manual_gc|"
    "train.manual_gc_interval|train.manual_gc_eval|dataset.blend|dataset.blend_per_split|dataset.split|dataset.num_workers|dataset.random_seed|dataset.seed|dataset.path_to_cache|dataset.num_dataset_builder_threads|"
    "ddp.check_for_nan_in_grad|ddp.average_in_collective";

}  // namespace headroom::io::detail
