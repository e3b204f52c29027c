// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's stages: what is no plain fine-tuning (hiyouga/LLaMA-Factory src/llamafactory/hparams/finetuning_args.py, train/*/workflow.py).
#pragma once

#include <headroom/io/launchers/trainer/adapters.hpp>

namespace headroom::io::detail {

class factory_method {
 public:
  factory_method(draft& d, named_values& v) : d_(&d), v_(&v) {}

  void read() {
    const auto what = v_->one_of("stage", "sft", {"pt", "sft", "rm", "ppo", "dpo", "kto"});
    if (what == "dpo" || what == "kto") return preferences(what);
    if (what == "sft" && v_->on("use_dft_loss")) own_loss();
    if (v_->on("use_v1_kernels")) d_->npu_kernels = draft::said{"use_v1_kernels", v_->place("use_v1_kernels")};  // v1/plugins/model_plugins/kernels/interface.py, _AUTO_KERNELS
    if (what == "rm") d_->replace("objective", {{"kind", "reward"}, {"trainer", "llama-factory"}}, v_->place("stage"));
  }

 private:
  /// DFT's loss is the cross entropy of each token, of logits made fp32 as the model's own is (train/trainer_utils.py dft_loss_func); the model is given no
  /// labels, so that Liger's loss has no effect (transformers trainer.py compute_loss, since 4.46).
  void own_loss() {
    if (!v_->on("enable_liger_kernel")) return;
    d_->own_loss = draft::said{"use_dft_loss", v_->place("use_dft_loss")};
  }
  /// Pairs of answers, or answers with a verdict: batches count pairs (hparams/finetuning_args.py RLHFArguments, train/trainer_utils.py
  /// create_ref_model: a model that is named, else none beside an adapter, else a copy).
  void preferences(const std::string& what) {
    std::string kind = what;
    std::string_view called = "pref_loss";
    const auto* loss = first_of(*v_, "pref_loss|dpo_loss", called);
    if (what == "dpo" && loss != nullptr) {
      const auto& word = string_at(*loss, std::string{called});
      if (!among_words("sigmoid|hinge|ipo|kto_pair|orpo|simpo", word)) fail("headroom: " + v_->place(called) + ": " + std::string{called} + " " + in_quotes(word) + " is not modelled by this version; accepted: sigmoid, hinge, ipo, kto_pair, orpo, simpo");
      if (word == "orpo" || word == "simpo") kind = word;
    }
    json_value objective = {{"kind", kind}, {"trainer", "llama-factory"}};
    const auto said = [&](const char* key) {
      const auto* v = v_->take(key);
      return v != nullptr && !v->is_null() && *v != "" ? v : nullptr;
    };
    for (const auto* key : {"ref_model_adapters", "ref_model_quantization_bit"})
      if (const auto* v = said(key)) d_->unmodelled_key(key, *v, v_->place(key));
    const auto* other = said("ref_model");
    const auto* own = v_->take("model_name_or_path");
    if (other != nullptr && (own == nullptr || *other != *own)) fail("headroom: " + v_->place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version; leave ref_model out, or give model_name_or_path");
    if (other != nullptr && (kind == "dpo" || kind == "kto")) objective["reference"] = "copy";
    d_->replace("objective", objective, v_->place("stage"));
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
