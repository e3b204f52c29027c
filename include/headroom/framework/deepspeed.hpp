// Distributed under the Boost Software License, Version 1.0.
// Hugging Face Trainer with DeepSpeed. ZeRO itself is in sharding/windows.hpp and states/states.hpp.
#pragma once

#include <headroom/framework/hf_trainer.hpp>

namespace headroom::frameworks {

/// Sources: deepspeed runtime/engine.py, runtime/zero/config.py, runtime/bf16_optimizer.py. A 16-bit engine halves the model, so
/// nothing is autocast; its FusedAdam makes no temporaries.
constexpr profile over_deepspeed(profile p) {
  p.label = "deepspeed";
  p.optimizer = implementation::fused;
  p.upcasts_frozen = false;
  p.autocasts_16bit = false;
  p.converts_outputs = false;
  p.adapters_in_fp32 = false;
  p.bf16_optimizer = true;
  p.precision = precisions::bf16_mixed;
  p.shardings = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::zero);
  return p;
}
inline constexpr profile deepspeed = [] {
  profile p = over_deepspeed(hf_trainer);
  p.date = 202410;
  return p;
}();
inline constexpr profile deepspeed_2023 = over_deepspeed(hf_trainer_2023);

}  // namespace headroom::frameworks
