// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM (core) over TransformerEngine.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: Megatron-LM megatron/training/arguments.py (defaults), core/model_parallel_config.py; see block/megatron.hpp and
/// engine/tensor_parallel/stages.hpp for the mechanisms.
inline constexpr profile megatron{
    .label = "megatron",
    .date = 202511,
    .modules = {.kind = layer_modules::megatron},
    .norm = {.style = norm_style::fused},
    .attention = {.qkv = qkv_projection::fused, .masks_in_loader = true},
    .experts = {.adds_by_index = true},
    .loss = {.style = loss_style::upcast_in_loss},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::megatron_distributed_optimizer, sharding_kind::megatron_fsdp)},
    .gradients = {.fused_accumulation = true},
    .optimizer = {.how = implementation::fused, .unscales_moments = true},
    .communication = {.overlaps_input_gradients = true},
    .loading = {.on_host = false, .into_buffers = true},
    .precision = {"bf16-mixed", formats::bf16, formats::bf16, formats::fp32, formats::fp32, formats::fp32, formats::fp32},
};

/// Until 2025-10-16 (56818f9e50) tokens went back by scatter_add_ in every mode, of whose values the graph keeps nothing (core/transformer/moe/
/// moe_utils.py unpermute).
inline constexpr profile megatron_202504 = [] {
  profile p = megatron;
  p.date = 202504;
  p.experts.adds_by_index = false;
  return p;
}();

/// Until 2025-04-09 (2659630721) experts did not know the router's weights (token_dispatcher.py token_unpermutation).
inline constexpr profile megatron_202501 = [] {
  profile p = megatron_202504;
  p.date = 202501;
  p.experts.weighs_returned = true;
  return p;
}();

/// The same code since 2024-06.
inline constexpr profile megatron_202406 = [] {
  profile p = megatron_202501;
  p.date = 202406;
  return p;
}();

/// transformer_engine has been the default of transformer-impl since 2024-04-03 (e7b74a4b7e).
inline constexpr profile megatron_202404 = [] {
  profile p = megatron_202406;
  p.date = 202404;
  p.loss.copies_scaled_logits = true;
  return p;
}();

/// Parameters have stayed where they were made until 2024-03-15 (293e10419f).
inline constexpr profile megatron_202311 = [] {
  profile p = megatron_202404;
  p.date = 202311;
  p.loading.into_buffers = false;
  p.modules.kind = layer_modules::megatron_local;
  p.attention.masks_in_loader = false;  // made on the GPU, one for all samples
  return p;
}();

/// Rotary embedding and SwiGLU without fused kernels, which came on 2023-11-19 (8503f75401).
inline constexpr profile megatron_2023 = [] {
  profile p = megatron_202311;
  p.date = 202301;
  p.mlp.writes_out_glu = p.rotary.writes_out = true;
  return p;
}();

/// Before 2021-09 ColumnParallelLinear waits for the sum of its input's gradient (mpu/layers.py, mpu/mappings.py).
inline constexpr profile megatron_2021 = [] {
  profile p = megatron_2023;
  p.communication.overlaps_input_gradients = false;
  return p;
}();

/// InternEvo's own modules with Megatron-LM's parallelism. Its collectives are asynchronous, but nothing starts them before the
/// multiplication: CUDA_DEVICE_MAX_CONNECTIONS, without which Megatron-LM warns that they do not overlap (core/tensor_parallel/layers.py), is
/// set nowhere in InternLM/InternEvo. Its optimizer has no buffers (HybridZeroOptimizer of internlm/solver/optimizer/hybrid_zero_optim.py @bbb5651): gradients are summed
/// over all ranks whatever the group of states (_attach_reduction_hook: reduce_rank = None), each rank with tensors broadcasts them, and all wait (broadcast_params).
inline constexpr profile internevo = [] {
  profile p = megatron_202501;
  p.loading.into_buffers = false;
  p.communication.overlaps_input_gradients = false;
  p.communication.broadcasts_updated = true;
  return p;
}();

/// Its precision settings name the recipe "tensorwise", for bf16 too, and pass it on to the optimizer (Megatron-Bridge
/// training/mixed_precision.py MixedPrecisionConfig.fp8_recipe). Over TransformerEngine 2.18, the version that it is locked to.
inline constexpr profile megatron_bridge = [] {
  profile p = megatron;
  p.date = 202608;
  p.fp8.names_recipe = true;
  p.recipes_change = true;
  p.optimizer.unscales_moments = false;
  // Its performance recipes all set CommOverlapConfig(tp_comm_overlap=True), whose other defaults are to overlap data-parallel traffic
  // (perf_recipes/*, training/comm_overlap.py).
  p.communication.tensor_parallel = tensor_parallel_overlap::in_pieces;
  p.communication.overlaps_gradients = p.communication.overlaps_parameters = true;
  return p;
}();

/// ms-swift over Megatron-Core, which adds LoRA to its layers (swift/megatron/tuners/lora.py).
inline constexpr profile megatron_swift = [] {
  profile p = megatron;
  p.date = 202508;
  p.adapters.parallel = true;
  return p;
}();

/// All its training configurations overlap data-parallel traffic (NeMo-Framework-Launcher launcher_scripts/conf/training, overlap_grad_sync,
/// overlap_param_sync), most of those with tensor parallelism that, too (ub_tp_comm_overlap).
inline constexpr profile nemo_2024 = [] {
  profile p = megatron_202501;
  p.date = 202407;
  p.communication.tensor_parallel = tensor_parallel_overlap::in_pieces;
  p.communication.overlaps_gradients = p.communication.overlaps_parameters = true;
  return p;
}();

}  // namespace headroom::frameworks
