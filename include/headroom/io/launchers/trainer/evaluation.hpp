// Distributed under the Boost Software License, Version 1.0.
// Evaluation between and after steps, by the Trainer's arguments and those of programs over it: what they make of a job's key `evaluation`.
// Sources: transformers training_args.py (eval_strategy, per_device_eval_batch_size of 8, prediction_loss_only) and trainer.py evaluation_loop;
// examples/pytorch/language-modeling/run_clm.py; LLaMA-Factory src/llamafactory/train/*/workflow.py, hparams/generating_args.py; ms-swift
// swift/arguments/sft_args.py _init_eval_strategy, swift/trainers/arguments.py; axolotl core/builders/base.py _configure_save_and_eval_strategy;
// MedicalGPT training/pretraining.py; TRL trl/scripts/*.py; DeepSpeed-Chat training/step1_supervised_finetuning/main.py.
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>

namespace headroom::io::detail {

class trainer_evaluation {
 public:
  trainer_evaluation(draft& d, named_values& v, const training_program& p) : d_(&d), v_(&v), p_(&p), factory_(p.name == "llama-factory"), swift_(p.name == "ms-swift") {}

  /// Once batch and method are known.
  void read() {
    const auto when = asked();
    const auto at_once = batch();
    const bool losses = v_->on("prediction_loss_only"), keeps = keeps_predictions() && !losses;
    const auto groups = v_->number("eval_accumulation_steps", 0, 0), examples = p_->keeps_predictions ? v_->number("max_eval_samples", 0, 0) : 0;
    const auto made = generated(!when.empty());
    if (when.empty() && !split_before_) return;
    draft::evaluated_examples e{.batch = at_once, .key = std::string{batch_key_}, .place = v_->place(v_->has(batch_key_) ? batch_key_ : when), .keys = {}, .by_trainer = p_->name != "deepspeed-chat-sft"};
    if (made > 0) e.keys["generate"] = made;
    if (!caches()) e.keys["use_cache"] = false;
    if (keeps && examples > 0) {
      e.keys.update({{"samples", examples}, {"kept_bytes", 16}});
      if (groups > 0) e.keys["accumulation_steps"] = groups;
    } else {
      e.keys["loss_only"] = true;
    }
    if (when.empty()) return before_3_6(std::move(e));
    if (keeps && examples == 0) {
      const std::string what = "predictions and labels that an evaluation keeps for its metrics, 16 bytes of each token, are not counted, as no file says how many examples are evaluated";
      d_->notes.push_back(v_->place(when) + ": " + what + " (--set evaluation.loss_only=false, evaluation.samples=N, evaluation.kept_bytes=16)");
      d_->assumed.push_back(what);
    }
    d_->evaluates = std::move(e);
  }

 private:
  /// split_dataset_ratio was 0.01 by default from ms-swift 3.0 (b40f31df7 of 2024-12-05) to 3.5 (5df8180fd of 2025-07-03).
  void before_3_6(draft::evaluated_examples e) {
    if (v_->has("train_type"))  // a word of 3.x alone
      d_->notes.push_back(v_->source() + ": split_dataset_ratio is not given: nothing is evaluated since ms-swift 3.6 (2025-07), and a hundredth of the data before: say it, or --set environment.ms-swift=VERSION");
    d_->evaluates_before = std::move(e);
    d_->releases.push_back({"ms-swift", 306, v_->source(), "split_dataset_ratio is 0.01 before ms-swift 3.6 (2025-07), and 0 since", false, nullptr, [](const draft& d) { return d.find({"environment", "ms-swift"}) != nullptr; },
                            [](draft& d, const std::string&) { d.evaluates = d.evaluates_before; }});
  }
  /// The argument that says that something is evaluated; empty where nothing does.
  std::string_view asked() {
    std::string_view when;
    bool never = false;
    words_of_strategies();
    for (const std::string_view key : {"eval_strategy", "evaluation_strategy"})
      if (const auto* said = v_->take(key); said != nullptr && off_word(*said) == "false")
        never = true;
      else if (said != nullptr)
        when = key;
    for (const std::string_view key : {"eval_on_start", "evaluate_during_training"})
      if (v_->on(key) && when.empty()) when = key;
    const bool after = v_->on("do_eval");
    if (p_->method == "ppo" || p_->method == "rloo-0.21") return {};  // their loops never ask
    if (swift_ && v_->word_now("rlhf_type") == "ppo") {
      split(when, never);
      split_before_ = false;
      return {};
    }
    if (after && when.empty() && ends_with_one()) when = "do_eval";
    if (p_->name == "deepspeed-chat-sft") return "per_device_eval_batch_size";  // perplexity, before and after each epoch
    return swift_ ? split(when, never) : when;
  }
  /// YAML makes false of a bare no, and TrainingArguments ends at that, as at every word that says none (training_args.py __post_init__,
  /// IntervalStrategy(self.eval_strategy): ValueError).
  void words_of_strategies() const {
    for (const std::string key : {"eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy"}) {
      const auto it = v_->all().find(key);
      if (it == v_->all().end() || it->is_null()) continue;
      if (*it == false)
        fail("headroom: " + v_->place(key) + ": " + key + " is no without quotes, which YAML reads as false, and the program ends there: write " + key + ": \"no\"");
      const bool evaluates = key.starts_with("eval"), known = *it == "no" || *it == "steps" || *it == "epoch";
      if (evaluates && !known) wrong_value(v_->place(key) + ": " + key, "\"no\", \"steps\" or \"epoch\"", *it);
    }
  }
  /// Whether the program evaluates once more when it has trained, where do_eval says so. TRL's scripts do not; alignment-handbook's do.
  [[nodiscard]] bool ends_with_one() const { return !p_->name.starts_with("trl-") || v_->has("dataset_mixer") || v_->has("dataset_mixture"); }
  /// ms-swift evaluates as often as it saves, where there is something to evaluate; its releases 1 and 2 divide the data themselves.
  std::string_view split(std::string_view when, bool never) {
    const bool early = v_->has("sft_type") || v_->has("model_id_or_path") || v_->has("quantization_bit") || v_->has("batch_size");
    const auto says = [&](std::string_view key) {
      const auto* said = v_->take(key);
      return said != nullptr && !said->empty() && off_word(*said) != "none" && off_word(*said) != "0";
    };
    const auto share = v_->share("split_dataset_ratio", 0), old_share = v_->share("dataset_test_ratio", early ? 0.01 : 0);
    std::string_view of;
    for (const std::string_view key : {"val_dataset", "cached_val_dataset", "eval_dataset", "custom_val_dataset_path"})
      if (says(key)) of = key;
    if (share > 0) of = "split_dataset_ratio";
    if (old_share > 0) of = "dataset_test_ratio";
    if (never || (when.empty() && v_->word_now("save_strategy") == "no")) return {};
    split_before_ = of.empty() && !early && !v_->has("split_dataset_ratio") && !v_->has("tuner_type") && !v_->on("streaming");
    if (of.empty()) return {};
    return when.empty() ? of : when;
  }
  /// Predictions and labels, of 8 bytes each: preprocess_logits_for_metrics makes them of the logits.
  bool keeps_predictions() {
    bool metric = p_->keeps_predictions || p_->method == "prm";  // trl/experimental/prm/prm_trainer.py, compute_accuracy
    if (factory_) metric = v_->on("compute_accuracy");
    for (const auto* key : {"eval_metric", "metric"})
      if (swift_ && v_->take(key) != nullptr) metric = true;
    return metric;
  }
  std::int64_t batch() {
    const auto micro = d_->has({"batch", "micro"}) ? d_->job["batch"]["micro"].get<std::int64_t>() : p_->micro_default;
    batch_key_ = "per_device_eval_batch_size";
    auto most = p_->evaluates == 0 ? micro : p_->evaluates;
    if (swift_ && v_->has("sft_type")) most = micro;
    most = v_->number(batch_key_, most);
    for (const std::string_view key : {"per_gpu_eval_batch_size", "eval_batch_size"}) {
      if (key == "eval_batch_size" && !swift_) continue;
      if (v_->has(key)) batch_key_ = key;
      most = v_->number(key, most);
    }
    return most;
  }
  /// Tokens that are generated of each evaluated example: LLaMA-Factory's alone are read.
  std::int64_t generated(bool evaluates) {
    const bool on = v_->on("predict_with_generate");
    const auto tokens = factory_ ? v_->number("max_new_tokens", 1024) : 0;
    if (!on || !evaluates) return 0;
    if (!factory_) d_->unmodelled_key("predict_with_generate", true, v_->place("predict_with_generate"), "generation while evaluating");
    for (const auto* key : {"eval_num_beams", "num_beams", "generation_num_beams"})
      if (const auto beams = v_->number(key, 1); beams > 1) d_->unmodelled_key(key, beams, v_->place(key), "generation while evaluating");
    return factory_ ? tokens : 0;
  }
  /// A forward makes keys and values, too, unless the model's configuration or the trainer's code says otherwise.
  [[nodiscard]] bool caches() const {
    const auto* objective = d_->find({"objective", "kind"});
    if (p_->keys == cached::never) return false;
    if (p_->keys == cached::unless_checkpointed) return d_->has({"recompute"}) && d_->job["recompute"] == "none";
    if (swift_ || p_->name == "axolotl" || (objective != nullptr && *objective != "sft")) return false;
    return !factory_ || (v_->all().contains("disable_gradient_checkpointing") && v_->all()["disable_gradient_checkpointing"] == true);
  }

  draft* d_;
  named_values* v_;
  const training_program* p_;
  bool factory_, swift_;
  bool split_before_{};  ///< ms-swift 3.0 to 3.5 divides the data by itself
  std::string_view batch_key_;
};

}  // namespace headroom::io::detail
