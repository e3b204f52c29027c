// Distributed under the Boost Software License, Version 1.0.
// A plain training loop over eager PyTorch modules: nothing but autograd, the optimizer and the caching allocator.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// How the transformers of a date calls torch's own attention. 4.48 (2025-01-10): one function for most families (block/given_heads.hpp), which makes its tensors contiguous
/// (integrations/sdpa_attention.py, 2c47618c1a); 4.53 (2025-06-26): masks are boolean, one for each kind of layer (masking_utils.py, 163138a911);
/// 4.54 (2025-07-25): keys and values are repeated beside a mask alone (9323d0873c), where torch is 2.5 or newer
/// (scene: ungrouped); 4.56 (2025-08-29): nothing is made
/// contiguous any more (959239debc).
constexpr profile of_transformers(profile p, std::int32_t date) {
  p.date = date;
  p.attention.lays_out_heads = date >= 202501 && date < 202508;
  p.attention.masks = date < 202506 ? sdpa_masks::added : sdpa_masks::boolean;
  p.attention.expands_kv = date < 202507 ? kv_expansion::unless_flash : kv_expansion::if_padded;
  return p;
}

/// transformers' models in a loop of one's own. Sources: transformers models/llama/modeling_llama.py (norms, eager attention),
/// loss/loss_utils.py ForCausalLMLoss; torch/optim/adamw.py; aten/src/ATen/cuda/CublasHandlePool.cpp.
inline constexpr profile libtorch{
    .label = "libtorch",
    .date = 202508,
    .norm = {.names_scaled = true},
    .attention = {.expands_kv = kv_expansion::if_padded, .masks = sdpa_masks::boolean},
    .adapters = {.embeddings_need_gradient = input_gradient::if_checkpointed},
    .quantised = {.upcasts_rest = true},
    .precision = precisions::bf16,
};

/// … with transformers 5 (2026-01-26): routed experts are two parameters and two grouped products (integrations/moe.py, grouped_mm_experts_forward;
/// modeling_utils.py get_correct_experts_implementation: "grouped_mm" where nothing is said).
inline constexpr profile libtorch_202601 = [] {
  profile p = libtorch;
  p.date = 202601;
  p.experts.gemm = expert_gemm::sorted_mm;
  return p;
}();
/// … 5.16 (2026-08) and 5.17: as of hf_trainer.hpp.
inline constexpr profile libtorch_202608 = [] {
  profile p = libtorch_202601;
  p.date = 202608;
  return p;
}();
inline constexpr profile libtorch_202609 = [] {
  profile p = libtorch_202601;
  p.date = 202609;
  return p;
}();

/// … before transformers 4.45: logits are made fp32 by the model, a shifted copy goes into the loss; torch below 2.1 makes two
/// parameter-sized temporaries in a foreach Adam step; key and value heads are always repeated.
inline constexpr profile libtorch_2023 = [] {
  profile p = of_transformers(libtorch, 202301);
  p.attention.expands_kv = kv_expansion::always;
  p.loss.style = loss_style::upcast_shifted;
  p.loss.shifts_logits = true;
  p.optimizer.foreach_copies = 2;
  p.attention.first_flash_kernels = true;
  return p;
}();

/// The C++ front end (LibTorch 1.13): gradients are filled with zeros and stay, the caller holds the logits, position numbers
/// and a causal mask are buffers; the loop of torch::optim::AdamW makes two temporaries of one tensor.
inline constexpr profile libtorch_cpp{
    .label = "libtorch-cpp",
    .date = 202210,
    .autograd = {.mean_keeps_input = true, .sums_out_of_place = true, .names_inputs = false},
    .attention = {.copies_heads = true, .fills_masked_scores = true},
    .rotary = {.tables = rope_tables::buffers_beside_mask},
    .mlp = {.both_first = true},
    .loss = {.style = loss_style::plain, .outputs = output_lifetime::through_backward, .lives = loss_lifetime::through_backward},
    .adapters = {.embeddings_need_gradient = input_gradient::if_checkpointed},
    .checkpointing = {.reentrant = true},
    .gradients = {.stay = true},
    .optimizer = {.how = implementation::loop, .loop_keeps_previous = false},
    .loading = {.on_host = false},
    .precision = precisions::fp32,
};

}  // namespace headroom::frameworks
