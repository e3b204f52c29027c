// Distributed under the Boost Software License, Version 1.0.
// Configurations that a command names, each given beside it: nanotron's, and FSDP's of the Trainer and of ms-swift. Keys of Megatron-LM's that no
// parser of its own takes.
#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_named_files {

using namespace imported;

namespace {

bool holds(const std::string& said, std::string_view part) { return said.find(part) != std::string::npos; }
imported::text changed(imported::text t, const std::string& before, const std::string& after) {
  const auto at = t.said.find(before);
  if (at == std::string::npos) throw std::runtime_error{t.file + " has no " + before};
  t.said.replace(at, before.size(), after);
  return t;
}
const imported::text tiny = launch_file("nanotron-tiny-llama", "config_tiny_llama.yaml"), tiny_run = launch_file("nanotron-tiny-llama", "train_tiny_llama.sh");
const imported::text swift_run = launch_file("swift-fsdp-file", "train.sh"), swift_fsdp = changed(launch_file("swift-fsdp-file", "fsdp2.json"), "\"activation_cpu_offload\": true", "\"activation_cpu_offload\": false");
// simplescaling/s1 train/fsdp_config_qwen.json, fsdp_config_qwen_cpu.json.
const imported::text qwen{"fsdp_config_qwen.json", R"({"transformer_layer_cls_to_wrap": "Qwen2DecoderLayer"})"};
const imported::text qwen_cpu{"fsdp_config_qwen_cpu.json", R"({"transformer_layer_cls_to_wrap": "Qwen2DecoderLayer", "cpu_ram_efficient_loading": true})"};
imported::text trained(const std::string& more) {
  return {"sft.sh", "torchrun --nproc-per-node 8 train.py --model_name_or_path Qwen/Qwen2.5-32B-Instruct --per_device_train_batch_size=1 --bf16=True --fsdp=\"full_shard auto_wrap\" " + more + "\n"};
}
const std::vector<std::string> length{"batch.sequence=32768", "environment.transformers=4.46"};

}  // namespace

TEST_CASE("nanotron's command line and the configuration that it names") {
  CHECK(job_of({tiny_run, tiny}) == job_of({tiny}));
  CHECK(job_of({tiny, tiny_run}).hardware.gpus() == 8);
  CHECK(holds(refusal_of({tiny_run}), "train_tiny_llama.sh:24: names \""));
  CHECK(holds(refusal_of({tiny_run}), "\", which no file here is: give it, too"));
  // nanotron asserts that the degrees are all processes (parallel/context.py, ParallelContext).
  CHECK(holds(refusal_of({changed(tiny_run, "--nproc_per_node 8", "--nproc_per_node 4"), tiny}), "8 GPUs contradict 1 nodes of 4"));
  CHECK(holds(refusal_of({changed(tiny_run, "--config-file", "--config"), tiny}), "starts no training that is known here"));
}

TEST_CASE("the Trainer's configuration of FSDP, in a file") {
  const auto j = job_of({trained("--fsdp_config=\"train/fsdp_config_qwen.json\""), qwen}, length);
  CHECK(j.sharding.kind == sharding_kind::fsdp1);
  CHECK(j == job_of({trained("--fsdp_config='{\"transformer_layer_cls_to_wrap\": \"Qwen2DecoderLayer\"}'")}, length));
  const imported::text two{"fsdp_config_qwen.json", R"({"fsdp_version": 2, "fsdp_reshard_after_forward": true, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "fsdp_activation_checkpointing": true})"};
  CHECK(job_of({two, trained("--fsdp_config train/fsdp_config_qwen.json")}, length).sharding.kind == sharding_kind::fsdp2);
  CHECK(job_of({two, trained("--fsdp_config train/fsdp_config_qwen.json")}, length).recompute.mode == recompute_mode::full);
  // One that is not given, another, two, and one that nothing names.
  CHECK(holds(refusal_of({trained("--fsdp_config train/fsdp_config_qwen.json")}, length), "sft.sh:1: names \"train/fsdp_config_qwen.json\", which no file here is: give it, too"));
  CHECK(holds(refusal_of({trained("--fsdp_config train/fsdp_config_qwen.json"), qwen_cpu}, length), "names \"train/fsdp_config_qwen.json\", and fsdp_config_qwen_cpu.json is another configuration of FSDP"));
  CHECK(holds(refusal_of({trained("--fsdp_config train/fsdp_config_qwen.json"), qwen, qwen_cpu}, length), "are both configurations of FSDP, of which a run has one"));
  CHECK(holds(refusal_of({trained(""), qwen}, length), "fsdp_config_qwen.json: is a configuration of FSDP, and no file names it by --fsdp_config"));
  const imported::text sized{"fsdp_config_qwen.json", R"({"min_num_params": 2000})"};
  CHECK(holds(refusal_of({trained("--fsdp_config train/fsdp_config_qwen.json"), sized}, length), "fsdp_config_qwen.json: fsdp_config.min_num_params = 2000 is not modelled"));
  CHECK(holds(refusal_of({trained("--fsdp_config train/fsdp2.json"), swift_fsdp}, length), "is ms-swift's configuration of FSDP, and the Trainer takes what stands in its fsdp_config"));
}

TEST_CASE("ms-swift's configuration of FSDP, in a file") {
  const auto j = job_of({swift_run, swift_fsdp});
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.sharding.stage == 3);
  CHECK(j.recompute.mode == recompute_mode::none);
  // As it is there, it moves activations to the host.
  CHECK(holds(refusal_of({swift_run, launch_file("swift-fsdp-file", "fsdp2.json")}), "fsdp2.json:17: fsdp_config.activation_cpu_offload = true is not modelled"));
  // The one that it ships by the name fsdp2 checkpoints layers (swift/config/fsdp2.json).
  const auto shipped = changed(swift_fsdp, "\"activation_checkpointing\": false", "\"activation_checkpointing\": true");
  const auto by_name = changed(swift_run, "'./examples/ascend/activation_cpu_offload/fsdp2.json'", "fsdp2");
  CHECK(job_of({swift_run, shipped}) == job_of({by_name}));
  const auto checkpoints = [](const imported::text& t) { return changed(t, "--gradient_checkpointing false", ""); };
  CHECK(job_of({checkpoints(swift_run), shipped}) == job_of({checkpoints(by_name)}));
  CHECK(job_of({changed(swift_run, "--gradient_checkpointing false", "--gradient_checkpointing true"), swift_fsdp}).recompute.mode == recompute_mode::full);
  const auto whole = changed(swift_run, "--save_total_limit 2", "--save_only_model true");
  CHECK(holds(refusal_of({whole, swift_fsdp}), "ms-swift stops where save_only_model is true beside fsdp_config.state_dict_type SHARDED_STATE_DICT"));
  CHECK(job_of({whole, changed(swift_fsdp, "\"SHARDED_STATE_DICT\",\n", "\"FULL_STATE_DICT\",\n")}) == j);
  CHECK(holds(refusal_of({swift_run, changed(swift_fsdp, "\"fsdp_version\": 2,", "")}), "fsdp2.json: fsdp_config.fsdp_version must be given"));
}

// argparse takes no underscore for a dash. epfLLM/Megatron-LLM's parser has them, as its examples/pretrain_t5_distributed.sh, and other defaults.
TEST_CASE("Megatron-LM's arguments with underscores end it, and are not passed over where they decide the job") {
  const auto run = [](const std::string& more) { return imported::text{"run.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 1000 " + more + "\n"}; };
  const auto refused = [&](const std::string& more, const std::string& ignored) -> std::string {
    try {
      (void)draft_of({run(more)}, {}, io::auto_means::by_trainer, {ignored}).settled();
    } catch (const headroom::error& e) {
      return e.what();
    }
    return {};
  };
  for (const auto* key : {"num_layers", "hidden_size", "ffn_hidden_size", "micro_batch_size", "tensor_model_parallel_size", "use_distributed_optimizer", "num_query_groups"})
    CHECK(holds(refused("--" + std::string{key} + " 2", key), "run.sh:1: Megatron-LM's argument is --" + io::detail::dashed(key) + ", and it ends at --" + key + ": write it with dashes"));
  CHECK(refused("--log_interval 2", "log_interval").empty());
  CHECK(holds(refused("--log_interval 2", "x"), "log_interval is not known here (did you mean log-interval?)"));
}

}  // namespace test_named_files

#endif
