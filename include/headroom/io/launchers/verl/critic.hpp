// Distributed under the Boost Software License, Version 1.0.
// verl's critic, by the overrides of its command (volcengine/verl b178a3cd of 2026-01-29: verl/workers/fsdp_workers.py CriticWorker,
// verl/trainer/main_ppo.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>

namespace headroom::io::detail {

/// Micro-batches of a critic beside an actor that trains on rows of tokens: as many pieces of such rows at once as its own tokens are
/// (verl/trainer/config/critic/critic.yaml use_dynamic_bsz, ppo_max_token_len_per_gpu, forward_max_token_len_per_gpu; verl/workers/critic/dp_critic.py).
inline std::int64_t verl_critic_rows(draft& d, named_values& v, std::int64_t row, std::int64_t cut) {
  constexpr std::string_view trains = "critic.ppo_max_token_len_per_gpu", values = "critic.forward_max_token_len_per_gpu";
  const auto each = v.number(trains, 32768), most = checked::mul(each, cut);
  if (most % row != 0) d.unmodelled_key(std::string{trains}, each, v.place(trains), "rows that are no multiple of what divides the actor's and holds the longest sample, " + std::to_string(row) + " tokens");
  if (const auto n = v.number(values, each); n > each) d.unmodelled_key(std::string{values}, n, v.place(values), "more than it trains on at once");
  v.take("critic.ppo_micro_batch_size_per_gpu"), v.take("critic.ppo_micro_batch_size"), v.take("critic.forward_micro_batch_size_per_gpu");
  return most / row;
}

/// A critic that trains as the actor does, on its own micro-batches. Where they differ elsewhere, the actor's would stand for both: refused.
inline void read_verl_critic(draft& d, named_values& v, bool divides) {
  if (divides) fail("headroom: " + v.place("algorithm.adv_estimator") + ": a critic over verl's Megatron workers is not modelled by this version: algorithm.adv_estimator must be grpo, rloo or another without one");
  if (d.has({"parallel", "replicate"}))
    d.unmodelled_key("actor_rollout_ref.actor.fsdp_config.fsdp_size", d.job["parallel"]["replicate"], v.place("actor_rollout_ref.actor.fsdp_config.fsdp_size"), "beside a critic, whose shards are over all GPUs");
  const auto number = [&](const char* key) { return d.job["batch"][key].get<std::int64_t>(); };
  const auto cut = d.has({"parallel", "context"}) ? d.job["parallel"]["context"].get<std::int64_t>() : std::int64_t{1};
  const auto gpus = checked::mul(d.job["hardware"]["gpus_per_node"].get<std::int64_t>(), d.job["hardware"].value("nodes", std::int64_t{1})) / cut;
  const auto path = v.word("critic.model.path", "~/models/deepseek-llm-7b-chat");
  const bool rows = v.on("actor_rollout_ref.actor.use_dynamic_bsz"), own_rows = v.on("critic.use_dynamic_bsz", rows);
  if (rows != own_rows) d.unmodelled_key("critic.use_dynamic_bsz", own_rows, v.place("critic.use_dynamic_bsz"), "a critic that differs from the actor in it");
  auto micro = rows ? verl_critic_rows(d, v, number("sequence"), cut) : v.number("critic.ppo_micro_batch_size_per_gpu", 0, 0);
  if (const auto of_all = v.number("critic.ppo_micro_batch_size", 0, 0); micro == 0) micro = of_all / gpus;
  if (micro == 0) fail("headroom: " + v.source() + ": critic.ppo_micro_batch_size_per_gpu is required: completions that a critic trains on at once");
  if (const auto values = rows ? micro : v.number("critic.forward_micro_batch_size_per_gpu", micro); values > micro) d.unmodelled_key("critic.forward_micro_batch_size_per_gpu", values, v.place("critic.forward_micro_batch_size_per_gpu"), "more than it trains on at once");
  const auto same = [&](const std::string_view theirs, bool otherwise, bool is) {
    if (const bool said = v.on(theirs, otherwise); said != is) d.unmodelled_key(std::string{theirs}, said, v.place(theirs), "a critic that differs from the actor in it");
  };
  const auto* moves = d.find({"rollout", "trainer_moves"});
  const auto moved = [&](const char* what) { return moves != nullptr && std::find(moves->begin(), moves->end(), json_value(what)) != moves->end(); };
  same("critic.model.fsdp_config.param_offload", false, moved("parameters"));
  same("critic.model.fsdp_config.optimizer_offload", false, moved("optimizer"));
  same("critic.model.fsdp_config.reshard_after_forward", true, d.job["sharding"]["stage"] == 3);
  const bool again = v.on("critic.model.enable_gradient_checkpointing", true), as_actor = again == (d.job["recompute"] != "none");
  same("critic.model.fsdp_config.offload_policy", false, false);
  same("critic.model.enable_activation_offload", false, false);
  same("critic.model.tiled_mlp.enabled", false, false);
  v.one_of("critic.model.fsdp_config.model_dtype", "fp32", {"fp32"});
  if (d.job["precision"]["parameters"] != "fp32") d.unmodelled_key("actor_rollout_ref.actor.fsdp_config.model_dtype", d.job["precision"]["parameters"], v.place("actor_rollout_ref.actor.fsdp_config.model_dtype"), "beside a critic, whose weights are in fp32");
  const auto kind = v.word("critic.strategy", d.job["sharding"]["kind"] == "fsdp2" ? "fsdp2" : "fsdp");
  if ((kind == "fsdp2") != (d.job["sharding"]["kind"] == "fsdp2")) d.unmodelled_key("critic.strategy", kind, v.place("critic.strategy"), "a critic that differs from the actor in it");
  if (const auto* key = "critic.model.lora_rank"; v.number(key, 0, 0) > 0) d.unmodelled_key(key, v.number(key, 0, 0), v.place(key));
  if (const auto* key = "critic.ulysses_sequence_parallel_size"; v.number(key, 1) != cut) d.unmodelled_key(key, v.number(key, 1), v.place(key), "a critic that differs from the actor in it");
  if (const auto* size = v.take("critic.model.fsdp_config.fsdp_size"); size != nullptr && *size != -1) d.unmodelled_key("critic.model.fsdp_config.fsdp_size", *size, v.place("critic.model.fsdp_config.fsdp_size"), "shards over a part of the GPUs; -1 is over all");
  await_role(d, "critic", path, v.place("critic.model.path"), {{"micro", micro == number("micro") ? json_value(nullptr) : json_value(micro)}, {"recompute", as_actor ? json_value(nullptr) : json_value(again)}});
}

}  // namespace headroom::io::detail
