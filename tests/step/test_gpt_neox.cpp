// Distributed under the Boost Software License, Version 1.0.
// GPT-NeoX's layers and checkpoints, counted by hand from its source (EleutherAI/gpt-neox ea7aefd8 megatron/model/transformer.py).
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>
#include <headroom/replay.hpp>

#include "both.hpp"

namespace test_gpt_neox_step {

using namespace headroom;

namespace {

/// 1,024 features, 8 heads of which a quarter turns, 4,096 in between; 2 samples of 1,024 tokens; fused kernels.
constexpr job neox(std::int64_t layers, std::int64_t tensor, bool beside = true, attention kernel = attention::eager) {
  job j{.model = {.layers = layers, .hidden = 1024, .heads = 8, .ffn = 4096, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm, .position = position_kind::rope, .rotary_percent = 25,
                  .vocab = 32768, .tied = false},
        .hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = tensor},
        .framework = frameworks::gpt_neox,
        .parallel = {.tensor = tensor},
        .sharding = zero(1),
        .batch = {.micro = 2, .sequence = 1024, .accumulation = 2},
        .attention = kernel};
  j.model.norm_bias = j.model.attention_bias = j.model.output_bias = j.model.mlp_bias = true;
  j.model.parallel_block = beside;
  j.framework.attention.fills_masked_scores = j.framework.mlp.adds_bias_apart = false;
  return j;
}
constexpr std::int64_t activations_at_loss(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }
/// What one more layer leaves at the loss.
constexpr std::int64_t left(job (*of)(std::int64_t)) { return activations_at_loss(of(3)) - activations_at_loss(of(2)); }

constexpr std::int64_t tokens = 2048, x = 2 * tokens * 1024, f = 4 * x, scores = 2 * 2 * 8 * 1024 * 1024;
constexpr std::int64_t statistics = 2 * 2 * 4 * tokens, angles = 2 * 2 * 1024 * 32;

}  // namespace

// Its input, which both norms save; their two results; q, k and v as one tensor, 3 X, that v keeps; q and k turned, 2 X; the probabilities; what attention makes,
// put in order; what the first matrix makes, which GELU saves, and what GELU makes. Mean and deviation of each norm's rows in fp32; cosine and sine.
TEST_CASE("what a layer saves") {
  BOTH(left([](std::int64_t n) { return neox(n, 1); }) == 9 * x + 2 * f + scores + statistics + angles);
  // The input of both halves is whole on every rank.
  BOTH(left([](std::int64_t n) { return neox(n, 2); }) == 3 * x + (6 * x + 2 * f + scores) / 2 + statistics + angles);
  // One behind the other: the sum between them, too.
  BOTH(left([](std::int64_t n) { return neox(n, 1, false); }) == 10 * x + 2 * f + scores + statistics + angles);
  // A flash kernel's result is in order, and a number for each head's rows stands for the probabilities.
  BOTH(left([](std::int64_t n) { return neox(n, 1, true, attention::flash); }) == 9 * x + 2 * f + 4 * 8 * tokens + statistics + angles);
}

TEST_CASE("a bias that is added apart is saved instead of what it was added to") {
  auto three = neox(3, 1), two = neox(2, 1);
  three.framework.mlp.adds_bias_apart = two.framework.mlp.adds_bias_apart = true;
  CHECK(activations_at_loss(three) - activations_at_loss(two) == 9 * x + 2 * f + scores + statistics + angles);
  // In forward both are there beside what GELU makes, 12 X; with one kernel two of them, beside the second matrix's result, its sum and that of both halves, 11 X.
  const auto forward = [](bool apart) {
    auto j = neox(3, 1, true, attention::flash);
    j.model.vocab = 512;
    j.framework.mlp.adds_bias_apart = apart;
    return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)].total().count();
  };
  CHECK(forward(true) - forward(false) == x);
}

TEST_CASE("dropout keeps a mask of each half, and of the probabilities") {
  auto three = neox(3, 1), two = neox(2, 1);
  const probability tenth{100'000};
  three.dropout = two.dropout = {.hidden = tenth, .attention = tenth, .embedding = tenth};
  CHECK(activations_at_loss(three) - activations_at_loss(two) == 9 * x + 2 * f + 2 * scores + scores / 2 + 2 * x / 2 + statistics + angles);
}

/// A layer as Llama has it: two of eight heads have keys, all features turn, 3,072 in between twice, RMSNorm and no bias.
constexpr job llama(std::int64_t layers, std::int64_t tensor, std::int64_t groups = 2, attention kernel = attention::flash) {
  auto j = neox(layers, tensor, false, kernel);
  auto& m = j.model;
  m.kv_heads = groups;
  m.ffn = 3072;
  m.mlp = mlp_kind::gated;
  m.activation = activation_kind::silu;
  m.norm = norm_kind::rmsnorm;
  m.rotary_percent = 100;
  m.norm_bias = m.attention_bias = m.output_bias = m.mlp_bias = false;
  return j;
}
constexpr std::int64_t g = 2 * tokens * 3072, whole_angles = 2 * 2 * 1024 * 128, roots = 2 * 4 * tokens;

// Each RMSNorm keeps its input and the normalised rows in fp32, 4 X, and a root a row, and its 16-bit result is what a matrix keeps; the layer's input and the sum
// between the halves are kept by nobody. Queries turned, keys turned and values copied of two heads; a flash kernel's result. Of the MLP both halves of the first
// matrix's result, the sigmoid, swish and the product.
TEST_CASE("what a layer with RMSNorm, SwiGLU and grouped heads saves") {
  BOTH(left([](std::int64_t n) { return llama(n, 1); }) == 10 * x + (2 * x + 2 * x / 4) + 5 * g + roots + 4 * 8 * tokens + whole_angles);
  BOTH(left([](std::int64_t n) { return llama(n, 2); }) == 10 * x + (2 * x + 2 * x / 4 + 5 * g + 4 * 8 * tokens) / 2 + roots + whole_angles);
  // As many keys as queries: one projection's result, which v keeps, and both turned copies.
  BOTH(left([](std::int64_t n) { return llama(n, 1, 8); }) == 10 * x + 6 * x + 5 * g + roots + 4 * 8 * tokens + whole_angles);
  // Written out, keys and values are repeated for each query head, and the probabilities are kept.
  BOTH(left([](std::int64_t n) { return llama(n, 1, 2, attention::eager); }) == 10 * x + 4 * x + scores + 5 * g + roots + whole_angles);
  // Biases make sums that stand for what they were added to.
  BOTH(left([](std::int64_t n) {
         auto j = llama(n, 1);
         j.model.mlp_bias = j.model.attention_bias = j.model.output_bias = true;
         return j;
       }) == 10 * x + (2 * x + 2 * x / 4) + 5 * g + roots + 4 * 8 * tokens + whole_angles);
  // GELU keeps the gate alone.
  BOTH(left([](std::int64_t n) {
         auto j = llama(n, 1);
         j.model.activation = activation_kind::gelu;
         return j;
       }) == 10 * x + (2 * x + 2 * x / 4) + 4 * g + roots + 4 * 8 * tokens + whole_angles);
  // apex's kernel keeps its 16-bit input.
  BOTH(left([](std::int64_t n) {
         auto j = llama(n, 1);
         j.framework.norm.style = norm_style::fused;
         return j;
       }) == 4 * x + (2 * x + 2 * x / 4) + 5 * g + roots + 4 * 8 * tokens + whole_angles);
}

// apply_rotary_pos_emb_torch: x * cos and rotate_half(x) * sin, whose sum is the result where all features turn; else the sum of a quarter is the third of that size,
// which is joined with what does not turn.
TEST_CASE("what turning heads takes for a moment") {
  constexpr auto peak = [](std::int64_t percent) {
    const shape m{.layers = 1, .hidden = 1024, .heads = 8, .ffn = 64, .rotary_percent = percent, .vocab = 32};
    const scene s{.model = &m, .width = 2, .granule = 1};
    program p(1);
    const auto q = p.input(tokens * 1024, 2, true), factors = p.make(1000, 2);
    p.step(0, factors.bit());
    p.set_output(neox::turned(p, s, q, factors));
    return walk_forward(p, recording::off).peak.total.count();
  };
  BOTH(peak(100) == 2 * 1000 + x + x + 2 * x);
  BOTH(peak(25) == 2 * 1000 + x + x + 3 * x / 4);
}

/// … by code of before 2025-05 or 2024-09.
constexpr job older(const profile& of, std::int64_t layers, std::int64_t tensor = 1, std::int64_t groups = 8, attention kernel = attention::flash) {
  auto j = llama(layers, tensor, groups, kernel);
  j.framework = of;
  j.framework.attention.fills_masked_scores = false;
  return j;
}

// Measured of megatron/model/transformer.py of 8b43196f by hooks on what autograd saves, one layer of LLaMAParallelMLP: each RMSNorm its input, the quotient and
// two numbers a row, all in 16 bits; its result is a matrix's; both matrices' results, SiLU's and the product.
TEST_CASE("what a layer of older code saves") {
  constexpr std::int64_t rows = 2 * 2 * 2 * tokens, lse = 4 * 8 * tokens;
  BOTH(left([](std::int64_t n) { return older(frameworks::gpt_neox_2021, n); }) == 6 * x + 6 * x + 4 * g + rows + lse + whole_angles);
  BOTH(left([](std::int64_t n) { return older(frameworks::gpt_neox_2021, n, 2); }) == 6 * x + (6 * x + 4 * g + lse) / 2 + rows + whole_angles);
  BOTH(left([](std::int64_t n) { return older(frameworks::gpt_neox_2021, n, 1, 8, attention::eager); }) == 6 * x + 6 * x + scores + 4 * g + rows + whole_angles);
  BOTH(left([](std::int64_t n) { return older(frameworks::gpt_neox_2021, n, 1, 2); }) == 6 * x + (2 * x + 2 * x / 4) + 4 * g + rows + lse + whole_angles);
  // From 2024-09 on the sigmoid, too.
  BOTH(left([](std::int64_t n) { return older(frameworks::gpt_neox_202409, n); }) == 6 * x + 6 * x + 5 * g + rows + lse + whole_angles);
  // A plain MLP is the same at any time.
  BOTH(left([](std::int64_t n) {
         auto j = neox(n, 1, false);
         j.framework = frameworks::gpt_neox_2021;
         j.framework.attention.fills_masked_scores = j.framework.mlp.adds_bias_apart = false;
         return j;
       }) == 10 * x + 2 * f + scores + statistics + angles);
}

TEST_CASE("a replay of older code agrees with the estimate") {
  for (const std::int64_t tensor : {1, 2}) {
    const auto j = older(frameworks::gpt_neox_2021, 6, tensor);
    const auto replayed = replay(j).ranks[0].allocated, estimated = estimate(j).ranks[0].allocated;
    CHECK(replayed <= estimated + estimated / 200);
    CHECK(replayed >= estimated - estimated / 200);
  }
}

// Two sums over tensor-parallel ranks in forward; in backward of the input of queries, keys and values, and of the MLP's one first matrix, or of each of its two.
TEST_CASE("two first matrices add up their input's gradients one after the other") {
  const auto waited = [](const profile& of) { return cost(older(of, 6, 2)).communication - cost(older(of, 4, 2)).communication; };
  const auto ratio = waited(frameworks::gpt_neox_2021) / waited(frameworks::gpt_neox_202409);
  CHECK(ratio > 1.2499);
  CHECK(ratio < 1.2501);
}

// BF16_Optimizer adds one parameter's gradient to its fp32 one after another: the largest is either half's, or both halves' joined.
TEST_CASE("the fp32 copy of the largest gradient") {
  const auto cast = [](const profile& of, std::int64_t ffn = 4096) {
    auto j = older(of, 2);
    j.model.ffn = ffn;
    j.model.vocab = 512;
    j.precision = precisions::bf16_mixed;
    j.precision.gradients = j.precision.reduce = formats::fp32;
    return detail::pipe_of(settle(j), true, true).cast.count();
  };
  CHECK(cast(frameworks::gpt_neox_2021) == 4 * 4096 * 1024);
  CHECK(cast(frameworks::gpt_neox_202409) == 4 * 8192 * 1024);
  CHECK(cast(frameworks::gpt_neox_2021, 512) == 4 * 3072 * 1024);  // queries, keys and values
}

TEST_CASE("the only gated MLP of older code is Llama's") {
  const auto why = [](auto change) {
    auto j = older(frameworks::gpt_neox_2021, 2);
    change(j);
    const auto no = objection_to(j);
    return no ? std::string_view{no.sentence} : std::string_view{};
  };
  constexpr std::string_view sentence = "headroom: for gpt-neox before 2024-09 a gated MLP must be SwiGLU without biases, as mlp_type llama makes it";
  CHECK(why([](job&) {}).empty());
  CHECK(why([](job& j) { j.model.activation = activation_kind::gelu; }) == sentence);
  CHECK(why([](job& j) { j.model.mlp_bias = true; }) == sentence);
}

// A mask of 1 byte for each feature behind attention; behind an MLP without a bias nothing is dropped (ParallelTransformerLayer.forward).
TEST_CASE("dropout behind an MLP asks for its bias") {
  const auto kept = [](bool bias, bool drops) {
    const auto of = [&](std::int64_t n) {
      auto j = llama(n, 1);
      j.model.mlp_bias = bias;
      if (drops) j.dropout = {.hidden = probability{100'000}, .embedding = probability{100'000}};
      return activations_at_loss(j);
    };
    return of(3) - of(2);
  };
  CHECK(kept(false, true) - kept(false, false) == x / 2);
  CHECK(kept(true, true) - kept(true, false) == 2 * x / 2);
}

// flash_api.cpp mha_bwd: keys' and values' gradients of each query head, before they are added up. In backward of the last layer attention's moment stands beside
// what its norm and its halves left.
TEST_CASE("a replay of grouped heads agrees with the estimate") {
  for (const auto kernel : {attention::flash, attention::eager})
    for (const std::int64_t tensor : {1, 2}) {
      const auto j = llama(6, tensor, 2, kernel);
      const auto replayed = replay(j).ranks[0].allocated, estimated = estimate(j).ranks[0].allocated;
      CHECK(replayed <= estimated + estimated / 200);
      CHECK(replayed >= estimated - estimated / 200);
    }
}

// activation_checkpointing/checkpointing.py, partition_activations.
TEST_CASE("a checkpoint keeps its input, or a rank's part of a copy") {
  const auto checkpointed = [](std::int64_t layers, std::int64_t tensor, bool copies) {
    auto j = neox(layers, tensor);
    j.model.vocab = 512;  // the head is not the tallest
    j.recompute = recompute::full;
    j.framework.checkpointing.copies_input = copies;
    return j;
  };
  const auto kept = [&](std::int64_t tensor, bool copies) { return activations_at_loss(checkpointed(9, tensor, copies)) - activations_at_loss(checkpointed(8, tensor, copies)); };
  CHECK(kept(1, false) == x);
  CHECK(kept(1, true) == x);
  CHECK(kept(2, false) == x);
  CHECK(kept(2, true) == x / 2);
  // Backward reads the whole of it beside the copy.
  const auto peak = [&](std::int64_t tensor, bool copies) { return estimate(checkpointed(8, tensor, copies)).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)].total().count(); };
  CHECK(peak(1, true) - peak(1, false) == x);
  CHECK(peak(2, true) - peak(2, false) == x / 2 - 7 * x / 2);  // of eight layers seven are kept in halves
  for (const std::int64_t tensor : {1, 2}) {
    const auto j = checkpointed(8, tensor, true);
    const auto replayed = replay(j).ranks[0].allocated, estimated = estimate(j).ranks[0].allocated;
    CHECK(replayed <= estimated + estimated / 200);
    CHECK(replayed >= estimated - estimated / 200);
  }
}

// Samples first, a norm with its statistics, 16-bit logits that the pipeline's buffer keeps, and their fp32 copy that becomes the softmax.
TEST_CASE("the last stage keeps 16-bit logits of two micro-batches") {
  const auto j = neox(2, 1);
  const auto s = settle(j);
  CHECK(detail::pipe_of(s, true, true).logits.count() == 2 * tokens * 32768);
  const auto logits = estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count();
  CHECK(logits == 2 * tokens * 32768 * 2 + 4 * tokens * 32768);
  // The loss's gradient is the softmax's own memory; the cast's is 16-bit beside it, and both buffers are still there.
  const auto backward = estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::logits].count();
  CHECK(backward == 2 * tokens * 32768 * 2 + 4 * tokens * 32768 + 2 * tokens * 32768);
}

TEST_CASE("what is not modelled is refused, and what stands beside it is not") {
  const auto refused = [](auto change) {
    auto j = neox(2, 1);
    CHECK_FALSE(objection_to(j));
    change(j);
    const auto why = objection_to(j);
    return why && std::string_view{why.sentence}.find("gpt-neox") != std::string_view::npos;
  };
  CHECK(refused([](job& j) { j.model.activation = activation_kind::silu; }));
  CHECK(refused([](job& j) { j.model.mlp = mlp_kind::gated, j.model.activation = activation_kind::relu; }));
  CHECK(refused([](job& j) { j.model.mlp_bias = false; }));
  CHECK(refused([](job& j) { j.model.mlp_bias = false, j.model.mlp = mlp_kind::gated, j.model.activation = activation_kind::silu; }));  // beside attention
  CHECK(refused([](job& j) { j.model.attention_bias = j.model.output_bias = false; }));
  CHECK(refused([](job& j) { j.model.parallel_block = false, j.model.attention_bias = false; }));
  CHECK(refused([](job& j) { j.model.norm_bias = false; }));
  CHECK(refused([](job& j) { j.model.sliding_window = 512; }));
  CHECK(refused([](job& j) { j.model.position = position_kind::alibi; }));
  CHECK(refused([](job& j) { j.model.shared_attention_norm = true; }));
  CHECK(refused([](job& j) { j.model.attention_bias = false; }));
  CHECK(refused([](job& j) { j.attention = attention::sdpa; }));
  CHECK(refused([](job& j) { j.sharding = zero(2); }));
  CHECK_FALSE(refused([](job& j) { j.model.norm = norm_kind::rmsnorm, j.model.norm_bias = false; }));
  CHECK_FALSE(refused([](job& j) { j.model.mlp = mlp_kind::gated; }));
  CHECK_FALSE(refused([](job& j) { j.model.kv_heads = 2; }));
  CHECK_FALSE(refused([](job& j) { j.model.parallel_block = j.model.attention_bias = j.model.output_bias = false; }));
  CHECK_FALSE(refused([](job& j) { j.model.position = position_kind::learned; }));
  CHECK_FALSE(refused([](job& j) { j.model.position = position_kind::none; }));
  CHECK_FALSE(refused([](job& j) { j.sharding = zero(0); }));
  auto unset = neox(2, 1);
  unset.attention = attention::unset;
  CHECK(estimate(unset).ranks[0].allocated == estimate(neox(2, 1)).ranks[0].allocated);  // "global"
}

}  // namespace test_gpt_neox_step
