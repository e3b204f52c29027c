// Distributed under the Boost Software License, Version 1.0.
// Unsloth: the Trainer over Llama-like decoders whose layers, loss and checkpoints are Unsloth's own. One GPU, adapters.
#pragma once

#include <headroom/framework/hf_trainer.hpp>

namespace headroom::frameworks {

/// Sources: unsloth (unslothai/unsloth at d9ed4bef09, 2024-12-14) kernels/fast_lora.py, utils.py matmul_lora, rms_layernorm.py, rope_embedding.py,
/// models/llama.py LlamaAttention_fast_forward (xFormers, for which grouped keys and values are repeated, unless FlashAttention is installed) and
/// _CausalLM_fast_forward (Cut Cross-Entropy since fa8e59eb1b, 2024-11-17; whole logits up to 1,024 tokens), __init__.py (expandable segments);
/// models/_utils.py prepare_model_for_kbit_training (adapters become fp32, all else stays).
inline constexpr profile unsloth_202411 = [] {
  profile p = over_trainer(libtorch);
  p.label = "unsloth";
  p.date = 202411;
  p.kernels = {fused_kernel::norm, fused_kernel::rotary, fused_kernel::adapted_qkv, fused_kernel::adapted_output, fused_kernel::adapted_mlp};
  p.attention.chooses_kernel = true;
  p.attention.expands_kv = kv_expansion::unless_flash;
  p.attention.masks = sdpa_masks::none;
  p.loss.style = loss_style::cut;
  p.loss.whole_up_to = 1024;
  p.adapters.casts_input = false;  // lora_forward of unsloth_zoo/compiler.py casts outside autocast alone
  p.adapters.in_fp32 = true;
  p.adapters.functions = adapter_functions::add_products;
  p.quantised.upcasts_rest = false;
  p.sharding.kinds = one_of(sharding_kind::none);
  p.process.expandable_segments = true;
  p.precision = precisions::bf16;
  return p;
}();

/// 4f166026d7 (2025-03-01): products are accumulated by addmm_; forward dequantises into one buffer (use_global_buffer, 6485cbb499).
inline constexpr profile unsloth_202503 = [] {
  profile p = unsloth_202411;
  p.date = 202503;
  p.adapters.functions = adapter_functions::accumulate;
  return p;
}();

/// 806bee2433 (2025-08-13): head and loss in chunks (unsloth_zoo fused_losses/cross_entropy_loss.py), of a size that half of the free memory
/// decides since 770de251 (2025-09-04).
inline constexpr profile unsloth_202509 = [] {
  profile p = unsloth_202503;
  p.date = 202509;
  p.loss.style = loss_style::chunked_by_memory;
  return p;
}();

/// … of 4 GiB of fp32 logits at most, counted up (unsloth_zoo d9fe1f43, 2026-07-06).
inline constexpr profile unsloth_202607 = [] {
  profile p = unsloth_202509;
  p.date = 202607;
  p.loss.chunk_mib = 4096;
  p.loss.rounds_chunks_up = true;
  return p;
}();

}  // namespace headroom::frameworks
