// Distributed under the Boost Software License, Version 1.0.
// litgpt (Lightning AI): fine-tuning scripts over Lightning Fabric.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: litgpt model.py (RMSNorm, CausalSelfAttention, apply_rope), lora.py, utils.py chunked_cross_entropy,
/// finetune/lora.py; Lightning fabric/plugins/precision/half.py and bitsandbytes.py (module outputs become fp32, weights are
/// quantised from a half copy). RMSNorm's cast moved on 2023-10-24 (6178c7cc), 2024-02-23 (7c157492) and 2024-07-23 (916a84ca).
inline constexpr profile litgpt_202310{
    .label = "litgpt",
    .date = 202310,
    .norm = {.style = norm_style::cast_after_weight},
    .attention = {.expands_kv = kv_expansion::always, .qkv = qkv_projection::fused_then_copied, .copies_output = true},
    .rotary = {.style = rope_style::parts_concatenated, .tables = rope_tables::cached},
    .mlp = {.both_first = true},
    .loss = {.style = loss_style::chunked},
    .adapters = {.casts_input = false},
    .quantised = {.keeps_input = true, .dequantises = dequantisation::through_half, .with_head = true},
    .checkpointing = {.all_or_none = true},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::fsdp1), .no_others = true},
    .optimizer = {.foreach_copies = 2},
    .loading = {.unties_embeddings = true},
    .precision = precisions::bf16,
};

/// The loop assigns `loss` and `logits` anew only after the next forward: what hangs on the old graph is alive until then.
inline constexpr profile litgpt_202402 = [] {
  profile p = litgpt_202310;
  p.date = 202402;
  p.norm.style = norm_style::cast_before_weight;
  p.loss.lives = loss_lifetime::with_graph;
  p.optimizer.foreach_copies = 1;
  return p;
}();

/// From July 2024.
inline constexpr profile litgpt_202407 = [] {
  profile p = litgpt_202402;
  p.date = 202407;
  p.norm.style = norm_style::cast_after_weight;
  return p;
}();

/// bitsandbytes 0.43.2 (2024-07-23) no longer keeps a quantised matrix's input on the context.
inline constexpr profile litgpt_202410 = [] {
  profile p = litgpt_202407;
  p.date = 202410;
  p.quantised.keeps_input = false;
  return p;
}();

}  // namespace headroom::frameworks
