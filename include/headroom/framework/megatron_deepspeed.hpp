// Distributed under the Boost Software License, Version 1.0.
// Megatron-DeepSpeed: Megatron-LM's own layers, tensor-parallel, under DeepSpeed's pipeline and optimizers.
#pragma once

#include <headroom/framework/megatron.hpp>

namespace headroom::frameworks {

/// Sources: deepspeedai/Megatron-DeepSpeed megatron/model/{gpt_model,transformer}.py at 4efb479d, forked from Megatron-LM of 2023-05;
/// deepspeed runtime/pipe/engine.py; see engine/tensor_parallel/deepspeed_states.hpp for the mechanisms. Its precision is fp16, as
/// DeepSpeed's configuration says; with bf16 a job says whether gradients are added up in fp32.
inline constexpr profile megatron_deepspeed = [] {
  profile p = megatron_2023;
  p.label = "megatron-deepspeed";
  p.date = 202305;
  p.modules.kind = layer_modules::megatron_deepspeed;
  p.sharding.kinds = one_of(sharding_kind::zero);
  p.gradients.fused_accumulation = false;
  p.pipeline.keeps_tensors = false;  // DeepSpeed's engine has variables of its own
  p.precision = precisions::fp16_mixed;
  return p;
}();

/// BLOOM's fork, of Megatron-LM of 2021-07 (bigscience-workshop/Megatron-DeepSpeed 8387ae17).
inline constexpr profile megatron_deepspeed_2022 = [] {
  profile p = megatron_deepspeed;
  p.date = 202107;
  p.communication.overlaps_input_gradients = false;
  p.process.loads_all_kernels = true;  // over torch before 1.13
  return p;
}();

}  // namespace headroom::frameworks
