// Distributed under the Boost Software License, Version 1.0.
// GRPO and GDPO under axolotl: TRL's GRPOTrainer, whose arguments stand under `trl` and `vllm` (axolotl-ai-cloud/axolotl 067b021c, 2026-07:
// core/trainers/grpo/__init__.py GRPOStrategy, utils/schemas/{trl,vllm}.py, core/builders/rl.py; TRL 1.8, trl/trainer/grpo_trainer.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_rollout {
 public:
  explicit axolotl_rollout(axolotl_arguments& a) : a_(&a) {}

  void read() {
    const auto* trl = section("trl");
    const auto* vllm = section("vllm");
    if (trl == nullptr || !said(*trl, "max_completion_length"))
      a_->refused(trl == nullptr ? "rl" : "trl", "trl.max_completion_length is not given, and axolotl hands TRL none for it, so that nothing ends a completion: give it");
    for (const auto& [key, value] : trl->items()) argument(key, value);
    weight(*trl);
    if (a_->given("batch_flattening")) a_->unmodelled("batch_flattening");
    if (!said(*trl, "use_vllm") || !truth((*trl)["use_vllm"], "trl.use_vllm")) return;
    const bool beside = said(*trl, "vllm_mode") && (*trl)["vllm_mode"] == "colocate";
    if (!beside) return;
    a_->put("vllm_gpu_memory_utilization", vllm != nullptr && said(*vllm, "gpu_memory_utilization") ? (*vllm)["gpu_memory_utilization"] : json_value(0.9), vllm != nullptr ? "vllm" : "trl");
    if (vllm != nullptr && said(*vllm, "tensor_parallel_size")) a_->put("vllm_tensor_parallel_size", (*vllm)["tensor_parallel_size"], "vllm");
  }

  /// A reference is loaded anew, in fp32, as nothing says a format (trl/trainer/utils.py, create_model_from_path); DeepSpeed casts it.
  void finish() const {
    auto& d = *a_->d;
    const auto* reference = d.find({"objective", "reference"});
    if (reference == nullptr || *reference != "copy" || a_->engine) return;
    d.say({"objective", "reference_parameters"}, "fp32", place());
    d.notes.push_back(place() + ": TRL loads the reference in fp32, as axolotl hands it no format for it");
  }

 private:
  [[nodiscard]] std::string place() const { return a_->v.place("rl"); }
  [[nodiscard]] const json_value* section(const char* key) const {
    const auto* value = a_->v.take(key);
    if (value != nullptr && !value->is_object()) wrong_value(key, "an object", *value);
    return value;
  }
  static bool said(const json_value& in, const char* key) { return in.contains(key) && !in[key].is_null(); }

  /// One key of `trl`: TRL's argument, one that changes neither memory nor time, or one that has to be off.
  void argument(const std::string& key, const json_value& value) const {
    if (value.is_null() || key == "beta") return;
    if (among_words("max_completion_length|num_generations|num_iterations|generation_batch_size|use_vllm|vllm_mode|vllm_enable_sleep_mode|vllm_importance_sampling_correction", key)) return a_->put(key, value, "trl");
    if (key == "reward_funcs") return rewards(value);
    if (among_words("reward_weights|scale_rewards|log_completions|num_completions_to_print|temperature|top_p|top_k|min_p|repetition_penalty|epsilon|epsilon_high|loss_type|mask_truncated_completions|"
                    "importance_sampling_level|multi_objective_aggregation|vllm_server_host|vllm_server_port|vllm_server_timeout|ref_model_mixup_alpha|ref_model_sync_steps|reward_processing_classes|chat_template_kwargs|"
                    "vllm_importance_sampling_mode|vllm_importance_sampling_cap",
                    key))
      return;
    // Of the trainer that generates beside training alone: taken out for every other one (core/builders/rl.py, async_only_fields).
    if (among_words("prefetch_depth|vllm_sync_interval|streaming_partial_batch|streaming_min_groups|reward_num_workers|replay_buffer_size|replay_recompute_logps|reroll_start_fraction|reroll_max_groups|"
                    "skip_zero_advantage_batches|vllm_lora_sync",
                    key))
      return;
    const bool off = among_words("use_data_producer|async_prefetch|sync_ref_model|use_liger_loss|use_bias_correction_kl", key)       ? !truth(value, "trl." + key)
                     : among_words("rollout_func|generation_kwargs|vllm_guided_decoding_regex", key) ? value == "" || value == json_value::object()
                                                                                                      : false;
    if (!off) a_->d->unmodelled_key("trl." + key, value, a_->v.place("trl"));
  }
  /// Functions by their module's name; what no module is called is a reward model's path (get_reward_func).
  void rewards(const json_value& list) const {
    each_at(list, "trl.reward_funcs", "a list of functions", [&](const json_value& one, const std::string& path) {
      if (string_at(one, path).find('/') != std::string::npos) a_->d->unmodelled_key("trl.reward_funcs", one, a_->v.place("trl"), "a reward model");
    });
  }
  /// The weight of the KL term, for which alone a reference is there: the first of three keys that is said (core/builders/rl.py,
  /// _build_training_arguments).
  void weight(const json_value& trl) const {
    const auto* second = a_->v.take("rl_beta");
    const auto* third = a_->v.take("orpo_alpha");
    const std::string by = said(trl, "beta") ? "trl.beta" : second != nullptr ? "rl_beta" : "orpo_alpha";
    const auto* beta = said(trl, "beta") ? &trl["beta"] : second != nullptr ? second : third;
    if (beta == nullptr) return;
    a_->put("beta", *beta, by == "trl.beta" ? "trl" : by);
    if (a_->adapter && number_at(*beta, by, 0.0, 1e6) > 0) a_->refused("adapter", "TRL makes a second adapter for the reference of a model that has one, which is not modelled by this version: " + by + " must be 0");
  }

  axolotl_arguments* a_;
};

}  // namespace headroom::io::detail
