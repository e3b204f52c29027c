// Distributed under the Boost Software License, Version 1.0.
// What a trainer itself stops at, and optimizers that a file names in another one's place.
#include "imported.hpp"

#include <headroom/estimate.hpp>
#include <headroom/io/export.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_trainer_limits {

using namespace imported;

namespace {

const std::string factory = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\ndataset: identity\ntemplate: qwen\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n";
std::string stage(int n) { return R"({"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": )" + std::to_string(n) + "}}"; }
std::vector<imported::text> files(const std::string& more, int zero = -1) {
  std::vector<imported::text> r{{"lf.yaml", factory + more + (zero < 0 ? "" : "deepspeed: ds.json\n")}};
  if (zero >= 0) r.push_back({"ds.json", stage(zero)});
  return r;
}
const std::vector<std::string> one{"hardware.gpus_per_node=1"}, two{"hardware.gpus_per_node=2"};

}  // namespace

// hiyouga/LLaMA-Factory ff6d4d12e src/llamafactory/hparams/parser.py get_train_args: what ends in a ValueError.
TEST_CASE("LLaMA-Factory stops where several GPUs do not go with an optimizer") {
  const std::string badam = "finetuning_type: full\nuse_badam: true\nbadam_mode: layer\n";
  CHECK(job_of(files(badam), one).optimizer.label == optimizers::badam.label);
  CHECK(holds(refusal_of(files(badam), two), "lf.yaml:10: use_badam on several GPUs needs DeepSpeed's ZeRO-3, and LLaMA-Factory stops there"));
  CHECK(holds(refusal_of(files(badam, 2), two), "use_badam on several GPUs"));
  CHECK_FALSE(holds(refusal_of(files(badam, 3), two), "use_badam on several GPUs"));
  for (const auto* yes : {"1", "yes", "True", "'yes'"}) {
    CAPTURE(yes);
    CHECK(holds(refusal_of(files(std::string{"finetuning_type: full\nbadam_mode: layer\nuse_badam: "} + yes + "\n"), two), "use_badam on several GPUs needs DeepSpeed's ZeRO-3"));
  }
  for (const std::string name : {"galore", "apollo"}) {
    const auto layers = "finetuning_type: full\nuse_" + name + ": true\n" + name + "_layerwise: true\n";
    CHECK(job_of(files(layers), one).optimizer.in_backward);
    CHECK(holds(refusal_of(files(layers), two), name + "_layerwise is for one GPU alone"));
    CHECK(holds(refusal_of(files("finetuning_type: full\nuse_" + name + ": true\n", 0), one), "use_" + name + " does not go with DeepSpeed"));
  }
  CHECK(holds(refusal_of(files("finetuning_type: lora\npissa_init: true\n", 3), two), "scripts/pissa_init.py"));
  CHECK(refusal_of(files("finetuning_type: lora\npissa_init: true\n", 2), two).empty());
  CHECK(holds(refusal_of(files("finetuning_type: full\npure_bf16: true\n", 3), two), "pure_bf16 does not go with ZeRO-3"));
}

// hiyouga/LLaMA-Factory before 4881f4e63 of 2024-03-09, src/llmtuner/data/preprocess.py: preprocess_packed_supervised_dataset is of stage sft.
// Packed samples are of one length; those of other stages are as long as the data say.
TEST_CASE("LLaMA-Factory's sft_packing joins samples of stage sft alone") {
  const auto unknown = [](const std::string& more, const std::string& stage = "sft") {
    auto all = files("finetuning_type: full\n" + more);
    all[0].said.replace(all[0].said.find("stage: sft"), 10, "stage: " + stage);
    return job_of(all, one).batch.lengths.unknown;
  };
  CHECK(unknown(""));
  CHECK_FALSE(unknown("sft_packing: true\n"));
  CHECK(unknown("sft_packing: true\n", "rm"));
}

// deepspeed/runtime/engine.py _configure_basic_optimizer: torch.optim.AdamW in FusedAdam's place, which torch runs as a foreach update of the fp32
// partition: the square roots of the second moments (torch/optim/adamw.py _multi_tensor_adamw) are as large as it, four bytes beside the four of the
// gradients. FusedAdam makes none, and beside those gradients are then the two bytes of the new weights (zero/stage_1_and_2.py step).
TEST_CASE("DeepSpeed's torch_adam makes a copy of the partition") {
  const auto with = [](const std::string& params, const std::string& beside = {}) {
    return std::vector<imported::text>{{"ds.json", R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": )" + params + R"(}, "zero_optimization": {"stage": 1)" + beside + "}}"}};
  };
  const auto step = [&](const std::string& params) { return estimate(job_of(with(params), llama)).ranks[0][phase::step]; };
  constexpr std::int64_t all = 8'030'261'248, partition = all / 8;  // Llama 3.1 8B, over eight GPUs
  const auto more = step(R"({"torch_adam": true, "adam_w_mode": true})") - step(R"({"torch_adam": false})");
  CHECK(more >= bytes{2 * partition});
  CHECK(more < bytes{2 * partition + 1'000'000});  // tensors are padded
  CHECK(step("{}") == step(R"({"torch_adam": false})"));
  CHECK(holds(refusal_of(with(R"({"torch_adam": true})", R"(, "offload_optimizer": {"device": "cpu"})"), llama), "torch_adam = true beside an offloaded optimizer"));
  auto lion = with(R"({"torch_adam": true})");
  lion[0].said.replace(lion[0].said.find("AdamW"), 5, "Lion");
  CHECK(holds(refusal_of(lion, llama), "is of Adam and AdamW alone"));
}

// A launcher has named the optimizer by then, and leaves how it runs to DeepSpeed: the square roots of the partition's second moments, four bytes each,
// lie where the pool of ZeRO-2 has no room for them.
TEST_CASE("DeepSpeed's torch_adam counts beside a launcher that names the optimizer") {
  const auto files = [](const std::string& adam) {
    return std::vector<imported::text>{
        {"run.sh", "FORCE_TORCHRUN=1 NPROC_PER_NODE=8 llamafactory-cli train --model_name_or_path meta-llama/Llama-3.1-8B --stage sft --do_train True --finetuning_type full --cutoff_len 512 --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --bf16 True --deepspeed ds.json --output_dir o\n"},
        {"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "optimizer": {"type": "AdamW", "params": {"lr": "auto")" + adam + "}}}"}};
  };
  const auto plain = job_of(files("")), torch = job_of(files(R"(, "torch_adam": true)"));
  CHECK(plain.optimizer.how == implementation::unset);
  CHECK(torch.optimizer.how == implementation::foreach);
  constexpr std::int64_t partition = 8'030'261'248 / 8;
  const auto more = replay(torch).ranks[0].reserved - replay(plain).ranks[0].reserved;
  CHECK(more >= bytes{4 * partition});
  CHECK(more <= bytes{4 * partition + 8'000'000});
  CHECK(job_of(files(R"(, "torch_adam": true)"), {R"(optimizer={"name": "adamw", "implementation": "foreach"})"}) == torch);
  CHECK(holds(refusal_of(files(R"(, "torch_adam": true)"), {R"(optimizer={"name": "adamw", "implementation": "fused"})"}), "params.torch_adam = true contradicts optimizer.implementation, which is \"fused\""));

  const auto written = io::exported(torch, io::export_target::deepspeed);
  CHECK(holds(written, "\"torch_adam\""));
  CHECK_FALSE(holds(io::exported(plain, io::export_target::deepspeed), "torch_adam"));
}

}  // namespace test_trainer_limits

#endif
