// Distributed under the Boost Software License, Version 1.0.
// Selective checkpointing of eager and compiled layers: what torchtitan's selective-op policy keeps of a layer, and what comes back.
// Source: torchtitan parallelisms/parallelize_llama.py _save_list, _custom_policy (2024-12): every matrix multiplication of odd number
// in the layer's order wq, wk, wv, wo, w1, w3, w2, and what attention returns.
#include "points.hpp"

#include <both.hpp>
#include <headroom/framework/frameworks.hpp>

namespace test_checkpoint {

using namespace headroom;

namespace {

constexpr shape llama{.layers = 4, .hidden = 256, .heads = 8, .kv_heads = 2, .head_dim = 32, .ffn = 512, .vocab = 1024};
constexpr std::int64_t positions = 2 * 128;
// Bytes a token in bf16.
constexpr std::int64_t h = 2 * 256, q = 2 * 256, kv = 2 * 64, ffn = 2 * 512, lse = 4 * 8, root = 4;

constexpr module_set everything() {
  module_set s;
  s.bits = (1U << module_count) - 1;
  return s;
}

constexpr layer_walk walked(const profile& framework, bool compiled, std::int64_t tensor = 1, recompute_policy policy = recompute_policy::every_other_matmul, const shape& model = llama) {
  job j{.model = model, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = framework, .sharding = fsdp2(),
        .batch = {.micro = 2, .sequence = 128}, .recompute = {.mode = recompute_mode::selective, .policy = policy}, .compile = compiled};
  j.parallel.tensor = tensor;
  j.parallel.sequence = tensor > 1;
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, everything(), true);
}
constexpr auto& old_titan = frameworks::torchtitan_202404;
constexpr auto& new_titan = frameworks::torchtitan_202602;

}  // namespace

TEST_CASE("selective-op checkpointing keeps the input, q, v, w1's and w2's results and attention's") {
  constexpr std::int64_t kept = h + q + kv + q + lse + ffn + h;
  BOTH(walked(old_titan, false).saved.total == bytes{positions * kept});
  // A compiled layer has no use for w2's result: only the residual addition reads it, and nothing reads that again.
  BOTH(walked(old_titan, true).saved.total == bytes{positions * (kept - h)});
}

TEST_CASE("… of latent attention its queries, what keys and values are made of, w1's and w2's results and attention's") {
  // Matrices in their order: wq, wkv_a, wkv_b, wo, w1, w3, w2. 8 heads of 32 + 16 features, and of 32 of values.
  constexpr shape latent{.layers = 4, .hidden = 256, .heads = 8, .ffn = 512, .vocab = 1024, .mla = {.kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32}};
  constexpr std::int64_t queries = 2 * 8 * (32 + 16), both = 2 * 8 * (32 + 32), result = 2 * 8 * 32;
  BOTH(walked(new_titan, false, 1, recompute_policy::every_other_matmul, latent).saved.total == bytes{positions * (h + queries + both + result + lse + ffn + h)});
}

TEST_CASE("a checkpointed layer runs again as a whole before its backward") {
  // Eager, norms written out, keys and values repeated: x in fp32, its root, the normalised tensor and the result for each norm; q, k, v
  // and the result of attention; gate, silu(gate), up, product; and the layer's input.
  constexpr std::int64_t eager = 2 * (2 * h + root + h + h) + 3 * q + q + lse + 4 * ffn + h;
  BOTH(walked(old_titan, false).rebuilt.total == bytes{positions * eager});
  // One kernel a norm, grouped keys and values, no silu(gate); the first norm's input is the layer's.
  constexpr std::int64_t compiled = 2 * (h + root + h) + q + 2 * kv + q + lse + 3 * ffn;
  BOTH(walked(new_titan, true).rebuilt.total == bytes{positions * compiled});
}

TEST_CASE("under tensor and sequence parallelism reductions are kept, too") {
  // On two ranks, each holds half of the tokens of the residual stream and half of the features of all tokens. wo's result (number 4)
  // is not kept, but its reduce-scattered share is; of w2 (number 7) both, w2's result being partial sums of all tokens.
  constexpr std::int64_t kept = (h + q + kv + q + lse + ffn) / 2 + h / 2 + h + h / 2;
  BOTH(walked(old_titan, false, 2).saved.total == bytes{positions * kept});
  BOTH(walked(old_titan, true, 2).saved.total == bytes{positions * ((h + q + kv + q + lse + ffn) / 2 + h / 2)});
  // What comes back has the gathered inputs of both halves' matrices, all tokens of them.
  constexpr std::int64_t back = 2 * (h / 2 + root / 2 + h) + (q + 2 * kv + q + lse + 3 * ffn) / 2;
  BOTH(walked(new_titan, true, 2).rebuilt.total == bytes{positions * back});
}

TEST_CASE("attention-only drops what attention alone needs") {
  // The result is the output projection's input as well, and stays.
  const auto whole = walked(new_titan, true, 1, recompute_policy::unset).saved.total;
  const auto dropped = walked(new_titan, true, 1, recompute_policy::attention_only).saved.total;
  CHECK(whole - dropped == bytes{positions * lse});
}

TEST_CASE("the first layers can be recomputed and the others kept") {
  const auto allocated = [](std::int64_t layers) {
    job j{.model = llama, .hardware = {.gpu = gpus::h100_sxm_80gb}, .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 128},
          .recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = layers}};
    const auto r = estimate(j);
    return r.tightest().at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations];
  };
  // Each layer recomputed keeps its input instead of what an eager layer saves: norms, q, k, v and attention's result, the MLP.
  constexpr std::int64_t saved = 2 * (2 * h + root + h + h) + q + 2 * kv + q + lse + 4 * ffn;
  CHECK(allocated(1) - allocated(3) == 2 * bytes{positions * (saved - h)});
  CHECK(allocated(0) == allocated(4));
  CHECK(allocated(4) < allocated(3));
}

}  // namespace test_checkpoint
