// Distributed under the Boost Software License, Version 1.0.
// What configurations of launchers alone leave to the program: said above the numbers, or asked for.
#include "imported.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace test_left_open {

using namespace headroom;
using imported::draft_of, imported::refusal_of;

namespace {

const std::vector<std::string> set{"model=qwen2.5-7b", "batch.sequence=2048", "hardware.gpus_per_node=8"};

struct read_job {
  job settled;
  std::vector<std::string> assumed;
  [[nodiscard]] bool assumes(const std::string& what) const {
    return std::any_of(assumed.begin(), assumed.end(), [&](const auto& a) { return a.find(what) != std::string::npos; });
  }
};
read_job of(const std::string& file, const std::string& text, std::vector<std::string> more = {}) {
  more.insert(more.begin(), set.begin(), set.end());
  auto d = draft_of({{file, text}}, more);
  const auto j = d.settled();
  return {j, d.assumed};
}

}  // namespace

// deepspeedai/DeepSpeedExamples 45b4b715 training/pipeline_parallelism/ds_config.json: Adam, and no format; training/autotuning/hf/dsconfigs/ds_config_z2.json;
// deepspeed/runtime/engine.py, get_data_types: fp32.
TEST_CASE("DeepSpeed computes in fp32 where its configuration enables no other format, and the job says that it was so read") {
  const auto whole = of("ds_config.json", R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 8, "optimizer": {"type": "Adam", "params": {"lr": 0.001}}})");
  CHECK(whole.settled.precision == precisions::fp32);
  CHECK(whole.assumed == std::vector<std::string>{"DeepSpeed's configuration enables neither bf16 nor fp16: fp32, unless the program's own bf16 or Accelerate's mixed_precision fills it in (--set precision=bf16-mixed)"});
  const auto automatic = of("ds_config.json", R"({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}})");
  CHECK(automatic.settled.precision == precisions::fp32);
  CHECK(automatic.settled.batch.micro == 1);
  CHECK(automatic.assumes("no file says how many samples a micro-batch has: one (--set batch.micro=N)"));
  // What is off is fp32, and what is on is said: nothing is open.
  CHECK(of("ds_config.json", R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": false}})").assumed.empty());
  const auto said = of("ds_config.json", R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}})");
  CHECK(said.settled.precision == precisions::bf16_mixed);
  CHECK(said.assumed.empty());
  const auto given = of("ds_config.json", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}})", {"precision=bf16-mixed"});
  CHECK(given.settled.precision == precisions::bf16_mixed);
  CHECK(given.assumed.empty());
}

TEST_CASE("formats and micro-batches that a program fills in are said to be assumed") {
  const std::string formats = "no file says in which format it computes (bf16 or fp16 of the program, or Accelerate's mixed_precision): its framework's usual one (--set precision=NAME)";
  const auto filled = of("ds_z2.json", R"({"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})");
  CHECK_FALSE(filled.settled.precision.set());
  CHECK(filled.assumed == std::vector<std::string>{formats, "no file says how many samples a micro-batch has: one (--set batch.micro=N)"});
#if HEADROOM_HAS_YAML
  const auto open = of("fsdp.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nnum_processes: 8\n", {"batch.micro=2"});
  CHECK(open.assumed == std::vector<std::string>{formats});
  CHECK(of("fsdp.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nmixed_precision: bf16\nnum_processes: 8\n", {"batch.micro=2"}).assumed.empty());
#endif
}

#if HEADROOM_HAS_YAML
// NVlabs/VILA b760c34b scripts/deepspeed_inference.yaml, FlagOpen/FlagEmbedding research/Long_LLM/activation_beacon/data/config/zero3-infer.yaml.
TEST_CASE("a configuration that is for inference by its name is no training") {
  const std::string text = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  offload_param_device: cpu\nmixed_precision: bf16\nnum_processes: 8\n";
  for (const std::string name : {"deepspeed_inference.yaml", "zero3-infer.yaml"}) CHECK(refusal_of({{name, text}}, set) == "headroom: " + name + ": is for inference by its name: give the command of the training that it is for, too");
  CHECK(refusal_of({{"zero3.yaml", text}}, set).empty());
  CHECK(refusal_of({{"zero3-infer.yaml", text}, {"run.sh", "accelerate launch --config_file zero3-infer.yaml sft.py --model_name_or_path Qwen/Qwen2.5-7B --max_length 512 --per_device_train_batch_size 1\n"}}).find("for inference") == std::string::npos);
}
#endif

}  // namespace test_left_open
