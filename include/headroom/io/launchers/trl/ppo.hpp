// Distributed under the Boost Software License, Version 1.0.
// TRL's PPO: four models in one process, and completions of the policy's own (huggingface/trl f2cd57710 of 2026-07-24:
// trl/experimental/ppo/ppo_config.py, ppo_trainer.py; examples/scripts/ppo/ppo.py). Its RLOO up to 0.21 is the same without a critic (v0.11.0 to v0.21.0:
// trl/trainer/rloo_config.py, rloo_trainer.py, utils.py OnPolicyConfig; examples/scripts/rloo/rloo.py, rloo_tldr.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>

namespace headroom::io::detail {

class trl_ppo {
 public:
  trl_ppo(draft& d, named_values& v) : d_(&d), v_(&v) {}

  void read() {
    d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->source());
    const auto scores = v_->word("reward_model_path", by_default);
    if (!v_->has("sft_model_path")) trained_by_default();
    if (!v_->has("reward_model_path")) d_->notes.push_back(v_->source() + ": reward_model_path is not given: " + by_default + ", TRL's default, scores completions, and the value model is made of it");
    d_->replace("objective", {{"kind", "ppo"}, {"trainer", "trl"}, {"reference", d_->has({"adapter"}) ? "adapter-off" : "copy"}}, v_->source());
    const auto format = loaded_role_format(*d_);
    for (const auto* role : {"reward", "critic"}) await_role(*d_, role, scores, v_->place("reward_model_path"), {{"parameters", format}});
    generation();
    // As many times the completions are made at once before 0.17, and since then they are divided (v0.16.0 and v0.17.0 ppo_trainer.py, local_batch_size).
    if (const auto parts = v_->number("num_mini_batches", 1); parts > 1) d_->unmodelled_key("num_mini_batches", parts, v_->place("num_mini_batches"));
    updates();
  }
  /// RLOO up to 0.21: rloo_k completions of each prompt.
  void without_critic(trl_defaults& defaults) {
    d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->source());
    const auto scores = v_->word("reward_model_path", by_default);
    if (!v_->has("sft_model_path")) trained_by_default();
    if (!v_->has("reward_model_path")) d_->notes.push_back(v_->source() + ": reward_model_path is not given: " + by_default + ", TRL's default, scores completions");
    d_->replace("objective", {{"kind", "rloo"}, {"trainer", "trl-0.21"}, {"reference", "copy"}}, v_->source());
    defaults.since(15, "TRL makes scores of one sample after the other since 0.15 (2025-02), and of all at once before", [](draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.14", place); }, nullptr);
    await_role(*d_, "reward", scores, v_->place("reward_model_path"), {{"parameters", loaded_role_format(*d_)}});
    generation();
    d_->say({"rollout", "generations"}, v_->number("rloo_k", 2), v_->place("rloo_k"));
    // A rollout makes the completions of all mini-batches, each of which is an update's (v0.11.0 to v0.21.0 rloo_trainer.py, local_batch_size).
    if (const auto parts = v_->number("num_mini_batches", 1); parts > 1) d_->say({"rollout", "steps_per_generation"}, checked::mul(parts, v_->number("gradient_accumulation_steps", 1)), v_->place("num_mini_batches"));
    updates();
  }

 private:
  static constexpr const char* by_default = "EleutherAI/pythia-160m";  ///< of both paths (ppo_config.py)

  /// The script takes no more than the tokenizer from model_name_or_path.
  void trained_by_default() {
    const auto named = v_->word("model_name_or_path", "");
    d_->notes.push_back(v_->source() + ": sft_model_path is not given: " + by_default + ", TRL's default, is what trains" + (named.empty() ? std::string{} : ", and of " + in_quotes(named) + " (model_name_or_path) the tokenizer alone is read"));
  }
  void generation() {
    d_->say({"rollout"}, {{"engine", "trainer"}, {"completion", v_->number("response_length", 53)}, {"batch", v_->number("local_rollout_forward_batch_size", 64)}}, v_->place("response_length"));
    if (!v_->on("ds3_gather_for_generation", true)) d_->say({"rollout", "gathers"}, false, v_->place("ds3_gather_for_generation"));
    samples();
  }
  /// Updates that learn from the same completions (ppo_trainer.py and rloo_trainer.py, train).
  void updates() {
    if (const auto times = v_->number("num_ppo_epochs", 4); times > 1) d_->say({"rollout", "iterations"}, times, v_->place("num_ppo_epochs"));
  }
  /// Completions of the evaluated set, now and then: with scores that are kept meanwhile, as those of a rollout are.
  void samples() {
    const auto times = v_->number("num_sample_generations", 10, 0), at_once = v_->number("per_device_eval_batch_size", 8);
    const auto number = [&](const char* key) { return d_->has({"batch", key}) ? d_->job["batch"][key].get<std::int64_t>() : std::int64_t{1}; };
    if (times > 0 && at_once > checked::mul(number("micro"), number("accumulation"))) d_->say({"evaluation"}, {{"batch", at_once}}, v_->place("per_device_eval_batch_size"));
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
