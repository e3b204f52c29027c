// Distributed under the Boost Software License, Version 1.0.
// Hugging Face Trainer with DeepSpeed. ZeRO itself is in sharding/windows.hpp and states/states.hpp.
#pragma once

#include <headroom/framework/hf_trainer.hpp>

namespace headroom::frameworks {

/// Sources: deepspeed runtime/engine.py, runtime/zero/config.py, runtime/bf16_optimizer.py. A 16-bit engine halves the model, so
/// nothing is autocast; its FusedAdam makes no temporaries.
constexpr profile over_deepspeed(profile p) {
  p.label = "deepspeed";
  p.lengths = micro_batch_lengths::of_longest_sample_with_adapters;  // those who train all parameters mostly pack
  p.optimizer.how = implementation::fused;
  p.quantised.upcasts_rest = false;
  p.autocast.over_16bit = false;
  p.autocast.converts_outputs = false;
  p.adapters.in_fp32 = false;
  p.sharding.bf16_optimizer = true;
  p.precision = precisions::bf16_mixed;
  p.sharding.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::zero);
  return p;
}
inline constexpr profile deepspeed_202410 = over_deepspeed(hf_trainer_202410);
inline constexpr profile deepspeed_202508 = over_deepspeed(hf_trainer_202508);
/// … with transformers 5.
inline constexpr profile deepspeed_202601 = over_deepspeed(hf_trainer_202601);
/// … 5.16, and 5.17.
inline constexpr profile deepspeed_202608 = over_deepspeed(hf_trainer_202608);
inline constexpr profile deepspeed = over_deepspeed(hf_trainer);
inline constexpr profile deepspeed_2023 = [] {
  profile p = over_deepspeed(hf_trainer_2023);
  p.loading.steps_at_once = true;
  return p;
}();

}  // namespace headroom::frameworks
