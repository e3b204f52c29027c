// Distributed under the Boost Software License, Version 1.0.
// MedicalGPT's stages after supervised fine-tuning, by its own scripts (shibing624/MedicalGPT 2f1008cf of 2026-04-28: training/reward_modeling.py,
// dpo_training.py, ppo_training.py, grpo_training.py; its requirements.txt asks for transformers 5.6 and TRL 0.29).
#pragma once

#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>

namespace headroom::io::detail {

class medicalgpt_method {
 public:
  medicalgpt_method(draft& d, named_values& v, std::string_view program) : d_(&d), v_(&v), program_(program) {}

  void read() {
    if (program_ == "medicalgpt-grpo") return generation();
    if (program_ == "medicalgpt-ppo") return scored();
    if (program_ != "medicalgpt-rm" && program_ != "medicalgpt-dpo") return;
    const auto source = v_->number("max_source_length", 2048), target = v_->number("max_target_length", 512);
    d_->say({"batch", "sequence"}, checked::add(source, target), v_->place("max_source_length"));
    spread();
    if (program_ == "medicalgpt-rm") return rewards();
    if (v_->take("gradient_accumulation_steps") == nullptr) d_->say({"batch", "accumulation"}, 4, v_->source());
    if (!v_->has("bf16") && !v_->has("fp16")) d_->half = draft::said{"fp16", v_->source()};
    d_->replace("objective", {{"kind", "dpo"}, {"trainer", "trl"}}, v_->source());
    d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->source());  // DPOConfig's disable_dropout
    if (d_->has({"adapter", "dropout"})) d_->job["adapter"].erase("dropout");
  }

 private:
  /// What is wanted and what is not goes through the model one after the other; here both go at once.
  void rewards() {
    d_->replace("objective", {{"kind", "reward"}, {"trainer", "trl"}}, v_->source());
    d_->reads_texts = draft::said{"", v_->source()};
    const std::string what = "both answers of a pair go through the model at once, which MedicalGPT's RewardTrainer lets go one after the other";
    d_->notes.push_back(v_->source() + ": " + what);
    d_->assumed.push_back(what);
  }
  /// Adapters are there before the trainer is, and checkpointing is switched off for them.
  void generation() {
    if (d_->has({"adapter"})) d_->replace("recompute", "none", v_->place("use_peft"));
    std::erase_if(d_->releases, [&](const draft::default_of_release& r) { return d_->has({"adapter"}) && r.what.starts_with("gradient_checkpointing"); });
  }
  /// RLOO with a reward model. The reference is loaded by TRL, in fp32 where no model_init_kwargs say otherwise, as none do beside a policy that is
  /// handed over (trl/trainer/rloo_trainer.py __init__, trainer/utils.py create_model_from_path). Prompts are not cut, whatever max_source_length says.
  void scored() {
    for (const auto* key : {"max_source_length", "template_name", "validation_file_dir", "train_file_dir", "model_name_or_path", "sft_model_path", "dataset_num_proc"}) v_->take(key);
    const auto scores = v_->word("reward_model_path", "");
    if (scores.empty()) fail("headroom: " + v_->source() + ": reward_model_path is required: the model that scores completions");
    await_role(*d_, "reward", scores, v_->place("reward_model_path"), {{"parameters", loaded_role_format(*d_)}});
    if (d_->job["objective"].value("reference", "") == "copy" && d_->loaded && d_->loaded->word != "fp32" && !d_->framework_is("deepspeed")) d_->say({"objective", "reference_parameters"}, "fp32", v_->source());
    spread();
  }
  /// device_map "auto" lays the layers of one process over the GPUs that it sees.
  void spread() {
    const auto map = v_->word("device_map", "auto");
    if (d_->alone && map == "auto") d_->spread = draft::fact{1, v_->place("device_map")};
    if (map != "auto" && map != "None" && map != "none" && !map.empty()) d_->unmodelled_key("device_map", map, v_->place("device_map"));
    d_->alone.reset();
  }

  draft* d_;
  named_values* v_;
  std::string_view program_;
};

}  // namespace headroom::io::detail
