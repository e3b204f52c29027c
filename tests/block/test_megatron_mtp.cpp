// Distributed under the Boost Software License, Version 1.0.
// The front of Megatron-Core's layer for one more token: its projection is column-parallel, and its result is gathered, and scattered where the sequence is divided (megatron/core/
// transformer/multi_token_prediction.py MultiTokenPredictionLayer._concat_embeddings).
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_megatron_mtp {

using namespace headroom;

namespace {

constexpr std::int64_t T = 64, h = 256;
struct counted {
  std::int64_t output{}, made{};  ///< elements that the layer gets; bytes that forward makes
};
counted front(std::int32_t tensor, std::int32_t split) {
  const shape m{.layers = 2, .hidden = h, .heads = 4, .kv_heads = 4, .head_dim = 64, .ffn = 512, .vocab = 1024};
  const profile habits = frameworks::megatron;
  const adapter none;
  scene s;
  s.model = &m, s.habits = &habits, s.side = &none;
  s.samples = 1, s.tokens = T, s.width = s.weight_width = s.residual_width = 2, s.granule = 1;
  s.tensor = tensor, s.sequence_split = split;
  s.vocabulary = 1024;
  const auto p = megatron::mtp_front(s, {module::embedding, module::mtp, module::norm});
  return {p.elements(p.output()), walk_forward(p).peak.total.count()};
}

}  // namespace

TEST_CASE("the projection's result is whole on every rank, or a part of its tokens") {
  CHECK(front(1, 1).output == T * h);
  CHECK(front(2, 1).output == T * h);
  CHECK(front(4, 1).output == T * h);
  CHECK(front(2, 2).output == T * h / 2);
  CHECK(front(4, 4).output == T * h / 4);
}

}  // namespace test_megatron_mtp
