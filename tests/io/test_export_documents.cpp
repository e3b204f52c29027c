// Distributed under the Boost Software License, Version 1.0.
// Whole files and commands of other programs, written from jobs: every key of theirs, and none more. Names and values are those of accelerate's
// config (commands/config), DeepSpeed's config-json page, Megatron-LM's training/arguments.py, torchrun and sbatch.
#include <headroom/io/export.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_export_documents {

using namespace headroom;
using io::json_value;

namespace {

json_value json(const std::string& text) { return io::parse_json(text, "expected"); }
job read(const std::string& text) { return io::read_job(io::parse_json(text, "job.json"), io::no_files); }
/// Two nodes of eight GPUs under the Trainer.
job trained(const std::string& sharding, const std::string& precision = "bf16-mixed", const std::string& more = R"("recompute": "full", )", const std::string& hardware = R"("nodes": 2, "gpus_per_node": 8)") {
  return read(R"({"model": "llama-3.1-8b", "framework": "hf-trainer", "hardware": {"gpu": "h100-sxm-80gb", )" + hardware + R"(}, "precision": ")" + precision + R"(", "sharding": )" + sharding + ", " + more +
              R"("batch": {"micro": 2, "sequence": 4096, "accumulation": 4}, "attention": "flash"})");
}
const std::string machines = R"("compute_environment": "LOCAL_MACHINE", "machine_rank": 0, "main_training_function": "main", "use_cpu": false, )";
const std::string two_nodes = machines + R"("num_machines": 2, "num_processes": 16, "rdzv_backend": "static", "same_network": true, )";
const std::string wrapped = R"("fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", )";

job under_deepspeed(int nodes = 2) {
  return read(R"({"model": "llama-3.1-8b", "framework": "deepspeed", "hardware": {"gpu": "h100-sxm-80gb", "nodes": )" + std::to_string(nodes) + R"(, "gpus_per_node": 8, "host_memory_gib": 100},
    "sharding": {"kind": "zero", "stage": 3, "reduce_bucket_size": 16777216, "overlap_comm": true}, "recompute": "full", "batch": {"micro": 2, "sequence": 4096, "accumulation": 4},
    "offload": {"optimizer": "cpu", "parameters": "nvme", "activations": "cpu", "optimizer_buffer_count": 5, "parameter_buffer_count": 6, "parameter_buffer_size": 1000, "max_in_cpu": 0, "pin_memory": true},
    "environment": {"allocator": {"expandable_segments": false, "max_split_size_mb": 128, "roundup_power2_divisions": 4, "garbage_collection_threshold": 0.8}, "cublas_workspace": 4194304, "nccl_buffsize": 1048576}})");
}

}  // namespace

TEST_CASE("accelerate: FSDP's two versions, replicas, offload") {
  CHECK(io::accelerate_document(trained(R"({"kind": "fsdp1", "stage": 3})")) ==
        json("{" + two_nodes + R"("mixed_precision": "bf16", "distributed_type": "FSDP", "fsdp_config": {"fsdp_version": 1, )" + wrapped +
             R"("fsdp_offload_params": false, "fsdp_activation_checkpointing": true, "fsdp_backward_prefetch": "BACKWARD_PRE", "fsdp_sharding_strategy": "FULL_SHARD"}})"));
  CHECK(io::accelerate_document(trained(R"({"kind": "fsdp1", "stage": 2})")).at("fsdp_config").at("fsdp_sharding_strategy") == "SHARD_GRAD_OP");
  CHECK(io::accelerate_document(trained(R"({"kind": "fsdp2"})")) ==
        json("{" + two_nodes + R"("mixed_precision": "bf16", "distributed_type": "FSDP", "fsdp_config": {"fsdp_version": 2, )" + wrapped +
             R"("fsdp_offload_params": false, "fsdp_activation_checkpointing": true, "fsdp_reshard_after_forward": true}})"));
  const std::string more = R"("parallel": {"replicate": 2}, "offload": {"parameters": "cpu", "optimizer": "cpu"}, "compile": true, )";
  CHECK(io::accelerate_document(trained(R"({"kind": "fsdp1", "stage": 2, "backward_prefetch": false})", "fp32", more)) ==
        json("{" + two_nodes + R"("mixed_precision": "no", "distributed_type": "FSDP", "dynamo_config": {"dynamo_backend": "INDUCTOR"}, "fsdp_config": {"fsdp_version": 1, )" + wrapped +
             R"("fsdp_offload_params": true, "fsdp_activation_checkpointing": false, "fsdp_backward_prefetch": "NO_PREFETCH", "fsdp_sharding_strategy": "HYBRID_SHARD_ZERO2"}})"));
  CHECK(io::accelerate_document(trained(R"({"kind": "fsdp1", "stage": 3})", "fp32", R"("parallel": {"replicate": 2}, )")).at("fsdp_config").at("fsdp_sharding_strategy") == "HYBRID_SHARD");
  CHECK_THROWS_WITH_AS((void)io::accelerate_document(trained(R"({"kind": "fsdp2"})", "bf16-mixed", R"("parallel": {"replicate": 2}, )")), doctest::Contains("cannot say parallel.replicate for FSDP2"), job_error);
}

TEST_CASE("accelerate: plain data parallelism, one process, DeepSpeed by its file") {
  const auto ddp = json("{" + two_nodes + R"("mixed_precision": "bf16", "distributed_type": "MULTI_GPU"})");
  CHECK(io::accelerate_document(trained(R"("ddp")", "bf16-autocast")) == ddp);
  CHECK(io::accelerate_document(trained(R"("none")", "bf16-autocast")) == ddp);
  CHECK(io::accelerate_document(trained(R"("none")", "fp16-autocast", "", R"("nodes": 1, "gpus_per_node": 1)")) ==
        json("{" + machines + R"("num_machines": 1, "num_processes": 1, "mixed_precision": "fp16", "distributed_type": "NO"})"));
  CHECK(io::accelerate_document(under_deepspeed()) == json("{" + two_nodes + R"("distributed_type": "DEEPSPEED", "deepspeed_config": {"deepspeed_config_file": "ds_config.json", "zero3_init_flag": true}})"));
  auto two = under_deepspeed();
  two.sharding.stage = 2;
  two.offload = {};
  CHECK(io::accelerate_document(two).at("deepspeed_config").at("zero3_init_flag") == false);
  CHECK_THROWS_WITH_AS((void)io::accelerate_document(trained(R"({"kind": "zero", "stage": 2})")), doctest::Contains("by DeepSpeed alone"), job_error);
}

TEST_CASE("DeepSpeed: a block for each thing that is offloaded") {
  CHECK(io::deepspeed_document(under_deepspeed()) == json(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "train_batch_size": 128, "zero_allow_untested_optimizer": true,
    "zero_optimization": {"stage": 3, "reduce_bucket_size": 16777216, "overlap_comm": true, "offload_optimizer": {"device": "cpu", "pin_memory": true, "buffer_count": 5},
                          "offload_param": {"device": "nvme", "pin_memory": true, "nvme_path": "/local_nvme", "buffer_count": 6, "buffer_size": 1000, "max_in_cpu": 0}},
    "bf16": {"enabled": true}, "fp16": {"enabled": false}, "activation_checkpointing": {"cpu_checkpointing": true}, "optimizer": {"type": "AdamW", "params": {}}})"));
  auto j = under_deepspeed();
  j.offload = {};
  j.sharding = zero(1);
  j.precision = precisions::fp16_mixed;
  CHECK(io::deepspeed_document(j) == json(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "train_batch_size": 128, "zero_allow_untested_optimizer": true,
    "zero_optimization": {"stage": 1}, "bf16": {"enabled": false}, "fp16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": {}}})"));
  // Gradients added up in fp32, and reduced so.
  j.precision = precisions::bf16_mixed;
  j.precision.gradients = j.precision.reduce = formats::fp32;
  const auto wide = io::deepspeed_document(j);
  CHECK(wide.at("data_types") == json(R"({"grad_accum_dtype": "fp32"})"));
  CHECK(wide.at("communication_data_type") == "fp32");
}

TEST_CASE("torchrun on one node and on two, and a script for sbatch") {
  const std::string environment =
      "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False,max_split_size_mb:128,roundup_power2_divisions:4,garbage_collection_threshold:0.8\n"
      "export CUBLAS_WORKSPACE_CONFIG=:4096:1\nexport NCCL_BUFFSIZE=1048576\n";
  CHECK(io::torchrun_text(under_deepspeed(1)) == environment + "export NNODES=1\ntorchrun --nnodes=1 --nproc-per-node=8 --standalone \"$@\"\n");
  CHECK(io::torchrun_text(under_deepspeed(2)) ==
        environment + "export NNODES=2\ntorchrun --nnodes=2 --nproc-per-node=8 --node-rank=\"$NODE_RANK\" --master-addr=\"$MASTER_ADDR\" --master-port=\"${MASTER_PORT:-29500}\" \"$@\"\n");
  CHECK(io::sbatch_text(under_deepspeed(2)) ==
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n#SBATCH --mem=102400M\nset -eu\n" + environment +
            "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nexport MASTER_ADDR MASTER_PORT=29500\n"
            "srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id=\"$SLURM_JOB_ID\" --rdzv-endpoint=\"$MASTER_ADDR:$MASTER_PORT\" \"$@\"\n");
  auto j = under_deepspeed(1);
  j.environment = {};
  j.hardware.host_memory = bytes{0};
  CHECK(io::torchrun_text(j) == "export NNODES=1\ntorchrun --nnodes=1 --nproc-per-node=8 --standalone \"$@\"\n");
  CHECK(io::sbatch_text(j).find("--mem") == std::string::npos);
  j.environment.cublas_workspace = bytes{1000};
  CHECK_THROWS_WITH_AS((void)io::torchrun_text(j), doctest::Contains("environment.cublas_workspace = 1000, which is no number of KiB"), job_error);
  j.environment.cublas_workspace = bytes{0};
  CHECK(io::torchrun_text(j).starts_with("export CUBLAS_WORKSPACE_CONFIG=:0:1\n"));
}

// training/arguments.py: group-query-attention and swiglu are off by default, biases and tied embeddings on; the global batch is of all replicas.
TEST_CASE("Megatron-LM: experts behind dense layers, virtual stages, fp16") {
  const auto j = read(R"({"model": {"layers": 8, "hidden": 512, "heads": 8, "kv_heads": 8, "ffn": 2048, "mlp": "plain", "activation": "relu2", "norm": "layernorm", "norm_bias": true, "attention_bias": true, "position": "learned",
    "max_positions": 4096, "vocab": 50257, "vocab_multiple": 128, "tied": true, "qk_norm": true, "experts": {"count": 8, "active": 2, "ffn": 256, "shared_ffn": 512, "first_dense_layers": 2, "capacity_factor": 1.25}},
    "framework": "megatron", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 2, "gpus_per_node": 8}, "precision": {"parameters": "fp16", "compute": "fp16", "gradients": "fp32", "reduce": "fp32", "master": "fp32", "state": "fp32"},
    "parallel": {"tensor": 2, "sequence": true, "pipeline": 2, "expert": 2, "expert_tensor": 1, "virtual_pipeline": 2, "schedule": "interleaved-1f1b"}, "sharding": "megatron-distributed-optimizer",
    "batch": {"micro": 1, "sequence": 2048, "accumulation": 8}, "attention": "eager", "recompute": {"mode": "full", "method": "uniform", "layers": 1}})");
  CHECK(io::megatron_document(j) == json(R"json({"accumulate-allreduce-grads-in-fp32": true, "add-qkv-bias": true, "attention-backend": "unfused", "attention-dropout": 0.0, "context-parallel-size": 1, "disable-bias-linear": true,
    "expert-model-parallel-size": 2, "expert-tensor-parallel-size": 1, "ffn-hidden-size": 2048, "fp16": true, "global-batch-size": 32, "hidden-dropout": 0.0, "hidden-size": 512, "kv-channels": 64,
    "make-vocab-size-divisible-by": 128, "max-position-embeddings": 4096, "micro-batch-size": 1, "moe-expert-capacity-factor": 1.25, "moe-ffn-hidden-size": 256, "moe-layer-freq": "([0]*2+[1]*6)", "moe-router-topk": 2,
    "moe-shared-expert-intermediate-size": 512, "moe-token-dispatcher-type": "alltoall", "normalization": "LayerNorm", "num-attention-heads": 8, "num-experts": 8, "num-layers": 8, "num-virtual-stages-per-pipeline-rank": 2,
    "optimizer": "adam", "pipeline-model-parallel-size": 2, "position-embedding-type": "learned_absolute", "qk-layernorm": true, "recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1,
    "seq-length": 2048, "sequence-parallel": true, "squared-relu": true, "tensor-model-parallel-size": 2, "use-distributed-optimizer": true, "vocab-size": 50257})json"));
}

TEST_CASE("Megatron-LM: DeepSeek-V3's latent attention, uneven stages, modules that are recomputed") {
  const auto j = read(R"({"model": "deepseek-v3", "framework": "megatron", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 64, "gpus_per_node": 8}, "sharding": "megatron-distributed-optimizer", "attention": "flash",
    "parallel": {"tensor": 2, "sequence": true, "pipeline": 16, "expert": 16, "first_stage_layers": 1, "last_stage_layers": 4}, "batch": {"micro": 1, "sequence": 4096, "accumulation": 64},
    "recompute": {"mode": "selective", "modules": ["core_attn", "moe_act"]}})");
  CHECK(io::megatron_document(j) == json(R"json({"attention-backend": "flash", "attention-dropout": 0.0, "bf16": true, "context-parallel-size": 1, "decoder-first-pipeline-num-layers": 1, "decoder-last-pipeline-num-layers": 4,
    "disable-bias-linear": true, "expert-model-parallel-size": 16, "expert-tensor-parallel-size": 1, "ffn-hidden-size": 18432, "global-batch-size": 1024, "hidden-dropout": 0.0, "hidden-size": 7168, "kv-channels": 56,
    "kv-lora-rank": 512, "make-vocab-size-divisible-by": 1, "micro-batch-size": 1, "moe-ffn-hidden-size": 2048, "moe-layer-freq": "([0]*3+[1]*58)", "moe-router-topk": 8, "moe-shared-expert-intermediate-size": 2048,
    "moe-token-dispatcher-type": "alltoall", "multi-latent-attention": true, "normalization": "RMSNorm", "num-attention-heads": 128, "num-experts": 256, "num-layers": 61, "optimizer": "adam", "pipeline-model-parallel-size": 16,
    "position-embedding-type": "rope", "q-lora-rank": 1536, "qk-head-dim": 128, "qk-pos-emb-head-dim": 64, "recompute-granularity": "selective", "recompute-modules": "core_attn moe_act", "seq-length": 4096,
    "sequence-parallel": true, "swiglu": true, "tensor-model-parallel-size": 2, "untie-embeddings-and-output-weights": true, "use-distributed-optimizer": true, "v-head-dim": 128, "vocab-size": 129280})json"));
}

TEST_CASE("Megatron-LM: stages as a layout, and its own FSDP") {
  const auto with = [](const std::string& sharding) {
    return read(R"({"model": "llama-3.1-8b", "framework": "megatron", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 8}, "parallel": {"pipeline": 2, "stage_layers": [15, 17]}, "sharding": )" + sharding +
                R"(, "batch": {"micro": 1, "sequence": 4096, "accumulation": 8}, "attention": "flash", "recompute": "full"})");
  };
  const auto plain = json(R"({"attention-backend": "flash", "attention-dropout": 0.0, "bf16": true, "context-parallel-size": 1, "disable-bias-linear": true, "ffn-hidden-size": 14336, "global-batch-size": 32,
    "group-query-attention": true, "hidden-dropout": 0.0, "hidden-size": 4096, "kv-channels": 128, "make-vocab-size-divisible-by": 1, "micro-batch-size": 1, "normalization": "RMSNorm", "num-attention-heads": 32,
    "num-layers": 32, "num-query-groups": 8, "optimizer": "adam", "pipeline-model-parallel-layout": "Ettttttttttttttt|tttttttttttttttttL", "pipeline-model-parallel-size": 2, "position-embedding-type": "rope",
    "recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1, "seq-length": 4096, "swiglu": true, "tensor-model-parallel-size": 1, "untie-embeddings-and-output-weights": true, "vocab-size": 128256})");
  CHECK(io::megatron_document(with(R"("ddp")")) == plain);
  auto sharded = plain;
  sharded.update(json(R"({"use-megatron-fsdp": true, "data-parallel-sharding-strategy": "optim_grads_params", "megatron-fsdp-main-grads-dtype": "bf16", "megatron-fsdp-grad-comm-dtype": "bf16", "megatron-fsdp-main-params-dtype": "fp32"})"));
  CHECK(io::megatron_document(with(R"({"kind": "megatron-fsdp", "stage": 3})")) == sharded);
}

TEST_CASE("words that YAML reads as others are quoted") {
  using io::detail::plain_word;
  for (const char* word : {"a", "z", "A", "Z", "zA0_-./", "adamw_torch", "BACKWARD_PRE"}) CHECK(plain_word(word));
  for (const char* word : {"", "no", "No", "YES", "on", "Off", "true", "FALSE", "null", "y", "N", "1e5", "_a", "-a", "a b", "a:b", "@a", "a{", "a@", "a[", "{a"}) CHECK_FALSE(plain_word(word));
}

}  // namespace test_export_documents
