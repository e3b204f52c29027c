// Distributed under the Boost Software License, Version 1.0.
// Weights in 16 bits where nothing is autocast, as programs over the Trainer spell it: what is read, what is written, and what it costs.
#include <doctest/doctest.h>

#include <headroom/io/export.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_no_autocast {

using namespace headroom;
using namespace imported;

namespace {

const std::vector<std::string> one{"hardware.gpus_per_node=1"};

job factory(const std::string& more) { return job_of({{"lf.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\ncutoff_len: 1024\nper_device_train_batch_size: 1\n" + more}}, one); }
job axolotl(const std::string& more) {
  return job_of({{"axo.yaml", "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\n" + more}}, one);
}

/// What all of a model that is in bf16 has, and what adapters in fp32 over it have.
constexpr precision in_bf16(number_format trained, choice autocast) {
  return {.parameters = formats::bf16, .compute = formats::bf16, .gradients = trained, .reduce = trained, .master = formats::none, .state = trained, .autocast = autocast};
}
constexpr auto plain = in_bf16(formats::bf16, choice::no), beside = in_bf16(formats::fp32, choice::no), cast = in_bf16(formats::bf16, choice::unset);

}  // namespace

TEST_CASE("LLaMA-Factory's pure_bf16 is no bf16 for the Trainer") {
  // hparams/parser.py get_train_args (compute_dtype alone), model/adapter.py init_adapter; PEFT makes adapters fp32 (tuners/tuners_utils.py cast_adapter_dtype).
  CHECK(factory("finetuning_type: full\npure_bf16: true\n").precision == plain);
  CHECK(factory("finetuning_type: freeze\npure_bf16: true\n").precision == plain);
  CHECK(factory("finetuning_type: lora\npure_bf16: true\n").precision == beside);
  CHECK(factory("finetuning_type: lora\npure_bf16: true\nquantization_bit: 4\n").precision == beside);
  CHECK(factory("finetuning_type: lora\npure_bf16: true\n").adapter.format == formats::fp32);
  // Beside bf16 there is autocast, over weights that stay as they are.
  CHECK(factory("finetuning_type: full\npure_bf16: true\nbf16: true\n").precision == cast);
  CHECK(factory("finetuning_type: full\nuse_badam: true\nbf16: true\n").precision == cast);
  CHECK(factory("finetuning_type: full\nuse_badam: true\n").precision == plain);
  CHECK(holds(refusal_of({{"lf.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\ncutoff_len: 8\npure_bf16: true\nfp16: true\n"}}, one), "fp16 and bf16 must not both be true"));
  // What accelerate says counts where the Trainer says neither (transformers training_args.py, ACCELERATE_MIXED_PRECISION).
  const std::string full = "model_name_or_path: meta-llama/Llama-3.1-8B\ncutoff_len: 1024\nper_device_train_batch_size: 1\nfinetuning_type: full\npure_bf16: true\n", many = "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: ";
  CHECK(job_of({{"acc.yaml", many + "bf16\n"}, {"lf.yaml", full}}).precision == cast);
  CHECK(job_of({{"acc.yaml", many + "'no'\n"}, {"lf.yaml", full}}).precision == plain);
  CHECK(job_of({{"lf.yaml", full}, {"acc.yaml", many + "'no'\n"}}).precision == plain);
}

TEST_CASE("axolotl's bf16 full is no bf16 for the Trainer, and TRL's and DeepSpeed's is") {
  // core/builders/base.py _configure_precision_settings; trl/trainer/base_config.py __post_init__; transformers integrations/deepspeed.py trainer_config_process.
  CHECK(axolotl("bf16: full\n").precision == plain);
  CHECK(axolotl("bf16: true\n").precision == cast);
  CHECK(axolotl("bf16: full\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n").precision == beside);
  CHECK(axolotl("bf16: full\nrl: dpo\n").precision == cast);
  const std::string engine = R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})";
  const auto with = [&](const std::string& bf16) {
    return job_of({{"axo.yaml", "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\ndeepspeed: ds.json\nbf16: " + bf16 + "\n"}, {"ds.json", engine}}, {"hardware.gpus_per_node=2"});
  };
  CHECK(with("full").precision == precisions::bf16_mixed);
  CHECK(with("full") == with("true"));
}

TEST_CASE("dtype without bf16, by TRL, ms-swift and run_clm.py") {
  CHECK(job_of({{"t.sh", "trl sft --model_name_or_path meta-llama/Llama-3.1-8B --dtype bfloat16 --bf16 false --max_length 1024 --gradient_checkpointing false\n"}}, one).precision == plain);
  CHECK(job_of({{"t.sh", "trl sft --model_name_or_path meta-llama/Llama-3.1-8B --dtype bfloat16 --bf16 true --max_length 1024 --gradient_checkpointing false\n"}}, one).precision == cast);
  CHECK(job_of({{"s.sh", "swift sft --model meta-llama/Llama-3.1-8B --tuner_type full --torch_dtype bfloat16 --bf16 false --max_length 1024\n"}}, one).precision == plain);
  CHECK(job_of({{"s.sh", "swift sft --model meta-llama/Llama-3.1-8B --tuner_type full --torch_dtype bfloat16 --max_length 1024\n"}}, one).precision == cast);
  CHECK(job_of({{"r.sh", "python run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --torch_dtype bfloat16 --block_size 1024 --per_device_train_batch_size 1 --do_train\n"}}, one).precision == plain);
}

TEST_CASE("what is written says so") {
  const auto keys = [](const std::string& more, io::export_target target) { return io::parse_yaml(io::exported(factory("flash_attn: fa2\n" + more), target), "written").root; };
  for (const auto* type : {"full", "lora", "freeze"}) {
    const auto a = keys("finetuning_type: " + std::string{type} + "\npure_bf16: true\n", io::export_target::llama_factory);
    CHECK(a["pure_bf16"] == true);
    CHECK(a["bf16"] == false);
  }
  CHECK_FALSE(keys("finetuning_type: lora\nbf16: true\n", io::export_target::llama_factory).contains("pure_bf16"));
  CHECK(keys("finetuning_type: full\npure_bf16: true\nbf16: true\n", io::export_target::llama_factory)["bf16"] == true);
  CHECK(keys("finetuning_type: full\npure_bf16: true\n", io::export_target::axolotl)["bf16"] == "full");
  CHECK(keys("finetuning_type: full\npure_bf16: true\nbf16: true\n", io::export_target::axolotl)["bf16"] == true);
  const auto trl = keys("finetuning_type: lora\npure_bf16: true\n", io::export_target::trl);
  CHECK(trl["bf16"] == false);
  CHECK(trl["dtype"] == "bfloat16");
}

TEST_CASE("adapters over bf16 without autocast, from the file to the bytes") {
  // Measured on an H100 (tests/accuracy/trainer_measured.jsonl, trainer-llama-lora): 2,824,004,096 bytes in forward and backward. The program says 0.007 % more; under
  // autocast it says 2,492,470,272.
  const std::string config = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 8192, "vocab_size": 32768, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 8192, "head_dim": 64, "tie_word_embeddings": true})";
  const std::string lora = "model_name_or_path: my/llama\nfinetuning_type: lora\nlora_rank: 16\ncutoff_len: 1024\nper_device_train_batch_size: 2\noptim: adamw_torch_fused\nflash_attn: sdpa\ndisable_gradient_checkpointing: true\n";
  const auto allocated = [&](const std::string& more) { return estimate(job_of({{"lf.yaml", lora + more}, {"config.json", config}}, {"hardware.gpus_per_node=1", "environment.torch=2.11"})).ranks[0].allocated; };
  CHECK(allocated("pure_bf16: true\n") == bytes{2'824'213'504});
  CHECK(allocated("bf16: true\n") == bytes{2'492'470'272});
}

}  // namespace test_no_autocast

#endif
