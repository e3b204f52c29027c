// Distributed under the Boost Software License, Version 1.0.
// Capped logits, c·tanh(logits / c) (transformers models/gemma2/modeling_gemma2.py Gemma2ForCausalLM.forward): three results, of which tanh keeps its own
// for backward (torch tools/autograd/derivatives.yaml: tanh saves result; div and mul by a number save nothing).
#include "points.hpp"

#include <both.hpp>
#include <headroom/framework/frameworks.hpp>

namespace test_capped_logits {

using namespace headroom;

namespace {

constexpr std::int64_t positions = 1024, vocabulary = 8192, elements = positions * vocabulary;

struct sizes {
  std::int64_t saved{}, forward{}, backward{}, weights{};
  sizes operator-(const sizes& o) const { return {saved - o.saved, forward - o.forward, backward - o.backward, weights - o.weights}; }
  bool operator==(const sizes&) const = default;
};

/// The head and its loss, with a hidden size beside which only logits are large.
sizes loss_of(job j, std::int64_t cap) {
  j.model = {.layers = 1, .hidden = 64, .heads = 4, .ffn = 64, .vocab = vocabulary, .logit_softcap = cap};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1};
  j.batch = {.micro = 1, .sequence = positions};
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto p = head_and_loss(sc, points::all_modules(), true);
  const auto forward = walk_forward(p, recording::on);
  const auto backward = walk_backward(p);
  return {forward.saved.count(), forward.peak.total.count(), backward.peak.total.count(), backward.made.count()};
}
sizes costs(const job& j) { return loss_of(j, 30) - loss_of(j, 0); }

}  // namespace

TEST_CASE("tanh of the logits outlives forward, in the logits' format") {
  job j{.framework = frameworks::hf_trainer, .precision = precisions::bf16, .loss = {.kind = loss_kind::full}};
  CHECK(costs(j).saved == 2 * elements);
  CHECK(costs(j).weights == 0);
  // At forward's tallest moment there are the logits that the caller holds, fp32 copies and log-probabilities; tanh's result beside them.
  CHECK(costs(j).forward == 2 * elements);
  // In backward it is there until its own gradient is.
  CHECK(costs(j).backward == 2 * elements);
  j.precision = precisions::fp32;
  CHECK(costs(j).saved == 4 * elements);
  j.precision = precisions::bf16_autocast;  // the head's product is of 16 bits, and tanh no operation that autocast makes fp32
  CHECK(costs(j).saved == 2 * elements);
}

TEST_CASE("where a kernel makes the loss it caps them itself, and litgpt's chunks are not capped") {
  job j{.framework = frameworks::hf_trainer, .precision = precisions::bf16};
  for (const auto kind : {loss_kind::fused, loss_kind::fused_linear, loss_kind::cut}) {
    CAPTURE(static_cast<int>(kind));
    j.loss.kind = kind;
    CHECK(costs(j) == sizes{});
  }
  j.loss = {};
  j.framework = frameworks::litgpt_202410;
  CHECK(costs(j) == sizes{});
  j.framework = frameworks::torchtitan_202504;
  j.compile = true;
  CHECK(costs(j) == sizes{});
}

}  // namespace test_capped_logits
