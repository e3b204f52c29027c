// Distributed under the Boost Software License, Version 1.0.
// A model spread over the GPUs of one process (device_map="auto"): where accelerate's own functions put the layers of modules of these sizes, run on torch's
// meta device: utils/modeling.py get_balanced_memory and infer_auto_device_map at 0dec477985 (2023-07-31), with whole decoder layers, in bf16.
#include <headroom/full_report.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace test_spread_layers {

using namespace headroom;

namespace {

struct spread {
  std::int64_t layers, hidden, kv, ffn, vocab;
  std::vector<std::int64_t> on;
};
job spread_over(const spread& s) {
  const auto gpus = static_cast<std::int64_t>(s.on.size());
  return {.model = {.layers = s.layers, .hidden = s.hidden, .heads = s.hidden / 128, .kv_heads = s.kv / 128, .ffn = s.ffn, .vocab = s.vocab}, .hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = gpus},
          .framework = frameworks::hf_trainer, .precision = precisions::bf16, .optimizer = optimizers::sgd, .parallel = {.pipeline = gpus, .schedule = schedule::naive}, .batch = {.micro = 1, .sequence = 1024},
          .recompute = recompute::full, .attention = attention::flash};
}
const spread four{32, 4096, 1024, 14336, 128256, {5, 10, 10, 7}}, eight{32, 4096, 1024, 14336, 128256, {1, 5, 5, 5, 5, 5, 5, 1}};

}  // namespace

TEST_CASE("layers lie where accelerate puts them") {
  const spread all[] = {{8, 512, 512, 2048, 4096, {2, 3, 3, 0}}, {32, 4096, 1024, 14336, 128256, {14, 18}}, four, eight, {80, 8192, 1024, 28672, 128256, {9, 11, 11, 11, 11, 11, 11, 5}},
                        {32, 4096, 4096, 11008, 32000, {10, 12, 10}}, {28, 3584, 512, 18944, 152064, {12, 16}}, {16, 2048, 512, 8192, 32000, {3, 5, 5, 3}}};
  for (const auto& s : all) {
    CAPTURE(s.layers);
    CAPTURE(s.on.size());
    const auto r = estimate_all(spread_over(s));
    const std::int64_t layer = 2 * s.hidden * s.hidden + 2 * s.hidden * s.kv + 3 * s.hidden * s.ffn + 2 * s.hidden, table = s.vocab * s.hidden;
    REQUIRE(r.ranks.size() == s.on.size());
    for (std::size_t i = 0; i < s.on.size(); ++i) {
      const auto here = s.on[i] * layer + (i == 0 ? table : 0) + (i + 1 == s.on.size() ? table + s.hidden : 0);
      CHECK(r.ranks[i].at_phase[static_cast<std::size_t>(phase::load)][row::model_parameters].count() == 2 * here);
    }
  }
}

TEST_CASE("each GPU keeps the inputs of its own layers, and none of a pipeline's other micro-batches") {
  const auto kept = [](spread s, std::int64_t accumulation) {
    auto j = spread_over(s);
    j.batch.accumulation = accumulation;
    return estimate_all(j).ranks[1].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  const std::int64_t x = 2 * 1024 * 4096;
  CHECK(kept(four, 1) - kept(eight, 1) == (10 - 5) * x);
  CHECK(kept(four, 8) == kept(four, 1));
}

}  // namespace test_spread_layers
