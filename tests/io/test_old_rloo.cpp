// Distributed under the Boost Software License, Version 1.0.
// RLOO of TRL up to 0.21, a program of its own: from its commands to its memory (huggingface/trl v0.11.0 to v0.21.0 examples/scripts/rloo/*.py,
// trl/trainer/rloo_config.py, rloo_trainer.py, utils.py OnPolicyConfig and batch_generation).
#include "imported.hpp"

#include <headroom/cost/cost.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_old_rloo {

using namespace imported;

namespace {

/// docs/source/rloo_trainer.md of ffcb9f4ae (2025-02).
const std::string documented =
    "python examples/scripts/rloo/rloo.py --dataset_name trl-internal-testing/descriptiveness-sentiment-trl-style --dataset_train_split descriptiveness --learning_rate 3e-6 "
    "--per_device_train_batch_size 64 --gradient_accumulation_steps 1 --total_episodes 10000 --model_name_or_path EleutherAI/pythia-14m --reward_model_path EleutherAI/pythia-14m --missing_eos_penalty 1.0 ";
const std::string other = "python examples/scripts/rloo/rloo_tldr.py --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --sft_model_path Qwen/Qwen2.5-0.5B --reward_model_path Qwen/Qwen2.5-0.5B ";
job read(const std::string& command, std::vector<std::string> set = {}) {
  set.push_back("rollout.prompt=512");
  return job_of({{"run.sh", command + "\n"}}, set);
}
std::string refused(const std::string& command, std::vector<std::string> set = {}) {
  set.push_back("rollout.prompt=512");
  return refusal_of({{"run.sh", command + "\n"}}, set);
}

}  // namespace

TEST_CASE("what the commands say, and what TRL does where they are silent") {
  const auto j = read(documented);
  CHECK(j.model == *models::find("pythia-160m"));  // sft_model_path's default: model_name_or_path is the tokenizer's alone
  CHECK(j.objective.frozen.model.label.view() == "pythia-14m");
  CHECK(j.objective.frozen.parameters == formats::fp32);
  CHECK(j.objective.kind == objective_kind::rloo);
  CHECK(j.objective.code == method_code::trl_0_21);  // missing_eos_penalty came with 0.11, reward_model_path ended with 0.21
  CHECK(j.objective.reference == reference_way::copy);
  CHECK_FALSE(j.objective.critic.given());
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 53, .generations = 2, .iterations = 4, .batch = 64});
  CHECK(j.batch == batch{.micro = 64, .sequence = 565, .accumulation = 1});
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.precision.parameters == formats::fp32);
  CHECK_FALSE(objection_to(j));
  // Each release by itself: scores of all samples at once up to 0.14, bf16 by default since 0.19.
  const auto old = read(documented, {"environment.trl=0.11"}), middle = read(documented, {"environment.trl=0.15"});
  CHECK(old.objective.code == method_code::trl_0_14);
  CHECK(middle.objective.code == method_code::trl_0_21);
  CHECK(settle(j).precision.compute == formats::bf16);
  CHECK(settle(middle).precision.compute == formats::fp32);
  CHECK(read(documented + "--num_ppo_epochs 1 --rloo_k 4 --response_length 100 --local_rollout_forward_batch_size 16").rollout ==
        rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 100, .generations = 4, .batch = 16});
  CHECK(holds(refused(documented + "--num_generations 4"), "num_generations came with TRL 0.22, and this script ended with 0.21"));
  CHECK(holds(refused(documented + "--use_peft"), "use_peft"));
  CHECK(read(documented + "--per_device_eval_batch_size 65").evaluation == evaluation{.batch = 65});
  CHECK(read(documented + "--per_device_eval_batch_size 64").evaluation == evaluation{});
  CHECK(read(documented + "--per_device_eval_batch_size 65 --num_sample_generations 0").evaluation == evaluation{});
}

TEST_CASE("who is told that another model trains than the one that is named") {
  const auto told = [](const std::string& command, const std::string& what) {
    const auto notes = draft_of({{"run.sh", command + "\n"}}).notes;
    return std::any_of(notes.begin(), notes.end(), [&](const auto& note) { return holds(note, what); });
  };
  CHECK(told(documented, "sft_model_path is not given: "));
  CHECK(told(documented, ", and of \"EleutherAI/pythia-14m\" (model_name_or_path) the tokenizer alone is read"));
  CHECK_FALSE(told(documented, "reward_model_path is not given"));
  CHECK_FALSE(told(other, "is not given"));
  const auto unscored = other.substr(0, other.find("--reward_model_path"));
  CHECK(told(unscored, "reward_model_path is not given: "));
  CHECK_FALSE(told(unscored, "sft_model_path is not given"));
}

TEST_CASE("three models, and the scores of every word that a rollout has generated") {
  constexpr std::int64_t weights = 494'032'768, vocabulary = 151'936, made = 16, completion = 53;
  const auto j = read(other + "--bf16 false --fp16 false", {"environment.trl=0.15"});
  const auto r = estimate(j);
  const auto& rest = r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)];
  // The policy, the reference and a reward model with one score of 896 numbers for a head, which the tied matrix was; two moments: all in four bytes.
  CHECK((rest[row::model_parameters] + rest[row::optimizer_state] + rest[row::other_models]).count() / 1'000'000 == (5 * 4 * weights + 4 * 896) / 1'000'000);
  CHECK(rest[row::logits] == bytes{made * completion * vocabulary * 4});
  // Scores up to 0.14 are made of a whole slice at once: of a micro-batch of four, 53 tokens each, one copy more through the backward.
  const auto old = estimate(read(other + "--bf16 false --fp16 false", {"environment.trl=0.14"}));
  const auto& loss = r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)];
  const auto& loss_before = old.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)];
  CHECK(loss_before[row::logits] - loss[row::logits] >= bytes{4 * completion * vocabulary * 4});
  // … and of the reference, for all 16 at once: a copy and its log-probabilities beside what a rollout keeps.
  CHECK(old.ranks[0][phase::reference] - r.ranks[0][phase::reference] == bytes{2 * made * completion * vocabulary * 4});
}

// Twice the scores of what is shown, as a list and stacked, beside those of the last rollout.
TEST_CASE("completions that are shown, more at once than a rollout has") {
  constexpr std::int64_t vocabulary = 151'936, made = 16, completion = 53, shown = 64;
  // Keys and values of 24 layers, 2 heads of 64, in four bytes, of 565 tokens each.
  constexpr std::int64_t keys = 565 * 24 * 2 * 2 * 64 * 4;
  const auto of = [](const std::string& more) {
    const auto r = estimate(read(other + "--bf16 false --fp16 false " + more, {"environment.trl=0.15"}));
    return r.ranks[0][phase::generate] - r.ranks[0][phase::save];
  };
  CHECK(of("") == bytes{made * (2 * completion * vocabulary * 4 + keys)});
  CHECK(of("--per_device_eval_batch_size 64") == bytes{shown * (2 * completion * vocabulary * 4 + keys)});
  auto j = read(other, {"environment.trl=0.15"});
  j.evaluation = {.batch = 16};
  const auto no = objection_to(j);
  CHECK(no);
  if (no) CHECK(holds(std::string{no.sentence}, "take no more than a rollout's"));
}

// docs/source/rloo_trainer.md of v0.11.0: 8 × 8 × 2 completions of 53 words are made before two updates, twice each.
TEST_CASE("several mini-batches of one rollout") {
  const std::string tldr =
      "accelerate launch --config_file zero2.yaml examples/scripts/rloo/rloo_tldr.py --output_dir models/minimal/rloo_tldr --num_ppo_epochs 2 --learning_rate 3e-6 --per_device_train_batch_size 8 "
      "--gradient_accumulation_steps 8 --total_episodes 1000000 --model_name_or_path EleutherAI/pythia-1b-deduped --sft_model_path EleutherAI/pythia-1b-deduped --reward_model_path EleutherAI/pythia-1b-deduped "
      "--local_rollout_forward_batch_size 16 --missing_eos_penalty 1.0 --stop_token eos --kl_coef 0.03";
  const auto of = [&](const std::string& more) {
    return job_of({{"run.sh", tldr + more + "\n"}, {"zero2.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"}}, {"rollout.prompt=512", "environment.trl=0.21"});
  };
  const auto one = of(""), two = of(" --num_mini_batches 2");
  CHECK(two.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 53, .generations = 2, .steps_per_generation = 16, .iterations = 2, .batch = 16});
  CHECK(two.batch == one.batch);
  CHECK(one.batch == batch{.micro = 8, .sequence = 565, .accumulation = 8});
  const auto a = estimate(one), b = estimate(two);
  constexpr std::int64_t score = 53 * 50'304 * 4;  // of a completion, in fp32
  for (const auto p : {phase::save, phase::forward, phase::backward}) {
    CHECK(a.ranks[0].at_phase[static_cast<std::size_t>(p)][row::logits] >= bytes{64 * score});
    CHECK(b.ranks[0][p] - a.ranks[0][p] == bytes{64 * score});
  }
  CHECK(b.ranks[0].at_phase[static_cast<std::size_t>(phase::save)][row::logits] == bytes{128 * score});
  // Twice the completions, half as often, 16 at once in either case: an update takes as long.
  CHECK(cost(two).step.value == doctest::Approx(cost(one).step.value).epsilon(1e-9));
  CHECK(cost(one).generation.value > 0);
}

TEST_CASE("what its trainer does not do") {
  const auto why = [](job j) { const auto no = objection_to(j); return no ? std::string{no.sentence} : std::string{}; };
  const auto j = read(other, {"environment.trl=0.15"});
  CHECK(why(j).empty());
  auto k = j;
  k.rollout.generations = 3;
  CHECK(holds(why(k), "rollout.generations must divide batch.micro × accumulation"));
  k = j;
  k.rollout.steps_per_generation = 6;
  k.rollout.generations = 3;
  CHECK(why(k).empty());  // 24 completions, and not 16
  k.rollout.generations = 16;
  CHECK(holds(why(k), "rollout.generations must divide batch.micro × accumulation"));
  k = j;
  k.objective.reference = reference_way::none;
  CHECK(holds(why(k), "TRL's RLOO up to 0.21 is modelled with a reference that is a copy"));
  // The correction of vLLM's scores came with TRL 0.23.
  job grpo = j;
  grpo.objective = {.kind = objective_kind::grpo, .code = method_code::trl_0_29, .reference = reference_way::none};
  grpo.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.3), .sleep = 0, .prompt = 512, .completion = 53, .corrects = choice::no};
  CHECK(why(grpo).empty());
  grpo.objective.code = method_code::trl_0_22;
  CHECK(holds(why(grpo), "rollout.corrects came with TRL 0.23"));
}

}  // namespace test_old_rloo
