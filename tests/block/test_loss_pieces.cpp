// Distributed under the Boost Software License, Version 1.0.
// Parts of losses and of a fused projection's adapter by themselves, tensor by tensor, with a granule of one byte.
#include <headroom/headroom.hpp>

#include "../both.hpp"

namespace test_loss_pieces {

using namespace headroom;

namespace {

constexpr std::int64_t T = 64, h = 32, V = 4096;

constexpr scene scene_of(const shape& m, const profile& habits) { return {.model = &m, .habits = &habits, .samples = 1, .tokens = T, .width = 2, .weight_width = 2, .granule = 1}; }

}  // namespace

// swift/sequence_parallel/utils.py GatherLoss: this rank's losses beside those of all ranks, behind logits of one word, so that these are the tallest.
TEST_CASE("losses of all ranks stand beside this rank's") {
  constexpr auto peak = [](std::int64_t ranks) {
    const shape m{.layers = 1, .hidden = h, .heads = 1, .ffn = h, .vocab = 1};
    auto s = scene_of(m, frameworks::hf_trainer);
    s.context = ranks, s.vocabulary = 1, s.loss.chunk_tokens = T;
    program p(1);
    p.set_output(ops::cross_entropy_of_rows(p, s, p.input(T, 2, true)));
    return walk_forward(p).peak.total.count();
  };
  CHECK(peak(8) - peak(4) == 4 * T * 2);
  CHECK(peak(8) == T * 2 + T * 2 + 8 * T * 2);  // logits, losses, all losses
}

// trl sft_trainer.py _chunked_cross_entropy_loss: in backward of a chunk the weight's gradients of the chunks before, this chunk's in fp32, and either the 16-bit one that
// it was cast from or, where autograd adds up out of place, the sum of both.
TEST_CASE("gradients of chunks are added up in place, or in a third tensor") {
  constexpr auto temporary = [](bool out_of_place, std::int64_t chunk) {
    const shape m{.layers = 1, .hidden = h, .heads = 1, .ffn = h, .vocab = V};
    auto habits = frameworks::hf_trainer;
    habits.autograd.sums_out_of_place = out_of_place;
    auto s = scene_of(m, habits);
    s.autocast = s.casts_weights = true, s.vocabulary = V, s.loss.chunk_tokens = chunk, s.weight_width = 4;
    program p(1);
    p.set_output(ops::checkpointed_chunks(p, s, p.input(T * h, 2, true), true));
    return walk_backward(p, false).peak.total.count();
  };
  CHECK(temporary(true, 1) - temporary(false, 1) == (3 * 4 - (2 * 4 + 2)) * V * h);
  CHECK(temporary(true, T) == temporary(false, T));  // one chunk has nothing to add
}

// litgpt/lora.py LoRAQKVLinear of 2 heads of 16 features, one of them with keys: x; lora_A of two parts; the convolution's result, which index_copy saves, and an int64 index for each of its features.
TEST_CASE("an adapter of keys and values in a fused projection has nothing of queries") {
  constexpr auto saved = [](module_set of) {
    const shape m{.layers = 1, .hidden = h, .heads = 2, .kv_heads = 1, .ffn = h, .vocab = V};
    const adapter side{.kind = adapter_kind::lora, .rank = 4, .targets = of, .format = formats::bf16};
    auto s = scene_of(m, frameworks::litgpt_202410);
    s.side = &side, s.adapter_width = 2;
    program p(1);
    const auto x = p.input(T * h, 2, true), qkv = p.make(T * (h + 2 * 16), 2);
    p.step(0, qkv.bit());
    p.set_output(ops::adapt_fused_qkv(p, s, x, qkv));
    return walk_forward(p).saved.count();
  };
  constexpr auto by_hand = [](std::int64_t parts, std::int64_t features) { return 2 * T * h + 2 * T * 4 * parts + 2 * T * features + 8 * features; };
  CHECK(saved({module::k_proj, module::v_proj}) == by_hand(2, 32));
  CHECK(saved({module::v_proj}) == by_hand(1, 16));
  CHECK(saved({module::q_proj}) == by_hand(1, h));
  CHECK(saved({module::q_proj, module::k_proj, module::v_proj}) == 2 * T * h + 2 * T * 4 * 3);
  CHECK(saved({module::o_proj}) == 0);
}

}  // namespace test_loss_pieces
