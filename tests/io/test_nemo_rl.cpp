// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's configurations: keys one by one, files that inherit from each other, and recipes of its repository, read by hand.
#include "launcher_keys.hpp"

#include <headroom/estimate.hpp>

#if HEADROOM_HAS_YAML

namespace test_nemo_rl {

using namespace imported;
using io::json_value;

namespace {

job of_root(const json_value& root) {
  io::draft d;
  io::keep_nemo_rl(d, io::document{.source = "a.yaml", .root = root, .lines = {}});
  io::read_nemo_rl(d);
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  return d.settled();
}
json_value small() {
  return {{"grpo", {{"num_generations_per_prompt", 16}}},
          {"loss_fn", {{"reference_policy_kl_penalty", 0.01}}},
          {"policy",
           {{"model_name", "Qwen/Qwen2.5-1.5B"}, {"train_global_batch_size", 512}, {"train_micro_batch_size", 4}, {"logprob_batch_size", 4}, {"max_total_sequence_length", 512}, {"precision", "bfloat16"},
            {"sequence_packing", {{"train_mb_tokens", 2048}, {"logprob_mb_tokens", 2048}}}, {"dynamic_batching", {{"train_mb_tokens", 1024}, {"logprob_mb_tokens", 1024}}},
            {"megatron_cfg", {{"enabled", true}, {"apply_rope_fusion", true}, {"bias_activation_fusion", true}, {"gradient_accumulation_fusion", false}, {"activation_checkpointing", false}, {"sequence_parallel", false},
              {"tensor_model_parallel_size", 1}, {"pipeline_model_parallel_size", 1}, {"context_parallel_size", 1},
              {"optimizer", {{"use_precision_aware_optimizer", true}, {"use_distributed_optimizer", true}, {"optimizer_cpu_offload", false}}},
              {"distributed_data_parallel_config", {{"grad_reduce_in_fp32", false}, {"overlap_grad_reduce", false}, {"overlap_param_gather", false}}}}},
            {"generation", {{"backend", "vllm"}, {"max_new_tokens", 128}, {"colocated", {{"enabled", true}}}, {"vllm_cfg", {{"gpu_memory_utilization", 0.6}, {"tensor_parallel_size", 1}}}}}}},
          {"cluster", {{"gpus_per_node", 8}, {"num_nodes", 1}}}};
}
imported::text recipe(const std::string& name) { return launch_file("nemo-rl", name); }
const char* const one_policy = "policy:\n  model_name: Qwen/Qwen2.5-1.5B\n  train_global_batch_size: 64\n  train_micro_batch_size: 2\n  max_total_sequence_length: 1024\n  megatron_cfg:\n    enabled: true\n    optimizer: {use_precision_aware_optimizer: true, use_distributed_optimizer: true, optimizer_cpu_offload: false}\n"
                               "    distributed_data_parallel_config: {grad_reduce_in_fp32: false, overlap_grad_reduce: true, overlap_param_gather: true}\n    tensor_model_parallel_size: 1\n"
                               "    pipeline_model_parallel_size: 1\n    context_parallel_size: 1\n    sequence_parallel: false\n    activation_checkpointing: false\n    apply_rope_fusion: true\n    bias_activation_fusion: true\n    gradient_accumulation_fusion: false\n"
                               "cluster: {gpus_per_node: 8, num_nodes: 1}\nsft: {seed: 1}\n";

}  // namespace

TEST_CASE("each key alone") {
  for (const auto& l : launcher_keys::list_of("nemo-rl.txt")) {
    auto with = small();
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, small(), with, [](const json_value& root) { return of_root(root); });
  }
}

// grpo.py setup asserts that the penalty is 0; then no reference is kept, whether its scores are skipped or not.
TEST_CASE("a reference whose scores are skipped is none") {
  auto root = small();
  root["grpo"]["skip_reference_policy_logprobs_calculation"] = true;
  CHECK_THROWS_WITH(of_root(root), doctest::Contains("NeMo-RL stops where grpo.skip_reference_policy_logprobs_calculation is true and loss_fn.reference_policy_kl_penalty is not 0"));
  root["loss_fn"]["reference_policy_kl_penalty"] = 0;
  CHECK(of_root(root).objective.reference == reference_way::none);
  auto without = root;
  without["grpo"].erase("skip_reference_policy_logprobs_calculation");
  CHECK(of_root(root) == of_root(without));
}

// megatron/core/optimizer/distrib_optimizer.py _copy_model_grads_to_main_grads: fp32 copies of the shards, for the step; 1,543,714,304 parameters over eight GPUs.
TEST_CASE("gradients in 16 bits are copied for an update that knows fp32 alone") {
  const auto of = [](const std::string& aware) {
    auto text = std::string{one_policy};
    text.replace(text.find("use_precision_aware_optimizer: true"), 35, "use_precision_aware_optimizer: " + aware);
    return job_of({{"sft.yaml", text}});
  };
  const auto j = of("false"), aware = of("true");
  CHECK(j.precision.gradients == formats::bf16);
  const auto r = estimate(j), other = estimate(aware);
  CHECK(r.ranks[0][phase::step] - r.ranks[0][phase::save] == bytes{1'543'714'304 / 2});
  CHECK(other.ranks[0][phase::step] == other.ranks[0][phase::save]);
  auto grpo = small();
  grpo["policy"]["megatron_cfg"]["optimizer"]["use_precision_aware_optimizer"] = false;
  CHECK_THROWS_WITH(of_root(grpo), doctest::Contains("those stay while the engine generates"));
}

// The reading of each recipe is what a Python program made of the same files by the rules of nemo_rl/utils/config.py (PyYAML), and grpo.py's and setup.py's.
TEST_CASE("GRPO of Qwen3-30B-A3B beside vLLM") {
  const auto j = job_of({recipe("grpo-qwen3-30ba3b-4n8g.yaml"), recipe("grpo_math_1B.yaml")}, {"rollout.prompt=1024"});
  CHECK(j.model.label == "qwen3-30b-a3b");
  CHECK(j.framework.label == "megatron");
  CHECK(j.hardware.gpus() == 32);
  CHECK(j.parallel.tensor == 1);
  CHECK(j.parallel.pipeline == 1);
  CHECK(j.parallel.expert == 8);
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::nemo_rl, .reference = reference_way::swapped});
  // Packing of the base file: rows of 4,096 × 1 tokens, 2,048 samples over 32 ranks.
  CHECK(j.batch == batch{.micro = 1, .sequence = 4096, .accumulation = 64, .packed = true});
  CHECK(j.precision.gradients == formats::bf16);
  CHECK(j.precision.master == formats::fp32);
  CHECK(j.framework.optimizer.precision_aware);
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK(j.rollout.tensor == 2);
  CHECK(j.rollout.share.per_million == 600'000);
  CHECK(j.rollout.sleep == 1);
  CHECK(j.rollout.generations == 32);
  CHECK(j.rollout.prompt == 1024);
  CHECK(j.rollout.completion == 3072);
  CHECK(j.rollout.batch == 2);  // rows of 2 × 4,096 tokens are scored
  CHECK(j.assumed_defaults > 0);  // the router, which does not train
  CHECK(estimate(j).fits());      // docs/about/performance-summary.md: it runs on these
  // max_new_tokens is max_total_sequence_length: without a word, the completion is as long as it can be.
  const auto open = job_of({recipe("grpo-qwen3-30ba3b-4n8g.yaml"), recipe("grpo_math_1B.yaml")});
  CHECK(open.rollout.prompt == 1);
  CHECK(open.rollout.completion == 4095);
  CHECK(open.assumed_defaults == j.assumed_defaults + 1);
  for (int p = 0; p < phase_count; ++p) CHECK(estimate(open).ranks[0][static_cast<phase>(p)] == estimate(j).ranks[0][static_cast<phase>(p)]);
}

// Rows of 4 × 512 tokens; a prompt and its completion have 512 of them.
TEST_CASE("what a prompt and its completion share is a sample's, not a row's") {
  auto root = small();
  root["policy"]["sequence_packing"]["enabled"] = true;
  root["policy"]["generation"]["max_new_tokens"] = 512;
  const auto j = of_root(root);
  CHECK(j.batch.sequence == 2048);
  CHECK(j.rollout.prompt == 1);
  CHECK(j.rollout.completion == 511);
}

// 8,030,261,248 parameters over 32 GPUs; 128,256 words, 4,096 features, layers of 218,112,000.
TEST_CASE("GRPO of Llama-3.1-8B as DTensors, beside vLLM") {
  const auto j = job_of({recipe("grpo-llama3.1-8b-instruct-4n8g-fsdp2tp1-long.v3.yaml"), recipe("grpo_math_1B.yaml")});
  CHECK(j.framework.label == "hf-trainer");
  CHECK(j.hardware.gpus() == 32);
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.precision.parameters == formats::fp32);
  CHECK(j.precision.compute == formats::bf16);
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::nemo_rl, .reference = reference_way::swapped});
  CHECK(j.batch == batch{.micro = 1, .sequence = 4096, .accumulation = 16});  // 512 samples of an update, in micro-batches of 4,096 tokens
  CHECK(j.rollout.batch == 2);        // 8,192 tokens are scored at once
  CHECK(j.rollout.generations == 32);
  CHECK(j.rollout.share.per_million == 600'000);
  CHECK(j.rollout.tensor == 1);
  CHECK(j.rollout.prompt == 1);
  CHECK(j.rollout.completion == 4095);
  const auto r = estimate(j);
  const std::int64_t here = 8'030'261'248 / 32, table = 128'256LL * 4096, logits = 2 * 4096LL * 128'256;
  const auto held = r.ranks[0][phase::save].count();
  CHECK(held - 12 * here >= 67'108'864);  // cuBLAS's workspaces of two handles
  CHECK(held - 12 * here < 67'108'864 + 1'048'576);  // and positions
  CHECK(r.ranks[0][phase::score].count() == held - 8 * here + 2 * (2 * table + 4096 + 218'112'000) + 12 * logits);
}

TEST_CASE("an engine on other nodes, through three files") {
  const auto j = job_of({recipe("grpo_math_1B.yaml"), recipe("grpo-qwen3-30ba3b-4n8g-async-1off.yaml"), recipe("grpo-qwen3-30ba3b-4n8g.yaml")}, {"rollout.prompt=1024"});
  CHECK(j.hardware.gpus() == 16);  // of four nodes two generate
  CHECK(j.rollout.placement == rollout_place::separate);
  CHECK(j.rollout.gpus == 16);
  CHECK(j.rollout.share.per_million == 800'000);
  CHECK(j.parallel.pipeline == 2);
  CHECK(j.batch.accumulation == 256);  // 2,048 over eight ranks
  CHECK(estimate(j).fits());
}

// What an engine makes of its weights, and how it is compiled, is of its own GPUs: it gets bf16 from the trainer (grpo.py refit_policy_generation).
TEST_CASE("keys of an engine on other GPUs that are not modelled leave that engine open, and no more") {
  auto separate = small();
  launcher_keys::put(separate, "policy.generation.colocated.enabled", false);
  launcher_keys::put(separate, "cluster.num_nodes", 2);
  launcher_keys::put(separate, "policy.generation.colocated.resources", {{"num_nodes", 1}, {"gpus_per_node", 8}});
  auto narrow = separate;
  launcher_keys::put(narrow, "policy.generation.vllm_cfg.precision", "fp8");
  launcher_keys::put(narrow, "policy.generation.vllm_kwargs.speculative_config", {{"method", "ngram"}});
  const auto plain = of_root(separate), open = of_root(narrow);
  CHECK(plain.rollout.share == memory_share::of(0.6));
  CHECK_FALSE(open.rollout.share.set());
  CHECK(open.rollout.gpus == 0);
  CHECK(open.assumed_defaults == plain.assumed_defaults + 1);
  CHECK(estimate(open).ranks[0].reserved == estimate(plain).ranks[0].reserved);
  const auto why = [](json_value root, const char* key, const json_value& value) {
    launcher_keys::put(root, key, value);
    try {
      of_root(root);
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(holds(why(small(), "policy.generation.vllm_cfg.precision", "fp8"), "policy.generation.vllm_cfg.precision = \"fp8\" is not modelled"));
  CHECK(holds(why(narrow, "policy.generation.vllm_cfg.kv_cache_dtype", "fp8"), "scales that the trainer measures"));
  CHECK(holds(why(narrow, "policy.generation.quant_cfg", "a.yaml"), "policy.generation.quant_cfg"));
  // TensorRT-LLM's gets its weights as vLLM's does (refit_policy_generation, broadcast_weights_for_collective).
  auto other = separate;
  launcher_keys::put(other, "policy.generation.backend", "trtllm");
  CHECK(estimate(of_root(other)).ranks[0].reserved == estimate(plain).ranks[0].reserved);
  CHECK(of_root(other).assumed_defaults == plain.assumed_defaults + 1);
  CHECK(holds(why(separate, "policy.generation.backend", "megatron"), "policy.generation.backend = \"megatron\" is not modelled"));
  CHECK(holds(why(small(), "policy.generation.backend", "trtllm"), "policy.generation.backend = \"trtllm\" is not modelled"));
}

// Gradients wait between parts of a step (single_controller.py): what is scored beside them is counted where it is less than what trains.
TEST_CASE("one controller trains on as many prompts as are there") {
  auto root = small();
  root["grpo"]["num_prompts_per_step"] = 64;
  const auto plain = of_root(root);
  launcher_keys::put(root, "async_rl.sampler.name", "in_order");
  launcher_keys::put(root, "async_rl.min_groups_for_streaming_train", 16);
  CHECK(io::job_to_json(of_root(root)) == io::job_to_json(plain));
  launcher_keys::put(root, "policy.logprob_batch_size", 8);
  CHECK_THROWS_WITH(of_root(root), doctest::Contains("async_rl.min_groups_for_streaming_train = 16 is not modelled"));
  root["async_rl"].erase("min_groups_for_streaming_train");  // 32 then (single_controller_utils/config.py AsyncRLConfig)
  CHECK_THROWS_WITH(of_root(root), doctest::Contains("async_rl.min_groups_for_streaming_train = 32"));
  launcher_keys::put(root, "async_rl.min_groups_for_streaming_train", 64);
  CHECK(of_root(root).rollout.batch == 8);
}

// vllm_worker.py hands the format on beside precision fp8 alone; states are those of recurrent layers.
TEST_CASE("formats of an engine's caches that it does not take, or does not have") {
  auto root = small();
  launcher_keys::put(root, "policy.generation.vllm_kwargs.mamba_ssm_cache_dtype", "float32");
  CHECK(io::job_to_json(of_root(root)) == io::job_to_json(of_root(small())));
  launcher_keys::put(root, "policy.model_name", "nvidia/NVIDIA-Nemotron-Nano-9B-v2");
  CHECK_THROWS_WITH(of_root(root), doctest::Contains("policy.generation.vllm_kwargs.mamba_ssm_cache_dtype = \"float32\" is not modelled by this version (of recurrent layers' states in the engine)"));
  launcher_keys::put(root, "policy.model_name", "Qwen/Qwen2.5-1.5B");
  launcher_keys::put(root, "policy.generation.vllm_cfg.kv_cache_dtype", "fp8_e4m3");
  CHECK_FALSE(of_root(root).rollout.kv_format.set());
}

TEST_CASE("SFT in packed rows, and DPO") {
  const auto sft = job_of({recipe("sft-llama3.1-8b-1n8g-megatron-seqpack.yaml"), recipe("sft.yaml")});
  CHECK(sft.objective.kind == objective_kind::sft);
  CHECK(sft.objective.code == method_code::nemo_rl);
  CHECK(!sft.rollout.given());
  CHECK(sft.parallel.tensor == 2);
  CHECK(sft.parallel.pipeline == 2);
  CHECK(sft.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 128, .packed = true});  // 512 samples of 4,096 over two ranks, two a row
  CHECK(estimate(sft).fits());
  const auto dpo = job_of({recipe("dpo-llama3.1-8b-instruct-4n8g-megatron.v2.yaml"), recipe("dpo.yaml")});
  CHECK(dpo.objective == objective{.kind = objective_kind::dpo, .code = method_code::nemo_rl, .reference = reference_way::swapped});
  CHECK(dpo.parallel.tensor == 4);
  CHECK(dpo.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 32, .lengths = {.unknown = true}});  // dpo.py pads to the longest of a step
  CHECK(estimate(dpo).fits());
}

TEST_CASE("files that inherit, and values that stand in others") {
  const imported::text base{"base.yaml", "policy:\n  model_name: Qwen/Qwen2.5-1.5B\n  train_global_batch_size: ${mul:${policy.train_micro_batch_size},32}\n  train_micro_batch_size: 2\n  max_total_sequence_length: ${div:${max:4096,100},${.train_micro_batch_size}}\n"
                                  "  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n    optimizer: {use_precision_aware_optimizer: true, use_distributed_optimizer: true, optimizer_cpu_offload: false}\n    distributed_data_parallel_config: {grad_reduce_in_fp32: false, overlap_grad_reduce: true, overlap_param_gather: true}\n"
                                  "    pipeline_model_parallel_size: 1\n    context_parallel_size: 1\n    sequence_parallel: false\n    activation_checkpointing: false\n    apply_rope_fusion: true\n    bias_activation_fusion: true\n    gradient_accumulation_fusion: false\n  tokenizer: {name: '${policy.model_name}'}\ncluster: {gpus_per_node: 8, num_nodes: 1}\nsft: {seed: 1}\n"};
  const imported::text child{"child.yaml", "defaults: ../base.yaml\npolicy:\n  train_micro_batch_size: 4\n"}, grandchild{"run.yaml", "defaults: [child.yaml]\npolicy:\n  megatron_cfg: {tensor_model_parallel_size: 4}\n"};
  const auto j = job_of({grandchild, base, child});
  CHECK(j.batch == batch{.micro = 4, .sequence = 1024, .accumulation = 16, .lengths = {.unknown = true}});  // 128 samples over two ranks
  CHECK(j.parallel.tensor == 4);
  // What is named and not given; circles; two that are run; a section that inherits nothing.
  CHECK(holds(refusal_of({child}), "child.yaml:1: names \"../base.yaml\", which no file here is: give it, too"));
  CHECK(holds(refusal_of({{"a.yaml", "defaults: b.yaml\n"}, {"b.yaml", "defaults: a.yaml\n"}}), "a.yaml:1: these configurations of NeMo-RL's inherit from each other in a circle: a.yaml, then from b.yaml, then from a.yaml"));
  CHECK(holds(refusal_of({{"a.yaml", one_policy}, {"b.yaml", "defaults: [a.yaml, 5]\npolicy: {model_name: x}\n"}}), "b.yaml:1: defaults must be the path of a file that is inherited from, or a list of such, found 5"));
  CHECK(holds(refusal_of({{"x/a.yaml", one_policy}, {"y/a.yaml", one_policy}}), "two of NeMo-RL's configurations have this name, and the defaults of a third"));
  CHECK(job_of({base, {"run.yaml", "defaults: base.yaml\ncluster:\n  _override_: 0\n  gpus_per_node: 4\n"}}).hardware.gpus() == 4);
  CHECK(holds(refusal_of({base, {"run.yaml", "defaults: base.yaml\ncluster:\n  _override_: 1\n  gpus_per_node: 4\n"}}), "cluster.num_nodes is required, and NeMo-RL has no default for it: where it stands in a file that this one inherits from, give that file, too"));
  CHECK(holds(refusal_of({{"a.yaml", one_policy}, {"b.yaml", one_policy}}), "a.yaml and b.yaml are both configurations of NeMo-RL's"));
  CHECK(holds(refusal_of({base, {"run.yaml", "defaults: base.yaml\npolicy:\n  _override_: true\n  model_name: Qwen/Qwen2.5-1.5B\n"}}), "neither policy.megatron_cfg.enabled nor policy.dtensor_cfg.enabled"));
  // Places are those of the file that says it, and what cannot be told is no number.
  CHECK(holds(refusal_of({base, {"run.yaml", "defaults: base.yaml\npolicy:\n  quant_cfg: x\n"}}), "run.yaml:3: policy.quant_cfg"));
  CHECK(holds(refusal_of({{"base.yaml", std::string{one_policy} + "lager: 1\n"}, {"run.yaml", "defaults: base.yaml\n"}}), "base.yaml:20: lager is not known"));
  CHECK(holds(refusal_of({base, {"run.yaml", "defaults: base.yaml\npolicy:\n  train_micro_batch_size: ${oc.env:SIZE}\n"}}), "base.yaml:5: policy.max_total_sequence_length must be"));
  CHECK(holds(refusal_of({base, {"run.yaml", "defaults: base.yaml\npolicy:\n  train_micro_batch_size: ${policy.train_micro_batch_size}\n"}}), "base.yaml:5: policy.max_total_sequence_length must be"));
}

TEST_CASE("a command over the files") {
  const auto run = [](const std::string& arguments) { return imported::text{"run.sh", "#!/bin/bash\nuv run examples/run_grpo.py " + arguments + "\n"}; };
  const auto j = job_of({run("--config examples/configs/recipes/llm/performance/grpo-qwen3-30ba3b-4n8g.yaml policy.megatron_cfg.tensor_model_parallel_size=2 ++policy.refit_buffer_size_gb=4 cluster.num_nodes=2 loss_fn.reference_policy_kl_penalty=0 policy.max_total_sequence_length=2048 ~policy.megatron_cfg.env_vars logger.log_dir=$LOGS"),
                         recipe("grpo_math_1B.yaml"), recipe("grpo-qwen3-30ba3b-4n8g.yaml")}, {"rollout.prompt=1024"});
  CHECK(j.parallel.tensor == 2);
  CHECK(j.hardware.gpus() == 16);
  CHECK(j.rollout.sync_bucket_mib == 4096);
  CHECK(j.objective.reference == reference_way::none);
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 256, .packed = true});  // rows are as long as what they are made of, by the base file
  const auto of = [&](const std::string& arguments) { return refusal_of({run(arguments), recipe("grpo_math_1B.yaml"), recipe("grpo-qwen3-30ba3b-4n8g.yaml")}); };
  CHECK(holds(of("--config a/grpo-qwen3-30ba3b-4n8g.yaml policy.draft.enabled=true"), "run.sh:2: policy.draft.enabled = true is not modelled"));
  CHECK(holds(of("--config a/grpo-qwen3-30ba3b-4n8g.yaml policy.lager=1"), "run.sh:2: policy.lager is not known"));
  CHECK(holds(of("--config a/grpo-qwen3-30ba3b-4n8g.yaml policy.train_micro_batch_size=$N"), "add --env NAME=VALUE"));
  CHECK(holds(of("--config a/grpo-qwen3-30ba3b-4n8g.yaml --lager"), "is no KEY=VALUE of NeMo-RL's"));
  CHECK(holds(of("--config a/other.yaml"), "run.sh:2: names \"a/other.yaml\", and grpo-qwen3-30ba3b-4n8g.yaml is what is run"));
  CHECK(holds(of(""), "names \"grpo_math_1B.yaml\""));  // the program's own, from which the other inherits
  CHECK(holds(refusal_of({run("--config a/b.yaml")}), "names \"a/b.yaml\", which no file here is: give it, too"));
}

TEST_CASE("overrides go over each other in their order") {
  const auto of = [&](const std::string& arguments) { return job_of({{"run.sh", "python examples/run_sft.py --config a.yaml " + arguments + "\n"}, {"a.yaml", one_policy}}); };
  const std::string taken = "'~policy.train_micro_batch_size' ", put = "+policy.train_micro_batch_size=4 ";
  CHECK(of(taken + put).batch.micro == 4);
  CHECK(of("logger.zz=1 --config a.yaml").batch.micro == 2);
  CHECK(holds(refusal_of({{"run.sh", "python examples/run_sft.py --config a.yaml " + put + taken + "\n"}, {"a.yaml", one_policy}}), "policy.train_micro_batch_size is required"));
  CHECK(of("policy.train_micro_batch_size=8 policy.train_micro_batch_size=1").batch.micro == 1);
}

TEST_CASE("what NeMo-RL itself asserts") {
  const auto with = [](const std::string& path, const json_value& value, json_value root = small()) {
    launcher_keys::put(root, path, value);
    try {
      of_root(root);
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  auto packed = small(), dynamic = small(), separate = small();
  launcher_keys::put(packed, "policy.sequence_packing.enabled", true);
  launcher_keys::put(dynamic, "policy.dynamic_batching.enabled", true);
  launcher_keys::put(separate, "policy.generation.colocated.enabled", false);
  launcher_keys::put(separate, "cluster.num_nodes", 2);
  launcher_keys::put(separate, "policy.generation.colocated.resources", {{"num_nodes", 1}, {"gpus_per_node", 8}});
  CHECK(with("policy.dynamic_batching.enabled", true, packed).find("must not both be true") != std::string::npos);
  CHECK(holds(with("policy.dynamic_batching.train_mb_tokens", 1025, dynamic), "policy.dynamic_batching.train_mb_tokens = 1025 is not modelled by this version (no whole number of longest samples"));
  CHECK(holds(with("policy.megatron_cfg.pipeline_model_parallel_size", 2, dynamic), "must be 1 beside policy.dynamic_batching.enabled"));
  CHECK(holds(with("policy.sequence_packing.logprob_mb_tokens", 3072, packed), "policy.sequence_packing.logprob_mb_tokens = 3072 is not modelled by this version (no multiple of train_mb_tokens, 2048)"));
  CHECK(with("policy.sequence_packing.logprob_mb_tokens", 6144, packed).empty());
  CHECK(with("policy.megatron_cfg.context_parallel_size", 2, packed).empty());
  CHECK(with("grpo.seed", 1, separate).empty());
  CHECK(holds(with("policy.generation.colocated.resources.gpus_per_node", 4, separate), "policy.generation.colocated.resources.gpus_per_node must be 8"));
  CHECK(holds(with("policy.generation.colocated.resources.num_nodes", 2, [&] { auto one = separate; one["cluster"]["num_nodes"] = 1; one["policy"]["generation"]["colocated"]["resources"]["gpus_per_node"] = 4; return one; }()), "policy.generation.colocated.resources.num_nodes must be 1"));
  CHECK(holds(with("policy.megatron_cfg.recompute_modules", json_value::array(), [&] { auto some = small(); some["policy"]["megatron_cfg"].update({{"activation_checkpointing", true}, {"recompute_granularity", "selective"}}); return some; }()), "recompute_modules must be a list of modules, found []"));
  CHECK(holds(with("grpo.adv_estimator.name", "nonsense"), "must be grpo, gdpo or reinforce_plus_plus, found \"nonsense\""));
  for (const auto* key : {"policy.generation.vllm_cfg.gpu_memory_utilization", "policy.generation.vllm_cfg.tensor_parallel_size", "policy.generation.colocated.enabled", "policy.megatron_cfg.tensor_model_parallel_size", "policy.megatron_cfg.optimizer.use_distributed_optimizer"})
    CHECK(holds(with(key, nullptr), std::string{key} + " is required, and NeMo-RL has no default for it"));
  auto plain = small();
  plain["grpo"] = {{"seed", 1}}, plain.erase("loss_fn");
  CHECK(of_root(plain).rollout.generations == 16);  // GRPOConfig, and ClippedPGLossConfig's penalty of 0.01
  CHECK(of_root(plain).objective.reference == reference_way::swapped);
}

TEST_CASE("experts lie over as many GPUs as layers do, where nothing else is said") {
  auto root = small();
  root["policy"]["model_name"] = "Qwen/Qwen3-30B-A3B";
  root["policy"]["megatron_cfg"].update({{"tensor_model_parallel_size", 2}, {"sequence_parallel", true}, {"expert_model_parallel_size", 2}, {"expert_tensor_parallel_size", nullptr}, {"moe_token_dispatcher_type", "alltoall"}, {"moe_router_load_balancing_type", "none"}});
  CHECK(of_root(root).parallel.expert_tensor == 2);
  root["policy"]["megatron_cfg"]["expert_tensor_parallel_size"] = 1;
  CHECK(of_root(root).parallel.expert_tensor == 1);
  const auto without = [&](const char* key) {
    auto less = root;
    less["policy"]["megatron_cfg"].erase(key);
    try {
      of_root(less);
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  for (const auto* key : {"expert_tensor_parallel_size", "expert_model_parallel_size", "moe_token_dispatcher_type"}) CHECK(holds(without(key), std::string{"policy.megatron_cfg."} + key + " is required"));
}

TEST_CASE("validation of more samples at once than a step has, and reward models, are refused") {
  std::string sft = one_policy;
  const auto with = [&](const std::string& section) { return std::string{sft}.replace(sft.find("sft: {seed: 1}"), 14, section); };
  CHECK(refusal_of({{"a.yaml", with("sft: {val_micro_batch_size: 2}")}}).empty());
  CHECK(holds(refusal_of({{"a.yaml", with("sft: {val_micro_batch_size: 3}")}}), "sft.val_micro_batch_size = 3 is not modelled by this version (validation of more samples"));
  CHECK(refusal_of({{"a.yaml", with("sft: {val_micro_batch_size: 3, val_period: 0}")}}).empty());
  CHECK(holds(refusal_of({{"a.yaml", with("dpo: {val_micro_batch_size: 3, val_period: 0, val_at_start: true}")}}), "dpo.val_micro_batch_size = 3 is not modelled"));
  CHECK(job_of({{"a.yaml", sft}}).batch.lengths.unknown);
  sft.replace(sft.find("policy:\n"), 8, "policy:\n  reward_model_cfg: {enabled: true, reward_model_type: bradley_terry}\n");
  CHECK(holds(refusal_of({{"a.yaml", with("rm: {seed: 1}")}}), "NeMo-RL has no reward models over Megatron's layers"));
}

TEST_CASE("a section is an object, on a command line, too") {
  const auto of = [&](const std::string& argument) { return refusal_of({{"run.sh", "python examples/run_sft.py --config a.yaml '" + argument + "'\n"}, {"a.yaml", one_policy}}); };
  CHECK(of("logger={a: 1}").empty());
  CHECK(holds(of("policy.megatron_cfg.fp8_cfg={enabled: true, fp8: hybrid}"), "run.sh:1: policy.megatron_cfg.fp8_cfg = \"{enabled: true, fp8: hybrid}\" is a section on a command line: give its keys one by one, as policy.megatron_cfg.fp8_cfg.KEY=VALUE"));
  CHECK(holds(of("policy.sequence_packing=true"), "run.sh:1: policy.sequence_packing = true is not modelled by this version (a section of keys stands there)"));
  CHECK(of("policy.sequence_packing=null").empty());
}

TEST_CASE("a line of heirs has an end") {
  const auto heirs = [](int n) {
    std::vector<imported::text> all{{"a0.yaml", one_policy}};
    for (int i = 1; i < n; ++i) all.push_back({"a" + std::to_string(i) + ".yaml", "defaults: a" + std::to_string(i - 1) + ".yaml\n"});
    return all;
  };
  CHECK(refusal_of(heirs(64)) == refusal_of(heirs(2)));
  CHECK(holds(refusal_of(heirs(65)), "a1.yaml:1: more than 64 configurations inherit from each other, one from the next"));
  CHECK(holds(refusal_of(heirs(3000)), ".yaml:1: more than 64 configurations inherit"));
}

TEST_CASE("what must be given leaves what is inherited") {
  const auto j = job_of({{"base.yaml", one_policy}, {"run.yaml", "defaults: base.yaml\npolicy:\n  train_micro_batch_size: ???\n  megatron_cfg: ???\n"}});
  CHECK(j.batch.micro == 2);
  CHECK(j.framework.label == "megatron");
  CHECK(holds(refusal_of({{"base.yaml", one_policy}, {"run.yaml", "defaults: base.yaml\npolicy:\n  sequence_packing: ???\n"}}), "run.yaml:3: policy.sequence_packing = \"???\" is not modelled"));
}

TEST_CASE("references to what is large take as much work as their copies") {
  std::string many = std::string{one_policy} + "data:\n  big: [";
  for (int i = 0; i < 60'000; ++i) many += "1, ";
  many += "1]\n";
  for (int i = 0; i < 2'000; ++i) many += "  r" + std::to_string(i) + ": ${data.big}\n";
  CHECK(holds(refusal_of({{"a.yaml", many}}), "takes more than 4 MiB"));
  many = std::string{one_policy} + "data:\n  big: " + std::string(1'000'000, 'x') + "\n";
  for (int i = 0; i < 2'000; ++i) many += "  r" + std::to_string(i) + ": ${data.big}\n";
  CHECK(holds(refusal_of({{"a.yaml", many}}), "takes more than 4 MiB"));
}

// A value takes 16 steps beside its text, and all copies together 2^22: of the file, which is joined with what it inherits, and of what is referred to.
TEST_CASE("a list of 51,000 numbers is copied five times, and one of 53,000 not") {
  const auto copies = [](int numbers) {
    std::string file = std::string{one_policy} + "data:\n  big: [1";
    for (int i = 1; i < numbers; ++i) file += ", 1";
    return refusal_of({{"a.yaml", file + "]\n  q: ${data.big}\n  r: ${data.big}\n  s: ${data.big}\n  t: ${data.big}\n"}});
  };
  static_assert(5 * 16 * 51'000 < 4 << 20 && 4 << 20 < 5 * 16 * 53'000);
  CHECK_FALSE(holds(copies(51'000), " more than "));
  CHECK(holds(copies(53'000), "takes more than 4 MiB"));
}

TEST_CASE("what Megatron does beside its computing is as the files say") {
  const auto base = job_of({{"a.yaml", one_policy}});
  CHECK(base.framework.communication.overlaps_gradients);
  CHECK(base.framework.communication.overlaps_parameters);
  std::string neither = one_policy;
  for (auto at = neither.find(": true, overlap_param_gather: true"); at != std::string::npos; at = std::string::npos) neither.replace(at, 34, ": false, overlap_param_gather: false");
  const auto j = job_of({{"a.yaml", neither}});
  CHECK(!j.framework.communication.overlaps_gradients);
  CHECK(!j.framework.communication.overlaps_parameters);
  neither.erase(neither.find(", overlap_param_gather: false"), 29);
  CHECK(holds(refusal_of({{"a.yaml", neither}}), "a.yaml: policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather is required, and NeMo-RL has no default for it"));
}

TEST_CASE("programs and workers that are not modelled are named") {
  CHECK(holds(refusal_of({{"a.yaml", std::string{one_policy} + "ppo: {seed: 1}\n"}}), "ppo is a section of a program of NeMo-RL's that is not modelled by this version; its GRPO, DPO, SFT and reward models are"));
  const std::string evaluation = "eval: {metric: pass@k, seed: 42}\ngeneration:\n  backend: vllm\n  model_name: Qwen/Qwen2.5-1.5B\n  vllm_cfg: {tensor_parallel_size: 1}\n";
  CHECK(holds(refusal_of({{"eval.yaml", evaluation}}), "eval.yaml:1: eval is a section of NeMo-RL's evaluation (examples/run_eval.py), which trains nothing"));
  CHECK(holds(refusal_of({{"eval.yaml", evaluation}, {"own.yaml", "defaults: eval.yaml\ngeneration: {num_prompts_per_step: -1}\n"}}), "which trains nothing"));
  CHECK(holds(refusal_of({{"a.yaml", std::string{one_policy} + "grpo: {seed: 1}\n"}}), "of which a configuration is for one"));
  std::string dtensor = one_policy;
  dtensor.replace(dtensor.find("megatron_cfg"), 12, "dtensor_cfg");
  dtensor.erase(dtensor.find("    optimizer"), dtensor.find("cluster") - dtensor.find("    optimizer"));
  CHECK(holds(refusal_of({{"a.yaml", dtensor}}), "policy.dtensor_cfg._v2 = false is not modelled by this version (the worker before it"));
  dtensor.replace(dtensor.find("dtensor_cfg:"), 12, "dtensor_cfg:\n    _v2: true");
  const auto j = job_of({{"a.yaml", dtensor}});
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.precision.parameters == formats::fp32);
  CHECK(j.batch.accumulation == 4);
  CHECK(j.batch.lengths.unknown);
  CHECK(objection_to(j).sentence == nullptr);
  dtensor.replace(dtensor.find("_v2: true"), 9, "_v2: true\n    activation_checkpointing: true");
  CHECK(holds(std::string{objection_to(job_of({{"a.yaml", dtensor}})).sentence}, "of NeMo-RL's DTensor workers full training is modelled, without checkpointing"));
}

}  // namespace test_nemo_rl

#endif
