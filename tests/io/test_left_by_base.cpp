// Distributed under the Boost Software License, Version 1.0.
// The format of what a quantised base leaves, embedding, head and norms, by the program that trains: fp32 where it prepares the model for training
// (peft utils/other.py prepare_model_for_kbit_training), else as it was loaded.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_left_by_base {

using namespace imported;

namespace {

const std::vector<std::string> one{"hardware.gpus_per_node=1"};
job yaml(const std::string& said) { return job_of({{"a.yaml", said}}, one); }
job command(const std::string& said, const std::vector<std::string>& set = {}) {
  auto all = one;
  all.insert(all.end(), set.begin(), set.end());
  return job_of({{"run.sh", said + "\n"}}, all);
}
const std::string llama = "meta-llama/Llama-3.1-8B";

}  // namespace

TEST_CASE("LLaMA-Factory, ms-swift and TRL prepare nothing: 16 bits, as the weights were loaded") {
  // hiyouga/LLaMA-Factory model/model_utils/checkpointing.py prepare_model_for_training: norms alone, where upcast_layernorm says so.
  const std::string factory = "model_name_or_path: " + llama + "\nstage: sft\ndo_train: true\ntemplate: llama3\ndataset: d\nlora_target: all\nbf16: true\ncutoff_len: 1024\nquantization_bit: ";
  CHECK(yaml(factory + "4\n").adapter.rest == formats::bf16);
  CHECK(yaml(factory + "8\n").adapter.rest == formats::bf16);
  // modelscope/ms-swift swift/pipelines/train/tuner.py: what trains alone.
  const auto swift = command("swift sft --model " + llama + " --dataset d --max_length 1024 --torch_dtype bfloat16 --quant_method bnb --quant_bits 4 --tuner_type lora");
  CHECK(swift.adapter.rest == formats::bf16);
  // huggingface/trl trl/trainer/sft_trainer.py since 0.26, and its release before: peft_module_casting_to_bf16.
  const std::string trl = "trl sft --model_name_or_path " + llama + " --dataset_name d --max_length 1024 --bf16 true --gradient_checkpointing true --loss_type nll --load_in_4bit --use_peft --lora_target_modules all-linear";
  CHECK(command(trl + " --dtype bfloat16", {"environment.trl=0.26"}).adapter.rest == formats::bf16);
  CHECK(command(trl + " --dtype bfloat16", {"environment.trl=0.25"}).adapter.rest == formats::bf16);
  CHECK_FALSE(command(trl + " --dtype float32", {"environment.trl=0.26"}).adapter.rest.set());
}

TEST_CASE("FastChat and MedicalGPT prepare the model, and DeepSpeed's engine casts it back") {
  const std::string chat = "torchrun --nproc_per_node 1 fastchat/train/train_lora.py --model_name_or_path lmsys/vicuna-7b-v1.5 --data_path d --bf16 True --model_max_length 1024 --q_lora True";
  CHECK_FALSE(command(chat).adapter.rest.set());
  const std::string factory = "model_name_or_path: " + llama + "\nstage: sft\ndo_train: true\ntemplate: llama3\ndataset: d\nlora_target: all\nbf16: true\ncutoff_len: 1024\nquantization_bit: 4\ndeepspeed: ds.json\n";
  const auto engine = job_of({{"a.yaml", factory}, {"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"})"}}, one);
  CHECK_FALSE(engine.adapter.rest.set());
}

// Embedding and head of Llama-3.1-8B: two of 128,256 × 4,096, each 2 bytes less than in fp32. Norms: 65 of 4,096.
TEST_CASE("QLoRA by LLaMA-Factory, from its file to the bytes") {
  auto j = yaml("model_name_or_path: " + llama + "\nstage: sft\ndo_train: true\ntemplate: llama3\ndataset: d\nlora_target: all\nbf16: true\ncutoff_len: 1024\nquantization_bit: 4\n");
  const auto half = states(j).gpu[row::model_parameters];
  j.adapter.rest = formats::fp32;
  const auto prepared = states(j).gpu[row::model_parameters];
  CHECK((prepared - half).count() == 2 * (2 * 128'256 + 65) * 4'096);
}

}  // namespace test_left_by_base

#endif
