// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments that change no tensor, no time and no shape of a step of pretrain_gpt.py: what its parser has on 2026-08-22
// (d98e8a64dd; megatron/training/arguments.py, the dataclasses behind it, post_training/ and elastification/arguments.py), what it had
// since 2019, and what its forks over DeepSpeed add (deepspeedai 4efb479d53, bigscience-workshop 8387ae17c4). Names stand between bars.
#pragma once

#include <array>
#include <string_view>

namespace headroom::io::detail {

/// Data, its files and splits; tokenizers, as far as they do not say how large a vocabulary is; where weights are drawn.
inline constexpr std::string_view megatron_data =
    "allow-ambiguous-pad-tokens|chat-template|data-args-path|data-cache-path|data-impl|data-path|dataloader-defer-npy-index-mmap|dataloader-fast-cache-load|"
    "dataloader-type|dataloader_type|disable-msc|disable-tokenizer-sentencepiece-ignore-extra-whitespaces|embedding-init-method-std|enable-msc|eod-mask-loss|fim-data|"
    "fim-eod-token|fim-fragment-rate|fim-middle-token|fim-no-prefix|fim-pad-token|fim-prefix-token|fim-rate|fim-split-sample|fim-spm-rate|fim-suffix-token|"
    "finetune-data-files|finetune-data-split|finetune-hf-dataset|init-method-std|init-method-xavier-uniform|iterations-to-skip|legacy-tokenizer|mask-prob|merge-file|"
    "mid-level-dataset-surplus|mmap-warmup|mock-data|no-initialization|no-mmap-bin-files|no-tokenizer-sentencepiece-ignore-extra-whitespaces|null-tokenizer-eod-id|"
    "null-tokenizer-pad-id|num-dataset-builder-threads|object-storage-cache-path|per-dataset-sequences-path|per-split-data-args-path|phase-transition-iterations|"
    "renormalize-blend-weights|reset-position-ids|s3-cache-path|sample-rate|sft-tokenizer-prompt-format|short-seq-prob|split|test-data-path|test-weighted-split-paths|"
    "test-weighted-split-paths-path|tiktoken-pattern|tiktoken-special-tokens|tokenizer-hf-include-special-tokens|tokenizer-hf-no-include-special-tokens|"
    "tokenizer-hf-no-use-fast|tokenizer-hf-use-fast|tokenizer-metadata|tokenizer-model|tokenizer-sentencepiece-legacy|train-data-path|train-weighted-split-paths|"
    "train-weighted-split-paths-path|trust-remote-code|use-cpu-initialization|use-gigatoken|use-gpu-initialization|valid-data-path|valid-weighted-split-paths|"
    "valid-weighted-split-paths-path|vocab-file";

/// Hyperparameters, schedules and how long a training is.
inline constexpr std::string_view megatron_schedules =
    "adam-beta1|adam-beta2|adam-eps|apply-wd-to-qk-layernorm|clip-grad|decoupled-lr|decoupled-min-lr|end-wd|end-weight-decay|eval-global-batch-size|hysteresis|"
    "initial-loss-scale|lion-beta1|lion-beta2|loss-scale|loss-scale-window|lr|lr-decay-iters|lr-decay-samples|lr-decay-style|lr-warmup-fraction|lr-warmup-init|"
    "lr-warmup-iters|lr-warmup-samples|lr-wsd-decay-iters|lr-wsd-decay-samples|lr-wsd-decay-style|min-loss-scale|min-lr|min-scale|moe-router-bias-update-rate|"
    "moe-router-quantile-balancing-ema|muon-coefficient-type|muon-extra-scale-factor|muon-momentum|muon-nesterov|muon-no-split-qkv|muon-scale-mode|muon-use-nesterov|"
    "mup-attn-scale-power|mup-base-head-dim|mup-base-hidden-size|mup-embedding-mult|mup-output-mult|mup-width-mult|no-weight-decay-cond-type|override-lr-scheduler|"
    "override-opt-param-scheduler|override-opt_param-scheduler|qk-clip-alpha|qk-clip-threshold|rampup-batch-size|start-wd|start-weight-decay|train-iters|"
    "train-samples|use-checkpoint-lr-scheduler|use-checkpoint-opt-param-scheduler|use-checkpoint-opt_param-scheduler|warmup|wd-incr-style|weight-decay|"
    "weight-decay-incr-style";

/// Checkpoints: where, when and in which format. A save in the background copies to the host what any save copies.
inline constexpr std::string_view megatron_checkpoints =
    "async-ckpt-cpu-priority|async-ckpt-io-priority|async-save|async-strategy|auto-detect-ckpt-format|check-weight-hash-across-dp-replicas-interval|"
    "ckpt-assume-constant-structure|ckpt-convert-format|ckpt-convert-save|ckpt-convert-update-legacy-dist-opt-format|ckpt-drop-redundant-extra-state|ckpt-format|"
    "ckpt-fully-parallel-load|ckpt-fully-parallel-load-exchange-algo|ckpt-fully-parallel-load-per-rank-objects|ckpt-fully-parallel-load-process-group|"
    "ckpt-fully-parallel-save|ckpt-fully-parallel-save-process-group|ckpt-pg-tensors-cache-create|ckpt-pg-tensors-cache-path|ckpt-step|"
    "disable-ckpt-fully-parallel-save|disable-ckpt-load-validate-sharding-integrity|disable-save-tokenizer-assets|disable-strict-fsdp-dtensor-load|"
    "disable-use-tokenizer-model-from-checkpoint-args|dist-ckpt-format|dist-ckpt-optim-fully-reshardable|dist-ckpt-save-pre-mcore-014|dist-ckpt-strictness|"
    "dist-ckpt-workers|distrib-optim-fully-reshardable-mem-efficient|exit-on-missing-checkpoint|export-legacy-megatron|finetune|load|load-main-params-from-ckpt|"
    "no-ckpt-fully-parallel-save|no-ckpt-load-validate-sharding-integrity|no-load-optim|no-load-rng|no-save-optim|no-save-rng|no-save-tokenizer-assets|"
    "no-strict-fsdp-dtensor-load|no-use-tokenizer-model-from-checkpoint-args|non-persistent-global-ckpt-dir|non-persistent-local-ckpt-algo|"
    "non-persistent-local-ckpt-dir|non-persistent-save-interval|override-ckpt-iteration|persistent-save-interval|pretrained-checkpoint|save|save-interval|"
    "save-retain-interval|save-tokens-per-expert-interval|use-dist-ckpt|verify-integrity";

/// Logging, profiling, evaluation, restarts, the order of collectives.
inline constexpr std::string_view megatron_control =
    "adlr-autoresume|adlr-autoresume-interval|align-param-gather|app-tag-run-name|app-tag-run-version|calc-ft-timeouts|check-for-large-grads|check-for-spiky-loss|"
    "config-logger-dir|data-parallel-random-init|delay-param-gather|disable-align-grad-reduce|disable-flight-recorder-dump-on-timeout|"
    "disable-flight-recorder-extra-dump-on-exec|disable-flight-recorder-include-only-active|disable-gloo-process-groups|disable-log-loss-scale-to-tensorboard|"
    "disable-manual-gc-eval|disable-straggler-on-startup|distributed-timeout-minutes|distributed-timeout-seconds-after-init|dump-param-to-param-group-map|"
    "enable-ft-package|enable-one-logger|error-injection-rate|error-injection-type|eval-interval|eval-iters|exit-duration-in-mins|exit-interval|exit-signal|"
    "exit-signal-handler|exit-signal-handler-for-dataloader|exit-signal-handler-for-training|flight-recorder-dump-path|flight-recorder-include-stack-trace|"
    "flight-recorder-trace-buffer-size|ft-num-warmup-iters|full-validation|gpu-sniff-test-interval|initialize-socket-comms|inprocess-barrier-timeout|"
    "inprocess-completion-timeout|inprocess-empty-cuda-cache|inprocess-granularity|inprocess-hard-timeout|inprocess-heartbeat-interval|inprocess-heartbeat-timeout|"
    "inprocess-last-call-wait|inprocess-max-iterations|inprocess-monitor-process-interval|inprocess-monitor-thread-interval|inprocess-progress-watchdog-interval|"
    "inprocess-restart|inprocess-soft-timeout|inprocess-termination-grace-time|lazy-mpu-init|local-rank|local_rank|log-batch-size-to-tensorboard|"
    "log-device-memory-used|log-energy|log-interval|log-memory-interval|log-memory-to-tensorboard|log-num-zeros-in-grad|log-progress|log-straggler|log-throughput|"
    "log-timers-to-tensorboard|log-validation-ppl-to-tensorboard|log-world-size-to-tensorboard|log-zeros|logging-level|manual-gc|manual-gc-interval|"
    "memory-snapshot-path|moe-per-layer-logging|moe-routing-trace-dump-weights|moe-routing-trace-max-training-iters|moe-routing-trace-path|multiple-validation-sets|"
    "no-align-grad-reduce|no-align-param-gather|no-barrier-with-level-1-timing|no-check-for-nan-in-loss-and-grad|no-delay-grad-reduce|"
    "no-flight-recorder-dump-on-timeout|no-flight-recorder-extra-dump-on-exec|no-flight-recorder-include-only-active|no-log-learnig-rate-to-tensorboard|"
    "no-log-loss-scale-to-tensorboard|no-manual-gc-eval|no-one-logger|num-workers|nvtx-ranges|one-logger-async|one-logger-entity|one-logger-project|"
    "one-logger-run-name|otel-enabled|otel-service-name|otel-span-groups|profile|profile-ranks|profile-step-end|profile-step-start|pytorch-profiler-collect-callstack|"
    "pytorch-profiler-collect-chakra|pytorch-profiler-collect-shapes|record-memory-history|record-shapes|rerun-mode|result-rejected-tracker-filename|"
    "run-workload-inspector-server|seed|start-eval-at-iter|straggler-ctrlr-port|straggler-minmax-count|te-rng-tracker|tensorboard-dir|tensorboard-log-interval|"
    "tensorboard-queue-size|test-mode|timing-log-level|timing-log-option|use-pytorch-profiler|validation-set-names|wandb-entity|wandb-exp-name|wandb-project|"
    "wandb-save-dir";

/// Scalars, and kernels that save the same tensors.
inline constexpr std::string_view megatron_scalars =
    "apply-layernorm-1p|bias-dropout-fusion|bias-gelu-fusion|bias-swiglu-fusion|calculate-per-token-loss|ddp-average-in-collective|dsa-indexer-k-norm-epsilon|"
    "enable-experimental|fp8-amax-compute-algo|fp8-amax-history-len|fp8-interval|fp8-margin|glu-linear-offset|layernorm-epsilon|mhc-init-gating-factor|"
    "moe-aux-loss-coeff|moe-extended-tp|moe-router-force-load-balancing|moe-router-fusion|moe-router-group-topk|moe-router-load-balancing-type|"
    "moe-router-num-groups|moe-router-pre-softmax|moe-router-score-function|moe-router-topk-scaling-factor|moe-token-drop-policy|moe-z-loss-coeff|mscale|"
    "mscale-all-dim|mtp-loss-scaling-factor|no-bias-dropout-fusion|no-bias-gelu-fusion|no-gradient-reduce-div-fusion|no-persist-layer-norm|no-query-key-layer-scaling|"
    "no-yarn-correction-range-round-to-int|norm-epsilon|overlap-p2p-communication|overlap-param-gather-with-optimizer-step|rope-scaling-factor|rope-type|rotary-base|"
    "rotary-interleaved|rotary-scaling-factor|rotary-seq-len-interpolation-factor|use-contiguous-buffers-in-ddp|use-mcore-models|use-rope-scaling|yarn-beta-fast|"
    "yarn-beta-slow|yarn-correction-range-round-to-int|yarn-original-max-position-embeddings";

/// Parts of what is switched on by an argument of its own, and stops the import with it: reinforcement learning, elastic models, layers of other kinds.
inline constexpr std::string_view megatron_parts =
    "fsdp-manual-registration|"  // use-nccl-ub, without which it is an error, switches it on as well (arguments.py)
    "add-skipping|basemodel-type|binary-mask|bpe-kv-cache|bpe-max-buffer|bpe-params|bpe-ssm-cache|budget-list|budget-probs|budget-type|"
    "cpu-offloading-retain-pinned-cpu-buffers|curr-iteration|disable-budget|disable-dsa-indexer-rotate-activation|disable-dsa-indexer-scoring-relu|"
    "disable-mamba-mem-eff-path|distill-coeff|dsa-indexer-head-dim|dsa-indexer-k-norm-fp32|dsa-indexer-loss-coeff|dsa-indexer-n-heads|dsa-indexer-rope-interleaved|"
    "dsa-indexer-skip-topk-offset|dsa-indexer-topk|dsa-indexer-topk-freq|dsa-indexer-use-sparse-loss|dsa-kernel-backend|emb-int-list|emb-per-list|flex-hetero-ffn|"
    "flex-hetero-mamba|flex-hetero-moe-expert|flex-strict|flextron-config-file|force-emb|force-mamba|force-mlp|force-router-skip|freeze-model|"
    "freeze-router|gdp-cutedsl-kernel|gdp-num-chunk-states-to-recompute|gdp-num-householder|grpo-clamp-eps-lower|grpo-clamp-eps-upper|grpo-default-temperature|"
    "grpo-default-top-p|grpo-entropy-term-weight|grpo-filter-groups-with-same-reward|grpo-group-size|grpo-iterations|grpo-kl-beta|grpo-prompts-per-step|"
    "hard-sample-th|is-flex-eval|kitchen-attention-backend|langrl-env-config|langrl-external-server|langrl-inference-server-conversation-template|"
    "langrl-inference-server-type|layer-ranking-list|linear-conv-kernel-dim|linear-key-head-dim|linear-num-key-heads|linear-num-value-heads|linear-scaler-end|"
    "linear-scaler-start|linear-value-head-dim|log-budgets|logits-load-decode-threads|logits-load-ignore-errors|logits-load-kd-loss-alpha|"
    "logits-load-msc-prefetch-depth|logits-load-prefetch-factor|logits-save-dtype|logits-save-top-p-min-k|loss-alpha|lr-mult-router|mamba-head-dim|mamba-int-list|"
    "mamba-num-groups|mamba-num-heads|mamba-per-list|mamba-state-dim|mem-batch-size|mem-infer-seq-len|memory-profile|memory-profile-path|mhc-num-residual-streams|"
    "mhc-recompute-layer-num|mhc-sinkhorn-iterations|mlp-int-list|mlp-per-list|moe-expert-int-list|moe-expert-per-list|moe-paged-stash-buffer-size-factor-cpu|"
    "moe-paged-stash-buffer-size-factor-cuda|moe-paged-stash-page-size|moe-upcycling-granularity|no-attn-skip|no-dsa-indexer-rotate-activation|"
    "no-dsa-indexer-scoring-relu|no-pin-cpu-grads|no-pin-cpu-params|normalize-router-logits|optimizer-offload-fraction|original-model-sample-prob|"
    "overlap-cpu-optimizer-d2h-h2d|override-selected-budget|param-budget-target|prefill-chunk-size|refit-method|replication-factor|"
    "rl-calculate-intra-group-similarity|rl-consumption-granularity|rl-default-temperature|rl-default-top-k|rl-default-top-p|rl-durable-rollout-bank|"
    "rl-generation-batch-size|rl-generation-lag|rl-importance-sampling-truncation-coef|rl-inference-expert-model-parallel-size|"
    "rl-inference-expert-tensor-model-parallel-size|rl-inference-logprobs-is-correction|rl-inference-model-unified-memory-level|rl-inference-parsers|"
    "rl-inference-pipeline-model-parallel-size|rl-inference-tensor-model-parallel-size|rl-kv-cache-management-mode|rl-max-inflight-requests|"
    "rl-num-parallel-generation-batches|rl-num-parallel-generations|rl-offload-inference-model-weights-when-idle|rl-offload-kv-cache-during-training|"
    "rl-offload-optimizer-during-inference|rl-parallel-generation-tasks|rl-partial-rollouts|rl-persist-cuda-graphs|rl-profile|rl-profile-dir|rl-prompts-per-eval|"
    "rl-remove-kv-cache-during-training|rl-reset-cuda-graphs|rl-rollout-bank-dir|rl-rollout-bank-max-bytes|rl-sequence-packing-algo|rl-sequence-packing-bin-size|"
    "rl-sequence-packing-max-sequences-per-bin|rl-skip-bos-token|rl-submission-granularity|rl-training-cuda-graphs|rl-use-sequence-packing|"
    "rl-verify-model-weights-swap|router-beta|router-gbs|router-inter-dim|router-std|skip-num-attn-layer-constraint|skip-total-layer-constraint|slice|soft-mask|"
    "tau-decay|tau-init|tiktoken-num-special-tokens|use-torch-optimizer-for-cpu-offload";

/// What the forks over DeepSpeed add.
inline constexpr std::string_view megatron_forks =
    "abort-on-unmet-fused-kernel-constraints|aml-data-download-path|codecarbon-dir|create-moe-param-group|ds_fused_adam|kill-switch-file|kill-switch-path|load-tag|"
    "log-level|log-level-replica|log-path|loss-on-targets-only|lr-decay-tokens|lr-warmup-tokens|mean-noise-span-length|moe-eval-capacity-factor|moe-loss-coeff|"
    "no-load-lr-state|noise-density|profile_steps|repeated-dataloader|reset-iteration|return-data-index|reweight-loss-based-on-position-frequency|"
    "rotary-position-embeddings-theta|skip-train-iteration-range|tokenizer-name-or-path|train-data-exact-num-epochs|train-desc-path|train-doc-idx-path|train-idx-path|"
    "train-sample-idx-path|train-shuffle-idx-path|train-tokens|universal-checkpoint|use-dataset-only|valid-num-workers";

/// Arguments of programs that are no training of a GPT: generation of text, BERT, T5, vision, retrieval. pretrain_gpt.py does not read them;
/// a list of arguments that does not name its program is another's where it has them.
inline constexpr std::string_view megatron_other_programs =
    "allow-trivial-doc|async-indexer|batch-invariant-backend|bert-embedder-type|bert-load|bert-no-binary-head|biencoder-projection-dim|"
    "biencoder-shared-query-context-model|block-data-path|block-index-path|block-top-k|cache-dir|cache-mla-latents|classes-fraction|cloze-eval|data-epochs|"
    "data-loader|data-per-class-fraction|debug|decode-only-cuda-graphs|deep-init|delim|dino-bottleneck-size|dino-freeze-last-layer|dino-head-hidden-size|"
    "dino-local-crops-number|dino-local-img-size|dino-norm-last-layer|dino-teacher-temp|dino-warmup-teacher-temp|dino-warmup-teacher-temp-epochs|"
    "disable-chunked-prefill|embedding-path|enable-chunked-prefill|eval-batch-size|eval-hf|eval-max-preds-per-seq|eval-seq-length|eval-text-key|evidence-data-path|"
    "faiss-use-gpu|flash-decode|genfile|greedy|head-lr-mult|ict-head-size|ict-load|ict-one-sent|img-dim|img-h|img-w|index-reload-interval|indexer-batch-size|"
    "indexer-log-interval|inference-batch-times-seqlen-threshold|inference-coordinator-port|inference-cuda-graph-all-prefills|inference-cuda-graph-max-tokens|"
    "inference-cuda-graph-scope|inference-disable-ep-consensus|inference-disable-torch-grouped-mm|inference-disable-triton-nvls-kernels|inference-dynamic-batching|"
    "inference-dynamic-batching-active-buffer-size-gb|inference-dynamic-batching-async-sched-mode|inference-dynamic-batching-block-size|"
    "inference-dynamic-batching-buffer-guaranteed-fraction|inference-dynamic-batching-buffer-overflow-factor|inference-dynamic-batching-buffer-size-gb|"
    "inference-dynamic-batching-chunk-size|inference-dynamic-batching-cuda-graph-max-tokens|inference-dynamic-batching-cuda-graph-mixed-prefill-count|"
    "inference-dynamic-batching-cuda-graph-sizing-distribution|inference-dynamic-batching-logprobs-mode|inference-dynamic-batching-mamba-memory-ratio|"
    "inference-dynamic-batching-max-requests|inference-dynamic-batching-max-requests-override|inference-dynamic-batching-max-tokens|"
    "inference-dynamic-batching-max-tokens-override|inference-dynamic-batching-num-cuda-graphs|inference-dynamic-batching-paused-buffer-size-gb|"
    "inference-dynamic-batching-prefix-caching|inference-dynamic-batching-prefix-caching-coordinator-policy|inference-dynamic-batching-prefix-caching-eviction-policy|"
    "inference-dynamic-batching-prefix-caching-mamba-gb|inference-dynamic-batching-prefix-caching-routing-alpha|inference-dynamic-batching-sampling-backend|"
    "inference-dynamic-batching-track-generated-token-events|inference-dynamic-batching-track-paused-request-events|inference-dynamic-batching-unified-memory-level|"
    "inference-flask-server-logging|inference-fuse-tp-communication|inference-grouped-gemm-backend|inference-logging-step-interval|inference-max-batch-size|"
    "inference-max-requests|inference-max-seq-length|inference-moe-disable-fused-quant-kernels|inference-moe-token-dispatcher-type|inference-rng-tracker|"
    "inference-shards|inference-text-gen-server-logging|inference-use-synchronous-zmq-collectives|inference-wandb-logging|inference-wandb-logging-step-interval|"
    "input-data-sizes-file|iter-per-epoch|load-openai|loose-json|mamba-inference-conv-states-dtype|mamba-inference-ssm-states-dtype|mask-factor|mask-type|"
    "max-num-samples|max-preds-per-seq|max-tokens-to-oom|max-training-rank|mlp-chunks-for-prefill|moe-pad-experts-for-cuda-graph-inference|"
    "nccl-all-reduce-for-prefill|ner-data-path|no-data-sharding|num-channels|num-classes|num-samples|num-speculative-tokens|onnx-safe|out-seq-length|"
    "output-bert-embeddings|overlapping-eval|patch-dim|pool-type|presplit-sentences|pretrained-bert|projection-dim|query-in-block-prob|recompute|"
    "relative-attention-max-distance|relative-attention-num-buckets|report-topk-accuracies|retriever-report-topk-accuracies|retriever-score-scaling|"
    "retriever-seq-length|sample-input-file|sample-output-file|shared-query-context-model|shuffle|strict-lambada|swin-backbone-type|symmetric-ar-type|temperature|"
    "test-data|text-key|titles-data-path|tokenizer-model-type|tokenizer-path|top_k|top_p|train-data|use-legacy-static-engine|use-one-sent-docs|use-random-spans|"
    "use-regular-masking|use-same-sampling-seed-across-dp-ranks|valid-data|vision-backbone-type|vision-pretraining|vision-pretraining-type";

inline constexpr std::array megatron_harmless{megatron_data, megatron_schedules, megatron_checkpoints, megatron_control, megatron_scalars, megatron_parts, megatron_forks, megatron_other_programs};

}  // namespace headroom::io::detail
