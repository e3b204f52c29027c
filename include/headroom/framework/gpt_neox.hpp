// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX: layers of its own, tensor-parallel, under DeepSpeed's pipeline and optimizers.
#pragma once

#include <headroom/framework/megatron_deepspeed.hpp>

namespace headroom::frameworks {

/// Sources: EleutherAI/gpt-neox ea7aefd8 (2026-05-20) megatron/model/*.py, megatron/mpu/*.py, and of the same meaning since 2021-08, but from 2024-03-06
/// (86758c35) to 2024-06-06 (2382bd4a), when a pipeline of one stage was none, and but RMSNorm, which is that since 2025-05-09 (4c9f1081); see
/// block/gpt_neox.hpp and engine/tensor_parallel/deepspeed_states.hpp for the mechanisms. Fused kernels are asked for by its options (io/options/gpt_neox.hpp); its precision is fp16 unless a job says otherwise.
inline constexpr profile gpt_neox = [] {
  profile p = megatron_deepspeed;
  p.label = "gpt-neox";
  p.date = 202108;
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

}  // namespace headroom::frameworks
