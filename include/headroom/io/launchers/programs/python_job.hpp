// Distributed under the Boost Software License, Version 1.0.
// A job from the Python that trains it, where it calls Unsloth with arguments that stand there: a notebook (.ipynb), or a script (.py). Nothing is run.
#pragma once

#include <headroom/io/launchers/programs/import_unsloth.hpp>
#include <headroom/io/launchers/programs/python_calls.hpp>
#include <headroom/io/launchers/programs/program_keys.hpp>
#include <headroom/io/launchers/trainer/transformers_keys.hpp>
#include <headroom/io/launchers/trl/text.hpp>
#include <headroom/io/syntax/notebook.hpp>

namespace headroom::io {

namespace detail {

// clang-format off
// unslothai/unsloth 015bdef0 of 2026-08-22, models/loader.py FastLanguageModel.from_pretrained; models/llama.py get_peft_model; TRL's SFTTrainer.
inline constexpr auto unsloth_loader_passed = std::to_array<passed_key>({
    {"token", "*"}, {"device_map", "*"}, {"trust_remote_code", "*"}, {"use_gradient_checkpointing", "*"}, {"revision", "*"}, {"gpu_memory_utilization", "*"}, {"random_state", "*"}, {"max_lora_rank", "*"},
    {"disable_log_stats", "*"}, {"cache_dir", "*"}, {"local_files_only", "*"}, {"fix_tokenizer", "*"}, {"load_in_8bit", "false"}, {"full_finetuning", "false"}, {"fast_inference", "false"}, {"rope_scaling", ""},
    {"resize_model_vocab", ""}, {"float32_mixed_precision", ""}, {"qat_scheme", ""}, {"load_in_fp8", "false"}, {"offload_embedding", "false"}, {"unsloth_tiled_mlp", "false"}, {"attn_implementation", ""},
});
inline constexpr auto unsloth_adapter_passed = std::to_array<passed_key>({
    {"model", "*"}, {"lora_alpha", "*"}, {"random_state", "*"}, {"max_seq_length", "*"}, {"use_rslora", "*"}, {"temporary_location", "*"}, {"task_type", "*"}, {"bias", "none"}, {"loftq_config", ""},
    {"modules_to_save", ""}, {"layers_to_transform", ""}, {"layers_pattern", ""}, {"finetune_last_n_layers", ""}, {"init_lora_weights", "true"}, {"use_dora", "false"}, {"qat_scheme", ""}, {"target_parameters", ""},
});
inline constexpr auto sft_trainer_passed = std::to_array<passed_key>({
    {"model", "*"}, {"args", "*"}, {"tokenizer", "*"}, {"processing_class", "*"}, {"train_dataset", "*"}, {"eval_dataset", "*"}, {"dataset_text_field", "*"}, {"dataset_num_proc", "*"}, {"data_collator", "*"},
    {"formatting_func", "*"}, {"callbacks", "*"}, {"dataset_kwargs", "*"}, {"dataset_batch_size", "*"}, {"num_of_sequences", "*"}, {"chars_per_token", "*"}, {"compute_metrics", ""}, {"preprocess_logits_for_metrics", ""},
    {"peft_config", ""}, {"optimizers", ""}, {"neftune_noise_alpha", "*"},
});
inline constexpr auto unsloth_config_passed = std::to_array<passed_key>({
    {"dataset_num_proc", "*"}, {"gradient_checkpointing_kwargs", "*"}, {"learning_rate", "*"}, {"embedding_learning_rate", "*"}, {"eval_accumulation_steps", "*"}, {"per_device_eval_batch_size", "*"}, {"eval_steps", "*"}, {"padding_free", "false"}, {"eval_strategy", "no"},
    {"evaluation_strategy", "no"}, {"do_eval", "false"}, {"eval_on_start", "false"}, {"fp16_full_eval", "*"}, {"bf16_full_eval", "*"}, {"assistant_only_loss", "*"}, {"group_by_length", "*"}, {"save_strategy", "*"},
});
// clang-format on

/// What changes a training beside the calls that are read: functions, attributes that are set, and variables of the environment.
inline constexpr std::string_view python_changes_calls =
    "prepare_model_for_kbit_training|prepare_model_for_training|requires_grad_|gradient_checkpointing_enable|gradient_checkpointing_disable|enable_input_require_grads|half|bfloat16|float|torch.compile|resize_token_embeddings|add_new_tokens|add_adapter|load_adapter|"
    "PeftModel.from_pretrained|merge_and_unload|quantize_|convert_to_float8_training|notebook_launcher|deepspeed.initialize|DistributedDataParallel|FullyShardedDataParallel|fully_shard|set_per_process_memory_fraction|apply_liger_kernel_to_llama|AutoLigerKernelForCausalLM.from_pretrained";
inline constexpr std::string_view python_changes_attributes = "requires_grad|gradient_checkpointing|per_device_train_batch_size|gradient_accumulation_steps|optim|max_seq_length|max_length|packing|use_cache_for_training|r|target_modules";

class unsloth_text {
 public:
  unsloth_text(draft& d, const python_program& p, int line) : d_(&d), p_(&p), line_(line) {}

  void import() {
    const auto& trainer = the_trainer();
    const auto* loads = p_->before(trainer, "FastLanguageModel.from_pretrained|FastModel.from_pretrained|FastVisionModel.from_pretrained|FastSentenceTransformer.from_pretrained");
    if (loads == nullptr) fail("headroom: " + p_->at(trainer.line) + ": " + p_->source() + " makes a trainer of a model that no FastLanguageModel.from_pretrained loads there: give the text that loads it in the same file");
    const auto class_name = std::string_view{loads->callee}.substr(0, loads->callee.rfind('.'));
    if (!class_name.ends_with("FastLanguageModel"))
      fail("headroom: " + p_->at(loads->line) + ": Unsloth's " + std::string{class_name} + " is not modelled by this version, whose layers are transformers' own, compiled: FastLanguageModel is, of Llama's, Mistral's, Qwen2's and Qwen3's layers");
    const auto* adapters = p_->before(trainer, "FastLanguageModel.get_peft_model");
    if (adapters == nullptr) fail("headroom: " + p_->at(trainer.line) + ": no FastLanguageModel.get_peft_model adds adapters here, and Unsloth is modelled with LoRA alone: give the text that adds them in the same file");
    const auto* config = p_->before(trainer, "SFTConfig|TrainingArguments|UnslothTrainingArguments");
    if (config == nullptr) fail("headroom: " + p_->at(trainer.line) + ": the trainer's args are made elsewhere: no SFTConfig or TrainingArguments stands in " + p_->source());
    unchanged(trainer);
    document from{.source = p_->source(), .root = json_value::object(), .lines = {}};
    p_->read(from, *loads, {.read = "model_name|max_seq_length|dtype|load_in_4bit|load_in_16bit", .positions = "model_name|max_seq_length|dtype|load_in_4bit", .passed = unsloth_loader_passed});
    if (from.root.value("load_in_16bit", json_value(false)) == true && !from.root.contains("load_in_4bit")) fail("headroom: " + from.place("load_in_16bit") + ": beside load_in_16bit it is not said whether load_in_4bit is on, as it is by default: write load_in_4bit=False, too");
    from.root.erase("load_in_16bit");
    if (!from.root.contains("load_in_4bit")) from.root["load_in_4bit"] = true, from.lines["load_in_4bit"] = loads->line;
    p_->read(from, *adapters, {.read = "r|target_modules|lora_dropout|use_gradient_checkpointing", .positions = "_|r|target_modules", .passed = unsloth_adapter_passed});
    document batch{.source = p_->source(), .root = json_value::object(), .lines = {}};
    const call_keys of_config{.read = "per_device_train_batch_size|gradient_accumulation_steps|optim|max_length|max_seq_length|packing|fp16|bf16|gradient_checkpointing", .passed = unsloth_config_passed, .also = transformers_passed, .last = trl_passed};
    p_->read(batch, *config, of_config);
    p_->read(batch, trainer, {.read = "max_seq_length|packing", .positions = "_|_", .passed = sft_trainer_passed});
    checked(from, batch, *config);
    with_places(from, [&] { unsloth_arguments{*d_, from}.import(); });
    d_->notes.push_back(p_->at(trainer.line) + ": read of the text, of which nothing is run: what other files or cells change of the model or the trainer is not seen");
  }

 private:
  /// The one trainer. Errors: job_error for none, for another than SFTTrainer, and for several.
  [[nodiscard]] const python_call& the_trainer() const {
    const auto subclass = [&](std::string_view name) {
      return std::any_of(p_->statements().begin(), p_->statements().end(), [&](const python_statement& s) { return s.begins("class") && s.tokens.size() > 1 && s.tokens[1].text == name; });
    };
    std::vector<const python_call*> all;
    for (const auto& c : p_->calls())
      if (c.name().ends_with("Trainer") && (line_ == 0 || c.line == line_)) all.push_back(&c);
    if (all.empty()) fail("headroom: " + p_->source() + (line_ > 0 ? ":" + std::to_string(line_) : "") + ": no trainer is made here");
    for (const auto* c : all) {
      if (subclass(c->name())) fail("headroom: " + p_->at(c->line) + ": " + std::string{c->name()} + " is a class of this text's own, and what it trains is not read");
      if (c->name() != "SFTTrainer") fail("headroom: " + p_->at(c->line) + ": " + std::string{c->name()} + " beside Unsloth is not read by this version; SFTTrainer is" + (all.size() > 1 ? " (--line N says which trainer is meant)" : ""));
    }
    if (all.size() > 1) {
      std::string lines;
      for (const auto* c : all) lines += (lines.empty() ? "" : ", ") + std::to_string(c->line);
      fail("headroom: " + p_->at(all[1]->line) + ": " + std::to_string(all.size()) + " trainers are made in this file (lines " + lines + "): say which with --line N");
    }
    return *all[0];
  }
  /// Errors: job_error for a statement before the training that changes what trains.
  void unchanged(const python_call& trainer) const {
    auto end = p_->statements().size();
    if (p_->values().scopes(trainer.statement).empty())
      for (const auto* c : p_->called("train"))
        if (c->statement >= trainer.statement && c->callee.find("rainer") != std::string::npos) end = std::min(end, c->statement);
    for (const auto* c : p_->called(python_changes_calls))
      if (c->statement < end) refuse(c->callee, c->line);
    for (std::size_t i = 0; i < end; ++i) {
      const auto& t = p_->statements()[i].tokens;
      for (std::size_t k = 2; k < t.size(); ++k)
        if (is_mark(t[k], "=") && is_mark(t[k - 2], ".") && among_words(python_changes_attributes, t[k - 1].text)) refuse(t[k - 1].text, t[k].line);
      for (const auto& one : t)
        if (one.is == python_word::text && one.text == "UNSLOTH_RETURN_LOGITS") refuse(one.text, one.line);
    }
  }
  void refuse(const std::string& what, int line) const { d_->unmodelled_key(what, json_value("set"), p_->at(line), "it stands beside the calls that are read"); }

  /// What Unsloth makes of both calls (models/rl.py): the trainer's length, up to the model's.
  void checked(document& from, const document& batch, const python_call& config) const {
    const auto take = [&](const char* key) {
      const auto it = batch.root.find(key);
      if (it == batch.root.end() || it->is_null()) {
        const auto given = p_->values().given(key);
        if (!given) fail("headroom: " + p_->at(config.line) + ": " + config.callee + " does not say " + key + ", and its default differs between releases: say it with --env " + key + "=VALUE");
        from.root[key] = *given;
        return;
      }
      from.root[key] = *it;
      from.lines[key] = batch.lines.at(key);
    };
    for (const auto* key : {"per_device_train_batch_size", "gradient_accumulation_steps", "optim"}) take(key);
    const auto it = [&](const char* key) { return batch.root.value(key, json_value{}); };
    if (it("packing") == true) d_->unmodelled_key("packing", true, batch.place("packing"), "beside Unsloth");
    if (it("fp16") == true && it("bf16") != true) fail("headroom: " + batch.place("fp16") + ": training in fp16 beside Unsloth is not modelled by this version: a GPU that computes in bf16 is, where fp16 is off");
    const auto model = from.root.value("max_seq_length", json_value(2048));
    for (const auto* key : {"max_seq_length", "max_length"}) {
      const auto said = it(key);
      if (said.is_null() || said == model) continue;
      if (!said.is_number_integer() || !model.is_number_integer() || said > model) fail("headroom: " + batch.place(key) + ": " + key + " " + said.dump() + " is more than the " + model.dump() + " that the model is loaded for, and which of them counts differs between releases of Unsloth: give both the same");
      d_->unmodelled_key(key, said, batch.place(key), "less than the " + model.dump() + " tokens that the model is loaded for, and whether it counts differs between releases of Unsloth");
    }
    const auto layers = from.root.value("use_gradient_checkpointing", json_value("unsloth"));
    const bool on = layers != false && !layers.is_null();
    if (const auto asked = it("gradient_checkpointing"); asked.is_boolean() && asked.get<bool>() != on) d_->unmodelled_key("gradient_checkpointing", asked, batch.place("gradient_checkpointing"), std::string{"beside get_peft_model, which "} + (on ? "checkpoints" : "does not"));
  }

  draft* d_;
  const python_program* p_;
  int line_;
};

}  // namespace detail

/// A notebook's or a script's own training.
/// Errors: job_error for a text of which the training is not known, or computed.
inline void import_python(draft& d, std::string_view text, const std::string& source, std::span<const std::pair<std::string, std::string>> given, int line = 0) {
  const bool notebook = source.ends_with(".ipynb");
  const auto code = notebook ? python_of_notebook(text, source) : python_source{std::string{text}};
  const detail::python_program p{d, code.text, source, code.lines, given};
  const auto unsloth = [&](const python_call& c) { return c.callee.starts_with("Fast") && c.callee.ends_with("Model.from_pretrained"); };
  if (std::any_of(p.calls().begin(), p.calls().end(), unsloth)) return detail::unsloth_text{d, p, line}.import();
  if (detail::is_trl_text(p)) {
    detail::trl_text{d, p, line}.import();
    return void(d.notes.push_back(source + ": no command is given that starts this text: one process is taken to train, on one GPU (accelerate launch and torchrun start several: give the command, too)"));
  }
  fail("headroom: " + source + ": no training is read of this text: TRL's SFTTrainer, DPOTrainer and GRPOTrainer are, and Unsloth's FastLanguageModel with SFTTrainer; of other programs give the command that starts them" + (notebook ? "" : ", and the text beside it"));
}

}  // namespace headroom::io
