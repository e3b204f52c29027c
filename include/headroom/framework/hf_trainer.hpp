// Distributed under the Boost Software License, Version 1.0.
// Hugging Face Trainer and accelerate: one GPU, DDP or FSDP.
#pragma once

#include <headroom/framework/libtorch.hpp>

namespace headroom::frameworks {

/// Sources: transformers trainer.py, training_args.py (optim: adamw_torch_fused where torch is 2.8 or newer), accelerate
/// accelerator.py prepare_model (autocast, convert_outputs_to_fp32), peft utils/other.py prepare_model_for_kbit_training.
constexpr profile over_trainer(profile p) {
  p.label = "hf-trainer";
  p.reentrant_checkpoint = true;
  p.precision = precisions::bf16_autocast;
  return p;
}
inline constexpr profile hf_trainer = over_trainer(libtorch);
inline constexpr profile hf_trainer_2023 = over_trainer(libtorch_2023);

}  // namespace headroom::frameworks
