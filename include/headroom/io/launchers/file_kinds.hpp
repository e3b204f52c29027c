// Distributed under the Boost Software License, Version 1.0.
// What can be read: a file is recognised by what stands in it, and goes to the reader of its kind.
#pragma once

#include <headroom/io/launchers/accelerate/import.hpp>
#include <headroom/io/launchers/cluster/hosted_files.hpp>
#include <headroom/io/launchers/cluster/ray_launch.hpp>
#include <headroom/io/launchers/gpt_neox/import.hpp>
#include <headroom/io/launchers/import_adapter.hpp>
#include <headroom/io/launchers/import_text.hpp>
#include <headroom/io/launchers/llama_factory/import_v1.hpp>
#include <headroom/io/launchers/megatron/yaml.hpp>
#include <headroom/io/launchers/nanotron/import.hpp>
#include <headroom/io/launchers/nemo/import.hpp>
#include <headroom/io/launchers/safetensors_index.hpp>
#include <headroom/io/launchers/stored_model.hpp>
#include <headroom/io/launchers/verl/document.hpp>

namespace headroom::io {

/// Whose file an object is, by keys that only one program has.
inline file_kind kind_of(const json_value& root) {
  if (!root.is_object()) return file_kind::unknown;
  if (detail::is_kubernetes(root)) return file_kind::kubernetes;
  if (detail::is_skypilot(root)) return file_kind::skypilot;
  const auto any = [&](std::initializer_list<const char*> keys) { return std::any_of(keys.begin(), keys.end(), [&](const char* k) { return root.contains(k); }); };
  if (detail::is_ray_environment(root)) return file_kind::ray_environment;
  if (detail::is_verl_file(root)) return file_kind::verl;
  if (detail::is_nemo_rl(root)) return file_kind::nemo_rl;
  if (any({"weight_map"})) return file_kind::safetensors_index;
  if (any({"peft_type"})) return file_kind::adapter;
  if (is_axolotl(root) || detail::is_swift_megatron(root)) return file_kind::trainer;
  if (detail::is_llama_factory_v1(root)) return file_kind::llama_factory_v1;
  if (detail::is_nanotron(root)) return file_kind::nanotron;
  if (detail::is_gpt_neox(root)) return file_kind::gpt_neox;
  if (detail::is_torchtune(root)) return file_kind::torchtune;
  if (detail::is_litgpt(root)) return file_kind::litgpt;
  if (detail::is_fsdp_file(root)) return file_kind::fsdp;
  if (any({"distributed_type", "fsdp_config", "compute_environment"}) && !any({"per_device_train_batch_size"})) return file_kind::accelerate;
  if (any({"MODEL_ARGS", "--num-layers", "--tensor-model-parallel-size", "--hidden-size"})) return file_kind::megatron;
  if (any({"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"})) return file_kind::deepspeed;
  if (any({"finetuning_type", "per_device_train_batch_size", "cutoff_len", "model_name_or_path", "tuner_type", "train_type", "sft_type"})) return file_kind::trainer;
  if (any({"model_type", "architectures", "_class_name", "_diffusers_version", "pretrained_cfg"})) return file_kind::huggingface;
  if (any({"parallelism", "activation_checkpoint"}) || (any({"training"}) && any({"model", "job", "experimental"}) && !any({"data"}))) return file_kind::torchtitan;
  if (any({"model"}) && any({"batch", "hardware", "framework", "parallel", "sharding"})) return file_kind::job;
  if (any({"fp16", "bf16", "optimizer", "gradient_clipping", "gradient_accumulation_steps"})) return file_kind::deepspeed;
  return file_kind::unknown;
}

/// A model's config.json: `label` names it where the library does not know its shape.
/// Errors: job_error for a family or a key that is not modelled.
inline void import_huggingface(draft& d, const document& from, const std::string& label) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("a model's configuration", "an object", from.root);
    auto m = model_from_config(from.root, "");
    if (m.label.empty()) m.label = name_from(label);
    for (const auto& known : models::all()) {  // the name that people know it by
      auto same = m;
      same.label = known.label;
      if (same.position == position_kind::rope) same.max_positions = known.max_positions;  // no table of them
      if (same == known) m = known;
    }
    d.replace("model", model_to_json(m), from.source);
    if (const auto type = from.root.find("model_type"); type != from.root.end() && type->is_string()) d.model_type = draft::said{type->get<std::string>(), from.source};
    say_configured(d, from.root, from.source);
  });
}

/// A job file of this library. Its model may be a path.
/// Errors: those of read_job().
inline void import_job(draft& d, const document& from, const file_base& base) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("a job", "an object", from.root);
    if (const auto a = from.root.find("adapter"); a != from.root.end() && a->is_object()) d.own_targets = a->value("targets", json_value{});
    for (const auto& [key, value] : from.root.items()) {
      if (key == "model")
        d.replace(key, model_to_json(read_model(value, key, base)), from.place(key));
      else if (value.is_object())
        d.say({key}, value, from.place(key));
      else
        d.replace(key, value, from.place(key));
    }
  });
}

/// What a reader of files is told besides.
struct import_settings {
  auto_means automatic{auto_means::by_trainer};
  std::filesystem::path base{"."};  ///< what paths in a job file are relative to
  std::optional<file_base> files{};  ///< where they lead; none said: anywhere
  script_settings script{};
  const detail::training_program* program{};  ///< whose arguments the files have, where that cannot be seen
  /// parse_yaml and parse_toml, where there are libraries for them.
  document (*yaml)(std::string_view text, const std::string& source){};
  document (*toml)(std::string_view text, const std::string& source){};
};

/// Which program arguments are for: images beside a text, letters of a hybrid stack, lengths of two stacks, and words by pieces in pairs of sentences
/// (tools/preprocess_data.py --split-sentences) say it.
inline megatron_program megatron_program_of(const json_value& arguments) {
  // Sizes of images are other programs' arguments, too, but those read no text.
  if (detail::given(arguments, detail::megatron_vlm_marks) || (detail::given(arguments, "img-h|img-w|patch-dim") && detail::given(arguments, "tokenizer-type|vocab-size"))) return megatron_program::vlm;
  if (detail::given(arguments, "hybrid-layer-pattern|hybrid-override-pattern|is-hybrid-model")) return megatron_program::hybrid;
  if (detail::given(arguments, "decoder-num-layers|decoder-seq-length")) return megatron_program::t5;
  const auto has = [&](const char* key, std::string_view part) { return arguments.contains(key) && arguments[key].is_string() && arguments[key].get_ref<const std::string&>().find(part) != std::string::npos; };
  bool bert = detail::given(arguments, "bert-no-binary-head");
  for (const auto& [key, part] : {std::pair<const char*, std::string_view>{"data-path", "bert"}, {"data-path", "_text_sentence"}, {"vocab-file", "bert"}, {"vocab-file", "vocab.txt"}, {"tokenizer-type", "Bert"}})
    bert = bert || has(key, part);
  return bert ? megatron_program::bert : megatron_program::gpt;
}

/// Megatron's arguments as keys, and the settings of a recipe's environment. A recipe does not say which program it is for.
/// Errors: job_error for an argument that is not known or not modelled.
inline void import_megatron_recipe(draft& d, const document& from) {
  if (const auto set = from.root.find("ENV_VARS"); set != from.root.end() && set->is_object())
    for (const auto& [key, value] : set->items()) {
      const auto line = from.lines.find("ENV_VARS." + key);
      detail::import_setting(d, {key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()), line == from.lines.end() ? 1 : line->second}, from.source);
    }
  const auto arguments = megatron_yaml(from);
  const auto program = megatron_program_of(arguments.root);
  for (const auto& [key, value] : arguments.root.items())
    if (among_words(detail::megatron_other_programs, key) && !among_words(detail::read_by(program), key) && detail::given(arguments.root, key))
      fail("headroom: " + arguments.place(key) + ": " + key + " is no argument of a training of GPT, BERT, T5, hybrid or vision-language models, whose arguments alone are read");
  constexpr std::string_view names[] = {"pretrain_gpt.py", "pretrain_bert.py", "pretrain_t5.py", "pretrain_hybrid.py", "pretrain_vlm.py"};
  d.notes.push_back(from.source + ": the arguments are taken to be " + std::string{names[static_cast<int>(program)]} + "'s");
  import_megatron(d, arguments, program);
}

/// A recipe is read when all files are known: its command says which of a program's it is, and goes over it.
/// Errors: job_error for a second recipe.
inline void keep_recipe(draft& d, const document& from) {
  if (d.recipe) fail("headroom: " + from.source + ": a job has one recipe, and " + d.recipe->source + " is one, too");
  d.recipe = from;
}
inline void read_recipe(draft& d) {
  if (!d.recipe || std::exchange(d.recipe_read, true)) return;
  if (d.has_read(file_kind::torchtune)) {
    if (d.recipe->source.find("single_device") == std::string::npos) d.open_gpus = draft::said{"tune run says how many GPUs there are", d.recipe->source};
    return import_torchtune(d, *d.recipe);
  }
  const auto what = detail::litgpt_command_of(d.recipe->root);
  d.notes.push_back(d.recipe->source + ": taken to be for litgpt " + (what == litgpt_command::pretrain ? "pretrain" : what == litgpt_command::full ? "finetune_full" : "finetune_lora"));
  import_litgpt(d, *d.recipe, what);
}

/// A configuration that a command line may go over is read together with it: what the file alone says, it takes back. Of two of a kind the first
/// is read at once.
inline void read_unread(draft& d, const import_settings& with) {
  for (const auto kind : std::exchange(d.unread, {})) {
    if (kind == file_kind::accelerate) import_accelerate(d, document{*d.accelerate});
    if (kind == file_kind::torchtitan) import_torchtitan(d, document{*d.torchtitan});
    const bool megatron = kind == file_kind::trainer && with.program == nullptr && detail::is_swift_megatron(d.trainer->root) && !is_axolotl(d.trainer->root);
    if (megatron) {
      d.open_gpus = draft::said{"how many GPUs there are", d.trainer->source};
      detail::started_program::swift_over_megatron(d, document{*d.trainer}, d.trainer->root.contains("rlhf_type"));
    } else if (kind == file_kind::trainer) {
      import_trainer(d, document{*d.trainer}, with.program);
    }
  }
}
/// Errors: job_error for a second configuration of axolotl's.
inline void keep_unread(draft& d, const document& from, file_kind kind, std::optional<document> draft::*where, const import_settings& with) {
  if (const auto& before = d.*where; before && is_axolotl(before->root) && before->source != from.source)
    fail("headroom: " + from.source + ": a job has one configuration of axolotl's, and " + before->source + " is one, too");
  if (std::find(d.unread.begin(), d.unread.end(), kind) != d.unread.end()) read_unread(d, with);
  d.*where = from;
  d.unread.push_back(kind);
}

/// What can be read, a row each. `read` is null for what is no object: a script.
struct import_format {
  std::string_view text;
  file_kind value;
  void (*read)(draft&, const document&, const import_settings&);
};
inline constexpr std::array<import_format, 22> file_kinds{{
    {"job", file_kind::job, [](draft& d, const document& from, const import_settings& with) { import_job(d, from, with.files.value_or(file_base::anywhere_from(with.base))); }},
    {"huggingface", file_kind::huggingface, [](draft& d, const document& from, const import_settings& with) { import_huggingface(d, from, with.base.filename().string()); }},
    {"safetensors-index", file_kind::safetensors_index, [](draft& d, const document& from, const import_settings&) { d.indices.push_back(read_safetensors_index(from)); }},
    {"adapter", file_kind::adapter, [](draft& d, const document& from, const import_settings&) { import_adapter(d, from); }},
    {"deepspeed", file_kind::deepspeed, [](draft& d, const document& from, const import_settings& with) { import_deepspeed(d, from, with.automatic); }},
    {"accelerate", file_kind::accelerate, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, detail::with_full_names(from), file_kind::accelerate, &draft::accelerate, with); }},
    {"megatron", file_kind::megatron, [](draft& d, const document& from, const import_settings&) { import_megatron_recipe(d, from); }},
    {"fsdp", file_kind::fsdp, [](draft& d, const document& from, const import_settings&) { d.fsdp = from; }},
    {"torchtitan", file_kind::torchtitan, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, from, file_kind::torchtitan, &draft::torchtitan, with); }},
    {"nanotron", file_kind::nanotron, [](draft& d, const document& from, const import_settings&) { import_nanotron(d, from); }},
    {"gpt-neox", file_kind::gpt_neox, [](draft& d, const document& from, const import_settings&) { keep_gpt_neox(d, from); }},
    {"nemo-rl", file_kind::nemo_rl, [](draft& d, const document& from, const import_settings&) { keep_nemo_rl(d, from); }},
    {"verl", file_kind::verl, [](draft& d, const document& from, const import_settings&) { d.verl.push_back(from); }},
    {"litgpt", file_kind::litgpt, [](draft& d, const document& from, const import_settings&) { keep_recipe(d, from); }},
    {"torchtune", file_kind::torchtune, [](draft& d, const document& from, const import_settings&) { keep_recipe(d, from); }},
    {"trainer", file_kind::trainer, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, from, file_kind::trainer, &draft::trainer, with); }},
    {"llama-factory-v1", file_kind::llama_factory_v1, [](draft& d, const document& from, const import_settings&) { import_llama_factory_v1(d, from); }},
    {"ray-environment", file_kind::ray_environment, [](draft& d, const document& from, const import_settings&) { detail::import_ray_environment(d, from); }},
    {"launch", file_kind::launch, nullptr},
    {"python", file_kind::python, nullptr},
    {"kubernetes", file_kind::kubernetes, nullptr},
    {"skypilot", file_kind::skypilot, nullptr},
}};

/// Adds what a file says to the draft. Throws job_error.
inline void import_document(draft& d, const document& from, file_kind kind, const import_settings& with = {}) {
  if (kind == file_kind::unknown) kind = kind_of(from.root);
  for (const auto& k : file_kinds)
    if (k.value == kind && k.read != nullptr) {
      d.read.push_back(kind);
      return k.read(d, from, with);
    }
  fail("headroom: " + from.source + " is not a file that is known here: say what it is with --as " + listed(texts(file_kinds, [](const auto& n) { return n.text; })));
}

}  // namespace headroom::io
