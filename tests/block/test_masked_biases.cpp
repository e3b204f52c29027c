// Distributed under the Boost Software License, Version 1.0.
// T5 since transformers 5.16, whose biases are a mask of torch's own attention, and Whisper, whose heads are made contiguous for it: counted by hand
// from models/t5/modeling_t5.py, models/whisper/modeling_whisper.py, integrations/sdpa_attention.py and ATen native/transformers/attention.cpp.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_masked_biases {

using namespace headroom;

namespace {

constexpr std::int64_t b = 2, s = 128, se = 256, h = 256, n = 4, q = 256, f = 512;

constexpr job t5(const profile& framework = frameworks::hf_trainer) {
  job j;
  j.model = {.layers = 3, .hidden = h, .heads = n, .head_dim = q / n, .ffn = f, .mlp = mlp_kind::plain, .activation = activation_kind::relu,
             .position = position_kind::relative, .vocab = 1024, .tied = true};
  j.model.relative_buckets = 32;
  j.model.encoder.layers = 3;
  j.model.encoder.sequence = se;
  j.model.encoder.cross_attention = true;
  j.hardware.gpu = gpus::h100_sxm_80gb;
  j.framework = framework;
  j.precision = {.label = "", .parameters = formats::bf16, .compute = formats::bf16, .autocast = choice::no};
  j.batch = {.micro = b, .sequence = s};
  return j;
}
constexpr job whisper() {
  auto j = t5();
  auto& m = j.model;
  m.position = position_kind::learned;
  m.relative_buckets = 0;
  m.max_positions = s;
  m.norm = norm_kind::layernorm;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = m.no_key_bias = true;
  m.activation = activation_kind::gelu;
  m.encoder.max_positions = se;
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
constexpr std::int64_t mlp = norm + 2 * f;

}  // namespace

TEST_CASE("T5's own positions are attended to in fp32, those of its encoder by a kernel") {
  // Queries, keys, values and the softmax in fp32, the result in bf16, and which positions a token may look at.
  constexpr std::int64_t own = b * s * (norm + 3 * 4 * q + 4 * n * s + 2 * q) + s * s;
  constexpr std::int64_t cross = b * s * (norm + 2 * q + 2 * q + 4 * n) + b * se * 2 * 2 * q;  // and a log-sum-exp a row
  BOTH(decoder_layer(t5()) == bytes{own + cross + b * s * mlp});
}

TEST_CASE("where samples are padded, a layer's mask of the encoder's positions is its own") {
  auto j = t5();
  j.batch.padded = true;
  CHECK(decoder_layer(j) - decoder_layer(t5()) == bytes{b * n * s * se * 2 - s * s});
}

TEST_CASE("up to 5.15 all scores are written out, the softmax in fp32 and in bf16") {
  constexpr std::int64_t own = b * s * (norm + 3 * 2 * q + 6 * n * s + 2 * q), cross = b * s * (norm + 2 * q + 6 * n * se + 2 * q) + b * se * 2 * 2 * q;
  BOTH(decoder_layer(t5(frameworks::hf_trainer_202601)) == bytes{own + cross + b * s * mlp});
}

TEST_CASE("Whisper's results are copied, heads beside each other") {
  auto usual = whisper();
  usual.model.no_key_bias = false;
  CHECK(decoder_layer(whisper()) - decoder_layer(usual) == bytes{2 * b * s * 2 * q});
  auto written = whisper();
  written.attention = usual.attention = attention::eager;
  CHECK(decoder_layer(written) == decoder_layer(usual));
}

TEST_CASE("under autocast T5's last matrix reads a second copy of what ReLU keeps") {
  auto j = t5();
  j.precision = precisions::bf16_autocast;
  auto other = j;
  other.framework = [] {
    auto p = frameworks::hf_trainer;
    p.date = 202212;
    return p;
  }();
  const auto mlp_of = [](const job& of) {
    const auto settled = settle(of);
    auto sc = settled.layer;
    sc.model = &settled.model;
    return with_made([&] { return decoder_block(sc, layer_part::mlp, trained_modules(of, 0), true); }, [](const program& p) { return walk_forward(p).saved; });
  };
  CHECK(mlp_of(j) - mlp_of(other) == bytes{b * s * 2 * f});
}

}  // namespace test_masked_biases
