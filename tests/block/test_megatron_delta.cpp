// Distributed under the Boost Software License, Version 1.0.
// Qwen3.5's layers over Megatron-Core as mcore-bridge builds them for ms-swift, counted by hand from its modules: T tokens, h hidden, t tensor-parallel ranks.
// Sources: modelscope/mcore-bridge f020e479 of 2026-05-04 src/mcore_bridge/model/modules/{gated_delta_net,gated_self_attention}.py; Megatron-LM
// core/ssm/gated_delta_net/common.py and core/transformer/attention.py of 2026-08; fla ops/gated_delta_rule/chunk.py, modules/l2norm.py.
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_megatron_delta {

using namespace headroom;

namespace {

constexpr layer_kind recurs{mixer_kind::gated_delta_net, feed_forward_kind::dense}, attends{mixer_kind::attention, feed_forward_kind::dense};

/// Qwen3.5-4B without its tower: 32 layers, 16 heads of queries and 4 of keys, of 256; 16 heads of keys and 32 of values, of 128, where it recurs.
job text(std::int64_t tensor, std::int64_t micro = 1) {
  job j;
  j.model = {.layers = 32, .hidden = 2560, .heads = 16, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .vocab = 248'320, .tied = true};
  j.model.qk_norm = true;
  j.model.gated_attention = true;
  j.model.norm_offset = true;
  j.model.rotary_percent = 25;
  j.model.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
  for (int i = 0; i < 3; ++i) j.model.pattern.add({mixer_kind::gated_delta_net});
  j.model.pattern.add({mixer_kind::attention});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor};
  j.framework = frameworks::megatron_swift;
  j.framework.rotary.writes_out = true;  // apply_rope_fusion is false where nothing is said
  j.parallel = {.data = 1, .tensor = tensor};
  j.batch = {.micro = micro, .sequence = 1024};
  j.attention = attention::flash;
  return j;
}

std::int64_t saved_by(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  return detail::walk_divided_layer(sc, trained_modules(j, -1), kind, false).saved.total.count();
}
std::int64_t parameters_of_a_rank(const job& j) {
  const auto s = settle(j);
  const auto w = detail::weights_of_stage(s, weights_of(s.model), 0);
  return (w.dense + w.experts).count();
}

constexpr std::int64_t T = 1024, h = 2560;
/// A norm's input and result with its root; gate and up, and what they become.
constexpr std::int64_t mlp(std::int64_t t) { return 2 * 2 * T * h + 4 * T + 2 * T * 3 * 9216 / t; }

}  // namespace

TEST_CASE("a layer of Gated DeltaNet keeps what its convolution, its unit keys, its kernel and its gated norm read") {
  constexpr std::int64_t keys = 16 * 128, values = 32 * 128;
  // The convolution's input; unit queries and keys and their roots, and both once more, a head of keys for each head of values; values; beta, the argument of
  // softplus and its result, the sums of g, 64 numbers a position of the solved squares; the kernel's result and its roots, the normed result, the gate,
  // and their product.
  constexpr std::int64_t divided = 2 * (2 * keys + values) + 2 * 2 * keys + 4 * 2 * 16 + 2 * 2 * values + 2 * values + 2 * 32 + 2 * 4 * 32 + 4 * 32 + 2 * 64 * 32 + 2 * values + 4 * 32 + 3 * 2 * values;
  for (const std::int64_t t : {1, 2, 4}) {
    const std::int64_t rates = 2 * 4 * 32 / t;  // exp(A_log), and its negative
    CHECK(saved_by(text(t), recurs) == 2 * 2 * T * h + 4 * T + T * divided / t + rates + mlp(t));
  }
  // As many heads of keys as of values are not repeated: Qwen3.5-2B's 16.
  auto alike = text(1);
  alike.model.ssm.heads = 16;
  constexpr std::int64_t half = 2 * 3 * keys + 2 * 2 * keys + 4 * 2 * 16 + 2 * keys + 2 * 16 + 2 * 4 * 16 + 4 * 16 + 2 * 64 * 16 + 2 * keys + 4 * 16 + 3 * 2 * keys;
  CHECK(saved_by(alike, recurs) == 2 * 2 * T * h + 4 * T + T * half + 2 * 4 * 16 + mlp(1));
}

TEST_CASE("gated attention keeps its queries beside their gates, and what it gives before and after them") {
  // Normed q and k with what they were made of and their roots; rotated ones; v; the kernel's result and its sums; q and the gate in one tensor; the gated result.
  constexpr std::int64_t q = 16 * 256, kv = 4 * 256;
  constexpr std::int64_t divided = 2 * (q + kv) + 4 * (16 + 4) + 2 * (q + kv) + 2 * kv + 2 * q + 4 * 16 + 2 * 2 * q + 2 * q;
  for (const std::int64_t t : {1, 2, 4}) {
    const std::int64_t factors = 4 * T * 64 * 2;  // cosine and sine of a quarter of 256, for q and for k
    CHECK(saved_by(text(t), attends) == 2 * 2 * T * h + 4 * T + T * divided / t + factors + mlp(t));
  }
  auto plain = text(1);
  plain.model.gated_attention = false;
  CHECK(saved_by(text(1), attends) - saved_by(plain, attends) == T * (2 * 2 * q + 2 * q));
}

TEST_CASE("ranks hold heads of both kinds of layer, and adapters beside one projection of each") {
  // Per layer: 12,288 + 64 rows of 2,560, 8,192 × 4, 64, a norm of 128, 2,560 × 4,096; or 2 × 4,096 + 2 × 1,024 rows, two norms of 256, 2,560 × 4,096; the MLP,
  // two norms.
  constexpr std::int64_t recurrent = h * (12'288 + 64) + 8192 * 4 + 64 + h * 4096, attention = h * (2 * 4096 + 2 * 1024) + h * 4096, both = 3 * h * 9216;
  for (const std::int64_t t : {1, 2, 4}) CHECK(parameters_of_a_rank(text(t)) == (24 * recurrent + 8 * attention + 32 * both + 248'320 * h) / t + 24 * 128 + 8 * 2 * 256 + 65 * h);
  auto adapted = text(2);
  adapted.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  const auto s = settle(adapted);
  std::int64_t beside = 0;
  for (const auto& w : weights_of(s.model)) beside += detail::adapter_elements(s, w) * w.copies();
  // A of the first matrix and B of the last are whole on either GPU.
  constexpr std::int64_t of_recurrent = 8 * (h + (12'288 + 64) / 2) + 8 * (4096 / 2 + h), of_attention = 8 * (h + (2 * 4096 + 2 * 1024) / 2) + 8 * (4096 / 2 + h), of_mlp = 8 * (h + 9216) + 8 * (9216 / 2 + h);
  CHECK(beside == 24 * of_recurrent + 8 * of_attention + 32 * of_mlp);
  CHECK(estimate(adapted).ranks[0].allocated > bytes{0});
}

TEST_CASE("what of it is refused") {
  const auto why = [](auto change) {
    auto j = text(2);
    change(j);
    const auto found = objection_to(j);
    return found ? std::string(found.sentence) : std::string{};
  };
  CHECK(why([](job&) {}).empty());
  CHECK(why([](job& j) { j.framework = frameworks::megatron; }).find("gated attention") != std::string::npos);
  CHECK(why([](job& j) { j.framework = frameworks::megatron, j.model.gated_attention = false; }).find("as ms-swift builds it") != std::string::npos);
  CHECK(why([](job& j) { j.model.mtp_layers = 1; }).find("multi-token prediction") != std::string::npos);
  CHECK(why([](job& j) { j.precision = precisions::fp8, j.model.gated_attention = false; }).find("and fp8") != std::string::npos);
  CHECK(why([](job& j) { j.hardware.gpus_per_node = 4, j.parallel.context = 2; }).find("context parallelism") != std::string::npos);
  CHECK(why([](job& j) { j.hardware.gpus_per_node = j.parallel.tensor = 32; }).find("multiples of parallel.tensor") != std::string::npos);
  CHECK(why([](job& j) { j.recompute = {.mode = recompute_mode::selective, .modules = 1}; }).empty());
}

}  // namespace test_megatron_delta
