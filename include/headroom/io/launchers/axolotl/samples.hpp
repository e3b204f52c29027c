// Distributed under the Boost Software License, Version 1.0.
// How axolotl makes micro-batches of samples, to train on and to evaluate (axolotl-ai-cloud/axolotl 067b021c, 2026-07: core/trainers/base.py,
// core/builders/*.py, utils/config/__init__.py).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_samples {
 public:
  explicit axolotl_samples(axolotl_arguments& a) : a_(&a), v_(&a.v) {}

  void read() {
    batch();
    order();
    evaluation();
  }

 private:
  /// Packed samples fill one row of micro_batch_size × sequence_len tokens (core/trainers/base.py, _create_multipack_sampler).
  void batch() {
    micro_ = v_->number("micro_batch_size", 1);
    const auto length = v_->number("sequence_len", 512), all = v_->number("batch_size", micro_);
    const bool packs = a_->packs = v_->on("sample_packing"), real = v_->on("multipack_real_batches", !a_->packs_by_kernel());
    const bool varlen = v_->on("sdpa_varlen", true);
    const auto* flat = v_->take("batch_flattening");
    const bool flattened = flat != nullptr && (*flat == "auto" ? a_->packs_by_kernel() && !packs && micro_ > 1 : truth(*flat, "batch_flattening"));
    a_->put("gradient_accumulation_steps", v_->number("gradient_accumulation_steps", std::max<std::int64_t>(all / micro_, 1)), v_->has("gradient_accumulation_steps") ? "gradient_accumulation_steps" : "batch_size");
    if (packs && streams()) return stream(length, varlen);
    if (packs && real && a_->kernel == "sdpa" && varlen) {
      a_->varlen = true;
      v_->take("pad_to_sequence_len");
      v_->take("pad_to_multiple_of");
      a_->put("attn_implementation", "flash_attention_2", "sample_packing");
      a_->put("per_device_train_batch_size", micro_, "micro_batch_size");
      a_->put("max_length", length, "sequence_len");
      return a_->d->say({"batch", "packed"}, true, v_->place("sample_packing"));
    }
    // Rows of sequence_len that end in padding to a multiple, and a mask, by which transformers takes padding out and puts it in again
    // (core/builders/causal.py, sample_packing_drop_attention_mask; transformers modeling_flash_attention_utils.py _flash_attention_forward). Torch's own
    // attention reads one of all pairs: of padding, or of documents (masking_utils.py, find_packed_sequence_indices).
    if (packs && real && !flattened && (a_->masks || a_->kernel == "sdpa" || a_->kernel.empty())) {
      v_->take("pad_to_sequence_len");
      a_->put("per_device_train_batch_size", micro_, "micro_batch_size");
      a_->put("max_length", checked::round_up(length, v_->number("pad_to_multiple_of", 64)), "sequence_len");
      return a_->d->say({"batch", "padded"}, true, v_->place("sample_packing"));
    }
    if (packs && real) {
      a_->d->unmodelled_key("sample_packing", true, v_->place("sample_packing"));  // rows behind a mask of their documents
    } else if (packs || flattened) {
      one_row_ = true;
      v_->take("pad_to_sequence_len");
      v_->take("pad_to_multiple_of");
      a_->put("per_device_train_batch_size", 1, "micro_batch_size");
      a_->put("max_length", checked::mul(micro_, length), "sequence_len");
      return a_->d->say({"batch", "packed"}, true, v_->place(packs ? "sample_packing" : "batch_flattening"));
    }
    a_->put("per_device_train_batch_size", micro_, "micro_batch_size");
    if (!streams()) a_->d->keeps_lengths = v_->place("sequence_len");
    if ((collates() || a_->method == "reward") && !a_->processes) return padded(length);  // TRL's collator of pairs is handed the multiple, too
    v_->take("pad_to_sequence_len");  // of the collators of texts and of pairs that are scored (core/builders/rl.py, causal.py, build_collator)
    if (a_->method != "grpo") a_->put("max_length", length, "sequence_len");  // which GRPO does not take (core/trainers/grpo/__init__.py, get_blocklist_args_kwargs)
  }
  /// Of data that come as they are read, one row of micro_batch_size × sequence_len, whatever multipack_real_batches says: micro_batch_size is 1 from there
  /// on (utils/data/streaming.py, wrap_streaming_dataset and encode_packed_streaming). It ends in padding to a multiple of sequence_len, and of
  /// pad_to_multiple_of where `datasets` are read (core/builders/causal.py, build_collator).
  void stream(std::int64_t length, bool varlen) {
    one_row_ = streamed_ = true;
    a_->varlen = a_->kernel == "sdpa" && varlen;
    const bool apart = a_->varlen || a_->packs_by_kernel(), texts = a_->given("pretraining_dataset");
    if (!apart && a_->kernel != "sdpa" && !a_->kernel.empty()) a_->d->unmodelled_key("sample_packing", true, v_->place("sample_packing"), "of data that come as they are read, by this attention");
    if (apart && texts && !v_->on("pretrain_multipack_attn", true)) a_->unmodelled("pretrain_multipack_attn");  // a mask for the row in place of its texts' positions
    v_->take("pad_to_sequence_len");
    const auto row = checked::mul(micro_, length), multiple = checked::round_up(length, v_->number("pad_to_multiple_of", 64));
    if (a_->varlen) a_->put("attn_implementation", "flash_attention_2", "sample_packing");
    a_->put("per_device_train_batch_size", 1, "micro_batch_size");
    a_->put("max_length", apart || texts ? row : checked::round_up(row, multiple), "sequence_len");
    a_->d->say({"batch", apart ? "packed" : "padded"}, true, v_->place("sample_packing"));
  }
  void padded(std::int64_t length) {
    const auto multiple = v_->number("pad_to_multiple_of", 64);
    const auto* pads = v_->take("pad_to_sequence_len");
    const bool scored = pads == nullptr && a_->method == "reward";  // its own default then (utils/schemas/validation.py, hint_reward_model_pad)
    const bool whole = scored || (pads != nullptr && truth(*pads, "pad_to_sequence_len"));
    a_->put("max_length", pads == nullptr || whole ? checked::round_up(length, multiple) : length, "sequence_len");
    if (whole) a_->d->say({"batch", "padded"}, true, v_->place(scored ? "reward_model" : "pad_to_sequence_len")), a_->d->keeps_lengths.clear();
    if (pads == nullptr && !scored && multiple > 1) a_->d->say({"batch", "lengths", "pad_to_multiple"}, multiple, v_->place(v_->has("pad_to_multiple_of") ? "pad_to_multiple_of" : "sequence_len"));  // core/builders/causal.py, build_collator
    if (!whole) a_->d->notes.push_back(v_->place("sequence_len") + ": samples are padded to the longest of their micro-batch, without packing: the job is that of one with a sample of all " + std::to_string(length) + " tokens");
  }

  /// Whether rows are padded and ordered as of a plain fine-tuning: those of process rewards are, too (core/builders/causal.py, build and build_collator).
  [[nodiscard]] bool collates() const { return a_->method.empty() || a_->method == "prm"; }

  /// Texts that come one behind the other, cut to one length (utils/data/streaming.py, encode_streaming).
  [[nodiscard]] bool streams() { return a_->given("pretraining_dataset") || a_->given("streaming"); }

  /// The Trainer's sampler groups samples by length (core/builders/causal.py; core/trainers/base.py, _get_train_sampler): not where they are packed or
  /// taken in order, nor in the trainers of other methods.
  void order() {
    const bool grouped = v_->on("group_by_length"), in_order = grouped && v_->on("curriculum_sampling"), alike = a_->d->has({"batch", "padded"});
    if (!grouped || in_order || one_row_ || alike || streams() || !collates()) return;
    a_->put("train_sampling_strategy", "group_by_length", "group_by_length");
  }

  /// Where there is something to evaluate, and it is said how often (core/builders/base.py, _configure_save_and_eval_strategy); as many rows at once
  /// as train (utils/config/__init__.py). Tables of generated answers, which go to a tracker alone, and benchmarks are extra.
  void evaluation() {
    if (const auto* share = v_->take("val_set_size"); share != nullptr) number_at(*share, "val_set_size", 0.0, static_cast<double>(largest_exact));
    const bool some = a_->given("val_set_size"), others = a_->given("test_datasets");
    std::string_view when;
    for (const std::string_view key : {"eval_strategy", "evaluation_strategy", "evals_per_epoch", "eval_steps"})
      if (a_->given(key)) when = key;
    const auto rows = v_->number("eval_batch_size", micro_), longest = v_->number("eval_sequence_len", 0, 0);
    bool tracked = false;
    for (const std::string_view key : {"wandb_project", "use_wandb", "mlflow_tracking_uri", "mlflow_experiment_name", "use_mlflow", "use_comet", "comet_project_name", "comet_api_key"}) tracked = a_->given(key) || tracked;
    for (const std::string_view key : {"eval_table_size", "do_causal_lm_eval", "do_bench_eval"})
      if (a_->given(key) && (some || others) && (tracked || key != "eval_table_size")) a_->unmodelled(key);
    if (when.empty() || !(some || others)) return;
    if (longest > v_->number("sequence_len", 512)) a_->unmodelled("eval_sequence_len");
    if (one_row_ && rows != micro_) a_->unmodelled("eval_batch_size");
    if (streamed_ && !a_->packs_by_kernel()) a_->unmodelled(when);  // in rows of sequence_len each (core/trainers/base.py, _create_multipack_sampler)
    a_->put("eval_strategy", "steps", when);
    a_->put("per_device_eval_batch_size", one_row_ ? 1 : rows, v_->has("eval_batch_size") ? "eval_batch_size" : when);
  }

  axolotl_arguments* a_;
  named_values* v_;
  std::int64_t micro_{1};
  bool one_row_{}, streamed_{};
};

}  // namespace headroom::io::detail
