// Distributed under the Boost Software License, Version 1.0.
// Which variant of torch.utils.checkpoint a release means where nothing is said (huggingface/transformers 625ad84455, in 5.0; huggingface/trl 40d8759d1, in
// 0.27), and where TRL decides it against the file (f11b4c3fd, in 0.28; 84e83143a, in 1.9).
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/export.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_reentry {

using namespace imported;

namespace {

const imported::text zero3{"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero3_init_flag: true\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"};

job read(const std::string& script, const std::string& rest, std::vector<std::string> set) {
  set.insert(set.end(), {"hardware.gpu=a100-sxm-80gb", "batch.lengths.unknown=false"});
  return job_of({{"run.sh", "accelerate launch --config_file zero3.yaml " + script + " --dataset_name x --model_name_or_path Qwen/Qwen2.5-7B --bf16 true --gradient_checkpointing true --max_length 1024 " + rest + "\n"}, zero3}, set);
}
/// As it is counted: what the job says, else what its framework does.
bool reenters(const job& j) {
  REQUIRE(j.recompute.mode == recompute_mode::full);
  return chosen(j.recompute.reentrant, j.framework.checkpointing.reentrant);
}
/// Whole, in 4 × 4,096 tokens, where the tallest moment of backward is a layer's.
job trained(const profile& by, choice reentrant = {}) {
  return {.model = models::llama_2_7b, .hardware = {.gpu = gpus::h200_sxm_141gb}, .framework = by, .batch = {.micro = 4, .sequence = 4096}, .recompute = {.mode = recompute_mode::full, .reentrant = reentrant}, .attention = attention::flash};
}
const std::string sft = "trl/scripts/sft.py", dpo = "trl/scripts/dpo.py", lora = "--use_peft --lora_r 16 ";

}  // namespace

TEST_CASE("transformers 5 made checkpoints that are not reentrant the default") {
  for (const auto* label : {"hf-trainer", "deepspeed"}) {
    CAPTURE(std::string{label});
    CHECK_FALSE(frameworks::find(label)->checkpointing.reentrant);
    CHECK_FALSE(frameworks::find(label, 202601)->checkpointing.reentrant);
    CHECK(frameworks::find(label, 202512)->checkpointing.reentrant);
    CHECK(frameworks::find(label, 202301)->checkpointing.reentrant);
  }
  // In a layer's backward a reentrant checkpoint keeps what the layer's second forward returned: of 4,096 numbers a token, in the format of the weights.
  const auto compared = [](const profile& older, const profile& newer, std::int64_t width) {
    const auto before = estimate(trained(older)), after = estimate(trained(newer));
    CHECK(before.ranks[0].device == estimate(trained(newer, choice::yes)).ranks[0].device);
    CHECK(after.ranks[0].device == estimate(trained(older, choice::no)).ranks[0].device);
    CHECK(before.ranks[0][phase::backward] - after.ranks[0][phase::backward] == bytes{4 * 4096 * 4096 * width});
  };
  compared(frameworks::hf_trainer_202508, frameworks::hf_trainer, 4);
  compared(frameworks::deepspeed_202508, frameworks::deepspeed, 2);
}

TEST_CASE("a release that is said decides") {
  CHECK(reenters(read(dpo, "", {"environment.transformers=4.57", "environment.trl=0.26"})));
  CHECK_FALSE(reenters(read(dpo, "", {"environment.transformers=5.0", "environment.trl=0.26"})));
  CHECK_FALSE(reenters(read(dpo, "", {"environment.transformers=4.57", "environment.trl=0.27"})));
  CHECK(reenters(read(dpo, "--gradient_checkpointing_kwargs '{\"use_reentrant\": true}' ", {"environment.trl=0.27"})));
  CHECK_FALSE(reenters(read(dpo, "", {"environment.trl=1.0"})));
}

TEST_CASE("TRL makes checkpoints of adapters under ZeRO-3 reentrant") {
  CHECK_FALSE(reenters(read(sft, lora, {"environment.trl=0.27"})));
  CHECK(reenters(read(sft, lora, {"environment.trl=0.28"})));
  CHECK_FALSE(reenters(read(sft, "", {"environment.trl=0.28"})));
  CHECK_FALSE(reenters(read(dpo, lora, {"environment.trl=1.8"})));
  CHECK(reenters(read(dpo, lora, {"environment.trl=1.9"})));
  CHECK(reenters(read(dpo, lora + "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}' ", {"environment.trl=1.9"})));
  CHECK_FALSE(reenters(read(dpo, "", {"environment.trl=1.9"})));
}

TEST_CASE("a job of an older release is written with its checkpoints") {
  const auto written = [](const profile& by) { return io::trainer_document(trained(by))["gradient_checkpointing_kwargs"]["use_reentrant"]; };
  CHECK(written(frameworks::hf_trainer_202508) == true);
  CHECK(written(frameworks::hf_trainer) == false);
}

}  // namespace test_reentry

#endif
