// Distributed under the Boost Software License, Version 1.0.
// Evaluation between steps: what the Trainer keeps, against sums by hand.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_evaluation {

using namespace headroom;

namespace {

/// Llama-3-8B under ZeRO-3 on four GPUs.
constexpr std::int64_t v = 128'256;
constexpr job training(const evaluation& e) {
  return {.model = models::llama_3_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 4}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
          .batch = {.micro = 2, .sequence = 2048}, .recompute = recompute::full, .evaluation = e};
}
std::int64_t at(const report& r, phase p) { return r.ranks[0][p].count(); }
std::int64_t kept(const evaluation& e) {
  const auto r = estimate(training(e));
  return at(r, phase::evaluate) - at(r, phase::save);
}
std::string why(const evaluation& e) {
  const auto o = objection_to(training(e));
  return o.sentence == nullptr ? "" : o.sentence;
}

}  // namespace

TEST_CASE("the logits of every example are concatenated on each GPU") {
  // 5 batches of 4 ranks × 5 examples, 100 in all, in the format that DeepSpeed's engine returns, bf16: what was there and the new batch, and both together.
  constexpr std::int64_t all = 100 * std::int64_t{2048} * v * 2;
  CHECK(kept({.samples = 100, .batch = 5}) == 2 * all);
  // To the host after every second batch: two on the GPU.
  CHECK(kept({.samples = 100, .batch = 5, .accumulation_steps = 2}) == 2 * all * 2 / 5);
  // Under autocast accelerate makes them fp32: 105,067,315,200 bytes.
  auto j = training({.samples = 100, .batch = 25});
  j.framework = frameworks::hf_trainer;
  j.sharding = sharding{};
  j.precision = precisions::bf16_autocast;
  const auto r = estimate(j);
  CHECK(at(r, phase::evaluate) - at(r, phase::save) >= 105'067'315'200);
}

TEST_CASE("losses alone, or what preprocess_logits_for_metrics returns, take next to nothing") {
  const auto alone = kept({.batch = 4, .loss_only = true});
  // Logits of 8,192 tokens in bf16, and what their cross entropy makes: several copies, and no more than fourteen bytes each.
  CHECK(alone > 2 * v * 4 * 2048);
  CHECK(alone < 14 * v * 4 * 2048);
  const auto argmax = kept({.samples = 1600, .batch = 4, .kept_bytes = 8});
  CHECK(argmax - alone == (1600 - 16) * 2048 * 8);
  // Keys and values of 32 layers, 8 heads of 128, in bf16.
  CHECK(alone - kept({.batch = 4, .loss_only = true, .use_cache = choice::no}) == 131'072 * 4 * 2048);
}

TEST_CASE("it has no graph: a larger batch than the training's may still be less") {
  const auto r = estimate(training({.batch = 2, .loss_only = true}));
  CHECK(at(r, phase::evaluate) < at(r, phase::backward));
  CHECK(r.ranks[0].has(phase::evaluate));
  CHECK(estimate(training({.batch = 16, .loss_only = true})).ranks[0].peak_phase == phase::evaluate);
  CHECK_FALSE(estimate(training({})).ranks[0].has(phase::evaluate));
}

TEST_CASE("preference methods evaluate pairs, beside the reference") {
  auto j = training({.batch = 4});
  j.objective = {.kind = objective_kind::dpo, .code = method_code::trl, .reference = reference_way::copy};
  const auto pairs = estimate(j);
  j.objective.reference = reference_way::precomputed;
  const auto alone = estimate(j);
  CHECK(at(pairs, phase::evaluate) - at(pairs, phase::save) >= 2 * 2 * v * 8 * 2048);  // logits of both
  CHECK(at(pairs, phase::evaluate) - at(pairs, phase::save) > at(alone, phase::evaluate) - at(alone, phase::save));
}

TEST_CASE("what is generated has a cache") {
  const auto with = kept({.samples = 16, .batch = 16, .kept_bytes = 8, .generate = 30'000});
  CHECK(with >= 131'072 * std::int64_t{16} * (2048 + 30'000));
}

TEST_CASE("what an evaluation leaves open or cannot be is refused") {
  CHECK(why({.batch = 4}).find("evaluation.samples is required") != std::string::npos);
  CHECK(why({.samples = 5}).find("evaluation.batch is required") != std::string::npos);
  CHECK(why({.samples = 5, .batch = 4, .loss_only = true}).find("nothing but losses") != std::string::npos);
  auto j = training({.batch = 4, .loss_only = true});
  j.framework = frameworks::libtorch;
  j.sharding = sharding{};
  CHECK(std::string{objection_to(j).sentence}.find("transformers' Trainer") != std::string::npos);
}

}  // namespace test_evaluation
