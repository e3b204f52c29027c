// Distributed under the Boost Software License, Version 1.0.
// Encoders: what a BERT layer and its heads keep, counted by hand from transformers' models/bert/modeling_bert.py.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_encoders {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t b = 3, s = 32, h = 64, heads = 4, ffn = 256, vocab = 100, layers = 2;

constexpr shape small_bert() {
  shape m{.layers = layers, .hidden = h, .heads = heads, .ffn = ffn, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
          .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
          .position = position_kind::learned, .max_positions = 48, .vocab = vocab, .tied = true};
  m.head = head_kind::none;
  m.bidirectional = m.norm_after = m.no_final_norm = m.embedding_norm = m.pooler = true;
  m.token_types = 2;
  return m;
}

constexpr job small_job() {
  job j;
  j.model = small_bert();
  j.hardware.gpu = gpus::cpu;
  j.precision = precisions::fp32;
  j.batch = {.micro = b, .sequence = s};
  j.attention = attention::eager;
  j.dropout = {.hidden = {100'000}, .attention = {100'000}, .embedding = {100'000}};
  return j;
}

constexpr layer_walk layer_of(const job& j) {
  const auto settled = settle(j);
  auto sc = settled.layer;
  sc.model = &settled.model;
  return walk_layer(sc, trained_modules(j, 0), true);
}

// Of each token: x for q, k and v; q, k, v themselves; the context for its projection; a byte of dropout mask; the sum for the norm
// with mean and deviation; the norm's result for the MLP; the MLP's first result for GELU; GELU's for the second matrix; a mask;
// the second sum with mean and deviation. Of each score: softmax's result, a mask, and the dropped probabilities.
constexpr std::int64_t by_token = 4 * h + 3 * 4 * h + 4 * h + h + (4 * h + 8) + 4 * h + 4 * ffn + 4 * ffn + h + (4 * h + 8);
constexpr std::int64_t by_score = 4 + 1 + 4;
constexpr std::int64_t scores = b * heads * s * s;

}  // namespace

TEST_CASE("a BERT layer in fp32") {
  BOTH(layer_of(small_job()).saved.total == bytes{b * s * by_token + scores * by_score});
  constexpr auto no_dropout = [] {
    auto j = small_job();
    j.dropout = {};
    return j;
  }();
  BOTH(layer_of(no_dropout).saved.total == bytes{b * s * (by_token - 2 * h) + scores * 4});
}

// pytorch issue 49600: up to torch 1.10 softmax also saves what it reads.
TEST_CASE("softmax of torch 1.10 keeps its input") {
  constexpr auto old = [] {
    auto j = small_job();
    j.framework.autograd.softmax_keeps_input = true;
    return j;
  }();
  BOTH(layer_of(old).saved.total == bytes{b * s * by_token + scores * (by_score + 4)});
}

// Autocast: linear layers and both products of attention in fp16; softmax, norms and the residual stream in fp32. Every linear layer casts
// its own input: q, k, v 2h each, context 2h (it is fp16 already), first matrix 2h, second 2·ffn. GELU's input is fp16.
TEST_CASE("a BERT layer under autocast") {
  constexpr auto amp = [] {
    auto j = small_job();
    j.precision = precisions::fp16_autocast;
    return j;
  }();
  constexpr std::int64_t token = 3 * 2 * h + 3 * 2 * h + 2 * h + h + (4 * h + 8) + 2 * h + 2 * ffn + 2 * ffn + h + (4 * h + 8);
  constexpr auto kept = layer_of(amp).saved;
  BOTH(kept.total - kept.rows[row::gathered_parameters] == bytes{b * s * token + scores * (4 + 1 + 2)});
  BOTH(kept.rows[row::gathered_parameters] == bytes{2 * (4 * h * h + 2 * h * ffn)});  // cast weights
}

// The scalar of a classifier: the pooler's input is a view of the last hidden state, saved whole; its tanh; the mask; log-probabilities.
TEST_CASE("BERT's heads") {
  const auto head = [](const job& j) {
    const auto settled = settle(j);
    auto sc = settled.layer;
    sc.model = &settled.model;
    return walk_forward(encoder_head(sc, trained_modules(j, -1), true)).saved;
  };
  auto j = small_job();
  j.model.classes = 3;
  j.model.head_bias = true;
  CHECK(head(j) == bytes{4 * b * s * h + 4 * b * h + b * h + 4 * b * h + 4 * 3 * b + 4});
  // Masked language: x for the dense layer, its result for GELU, GELU's for the norm with mean and deviation, the norm's for the
  // matrix, log-probabilities of every position.
  j.model.classes = 0;
  j.model.pooler = false;
  j.model.head = head_kind::masked_language;
  CHECK(head(j) == bytes{b * s * (4 * h + 4 * h + 4 * h + 8 + 4 * h + 4 * vocab) + 4});
  j.model.head = head_kind::none;
  CHECK(head(j) == 0_B);
  CHECK(estimate(j).ranks[0].allocated > 0_B);
}

// A loop of one's own names what the model returns until backward has ended: the logits of every position lie there all along.
TEST_CASE("logits of a masked language model that outlive the loss") {
  const auto tallest = [](const job& j) {
    const auto settled = settle(j);
    auto sc = settled.layer;
    sc.model = &settled.model;
    return walk_backward(encoder_head(sc, trained_modules(j, -1), true)).peak.total;
  };
  auto named = small_job();
  named.model.pooler = false;
  named.model.head = head_kind::masked_language;
  named.framework.loss.outputs = output_lifetime::through_backward;
  auto freed = named;
  freed.framework.loss.outputs = output_lifetime::through_loss;
  CHECK(tallest(named) - tallest(freed) == bytes{4 * b * s * vocab});
}

TEST_CASE("norms behind the sub-blocks") {
  // OLMo 2 norms the branch, before the sum: its layer keeps the branch's result instead of the sum.
  auto j = small_job();
  j.dropout = {};
  j.model = models::olmo_2_7b;
  j.precision = precisions::bf16;
  j.attention = attention::flash;
  j.batch = {.micro = 1, .sequence = 256};
  auto before = j;
  before.model.norm_after = false;
  // Norm in front: fp32 copy and its normalised bf16 result, which q, k, v read. Behind: the same of the branch, while q, k, v keep x.
  CHECK(layer_of(j).saved.total == layer_of(before).saved.total);
  CHECK(estimate(j).ranks[0].allocated > 0_B);
}

// OPT-350m: tokens of 512 are projected to 1024 and back before the head, and no norm stands at the end.
TEST_CASE("a narrow embedding") {
  job j = small_job();
  j.model = family::opt("opt-350m", 24, 1024, 16);
  j.model.embedding_dim = 512;
  j.model.norm_after = j.model.no_final_norm = true;
  j.dropout = {};
  const auto settled = settle(j);
  auto sc = settled.layer;
  sc.model = &settled.model;
  const auto all = trained_modules(j, -1);
  const auto front = embedding(sc, all);
  CHECK(walk_forward(front).saved == bytes{b * s * 4 * 512});  // what project_in reads
  CHECK(walk_backward(front).weight_gradients == bytes{4 * (50272 * 512 + 512 * 1024 + 2050 * 1024)});
  const auto tail = head_and_loss(sc, all, true);
  // The last hidden state for project_out, its result for the head, log-probabilities and the sum of their weights.
  CHECK(walk_forward(tail).saved == bytes{b * s * 4 * (1024 + 512 + 50272) + 4});
  CHECK(walk_backward(tail).weight_gradients == bytes{4 * (512 * 1024 + 50272 * 512)});
}

}  // namespace test_encoders
