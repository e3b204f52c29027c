// Distributed under the Boost Software License, Version 1.0.
// Unsloth's layers, loss and checkpoints: bytes for each token summed up by hand from its source, and the longest contexts that it published.
#include <headroom/headroom.hpp>

#include <both.hpp>
#include <doctest/doctest.h>

namespace test_unsloth {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr job qlora(const shape& model, const profile& framework, std::int64_t tokens, bytes memory, attention kernel = attention::unset) {
  gpu g = gpus::a100_sxm_80gb;
  g.memory = memory;
  return {.model = model, .hardware = {.gpu = g}, .framework = framework, .precision = precisions::bf16, .optimizer = optimizers::adamw_8bit, .offload = {.activations = place::on_cpu},
          .batch = {.micro = 1, .sequence = tokens}, .recompute = recompute::full, .attention = kernel,
          .adapter = {.kind = adapter_kind::lora, .rank = 32, .targets = all_linear, .base = formats::nf4_double}};
}
constexpr const rank_report& only(const report& r) { return r.ranks[0]; }

/// Bytes at the peak for each token more: what is rounded or constant cancels.
constexpr std::int64_t per_token(const shape& m, const profile& f, attention kernel) {
  constexpr std::int64_t few = 20'480, many = 40'960;
  const auto a = estimate(qlora(m, f, few, 80_GiB, kernel)), b = estimate(qlora(m, f, many, 80_GiB, kernel));
  return (only(b).allocated - only(a).allocated).count() / (many - few);
}

// Llama 3.1 8B: a hidden state is 4096 × 2 = 8192 bytes, keys or values 1024 × 2, gate or up 14336 × 2 = 28,672.
// While the MLP's backward has just made the gradient of its product there are: the layer's input, both norms' results, q, attention's result, the sum
// behind attention, the layer's result and its gradient: eight hidden states; k and v; gate, up and that gradient. A log-sum-exp for each of 32 heads
// and a number for each of two norms in fp32; token and label (int64); cosine and sine (128 × 2 × 2).
constexpr std::int64_t eight_b = 8 * 8192 + 2 * 2048 + 3 * 28'672 + 32 * 4 + 2 * 4 + 2 * 8 + 512;
// Llama 3.3 70B: hidden states of 16,384, the same keys and values, 57,344 for gate or up, 64 heads.
constexpr std::int64_t seventy_b = 8 * 16'384 + 2 * 2048 + 3 * 57'344 + 64 * 4 + 2 * 4 + 2 * 8 + 512;

}  // namespace

TEST_CASE("a token at the peak of backward, tensor by tensor") {
  BOTH(eight_b == 156'312);
  // Until 2025-03 X·A·B is a tensor beside the product that it is added to, and X·A (32 × 2) lives until then; checkpoints come back as tensors.
  BOTH(per_token(models::llama_3_1_8b, frameworks::unsloth_202411, attention::flash) == eight_b + 28'672 + 64);
  // Since then a buffer of the hidden state's size stays for checkpoints, beside the input of the last layer, which never left; since 2026-05 two.
  BOTH(per_token(models::llama_3_1_8b, frameworks::unsloth_202503, attention::flash) == eight_b + 8192);
  BOTH(per_token(models::llama_3_1_8b, frameworks::unsloth_202607, attention::flash) == eight_b + 2 * 8192);
  // xFormers is given keys and values that are repeated for all query heads: 4096 × 2 instead of 1024 × 2 each.
  BOTH(per_token(models::llama_3_1_8b, frameworks::unsloth_202411, attention::unset) == eight_b + 28'672 + 64 + 2 * (8192 - 2048));
  BOTH(per_token(models::llama_3_3_70b, frameworks::unsloth_202411, attention::unset) == seventy_b + 57'344 + 64 + 2 * (16'384 - 2048));
}

TEST_CASE("what stays: a base of 4 bits, adapters in fp32, 16 bits for all else, and the buffer of the largest matrix") {
  constexpr auto r = estimate(qlora(models::llama_3_1_8b, frameworks::unsloth_202503, 4096, 24_GiB));
  const auto& rows = only(r).at_peak;
  // 83,886,080 numbers at rank 32: 32 layers × 32 × (2 × 8192 for q and o, 2 × 5120 for k and v, 3 × 18432 for the MLP).
  CHECK(rows[row::adapters] == 4 * bytes{32 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18'432)});
  // 6,979,321,856 numbers in 4 bits, with scales of 8 bits for 64 of them and of 32 bits for 64 × 256; two tables of 128,256 × 4,096 and 65 norms in bf16.
  constexpr std::int64_t packed = 6'979'321'856, rest = 2 * 128'256 * 4096 + 65 * 4096;
  const auto base = packed / 2 + packed / 64 + packed / 64 / 256 * 4 + 2 * rest;
  CHECK(rows[row::model_parameters].count() > base);
  CHECK(rows[row::model_parameters].count() < base + base / 1000);  // tables of codes, offsets, rounding
  // 4096 × 14,336 in bf16, their 64ths in fp32, and 4096 hidden states; two cuBLAS workspaces.
  CHECK(rows[row::workspace].count() == 4096 * 14'336 * 2 + 4096 * 14'336 / 64 * 4 + 4096 * 8192 + 2 * 8'519'680);
  constexpr auto before = estimate(qlora(models::llama_3_1_8b, frameworks::unsloth_202411, 4096, 24_GiB));
  CHECK(only(before).at_peak[row::workspace].count() == 2 * 8'519'680);
}

TEST_CASE("the loss: cut, whole for few tokens, or in chunks by the memory that is free") {
  const auto logits = [](const profile& f, std::int64_t tokens, bytes memory) {
    const auto r = estimate(qlora(models::llama_3_1_8b, f, tokens, memory));
    return only(r).at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count();
  };
  CHECK(logits(frameworks::unsloth_202503, 1025, 24_GiB) == 0);
  CHECK(logits(frameworks::unsloth_202503, 1024, 24_GiB) == 1024 * 128'256 * (2 + 4));  // bf16, and accelerate's copy in fp32
  // One chunk where fp32 logits of all tokens fit into 4 GiB: its logits and their gradient in bf16, and the gradient of its rows.
  CHECK(logits(frameworks::unsloth_202607, 2048, 24_GiB) == 2048 * (2 * 128'256 * 2 + 8192));
  // 65,536 tokens: 31.3 GiB, 7.8 times 4 GiB, so eight chunks. On 80 GiB, before there was a limit, half of what is free is more than that.
  CHECK(logits(frameworks::unsloth_202607, 65'536, 80_GiB) == 8192 * (std::int64_t{2 * 128'256 * 2} + 8192));
  CHECK(logits(frameworks::unsloth_202509, 65'536, 80_GiB) == 65'536 * (std::int64_t{2 * 128'256 * 2} + 8192));
  // On 12 GiB 6.3 are free, of which half is 3.1: 65,536 tokens are 10 times that, in chunks of multiples of four: 12, rounded 8 to 12 before.
  CHECK(logits(frameworks::unsloth_202607, 65'536, 12_GiB) == 5462 * (std::int64_t{2 * 128'256 * 2} + 8192));
}

TEST_CASE("the loss's range: one-hot targets in fp32 would be as much again as a chunk's logits and their gradient") {
  constexpr auto r = estimate(qlora(models::llama_3_1_8b, frameworks::unsloth_202607, 8192, 24_GiB));  // one chunk, at the peak
  BOTH(only(r).peak_phase == phase::loss_forward);
  BOTH(base_of(only(r), error_base::logits_again) == only(r).at_peak[row::logits]);
  // Beside a taller backward only what rises above that.
  constexpr auto tall = estimate(qlora(models::llama_3_1_8b, frameworks::unsloth_202607, 65'536, 80_GiB));
  BOTH(only(tall).peak_phase == phase::backward);
  const auto loss = only(tall)[phase::loss_forward] + only(tall).at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits];
  CHECK(base_of(only(tall), error_base::logits_again) == (loss > only(tall).allocated ? loss - only(tall).allocated : bytes{0}));
}

TEST_CASE("adapters that Unsloth does not take over go PEFT's way, whose activation and product are kept") {
  auto j = qlora(models::llama_3_1_8b, frameworks::unsloth_202607, 8192, 24_GiB);
  const auto kept = [](const job& of) { return only(estimate(of)).at_phase[static_cast<std::size_t>(phase::backward)][row::activations]; };
  const auto fused = kept(j);
  j.adapter.dropout = probability::of(0.05);
  CHECK(kept(j) > fused);
  j.adapter.dropout = {};
  j.adapter.targets = {module::q_proj, module::v_proj};
  CHECK(kept(j) > fused);
}

TEST_CASE("contexts that Unsloth published as the longest fit, and are near: docs.unsloth.ai, Unsloth Benchmarks, 2024-12") {
  struct published {
    const shape* model;
    std::int64_t gib, tokens;
  };
  for (const auto& p : {published{&models::llama_3_1_8b, 8, 2972}, published{&models::llama_3_1_8b, 12, 21'848}, published{&models::llama_3_1_8b, 16, 40'724},
                        published{&models::llama_3_1_8b, 24, 78'475}, published{&models::llama_3_1_8b, 40, 153'977}, published{&models::llama_3_1_8b, 48, 191'728},
                        published{&models::llama_3_1_8b, 80, 342'733}, published{&models::llama_3_3_70b, 48, 12'106}, published{&models::llama_3_3_70b, 80, 89'389}}) {
    CAPTURE(p.gib);
    CAPTURE(p.tokens);
    const auto memory = p.gib * 1_GiB;
    const auto r = estimate(qlora(*p.model, frameworks::unsloth_202411, p.tokens, memory));
    CHECK(only(r).device <= memory);
    CHECK(only(r).device.count() > memory.count() * 86 / 100);
    CHECK(bounds(r, 0.95).contains(memory));
    CHECK(bounds(r, 0.95).high.count() < memory.count() * 125 / 100);
  }
}

TEST_CASE("what is not modelled is refused by name") {
  const auto said = [](const job& j) { const auto why = objection_to(j); return why ? std::string{why.in_words().what()} : std::string{}; };
  const auto good = qlora(models::qwen3_8b, frameworks::unsloth_202607, 4096, 24_GiB);
  CHECK(said(good).empty());
  CHECK(said(qlora(models::qwen2_5_7b, frameworks::unsloth_202607, 4096, 24_GiB)).empty());
  CHECK(said(qlora(models::gemma_7b, frameworks::unsloth_202607, 4096, 24_GiB)).find("Qwen3's layers alone") != std::string::npos);
  CHECK(said(qlora(models::mixtral_8x7b, frameworks::unsloth_202607, 4096, 80_GiB)).find("Qwen3's layers alone") != std::string::npos);
  auto j = good;
  j.adapter = {};
  CHECK(said(j).find("full_finetuning") != std::string::npos);
  j = good;
  j.adapter.kind = adapter_kind::dora;
  CHECK(said(j).find("adapter.kind") != std::string::npos);
  j = good;
  j.adapter.base = formats::int8;
  CHECK(said(j).find("nf4") != std::string::npos);
  j = good;
  j.hardware.gpus_per_node = 2;
  CHECK(said(j).find("one GPU") != std::string::npos);
  j = good;
  j.loss.kind = loss_kind::full;
  CHECK(said(j).find("UNSLOTH_RETURN_LOGITS") != std::string::npos);
  j = good;
  j.compile = true;
  CHECK(said(j).find("compile") != std::string::npos);
  j = good;
  j.recompute = recompute::none;
  CHECK(said(j).find("recompute") != std::string::npos);
}

}  // namespace test_unsloth
