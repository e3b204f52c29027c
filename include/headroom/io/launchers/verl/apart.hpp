// Distributed under the Boost Software License, Version 1.0.
// verl's one-step-off-policy trainer: other GPUs generate the completions of the next step while these train (volcengine/verl b178a3cd of 2026-01-29:
// verl/experimental/one_step_off_policy/main_ppo.py, fsdp_workers.py DetachSync.sync_rollout_weights, ray_trainer.py,
// config/one_step_off_ppo_trainer.yaml).
#pragma once

#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

class verl_apart {
 public:
  verl_apart(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// What is read of it: FSDP2's workers, whose state is where they train all along, and no critic.
  void check(bool divides) {
    const auto* whole = "actor_rollout_ref.hybrid_engine";
    if (v_->on(whole, true)) fail("headroom: " + v_->place(whole) + ": verl's one-step-off-policy trainer stops unless actor_rollout_ref.hybrid_engine is False");
    if (divides || v_->word_now("actor_rollout_ref.actor.strategy") != "fsdp2") fail("headroom: " + v_->place("actor_rollout_ref.actor.strategy") + ": of verl's one-step-off-policy trainer actor_rollout_ref.actor.strategy fsdp2 is read by this version");
    if (const auto critic = v_->word("critic.strategy", "fsdp"); critic != "fsdp2")  // main_ppo.py asserts it, critic or none
      fail("headroom: " + v_->place("critic.strategy") + ": verl's one-step-off-policy trainer stops unless critic.strategy is that of the actor, and it is " + in_quotes(critic) + ": critic.strategy=fsdp2 must be given");
    for (const auto* key : {"actor_rollout_ref.actor.fsdp_config.param_offload", "actor_rollout_ref.actor.fsdp_config.optimizer_offload", "actor_rollout_ref.rollout.free_cache_engine"})
      if (v_->on(key)) d_->unmodelled_key(key, true, v_->place(key), "beside an engine on other GPUs");
    if (const auto rank = v_->number("actor_rollout_ref.model.lora_rank", 0, 0); rank > 0) d_->unmodelled_key("actor_rollout_ref.model.lora_rank", rank, v_->place("actor_rollout_ref.model.lora_rank"), "beside an engine on other GPUs");
    if (v_->word_now("algorithm.adv_estimator").empty() || v_->word_now("algorithm.adv_estimator") == "gae") d_->unmodelled_key("algorithm.adv_estimator", "gae", v_->place("algorithm.adv_estimator"), "beside an engine on other GPUs");
  }
  /// The engine, on rollout.nnodes × rollout.n_gpus_per_node GPUs. Both work at once, of which no time is predicted: how many GPUs is left open.
  void engine(json_value& r) {
    for (const auto* key : {"sleep", "sync_bucket_mib", "trainer_moves", "sync_groups"}) r.erase(key);
    r["placement"] = "separate";
    if (!scores("actor_rollout_ref.rollout.")) r.erase("batch");
    const auto gpus = checked::mul(v_->number("rollout.nnodes", 1), v_->number("rollout.n_gpus_per_node", 8));
    if (gpus % r["tensor"].get<std::int64_t>() != 0) fail("headroom: " + v_->place("rollout.n_gpus_per_node") + ": actor_rollout_ref.rollout.tensor_model_parallel_size must divide the GPUs that generate, " + std::to_string(gpus));
    const std::string what = "the GPUs that generate work while these train, and the communicator between them, a few hundred MiB, is not counted";
    d_->notes.push_back(v_->place("rollout.n_gpus_per_node") + ": " + what + "; no step time is predicted");
    d_->assumed.push_back(what);
  }
  /// Whose log-probabilities are computed: the reference's where it counts, and the policy's own where the engine's do not stand for them
  /// (algorithm.rollout_correction.bypass_mode, which is on).
  bool scores(std::string_view who) {
    if (who.find(".ref.") == who.npos) return !v_->on("algorithm.rollout_correction.bypass_mode", true);
    return v_->on("actor_rollout_ref.actor.use_kl_loss") || v_->on("algorithm.use_kl_in_reward");
  }

 private:
  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
