// Distributed under the Boost Software License, Version 1.0.
// Launch files of public repositories, read as somebody did by hand from their programs' sources. tests/data/README.md names them.
#include <doctest/doctest.h>

#include <algorithm>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML && HEADROOM_HAS_TOML

namespace test_launch_cases {

using namespace imported;

namespace {

/// The job of files, which is the same in whatever order they are given.
job read(const std::string& folder, const std::vector<std::string>& names, const std::vector<std::string>& set = {}) {
  std::vector<imported::text> files;
  for (const auto& n : names) files.push_back(launch_file(folder, n));
  const auto j = job_of(files, set);
  std::reverse(files.begin(), files.end());
  CHECK(job_of(files, set) == j);
  return j;
}
std::string why_not(const std::string& folder, const std::string& name, const std::vector<std::string>& set = {}) { return refusal_of({launch_file(folder, name)}, set); }
const std::string eight = "hardware.gpus_per_node=8";

}  // namespace

TEST_CASE("LLaMA-Factory: LoRA under ZeRO-3, and a 4-bit base under FSDP") {
  const auto z3 = read("llamafactory-lora-zero3", {"qwen3_lora_sft_ds3.yaml", "ds_z3_config.json"}, {eight});
  CHECK(z3.model == *models::find("qwen3-4b"));
  CHECK(z3.hardware.gpus() == 8);
  CHECK(z3.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 2, .lengths = {.unknown = true}});
  CHECK(z3.sharding.kind == sharding_kind::zero);
  CHECK(z3.sharding.stage == 3);
  CHECK(z3.offload.optimizer == place::on_gpu);
  CHECK(z3.adapter.kind == adapter_kind::lora);
  CHECK(z3.adapter.rank == 8);
  CHECK(z3.adapter.targets == all_linear);
  CHECK(z3.precision == precisions::bf16_mixed);
  CHECK(z3.recompute.mode == recompute_mode::full);
  CHECK(z3.recompute.reentrant == choice::yes);
  CHECK(holds(why_not("llamafactory-lora-zero3", "qwen3_lora_sft_ds3.yaml", {eight}), "names \"examples/deepspeed/ds_z3_config.json\", which no file here is: give it, too"));

  const auto qlora = read("llamafactory-fsdp-qlora", {"train.sh", "fsdp_config.yaml", "llama3_lora_sft.yaml"});
  CHECK(qlora.model == *models::find("llama-3-8b"));
  CHECK(qlora.hardware.gpus() == 2);
  CHECK(qlora.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(qlora.sharding.kind == sharding_kind::fsdp1);
  CHECK(qlora.sharding.stage == 3);
  CHECK(qlora.offload.parameters == place::on_gpu);
  CHECK(qlora.adapter.base == formats::nf4_double);
  CHECK(qlora.precision.compute == formats::bf16);
  CHECK(qlora.recompute.reentrant == choice::yes);
}

TEST_CASE("a LoRA run is no full fine-tune: MedicalGPT, LLaVA, Qwen, PEFT") {
  const auto medical = read("medicalgpt-sft-lora", {"run_sft.sh"});
  CHECK(medical.model == *models::find("qwen1.5-0.5b"));
  CHECK(medical.hardware.gpus() == 2);
  CHECK(medical.batch == batch{.micro = 4, .sequence = 4096, .lengths = {.unknown = true}});
  CHECK(medical.sharding.kind == sharding_kind::ddp);
  CHECK(medical.adapter.rank == 8);
  CHECK(medical.adapter.targets == all_linear);
  CHECK(medical.adapter.format == formats::fp32);
  CHECK(medical.precision.parameters == formats::fp16);
  CHECK(medical.precision.compute == formats::fp16);
  CHECK(medical.recompute.mode == recompute_mode::full);
  CHECK(estimate(medical).peak() < 30 * gib);  // read as a full fine-tune of 0.5B, it was 34 GiB and more

  const auto llava = read("llava-1.5-lora", {"finetune_lora.sh", "zero3.json"}, {eight});
  CHECK(llava.model == *models::find("llava-1.5-13b"));
  CHECK(llava.batch == batch{.micro = 16, .sequence = 2048, .lengths = {.unknown = true}});
  CHECK(llava.sharding.stage == 3);
  CHECK(llava.adapter.rank == 128);
  CHECK_FALSE(llava.adapter.targets.has(module::vision));
  CHECK(llava.adapter.targets.has(module::down_proj));
  REQUIRE(llava.trainable.size == 1);
  CHECK(llava.trainable.list[0].modules == module_set{module::projector});
  CHECK(llava.precision == precisions::bf16_mixed);

  const auto qwen = read("qwen-lora-ds", {"finetune_lora_ds.sh", "ds_config_zero2.json"}, {eight});
  CHECK(qwen.model == *models::find("qwen-7b"));
  CHECK(qwen.batch == batch{.micro = 2, .sequence = 512, .accumulation = 8});
  CHECK(qwen.sharding.stage == 2);
  CHECK(qwen.sharding.overlap_comm == choice::yes);
  CHECK(qwen.offload.optimizer == place::on_gpu);
  CHECK(qwen.adapter.rank == 64);
  CHECK(qwen.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj});  // c_attn, c_proj, w1 (up), w2 (gate)
  CHECK(qwen.adapter.modules_to_save == module_set{module::embedding, module::head});  // of a model that is no chat model (finetune.py:331)
  CHECK(holds(refusal_of({launch_file("qwen-lora-ds", "finetune_lora_ds.sh"), launch_file("qwen-lora-ds", "ds_config_zero2.json")}), "--nproc-per-node is \"$(python"));

  const auto peft = read("peft-qlora-fsdp-70b", {"run_peft_qlora_fsdp.sh", "fsdp_config_qlora.yaml"});
  CHECK(peft.model == *models::find("llama-2-70b"));
  CHECK(peft.hardware.gpus() == 2);
  CHECK(peft.batch == batch{.micro = 2, .sequence = 2048, .accumulation = 2});
  CHECK(peft.sharding.kind == sharding_kind::fsdp1);
  CHECK(peft.offload.parameters == place::on_cpu);
  CHECK(peft.adapter.base == formats::nf4_double);
  CHECK(peft.adapter.targets == all_linear);
  CHECK(peft.precision.parameters == formats::bf16);
  CHECK(peft.attention == attention::flash);
  CHECK(peft.recompute.reentrant == choice::yes);
}

TEST_CASE("full fine-tunes: FastChat, alignment-handbook, SimPO's base, DeepSpeed-Chat") {
  const auto vicuna = read("fastchat-vicuna-7b-fsdp", {"train_vicuna_7b.sh"});
  CHECK(vicuna.model == *models::find("llama-7b"));
  CHECK(vicuna.hardware.gpus() == 4);
  CHECK(vicuna.batch == batch{.micro = 2, .sequence = 2048, .accumulation = 16});
  CHECK(vicuna.sharding.kind == sharding_kind::fsdp1);
  CHECK(vicuna.precision == precisions::bf16_mixed);
  CHECK(vicuna.recompute.mode == recompute_mode::full);

  const auto zephyr = read("zephyr-sft-full-zero3", {"config_full.yaml", "zero3.yaml"});
  CHECK(zephyr.model == *models::find("mistral-7b"));
  CHECK(zephyr.hardware.gpus() == 8);
  CHECK(zephyr.batch == batch{.micro = 16, .sequence = 2048, .lengths = {.unknown = true}});
  CHECK(zephyr.sharding.stage == 3);
  CHECK(zephyr.precision == precisions::bf16_mixed);
  CHECK(zephyr.attention == attention::flash);
  CHECK(zephyr.recompute.reentrant == choice::no);

  const auto simpo = read("simpo-base-sft", {"llama-3-8b-base-sft.yaml", "deepspeed_zero3.yaml"});
  CHECK(simpo.model == *models::find("llama-3-8b"));
  CHECK(simpo.hardware.gpus() == 4);
  CHECK(simpo.batch == batch{.micro = 8, .sequence = 2048, .accumulation = 4});  // it has no script of its own for this: alignment-handbook's packs
  CHECK(simpo.sharding.stage == 3);

  const auto chat = read("deepspeed-chat-step1-llama2", {"run_llama2_7b.sh"}, {eight});
  CHECK(chat.model == *models::find("llama-2-7b"));
  CHECK(chat.batch == batch{.micro = 4, .sequence = 512});
  CHECK(chat.sharding.stage == 3);
  CHECK(chat.offload.parameters == place::on_gpu);
  CHECK(chat.precision == precisions::fp16_mixed);
  CHECK(chat.optimizer.how == implementation::fused);
  CHECK(chat.recompute.mode == recompute_mode::full);
  CHECK(holds(why_not("deepspeed-chat-step1-llama2", "run_llama2_7b.sh"), "deepspeed takes every GPU of its machine"));
  auto second = launch_file("deepspeed-chat-step1-llama2", "run_llama2_7b.sh");  // the same arguments for another step
  second.said.replace(second.said.find("step1"), 5, "step2");
  CHECK(holds(refusal_of({second}, {eight}), "is where DeepSpeed-Chat's reward, preference or reinforcement learning writes"));
}

TEST_CASE("machines: mason, a cluster's pipeline, Slurm") {
  const auto olmo = read("open-instruct-mason", {"finetune_13b.sh", "stage3_no_offloading_accelerate.conf"});
  CHECK(olmo.model == *models::find("olmo-2-13b"));
  CHECK(olmo.hardware.nodes == 8);
  CHECK(olmo.hardware.gpus_per_node == 8);
  CHECK(olmo.batch == batch{.micro = 1, .sequence = 4096, .lengths = {.unknown = true}});
  CHECK(olmo.sharding.stage == 3);
  CHECK(olmo.precision == precisions::bf16_mixed);
  CHECK(olmo.recompute.mode == recompute_mode::full);

  const auto gpt3 = read("megatron-gpt3-175b", {"train_gpt3_175b_distributed.sh"}, {"hardware.nodes=16"});
  CHECK(gpt3.model.layers == 96);
  CHECK(gpt3.model.hidden == 12288);
  CHECK(gpt3.hardware.gpus() == 128);
  CHECK(gpt3.parallel.tensor == 8);
  CHECK(gpt3.parallel.pipeline == 16);
  CHECK(gpt3.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 1536});
  CHECK(gpt3.precision.gradients == formats::fp16);

  const auto titan = read("torchtitan-slurm-8b", {"multinode_trainer.slurm", "llama3_8b.toml"});
  CHECK(titan.model == *models::find("llama-3.1-8b"));
  CHECK(titan.hardware.gpus() == 32);
  CHECK(titan.batch == batch{.micro = 1, .sequence = 8192});
  CHECK(titan.sharding.kind == sharding_kind::fsdp2);
  CHECK(titan.recompute.mode == recompute_mode::selective);
  CHECK(titan.environment.nccl_buffsize == bytes{2'097'152});
  CHECK(holds(why_not("torchtitan-slurm-8b", "multinode_trainer.slurm"), "llama3_8b.toml\", which no file here is: give it, too"));
}

TEST_CASE("BLOOM, whose script writes DeepSpeed's configuration") {
  const auto j = read("bigscience-bloom-176b", {"tr11-176B-ml.slurm"}, {"hardware.nodes=48", "hardware.gpu=a100-sxm-80gb"});
  CHECK(j.framework == frameworks::megatron_deepspeed_2022);
  const auto& m = j.model;
  CHECK(m.layers == 70);
  CHECK(m.hidden == 14336);
  CHECK(m.heads == 112);
  CHECK(m.vocab == 250'880);
  CHECK(m.position == position_kind::alibi);
  CHECK(m.embedding_norm);
  CHECK(j.hardware.gpus() == 384);
  CHECK(j.parallel.tensor == 4);
  CHECK(j.parallel.pipeline == 12);
  CHECK(j.parallel.stage_layers[0] == 5);
  CHECK(j.parallel.stage_layers[5] == 6);
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.sequence == 2048);
  CHECK(j.batch.accumulation == 128);
  CHECK(j.sharding == zero(1));
  CHECK(j.precision.parameters == formats::bf16);
  CHECK(j.precision.gradients == formats::fp32);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(settle(j).data == 8);
}

}  // namespace test_launch_cases

#endif
