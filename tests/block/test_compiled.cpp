// Distributed under the Boost Software License, Version 1.0.
// Layers that torch.compile generates: what their backward matrix multiplications and attention read is kept, what is pointwise is
// computed again.
#include "points.hpp"

#include <both.hpp>

namespace test_compiled {

using namespace headroom;

namespace {

constexpr shape llama{.layers = 1, .hidden = 256, .heads = 8, .kv_heads = 2, .head_dim = 32, .ffn = 512, .vocab = 1024};
constexpr std::int64_t positions = 2 * 64;

constexpr module_set everything() {
  module_set s;
  s.bits = (1U << module_count) - 1;
  return s;
}

constexpr layer_walk walked(bool compiled, bool expands) {
  job j{.model = llama, .hardware = {.gpu = gpus::h100_sxm_80gb}, .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 64}};
  j.framework.attention.expands_kv = expands ? kv_expansion::always : kv_expansion::never;
  j.framework.compile.layers = true;
  j.compile = compiled;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, everything(), true);
}

}  // namespace

TEST_CASE("a compiled layer keeps inputs and outputs of its matrices and a statistic a norm") {
  // A token, h = 256, q = 256, k = v = 64, I = 512, 8 heads, bf16: both norms' inputs and outputs 4·2h, their roots 2·4, q, k, v and
  // the attention's output, a log-sum-exp a head, gate, up and their product.
  constexpr std::int64_t per_token = 4 * 512 + 2 * 4 + (512 + 2 * 128) + 512 + 8 * 4 + 3 * 1024;
  BOTH(walked(true, false).saved.total == bytes{positions * per_token});
  // Repeated keys and values are what attention reads: two tensors as wide as q instead.
  BOTH(walked(true, true).saved.total == bytes{positions * (per_token + 2 * (512 - 128))});
  // Eager, each norm keeps x in fp32 and the normalised tensor in bf16 instead of x, and the activation is a fourth wide tensor.
  BOTH(walked(false, false).saved.total == bytes{positions * (per_token + 2 * (1024 + 512 - 512) + 1024)});
}

TEST_CASE("compiling is refused where its extent is not known") {
  job j{.model = llama, .batch = {.micro = 2, .sequence = 64}, .compile = true};
  CHECK_THROWS_AS(estimate(j), job_error);
  j.framework.compile.layers = true;
  CHECK_NOTHROW(estimate(j));
  j.attention = attention::eager;
  CHECK_THROWS_AS(estimate(j), job_error);
}

}  // namespace test_compiled
