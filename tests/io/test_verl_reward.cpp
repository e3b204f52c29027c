// Distributed under the Boost Software License, Version 1.0.
// verl's reward models, and its estimators without a critic.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_verl_reward {

using namespace imported;

namespace {

/// examples/ppo_trainer/run_qwen2.5-3b_rm_legacy.sh of volcengine/verl b178a3cd, what it says of memory.
const std::string ppo =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.max_prompt_length=1024 data.max_response_length=2048 actor_rollout_ref.model.path=Qwen/Qwen2.5-3B-Instruct "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.6 critic.model.path=Qwen/Qwen2.5-3B-Instruct critic.ppo_micro_batch_size_per_gpu=32 trainer.n_gpus_per_node=8 "
    "algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.enforce_eager=False ";
const std::string scored =
    "reward_model.enable=True reward_model.model.path=meta-llama/Llama-3.2-3B reward_model.use_reward_loop=False reward_model.model.use_remove_padding=True reward_model.micro_batch_size_per_gpu=32 ";
job said(const std::string& more) { return job_of({{"run.sh", ppo + more + "\n"}}); }
std::string refused(const std::string& more) { return refusal_of({{"run.sh", ppo + more + "\n"}}); }

}  // namespace

TEST_CASE("a reward model of verl's FSDP workers lies on the host, in bf16") {
  const auto j = said(scored + "reward_model.model.fsdp_config.param_offload=False"), bare = said("");
  CHECK(j.objective.frozen.model == *models::find("llama-3.2-3b"));
  CHECK(j.objective.frozen.micro == 32);
  CHECK(j.objective.critic == bare.objective.critic);
  CHECK_FALSE(objection_to(j));
  const auto with = estimate(j), without = estimate(bare);
  CHECK(with.ranks[0].has(phase::reward));
  CHECK_FALSE(without.ranks[0].has(phase::reward));
  // CPUOffload whatever param_offload says: between its turns nothing of it is on the GPU.
  CHECK(with.ranks[0][phase::step] == without.ranks[0][phase::step]);
  CHECK(with.ranks[0][phase::critic] == without.ranks[0][phase::critic]);
  // 3,212,749,824 parameters, of which the table is tied to a head that is not made, and a score of 3,072; 100,663,296 in each of 28 layers beside two norms.
  constexpr std::int64_t layer = 100'663'296 + 2 * 3072, table = 128'256 * 3072;
  static_assert(28 * layer + table + 3072 == 3'212'749'824);
  // While it scores: the table's unit and one layer's, gathered in bf16, beside what the layer reads and makes, of which the stream is one tensor.
  const auto scores = (with.ranks[0][phase::reward] - with.ranks[0][phase::save]).count(), gathered = 2 * (table + 2 * 3072 + layer), stream = std::int64_t{2} * 32 * 3072 * 3072;
  CHECK(scores > gathered + stream);
  CHECK(scores < gathered + 20 * stream);
  // As many as the policy trains on at once is what stands where nothing is said.
  CHECK(said(scored + "reward_model.micro_batch_size_per_gpu=16").objective.frozen.micro == 0);
  // micro_batch_size is of all eight GPUs (RewardModelWorker.__init__).
  CHECK(said(scored + "reward_model.micro_batch_size_per_gpu=0 reward_model.micro_batch_size=64").objective.frozen.micro == 8);
  CHECK(said("reward_model.enable=False reward_model.micro_batch_size_per_gpu=32") == bare);
}

TEST_CASE("what a reward model of verl's is not read with") {
  const auto why = [](const std::string& more, const std::string& part) { return holds(refused(scored + more), part); };
  CHECK(why("reward_model.use_reward_loop=True", "a reward model that an engine of its own runs"));
  CHECK(why("reward_model.enable_resource_pool=True", "a reward model on GPUs of its own"));
  CHECK(why("reward_model.strategy=fsdp2", "sharded in another way than the actor"));
  CHECK(why("actor_rollout_ref.actor.strategy=fsdp2 critic.strategy=fsdp2", "sharded in another way than the actor"));
  CHECK(why("reward_model.model.fsdp_config.fsdp_size=4", "sharded in another way than the actor"));
  CHECK(why("reward_model.ulysses_sequence_parallel_size=2", "sharded in another way than the actor"));
  CHECK(why("reward_model.model.use_remove_padding=False", "scores padded samples"));
  CHECK(why("reward_model.use_dynamic_bsz=True", "scores rows of tokens"));
  // Rows of 16,384 tokens are no 32 samples of up to 3,072.
  CHECK(why("actor_rollout_ref.actor.use_dynamic_bsz=True critic.use_dynamic_bsz=True reward_model.use_dynamic_bsz=False", "scores a number of samples beside training on rows of tokens"));
  CHECK(why("reward_model.max_length=8192", "reads more tokens than a sample has"));
  CHECK(why("algorithm.adv_estimator=grpo", "a reward model beside a method without a critic"));
  CHECK(holds(refused("reward_model.enable=True reward_model.use_reward_loop=False reward_model.model.use_remove_padding=True"), "reward_model.micro_batch_size_per_gpu is required"));
  CHECK(why("reward_model.micro_batch_size_per_gpu=0", "reward_model.micro_batch_size_per_gpu is required"));
  CHECK(why("reward_model.model.path=~/rm", "add --set objective.reward=NAME"));
}

// verl v0.4.0 to v0.6.1 have no reward_model.use_reward_loop, and Hydra would stop at it.
TEST_CASE("a reward model of a verl before its reward loop is read without the key that came with that") {
  const std::string old = "reward_model.enable=True reward_model.model.path=meta-llama/Llama-3.2-3B reward_model.model.use_remove_padding=True reward_model.micro_batch_size_per_gpu=32 ";
  const auto of = [&](const std::string& more, const std::string& release) { return job_of({{"run.sh", ppo + more + "\n"}}, {"environment.verl=" + release}); };
  CHECK(of(old, "0.6") == of(scored, "0.6"));
  CHECK(of(old, "0.6").objective.frozen.micro == 32);
  CHECK(holds(refusal_of({{"run.sh", ppo + old + "\n"}}, {"environment.verl=0.7"}), "an engine of its own runs: reward_model.use_reward_loop, which is true where it is not given"));
  CHECK(holds(refused(old), "reward_model.use_reward_loop is not given, and is true in verl since 0.7 (2026-01), and there is none before: say it, or --set environment.verl=VERSION"));
  CHECK(holds(refused(old + "actor_rollout_ref.actor.calculate_entropy=False"), "an engine of its own runs"));  // a key of 0.7
}

// verl/trainer/ppo/ray_trainer.py fit: a greedy completion of each prompt is generated and scored by the rule beside the others.
TEST_CASE("ReMax takes what REINFORCE takes") {
  const std::string without = "critic.enable=False algorithm.use_kl_in_reward=True ";
  CHECK(said(without + "algorithm.adv_estimator=remax") == said(without + "algorithm.adv_estimator=reinforce_plus_plus"));
  bool found = false;
  for (const auto& n : draft_of({{"run.sh", ppo + without + "algorithm.adv_estimator=remax\n"}}).notes) found = found || holds(n, "the greedy completion that ReMax generates");
  CHECK(found);
}

/// examples/tuning/32b/qwen2-32b_grpo-lora_4_h100_fsdp_vllm.sh of volcengine/verl v0.4.1, where nproc_per_gpu is 44: ppo_micro_batch_size is all GPUs', and two of them
/// train on parts of the same samples (fsdp_workers.py ActorRolloutRefWorker.__init__); layered_summon gathers a layer at a time.
TEST_CASE("verl's own table of LoRA trials: micro-batches of all GPUs, and layers one by one") {
  const auto j = job_of({{"run.sh",
                          "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-32B-Instruct "
                          "actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.target_modules=all-linear actor_rollout_ref.actor.ppo_mini_batch_size=176 actor_rollout_ref.actor.ppo_micro_batch_size=176 "
                          "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True "
                          "actor_rollout_ref.rollout.log_prob_micro_batch_size=176 actor_rollout_ref.rollout.tensor_model_parallel_size=4 actor_rollout_ref.rollout.name=vllm "
                          "actor_rollout_ref.rollout.gpu_memory_utilization=0.3 actor_rollout_ref.rollout.n=5 actor_rollout_ref.rollout.max_num_batched_tokens=1536 actor_rollout_ref.rollout.load_format=safetensors "
                          "actor_rollout_ref.rollout.layered_summon=True actor_rollout_ref.ref.log_prob_micro_batch_size=176 actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 actor_rollout_ref.model.use_remove_padding=True trainer.n_gpus_per_node=4\n"}},
                        {"hardware.gpu=h100-sxm-80gb"});
  CHECK(j.batch.micro == 88);
  CHECK(j.parallel.context == 2);
  CHECK(j.rollout.sync_groups == 64);
  auto run = j;
  run.batch.sequence = 400;  // GSM8K's samples have 350 to 450 tokens
  // 44 a GPU ran and 45 did not: all but a few per cent of the GPU is taken. Without layered_summon the whole model would be gathered in fp32, twice the GPU.
  constexpr auto most = 80_GiB;
  const auto r = estimate(run);
  CHECK(r.ranks[0].device > most * 9 / 10);
  CHECK(r.ranks[0].device < most * 11 / 10);
  run.rollout.sync_groups = 1;
  CHECK(estimate(run).ranks[0].device > most * 19 / 10);
}

}  // namespace test_verl_reward
