// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's command-line arguments by what they do to a step: those that switch one thing, those that a neutral key of the job says too,
// and those that are not modelled (megatron/training/arguments.py). Those that change nothing: io/options/megatron_harmless.hpp.
#pragma once

#include <headroom/framework/profile.hpp>

#include <array>
#include <string_view>

namespace headroom::io::detail {

/// Arguments that switch one thing of the profile on or off.
struct megatron_switch {
  const char* option;
  bool& (*of)(profile&);
  bool sets;
};
inline constexpr megatron_switch megatron_switches[] = {
    {"no-gradient-accumulation-fusion", [](profile& f) -> bool& { return f.gradients.fused_accumulation; }, false},
    {"no-async-tensor-model-parallel-allreduce", [](profile& f) -> bool& { return f.communication.overlaps_input_gradients; }, false},
    {"deterministic-mode", [](profile& f) -> bool& { return f.attention.deterministic; }, true},
    {"no-create-attention-mask-in-dataloader", [](profile& f) -> bool& { return f.attention.masks_in_loader; }, false},
    {"create-attention-mask-in-dataloader", [](profile& f) -> bool& { return f.attention.masks_in_loader; }, true},
    {"moe-pad-expert-input-to-capacity", [](profile& f) -> bool& { return f.experts.pads_to_capacity; }, true},
    {"moe-permute-fusion", [](profile& f) -> bool& { return f.experts.fuses_permutation; }, true},
    {"moe-shared-expert-overlap", [](profile& f) -> bool& { return f.experts.overlaps_shared; }, true},
    {"overlap-grad-reduce", [](profile& f) -> bool& { return f.communication.overlaps_gradients; }, true},
    {"overlap-param-gather", [](profile& f) -> bool& { return f.communication.overlaps_parameters; }, true},
    {"overlap-p2p-communication-warmup-flush", [](profile& f) -> bool& { return f.pipeline.overlaps_warm_up; }, true},
    {"no-rope-fusion", [](profile& f) -> bool& { return f.rotary.writes_out; }, true},
    {"no-bias-swiglu-fusion", [](profile& f) -> bool& { return f.mlp.writes_out_glu; }, true},
    {"first-last-layers-bf16", [](profile& f) -> bool& { return f.fp8.ends_in_bf16; }, true},
    {"no-pipeline-parallel", [](profile& f) -> bool& { return f.pipeline.none; }, true},
    {"overlap-moe-expert-parallel-comm", [](profile& f) -> bool& { return f.pipeline.overlaps_experts; }, true},
};

/// Arguments that apply_megatron_options reads besides those.
inline constexpr auto megatron_options_read = std::to_array<std::string_view>({
    "async-save", "use-persistent-ckpt-worker", "transformer-impl", "spec", "encoder-pipeline-model-parallel-size", "encoder-tensor-model-parallel-size", "no-use-layer-wise-param-layout", "use-precision-aware-optimizer", "grad-reduce-in-bf16", "main-grads-dtype",
    "main-params-dtype", "fp8-format", "fp8-recipe", "fp8-param-gather", "fp4-format", "fp4-recipe", "exp-avg-dtype", "exp-avg-sq-dtype", "use-megatron-fsdp", "use-custom-fsdp",
    "data-parallel-sharding-strategy", "outer-dp-sharding-strategy", "suggested-communication-unit-size", "fsdp-double-buffer", "use-nccl-ub",
    "megatron-fsdp-main-params-dtype", "megatron-fsdp-main-grads-dtype", "megatron-fsdp-grad-comm-dtype", "tp-comm-overlap",
    "cross-entropy-fusion-impl", "cross-entropy-loss-fusion", "moe-expert-capacity-factor", "moe-grouped-gemm", "moe-enable-deepep",
    "moe-token-dispatcher-type", "moe-flex-dispatcher-backend", "moe-router-dtype", "cp-comm-type",
    "microbatch-group-size-per-virtual-pipeline-stage", "defer-embedding-wgrad-compute", "wgrad-deferral-limit", "fine-grained-activation-offloading",
    "offload-modules", "cuda-graph-impl", "cuda-graph-scope", "cuda-graph-modules", "cuda-graph-warmup-steps",
});

/// Arguments that a neutral key says as well. The op fuser saves what the modules do: each linear layer's input, the activation's input
/// (TransformerEngine ops/basic).
inline constexpr auto megatron_neutral = std::to_array<std::string_view>({
    "accumulate-allreduce-grads-in-fp32", "attention-backend", "attention-dropout", "bf16", "fp16", "context-parallel-size",
    "decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers", "disable-bias-linear", "expert-model-parallel-size",
    "expert-tensor-parallel-size", "ffn-hidden-size", "global-batch-size", "group-query-attention", "hidden-dropout", "hidden-size", "kv-channels",
    "kv-lora-rank", "make-vocab-size-divisible-by", "max-position-embeddings", "micro-batch-size", "moe-ffn-hidden-size", "moe-layer-freq",
    "moe-router-enable-expert-bias", "moe-router-topk", "moe-shared-expert-intermediate-size", "mtp-num-layers", "multi-latent-attention",
    "normalization", "num-attention-heads", "num-distributed-optimizer-instances", "num-experts", "num-layers",
    "num-layers-per-virtual-pipeline-stage", "num-query-groups", "num-virtual-stages-per-pipeline-rank", "optimizer",
    "pipeline-model-parallel-layout", "pipeline-model-parallel-size", "position-embedding-type", "q-lora-rank", "qk-head-dim", "qk-layernorm",
    "qk-pos-emb-head-dim", "recompute-granularity", "recompute-method", "recompute-modules", "recompute-num-layers", "rotary-percent", "seq-length",
    "sequence-parallel", "squared-relu", "swiglu", "tensor-model-parallel-size", "tokenizer-type", "untie-embeddings-and-output-weights",
    "use-distributed-optimizer", "use-flash-attn", "use-rotary-position-embeddings", "v-head-dim", "vocab-size", "use-transformer-engine-op-fuser",
    "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split", "hierarchical-context-parallel-sizes", "add-qkv-bias",
    "no-position-embedding", "recompute-activations", "padded-vocab-size",
});

/// Arguments that a job file may state because its run was started with them, and of which its other keys say what they do. A launch that has
/// them is looked at more closely (io/launchers/megatron/rules.hpp).
inline constexpr auto megatron_stated = std::to_array<std::string_view>({
    "bert-no-binary-head", "decoder-num-layers", "decoder-seq-length", "encoder-num-layers", "encoder-seq-length", "hybrid-layer-pattern", "hybrid-override-pattern", "is-hybrid-model",
    "training-script", "vocab-extra-ids", "dataloader-seq-length", "disable-vision-class-token", "use-packed-sequence",
    "apply-query-key-layer-scaling", "async-ckpt-use-cpu-shm", "attention-softmax-in-fp32", "distributed-backend",
    "empty-unused-memory-level", "log-params-norm", "no-masked-softmax-fusion", "step-batch-size-schedule", "tp-comm-overlap-cfg",
    "use-checkpoint-args", "use-tp-pp-dp-mapping",
});

/// Arguments whose effect on memory this version does not model.
inline constexpr auto megatron_unmodelled = std::to_array<std::string_view>({
    "activation-offload-fraction", "delta-offload-bytes-across-pp-ranks", "min-offloaded-tensor-size",
    "init-model-with-meta-device", "keep-fp8-transpose-cache", "megatron-fsdp-version",
    "megatron-fsdp-max-pool-double-buffer", "fsdp-db-use-persist-buf-on-alloc-fail", "ddp-bucket-size", "ddp-num-buckets",
    "cpu-offloading", "cpu-offloading-num-layers", "delay-wgrad-compute", "experimental-attention-variant", "moe-latent-size",
    "moe-layer-recompute", "mtp-use-repeated-layer", "no-overlap-p2p-communication", "optimizer-cpu-offload",
    "optimizer-offload-fraction", "softmax-type", "use-mup", "use-torch-fsdp2", "window-size",
});

}  // namespace headroom::io::detail
