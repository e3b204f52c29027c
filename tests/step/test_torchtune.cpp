// Distributed under the Boost Software License, Version 1.0.
// What torchtune's layers, losses and updates keep, counted by hand from its source.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_torchtune {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr shape llama{.layers = 2, .hidden = 256, .heads = 8, .kv_heads = 2, .head_dim = 32, .ffn = 512, .position = position_kind::rope, .max_positions = 4096, .vocab = 1024};
constexpr std::int64_t positions = 2 * 512;

job small() {
  return {.model = llama, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::torchtune_202409, .precision = precisions::bf16,
          .batch = {.micro = 2, .sequence = 512}, .loss = {.kind = loss_kind::full, .logits = formats::fp32}};
}

bytes in(const report& r, phase p, row w) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][w]; }

}  // namespace

// modules/transformer.py TransformerSelfAttentionLayer, read line by line; h = 256, q = 256, I = 512, 8 heads of 32, bf16.
TEST_CASE("what torchtune's eager layer keeps") {
  auto j = small();
  const auto saved = [&] {
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    module_set all;
    all.bits = (1U << module_count) - 1;
    return walk_layer(sc, all, true).saved.total;
  };
  // A token: two norms (x in fp32 4h, root 4, normalised 2h) and their results 2h; q, repeated k and v, and the output 2·256 each, a
  // log-sum-exp a head; gate, its silu, up and their product 2I each.
  constexpr std::int64_t token = 2 * (1024 + 4 + 512 + 512) + 4 * 512 + 8 * 4 + 4 * 1024;
  CHECK(saved() == bytes{positions * token});
  // Packed, q and k each look up their rows of the rotary cache, fp32 cosines and sines of half a head each.
  j.batch.packed = true;
  CHECK(saved() == bytes{positions * (token + 2 * 32 * 4)});
  j.framework = frameworks::libtorch;
  CHECK_THROWS_AS(estimate(j), job_error);
}

// Bytes for each of tokens × vocabulary. Sources: the recipe's _loss_step, modules/loss/ce_chunked_output_loss.py.
TEST_CASE("what torchtune keeps of the logits") {
  constexpr std::int64_t logits = positions * 1024;
  auto j = small();
  auto r = estimate(j);
  CHECK(in(r, phase::loss_forward, row::logits) == bytes{8 * logits});  // fp32 logits of the model, log-probabilities
  CHECK(in(r, phase::backward, row::logits) == bytes{12 * logits});     // those two went into one: log-probabilities and two gradients
  j.loss.kind = loss_kind::chunked;
  r = estimate(j);
  // All chunks in bf16, all log-probabilities, and the fp32 copy of the last of eight chunks.
  CHECK(in(r, phase::loss_forward, row::logits) == bytes{(2 + 4) * logits + 4 * logits / 8});
  j.compile = true;
  r = estimate(j);
  CHECK(in(r, phase::loss_forward, row::logits) == bytes{2 * logits});
  j.loss = {};  // since 2024-08 the recipes ask for the chunked loss
  CHECK(in(estimate(j), phase::loss_forward, row::logits) == bytes{2 * logits});
}

// One buffer of cosines and sines for all layers, as long as the model allows (modules/position_embeddings.py build_rope_cache).
TEST_CASE("torchtune's rotary cache does not depend on the sequence") {
  auto j = small();
  const auto whole = in(estimate(j), phase::save, row::activations);
  j.framework.rotary.tables = rope_tables::cached;
  CHECK(whole - in(estimate(j), phase::save, row::activations) == bytes{4096 * 32 * 4 - 2 * 512 * 32 * 4});  // litgpt's: both of all features
}

// The update of a weight runs when its gradient is complete: one that embedding and head share waits for the embedding.
TEST_CASE("an optimizer in backward keeps a shared weight's gradient to the end") {
  auto j = small();
  j.model.tied = true;
  j.model.vocab = 65536;  // so that the end of backward is what counts
  j.recompute = recompute::full;
  j.loss = {.kind = loss_kind::fused};
  j.optimizer = optimizers::adamw;
  j.optimizer.how = implementation::loop;
  j.optimizer.in_backward = true;
  j.batch = {.micro = 1, .sequence = 8};
  constexpr bytes table{2 * 65536 * 256};
  const auto r = estimate(j);
  // The head's gradient, while the embedding's is made; then one of them, and the two temporaries of the update.
  CHECK(in(r, phase::backward, row::gradients) + in(r, phase::backward, row::temporaries) >= 3 * table);
  CHECK(in(r, phase::step, row::gradients) == 0_B);
}

TEST_CASE("under FSDP2 torchao's NF4 weights are cut with their scales") {
  // Llama-3.1-405B's linear layers (h 16384, 8 heads of keys and values 128 wide, f 53248) on 8 GPUs: half a byte an element, a byte for 64, four for 256 of those
  // (torchao dtypes/nf4tensor.py: quantized_data, quantized_scalers, quantization_factor), an eighth of each on a rank. A table of 16 a weight is left out.
  constexpr std::int64_t h = 16384, kv = 1024, f = 53248, layers = 126, vocab = 128256, elements = layers * (2 * h * h + 2 * h * kv + 3 * h * f);
  constexpr std::int64_t packed = elements / 2 + elements / 64 + elements / 64 / 256 * 4, plain = 2 * (2 * vocab * h + (2 * layers + 1) * h);
  job j{.model = {.layers = layers, .hidden = h, .heads = 128, .kv_heads = 8, .ffn = f, .vocab = vocab}, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8},
        .framework = frameworks::torchtune_202409, .precision = precisions::bf16, .parallel = {.data = 8}, .batch = {.micro = 1, .sequence = 512}, .recompute = recompute::full};
  j.sharding = {.kind = sharding_kind::fsdp2, .stage = 3};
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .format = formats::bf16, .base = formats::nf4_double};
  const auto here = states(j).gpu[row::model_parameters].count();
  CHECK(here >= (packed + plain) / 8);
  CHECK(here < (packed + plain) / 8 + layers * 7 * 2048);
  CHECK(states(j).frozen_extra.count() == 0);  // nothing stays on the GPU where weights lie in host memory
  // Gathered with their scales, too: a layer and the next one, beside the embedding and the head.
  constexpr std::int64_t layer = packed / layers, ends = 2 * 2 * vocab * h;
  const auto gathered = estimate(j).ranks[0].at_peak[row::gathered_parameters].count();
  CHECK(gathered >= 2 * layer + ends);
  CHECK(gathered < 2 * layer + ends + (64 << 20));
}

}  // namespace test_torchtune
