// Distributed under the Boost Software License, Version 1.0.
// Jobs in the YAML of the Trainer, TRL, LLaMA-Factory and axolotl: each program's own names, and what none of them can say.
#include <doctest/doctest.h>

#include <headroom/io/export.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>

namespace test_export_trainer {

using namespace headroom;

namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string refusal_of(const job& j, io::export_target target) {
  try {
    io::exported(j, target);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

const job tuned{.model = models::llama_3_1_8b,
                .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8},
                .framework = frameworks::hf_trainer,
                .precision = precisions::bf16_mixed,
                .sharding = fsdp1(3),
                .batch = {.micro = 2, .sequence = 4096, .accumulation = 4},
                .recompute = {.mode = recompute_mode::full, .reentrant = choice::no},
                .attention = attention::flash};

/// The first key of a part that the whole says otherwise.
std::string first_other(const io::json_value& whole, const io::json_value& part) {
  for (const auto& [key, value] : part.items())
    if (!whole.contains(key) || whole[key] != value) return key;
  return {};
}

/// The file's keys.
io::json_value keys_of(const job& j, io::export_target target) { return io::parse_yaml(io::exported(j, target), "written").root; }

/// Adapters in fp32 beside a base in bf16, on GPUs that share nothing.
job adapted(number_format base) {
  auto j = tuned;
  j.sharding = {};
  j.hardware.nodes = 1;
  j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::q_proj, module::v_proj}, .format = formats::fp32, .dropout = {50'000}, .base = base};
  if (base.quantised()) j.adapter.base_skips = {module::head};
  return j;
}

}  // namespace

TEST_CASE("accelerate: what several machines need") {
  const auto two = keys_of(tuned, io::export_target::accelerate);
  CHECK(two.at("num_machines") == 2);
  CHECK(two.at("num_processes") == 16);
  CHECK(two.at("rdzv_backend") == "static");
  CHECK(two.at("same_network") == true);
  auto j = tuned;
  j.hardware.nodes = 1;
  const auto one = keys_of(j, io::export_target::accelerate);
  CHECK(one.at("num_processes") == 8);
  CHECK_FALSE(one.contains("rdzv_backend"));
  CHECK_FALSE(one.contains("same_network"));
}

TEST_CASE("hf-trainer: names of TrainingArguments, and of run_clm.py") {
  const auto a = keys_of(tuned, io::export_target::hf_trainer);
  const auto expected = io::parse_json(R"({"model_name_or_path": "llama-3.1-8b", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "block_size": 4096, "bf16": true, "fp16": false,
    "dtype": "float32", "attn_implementation": "flash_attention_2", "gradient_checkpointing": true, "gradient_checkpointing_kwargs": {"use_reentrant": false}, "optim": "adamw_torch", "torch_compile": false,
    "use_liger_kernel": false, "fsdp": "full_shard auto_wrap", "fsdp_config": {"version": 1, "backward_prefetch": "backward_pre"}})", "expected");
  CHECK(a == expected);
  auto j = tuned;
  j.sharding = fsdp2();
  CHECK(keys_of(j, io::export_target::hf_trainer)["fsdp_config"] == io::json_value{{"version", 2}, {"reshard_after_forward", true}});  // false where it is left out (training_args.py up to 5.9)
  j.sharding = fsdp1(2);
  j.parallel.replicate = 2;
  CHECK(keys_of(j, io::export_target::hf_trainer)["fsdp"] == "hybrid_shard_zero2 auto_wrap");
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  CHECK(keys_of(j, io::export_target::hf_trainer)["fsdp"] == "hybrid_shard_zero2 offload auto_wrap");
  j = tuned;
  j.optimizer = optimizers::galore;
  j.optimizer.rank = 64;
  j.optimizer.update_interval = 50;
  CHECK(keys_of(j, io::export_target::hf_trainer)["optim_args"] == "rank=64,update_proj_gap=50");
}

TEST_CASE("hf-trainer: what it cannot say is refused by its key") {
  const auto why = [](auto change) {
    auto j = tuned;
    change(j);
    return refusal_of(j, io::export_target::hf_trainer);
  };
  CHECK(why([](job& j) { j.framework = frameworks::torchtitan_202508; }) == "headroom: hf-trainer needs a job whose framework is hf-trainer, found torchtitan");
  CHECK(holds(why([](job& j) { j.framework = frameworks::hf_trainer_2023; }), "cannot say framework.version"));
  CHECK(holds(why([](job& j) { j.adapter = adapted({}).adapter; }), "cannot say adapter"));
  CHECK(holds(why([](job& j) { j.batch.padded = true; }), "cannot say batch.padded = true"));
  CHECK(holds(why([](job& j) { j.dropout.hidden = {100'000}; }), "cannot say dropout"));
  CHECK(holds(why([](job& j) { j.attention = attention::te; }), "cannot say attention = \"te\""));
  CHECK(holds(why([](job& j) { j.parallel.replicate = 4; }), "parallel.replicate"));  // a replica is a node
  CHECK(holds(why([](job& j) { j.sharding = fsdp2(2); }), "cannot say sharding.stage = 2"));
  CHECK(holds(why([](job& j) { j.optimizer = optimizers::came; }), "cannot say optimizer = \"came\""));
  CHECK(holds(why([](job& j) { j.kernels = {fused_kernel::normed_rotary}; }), "cannot say kernels"));
  CHECK(holds(why([](job& j) { j.precision = precisions::bf16; }), "cannot say precision"));
}

TEST_CASE("DeepSpeed under the Trainer is a file of its own, which the first line names") {
  auto j = tuned;
  j.framework = frameworks::deepspeed;
  j.sharding = zero(3);
  for (const auto target : {io::export_target::hf_trainer, io::export_target::trl, io::export_target::llama_factory, io::export_target::axolotl}) {
    const auto text = io::exported(j, target);
    CHECK(text.starts_with("# Beside it: ds.json, written by headroom export --to deepspeed.\n"));
    CHECK(holds(text, "\ndeepspeed: ds.json\n"));
    CHECK_FALSE(holds(text, "fsdp"));
  }
}

TEST_CASE("trl: what its releases changed is said") {
  const auto a = keys_of(adapted({}), io::export_target::trl);
  const auto expected = io::parse_json(R"({"max_length": 4096, "loss_type": "nll", "packing": false, "padding_free": false, "activation_offloading": false, "dtype": "bfloat16", "use_peft": true, "lora_r": 16,
    "lora_target_modules": ["q_proj", "v_proj"], "lora_dropout": 0.05, "use_dora": false})", "expected");
  CHECK(first_other(a, expected) == "");
  CHECK_FALSE(a.contains("block_size"));
  CHECK(holds(refusal_of(adapted(formats::nf4), io::export_target::trl), "cannot say adapter.base = nf4: what TRL makes of the rest of a quantised model differs by release"));
  auto fused = adapted({});
  fused.model = models::phi_3_mini;
  CHECK(holds(refusal_of(fused, io::export_target::trl), "cannot say adapter.targets: what this model calls these modules is not known"));
  fused.adapter.targets = all_linear;
  CHECK(keys_of(fused, io::export_target::trl)["lora_target_modules"] == "all-linear");
}

TEST_CASE("LLaMA-Factory: its own names") {
  auto j = adapted(formats::nf4_double);
  j.recompute.reentrant = choice::unset;
  CHECK(holds(refusal_of(j, io::export_target::llama_factory), "cannot leave adapter.rest out: it would be \"bf16\""));  // it makes nothing fp32
  j.adapter.rest = formats::bf16;
  const auto a = keys_of(j, io::export_target::llama_factory);
  const auto expected = io::parse_json(R"({"stage": "sft", "finetuning_type": "lora", "cutoff_len": 4096, "lora_rank": 16, "lora_target": ["q_proj", "v_proj"], "lora_dropout": 0.05, "quantization_bit": 4,
    "quantization_method": "bnb", "double_quantization": true, "disable_gradient_checkpointing": false, "use_reentrant_gc": false, "flash_attn": "fa2", "packing": false, "neat_packing": false})", "expected");
  CHECK(first_other(a, expected) == "");
  for (const auto* key : {"dtype", "gradient_checkpointing", "attn_implementation", "block_size"}) CHECK_FALSE(a.contains(key));
  j = tuned;
  j.sharding = {};
  j.precision = precisions::bf16;
  j.trainable = {{.first_layer = 30, .last_layer = 31}};
  const auto frozen = keys_of(j, io::export_target::llama_factory);
  CHECK(frozen["finetuning_type"] == "freeze");
  CHECK(frozen["freeze_trainable_layers"] == 2);
  CHECK(frozen["pure_bf16"] == true);
  j.trainable = {{.first_layer = 30, .last_layer = 31, .modules = {module::q_proj, module::o_proj}}};
  CHECK(keys_of(j, io::export_target::llama_factory)["freeze_trainable_modules"] == "q_proj,o_proj");
  j.trainable = {{.first_layer = 30, .last_layer = 31, .modules = {module::norm}}};
  CHECK(holds(refusal_of(j, io::export_target::llama_factory), "cannot say trainable.modules"));
  j.trainable = {{.first_layer = 0, .last_layer = 3}};
  CHECK(keys_of(j, io::export_target::llama_factory)["freeze_trainable_layers"] == -4);
  // hparams/parser.py get_train_args: BAdam on several GPUs needs ZeRO-3, updates in backward one GPU.
  j.trainable = {};
  j.optimizer = optimizers::badam;
  j.hardware = {.gpu = tuned.hardware.gpu};
  CHECK(keys_of(j, io::export_target::llama_factory)["use_badam"] == true);
  j.hardware.gpus_per_node = 2;
  CHECK(holds(refusal_of(j, io::export_target::llama_factory), "cannot say optimizer = \"badam\" on several GPUs without ZeRO-3"));
  j.optimizer = optimizers::galore;
  CHECK(keys_of(j, io::export_target::llama_factory)["use_galore"] == true);
  j.optimizer.in_backward = true;
  CHECK(holds(refusal_of(j, io::export_target::llama_factory), "in backward on several GPUs"));
  j.optimizer = optimizers::adamw;
  j.hardware.gpus_per_node = 8;
  j.trainable = {{.first_layer = 2, .last_layer = 3}};
  CHECK(holds(refusal_of(j, io::export_target::llama_factory), "trainable"));
}

TEST_CASE("axolotl: its own names, kernels and plugins") {
  auto j = adapted(formats::nf4_double);
  j.adapter.rest = formats::bf16;
  j.kernels = {fused_kernel::adapted_mlp, fused_kernel::norm};
  const auto a = keys_of(j, io::export_target::axolotl);
  const auto expected = io::parse_json(R"({"base_model": "llama-3.1-8b", "micro_batch_size": 2, "sequence_len": 4096, "sample_packing": false, "pad_to_sequence_len": false, "adapter": "qlora", "load_in_4bit": true,
    "load_in_8bit": false, "lora_r": 16, "lora_target_linear": false, "lora_target_modules": ["q_proj", "v_proj"], "lora_mlp_kernel": true, "lora_qkv_kernel": false, "lora_o_kernel": false,
    "plugins": ["axolotl.integrations.liger.LigerPlugin"], "liger_rms_norm": true, "liger_rope": false, "flash_attention": true, "optimizer": "adamw_torch"})", "expected");
  CHECK(first_other(a, expected) == "");
  for (const auto* key : {"model_name_or_path", "optim", "per_device_train_batch_size"}) CHECK_FALSE(a.contains(key));
  j = tuned;
  j.sharding = fsdp2();
  j.precision = precisions::bf16;
  j.parallel.replicate = 2;
  const auto hybrid = keys_of(j, io::export_target::axolotl);
  CHECK(hybrid["fsdp_version"] == 2);
  CHECK(hybrid["dp_replicate_size"] == 2);
  CHECK(hybrid["dp_shard_size"] == 8);
}

TEST_CASE("a model that the library does not name is given beside the file") {
  auto j = tuned;
  j.model.layers = 31;
  const auto text = io::exported(j, io::export_target::hf_trainer);
  CHECK(text.starts_with("# The model is the folder of a config.json.\n"));
  CHECK(holds(text, "model_name_or_path: model\n"));
}

}  // namespace test_export_trainer

#endif
