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
  for (const std::string model : {"mistralai/Mixtral-8x7B-v0.1", "zai-org/GLM-4-9B-0414", "ibm-granite/granite-3.1-8b-instruct"}) {
    CAPTURE(model);
    CHECK(holds(refused(factory(model)), "enable_liger_kernel = true is not modelled by this version (of a model whose layers are not those of a dense Llama or Qwen)"));
  }
}

}  // namespace test_liger

#endif
