// Distributed under the Boost Software License, Version 1.0.
// Encoder and decoder, counted by hand from transformers' models/t5/modeling_t5.py.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_encoder_decoder {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t b = 2, s = 24, se = 40, h = 64, n = 4, q = 48, f = 96, vocab = 50, layers = 3;

constexpr shape small_t5() {
  shape m{.layers = layers, .hidden = h, .heads = n, .head_dim = q / n, .ffn = f, .mlp = mlp_kind::plain, .activation = activation_kind::relu,
          .position = position_kind::relative, .vocab = vocab, .tied = true};
  m.relative_buckets = 8;
  m.encoder.layers = layers;
  m.encoder.sequence = se;
  m.encoder.cross_attention = true;
  return m;
}

constexpr job small_job() {
  job j;
  j.model = small_t5();
  j.hardware.gpu = gpus::cpu;
  j.precision = precisions::bf16;
  j.batch = {.micro = b, .sequence = s};
  return j;
}

constexpr bytes decoder_layer(const job& j) {
  const auto settled = settle(j);
  auto sc = settled.layer;
  sc.model = &settled.model;
  sc.memory_has_gradient = true;
  return walk_cross_layer(sc, trained_modules(j, 0), true).saved.total;
}

// T5LayerNorm: a fp32 copy that is squared, its root, x, and the normalised x; then its result for the matrices.
constexpr std::int64_t norm = 4 * h + 4 + 2 * h + 2 * h + 2 * h;
// Scores: softmax in fp32, and in bf16 for the product with the values.
constexpr std::int64_t score = 4 + 2;
constexpr std::int64_t self_attention = norm + 3 * 2 * q + 2 * q;
// ReLU keeps its result, which is what the last matrix keeps.
constexpr std::int64_t mlp = norm + 2 * f;

}  // namespace

TEST_CASE("a decoder layer of T5") {
  constexpr std::int64_t cross = norm + 2 * q + 2 * q;  // queries and result; keys and values are of the encoder's positions
  BOTH(decoder_layer(small_job()) == bytes{b * s * (self_attention + cross + mlp) + b * n * s * (s + se) * score + b * se * 2 * 2 * q});
}

TEST_CASE("T5's encoder") {
  const auto j = small_job();
  const auto settled = settle(j);
  const auto st = states(settled, weights_of(settled.model));
  const auto e = walk_encoder(settled, windows_of(settled, st), 0_B);
  // The final norm, and its result, which every layer of the decoder reads.
  const std::int64_t layer = b * se * (self_attention + mlp) + b * n * se * se * score;
  CHECK(e.saved.total == bytes{layers * layer + b * se * norm});
  CHECK(e.output_gradient == bytes{b * se * 2 * h});
  // Everything but the token table, whose gradient is the decoder's, and the table of positions, which is the report's `position`.
  CHECK(e.gradients >= bytes{2 * (count(small_t5()).of(component::encoder).count() - 8 * n)});
  CHECK(e.gradients <= bytes{2 * count(small_t5()).of(component::encoder).count() + 512});
}

TEST_CASE("longer inputs and deeper stacks take more") {
  const auto peak = [](std::int64_t positions, std::int64_t encoders, std::int64_t decoders) {
    auto j = small_job();
    j.model.encoder.sequence = positions;
    j.model.encoder.layers = encoders;
    j.model.layers = decoders;
    return estimate(j).ranks[0].allocated;
  };
  CHECK(peak(40, 3, 3) < peak(80, 3, 3));
  CHECK(peak(40, 3, 3) < peak(40, 4, 3));
  CHECK(peak(40, 3, 3) < peak(40, 3, 4));
  // A frozen encoder without a trained table keeps only what the decoder reads.
  auto j = small_job();
  const auto whole = estimate(j).ranks[0].allocated;
  j.trainable = {{.modules = {module::q_proj, module::up_proj}}};
  CHECK(estimate(j).ranks[0].allocated < whole);
  for (const auto* m : {&models::t5_large, &models::whisper_base}) {
    auto real = small_job();
    real.model = *m;
    real.batch.sequence = 128;
    CHECK(estimate(real).ranks[0].allocated > 0_B);
  }
}

}  // namespace test_encoder_decoder
