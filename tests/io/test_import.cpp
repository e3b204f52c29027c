// Distributed under the Boost Software License, Version 1.0.
// Other programs' files as jobs. The files are written for these tests; where one says "as", its keys and values are those of the
// public file named.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <random>

#include "../estimate/dice.hpp"
#include "imported.hpp"

namespace test_import {

using namespace imported;

// DeepSpeed

TEST_CASE("DeepSpeed: 'auto' as the Trainer fills it in") {
  // As LLaMA-Factory examples/deepspeed/ds_z3_offload_config.json.
  const imported::text z3{"ds_z3.json", R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "zero_allow_untested_optimizer": true, "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16}, "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true}, "offload_param": {"device": "cpu", "pin_memory": true}, "overlap_comm": false,
      "contiguous_gradients": true, "sub_group_size": 1e9, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
      "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true}})"};
  const auto j = job_of({z3}, llama);
  CHECK(j.framework.label.view() == "deepspeed");
  CHECK(j.sharding.kind == sharding_kind::zero);
  CHECK(j.sharding.stage == 3);
  CHECK(j.sharding.reduce_bucket_size == 16'777'216);                  // 4096²
  CHECK(j.sharding.stage3_prefetch_bucket_size == 15'099'494);         // int(0.9 · 4096²)
  CHECK(j.sharding.stage3_param_persistence_threshold == 40'960);      // 10 · 4096
  CHECK(j.sharding.sub_group_size == 1'000'000'000);
  CHECK(j.sharding.overlap_comm == choice::no);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.parameters == place::on_cpu);
  CHECK(j.offload.pin_memory);
  // DeepSpeed by itself has nobody who fills it in.
  CHECK(holds(refusal_of({z3}, llama, io::auto_means::by_deepspeed), "ds_z3.json"));
  CHECK(holds(refusal_of({z3}, llama, io::auto_means::by_deepspeed), "must not be \"auto\""));
}

TEST_CASE("DeepSpeed: 'auto' inside a section is dropped by DeepSpeed itself") {
  const imported::text f{"ds.json", R"({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"}})"};
  const auto j = job_of({f}, llama, io::auto_means::by_deepspeed);
  CHECK(j.sharding.reduce_bucket_size == -1);
  CHECK(j.sharding.stage3_prefetch_bucket_size == -1);
  CHECK(j.batch.micro == 2);
}

TEST_CASE("DeepSpeed: legacy booleans, and the micro-batch that follows from the rest") {
  // As DeepSpeedExamples Megatron-LM/scripts/ds_zero-offload_10B_config.json, its misspelt comm_overlap put right.
  const std::string said = R"({"train_batch_size": 30, "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 2, "cpu_offload": true, "overlap_comm": true, "contiguous_gradients": true,
    "reduce_bucket_size": 50000000}, "optimizer": {"type": "Adam", "params": {"lr": 0.00015}}, "fp16": {"enabled": true, "loss_scale": 4096},
    "activation_checkpointing": {"partition_activations": true, "cpu_checkpointing": true}})";
  auto set = llama;
  set.back() = "hardware.gpus_per_node=5";
  // The section acts where the program calls deepspeed.checkpointing; whether it does stands in no file.
  CHECK(holds(refusal_of({{"ds.json", said}}, set), "say recompute \"none\", or \"full\""));
  auto without = set;
  without.emplace_back("recompute=none");
  CHECK(job_of({{"ds.json", said}}, without).offload.activations == place::on_gpu);
  set.emplace_back("recompute=full");
  const auto j = job_of({{"ds.json", said}}, set);
  CHECK(j.batch.micro == 2);  // 30 / 3 / 5
  CHECK(j.batch.accumulation == 3);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(j.recompute == recompute::full);
  CHECK(j.precision == precisions::fp16_mixed);
  auto misspelt = said;
  misspelt.replace(misspelt.find("overlap_comm"), 12, "comm_overlap");
  CHECK(holds(refusal_of({{"ds.json", misspelt}}, set), "did you mean overlap_comm?"));
  CHECK(holds(refusal_of({{"ds.json", misspelt}}, set), "ds.json:1: zero_optimization.comm_overlap is not known here"));
}

TEST_CASE("DeepSpeed: NVMe, a misspelt key, keys without their prefix, a boolean that is 'auto'") {
  // As DeepSpeedExamples Megatron-LM-v1.1.5-ZeRO3/examples/ds_zero_stage_infinity_config.json.
  std::string said = R"({
"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
"zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e8,
  "stage3_param_persitance_threshold": 1e5, "stage3_prefetch_bucket_size": 5e7, "reduce_bucket_size": 90000000, "sub_group_size": 1e8,
  "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme_data", "buffer_count": 4, "pipeline_read": false, "pipeline_write": false, "pin_memory": true},
  "offload_param": {"device": "nvme", "nvme_path": "/nvme_data", "max_in_cpu": 1, "pin_memory": true}},
"fp16": {"enabled": true, "loss_scale": 1024}, "aio": {"block_size": 1048576, "queue_depth": 16}})";
  const auto why = refusal_of({{"infinity.json", said}}, llama);
  CHECK(holds(why, "infinity.json:4: zero_optimization.stage3_param_persitance_threshold is not known here"));
  CHECK(holds(why, "did you mean stage3_param_persistence_threshold?"));
  said.replace(said.find("persitance"), 10, "persistence");
  const auto j = job_of({{"infinity.json", said}}, llama);
  CHECK(j.offload.optimizer == place::on_nvme);
  CHECK(j.offload.parameters == place::on_nvme);
  CHECK(j.offload.optimizer_buffer_count == 4);
  CHECK(j.offload.max_in_cpu == 1);
  CHECK(j.sharding.stage3_param_persistence_threshold == 100'000);
  CHECK(j.batch.micro == 4);

  // As axolotl deepspeed_configs/zero3_bf16_cpuoffload_all.json.
  const auto a = job_of({{"axolotl.json", R"({"zero_force_ds_cpu_optimizer": false, "zero_allow_untested_optimizer": true, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu", "pin_memory": true}, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 0, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto", "max_live_parameters": 0, "max_reuse_distance": 0, "gather_16bit_weights_on_model_save": true}, "bf16": {"enabled": true},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false})"}}, llama);
  CHECK(a.sharding.sub_group_size == 0);
  CHECK(a.sharding.stage3_max_live_parameters == 0);
  CHECK(a.sharding.stage3_max_reuse_distance == 0);
  CHECK(a.precision == precisions::bf16_mixed);

  // As MedicalGPT deepspeed_zero_stage3_config.json.
  const auto m = job_of({{"medical.json", R"({"fp16": {"enabled": true, "loss_scale": 0}, "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto"}},
    "zero_optimization": {"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
    "sub_group_size": 1e9, "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": "auto"}, "gradient_accumulation_steps": "auto",
    "steps_per_print": 2000, "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})"}}, llama);
  CHECK(m.precision == precisions::fp16_mixed);
  CHECK(m.sharding.stage3_prefetch_bucket_size == 15'099'494);
}

// Launchers

TEST_CASE("torchrun, sbatch and the environment") {
  const imported::text run{"run.sh", R"(#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:h100:8   # all of a node
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512
export CUBLAS_WORKSPACE_CONFIG=:4096:8
GPUS_PER_NODE=8
srun torchrun --nnodes $SLURM_NNODES --nproc-per-node "$GPUS_PER_NODE" --rdzv_backend=c10d train.py --lr 1e-4
)"};
  const imported::text mine{"job.json", R"({"model": "llama-3.1-8b", "batch": {"sequence": 2048}})"};
  // Who trains stays open: the script says machines and environment alone, so it is no job by itself.
  CHECK(holds(refusal_of({run}, llama), "run.sh starts no training that is known here: \"train.py\" is no program whose arguments are known"));
  const auto j = job_of({run, mine});
  CHECK(j.hardware.nodes == 4);
  CHECK(j.hardware.gpus_per_node == 8);
  CHECK(j.environment.expandable_segments == choice::yes);
  CHECK(j.environment.max_split_size == 512 * mib);
  CHECK(j.environment.cublas_workspace == bytes{4096 * 1024 * 8});
  CHECK(job_of({{"env", "NNODES=2\nNPROC_PER_NODE=4\n"}, mine}).hardware.gpus() == 8);
  CHECK(holds(refusal_of({mine, {"a.sh", "torchrun --nnodes 1:4 --nproc_per_node 8 t.py"}}), "a.sh:1: --nnodes \"1:4\" leaves the number of nodes open"));
  CHECK(holds(refusal_of({mine, {"a.sh", "torchrun --nnodes $N --nproc_per_node 8 t.py"}}), "a.sh:1: --nnodes is \"$N\", which the file itself does not say: add --env NAME=VALUE or --set hardware.nodes=N"));
  CHECK(job_of({mine, {"a.sh", "torchrun --nnodes $N --nproc_per_node 8 t.py"}}, {"hardware.nodes=2"}).hardware.gpus() == 16);
  CHECK(holds(refusal_of({mine, {"a.sh", "torchrun --nproc_per_nod 8 t.py"}}), "did you mean --nproc-per-node?"));
}

TEST_CASE("what a script says with variables, arrays, arithmetic and strings of commands") {
  const auto s = io::read_shell(R"(A=3; B="x y"; LIST=(--one 1 --two "2 3")
LIST+=(--three)
if [ -z "$C" ]; then N=$((A * (2 + 2) / 3)); fi
run $N ${B} "$B" ${LIST[@]} ${D:-d$A} $E 2>&1 | tee log
CMD="inner --a \
  --b $A"
srun -l sh -c "${CMD}"
cat <<END
run never
END
)", "s.sh");
  REQUIRE(s.commands.size() == 4);
  std::vector<std::string> words;
  for (const auto& w : s.commands[0].words) words.push_back(w.shown());
  CHECK(words == std::vector<std::string>{"run", "4", "x", "y", "x y", "--one", "1", "--two", "2", "3", "--three", "d3", "$E"});
  CHECK_FALSE(s.commands[0].words.back().known());
  CHECK(s.commands[2].words.size() == 6);  // srun -l starts what is in the string
  CHECK(s.commands[2].words[5].text == "3");
  CHECK(s.commands[2].words[5].line == 8);
  CHECK(s.commands[3].words.size() == 1);
  CHECK(s.unset == std::set<std::string>{"C"});
}

TEST_CASE("a script that writes its configuration, loops and functions over a training") {
  const std::string writes = R"(STAGE=${STAGE:-3}
cat > ds_config.json <<EOF
{"zero_optimization": {"stage": $STAGE, "reduce_bucket_size": 200000000}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}
EOF
train() {
  deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --deepspeed ds_config.json --bf16 True --per_device_train_batch_size $1 --learning_rate $2 --max_seq_length 2048
}
)";
  const std::vector<std::string> sft{"batch.sequence=2048"};
  const auto j = [&](const std::string& end, const std::vector<imported::text>& more = {}) {
    auto files = more;
    files.push_back({"run.sh", writes + end});
    auto with = imported::settings();
    with.script.program = io::detail::program_named("transformers");
    io::draft d;
    d.ignores = {"max_seq_length"};
    std::vector<io::import_input> all;
    for (const auto& f : files) all.push_back(io::input_of(f.said, f.file, io::file_kind::unknown, with));
    io::import_files(d, std::move(all), with);
    for (const auto& s : sft) io::say_key(d, s);
    d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
    return d.settled();
  };
  const auto why = [&](const std::string& end, const std::vector<imported::text>& more = {}) {
    try {
      j(end, more);
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  const auto one = j("train 4 1e-4\n");
  CHECK(one.sharding.stage == 3);
  CHECK(one.sharding.reduce_bucket_size == 200'000'000);
  CHECK(one.batch.micro == 4);
  CHECK(j("train 2 1e-4\n", {{"e.env", "STAGE=2\n"}}).sharding.stage == 2);
  CHECK(j("for lr in 1e-4 2e-4; do train 4 $lr; done\n").batch.micro == 4);  // the same job twice
  CHECK(why("for b in 4 8; do train $b 1e-4; done\n") == "headroom: run.sh:6: 2 trainings start here, of a loop, which are not the same job: say which with --env, as in --env b=4");
  CHECK(j("for b in 4 8; do train $b 1e-4; done\n", {{"e.env", "b=8\n"}}).batch.micro == 8);
  CHECK(why("train 4 1\ntrain 8 1\n").find("2 trainings start") != std::string::npos);
  CHECK(holds(why("train 4 1e-4\nif [ -f x ]; then echo '{}' > ds_config.json; fi\n"), "run.sh:9: \"ds_config.json\" is written in a branch of which the script does not say whether it runs: give the file, too"));
  CHECK(holds(why("echo \"{\\\"a\\\": $(nproc)}\" > ds_config.json\ntrain 4 1e-4\n"), "\"ds_config.json\" holds a value that the script does not say, \"$(nproc)\": add --env NAME=VALUE"));
  // What is given wins over what the script would write.
  CHECK(j("train 4 1e-4\n", {{"ds_config.json", R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})"}}).sharding.stage == 1);
}

// Megatron-LM

TEST_CASE("Megatron-LM: a script's arguments") {
  const auto d = [] {
    // The shape of Mixtral 8x7B in the arguments of examples/mixtral/train_mixtral_8x7b_distributed.sh.
    auto draft = draft_of({{"mixtral.sh", R"(NODES=2
MODEL=(--use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
  --num-attention-heads 32 --attention-dropout 0.0 --hidden-dropout 0.0 --normalization RMSNorm --position-embedding-type rope --swiglu
  --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8 --rotary-base 1000000)
MOE=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall)
torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py ${MODEL[@]} ${MOE[@]} --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 --bf16 \
  --pipeline-model-parallel-size 4 --expert-model-parallel-size 4 --use-distributed-optimizer --vocab-size 32000 --data-path $DATA
)"}});
    return draft;
  }();
  auto copy = d;
  const auto j = copy.settled();
  const auto& m = *models::find("mixtral-8x7b");
  CHECK(count(j.model).total == count(m).total);
  CHECK(j.parallel.pipeline == 4);
  CHECK(j.parallel.expert == 4);
  CHECK(j.hardware.gpus() == 16);
  CHECK(j.batch.accumulation == 64);  // 256 / (16 / 4)
  CHECK(j.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK(j.framework.experts.gemm == expert_gemm::grouped_gemm);
  CHECK(j.recompute == recompute::none);
  const std::string small = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 ";
  CHECK(holds(refusal_of({{"a.txt", small + "--micro-batch-siz 2"}}), "did you mean micro-batch-size?"));
  CHECK(holds(refusal_of({{"a.txt", "\n" + small + "\\\n --recompute-granularity some"}}), "a.txt:3: "));
  CHECK(holds(refusal_of({{"a.txt", small + "--micro-batch-size $MBS"}}), "micro-batch-size is \"$MBS\", which the file itself does not say: add --env NAME=VALUE"));
  CHECK(holds(refusal_of({{"a.txt", small + "--global-batch-size 7 --micro-batch-size 2"}}), "a.txt:1: 7 samples of a step"));
}

TEST_CASE("Megatron-LM: the arguments of measured runs are the jobs that were derived from them by hand") {
  std::ifstream in{HEADROOM_TEST_DATA "/../accuracy/measured.jsonl"};
  int read = 0;
  for (std::string line; std::getline(in, line);) {
    if (!holds(line, "\"hidden-size\"") || !holds(line, "\"megatron\"") || holds(line, "\"megatron-2023\"")) continue;  // arguments do not say how old the code is
    const auto record = io::parse_json(line, "record");
    const auto id = record["id"].get<std::string>();
    const auto& stated = record["job"];
    CAPTURE(id);
    const auto want = io::read_job(stated);
    // As a command line: quoted, names before values.
    std::string arguments;
    for (const auto& [key, value] : stated["framework"]["options"].items()) {
      if (value == false) continue;
      arguments += "--" + key + (value == true ? "" : " '" + (value.is_string() ? value.get<std::string>() : value.dump()) + "'") + " \\\n";
    }
    // What some of these runs were started with, and a launch may not be.
    auto d = draft_of({{"arguments.txt", arguments}}, {}, io::auto_means::by_trainer, {"use-tp-pp-dp-mapping", "tp-comm-overlap-cfg"});
    d.say({"hardware"}, stated["hardware"], "record");
    d.say({"model", "vocab"}, want.model.vocab, "record");  // the tokenizer's
    if (stated["framework"].is_object() && stated["framework"].contains("version")) d.say({"framework", "version"}, stated["framework"]["version"], "record");  // when it ran
    auto got = d.settled();
    auto model = want.model;
    model.rotary_percent = got.model.rotary_percent;                          // records leave it out
    if (model.mla.kv_rank > 0) model.head_dim = got.model.head_dim;              // without effect there
    CHECK((got.model == model));
    auto parallel = want.parallel;
    if (parallel.tensor == 1) parallel.sequence = false;                      // nothing to divide
    if (!want.model.sparse()) parallel.expert_tensor = got.parallel.expert_tensor;
    parallel.data = got.parallel.data;                                        // whatever the GPUs leave
    CHECK((got.parallel == parallel));
    CHECK((got.batch == want.batch));
    CHECK((got.sharding == want.sharding));
    CHECK((got.recompute == want.recompute));
    CHECK((got.attention == want.attention));
    CHECK((got.dropout == want.dropout));
    CHECK((got.offload == want.offload));
    CHECK((got.framework == want.framework));
    auto precision = got.precision.set() ? got.precision : got.framework.precision, stated_precision = want.precision;
    precision.label = stated_precision.label = {};
    CHECK((precision == stated_precision));
    ++read;
  }
  CHECK(read == 99);
}

TEST_CASE("Megatron-LM: layouts of pipelines and patterns of sparse layers") {
  CHECK(io::detail::layers_of_layout("Et*2|(tt|)*5t|tmL", "layout") == std::vector<std::int64_t>{2, 2, 2, 2, 2, 2, 1, 1});
  CHECK_THROWS_AS(io::detail::layers_of_layout("(((t*4000)*4000)*4000", "layout"), job_error);
  CHECK_THROWS_AS(io::detail::layers_of_layout("((t*4000)*4000)*4000", "layout"), job_error);
  const auto sparse = io::detail::sparse_layers("([0]*3+[1]*58)", 61, "f");
  CHECK(std::count(sparse.begin(), sparse.end(), true) == 58);
  CHECK(io::detail::sparse_layers(2, 4, "f") == std::vector<bool>{true, false, true, false});
  CHECK_THROWS_AS(io::detail::sparse_layers("[0,1]", 3, "f"), job_error);
}

// The Trainer, accelerate, LLaMA-Factory

TEST_CASE("the Trainer's arguments beside DeepSpeed's configuration") {
  const imported::text ds{"ds.json", R"({"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})"};
  const imported::text run{"run.sh", "deepspeed --num_gpus=4 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --bf16 True --deepspeed ds.json "
                           "--gradient_checkpointing True --optim adamw_torch_fused --block_size 1024 --dataset_name $DATA\n"};
  const auto j = job_of({ds, run});
  CHECK(j.model == *models::find("llama-3.1-8b"));
  CHECK(j.framework.label.view() == "deepspeed");
  CHECK(j.sharding.stage == 2);
  CHECK(j.batch == batch{.micro = 2, .sequence = 1024, .accumulation = 4});
  CHECK(j.precision == precisions::bf16_mixed);
  CHECK(j.optimizer.how == implementation::fused);
  CHECK(j.recompute == recompute::full);
  CHECK(j.hardware.gpus_per_node == 4);
  // Two files that contradict each other: one sentence with both places.
  const imported::text stated{"ds.json", R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}})"};
  const auto why = refusal_of({stated, run});
  CHECK(holds(why, "ds.json:1"));
  CHECK(holds(why, "run.sh:1"));
  CHECK(holds(refusal_of({run}), "names \"ds.json\", which no file here is: give it, too"));
  const imported::text megatron{"m.txt", "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32"};
  CHECK(holds(refusal_of({ds, megatron}), "m.txt:1: Megatron's arguments have no --deepspeed, without which no configuration of DeepSpeed is used (ds.json): give it, or leave that file out"));
}

TEST_CASE("what is said later counts, and both places are named") {
  auto d = draft_of({{"job.json", R"({"model": "llama-3.1-8b", "batch": {"sequence": 2048}})"}, {"a.sh", "torchrun --nnodes 2 --nproc-per-node 8 t.py"}, {"b.sh", "\ntorchrun --nnodes 4 --nproc-per-node 8 t.py"}});
  CHECK(d.settled().hardware.nodes == 4);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n == "b.sh:2: hardware.nodes 4 instead of 2 (a.sh:1)"; }));
}

#if HEADROOM_HAS_YAML

TEST_CASE("accelerate: FSDP of both versions, DeepSpeed, DDP") {
  // As LLaMA-Factory examples/accelerate/fsdp2_config.yaml.
  const imported::text two{"fsdp2.yaml", R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: FULL_STATE_DICT
  fsdp_version: 2
mixed_precision: bf16  # or fp16
num_machines: 1
num_processes: 2
tpu_env: []
use_cpu: false
)"};
  const std::vector<std::string> set{"model=llama-3.1-8b", "batch.sequence=2048"};
  auto j = job_of({two}, set);
  CHECK(j.framework.label.view() == "hf-trainer");
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.sharding.stage == 3);
  CHECK(j.precision == precisions::bf16_mixed);
  CHECK(j.hardware.gpus() == 2);
  // As fsdp_config_multiple_nodes.yaml there, offloaded and hybrid.
  j = job_of({{"fsdp1.yaml", R"(distributed_type: FSDP
fsdp_config: {fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_sharding_strategy: HYBRID_SHARD, fsdp_offload_params: true, fsdp_activation_checkpointing: true, fsdp_use_orig_params: true}
mixed_precision: no
num_machines: 2
num_processes: 16
)"}}, set);
  CHECK(j.sharding.kind == sharding_kind::fsdp1);
  CHECK(j.parallel.replicate == 2);
  CHECK(j.hardware.nodes == 2);
  CHECK(j.hardware.gpus_per_node == 8);
  CHECK(j.precision == precisions::fp32);
  CHECK(j.offload.parameters == place::on_cpu);
  CHECK(j.recompute == recompute::full);
  j = job_of({{"ds.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  offload_optimizer_device: cpu\n  gradient_accumulation_steps: 4\nmixed_precision: fp16\nnum_processes: 4\n"}}, set);
  CHECK(j.sharding.kind == sharding_kind::zero);
  CHECK(j.sharding.stage == 3);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.batch.accumulation == 4);
  CHECK(j.precision == precisions::fp16_mixed);
  j = job_of({{"ddp.yaml", "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 4\ndynamo_config:\n  dynamo_backend: INDUCTOR\n"}}, set);
  CHECK(j.sharding.kind == sharding_kind::ddp);
  CHECK(j.precision == precisions::bf16_autocast);
  CHECK(j.compile);

  CHECK(holds(refusal_of({{"a.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_shardin_strategy: FULL_SHARD\n"}}, set), "a.yaml:3: fsdp_config.fsdp_shardin_strategy is not known here (did you mean fsdp_sharding_strategy?)"));
  CHECK(holds(refusal_of({{"a.yaml", "distributed_type: FSDB\n"}}, set), "did you mean \"FSDP\"?"));
  CHECK(holds(refusal_of({{"a.yaml", "distributed_type: MULTI_GPU\nnum_machines: 3\nnum_processes: 16\n"}}, set), "a.yaml:3: 16 GPUs contradict 3 nodes (a.yaml:2)"));
  CHECK(holds(refusal_of({{"a.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ../zero1.json\n"}}, set), "a.yaml:3: names \"../zero1.json\", which no file here is"));
}

TEST_CASE("LLaMA-Factory: full and LoRA fine-tuning") {
  // As LLaMA-Factory examples/train_qlora/qwen3_lora_sft_otfq.yaml.
  const imported::text qlora{"qlora.yaml", R"(model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
quantization_bit: 4
quantization_method: bnb
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
dataset: identity,alpaca_en_demo
template: qwen3_nothink
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
bf16: true
resume_from_checkpoint: null
)"};
  const auto j = job_of({qlora}, {"hardware.gpus_per_node=1"});
  CHECK(j.model == *models::find("qwen3-4b"));
  CHECK(j.adapter.kind == adapter_kind::lora);
  CHECK(j.adapter.rank == 8);
  CHECK(j.adapter.targets == all_linear);
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.precision.gradients == formats::fp32);
  CHECK(j.precision.compute == formats::bf16);
  CHECK(j.recompute.mode == recompute_mode::full);  // on unless it is switched off
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 8, .lengths = {.unknown = true}});
  const auto full = job_of({{"full.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\ncutoff_len: 1024\nper_device_train_batch_size: 2\npure_bf16: true\noptim: paged_adamw_8bit\n"
                                          "disable_gradient_checkpointing: true\nflash_attn: fa2\nenable_liger_kernel: true\n"}},
                           {"hardware.gpus_per_node=1"});
  CHECK(full.precision == precision{.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::bf16, .reduce = formats::bf16, .master = formats::none, .state = formats::bf16, .autocast = choice::no});
  CHECK(full.optimizer.label.view() == "paged-adamw-8bit");
  CHECK(full.recompute == recompute::none);
  CHECK(full.attention == attention::flash);
  CHECK(full.loss.kind == loss_kind::fused_linear);
  const auto frozen = job_of({{"freeze.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: freeze\nfreeze_trainable_layers: 3\npure_bf16: true\n"}}, {"hardware.gpus_per_node=1"});
  REQUIRE(frozen.trainable.size == 1);
  CHECK(frozen.trainable.list[0].first_layer == 29);
  CHECK(frozen.trainable.list[0].last_layer == 31);
  CHECK(holds(refusal_of({{"a.yaml", "finetuning_type: lora\nlora_rnk: 8\n"}}), "a.yaml:2: lora_rnk is not known here (did you mean lora_rank?), and may change what is allocated"));
  CHECK(holds(refusal_of({{"a.yaml", "finetuning_type: lora\nmodel_name_or_path: me/mine\n"}}), "a.yaml:2: the model \"me/mine\" is not in the model zoo"));
  CHECK(holds(refusal_of({{"a.yaml", "finetuning_type: full\nstage: rw\n"}}), "stage must not be \"rw\""));
}

TEST_CASE("LLaMA-Factory makes fp32 of what trains, and loads the rest in 16 bits") {
  // src/llamafactory/model/adapter.py, init_adapter; model/patcher.py, patch_config.
  const std::string one = "model_name_or_path: meta-llama/Llama-3.1-8B\ncutoff_len: 1024\nper_device_train_batch_size: 1\n";
  const auto said = [&](const std::string& more) { return job_of({{"a.yaml", one + more}}, {"hardware.gpus_per_node=1"}); };
  CHECK(said("finetuning_type: full\nbf16: true\n").precision == precisions::bf16_autocast);
  CHECK(said("finetuning_type: full\nfp16: true\n").precision == precisions::fp16_autocast);
  CHECK(said("finetuning_type: full\nbf16: true\nuse_adam_mini: true\n").precision == precisions::bf16_autocast);
  CHECK(said("finetuning_type: full\n").precision == precisions::fp32);
  CHECK(said("finetuning_type: lora\n").precision.parameters == formats::bf16);
  CHECK(said("finetuning_type: lora\n").precision.compute == formats::bf16);
  CHECK(said("finetuning_type: lora\n").adapter.format == formats::fp32);
  CHECK(said("finetuning_type: lora\nfp16: true\n").precision.parameters == formats::fp16);
  // … of two layers of 32, or of the last of each of eight groups (LLaMA Pro).
  const auto last = said("finetuning_type: freeze\nbf16: true\n");
  CHECK(last.precision == precision{.parameters = formats::fp32, .compute = formats::bf16, .frozen = formats::bf16});
  CHECK(last.trainable.list[0].first_layer == 30);
  CHECK(said("finetuning_type: freeze\nfp16: true\n").precision.frozen == formats::fp16);
  CHECK(holds(refusal_of({{"a.yaml", one + "finetuning_type: freeze\n"}}), "neither bf16 nor fp16 is given, by which both are multiplied"));
  const auto pro = said("finetuning_type: freeze\nbf16: true\nuse_llama_pro: true\nfreeze_trainable_layers: 8\n").trainable;
  REQUIRE(pro.size == 8);
  for (std::int32_t i = 0; i < 8; ++i) {
    CHECK(pro.list[i].first_layer == 4 * i + 3);
    CHECK(pro.list[i].last_layer == 4 * i + 3);
  }
  CHECK(holds(refusal_of({{"a.yaml", one + "finetuning_type: freeze\nbf16: true\nuse_llama_pro: true\nfreeze_trainable_layers: 5\n"}}), "freeze_trainable_layers must divide the model's layers, 32"));
  // A frozen tower, alone and under FSDP2, whose shards Accelerate makes fp32 where they train (utils/fsdp_utils.py).
  const std::string sees = "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\ncutoff_len: 1024\nper_device_train_batch_size: 1\nfinetuning_type: full\nbf16: true\n";
  CHECK(job_of({{"a.yaml", sees}}, {"hardware.gpus_per_node=1"}).precision == precision{.parameters = formats::fp32, .compute = formats::bf16, .frozen = formats::bf16});
  const auto shards = job_of({{"a.yaml", sees}}, {"hardware.gpus_per_node=8", "batch.images.width=448", "batch.images.height=448", "sharding=fsdp2"}).precision;
  CHECK(shards == precision{.parameters = formats::bf16, .compute = formats::bf16, .master = formats::fp32, .state = formats::fp32, .frozen = formats::bf16});
  CHECK(job_of({{"a.yaml", sees + "freeze_vision_tower: false\nfreeze_multi_modal_projector: false\n"}}, {"hardware.gpus_per_node=1", "batch.images.width=448", "batch.images.height=448"}).precision == precisions::bf16_autocast);
  // NovaSky-AI/SkyThought skythought/train/LLaMA-Factory/examples/train_full/qwen2vl_full_sft.yaml: of 0.9.1, which has no word of the projector.
  const std::string older = "cutoff_len: 2048\nper_device_train_batch_size: 1\nfinetuning_type: full\nbf16: true\nfreeze_vision_tower: true\ntrain_mm_proj_only: false\n";
  CHECK_FALSE(job_of({{"a.yaml", "model_name_or_path: Qwen/Qwen2-VL-7B-Instruct\n" + older}}, {"hardware.gpus_per_node=1"}).trainable.list[0].modules.has(module::projector));
  CHECK(holds(refusal_of({{"a.yaml", "model_name_or_path: llava-hf/llava-1.5-7b-hf\n" + older}}, {"hardware.gpus_per_node=1"}), "which trains the projector beside a frozen tower or not, by its age: add freeze_multi_modal_projector"));
  CHECK(refusal_of({{"a.yaml", "model_name_or_path: llava-hf/llava-1.5-7b-hf\nfreeze_multi_modal_projector: false\n" + older}}, {"hardware.gpus_per_node=1"}).empty());
  // DFT's loss is that of each token, of whole logits in fp32: Liger's has no effect beside it.
  CHECK(said("finetuning_type: full\nbf16: true\nenable_liger_kernel: true\n").loss.kind == loss_kind::fused_linear);
  CHECK(said("finetuning_type: full\nbf16: true\nenable_liger_kernel: true\nuse_dft_loss: true\n").loss.kind == loss_kind::full);
  // Kernels of its second trainer that the first may switch on are an NPU's alone.
  CHECK(said("finetuning_type: full\nbf16: true\nuse_v1_kernels: true\n") == said("finetuning_type: full\nbf16: true\n"));
  CHECK(holds(refusal_of({{"a.yaml", one + "finetuning_type: full\nbf16: true\nuse_v1_kernels: true\n"}}, {"hardware.gpus_per_node=1", "hardware.gpu=ascend-910b-64gb"}), "on an Ascend NPU, which it has fused kernels for"));
  CHECK(said("finetuning_type: lora\nbf16: true\npissa_init: true\npissa_iter: 16\n").adapter == said("finetuning_type: lora\nbf16: true\n").adapter);
  CHECK(holds(refusal_of({{"a.yaml", one + "finetuning_type: lora\nbf16: true\npissa_init: true\nquantization_bit: 4\n"}}), "makes no PiSSA adapters of a quantised base"));
  for (const auto* stage : {"stage: dpo\n", "stage: dpo\npref_loss: ipo\n", "stage: kto\n", "stage: ppo\n"})
    CHECK(holds(refusal_of({{"a.yaml", one + stage + "finetuning_type: lora\nbf16: true\npissa_init: true\n"}}), "with pissa_init, whose base is no reference any more"));
  CHECK_FALSE(holds(refusal_of({{"a.yaml", one + "stage: dpo\npref_loss: simpo\nfinetuning_type: lora\nbf16: true\npissa_init: true\n"}}), "pissa_init"));
  // Ray's workers (examples/train_lora/qwen3_lora_sft_ray.yaml), where no launcher says how many processes there are.
  const imported::text ray{"ray.yaml", one + "finetuning_type: lora\nbf16: true\nray_num_workers: 4\n"};
  CHECK(job_of({ray}).hardware.gpus() == 4);
  CHECK(job_of({ray}, {"hardware.gpus_per_node=8"}).hardware.gpus() == 8);
}

TEST_CASE("one process that sees several GPUs is not data-parallel by processes") {
  // transformers/training_args.py, n_gpu: torch.nn.DataParallel.
  const std::string run = " run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --torch_dtype float32 --per_device_train_batch_size 1 --block_size 64\n";
  CHECK(holds(refusal_of({{"a.sh", "CUDA_VISIBLE_DEVICES=0,1,2,3 python" + run}}), "a.sh:1: \"run_clm.py\" is one process, and sees 4 GPUs (a.sh:1): torch's DataParallel"));
  CHECK(job_of({{"a.sh", "CUDA_VISIBLE_DEVICES=3 python" + run}}).hardware.gpus() == 1);
  CHECK(job_of({{"a.sh", "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4" + run}}).hardware.gpus() == 4);
}

TEST_CASE("a run has one configuration of DeepSpeed, and one of Accelerate") {
  const imported::text run{"a.sh", "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --per_device_train_batch_size 1 --block_size 64 --deepspeed z3.json\n"};
  const imported::text two{"z2.json", R"({"zero_optimization": {"stage": 2}})"}, three{"z3.json", R"({"zero_optimization": {"stage": 3}})"};
  CHECK(job_of({run, three}).sharding.stage == 3);
  CHECK(holds(refusal_of({run, three, two}), "z3.json and z2.json are both configurations of DeepSpeed, of which a run has one"));
}

TEST_CASE("the first Qwen's w1 and w2 are its MLP's ways up") {
  const auto targets = [](const std::string& names) {
    return job_of({{"a.yaml", "model_name_or_path: Qwen/Qwen-7B\ncutoff_len: 64\nbf16: true\nlora_target: " + names + "\n"}}, {"hardware.gpus_per_node=1"}).adapter.targets;
  };
  CHECK(targets("c_attn,c_proj,w1,w2") == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj});
  CHECK(targets("[c_attn, w2]") == module_set{module::q_proj, module::k_proj, module::v_proj, module::gate_proj});
}

TEST_CASE("Megatron-LM: arguments as YAML") {
  // In the form of tests/functional_tests/test_cases/gpt/*/model_config.yaml.
  const auto j = job_of({{"model_config.yaml", R"(ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
  CUBLAS_WORKSPACE_CONFIG: :4096:8
MODEL_ARGS:
  --num-layers: 4
  --hidden-size: 512
  --num-attention-heads: 8
  --multi-latent-attention: true
  --q-lora-rank: 192
  --kv-lora-rank: 64
  --seq-length: 1024
  --max-position-embeddings: 1024
  --micro-batch-size: 4
  --global-batch-size: 32
  --data-path: ${DATA_PATH}/text
  --lr: 0.00015
  --lr-warmup-fraction: .01
  --tensor-model-parallel-size: 2
  --sequence-parallel: true
  --use-distributed-optimizer: false
  --attention-backend: unfused
  --bf16: true
)"}}, {"hardware.gpus_per_node=8"});
  CHECK(j.environment.cublas_workspace == bytes{4096 * 1024 * 8});
  CHECK(j.model.mla == mla_shape{.q_rank = 192, .kv_rank = 64, .nope_dim = 128, .rope_dim = 64, .value_dim = 128});
  CHECK(j.model.vocab == 50257);  // GPT2BPETokenizer's
  CHECK(j.batch.accumulation == 2);  // 32 / 4 / 4
  CHECK(j.sharding.kind == sharding_kind::ddp);
  CHECK(j.attention == attention::eager);
  CHECK(j.parallel.sequence);
  CHECK(holds(refusal_of({{"a.yaml", "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n  --num-attention-heads: 4\n  --micro-batch-sise: 2\n"}}), "a.yaml:5: micro-batch-sise is not known here (did you mean micro-batch-size?)"));
}

TEST_CASE("YAML: the words of PyYAML, and what is refused") {
  const auto root = io::parse_yaml("a: no\nb: 'no'\nc: 5e8\nd: 1_000\ne: ~\nf: .5\ng: [1, 2.0, x]\nh: '1'\ni: -3\nj: 1e\n", "y").root;
  const auto twice = io::parse_yaml("a: &x {k: [1, 2]}\nb: *x\na: 3\n", "y");
  CHECK(twice.root.dump() == R"({"a":3,"b":{"k":[1,2]}})");
  CHECK(twice.notes == std::vector<std::string>{"y:3: a is given twice: this one counts, as in PyYAML"});
  CHECK(root.dump() == R"({"a":false,"b":"no","c":500000000.0,"d":1000,"e":null,"f":0.5,"g":[1,2.0,"x"],"h":"1","i":-3,"j":"1e"})");
  struct refused {
    std::string said, why;
  };
  for (const auto& one : std::vector<refused>{{"a: &x [*x]\n", "y:1: YAML with an alias of what is not complete yet"},
                                              {"---\na: 1\n---\nb: 2\n", "YAML with a second document"},
                                              {"a: !!python/object:os.system x\n", "YAML with the tag"},
                                              {"a: [1, 2\n", "not valid YAML"},
                                              {"a: \xff\n", "not valid UTF-8"},
                                              {"? [1]\n: 2\n", "a key that is no word"},
                                              {std::string(200, '['), "y"},
                                              {"", "y is empty"}}) {
    std::string seen;
    try {
      io::parse_yaml(one.said, "y");
    } catch (const job_error& e) {
      seen = e.what();
    }
    CAPTURE(one.said);
    CHECK_MESSAGE(holds(seen, one.why), seen);
  }
}

#endif

#if HEADROOM_HAS_TOML

TEST_CASE("torchtitan: the keys of 2024 and of 2025") {
  // As torchtitan train_configs/llama3_405b.toml of December 2024.
  const auto old = job_of({{"llama3_405b.toml", R"([job]
description = "Llama 3 405B training"
[model]
name = "llama3"
flavor = "405B"
norm_type = "rmsnorm"
[optimizer]
name = "AdamW"
lr = 8e-5
[training]
batch_size = 2
seq_len = 8192
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
compile = true
[experimental]
context_parallel_degree = 1
pipeline_parallel_degree = 1
enable_async_tensor_parallel = true
[activation_checkpoint]
mode = 'full'
[float8]
enable_float8_linear = true
enable_fsdp_float8_all_gather = true
)"}}, {"hardware.nodes=16", "hardware.gpus_per_node=8"});
  CHECK(old.model == *models::find("llama-3.1-405b"));
  CHECK(old.framework.date == 202411);
  CHECK(old.framework.sharding.gathers_in_fp8);
  CHECK(old.framework.communication.tensor_parallel == tensor_parallel_overlap::in_pieces);
  CHECK(old.precision.compute == formats::fp8);
  CHECK(old.parallel.tensor == 8);
  CHECK(old.parallel.sequence);
  CHECK(old.loss.kind == loss_kind::vocab_parallel);
  CHECK(old.recompute == recompute::full);
  CHECK(old.batch == batch{.micro = 2, .sequence = 8192});
  CHECK(old.compile);
  const std::string said = R"([model]
name = "llama3"
flavor = "8B"
[optimizer]
implementation = "foreach"
[training]
local_batch_size = 4
global_batch_size = 64
seq_len = 4096
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
fsdp_reshard_after_forward = "never"
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = false
)";
  const auto j = job_of({{"llama3_8b.toml", said}});
  CHECK(j.framework.date == 202508);
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.parallel.replicate == 2);
  CHECK(j.parallel.data == 8);
  CHECK(j.batch == batch{.micro = 4, .sequence = 4096, .accumulation = 2});
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.sharding.reshard_after_forward == choice::no);
  CHECK(j.recompute.policy == recompute_policy::every_other_matmul);
  CHECK(j.optimizer.how == implementation::foreach);
  // Arguments of the command line come after the file.
  const auto over = job_of({{"llama3_8b.toml", said}, {"run.sh", "torchrun --nproc_per_node=8 train.py --job.config_file llama3_8b.toml --training.local_batch_size 2 --training.global_batch_size 64 --training.seq_len=4096 "
                                                                  "--model.flavor 8B --parallelism.data_parallel_shard_degree 8"}});
  CHECK(over.batch.micro == 2);
  // eminorhan/frontier-torchtitan train_configs/old_configs/llama3_8b_n512.toml: degrees say 4096 GPUs, and nothing says how many a node has.
  const std::string frontier = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 21\nseq_len = 8192\ndata_parallel_replicate_degree = 16\ndata_parallel_shard_degree = 32\ntensor_parallel_degree = 8\n[activation_checkpoint]\nmode = \"full\"\n";
  const auto many = job_of({{"llama3_8b_n512.toml", frontier}});
  CHECK(many.hardware.nodes == 512);
  CHECK(many.hardware.gpus_per_node == 8);
  CHECK(job_of({{"llama3_8b_n512.toml", frontier}}, {"hardware.gpus_per_node=4"}).hardware.nodes == 1024);
  CHECK(holds(refusal_of({{"a.toml", "[model]\nflavor = \"8B\"\n[training]\nlocal_batchsize = 2\n[parallelism]\n"}}), "a.toml:4: training.local_batchsize is not known here (did you mean local_batch_size?)"));
  CHECK(holds(refusal_of({{"a.toml", "[model]\nflavor = \"8B\"\n[training]\nseq_len = \"long\"\n[parallelism]\n"}}), "a.toml:4: training.seq_len must be a whole number"));
  CHECK(holds(refusal_of({{"a.toml", "[model]\nname = 1\nname = 2\n"}}), "a.toml:3: not valid TOML"));
}

TEST_CASE("torchtitan: schedules by the names of torch.distributed.pipelining") {
  const auto toml = [](const std::string& parallelism) {
    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\nseq_len = 4096\n[activation_checkpoint]\nmode = \"none\"\n[parallelism]\ndata_parallel_shard_degree = 2\n"
           "pipeline_parallel_degree = 4\n" + parallelism;
  };
  const auto j = job_of({{"a.toml", toml("pipeline_parallel_schedule = \"ZBVZeroBubble\"\n")}});
  CHECK(j.parallel.schedule == schedule::zero_bubble_v);
  CHECK(j.parallel.virtual_pipeline == 2);
  CHECK(j.batch.accumulation == 8);
  CHECK(job_of({{"a.toml", toml("pipeline_parallel_schedule = \"Interleaved1F1B\"\n")}}).parallel.schedule == schedule::interleaved);
  CHECK(job_of({{"a.toml", toml("pipeline_parallel_schedule = \"GPipe\"\n")}}).parallel.schedule == schedule::gpipe);
  CHECK(job_of({{"a.toml", toml("")}}).parallel.schedule == schedule::one_forward_one_backward);
  CHECK(holds(refusal_of({{"a.toml", toml("pipeline_parallel_schedule = \"DualPipeV\"\n")}}), "\"DualPipeV\" is not read by this version; accepted: 1F1B, Interleaved1F1B, GPipe, ZBVZeroBubble"));
}

#endif

// Models

TEST_CASE("config.json and the index of a checkpoint") {
  const imported::text config{"config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": true})"};
  const auto index = [](std::int64_t bytes, const char* tensor) {
    return imported::text{"model.safetensors.index.json", R"({"metadata": {"total_size": )" + std::to_string(bytes) + R"(}, "weight_map": {")" + tensor + R"(": "model-00001.safetensors"}})"};
  };
  const auto said = [&](std::int64_t bytes, const char* tensor) {
    auto d = draft_of({config, index(bytes, tensor)}, {"batch.sequence=2048", "framework=libtorch"});
    const auto j = d.settled();
    REQUIRE(d.indices.size() == 1);
    return io::compared(d.indices[0], j.model);
  };
  // Llama-3.2-1B: 1,235,814,400 parameters, tied.
  CHECK(holds(said(2'471'628'800, "model.norm.weight"), "the model's 1235814400 parameters in 16-bit, exactly"));
  CHECK(holds(said(4'943'257'600, "model.norm.weight"), "in fp32, exactly"));
  CHECK(holds(said(2'471'628'800 + 2 * 262'668'288, "lm_head.weight"), "a copy of the tied embedding as its head, 262668288"));
  CHECK(holds(said(2'471'628'800 + 128, "layers.0.rotary_emb.inv_freq"), "1 buffers are among them"));
  CHECK(holds(said(700'000'000, "model.layers.0.q_proj.qweight"), "tensors of scales, so the weights are quantised"));
  CHECK(job_of({config}, {"batch.sequence=2048", "framework=libtorch"}).model == *models::find("llama-3.2-1b"));
  CHECK(holds(refusal_of({{"x.json", R"({"a": 1})"}}), "x.json is not a file that is known here"));
}

TEST_CASE("a job file is a start") {
  const imported::text mine{"job.json", R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "batch": {"sequence": 4096}, "recompute": "full"})"};
  const auto j = job_of({mine, {"ds.json", R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}})"}}, {"batch.micro=2"});
  CHECK(j.hardware.gpu.label.view() == "h100-sxm-80gb");
  CHECK(j.recompute == recompute::full);
  CHECK(j.sharding.stage == 3);
  CHECK(j.batch.micro == 2);
  // Its paths are looked for; those that another program's file names are not opened.
  CHECK(holds(refusal_of({{"job.json", R"({"model": "./no-such-folder", "batch": {"sequence": 1}})"}}), "job.json:1: model"));
  CHECK(holds(refusal_of({{"run.sh", "python t.py --per_device_train_batch_size 1 --model_name_or_path " HEADROOM_EXAMPLES "/models/config.json --bf16 True"}}), "is not in the model zoo"));
}

// Hostile input

namespace {

std::vector<imported::text> seeds() {
  return {
      {"a.json", R"({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}, "optimizer": {"type": "Adam", "params": {}}})"},
      {"b.json", R"({"metadata": {"total_size": 12}, "weight_map": {"lm_head.weight": "a", "norm.weight": "b"}})"},
      {"c.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100})"},
      {"d.json", R"({"model": "gpt2", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 2}, "batch": {"sequence": 8}, "parallel": {"stage_layers": [1, 2]}})"},
      {"e.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"},
      {"f.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3, offload_param_device: cpu}\nnum_processes: 4\n"},
      {"g.yaml", "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: lora\nlora_target: q_proj,v_proj\nquantization_bit: 4\ncutoff_len: 64\nbf16: true\nfsdp: [full_shard, auto_wrap]\n"},
      {"h.yaml", "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n  --num-attention-heads: 4\n  --moe-layer-freq: ([0]*1+[1]*3)\n  --num-experts: 2\n  --seq-length: 32\n  --pipeline-model-parallel-layout: Et|(tt|)*1tL\n"},
      {"i.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"float8\"]\n[training]\nlocal_batch_size = 2\nseq_len = 64\n[parallelism]\ntensor_parallel_degree = 2\n[activation_checkpoint]\nmode = \"selective\"\n"},
      {"j.sh", "N=$((1+2*(3)))\nA=(--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8)\nB=\"--micro-batch-size ${M:-1} \\\n --bf16\"\nif true; then X=1; fi\n#SBATCH --nodes=2\n"
               "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 torchrun --nnodes $N --nproc_per_node=8 t.py ${A[@]} $B 2>&1 <<E\nE\nsh -c 'deepspeed --num_gpus 2 t.py --bf16 True'\n"},
      {"k.sh", "accelerate launch --config_file c.yaml --num_processes 8 run.py --per_device_train_batch_size 2 --fsdp 'full_shard auto_wrap' --optim adamw_8bit\n"},
  };
}

/// Nothing but a job or a sentence, soon.
void survives(const imported::text& one) {
  const auto started = std::chrono::steady_clock::now();
  std::string why = "headroom: ";
  try {
    auto d = draft_of({one});
    if (!d.has({"batch", "sequence"})) io::say_key(d, "batch.sequence=8");
    if (!d.has({"model"})) io::say_key(d, "model=gpt2");
    d.settled();
  } catch (const headroom::error& e) {
    why = e.what();
  }
  const auto took = std::chrono::steady_clock::now() - started;
  const bool good = why.starts_with("headroom: ") && why.find('\n') == std::string::npos && took < std::chrono::seconds{5};
  if (!good) {
    CAPTURE(one.file);
    CAPTURE(one.said.substr(0, 400));
    CAPTURE(why);
    CHECK(good);
  }
}

}  // namespace

TEST_CASE("ten thousand damaged files are refused in a sentence each, or read") {
  std::mt19937 dice{20261121};
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(dice); };
  const std::vector<std::string> pieces{"\"", "'", "{", "}", "[", "]", "(", ")", ":", ": ", "- ", "\n", "\t", "#", "\\", "$", "${", "$((", "`", "<<E\n", "&a ", "*a", "!!x ", "? ", "| ", "> ", "%", "@", ",", "=", "--", "--a=", "-1",
                                        "1e999", "-0", "9223372036854775807", "18446744073709551616", "123456789012345678901234567890", "1e400", "nan", "inf", "null", "true", "auto", "0", "4294967296", "\xff", "\xc0\x80",
                                        "\xed\xa0\x80", std::string(1, '\0'), "\x01", "\x7f", "\xef\xbb\xbf", "\r\n", "A=$A$A", "\"\"\"", "'''", "\\u0000", "\\ud800", "0x10", "1_0", "2026-01-01", "[[", "a.b.c = 1\n"};
  const auto all = seeds();
  int tried = 0;
  for (; tried < draw::watched(10'000); ++tried) {  // the fuzzer does the same for longer
    auto one = all[below(all.size())];
    for (auto changes = 1 + below(4); changes > 0 && !one.said.empty(); --changes) {
      const auto at = below(one.said.size());
      switch (below(6)) {
        case 0: one.said.resize(at); break;
        case 1: one.said.erase(at, 1 + below(20)); break;
        case 2: one.said.insert(at, pieces[below(pieces.size())]); break;
        case 3: one.said.insert(at, one.said.substr(below(one.said.size()), below(60))); break;
        case 4: one.said[at] = static_cast<char>(below(256)); break;
        default: one.said.replace(at, std::min<std::size_t>(3, one.said.size() - at), pieces[below(pieces.size())]); break;
      }
    }
    survives(one);
  }
  CHECK(tried == draw::watched(10'000));
}

TEST_CASE("files made to be deep, long or to grow") {
  const auto repeated = [](std::string_view piece, int times) {
    std::string r;
    for (int i = 0; i < (draw::sanitized ? times / 4 : times); ++i) r += piece;
    return r;
  };
  std::string doubling = "A0=xxxxxxxxxx\n";
  for (int i = 1; i < 60; ++i) doubling += "A" + std::to_string(i) + "=$A" + std::to_string(i - 1) + "$A" + std::to_string(i - 1) + "\n";
  std::string aliases = "a: &a [x, x, x]\n";
  for (char c = 'b'; c < 'q'; ++c) aliases += std::string{c} + ": &" + c + " [*" + static_cast<char>(c - 1) + ", *" + static_cast<char>(c - 1) + "]\n";
  for (const auto& said : {repeated("[", 100'000), repeated("{\"a\":", 100'000), repeated("(", 50'000), repeated("$((", 20'000), repeated("${a:-", 2'000), repeated("a: \n ", 20'000), repeated("- ", 20'000), repeated("? ", 5'000),
                           repeated("a.", 20'000) + "b = 1", repeated("'\"", 20'000), repeated("x ", 300'000), repeated("--a ", 100'000), repeated("[a]\n", 1000), repeated("\"\"\"", 2001), repeated("sh -c 'sh -c \"", 500), doubling, aliases,
                           repeated("{a: ", 30'000), repeated("!", 30'000), repeated("&a ", 30'000), repeated("\\\n", 100'000), std::string(3 << 20, ' ')})
    for (const auto* file : {"a.json", "a.yaml", "a.toml", "a.sh", "a"}) survives({file, said});
  CHECK(holds(refusal_of({{"a.sh", doubling}}), "expand to more than 4 MiB"));
}

}  // namespace test_import
