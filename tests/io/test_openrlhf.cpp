// Distributed under the Boost Software License, Version 1.0.
// Commands of OpenRLHF's trainers in, jobs or sentences out. The commands are those of its examples/scripts (3c3be623 of 2026-08-13, and older
// releases where a name is of theirs), shortened by what changes nothing.
#include "imported.hpp"

#include <headroom/cost/cost.hpp>
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

namespace test_openrlhf {

using namespace imported;
using namespace headroom::literals;

namespace {

const std::vector<std::string> eight{"hardware.gpus_per_node=8"};

/// train_sft.sh, train_rm.sh and train_dpo_llama.sh hand their arguments over in a variable.
std::string by_variable(const std::string& arguments) { return "set -x\n\nread -r -d '' training_commands <<EOF\nopenrlhf.cli." + arguments + "\nEOF\n\nif [[ ${1} != \"slurm\" ]]; then\n    deepspeed --module $training_commands\nfi\n"; }
const std::string sft = "train_sft \\\n   --data.max_len 2048 \\\n   --train.batch_size 256 \\\n   --train.micro_batch_size 2 \\\n   --model.model_name_or_path meta-llama/Meta-Llama-3-8B \\\n   --ds.zero_stage 2 \\\n   --adam.lr 5e-6";
const std::string dpo = "train_dpo \\\n   --data.max_len 8192 \\\n   --train.batch_size 256 \\\n   --train.micro_batch_size 1 \\\n   --model.model_name_or_path meta-llama/Meta-Llama-3-8B \\\n   --ds.zero_stage 3 \\\n   --ds.packing_samples \\\n   --model.gradient_checkpointing_enable";
/// train_dapo_ray_hybrid_engine.sh.
const std::string dapo =
    "python3 -m openrlhf.cli.train_ppo_ray --ref.num_nodes 1 --ref.num_gpus_per_node 8 --actor.num_nodes 1 --actor.num_gpus_per_node 8 --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_all "
    "--vllm.gpu_memory_utilization 0.6 --algo.kl.init_coef 1e-3 --algo.kl.use_loss --algo.advantage.estimator group_norm --actor.eps_clip_low_high 0.2 0.27 --actor.model_name_or_path meta-llama/Meta-Llama-3-8B "
    "--reward.remote_url /openrlhf/examples/python/reward_func.py --train.micro_batch_size 8 --train.batch_size 128 --rollout.micro_batch_size 16 --rollout.batch_size 128 --rollout.n_samples_per_prompt 8 "
    "--data.max_len 2048 --ds.zero_stage 3 --actor.gradient_checkpointing_enable --ds.packing_samples --vllm.sync_backend nccl --vllm.enforce_eager --vllm.enable_sleep --ds.enable_sleep";
const std::vector<std::string> prompt{"rollout.prompt=1024"};

job trained(const std::string& arguments, const std::vector<std::string>& set = eight) { return job_of({{"run.sh", by_variable(arguments)}}, set); }
std::string refused(const std::string& arguments, const std::vector<std::string>& set = eight) { return refusal_of({{"run.sh", by_variable(arguments)}}, set); }
job online(const std::string& command, const std::vector<std::string>& set = prompt) { return job_of({{"run.sh", command + "\n"}}, set); }
std::string online_refused(const std::string& command, const std::vector<std::string>& set = prompt) { return refusal_of({{"run.sh", command + "\n"}}, set); }
std::string without(std::string text, const std::string& part) { return text.erase(text.find(part), part.size()); }

}  // namespace

// openrlhf/models/actor.py and model.py set output_router_logits of every configuration that has it.
TEST_CASE("a mixture of experts makes a loss of its routers' logits") {
  const auto of = [](std::string arguments, const std::string& model) {
    const std::string dense = "meta-llama/Meta-Llama-3-8B";
    return arguments.replace(arguments.find(dense), dense.size(), model);
  };
  const auto j = trained(of(sft, "mistralai/Mixtral-8x7B-v0.1"));
  CHECK(j.loss.balances_experts);
  CHECK_FALSE(objection_to(j));
  CHECK_FALSE(trained(sft).loss.balances_experts);
  CHECK(trained(of(sft, "mistralai/Mixtral-8x7B-v0.1") + " \\\n   --model.aux_loss_coef 0.001") == j);  // its weight is of arithmetic alone
  CHECK_FALSE(trained(of(sft, "deepseek-ai/DeepSeek-V2-Lite")).loss.balances_experts);  // whose configuration does not have it
  CHECK(holds(refused(of(dpo, "mistralai/Mixtral-8x7B-v0.1")), "make a loss of its routers' logits, which is modelled of"));
}

TEST_CASE("fine-tuning") {
  const auto j = trained(sft);
  CHECK(j.model == *models::find("llama-3-8b"));
  CHECK(j.objective == objective{.kind = objective_kind::sft, .code = method_code::openrlhf});
  CHECK(j.framework.label == "deepspeed");
  CHECK(j.sharding.kind == sharding_kind::zero);
  CHECK(j.sharding.stage == 2);
  CHECK(j.batch.micro == 2);
  CHECK(j.batch.accumulation == 16);  // 256 / (2 × 8)
  CHECK(j.batch.sequence == 2048);
  CHECK(j.batch.padded);
  CHECK(j.attention == attention::flash);
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.offload.optimizer == place::on_gpu);
  CHECK_FALSE(objection_to(j));
  const auto again = trained(sft + " \\\n   --model.gradient_checkpointing_enable \\\n   --ds.packing_samples \\\n   --ds.adam_offload");
  CHECK(again.recompute.mode == recompute_mode::full);
  CHECK(again.recompute.reentrant == choice::no);
  CHECK_FALSE(again.batch.padded);
  CHECK(again.offload.optimizer == place::on_cpu);
  CHECK(trained(sft + " --model.gradient_checkpointing_enable --model.gradient_checkpointing_reentrant").recompute.reentrant == choice::yes);
  const auto adapted = trained(sft + " --ds.lora.rank 64 --ds.lora.alpha 64");
  CHECK(adapted.adapter.rank == 64);
  CHECK(adapted.adapter.targets.has(module::down_proj));
  CHECK_FALSE(adapted.adapter.targets.has(module::head));
  CHECK(trained(sft + " --ds.lora.rank 8 --ds.lora.target_modules q_proj v_proj").adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(trained("train_sft --model.model_name_or_path meta-llama/Meta-Llama-3-8B").batch.micro == 8);  // the defaults
  CHECK(trained("train_sft --model.model_name_or_path meta-llama/Meta-Llama-3-8B").batch.accumulation == 2);  // 128 / (8 × 8)
  CHECK(detail::replays_steps(j));
  CHECK(trained("train_rm --model.model_name_or_path meta-llama/Meta-Llama-3-8B").batch.sequence == 512);
  // The same under its names of before 0.10.2; without flash_attn attention is written out there.
  const std::string old = "train_sft --max_len 2048 --train_batch_size 256 --micro_train_batch_size 2 --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 2 --learning_rate 5e-6 --bf16 --dataset_split train";
  const auto alike = [&](const job& o) { return o.batch == j.batch && o.sharding == j.sharding && o.attention == j.attention && o.recompute == j.recompute && o.objective == j.objective && estimate(o).peak() == estimate(j).peak(); };
  CHECK(alike(trained(old + " --flash_attn")));
  CHECK(trained(old).attention == attention::eager);
  CHECK(alike(trained(without(old, " --bf16") + " --param_dtype bf16")));
}

// sft_trainer.py: GPTLMLoss up to 0.6.4, SFTLoss of log-probabilities since 0.7.0; models/utils.py log_probs_from_logits.
TEST_CASE("a command that does not say how old OpenRLHF is") {
  const std::string old = "train_sft --max_len 2048 --train_batch_size 256 --micro_train_batch_size 2 --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 2 --learning_rate 5e-6 --bf16 --flash_attn";
  const auto of = [](const char* release) { return std::vector<std::string>{"hardware.gpus_per_node=8", std::string{"environment.openrlhf="} + release}; };
  CHECK(holds(refused(old), "OpenRLHF makes its losses in another way before 0.7 (2025-04)"));
  CHECK(holds(refused(old), "--set environment.openrlhf=VERSION"));
  CHECK(holds(refused(old, of("0.5.5")), "OpenRLHF is modelled as of its release 0.7"));
  CHECK(holds(refused(old, of("0.6")), "OpenRLHF is modelled as of its release 0.7"));
  CHECK(estimate(trained(old, of("0.8"))).peak() == estimate(trained(sft)).peak());
  CHECK(trained(old + " --dataset_split train") == trained(old, of("0.8")));  // 0.7 brought it
  CHECK(trained("train_rm --pretrain meta-llama/Meta-Llama-3-8B --flash_attn --bf16").objective.kind == objective_kind::reward);  // whose loss is of scores
}

TEST_CASE("pairs") {
  const auto j = trained(dpo);
  CHECK(j.objective == objective{.kind = objective_kind::dpo, .code = method_code::openrlhf, .reference = reference_way::copy});
  CHECK(j.sharding.stage == 3);
  CHECK(j.batch.accumulation == 32);
  CHECK(j.batch.sequence == 8192);
  CHECK_FALSE(objection_to(j));
  const auto waits = trained(dpo + " --ref.offload");
  CHECK(waits.objective.reference_at == place::on_cpu);
  CHECK_FALSE(objection_to(waits));
  // 2P / 8 leave the GPU; on the host they are pinned tensor by tensor, each rounded up to a power of two. In MiB: q and output 4, k and v 1, gate, up and down 14 -> 16 in
  // each of 32 layers, two tables 125.25 -> 128; 65 norms of 1 KiB.
  const auto here = trained(dpo);
  const auto resident = [](const job& x) { return estimate(x).ranks[0][phase::save].count(); };
  CHECK(resident(here) - resident(waits) > 2 * 8'030'261'248 / 8 * 99 / 100);
  CHECK(resident(here) - resident(waits) <= 2 * 8'030'261'248 / 8);
  CHECK((estimate(waits).host.pinned_per_node - estimate(here).host.pinned_per_node).count() == 8 * ((32 * (2 * 4 + 2 * 1 + 3 * 16) + 2 * 128) * mib.count() + 65 * 1024));
  auto second = dpo;
  second.replace(second.find("zero_stage 3"), 12, "zero_stage 2");
  CHECK(holds(refused(second + " --ref.offload"), "without ds.zero_stage 3"));
  CHECK(holds(refused(dpo + " --ref.model_name_or_path other/one"), "another model than the trained one"));
  const auto scores = trained("train_rm --model.model_name_or_path meta-llama/Meta-Llama-3-8B --train.batch_size 256 --data.max_len 8192 --ds.zero_stage 3");
  CHECK(scores.objective == objective{.kind = objective_kind::reward, .code = method_code::openrlhf});
  CHECK_FALSE(objection_to(scores));
  CHECK(estimate(scores).parameter_count.total == parameters{8'030'261'248 - 128'256LL * 4096 + 4096});
}

// zai-org/ChatGLM3 issue 1057: the class's own gradient_checkpointing_enable is a check that sets nothing.
TEST_CASE("a model whose own code may make no checkpoints is asked about") {
  const auto of = [](const std::string& name) {
    const std::string llama = "meta-llama/Meta-Llama-3-8B";
    auto arguments = dpo;
    return arguments.replace(arguments.find(llama), llama.size(), name);
  };
  auto said = eight;
  said.push_back("recompute=none");
  for (const auto* name : {"THUDM/glm-4-9b-chat", "THUDM/chatglm3-6b"}) {
    CHECK(holds(refused(of(name)), "makes checkpoints in some of its revisions and none in others"));
    CHECK(trained(of(name), said).recompute.mode == recompute_mode::none);
    CHECK(trained(without(of(name), " \\\n   --model.gradient_checkpointing_enable")).recompute.mode == recompute_mode::none);
  }
  // 2,048 tokens of a pair on eight GPUs: with checkpoints it would be said to fit; the run that asked for them went out of memory.
  auto j = trained(of("THUDM/glm-4-9b-chat"), said);
  j.batch.sequence = 2048, j.batch.lengths = {}, j.attention = attention::sdpa;
  auto again = j;
  again.recompute = recompute::full;
  CHECK(estimate(j).peak() > 55_GiB);
  CHECK(estimate(again).peak() < 50_GiB);
}

TEST_CASE("groups of completions beside an engine that sleeps") {
  const auto j = online(dapo);
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::openrlhf, .reference = reference_way::copy});
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.batch.micro == 8);
  CHECK(j.batch.accumulation == 2);
  CHECK(j.rollout.share == memory_share::of(0.6));
  CHECK(j.rollout.tensor == 2);
  CHECK(j.rollout.sleep == 1);
  CHECK(j.rollout.graphs == choice::no);
  CHECK(j.rollout.batch == 16);
  CHECK(j.rollout.generations == 8);
  CHECK(j.rollout.trainer_moves == trainer_parts{trainer_part::optimizer});
  CHECK(j.rollout.prompt == 1024);
  CHECK(j.rollout.completion == 1024);  // what max_len leaves
  CHECK_FALSE(objection_to(j));
  // A context each for the trainer, the engine and the reference.
  CHECK(estimate(j).ranks[0].outside.engine - estimate(online(without(dapo, " --algo.kl.init_coef 1e-3") + " --algo.kl.init_coef 0")).ranks[0].outside.engine == 400 * mib);
  CHECK(online(without(dapo, " --algo.kl.init_coef 1e-3") + " --algo.kl.init_coef 0").objective.reference == reference_way::none);
  CHECK(online(without(dapo, " --ds.enable_sleep")).rollout.trainer_moves.empty());
  CHECK(online(without(without(dapo, " --vllm.enable_sleep"), " --ds.enable_sleep")).rollout.sleep == 0);
  CHECK(online(dapo + " --rollout.max_new_tokens 1536", {}).rollout.prompt == 512);
  const auto open = online(dapo, {});
  CHECK(open.rollout.prompt == 1);  // whatever max_len leaves may be the completion
  CHECK(open.rollout.completion == 2047);
  // Logits of whole samples, in fp32: of 16 that are scored, of 8 that train.
  const auto r = estimate(j), longer = estimate(open);
  CHECK(r.ranks[0][phase::score] == longer.ranks[0][phase::score]);
  CHECK(r.ranks[0][phase::backward] == longer.ranks[0][phase::backward]);
  CHECK((r.ranks[0][phase::score] - r.ranks[0][phase::save]).count() > 16LL * 2048 * 128'256 * 4);
  CHECK(holds(online_refused(without(dapo, " --ds.packing_samples") + " --train.dynamic_batch_enable"), "train.dynamic_batch_enable = true is not modelled by this version (without ds.packing_samples"));
  CHECK(holds(online_refused(dapo + " --rollout.temperature 0.8"), "rollout.temperature"));
  CHECK(holds(online_refused(dapo + " --actor.entropy_coef 0.0"), "actor.entropy_coef"));
  CHECK(holds(online_refused(dapo + " --ds.lora.rank 8"), "adapters in OpenRLHF's online trainer"));
  CHECK(holds(online_refused(dapo + " --ds.ring_attn_size 2"), "ds.ring_attn_size"));
  CHECK(holds(online_refused(dapo + " --actor.eps_cilp 0.2"), "actor.eps_cilp is not known here"));
  CHECK(holds(online_refused(without(dapo, " --train.colocate_all")), "a reference on GPUs of its own"));
  const auto apart = online(without(without(dapo, " --train.colocate_all"), " --ds.enable_sleep") + " --train.colocate_actor_ref");
  CHECK(apart.rollout.placement == rollout_place::separate);
  CHECK(apart.rollout.gpus == 8);
}

// replay_buffer.py setup_dynamic_batch, experience_maker.py split_rollout_samples, seqlen_balancing.py get_minimum_num_micro_batch_size: 128 samples of 2,048 tokens are 16 of
// each of eight GPUs, two rows of 16,384; 1,024 samples are scored in 64 rows of 32,768.
TEST_CASE("micro-batches of a number of tokens") {
  const std::string tokens = " --train.dynamic_batch_enable --train.max_tokens_per_gpu 16384 --rollout.max_tokens_per_gpu 32768";
  const auto j = online(dapo + tokens);
  CHECK(j.batch.packed);
  CHECK_FALSE(j.batch.padded);
  CHECK((j.batch.micro == 1 && j.batch.sequence == 16'384 && j.batch.accumulation == 2));
  CHECK((j.rollout.prompt == 1024 && j.rollout.completion == 1024 && j.rollout.batch == 2));
  CHECK(j.rollout.generations == 8);
  CHECK_FALSE(objection_to(j));
  // Eight samples of 2,048 tokens at once are the same logits, and the same time of the engine.
  const auto samples = online(dapo), few = online(dapo + " --train.dynamic_batch_enable --train.max_tokens_per_gpu 16384");
  const auto at = [](const job& of, phase p, row what) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(p)][what]; };
  CHECK(few.rollout.batch == 1);
  CHECK(at(j, phase::backward, row::logits) == at(samples, phase::backward, row::logits));
  CHECK(at(j, phase::backward, row::logits).count() >= 4LL * 128'256 * 16'384);
  CHECK(estimate(few).ranks[0][phase::score] < estimate(j).ranks[0][phase::score]);
  CHECK(estimate(j).ranks[0][phase::score] == estimate(samples).ranks[0][phase::score]);
  CHECK(cost(j).generation.value == doctest::Approx(cost(samples).generation.value));
  // 100 prompts of 3 completions: 300 samples are 38 rows of 16,384, of which 32 are made, nine or ten samples each.
  CHECK(online(without(without(dapo, " --rollout.batch_size 128"), " --rollout.n_samples_per_prompt 8") + " --rollout.batch_size 100 --rollout.n_samples_per_prompt 3 --train.dynamic_batch_enable --train.max_tokens_per_gpu 16384").rollout.batch == 2);
  CHECK(holds(online_refused(dapo + " --train.dynamic_batch_enable --train.max_tokens_per_gpu 2000"), "train.max_tokens_per_gpu must hold the longest sample, 2048 tokens"));
  const auto said = online(dapo + tokens + " --rollout.max_new_tokens 1536", {});
  CHECK((said.rollout.prompt == 512 && said.rollout.completion == 1536));
}

TEST_CASE("PPO on the same GPUs") {
  auto command = without(dapo, " --algo.advantage.estimator group_norm");
  const std::string served = " --reward.remote_url /openrlhf/examples/python/reward_func.py";
  command = without(command, served) + " --reward.model_name_or_path some/llama-rm --reward.num_nodes 1 --critic.num_nodes 1";
  const std::vector<std::string> named{"rollout.prompt=1024", "objective.reward=llama-3-8b", "objective.critic=llama-3-8b"};
  const auto j = online(command, named);
  CHECK(j.objective.kind == objective_kind::ppo);
  CHECK(j.objective.critic.model == *models::find("llama-3-8b"));
  CHECK(j.objective.frozen.model == *models::find("llama-3-8b"));
  CHECK_FALSE(objection_to(j));
  CHECK(online(command + " --reward.offload", named).objective.frozen.parameters_at == place::on_cpu);
  CHECK(holds(online_refused(without(command, " --train.colocate_all") + " --train.colocate_actor_ref", named), "critics and reward models on GPUs of their own"));
  CHECK(holds(online_refused(command + " --critic.num_gpus_per_node 4", named), "critic must have the nodes and GPUs of the actor"));
  CHECK(holds(online_refused(without(command, " --vllm.num_engines 4"), named), "generation without vLLM"));
  CHECK(holds(online_refused(without(command, " --reward.model_name_or_path some/llama-rm"), named), "who scores completions?"));
}

TEST_CASE("what its command says of other models, engines and rows, and is not read") {
  const auto with = [](const std::string& part, const std::string& other) { return without(dapo, part).insert(dapo.find(part), other); };
  const std::string scores = "--reward.remote_url /openrlhf/examples/python/reward_func.py ", unread = " is not modelled by this version (", ignore = "), and may change what is allocated: take it out, or go on without it by --ignore ";
  const std::pair<std::string, std::string> rows[] = {
      {with("--ds.zero_stage 3", "--ds.zero_stage 2 --ref.offload"), "run.sh:1: ref.offload = true" + unread + "a reference whose weights wait on the host, without ds.zero_stage 3" + ignore + "ref.offload"},
      {without(dapo, scores), "run.sh: who scores completions? reward.model_name_or_path, reward.remote_url or train.agent_func_path is required"},
      {with(scores, "--reward.model_name_or_path a/b,c/d "), "run.sh:1: reward.model_name_or_path = \"a/b,c/d\"" + unread + "several reward models" + ignore + "reward.model_name_or_path"},
      {with("--train.colocate_all ", ""), "run.sh: a reference on GPUs of its own is not modelled by this version: train.colocate_actor_ref puts it on the policy's"},
      {with("num_engines 4", "num_engines 0"), "run.sh:1: generation without vLLM is not modelled of OpenRLHF by this version: vllm.num_engines must be 1 or more"},
      {without(dapo, " --vllm.enable_sleep"), "run.sh:1: ds.enable_sleep = true" + unread + "beside an engine that does not sleep (vllm.enable_sleep)" + ignore + "ds.enable_sleep"},
      {without(dapo, " --ds.packing_samples") + " --train.dynamic_batch_enable", "run.sh:1: train.dynamic_batch_enable = true" + unread + "without ds.packing_samples, which would lay samples behind each other" + ignore + "train.dynamic_batch_enable; one more stops the import: --ignore train.batch_size"},
      {with("--train.batch_size 128", "--train.batch_size 100"), "run.sh:1: 100 samples of a step must be a multiple of micro-batch × data-parallel ranks, 8 × 8"},
      {with("group_norm", "gea"), "run.sh:1: algo.advantage.estimator must not be \"gea\"; did you mean \"gae\"? accepted: gae, reinforce, rloo, reinforce_baseline, group_norm, dr_grpo"},
      {dapo + " --nothing.at.all 1", "run.sh:1: nothing.at.all is not known here, and may change what is allocated: take it out, or go on without it by --ignore nothing.at.all"},
      {with("--data.max_len 2048", "--data.max_len 0"), "run.sh:1: data.max_len must be a whole number from 1 to 2147483648, found 0"},
      {with("utilization 0.6", "utilization 1.6"), "run.sh:1: vllm.gpu_memory_utilization must be a number from 0.0 to 1.0, found 1.6"},
  };
  CHECK(online_refused(dapo).empty());
  for (const auto& [command, sentence] : rows) CHECK(online_refused(command) == "headroom: " + sentence);
}

}  // namespace test_openrlhf
