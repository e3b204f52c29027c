// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's own table (hiyouga/LLaMA-Factory, wiki, Performance Comparison: QLoRA of Llama-2-7B with FlashAttention-2 on one A100 of 40 GB, batch 1, whole GB):
// what nvidia-smi would show, and the next whole GiB of it. Nothing is calibrated on it.
#include <headroom/replay.hpp>

#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace test_llama_factory {

using namespace headroom;

TEST_CASE("QLoRA of a 7B at 1,024 to 65,536 tokens") {
  constexpr std::pair<std::int64_t, double> measured[] = {{1024, 6}, {2048, 7}, {4096, 9}, {8192, 12}, {16'384, 19}, {32'768, 32}};
  const auto at = [](std::int64_t tokens) {
    job j{.model = *models::find("llama-2-7b"), .hardware = {.gpu = gpus::a100_sxm_40gb}, .framework = *frameworks::find("hf-trainer", 202401),
          .batch = {.sequence = tokens}, .recompute = recompute::full, .attention = attention::flash};
    j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32, .base = formats::nf4, .rest = formats::bf16};  // it prepares nothing for training (model/model_utils/checkpointing.py)
    j.optimizer.how = implementation::foreach;
    return replay(j);
  };
  for (const auto& run : measured) {
    const auto report = at(run.first);
    CAPTURE(run.first);
    CHECK(std::ceil(static_cast<double>(report.ranks[0].device.count()) / (1 << 30)) == run.second);
    CHECK(report.fits());
  }
  CHECK_FALSE(at(65'536).fits());  // out of memory
}

}  // namespace test_llama_factory
