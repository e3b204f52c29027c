// Distributed under the Boost Software License, Version 1.0.
// torchtitan: eager modules, each layer compiled or not, divided by DTensor and FSDP2.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: torchtitan train.py, parallelisms/parallelize_llama.py, parallelisms/pipelining_utils.py (generate_split_points),
/// models/llama/model.py, models/norms.py at 9dec370 (2024-12-26): loss in fp32 inside an uncompiled function, the caller drops the logits
/// before backward; repeat_kv; the last layer is not resharded.
inline constexpr profile torchtitan_202404{
    .label = "torchtitan",
    .date = 202404,
    .modules = {.kind = layer_modules::dtensor},
    .compile = {.layers = true},
    .norm = {.style = norm_style::cast_before_weight},
    .attention = {.expands_kv = kv_expansion::always},
    .rotary = {.style = rope_style::complex_fp32, .tables = rope_tables::cached},
    .experts = {.gemm = expert_gemm::grouped_mm},
    .fp8 = {.quantises_in_linear = true},
    .loss = {.style = loss_style::whole_or_divided},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::fsdp2), .no_others = true, .keeps_last_layer = true},
    .pipeline = {.split = layer_split::ends_least},
    .loading = {.on_host = false},
    .precision = {"bf16-mixed", formats::fp32, formats::bf16, formats::fp32, formats::fp32, formats::none, formats::fp32},
};

/// run_llama_train.sh sets expandable segments since 2024-10-22 (a5e57e4a); a torchrun of one's own does not.
inline constexpr profile torchtitan_202411 = [] {
  profile p = torchtitan_202404;
  p.date = 202411;
  p.process.expandable_segments = true;
  return p;
}();

/// Fused AdamW by default since 2025-02-24 (#881), the loss compiled with the model since 2025-04-02 (#1033, bbb1b616). Both ends of the model
/// count as a layer each when stages are divided since 2025-04-15 (#1103, f64cf3c1; today distributed/pipeline_parallel.py,
/// generate_llm_fqn_per_model_part).
inline constexpr profile torchtitan_202504 = [] {
  profile p = torchtitan_202411;
  p.date = 202504;
  p.compile.loss = true;
  p.pipeline.split = layer_split::ends_count_layers;
  p.optimizer.how = implementation::fused;
  return p;
}();

/// Embedding, and norm with head, are units of their own, and the last layer is resharded like the others, since 2025-07-28 (#1094,
/// 83e69410). nn.RMSNorm (since 2025-03-19, #985) became one kernel in the PyTorch of that summer (aten _fused_rms_norm).
inline constexpr profile torchtitan_202508 = [] {
  profile p = torchtitan_202504;
  p.date = 202508;
  p.norm.style = norm_style::fused;
  p.sharding.root = root_units::split;
  p.sharding.keeps_last_layer = false;
  return p;
}();

/// cuDNN's attention is the first of those that torch may take, on every GPU, since 2025-10-09 (#1776, 6a3a9da9; models/attention.py
/// ScaledDotProductAttentionWrapper, sdpa_kernel with set_priority). Before, on Blackwell alone (#1196).
inline constexpr profile torchtitan_202510 = [] {
  profile p = torchtitan_202508;
  p.date = 202510;
  p.attention.prefers_cudnn = true;
  return p;
}();

/// Grouped heads go into attention as they are since 2026-01-27 (#2259, ff0829c1).
inline constexpr profile torchtitan_202602 = [] {
  profile p = torchtitan_202510;
  p.date = 202602;
  p.attention.expands_kv = kv_expansion::never;
  return p;
}();

/// Head and loss run in eight chunks since 2026-04-27 (#2937, 786e26f8).
inline constexpr profile torchtitan_202605 = [] {
  profile p = torchtitan_202602;
  p.date = 202605;
  p.loss.style = loss_style::chunked_head;
  return p;
}();

/// One matrix makes q, k and v, which are then copied out of its result, since 2026-06-24 (#3714, 3396a4b3; models/common/attention.py,
/// FusedQKVLinear).
inline constexpr profile torchtitan_202607 = [] {
  profile p = torchtitan_202605;
  p.date = 202607;
  p.attention.qkv = qkv_projection::fused_then_copied;
  return p;
}();

}  // namespace headroom::frameworks
