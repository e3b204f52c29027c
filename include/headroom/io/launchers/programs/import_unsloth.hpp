// Distributed under the Boost Software License, Version 1.0.
// Unsloth: its script, `python unsloth-cli.py --model_name … --load_in_4bit --r 64` (unslothai/unsloth 015bdef0 of 2026-08-22, unsloth-cli.py),
// and what programs give its functions (io/launchers/programs/python_job.hpp).
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/nested_values.hpp>
#include <headroom/io/launchers/programs/unsloth_checkpoints.hpp>

namespace headroom::io {

namespace detail {

/// Arguments that are read; all others of its parser are harmless, or refused unless they switch their feature off.
inline constexpr auto unsloth_read = std::to_array<std::string_view>({"model_name", "max_seq_length", "dtype", "load_in_4bit", "r", "lora_dropout", "use_gradient_checkpointing", "per_device_train_batch_size", "gradient_accumulation_steps", "optim"});
// clang-format off
/// Nothing is evaluated, as there is no set to evaluate on. Samples of a text file are cut to max_seq_length as all others are.
inline constexpr auto unsloth_passed = std::to_array<passed_key>({
    {"dataset", "*"}, {"lora_alpha", "*"}, {"bias", "none"}, {"random_state", "*"}, {"use_rslora", "*"}, {"loftq_config", ""}, {"use_dora", "false"}, {"per_device_eval_batch_size", "*"},
    {"warmup_steps", "*"}, {"max_steps", "*"}, {"learning_rate", "*"}, {"weight_decay", "*"}, {"lr_scheduler_type", "*"}, {"seed", "*"}, {"packing", "false"}, {"report_to", "*"},
    {"logging_steps", "*"}, {"output_dir", "*"}, {"save_model", "*"}, {"save_method", "*"}, {"save_gguf", "*"}, {"save_path", "*"}, {"quantization", "*"}, {"push_model", "*"},
    {"push_gguf", "*"}, {"hub_path", "*"}, {"hub_token", "*"}, {"raw_text_file", "*"}, {"chunk_size", "*"}, {"stride", "*"},
});
// clang-format on

class unsloth_arguments {
 public:
  unsloth_arguments(draft& d, const document& from) : d_(&d), k_(from) {}

  void import() {
    d_->framework_is("unsloth", k_.source());
    const auto base = model();
    batch();
    const auto dtype = k_.word("dtype", "None");  // as its README writes it
    if (dtype != "None" && dtype != "bfloat16" && dtype != "float16") wrong_value("dtype", "\"bfloat16\" or \"float16\"", dtype);
    if (dtype == "float16") fail("headroom: " + k_.place("dtype") + ": weights in float16 beside an autocast of bfloat16 are not modelled by this version; dtype must be left out or bfloat16");
    d_->replace("precision", "bf16", k_.place("dtype"));
    adapters(base);
    checkpoints();
    optimizer();
    d_->notes.push_back(k_.source() + ": a GPU that computes in bf16 is assumed, as Unsloth takes fp16 on others; one GPU trains");
    d_->say({"hardware", "gpus_per_node"}, 1, k_.source());
    d_->say({"hardware", "nodes"}, 1, k_.source());
  }

 private:
  /// Of a name that it knows Unsloth loads a checkpoint of its own in 4 bits (models/loader_utils.py get_model_name, models/mapper.py): those that end in
  /// -unsloth-bnb-4bit keep some layers in 16 bits, which their config.json lists.
  std::string model() {
    const auto name = k_.word("model_name", "unsloth/llama-3-8b");
    const auto place = k_.place("model_name");
    const auto plain = std::string{without_quantisation(name)}, stored = name.substr(plain.size());
    const bool four = k_.on("load_in_4bit");
    const bool all = headroom::detail::equal_ignoring_case(stored, "-bnb-4bit");
    if (!stored.empty() && !all)
      fail("headroom: " + place + ": " + in_quotes(name) + " keeps some of its layers in 16 bits, which its config.json alone says: write a job file with framework unsloth and adapter.base_skips");
    if (!four && all) fail("headroom: " + place + ": without load_in_4bit Unsloth loads another checkpoint in place of " + in_quotes(name) + ": give that flag, or the name without " + stored);
    if (four && !all && unsloth_checkpoint_of(name) == unsloth_checkpoint::mixed)
      d_->unmodelled_key("load_in_4bit", true, place, "in place of " + in_quotes(name) + " Unsloth loads a checkpoint of its own, of which some layers may have 16 bits: name the one that it loads, NAME-bnb-4bit where all have 4; ignored, all are taken to have 4");
    d_->trained_name = plain;
    say_model(*d_, plain, place);
    return four ? "nf4-double" : std::string{};
  }
  void batch() {
    d_->say({"batch", "micro"}, k_.number("per_device_train_batch_size", 2), k_.place("per_device_train_batch_size"));
    d_->say({"batch", "accumulation"}, k_.number("gradient_accumulation_steps", 4), k_.place("gradient_accumulation_steps"));
    const auto longest = k_.number("max_seq_length", 2048);
    d_->say({"batch", "sequence"}, longest, k_.place("max_seq_length"));
    d_->keeps_lengths = k_.place("max_seq_length");  // TRL's SFTTrainer
    d_->notes.push_back(k_.place("max_seq_length") + ": the longest sample is taken to have " + std::to_string(longest) + " tokens, to which longer ones are cut");
  }
  void adapters(const std::string& base) {
    json_value a{{"kind", "lora"}, {"rank", k_.number("r", 16)}, {"targets", targets()}, {"dropout", k_.share("lora_dropout", 0.0)}};
    if (!base.empty()) a["base"] = base;
    d_->replace("adapter", a, k_.place("r"));
  }
  /// Layers that a program names. The embedding and the head would train as a whole (models/llama.py get_peft_model).
  json_value targets() {
    constexpr std::string_view seven = "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj";
    auto all = json_value::array();
    const auto* said = k_.find("target_modules");
    if (said == nullptr || *said == "all-linear" || (said->is_array() && said->size() == 1 && (*said)[0] == "all-linear")) {
      for (const auto one : words_between_bars(seven)) all.push_back(std::string{one});
      return all;
    }
    if (!said->is_array() || said->empty()) wrong_value("target_modules", "a list of layers", *said);
    for (const auto& one : *said) {
      if (!one.is_string() || !among_words(seven, one.get_ref<const std::string&>())) fail("headroom: " + k_.place("target_modules") + ": target_modules " + one.dump() + " is not modelled by this version under Unsloth; q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj are");
      all.push_back(one);
    }
    return all;
  }
  /// "unsloth" keeps checkpoints on the host from 512 tokens on (models/_utils.py apply_unsloth_gradient_checkpointing). The parser makes words of all
  /// other values, and get_peft_model takes "True" and "False" for neither.
  void checkpoints() {
    const auto place = k_.place("use_gradient_checkpointing");
    const auto* said = k_.find("use_gradient_checkpointing");
    if (said != nullptr && said->is_boolean()) return d_->replace("recompute", said->get<bool>() ? "full" : "none", place);  // a program's, and no word
    if (said != nullptr && *said != "unsloth")
      fail("headroom: " + place + ": use_gradient_checkpointing must be left out or \"unsloth\": of any other word unsloth-cli.py makes no flag, and prepare_model_for_training stops at it");
    d_->replace("recompute", "full", place);
    if (k_.number("max_seq_length", 2048) >= 512) d_->say({"offload", "activations"}, "cpu", place);
  }
  void optimizer() {
    const auto optim = k_.word("optim", "adamw_8bit");
    const auto known = optimizer_called(optimizer_namer::trainer, optim);
    if (known.is == nullptr) refuse_optimizer(optimizer_namer::trainer, "optim", optim);
    if (known.in_backward || known.is->extent == state_extent::low_rank) fail("headroom: " + k_.place("optim") + ": optim " + in_quotes(optim) + " under unsloth-cli.py, which gives it no arguments, is not modelled by this version");
    json_value ours{{"name", known.is->label.view()}};
    if (known.how != implementation::unset) ours["implementation"] = text_of(known.how);
    d_->replace("optimizer", ours.size() == 1 ? ours["name"] : ours, k_.place("optim"));
  }

  draft* d_;
  nested_values k_;
};

}  // namespace detail

/// Arguments of unsloth-cli.py.
/// Errors: job_error for an argument that is not known or not modelled.
inline void import_unsloth(draft& d, const document& from) {
  with_places(from, [&] {
    auto judged = from;
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::unsloth_read, detail::unsloth_passed});
    detail::unsloth_arguments{d, judged}.import();
  });
}

}  // namespace headroom::io
