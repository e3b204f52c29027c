// Distributed under the Boost Software License, Version 1.0.
// What ms-swift trains a model for: the next token, by its own loss where tokens have weights, or classes (modelscope/ms-swift 3602360a of
// 2026-08-22: swift/arguments/base_args/model_args.py, swift/trainers/trainer_factory.py).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

class swift_tasks {
 public:
  swift_tasks(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Once the model is named.
  void read() {
    const auto* said = v_->take("task_type");
    const auto kind = said == nullptr ? std::string{"causal_lm"} : string_at(*said, "task_type");
    if (kind == "seq_cls") return classes();
    if (kind == "causal_lm") return weights_of_tokens();
    if (among_words("reranker|generative_reranker|embedding", kind))
      d_->unmodelled_key("task_type", kind, v_->place("task_type"), "each sample has as many texts as the data say, and a loss over all of them");
    else
      fail("headroom: " + v_->place("task_type") + ": task_type " + in_quotes(kind) + " is not modelled by this version; accepted: causal_lm, seq_cls");
    for (const auto* key : {"loss_type", "num_labels"}) v_->take(key);
  }

  /// Liger's loss runs in the model, which is given no labels where ms-swift takes the loss (swift/trainers/seq2seq_trainer.py, compute_loss).
  void without_liger_loss() {
    if (v_->has("rlhf_type") || !weighs_tokens() || !d_->has({"loss", "kind"}) || d_->job["loss"]["kind"] != "fused-linear") return;
    d_->job["loss"]["kind"] = "full";
    d_->notes.push_back(v_->source() + ": Liger's loss has no effect: ms-swift takes the loss of each token itself");
  }

  /// The head of a classifier and of a reward model trains beside adapters, as a copy (peft/utils/other.py, ModulesToSaveWrapper; task type SEQ_CLS).
  static void save_head(const draft& d, json_value& adapter) {
    const auto* kind = d.find({"objective", "kind"});
    if (kind == nullptr || (*kind != "classification" && *kind != "reward")) return;
    auto& saved = adapter["modules_to_save"];
    if (saved.is_null()) saved = json_value::array();
    saved.push_back("lm_head");
  }

 private:
  /// AutoModelForSequenceClassification, or the language model with a matrix of classes in its head's place: no bias either way
  /// (swift/model/register.py, swift/model/patcher.py _patch_sequence_classification).
  void classes() {
    const auto place = v_->place("task_type");
    if (v_->has("rlhf_type")) fail("headroom: " + place + ": task_type seq_cls beside rlhf_type is not modelled by this version: rlhf_type rm has it by itself");
    const auto* said = v_->take("num_labels");
    if (said == nullptr) fail("headroom: " + place + ": num_labels is required: how many classes task_type seq_cls has");
    const auto count = whole_at(*said, "num_labels", 1, 1 << 20);
    for (const auto* key : {"padding_free", "packing", "loss_type"})
      if (const auto* v = v_->take(key); v != nullptr && *v != false && *v != "") d_->unmodelled_key(key, *v, v_->place(key), "beside task_type seq_cls");
    auto m = model_of(*d_);
    if (m.head == head_kind::none && m.classes > 0) {  // its configuration has the class
      if (m.classes != count) fail("headroom: " + v_->place("num_labels") + ": num_labels " + std::to_string(count) + " contradicts the model's configuration, which has " + std::to_string(m.classes) + " classes");
      return;
    }
    if (m.bidirectional || m.encoder.layers > 0) fail("headroom: " + place + ": of classifiers over encoders their own configuration says the head: give a config.json whose architectures end in ForSequenceClassification");
    if (m.layers > 0) {
      m.classes = count;
      d_->job["model"] = model_to_json(m);
    }
    d_->replace("objective", {{"kind", "classification"}, {"trainer", "ms-swift"}}, place);
  }
  /// With weights that are not 0 or 1, DFT's and losses by channel, ms-swift takes the cross entropy of each token itself, of logits made fp32 as
  /// the model's own loss makes them (swift/trainers/utils.py per_token_loss_func, swift/loss/causal_lm.py).
  void weights_of_tokens() {
    if (v_->has("rlhf_type")) return;
    if (const auto* scale = v_->take("loss_scale")) {
      auto words = string_at(*scale, "loss_scale");
      for (auto& c : words)
        if (c == '+') c = ' ';
      for_each_word(words, [&](std::string_view w) {
        if (!among_words("default|last_round|all|base|ignore_empty_think|ignore_think_prefix|react|hermes|qwen|agentflan|alpha_umi", w)) d_->unmodelled_key("loss_scale", *scale, v_->place("loss_scale"), "a weight of one's own");
      });
    }
    for (const auto* key : {"enable_dft_loss", "enable_channel_loss"}) v_->on(key);
    for (const auto* key : {"loss_type", "loss_name"})
      if (const auto* kind = v_->take(key); kind != nullptr && *kind != "" && *kind != "cross_entropy") d_->unmodelled_key(key, *kind, v_->place(key));
  }
  /// Whether that is so.
  [[nodiscard]] bool weighs_tokens() const {
    const auto said = [&](const char* key) { return v_->has(key) && v_->word_now(key) != ""; };
    const auto on = [&](const char* key) { return v_->has(key) && !v_->all()[key].is_null() && truth(v_->all()[key], key); };
    auto words = v_->word_now("loss_scale");
    bool weighs = said("loss_type") || said("loss_name") || on("enable_dft_loss") || on("enable_channel_loss");
    for (auto& c : words)
      if (c == '+') c = ' ';
    for_each_word(words, [&](std::string_view w) { weighs = weighs || among_words("react|hermes|qwen|agentflan|alpha_umi", w); });
    return weighs;
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
