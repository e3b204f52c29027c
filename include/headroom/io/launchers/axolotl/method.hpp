// Distributed under the Boost Software License, Version 1.0.
// What axolotl trains where it is no plain fine-tuning: TRL's trainers for preferences and reward models, of the release that it pins
// (axolotl-ai-cloud/axolotl 067b021c, 2026-07: core/builders/{causal,rl}.py, core/trainers/{dpo,trl.py}, train.py setup_reference_model; pyproject.toml).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_method {
 public:
  explicit axolotl_method(axolotl_arguments& a) : a_(&a) {}

  /// Before all else: what the method decides, other keys are read by.
  void read() {
    auto& v = a_->v;
    auto kind = v.word("rl", "");
    if (kind == "false") kind.clear();
    const bool scores = v.on("reward_model"), judges = v.on("process_reward_model");
    by_ = scores ? "reward_model" : judges ? "process_reward_model" : "rl";
    if (scores && judges) a_->refused(by_, "reward_model and process_reward_model are two trainings");
    // Which class and how many labels where nothing says it: utils/schemas/validation.py, set_reward_model_defaults.
    const std::string head = scores ? "AutoModelForSequenceClassification" : judges ? "AutoModelForTokenClassification" : "";
    for (const auto* key : {"model_type", "type_of_model"}) {
      const auto cls = v.word(key, "");
      const bool own = cls == "Llama4ForConditionalGeneration" && v.word_now("base_model").find("Llama-4-") != std::string::npos;  // the class that it has anyway
      if (!cls.empty() && !own && !cls.ends_with("ForCausalLM") && (head.empty() || cls != head)) a_->unmodelled(key);  // another head, or another model
      if (!head.empty() && !cls.empty() && cls != head) a_->refused(by_, "a reward model needs model_type " + head + ", which has scores for its head");
    }
    if (!head.empty() && v.number("num_labels", scores ? 1 : 2) != (scores ? 1 : 2)) a_->unmodelled("num_labels");
    if (!head.empty() && !kind.empty()) a_->refused("rl", "rl and " + std::string{by_} + " are two trainings");
    if (kind.empty() && head.empty()) return;
    a_->method = scores ? "reward" : judges ? "prm" : method_of(kind);
    if (a_->method.empty()) return a_->unmodelled("rl");
    if (!a_->d->has({"environment", "trl"})) a_->d->say({"environment", "trl"}, "1.8", v.place(by_));
  }

  /// Once the rest is known: what TRL's trainers take, and what is refused beside them.
  void finish() {
    if (a_->method.empty()) return;
    auto& v = a_->v;
    if (a_->packs && (a_->method == "reward" || a_->method == "prm")) a_->unmodelled("sample_packing");  // its schema lets them pass
    else if (a_->packs) a_->refused("sample_packing", "axolotl refuses sample_packing beside preferences");
    if (a_->fsdp) a_->refused(v.has("fsdp_config") ? "fsdp_config" : "fsdp", "preferences and reward models under axolotl's FSDP, which changes the formats of what trains, are not modelled by this version: shard by deepspeed, or not at all");
    for (const std::string_view key : {"dpo_use_weighting", "dpo_padding_free", "dpo_use_liger_kernel", "activation_offloading", "cut_cross_entropy", "liger_fused_linear_cross_entropy", "lora_mlp_kernel", "lora_qkv_kernel",
                                       "lora_o_kernel", "pad_to_multiple_of"})
      if (a_->given(key)) a_->unmodelled(key);
    // The whole model that KTO and SimPO train is loaded a second time, which nothing reads (train.py, setup_reference_model).
    const auto kind = v.word_now("rl");
    if ((a_->method == "reward" || a_->method == "prm") && a_->adapter) a_->refused("adapter", "an adapter of a reward model is not modelled under axolotl by this version");
    if ((kind == "kto" || kind == "simpo") && !a_->adapter) a_->refused("rl", "axolotl loads the model once more beside " + kind + " of a whole model, and hands it to nobody, which is not modelled by this version: adapter must be given");
    if (kind == "dpo") a_->same("dpo_loss_type", "loss_type");
    if (kind == "ipo") a_->put("loss_type", "ipo", "rl");
    if (kind == "simpo") a_->put("loss_type", "simpo", "rl"), a_->same("cpo_alpha");
    if (kind == "dpo" || kind == "ipo") a_->same("precompute_ref_log_probs");
  }

 private:
  /// Its name for a method, as objective.kind has it; empty where there is none.
  static std::string method_of(std::string_view kind) {
    if (kind == "dpo" || kind == "ipo") return "dpo";
    if (kind == "simpo") return "cpo";
    if (kind == "grpo" || kind == "gdpo") return "grpo";  // GDPO adds up rewards in another order
    return kind == "kto" || kind == "orpo" ? std::string{kind} : std::string{};
  }

  axolotl_arguments* a_;
  std::string_view by_;
};

}  // namespace headroom::io::detail
