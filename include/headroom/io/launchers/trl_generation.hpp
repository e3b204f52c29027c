// Distributed under the Boost Software License, Version 1.0.
// TRL's GRPO, RLOO and online DPO: who generates, and how much of it (huggingface/trl f2cd57710 of 2026-07-24: trl/trainer/grpo_config.py, grpo_trainer.py,
// trl/generation/vllm_generation.py; trl/experimental/online_dpo/online_dpo_config.py, online_dpo_trainer.py; releases since 0.14).
#pragma once

#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/trl_defaults.hpp>

namespace headroom::io::detail {

class trl_generation {
 public:
  trl_generation(draft& d, named_values& v, std::string_view kind, trl_defaults& defaults) : d_(&d), v_(&v), kind_(kind), defaults_(&defaults) {}

  void read() {
    if (kind_ == "online-dpo") return online();
    if (kind_ == "rloo") defaults_->modelled_since(22, "RLOO", [](draft&, const std::string& place) { fail("headroom: " + place + ": RLOO of TRL before 0.22 is another program, which is not modelled by this version"); });
    d_->replace("objective", {{"kind", kind_}, {"trainer", "trl"}}, v_->source());
    loss_code();
    reference();
    lengths();
    d_->say({"rollout", "generations"}, v_->number("num_generations", kind_ == "grpo" ? 8 : 2), v_->place("num_generations"));
    if (v_->on("use_vllm"))
      engine();
    else
      own_module();
    rewards();
  }

 private:
  /// Two completions of each prompt, whose prompts and answers are cut at max_length for what is compared.
  void online() {
    v_->take("beta");
    d_->replace("objective", {{"kind", "online-dpo"}, {"trainer", "trl"}, {"reference", d_->has({"adapter"}) ? "adapter-off" : "copy"}}, v_->source());
    if (const auto scores = v_->word("reward_model_path", ""); !scores.empty()) await_role(*d_, "reward", scores, v_->place("reward_model_path"), {{"parameters", loaded_role_format(*d_)}});
    if (!d_->has({"batch", "sequence"})) d_->say({"batch", "sequence"}, 512, v_->source());
    d_->say({"rollout", "completion"}, v_->number("max_new_tokens", 64), v_->place("max_new_tokens"));
    d_->notes.push_back(v_->place("max_length") + ": longer prompts than max_length leaves room for are cut before answers are compared, and not before they are generated");
    share_ = 0.55;
    if (v_->on("use_vllm"))
      engine();
    else
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
  /// Completions of so many micro-batches are generated together, and a reward model reads them together.
  void together() {
    const auto accumulated = v_->number("gradient_accumulation_steps", 1);
    if (const auto steps = v_->number("steps_per_generation", accumulated); steps != accumulated && kind_ != "online-dpo") d_->say({"rollout", "steps_per_generation"}, steps, v_->place("steps_per_generation"));
  }
  void own_module() {
    together();
    for (const auto* key : {"vllm_gpu_memory_utilization", "vllm_tensor_parallel_size", "vllm_mode", "vllm_device", "vllm_enable_sleep_mode"}) v_->take(key);  // nobody looks at them
    d_->say({"rollout", "engine"}, "trainer", v_->place("use_vllm"));
    if (!v_->on("ds3_gather_for_generation", true)) gathers_ = false;
    if (!gathers_) d_->say({"rollout", "gathers"}, false, v_->place("ds3_gather_for_generation"));
    for (const auto* key : {"generation_batch_size", "cache_implementation", "generation_kwargs"})
      if (const auto* said = v_->take(key); said != nullptr && !said->empty() && *said != "") d_->unmodelled_key(key, *said, v_->place(key), "beside generation by the trained module");
    for (const auto* key : {"use_transformers_paged", "use_transformers_continuous_batching"})
      if (v_->on(key)) d_->unmodelled_key(key, true, v_->place(key));
  }
  void rewards() {
    const auto model = v_->word("reward_model_name_or_path", "");
    if (model.empty()) return;
    await_role(*d_, "reward", model, v_->place("reward_model_name_or_path"), {{"parameters", loaded_role_format(*d_)}});
    together();
    if (v_->has("generation_batch_size")) d_->unmodelled_key("generation_batch_size", v_->all()["generation_batch_size"], v_->place("generation_batch_size"), "beside a reward model");
  }

  draft* d_;
  named_values* v_;
  std::string kind_;
  trl_defaults* defaults_;
  double share_{0.3};
  bool gathers_{true};
};

}  // namespace headroom::io::detail
