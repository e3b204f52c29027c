// Distributed under the Boost Software License, Version 1.0.
// axolotl's configurations, and the ways in which it is started, read as somebody did by hand from its source (067b021c).
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_axolotl {

using namespace imported;

namespace {

const std::string eight = "hardware.gpus_per_node=8";
const std::string whole = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\n";
const std::string adapters = whole + "adapter: lora\nlora_r: 16\nlora_target_linear: true\nlora_mlp_kernel: false\n";

job yaml(const std::string& said, const std::vector<std::string>& set = {}) { return job_of({{"axo.yaml", said}}, set); }
std::string why(const std::string& said, const std::vector<std::string>& set = {}) { return refusal_of({{"axo.yaml", said}}, set); }

}  // namespace

TEST_CASE("examples as they are") {
  const auto eight_bit = job_of({launch_file("axolotl-lora-8bit", "lora-8b.yml")}, {eight});
  CHECK(eight_bit.model == *models::find("llama-3-8b"));
  CHECK(eight_bit.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 4, .packed = true});  // 2 × 4,096 in one row
  CHECK(eight_bit.adapter.base == formats::int8);
  CHECK(eight_bit.adapter.rank == 32);
  CHECK(eight_bit.adapter.targets == all_linear);
  CHECK(eight_bit.adapter.format == formats::fp32);
  CHECK(eight_bit.adapter.modules_to_save == module_set{module::embedding, module::head});
  CHECK(eight_bit.precision.parameters == formats::bf16);  // norms and embedding are made bf16 again (loaders/model.py)
  CHECK(eight_bit.optimizer.label.view() == "adamw-8bit");
  CHECK(eight_bit.attention == attention::flash);
  CHECK(eight_bit.recompute.reentrant == choice::yes);
  CHECK(eight_bit.sharding.kind == sharding_kind::ddp);

  const auto full = job_of({launch_file("axolotl-full-packed", "fft-8b.yaml")}, {eight});
  CHECK(full.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 8, .packed = true});
  CHECK(full.precision.parameters == formats::bf16);
  CHECK(full.precision.gradients == formats::bf16);
  CHECK(full.precision.state == formats::bf16);
  CHECK(full.precision.master == formats::none);
  CHECK(full.optimizer.label.view() == "paged-adamw-8bit");
  CHECK(full.recompute.reentrant == choice::no);

  const auto sharded = job_of({launch_file("axolotl-qlora-fsdp", "qlora-fsdp.yaml")}, {eight});
  CHECK(sharded.model == *models::find("qwen2-7b"));
  CHECK(sharded.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 4, .packed = true});
  CHECK(sharded.sharding.kind == sharding_kind::fsdp1);
  CHECK(sharded.sharding.stage == 3);
  CHECK(sharded.offload.parameters == place::on_cpu);
  CHECK(sharded.adapter.base == formats::nf4_double);
  CHECK(sharded.recompute.reentrant == choice::no);

  const auto second = job_of({launch_file("axolotl-fsdp2-pretrain", "adamw-pretrain-fsdp2.yaml")}, {eight});
  CHECK(second.sharding.kind == sharding_kind::fsdp2);
  CHECK(second.precision == precisions::bf16);  // monkeypatch/accelerate/fsdp2.py, fsdp2_prepare_model: no weight is made fp32
  CHECK(second.recompute.mode == recompute_mode::none);
}

TEST_CASE("samples: packed into one row, or padded to the longest") {
  const auto longest = yaml(whole);
  CHECK(longest.batch == batch{.micro = 2, .sequence = 1024, .lengths = {.unknown = true, .pad_to_multiple = 64}});  // rounded up to 64
  CHECK(yaml(whole + "pad_to_sequence_len: true\n").batch == batch{.micro = 2, .sequence = 1024, .padded = true});
  CHECK(yaml(whole + "pad_to_sequence_len: false\n").batch == batch{.micro = 2, .sequence = 1000, .lengths = {.unknown = true}});
  CHECK(yaml(whole + "batch_flattening: true\n").batch == batch{.micro = 1, .sequence = 2000, .packed = true});
  CHECK(yaml(whole + "batch_size: 6\n").batch.accumulation == 3);
  CHECK(holds(draft_of({{"axo.yaml", whole}}).notes.at(0), "axo.yaml:3: samples are padded to the longest of their micro-batch"));
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsample_packing: true\neager_attention: true\nadapter: lora\nlora_r: 8\nlora_mlp_kernel: false\nlora_target_linear: true\n"), "axo.yaml:3: sample_packing = true is not modelled"));
}

TEST_CASE("data that come as they are read are packed into one row, by whichever kernel") {
  const std::string lora = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 4\nsequence_len: 4096\nsample_packing: true\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\n", stream = "pretraining_dataset: allenai/c4\nmax_steps: 10\n";
  const std::string torch = "sdp_attention: true\n", masked = torch + "sdpa_varlen: false\n";
  // utils/data/streaming.py: batch_max_len is 4 x 4,096, and micro_batch_size 1 behind it.
  const batch row{.micro = 1, .sequence = 16384, .padded = true}, apart{.micro = 1, .sequence = 16384, .packed = true};
  CHECK(yaml(lora + masked).batch == batch{.micro = 4, .sequence = 4096, .padded = true});
  CHECK(yaml(lora + masked + stream).batch == row);
  CHECK(yaml(lora + masked + "streaming: true\nmax_steps: 10\n").batch == row);
  CHECK(yaml(lora + stream).batch == row);  // torch's own attention, which transformers takes
  CHECK(yaml(lora + torch + stream).batch == apart);
  CHECK(yaml(lora + torch + stream).attention == attention::flash);
  CHECK(yaml(lora + "flash_attention: true\nmultipack_real_batches: true\n" + stream).batch == apart);
  CHECK(yaml(lora + masked + stream + "streaming: false\n").batch == row);
  // Of `datasets` the collator pads once more: two rows of 1,000 to a multiple of 1,024; of texts nothing does.
  const std::string odd = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nsample_packing: true\nadapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\n" + masked;
  CHECK(yaml(odd + "streaming: true\nmax_steps: 10\n").batch.sequence == 2048);
  CHECK(yaml(odd + stream).batch.sequence == 2000);
  CHECK(holds(why(lora + "flash_attention: true\npretrain_multipack_attn: false\n" + stream), "pretrain_multipack_attn = false is not modelled"));
  CHECK(holds(why(lora + "eager_attention: true\n" + stream), "sample_packing = true is not modelled"));
  CHECK(holds(why(lora + masked + stream + "test_datasets: [{path: x}]\neval_steps: 10\n"), "eval_steps = 10 is not modelled"));
}

TEST_CASE("formats of weights and of autocast") {
  CHECK(yaml(adapters).precision.compute == formats::bf16);  // "auto" where nothing is said
  CHECK(yaml(adapters + "fp16: true\n").precision.compute == formats::fp16);
  CHECK(yaml(adapters + "bf16: false\n").precision == precisions::fp32);
  CHECK(yaml(adapters + "bf16:\n").precision == precisions::fp32);  // null is not "auto"
  CHECK(yaml(adapters + "bf16: false\nload_in_8bit: true\n").precision.parameters == formats::fp16);
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nattn_implementation: sdpa\n"), "axo.yaml:3: without flash attention a model that trains as a whole has its norms, embedding and head in fp32"));
}

TEST_CASE("adapters") {
  CHECK(yaml(whole + "adapter: lora\nlora_r: 8\nlora_o_kernel: false\nlora_target_modules: [self_attn.q_proj, v_proj]\n").adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(yaml(whole + "adapter: lora\nlora_r: 8\nlora_o_kernel: false\nlora_target_modules: 'model.layers.[\\d]+.(mlp|self_attn).(up|down|gate|q)_proj'\n").adapter.targets ==
        module_set{module::up_proj, module::down_proj, module::gate_proj, module::q_proj});
  CHECK(yaml(adapters + "peft_use_dora: true\n").adapter.kind == adapter_kind::dora);
  CHECK(yaml(adapters + "peft:\n  loftq_config:\n    loftq_bits: 4\n") == yaml(adapters));
  CHECK(holds(why(adapters + "load_in_8bit: true\npeft:\n  loftq_config:\n    loftq_bits: 4\n"), "peft = "));
  CHECK(holds(why(adapters + "peft:\n  other: 4\n"), "peft = "));
  const auto only = [](const std::string& targets) { return why(whole + "adapter: lora\nlora_r: 8\nlora_o_kernel: false\nlora_target_modules: " + targets + "\n"); };
  for (const auto* some : {"'model.layers.(1|2).(mlp|self_attn).(q|v)_proj'", "'model.layers.[0-3].(mlp|self_attn).(q|v)_proj'", "[layers.3.self_attn.q_proj]", "[cross_attn.q_proj]", "q_proj"})
    CHECK(holds(only(some), "axo.yaml:8: lora_target_modules = "));
  CHECK(holds(why(whole + "adapter: lora\nlora_target_linear: true\n"), "lora_r is not given"));
  CHECK(holds(why(whole + "adapter: qlora\nlora_r: 8\n"), "adapter qlora needs load_in_4bit"));
  CHECK(holds(why(adapters + "load_in_4bit: true\n"), "axo.yaml:9: adapter lora does not load a base in four bits"));
}

TEST_CASE("kernels that stand for several operations") {
  using enum fused_kernel;
  const std::string four = whole + "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true\n";
  const auto by_default = yaml(four);
  CHECK(by_default.kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  CHECK(by_default.adapter.rest == formats::bf16);
  CHECK(io::read_job(io::job_to_json(by_default)) == by_default);
  CHECK(yaml(four + "lora_qkv_kernel: true\n").kernels == fused_kernels{adapted_qkv});
  CHECK(yaml(four + "trust_remote_code: true\n").kernels.empty());
  CHECK(yaml(whole + "adapter: lora\nload_in_8bit: true\nlora_r: 8\nlora_target_linear: true\n").kernels.empty());
  const std::string sharded = "fsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
  CHECK(yaml(four + sharded, {eight}).kernels.empty());
  CHECK_FALSE(yaml(four + sharded + "fsdp_version: 2\n", {eight}).kernels.empty());
  CHECK(yaml(four + sharded + "  fsdp_version: 2\n", {eight}).kernels.empty());  // check_auto_enable_lora_kernels runs before fsdp_config's is looked at
  CHECK(holds(why("base_model: microsoft/phi-2\nmicro_batch_size: 1\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n"), "axo.yaml:4: axolotl's kernels for adapters, which are on unless one of them is said, do not find"));
  CHECK(holds(why(four + "peft_use_dora: true\n"), "lora_mlp_kernel = true is not modelled"));

  const auto under = [&](int stage) {
    return std::vector<imported::text>{{"axo.yaml", four + "deepspeed: zero.json\n"}, {"zero.json", "{\"zero_optimization\": {\"stage\": " + std::to_string(stage) + "}, \"bf16\": {\"enabled\": true}, \"train_micro_batch_size_per_gpu\": \"auto\"}"}};
  };
  CHECK(job_of(under(2), {eight}).kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  CHECK(job_of(under(3), {eight}).kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});  // a layer is gathered whole
  // examples/llama-3/lora-1b-ray.yml and deepspeed_configs/zero3.json (067b021c), as far as they shape anything: four workers of Ray's.
  const auto ray = job_of({{"ray.yaml", "base_model: NousResearch/Llama-3.2-1B\nval_set_size: 0.1\nadapter: lora\nsequence_len: 2048\nsample_packing: true\nlora_r: 16\nlora_dropout: 0.05\nlora_target_modules: [gate_proj, down_proj, "
                                         "up_proj, q_proj, v_proj, k_proj, o_proj]\ngradient_accumulation_steps: 2\nmicro_batch_size: 2\noptimizer: adamw_8bit\nbf16: auto\ntf32: false\ngradient_checkpointing: true\n"
                                         "attn_implementation: flash_attention_2\nevals_per_epoch: 4\ndeepspeed: zero3.json\nuse_ray: true\nray_num_workers: 4\n"},
                           {"zero3.json", R"({"zero_optimization": {"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 0, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 0, "stage3_max_reuse_distance": 0}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"})"}});
  CHECK(ray.kernels == fused_kernels{adapted_mlp, adapted_qkv, adapted_output});
  const auto weights = states(ray);
  CHECK(weights.gpu[row::model_parameters] == bytes{1'235'814'400LL * 2 / 4});
  CHECK(weights.gpu[row::adapters] == bytes{11'272'192 * 2 / 4});  // 16 layers of 16 × (2 × 4,096 + 2 × 2,560 + 3 × 10,240) numbers, which DeepSpeed casts to bf16
  // A layer of 2 x 2,048 x 2,048 + 2 x 2,048 x 512 + 3 x 2,048 x 8,192 numbers is gathered, and 33 norms stay, two bytes each.
  CHECK(estimate(ray).ranks[0].at_peak[row::gathered_parameters] == bytes{2 * (2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048) + 2 * 33 * 2048});

  const std::string liger = "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\nliger_rms_norm: true\nliger_glu_activation: true\nliger_layer_norm: true\n";
  CHECK(yaml(whole + liger).kernels == fused_kernels{rotary, norm, gated});
  CHECK(yaml(whole + "liger_rope: true\n").kernels.empty());  // keys of a plugin that is not loaded
  CHECK(yaml(whole + liger + "liger_fused_linear_cross_entropy: true\n").loss.kind == loss_kind::fused_linear);
  CHECK(yaml(whole + liger + "liger_rms_norm_gated: true\n") == yaml(whole + liger));  // no layer has such a norm
  const std::string cut = "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n";
  CHECK(yaml(whole + cut).loss.kind == loss_kind::cut);
  CHECK(yaml(whole + cut + "cut_cross_entropy: false\n").loss.kind == loss_kind::unset);
  CHECK(holds(why(whole + liger + "liger_cross_entropy: true\n"), "liger_cross_entropy = true is not modelled"));
}

TEST_CASE("what trains otherwise is refused by name") {
  CHECK(holds(why(whole + "rl: distill\n"), "axo.yaml:5: rl = \"distill\" is not modelled"));
  CHECK(holds(why(whole + "model_type: AutoModelForSequenceClassification\n"), "axo.yaml:5: model_type = \"AutoModelForSequenceClassification\" is not modelled"));
  CHECK(yaml(whole + "model_type: LlamaForCausalLM\n").batch.micro == 2);
  CHECK(holds(refusal_of({{"one.yaml", adapters}, {"two.yaml", whole}}), "two.yaml: a job has one configuration of axolotl's, and one.yaml is one, too"));
  CHECK(holds(why(whole + "relora: true\n"), "axolotl ends without jagged_restart_steps"));
  CHECK(holds(why(whole + "relora: true\njagged_restart_steps: 150\n"), "relora = true is not modelled"));  // of a whole model
  CHECK(holds(why(adapters + "relora: true\njagged_restart_steps: 150\nfsdp_config:\n  fsdp_version: 2\n"), "axolotl refuses relora beside FSDP"));
  CHECK(holds(why(whole + "flash_attn_rms_norm: true\n"), "axolotl has flash_attn_rms_norm no longer, and ends there"));
  CHECK(yaml(whole + "flash_attn_rms_norm: false\n").batch.micro == 2);
  CHECK(holds(why(whole + "tokens:\n  bos_token: <s>\n"), "tokens must be a list of words in axolotl"));
  // A list is rows of the embedding; beside an adapter they must train (loaders/utils.py, check_model_config).
  CHECK(yaml(whole + "tokens: [\"<|im_start|>\", \"<|im_end|>\"]\n").assumed_defaults == 1);
  CHECK(holds(why(adapters + "tokens: [\"<|im_start|>\"]\n"), "axolotl ends where an adapter trains and tokens are new"));
  CHECK(yaml(adapters + "tokens: [\"<|im_start|>\"]\nlora_modules_to_save: [embed_tokens, lm_head]\n").adapter.modules_to_save == module_set{module::embedding, module::head});
  CHECK(holds(why(whole + "tokens: <|im_start|>\n"), "tokens"));
  CHECK(holds(why(whole + "plugins:\n  - axolotl.integrations.spectrum.SpectrumPlugin\n"), "plugins = \"axolotl.integrations.spectrum.Spectr... is not modelled"));
  CHECK(holds(why(whole + "micro_batchsize: 3\n"), "micro_batchsize is not known here (did you mean micro_batch_size?)"));
  CHECK(holds(why(whole + "deepspeed: deepspeed_configs/zero2.json\n", {eight}), "axo.yaml:5: names \"deepspeed_configs/zero2.json\", which no file here is: give it, too"));
}

TEST_CASE("Liger's kernels are those of the models that it has") {
  const std::string liger = "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rms_norm: true\nliger_rope: true\nliger_glu_activation: true\n";
  const auto of = [&](const char* model, const std::string& more = {}) { return std::string{"base_model: "} + model + "\nmicro_batch_size: 1\nsequence_len: 512\nsample_packing: true\nattn_implementation: flash_attention_2\n" + liger + more; };
  CHECK(!yaml(of("Qwen/Qwen2.5-7B")).kernels.empty());
  // Phi-2, StarCoder 2: LayerNorm, and no entry in MODEL_TYPE_TO_APPLY_LIGER_FN: "Liger not applied".
  CHECK(yaml(of("microsoft/phi-2")).kernels.empty());
  CHECK(yaml(of("bigcode/starcoder2-3b")).kernels.empty());
  CHECK(holds(why(of("bigcode/starcoder2-3b", "liger_fused_linear_cross_entropy: true\n")), "say liger_fused_linear_cross_entropy false"));
  CHECK(yaml(of("Qwen/Qwen2.5-7B", "liger_fused_linear_cross_entropy: true\n")).loss.kind == loss_kind::fused_linear);
  CHECK(holds(why(of("Qwen/Qwen1.5-MoE-A2.7B")), "leave axolotl.integrations.liger.LigerPlugin out"));
  CHECK(!yaml(of("mistralai/Mixtral-8x7B-v0.1")).kernels.empty());
}

TEST_CASE("ReLoRA trains as LoRA does between its restarts") {
  const auto plain = yaml(adapters), restarts = yaml(adapters + "relora: true\njagged_restart_steps: 150\nrelora_prune_ratio: 0.9\n");
  CHECK(restarts.adapter == plain.adapter);
  CHECK(restarts.batch == plain.batch);
}

TEST_CASE("a kernel of the hub's that is not on axolotl's list gets packed rows with their mask") {
  const std::string oss = "base_model: openai/gpt-oss-20b\nsequence_len: 4000\nmicro_batch_size: 2\nsample_packing: true\ngradient_checkpointing: true\nattn_implementation: kernels-community/vllm-flash-attn3\n";
  const std::string made = "model_quantization_config: Mxfp4Config\nmodel_quantization_config_kwargs:\n  dequantize: true\n";
  const auto j = yaml(oss + made);
  CHECK(j.model.label == models::gpt_oss_20b.label);
  CHECK(j.attention == attention::flash3);
  // 4,000 tokens to a multiple of 64, two rows, padding taken out by the mask: not one row of 8,000, as for the kernels on the list.
  CHECK(j.batch == batch{.micro = 2, .sequence = 4032, .padded = true});
  auto known = oss + made;
  known.replace(known.find("vllm-flash-attn3"), 16, "flash-attn3");
  CHECK(yaml(known).batch == batch{.sequence = 8000, .packed = true});
  CHECK(j.precision == yaml(known).precision);
  CHECK(holds(why(oss + "model_quantization_config: Mxfp4Config\n"), "model_quantization_config = \"Mxfp4Config\" is not modelled"));  // stays in four bits
  CHECK(holds(why(whole + made), "model_quantization_config = \"Mxfp4Config\" is not modelled"));
  CHECK(holds(why(whole + "model_quantization_config_kwargs:\n  dequantize: true\n"), "model_quantization_config_kwargs"));
}

TEST_CASE("TRL's trainers for preferences") {
  const auto dpo = yaml(adapters + "rl: dpo\nlora_dropout: 0.05\ngradient_checkpointing: true\n");
  CHECK(dpo.objective.kind == objective_kind::dpo);
  CHECK(dpo.objective.code == method_code::trl);  // of its release 1.8, which axolotl pins
  CHECK(dpo.batch == batch{.micro = 2, .sequence = 1000, .lengths = {.unknown = true}});  // TRL's collator pads to the longest alone
  CHECK(dpo.adapter.format == formats::fp32);
  CHECK(dpo.adapter.dropout == yaml(adapters).adapter.dropout);  // disable_dropout is TRL's default
  CHECK(dpo.recompute.reentrant == choice::no);
  CHECK(yaml(adapters + "rl: ipo\n").objective == dpo.objective);
  CHECK(yaml(adapters + "rl: dpo\ndpo_loss_type: [sigmoid, ipo]\n").objective == dpo.objective);
  CHECK(yaml(whole + "rl: dpo\n").objective.reference == reference_way::unset);  // a copy, as TRL has it
  CHECK(yaml(whole + "rl: dpo\nprecompute_ref_log_probs: true\n").objective.reference == reference_way::precomputed);
  CHECK(yaml(adapters + "rl: kto\nremove_unused_columns: false\n").objective.kind == objective_kind::kto);
  CHECK(yaml(adapters + "rl: orpo\n").objective.kind == objective_kind::orpo);
  CHECK(yaml(adapters + "rl: simpo\n").objective.kind == objective_kind::cpo);  // cpo_alpha is 1 where it is not given: a cross entropy beside it
  CHECK(yaml(adapters + "rl: simpo\ncpo_alpha: 0\n").objective.kind == objective_kind::simpo);

  // TRL makes adapters over a quantised base bf16 where it adds them itself (1.8, dpo_trainer.py); axolotl adds those of ORPO and SimPO.
  const std::string four = whole + "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true\n";
  CHECK(yaml(four + "rl: dpo\n").adapter.format == formats::bf16);
  CHECK(yaml(four + "rl: kto\nremove_unused_columns: false\n").adapter.format == formats::bf16);
  CHECK(yaml(four + "rl: orpo\n").adapter.format == formats::fp32);
  CHECK(yaml(four + "rl: dpo\n").adapter.rest == formats::bf16);
  CHECK(yaml(four + "rl: dpo\n").kernels.empty());  // its own are off beside rl
  CHECK(holds(why(four + "rl: dpo\nlora_qkv_kernel: true\n"), "lora_qkv_kernel = true is not modelled"));
  CHECK(holds(why(whole + "rl: kto\nremove_unused_columns: false\n"), "axo.yaml:5: axolotl loads the model once more beside kto of a whole model"));
  CHECK(holds(why(adapters + "rl: dpo\nsample_packing: true\n"), "axolotl refuses sample_packing beside preferences"));
  for (const std::string key : {"dpo_padding_free", "dpo_use_weighting", "dpo_use_liger_kernel"}) CHECK(holds(why(adapters + "rl: dpo\n" + key + ": true\n"), (key + " = true is not modelled").c_str()));
  CHECK(holds(why(adapters + "rl: dpo\npad_to_multiple_of: 64\n"), "pad_to_multiple_of = 64 is not modelled"));
  CHECK(holds(why(adapters + "rl: dpo\nplugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n"), "Cut Cross-Entropy beside preferences"));
  CHECK(holds(why(adapters + "rl: dpo\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", {eight}), "preferences and reward models under axolotl's FSDP"));
}

TEST_CASE("a reward model") {
  const std::string scored = whole + "reward_model: true\nmodel_type: AutoModelForSequenceClassification\nnum_labels: 1\n";
  CHECK(yaml(scored).objective.kind == objective_kind::reward);
  CHECK(yaml(scored).batch == batch{.micro = 2, .sequence = 1024, .padded = true});  // validation.py, hint_reward_model_pad
  CHECK(yaml(scored + "pad_to_sequence_len: true\n").batch == batch{.micro = 2, .sequence = 1024, .padded = true});
  CHECK(yaml(scored + "pad_to_sequence_len: false\n").batch == batch{.micro = 2, .sequence = 1000, .lengths = {.unknown = true}});
  CHECK(yaml(scored + "gradient_checkpointing: true\n").recompute.reentrant == choice::yes);
  CHECK(yaml(whole + "reward_model: true\n") == yaml(scored));  // what is not given, its schema sets (validation.py, set_reward_model_defaults)
  CHECK(holds(why(whole + "reward_model: true\nmodel_type: LlamaForCausalLM\n"), "axo.yaml:5: a reward model needs model_type AutoModelForSequenceClassification"));
  CHECK(holds(why(whole + "reward_model: true\nmodel_type: AutoModelForSequenceClassification\nnum_labels: 3\n"), "num_labels = 3 is not modelled"));
  CHECK(holds(why(scored + "rl: dpo\n"), "two trainings"));
  CHECK(holds(why(scored + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"), "an adapter of a reward model"));
}

TEST_CASE("a model of process rewards: two classes of every token, padded as a plain fine-tuning is") {
  // examples/qwen2/prm.yaml (067b021c), as far as it shapes anything.
  const std::string judged =
      "base_model: Qwen/Qwen2.5-3B\nmodel_type: AutoModelForTokenClassification\nnum_labels: 2\nprocess_reward_model: true\nval_set_size: 0.2\nsequence_len: 2000\nmicro_batch_size: 8\n"
      "eval_batch_size: 8\noptimizer: adamw_torch\nbf16: true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\nattn_implementation: flash_attention_2\neval_steps: 100\n";
  const auto j = yaml(judged);
  CHECK(j.objective == objective{.kind = objective_kind::classification, .code = method_code::trl});
  CHECK(j.framework.attention == frameworks::hf_trainer.attention);
  CHECK(j.batch.micro == 8);
  CHECK(j.batch.sequence == 2048);  // the next multiple of 64
  CHECK(j.batch.lengths.pad_to_multiple == 64);
  CHECK(j.precision.parameters == formats::bf16);  // autocast over weights that are loaded so
  CHECK(j.recompute.reentrant == choice::no);
  CHECK(j.evaluation.batch == 8);
  CHECK(j.evaluation.use_cache == choice::no);
  // 3,085,938,688 parameters, whose head is the embedding, and 2 rows of 2,048 with a bias each.
  CHECK(estimate(j).parameter_count.total == parameters{3'085'938'688 + 2 * 2048 + 2});
  CHECK(yaml("base_model: Qwen/Qwen2.5-3B\nmicro_batch_size: 2\nprocess_reward_model: true\nattn_implementation: flash_attention_2\n").objective == j.objective);
  CHECK(yaml(judged + "group_by_length: true\n").batch.lengths.order == sample_order::grouped);
  CHECK(holds(why(judged + "reward_model: true\n"), "two trainings"));
  CHECK(holds(why(judged + "rl: dpo\n"), "rl and process_reward_model are two trainings"));
  CHECK(holds(why(judged + "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"), "an adapter of a reward model"));
  CHECK(holds(why("base_model: Qwen/Qwen2.5-3B\nmicro_batch_size: 2\nprocess_reward_model: true\nnum_labels: 3\nattn_implementation: flash_attention_2\n"), "num_labels = 3 is not modelled"));
}

TEST_CASE("experts as transformers 5 keeps them") {
  const std::string sparse = "base_model: mistralai/Mixtral-8x7B-v0.1\nmicro_batch_size: 2\nflash_attention: true\n";
  const auto all = yaml(sparse);
  CHECK(all.framework.experts.gemm == expert_gemm::sorted_mm);
  CHECK(yaml(sparse + "adapter: lora\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\n").adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(yaml(sparse + "trust_remote_code: true\n") == all);  // its checkpoint brings no code
  CHECK(holds(why("base_model: deepseek-ai/DeepSeek-V2-Lite\nmicro_batch_size: 2\nflash_attention: true\ntrust_remote_code: true\n"), "imports is_torch_fx_available, which transformers 5 has no longer"));
  CHECK(holds(why(sparse + "adapter: lora\nlora_r: 8\nlora_target_modules: [q_proj, w1]\n"), "axo.yaml:6"));
  CHECK(yaml(sparse + "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\n").adapter.rest_experts == formats::tf32);
}

TEST_CASE("samples grouped by length, and where they are not") {
  const auto grouped = [](const job& j) { return j.batch.lengths.order == sample_order::grouped; };
  CHECK(grouped(yaml(whole + "group_by_length: true\n")));
  CHECK_FALSE(grouped(yaml(whole + "group_by_length: false\n")));
  CHECK_FALSE(grouped(yaml(whole + "group_by_length: true\nsample_packing: true\n")));
  CHECK_FALSE(grouped(yaml(whole + "group_by_length: true\npad_to_sequence_len: true\n")));
  CHECK_FALSE(grouped(yaml(whole + "group_by_length: true\ncurriculum_sampling: true\n")));
  CHECK_FALSE(grouped(yaml(adapters + "group_by_length: true\nrl: dpo\n")));
}

TEST_CASE("xformers keeps what flash attention does where every head has keys and values of its own") {
  const std::string one = "micro_batch_size: 2\nxformers_attention: true\nsample_packing: true\n";
  CHECK(yaml("base_model: huggyllama/llama-7b\n" + one).attention == attention::flash);
  CHECK(yaml("base_model: huggyllama/llama-7b\n" + one).batch.packed);
  CHECK(holds(why("base_model: meta-llama/Llama-3.1-8B\n" + one), "axo.yaml:3: attn_implementation = \"xformers\" is not modelled"));
  CHECK(holds(why("base_model: microsoft/phi-2\n" + one), "attn_implementation = \"xformers\" is not modelled"));
  CHECK(yaml("base_model: openai-community/gpt2\n" + one).attention == attention::flash);  // modeling_gpt2.py asks ALL_ATTENTION_FUNCTIONS
  for (const std::string other : {"tiiuae/falcon-7b", "EleutherAI/gpt-j-6b"}) CHECK(holds(why("base_model: " + other + "\n" + one), "this model's class has no attention by xformers"));
}

TEST_CASE("a model that is said afterwards is not what the file was read for") {
  const std::string own = "base_model: mine/private\nmicro_batch_size: 2\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n";
  CHECK(holds(why(own), "axo.yaml:1: the model \"mine/private\" is not in the model zoo"));
  for (const auto* model : {"model=mixtral-8x7b", "model=llava-1.5-7b", "model=llama-3.1-8b"}) {
    CHECK(holds(why(own, {model}), "axo.yaml: axolotl's configuration means something else for another model: say it by --model NAME"));
    CHECK(holds(why(whole, {model}), "say it by --model NAME"));
  }
}

TEST_CASE("how many GPUs are asked for where a file shards") {
  const std::string sharded = whole + "fsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
  CHECK(holds(why(sharded), "axo.yaml:5: FSDP takes every GPU of its machine"));
  CHECK(yaml(sharded, {eight}).hardware.gpus() == 8);
  CHECK(yaml(whole + "use_ray: true\nray_num_workers: 4\n").hardware.gpus() == 4);
  CHECK(yaml(whole).hardware.gpus() == 1);
}

TEST_CASE("tables of answers are generated for a tracker alone") {
  CHECK(yaml(whole + "val_set_size: 0.1\neval_steps: 5\neval_table_size: 2\nwandb_project:\n").batch.micro == 2);
  CHECK(holds(why(whole + "val_set_size: 0.1\neval_steps: 5\neval_table_size: 2\nwandb_project: mine\n"), "eval_table_size = 2 is not modelled"));
}

TEST_CASE("FSDP by its first version and its second") {
  const std::string wrap = "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n";
  const auto first = yaml(whole + "fsdp_config:\n" + wrap, {eight});
  CHECK(first.sharding.kind == sharding_kind::fsdp1);
  CHECK(first.sharding.backward_prefetch == choice::no);
  CHECK(yaml(whole + "fsdp_version: 2\nfsdp_config:\n" + wrap + "  offload_params: true\n  activation_checkpointing: true\n", {eight}).sharding.kind == sharding_kind::fsdp2);
  CHECK(yaml(whole + "fsdp_version: 2\nfsdp_config:\n" + wrap + "  offload_params: true\n", {eight}).offload.parameters == place::on_cpu);
  CHECK(yaml(whole + "fsdp_config:\n" + wrap + "  activation_checkpointing: true\n", {eight}).recompute.mode == recompute_mode::full);
  CHECK(holds(why(whole + "gradient_checkpointing: true\nfsdp_config:\n" + wrap + "  activation_checkpointing: true\n", {eight}), "fsdp_config.activation_checkpointing and gradient_checkpointing are both true"));
  CHECK(yaml(whole + "gradient_checkpointing: false\nfsdp_config:\n" + wrap + "  activation_checkpointing: true\n", {eight}).recompute.mode == recompute_mode::full);
  // Where activations go to the host the Trainer is told nothing of checkpoints; of hidden_states it is.
  CHECK(yaml(whole + "gradient_checkpointing: true\nactivation_offloading: true\nfsdp_config:\n" + wrap + "  activation_checkpointing: true\n", {eight}).recompute.mode == recompute_mode::full);
  for (const auto* kwargs : {"", "gradient_checkpointing_kwargs:\n  use_reentrant: true\n"})
    CHECK(holds(why(whole + "gradient_checkpointing: true\nactivation_offloading: hidden_states\n" + kwargs + "fsdp_config:\n" + wrap + "  activation_checkpointing: true\n", {eight}),
                "axo.yaml:6: the Trainer ends where fsdp_config.activation_checkpointing is true beside activation_offloading hidden_states"));
  const auto hybrid = yaml(whole + "dp_shard_size: 4\ndp_replicate_size: 2\nfsdp_version: 2\nfsdp_config:\n" + wrap);
  CHECK(hybrid.hardware.gpus() == 8);
  CHECK(hybrid.parallel.replicate == 2);
  const auto both = yaml(whole + "fsdp_version: 2\nfsdp_config:\n" + wrap, {eight});
  CHECK(both.precision == precisions::bf16);
  CHECK(first.precision == precisions::bf16_mixed);  // accelerate/accelerator.py, prepare_model
  CHECK(holds(why(whole + "bf16: false\nfp16: true\nfsdp_version: 2\nfsdp_config:\n" + wrap, {eight}), "FSDP's second version trains weights in fp16"));
  CHECK(holds(why(whole + "fsdp: [full_shard, auto_wrap]\n", {eight}), "axo.yaml:5: axolotl reads FSDP from fsdp_config"));
  // core/builders/base.py, _configure_custom_optimizer: the same packages' classes.
  CHECK(yaml(whole + "optimizer: came_pytorch\n", {eight}).optimizer == optimizers::came);
  CHECK(yaml(whole + "optimizer: optimi_adamw\n", {eight}).optimizer == optimizers::optimi_adamw);
  CHECK(yaml(whole + "optimizer: ao_adamw_fp8\n", {eight}).optimizer == optimizers::adamw_torchao_fp8);
  CHECK(yaml(whole + "optimizer: stable_adamw\n", {eight}).optimizer == optimizers::stable_adamw);
  CHECK(holds(why(whole + "optimizer: rmsprop\noptim_args: momentum=0.9\n", {eight}), "optim_args"));
  CHECK(yaml(whole + "optimizer: adopt_adamw\n", {eight}).optimizer.label == optimizers::adopt.label);
  CHECK(yaml(whole + "optimizer: flash_adamw\n", {eight}).optimizer == optimizers::flash_adamw);
  for (const std::string name : {"muon", "dion", "sinkgd", "q_galore_adamw8bit", "ao_adamw_4bit", "flash_sgd"})
    CHECK(holds(why(whole + "optimizer: " + name + "\n", {eight}), ("optimizer = \"" + name + "\" is not modelled").c_str()));
  CHECK(holds(why(whole + "fsdp_config: {}\n", {eight}), "axo.yaml:5: axolotl reads FSDP from fsdp_config"));
  CHECK(holds(why(whole + "dp_shard_size: 8\n", {eight}), "axo.yaml:5: dp_shard_size = 8 is not modelled"));
  CHECK(holds(why(whole + "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  sharding_strategy: SHARD_GRAD_OP\n" + wrap, {eight}), "fsdp_config.sharding_strategy = \"SHARD_GRAD_OP\" is not modelled"));
}

TEST_CASE("activations in host memory") {
  const auto moved = yaml(whole + "gradient_checkpointing: true\nactivation_offloading: true\n");
  CHECK(moved.recompute.mode == recompute_mode::full);
  CHECK(moved.recompute.reentrant == choice::no);
  CHECK(moved.offload.activations == place::on_cpu);
  CHECK(yaml(whole + "gradient_checkpointing: offload\n") == moved);
  CHECK(holds(why(whole + "activation_offloading: true\n"), "axo.yaml:5: axolotl asks for gradient_checkpointing beside activation_offloading"));
  CHECK(holds(why(adapters + "gradient_checkpointing: true\nactivation_offloading: true\n"), "activation_offloading = true is not modelled"));
  CHECK(yaml(adapters + "gradient_checkpointing: true\nactivation_offloading: hidden_states\n").offload.activations == place::on_cpu);
}

TEST_CASE("how it is started") {
  const imported::text config{"axo.yaml", adapters};
  const auto started = [&](const std::string& command, const std::vector<std::string>& set = {}) { return job_of({config, {"run.sh", command + "\n"}}, set); };
  const auto by_itself = started("axolotl train axo.yaml --micro-batch-size 4 -- --num_processes=2");
  CHECK(by_itself.hardware.gpus() == 2);
  CHECK(by_itself.batch.micro == 4);
  CHECK(by_itself.adapter.rank == 16);
  CHECK(by_itself.environment.expandable_segments == choice::yes);
  CHECK(started("axolotl train axo.yaml --launcher torchrun -- --nproc_per_node=4 --nnodes=2").hardware.gpus() == 8);
  CHECK(started("axolotl train axo.yaml", {eight}).hardware.gpus() == 8);
  CHECK(started("accelerate launch -m axolotl.cli.train axo.yaml --lora-r 8", {eight}).adapter.rank == 8);
  CHECK(started("accelerate launch scripts/finetune.py axo.yaml", {eight}).batch.micro == 2);
  CHECK(started("python -m axolotl.cli.train axo.yaml").hardware.gpus() == 1);
  CHECK(holds(refusal_of({config, {"run.sh", "axolotl train axo.yaml\n"}}), "takes every GPU of its machine"));
  CHECK(holds(refusal_of({{"run.sh", "axolotl train axo.yaml\n"}}, {eight}), "names \"axo.yaml\", which no file here is"));
}

TEST_CASE("a command's arguments go over the file that it names, key by key") {
  const imported::text config{"lf.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 3\ncutoff_len: 512\nfinetuning_type: lora\nlora_rank: 4\noptim: adafactor\nbf16: true\n"};
  const auto over = job_of({config, {"run.sh", "llamafactory-cli train lf.yaml lora_rank=16\n"}}, {eight});
  CHECK(over.adapter.rank == 16);
  CHECK(over.batch == batch{.micro = 3, .sequence = 512, .lengths = {.unknown = true}});
  CHECK(over.optimizer.label.view() == "adafactor");
  // What the file alone says is taken back: its model, its adapter, its format.
  const auto other = job_of({config, {"run.sh", "llamafactory-cli train lf.yaml model_name_or_path=meta-llama/Llama-2-70b-hf finetuning_type=full bf16=false\n"}}, {eight});
  CHECK(other.model == models::llama_2_70b);
  CHECK_FALSE(other.adapter.active());
  CHECK(other.precision.compute == formats::fp32);
}

TEST_CASE("a command of accelerate goes over its configuration") {
  const imported::text config{"acc.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  sharding_strategy: FULL_SHARD\n  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true\n"};
  const auto of = [&](const std::string& options) {
    return job_of({config, {"run.sh", "accelerate launch --config_file acc.yaml " + options + " run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --block_size 64 --do_train\n"}});
  };
  CHECK((of("").offload.parameters == place::on_cpu && of("").recompute.mode == recompute_mode::full));
  const auto over = of("--fsdp_offload_params false --fsdp_activation_checkpointing false --fsdp_sharding_strategy SHARD_GRAD_OP");
  CHECK((over.offload.parameters == place::on_gpu && over.recompute.mode == recompute_mode::none && over.sharding.stage == 2));
}

// transformers' trainer.py (create_accelerator_and_postprocess) asks accelerate's plugin, whoever made it.
TEST_CASE("FSDP's checkpoints by accelerate's configuration and the Trainer's own") {
  const imported::text config{"acc.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_activation_checkpointing: true\n"};
  const auto files = [&](const std::string& program, const std::string& options) {
    return std::vector<imported::text>{config, {"run.sh", "accelerate launch --config_file acc.yaml " + options + " " + program + " --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 "}};
  };
  const auto with = [&](const std::string& program, const std::string& more, const std::string& options = "") {
    auto all = files(program, options);
    all[1].said += more + "\n";
    return all;
  };
  const std::string clm = "run_clm.py", own = "--block_size 64 --do_train ", sft = "trl/scripts/sft.py", texts = "--dataset_name a --max_length 512 ";
  const std::string both = "the Trainer ends where fsdp_activation_checkpointing and gradient_checkpointing are both true";
  CHECK(holds(refusal_of(with(clm, own + "--gradient_checkpointing true")), "acc.yaml:4: " + both));
  CHECK(holds(refusal_of(with(clm, own + "--gradient_checkpointing")), "(gradient_checkpointing, run.sh:1)"));
  CHECK(job_of(with(clm, own + "--gradient_checkpointing false")).recompute.mode == recompute_mode::full);
  CHECK(job_of(with(clm, own + "--gradient_checkpointing true", "--fsdp_activation_checkpointing false")).recompute.mode == recompute_mode::full);
  // TRL's own default ends the run since 0.22.
  CHECK(holds(refusal_of(with(sft, texts)), "gradient_checkpointing is not given, and is true in TRL since 0.22"));
  CHECK(job_of(with(sft, texts), {"environment.trl=0.21"}).recompute.mode == recompute_mode::full);
  CHECK(holds(refusal_of(with(sft, texts + "--gradient_checkpointing true"), {"environment.trl=0.21"}), both));
  CHECK(job_of(with(sft, texts + "--gradient_checkpointing false")).recompute.mode == recompute_mode::full);
  CHECK(holds(refusal_of(with("trl/scripts/reward.py", texts)), both));
}

TEST_CASE("a key of another program does not make an axolotl configuration its own") {
  const auto said = refusal_of({{"axo.yaml", "base_model: meta-llama/Llama-3.1-8B\ndatasets: [{path: a}]\nsequence_len: 64\nmicro_batch_size: 1\nfull_finetuning: true\n"}}, {eight});
  CHECK(said.find("unsloth") == std::string::npos);
}

}  // namespace test_axolotl

#endif
