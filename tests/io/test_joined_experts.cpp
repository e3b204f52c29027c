// Distributed under the Boost Software License, Version 1.0.
// Launches of models whose experts are parameters: what "all-linear" and names of layers find, and what bitsandbytes leaves.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_joined_experts {

using namespace imported;

namespace {

/// A command as trl/scripts/sft.py has it (huggingface/trl f2cd57710).
imported::text command(const std::string& model, const std::string& more) {
  return {"run.sh", "python trl/scripts/sft.py --model_name_or_path " + model + " --dataset_name trl-lib/Capybara --bf16 --use_peft --per_device_train_batch_size 1 --gradient_checkpointing --max_length 2048 " + more + "\n"};
}
const std::vector<std::string> old{"hardware.gpus_per_node=1", "environment.transformers=4.57", "environment.trl=0.24", "batch.images.none=true"};
const std::vector<std::string> text_of_old{"hardware.gpus_per_node=1", "environment.transformers=4.57", "environment.trl=0.24"};
const std::vector<std::string> text_of_new{"hardware.gpus_per_node=1", "environment.transformers=5.1", "environment.trl=0.24"};
constexpr module_set experts{module::experts_gate, module::experts_up, module::experts_down};

}  // namespace

TEST_CASE("all-linear has no experts in it where they are parameters") {
  // transformers v4.57 and v5: nn.Linear in GptOssAttention alone; in Llama4TextMoe the shared expert beside attention; Qwen3VLMoeTextExperts has parameters.
  constexpr module_set attention{module::q_proj, module::k_proj, module::v_proj, module::o_proj};
  const auto found = [](const std::string& model, const std::vector<std::string>& set) { return job_of({command(model, "--lora_target_modules all-linear")}, set).adapter.targets; };
  CHECK(found("openai/gpt-oss-20b", text_of_old) == attention);
  CHECK(found("openai/gpt-oss-20b", text_of_new) == attention);
  CHECK(found("Qwen/Qwen3-30B-A3B", text_of_old) == all_linear);
  CHECK(found("Qwen/Qwen3-30B-A3B", text_of_new) == attention);
  CHECK(found("mistralai/Mixtral-8x7B-v0.1", text_of_new) == attention);
  const auto sees = found("Qwen/Qwen3-VL-30B-A3B-Instruct", old);
  CHECK((sees.bits & experts.bits) == 0);
  CHECK(sees.has(module::vision));
}

TEST_CASE("names of layers find none of them, and bitsandbytes leaves them") {
  const auto named = job_of({command("Qwen/Qwen3-VL-30B-A3B-Instruct", "--lora_target_modules q_proj gate_proj")}, {old[0], old[1], old[2], old[3]});
  CHECK(named.adapter.targets == module_set{module::q_proj});
  CHECK(holds(refusal_of({command("Qwen/Qwen3-VL-30B-A3B-Instruct", "--lora_target_modules gate_proj up_proj")}, old), "names experts, which are parameters and no linear layers of this model"));
  const auto skips = job_of({command("meta-llama/Llama-4-Scout-17B-16E", "--lora_target_modules all-linear --load_in_4bit")}, {old[0], old[1], old[2], "batch.images.count=1"}).adapter.base_skips;
  CHECK(skips == module_set{module::head, module::experts_gate, module::experts_up, module::experts_down});
}

TEST_CASE("gpt-oss, which OpenAI stores in MXFP4") {
  const std::string ends = "openai/gpt-oss-20b is stored in MXFP4, and transformers ends where it is to be loaded by bitsandbytes: name a copy in bf16";
  const std::string four = "--lora_target_modules q_proj k_proj --load_in_4bit";
  for (const auto& set : {text_of_old, text_of_new}) CHECK(holds(refusal_of({command("openai/gpt-oss-20b", four)}, set), ends));
  // The copy that the sentence names is loaded by bitsandbytes, which finds its linear layers and no experts.
  const auto copy = job_of({command("unsloth/gpt-oss-20b-BF16", four)}, text_of_old).adapter;
  CHECK(copy.base == formats::nf4);
  CHECK(copy.base_skips == module_set{module::head, module::experts_gate, module::experts_up, module::experts_down});
  // ms-swift hands transformers a configuration of bitsandbytes', too; LLaMA-Factory makes the checkpoint bf16, whatever quantization_bit says.
  const std::vector<std::string> one{"hardware.gpus_per_node=1", "environment.transformers=4.57"};
  CHECK(holds(refusal_of({{"run.sh", "swift sft --model openai/gpt-oss-20b --train_type lora --quant_method bnb --quant_bits 4 --target_modules q_proj k_proj --dataset a --max_length 2048\n"}}, one), ends));
  const auto factory = [&](const std::string& more) {
    return job_of({{"lf.yaml", "stage: sft\nmodel_name_or_path: openai/gpt-oss-20b\nfinetuning_type: lora\nlora_target: all\ndataset: a\ntemplate: gpt\ncutoff_len: 2048\nbf16: true\n" + more}}, one);
  };
  CHECK(factory("quantization_bit: 4\n") == factory(""));
}

}  // namespace test_joined_experts
