// Distributed under the Boost Software License, Version 1.0.
// Arguments of what a Python text calls to train by TRL, which no reader takes: harmless, or refused unless they switch a feature off; and what else changes a
// training (huggingface/trl f2cd57710 of 2026-07-24, huggingface/peft 5d602fdb of 2026-08-21, transformers 5.17 utils/quantization_config.py).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

#include <array>
#include <string_view>

namespace headroom::io::detail {

struct trl_trainer {
  std::string_view name, config, program;
};
inline constexpr trl_trainer trl_text_trainers[] = {{"SFTTrainer", "SFTConfig", "trl-sft"}, {"DPOTrainer", "DPOConfig", "trl-dpo"}, {"GRPOTrainer", "GRPOConfig", "trl-grpo"}};

// clang-format off
inline constexpr auto trl_trainer_passed = std::to_array<passed_key>({
    {"tokenizer", "*"}, {"processing_class", "*"}, {"train_dataset", "*"}, {"eval_dataset", "*"}, {"dataset_text_field", "*"}, {"dataset_num_proc", "*"}, {"data_collator", "*"}, {"formatting_func", "*"},
    {"callbacks", "*"}, {"dataset_kwargs", "*"}, {"dataset_batch_size", "*"}, {"num_of_sequences", "*"}, {"chars_per_token", "*"}, {"neftune_noise_alpha", "*"}, {"reward_processing_classes", "*"},
    {"compute_metrics", ""}, {"preprocess_logits_for_metrics", ""}, {"optimizers", ""}, {"ref_model", ""}, {"compute_loss_func", ""}, {"infinite", "false"},
});
inline constexpr auto trl_loader_passed = std::to_array<passed_key>({
    {"trust_remote_code", "*"}, {"token", "*"}, {"use_auth_token", "*"}, {"cache_dir", "*"}, {"revision", "*"}, {"local_files_only", "*"}, {"low_cpu_mem_usage", "*"}, {"use_cache", "*"}, {"device_map", "*"}, {"use_safetensors", "*"},
    {"rope_scaling", ""}, {"config", ""},
});
inline constexpr auto trl_lora_passed = std::to_array<passed_key>({
    {"lora_alpha", "*"}, {"task_type", "*"}, {"use_rslora", "*"}, {"inference_mode", "*"}, {"bias", "none"}, {"init_lora_weights", "true|gaussian"}, {"fan_in_fan_out", "false"}, {"layers_to_transform", ""}, {"layers_pattern", ""},
    {"rank_pattern", "{}"}, {"alpha_pattern", "{}"}, {"exclude_modules", ""}, {"target_parameters", ""}, {"loftq_config", ""}, {"megatron_config", ""}, {"trainable_token_indices", ""}, {"lora_bias", "false"}, {"peft_type", "LORA"},
});
inline constexpr auto trl_quantizer_passed = std::to_array<passed_key>({{"bnb_4bit_quant_storage", ""}, {"llm_int8_threshold", "*"}, {"llm_int8_skip_modules", ""}, {"llm_int8_has_fp16_weight", "false"}, {"llm_int8_enable_fp32_cpu_offload", "*"}});
// clang-format on

/// Functions and attributes that change what trains, beside the calls that are read.
inline constexpr std::string_view trl_changing_calls =
    "prepare_model_for_kbit_training|prepare_model_for_int8_training|requires_grad_|gradient_checkpointing_enable|enable_input_require_grads|torch.compile|resize_token_embeddings|setup_chat_format|"
    "clone_chat_template|add_adapter|load_adapter|PeftModel.from_pretrained|merge_and_unload|quantize_|notebook_launcher|set_default_dtype|FullyShardedDataParallel|DistributedDataParallel|DataParallel|fully_shard|TrlParser|HfArgumentParser|create_optimizer";
inline constexpr std::string_view trl_changing_attributes = "requires_grad|gradient_checkpointing|per_device_train_batch_size|gradient_accumulation_steps|optim|max_seq_length|max_length|packing|r|target_modules|output_router_logits|_attn_implementation|bf16|fp16|is_parallelizable|model_parallel";

}  // namespace headroom::io::detail
