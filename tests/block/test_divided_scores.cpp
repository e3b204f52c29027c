// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's log-probabilities over Megatron's layers, against allocations that were counted while its own code ran on torch 1.13 (CPU):
// nemo_rl/distributed/model_utils.py DistributedLogprob at 7ea279ab, over logits of 256 × 4,096 to 1,024 × 2,048.
#include <headroom/block/megatron_loss.hpp>
#include <headroom/block/walk.hpp>
#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace test_divided_scores {

using namespace headroom;

namespace {

struct peaks {
  double forward, held, backward;
};

/// In bytes of a logit. `late`: the logits become fp32 in the loss, where their name is still that of what the head made.
peaks walked(std::int64_t tokens, std::int64_t vocabulary, bool late, std::int64_t samples = 1) {
  const shape m{.layers = 1, .hidden = 8, .heads = 1, .ffn = 8, .vocab = vocabulary};
  scene s;
  s.model = &m;
  s.samples = samples, s.sequence = tokens / samples, s.tokens = tokens, s.vocabulary = vocabulary;
  s.width = 2, s.granule = 1;
  if (late) s.loss.logits = formats::bf16;
  s.scoring.saves_softmax = true;
  program p(1);
  const auto x = p.input(tokens * 8, 2, true);
  const auto logits = p.make(tokens * vocabulary, 2, row::logits);
  p.step(x.bit(), logits.bit(), {.saves = x.bit()});
  p.set_output(megatron::divided_scores(p, s, logits));
  const auto f = walk_forward(p);
  const auto of = [&](bytes b) { return static_cast<double>(b.count()) / static_cast<double>(tokens * vocabulary); };
  return {of(f.peak.total), of(f.saved), of(walk_backward(p).peak.total)};
}
void near(const peaks& got, const peaks& counted) {
  CHECK(std::abs(got.forward - counted.forward) < 0.02);
  CHECK(std::abs(got.held - counted.held) < 0.02);
  CHECK(std::abs(got.backward - counted.backward) < 0.02);
}

}  // namespace

TEST_CASE("as counted") {
  for (const auto& [tokens, vocabulary] : {std::pair<std::int64_t, std::int64_t>{256, 4096}, {512, 8192}, {1024, 2048}}) {
    near(walked(tokens, vocabulary, false), {12, 4, 8});
    near(walked(tokens, vocabulary, true), {14, 4, 8});
  }
}

// Rows of several samples are turned to batch first, which copies what the head made (core/models/gpt/gpt_model.py); the copy is what is named then.
TEST_CASE("several samples") {
  near(walked(512, 8192, false, 4), {12, 4, 8});
  near(walked(512, 8192, true, 4), {14, 4, 8});
}

// Without a graph: three of the logits' size in fp32, beside the logits of two bytes where those are named.
TEST_CASE("scores alone") {
  CHECK(megatron::probabilities_alone(bytes{2'000}, 2, false) == bytes{12'000});
  CHECK(megatron::probabilities_alone(bytes{2'000}, 2, true) == bytes{14'000});
}

}  // namespace test_divided_scores
