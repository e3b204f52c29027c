// Distributed under the Boost Software License, Version 1.0.
// A plain training loop over eager PyTorch modules: nothing but autograd, the optimizer and the caching allocator.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// transformers' models in a loop of one's own. Sources: transformers models/llama/modeling_llama.py (norms, eager attention),
/// loss/loss_utils.py ForCausalLMLoss; torch/optim/adamw.py; aten/src/ATen/cuda/CublasHandlePool.cpp.
inline constexpr profile libtorch{
    .label = "libtorch",
    .date = 202410,
    .attention = {.expands_kv = kv_expansion::if_padded, .masks_windows = true},
    .adapters = {.embeddings_need_gradient = input_gradient::if_checkpointed},
    .quantised = {.upcasts_rest = true},
    .precision = precisions::bf16,
};

/// … before transformers 4.45: logits are made fp32 by the model, a shifted copy goes into the loss; torch below 2.1 makes two
/// parameter-sized temporaries in a foreach Adam step; key and value heads are always repeated.
inline constexpr profile libtorch_2023 = [] {
  profile p = libtorch;
  p.date = 202301;
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
    .autograd = {.mean_keeps_input = true, .sums_out_of_place = true},
    .attention = {.copies_heads = true, .fills_masked_scores = true},
    .rotary = {.tables = rope_tables::buffers_beside_mask},
    .loss = {.style = loss_style::plain, .outputs = output_lifetime::through_backward, .lives = loss_lifetime::through_backward},
    .adapters = {.embeddings_need_gradient = input_gradient::if_checkpointed},
    .checkpointing = {.reentrant = true},
    .gradients = {.stay = true},
    .optimizer = {.how = implementation::loop, .loop_keeps_previous = false},
    .loading = {.on_host = false},
    .precision = precisions::fp32,
};

}  // namespace headroom::frameworks
