// Distributed under the Boost Software License, Version 1.0.
// litgpt and torchtune: every argument of their fine-tuning, and files of their repositories, read as somebody did by hand from their sources.
#include "launcher_keys.hpp"

#include <algorithm>

#if HEADROOM_HAS_YAML

namespace test_recipes {

using namespace imported;
using io::json_value;

namespace {

/// Takes NAME: from before a key.
bool takes(std::string& key, std::string_view name) {
  if (!key.starts_with(std::string{name} + ":")) return false;
  key.erase(0, name.size() + 1);
  return true;
}
job on(const json_value& root, int gpus, auto import) {
  io::draft d;
  d.ignores = {"pretrain"};
  import(d, io::document{.source = "a.yaml", .root = root, .lines = {}});
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  if (gpus > 0) d.say({"hardware", "gpus_per_node"}, gpus, "--set");
  if (!d.has({"batch", "sequence"})) d.say({"batch", "sequence"}, 2048, "--set");
  return d.settled();
}

}  // namespace

TEST_CASE("litgpt: each argument alone") {
  for (auto l : launcher_keys::list_of("litgpt.txt")) {
    const auto what = takes(l.key, "full") ? io::litgpt_command::full : takes(l.key, "pretrain") ? io::litgpt_command::pretrain : io::litgpt_command::lora;
    const bool pretrain = what == io::litgpt_command::pretrain;
    const json_value without{{pretrain ? "model_name" : "checkpoint_dir", "meta-llama/Llama-2-7b-hf"}, {"precision", pretrain ? "bf16-mixed" : "bf16-true"}, {"devices", 1}, {"train", {{"max_seq_length", 512}}}};
    auto with = without;
    if (l.key.starts_with("optimizer.")) with["optimizer"] = json_value::object();
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, without, with, [&](const json_value& root) { return on(root, 0, [&](io::draft& d, const io::document& from) { io::import_litgpt(d, from, what); }); });
  }
}

TEST_CASE("torchtune: each key alone") {
  for (auto l : launcher_keys::list_of("torchtune.txt")) {
    json_value without{{"model", {{"_component_", "torchtune.models.llama3_1.llama3_1_8b"}}}, {"optimizer", {{"_component_", "torch.optim.AdamW"}}}, {"tokenizer", {{"max_seq_len", 2048}}}, {"dtype", "bf16"}};
    if (takes(l.key, "lora")) without["model"] = {{"_component_", "torchtune.models.llama3_1.lora_llama3_1_8b"}, {"lora_attn_modules", {"q_proj", "v_proj"}}};
    const int gpus = takes(l.key, "several") ? 8 : 1;
    auto with = without;
    launcher_keys::put(with, l.key, l.value);
    launcher_keys::judge(l, without, with, [&](const json_value& root) { return on(root, gpus, [](io::draft& d, const io::document& from) { io::import_torchtune(d, from); }); });
  }
}

TEST_CASE("litgpt: files of its config_hub") {
  const auto q = job_of({launch_file("litgpt-llama2-qlora", "qlora.yaml")});
  CHECK(q.framework.label == "litgpt");
  CHECK(q.model == *models::find("llama-2-7b"));
  CHECK(q.hardware.gpus() == 1);
  CHECK(q.batch == batch{.micro = 2, .sequence = 512, .accumulation = 4, .lengths = {.unknown = true}});
  CHECK(q.precision.parameters == formats::bf16);
  CHECK(q.adapter.kind == adapter_kind::lora);
  CHECK(q.adapter.rank == 32);
  CHECK(q.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(q.adapter.format == formats::bf16);
  CHECK(q.adapter.dropout == probability::of(0.05));
  CHECK(q.adapter.base == formats::nf4);
  CHECK(q.adapter.base_skips.empty());  // the head, too
  CHECK_FALSE(q.adapter.fused_qkv);
  CHECK(q.optimizer.label == "paged-adamw");
  CHECK(q.loss.kind == loss_kind::chunked);
  CHECK(q.loss.chunk_tokens == 128);
  CHECK(q.loss.chunked_head == choice::yes);
  CHECK(q.recompute.mode == recompute_mode::none);
  CHECK(q.sharding.kind == sharding_kind::none);

  const auto full = job_of({launch_file("litgpt-phi2-full", "full.yaml")});
  CHECK(full.model == *models::find("phi-2"));
  CHECK(full.hardware.gpus() == 2);
  CHECK(full.batch == batch{.micro = 4, .sequence = 512, .accumulation = 1, .lengths = {.unknown = true}});
  CHECK_FALSE(full.adapter.active());
  CHECK(full.sharding.kind == sharding_kind::fsdp1);
  CHECK(full.sharding.stage == 3);
  CHECK(full.sharding.no_sync);
  CHECK(full.recompute.mode == recompute_mode::full);
  CHECK(full.loss.chunked_head == choice::no);
  CHECK(full.optimizer.label == "adamw");
}

TEST_CASE("litgpt: command lines") {
  const auto hub = launch_file("litgpt-llama2-qlora", "qlora.yaml");
  // Over a file, in either order; a command says which program's arguments they are.
  const imported::text over{"run.sh", "litgpt finetune_lora --config qlora.yaml --quantize null --devices 4 --train.micro_batch_size 1 --lora_key true --precision bf16-true"};
  const auto j = job_of({over, hub});
  CHECK(j == job_of({hub, over}));
  CHECK(j.hardware.gpus() == 4);
  CHECK(j.batch == batch{.micro = 1, .sequence = 512, .accumulation = 2, .lengths = {.unknown = true}});
  CHECK(j.adapter.base == formats::bf16);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj});
  CHECK(j.sharding.kind == sharding_kind::fsdp2);  // since 2025-08-13
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.optimizer.label == "adamw");
  // README.md, with a length.
  const auto readme = job_of({{"run.sh", "litgpt finetune microsoft/phi-2 --data JSON --data.json_path my_custom_dataset.json --data.val_split_fraction 0.1 --out_dir out/custom-model --train.max_seq_length 256"}});
  CHECK(readme.model == *models::find("phi-2"));
  CHECK(readme.batch == batch{.micro = 1, .sequence = 256, .accumulation = 16, .lengths = {.unknown = true}});
  CHECK(readme.precision == precisions::bf16_autocast);
  CHECK(readme.adapter.rank == 8);
  CHECK(readme.adapter.base == formats::fp32);
  CHECK(readme.adapter.targets == module_set{module::q_proj, module::v_proj});
  const auto old = job_of({{"run.sh", "litgpt finetune lora --checkpoint_dir checkpoints/microsoft/phi-2 --train.max_seq_length=256"}});
  CHECK(old == readme);
  const auto refused = [](const std::string& c) { return refusal_of({{"run.sh", c}}); };
  CHECK(holds(refused("litgpt finetune_lora microsoft/phi-2"), "no file says how long a sequence is"));
  CHECK(holds(refused("litgpt finetune_adapter_v2 microsoft/phi-2"), "litgpt finetune_adapter_v2 is not modelled"));
  CHECK(holds(refused("litgpt pretrain EleutherAI/pythia-160m --train.max_seq_length 512"), "torch.compile of the whole model"));
  CHECK(holds(refusal_of({hub, {"run.sh", "litgpt finetune_full --config qlora.yaml --quantize null"}}), "is an argument of litgpt finetune_lora alone"));
  CHECK(holds(refused("litgpt finetune_lora --config a.yaml"), "names \"a.yaml\", which no file here is"));
  CHECK(holds(refused("litgpt finetune_lora microsoft/phi-2 --train.max_seq_length 256 --quantize bnb.nf4"), "refuses quantize beside mixed precision"));
  CHECK(holds(refused("litgpt finetune_lora microsoft/phi-2 --train.max_seq_length 256 --devices 4 --train.global_batch_size 4 --train.micro_batch_size 2"), "less than a micro-batch"));
  CHECK(holds(refused("litgpt chat microsoft/phi-2"), "starts no training"));
  CHECK(!refused("litgpt finetune").empty());  // nothing follows
  CHECK(!refused("litgpt finetune lora").empty());
}

TEST_CASE("torchtune: files of its recipes") {
  const imported::text two{"run.sh", "tune run --nproc_per_node 2 lora_finetune_distributed --config llama3_1/8B_lora"};
  const auto yaml = launch_file("torchtune-llama3.1-8b-lora", "8B_lora.yaml");
  CHECK(holds(refusal_of({two}), "names \"llama3_1/8B_lora\", which no file here is: give it, too"));
  CHECK(holds(refusal_of({two, yaml}), "no file says how long a sequence is"));
  CHECK(holds(refusal_of({yaml}), "tune run says how many GPUs there are"));
  const auto lora = job_of({two, yaml}, {"batch.sequence=2048"});
  CHECK(lora == job_of({yaml, two}, {"batch.sequence=2048"}));
  CHECK(lora.framework.label == "torchtune");
  CHECK(lora.model == *models::find("llama-3.1-8b"));
  CHECK(lora.hardware.gpus() == 2);
  CHECK(lora.batch == batch{.micro = 2, .sequence = 2048, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(lora.precision == precisions::bf16);
  CHECK(lora.adapter.rank == 8);
  CHECK(lora.adapter.targets == module_set{module::q_proj, module::v_proj, module::o_proj, module::gate_proj, module::up_proj, module::down_proj});
  CHECK(lora.adapter.base == formats::bf16);
  CHECK_FALSE(lora.adapter.dropout.positive());
  CHECK(lora.sharding.kind == sharding_kind::fsdp2);
  CHECK(lora.sharding.reshard_after_forward == choice::yes);
  CHECK(lora.recompute.mode == recompute_mode::none);
  CHECK(lora.optimizer.how == implementation::fused);
  CHECK(lora.loss.kind == loss_kind::chunked);
  CHECK_FALSE(lora.compile);

  const auto full = job_of({launch_file("torchtune-llama3.1-8b-full-single", "8B_full_single_device.yaml"),
                            {"run.sh", "tune run full_finetune_single_device --config llama3_1/8B_full_single_device tokenizer.max_seq_len=4096 dataset.packed=True compile=True enable_activation_offloading=True"}});
  CHECK(full.hardware.gpus() == 1);
  CHECK(full.batch == batch{.micro = 2, .sequence = 4096, .packed = true});
  CHECK(full.optimizer.label == "paged-adamw-8bit");
  CHECK(full.optimizer.in_backward);
  CHECK(full.recompute.mode == recompute_mode::full);
  CHECK(full.offload.activations == place::on_cpu);
  CHECK(full.compile);
  CHECK_FALSE(full.adapter.active());
  CHECK(full.sharding.kind == sharding_kind::none);

  const auto qlora = job_of({launch_file("torchtune-llama3.1-8b-full-single", "8B_qlora_single_device.yaml")}, {"batch.sequence=1024"});
  CHECK(qlora.adapter.base == formats::nf4_double);
  CHECK(qlora.adapter.base_skips == module_set{module::head});
  CHECK(qlora.batch == batch{.micro = 2, .sequence = 1024, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(qlora.recompute.mode == recompute_mode::full);
}

// recipes/configs/llama2/1B_qat_single_device.yaml hands llama2 the sizes of TinyLlama 1.1B; recipes/configs/dev/8B_full_experimental.yaml.
TEST_CASE("torchtune: a model of sizes, and a part of the layers checkpointed") {
  const std::string rest = "tokenizer: {max_seq_len: 2048}\noptimizer: {_component_: torch.optim.AdamW}\ndtype: bf16\n";
  const std::string sizes = "  vocab_size: 32000\n  num_layers: 22\n  num_heads: 32\n  num_kv_heads: 4\n  embed_dim: 2048\n  max_seq_len: 2048\n";
  const auto of = [&](const std::string& builder, const std::string& more) { return "model:\n  _component_: torchtune.models." + builder + "\n" + more + rest; };
  const auto tiny = job_of({{"tune.yaml", of("llama2.llama2", sizes)}}, {"hardware.gpus_per_node=1"});
  CHECK(tiny.model.ffn == 5632);  // scale_hidden_dim_for_mlp(2048)
  CHECK(tiny.model.max_positions == 2048);
  CHECK(estimate(tiny).parameter_count.total == parameters{1'100'048'384});
  CHECK(job_of({{"tune.yaml", of("llama2.llama2", sizes + "  intermediate_dim: 8192\n")}}, {"hardware.gpus_per_node=1"}).model.ffn == 8192);
  CHECK(holds(refusal_of({{"tune.yaml", of("llama2.llama2", "  num_layers: 22\n")}}), "model.vocab_size is missing"));
  CHECK(holds(refusal_of({{"tune.yaml", of("llama2.llama2", sizes + "  lora_rank: 8\n")}}), "lora_rank is no argument"));
  CHECK(holds(refusal_of({{"tune.yaml", of("llama3.llama3_8b", "  embed_dim: 2048\n")}}), "model.embed_dim is no argument of \"llama3_8b\""));

  const auto eight = [&](const std::string& more) { return job_of({{"tune.yaml", of("llama3.llama3_8b", "") + more}}, {"hardware.gpus_per_node=8"}); };
  const auto second = eight("ac_mode: selective\nac_option: 2\n").recompute;
  CHECK(second.mode == recompute_mode::full);
  CHECK(second.layers == 16);
  CHECK(eight("ac_mode: selective\nac_option: 33\n").recompute.mode == recompute_mode::none);
  CHECK(eight("ac_mode: full\n").recompute == recompute::full);
  CHECK(holds(refusal_of({{"tune.yaml", of("llama3.llama3_8b", "") + "ac_mode: full\nenable_activation_checkpointing: True\n"}}), "checkpoint no layer at all"));
}

TEST_CASE("torchtune: command lines") {
  const auto yaml = launch_file("torchtune-llama3.1-8b-full-single", "8B_qlora_single_device.yaml");
  const auto said = [&](const std::string& words) { return job_of({yaml, {"run.sh", "tune run lora_finetune_single_device --config 8B_qlora_single_device.yaml tokenizer.max_seq_len=512 " + words}}); };
  CHECK(said("model._component_=torchtune.models.llama3_2.lora_llama3_2_1b").model == *models::find("llama-3.2-1b"));
  CHECK(said("optimizer=bitsandbytes.optim.PagedAdamW8bit ~optimizer.fused").optimizer.label == "paged-adamw-8bit");
  CHECK(said("model.quantize_base=False").adapter.base == formats::bf16);  // qlora_llama3_1_8b is lora_llama3_1_8b with that argument
  CHECK_FALSE(said("optimizer_in_bwd=True").optimizer.in_backward);         // lora_finetune_*.py do not read it
  CHECK(said("fsdp_cpu_offload=True").offload.parameters == place::on_gpu);  // nor recipes of one device that
  CHECK(said("model.lora_attn_modules=[q_proj,k_proj] model.apply_lora_to_mlp=False").adapter.targets == module_set{module::q_proj, module::k_proj});
  const auto refused = [&](const std::string& words) { return refusal_of({yaml, {"run.sh", "tune run " + words}}); };
  CHECK(holds(refused("lora_dpo_distributed --config a.yaml"), "the recipe \"lora_dpo_distributed\" is not modelled"));
  CHECK(holds(refused("lora_finetune_distributed --config a.yaml tokenizer.max_seq_len=512"), "needs --nproc_per_node"));
  CHECK(holds(refused("full_finetune_single_device --config a.yaml tokenizer.max_seq_len=512"), "trains the whole model, beside adapters too"));
  const auto whole = launch_file("torchtune-llama3.1-8b-full-single", "8B_full_single_device.yaml");
  const auto alone = [&](const std::string& words) { return refusal_of({whole, {"run.sh", "tune run " + words + " tokenizer.max_seq_len=512"}}); };
  CHECK(holds(alone("lora_finetune_single_device --config a.yaml"), "trains adapters, which its model does not have"));
  CHECK(holds(alone("full_finetune_single_device --config a.yaml optimizer_in_bwd=True gradient_accumulation_steps=4"), "torchtune refuses gradient_accumulation_steps beside optimizer_in_bwd"));
  CHECK(holds(alone("full_finetune_single_device --config a.yaml optimizer_in_bwd=True clip_grad_norm=1.0"), "torchtune refuses clip_grad_norm beside optimizer_in_bwd"));
  CHECK(holds(refused("lora_finetune_single_device --config a.yaml --batch_size 4"), "is no KEY=VALUE"));
  CHECK(holds(refusal_of({{"kd.yaml", "teacher_model:\n  _component_: torchtune.models.qwen2.qwen2_1_5b\n"}}), "for distillation"));
  CHECK(holds(refusal_of({{"dpo.yaml", "loss:\n  _component_: torchtune.rlhf.loss.DPOLoss\n"}}), "for preference training"));
  CHECK(holds(refusal_of({{"eval.yaml", "model:\n  _component_: torchtune.models.qwen2.qwen2_1_5b\n"}}), "no configuration of a training"));
}

}  // namespace test_recipes

#endif
