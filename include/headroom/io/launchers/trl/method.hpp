// Distributed under the Boost Software License, Version 1.0.
// TRL's trainers that compare, reward, distill or generate, by their configurations (huggingface/trl f2cd57710 of 2026-07-24: trl/trainer/*_config.py
// and *_trainer.py, trl/experimental/{orpo,cpo,gkd}): what they make of a job beside what every Trainer does.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>
#include <headroom/io/launchers/trl/defaults.hpp>
#include <headroom/io/launchers/trl/generation.hpp>
#include <headroom/io/launchers/trl/ppo.hpp>

namespace headroom::io::detail {

class trl_method {
 public:
  /// `kind`: a method's name, as objective.kind has it. `own`: arguments of the script's own.
  trl_method(draft& d, named_values& v, std::string_view kind, std::string_view own = {}) : d_(&d), v_(&v), kind_(kind), own_(own), defaults_(d, v, kind == "distill" ? "gkd" : kind == "nash-md" ? "online-dpo" : kind, own) {}

  void read() {
    dropout();
    if (kind_ == "ppo") return trl_ppo{*d_, *v_}.read();
    if (kind_ == "rloo-0.21") return trl_ppo{*d_, *v_}.without_critic(defaults_);
    if (kind_ == "grpo" || kind_ == "rloo" || kind_ == "online-dpo" || kind_ == "nash-md") return trl_generation{*d_, *v_, kind_, defaults_, !own_.empty()}.read();
    if (kind_ == "simpo") return simpo();
    if (kind_ == "distill") answers();
    lengths();
    if (kind_ == "prm") return steps_of_answers();
    objective_ = {{"kind", kind_}, {"trainer", "trl"}};
    if (kind_ == "distill")
      teacher();
    else if (kind_ == "reward")
      defaults_.modelled_since(24, "RewardTrainer, one forward for the answer that is wanted and the one that is not,", refuses_release);
    else
      preferences();
    d_->replace("objective", objective_, v_->source());
    if (kind_ == "dpo") loss_code();
    if (kind_ == "orpo" || kind_ == "cpo" || kind_ == "simpo") defaults_.since(15, std::string{"TRL's loss code changed with 0.15 (2025-02)"}, by_0_14, nullptr);
    if (kind_ == "kto") defaults_.modelled_since(106, "KTO", refuses_release);
    if (kind_ == "tpo") defaults_.modelled_since(107, "TPO", refuses_release);
  }

 private:
  static void refuses_release(draft&, const std::string& place) { fail("headroom: " + place + ": this method of a release of TRL as old as environment.trl says is not modelled by this version"); }
  static void by_0_14(draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.14", place); }
  static void by_0_28(draft& d, const std::string& place) { d.say({"objective", "trainer"}, "trl-0.28", place); }

  /// disable_dropout_in_model(), once adapters are there: all of them stop dropping, too.
  void dropout() {
    const bool generates = kind_ == "grpo" || kind_ == "rloo";
    if (!v_->on("disable_dropout", !generates)) return;
    d_->replace("dropout", {{"hidden", 0.0}, {"attention", 0.0}, {"embedding", 0.0}}, v_->place("disable_dropout"));
    if (d_->has({"adapter", "dropout"})) d_->job["adapter"].erase("dropout");
  }
  /// SimPO's own trainer (princeton-nlp/SimPO scripts/simpo_trainer.py, get_batch_logps, get_batch_loss_metrics), whose scores are those of TRL of its time.
  void simpo() {
    const auto* loss = v_->take("loss_type");
    if (loss != nullptr && *loss != "sigmoid" && *loss != "hinge") d_->unmodelled_key("loss_type", *loss, v_->place("loss_type"));
    const auto* weight = v_->take("sft_weight");
    if (weight != nullptr && number_at(*weight, "sft_weight", 0.0, 1e6) != 0) d_->unmodelled_key("sft_weight", *weight, v_->place("sft_weight"), "a cross entropy beside the scores");
    for (const auto* key : {"beta", "max_prompt_length", "max_target_length", "gamma_beta_ratio"}) v_->take(key);
    d_->replace("objective", {{"kind", "simpo"}, {"trainer", "trl-0.14"}}, v_->source());
  }
  /// Samples are cut at max_length, and before 0.29 prompts and answers before that, each for itself.
  void lengths() {
    const auto prompt = v_->number("max_prompt_length", 0, 0);
    std::string_view called = "max_completion_length";
    const auto* of_answer = first_of(*v_, "max_completion_length|max_target_length", called);
    const auto answer = of_answer == nullptr ? 0 : count_at(*of_answer, std::string{called}, 0, std::int64_t{1} << 31);
    const auto* said = d_->find({"batch", "sequence"});
    if (prompt > 0 && answer > 0 && (said == nullptr ? !defaults_.may_be_since(14) : said->is_number_integer() && said->get<std::int64_t>() > prompt + answer))
      d_->say({"batch", "sequence"}, prompt + answer, v_->place("max_prompt_length"));
    if (d_->has({"batch", "sequence"}) || d_->has({"rollout"}) || v_->has("max_length")) return;
    defaults_.since(
        14, "max_length is not given, and TRL's default is 1024 since 0.14 (2025-01), and none before", nullptr, [](draft& d, const std::string& place) { if (!d.has({"batch", "sequence"})) d.say({"batch", "sequence"}, 1024, place); },
        [](const draft& d) { return !d.has({"batch", "sequence"}); });
  }
  /// Losses that are arithmetic on log-probabilities; DPO's "sft" and the weights of WPO look at the logits once more.
  void preferences() {
    v_->take("beta");
    if (const auto* said = v_->take("loss_type")) {
      auto text = said->is_string() ? said->get<std::string>() : said->dump();
      for (auto& c : text)
        if (std::string_view{"[]\"',"}.find(c) != std::string_view::npos) c = ' ';
      for_each_word(text, [&](std::string_view w) {
        const auto accepted = kind_ == "kto" ? "kto" : kind_ == "tpo" ? "sigmoid|hinge|ipo|tpo-l" : kind_ == "cpo" ? "sigmoid|hinge|ipo|simpo" : "sigmoid|hinge|ipo|exo_pair|nca_pair|robust|bco_pair|sppo_hard|aot|aot_pair|aot_unpaired|apo_zero|apo_down|discopop|sigmoid_norm|kto_pair";
        if (kind_ == "dpo" && w == "sft") {  // computed, whatever its weight among loss_weights (dpo_trainer.py _compute_loss)
          objective_["sft_weight"] = 1.0;
          return;
        }
        if (!among_words(accepted, w)) d_->unmodelled_key("loss_type", std::string{w}, v_->place("loss_type"));
        if (w == "simpo") simpo_ = true;
      });
    }
    if (const auto* weight = v_->take("cpo_alpha"); simpo_ && weight != nullptr && number_at(*weight, "cpo_alpha", 0.0, 1e6) == 0) objective_["kind"] = kind_ = "simpo";
    if (const auto* weight = v_->take("tpo_alpha"); weight != nullptr && number_at(*weight, "tpo_alpha", 0.0, 1e6) == 0) d_->unmodelled_key("tpo_alpha", *weight, v_->place("tpo_alpha"), "two answers instead of three");
    if (kind_ == "tpo")  // the answer that is best stands in a reference's place: trl/experimental/tpo/tpo_config.py has no such argument (f2cd57710 of 2026-07-24)
      for (const auto* key : {"precompute_ref_log_probs", "force_use_ref_model"})
        if (v_->has(key)) fail("headroom: " + v_->place(key) + ": " + key + " is no argument of TRL's TPOConfig, and the program stops there: take it out");
    // trl/trainer/dpo_trainer.py __init__: "temporarily unavailable after a refactor" (e3b7897c8 of 2026-02-19).
    if (kind_ == "dpo" && v_->on("padding_free"))
      defaults_.since(29, "padding_free has no effect on TRL's DPO since 0.29 (2026-02), which pads all the same, and laid pairs into one row before", [](draft& d, const std::string& place) { d.unmodelled_key("padding_free", true, place, "pairs side by side in one row"); }, nullptr);
    if (v_->on("precompute_ref_log_probs")) objective_["reference"] = "precomputed";
    if (v_->on("force_use_ref_model")) objective_["reference"] = "copy";
  }
  /// What a forward keeps and names is another thing in every generation of the code (recipe/method_loss.hpp).
  void loss_code() {
    defaults_.since(29, "TRL's loss code of DPO changed with 0.29 (2026-02)", by_0_28, nullptr);
    defaults_.since(15, "TRL's loss code of DPO changed with 0.15 (2025-02)", by_0_14, nullptr, [](const draft& d) { return d.job["objective"]["trainer"] == "trl-0.28"; });
  }
  /// Steps of an answer are judged where each ends: two classes of every token, by a linear layer with a bias in place of the head
  /// (transformers modeling_layers.py GenericForTokenClassification; examples/scripts/prm.py, num_labels=2).
  void steps_of_answers() {
    auto m = model_of(*d_);
    if (m.layers == 0) fail("headroom: " + v_->source() + ": two classes of each token stand in the place of this model's head, so that the model must be known first: give its config.json before this file, or --model NAME");
    m.classes = 2;
    m.head_bias = true;
    d_->job["model"] = model_to_json(m);
    d_->replace("objective", {{"kind", "classification"}, {"trainer", "trl"}}, v_->source());
    if (d_->has({"adapter"}) && v_->word("lora_task_type", "CAUSAL_LM") == "TOKEN_CLS") d_->unmodelled_key("lora_task_type", "TOKEN_CLS", v_->place("lora_task_type"), "with which PEFT trains a copy of the classes' layer");
  }
  /// GKD: with lmbda above 0 the student answers in a part of the micro-batches, with seq_kd the teacher in the rest. max_length cuts the data's texts, and
  /// prompts with them (trl/experimental/utils.py DataCollatorForChatML), so that the longest text is a prompt of that length and max_new_tokens behind it.
  void answers() {
    const auto* share = v_->take("lmbda");
    if (share != nullptr && number_at(*share, "lmbda", 0.0, 1.0) == 0) return;
    const auto place = v_->place("lmbda");
    d_->say({"rollout"}, {{"engine", "trainer"}, {"completion", v_->number("max_new_tokens", 128)}}, place);
    const std::string what = "the student answers in every micro-batch, where GKD's lmbda says in which part of them: a step takes as long as its longest";
    d_->notes.push_back(place + ": " + what);
    d_->assumed.push_back(what);
    if (const auto* length = d_->find({"batch", "sequence"}); length != nullptr && length->is_number_integer()) {
      d_->say({"rollout", "prompt"}, *length, d_->place_of("batch.sequence"));
      d_->job["batch"].erase("sequence");
    } else if (!v_->has("max_length")) {
      d_->say({"rollout", "prompt"}, 1024, v_->source());  // SFTConfig's, and the collator's own
    }
  }
  void teacher() {
    const auto* weight = v_->take("beta");
    if (const double beta = weight == nullptr ? 0.5 : number_at(*weight, "beta", 0.0, 1.0); beta == 0 || beta == 1) d_->unmodelled_key("beta", *weight, v_->place("beta"), "one divergence instead of the mixture's two");
    const auto name = v_->word("teacher_model_name_or_path", "");
    if (name.empty()) fail("headroom: " + v_->source() + ": teacher_model_name_or_path is required: the model that GKD learns from");
    const auto known = model_called(name).known;
    if (!known) fail("headroom: " + v_->place("teacher_model_name_or_path") + ": the teacher " + in_quotes(name) + " is not in the model zoo (headroom list models has the names)");
    objective_["teacher"] = {{"model", model_to_json(*known)}};
    if (d_->loaded && !d_->framework_is("deepspeed")) objective_["teacher"]["parameters"] = d_->loaded->word == "half" ? "bf16" : d_->loaded->word;
  }

  draft* d_;
  named_values* v_;
  std::string kind_;
  std::string_view own_;
  trl_defaults defaults_;
  json_value objective_;
  bool simpo_{};
};

}  // namespace headroom::io::detail
