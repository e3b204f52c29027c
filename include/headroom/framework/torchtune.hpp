// Distributed under the Boost Software License, Version 1.0.
// torchtune: recipes over PyTorch's own modules, each layer compiled or not.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: torchtune modules/rms_norm.py, attention.py, position_embeddings.py, transformer.py (the model makes its logits fp32),
/// recipes/full_finetune_single_device.py _loss_step (the logits go before backward), utils/_distributed.py lora_fsdp_wrap_policy at
/// ff594c2 (2024-04-15); torchao dtypes/nf4tensor.py. No temporaries of a foreach update are counted: with them the 3B row with
/// activation checkpointing of the README's table (1814feb) would take 32 GB instead of 26.7. FSDP2 in recipes/dev since 71741dfa (2024-06-03), in all since 2024-09.
inline constexpr profile torchtune_202401{
    .label = "torchtune",
    .date = 202401,
    .recipes_change = true,
    .norm = {.style = norm_style::cast_before_weight},
    .attention = {.expands_kv = kv_expansion::always, .packs_documents = true},
    .rotary = {.style = rope_style::pairs_stacked, .tables = rope_tables::cached_whole},
    .loss = {.style = loss_style::chunked_in_loss, .chunks = 0},
    .adapters = {.by_target = true},
    .quantised = {.dequantises = dequantisation::through_indices, .leaves_tied_head = true},
    .checkpointing = {.all_or_none = true},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::fsdp1, sharding_kind::fsdp2), .no_others = true, .wraps_adapters = true, .wraps_on_gpu = true},
    .optimizer = {.foreach_copies = 0},
    .loading = {.on_host = true},
    .precision = precisions::bf16,
};

/// Head and loss in eight chunks (4fba6cd4, 2024-08-28), layers and loss compiled one by one (c169bcdd, 2024-09-07; training/_compile.py),
/// attention over documents by a block mask (8451b0df, 2024-09-10), expandable segments (pull request 1309, 2024-08). That inductor writes the targets out is inferred from the README's
/// row with `compile`, and that an 8-bit update makes two fp32 copies from its row with AdamW8bit.
inline constexpr profile torchtune_202409 = [] {
  profile p = torchtune_202401;
  p.date = 202409;
  p.compile.layers = true;
  p.compile.loss = true;
  p.compile.scatters_loss_gradient = true;
  p.loss.chunks = 8;
  p.optimizer.int8_copies = 3;
  p.process.expandable_segments = true;
  p.sharding.kinds = one_of(sharding_kind::none, sharding_kind::fsdp2);
  p.quantised.divides_statistics = true;
  return p;
}();

}  // namespace headroom::frameworks
