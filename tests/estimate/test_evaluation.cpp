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
  CHECK(kept({.batch = 4, .loss_only = true, .use_cache = choice::yes}) - alone == 131'072 * 4 * 2048);
  CHECK(kept({.batch = 4, .loss_only = true, .use_cache = choice::no}) == alone);  // as the Trainer of transformers 5 has it
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

TEST_CASE("what is kept until metrics are computed: batches of all ranks, in the format that logits are returned in") {
  CHECK(kept_for_metrics{bytes{10}, 0}.tallest() == bytes{0});
  CHECK(kept_for_metrics{bytes{10}, 0}.before() == bytes{0});
  CHECK(kept_for_metrics{bytes{10}, 1}.tallest() == bytes{10});  // nothing is there to be concatenated to
  CHECK(kept_for_metrics{bytes{10}, 1}.before() == bytes{0});
  CHECK(kept_for_metrics{bytes{10}, 3}.tallest() == bytes{60});
  CHECK(kept_for_metrics{bytes{10}, 3}.before() == bytes{20});
  const auto of = [](const job& j) { return detail::kept_of(settle(j)); };
  // 4 ranks × 5 examples × 2,048 tokens × 128,256 words; 101 examples are six batches.
  auto j = training({.samples = 101, .batch = 5});
  CHECK(of(j).batch == bytes{20 * std::int64_t{2048} * v * 2});
  CHECK(of(j).batches == 6);
  j.evaluation.accumulation_steps = 4;
  CHECK(of(j).batches == 4);
  j.evaluation.accumulation_steps = 7;
  CHECK(of(j).batches == 6);
  j.evaluation.sequence = 100;
  j.evaluation.kept_bytes = 3;
  CHECK(of(j).batch == bytes{20 * 100 * 3});
  // fp32: transformers until 4.45 (October 2024), and accelerate under autocast.
  auto old = training({.samples = 1, .batch = 1});
  old.framework = frameworks::hf_trainer_2023;
  old.sharding = ddp();
  CHECK(of(old).batch == bytes{4 * std::int64_t{2048} * v * 4});
  old.framework = frameworks::hf_trainer;
  old.precision = precisions::bf16_autocast;
  CHECK(of(old).batch == bytes{4 * std::int64_t{2048} * v * 4});
}

TEST_CASE("generation between steps on one GPU, to the byte") {
  auto j = training({.samples = 16, .batch = 16, .kept_bytes = 8, .generate = 30'000});
  j.framework = frameworks::hf_trainer;
  j.precision = precisions::bf16;
  j.hardware.gpus_per_node = 1;
  j.sharding = {};
  const auto r = estimate(j);
  // Keys and values of 131,072 bytes a token, of the layer at hand half of 4,096 bytes a second time, and scores in fp32, as accelerate returns them, a copy and its softmax.
  CHECK(at(r, phase::evaluate) - at(r, phase::save) == (131'072 + 2048) * std::int64_t{16} * (2048 + 30'000) + v * 16 * 12);
}

TEST_CASE("there is no dropout in an evaluation") {
  auto j = training({.batch = 16, .loss_only = true});
  const auto without = estimate(j);
  j.dropout = {{100'000}, {100'000}, {100'000}};
  const auto with = estimate(j);
  CHECK(at(with, phase::evaluate) - at(with, phase::save) == at(without, phase::evaluate) - at(without, phase::save));
}

// GPT-2 has a table of 1,024 positions. 1,000 tokens and 25 generated after them are read up to the 1,024th: the last is written, and not read.
TEST_CASE("examples behind the last position that a model has learned are refused") {
  const auto refused = [](const evaluation& e, std::int64_t sequence = 1000) {
    const job j{.model = models::gpt2, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .precision = precisions::bf16_autocast,
                .batch = {.micro = 1, .sequence = sequence}, .evaluation = e};
    const auto o = objection_to(j);
    return std::string{o.sentence == nullptr ? "" : o.sentence};
  };
  CHECK(refused({.sequence = 4096, .batch = 2, .loss_only = true}).find("evaluation.sequence must be at most model.max_positions") != std::string::npos);
  CHECK(refused({.sequence = 1025, .batch = 2, .loss_only = true}) != "");
  CHECK(refused({.sequence = 1024, .batch = 2, .loss_only = true}) == "");
  CHECK(refused({.batch = 2, .generate = 25, .loss_only = true}) == "");
  CHECK(refused({.batch = 2, .generate = 26, .loss_only = true}).find("evaluation.sequence + generate") != std::string::npos);
  CHECK(refused({.sequence = 512, .batch = 2, .generate = 513, .loss_only = true}) == "");
  CHECK(refused({.sequence = 512, .batch = 2, .generate = 514, .loss_only = true}) != "");
  // Llama 3 computes its positions.
  CHECK(why({.sequence = 16'384, .batch = 2, .loss_only = true}) == "");
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
