// Distributed under the Boost Software License, Version 1.0.
// Models in axolotl's configurations: values of their config.json that are set anew, fine-tunes known by the model that they are of (067b021c).
#include <headroom/states/states.hpp>

#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_axolotl_models {

using namespace imported;

namespace {

const std::string dense = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\nadapter: lora\nlora_r: 16\nlora_target_linear: true\nlora_mlp_kernel: false\n";
const std::string sparse = "base_model: Qwen/Qwen3-30B-A3B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\nlora_mlp_kernel: false\n";
const std::string asks = "model_config:\n  output_router_logits: true\n";
job yaml(const std::string& said) { return job_of({{"axo.yaml", said}}, {}); }
std::string why(const std::string& said) { return refusal_of({{"axo.yaml", said}}, {}); }

}  // namespace

TEST_CASE("routers' logits, asked for in the model's configuration") {
  CHECK(yaml(dense + asks) == yaml(dense));  // it has no router
  CHECK_FALSE(yaml(sparse).loss.balances_experts);
  CHECK(yaml(sparse + asks).loss.balances_experts);
  CHECK(yaml(sparse + "overrides_of_model_config:\n  output_router_logits: true\n").loss.balances_experts);
  CHECK(yaml(sparse + "model_config:\n  output_router_logits: false\n") == yaml(sparse));
  CHECK(refusal_of({{"axo.yaml", dense + "model_config:\n  sliding_window: 64\n"}}, {}).find("model_config") != std::string::npos);
}

TEST_CASE("a fine-tune that has its model's shape") {
  const std::string rest = "\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n";
  CHECK(yaml("base_model: Skywork/Skywork-Reward-V2-Qwen3-8B" + rest).model == *models::find("qwen3-8b"));
  CHECK(yaml("base_model: trl-lib/qwen1.5-1.8b-sft" + rest).model == *models::find("qwen1.5-1.8b"));
}

TEST_CASE("experts that nothing quantises become fp32 beside a quantised base") {
  const auto j = yaml("base_model: Qwen/Qwen1.5-MoE-A2.7B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true\ntf32: true\n");
  CHECK(j.adapter.rest_experts == formats::tf32);
  CHECK(j.adapter.base_skips == module_set{module::experts_gate, module::experts_up, module::experts_down, module::head});
  // 24 layers: 60 experts of three matrices of 1,408 x 2,048 at four bytes; attention's four matrices and a shared expert of 5,632 in NF4 with double
  // quantisation; two tables of 151,936 rows, routers, norms and biases in bf16.
  const auto weights = states(j).gpu[row::model_parameters].count();
  CHECK(weights > 51'714'000'000);
  CHECK(weights < 51'718'000'000);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  // utils/schemas/config.py: tf32 is "auto" where nothing is said.
  const std::string qwen = "base_model: Qwen/Qwen1.5-MoE-A2.7B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nlora_r: 8\nlora_target_linear: true\n", four = "adapter: qlora\nload_in_4bit: true\n";
  CHECK(yaml(qwen + four) == j);
  CHECK(yaml(qwen + four + "tf32: auto\n") == j);
  CHECK(yaml(qwen + four + "tf32: false\n").adapter.rest_experts == formats::fp32);
  const std::string eight = "adapter: lora\nload_in_8bit: true\nquantize_moe_experts: true\n";  // bytes are made fp32
  const std::string some = "base_model: Qwen/Qwen1.5-MoE-A2.7B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\n";
  CHECK(yaml(some + eight).adapter.rest_experts == formats::tf32);
  CHECK(yaml(some + eight + "tf32: false\n").adapter.rest_experts == formats::fp32);
  CHECK(states(yaml(some + eight)).gpu == states(yaml(some + eight + "tf32: false\n")).gpu);
  CHECK_FALSE(yaml(some + four + "quantize_moe_experts: true\n").adapter.rest_experts.set());

  const std::string mixtral = "base_model: mistralai/Mixtral-8x7B-v0.1\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true\ndeepspeed: zero2.json\n";
  const std::vector<imported::text> files{{"axo.yaml", mixtral}, {"zero2.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})"}};
  const auto cast = job_of(files, {"hardware.gpus_per_node=8"});
  CHECK(cast.adapter.rest_experts == formats::bf16);  // DeepSpeed casts the module as a whole
  CHECK(states(cast).gpu[row::model_parameters].count() > 32L * 8 * 3 * 4096 * 14336 * 2);
}

TEST_CASE("experts beside a base in eight bits under FSDP") {
  const std::string lora = "base_model: Qwen/Qwen3-30B-A3B\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nload_in_8bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\nfsdp_version: 2\n"
                           "fsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls_to_wrap: Qwen3MoeDecoderLayer\n";
  const auto why = [&](const std::string& more) { return refusal_of({{"axo.yaml", lora + more}}, {"hardware.gpus_per_node=4"}); };
  for (const std::string more : {"", "  cpu_ram_efficient_loading: false\n"}) CHECK(why(more).find("axo.yaml:6: experts that FSDP shards in fp32") != std::string::npos);
  CHECK(job_of({{"axo.yaml", lora + "  cpu_ram_efficient_loading: true\n"}}, {"hardware.gpus_per_node=4"}).adapter.rest_experts.set() == false);
  CHECK(job_of({{"axo.yaml", lora + "  fsdp_cpu_ram_efficient_loading: true\n"}}, {"hardware.gpus_per_node=4"}).adapter.base == formats::int8);
}

TEST_CASE("bitsandbytes takes no checkpoint of another format") {
  const std::string rest = "\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nlora_r: 8\nlora_target_modules: [q_proj]\n", four = "adapter: qlora\nload_in_4bit: true\n";
  const std::string made = "model_quantization_config: Mxfp4Config\nmodel_quantization_config_kwargs:\n  dequantize: true\n";
  const auto why = [&](const std::string& said) { return refusal_of({{"axo.yaml", said}}, {}); };
  CHECK(why("base_model: openai/gpt-oss-20b" + rest + four).find("axo.yaml:8: gpt-oss-20b is stored in MXFP4") != std::string::npos);
  CHECK(why("base_model: openai/gpt-oss-safeguard-20b" + rest + "adapter: lora\nload_in_8bit: true\n").find("axo.yaml:8: gpt-oss-safeguard-20b is stored in MXFP4") != std::string::npos);
  CHECK(why("base_model: openai/gpt-oss-20b" + rest + four + made).find("axolotl ends where load_in_4bit stands beside model_quantization_config") != std::string::npos);
  CHECK(yaml("base_model: unsloth/gpt-oss-20b-BF16" + rest + four).adapter.base == formats::nf4_double);
  CHECK(yaml("base_model: openai/gpt-oss-20b" + rest + "adapter: lora\nload_in_8bit: false\n" + made).adapter.base.set() == false);
}

TEST_CASE("what adapters find beside LFM 2's convolutions") {
  const std::string lfm = "base_model: LiquidAI/LFM2-8B-A1B\nmicro_batch_size: 4\nsequence_len: 4096\nflash_attention: true\nsample_packing: true\nadapter: lora\nload_in_8bit: true\nlora_r: 32\n";
  const auto j = yaml(lfm + "lora_target_modules: 'model.layers.[\\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj'\n");
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj});  // its attention ends in out_proj, and its MLPs are w1, w2 and w3
  CHECK(j.adapter.base == formats::int8);
  CHECK(j.adapter.rest_experts == formats::tf32);
  const auto weights = states(j).gpu[row::model_parameters].count();
  CHECK(weights > 22L * 32 * 3 * 2048 * 1792 * 4 + 65'536L * 2048 * 2);
  CHECK(weights < 22L * 32 * 3 * 2048 * 1792 * 4 + 65'536L * 2048 * 2 + 470'000'000);  // 455 million more, a byte each
  CHECK(refusal_of({{"axo.yaml", lfm + "lora_target_modules: [out_proj]\n"}}, {}).find("lora_target_modules") != std::string::npos);
  CHECK(refusal_of({{"axo.yaml", lfm + "lora_target_modules: [o_proj, up_proj]\n"}}, {}).find("nothing trains") != std::string::npos);
}

TEST_CASE("norms and rotary embedding of Qwen3's queries and keys in one kernel") {
  const std::string rest = "\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nsample_packing: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n", on = "fused_attn_kernel: true\n";
  const auto plain = yaml("base_model: Qwen/Qwen3-8B" + rest), at_once = yaml("base_model: Qwen/Qwen3-8B" + rest + on);
  CHECK_FALSE(plain.kernels.has(fused_kernel::normed_rotary));
  CHECK(at_once.kernels == fused_kernels{fused_kernel::adapted_qkv, fused_kernel::adapted_output, fused_kernel::adapted_mlp, fused_kernel::normed_rotary});
  CHECK(refusal_of({{"axo.yaml", "base_model: google/gemma-3-1b-it" + rest + "lora_mlp_kernel: false\n" + on}}, {}).find("fused_attn_kernel = true is not modelled") != std::string::npos);
  // It is Qwen3's, Qwen3.5's and Gemma 4's; of others axolotl warns and goes on.
  CHECK(yaml("base_model: meta-llama/Llama-3.1-8B" + rest + on) == yaml("base_model: meta-llama/Llama-3.1-8B" + rest));
  for (const std::string name : {"Qwen3-Next-80B-A3B-Instruct", "Qwen3-Coder-Next"}) {
    const auto next = "base_model: Qwen/" + name + "\nmicro_batch_size: 1\nsequence_len: 1024\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\n";
    CHECK(yaml(next + on) == yaml(next));
    const auto notes = draft_of({{"axo.yaml", next + on}}).notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& n) { return n == "axo.yaml:8: axolotl has no fused_attn_kernel for this model, and goes on without"; }));
  }
}

TEST_CASE("words and classes that axolotl ends at") {
  CHECK(refusal_of({{"axo.yaml", "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nflash_attention: true\ntokens: [5]\n"}}, {}).find("axo.yaml:4: tokens must be a list of words") != std::string::npos);
  const auto listed = refusal_of({{"axo.yaml", dense + "fsdp_version: 2\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls_to_wrap: [LlamaDecoderLayer]\n"}}, {"hardware.gpus_per_node=8"});
  CHECK(listed.find("transformer_layer_cls_to_wrap must be one name") != std::string::npos);
}

TEST_CASE("Llama 4 has no flash attention, and its experts made linear are not modelled") {
  const std::string scout = "base_model: axolotl-quants/Llama-4-Scout-17B-16E-Linearized-bnb-nf4-bf16\nmodel_type: Llama4ForConditionalGeneration\nmicro_batch_size: 1\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_mlp_kernel: false\n";
  CHECK(holds(why(scout + "attn_implementation: flash_attention_2\n"), "axo.yaml:8: transformers has no flash attention for Llama 4"));
  CHECK(holds(why(scout + "flash_attention: true\n"), "transformers has no flash attention for Llama 4"));
  CHECK(holds(why(scout + "llama4_linearized_experts: true\nattn_implementation: sdpa\nlora_target_linear: true\n"), "llama4_linearized_experts = true"));
  CHECK(holds(why(scout + "attn_implementation: flex_attention\n"), "attn_implementation = \"flex_attention\""));
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\nmodel_type: Llama4ForConditionalGeneration\nmicro_batch_size: 1\n"), "model_type = "));
}

TEST_CASE("an MLP's fused kernel that xformers has no longer") {
  // examples/llama-2/fft_optimized.yml (067b021c), as far as it shapes anything.
  const std::string all = "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 1\noptimizer: adamw_bnb_8bit\nbf16: auto\ngradient_checkpointing: true\nattn_implementation: flash_attention_2\n";
  const auto d = draft_of({{"axo.yaml", all + "flash_attn_fuse_mlp: true\n"}});
  CHECK(job_of({{"axo.yaml", all + "flash_attn_fuse_mlp: true\n"}}) == yaml(all));
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "axo.yaml:9: xformers has no fused kernel for an MLP since 0.0.34"); }));
  CHECK(holds(refusal_of({{"axo.yaml", dense + "flash_attn_fuse_mlp: true\n"}}), "axolotl ends at flash_attn_fuse_mlp beside an adapter"));
  CHECK(holds(refusal_of({{"axo.yaml", all + "flash_attn_fuse_mlp: true\nlisa_n_layers: 4\n"}}), "lisa_n_layers = 4 is not modelled"));
}

TEST_CASE("activations that go to the host beside adapters") {
  const auto kept = yaml(dense + "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n");
  auto moved = yaml(dense + "gradient_checkpointing: true\nactivation_offloading: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n");
  CHECK(moved.offload.activations == place::on_cpu);
  CHECK(moved.recompute.mode == recompute_mode::full);
  moved.offload.activations = place::on_gpu;
  CHECK(moved == kept);
  CHECK(refusal_of({{"axo.yaml", dense + "gradient_checkpointing: true\nactivation_offloading: true\n"}}, {}).find("activation_offloading = true is not modelled") != std::string::npos);
}

}  // namespace test_axolotl_models

#endif
