// Distributed under the Boost Software License, Version 1.0.
// Hugging Face Trainer and accelerate: one GPU, DDP or FSDP.
#pragma once

#include <headroom/framework/libtorch.hpp>

namespace headroom::frameworks {

/// Under bf16 or fp16 forward is autocast whatever the weights' format; what the model returns becomes fp32.
/// Sources: transformers trainer.py, training_args.py (optim: adamw_torch_fused where torch is 2.8 or newer), accelerate
/// accelerator.py prepare_model (autocast, convert_outputs_to_fp32), peft utils/other.py prepare_model_for_kbit_training.
constexpr profile over_trainer(profile p) {
  p.label = "hf-trainer";
  p.lengths = micro_batch_lengths::of_longest_sample;  // data/data_collator.py, padding "longest"
  p.checkpointing.reentrant = true;
  p.autocast.over_16bit = true;
  p.autocast.converts_outputs = true;
  p.attention.packs_by_kernel = true;  // position_ids that begin anew (transformers modeling_flash_attention_utils.py, _is_packed_sequence)
  p.attention.first_flash_kernels = false;  // attn_implementation "flash_attention_2" came first (transformers 4.34, 2023-10)
  p.precision = precisions::bf16_autocast;
  p.sharding.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::fsdp1, sharding_kind::fsdp2);
  p.sharding.reshards_root = true;     // accelerate up to 1.13 utils/fsdp_utils.py fsdp2_prepare_model: the plugin's reshard_after_forward, true, for the model, too
  p.checkpointing.all_or_none = true;  // gradient_checkpointing is on or off
  p.optimizer.registers_embeddings = true;
  return p;
}
inline constexpr profile hf_trainer_202508 = [] {
  profile p = over_trainer(libtorch);
  p.sharding.wraps_adapters = true;
  return p;
}();
/// … with older transformers.
inline constexpr profile hf_trainer_202503 = of_transformers(hf_trainer_202508, 202503);
/// … with transformers 5 (2026-01-26): routed experts are two parameters and two grouped products (integrations/moe.py, grouped_mm_experts_forward;
/// modeling_utils.py get_correct_experts_implementation: "grouped_mm" where nothing is said); checkpoints are not reentrant where nothing is said
/// (modeling_utils.py gradient_checkpointing_enable, 625ad84455 of 2026-01-16, in 5.0), and towers are asked for gradients (pull requests 41993 and 42558 of
/// 2025-12).
inline constexpr profile hf_trainer_202601 = [] {
  profile p = hf_trainer_202508;
  p.date = 202601;
  p.checkpointing.reentrant = false;
  p.checkpointing.asks_towers = true;
  p.experts.gemm = expert_gemm::sorted_mm;
  p.optimizer.torchao_block = 256;  // trainer_optimizer.py _get_torchao_optimizer (pull request 42972, 2025-12-24)
  return p;
}();
/// … 5.16 (2026-08): T5's softmax is in the compute format (block/attention.hpp, fp32_softmax).
inline constexpr profile hf_trainer_202608 = [] {
  profile p = hf_trainer_202601;
  p.date = 202608;
  return p;
}();
/// … 5.17: Gated DeltaNet without kernels solves triangular systems (block/delta_rule_solved.hpp).
inline constexpr profile hf_trainer = [] {
  profile p = hf_trainer_202608;
  p.date = 202609;
  return p;
}();
/// … with transformers 4.46 (2024-10-24) to 4.48: the loss makes a shifted copy of the fp32 logits (pull request 35646, in 4.49, shifts the labels).
inline constexpr profile hf_trainer_202410 = [] {
  profile p = of_transformers(hf_trainer_202508, 202410);
  p.loss.shifts_logits = true;
  return p;
}();
/// … of 2023, over torch 2.0 and PEFT before 0.7, whose adapters are fp32 (tuners/lora.py update_layer: nn.Linear, moved, not cast).
inline constexpr profile hf_trainer_2023 = [] {
  profile p = over_trainer(libtorch_2023);
  p.adapters.in_fp32 = true;
  return p;
}();
/// … with PEFT 0.7 (2023-12-06) to 0.11: adapters in the format of the weight beside them; over torch 2.1 (2023-10-04) or newer, whose foreach Adam
/// makes one temporary (torch/optim/adamw.py _multi_tensor_adamw adds eps in place).
inline constexpr profile hf_trainer_202312 = [] {
  profile p = over_trainer(libtorch_2023);
  p.date = 202312;
  p.optimizer.foreach_copies = libtorch.optimizer.foreach_copies;
  return p;
}();

/// … since 4.39 (2024-03-21) the modules of an adapter are units of their own under FSDP (trainer.py _fsdp_qlora_plugin_updates sets PEFT's
/// fsdp_auto_wrap_policy, whatever the base is).
inline constexpr profile hf_trainer_202403 = [] {
  profile p = hf_trainer_202312;
  p.date = 202403;
  p.sharding.wraps_adapters = true;
  return p;
}();

/// … over torch 1.11 and 1.12: zero_grad() fills with zeros (torch 2.0 changed that), Adam runs tensor by tensor (transformers
/// optimization.py AdamW, torch/optim before foreach became the default).
inline constexpr profile hf_trainer_202203 = [] {
  profile p = hf_trainer_2023;
  p.date = 202203;
  p.optimizer.how = implementation::loop;
  p.optimizer.registers_embeddings = false;  // since 4.19 (2022-05)
  p.gradients.stay = true;
  p.process.loads_all_kernels = true;
  return p;
}();
/// … over torch 1.10 and older.
inline constexpr profile hf_trainer_202110 = [] {
  profile p = hf_trainer_202203;
  p.date = 202110;
  p.autograd.softmax_keeps_input = true;
  return p;
}();

}  // namespace headroom::frameworks
