// Distributed under the Boost Software License, Version 1.0.
// Routed experts and latent attention, counted by hand from transformers' code, and the loop over experts against the same loop
// written out as one program.
#include <headroom/headroom.hpp>

#include "../both.hpp"

#include <cmath>

namespace test_experts {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::int64_t rows_of_text = 48, h = 64, q = 64, kv = 32, n = 4, f = 96, k = 2;

constexpr shape small_mixtral(std::int64_t experts) {
  shape m{.layers = 4, .hidden = h, .heads = n, .kv_heads = 2, .ffn = f, .vocab = 100};
  m.experts = {.count = experts, .active = k, .ffn = f};
  return m;
}

constexpr job on_host(const shape& m) {
  job j;
  j.model = m;
  j.hardware.gpu = gpus::cpu;
  j.precision = precisions::bf16;
  j.batch = {.micro = 1, .sequence = rows_of_text};
  return j;
}

constexpr scene scene_of(const settled_job& s) {
  auto sc = s.layer;
  sc.model = &s.model;
  return sc;
}

constexpr bytes saved(const job& j, std::int64_t trained_experts) {
  const auto s = settle(j);
  return walk_layer(scene_of(s), {s.model.attention(), feed_forward_kind::experts}, trained_modules(j, 0), trained_experts, true).saved.total;
}

// LlamaAttention under sdpa, of each token: fp32 copy and root of the norm, normalised bf16, its result; q, k, v, result, log-sum-exp.
constexpr std::int64_t attention_half = 4 * h + 4 + 2 * h + 2 * h + 2 * q + 4 * kv + 2 * q + 4 * n;
// The norm in front of the experts, and its result for the router.
constexpr std::int64_t norm_half = 4 * h + 4 + 2 * h + 2 * h;

}  // namespace

// MixtralSparseMoeBlock: softmax over experts in fp32; chosen numbers, weights and their sum; and of each routed copy of a token its row
// for w1 and w3, w1's result, SiLU's, w3's, the product for w2, w2's result and a weight for their product, that product for index_add_,
// and its two places (int64).
TEST_CASE("a Mixtral layer") {
  constexpr std::int64_t experts = 4;
  constexpr std::int64_t copy = 2 * h + 4 * 2 * f + 2 * h + 2 + 2 * h + 2 * 8;
  constexpr std::int64_t routing = 4 * experts + k * (8 + 4) + 4;
  BOTH(saved(on_host(small_mixtral(experts)), experts) == bytes{rows_of_text * (attention_half + norm_half + routing + k * copy)});
  // Frozen experts keep neither their tokens nor the product, which only the matrices' gradients read.
  BOTH(saved(on_host(small_mixtral(experts)), 0) == bytes{rows_of_text * (attention_half + norm_half + routing + k * (copy - 2 * h - 2 * f))});
}

// Qwen2-MoE: a shared expert that reads what the router read, its four tensors, its result, and a gate of one number.
TEST_CASE("a shared expert behind a gate") {
  constexpr std::int64_t experts = 4, width = 80;
  constexpr auto with = [] {
    auto j = on_host(small_mixtral(experts));
    j.model.experts.shared = 1;
    j.model.experts.shared_ffn = width;
    j.model.experts.shared_gate = true;
    return j;
  }();
  BOTH(saved(with, experts) - saved(on_host(small_mixtral(experts)), experts) == bytes{rows_of_text * (4 * 2 * width + 2 * h + 2)});
}

// DeepseekV3MoE: the router reads a fp32 copy, whose weight is copied to fp32 as well; weights of the routed copies stay fp32,
// and so does what is added up.
// Attention: norm and its result; compressed queries in fp32 with root, normalised, and the norm's result; the same of keys and
// values; q and k of every head; v inside the second up-projection's result; the kernel's result, which lies heads before positions as q does, its copy beside each other, and log-sum-exp.
TEST_CASE("a DeepSeek layer") {
  constexpr std::int64_t experts = 4, width = 40, ql = 24, kvl = 16, nope = 8, rope = 4, value = 12;
  constexpr auto j = [] {
    auto d = on_host(small_mixtral(experts));
    d.model.kv_heads = 0;
    d.model.mla = {.q_rank = ql, .kv_rank = kvl, .nope_dim = nope, .rope_dim = rope, .value_dim = value};
    d.model.experts.shared = 1;
    d.model.experts.shared_ffn = width;
    return d;
  }();
  constexpr std::int64_t attention = 8 * h + 4 + (4 * ql + 4 + 2 * ql + 2 * ql) + (4 * kvl + 4 + 2 * kvl + 2 * kvl) + 2 * 2 * n * (nope + rope) +
                                     2 * n * (nope + value) + 2 * 2 * n * value + 4 * n;
  constexpr std::int64_t copy = 2 * h + 4 * 2 * f + 2 * h + 4 + 4 * h + 2 * 8;
  constexpr std::int64_t routing = 4 * h + 4 * experts + k * (8 + 4) + 4;
  // The norm's result is kept by the shared expert, not by the router.
  BOTH(saved(j, experts) == bytes{rows_of_text * (attention + norm_half + routing + k * copy + 4 * 2 * width) + 4 * experts * h});
}

// GptOssExperts: a row; the first product with its bias, which both clamps keep; the clamped gate and its sigmoid; their product, the
// clamped up plus one, and the product of those; the result and a weight. And a copy of each expert's two matrices. Both norms multiply their
// weights with what is fp32 still (GptOssRMSNorm): 2 bytes more of each feature.
TEST_CASE("a gpt-oss layer") {
  constexpr std::int64_t experts = 4;
  constexpr auto j = [] {
    auto d = on_host(small_mixtral(experts));
    d.model.experts.bias = d.model.experts.router_bias = d.model.fp32_norm = true;
    return d;
  }();
  constexpr std::int64_t copy = 2 * h + 2 * 2 * f + 5 * 2 * f + 2 * h + 2 + 2 * h + 2 * 8;
  constexpr std::int64_t routing = k * (8 + 2);
  BOTH(saved(j, experts) == bytes{rows_of_text * (attention_half + norm_half + 2 * 2 * h + routing + k * copy) + experts * 2 * 3 * h * f});
}

// The same loop as one program: three experts one after the other, each added into the sum in place.
TEST_CASE("the loop over experts, written out") {
  constexpr std::int64_t experts = 3;
  for (const std::int64_t length : {6, 48, 600})
    for (const bool accumulate : {false, true}) {
      auto j = on_host(small_mixtral(experts));
      j.batch.sequence = length;
      const auto settled = settle(j);
      const auto s = scene_of(settled);
      const auto all = trained_modules(j, 0);
      layer_walk looped;
      looped.output_has_gradient = true;
      detail::join_sparse_half(looped, s, all, experts, false, accumulate);

      program p(1);
      const auto x = p.input(length * h, 2, true);
      const auto normed = ops::norm(p, s, x, h, true);
      ops::route(p, s, all, normed);
      const auto rows = length * k / experts;
      auto sum = p.make(length * h, 2);
      p.step(0, sum.bit());
      for (int i = 0; i < experts; ++i) {
        const auto places = p.make(2 * rows, 8), weight = p.make(rows, 2);
        p.step(normed.bit(), weight.bit());
        p.step(0, places.bit());
        const auto mine = p.make(rows * h, 2);
        p.step(normed | places, mine.bit(), {.saves = places.bit()});
        const auto product = [&](tensor from, std::int64_t in, std::int64_t out) {
          const auto y = p.make(rows * out, 2);
          p.step(from.bit(), y.bit(), {.saves = from.bit(), .weight_gradient = bytes{2 * in * out}});
          return y;
        };
        const auto gate = product(mine, h, f), up = product(mine, h, f);
        const auto out = product(ops::multiply(p, ops::activate(p, s, gate, activation_kind::silu), up), f, h);
        const auto weighted = ops::multiply(p, out, weight);
        const auto next = p.view(sum, length * h);
        p.step(sum | weighted, next.bit(), {.saves = weighted.bit(), .passes_gradient = true});
        sum = next;
      }
      p.set_output(ops::add(p, x, sum));
      const auto forward = walk_forward(p);
      const auto backward = walk_backward(p, accumulate);
      CHECK(looped.saved.total == forward.saved);
      CHECK(looped.weight_gradients == backward.weight_gradients);
      // Beside the tensors: the mask of chosen experts, what Python still names, and routing weights' gradients.
      const auto close = [&](bytes one, bytes other) { return std::abs(static_cast<double>(one.count()) / static_cast<double>(other.count()) - 1.0) < 0.02; };
      CAPTURE(length);
      CAPTURE(accumulate);
      CAPTURE(looped.backward.total.count());
      CAPTURE(backward.peak.total.count());
      CHECK(close(looped.backward.total, backward.peak.total));
      CHECK(looped.forward.total >= forward.peak.total);
    }
}

TEST_CASE("more experts, layers or tokens never take less") {
  const auto peak = [](std::int64_t count, std::int64_t active, std::int64_t layers, std::int64_t sequence) {
    auto j = on_host(small_mixtral(count));
    j.model.experts.active = active;
    j.model.layers = layers;
    j.batch.sequence = sequence;
    return estimate(j).ranks[0].allocated;
  };
  for (std::int64_t a = 1; a < 8; ++a) CHECK(peak(8, a, 4, 64) <= peak(8, a + 1, 4, 64));
  for (std::int64_t c = 2; c < 32; c *= 2) CHECK(peak(c, 2, 4, 64) <= peak(2 * c, 2, 4, 64));
  for (std::int64_t l = 1; l < 8; ++l) CHECK(peak(8, 2, l, 64) < peak(8, 2, l + 1, 64));
  for (std::int64_t t = 16; t < 1024; t *= 2) CHECK(peak(8, 2, 4, t) < peak(8, 2, 4, 2 * t));
}

TEST_CASE("dense and sparse layers in one stack") {
  // Alternating layers are walked in groups: the same as runs of one where these are few enough.
  auto j = on_host(small_mixtral(4));
  j.model.layers = 12;
  j.model.experts.every = 2;
  const auto grouped = estimate(j).ranks[0].allocated;
  auto masked = j;
  masked.model.experts.every = 1;
  masked.model.experts.dense_mask[0] = 0x555;  // layers 0, 2, … 10
  CHECK(estimate(masked).ranks[0].allocated == grouped);
  CHECK(estimate(masked).parameter_count == estimate(j).parameter_count);
  for (const auto mode : {recompute_mode::none, recompute_mode::full}) {
    j.recompute.mode = masked.recompute.mode = mode;
    j.batch.accumulation = masked.batch.accumulation = 2;
    CHECK(estimate(masked).ranks[0].allocated == estimate(j).ranks[0].allocated);
  }
  // Leading dense layers save less than routed ones of the same width a token visits twice.
  auto leading = on_host(small_mixtral(4));
  leading.model.experts.first_dense_layers = 2;
  CHECK(estimate(leading).ranks[0].allocated < estimate(on_host(small_mixtral(4))).ranks[0].allocated);
}

TEST_CASE("what lies beside the loop over experts") {
  // transformers models/mixtral/modeling_mixtral.py before 5, MixtralSparseMoeBlock: final_hidden_states, expert_mask of one_hot's int64, and the expert's
  // locals, which the next one's replace. Ten tokens of 64 in two bytes, each to two of four experts, in blocks of 512 bytes.
  shape m = small_mixtral(4);
  scene s;
  s.model = &m;
  s.tokens = 10, s.granule = 512, s.width = 2, s.residual_width = 2;
  const bytes tensor{1536}, mask{1024}, locals{1024};  // 1,280 bytes, 10 × 2 × 4 × 8 = 640, and five rows: 640
  detail::sparse_input in{.width = 2, .has_gradient = true, .stream = tensor, .normed = tensor};
  auto c = detail::beside_experts(s, in, 2, true);
  CHECK(c.forward_off.total == tensor + mask + 2 * locals + tensor);
  CHECK(c.forward_off.rows[row::temporaries] == tensor + mask + 2 * locals);
  CHECK(c.forward_off.rows[row::activations] == tensor);
  CHECK(c.forward.total == tensor + mask + tensor);
  CHECK(c.forward.rows[row::activations] == tensor);
  CHECK(c.counted == bytes{0});
  CHECK(c.counted_saved == bytes{0});
  CHECK(c.backward_after == bytes{0});
  CHECK(c.backward.total == tensor);  // the sum's gradient is the residual stream's
  CHECK(c.backward_later == tensor);  // … and n's, once a first expert has made it
  in.keeps_stream = in.keeps_normed = true;
  c = detail::beside_experts(s, in, 2, true);
  CHECK(c.forward.total == tensor + mask);
  CHECK(c.counted == tensor);
  // A sum in fp32 is cast, and has a gradient of its own; so it has where a norm or dropout comes between.
  const bytes wide{2560};
  CHECK(detail::beside_experts(s, in, 4, true).backward.total == wide + tensor);
  CHECK(detail::beside_experts(s, in, 4, true).forward.total == wide + mask);
  CHECK(detail::beside_experts(s, in, 4, false).backward.total == wide);
  m.post_norms = true;
  CHECK(detail::beside_experts(s, in, 2, true).backward.total == 2 * tensor);
  m.post_norms = false;
  s.drops.hidden = {.per_million = 100'000};
  CHECK(detail::beside_experts(s, in, 2, true).backward.total == 2 * tensor);
  s.drops.hidden = {};
  // A shared expert makes n's gradient first.
  m.experts.shared_ffn = 96;
  c = detail::beside_experts(s, in, 2, true);
  CHECK(c.backward.total == 2 * tensor);
  CHECK(c.backward_later == bytes{0});
  in.has_gradient = false;
  CHECK(detail::beside_experts(s, in, 2, true).backward.total == tensor);
  m.experts.shared_ffn = 0;
  CHECK(detail::beside_experts(s, in, 2, true).backward_later == bytes{0});
}

}  // namespace test_experts
