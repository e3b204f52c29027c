// Distributed under the Boost Software License, Version 1.0.
// What Megatron's stages hold under schedules in a V, counted by hand: a layer keeps 34·s·b·h + 5·a·s²·b and its norms' statistics for backward (Korthikanti et al.
// 2022, equation 1), and 32·s·b·h once only the gradients of its weights are left (Qi et al. 2023, table 1).
#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace test_v_stages {

using namespace headroom;

namespace {

constexpr std::int64_t s = 1024, b = 2, h = 512, a = 8, vocab = 32000, stages = 4, micros = 16;
constexpr std::int64_t layer = 34 * s * b * h + 5 * a * s * s * b + 4 * 4 * s * b, waiting_layer = 32 * s * b * h;
constexpr schedule in_a_v[]{schedule::zero_bubble_v, schedule::v_half, schedule::v_min};

job gpt(schedule kind, std::int64_t layers = 16) {
  job j;
  j.model = {.layers = layers, .hidden = h, .heads = a, .ffn = 4 * h, .mlp = mlp_kind::plain, .activation = activation_kind::gelu,
             .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true,
             .position = position_kind::learned, .max_positions = s, .vocab = vocab};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = stages};
  j.framework = frameworks::megatron;
  j.framework.attention.masks_in_loader = false;
  j.parallel = {.data = 1, .pipeline = stages, .virtual_pipeline = 2, .schedule = kind};
  j.batch = {.micro = b, .sequence = s, .accumulation = micros};
  j.attention = attention::eager;
  j.dropout = {{100'000}, {100'000}, {0}};
  return j;
}

std::int64_t activations(const report& r, std::size_t stage) { return r.ranks[stage].at_phase[static_cast<std::size_t>(phase::backward)][row::activations].count(); }

/// Of a stage of equal chunks: the most that is kept of micro-batches while a chunk runs backward.
std::int64_t most_kept(schedule kind, std::int64_t stage, std::int64_t layers_of_chunk) {
  std::int64_t held = 0, waiting = 0, most = 0;
  run_schedule({kind, stages, 2, micros}, stage, [&](const work& w) {
    if (w.kind == work_kind::forward) ++held;
    if (w.kind == work_kind::weight_gradient) --waiting;
    if (w.kind != work_kind::backward) return;
    --held;
    most = std::max(most, layers_of_chunk * (held * layer + waiting * waiting_layer));
    ++waiting;
  });
  return most;
}

}  // namespace

TEST_CASE("stages in a V hold what their order says of each chunk") {
  for (std::size_t stage = 1; stage < 4; ++stage) {
    const auto half = estimate(gpt(schedule::v_half));
    for (const auto kind : {schedule::zero_bubble_v, schedule::v_min}) {
      const auto other = estimate(gpt(kind));
      CHECK(activations(other, stage) - activations(half, stage) ==
            most_kept(kind, static_cast<std::int64_t>(stage), 2) - most_kept(schedule::v_half, static_cast<std::int64_t>(stage), 2));
    }
  }
  // Qi et al. 2024, section 3: a half and a third of 1F1B's first stage, and a little more.
  const auto whole = activations(estimate(gpt(schedule::zero_bubble_v)), 1), half = activations(estimate(gpt(schedule::v_half)), 1), third = activations(estimate(gpt(schedule::v_min)), 1);
  CHECK(half > whole / 2);
  CHECK(half < whole * 4 / 5);
  CHECK(third < half);
  CHECK(third > whole / 3);
}

TEST_CASE("the first stage has the embedding and the head, the others none of them") {
  for (const auto kind : in_a_v) {
    const auto r = estimate(gpt(kind));
    const auto weights = [&](std::size_t i) { return r.ranks[i].at_peak[row::model_parameters].count(); };
    REQUIRE(r.ranks[0].pipeline_stage == 0);
    // Two bytes of each: tokens, positions, the head, and the last norm with its bias.
    CHECK(weights(0) - weights(1) == 2 * (2 * vocab * h + s * h + 2 * h));
    CHECK(r.ranks[0].has(phase::loss_forward));
    for (std::size_t i = 1; i < static_cast<std::size_t>(r.size); ++i) {
      CHECK(weights(i) == weights(1));
      CHECK_FALSE(r.ranks[i].has(phase::loss_forward));
    }
    for (const auto& rank : r) CHECK(rank.at_peak.total() == rank.allocated);
  }
}

TEST_CASE("a V is refused where a rank would hold what is not modelled, and has two chunks") {
  const auto refused = [](auto change) {
    auto j = gpt(schedule::v_half);
    change(j);
    const auto why = objection_to(j);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  CHECK(refused([](job&) {}) == "");
  CHECK(refused([](job& j) { j.model.tied = true; }).find("without tied embeddings") != std::string::npos);
  CHECK(refused([](job& j) { j.model.mtp_layers = 1; }).find("without tied embeddings, multi-token prediction") != std::string::npos);
  CHECK(refused([](job& j) { j.objective.kind = objective_kind::grpo, j.objective.code = method_code::verl; }) != "");
  CHECK(refused([](job& j) { j.recompute = recompute::full; }).find("recomputation is not modelled for the zero-bubble schedule") != std::string::npos);
  CHECK(refused([](job& j) { j.parallel.virtual_pipeline = 1; }).find("zero-bubble-v, v-half, v-min: 2") != std::string::npos);
  CHECK(refused([](job& j) { j.framework = frameworks::torchtitan_202508, j.sharding = fsdp2(), j.attention = attention::sdpa, j.dropout = {}; }).find("parallel.schedule must be 1f1b") != std::string::npos);
}

}  // namespace test_v_stages
