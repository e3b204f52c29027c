// Distributed under the Boost Software License, Version 1.0.
// TRL's GRPO, RLOO, online DPO and Nash-MD: who generates, and how much of it (huggingface/trl f2cd57710 of 2026-07-24: trl/trainer/grpo_config.py, grpo_trainer.py,
// trl/generation/vllm_generation.py; trl/experimental/online_dpo/online_dpo_config.py, online_dpo_trainer.py; releases since 0.14).
#pragma once

#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>

namespace headroom::io::detail {

class trl_generation {
 public:
  /// `by_functions`: the script scores completions by functions of its own.
  trl_generation(draft& d, named_values& v, std::string_view kind, trl_defaults& defaults, bool by_functions = false) : d_(&d), v_(&v), kind_(kind), defaults_(&defaults), by_functions_(by_functions) {}

  void read() {
    if (kind_ == "online-dpo") return online();
    if (kind_ == "nash-md") return mixture();
    if (kind_ == "rloo") defaults_->modelled_since(22, "RLOO", [](draft&, const std::string& place) { fail("headroom: " + place + ": RLOO of TRL before 0.22 is another program, which is not modelled by this version"); });
    d_->replace("objective", {{"kind", kind_}, {"trainer", "trl"}}, v_->source());
    loss_code();
    reference();
    lengths();
    d_->say({"rollout", "generations"}, v_->number("num_generations", kind_ == "grpo" ? 8 : 2), v_->place("num_generations"));
    if (const auto times = v_->number("num_iterations", 1); times > 1) d_->say({"rollout", "iterations"}, times, v_->place("num_iterations"));
    together();
    const bool corrects = v_->on("vllm_importance_sampling_correction", true);
    if (v_->on("use_vllm")) {
      engine();
      if (kind_ == "grpo" && !corrects) d_->say({"rollout", "corrects"}, false, v_->place("vllm_importance_sampling_correction"));
    }
    else
      own_module();
    rewards();
  }

 private:
  /// Two completions of each prompt, whose prompts and answers are cut at max_length for what is compared.
  void online() {
    v_->take("beta");
    d_->replace("objective", {{"kind", "online-dpo"}, {"trainer", "trl"}, {"reference", d_->has({"adapter"}) ? "adapter-off" : "copy"}}, v_->source());
    if (v_->word("judge", "") == "pair_rm") d_->unmodelled_key("judge", "pair_rm", v_->place("judge"), "a ranker of its own on every GPU: trl/experimental/judges/judges.py PairRMJudge");
    if (const auto scores = v_->word("reward_model_path", ""); !scores.empty()) {
      if (by_functions_)
        d_->notes.push_back(v_->place("reward_model_path") + ": this script scores completions by functions of its own, and loads no reward model");
      else
        await_role(*d_, "reward", scores, v_->place("reward_model_path"), {{"parameters", loaded_role_format(*d_)}});
    }
    if (!d_->has({"batch", "sequence"})) d_->say({"batch", "sequence"}, 512, v_->source());
    d_->say({"rollout", "completion"}, v_->number("max_new_tokens", 64), v_->place("max_new_tokens"));
    d_->notes.push_back(v_->place("max_length") + ": longer prompts than max_length leaves room for are cut before answers are compared, and not before they are generated");
    share_ = 0.55;
    if (v_->on("use_vllm"))
      engine();
    else
      own_module();
  }
  /// Two completions of each prompt, one of them of the policy and the reference together. The script makes no adapters, and cuts nothing.
  void mixture() {
    for (const auto* key : {"beta", "mixture_coef"}) v_->take(key);
    if (d_->has({"adapter"})) d_->unmodelled_key("use_peft", true, v_->place("use_peft"), "which nash_md.py reads and hands to nobody");
    if (v_->on("use_vllm")) d_->unmodelled_key("use_vllm", true, v_->place("use_vllm"), "which Nash-MD's generation makes no use of");
    if (v_->has("gradient_checkpointing") && !v_->on("gradient_checkpointing")) d_->unmodelled_key("gradient_checkpointing", false, v_->place("gradient_checkpointing"), "where both models of the mixture are handed one cache");
    if (v_->has("judge")) d_->unmodelled_key("judge", v_->all()["judge"], v_->place("judge"), "a model of the trainer's, or another's, in place of a reward model");
    const auto scores = v_->word("reward_model_path", "");
    if (scores.empty()) fail("headroom: " + v_->source() + ": reward_model_path is required: the model that Nash-MD's completions are compared by");
    defaults_->modelled_since(15, "Nash-MD", [](draft&, const std::string& place) { fail("headroom: " + place + ": Nash-MD of TRL before 0.15 (2025-02), whose scores are made of all samples at once, is not modelled by this version"); });
    d_->replace("objective", {{"kind", "nash-md"}, {"trainer", "trl"}, {"reference", "copy"}}, v_->source());
    await_role(*d_, "reward", scores, v_->place("reward_model_path"), {{"parameters", loaded_role_format(*d_)}});
    if (d_->has({"batch", "sequence"})) d_->job["batch"].erase("sequence"), d_->notes.push_back(v_->place("max_length") + ": Nash-MD cuts nothing at max_length");
    d_->say({"rollout", "completion"}, v_->number("max_new_tokens", 64), v_->place("max_new_tokens"));
    own_module();
  }
  /// Logits divided where they lie, and before 1.0 in a copy; their entropies (recipe/method_loss.hpp).
  void loss_code() {
    using change = void (*)(draft&, const std::string&);
    const change by_0_29 = [](draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.29", place); };
    const change by_0_22 = [](draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.22", place); };
    const change by_0_19 = [](draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.19", place); };
    defaults_->since(100, "TRL divides logits by the temperature where they lie since 1.0 (2026-03), and in a copy before", by_0_29, nullptr);
    defaults_->since(23, "TRL makes entropies of 128 tokens at a time since 0.23 (2025-09), and of a sample before", by_0_22, nullptr, [](const draft& d) { return d.job["objective"]["trainer"] == "trl-0.29"; });
    if (kind_ == "rloo") return;
    defaults_->since(20, "TRL's GRPO makes entropies since 0.20 (2025-07)", by_0_19, nullptr, [](const draft& d) { return d.job["objective"]["trainer"] == "trl-0.22"; });
    defaults_->modelled_since(16, "GRPO", [](draft&, const std::string& place) { fail("headroom: " + place + ": GRPO of TRL before 0.16 (2025-03) is another program, which is not modelled by this version"); });
  }
  static void compares(draft& d, const std::string& place) { d.say({"objective", "reference"}, d.has({"adapter"}) ? "adapter-off" : "copy", place); }
  static void alone(draft& d, const std::string& place) { d.say({"objective", "reference"}, "none", place); }

  /// The reference is there for the KL term alone.
  void reference() {
    const auto* weight = v_->take("beta");
    if (weight != nullptr) return number_at(*weight, "beta", 0.0, 1e6) == 0 ? alone(*d_, v_->place("beta")) : compares(*d_, v_->place("beta"));
    if (kind_ == "rloo") return compares(*d_, v_->source());
    defaults_->since(19, "beta is not given, and TRL's default is 0 since 0.19 (2025-06), without a reference, and 0.04 before", compares, alone);
  }
  void lengths() {
    if (const auto prompt = v_->number("max_prompt_length", 0, 0); prompt > 0) d_->say({"rollout", "prompt"}, prompt, v_->place("max_prompt_length"));
    const auto open = [](const draft& d) { return !d.has({"rollout", "prompt"}); };
    if (!v_->has("max_prompt_length"))
      defaults_->since(kind_ == "grpo" ? 26 : 27, "max_prompt_length is not given, and TRL cuts prompts at 512 tokens before 0.26, and nowhere since", [](draft& d, const std::string& place) { if (!d.has({"rollout", "prompt"})) d.say({"rollout", "prompt"}, 512, place); }, nullptr, open);
    if (v_->take("max_completion_length") != nullptr) return d_->say({"rollout", "completion"}, v_->number("max_completion_length", 256), v_->place("max_completion_length"));
    using change = void (*)(draft&, const std::string&);
    const change shorter = [](draft& d, const std::string& place) { if (!d.has({"rollout", "completion"})) d.say({"rollout", "completion"}, 256, place); };
    const change longer = [](draft& d, const std::string& place) { if (!d.has({"rollout", "completion"})) d.say({"rollout", "completion"}, 512, place); };
    defaults_->since(110, "max_completion_length is not given, and TRL's default is 512 since 1.10 (2026-07), and 256 before", shorter, longer, [](const draft& d) { return !d.has({"rollout", "completion"}); });
  }
  /// vLLM in the trainer's processes, or served by others.
  void engine() {
    if (v_->has("vllm_device")) fail("headroom: " + v_->place("vllm_device") + ": vLLM on a GPU of the trainer's node (vllm_device, TRL 0.14 to 0.17) is not modelled by this version: vllm_mode says colocate or server");
    d_->say({"rollout", "engine"}, "vllm", v_->place("use_vllm"));
    const auto share = v_->share("vllm_gpu_memory_utilization", share_);
    const auto tensor = v_->number("vllm_tensor_parallel_size", 1);
    const bool sleeps = v_->on("vllm_enable_sleep_mode");
    const auto beside = json_value{{"placement", "colocated"}, {"share", share}, {"tensor", tensor}, {"sleep", sleeps ? 2 : 0}};
    const auto mode = v_->one_of("vllm_mode", "", {"", "colocate", "server"});
    if (mode == "server") return served(*d_, v_->place("vllm_mode"));
    d_->say({"rollout"}, beside, v_->place(mode.empty() ? "use_vllm" : "vllm_mode"));
    if (sleeps) defaults_->since(25, "vLLM's weights go to the host while TRL trains before 0.25 (2025-10), and are thrown away since", [](draft& d, const std::string& place) { if (d.has({"rollout", "sleep"})) d.say({"rollout", "sleep"}, 1, place); }, nullptr);
    if (mode.empty()) defaults_->since(100, "vllm_mode is not given, and TRL's default is colocate since 1.0 (2026-03), and server before", served, nullptr);
  }
  static void served(draft& d, const std::string& place) {
    for (const auto* key : {"share", "tensor", "sleep"})
      if (d.has({"rollout", key})) d.job["rollout"].erase(key);
    d.say({"rollout", "placement"}, "separate", place);
  }
  /// Completions of so many micro-batches are generated together, and a reward model reads them together; an update may learn from those of another.
  void together() {
    const auto accumulated = v_->number("gradient_accumulation_steps", 1);
    if (const auto all = v_->number("generation_batch_size", 0, 0); all > 0) {
      if (v_->has("steps_per_generation")) fail("headroom: " + v_->place("generation_batch_size") + ": TRL refuses generation_batch_size beside steps_per_generation");
      return d_->know(d_->generation_batch, "generation_batch_size", all, v_->place("generation_batch_size"));
    }
    if (const auto steps = v_->number("steps_per_generation", accumulated); steps != accumulated) d_->say({"rollout", "steps_per_generation"}, steps, v_->place("steps_per_generation"));
  }
  void own_module() {
    for (const auto* key : {"vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "vllm_mode", "vllm_device", "vllm_enable_sleep_mode"}) v_->take(key);  // nobody looks at them
    d_->say({"rollout", "engine"}, "trainer", v_->place("use_vllm"));
    if (!v_->on("ds3_gather_for_generation", true)) gathers_ = false;
    if (!gathers_) d_->say({"rollout", "gathers"}, false, v_->place("ds3_gather_for_generation"));
    for (const auto* key : {"cache_implementation", "generation_kwargs"})
      if (const auto* said = v_->take(key); said != nullptr && !said->empty() && *said != "") d_->unmodelled_key(key, *said, v_->place(key), "beside generation by the trained module");
    for (const auto* key : {"use_transformers_paged", "use_transformers_continuous_batching"})
      if (v_->on(key)) d_->unmodelled_key(key, true, v_->place(key));
  }
  void rewards() {
    const auto model = v_->word("reward_model_name_or_path", "");
    if (model.empty()) return;
    await_role(*d_, "reward", model, v_->place("reward_model_name_or_path"), {{"parameters", loaded_role_format(*d_)}});
  }

  draft* d_;
  named_values* v_;
  std::string kind_;
  trl_defaults* defaults_;
  bool by_functions_{};
  double share_{0.3};
  bool gathers_{true};
};

}  // namespace headroom::io::detail
