// Distributed under the Boost Software License, Version 1.0.
// verl's commands: overrides in, a job or a sentence out.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_verl {

using namespace imported;

namespace {

/// examples/tuning/7b/qwen2-7b_grpo_2_h800_fsdp_vllm.sh of volcengine/verl b178a3cd.
imported::text script() { return launch_file("verl-grpo", "qwen2-7b_grpo_2_h800_fsdp_vllm.sh"); }
const std::string least =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True "
    "actor_rollout_ref.rollout.enforce_eager=False ";  // what releases differ in, where a command is silent
job said(const std::string& more = {}) { return job_of({{"run.sh", least + more + "\n"}}); }
std::string refused(const std::string& more) { return refusal_of({{"run.sh", least + more + "\n"}}); }

}  // namespace

TEST_CASE("verl's own recipe for two H800") {
  const auto j = job_of({script()}, {"hardware.gpu=h800-sxm-80gb", "hardware.host_memory_gib=2000", "rollout.sleep=1"});
  CHECK(j.model == *models::find("qwen2-7b"));
  CHECK(j.hardware.gpus() == 2);
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::verl, .reference = reference_way::copy});
  CHECK(j.sharding.kind == sharding_kind::fsdp1);
  CHECK(j.rollout.engine == engine_kind::vllm);
  CHECK(j.rollout.share == memory_share::of(0.6));
  CHECK(j.rollout.tensor == 2);
  CHECK(j.rollout.generations == 5);
  CHECK(j.rollout.trainer_moves == trainer_parts{trainer_part::weights, trainer_part::optimizer});
  CHECK(j.attention == attention::flash);
  CHECK(j.precision.parameters == formats::fp32);
  CHECK(j.precision.compute == formats::bf16);
  CHECK_FALSE(objection_to(j));
  // 7,615,616,512 parameters over two GPUs, no unit of which needs padding: weights and gradients in four bytes, two moments of four.
  constexpr std::int64_t p = 7'615'616'512, tokens = 16 * 2048, v = 152'064;
  const auto r = estimate(j);
  const auto at = [&](phase when, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(when)][what]; };
  CHECK(at(phase::step, row::model_parameters) == bytes{4 * p / 2});
  CHECK(at(phase::step, row::gradients) == bytes{4 * p / 2});
  CHECK(at(phase::step, row::optimizer_state) == bytes{8 * p / 2});
  CHECK(at(phase::step, row::model_parameters) + at(phase::step, row::gradients) + at(phase::step, row::optimizer_state) == bytes{60'924'932'096});
  // Logits of 16 completions of 2,048 tokens in bf16, divided in place: one tensor. In backward the gradient lies where they lay; div_ of a view clones it
  // whole, clones the view's part of that, and divides it: four tensors.
  CHECK(at(phase::loss_forward, row::logits) == bytes{2 * v * tokens});
  CHECK(at(phase::loss_forward, row::logits) == bytes{9'965'666'304});
  CHECK(at(phase::backward, row::logits) == bytes{4 * 2 * v * tokens});
  // One weight of embedding or head is gathered in bf16: 2 · 152,064 · 3,584, both at the loss.
  CHECK(at(phase::load, row::gathered_parameters) >= bytes{2 * 2 * v * 3584});
  CHECK(at(phase::load, row::gathered_parameters) < bytes{2 * 2 * v * 3584 + 100'000});
}

TEST_CASE("what its overrides say") {
  const auto plain = said();
  CHECK(plain.rollout == rollout{.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.5), .tensor = 2, .sleep = 2, .batched_tokens = 8192, .prompt = 512, .completion = 1024, .generations = 8});
  CHECK(plain.batch == batch{.micro = 4, .sequence = 1536, .accumulation = 64});  // 256 prompts of 8 completions, over 8 GPUs
  CHECK(plain.objective.reference == reference_way::none);
  CHECK(plain.assumed_defaults == 1);  // vLLM's age
  CHECK(said("actor_rollout_ref.actor.use_kl_loss=True").objective.reference == reference_way::copy);
  CHECK(said("algorithm.use_kl_in_reward=True").objective.reference == reference_way::copy);
  CHECK(said("algorithm.adv_estimator=rloo").objective.kind == objective_kind::rloo);
  CHECK(said("actor_rollout_ref.actor.strategy=fsdp2").sharding.kind == sharding_kind::fsdp2);
  CHECK(said("actor_rollout_ref.rollout.enforce_eager=True").rollout.graphs == choice::no);
  const std::string graphs = "+actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_mode=";
  CHECK(said(graphs + "FULL_DECODE_ONLY") == plain);
  CHECK(said(graphs + "NONE").rollout.graphs == choice::no);
  CHECK(holds(refused(graphs + "HALF"), "cudagraph_mode must not be \"HALF\""));
  CHECK(said("actor_rollout_ref.rollout.free_cache_engine=False").rollout.sleep == 0);
  const auto lora = said("actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.target_modules=all-linear actor_rollout_ref.rollout.layered_summon=True actor_rollout_ref.actor.use_kl_loss=True");
  CHECK(lora.adapter.rank == 32);
  CHECK(lora.objective.reference == reference_way::adapter_off);
  CHECK(lora.rollout.sleep == 1);
  CHECK(lora.rollout.sync_groups == 28);
  // Adapters of rank 32 on all seven matrices of 28 layers, q and o of 3,584 by 3,584, k and v of 3,584 by 512, three of 3,584 by 18,944: in the format of the
  // fp32 base that they are made for, an eighth on each GPU, with two moments.
  constexpr std::int64_t adapters = std::int64_t{28} * 32 * (2 * (3584 + 3584) + 2 * (3584 + 512) + 3 * (3584 + 18'944));
  static_assert(adapters == 80'740'352);
  CHECK(lora.adapter.format == formats::fp32);
  const auto held = estimate(lora).ranks[0].at_phase[static_cast<std::size_t>(phase::step)];
  CHECK(held[row::adapters] == bytes{4 * adapters / 8});
  CHECK(held[row::gradients] == bytes{4 * adapters / 8});
  CHECK(held[row::optimizer_state] == bytes{8 * adapters / 8});
  // They are multiplied in bf16, as they were when they were kept in it.
  auto narrow = lora;
  narrow.adapter.format = formats::bf16;
  const auto made = [](const job& of, row what) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][what]; };
  CHECK(made(lora, row::activations) == made(narrow, row::activations));
  CHECK(said("actor_rollout_ref.model.use_shm=True").assumed_defaults == plain.assumed_defaults + 1);  // files in /dev/shm
  CHECK(said("actor_rollout_ref.rollout.log_prob_micro_batch_size=64").rollout.batch == 8);  // of all eight GPUs
  CHECK(said("actor_rollout_ref.rollout.log_prob_micro_batch_size=64 actor_rollout_ref.actor.ulysses_sequence_parallel_size=2").rollout.batch == 16);
  CHECK(said("actor_rollout_ref.rollout.log_prob_micro_batch_size=64 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4").rollout.batch == 4);
  CHECK(said("trainer.nnodes=2").hardware.gpus() == 16);
  CHECK(said("+actor_rollout_ref.actor.kl_loss_type=mse trainer.logger='[\"console\",\"wandb\"]' critic.optim.lr=1e-5 data.train_files=$FILES") == plain);
}

// ppo_trainer.yaml and main_ppo.py of v0.3.0.post1, v0.4.0, v0.6.1 and v0.7.0.
TEST_CASE("a command that does not say how old verl is, where releases differ") {
  const std::string bare = least.substr(0, least.find("algorithm.use_kl_in_reward"));
  const auto with = [&](const std::string& more, const std::vector<std::string>& set) { return job_of({{"run.sh", bare + more + "\n"}}, set); };
  const auto why = [&](const std::string& more, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", bare + more + "\n"}}, set); };
  const std::string packs = "actor_rollout_ref.model.use_remove_padding=True ", eager = "actor_rollout_ref.rollout.enforce_eager=False ";
  const std::string asks = "verl keeps a reference and makes entropies in every loss before 0.4 (2025-06)", padded = "use_remove_padding is not given, and is false in verl before 0.7 (2026-01), and true since";
  CHECK(holds(why(packs), asks));
  CHECK(holds(why(packs + "algorithm.kl_ctrl.kl_coef=0.001 actor_rollout_ref.actor.use_kl_loss=True"), asks));  // which all of them have
  CHECK(holds(why(packs), "--set environment.verl=VERSION"));
  CHECK(holds(why(packs, {"environment.verl=0.3"}), "verl's trainer of online methods is modelled as of its release 0.4"));
  // Up to 0.7 vLLM gets weights one by one, in the trainer's process.
  auto one_by_one = said();
  one_by_one.rollout.sync_bucket_mib = 0;
  CHECK(with(packs + eager, {"environment.verl=0.4"}) == one_by_one);
  // A key that 0.4 brought is of that age; with a + before it, it is one that the configuration does not have.
  CHECK(with(packs + eager + "trainer.val_before_train=False", {}) == said());
  CHECK(holds(why(packs + eager + "+trainer.val_before_train=False"), asks));
  // Samples are padded up to 0.6 where nobody says otherwise.
  CHECK(holds(why("algorithm.use_kl_in_reward=False"), padded));
  CHECK(with("algorithm.use_kl_in_reward=False", {"environment.verl=0.6"}).batch.padded);
  CHECK(with(eager, {"environment.verl=0.7"}) == one_by_one);
  CHECK(with(eager, {"environment.verl=0.8"}) == said());
  CHECK(with(eager + "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=512", {"environment.verl=0.7"}).rollout.sync_bucket_mib == 512);
  CHECK(with("actor_rollout_ref.actor.calculate_entropy=False", {}).rollout == said().rollout);  // 0.7 brought it
  // montehoover/verl 9c46ae81 examples/gmpo_trainer/test_dapo_7b_math.sh: what rewards are made by stands under "reward" since 2026-02.
  CHECK(with("reward.reward_manager.name=dapo +reward.reward_kwargs.overlong_buffer_cfg.enable=True +reward.reward_kwargs.overlong_buffer_cfg.len=4096 +reward.reward_kwargs.max_resp_len=8192 reward.custom_reward_function.path=a.py", {}).rollout == said().rollout);
  CHECK(holds(why("reward.reward_model.enable=True"), "reward.reward_model.enable = true is not modelled"));
  auto nameless = bare + packs;
  nameless.erase(nameless.find("actor_rollout_ref.rollout.name=vllm "), std::string{"actor_rollout_ref.rollout.name=vllm "}.size());
  CHECK(holds(refusal_of({{"run.sh", nameless + "\n"}}), "actor_rollout_ref.rollout.name is not given, which verl 0.6 (2025-10) and later ask for"));
  // vLLM has no graphs up to 0.5 where nobody says otherwise.
  CHECK(with(packs, {"environment.verl=0.5"}).rollout.graphs == choice::no);
  CHECK(with(packs, {"environment.verl=0.6"}).rollout == one_by_one.rollout);
  const auto open = with(packs + "algorithm.use_kl_in_reward=False", {});
  CHECK(open.rollout == said().rollout);
  CHECK(open.assumed_defaults == said().assumed_defaults + 1);
}

TEST_CASE("PPO with a critic, by verl's own script") {
  const auto j = job_of({launch_file("verl-ppo", "run_deepseek7b_llm.sh")}, {"rollout.sleep=1", "hardware.host_memory_gib=2000"});
  CHECK(j.objective.kind == objective_kind::ppo);
  CHECK(j.objective.code == method_code::verl);
  CHECK(j.objective.reference == reference_way::none);
  CHECK(j.objective.critic.model == j.model);
  CHECK(j.objective.critic.micro == 32);
  CHECK(j.batch == batch{.micro = 16, .sequence = 1024, .accumulation = 2});  // 256 prompts, one completion each, over 8 GPUs
  CHECK(j.rollout.batch == 32);
  CHECK_FALSE(objection_to(j));
  const auto r = estimate(j);
  // 6,910,365,696 parameters of the actor; of the critic a score for each token instead of the head: 102,400 · 4,096 less, 4,096 more. All of both in
  // four bytes over eight GPUs, with two moments; gradients of each in its own turn.
  constexpr std::int64_t p = 6'910'365'696, scored = p - 102'400 * 4096 + 4096;
  const auto at = [&](phase when, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(when)][what]; };
  CHECK(at(phase::step, row::model_parameters) == bytes{4 * p / 8});
  CHECK(at(phase::step, row::gradients) == bytes{4 * p / 8});
  CHECK(at(phase::step, row::optimizer_state) == bytes{8 * p / 8});
  CHECK(at(phase::step, row::other_models) >= bytes{12 * scored / 8});
  CHECK(at(phase::step, row::other_models) < bytes{12 * scored / 8 + 600'000});
  CHECK(at(phase::loss_forward, row::logits) == bytes{std::int64_t{2} * 102'400 * 16 * 1024});
  CHECK(r.ranks[0].has(phase::critic));
  // On half as many completions at once the critic keeps half as many checkpoints: 16 · 1,024 tokens less of 2 · 4,096 bytes in 30 layers.
  auto halved = j;
  halved.objective.critic.micro = 16;
  CHECK(r.ranks[0][phase::critic] - estimate(halved).ranks[0][phase::critic] >= bytes{std::int64_t{30} * 2 * 4096 * 16 * 1024});
  const std::string gae = " algorithm.adv_estimator=gae critic.ppo_micro_batch_size_per_gpu=4 critic.model.path=Qwen/Qwen2.5-7B";
  CHECK(said(gae).objective.critic.micro == 0);  // as the actor
  CHECK(said(gae).objective.critic.model == models::qwen2_5_7b);
  CHECK(said(gae + " actor_rollout_ref.actor.use_kl_loss=True").objective.reference == reference_way::copy);
  CHECK(holds(refused(" algorithm.adv_estimator=gae"), "critic.ppo_micro_batch_size_per_gpu is required"));
  CHECK(holds(refused(" algorithm.adv_estimator=gae critic.ppo_micro_batch_size_per_gpu=4 critic.model.path=~/rm"), "\"~/rm\" is not in the model zoo (headroom list models has the names): add --set objective.critic=NAME"));
  CHECK(holds(refused(gae + " critic.model.fsdp_config.param_offload=True"), "param_offload = true is not modelled by this version (a critic that differs from the actor in it)"));
  CHECK(said(gae + " critic.model.enable_gradient_checkpointing=False").objective.critic.recompute == choice::no);
  CHECK(said(gae + " critic.model.enable_gradient_checkpointing=True").objective.critic.recompute == choice::unset);
  CHECK(said(gae + " actor_rollout_ref.model.enable_gradient_checkpointing=False").objective.critic.recompute == choice::yes);
  CHECK(holds(refused(gae + " critic.forward_micro_batch_size_per_gpu=8"), "more than it trains on at once"));
  CHECK(holds(refused(gae + " critic.enable=False"), "gae without a critic"));
  // verl/trainer/config/critic/critic.yaml: use_dynamic_bsz is the actor's, ppo_max_token_len_per_gpu 32768, that of the values the same.
  const std::string rows = gae + " actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192";
  CHECK(said(rows).objective.critic.micro == 4);
  CHECK(said(rows).batch.sequence == 8192);
  CHECK(said(rows + " critic.ppo_max_token_len_per_gpu=8192").objective.critic.micro == 0);  // as the actor
  CHECK(said(rows + " critic.ppo_max_token_len_per_gpu=16384").objective.critic.micro == 2);
  // Three halves of the actor's row: both are pieces of 4,096 tokens, which hold 1,536.
  const auto halves = said(rows + " critic.ppo_max_token_len_per_gpu=12288");
  CHECK(halves.batch == batch{.micro = 2, .sequence = 4096, .accumulation = said(rows).batch.accumulation, .packed = true});
  CHECK(halves.objective.critic.micro == 3);
  // examples/ppo_trainer/run_qwen2-7b_seq_balance.sh: 12 pieces of 8,192 tokens, of which three are as long as an actor's row, and 576 tokens more.
  const auto near = said(rows + " data.max_prompt_length=4096 data.max_response_length=4096 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24000 critic.ppo_max_token_len_per_gpu=98304");
  CHECK(near.batch.micro == 3);
  CHECK(near.batch.sequence == 8192);
  CHECK(near.objective.critic.micro == 12);
  CHECK(near.assumed_defaults == said(rows).assumed_defaults + 1);
  CHECK(holds(refused(rows + " critic.ppo_max_token_len_per_gpu=12000"), "rows that are no multiple of what divides the actor's and holds the longest sample, 8192 tokens"));
  CHECK(holds(refused(rows + " critic.forward_max_token_len_per_gpu=65536"), "more than it trains on at once"));
  CHECK(holds(refused(rows + " critic.use_dynamic_bsz=False"), "a critic that differs from the actor in it"));
  CHECK(holds(refused(gae + " critic.use_dynamic_bsz=True"), "a critic that differs from the actor in it"));
  CHECK(holds(refused("critic.enable=True"), "a critic beside grpo"));
  // Both cut their samples among two GPUs: half as many ranks, and rows of twice the tokens of a GPU.
  const std::string cut = " actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 critic.ulysses_sequence_parallel_size=2";
  const auto apart = said(gae + cut);
  CHECK(apart.parallel.context == 2);
  CHECK_FALSE(objection_to(apart));
  CHECK(said(rows + cut + " critic.ppo_max_token_len_per_gpu=8192").objective.critic.micro == 0);
  CHECK(said(rows + cut + " critic.ppo_max_token_len_per_gpu=16384").objective.critic.micro == 2);
}

TEST_CASE("what of it is refused, by name") {
  CHECK(holds(refused("actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2"), "is of verl's Megatron workers, which"));
  CHECK(said("--config-name=ppo_trainer --config-path=config") == said());
  CHECK(said("--config-name ppo_trainer --config-path config") == said());
  // Hydra takes a key out for ~KEY, and stops at a word that is no override.
  CHECK(holds(refused("~trainer.n_gpus_per_node"), "run.sh:1: \"~trainer.n_gpus_per_node\" takes a key out of the configuration, which is not read"));
  CHECK(holds(refused("~trainer.n_gpus_per_node=8"), "\"~trainer.n_gpus_per_node=8\" takes a key out"));
  CHECK(said("~trainer.logger") == said());
  CHECK(holds(refused("actor_rollout_ref.rollout.n 4"), "run.sh:1: \"actor_rollout_ref.rollout.n\" is no KEY=VALUE"));
  CHECK(said("+actor_rollout_ref.model.override_config.max_position_embeddings=32768") == said());  // angles alone (verl/workers/config/model.py)
  CHECK(holds(refused("+actor_rollout_ref.model.override_config.max_position_embeddings=32768 actor_rollout_ref.model.path=openai-community/gpt2"), "override_config.max_position_embeddings"));
  CHECK(said("actor_rollout_ref.model.exclude_modules=.*visual.*") == said());
  CHECK(holds(refused("actor_rollout_ref.model.exclude_modules=.*mlp.* actor_rollout_ref.model.lora_rank=32"), "exclude_modules"));
  CHECK(holds(refused("--config-name=gsm8k_multiturn_grpo"), "run.sh:1: names \"gsm8k_multiturn_grpo.yaml\", which no file here is"));
  CHECK(holds(refused("-cn my_ppo_trainer"), "names \"my_ppo_trainer.yaml\", which no file here is"));
  CHECK(holds(refused("--config-name=$NAME"), "--config-name is \"$NAME\", which the file itself does not say"));
  CHECK(holds(refused("actor_rollout_ref.actor.ulysses_sequence_parallel_size=3"), "ulysses_sequence_parallel_size must divide the GPUs, 8"));
  CHECK(holds(refused("actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 actor_rollout_ref.ref.ulysses_sequence_parallel_size=1"), "a reference that cuts samples in another way"));
  CHECK(holds(refused("algorithm.adv_estimator=gae actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 critic.ppo_micro_batch_size_per_gpu=4 critic.model.path=Qwen/Qwen2.5-7B"), "critic.ulysses_sequence_parallel_size = 1 is not modelled by this version (a critic that differs from the actor in it)"));
  CHECK(holds(refused("actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1535"), "must hold the longest sample, 1536 tokens"));
  CHECK(holds(refused("actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False"), "scores of a number of samples beside"));
  CHECK(holds(refused("actor_rollout_ref.actor.entropy_coeff=0.001 actor_rollout_ref.actor.use_torch_compile=False"), "use_torch_compile = false is not modelled"));
  CHECK(holds(refused("actor_rollout_ref.actor.fsdp_config.wrap_policy.min_num_params=1000000"), "min_num_params = 1000000 is not modelled"));
  CHECK(said("actor_rollout_ref.actor.fsdp_config.wrap_policy.min_num_params=0 critic.optim.optimizer=AdamW") == said());
  CHECK(holds(refused("critic.optim.optimizer=AdamW8bit"), "critic.optim.optimizer = \"AdamW8bit\" is not modelled"));
  CHECK(holds(refused("actor_rollout_ref.actor.router_replay.mode=R3"), "router_replay.mode = \"R3\" is not modelled"));
  // A reference that scores more at once than the policy; none is kept where nothing asks for it.
  const std::string more = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16";
  CHECK(holds(refused(more + " actor_rollout_ref.actor.use_kl_loss=True"), "log_prob_micro_batch_size_per_gpu = 16 is not modelled by this version (more than the policy scores at once, 8)"));
  CHECK(said(more).rollout.batch == 8);
  CHECK(holds(refused("actor_rollout_ref.actor.entropy_coeff=0.001 actor_rollout_ref.actor.entropy_from_logits_with_chunking=True"), "entropy_from_logits_with_chunking = true is not modelled"));
  CHECK(holds(refused("--config-name ppo_megatron_trainer.yaml actor_rollout_ref.actor.entropy_coeff=0.001"), "entropy_coeff = 0.001 is not modelled"));
  CHECK(said("actor_rollout_ref.actor.entropy_coeff=0.001 actor_rollout_ref.actor.entropy_checkpointing=True").batch == said().batch);
  CHECK(said("actor_rollout_ref.actor.entropy_coeff=0.001").assumed_defaults == said().assumed_defaults + 1);
  CHECK(said("actor_rollout_ref.actor.entropy_coeff=0") == said());
  CHECK(said("actor_rollout_ref.actor.entropy_checkpointing=True") == said());
  CHECK(said("actor_rollout_ref.actor.entropy_checkpointing=True actor_rollout_ref.actor.use_torch_compile=False").loss.entropies == entropy_code::whole);
  // Answers of tools are a part of a completion, which has max_response_length tokens (verl/experimental/agent_loop/tool_agent_loop.py run).
  CHECK(said("actor_rollout_ref.rollout.multi_turn.enable=True") == said());
  CHECK(holds(refused("actor_rollout_ref.rollout.tensor_model_parallel_size=$TP"), "tensor_model_parallel_size is \"$TP\", which the file itself does not say"));
  CHECK(holds(refused("actor_rollout_ref.rollout.no_such_key=1"), "no_such_key is not known here"));
  // A comment ends the command: the shell starts a program that is called as the pair is.
  CHECK(holds(refused("\\\n  # of Hydra\n  actor_rollout_ref.actor.ppo_mini_batch_size=64 \\\n  data.max_response_length=8192"), "run.sh:3: \"actor_rollout_ref.actor.ppo_mini_batch_size=64\" begins a command of its own"));
  CHECK(holds(refusal_of({{"run.sh", "python3 -m recipe.dapo.main_dapo actor_rollout_ref.model.path=x\n"}}), "is for verl, which is not read by this version"));
}

TEST_CASE("micro-batches of a number of tokens are packed rows") {
  // 256 prompts × 8 over 8 GPUs: 256 completions of 1,536 tokens each, in rows of 16,384, verl's default.
  const auto j = said("actor_rollout_ref.actor.use_dynamic_bsz=True");
  CHECK(j.batch.packed);
  CHECK(j.batch.micro == 1);
  CHECK(j.batch.sequence == 16384);
  CHECK(j.batch.accumulation == 24);
  CHECK(j.rollout.batch == 0);
  CHECK_FALSE(objection_to(j));
  CHECK(said("actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=32768").rollout.batch == 2);
  // Scores of three halves of a row: pieces of 8,192 tokens, two that train and three that are scored; of 16,000 tokens no piece holds a sample, and
  // they count as two rows.
  const auto halves = said("actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=24576");
  CHECK(halves.batch == batch{.micro = 2, .sequence = 8192, .accumulation = 24, .packed = true});
  CHECK(halves.rollout.batch == 3);
  CHECK(said("actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=20001").rollout.batch == 2);
  const auto whole = estimate(j).ranks[0], pieces = estimate(halves).ranks[0];
  CHECK(pieces[phase::backward] == whole[phase::backward]);
  CHECK(pieces[phase::loss_forward] == whole[phase::loss_forward]);
  // What is scored at once makes its logits in bf16, of the last norm's 3,584 numbers a token, beside a cosine and a sine of 128: nothing else of the logits' size.
  CHECK(pieces[phase::score] - whole[phase::score] == bytes{std::int64_t{2} * (152'064 + 3584 + 2 * 128) * (24'576 - 16'384)});
}

TEST_CASE("verl's tuning script for 32 B: numbers of samples are of all GPUs, two of which cut each sample") {
  const auto file = launch_file("verl-grpo", "qwen2-32b_grpo-lora_4_h100_fsdp_vllm.sh");
  const std::vector<std::string> set{"hardware.gpu=h100-sxm-80gb", "hardware.host_memory_gib=2048"};
  const auto j = job_of({file}, set);
  CHECK(j.model == *models::find("qwen2.5-32b"));
  CHECK(j.parallel.context == 2);
  // 45 × 4 GPUs are 180 prompts of five completions; a micro-batch of 180 is one of 90 on each of two groups.
  CHECK(j.batch == batch{.micro = 90, .sequence = 1536, .accumulation = 5});
  CHECK(j.rollout.batch == 90);
  CHECK(j.rollout.tensor == 4);
  CHECK(j.rollout.sleep == 1);
  CHECK(j.rollout.sync_groups == 64);
  CHECK(j.adapter.rank == 32);
  CHECK(j.objective.reference == reference_way::adapter_off);
  CHECK_FALSE(objection_to(j));
  // It ran out of memory (the script's own note: 44 ran, 45 did not), with samples of the length that GSM8K's have; they are not said.
  CHECK_FALSE(estimate(j).fits());
  const auto of_length = [&](const std::string& tokens) {
    auto with = set;
    with.push_back("batch.sequence=" + tokens);
    return estimate(job_of({file}, with)).fits();
  };
  CHECK(of_length("300"));
  CHECK_FALSE(of_length("500"));
}

TEST_CASE("a configuration of one's own goes over verl's, and the command over it") {
  const imported::text mine{"tools.yaml", "hydra:\n  searchpath:\n    - file://verl/trainer/config\ndefaults:\n  - ppo_trainer\n  - _self_\ndata:\n  max_prompt_length: 256\n  max_response_length: 768\n"
                                          "actor_rollout_ref:\n  model:\n    custom_chat_template: \"${nothing}\"\n  rollout:\n    name: sglang\n    n: 4\n    multi_turn:\n      enable: True\n      max_assistant_turns: 5\n"};
  const std::string command =
      "python3 -m verl.trainer.main_ppo --config-path=\"$CONFIG_PATH\" --config-name='tools' algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
      "actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True ";
  const auto j = job_of({{"run.sh", command + "\n"}, mine});
  CHECK(j.rollout == rollout{.engine = engine_kind::sglang, .placement = rollout_place::colocated, .share = memory_share::of(0.5), .tensor = 2, .sleep = 2, .prompt = 256, .completion = 768, .generations = 8});
  CHECK(j.batch == batch{.micro = 4, .sequence = 1024, .accumulation = 64});
  CHECK(job_of({mine, {"run.sh", command + "\n"}}) == j);
  CHECK(holds(refusal_of({mine, {"run.sh", command + "actor_rollout_ref.rollout.name=hf\n"}}), "run.sh:1: actor_rollout_ref.rollout.name \"hf\""));  // said by the command, over the file
  const auto with = [&](const std::string& from, const std::string& to) {
    auto other = mine;
    other.said.replace(other.said.find(from), from.size(), to);
    return refusal_of({other, {"run.sh", command + "\n"}});
  };
  CHECK(holds(with("ppo_trainer\n", "ppo_trainer\n  - optim: mine\n"), "tools.yaml:4: defaults must be one of verl's own"));
  CHECK(holds(with("    n: 4", "    n: ${data.n}"), "tools.yaml:15: actor_rollout_ref.rollout.n is \"${data.n}\", which this file does not say"));
  CHECK(holds(with("    n: 4", "    sglang_rollout_mode: server"), "tools.yaml:15: actor_rollout_ref.rollout.sglang_rollout_mode is not known here"));
  CHECK(holds(refusal_of({mine}), "tools.yaml is a configuration of verl's that its command goes over: give the script that starts it, too"));
  CHECK(holds(refusal_of({{"other.yaml", mine.said}, {"run.sh", command + "\n"}}), "names \"tools.yaml\", which no file here is"));
  // One that the command does not name is not passed over.
  for (const std::string named : {"", "--config-name=ppo_trainer "})
    CHECK(holds(refusal_of({mine, {"run.sh", "python3 -m verl.trainer.main_ppo " + named + command.substr(command.find("algorithm.")) + "\n"}}), "tools.yaml is a configuration of verl's that the command in run.sh does not name"));
  // SGLang's weights, keys and values are half of what a GPU of 80 GiB has beside a context and the eighth of the fp32 weights that is there when it starts
  // (mem_fraction_static); while it sleeps its graphs stay, and the context of a process of its own where weights go through a buffer.
  CHECK_FALSE(objection_to(j));
  const auto r = estimate(j).ranks[0];
  for (const auto what : {row::kv_cache, row::rollout_engine}) CHECK(r.at_phase[static_cast<std::size_t>(phase::backward)][what] == bytes{0});
  const auto card = gpus::h100_sxm_80gb.memory - 400 * mib - bytes{4 * 7'615'616'512 / 8};
  // … and beside that share a forward of 8,192 positions: of each at least the stream twice and the two halves of the MLP's products, in bf16.
  const auto beside = r[phase::generate] - r[phase::save] - card / 2;
  CHECK(beside >= bytes{std::int64_t{2} * 8192 * (2 * 3584 + 18'944)});
  CHECK(beside <= bytes{std::int64_t{2} * 8192 * (2 * 3584 + 3 * 18'944)});
  CHECK(r.outside.engine >= gib + 400 * mib);
  // Weights are cloned in fp32, 152,064 x 3,584 numbers of a table in a bucket that is too small for it: one that the engine reads, one that is filled, and what it
  // is filled from; under FSDP1 the shards are copied, and the engine's half of the weights is there again.
  const auto sent = r[phase::sync] - r[phase::save] - bytes{4 * 7'615'616'512 / 8} - bytes{std::int64_t{3} * 4 * 152'064 * 3584};
  CHECK(sent >= bytes{2 * 7'615'616'512 / 2});
  CHECK(sent < bytes{2 * 7'615'616'512 / 2} + 64 * mib);
  CHECK(r.outside.engine < gib + 800 * mib);
  CHECK(job_of({mine, {"run.sh", command + "actor_rollout_ref.rollout.layered_summon=True\n"}}).rollout.sleep == 2);  // vLLM's alone
  auto thrown = j;
  thrown.rollout.sleep = 1;
  CHECK(holds(objection_to(thrown).sentence, "throws its weights away (rollout.sleep 2)"));
}

TEST_CASE("shards over a part of the GPUs") {
  const auto whole = said(), halves = said("actor_rollout_ref.actor.fsdp_config.fsdp_size=4");
  CHECK(said("actor_rollout_ref.actor.fsdp_config.fsdp_size=-1") == whole);
  CHECK(said("actor_rollout_ref.actor.fsdp_config.fsdp_size=8") == whole);
  CHECK(halves.parallel.replicate == 2);
  CHECK_FALSE(objection_to(halves));
  // Qwen2.5-7B in fp32: a fourth of it on each GPU, where it was an eighth; one of four ranks reads it, two on the node.
  const auto at = [](const job& j, row what) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][what].count(); };
  CHECK(at(whole, row::model_parameters) == 4 * 7'615'616'512 / 8);
  CHECK(at(halves, row::model_parameters) == 4 * 7'615'616'512 / 4);
  CHECK(at(halves, row::optimizer_state) == 8 * 7'615'616'512 / 4);
  CHECK(holds(refused("actor_rollout_ref.actor.fsdp_config.fsdp_size=3"), "fsdp_size = 3 is not modelled"));
}

TEST_CASE("samples that GPUs cut among them") {
  // 256 prompts × 8 over 8 / 2 groups of GPUs: 512 completions each, four at a time.
  const auto j = said("actor_rollout_ref.actor.ulysses_sequence_parallel_size=2");
  CHECK(j.parallel.context == 2);
  CHECK(j.parallel.context_kind == context_kind::ulysses);
  CHECK(j.batch == batch{.micro = 4, .sequence = 1536, .accumulation = 128});
  CHECK_FALSE(objection_to(j));
  CHECK(said("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2") == j);
  // ppo_micro_batch_size is of all groups (fsdp_workers.py, ActorRolloutRefWorker.__init__).
  CHECK(said("actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null actor_rollout_ref.actor.ppo_micro_batch_size=32").batch.micro == 8);
  // Rows hold the tokens of two GPUs: 512 completions of 1,536 tokens in rows of 32,768.
  const auto rows = said("actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 actor_rollout_ref.actor.use_dynamic_bsz=True");
  CHECK(rows.batch.sequence == 32768);
  CHECK(rows.batch.accumulation == 24);
  CHECK(rows.rollout.batch == 0);
  // Half of the tokens on each GPU: half of the logits, and of what is saved; the same states over all eight.
  const auto whole = estimate(said()), half = estimate(j);
  const auto at = [](const report& r, phase when, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(when)][what].count(); };
  CHECK(2 * at(half, phase::loss_forward, row::logits) == at(whole, phase::loss_forward, row::logits));
  CHECK(at(half, phase::step, row::optimizer_state) == at(whole, phase::step, row::optimizer_state));
  CHECK(at(half, phase::step, row::model_parameters) == at(whole, phase::step, row::model_parameters));
}

TEST_CASE("verl's Megatron workers") {
  const std::string megatron = "--config-path=config --config-name ppo_megatron_trainer.yaml actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 ";
  const auto j = said(megatron + "actor_rollout_ref.actor.megatron.param_offload=True actor_rollout_ref.actor.megatron.optimizer_offload=True actor_rollout_ref.actor.megatron.grad_offload=True actor_rollout_ref.actor.use_kl_loss=True "
                                 "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform "
                                 "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1 +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
                                 "+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5 +actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True");
  CHECK(j.framework.label == "megatron");
  CHECK(j.parallel.tensor == 2);
  CHECK(j.parallel.sequence);
  CHECK(j.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.attention == attention::flash);
  CHECK(j.batch.micro == 4);
  CHECK(j.batch.accumulation == 128);  // 256 × 8 over four data-parallel ranks, four at once
  CHECK(j.batch.sequence == 1536);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.offload.optimizer_fraction == 500'000);
  CHECK(j.rollout.trainer_moves == trainer_parts{trainer_part::weights, trainer_part::optimizer});
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::verl, .reference = reference_way::copy, .reference_at = place::on_cpu});
  CHECK_FALSE(objection_to(j));
  // The actor's degrees are the reference's; nothing is recomputed unless it says so.
  CHECK(said(megatron).recompute.mode == recompute_mode::none);
  CHECK(said(megatron + "actor_rollout_ref.ref.megatron.tensor_model_parallel_size=2 actor_rollout_ref.ref.megatron.param_offload=False").objective.reference_at == place::on_gpu);
  CHECK(holds(refused(megatron + "actor_rollout_ref.ref.megatron.tensor_model_parallel_size=4"), "actor_rollout_ref.ref.megatron.tensor_model_parallel_size"));
  CHECK(holds(refused(megatron + "algorithm.adv_estimator=gae"), "a critic over verl's Megatron workers"));
  CHECK(holds(refused(megatron + "actor_rollout_ref.model.lora_rank=8"), "adapters over verl's Megatron workers"));
  CHECK(holds(refused(megatron + "actor_rollout_ref.actor.megatron.use_remove_padding=False"), "padded samples"));
  CHECK(holds(refused(megatron + "actor_rollout_ref.actor.megatron.override_transformer_config.nonsense=3"), "nonsense"));
  // Where checkpoints lie is open in the script; the ends of the pipeline count as layers: 28 and two over two stages.
  CHECK_FALSE(objection_to(said(megatron + "actor_rollout_ref.actor.megatron.dist_checkpointing_path=$DIST_CKPT_PATH +actor_rollout_ref.model.override_config.model_config.max_position_embeddings=4096")));
  const auto ends = said(megatron + "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 +actor_rollout_ref.actor.megatron.override_transformer_config.account_for_embedding_in_pipeline_split=True "
                                    "+actor_rollout_ref.actor.megatron.override_transformer_config.account_for_loss_in_pipeline_split=True");
  const auto even = said(megatron + "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2");  // 14 layers each, with an end or without
  CHECK(estimate(ends).ranks[0].allocated == estimate(even).ranks[0].allocated);
  CHECK(estimate(ends).ranks[1].allocated == estimate(even).ranks[1].allocated);
  CHECK(holds(refused(megatron + "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=4 +actor_rollout_ref.actor.megatron.override_transformer_config.account_for_loss_in_pipeline_split=True"), "divide evenly over the stages"));
  const auto rows = said(megatron + "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=3072");
  CHECK(rows.batch.packed);
  CHECK(rows.batch.sequence == 3072);
  CHECK(rows.batch.accumulation == 256);  // 512 completions of a rank, two in a row
  CHECK_FALSE(objection_to(rows));
}

// verl/experimental/one_step_off_policy of volcengine/verl b178a3cd: DetachActorWorker trains, and other GPUs generate the next step's completions.
TEST_CASE("one step off the policy") {
  // shell/dapo_7b_math_fsdp2_4_12.sh: two nodes of eight GPUs, of which two generate and six train; rows of 20,480 tokens over four GPUs each.
  const auto j = job_of({launch_file("verl-one-step", "dapo_7b_math_fsdp2_4_12.sh")}, {"model=qwen2.5-math-7b"});
  CHECK(j.rollout.placement == rollout_place::separate);
  CHECK(j.rollout.gpus == 0);  // of two at once no time is predicted
  CHECK(j.rollout.batch == 0);  // the engine's log-probabilities stand for the policy's, and no reference is kept
  CHECK(j.objective.reference == reference_way::none);
  CHECK(j.hardware.nodes == 2);
  CHECK(j.hardware.gpus_per_node == 6);
  CHECK(j.parallel.context == 4);
  CHECK(j.batch.sequence == 81'920);
  CHECK(j.sharding.kind == sharding_kind::fsdp2);

  const std::string apart = "python3 -m verl.experimental.one_step_off_policy.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
                            "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 actor_rollout_ref.actor.strategy=fsdp2 "
                            "rollout.nnodes=1 rollout.n_gpus_per_node=2 critic.strategy=fsdp2 actor_rollout_ref.model.use_remove_padding=True ";
  const std::string off = "actor_rollout_ref.hybrid_engine=False ";
  const auto of = [&](const std::string& more) { return job_of({{"run.sh", apart + off + more + "\n"}}); };
  const auto why = [&](const std::string& more) { return refusal_of({{"run.sh", apart + more + "\n"}}); };
  CHECK(holds(why(""), "stops unless actor_rollout_ref.hybrid_engine is False"));
  CHECK(holds(refused("actor_rollout_ref.hybrid_engine=False"), "hybrid_engine = false is not modelled"));  // of the usual trainer
  CHECK(holds(why(off + "actor_rollout_ref.actor.fsdp_config.param_offload=True"), "beside an engine on other GPUs"));
  CHECK(holds(why(off + "actor_rollout_ref.model.lora_rank=8"), "beside an engine on other GPUs"));
  CHECK(holds(why(off + "actor_rollout_ref.rollout.tensor_model_parallel_size=4"), "must divide the GPUs that generate, 2"));
  CHECK(holds(refusal_of({{"run.sh", apart + off + "actor_rollout_ref.actor.strategy=fsdp\n"}}), "strategy fsdp2 is read"));
  // main_ppo.py asserts that actor and critic have one strategy, whether a critic trains or not; critic/dp_critic.yaml says fsdp.
  CHECK(holds(why(off + "critic.strategy=fsdp"), "stops unless critic.strategy is that of the actor, and it is \"fsdp\": critic.strategy=fsdp2 must be given"));
  auto silent = apart + off;
  silent.erase(silent.find("critic.strategy=fsdp2 "), std::string{"critic.strategy=fsdp2 "}.size());
  CHECK(holds(refusal_of({{"run.sh", silent + "\n"}}), "critic.strategy=fsdp2 must be given"));
  for (const std::string old : {"-m recipe.one_step_off_policy.main_ppo", "-m recipe.one_step_off_policy.async_main_ppo", "recipe/one_step_off_policy/main_ppo.py"}) {
    CAPTURE(old);
    auto earlier = apart + off;
    earlier.replace(earlier.find("-m verl.experimental.one_step_off_policy.main_ppo"), std::string{"-m verl.experimental.one_step_off_policy.main_ppo"}.size(), old);
    CHECK(holds(refusal_of({{"run.sh", earlier + "\n"}}), "python3 -m verl.experimental.one_step_off_policy.main_ppo, where it stands since, is"));
  }
  // A scoring of the policy's own is done where the engine's is not taken for it, and so counts what it scores at once.
  const std::string at_once = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16 ";
  CHECK(of(at_once).rollout.batch == 0);
  CHECK(of(at_once + "algorithm.rollout_correction.bypass_mode=False").rollout.batch == 16);
  // 152,064 x 3,584 weights of the embedding in fp32, gathered, and a tensor of its size to send from (sync_rollout_weights).
  const auto r = estimate(of(""));
  CHECK(r.ranks[0][phase::sync] - r.ranks[0][phase::save] == bytes{std::int64_t{2} * 4 * 152'064 * 3'584});
}

}  // namespace test_verl
