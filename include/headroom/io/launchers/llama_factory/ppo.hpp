// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's stage ppo: a value head on the trained model, which generates; a reward model of one of three kinds (hiyouga/LLaMA-Factory
// ff6d4d12e of 2026-08-18: src/llamafactory/train/ppo/{workflow,trainer}.py, train/trainer_utils.py create_ref_model and create_reward_model,
// hparams/finetuning_args.py RLHFArguments, hparams/generating_args.py).
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>

namespace headroom::io::detail {

class factory_ppo {
 public:
  factory_ppo(draft& d, named_values& v) : d_(&d), v_(&v) {}

  void read() {
    if (v_->word_now("stage") != "ppo") return;
    const auto tuning = v_->word_now("finetuning_type");
    adapts_ = tuning.empty() || tuning == "lora";
    if (!adapts_ && tuning != "full") d_->unmodelled_key("finetuning_type", tuning, v_->place("finetuning_type"), "in stage ppo");
    d_->replace("objective", {{"kind", "ppo"}, {"trainer", "llama-factory"}, {"reference", reference()}}, v_->place("stage"));
    scores();
    if (const auto beams = v_->number("num_beams", 1); beams > 1) d_->unmodelled_key("num_beams", beams, v_->place("num_beams"), "several beams of each completion");
    const auto prompt = v_->number("cutoff_len", 2048), completion = v_->number("max_new_tokens", 1024);
    d_->replace("rollout", {{"engine", "trainer"}, {"prompt", prompt}, {"completion", completion}}, v_->place("max_new_tokens"));
    d_->say({"batch", "sequence"}, checked::add(prompt, completion), v_->place("cutoff_len"));
    for (const auto* key : {"ppo_buffer_size", "ppo_epochs", "ppo_score_norm", "ppo_target", "ppo_whiten_rewards"}) v_->take(key);
  }

 private:
  /// A model that is named; without one the adapter is switched off, or the model is loaded once more.
  std::string reference() {
    for (const auto* key : {"ref_model_adapters", "ref_model_quantization_bit"})
      if (const auto* v = v_->take(key); v != nullptr && *v != "") d_->unmodelled_key(key, *v, v_->place(key));
    const auto* named = v_->take("ref_model");
    if (named == nullptr || *named == "") return adapts_ ? "adapter-off" : "copy";
    if (*named != d_->trained_name) fail("headroom: " + v_->place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version; leave ref_model out");
    return "copy";
  }
  /// Adapters of the trained model's, a model, or a server.
  void scores() {
    const auto kind = v_->one_of("reward_model_type", "lora", {"lora", "full", "api"});
    const auto name = v_->word("reward_model", "");
    if (name.empty()) fail("headroom: " + v_->source() + ": stage ppo needs reward_model: adapters, a model or a server's address, as reward_model_type says");
    for (const auto* key : {"reward_model_adapters", "reward_model_quantization_bit"})
      if (const auto* v = v_->take(key); v != nullptr && *v != "") d_->unmodelled_key(key, *v, v_->place(key));
    if (kind == "lora" && !adapts_) fail("headroom: " + v_->place("reward_model_type") + ": reward_model_type \"lora\" needs finetuning_type lora, as LLaMA-Factory itself says; accepted beside full: full, api");
    if (kind == "lora") d_->say({"objective", "reward_adapter"}, true, v_->place("reward_model_type"));
    if (kind == "full") await_role(*d_, "reward", name, v_->place("reward_model"), {{"parameters", loaded_role_format(*d_)}});
  }

  draft* d_;
  named_values* v_;
  bool adapts_{};
};

}  // namespace headroom::io::detail
