// Distributed under the Boost Software License, Version 1.0.
// What a training loop's own variables keep alive until the step is done, and what stacks beside the first save: sums on paper.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_kept_after_the_loss {

using namespace headroom;

namespace {

std::int64_t at(const job& j, phase p, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][r].count(); }

}  // namespace

// litgpt finetune/lora.py fit(): `logits` is a list of chunks, fp32 since Fabric converts what a module returns, and it is bound until the next step's forward.
TEST_CASE("litgpt's list of chunks outlives backward and update") {
  job j{.model = {.layers = 2, .hidden = 1024, .heads = 8, .ffn = 8192, .vocab = 8000}, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::litgpt_202410,
        .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 512}, .recompute = recompute::none, .loss = {.kind = loss_kind::chunked, .chunk_tokens = 128}};
  CHECK(at(j, phase::step, row::logits) == 512 * 8000 * 4);
  CHECK(at(j, phase::backward, row::logits) >= 512 * 8000 * 4);
}

// Korthikanti et al. 2022, section 4.1: a layer saves s·b·h·(34 + 5·a·s/h) bytes, of which tensor parallelism divides all but 10 (equation 2). The statistics of
// two norms in fp32, which the paper leaves out, are 4 · 2 · 2 · s·b. Of an encoder s is its own length, not the decoder's.
TEST_CASE("a layer of an encoder over Megatron keeps what its own positions make") {
  constexpr std::int64_t h = 1024, a = 16, se = 512, b = 2;
  const auto kept = [&](std::int64_t depth, std::int64_t tensor) {
    job j{.model = {.layers = 4, .hidden = h, .heads = a, .ffn = 4 * h, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm, .norm_bias = true,
                    .attention_bias = true, .output_bias = true, .mlp_bias = true, .position = position_kind::learned, .max_positions = 512, .vocab = 30592, .tied = true},
          .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor}, .framework = frameworks::megatron_2023, .precision = precisions::bf16_mixed, .parallel = {.tensor = tensor},
          .batch = {.micro = b, .sequence = 128}, .recompute = recompute::none, .attention = attention::eager};
    j.model.encoder = {.layers = depth, .sequence = se, .cross_attention = true};
    const auto tenth = probability::of(0.1);
    j.dropout = {.hidden = tenth, .attention = tenth, .embedding = tenth};
    const auto r = estimate(j).ranks[0];
    return (r[phase::loss_forward] - r[phase::save]).count();
  };
  for (const std::int64_t t : {1, 2}) {
    CAPTURE(t);
    CHECK((kept(6, t) - kept(4, t)) / 2 == se * b * (10 * h + (24 * h + 5 * a * se) / t) + 16 * se * b);
  }
}

}  // namespace test_kept_after_the_loss
