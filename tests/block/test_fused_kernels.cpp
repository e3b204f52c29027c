// Distributed under the Boost Software License, Version 1.0.
// What layers keep where one kernel stands for several operations. Counts are written out from the kernels' save_for_backward: Liger-Kernel
// ops/rms_norm.py, swiglu.py, rope.py; axolotl src/axolotl/kernels/lora.py; apple/ml-cross-entropy cce.py.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_fused_kernels {

using namespace headroom;

namespace {

constexpr std::int64_t T = 128, h = 512, I = 1024, V = 4096, r = 16;

constexpr job adapted(fused_kernels kernels) {
  job j;
  j.model.layers = 2;
  j.model.hidden = h;
  j.model.heads = 4;
  j.model.kv_heads = 4;
  j.model.ffn = I;
  j.model.vocab = V;
  j.framework = frameworks::hf_trainer;
  j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
  j.batch = {.micro = 1, .sequence = T};
  j.attention = attention::flash;
  j.kernels = kernels;
  j.adapter = {.kind = adapter_kind::lora, .rank = r, .targets = all_linear, .format = formats::fp32};
  return j;
}
constexpr fused_kernels every{fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary, fused_kernel::adapted_qkv, fused_kernel::adapted_output, fused_kernel::adapted_mlp};

constexpr layer_walk walked(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, {}, true);
}
constexpr std::int64_t saved(const job& j) { return walked(j).saved.total.count(); }
constexpr program tail(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return head_and_loss(sc, trained_modules(j, -1), true);
}

}  // namespace

TEST_CASE("adapters beside their matrices in one function, and Liger's layers") {
  // Both norms: x, a root a row and the result, which the next function keeps. Flash: q, k, v, out, a sum a row and head.
  constexpr std::int64_t norms = 2 * (2 * T * h + 4 * T + 2 * T * h), flash = 4 * 2 * T * h + 4 * T * 4;
  constexpr std::int64_t attention_copies = 4 * 2 * (r * h + h * r), mlp = 2 * 2 * T * I, mlp_copies = 3 * 2 * (r * h + r * I);
  BOTH(saved(adapted(every)) == norms + flash + attention_copies + mlp + mlp_copies);

  constexpr auto dropped = [] {
    auto j = adapted(every);
    j.adapter.dropout = probability::of(0.05);
    return j;
  }();
  // A mask of bytes and what is left of each function's input: q, k and v share theirs, gate and up theirs, and down has none.
  BOTH(saved(dropped) == saved(adapted(every)) + 3 * (T * h + 2 * T * h));
}

TEST_CASE("norms and rotary embedding of queries and keys at once") {
  // axolotl src/axolotl/kernels/gemma4_fused_rope.py, save_for_backward: queries and keys as they come out of their matrices, and a root for each of 4 heads.
  constexpr auto turned = [] {
    auto kernels = every;
    kernels.add(fused_kernel::normed_rotary);
    auto j = adapted(kernels);
    j.model.qk_norm = true;
    return j;
  }();
  BOTH(saved(turned) == saved(adapted(every)) + 2 * (2 * T * h + 4 * 4 * T));
  // Two samples: the model's cosines and sines are of one, and each call copies them for both.
  auto two = turned;
  two.batch.micro = 2;
  auto bare = adapted(every);
  bare.batch.micro = 2;
  CHECK(saved(two) == saved(bare) + 2 * (2 * 2 * T * h + 4 * 4 * 2 * T) + 2 * 2 * (2 * 2 * T * (h / 4)));
  CHECK(objection_to(turned).sentence == nullptr);
  auto plain = adapted({fused_kernel::normed_rotary});
  CHECK(std::string_view{objection_to(plain).sentence}.find("normed-rotary") != std::string_view::npos);
}

TEST_CASE("each thing that a fused kernel is not modelled with is refused by itself") {
  const auto why = [](job j, void (*change)(job&)) {
    change(j);
    const auto o = detail::check_kernels(j, objecting{});
    return std::string_view{o.sentence == nullptr ? "" : o.sentence};
  };
  const auto refused = [&](const job& j, std::string_view what, void (*change)(job&)) {
    CHECK(why(j, [](job&) {}).empty());
    CHECK(why(j, change).find(what) != std::string_view::npos);
  };
  auto turned = adapted({fused_kernel::normed_rotary});
  turned.model.qk_norm = true;
  constexpr std::string_view both = "(normed-rotary) is modelled for text models that have both in every layer";
  refused(turned, both, [](job& j) { j.model.qk_norm = false; });
  refused(turned, both, [](job& j) { j.model.position = position_kind::learned; });
  refused(turned, both, [](job& j) { j.model.rotary = rotary_kind::pairs; });
  refused(turned, both, [](job& j) { j.model.rotary_percent = 50; });
  refused(turned, both, [](job& j) { j.model.mla.kv_rank = 64; });
  refused(turned, both, [](job& j) { j.model.pattern.period = 1; });
  refused(turned, both, [](job& j) { j.model.gated_attention = true; });
  refused(turned, both, [](job& j) { j.model.vision.layers = 1; });
  constexpr std::string_view norms = "kernels must be without \"norm\"";
  refused(adapted({fused_kernel::norm}), norms, [](job& j) { j.model.gated_attention = true; });
  refused(adapted({fused_kernel::norm}), norms, [](job& j) { j.model.fp32_norm = true; });
  constexpr std::string_view nowhere = "are not modelled for this framework, compiled or selectively recomputed layers";
  for (const auto k : {fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary, fused_kernel::adapted_qkv}) {
    refused(adapted({k}), nowhere, [](job& j) { j.compile = true; });
    refused(adapted({k}), nowhere, [](job& j) { j.recompute.mode = recompute_mode::selective; });
    refused(adapted({k}), nowhere, [](job& j) { j.framework = frameworks::megatron; });
  }
  constexpr std::string_view lora = "are modelled for LoRA with bases of 16 or of 4 bits, adapted-mlp on dense gated models";
  for (const auto k : {fused_kernel::adapted_qkv, fused_kernel::adapted_output, fused_kernel::adapted_mlp}) {
    refused(adapted({k}), lora, [](job& j) { j.adapter.kind = adapter_kind::dora; });
    refused(adapted({k}), lora, [](job& j) { j.adapter.base = formats::int8; });
  }
  refused(adapted({fused_kernel::adapted_mlp}), lora, [](job& j) { j.model.mlp = mlp_kind::plain; });
  refused(adapted({fused_kernel::adapted_mlp}), lora, [](job& j) { j.model.experts.count = 4; });
  CHECK(why(adapted({fused_kernel::adapted_qkv}), [](job& j) { j.model.mlp = mlp_kind::plain; }).empty());
  CHECK(why(adapted({fused_kernel::adapted_qkv}), [](job& j) { j.model.experts.count = 4; }).empty());
}

TEST_CASE("a kernel takes over where all of its matrices have adapters") {
  auto some = adapted({fused_kernel::adapted_qkv, fused_kernel::adapted_mlp});
  some.adapter.targets = module_set{module::q_proj, module::v_proj};
  auto plain = some;
  plain.kernels = {};
  CHECK(saved(some) == saved(plain));
  CHECK(saved(adapted({fused_kernel::adapted_output})) < saved(adapted({})));
}

TEST_CASE("the MLP's backward writes its gradients over what it kept") {
  const auto backward = [] {
    const auto s = settle(adapted({fused_kernel::adapted_mlp}));
    auto sc = s.layer;
    sc.model = &s.model;
    program p(1);
    const auto x = p.input(T * h, 2, true);
    p.set_output(ops::adapted_feed_forward(p, sc, x, I));
    return walk_backward(p).peak.total.count();
  };
  // x, gate, up and A, B in 16 bits; the gradients of the result and of x; that of the product; of each adapter the low-rank gradient and A's and B's in
  // 16 bits, and A·Xᵀ; then A's and B's in fp32.
  constexpr std::int64_t ab = 3 * (r * h + r * I), kept = 2 * T * h + 4 * T * I + 2 * ab, gradients = 2 * 2 * T * h + 2 * T * I, low = 3 * 2 * T * r + 2 * ab + 2 * r * T;
  CHECK(backward() == kept + gradients + low + 4 * ab);
}

TEST_CASE("a base of 4 bits is made whole once, with its blocks' scales") {
  const auto backward = [](number_format base) {
    auto j = adapted({fused_kernel::adapted_output});
    j.adapter.base = base;
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    program p(1);
    const auto x = p.input(T * h, 2, true);
    p.set_output(ops::multiply_adapted(p, sc, x, {{module::o_proj, h, h}})[0]);
    return walk_backward(p).peak.total.count();
  };
  CHECK(backward(formats::nf4_double) - backward({}) == 2 * h * h + 4 * h * h / 64);
}

TEST_CASE("cut cross entropy makes no logits") {
  auto j = adapted({});
  j.loss.kind = loss_kind::cut;
  const auto p = tail(j);
  CHECK(p.logits() == 0);
  // The final norm's: fp32 x and a root a row; the head's input in 16 bits and a log-sum-exp a row.
  CHECK(walk_forward(p).saved.count() == 4 * T * h + 4 * T + 2 * T * h + 4 * T);
  j.kernels = {fused_kernel::norm};
  CHECK(walk_forward(tail(j)).saved.count() == 2 * T * h + 4 * T + 2 * T * h + 4 * T);
}

TEST_CASE("what is frozen beside a quantised base") {
  auto j = adapted({});
  j.hardware.gpu = gpus::h100_sxm_80gb;
  j.adapter.base = formats::nf4;
  const auto fp32 = estimate(j).ranks[0].at_peak[row::model_parameters];
  j.adapter.rest = formats::bf16;
  // Embedding, head and five norms: two of each layer and the last.
  CHECK((fp32 - estimate(j).ranks[0].at_peak[row::model_parameters]).count() == 2 * (2 * V * h + 5 * h));
}

TEST_CASE("refused: what has no such kernel") {
  auto j = adapted({fused_kernel::adapted_mlp});
  j.hardware.gpu = gpus::h100_sxm_80gb;
  CHECK(estimate(j).peak() > bytes{0});
  j.adapter.kind = adapter_kind::dora;
  CHECK_THROWS_WITH_AS(estimate(j), "headroom: kernels for adapters (adapted-qkv, adapted-output, adapted-mlp) are modelled for LoRA with bases of 16 or of 4 bits, adapted-mlp on dense gated models, by this version", error);
  j = adapted({});
  j.hardware.gpu = gpus::h100_sxm_80gb;
  j.batch.packed = true;
  CHECK(estimate(j).peak() > bytes{0});
  j.attention = attention::sdpa;
  CHECK_THROWS_WITH_AS(estimate(j), "headroom: packed sequences need a kernel that takes them apart here; attention must be flash or flash3", error);
}

}  // namespace test_fused_kernels
