// Distributed under the Boost Software License, Version 1.0.
// torchtitan's losses over v = vocabulary × tokens logits: what is alive, and the segment that it takes.
#include "points.hpp"

#include <both.hpp>
#include <headroom/framework/frameworks.hpp>

namespace test_titan_loss {

using namespace headroom;

namespace {

constexpr std::int64_t positions = 2048, vocabulary = 32768;
constexpr bytes v{positions * vocabulary};

constexpr module_set everything() {
  module_set s;
  s.bits = (1U << module_count) - 1;
  return s;
}

struct sizes {
  bytes forward, backward, span, returned;
};

/// With a hidden size so small that nothing but the logits is larger than 1 MiB.
constexpr sizes loss_of(const profile& framework, bool compiled, std::int64_t tensor = 1) {
  job j{.model = {.layers = 1, .hidden = 64, .heads = 8, .ffn = 128, .vocab = vocabulary * tensor}, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
        .framework = framework, .sharding = fsdp2(), .batch = {.micro = 1, .sequence = positions}, .compile = compiled};
  j.parallel.tensor = tensor;
  j.parallel.sequence = tensor > 1;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto p = head_and_loss(sc, everything(), true);
  handover at;
  const auto forward = walk_forward(p, recording::on, &at).peak.rows[row::logits];
  return {forward, walk_backward(p).peak.rows[row::logits], span_of(p), at.before.rows[row::logits]};
}
constexpr auto whole = loss_of(frameworks::torchtitan_202404, false);
constexpr auto divided = loss_of(frameworks::torchtitan_202404, false, 2);
constexpr auto compiled_loss = loss_of(frameworks::torchtitan_202504, true);
constexpr auto chunks = loss_of(frameworks::torchtitan_202607, false);
/// The gradient of the head's weights in bf16.
constexpr bytes weights{2 * 64 * vocabulary};

}  // namespace

TEST_CASE("in fp32 inside the loss function") {
  // bf16 logits, which the caller names, their fp32 copy, log-probabilities; in backward those, and the gradients of nll and log_softmax.
  BOTH(whole.forward == 10 * v);
  BOTH(whole.backward == 12 * v);
  // The first gradient goes where logits and copy were, 6v; the second does not fit beside it: 10v + 4v.
  BOTH(whole.span == 14 * v);
}

TEST_CASE("the model has returned, and let go of its weights, when the loss makes more of its logits") {
  BOTH(whole.returned == 2 * v);
  BOTH(divided.returned == 2 * v);
  CHECK(loss_of(frameworks::torchtitan_202404, false).returned == 2 * v);  // while the program runs, too
}

TEST_CASE("over a divided vocabulary") {
  // torch distributed/tensor/parallel/loss.py: logits, copy, shifted, exponentials or result; in backward log-probabilities, zeros,
  // exponentials or the product, and their sum.
  BOTH(divided.forward == 14 * v);
  BOTH(divided.backward == 16 * v);
  // 14v at the end of forward, of which 10v are free again for 12v in tensors of 4v.
  BOTH(divided.span == 18 * v);
}

TEST_CASE("compiled: logits and their gradient, in bf16") {
  BOTH(compiled_loss.forward == 2 * v);
  BOTH(compiled_loss.backward == 4 * v);
  // The head's weight gradient comes beside the logits' gradient when the logits are gone.
  BOTH(compiled_loss.span == 4 * v);
}

TEST_CASE("in eight chunks with the head") {
  // 12v of a chunk, the chunk's weight gradients and input gradient, and the sum of the weight gradients in fp32 (logits' row).
  CHECK(chunks.forward >= 12 * v / 8 + 2 * weights);
  CHECK(chunks.forward <= 12 * v / 8 + 3 * weights + 1 * mib);
}

}  // namespace test_titan_loss
