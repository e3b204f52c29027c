// Distributed under the Boost Software License, Version 1.0.
// Multi-token prediction under checkpointing, tensor by tensor on paper. Source: Megatron-LM core/transformer/multi_token_prediction.py
// MultiTokenPredictionLayer (forward, _get_embeddings, _checkpointed_forward, _concat_embeddings, _postprocess), MultiTokenPredictionBlock.forward.
#include "../estimate/dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_multi_token {

using namespace headroom;

namespace {

/// A GPT with biases, GELU and LayerNorm. Sizes are multiples of what an allocator rounds to.
struct drawn {
  std::int64_t layers{}, hidden{}, sequence{}, micro{}, tensor{1};
  bool sequence_parallel{}, embedding_dropout{};
  [[nodiscard]] std::int64_t positions() const { return sequence * micro / (sequence_parallel ? tensor : 1); }  // of the residual stream, here
  [[nodiscard]] std::int64_t stream() const { return 2 * positions() * hidden; }
  [[nodiscard]] std::int64_t mask() const { return embedding_dropout ? positions() * hidden : 0; }
  [[nodiscard]] std::int64_t statistics() const { return 8 * positions(); }  // mean and deviation in fp32
};
drawn draw_one(draw::dice& d) {
  drawn r{.layers = d.pick({2, 3, 6}), .hidden = d.pick({512, 1024}), .sequence = d.pick({512, 1024}), .micro = d.pick({1, 2, 4}), .tensor = d.pick({1, 2})};
  r.sequence_parallel = r.tensor > 1 && d.flip();
  r.embedding_dropout = d.flip();
  return r;
}
job job_of(const drawn& d, std::int64_t modules) {
  job j;
  j.model = {.layers = d.layers, .hidden = d.hidden, .heads = 8, .ffn = 4 * d.hidden, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm,
             .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true, .position = position_kind::learned, .max_positions = d.sequence, .vocab = 32'000, .tied = true};
  j.model.mtp_layers = modules;
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = d.tensor};
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  j.parallel = {.data = 1, .tensor = d.tensor, .sequence = d.sequence_parallel};
  j.batch = {.micro = d.micro, .sequence = d.sequence, .accumulation = 1};
  j.attention = attention::eager;
  j.dropout = {{100'000}, {100'000}, {d.embedding_dropout ? 100'000 : 0}};
  j.recompute = recompute::full;
  return j;
}
std::int64_t waits(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }
std::int64_t forward(const job& j) {  // above what outlives a step
  const auto r = estimate(j).ranks[0];
  return (r[phase::forward] - r[phase::save]).count();
}

}  // namespace

TEST_CASE("a module's checkpoint keeps the hidden state, the next token's embedding and the mask of what made it") {
  draw::dice dice{2026'1127};
  for (int n = 0; n < 60; ++n) {
    const auto d = draw_one(dice);
    CAPTURE(d.hidden);
    CAPTURE(d.sequence);
    CAPTURE(d.micro);
    CAPTURE(d.tensor);
    CAPTURE(d.sequence_parallel);
    CAPTURE(d.embedding_dropout);
    // A part of the joined hidden states more; of the module's loss a mask of a byte and an index of eight for each position.
    const auto loss = d.stream() + 9 * d.sequence * d.micro;
    const auto one = job_of(d, 1), two = job_of(d, 2);
    CHECK(waits(two) - waits(one) == 2 * d.stream() + d.mask() + loss);
    // The module's layer runs without a graph as the stack's last one does. Before that there are: the last layer's input and output, the last norm's
    // statistics, what it made, the next token's embedding with its mask.
    const auto none = job_of(d, 0);
    CHECK(forward(one) - forward(none) == 4 * d.stream() + d.statistics() + d.mask());
    CHECK(forward(two) - forward(one) == 2 * d.stream() + d.mask());
  }
}

TEST_CASE("method block leaves modules as they are, and so did every method before 2025-08") {
  draw::dice dice{2026'1128};
  for (int n = 0; n < 20; ++n) {
    auto d = draw_one(dice);
    d.tensor = 1, d.sequence_parallel = false;
    const auto whole = job_of(d, 1);
    auto block = whole;
    block.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = d.layers};
    // Equation 1 of Korthikanti et al. 2022 with two norms' statistics; two norms in front of the module's projection save their statistics, and that both
    // tensors side by side; the norm behind its layer saves that layer's result.
    const auto positions = d.sequence * d.micro;
    const auto layer = 34 * positions * d.hidden + 5 * 8 * d.sequence * positions + 2 * d.statistics();
    CHECK(waits(block) - waits(whole) == 2 * d.statistics() + 2 * d.stream() + layer + d.stream() + d.statistics());
    auto old = whole;
    old.framework.date = 202504;
    CHECK(waits(old) == waits(block));
  }
}

// "recompute_num_layers must be 1 for MTP recompute".
TEST_CASE("several layers in a checkpoint beside a module are refused") {
  auto j = job_of({.layers = 4, .hidden = 512, .sequence = 512, .micro = 1}, 1);
  j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 2};
  const auto why = objection_to(j);
  REQUIRE(bool(why));
  CHECK(std::string(why.sentence).find("recompute.layers must be 1") != std::string::npos);
  j.recompute.layers = 1;
  CHECK_FALSE(objection_to(j));
  j.recompute.layers = 2;
  j.framework.date = 202504;
  CHECK_FALSE(objection_to(j));
  j.framework = frameworks::megatron;
  j.model.mtp_layers = 0;
  CHECK_FALSE(objection_to(j));
}

}  // namespace test_multi_token
