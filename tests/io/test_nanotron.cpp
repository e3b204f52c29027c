// Distributed under the Boost Software License, Version 1.0.
// nanotron: every key of its configuration, and files of its repository, read as somebody did by hand from its classes.
#include "launcher_keys.hpp"

#include <headroom/replay.hpp>

#if HEADROOM_HAS_YAML

namespace test_nanotron_files {

using namespace imported;
using io::json_value;

namespace {

job of_root(const json_value& root) {
  io::draft d;
  io::import_nanotron(d, io::document{.source = "a.yaml", .root = root, .lines = {}});
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  return d.settled();
}
json_value small() {
  return {{"parallelism", {{"dp", 1}, {"pp", 1}, {"tp", 2}}},
          {"model", {{"model_config", {{"is_llama_config", true}, {"hidden_size", 1024}, {"intermediate_size", 4096}, {"num_attention_heads", 8}, {"num_hidden_layers", 14}, {"vocab_size", 49152}}}}},
          {"optimizer", {{"zero_stage", 0}, {"accumulate_grad_in_fp32", true}, {"optimizer_factory", {{"name", "adamW"}, {"torch_adam_is_fused", true}}}}},
          {"tokens", {{"sequence_length", 1024}, {"micro_batch_size", 1}, {"batch_accumulation_per_replica", 4}}}};
}

}  // namespace

TEST_CASE("each key alone") {
  for (const auto& l : launcher_keys::list_of("nanotron.txt")) {
    auto with = small();
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, small(), with, [](const json_value& root) { return of_root(root); });
  }
}

TEST_CASE("config_tiny_llama.yaml") {
  const auto j = job_of({launch_file("nanotron-tiny-llama", "config_tiny_llama.yaml")});
  CHECK(j.framework.label == "nanotron");
  CHECK(j.framework.communication.overlaps_input_gradients);
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.parallel.data == 4);
  CHECK(j.parallel.tensor == 2);
  CHECK(j.parallel.sequence);
  CHECK(j.batch.micro == 3);
  CHECK(j.batch.sequence == 4096);
  CHECK(j.batch.accumulation == 1);
  CHECK(j.sharding.kind == sharding_kind::ddp);
  CHECK(j.model.tied);
  // 128,256 × 2,048 + 28 (2 × 2,048² + 2 × 2,048 × 256 + 3 × 2,048 × 11,008 + 2 × 2,048) + 2,048
  CHECK(estimate(j).parameter_count.total.count() == 2'420'754'432);
  CHECK(replay(j).ranks[0].reserved > bytes{0});
}

// huggingface/smollm text/pretraining/smollm2/config_smollm2_1B.yaml has dp 256, and no word of nodes.
TEST_CASE("GPUs of more than one machine are nodes of eight where nothing else is said") {
  auto large = launch_file("nanotron-tiny-llama", "config_tiny_llama.yaml");
  large.said.replace(large.said.find("dp: 4"), 5, "dp: 64");
  CHECK(job_of({large}).hardware.nodes == 16);
  CHECK(job_of({large}).hardware.gpus_per_node == 8);
  CHECK(job_of({large}, {"hardware.gpus_per_node=4"}).hardware.nodes == 32);
  CHECK(job_of({large}, {"hardware.nodes=2"}).hardware.gpus_per_node == 64);
  CHECK(job_of({launch_file("nanotron-tiny-llama", "config_tiny_llama.yaml")}).hardware.nodes == 1);
}

TEST_CASE("the benchmarks' own") {
  const auto j = job_of({launch_file("nanotron-bench", "config_tiny_llama_bench.yaml")});
  CHECK(j.parallel.tensor == 8);
  CHECK(j.sharding.kind == sharding_kind::none);
  CHECK(j.model.kv_heads == 8);
  CHECK(j.model.head_width() == 128);
  CHECK(j.batch.sequence == 2048);
}

TEST_CASE("what is not modelled is said") {
  CHECK(refusal_of({launch_file("nanotron-mup", "sp_350m_llama_config.yaml")}).find("optimizer.accumulate_grad_in_fp32 = \"false\" is not modelled by this version") != std::string::npos);
  CHECK(refusal_of({{"a.yaml", "parallelism: {dp: 1, pp: 1, tp: 1}\nmodel:\n  model_config: {is_qwen2_config: true}\ntokens: {sequence_length: 1, micro_batch_size: 1, batch_accumulation_per_replica: 1}\n"}}).find("is_qwen2_config") !=
        std::string::npos);
}

}  // namespace test_nanotron_files

#endif
