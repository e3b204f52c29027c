// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's second trainer (USE_V1), a loop of its own over transformers' models; its first is transformers' Trainer.
#pragma once

#include <headroom/framework/libtorch.hpp>

namespace headroom::frameworks {

/// Sources (hiyouga/LLaMA-Factory ff6d4d12 of 2026-08-18, src/llamafactory/v1): core/base_trainer.py (torch.optim.AdamW, checkpoints that do not re-enter, a
/// loss beside the model's own), core/model_engine.py (device_map names each rank's GPU; what trains whole is made fp32 there), core/utils/collation.py (samples padded to the longest),
/// plugins/trainer_plugins/distributed/fsdp2.py (units; formats are FSDP2's, nothing is autocast; an untied embedding is a unit, final norm and head lie in the root's).
inline constexpr profile llama_factory_v1 = [] {
  profile p = libtorch;
  p.label = "llama-factory-v1";
  p.date = 202608;
  p.lengths = micro_batch_lengths::of_longest_sample;
  p.attention.packs_by_kernel = true;
  p.loss.style = loss_style::beside_own;
  p.experts.gemm = expert_gemm::sorted_mm;
  p.sharding.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::fsdp2);
  p.sharding.no_others = true;
  p.sharding.root = root_units::embedding_apart;
  p.sharding.reshards_root = true;
  p.checkpointing.all_or_none = true;
  p.loading.on_host = false;
  p.loading.whole_on_gpu = true;
  p.precision = precisions::fp32;
  return p;
}();

}  // namespace headroom::frameworks
