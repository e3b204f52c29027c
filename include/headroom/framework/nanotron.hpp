// Distributed under the Boost Software License, Version 1.0.
// nanotron: eager layers under tensor and sequence parallelism, 1F1B pipelines, ZeRO's first stage, gradients added up in fp32.
#pragma once

#include <headroom/framework/profile.hpp>

namespace headroom::frameworks {

/// Sources: huggingface/nanotron src/nanotron/models/llama.py, optim/{gradient_accumulator,zero}.py, parallel/tensor_parallel/functional.py,
/// parallel/pipeline_parallel/engine.py, models/base.py build_model at 67c5ebb6 (2024-12-27); see block/nanotron.hpp and
/// engine/tensor_parallel/nanotron_states.hpp for the mechanisms. Inputs that were gathered are gathered again in backward since 2024-07-17
/// (1e02a9ce, tp_recompute_allgather). Whether communication is asynchronous
/// (tp_linear_async_communication) a job's options say: by default it is not.
inline constexpr profile nanotron{
    .label = "nanotron",
    .date = 202407,
    .modules = {.kind = layer_modules::nanotron},
    .norm = {.style = norm_style::fused},
    .attention = {.qkv = qkv_projection::fused},
    .mlp = {.writes_out_glu = true},
    .loss = {.style = loss_style::upcast_in_loss, .copies_scaled_logits = true},
    .sharding = {.kinds = one_of(sharding_kind::none, sharding_kind::ddp, sharding_kind::zero)},
    .gradients = {.stay_in_micro_batch = true},
    .optimizer = {.how = implementation::fused},
    .pipeline = {.split = layer_split::by_cost, .keeps_tensors = false},
    .loading = {.on_host = false},
    .precision = {"bf16-mixed", formats::bf16, formats::bf16, formats::fp32, formats::fp32, formats::fp32, formats::fp32},
};

/// The branch of its benchmarks (nouamane/bench2, 67c5ebb6): a stage asks every 0.1 s whether a message about the next tensor has arrived
/// (parallel/pipeline_parallel/p2p.py _send_meta, _recv_meta).
inline constexpr profile nanotron_bench2 = [] {
  profile p = nanotron;
  p.pipeline.polls_messages = true;
  return p;
}();

}  // namespace headroom::frameworks
