// Distributed under the Boost Software License, Version 1.0.
// Reward models and critics: what each occupies and in which phase, against sums by hand.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_roles {

using namespace headroom;

namespace {

// Qwen2.5's parameters and vocabulary, as Hugging Face publishes them; a score in place of the head: its tied head has no weights of its own.
constexpr std::int64_t p05 = 494'032'768, scored05 = p05 + 896, v05 = 151'936;

/// PPO by TRL's trainer in one process: bf16 weights without autocast, prompts of 1,024 and responses of 1,000, four of them between updates.
constexpr job one_process() {
  return {.model = models::qwen2_5_0_5b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 1}, .framework = frameworks::hf_trainer, .precision = precisions::bf16,
          .batch = {.micro = 1, .sequence = 2024, .accumulation = 4}, .recompute = recompute::full, .loss = {.logits = formats::bf16},
          .objective = {.kind = objective_kind::ppo, .code = method_code::trl, .reference = reference_way::copy, .frozen = {.model = models::qwen2_5_0_5b}, .critic = {.model = models::qwen2_5_0_5b}},
          .rollout = {.engine = engine_kind::trainer, .prompt = 1024, .completion = 1000}};
}
/// Llama-3.1-8B by separate engines under ZeRO on eight GPUs.
constexpr std::int64_t p8 = 8'030'261'248, v8 = 128'256, scored8 = p8 - v8 * 4096 + 4096;
constexpr job engines(method_code code, std::int64_t stage = 3) {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
          .sharding = zero(stage), .batch = {.micro = 1, .sequence = 1024, .accumulation = 8}, .recompute = recompute::full, .attention = attention::flash, .loss = {.logits = formats::bf16},
          .objective = {.kind = objective_kind::ppo, .code = code, .reference = reference_way::copy, .frozen = {.model = models::llama_3_1_8b}, .critic = {.model = models::llama_3_1_8b}},
          .rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}};
}
const rank_report& only(const report& r) { return r.ranks[0]; }
bytes others(const report& r, phase p) { return only(r).at_phase[static_cast<std::size_t>(p)][row::other_models]; }
bytes above_rest(const report& r, phase p) { return only(r)[p] - only(r)[phase::save]; }

}  // namespace

TEST_CASE("PPO in one process: two models with states, two without, and the scores that nobody lets go") {
  const auto r = estimate(one_process());
  const auto& rest = only(r).at_phase[static_cast<std::size_t>(phase::save)];
  // PyTorch rounds each tensor up to 512 bytes: 31 KB of two bytes a parameter.
  CHECK(rest[row::model_parameters].count() / 100'000 == 2 * p05 / 100'000);
  CHECK(rest[row::optimizer_state].count() / 100'000 == 4 * p05 / 100'000);
  // The reference and the reward model in bf16; the critic with two moments in bf16, too.
  CHECK(rest[row::other_models].count() >= 2 * p05 + 2 * scored05 + 6 * scored05);
  CHECK(rest[row::other_models].count() < 2 * p05 + 2 * scored05 + 6 * scored05 + 300'000);
  // Four responses of 1,000 tokens in fp32, once all the time, twice more while the next are stacked, beside keys and values of 12,288 bytes a token.
  constexpr std::int64_t scores = 4 * 1000 * v05 * 4;
  CHECK(rest[row::logits] == bytes{scores});
  CHECK(above_rest(r, phase::generate) == bytes{2 * scores + 12'288 * 4 * 2024});
  // The reference's logits at all positions, in bf16, and a row of log-probabilities.
  // Beside them the inputs of 24 layers of 896 features, which its forward returns.
  constexpr std::int64_t returned = 2 * v05 * 4 * 2024 + 24 * 2 * 896 * 4 * 2024;
  CHECK(above_rest(r, phase::reference).count() > returned);
  CHECK(above_rest(r, phase::reference).count() < returned + 8 * 2 * 896 * 4 * 2024);
  CHECK(only(r).has(phase::reward));
  CHECK(only(r).has(phase::value));
  CHECK_FALSE(only(r).has(phase::critic));  // it trains in the policy's module
  CHECK_FALSE(only(r).has(phase::score));   // log-probabilities are of the scores that generation left
  CHECK(only(r).peak_phase == phase::generate);
}

TEST_CASE("while the policy trains in one module with the critic, the critic's graph is there") {
  auto alone = one_process();
  alone.objective = {};
  alone.rollout = {};
  const auto r = estimate(one_process());
  // Checkpoints of the critic's 24 layers: 2 × 896 bytes of 2,024 tokens each.
  const auto forward = others(r, phase::forward) - others(r, phase::save);
  CHECK(forward.count() >= 24 * 2 * 896 * 2024);
  // The update is of both.
  CHECK((others(r, phase::step) - others(r, phase::save)).count() >= 2 * scored05);  // its gradients
}

TEST_CASE("engines of their own: states of two models, and the critic's step is a phase of its own") {
  for (const auto code : {method_code::openrlhf, method_code::deepspeed_chat}) {
    const auto r = estimate(engines(code));
    const auto& rest = only(r).at_phase[static_cast<std::size_t>(phase::save)];
    CHECK(rest[row::model_parameters] == bytes{2 * p8 / 8});
    CHECK(rest[row::master_parameters] + rest[row::optimizer_state] == bytes{12 * p8 / 8});
    // Two frozen copies, 2 bytes; the critic 2 + 12, in ranks' shares; what ZeRO-3 never divides and buffers come on top.
    const auto least = (2 * p8 + 2 * scored8 + 14 * scored8) / 8;
    CHECK(rest[row::other_models].count() >= least);
    CHECK(only(r).has(phase::critic));
    CHECK(only(r).has(phase::score));
    CHECK(only(r).has(phase::value));
    CHECK(above_rest(r, phase::critic).count() >= 2 * scored8 / 8);  // gradients
  }
  // DeepSpeed-Chat still names the policy's logits while the critic trains, and two models' logits while the reward model scores.
  const auto chat = estimate(engines(method_code::deepspeed_chat)), open = estimate(engines(method_code::openrlhf));
  CHECK(above_rest(chat, phase::critic) - above_rest(open, phase::critic) == bytes{2 * v8 * 1024});
  CHECK(above_rest(chat, phase::reward) - above_rest(open, phase::reward) == bytes{2 * 2 * v8 * 1024});
  CHECK(above_rest(chat, phase::reference) - above_rest(open, phase::reference) == bytes{2 * v8 * 1024});
}

TEST_CASE("under ZeRO's second stage frozen models are whole, and what trains is whole but for its states") {
  const auto two = estimate(engines(method_code::deepspeed_chat, 2));
  CHECK(only(two).at_phase[static_cast<std::size_t>(phase::save)][row::other_models].count() >= 2 * p8 + 2 * scored8 + 2 * scored8 + 12 * scored8 / 8);
}

TEST_CASE("OpenRLHF's sleeping trainer has its optimizer on the host") {
  auto j = engines(method_code::openrlhf);
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.5), .sleep = 2, .prompt = 512, .completion = 512};
  const auto stays = estimate(j);
  j.rollout.trainer_moves.add(trainer_part::optimizer);
  const auto moved = estimate(j);
  // The critic's is not there while the policy trains, nor either while completions are generated.
  CHECK(others(stays, phase::save) - others(moved, phase::save) == bytes{12 * scored8 / 8});
  CHECK(only(stays)[phase::generate] - only(moved)[phase::generate] == bytes{12 * (p8 + scored8) / 8});
}

TEST_CASE("LLaMA-Factory has a value head on the trained model, and a reward model with the head of a language model") {
  auto j = engines(method_code::llama_factory);
  j.objective.critic = {};
  const auto full = estimate(j);
  CHECK_FALSE(only(full).has(phase::critic));
  CHECK_FALSE(only(full).has(phase::value));
  CHECK(others(full, phase::save).count() >= 4 * p8 / 8);
  CHECK(others(full, phase::save).count() < 4 * p8 / 8 + 4 * 66 * 4096 + 1024);
  CHECK(above_rest(full, phase::reward).count() >= (2 + 4) * v8 * 1024);
  // The reference's logits once more in fp32; OpenRLHF's are as they come.
  CHECK(above_rest(full, phase::reference) - above_rest(estimate(engines(method_code::openrlhf)), phase::reference) == bytes{4 * v8 * 1024});
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .format = formats::bf16};
  j.objective.reference = reference_way::adapter_off;
  j.objective.frozen = {};
  j.objective.reward_adapter = true;
  CHECK(others(estimate(j), phase::save) == bytes{2 * 41'943'040 / 1});  // the adapters of a reward model, whole
}

TEST_CASE("online DPO trains on pairs that it generates, and scores them with the graph there") {
  auto j = engines(method_code::trl);
  j.objective = {.kind = objective_kind::online_dpo, .code = method_code::trl, .reference = reference_way::copy, .frozen = {.model = models::llama_3_1_8b}};
  j.batch.accumulation = 1;
  const auto r = estimate(j);
  CHECK(others(r, phase::save).count() >= (2 * p8 + 2 * scored8) / 8);
  CHECK(only(r).has(phase::generate));
  CHECK_FALSE(only(r).has(phase::score));
  // Logits of two sequences of 1,024, and log-probabilities of 512 positions each, made of a contiguous copy.
  CHECK(only(r).at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count() >= 2 * v8 * (2 * 1024 + 2 * 512));
}

TEST_CASE("what a method cannot have is refused by name") {
  const auto says = [](const job& j, std::string_view part) {
    const auto why = objection_to(j);
    const std::string sentence = why.sentence == nullptr ? "" : why.sentence;
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  auto j = one_process();
  j.objective.critic = {};
  says(j, "needs objective.critic");
  j = one_process();
  j.rollout.engine = engine_kind::vllm;
  says(j, "must be \"trainer\"");
  j = one_process();
  j.objective.code = method_code::slime;
  says(j, "objective.trainer");
  j = one_process();
  j.objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none, .frozen = {.model = models::qwen2_5_0_5b}};
  CHECK_FALSE(objection_to(j));
  j.objective.code = method_code::verl;
  says(j, "beside GRPO and RLOO is modelled as TRL runs them");
  j.rollout = {};
  j.objective.kind = objective_kind::dpo;
  says(j, "objective.reward is modelled of PPO");
  j = one_process();
  j.objective.critic.parameters = formats::nf4;
  says(j, "quantised");
  j = engines(method_code::llama_factory);
  says(j, "value head");
  CHECK_FALSE(objection_to(one_process()));
}

}  // namespace test_roles
