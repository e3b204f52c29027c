// Distributed under the Boost Software License, Version 1.0.
// verl's reward model of its FSDP workers, by the overrides of its command (volcengine/verl b178a3cd of 2026-01-29: verl/workers/fsdp_workers.py
// RewardModelWorker, verl/trainer/main_ppo.py add_reward_model_worker). It is a bf16 model of one score a token, whose shards are on the host.
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>

#include <algorithm>

namespace headroom::io::detail {

inline void refuse_reward_loop(draft& d, const std::string& place) {
  const auto refuse = [&](const std::string& what) { d.unmodelled_key("reward_model.enable", true, place, what); };
  refuse("a reward model that an engine of its own runs: reward_model.use_reward_loop, which is true where it is not given");
}

/// A reward model on the GPUs that train, without a loop of its own: since 0.7 (2026-01) verl's default starts an engine for it. v0.4.0 to v0.6.1 have no such key,
/// and the same worker. `oldest`: the release that the command's keys are of, at least.
inline void read_verl_reward(draft& d, named_values& v, bool divides, std::int32_t oldest) {
  constexpr std::string_view key = "reward_model.enable";
  if (!v.on(key)) return;
  const auto refuse = [&](const std::string& what) { d.unmodelled_key(std::string{key}, true, v.place(key), what); };
  if (divides) return refuse("a reward model over verl's Megatron workers");
  if (d.job["objective"]["kind"] != "ppo") return refuse("a reward model beside a method without a critic");
  const bool dated = !v.has("reward_model.use_reward_loop") && oldest < 7 && std::find(d.ignores.begin(), d.ignores.end(), key) == d.ignores.end();
  if (v.on("reward_model.use_reward_loop", !dated)) return refuse_reward_loop(d, v.place(key));
  if (dated)
    d.releases.push_back({"verl", 7, v.place(key), "reward_model.use_reward_loop is not given, and is true in verl since 0.7 (2026-01), and there is none before", true, refuse_reward_loop});
  if (d.has({"parallel", "context"})) return refuse("a reward model beside an actor whose samples are cut among GPUs");
  if (v.on("reward_model.enable_resource_pool")) return refuse("a reward model on GPUs of its own");
  const bool second = d.job["sharding"]["kind"] == "fsdp2", again = d.job["sharding"]["stage"] == 3;
  if (v.one_of("reward_model.strategy", "fsdp", {"fsdp", "fsdp2", "megatron"}) != (second ? "fsdp2" : "fsdp") || v.on("reward_model.model.fsdp_config.reshard_after_forward", true) != again)
    return refuse("a reward model that is sharded in another way than the actor");
  if (const auto* size = v.take("reward_model.model.fsdp_config.fsdp_size"); (size != nullptr && *size != -1) || d.has({"parallel", "replicate"}) || v.number("reward_model.ulysses_sequence_parallel_size", 1) > 1)
    return refuse("a reward model that is sharded in another way than the actor");
  if (!v.on("reward_model.model.use_remove_padding")) return refuse("a reward model that scores padded samples: reward_model.model.use_remove_padding, which is false where it is not given");
  const bool rows = v.on("actor_rollout_ref.actor.use_dynamic_bsz");
  if (v.on("reward_model.use_dynamic_bsz", v.on("critic.use_dynamic_bsz", rows))) return refuse("a reward model that scores rows of tokens");
  if (rows) return refuse("a reward model that scores a number of samples beside training on rows of tokens");
  const auto longest = d.job["batch"]["sequence"].get<std::int64_t>();
  if (const auto* most = v.take("reward_model.max_length"); most != nullptr && !most->is_null() && v.number("reward_model.max_length", 0) > longest) return refuse("a reward model that reads more tokens than a sample has");
  const auto gpus = checked::mul(d.job["hardware"]["gpus_per_node"].get<std::int64_t>(), d.job["hardware"].value("nodes", std::int64_t{1}));
  auto micro = v.number("reward_model.micro_batch_size_per_gpu", 0, 0);
  if (const auto of_all = v.number("reward_model.micro_batch_size", 0, 0); of_all > 0) micro = of_all / gpus;
  if (micro == 0) fail("headroom: " + v.place(key) + ": reward_model.micro_batch_size_per_gpu is required: samples that the reward model scores at once");
  const auto policy = d.job["batch"]["micro"].get<std::int64_t>();
  await_role(d, "reward", v.word("reward_model.model.path", "~/models/FsfairX-LLaMA3-RM-v0.1"), v.place("reward_model.model.path"), {{"micro", micro == policy ? json_value(nullptr) : json_value(micro)}});
}

}  // namespace headroom::io::detail
