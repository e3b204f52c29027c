// Distributed under the Boost Software License, Version 1.0.
// What Hugging Face's Trainer of 2023 keeps of a layer and of its loss. Counts are written out from the sources that each test names.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_trainer_layers {

using namespace headroom;

namespace {

constexpr std::int64_t T = 128, h = 512, I = 1024, V = 4096;

constexpr job trainer(bool fused_qkv, const profile& framework) {
  job j;
  j.model.layers = 2;
  j.model.hidden = h;
  j.model.heads = 4;
  j.model.kv_heads = 4;
  j.model.ffn = I;
  j.model.vocab = V;
  j.model.fused_qkv = fused_qkv;
  j.framework = framework;
  j.precision = precisions::bf16;
  j.batch = {.micro = 1, .sequence = T};
  j.recompute = recompute::full;
  j.attention = attention::flash;
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .base = formats::bf16};
  j.adapter.fused_qkv = fused_qkv;
  return j;
}

constexpr program tail(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return head_and_loss(sc, trained_modules(j, -1), true);
}

/// What a layer's parts save, in all.
constexpr bytes saved_weights(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  bytes sum{0};
  for_each_block(sc, s.model.kind_of(0), {}, true, [&](const program& p) { sum += p.sum(p.weights() & p.saved()); });
  return sum;
}
constexpr bytes saved(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_layer(sc, {}, true).saved.total;
}

}  // namespace

TEST_CASE("under autocast, log_softmax of 16-bit logits stays in 16 bits and nll_loss reads a cast") {
  // aten/src/ATen/native/LossNLL.cpp asks log_softmax for its input's format, and autocast respects that; nll_loss is on its fp32 list.
  // QWenLMHeadModel does not upcast. Of one sequence, [:, :-1] is contiguous. Saved: 2 + 4 bytes a logit.
  constexpr auto p = tail(trainer(true, frameworks::hf_trainer_2023));
  BOTH(p.sum(p.logits() & p.saved()).count() == 6 * V * (T - 1));
  // Forward is tallest when accelerate (utils/operations.py convert_to_fp32) has copied the model's logits: 2 + 2 + 4 + 4.
  BOTH(walk_forward(p).peak.rows[row::logits].count() == 6 * V * T + 6 * V * (T - 1));
}

TEST_CASE("LlamaForCausalLM of 2023 makes fp32 logits, of which one sequence needs no shifted copy") {
  constexpr auto p = tail(trainer(false, frameworks::hf_trainer_2023));
  BOTH(p.sum(p.logits() & p.saved()).count() == 4 * V * (T - 1));
  BOTH(walk_forward(p).peak.rows[row::logits].count() == 4 * V * T + 4 * V * (T - 1));
}

TEST_CASE("PEFT before 0.7 makes fp32 adapters over a base in 16 bits, PEFT 0.7 does not") {
  constexpr std::int64_t n = 2 * 16 * ((h + 3 * h) + 2 * h + 3 * (h + I));
  BOTH(states(trainer(true, frameworks::hf_trainer_2023)).gpu[row::adapters].count() == 4 * n);
  BOTH(states(trainer(true, frameworks::hf_trainer_202312)).gpu[row::adapters].count() == 2 * n);
  BOTH(states(trainer(true, frameworks::deepspeed_2023)).gpu[row::adapters].count() == 2 * n);  // its engine halves the module
}

TEST_CASE("a matrix quantised by GPTQ is saved as it was unpacked") {
  // qlinear_cuda_old.py: fp16 weights are the operand of torch.matmul, so autograd saves all of them: q, k, v; o; gate, up, down.
  constexpr auto j = [] {
    auto r = trainer(true, frameworks::deepspeed_2023);
    r.adapter.base = formats::gptq_int4;
    return r;
  }();
  BOTH(saved_weights(j).count() == 2 * (3 * h * h + h * h + 3 * h * I));
  BOTH(saved_weights(trainer(true, frameworks::deepspeed_2023)).count() == 0);
}

TEST_CASE("litgpt's q, k and v are copies of its projection where heads share keys, and views of it where they do not") {
  // litgpt model.py, CausalSelfAttention: k and v are expanded and reshaped, which copies; without groups a reshape is a view, so that v keeps
  // the projection's whole result. q and k are made anew by the rotary embedding.
  constexpr auto of = [](std::int64_t kv) {
    auto r = trainer(false, frameworks::litgpt_202410);
    r.adapter = {};
    r.model.kv_heads = kv;
    return r;
  };
  constexpr auto alone = of(4), grouped = of(2);
  BOTH((saved(alone) - saved(grouped)).count() == 2 * T * 3 * h - 2 * T * h);
}

TEST_CASE("DoRA saves what the base made and what the adapter made") {
  // peft tuners/lora/dora.py: (mag_norm_scale - 1) * base_result + mag_norm_scale * lora_result, of a bf16 base and fp32 adapters.
  constexpr auto of = [](adapter_kind kind) {
    auto r = trainer(false, frameworks::libtorch);
    r.adapter.kind = kind;
    r.adapter.targets = {module::q_proj, module::v_proj};
    r.adapter.format = formats::fp32;
    return r;
  };
  constexpr auto lora = of(adapter_kind::lora), dora = of(adapter_kind::dora);
  BOTH((saved(dora) - saved(lora)).count() == 2 * T * h * (2 + 4));
}

// A rank of context parallelism adds the positions of its own tokens: two tensors of two samples' tokens, and one of a sample's.
TEST_CASE("learned positions of a rank's tokens") {
  job j{.model = {.layers = 1, .hidden = h, .heads = 4, .ffn = I, .position = position_kind::learned, .max_positions = T, .vocab = V}, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 4},
        .framework = frameworks::torchtitan_202404, .parallel = {.data = 2, .context = 2}, .sharding = fsdp2(), .batch = {.micro = 2, .sequence = T}};
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  with_made([&] { return embedding(sc, trained_modules(j, -1)); }, [&](const program& p) { CHECK(walk_forward(p).peak.total.count() == 2 * h * (T + T + T / 2)); });
}

}  // namespace test_trainer_layers
