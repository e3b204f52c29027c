// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX: layers of its own, tensor-parallel, under DeepSpeed's pipeline and optimizers.
#pragma once

#include <headroom/framework/megatron_deepspeed.hpp>

namespace headroom::frameworks {

/// Sources: EleutherAI/gpt-neox ea7aefd8 (2026-05-20) megatron/model/*.py, megatron/mpu/*.py, and of the same meaning since 2021-08, but from 2024-03-06
/// (86758c35) to 2024-06-06 (2382bd4a), when a pipeline of one stage was none; RMSNorm is that since 2025-05-09 (4c9f1081). See
/// block/gpt_neox.hpp and engine/tensor_parallel/deepspeed_states.hpp for the mechanisms. Fused kernels are asked for by its options (io/options/gpt_neox.hpp); its precision is fp16 unless a job says otherwise.
inline constexpr profile gpt_neox = [] {
  profile p = megatron_deepspeed;
  p.label = "gpt-neox";
  p.date = 202505;
  p.modules.kind = layer_modules::gpt_neox;
  p.norm.style = norm_style::cast_after_weight;  // RMSNorm's; LayerNorm is one kernel
  p.attention.fills_masked_scores = true;
  p.attention.masks_in_loader = false;  // one for all samples, made on the GPU
  p.mlp.writes_out_glu = false;
  p.mlp.adds_bias_apart = true;
  p.rotary.writes_out = false;
  p.loss.copies_scaled_logits = false;
  p.communication.overlaps_input_gradients = false;
  return p;
}();

/// … whose RMSNorm computes in the format of its input (megatron/model/norms.py before 4c9f1081).
inline constexpr profile gpt_neox_202409 = [] {
  profile p = gpt_neox;
  p.date = 202409;
  p.norm.style = norm_style::input_format;
  return p;
}();

/// … whose one gated MLP is LLaMAParallelMLP (megatron/model/transformer.py from 299b68cd of 2023-05-02 to 0d4bdb96 of 2024-09-07).
inline constexpr profile gpt_neox_2021 = [] {
  profile p = gpt_neox_202409;
  p.date = 202108;
  p.mlp.gates_apart = true;
  return p;
}();

}  // namespace headroom::frameworks
