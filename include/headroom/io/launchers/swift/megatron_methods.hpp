// Distributed under the Boost Software License, Version 1.0.
// What ms-swift trains for over Megatron-Core beside the next token (megatron rlhf, and task_type): modelscope/ms-swift 3602360a of 2026-08-22
// swift/megatron/arguments/megatron_args.py RLHFMegatronArgumentsMixin, rlhf_args.py; swift/megatron/trainers/{rlhf_mixin,dpo_trainer,kto_trainer,grpo_trainer,reward_trainer,embedding_trainer}.py.
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/swift/rollout.hpp>

namespace headroom::io::detail {

class swift_megatron_methods {
 public:
  swift_megatron_methods(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Before the model is named.
  void read() {
    const auto kind = v_->word("rlhf_type", "dpo");
    const auto place = v_->place("rlhf_type");
    if (!among_words("dpo|kto|rm|grpo", kind)) fail("headroom: " + place + ": rlhf_type " + in_quotes(kind) + " over Megatron-Core is not modelled by this version; accepted: dpo, kto, rm, grpo");
    generates_ = kind == "grpo";
    const auto* weight = v_->take("beta");
    compares_ = weight == nullptr || number_at(*weight, "beta", 0.0, 1e6) != 0;
    for (const auto* key : {"label_smoothing", "loss_type", "reference_free", "f_divergence_type", "desirable_weight", "undesirable_weight", "center_rewards_coefficient", "calculate_KL", "ref_model_type",
                            "ref_model_revision"})
      v_->take(key);
    const auto *other = v_->take("ref_model"), *own = v_->all().contains("model") ? &v_->all()["model"] : nullptr;
    if (other != nullptr && *other != "" && (own == nullptr || *other != *own)) fail("headroom: " + v_->place("ref_model") + ": a reference that is another model than the trained one is not modelled by this version");
    for (const auto* key : {"ref_adapters", "mcore_ref_model", "mcore_ref_adapter"})
      if (const auto* said = v_->take(key); said != nullptr && !said->empty() && *said != "") d_->unmodelled_key(key, *said, v_->place(key));
    if (v_->has("task_type")) d_->unmodelled_key("task_type", v_->word("task_type", ""), v_->place("task_type"), "beside rlhf_type");
    json_value objective = {{"kind", kind == "rm" ? "reward" : kind}, {"trainer", "ms-swift-megatron"}};
    if (const auto* alpha = v_->take("rpo_alpha"); alpha != nullptr && kind == "dpo")  // dpo_trainer.py loss_func
      if (const auto part = number_at(*alpha, "rpo_alpha", 0.0, 1e6); part != 0) objective["sft_weight"] = part;
    d_->replace("objective", objective, place);
  }
  /// Once the model is named: modules that predict further tokens, of which a checkpoint's have no effect unless mtp_num_layers asks for them
  /// (MegatronArguments.mtp_num_layers; swift/megatron/model/utils.py). Then heads of classes, and none at all.
  void task() {
    further_tokens();
    const auto kind = v_->word("task_type", "causal_lm");
    const auto place = v_->place("task_type");
    if (kind == "causal_lm") return;
    for (const auto* key : {"problem_type", "loss_type", "mrl_dims"}) v_->take(key);
    if (kind == "seq_cls") {
      const auto* said = v_->take("num_labels");
      if (said == nullptr) fail("headroom: " + place + ": num_labels is required: how many classes task_type seq_cls has");
      auto m = model_of(*d_);
      if (m.layers > 0) {
        m.classes = count_at(*said, "num_labels", 1, 1 << 20);
        d_->job["model"] = model_to_json(m);
      }
      return d_->replace("objective", {{"kind", "classification"}, {"trainer", "ms-swift-megatron"}}, place);
    }
    const bool scores = kind == "generative_reranker";
    if (kind != "embedding" && !scores) fail("headroom: " + place + ": task_type " + in_quotes(kind) + " over Megatron-Core is not modelled by this version; accepted: causal_lm, seq_cls, embedding, generative_reranker");
    d_->replace("objective", {{"kind", scores ? "rerank" : "embedding"}, {"trainer", "ms-swift-megatron"}}, place);
    if (scores) d_->say({"objective", "generative"}, true, place);
    if (const auto it = v_->all().find("packing"); it != v_->all().end() && truth(*it, "packing"))
      d_->say({"objective", "texts"}, 1, place);  // a row is as long whatever lies in it
    else if (scores)
      d_->say({"objective", "texts"}, 8, place), d_->assumed.emplace_back("a query has as many documents as MAX_NEGATIVE_SAMPLES lets it have, and a positive");
    else
      d_->awaits_texts = draft::said{"texts an example has, its anchor, positive and negatives together", place};
  }
  [[nodiscard]] bool generates() const { return generates_; }
  /// Of GRPO a micro-batch is completions, whose prompts max_length cuts; without padding they lie in one row.
  void rollout(bool joins) {
    if (joins) d_->say({"batch", "packed"}, true, v_->place("micro_batch_size"));
    swift_rollout{*d_, *v_}.over_megatron();
  }
  /// Once it is known what trains: a copy, or the model with its adapters switched off. GRPO has a copy even where nothing is compared with it
  /// (rlhf_mixin.py prepare_model).
  void reference(bool adapted) {
    const auto* kind = d_->find({"objective", "kind"});
    if (generates_)
      d_->say({"objective", "reference"}, !adapted ? "copy" : compares_ ? "adapter-off" : "none", v_->place("rlhf_type"));
    else if (kind != nullptr && (*kind == "dpo" || *kind == "kto")) d_->say({"objective", "reference"}, adapted ? "adapter-off" : "copy", v_->place("rlhf_type"));
  }

 private:
  void further_tokens() {
    const auto n = v_->number("mtp_num_layers", 0, 0);
    if (v_->on("mtp_shared_weights")) d_->unmodelled_key("mtp_shared_weights", true, v_->place("mtp_shared_weights"));
    auto m = model_of(*d_);
    if (m.layers < 1 || m.mtp_layers == n) return;
    m.mtp_layers = n;
    d_->job["model"] = model_to_json(m);
  }

  draft* d_;
  named_values* v_;
  bool generates_{}, compares_{};
};

}  // namespace headroom::io::detail
