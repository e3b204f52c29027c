// Distributed under the Boost Software License, Version 1.0.
// Launches whose completions a model scores: TRL's PPO and online DPO, GRPO with a reward model, MedicalGPT's ppo stage.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_scored_launches {

using namespace imported;

namespace {

const std::string ppo =
    "python examples/scripts/ppo/ppo.py --dataset_name trl-internal-testing/descriptiveness-sentiment-trl-style --output_dir models/ppo --learning_rate 3e-6 --num_ppo_epochs 1 "
    "--num_mini_batches 1 --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --total_episodes 10000 --model_name_or_path Qwen/Qwen2.5-0.5B --sft_model_path Qwen/Qwen2.5-0.5B "
    "--reward_model_path Qwen/Qwen2.5-0.5B --missing_eos_penalty 1.0 --dtype bfloat16 ";
job ppo_of(const std::string& more, std::vector<std::string> set = {"rollout.prompt=512"}) { return job_of({{"run.sh", ppo + more + "\n"}}, set); }
std::string ppo_refused(const std::string& more, const std::vector<std::string>& set = {"rollout.prompt=512"}) { return refusal_of({{"run.sh", ppo + more + "\n"}}, set); }
const std::string online =
    "accelerate launch --num_processes 8 examples/scripts/online_dpo.py --model_name_or_path Qwen/Qwen2.5-0.5B --reward_model_path Qwen/Qwen2.5-1.5B --dataset_name trl-lib/tldr --dtype bfloat16 "
    "--bf16 true --gradient_checkpointing true --per_device_train_batch_size 4 --max_length 1024 --max_new_tokens 128 ";
job online_of(const std::string& more) { return job_of({{"run.sh", online + more + "\n"}}, {"hardware.gpus_per_node=8"}); }
const std::string groups =
    "accelerate launch --num_processes 8 trl/scripts/grpo.py --model_name_or_path Qwen/Qwen2.5-7B --dataset_name a --dtype bfloat16 --bf16 true --gradient_checkpointing true --beta 0 "
    "--per_device_train_batch_size 4 --max_prompt_length 512 --max_completion_length 512 ";

}  // namespace

TEST_CASE("TRL's PPO: the policy, a reference, and a reward and a value model of the same weights") {
  const auto j = ppo_of("");
  CHECK(j.objective.kind == objective_kind::ppo);
  CHECK(j.objective.code == method_code::trl);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.frozen.model == models::qwen2_5_0_5b);
  CHECK(j.objective.critic.model == models::qwen2_5_0_5b);
  CHECK(j.objective.critic.parameters == formats::bf16);
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 53, .batch = 64});
  CHECK(j.batch == batch{.micro = 1, .sequence = 565, .accumulation = 16});
  CHECK(j.recompute.mode == recompute_mode::none);
  // --num_ppo_epochs 1 stands in the command; TRL's own default is four updates on the same completions (ppo_config.py).
  CHECK(ppo_of("--num_ppo_epochs 4").rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 53, .iterations = 4, .batch = 64});
  const auto silent = job_of({{"run.sh", "python examples/scripts/ppo/ppo.py --dataset_name a --model_name_or_path Qwen/Qwen2.5-0.5B --sft_model_path Qwen/Qwen2.5-0.5B --reward_model_path Qwen/Qwen2.5-0.5B\n"}}, {"rollout.prompt=512"});
  CHECK(silent.rollout.iterations == 4);
  CHECK(ppo_of("--gradient_checkpointing true") == j);  // PPOTrainer never switches it on
  CHECK(ppo_of("--eval_strategy steps --per_device_eval_batch_size 16") == j);  // its loop never evaluates; samples are as many as a rollout has
  CHECK(j.evaluation == evaluation{});
  CHECK_FALSE(objection_to(j));
  // Of 494,032,768 parameters: four models in two bytes, moments of two of them in four.
  const auto r = estimate(j);
  const auto& rest = r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)];
  CHECK((rest[row::model_parameters] + rest[row::optimizer_state] + rest[row::other_models]).count() / 10'000'000 == (4 * 2 * std::int64_t{494'032'768} + 2 * 4 * std::int64_t{494'032'768}) / 10'000'000);
  CHECK(ppo_of("--use_peft --lora_target_modules q_proj v_proj").objective.reference == reference_way::adapter_off);
  CHECK(ppo_of("--response_length 200 --local_rollout_forward_batch_size 4").rollout.batch == 4);
  CHECK(holds(ppo_refused("", {}), "no file says how long a prompt is"));
  CHECK(holds(ppo_refused("--num_mini_batches 2"), "num_mini_batches = 2 is not modelled"));
  // Of each completion that is shown 53 tokens of 151,936 words in four bytes, twice, and keys and values of 24 layers in two.
  const auto shown = ppo_of("--per_device_eval_batch_size 17");
  CHECK(shown.evaluation == evaluation{.batch = 17});
  CHECK(estimate(ppo_of("--per_device_eval_batch_size 33")).ranks[0][phase::generate] - estimate(shown).ranks[0][phase::generate] == bytes{16 * (2 * std::int64_t{53} * 151'936 * 4 + 565 * 24 * 2 * 2 * 64 * 2)});
  CHECK(ppo_of("--per_device_eval_batch_size 17 --num_sample_generations 0").evaluation == evaluation{});
}

// Of a step that shares its completions with three others a quarter of the generation and of the scores counts; its backward and update do not change.
TEST_CASE("several updates of PPO on the same completions") {
  const std::vector<std::string> set = {"rollout.prompt=512", "hardware.gpu=h100-sxm-80gb"};
  const auto once = cost(ppo_of("", set)), four = cost(ppo_of("--num_ppo_epochs 4", set));
  CHECK(four.generation.value == doctest::Approx(once.generation.value / 4));
  const double saved = once.other_models.value - four.other_models.value;
  CHECK(saved > 0);
  CHECK(once.step.value - four.step.value == doctest::Approx(once.generation.value * 0.75 + saved));
  auto j = ppo_of("", set);
  const auto ranks = estimate(ppo_of("--num_ppo_epochs 4", set)).ranks;
  for (const auto p : {phase::generate, phase::backward, phase::step}) CHECK(ranks[0][p] == estimate(j).ranks[0][p]);
  j.rollout.iterations = 4;
  CHECK_FALSE(objection_to(j));
  j.rollout.steps_per_generation = 2;
  const auto no = objection_to(j);
  CHECK(no);
  if (no) CHECK(holds(std::string{no.sentence}, "rollout.steps_per_generation is for GRPO and RLOO of TRL"));
}

TEST_CASE("TRL's PPO trains what its default names, whatever model_name_or_path says") {
  // The command of docs/source/ppo_trainer.md and examples/scripts/ppo/ppo.py (f2cd57710).
  const std::string command =
      "python -i examples/scripts/ppo/ppo.py --dataset_name trl-internal-testing/descriptiveness-sentiment-trl-style --dataset_train_split descriptiveness --output_dir pythia-ppo "
      "--per_device_train_batch_size 64 --gradient_accumulation_steps 1 --total_episodes 10000 --model_name_or_path EleutherAI/pythia-1b-deduped --missing_eos_penalty 1.0\n";
  auto d = draft_of({{"run.sh", command}}, {"hardware.gpus_per_node=1", "rollout.prompt=512"});
  const auto j = d.settled();
  CHECK(j.model == *models::find("pythia-160m"));
  CHECK(j.objective.frozen.model == *models::find("pythia-160m"));
  CHECK(j.objective.critic.model == *models::find("pythia-160m"));
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return holds(n, "is what trains, and of \"EleutherAI/pythia-1b-deduped\" (model_name_or_path) the tokenizer alone is read"); }));
}

TEST_CASE("models that a launch names by a folder are asked for, or are the trained one's") {
  const auto other = [](const std::string& name) {
    auto text = ppo;
    const std::string from = "--reward_model_path Qwen/Qwen2.5-0.5B";
    return text.replace(text.find(from), from.size(), "--reward_model_path " + name) + "\n";
  };
  CHECK(holds(refusal_of({{"run.sh", other("./outputs-rm")}}, {"rollout.prompt=512"}), "\"./outputs-rm\" is not in the model zoo (headroom list models has the names): add --set objective.reward=NAME"));
  const auto said = job_of({{"run.sh", other("./outputs-rm")}}, {"rollout.prompt=512", "objective.reward=qwen2.5-1.5b", "objective.critic=qwen2.5-0.5b"});
  CHECK(said.objective.frozen.model == models::qwen2_5_1_5b);
  CHECK(said.objective.frozen.parameters == formats::bf16);
  CHECK(said.objective.critic.model == models::qwen2_5_0_5b);
}

TEST_CASE("TRL's online DPO") {
  const auto j = online_of("");
  CHECK(j.objective.kind == objective_kind::online_dpo);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.frozen.model == models::qwen2_5_1_5b);
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 896, .completion = 128});
  CHECK(j.batch.sequence == 1024);
  CHECK(j.recompute.reentrant == choice::yes);
  CHECK_FALSE(objection_to(j));
  const auto served = online_of("--use_vllm --vllm_mode colocate");
  CHECK(served.rollout.share == memory_share::of(0.55));
  CHECK_FALSE(objection_to(served));
  CHECK(holds(refusal_of({{"run.sh", online + "--eval_strategy steps\n"}}, {"hardware.gpus_per_node=8"}), "evaluation beside generated completions"));
}

TEST_CASE("GRPO with a reward model: it lies beside the policy, and reads all completions at once") {
  const std::vector<std::string> set{"hardware.gpus_per_node=8"};
  const auto plain = job_of({{"run.sh", groups + "--reward_funcs a\n"}}, set), scored = job_of({{"run.sh", groups + "--reward_model_name_or_path Qwen/Qwen2.5-0.5B\n"}}, set);
  CHECK(scored.objective.frozen.model == models::qwen2_5_0_5b);
  CHECK_FALSE(objection_to(scored));
  const auto without = estimate(plain), with = estimate(scored);
  const auto other = [](const report& r) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)][row::other_models]; };
  CHECK(other(without) == bytes{0});
  // 494,032,768 parameters and a score of 896 instead of the tied head, in bf16; blocks of 512 bytes.
  CHECK(other(with).count() >= 2 * (494'032'768 + 896));
  CHECK(other(with).count() < 2 * (494'032'768 + 896) + 200'000);
  CHECK(with.ranks[0].has(phase::reward));
  // Of as many completions as are generated together: 4 micro-batches instead of 1.
  const auto wide = job_of({{"run.sh", groups + "--reward_model_name_or_path Qwen/Qwen2.5-0.5B --use_vllm true --vllm_mode colocate --steps_per_generation 4\n"}}, set);
  CHECK(wide.rollout.steps_per_generation == 4);
  const auto narrow = job_of({{"run.sh", groups + "--reward_model_name_or_path Qwen/Qwen2.5-0.5B --use_vllm true --vllm_mode colocate\n"}}, set);
  CHECK(estimate(wide).ranks[0][phase::reward] > estimate(narrow).ranks[0][phase::reward]);
  CHECK(estimate(wide).ranks[0][phase::generate] == estimate(narrow).ranks[0][phase::generate]);
}

TEST_CASE("GRPO evaluates by the code of its rollouts: more at once is more") {
  const std::vector<std::string> set{"hardware.gpus_per_node=8"};
  const auto none = job_of({{"run.sh", groups + "--reward_funcs a\n"}}, set), few = job_of({{"run.sh", groups + "--reward_funcs a --eval_strategy steps --per_device_eval_batch_size 4\n"}}, set),
             many = job_of({{"run.sh", groups + "--reward_funcs a --eval_strategy steps --per_device_eval_batch_size 64\n"}}, set);
  CHECK(few.evaluation == evaluation{.batch = 4});
  CHECK(none.evaluation == evaluation{});
  const auto at = [](const job& j, phase p) { return estimate(j).ranks[0][p]; };
  CHECK(at(none, phase::generate) == at(few, phase::generate));
  // Logits of 64 completions of 513 tokens in fp32, which accelerate makes them, and a copy of 512: 60 more of each than of 4, over 152,064 entries.
  const auto more = (at(many, phase::score) - at(few, phase::score)).count() - std::int64_t{60} * (513 + 512) * 152'064 * 4;
  CHECK(more >= 0);
  CHECK(more < std::int64_t{60} * 3584 * 1024 * 4);  // beside what leaves the layers
  CHECK(at(many, phase::generate) > at(few, phase::generate));
  CHECK(estimate(many).peak() > estimate(few).peak());
  CHECK(estimate(few).peak() == estimate(none).peak());
}

TEST_CASE("MedicalGPT's ppo stage is RLOO with a reward model, on one GPU") {
  const std::vector<std::string> one{"model=qwen2.5-1.5b", "objective.reward=qwen2.5-1.5b", "hardware.gpus_per_node=1", "rollout.prompt=1024"};
  const auto j = job_of({launch_file("medicalgpt-stages", "run_ppo.sh")}, one);
  CHECK(j.objective.kind == objective_kind::rloo);
  CHECK(j.objective.frozen.model == models::qwen2_5_1_5b);
  CHECK(j.objective.frozen.parameters == formats::bf16);
  CHECK(j.objective.reference == reference_way::copy);  // beta 0.05, RLOO's default
  CHECK(j.objective.reference_format == formats::fp32);
  CHECK(j.precision.parameters == formats::bf16);
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 1024, .completion = 1000, .generations = 2});
  CHECK(j.batch == batch{.micro = 1, .sequence = 2024, .accumulation = 4});
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.evaluation.batch == 8);
  CHECK_FALSE(objection_to(j));
  // 1,543,714,304 parameters: policy and reward in two bytes, the reference in four, two moments in two each.
  const auto r = estimate(j);
  const auto& rest = r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)];
  constexpr std::int64_t p = 1'543'714'304;
  CHECK(rest[row::model_parameters].count() / 1'000'000 == 2 * p / 1'000'000);
  CHECK(rest[row::optimizer_state].count() / 1'000'000 == 4 * p / 1'000'000);
  CHECK(rest[row::other_models].count() >= 6 * p);
  CHECK(rest[row::other_models].count() < 6 * p + 1'000'000);
  CHECK(holds(refusal_of({launch_file("medicalgpt-stages", "run_ppo.sh")}, {"model=qwen2.5-1.5b", "hardware.gpus_per_node=1"}), "no file says how long a prompt is"));
  // As it stands one process has two GPUs, and that is said with what would do.
  const auto two = job_of({launch_file("medicalgpt-stages", "run_ppo.sh")}, {"model=qwen2.5-1.5b", "objective.reward=qwen2.5-1.5b", "rollout.prompt=1024"});
  CHECK(holds(objection_to(two).in_words().what(), "let it see one GPU"));
  // Of Qwen3.5 the policy is the text model, and the scores' class has the tower, too, which texts leave alone (transformers modeling_auto.py: Qwen3_5ForCausalLM,
  // Qwen3_5ForSequenceClassification): its parameters in two bytes, without a head, which is the embedding, and with one score.
  const auto sees = job_of({launch_file("medicalgpt-stages", "run_ppo.sh")}, {"model=qwen3.5-2b", "objective.reward=qwen3.5-2b", "hardware.gpus_per_node=1", "rollout.prompt=1024"});
  CHECK(sees.model.vision.layers == 0);
  CHECK(sees.objective.frozen.model.vision.layers > 0);
  CHECK_FALSE(objection_to(sees));
  const auto whole = count(sees.objective.frozen.model).total.count(), text = count(sees.model).total.count();
  CHECK(whole > text);
  const auto beside = estimate(sees).ranks[0].at_phase[static_cast<std::size_t>(phase::save)][row::other_models].count();
  CHECK(beside >= 2 * (whole + 2048) + 4 * text);
  CHECK(beside < 2 * (whole + 2048) + 4 * text + 2'000'000);
}

}  // namespace test_scored_launches
