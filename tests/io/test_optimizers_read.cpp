// Distributed under the Boost Software License, Version 1.0.
// Optimizers and formats by the names of the programs that have them: a file in, the optimizer, its bytes or a refusal out.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/states/states.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_optimizers_read {

using namespace imported;

namespace {

const std::vector<std::string> one{"hardware.gpus_per_node=1"}, two{"hardware.gpus_per_node=2"};
const std::string factory = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: full\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\ncutoff_len: 512\nbf16: true\n";

job said(const std::string& more, const std::vector<std::string>& set = one) { return job_of({{"lf.yaml", factory + more}}, set); }
/// Why the files are not read, or what they say is not estimated.
std::string why_not(const std::vector<imported::text>& files, const std::vector<std::string>& set) {
  try {
    estimate(job_of(files, set));
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}
std::string why(const std::string& more, const std::vector<std::string>& set = one) { return why_not({{"lf.yaml", factory + more}}, set); }

}  // namespace

// transformers trainer_optimizer.py.
TEST_CASE("the Trainer's rarer optimizers") {
  const std::string rank = "optim_args: rank=64,update_proj_gap=100\noptim_target_modules: [attn, mlp]\n";
  for (const auto& named : {std::pair<std::string, const optimizer*>{"galore_adamw_8bit", &optimizers::galore_8bit}, {"galore_adafactor", &optimizers::galore_adafactor}, {"galore_adamw", &optimizers::galore}}) {
    CAPTURE(named.first);
    const auto o = said("optim: " + named.first + "\n" + rank).optimizer;
    CHECK(o.label == named.second->label);
    CHECK(o.rank == 64);
    CHECK(o.update_interval == 100);
    CHECK_FALSE(o.in_backward);
  }
  CHECK(said("optim: galore_adamw_8bit_layerwise\n" + rank).optimizer.in_backward);
  CHECK(holds(why("optim: galore_adamw_8bit_layerwise\n" + rank, two), "do not run under DDP"));
  CHECK(holds(why("optim: galore_adamw_layerwise\ngradient_accumulation_steps: 4\n" + rank), "batch.accumulation must be 1"));
  CHECK(holds(why("optim: galore_adafactor_layerwise\n" + rank), "lr and relative_step=True, which it refuses"));
  CHECK(said("optim: grokadamw\n").optimizer == optimizers::grokadamw);
  CHECK(said("optim: adamw_anyprecision\n").optimizer == optimizers::anyprecision_adamw);
  CHECK(holds(why("optim: adamw_anyprecision\noptim_args: use_kahan_summation=True\n"), "optim_args"));
  CHECK(holds(why("optim: adamw_torch_xla\n"), "it is for TPUs"));
  CHECK(holds(why("optim: adamw_torch_npu_fused\n"), "for Ascend"));
}

// pull request 42972: block_size 256 from transformers 5 on, torchao's own 128 before; two moments of half a byte, and a scale of fp32 a block.
TEST_CASE("torchao's 4-bit states have the Trainer's blocks") {
  const auto bytes_of = [](const std::string& version) {
    auto set = one;
    set.push_back("framework.version=" + version);
    return static_cast<double>(states(said("optim: adamw_torch_4bit\n", set)).gpu[row::optimizer_state].count());
  };
  const double n = 8.0303e9;
  CHECK(bytes_of("2026-01") == doctest::Approx(2 * (0.5 + 4 / 256.0) * n).epsilon(0.0002));
  CHECK(bytes_of("2025-03") == doctest::Approx(2 * (0.5 + 4 / 128.0) * n).epsilon(0.0002));
}

// LLaMA-Factory train/trainer_utils.py _create_galore_optimizer, _create_apollo_optimizer; hparams/parser.py.
TEST_CASE("LLaMA-Factory's GaLore has the Trainer's optimizer inside") {
  CHECK(said("use_galore: true\n").optimizer.label == optimizers::galore.label);
  CHECK(said("use_galore: true\ngalore_rank: 32\noptim: adamw_8bit\n").optimizer.label == optimizers::galore_8bit.label);
  CHECK(said("use_galore: true\ngalore_rank: 32\noptim: adamw_8bit\n").optimizer.rank == 32);
  CHECK(said("use_galore: true\noptim: adafactor\n").optimizer.label == optimizers::galore_adafactor.label);
  CHECK(holds(why("use_galore: true\noptim: lion_32bit\n"), "LLaMA-Factory has no GaLore of optim \"lion_32bit\""));
  CHECK(holds(why("use_apollo: true\noptim: adafactor\n"), "LLaMA-Factory has no APOLLO of optim \"adafactor\""));
  const std::vector<imported::text> sharded{{"lf.yaml", factory + "use_galore: true\ndeepspeed: ds.json\n"},
                                  {"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})"}};
  CHECK(holds(why_not(sharded, two), "use_galore does not go with DeepSpeed"));
}

// deepspeed runtime/config.py: LAMB has a name and no model.
TEST_CASE("DeepSpeed's LAMB is refused by what it needs") {
  const std::vector<imported::text> files{{"lf.yaml", factory + "deepspeed: ds.json\n"},
                                {"ds.json", R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}, "optimizer": {"type": "Lamb", "params": {"lr": 1e-3}}, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1})"}};
  CHECK(holds(why_not(files, two), "optimizer.type contradicts optimizer, which is \"adamw\""));
  const std::vector<imported::text> alone{files[1]};
  CHECK(holds(why_not(alone, llama), "FP16_UnfusedOptimizer"));
}

// torchtune's recipes name classes.
TEST_CASE("classes of torch, bitsandbytes and torchao") {
  const auto of = [](const std::string& component) {
    return job_of({{"tune.yaml", "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  max_seq_len: 2048\noptimizer:\n  _component_: " + component + "\nbatch_size: 1\ndtype: bf16\n"}}, one).optimizer.label;
  };
  CHECK(of("torchao.optim.AdamW4bit") == optimizers::adamw_torchao_4bit.label);
  CHECK(of("torchao.optim.AdamWFp8") == optimizers::adamw_torchao_fp8.label);
  CHECK(of("bitsandbytes.optim.Lion8bit") == optimizers::lion_8bit.label);
  CHECK(of("bitsandbytes.optim.PagedLion8bit") == optimizers::paged_lion_8bit.label);
  CHECK(of("torch.optim.RMSprop") == optimizers::rmsprop.label);
}

// bitsandbytes functional.py quantize_4bit: fp4 and nf4 differ in the numbers of a code book of 16.
TEST_CASE("bitsandbytes' fp4 is as large as its nf4") {
  const std::string lora = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: lora\nquantization_bit: 4\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\ncutoff_len: 512\nbf16: true\n";
  const auto fp4 = job_of({{"lf.yaml", lora + "quantization_type: fp4\n"}}, one), nf4 = job_of({{"lf.yaml", lora}}, one);
  CHECK(fp4.adapter.base == formats::fp4_double);
  CHECK(estimate(fp4).device() == estimate(nf4).device());
  CHECK(job_of({{"lf.yaml", lora + "quantization_type: fp4\ndouble_quantization: false\n"}}, one).adapter.base == formats::fp4);
}

// Megatron-LM core/fp4_utils.py; of Blackwell alone.
TEST_CASE("Megatron's nvfp4") {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type NullTokenizer --vocab-size 1000 --bf16 ";
  const std::vector<std::string> blackwell{"hardware.gpu=gb200-186gb"};
  const auto j = job_of({{"r.sh", run + "--fp4-format e2m1 --fp4-recipe nvfp4\n"}}, blackwell);
  CHECK(j.precision.compute == formats::nvfp4);
  CHECK(estimate(j).device() < estimate(job_of({{"r.sh", run + "--fp8-format e4m3 --fp8-recipe mxfp8\n"}}, blackwell)).device());
  CHECK(holds(why_not({{"r.sh", run + "--fp4-format e2m1\n"}}, {}), "needs Blackwell"));
  CHECK(holds(why_not({{"r.sh", run + "--fp4-format e2m1 --fp4-recipe custom\n"}}, blackwell), "fp4-recipe \"custom\" is not modelled"));
  CHECK(holds(why_not({{"r.sh", run + "--fp4-format e2m1 --fp4-param-gather\n"}}, blackwell), "fp4-param-gather"));
  CHECK(holds(why_not({{"r.sh", run + "--optimizer soap\n"}}, blackwell), "preconditioners over Megatron's shards are not counted"));
}

}  // namespace test_optimizers_read

#endif
