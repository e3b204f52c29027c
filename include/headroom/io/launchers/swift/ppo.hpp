// Distributed under the Boost Software License, Version 1.0.
// ms-swift's PPO, which is TRL's trainer under ms-swift's arguments (modelscope/ms-swift 3602360a of 2026-08-22: swift/rlhf_trainers/ppo_trainer.py,
// swift/arguments/rlhf_args.py PPOArguments, swift/pipelines/train/rlhf.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>

namespace headroom::io::detail {

class swift_ppo {
 public:
  swift_ppo(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Before the model is named.
  void method() {
    for (const auto* key : {"num_ppo_epochs", "whiten_rewards", "kl_coef", "cliprange", "vf_coef", "cliprange_value", "gamma", "lam", "missing_eos_penalty", "temperature", "reward_model_type", "reward_model_revision", "reward_template"}) v_->take(key);
    const auto *other = v_->take("ref_model"), *own = v_->take("model");
    if (other != nullptr && (own == nullptr || *other != *own)) fail("headroom: " + v_->place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version");
    for (const auto* key : {"packing", "padding_free"})
      if (v_->on(key)) d_->unmodelled_key(key, true, v_->place(key), "beside rlhf_type ppo");
    d_->replace("objective", {{"kind", "ppo"}, {"trainer", "trl"}}, v_->place("rlhf_type"));
  }
  /// Once it is known what trains. The value model is the reward model once more, which trains as the policy does: under LoRA it has adapters of its own
  /// (rlhf.py _prepare_single_model).
  void read() {
    const auto place = v_->place("rlhf_type");
    if (d_->has({"adapter"})) fail("headroom: " + place + ": ms-swift's PPO with adapters gives the value model adapters of its own, which is not modelled by this version: tuner_type full is");
    const auto* said = v_->take("reward_model");
    auto scores = said == nullptr ? json_value{} : *said;
    if (scores.is_array() && scores.size() == 1) scores = json_value(scores[0]);
    if (!scores.is_string() || scores == "") fail("headroom: " + place + ": rlhf_type ppo needs one reward_model: the model that scores completions, and of which the value model is made");
    for (const auto* key : {"reward_adapters", "reward_model_plugin"})
      if (const auto* v = v_->take(key); v != nullptr && !v->empty() && *v != "") d_->unmodelled_key(key, *v, v_->place(key), "beside rlhf_type ppo");
    d_->say({"objective", "reference"}, "copy", place);
    for (const auto* role : {"reward", "critic"}) await_role(*d_, role, scores.get<std::string>(), v_->place("reward_model"), {{"parameters", loaded_role_format(*d_)}});
    if (const auto* length = d_->find({"batch", "sequence"}); length != nullptr && v_->has("max_length")) {  // it cuts prompts
      d_->say({"rollout", "prompt"}, *length, v_->place("max_length"));
      d_->job["batch"].erase("sequence");
    }
    const auto completion = v_->number("response_length", v_->number("max_new_tokens", v_->number("max_completion_length", 512)));
    for (const auto* key : {"max_new_tokens", "max_completion_length"}) v_->take(key);
    d_->say({"rollout"}, {{"engine", "trainer"}, {"completion", completion}, {"batch", v_->number("local_rollout_forward_batch_size", 64)}}, v_->place("response_length"));
    if (const auto parts = v_->number("num_mini_batches", 1); parts > 1) d_->unmodelled_key("num_mini_batches", parts, v_->place("num_mini_batches"));
    samples();
  }

 private:
  /// Completions of the evaluated set, now and then, as TRL's reader has them (trl/ppo.hpp).
  void samples() {
    const auto times = v_->number("num_sample_generations", 10, 0), at_once = v_->number("per_device_eval_batch_size", 1);
    const auto number = [&](const char* key) { return d_->has({"batch", key}) ? d_->job["batch"][key].get<std::int64_t>() : std::int64_t{1}; };
    if (times > 0 && at_once > checked::mul(number("micro"), number("accumulation")))
      d_->unmodelled_key("per_device_eval_batch_size", at_once, v_->place("per_device_eval_batch_size"), "more samples at once than a rollout has; num_sample_generations 0 generates none");
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
