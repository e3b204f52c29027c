// Distributed under the Boost Software License, Version 1.0.
// Defaults that a program's releases changed: transformers 5 loads weights as they are stored, and since 5.10 fsdp is FSDP's second version.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_releases {

using namespace imported;

const std::string clm = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --per_device_train_batch_size 1 --block_size 2048";

int assumed(const job& j) { return j.assumed_defaults; }
bool says_so(const job& j) { return estimate(j).assumptions.has(assumption::open_defaults); }

TEST_CASE("what a release decides is said above the numbers, or decided by the release") {
  const auto open = job_of({{"a.sh", clm}});
  CHECK(open.precision == precisions::bf16_autocast);  // fp32 weights, under autocast
  CHECK(assumed(open) == 1);
  CHECK(says_so(open));
  const auto older = job_of({{"a.sh", clm}}, {"environment.transformers=4.57"});
  CHECK(older.precision == precisions::bf16_autocast);
  CHECK(assumed(older) == 0);
  const auto newer = job_of({{"a.sh", clm}}, {"environment.transformers=5.2"});
  CHECK(newer.precision.parameters == formats::bf16);
  CHECK(newer.precision.state == formats::bf16);
  CHECK(assumed(newer) == 0);
  CHECK_FALSE(says_so(newer));
  // Said by the command: nothing is assumed.
  CHECK(assumed(job_of({{"a.sh", clm + " --torch_dtype float32"}})) == 0);
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}).precision.parameters == formats::bf16);
  // FSDP holds fp32 whatever was loaded (accelerate/accelerator.py, prepare_model); its version is what stays open.
  const auto sharded = job_of({{"a.sh", clm + " --fsdp 'full_shard auto_wrap'"}});
  CHECK(sharded.sharding.kind == sharding_kind::fsdp1);
  CHECK(assumed(sharded) == 1);
  CHECK(job_of({{"a.sh", clm + " --fsdp 'full_shard auto_wrap'"}}, {"environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp2);
  // DeepSpeed casts the module itself.
  CHECK(assumed(job_of({{"a.sh", clm + " --deepspeed z.json"}, {"z.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})"}})) == 0);
  // The key survives the job's own file.
  CHECK(io::read_job(io::parse_json(R"({"model": "gpt2", "batch": {"sequence": 8}, "assumed_defaults": ["a", "b"]})", "job")).assumed_defaults == 2);
  CHECK(io::job_to_json(open)["assumed_defaults"] == 1);
}

TEST_CASE("FSDP's first process alone holds the weights on the host, of the releases that spare the others") {
  const imported::text run{"a.sh", "accelerate launch --config_file f.yaml run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --torch_dtype float32 --per_device_train_batch_size 1 --block_size 2048"};
  const auto with = [&](const std::string& more, const std::vector<std::string>& sets) {
    return job_of({run, {"f.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: FULL_SHARD\n" + more}}, sets);
  };
  const auto loads = [&](const std::string& more, std::string release) { return with(more, {"environment.transformers=" + release}).sharding.loads_once; };
  const std::string no = "  fsdp_cpu_ram_efficient_loading: false\n", yes = "  fsdp_cpu_ram_efficient_loading: true\n";
  CHECK_FALSE(loads("", "4.44"));
  CHECK(loads("", "4.45"));  // accelerate launch's default
  CHECK(loads(yes, "4.57"));
  CHECK_FALSE(loads(no, "4.57"));
  CHECK(loads("", "5.5"));
  CHECK_FALSE(loads("", "5.6"));
  // 8.03 B parameters of 4 bytes: once, or by each of eight processes.
  CHECK(estimate(with("", {"environment.transformers=4.57"})).host.per_node.count() == 4 * 8'030'261'248);
  CHECK(estimate(with("", {"environment.transformers=5.6"})).host.per_node.count() == 8 * 4 * std::int64_t{8'030'261'248});
  // Where nobody says a release, it is said above the numbers if the node's memory is judged.
  CHECK_FALSE(with("", {}).sharding.loads_once);
  CHECK(assumed(with("", {})) == 0);
  CHECK(assumed(with("", {"hardware.host_memory_gib=512"})) == 1);
  CHECK(assumed(with(no, {"hardware.host_memory_gib=512"})) == 0);
  // Of the Trainer's own options, whose default is false.
  const auto trainer = [&](const std::string& config) { return job_of({{"a.sh", clm + " --torch_dtype float32 --fsdp 'full_shard auto_wrap' --fsdp_config '" + config + "'"}}, {"environment.transformers=4.57"}).sharding.loads_once; };
  CHECK(trainer(R"({"cpu_ram_efficient_loading": true})"));
  CHECK_FALSE(trainer(R"({"cpu_ram_efficient_loading": false})"));
  CHECK_FALSE(trainer(R"({"xla": false})"));
}

TEST_CASE("a model that only newer releases have says which release it is at least") {
  const auto of = [](const std::string& model, const std::vector<std::string>& sets = {}) {
    return job_of({{"a.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path " + model + " --bf16 True --per_device_train_batch_size 1 --block_size 2048"}}, sets);
  };
  for (const std::string model : {"Qwen/Qwen3.5-4B", "google/gemma-4-31B"}) {
    INFO(model);
    const auto j = of(model);
    CHECK(j.precision.parameters == formats::bf16);  // as they are stored, since 5.0
    CHECK(assumed(j) == (model.starts_with("Qwen") ? 0 : 1));  // Gemma 4's wide heads, below
  }
  CHECK(assumed(of("google/gemma-4-31B", {"environment.transformers=5.13"})) == 0);
  CHECK_THROWS_WITH_AS(of("google/gemma-4-31B", {"environment.transformers=5.12"}), doctest::Contains("Gemma 4 under sdpa of transformers before 5.13 (2026-07) is not modelled"), job_error);
  CHECK(of("google/gemma-4-31B", {"environment.transformers=5.12", "attention=eager"}).attention == attention::eager);
  CHECK_THROWS_WITH_AS(of("Qwen/Qwen3.5-4B", {"environment.transformers=5.1"}), "headroom: --set environment.transformers: transformers 5.1 has no class of this model, which came with 5.2", job_error);
  CHECK(assumed(of("Qwen/Qwen3.5-4B", {"environment.transformers=5.2"})) == 0);
  CHECK(assumed(of("Qwen/Qwen3-4B")) == 1);
  CHECK(of("Qwen/Qwen3-4B").precision.parameters == formats::fp32);
  // FSDP's default version changed after Qwen3.5 came, which says nothing of it; routed experts ran otherwise before.
  CHECK(assumed(job_of({{"a.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path Qwen/Qwen3.5-4B --bf16 True --per_device_train_batch_size 1 --block_size 2048 --fsdp 'full_shard auto_wrap'"}})) == 1);
  CHECK(assumed(of("Qwen/Qwen3.5-35B-A3B")) == 0);
  CHECK(of("Qwen/Qwen3.5-35B-A3B").framework == frameworks::hf_trainer);
}

TEST_CASE("routed experts run one after the other before transformers 5, which is assumed of a model that has them") {
  const std::string routed = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path Qwen/Qwen3-30B-A3B --bf16 True --torch_dtype bfloat16 --per_device_train_batch_size 1 --block_size 2048";
  const imported::text run{"a.sh", routed};
  const auto open = job_of({run});
  CHECK(open.framework == frameworks::hf_trainer_202508);
  CHECK(assumed(open) == 1);
  CHECK(says_so(open));
  auto d = draft_of({run}, {});
  (void)d.settled();
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) {
    return holds(n, "routed experts run one after the other before transformers 5, and in grouped products since: the older is assumed: say it, or --set environment.transformers=VERSION");
  }));
  const auto older = job_of({run}, {"environment.transformers=4.57"});
  CHECK(older.framework == frameworks::hf_trainer_202508);
  CHECK(assumed(older) == 0);
  const auto newer = job_of({run}, {"environment.transformers=5.0"});
  CHECK(newer.framework == frameworks::hf_trainer_202601);  // 5.0 is of 2026-01-26
  CHECK(assumed(newer) == 0);
  CHECK_FALSE(says_so(newer));
  CHECK(job_of({run}, {"framework.version=\"2026-03\""}).framework == frameworks::hf_trainer_202601);
  CHECK(assumed(job_of({run}, {"framework.version=\"2026-03\""})) == 0);
  const imported::text zero{"z.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})"};
  CHECK(job_of({{"a.sh", routed + " --deepspeed z.json"}, zero}).framework == frameworks::deepspeed_202508);
  CHECK(job_of({{"a.sh", routed + " --deepspeed z.json"}, zero}, {"environment.transformers=5.1"}).framework == frameworks::deepspeed_202601);
  // A release says which profile: 4.48 is of 2025-01-10.
  CHECK(job_of({run}, {"environment.transformers=4.48"}).framework == *frameworks::find("hf-trainer", 202501));
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}, {"environment.transformers=4.46.3"}).framework == frameworks::hf_trainer_202410);
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}, {"environment.transformers=5.3"}).framework == frameworks::hf_trainer_202601);
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}, {"environment.transformers=5.16"}).framework == frameworks::hf_trainer_202608);
  CHECK(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}}, {"environment.transformers=5.17"}).framework == frameworks::hf_trainer);
  // A dense model runs as ever: nothing is assumed.
  CHECK(assumed(job_of({{"a.sh", clm + " --torch_dtype bfloat16"}})) == 0);
}

const std::string sft = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nmax_length: 1024\nbf16: true\ngradient_checkpointing: true\ndataset_name: a\n";
job yaml(const std::string& said, const std::vector<std::string>& set = {}) { return job_of({{"sft.yaml", said}}, set); }
std::string why(const std::string& said, const std::vector<std::string>& set = {}) { return refusal_of({{"sft.yaml", said}}, set); }


/// What the import says that it took for a default.
bool assumes(const std::string& said, std::string_view what) {
  auto d = draft_of({{"sft.yaml", said}}, {});
  const auto j = d.settled();
  return j.assumed_defaults > 0 && std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, what); });
}

TEST_CASE("TRL's loss is the older default, which the report says, unless the file or the release says it") {
  CHECK(assumes(sft, "loss_type is not given, and TRL's default is \"nll\" before 1.7 (2026-06) and \"chunked_nll\" since: the older is assumed: say it, or --set environment.trl=VERSION"));
  const auto whole = yaml(sft, {"environment.trl=1.6"});
  CHECK(yaml(sft).loss == whole.loss);
  CHECK(whole.loss.kind == loss_kind::unset);
  CHECK(yaml(sft + "loss_type: nll\n") == whole);
  CHECK(yaml(sft, {"environment.trl=0.25.1", "environment.transformers=5.17"}) == whole);
  CHECK(yaml(sft, {"environment.trl=1.10"}).loss.kind == loss_kind::chunked);
  CHECK(yaml(sft, {"environment.trl=1.7.0"}).loss.kind == loss_kind::chunked);
  CHECK(yaml(sft + "loss_type: chunked_nll\n").loss.kind == loss_kind::chunked);
  CHECK(yaml(sft + "use_liger_kernel: true\n").loss.kind == loss_kind::fused_linear);
  CHECK(yaml(sft + "torch_dtype: float32\n", {"environment.transformers=5.17"}) == whole);  // a key that 1.0 no longer had
  CHECK(holds(why(sft, {"environment.trl=new"}), "environment.trl must be a version, e.g. \"1.9\""));
  const imported::text file{"sft.yaml", sft};
  CHECK(job_of({file, {"run.sh", "python trl/scripts/sft.py --config sft.yaml --loss_type nll\n"}}).loss.kind == loss_kind::unset);
}

TEST_CASE("TRL's adapters of a quantised base") {
  const std::string four = sft + "loss_type: nll\nuse_peft: true\nlora_target_modules: all-linear\nload_in_4bit: true\n";
  CHECK(assumes(four, "TRL makes adapters of a quantised base bf16 since 0.26 (2025-12), and leaves them fp32 before: the older is assumed"));
  CHECK(yaml(four).adapter.format == formats::fp32);
  CHECK(yaml(four, {"environment.trl=0.25"}).adapter.format == formats::fp32);
  CHECK(yaml(four, {"environment.trl=0.26"}).adapter.format == formats::bf16);
  // Embedding and head: bf16 of peft_module_casting_to_bf16 (v0.25.1), as they were loaded since (sft_trainer.py of v0.26.0).
  CHECK(yaml(four, {"environment.trl=0.25"}).precision.parameters == formats::bf16);
  CHECK(yaml(four + "dtype: float32\n", {"environment.trl=0.26"}).precision.parameters == formats::fp32);
  CHECK(yaml(four + "dtype: bfloat16\n", {"environment.trl=0.26"}).precision.parameters == formats::bf16);
  const std::string eight = sft + "loss_type: nll\nuse_peft: true\nlora_target_modules: all-linear\nload_in_8bit: true\ndtype: bfloat16\n";
  CHECK(yaml(eight, {"environment.trl=0.25"}).precision.parameters == formats::fp32);
  CHECK(yaml(eight, {"environment.trl=0.26"}).precision.parameters == formats::bf16);
}

// examples/scripts/sft_nemotron_3.py, its `dependencies`: experts are parameters there, and PEFT finds none of them.
TEST_CASE("a script that asks for a release of transformers is of that release") {
  const std::string said = "accelerate launch --num_processes 1 examples/scripts/sft_nemotron_3.py --dtype bfloat16 --model_name_or_path nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 --attn_implementation eager --max_length 128 "
                           "--per_device_train_batch_size 1 --use_peft --lora_target_modules q_proj k_proj v_proj o_proj gate_proj up_proj down_proj --loss_type nll --bf16 true --gradient_checkpointing true\n";
  auto d = draft_of({{"run.sh", said}});
  const auto j = d.settled();
  CHECK(j.framework == frameworks::hf_trainer);
  CHECK_FALSE(j.adapter.targets.has(module::experts_up));
  CHECK(j.adapter.targets.has(module::shared_up));
  CHECK(std::none_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "routed experts run one after the other"); }));
  CHECK_THROWS_WITH_AS(job_of({{"run.sh", said}}, {"environment.transformers=5.6"}), "headroom: --set environment.transformers: transformers 5.6 does not run this script, which takes 5.7", job_error);
}

TEST_CASE("peft's example of supervised fine-tuning trains by TRL, too") {
  const std::string said = "python train.py --model_name_or_path mistralai/Mistral-7B-v0.1 --chat_template_format chatml --per_device_train_batch_size 1 --bf16 True --use_peft_lora True --lora_target_modules all-linear ";
  const auto refused = [&](const std::string& more) { return refusal_of({{"run.sh", said + more + "\n"}}); };
  CHECK(holds(refused("--loss_type nll"), "gradient_checkpointing is not given, and TRL's default differs by release"));
  CHECK(refused("--gradient_checkpointing True") == "");
  CHECK(refused("--gradient_checkpointing True --loss_type nll --use_4bit_quantization True") == "");
}

TEST_CASE("FSDP's version is its first, with a note, unless transformers is newer") {
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nblock_size: 512\nbf16: true\nfsdp: full_shard auto_wrap\n";
  const std::vector<std::string> eight{"hardware.gpus_per_node=8"};
  auto d = draft_of({{"t.yaml", trainer}}, eight);
  CHECK(d.settled().sharding.kind == sharding_kind::fsdp1);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "fsdp has no version, and its default changed with transformers 5.10 (2026-06), from FSDP's first to its second: the older is assumed"); }));
  CHECK(yaml(trainer, {eight[0], "environment.transformers=5.9"}).sharding.kind == sharding_kind::fsdp1);
  CHECK(yaml(trainer, {eight[0], "environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp2);
  CHECK(yaml(trainer + "fsdp_config: {version: 1}\n", {eight[0], "environment.transformers=5.10"}).sharding.kind == sharding_kind::fsdp1);
}

// transformers 5.2 and 5.10, training_args.py _process_fsdp_args.
TEST_CASE("FSDP's second version keeps gathered weights before transformers 5.10, unless reshard_after_forward is said") {
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nblock_size: 512\nbf16: true\n";
  const std::string full = trainer + "fsdp: full_shard auto_wrap\n", grads = trainer + "fsdp: shard_grad_op auto_wrap\n";
  const std::string eight = "hardware.gpus_per_node=8", old = "environment.transformers=5.9", now = "environment.transformers=5.10";
  const auto stage = [&](const std::string& said, const std::string& release) {
    const auto j = yaml(said, {eight, release});
    CHECK(j.sharding.kind == sharding_kind::fsdp2);
    return j.sharding.stage;
  };
  const std::string second = "fsdp_config: {version: 2}\n", kept = "fsdp_config: {version: 2, reshard_after_forward: false}\n", freed = "fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}\n";
  CHECK(stage(full + second, old) == 2);
  CHECK(stage(full + second, now) == 3);
  CHECK(stage(grads + second, old) == 2);
  CHECK(stage(grads + second, now) == 2);
  for (const auto& release : {old, now}) {
    CHECK(stage(full + kept, release) == 2);
    CHECK(stage(grads + freed, release) == 3);
  }
  CHECK(assumed(yaml(full + second, {eight})) == 1);
  CHECK(yaml(full + second, {eight}).sharding.stage == 2);
  CHECK(assumed(yaml(full + freed, {eight})) == 0);
}

TEST_CASE("the Trainer offloads by the word offload, and by cpu_offload since 5.10") {
  const std::string trainer = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nblock_size: 512\nbf16: true\n";
  const std::string eight = "hardware.gpus_per_node=8", old = "environment.transformers=5.9", now = "environment.transformers=5.10";
  const auto parameters = [&](const std::string& said, const std::string& release) { return yaml(trainer + said, {eight, release}).offload.parameters; };
  for (const auto& release : {old, now}) {
    CHECK(parameters("fsdp: full_shard offload auto_wrap\n", release) == place::on_cpu);
    CHECK(parameters("fsdp: full_shard auto_wrap\nfsdp_config: {version: 1, offload_params: true}\n", release) == place::on_gpu);
    CHECK(parameters("fsdp: full_shard offload auto_wrap\nfsdp_config: {version: 1, offload_params: true}\n", release) == place::on_cpu);
  }
  CHECK(parameters("fsdp: full_shard auto_wrap\nfsdp_config: {version: 1, cpu_offload: true}\n", old) == place::on_gpu);
  CHECK(parameters("fsdp: full_shard auto_wrap\nfsdp_config: {version: 1, cpu_offload: true}\n", now) == place::on_cpu);
  auto d = draft_of({{"t.yaml", trainer + "fsdp: full_shard auto_wrap\nfsdp_config: {version: 1, offload_params: true}\n"}}, {eight});
  (void)d.settled();
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "fsdp_config.offload_params has no effect: the Trainer offloads where fsdp has the word offload"); }));
}

}  // namespace test_releases
