// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed-Chat's third step, PPO of an actor and a critic over DeepSpeed, by the arguments of its main.py (deepspeedai/DeepSpeedExamples,
// applications/DeepSpeed-Chat: training/step3_rlhf_finetuning/main.py, dschat/rlhf/rlhf_engine.py, dschat/rlhf/ppo_trainer.py,
// dschat/utils/ds_utils.py, as of 2025).
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/deepspeed/chat.hpp>
#include <headroom/io/launchers/deepspeed/import.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/programs/program_keys.hpp>

namespace headroom::io {

namespace detail {

class deepspeed_chat_ppo {
 public:
  deepspeed_chat_ppo(draft& d, const document& from) : d_(&d), v_(from, std::int64_t{1} << 31) {}

  void import() {
    const auto actor = v_.word("actor_model_name_or_path", "");
    if (actor.empty()) fail("headroom: " + v_.source() + ": actor_model_name_or_path is required");
    d_->trained_name = actor;
    d_->awaits_roles.clear();
    say_model(*d_, actor, v_.place("actor_model_name_or_path"));
    v_.take("deepspeed");
    engines();
    rollout();
    models();
    adapters();
    rest();
  }

 private:
  /// get_train_ds_config, of the actor; FusedAdam, or DeepSpeedCPUAdam where states are offloaded.
  void engines() {
    stage_ = v_.number("actor_zero_stage", 0, 0);
    const auto format = v_.one_of("dtype", "fp16", {"fp16", "bf16"});
    const auto* device = v_.on("offload") ? "cpu" : "none";
    const json_value zero = {{"stage", stage_}, {"overlap_comm", true}, {"stage3_param_persistence_threshold", 10'000}, {"stage3_max_live_parameters", 30'000'000},
                             {"stage3_prefetch_bucket_size", 30'000'000}, {"offload_optimizer", {{"device", device}}}, {"offload_param", {{"device", device}}}};
    import_deepspeed(*d_, {.source = v_.source(), .root = {{"zero_optimization", zero}, {format, {{"enabled", true}}}}, .lines = {}});
    d_->half = draft::said{format, v_.place("dtype")};
    d_->loaded = draft::said{format, v_.place("dtype")};
    d_->replace("optimizer", json_value{{"name", "adamw"}, {"implementation", "fused"}}, v_.source());
    d_->replace("recompute", v_.on("actor_gradient_checkpointing") ? "full" : "none", v_.place("actor_gradient_checkpointing"));
  }
  void rollout() {
    const auto prompt = v_.number("max_prompt_seq_len", 256), answer = v_.number("max_answer_seq_len", 256);
    const auto micro = v_.number("per_device_training_batch_size", 16);
    d_->say({"batch", "micro"}, micro, v_.place("per_device_training_batch_size"));
    d_->say({"batch", "accumulation"}, v_.number("gradient_accumulation_steps", 1), v_.place("gradient_accumulation_steps"));
    d_->say({"batch", "sequence"}, checked::add(prompt, answer), v_.place("max_answer_seq_len"));
    const bool hybrid = v_.on("enable_hybrid_engine");
    json_value r = {{"engine", hybrid ? "hybrid" : "trainer"}, {"prompt", prompt}, {"completion", answer}};
    if (const auto at_once = v_.number("per_device_generation_batch_size", 16); at_once != micro) r["batch"] = at_once;
    if (v_.on("unpin_actor_parameters") && hybrid && stage_ == 3) r["gathers"] = false;
    d_->replace("rollout", r, v_.place("enable_hybrid_engine"));
    if (const auto parts = v_.number("inference_tp_size", 1); parts > 1 && hybrid) d_->unmodelled_key("inference_tp_size", parts, v_.place("inference_tp_size"), "layers that several GPUs hold together while they generate");
    if (v_.on("release_inference_cache") && hybrid) d_->unmodelled_key("release_inference_cache", true, v_.place("release_inference_cache"), "a workspace that is freed after each generation");
  }
  /// The actor's reference and its average are copies; the critic and the reward model begin as the same checkpoint. What waits on the host is
  /// fetched in the third stage alone.
  void models() {
    const auto critic = v_.word("critic_model_name_or_path", "");
    if (critic.empty()) fail("headroom: " + v_.source() + ": critic_model_name_or_path is required");
    const auto stage = v_.number("critic_zero_stage", 0, 0);
    d_->replace("objective", {{"kind", "ppo"}, {"trainer", "deepspeed-chat"}, {"reference", "copy"}}, v_.place("actor_model_name_or_path"));
    if (v_.on("enable_ema")) d_->say({"objective", "averages"}, true, v_.place("enable_ema"));
    if (v_.on("offload_reference_model") && stage_ == 3) d_->say({"objective", "reference_parameters_at"}, "cpu", v_.place("offload_reference_model"));
    const bool waits = v_.on("offload_reward_model") && stage == 3;
    const bool again = v_.on("critic_gradient_checkpointing");
    const auto own_stage = stage == stage_ ? json_value(nullptr) : json_value(stage);
    await_role(*d_, "critic", critic, v_.place("critic_model_name_or_path"), {{"stage", own_stage}, {"recompute", again == (d_->job["recompute"] == "full") ? json_value(nullptr) : json_value(again)}});
    await_role(*d_, "reward", critic, v_.place("critic_model_name_or_path"), {{"stage", own_stage}, {"parameters_at", waits ? json_value("cpu") : json_value(nullptr)}});
    dropouts();
  }
  /// A given probability is of all kinds of dropout; what is not given is the checkpoint's own, which of OPT's is a tenth behind attention and MLP
  /// (transformers configuration_opt.py).
  void dropouts() {
    const auto given = [&](std::string_view key) {
      const auto* p = v_.take(key);
      return p == nullptr ? std::optional<double>{} : std::optional<double>{number_at(*p, std::string{key}, 0.0, 1.0)};
    };
    const auto actor = given("actor_dropout"), critic = given("critic_dropout");
    for (const auto& [key, p] : {std::pair{"actor_dropout", actor}, std::pair{"critic_dropout", critic}})
      if (p && *p > 0) d_->unmodelled_key(key, *p, v_.place(key), "dropout of the actor or the critic alone");
    if (!actor && !critic) return;  // both as their checkpoints have it (io/launchers/model_dropout.hpp)
    d_->replace("dropout", {{"hidden", 0}, {"attention", 0}, {"embedding", 0}}, v_.place(actor ? "actor_dropout" : "critic_dropout"));
    if (actor && critic) return;
    const std::string what = std::string{actor ? "the critic trains" : "the actor trains"} + " without dropout, which OPT's checkpoints have where " + (actor ? "critic_dropout" : "actor_dropout") + " does not say 0";
    d_->notes.push_back(v_.source() + ": " + what);
    d_->assumed.push_back(what);
  }
  void adapters() {
    if (const auto rank = v_.number("critic_lora_dim", 0, 0); rank > 0) d_->unmodelled_key("critic_lora_dim", rank, v_.place("critic_lora_dim"), "a critic's own adapters");
    v_.take("critic_lora_module_name");
    read_deepspeed_chat_adapter(*d_, v_, "actor_");
  }
  void rest() {
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key)) continue;
      const auto rule = rule_of(deepspeed_chat_ppo_passed, key, value);
      if (rule == key_rule::refused) d_->unmodelled_key(key, value, v_.place(key));
      if (rule == key_rule::unknown) d_->unknown_key(key, v_.place(key));
    }
  }

  draft* d_;
  named_values v_;
  std::int64_t stage_{};
};

}  // namespace detail

/// Adds what a command of DeepSpeed-Chat's third step says.
/// Errors: job_error for arguments that are neither read nor harmless.
inline void import_deepspeed_chat(draft& d, std::span<const shell_word> words, const std::string& source) {
  auto all = arguments_of(words);
  for (const auto& a : all) {
    const bool harmless = std::any_of(detail::deepspeed_chat_ppo_passed.begin(), detail::deepspeed_chat_ppo_passed.end(), [&](const detail::passed_key& k) { return k.name == a.name && k.off == "*"; });
    if (!harmless && !a.name.ends_with("model_name_or_path")) check_known(a, source);
  }
  const auto from = document_of(all, source);
  with_places(from, [&] { detail::deepspeed_chat_ppo{d, from}.import(); });
}

}  // namespace headroom::io
