// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments that a launch may have with some values, or beside some others, and those that are not modelled
// (d98e8a64dd of 2026-08-22, and every older version; io/options/megatron_harmless.hpp has those that change nothing).
#pragma once

#include <headroom/io/syntax/passed_keys.hpp>

namespace headroom::io::detail {

/// Arguments of which these values change nothing.
inline constexpr auto megatron_passed = std::to_array<passed_key>({
    {"DDP-impl", "local"}, {"cpu-offloading-num-layers", "0"}, {"distrib-opt-comm-mem-savings", "0"}, {"distributed-backend", "nccl"},
    {"encoder-pipeline-model-parallel-size", "0"}, {"encoder-tensor-model-parallel-size", "0"}, {"export-draft-vocab-size", "0"},
    {"export-eagle-algorithm", "0"}, {"export-freeze-mtp", "0"}, {"export-kd-finalize", "0"}, {"export-model-type", "GPTModel"}, {"export-num-eagle-layers", "0"},
    {"export-num-medusa-heads", "0"}, {"export-num-mtp", "0"}, {"hybrid-attention-ratio", "0"}, {"hybrid-mlp-ratio", "0"}, {"load-model-opt-format", "0"},
    {"megatron-fsdp-version", "1"}, {"mlp-chunks-for-training", "1"}, {"moe-combine-bwd-dtype", "bf16"}, {"moe-deepep-num-sms", ""},
    {"moe-dispatch-fwd-dtype", "bf16"}, {"moe-flex-dispatcher-num-sms", ""}, {"moe-hybridep-num-blocks-permute", ""}, {"moe-hybridep-num-blocks-unpermute", ""},
    {"moe-hybridep-num-sms", ""}, {"moe-hybridep-num-sms-preprocessing", "108"}, {"muon-fp32-matmul-prec", "medium"}, {"muon-num-ns-steps", "5"},
    {"muon-scalar-optimizer", "adam"}, {"muon-tp-mode", "duplicated"}, {"non-persistent-ckpt-type", "global"}, {"outer-dp-sharding-strategy", "no_shard"},
    {"pipeline-model-parallel-split-rank", "0"}, {"softmax-type", "vanilla"}, {"teacher-model-config", "0"}, {"vocab-extra-ids", "0"},
});

/// Arguments that change something only where one of others, between bars, is given.
struct megatron_dependent {
  std::string_view names, beside;
  std::string_view off{};  ///< the value that changes nothing even so
};
inline constexpr auto megatron_dependents = std::to_array<megatron_dependent>({
    {
        "disable-tp-comm-bulk-dgrad|disable-tp-comm-bulk-wgrad|disable-tp-comm-overlap-ag|disable-tp-comm-overlap-rs|disable-tp-comm-split-ag|"
        "disable-tp-comm-split-rs|no-tp-comm-bulk-dgrad|no-tp-comm-bulk-wgrad|no-tp-comm-overlap-ag|no-tp-comm-overlap-rs|no-tp-comm-split-ag|no-tp-comm-split-rs|"
        "tp-comm-bootstrap-backend|tp-comm-bulk-dgrad|tp-comm-bulk-wgrad|tp-comm-overlap-cfg|tp-comm-overlap-rs-dgrad|tp-comm-split-ag|tp-comm-split-rs",
        "tp-comm-overlap"},
    {
        "activation-offload-fraction|delay-offload-until-cuda-graph|delta-offload-bytes-across-pp-ranks|fine-grained-offloading-max-inflight-offloads|"
        "min-offloaded-tensor-size",
        "fine-grained-activation-offloading"},
    {
        "ddp-bucket-size|ddp-num-buckets",
        "overlap-grad-reduce"},
    {
        "disable-clone-scatter-output-in-embedding|no-clone-scatter-output-in-embedding",
        "sequence-parallel"},
    {
        "num-layers-at-end-in-bf16|num-layers-at-start-in-bf16",
        "first-last-layers-bf16", "1"},
    {
        "async-ckpt-use-cpu-shm",
        "async-save"},
    {
        "no-overlap-p2p-communication",
        "num-layers-per-virtual-pipeline-stage|num-virtual-stages-per-pipeline-rank|pipeline-model-parallel-layout"},
});

/// Arguments that change what a step allocates or how long it takes, in ways that are not modelled.
inline constexpr std::string_view megatron_refused =
    "activation-func-clamp-value|apply-residual-connection-post-layernorm|attention-output-gate|batch-invariant-mode|batch-size|create-all-gather-group|"
    "dataloader-inter-document-masking|ddp-pad-buckets-for-high-nccl-busbw|ddp-param-name-patterns-for-fp32-local-accumulation|"
    "ddp-reduce-scatter-with-fp32-accumulation|deallocate-pipeline-outputs|decoder-num-layers|decoder-seq-length|decrease-batch-size-if-needed|delay-wgrad-compute|"
    "disable-bf16-reduced-precision-matmul|disable-fp8-wgrad|disable-jit-fuser|disable-pad-vocab-size|disable-symmetric-registration|distill-only|distillation|"
    "distribute-checkpointed-activations|distribute-saved-activations|embedding-weights-in-fp32|enable-full-sharding-in-hsdp|enable-gpt-oss|enable-mhc-connections|"
    "enable-router|encoder-num-layers|encoder-seq-length|ep-overlap-early-attn-memory-release|experimental-attention-variant|expert-parallel|"
    "expert-tensor-parallel-num-weight-shards|export-default-te-spec|export-force-local-attention|export-kd-cfg|export-kd-teacher-ckpt-format|export-kd-teacher-load|"
    "export-kd-teacher-model-config|export-kv-cache-quant|export-moe-apply-probs-on-input|export-offline-model|export-qk-l2-norm|export-quant-cfg|"
    "export-real-quant-cfg|export-te-mcore-model|fake-process-group|flash-attention-version|flextron|fp16-lm-cross-entropy|fp32-allreduce|fp32-embedding|"
    "fp32-layernorm|fp32-residual-connection|fp32-tokentypes|fp4-param-gather|fp4-quantizer-factory|fp8-output-proj|fp8-quantizer-factory|"
    "freeze-all-layers|freeze-base-for-mtp|fsdp-db-use-persist-buf-on-alloc-fail|fused-residual-rmsnorm|gtp-expert-remat-nccl-ub|"
    "gtp-remat-nccl-ub|gtp-remat-opt-in-modules|gtp-remat-reduce-scatter-with-fp32-accumulation|heterogeneous-layers-config-encoded-json|"
    "heterogeneous-layers-config-path|high-priority-a2a-comm-stream|high-priority-stream-groups|hybrid-context-parallel|hybrid-layer-pattern|hybrid-override-pattern|"
    "init-model-with-meta-device|inprocess-active-world-size|is-hybrid-model|keep-fp8-transpose-cache|keep-fp8-transpose-cache-when-using-custom-fsdp|"
    "kitchen-config-file|kitchen-recipe-number|linear-attention-freq|log-max-attention-logit|logits-load-dir|logits-save-dir|logits-save-top-k|logits-save-top-p|"
    "mamba-training-ssm-states-dtype|max-seqlen-per-cp-rank|max-seqlen-per-dp-cp-rank|megatron-fsdp-enable-fine-grained-param-gather|"
    "megatron-fsdp-max-pool-double-buffer|mla-down-proj-fusion|model-parallel-size|model-spec|modelopt-enabled|moe-apply-probs-on-input|moe-enable-routing-replay|"
    "moe-expert-rank-capacity-factor|moe-hybridep-pad-uneven-dispatch-inputs|moe-input-jitter-eps|moe-latent-size|moe-layer-recompute|moe-mlp-glu-interleave-size|"
    "moe-ncclep-static-shape|moe-ncclep-use-symm-mem|moe-ncclep-zero-copy|moe-paged-stash|moe-permute-fusion-into-hybridep|moe-router-force-biased|"
    "moe-router-padding-for-fp8|moe-router-padding-for-quantization|moe-router-topk-limited-devices|moe-router-type|moe-routing-trace-capture-hidden-states|"
    "moe-routing-trace-capture-logits|moe-shared-expert-gate|moe-shared-expert-glu-interleave-size|moe-single-grouped-bias|"
    "moe-single-grouped-weight|moe-token-dropping|moe-use-grouped-tensor|moe-use-legacy-grouped-gemm|moe-use-upcycling|mrope-section|mtp-detach-heads|mtp-hsm|"
    "mtp-hybrid-override-pattern|mtp-standalone|mtp-use-repeated-layer|muon-use-syrk|nccl-communicator-config-path|no-contiguous-buffers-in-local-ddp|no-fp8-wgrad|"
    "no-pad-vocab-size|no-rope-freq|no-scatter-gather-tensors-in-pipeline|num-microbatches-in-minibatch|num-unique-layers|openai-gelu|"
    "optimizer-cuda-graph|output-logit-dtype|overlap-dispatch-backward-with-experts-wgrad|param-sharing-style|perform-rl-step|pipeline-model-parallel-comm-backend|"
    "qad-train-target|qk-clip|qk-l2-norm|quick-geglu|replication|replication-jump|reset-attention-mask|retro-add-retriever|retro-attention-gate|"
    "retro-cyclic-train-iters|retro-encoder-attention-dropout|retro-encoder-hidden-dropout|retro-encoder-layers|retro-no-verify-neighbor-count|retro-num-neighbors|"
    "retro-num-retrieved-chunks|retro-project-dir|retro-return-doc-ids|retro-workdir|reuse-grad-buf-for-mxfp8-param-ag|save-activations-interval|save-dgrads-interval|"
    "save-params-interval|save-wgrads-interval|scaled-masked-softmax-fusion|scaled-upper-triang-masked-softmax-fusion|sft|sharp-enabled-group|skip-train|spec|"
    "standalone-embed-stage|standalone-embedding-stage|te-precision-config-file|tensor-parallel-num-weight-shards|"
    "torch-fsdp2-no-reshard-after-forward|train-sync-interval|use-fused-weighted-squared-relu|use-grouped-gemm-for-dense-mlp|"
    "use-grouped-gemm-for-shared-expert|use-kitchen-attention|use-mp-args-from-checkpoint-args|use-mup|use-pipelining|use-ring-exchange-p2p|"
    "use-sharp|use-te-activation-func|use-torch-fsdp2|window-attn-skip-freq|window-size|yaml-cfg";

/// … and those of the forks over DeepSpeed, whose engine is another one.
inline constexpr std::string_view megatron_forks_refused =
    "checkpoint-granularity|checkpoint-in-cpu|checkpoint-method|contigious-checkpointing|cpu-optimizer|cpu_torch_adam|data-efficiency-curriculum-learning|deepspeed|"
    "deepspeed_config|disable-mem-efficient-ln|disable-moe-token-dropping|disable-moe-top2-2nd-expert-sampling|ds-inference|ds-sequence-parallel-fpdt|"
    "ds-sequence-parallel-fpdt-chunk-size|ds-sequence-parallel-fpdt-offloading|ds-sequence-parallel-size|embed-layernorm|enable-expert-tensor-parallelism|"
    "enable-zbh1-exact-semantics|enable-zbh1-pipeline|eval-only|expert-interval|force-ds-sequence-parallel|glu-activation|hidden-size-teacher|inference|kd|"
    "kd-alpha-ce|kd-beta-ce|kd-temp|load-teacher|log-optimizer-states-to-tensorboard|memory-centric-tiled-linear|mlp-type|model-parallel-memory-opt|"
    "moe-expert-parallel-size|moe-min-capacity|moe-train-capacity-factor|mos|no-pipeline-parallel|no-scaled-masked-softmax-fusion|num-attention-heads-teacher|"
    "num-experts-switch|num-experts-teacher|num-key-value-heads|num-layers-teacher|partition-activations|pp-partition-method|profile-backward|random-ltd|"
    "remote-device|scattered-embeddings|split-transformers|sync-tp-duplicated-parameters|synchronize-each-layer|tile-factor|topk|use-bnb-optimizer|"
    "use-flash-attn-builder|use-flash-attn-triton|use-flash-attn-v1|use-flash-attn-v2|use-pin-memory|use-tutel|zero-allgather-bucket-size|zero-contigious-gradients|"
    "zero-reduce-bucket-size|zero-reduce-scatter|zero-stage";

/// Arguments that have another name today. `value`: what a flag of old says now.
struct megatron_renamed {
  std::string_view before, now;
  std::string_view value{};
};
inline constexpr auto megatron_renames = std::to_array<megatron_renamed>({
    {"use-custom-fsdp", "use-megatron-fsdp"}, {"fp8-e4m3", "fp8-format", "e4m3"}, {"fp8-hybrid", "fp8-format", "hybrid"}, {"moe-frequency", "moe-layer-freq"},
    {"intra-layer-model-parallel-size", "tensor-model-parallel-size"}, {"inter-layer-model-parallel-size", "pipeline-model-parallel-size"},
    {"intermediate-size", "ffn-hidden-size"}, {"disable-async-tensor-model-parallel-allreduce", "no-async-tensor-model-parallel-allreduce"},
    {"enable-cuda-graph", "cuda-graph-impl", "local"}, {"external-cuda-graph", "cuda-graph-impl", "transformer_engine"}, {"pad-vocab-size-to", "padded-vocab-size"},
    // Every N layers were a checkpoint before 2021-08; then there were methods, until recomputing got its name on 2022-03.
    {"checkpoint-activations", "recompute-granularity", "full"}, {"checkpoint-num-layers", "recompute-num-layers"},
    {"activations-checkpoint-method", "recompute-method"}, {"activations-checkpoint-num-layers", "recompute-num-layers"},
});

/// Arguments that Megatron-LM no longer has, and the last month in which it had them: they say how old the program is. Only those before 2024-06
/// are here, as no profile changes later for their sake.
struct megatron_old_argument {
  std::string_view name, last;
};
inline constexpr auto megatron_old_arguments = std::to_array<megatron_old_argument>({
    {"bias-dropout-fusion", "2021-07"}, {"bias-gelu-fusion", "2021-07"}, {"checkpoint-activations", "2021-07"}, {"checkpoint-num-layers", "2021-07"},
    {"dataloader_type", "2021-07"}, {"inter-layer-model-parallel-size", "2021-07"}, {"intermediate-size", "2021-07"},
    {"intra-layer-model-parallel-size", "2021-07"}, {"log-zeros", "2021-07"}, {"min-scale", "2021-07"}, {"use-contiguous-buffers-in-ddp", "2021-07"},
    {"end-wd", "2022-01"}, {"start-wd", "2022-01"}, {"wd-incr-style", "2022-01"}, {"override-lr-scheduler", "2022-02"},
    {"use-checkpoint-lr-scheduler", "2022-02"}, {"activations-checkpoint-method", "2022-03"}, {"activations-checkpoint-num-layers", "2022-03"},
    {"distrib-opt-comm-mem-savings", "2022-03"}, {"fp8-e4m3", "2023-08"}, {"fp8-hybrid", "2023-08"}, {"DDP-impl", "2023-09"},
    {"data-impl", "2023-09"}, {"layernorm-epsilon", "2023-09"}, {"moe-frequency", "2023-09"}, {"mmap-warmup", "2023-10"},
    {"overlap-p2p-communication", "2023-10"}, {"tp-comm-bulk-dgrad", "2023-10"}, {"tp-comm-bulk-wgrad", "2023-10"}, {"tp-comm-split-ag", "2023-10"},
    {"tp-comm-split-rs", "2023-10"}, {"no-query-key-layer-scaling", "2023-11"}, {"bias-swiglu-fusion", "2024-01"},
    {"use-gpu-initialization", "2024-03"},
});

}  // namespace headroom::io::detail
