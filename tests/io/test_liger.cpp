// Distributed under the Boost Software License, Version 1.0.
// use_liger_kernel and enable_liger_kernel: kernels of the layers beside the loss, as transformers and LLaMA-Factory switch them on together.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_liger {

using namespace imported;

namespace {

const fused_kernels all{fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary};
std::string factory(const std::string& model, const std::string& more = "enable_liger_kernel: true\n") {
  return "model_name_or_path: " + model + "\nstage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 1024\nper_device_train_batch_size: 2\npure_bf16: true\ndisable_gradient_checkpointing: true\nflash_attn: fa2\n" + more;
}
const std::vector<std::string> one{"hardware.gpus_per_node=1"};
job read(const std::string& yaml) { return job_of({{"a.yaml", yaml}}, one); }
std::string refused(const std::string& yaml) { return refusal_of({{"a.yaml", yaml}}, one); }
std::string trainer(const std::string& more) { return "python run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --do_train --block_size 1024 --per_device_train_batch_size 2 --bf16 --dtype bfloat16 " + more + "\n"; }
job run(const std::string& more) { return job_of({{"run.sh", trainer(more)}}, one); }

}  // namespace

TEST_CASE("Liger's kernels come with its loss") {
  const auto j = read(factory("meta-llama/Llama-3.1-8B"));
  CHECK(j.kernels == all);
  CHECK(j.loss.kind == loss_kind::fused_linear);
  CHECK(run("--use_liger_kernel").kernels == all);
  CHECK(run("--use_liger_kernel").loss.kind == loss_kind::fused_linear);
  CHECK(run("").kernels.empty());
  // A model that is said last.
  CHECK(job_of({{"a.yaml", factory("me/mine")}}, {"hardware.gpus_per_node=1", "model=llama-3.1-8b"}).kernels == all);
  // What the loss is of another code's own: the layers' kernels stay.
  CHECK(read(factory("meta-llama/Llama-3.1-8B", "enable_liger_kernel: true\nuse_dft_loss: true\n")).kernels == all);
}

// Without checkpoints, a token leaves for backward in each of 32 layers: in transformers' MLP gate, up and the activation of gate, of 14,336 numbers of 2 bytes, in
// Liger's gate and up (ops/swiglu.py, LigerSiLUMulFunction); in either of two norms of 4,096 an fp32 copy of its input and what the weight multiplies, of 2 bytes,
// in Liger's its input (ops/rms_norm.py, whose reciprocal a row is left out here). Behind the layers there is one norm more.
TEST_CASE("what Liger's kernels spare, in bytes") {
  const std::int64_t tokens = 2 * 1024, layer = 2 * 14'336 + 2 * 4 * 4'096;
  const auto kept = [](const job& j) { return estimate(j).tightest().at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); };
  auto without = read(factory("meta-llama/Llama-3.1-8B"));
  const auto with = kept(without);
  without.kernels = {};
  const auto spared = kept(without) - with;
  CHECK(spared > 32 * layer * tokens * 99 / 100);
  CHECK(spared < (32 * layer + 4 * 4'096) * tokens * 101 / 100);
}

TEST_CASE("liger_kernel_config switches kernels off by name") {
  const auto some = run("--use_liger_kernel --liger_kernel_config '{\"rope\": false, \"fused_linear_cross_entropy\": false}'");
  CHECK(some.kernels == fused_kernels{fused_kernel::norm, fused_kernel::gated});
  CHECK(some.loss.kind == loss_kind::unset);
  CHECK(holds(refusal_of({{"run.sh", trainer("--use_liger_kernel --liger_kernel_config '{\"cross_entropy\": true, \"fused_linear_cross_entropy\": false}'")}}, one), "liger_kernel_config = "));
  CHECK(holds(refusal_of({{"run.sh", trainer("--use_liger_kernel --liger_kernel_config '{\"tiled_mlp\": true}'")}}, one), "liger_kernel_config = "));
}

// Matrix products alone are shorter (training_args.py, tf32).
TEST_CASE("tf32 of an fp32 training is the format of its matrices") {
  const std::string start = "python run_clm.py --model_name_or_path gpt2 --do_train --block_size 512 --dtype float32 --tf32 ";
  const auto of = [&](const std::string& more) { return job_of({{"run.sh", start + more + "\n"}}, one).precision; };
  CHECK(of("true") == precision{.parameters = formats::fp32, .compute = formats::tf32, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32});
  CHECK(of("false") == precisions::fp32);
  CHECK(of("true --bf16") == precisions::bf16_autocast);
}

TEST_CASE("models that Liger has no kernels for, or others") {
  const auto none = read(factory("facebook/opt-1.3b"));
  CHECK(none.kernels.empty());
  CHECK(none.loss.kind == loss_kind::full);
  for (const std::string model : {"mistralai/Mixtral-8x7B-v0.1", "ibm-granite/granite-3.1-8b-instruct"}) {
    CAPTURE(model);
    const auto why = refused(factory(model));
    CHECK(holds(why, "enable_liger_kernel = true is not modelled by this version (of a model whose layers are not those of a dense Llama or Qwen: --set 'kernels=[\"norm\"]' says which"));
    const auto said = job_of({{"a.yaml", factory(model)}}, {"hardware.gpus_per_node=1", "kernels=[\"norm\"]"});
    CHECK(said.kernels == fused_kernels{fused_kernel::norm});
    CHECK(said.loss.kind == loss_kind::fused_linear);
  }
}

// Their types (internlm2, baichuan, qwen, seed_oss, minicpm, exaone) are not in MODEL_TYPE_TO_APPLY_LIGER_FN, and smollm3, exaone4 and hunyuan_v1_dense, which are, not
// in LLaMA-Factory's own list.
TEST_CASE("classes that only look like a Llama's or Qwen's have no kernels of Liger's") {
  for (const std::string model : {"internlm/internlm2-7b", "internlm/internlm3-8b-instruct", "baichuan-inc/Baichuan2-7B-Base", "Qwen/Qwen-7B", "ByteDance-Seed/Seed-OSS-36B-Base", "openbmb/MiniCPM-2B-sft-bf16", "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct", "XiaomiMiMo/MiMo-7B-Base"}) {
    CAPTURE(model);
    for (const auto& j : {read(factory(model)), job_of({{"run.sh", "python run_clm.py --model_name_or_path " + model + " --do_train --block_size 1024 --bf16 --dtype bfloat16 --use_liger_kernel\n"}}, one)}) {
      CHECK(j.kernels.empty());
      CHECK(j.loss.kind == loss_kind::full);
    }
  }
  for (const std::string model : {"HuggingFaceTB/SmolLM3-3B", "LGAI-EXAONE/EXAONE-4.0-1.2B", "tencent/Hunyuan-7B-Instruct"}) {
    CAPTURE(model);
    CHECK(read(factory(model)).kernels.empty());
    CHECK(job_of({{"run.sh", "python run_clm.py --model_name_or_path " + model + " --do_train --block_size 1024 --bf16 --dtype bfloat16 --use_liger_kernel\n"}}, one).kernels == all);
  }
  CHECK(read(factory("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B")).kernels == all);  // of type qwen2
  CHECK(job_of({{"a.yaml", factory("Qwen-mine")}}, {"hardware.gpus_per_node=1", "model=qwen2.5-7b"}).kernels == all);
}

TEST_CASE("a config.json says the class by its type") {
  const auto of = [](const std::string& type) {
    const std::string config = "{\"model_type\": \"" + type + "\", \"hidden_size\": 1024, \"intermediate_size\": 2816, \"num_attention_heads\": 16, \"num_key_value_heads\": 4, \"head_dim\": 64, \"num_hidden_layers\": 12, \"vocab_size\": 50000}";
    return job_of({{"a.yaml", factory("me/mine")}, {"config.json", config}}, one);
  };
  CHECK(of("llama").kernels == all);
  CHECK(of("qwen3").kernels == all);
  CHECK(of("seed_oss").kernels.empty());
  CHECK(of("seed_oss").loss.kind == loss_kind::full);
}

// apply_liger_kernel_to_glm4: rope is false, and true ends it; norms stand before and behind attention and MLP. Spared without checkpoints, as above: the activation of
// gate, of 13,696 numbers of 2 bytes, and 4 bytes of 4,096 in each of four norms of 40 layers.
TEST_CASE("Liger's kernels of GLM-4-0414 are those of norms and activations") {
  const auto j = read(factory("zai-org/GLM-4-9B-0414"));
  CHECK(j.kernels == fused_kernels{fused_kernel::norm, fused_kernel::gated});
  CHECK(j.loss.kind == loss_kind::fused_linear);
  CHECK(read(factory("THUDM/GLM-4-9B-0414")).kernels == j.kernels);
  CHECK(read(factory("THUDM/glm-4-9b")).kernels.empty());  // another class: chatglm, or glm
  const auto kept = [](const job& of) { return estimate(of).tightest().at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); };
  auto without = j;
  without.kernels = {};
  const std::int64_t tokens = 2 * 1024, layer = 2 * 13'696 + 4 * 4 * 4'096, spared = kept(without) - kept(j);
  CHECK(spared > 40 * layer * tokens * 99 / 100);
  CHECK(spared < (40 * layer + 4 * 4'096) * tokens * 101 / 100);
}

}  // namespace test_liger

#endif
