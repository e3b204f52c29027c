// Distributed under the Boost Software License, Version 1.0.
// Jobs with several models, against sums by hand: resident terms to the byte, logits by their coefficients.
#include <both.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace test_objectives {

using namespace headroom;

namespace {

// Llama-3.1-8B's parameters and vocabulary, as Meta and Hugging Face publish them.
constexpr std::int64_t p8 = 8'030'261'248, v8 = 128'256;

constexpr job dpo(method_code code, const sharding& how, number_format logits = formats::bf16, reference_way way = reference_way::unset) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed,
          .precision = precisions::bf16_mixed, .sharding = how, .batch = {.micro = 2, .sequence = 1024}, .recompute = recompute::full, .loss = {.logits = logits},
          .objective = {.kind = objective_kind::dpo, .code = code, .reference = way}};
}
constexpr job with_lora(job j) {
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .format = formats::bf16};
  return j;
}
constexpr const rank_report& only(const report& r) { return r.ranks[0]; }
constexpr bytes logits_at(const report& r, phase p) { return only(r).at_phase[static_cast<std::size_t>(p)][row::logits]; }
/// Of V·R, in hundredths, at a phase.
constexpr std::int64_t of_logits(const report& r, phase p, std::int64_t v, std::int64_t tokens) { return logits_at(r, p).count() * 100 / (v * tokens); }

constexpr auto copied = estimate(dpo(method_code::trl, zero(3)));

}  // namespace

TEST_CASE("DPO of Llama 3.1 8B under ZeRO-3: the reference is divided as the policy is") {
  const auto& at = only(copied).at_peak;
  CHECK(at[row::model_parameters] == bytes{2 * p8 / 8});
  CHECK(at[row::gradients] == bytes{2 * p8 / 8});
  CHECK(at[row::master_parameters] + at[row::optimizer_state] == bytes{12 * p8 / 8});
  // What ZeRO-3 never divides is there whole: norms, 2 × 32 + 1 vectors of 4096.
  CHECK(only(copied).at_phase[static_cast<std::size_t>(phase::step)][row::other_models] == bytes{2 * p8 / 8 + 2 * 65 * 4096});
  CHECK(only(copied).has(phase::reference));
  CHECK(only(copied)[phase::reference] > only(copied)[phase::forward]);
}

TEST_CASE("the logits of each trainer's loss, of 4096 tokens") {
  constexpr std::int64_t tokens = 4096;
  // A slice without the last of 1024 positions: counts are a little below the whole coefficients.
  const auto loss = [&](method_code code, number_format f, reference_way way = reference_way::unset) { return of_logits(estimate(dpo(code, zero(3), f, way)), phase::loss_forward, v8, tokens); };
  CHECK(loss(method_code::trl, formats::bf16) == 818);   // 8, and three pieces of 128 tokens for the entropy: 6 × 128 / 4096
  CHECK(loss(method_code::trl, formats::fp32) == 1237);  // 12, and 12 × 128 / 4096
  CHECK(loss(method_code::llama_factory, formats::bf16) == 1998);
  CHECK(loss(method_code::llama_factory, formats::fp32) == 1998);
  CHECK(loss(method_code::trl_0_14, formats::bf16) == 999);
  CHECK(loss(method_code::trl_0_14, formats::fp32) == 1998);
  CHECK(loss(method_code::trl, formats::bf16, reference_way::precomputed) == 618);  // 6: no logits of a reference
  const auto back = [&](method_code code, number_format f) { return of_logits(estimate(dpo(code, zero(3), f)), phase::backward, v8, tokens); };
  CHECK(back(method_code::trl, formats::fp32) >= 1199);
  CHECK(back(method_code::llama_factory, formats::bf16) >= 1198);
}

TEST_CASE("a reference under any stage but the third is whole on every GPU") {
  for (const std::int64_t stage : {0, 1, 2}) {
    CAPTURE(stage);
    CHECK(only(estimate(dpo(method_code::trl, zero(stage)))).at_phase[static_cast<std::size_t>(phase::step)][row::other_models] == bytes{2 * p8});
  }
  const auto two = estimate(dpo(method_code::trl, zero(2)));
  CHECK(only(two).at_peak[row::model_parameters] == bytes{2 * p8});
  CHECK(two.fits());
}

TEST_CASE("an adapter that is switched off takes nothing") {
  const auto r = estimate(with_lora(dpo(method_code::trl, zero(3))));
  const auto& at = only(r).at_phase[static_cast<std::size_t>(phase::step)];
  CHECK(at[row::other_models] == bytes{0});
  CHECK(at[row::model_parameters] == bytes{2 * p8 / 8});
  CHECK(only(r).has(phase::reference));  // it runs all the same
  // The same logits and checkpoints as in full training.
  CHECK(logits_at(r, phase::loss_forward) == logits_at(copied, phase::loss_forward));
  CHECK(only(r).at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations] >= bytes{32 * 2 * 4096 * 4096});
}

TEST_CASE("TRL of 2025 keeps the inputs of all layers of the reference, too") {
  const auto r = estimate(dpo(method_code::trl_0_28, zero(3)));
  // Policy: logits, log-probabilities and half of the logits once more. Reference: its logits and half of them beside the policy's log-probabilities.
  CHECK(of_logits(r, phase::loss_forward, v8, 4096) == 500);
  const auto& at = only(r).at_phase[static_cast<std::size_t>(phase::loss_forward)];
  CHECK(at[row::activations] >= bytes{std::int64_t{2} * 32 * 2 * 4096 * 4096});  // checkpoints, and as many inputs
  CHECK(only(r)[phase::reference] > only(copied)[phase::reference] - bytes{2 * 2 * v8 * 4096});
}

TEST_CASE("KTO of four samples: the same logits, and copies by verdict") {
  auto j = dpo(method_code::trl, zero(3));
  j.batch.micro = 4;
  j.objective.kind = objective_kind::kto;
  // Logits, log-probabilities, the reference's, then wanted, unwanted and the wanted ones' tokens: 2 + 2 + 2 + 1 + 1 + 1.
  CHECK(of_logits(estimate(j), phase::loss_forward, v8, 4096) == 899);
  CHECK(of_logits(copied, phase::loss_forward, v8, 4096) == 818);
}

TEST_CASE("SimPO and ORPO have no reference") {
  auto j = dpo(method_code::trl, zero(3));
  for (const auto kind : {objective_kind::simpo, objective_kind::orpo}) {
    j.objective.kind = kind;
    const auto r = estimate(j);
    CHECK(only(r).at_peak[row::other_models] == bytes{0});
    CHECK_FALSE(only(r).has(phase::reference));
  }
}

TEST_CASE("OpenRLHF's own loss is the trained model's, not its reference's") {
  auto j = dpo(method_code::openrlhf, zero(3));
  CHECK(detail::settle_checked(j).layer.loss_program == loss_style::compared);
  CHECK(detail::settle_checked(standing_of_other(j, {})).layer.loss_program != loss_style::compared);
  j.objective = {.kind = objective_kind::sft, .code = method_code::openrlhf};
  CHECK(detail::settle_checked(j).layer.loss_program == loss_style::compared);
  j.objective = {};
  CHECK(detail::settle_checked(j).layer.loss_program != loss_style::compared);
}

// LLaMA-Factory's stage rm: the head stays, a value head of 3,585 is added; all states are divided by 8. At the end of each forward there are
// logits of 4 × 2 × 1,024 tokens in bf16 and in fp32, gone before the backward.
TEST_CASE("a reward model beside its language head") {
  job j{.model = models::qwen2_5_7b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed,
        .precision = precisions::bf16_mixed, .sharding = zero(3), .batch = {.micro = 4, .sequence = 1024}, .recompute = recompute::full,
        .objective = {.kind = objective_kind::reward, .code = method_code::llama_factory}};
  const auto r = estimate(j);
  CHECK(r.parameter_count.total == parameters{7'615'616'512 + 3585});
  const auto logits = [](const report& of, phase p) { return of.ranks[0].at_phase[static_cast<std::size_t>(p)][row::logits].count(); };
  CHECK(logits(r, phase::loss_forward) == 7'474'249'728);
  CHECK(logits(r, phase::backward) == 0);
  auto by_trl = j;
  by_trl.objective.code = method_code::trl;
  CHECK(logits(estimate(by_trl), phase::loss_forward) < 1'000'000);
  CHECK(r.peak() > estimate(by_trl).peak());
}

TEST_CASE("a reward model of Qwen2.5 7B has one score instead of a vocabulary's head") {
  constexpr std::int64_t p = 7'615'616'512 - 152'064 * 3'584 + 3'584;
  static_assert(p == 7'070'622'720);
  const job j{.model = models::qwen2_5_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed,
              .precision = precisions::bf16_mixed, .sharding = zero(3), .batch = {.micro = 4, .sequence = 1024}, .recompute = recompute::full, .objective = {.kind = objective_kind::reward}};
  const auto r = estimate(j);
  const auto& at = only(r).at_phase[static_cast<std::size_t>(phase::backward)];
  CHECK(r.parameter_count.total == parameters{p});
  CHECK(at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] == bytes{16 * p / 8});
  CHECK(at[row::logits] < bytes{1 << 20});
  CHECK(at[row::activations] >= bytes{27 * 2 * 3584 * 8192});
}

TEST_CASE("GKD from a 32B teacher: 34 numbers of the vocabulary a token, in bytes") {
  job j{.model = models::qwen3_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed,
        .precision = precisions::bf16_mixed, .sharding = zero(3), .batch = {.micro = 4, .sequence = 1024}, .recompute = recompute::full, .loss = {.logits = formats::bf16},
        .objective = {.kind = objective_kind::distill, .frozen = {.model = models::qwen3_32b}}};
  const auto r = estimate(j);
  const auto& at = only(r).at_peak;
  CHECK(at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] == bytes{16'381'470'720});
  const auto teacher = only(r).at_phase[static_cast<std::size_t>(phase::step)][row::other_models];
  CHECK(teacher >= bytes{8'190'530'816});
  CHECK(teacher < bytes{8'190'530'816} + 4_MiB);
  CHECK(of_logits(r, phase::loss_forward, 151'936, 4096) == 3397);
  j.loss.logits = formats::fp32;
  CHECK(of_logits(estimate(j), phase::loss_forward, 151'936, 4096) == 6794);
  // Under ZeRO-2 the teacher is whole, and nothing fits.
  j.sharding = zero(2);
  const auto two = estimate(j);
  CHECK(only(two).at_phase[static_cast<std::size_t>(phase::step)][row::other_models] == bytes{65'524'246'528});
  CHECK_FALSE(two.may_fit());
}

TEST_CASE("SimPO of Llama 3 8B on 4 GPUs: resident bytes and logits") {
  job j = dpo(method_code::llama_factory, zero(3));
  j.hardware.gpus_per_node = 4;
  j.batch = {.micro = 2, .sequence = 2048};
  j.objective.kind = objective_kind::simpo;
  const auto r = estimate(j);
  const auto& at = only(r).at_phase[static_cast<std::size_t>(phase::backward)];
  CHECK(at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] == bytes{32'121'044'992});
  CHECK(of_logits(r, phase::loss_forward, v8, 8192) == 1199);  // the same without a reference: 12
}

TEST_CASE("an embedding model has no head") {
  job j{.model = models::qwen3_4b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 2}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
        .sharding = zero(2), .batch = {.micro = 8, .sequence = 64}, .recompute = recompute::full, .objective = {.kind = objective_kind::embedding}};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  const auto r = estimate(j);
  CHECK(only(r).at_peak[row::model_parameters] == bytes{8'044'936'192});
  CHECK(only(r).at_peak[row::logits] == bytes{0});
}

}  // namespace test_objectives
