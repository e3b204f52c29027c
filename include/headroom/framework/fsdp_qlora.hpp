// Distributed under the Boost Software License, Version 1.0.
// fsdp_qlora (Answer.AI): FSDP1 over a frozen, quantised base.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: fsdp_qlora train.py (get_wrapping_policy, fsdp_main: `output` is named until the step is over; each weight is
/// quantised as it is loaded, on the GPU, and kept on the first rank's host); transformers 4.38 modeling_llama.py
/// (LlamaSdpaAttention repeats keys and values, LlamaForCausalLM makes its logits fp32 and shifts them); peft 0.9
/// tuners/lora/bnb.py; bitsandbytes 0.43.0 autograd/_functions.py; torch 2.2 distributed/fsdp.
inline constexpr profile fsdp_qlora{
    .label = "fsdp-qlora",
    .date = 202403,
    .attention = {.expands_kv = kv_expansion::always},
    .rotary = {.tables = rope_tables::in_each_layer},
    .loss = {.style = loss_style::upcast_shifted, .shifts_logits = true, .outputs = output_lifetime::through_backward},
    .adapters = {.embeddings_need_gradient = input_gradient::if_checkpointed},
    .quantised = {.keeps_input = true},
    .checkpointing = {.reentrant = true, .all_or_none = true},
    .sharding = {.kinds = one_of(sharding_kind::ddp, sharding_kind::fsdp1), .no_others = true, .wraps_adapters = true, .wraps_on_gpu = true},
    .loading = {.on_host = false},
    .precision = precisions::bf16,
};

}  // namespace headroom::frameworks
