// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's command-line arguments by what they do to a step: those that switch one thing, those that a neutral key of the job says too,
// those that change no memory, and those that are not modelled (megatron/training/arguments.py).
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
    {"no-create-attention-mask-in-dataloader", [](profile& f) -> bool& { return f.attention.masks_in_loader; }, false},
    {"moe-pad-expert-input-to-capacity", [](profile& f) -> bool& { return f.experts.pads_to_capacity; }, true},
    {"overlap-grad-reduce", [](profile& f) -> bool& { return f.communication.overlaps_gradients; }, true},
    {"overlap-param-gather", [](profile& f) -> bool& { return f.communication.overlaps_parameters; }, true},
    {"overlap-p2p-communication-warmup-flush", [](profile& f) -> bool& { return f.pipeline.overlaps_warm_up; }, true},
    {"no-rope-fusion", [](profile& f) -> bool& { return f.rotary.writes_out; }, true},
    {"no-bias-swiglu-fusion", [](profile& f) -> bool& { return f.mlp.writes_out_glu; }, true},
    {"first-last-layers-bf16", [](profile& f) -> bool& { return f.fp8.ends_in_bf16; }, true},
    {"overlap-moe-expert-parallel-comm", [](profile& f) -> bool& { return f.pipeline.overlaps_experts; }, true},
};

/// Arguments that a neutral key says as well, or that change no byte of a step: read past.
inline constexpr auto megatron_silent = std::to_array<std::string_view>({
    "accumulate-allreduce-grads-in-fp32", "apply-layernorm-1p", "apply-query-key-layer-scaling", "attention-backend", "attention-dropout",
    "attention-softmax-in-fp32", "bf16", "calculate-per-token-loss", "clip-grad", "context-parallel-size", "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers", "deterministic-mode", "disable-bias-linear", "empty-unused-memory-level", "enable-experimental", "expert-model-parallel-size",
    "expert-tensor-parallel-size", "ffn-hidden-size", "global-batch-size", "group-query-attention", "hidden-dropout", "hidden-size",
    "kv-channels", "kv-lora-rank", "log-num-zeros-in-grad", "log-params-norm", "make-vocab-size-divisible-by", "manual-gc",
    "manual-gc-interval", "max-position-embeddings", "micro-batch-size", "mock-data", "moe-aux-loss-coeff",
    "moe-ffn-hidden-size", "moe-layer-freq", "moe-permute-fusion", "moe-router-bias-update-rate",
    "moe-router-enable-expert-bias", "moe-router-group-topk", "moe-router-load-balancing-type", "moe-router-num-groups",
    "moe-router-pre-softmax", "moe-router-score-function", "moe-router-topk", "moe-router-topk-scaling-factor",
    "moe-shared-expert-intermediate-size", "mscale", "mscale-all-dim", "mtp-loss-scaling-factor",
    "mtp-num-layers", "multi-latent-attention", "no-bias-dropout-fusion", "no-bias-gelu-fusion", "no-check-for-nan-in-loss-and-grad",
    "no-masked-softmax-fusion", "norm-epsilon", "normalization", "num-attention-heads",
    "num-distributed-optimizer-instances", "num-experts", "num-layers", "num-layers-per-virtual-pipeline-stage", "num-query-groups",
    "num-virtual-stages-per-pipeline-rank", "optimizer",
    "overlap-param-gather-with-optimizer-step", "pipeline-model-parallel-layout", "pipeline-model-parallel-size",
    "position-embedding-type", "q-lora-rank", "qk-head-dim", "qk-layernorm", "qk-pos-emb-head-dim", "rampup-batch-size",
    "recompute-granularity", "recompute-method", "recompute-modules", "recompute-num-layers", "rotary-base", "rotary-interleaved",
    "rotary-percent", "rotary-scaling-factor", "seq-length", "sequence-parallel", "squared-relu", "swiglu", "te-rng-tracker",
    "tensor-model-parallel-size", "tokenizer-type", "tp-comm-overlap-cfg", "untie-embeddings-and-output-weights",
    "use-distributed-optimizer", "use-flash-attn", "use-mcore-models", "use-tp-pp-dp-mapping", "v-head-dim", "vocab-size",
    "moe-router-fusion", "muon-extra-scale-factor", "muon-momentum", "muon-scale-mode",
    // The op fuser saves what the modules do: each linear layer's input, the activation's input (TransformerEngine ops/basic).
    "use-transformer-engine-op-fuser",
    "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split", "hierarchical-context-parallel-sizes",
});

/// Arguments that have nothing to do with what a step allocates: data, learning rate, logging, checkpoints.
inline constexpr auto megatron_elsewhere = std::to_array<std::string_view>({
    "adam-beta1", "adam-beta2", "adam-eps", "apply-wd-to-qk-layernorm", "async-ckpt-use-cpu-shm", "async-save", "check-weight-hash-across-dp-replicas-interval", "async-strategy", "auto-detect-ckpt-format",
    "ckpt-assume-constant-structure", "ckpt-format", "ckpt-fully-parallel-load", "ckpt-fully-parallel-save", "data-cache-path", "data-path", "dataloader-type",
    "ddp-average-in-collective", "decoupled-lr", "decoupled-min-lr", "disable-gloo-process-groups", "dist-ckpt-optim-fully-reshardable",
    "dist-ckpt-strictness", "distributed-backend", "distributed-timeout-minutes", "eval-global-batch-size", "eval-interval", "eval-iters",
    "exit-duration-in-mins", "exit-interval", "fim-data", "fim-rate", "fim-spm-rate", "finetune", "fp16", "fp8-amax-compute-algo",
    "fp8-amax-history-len", "fp8-interval", "fp8-margin", "init-method-std", "initial-loss-scale", "load", "log-interval",
    "log-memory-to-tensorboard", "log-progress", "log-throughput", "log-timers-to-tensorboard", "log-validation-ppl-to-tensorboard",
    "logging-level", "loss-scale", "lr", "lr-decay-iters", "lr-decay-samples", "lr-decay-style", "lr-warmup-fraction", "lr-warmup-init",
    "lr-warmup-iters", "lr-warmup-samples", "merge-file", "min-lr", "min-loss-scale", "moe-z-loss-coeff", "no-ckpt-fully-parallel-save",
    "no-load-optim", "no-load-rng", "no-mmap-bin-files", "no-persist-layer-norm", "no-save-optim", "no-save-rng", "num-workers",
    "overlap-p2p-communication", "override-opt-param-scheduler", "profile", "profile-ranks", "profile-step-end", "profile-step-start", "record-memory-history", "memory-snapshot-path", "rerun-mode", "save", "save-interval", "save-retain-interval", "seed",
    "split", "step-batch-size-schedule", "tensorboard-dir", "tensorboard-log-interval", "test-mode", "tiktoken-pattern", "timing-log-level",
    "timing-log-option", "tokenizer-model", "train-iters", "train-samples", "use-checkpoint-args", "use-checkpoint-opt_param-scheduler", "use-persistent-ckpt-worker",
    "use-rotary-position-embeddings", "verify-integrity", "vocab-file", "wandb-entity", "wandb-exp-name", "wandb-project", "wandb-save-dir",
    "weight-decay",
});

/// Arguments whose effect on memory this version does not model.
inline constexpr auto megatron_unmodelled = std::to_array<std::string_view>({
    "activation-offload-fraction", "delta-offload-bytes-across-pp-ranks", "min-offloaded-tensor-size",
    "init-model-with-meta-device", "keep-fp8-transpose-cache", "megatron-fsdp-version",
    "megatron-fsdp-max-pool-double-buffer", "fsdp-db-use-persist-buf-on-alloc-fail", "ddp-bucket-size", "ddp-num-buckets",
    "cpu-offloading", "cpu-offloading-num-layers", "delay-wgrad-compute", "experimental-attention-variant", "fp4-format", "moe-latent-size",
    "moe-layer-recompute", "moe-shared-expert-overlap", "mtp-use-repeated-layer", "no-overlap-p2p-communication", "optimizer-cpu-offload",
    "optimizer-offload-fraction", "softmax-type", "use-mup", "use-torch-fsdp2", "window-size",
});

}  // namespace headroom::io::detail
