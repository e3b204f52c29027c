// Distributed under the Boost Software License, Version 1.0.
// How old verl's trainer of online methods is, by the keys of a command, and what its releases do where a command is silent (volcengine/verl v0.1 to v0.7.0:
// verl/trainer/config/ppo_trainer.yaml, ppo_megatron_trainer.yaml, verl/trainer/main_ppo.py, verl/workers/actor/dp_actor.py).
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/syntax/shell_script.hpp>

#include <span>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// Keys that releases brought. Hydra stops at a key that the configuration does not have, unless a + stands before it.
inline constexpr std::string_view verl_since_04 =  // v0.4.0 of 2025-06-06, not in v0.3.0.post1
    "algorithm.use_kl_in_reward|algorithm.norm_adv_by_std_in_grpo|algorithm.use_pf_ppo|actor_rollout_ref.actor.clip_ratio_c|actor_rollout_ref.actor.clip_ratio_high|actor_rollout_ref.actor.clip_ratio_low|"
    "actor_rollout_ref.actor.loss_agg_mode|actor_rollout_ref.actor.fsdp_config.offload_policy|actor_rollout_ref.actor.fsdp_config.reshard_after_forward|actor_rollout_ref.actor.optim.weight_decay|"
    "actor_rollout_ref.actor.megatron.param_offload|actor_rollout_ref.actor.megatron.optimizer_offload|actor_rollout_ref.actor.megatron.grad_offload|actor_rollout_ref.actor.megatron.context_parallel_size|"
    "actor_rollout_ref.actor.megatron.expert_model_parallel_size|actor_rollout_ref.actor.megatron.use_dist_checkpointing|actor_rollout_ref.ref.megatron.param_offload|actor_rollout_ref.ref.strategy|"
    "actor_rollout_ref.model.lora_rank|actor_rollout_ref.model.lora_alpha|actor_rollout_ref.model.target_modules|actor_rollout_ref.model.use_shm|actor_rollout_ref.model.use_liger|"
    "actor_rollout_ref.model.use_fused_kernels|actor_rollout_ref.model.enable_activation_offload|actor_rollout_ref.model.trust_remote_code|actor_rollout_ref.rollout.mode|"
    "actor_rollout_ref.rollout.layered_summon|actor_rollout_ref.rollout.multi_turn.enable|actor_rollout_ref.rollout.multi_turn.tool_config_path|critic.loss_agg_mode|critic.model.fsdp_config.offload_policy|"
    "critic.model.fsdp_config.reshard_after_forward|critic.model.lora_rank|critic.model.use_shm|critic.model.trust_remote_code|critic.megatron.param_offload|data.reward_fn_key|data.trust_remote_code|"
    "data.return_full_prompt|data.filter_overlong_prompts_workers|data.custom_cls.path|reward_model.launch_reward_fn_async|reward_model.sandbox_fusion.url|trainer.device|trainer.log_val_generations|"
    "trainer.rollout_data_dir|trainer.validation_data_dir|trainer.val_before_train";
inline constexpr std::string_view verl_since_07 =  // v0.7.0 of 2026-01-05, not in v0.6.1
    "actor_rollout_ref.actor.calculate_entropy|actor_rollout_ref.actor.router_replay.mode|actor_rollout_ref.model.tiled_mlp.enabled|actor_rollout_ref.rollout.quantization|"
    "actor_rollout_ref.rollout.enable_rollout_routing_replay|algorithm.rollout_correction.loss_type|reward_model.use_reward_loop|reward_manager.name|"
    "reward.custom_reward_function.path|reward.num_workers|reward.reward_manager.name|reward.reward_model.enable";

/// The oldest release that has a command's keys, as 100 × major + minor; 0: any.
inline std::int32_t verl_release_with(std::span<const shell_word> words) {
  std::int32_t oldest = 0;
  for (const auto& w : words) {
    const auto key = std::string_view{w.text}.substr(0, w.text.find('='));
    if (among_words(verl_since_07, key)) return 7;
    if (among_words(verl_since_04, key)) oldest = 4;
  }
  return oldest;
}

/// What copies of older releases do where the command is silent. `oldest`: the release that its keys are of, at least.
inline void date_verl(draft& d, const named_values& v, std::int32_t oldest) {
  // Before 0.4 each loss has entropies with a backward of their own, whatever their weight, and main_ppo.py starts a reference for every run (since: 072fc9fe and 25b0f226 of 2025-04).
  if (oldest < 4)
    d.releases.push_back({"verl", 4, v.source(), "verl keeps a reference and makes entropies in every loss before 0.4 (2025-06), and where its command asks for them since; nothing in this command says which", true, nullptr, nullptr,
                          [](draft&, const std::string& place) { fail("headroom: " + place + ": verl's trainer of online methods is modelled as of its release 0.4 (2025-06) by this version"); }});
  // verl/workers/rollout/vllm_rollout of v0.7.0, and b178a3cd: a buffer of 2 GiB, and an engine in a process of its own, since 2026-01-24.
  const auto* bucket = "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes";
  if (v.word_now("actor_rollout_ref.rollout.name") == "vllm" && d.job["rollout"]["placement"] == "colocated" && !v.has(bucket))
    d.releases.push_back({"verl", 8, v.source(), std::string{bucket} + " is not given: vLLM gets weights in buffers of 2 GiB since verl 0.8 (2026-01), and one by one before", false, nullptr, nullptr,
                          [](draft& of, const std::string&) { of.job["rollout"]["sync_bucket_mib"] = 0; }, 8, true});

  const auto* eager = "actor_rollout_ref.rollout.enforce_eager";
  if (oldest < 7 && !v.has(eager))
    d.releases.push_back({"verl", 6, v.source(), std::string{eager} + " is not given, and is true in verl before 0.6 (2025-10), and false since", false, nullptr, nullptr,
                          [](draft& of, const std::string&) { of.job["rollout"]["graphs"] = false; }, 7});
}

}  // namespace headroom::io::detail
