// Distributed under the Boost Software License, Version 1.0.
// The arguments of programs over the Hugging Face Trainer, LLaMA-Factory's among them: a YAML file, or a command line
// (transformers/training_args.py; io/launchers/programs/training_programs.hpp has the programs).
#pragma once

#include <headroom/io/launchers/axolotl/import.hpp>
#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/llama_factory/cutoff.hpp>
#include <headroom/io/launchers/llama_factory/images.hpp>
#include <headroom/io/launchers/llama_factory/method.hpp>
#include <headroom/io/launchers/llama_factory/ppo.hpp>
#include <headroom/io/launchers/programs/internvl_arguments.hpp>
#include <headroom/io/launchers/programs/llava_arguments.hpp>
#include <headroom/io/launchers/programs/medicalgpt_method.hpp>
#include <headroom/io/launchers/programs/training_programs.hpp>
#include <headroom/io/launchers/scratch_model.hpp>
#include <headroom/io/launchers/swift/arguments.hpp>
#include <headroom/io/launchers/trainer/adapters.hpp>
#include <headroom/io/launchers/trainer/evaluation.hpp>
#include <headroom/io/launchers/trainer/formats.hpp>
#include <headroom/io/launchers/trainer/fsdp_file.hpp>
#include <headroom/io/launchers/trainer/memory.hpp>
#include <headroom/io/launchers/trainer/transformers_keys.hpp>
#include <headroom/io/launchers/trainer/updates.hpp>
#include <headroom/io/launchers/trl/length.hpp>
#include <headroom/io/launchers/trl/loss_type.hpp>
#include <headroom/io/launchers/trl/method.hpp>
#include <headroom/io/launchers/trl/video.hpp>

namespace headroom::io {

namespace detail {

class trainer_arguments {
 public:
  trainer_arguments(draft& d, const document& from, const training_program& p) : d_(&d), v_(from, std::int64_t{1} << 31), p_(&p), factory_(p.name == "llama-factory"), swift_(p.name == "ms-swift") {}

  void import() {
    if (!d_->framework_is("deepspeed")) d_->framework_is("hf-trainer", v_.source());
    if (factory_) factory_method{*d_, v_}.read();
    if (factory_ || p_->name == "run-clm") evaluates();
    swift_arguments swift{*d_, v_};
    if (swift_) swift.environment(), swift.method();
    std::string_view called;
    const auto* named = first_of(v_, p_->model, called);
    const auto model = named == nullptr ? std::string{p_->model_default} : string_at(*named, std::string{called});
    llava_arguments llava{*d_, v_};
    if (p_->name == "llava") llava.model();
    internvl_arguments internvl{*d_, v_};
    const bool tiles = p_->name == "internvl";
    if (tiles) internvl.model();
    const bool packed = !p_->base.packed.empty() && v_.on(p_->base.packed);  // the shape is that of what was packed
    d_->trained_name = model;
    if (p_->causal) d_->causal = draft::said{std::string{p_->name}, v_.place(called)};
    if (p_->name.starts_with("trl-")) stored_in_mxfp4(model, v_.place(called));
    if (!model.empty()) say_model(*d_, packed ? std::string{without_quantisation(model)} : model, v_.place(called));
    if (p_->name == "llava") llava.compose();
    scratch_model scratch{*d_, v_};
    if (p_->name == "run-clm") scratch.read(!model.empty());
    batch();
    if (tiles) internvl.batch(), internvl.checkpoints(), internvl.trains();
    if (swift_) swift.batch();
    const auto releases = d_->releases.size();
    if (swift_)
      trainer_formats{*d_, v_, *p_}.loaded(), swift.formats();
    else
      trainer_formats{*d_, v_, *p_}.read();
    scratch.formats(releases);
    as_loaded_ = d_->loaded ? d_->loaded->word : std::string{};
    if (factory_)
      factory_adapters{*d_, v_}.read();
    else if (swift_)
      swift.adapters();
    else
      adapter_arguments{*d_, v_, *p_}.read(model);
    if (p_->name == "llava") llava.trains();
    if (const auto* kernel = v_.take("attn_implementation"); kernel != nullptr && (p_->name == "trl-prm" || p_->method == "rloo-0.21")) d_->unmodelled_key("attn_implementation", *kernel, v_.place("attn_implementation"), "which this script reads and hands to nobody");
    if (!p_->method.empty() && p_->method != "sft") trl_method{*d_, v_, p_->method, p_->own}.read();
    if (!swift_ || !swift.updates()) trainer_updates{*d_, v_, *p_}.read();
    trainer_memory{*d_, v_, *p_}.read();
    scratch.checkpoints();
    if (d_->own_loss && d_->has({"loss", "kind"}) && d_->job["loss"]["kind"] == "fused-linear") {
      d_->job["loss"]["kind"] = "full";
      d_->notes.push_back(d_->own_loss->place + ": Liger's loss has no effect beside " + d_->own_loss->word + ": the program takes the loss of each token itself");
    }
    medicalgpt_method{*d_, v_, p_->name}.read();
    if (factory_) factory_ppo{*d_, v_}.read();
    trainer_evaluation{*d_, v_, *p_}.read();
    if (swift_) swift.rest();
    if (p_->name == "trl-sft") trl_default_length(*d_, v_);
    if (p_->name.starts_with("trl-sft") || p_->name == "peft-sft") trl_releases();
    const bool adapted_before = p_->name == "axolotl" && (p_->method == "orpo" || p_->method == "cpo");  // axolotl adds their adapters itself
    if (!p_->method.empty() && p_->method != "sft" && p_->method != "simpo" && !adapted_before && d_->has({"adapter", "base"})) quantised_by_trl(false);
    if (factory_ && v_.take("ray_num_workers") != nullptr) d_->workers = draft::fact{v_.number("ray_num_workers", 1), v_.place("ray_num_workers")};
    if (factory_) factory_adapters{*d_, v_}.formats(v_.on("bf16"), v_.on("fp16"), v_.on("pure_bf16"));
    rest();
  }

 private:
  /// Without do_train these programs train nothing (LLaMA-Factory train/sft/workflow.py, run_clm.py).
  void evaluates() {
    const auto asked = [&](std::string_view key) {
      const auto it = v_.all().find(key);
      return it != v_.all().end() && (*it == true || *it == 1);
    };
    if (asked("do_train")) return;
    for (const auto* other : {"do_predict", "do_eval"})
      if (asked(other)) fail("headroom: " + v_.place(other) + ": " + other + " without do_train evaluates, and starts no training");
  }
  void batch() {
    std::string_view micro = "per_device_train_batch_size";
    const auto* samples = first_of(v_, p_->micro, micro);
    d_->say({"batch", "micro"}, samples == nullptr ? p_->micro_default : count_at(*samples, std::string{micro}, 1, std::int64_t{1} << 31), v_.place(micro));
    if (v_.take("per_gpu_train_batch_size") != nullptr) d_->say({"batch", "micro"}, v_.number("per_gpu_train_batch_size", 1), v_.place("per_gpu_train_batch_size"));  // it wins where it is given
    if (v_.take("gradient_accumulation_steps") != nullptr) d_->say({"batch", "accumulation"}, v_.number("gradient_accumulation_steps", 1), v_.place("gradient_accumulation_steps"));
    std::string_view called;
    if (const auto* n = first_of(v_, p_->length, called))
      d_->say({"batch", "sequence"}, count_at(*n, std::string{called}, 1, std::int64_t{1} << 31), v_.place(called));
    else if (p_->length_default > 0 && !d_->has({"batch", "sequence"}) && (d_->say({"batch", "sequence"}, p_->length_default, v_.source()), factory_))
      note_default_cutoff(*d_, v_.source());
    const bool neat = v_.on("neat_packing");
    const bool joins = factory_ && v_.word_now("stage") == "pt";  // texts of a pre-training, unless packing says no (hparams/parser.py, get_train_args)
    const bool packs = v_.on("packing", joins) || neat || sft_packing() || packs_by_handbook(*d_, v_, p_->name);  // samples are cut to one length either way
    if (neat) d_->say({"batch", "packed"}, true, v_.place("neat_packing"));
    if (p_->name == "trl-sft" && v_.on("padding_free") && !packs) trl_without_padding(*d_, v_);
    if (packs && p_->name != "open-instruct") return;  // it lays a micro-batch's samples end to end (open_instruct/padding_free_collator.py), as long as they are
    sample_lengths_of_data();
    // InternVL pads to the limit but where it groups by length (internvl/train/dataset.py, preprocess_*).
    if (p_->keeps_lengths || (p_->name == "internvl" && d_->has({"batch", "lengths", "order"}))) d_->keeps_lengths = called.empty() ? v_.source() : v_.place(called);
  }
  /// packing was called so before 2024-03-09, and joined samples of stage sft alone (hiyouga/LLaMA-Factory 4881f4e63, data/preprocess.py).
  bool sft_packing() { return factory_ && v_.on("sft_packing") && (v_.word_now("stage").empty() || v_.word_now("stage") == "sft"); }
  /// The order of samples and what they are padded to; how long they are the data alone says (trainer.py _get_train_sampler; TRL's collators).
  void sample_lengths_of_data() {
    for (const auto& [key, word] : {std::pair<std::string_view, std::string_view>{"group_by_length", "true"}, {"train_sampling_strategy", "group_by_length"}}) {
      const auto* said = v_.take(key);
      if (said == nullptr || !(*said == std::string{word} || (word == "true" && (*said == true || *said == "True")))) continue;
      d_->say({"batch", "lengths", "order"}, "grouped", v_.place(key));
      d_->notes.push_back(v_.place(key) + ": samples come in groups sorted by length; how long they are is for batch.lengths to say (--set batch.lengths.mean=…)");
    }
    if (p_->name.starts_with("trl-") && v_.take("pad_to_multiple_of") != nullptr) d_->say({"batch", "lengths", "pad_to_multiple"}, v_.number("pad_to_multiple_of", 1), v_.place("pad_to_multiple_of"));
  }
  /// OpenAI stores gpt-oss in MXFP4. transformers makes it bf16 where Mxfp4Config says so (examples/scripts/sft_gpt_oss.py) or Triton and the package kernels are not
  /// there to multiply it as it is, in which form it does not train (quantizers/quantizer_mxfp4.py validate_environment, is_trainable; 2026-07).
  void stored_in_mxfp4(const std::string& model, const std::string& place) {
    if (!is_in_mxfp4(model)) return;
    for (const auto* key : {"load_in_4bit", "load_in_8bit"})
      if (v_.on(key)) refuse_mxfp4_by_bitsandbytes(model, v_.place(key));
    const std::string what = model + " is stored in MXFP4 and taken to be made bf16 as it is loaded: by Mxfp4Config(dequantize=True), or because the package kernels is not installed, with which transformers does not train it";
    d_->notes.push_back(place + ": " + what);
    d_->assumed.push_back(what);
  }
  /// TRL's adapters of a quantised base are made bf16 since 0.26 (sft_trainer.py). max_seq_length ended with 0.19, and tells the age of a file.
  void trl_releases() {
    const bool liger = v_.on("use_liger_kernel") || v_.on("use_liger"), old = v_.has("max_seq_length") || v_.has("max_seq_len");
    trl_loss_type(*d_, v_, liger, old);
    if (d_->has({"adapter", "base"})) quantised_by_trl(old);
    if (p_->name.starts_with("trl-") && v_.on("packing") && !old) documents_apart();
  }
  /// Packed rows are one long row whose documents are told apart by their positions (trl/trainer/sft_trainer.py, packing_strategy other than "wrapped":
  /// 0.19). A flash kernel takes them apart; else transformers makes a mask of all tokens by all tokens (masking_utils.py, find_packed_sequence_indices,
  /// 4.53; TRL asks for 4.55 since 0.22).
  void documents_apart() {
    const auto word = [&](const char* key) { const auto it = v_.all().find(key); return it != v_.all().end() && it->is_string() ? it->get<std::string>() : std::string{}; };
    // trl/data_utils.py pack_dataset: ffd of 0.19 is bfd since 0.20 (2025-07), bfd_split since 1.0; another name, the older one too, ends the program.
    const auto how = word("packing_strategy");
    if (!how.empty() && !among_words("wrapped|bfd|bfd_split|bfd-requeue|ffd", how)) fail("headroom: " + v_.place("packing_strategy") + ": TRL has no packing_strategy " + in_quotes(how) + ", and the program ends: say bfd, bfd_split or wrapped");
    if (how == "ffd")
      d_->releases.push_back({"trl", 20, v_.place("packing_strategy"), "packing_strategy ffd is called bfd since TRL 0.20 (2025-07), where the program ends", false,
                              [](draft&, const std::string& place) { fail("headroom: " + place + ": packing_strategy ffd is called bfd since TRL 0.20 (2025-07), where the program ends: say bfd, or an older environment.trl"); }});
    if (how == "wrapped" || word("attn_implementation").find("flash") != std::string::npos) return;
    using change = void (*)(draft&, const std::string&);
    const change masks = [](draft& d, const std::string& place) { d.unmodelled_key("packing", true, place, "without flash attention: a mask of all tokens by all tokens keeps documents apart; packing_strategy wrapped, or attn_implementation flash_attention_2, makes none"); };
    if (v_.has("dtype")) return masks(*d_, v_.place("packing"));
    d_->releases.push_back({"trl", 22, v_.place("packing"), "TRL keeps packed documents apart by a mask since 0.22 (2025-08), where attention is not flash, and not before", false, masks});
  }

  /// What lies beside a quantised base, embedding and head: TRL made it fp32 before 0.26, or bf16 over four bits (trl/models/utils.py,
  /// prepare_peft_model and peft_module_casting_to_bf16), and leaves it as it was loaded since.
  void quantised_by_trl(bool old) {
    using adapters = void (*)(draft&, const std::string&);
    const adapters in_16_bits = [](draft& d, const std::string& place) { d.loaded = draft::said{"bf16", place}, d.say({"adapter", "format"}, "bf16", place); };
    const adapters in_32_bits = [](draft& d, const std::string& place) { d.loaded = draft::said{"fp32", place}, d.say({"adapter", "format"}, "bf16", place); };
    const auto since = as_loaded_ == "fp32" ? in_32_bits : in_16_bits;
    const bool casts = v_.on("bf16") && d_->job["adapter"]["base"] != "int8";
    d_->loaded = draft::said{casts ? "bf16" : "fp32", d_->loaded->place};
    const char* what = "TRL makes adapters of a quantised base bf16 since 0.26 (2025-12), and leaves them fp32 before";
    if (!p_->method.empty() && p_->method != "sft") return trl_defaults{*d_, v_, p_->method, p_->own}.since(26, what, nullptr, since);
    if (!old) d_->releases.push_back({"trl", 26, v_.source(), what, false, since});
  }

  /// The rule: what no reader took is harmless, or stops the import.
  void rest() {
    if (factory_) factory_images(*d_, v_);
    // Evaluation in 16 bits; DeepSpeed's "auto" takes it for training, too (transformers/integrations/deepspeed.py).
    for (const auto& [key, format] : {std::pair<std::string_view, const char*>{"bf16_full_eval", "bf16"}, {"fp16_full_eval", "fp16"}})
      if (v_.on(key) && d_->framework_is("deepspeed") && (!d_->half || d_->half->word != format)) d_->unmodelled_key(std::string{key}, true, v_.place(key));
    const bool method = v_.has("rlhf_type");  // ms-swift's methods read what its other trainings pass over
    for (const auto& [key, value] : v_.all().items()) {
      if (v_.taken(key)) continue;
      auto rule = method ? rule_of(p_->also, key, value) : key_rule::unknown;
      for (const auto& list : {p_->passed, p_->also})
        if (rule == key_rule::unknown) rule = rule_of(list, key, value);
      if (rule == key_rule::unknown) rule = rule_of(transformers_passed, key, value);
      if (rule == key_rule::passed) continue;
      if (rule == key_rule::refused)
        d_->unmodelled_key(key, value, v_.place(key), factory_ && among_words(factory_over_megatron, key) ? "of LLaMA-Factory's trainings over Megatron-Core, which USE_MCA and USE_MEGATRON_BRIDGE start" : "");
      else
        d_->unknown_key(key, v_.place(key), meant(key));
    }
  }
  [[nodiscard]] std::string_view meant(const std::string& key) const {
    std::vector<std::string_view> all = v_.taken();
    for (const auto& k : transformers_passed) all.push_back(k.name);
    for (const auto& k : p_->passed) all.push_back(k.name);
    for (const auto& k : p_->also) all.push_back(k.name);
    return closest(key, all);
  }

  draft* d_;
  named_values v_;
  const training_program* p_;
  bool factory_, swift_;
  std::string as_loaded_;  ///< the format in which the weights are loaded, before any are prepared for training
};

/// The program whose configuration an object is.
inline const training_program& program_of_keys(const json_value& root) {
  const auto any = [&](std::string_view names) {
    for (const auto& [key, value] : root.items())
      if (among_words(names, key)) return true;
    return false;
  };
  if (is_axolotl(root)) return *program_named("axolotl");
  const bool learns = any("do_train|dataset|stage|cutoff_len|per_device_train_batch_size|learning_rate|num_train_epochs|max_steps");
  if ((any("infer_backend|export_dir|vllm_maxlen|n_shot|save_dir") && !any("do_train|dataset")) || (any("finetuning_type") && any("template|adapter_name_or_path") && !learns))
    fail("headroom: this file is for inference, evaluation or merging, and starts no training");
  if (any("finetuning_type|cutoff_len")) return *program_named("llama-factory");
  if (any("tuner_type|train_type|sft_type|model_author|lora_target_regex|freeze_aligner|rlhf_type") || (any("model") && !any("model_name_or_path"))) return *program_named("ms-swift");
  if (any("gamma_beta_ratio")) return *program_named("simpo");
  for (const auto& [key, program] : {std::pair{"tpo_alpha", "trl-tpo"}, {"tpo_l_gamma", "trl-tpo"}, {"mixture_coef", "trl-nash-md"}})
    if (any(key)) fail("headroom: " + std::string{key} + " is an argument of one of TRL's trainers, and the file does not say which program reads it: give the command that starts it, too, or say --program " + program);
  const bool instruct = any("use_slow_tokenizer|checkpointing_steps|with_tracking|dataset_mixer_list|use_flash_attn");
  for (const auto key : words_between_bars("beta|dpo_beta|max_prompt_length|ref_model|simpo_gamma|num_generations|reward_funcs|reward_model_path|sft_model_path|max_completion_length|kl_coef")) {
    if (!any(key)) continue;
    if (instruct) fail("headroom: " + std::string{key} + " is of open-instruct's preference or reinforcement learning, which is not read by this version: its open_instruct/finetune.py is");
    std::vector<std::string_view> methods;
    for (const auto& p : training_programs)
      if (p.name.starts_with("trl-") && !p.name.starts_with("trl-sft")) methods.push_back(p.name);
    fail("headroom: " + std::string{key} + " is an argument of several trainers that compare answers, reward or generate, and the file does not say which it is for: give the command that starts it, too, or say with --program " + listed(methods));
  }
  if (instruct) return *program_named("open-instruct");
  const auto& trl = *program_named("trl-sft");
  return any(trl.marks) ? trl : *program_named("transformers");
}

}  // namespace detail

/// `program`: whose arguments they are; null where the keys say it.
inline void import_trainer(draft& d, const document& from, const detail::training_program* program = nullptr) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("the Trainer's arguments", "an object", from.root);
    const auto& p = program != nullptr ? *program : detail::program_of_keys(from.root);
    d.trainer = from;
    std::erase(d.unread, file_kind::trainer);
    d.releases.clear();
    d.evaluates.reset();
    d.keeps_lengths.clear();
    d.awaits_roles.clear();
    d.awaits_texts.reset();
    d.awaits_images.reset();
    d.awaits_rows.reset();
    d.liger.reset();
    d.tf32.reset();
    d.names_everywhere.reset();
    if (!d.has_read(file_kind::adapter)) d.awaits_targets.reset();
    if (p.name == "trl-sft-video") {
      const auto arguments = detail::video_arguments(d, from);
      return with_places(arguments, [&] { detail::trainer_arguments{d, arguments, *detail::program_named("trl-sft-vlm")}.import(); });
    }
    if (p.name != "axolotl") {
      const auto arguments = detail::with_fsdp_file(d, from, p);
      return with_places(arguments, [&] { detail::trainer_arguments{d, arguments, p}.import(); });
    }
    detail::axolotl_config config{d, from};
    const auto arguments = config.arguments();
    auto with = p;
    with.method = config.method();
    with_places(arguments, [&] { detail::trainer_arguments{d, arguments, with}.import(); });  // by the lines of axolotl's own keys
    config.finish();
  });
}

}  // namespace headroom::io
