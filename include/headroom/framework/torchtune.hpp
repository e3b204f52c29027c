// Distributed under the Boost Software License, Version 1.0.
// torchtune: recipes over PyTorch's own modules, each layer compiled or not.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: torchtune modules/rms_norm.py, attention.py, position_embeddings.py, transformer.py (the model makes its logits fp32),
/// recipes/full_finetune_single_device.py _loss_step (the logits go before backward), utils/_distributed.py lora_fsdp_wrap_policy at
/// ff594c2 (2024-04-15); torchao dtypes/nf4tensor.py. No temporaries of a foreach update are counted: with them the 3B row with
/// activation checkpointing of the README's table (1814feb) would take 32 GB instead of 26.7.
inline constexpr profile torchtune_202401{
    .label = "torchtune",
    .date = 202401,
    .recipes_change = true,
    .norm = norm_style::cast_before_weight,
    .expands_kv = true,
    .rotates_pairs = true,
    .loss = loss_style::chunked_in_loss,
    .loss_chunks = 0,
    .dequantises_through_indices = true,
    .wraps_adapters = true,
    .wraps_on_gpu = true,
    .foreach_copies = 0,
    .rotary_cache = true,
    .rotary_cache_whole = true,
    .packs_documents = true,
    .loads_on_host = true,
    .precision = precisions::bf16,
    .shardings = one_of(sharding_kind::none, sharding_kind::fsdp1),
    .checkpoints_all = true,
};

/// Head and loss in eight chunks (4fba6cd4, 2024-08-28), layers and loss compiled one by one (c169bcdd, 2024-09-07; training/_compile.py),
/// attention over documents by a block mask (8451b0df, 2024-09-10), expandable segments (pull request 1309, 2024-08). That inductor writes the targets out is inferred from the README's
/// row with `compile`, and that an 8-bit update makes two fp32 copies from its row with AdamW8bit.
inline constexpr profile torchtune_202409 = [] {
  profile p = torchtune_202401;
  p.date = 202409;
  p.compiles_layers = true;
  p.compiles_loss = true;
  p.scatters_loss_gradient = true;
  p.loss_chunks = 8;
  p.int8_copies = 3;
  p.expandable_segments = true;
  p.shardings = one_of(sharding_kind::none, sharding_kind::fsdp2);
  return p;
}();

}  // namespace headroom::frameworks
