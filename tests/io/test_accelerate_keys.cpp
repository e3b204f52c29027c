// Distributed under the Boost Software License, Version 1.0.
// Every key of accelerate's configuration is read, harmless, or refused by name; and the launchers' options around it.
#include "launcher_keys.hpp"

#if HEADROOM_HAS_YAML

namespace test_accelerate_keys {

using namespace headroom;
using io::json_value;

namespace {

const std::vector<std::string> set{"model=llama-3.1-8b", "batch.sequence=2048"};

const std::string megatron = " pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --vocab-size 1000 --bf16\n";

job import(const json_value& said) { return imported::job_of({{"a.yaml", said.dump(1)}}, set); }
json_value fsdp(json_value section) { return {{"distributed_type", "FSDP"}, {"num_processes", 8}, {"mixed_precision", "no"}, {"fsdp_config", std::move(section)}}; }

std::string refusal(const json_value& said) { return imported::refusal_of({{"a.yaml", said.dump(1)}}, set); }
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A script beside a job file, which says what it trains.
job launched(const std::string& script, const std::vector<std::string>& more = {}) {
  auto all = set;
  all.insert(all.end(), more.begin(), more.end());
  return imported::job_of({{"job.json", R"({"model": "llama-3.1-8b", "batch": {"sequence": 2048}, "sharding": "none"})"}, {"run.sh", script}}, all);
}

}  // namespace

TEST_CASE("accelerate: each key alone") {
  for (const auto& l : launcher_keys::list_of("accelerate.txt")) {
    json_value without{{"distributed_type", "MULTI_GPU"}, {"num_processes", 8}};
    if (l.key.starts_with("fsdp_config")) without = {{"distributed_type", "FSDP"}, {"num_processes", 8}, {"fsdp_config", {{"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"}}}};
    if (l.key.starts_with("deepspeed_config")) without = {{"distributed_type", "DEEPSPEED"}, {"num_processes", 8}, {"deepspeed_config", {{"zero_stage", 2}}}};
    auto with = without;
    launcher_keys::put(with, l.key, l.value);
    // Of a release that loads FSDP's weights once a node where it is told to.
    launcher_keys::judge(l, without, with, [](const json_value& said) { return imported::job_of({{"a.yaml", said.dump(1)}}, {set[0], set[1], "environment.transformers=4.57"}); });
  }
}

TEST_CASE("accelerate: one process where no kind of parallelism is named") {
  // accelerate 16cb6eb8 commands/launch.py launch_command: simple_launcher, which looks at no num_processes (TIGER-AI-Lab/Mantis has such a file).
  CHECK(holds(refusal({{"distributed_type", "no"}, {"num_processes", 4}, {"mixed_precision", "bf16"}}), "num_processes is 4, but distributed_type NO starts one process"));
  CHECK(holds(refusal({{"compute_environment", "LOCAL_MACHINE"}, {"num_processes", 2}}), "say distributed_type: MULTI_GPU, or num_processes: 1"));
  CHECK(import({{"distributed_type", "NO"}, {"num_processes", 1}}).hardware.gpus() == 1);
  CHECK(import({{"distributed_type", "MULTI_GPU"}, {"num_processes", 4}}).hardware.gpus() == 4);
}

TEST_CASE("accelerate: each version of FSDP has its own key for when weights are freed") {
  const std::string wrap = "TRANSFORMER_BASED_WRAP";
  // FSDP_SHARDING_STRATEGY is always in the environment, so that FSDP1 never looks further (utils/launch.py, utils/dataclasses.py).
  // A tower's class alone; the language model's beside it is a unit.
  for (const auto* tower : {"Qwen2VLVisionBlock", "SiglipEncoderLayer", "CLIPEncoderLayer"})
    CHECK_THROWS_WITH_AS(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_transformer_layer_cls_to_wrap", tower}})), doctest::Contains("is a layer of a tower"), job_error);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_transformer_layer_cls_to_wrap", "Qwen2VLDecoderLayer, Qwen2VLVisionBlock"}})).sharding.stage == 3);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_reshard_after_forward", false}})).sharding.stage == 3);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_reshard_after_forward", "SHARD_GRAD_OP"}})).sharding.stage == 2);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_reshard_after_forward", true}, {"fsdp_sharding_strategy", "SHARD_GRAD_OP"}})).sharding.stage == 2);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_version", 2}, {"fsdp_reshard_after_forward", false}})).sharding.stage == 2);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_version", 2}, {"fsdp_sharding_strategy", "NO_SHARD"}})).sharding.kind == sharding_kind::fsdp2);
  CHECK(holds(refusal(fsdp({{"fsdp_version", 2}})), "without fsdp_auto_wrap_policy the whole model is one unit"));
  // FullyShardedDataParallelPlugin passes None where nothing is said, which prefetches nothing.
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}})).sharding.backward_prefetch == choice::no);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_backward_prefetch", "NO_PREFETCH"}})).sharding.backward_prefetch == choice::no);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_backward_prefetch", "BACKWARD_PRE"}})).sharding.backward_prefetch == choice::unset);
  CHECK(import(fsdp({{"fsdp_auto_wrap_policy", wrap}, {"fsdp_version", 2}})).sharding.backward_prefetch == choice::unset);
}

TEST_CASE("accelerate: DeepSpeed without mixed precision, and a file that it names") {
  // As peft's examples/conditional_generation/accelerate_ds_zero3_cpu_offload_config.yaml.
  const std::string peft = R"(compute_environment: LOCAL_MACHINE
deepspeed_config:
  gradient_accumulation_steps: 1
  gradient_clipping: 1.0
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
distributed_type: DEEPSPEED
downcast_bf16: 'no'
dynamo_backend: 'NO'
fsdp_config: {}
machine_rank: 0
main_training_function: main
megatron_lm_config: {}
mixed_precision: 'no'
num_machines: 1
num_processes: 1
rdzv_backend: static
same_network: true
use_cpu: false
)";
  const auto j = imported::job_of({{"peft.yaml", peft}}, set);
  CHECK(j.precision == precisions::fp32);
  CHECK(j.sharding.stage == 3);
  // One micro-batch a step where the file that is named does not say (DeepSpeedPlugin.__post_init__), whatever the Trainer would like.
  const std::string names = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\nnum_processes: 8\n";
  const std::string trains = "model_name_or_path: meta-llama/Llama-3.1-8B\nbf16: true\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\noutput_dir: out\nblock_size: 2048\n";
  const auto with = [&](const std::string& ds) { return imported::refusal_of({{"a.yaml", names}, {"ds.json", ds}, {"trainer.yaml", trains}}); };
  CHECK(holds(with(R"({"zero_optimization": {"stage": 2}})"), "gradient_accumulation_steps contradicts batch.accumulation"));
  CHECK(with(R"({"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": "auto"})").empty());
}

TEST_CASE("starters and their options") {
  const std::string trains = " train.py\n";
  for (const auto* starter : {"accelerate launch", "accelerate-launch", "python -m accelerate.commands.launch"})
    CHECK(launched(std::string{starter} + " --num_processes 4 --num_machines 2" + trains).hardware.gpus() == 4);
  CHECK(launched("deepspeed --num_accelerators 4 --enable_each_rank_log logs --log_level info -q" + trains).hardware.gpus_per_node == 4);
  CHECK(launched("deepspeed --include worker-0:0,1@worker-1:2,3" + trains).hardware.gpus() == 4);
  CHECK(launched("deepspeed --include worker-0:0,1@worker-1:2,3" + trains).hardware.nodes == 2);
  CHECK_THROWS_AS(launched("deepspeed --include worker-0:0,1@worker-1:2" + trains), headroom::error);
  CHECK_THROWS_AS(launched("deepspeed --elastic_training --num_gpus 4" + trains), headroom::error);
  CHECK(launched("torchrun --nproc-per-node 4 --shutdown-timeout 30 --duplicate-stdout-filters x" + trains).hardware.gpus_per_node == 4);
}

TEST_CASE("more processes than a node has GPUs are several nodes") {
  const std::string ddp = "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 16\n";
  const std::vector<std::string> job{"model=llama-3.1-8b", "batch.sequence=2048"};
  const auto with = [&](const std::string& file, const char* shape) {
    auto all = job;
    all.emplace_back(shape);
    return imported::job_of({{"a.yaml", file}}, all).hardware;
  };
  CHECK(with(ddp, "hardware.gpus_per_node=8").nodes == 2);
  CHECK(with(ddp, "hardware.gpus_per_node=8").gpus_per_node == 8);
  CHECK(with(ddp, "hardware.gpus_per_node=16").nodes == 1);
  CHECK(with(ddp, "hardware.nodes=4").gpus_per_node == 4);
  CHECK(with(ddp + "num_machines: 2\n", "hardware.gpus_per_node=8").nodes == 2);
  CHECK_THROWS_WITH_AS(with(ddp, "hardware.gpus_per_node=6"), doctest::Contains("16 GPUs contradict 1 nodes of 6"), headroom::error);
  CHECK(with(ddp + "num_machines: 1\n", "hardware.gpus_per_node=8").gpus() == 8);  // what --set says of both wins over the file's sum
  CHECK(imported::job_of({{"a.yaml", ddp}}, job).hardware.gpus_per_node == 16);
}

TEST_CASE("Slurm: glued options, lists of resources, the environment") {
  const auto of = [](const std::string& directives) { return imported::job_of({{"run.sh", "#!/bin/bash\n" + directives + "srun python" + megatron}}); };
  CHECK(of("#SBATCH -N4\n#SBATCH --gres=gpu:a100:4,nvme:1\n").hardware.gpus() == 16);
  CHECK(of("#SBATCH -N 2\n#SBATCH --gres=gpu:a100\n").hardware.gpus() == 2);
  CHECK(of("#SBATCH -N2\n#SBATCH --gpus-per-node=2\n#SBATCH --export=ALL,NCCL_BUFFSIZE=2097152\n").environment.nccl_buffsize == bytes{2097152});
  CHECK_THROWS_AS(of("#SBATCH -N2\n#SBATCH --gpus-per-socket=2\n"), headroom::error);
}

TEST_CASE("mpirun starts a rank a process") {
  const auto of = [](const std::string& options) { return imported::job_of({{"run.sh", "mpirun " + options + " python" + megatron}}); };
  CHECK(of("--allow-run-as-root -np 4 --mca btl ^openib -x NCCL_DEBUG=INFO -bind-to none").hardware.gpus() == 4);
  CHECK(of("-np 16 -npernode 8").hardware.nodes == 2);
  CHECK(of("-n 16 --map-by ppr:8:node -x NCCL_BUFFSIZE=2097152").hardware.gpus_per_node == 8);
  CHECK(of("-np 4 -H a,b").hardware.nodes == 2);
}

}  // namespace test_accelerate_keys

#endif
