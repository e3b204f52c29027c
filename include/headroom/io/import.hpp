// Distributed under the Boost Software License, Version 1.0.
// A job from the files of other programs, each recognised by what stands in it. YAML and TOML come parsed: io/yaml.hpp, io/toml.hpp.
#pragma once

#include <headroom/io/launchers/safetensors_index.hpp>
#include <headroom/io/launchers/hosted_files.hpp>
#include <headroom/io/launchers/import_accelerate.hpp>
#include <headroom/io/launchers/import_adapter.hpp>
#include <headroom/io/launchers/import_gpt_neox.hpp>
#include <headroom/io/launchers/import_nanotron.hpp>
#include <headroom/io/launchers/import_text.hpp>
#include <headroom/io/launchers/megatron_yaml.hpp>
#include <headroom/io/launchers/stored_model.hpp>
#include <headroom/io/launchers/other_programs.hpp>
#include <headroom/io/launchers/settle_draft.hpp>

#include <span>

namespace headroom::io {

/// Whose file an object is, by keys that only one program has.
inline file_kind kind_of(const json_value& root) {
  if (!root.is_object()) return file_kind::unknown;
  if (detail::is_kubernetes(root)) return file_kind::kubernetes;
  if (detail::is_skypilot(root)) return file_kind::skypilot;
  const auto any = [&](std::initializer_list<const char*> keys) { return std::any_of(keys.begin(), keys.end(), [&](const char* k) { return root.contains(k); }); };
  if (any({"weight_map"})) return file_kind::safetensors_index;
  if (any({"peft_type"})) return file_kind::adapter;
  if (is_axolotl(root)) return file_kind::trainer;
  if (detail::is_nanotron(root)) return file_kind::nanotron;
  if (detail::is_gpt_neox(root)) return file_kind::gpt_neox;
  if (detail::is_torchtune(root)) return file_kind::torchtune;
  if (detail::is_litgpt(root)) return file_kind::litgpt;
  if (any({"distributed_type", "fsdp_config", "compute_environment"}) && !any({"per_device_train_batch_size"})) return file_kind::accelerate;
  if (any({"MODEL_ARGS", "--num-layers", "--tensor-model-parallel-size", "--hidden-size"})) return file_kind::megatron;
  if (any({"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"})) return file_kind::deepspeed;
  if (any({"finetuning_type", "per_device_train_batch_size", "cutoff_len", "model_name_or_path", "tuner_type", "train_type", "sft_type"})) return file_kind::trainer;
  if (any({"model_type", "architectures"})) return file_kind::huggingface;
  if (any({"parallelism", "activation_checkpoint"}) || (any({"training"}) && any({"model", "job", "experimental"}))) return file_kind::torchtitan;
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
    say_configured(d, from.root, from.source);
  });
}

/// A job file of this library. Its model may be a path.
/// Errors: those of read_job().
inline void import_job(draft& d, const document& from, const file_base& base) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("a job", "an object", from.root);
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

/// Which program arguments are for: letters of a hybrid stack, lengths of two stacks, and words by pieces in pairs of sentences
/// (tools/preprocess_data.py --split-sentences) say it.
inline megatron_program megatron_program_of(const json_value& arguments) {
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
      fail("headroom: " + arguments.place(key) + ": " + key + " is no argument of a training of GPT, BERT, T5 or hybrid models, whose arguments alone are read");
  constexpr std::string_view names[] = {"pretrain_gpt.py", "pretrain_bert.py", "pretrain_t5.py", "pretrain_hybrid.py"};
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
    if (kind == file_kind::trainer) import_trainer(d, document{*d.trainer}, with.program);
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
inline constexpr std::array<import_format, 16> file_kinds{{
    {"job", file_kind::job, [](draft& d, const document& from, const import_settings& with) { import_job(d, from, with.files.value_or(file_base::anywhere_from(with.base))); }},
    {"huggingface", file_kind::huggingface, [](draft& d, const document& from, const import_settings& with) { import_huggingface(d, from, with.base.filename().string()); }},
    {"safetensors-index", file_kind::safetensors_index, [](draft& d, const document& from, const import_settings&) { d.indices.push_back(read_safetensors_index(from)); }},
    {"adapter", file_kind::adapter, [](draft& d, const document& from, const import_settings&) { import_adapter(d, from); }},
    {"deepspeed", file_kind::deepspeed, [](draft& d, const document& from, const import_settings& with) { import_deepspeed(d, from, with.automatic); }},
    {"accelerate", file_kind::accelerate, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, detail::with_full_names(from), file_kind::accelerate, &draft::accelerate, with); }},
    {"megatron", file_kind::megatron, [](draft& d, const document& from, const import_settings&) { import_megatron_recipe(d, from); }},
    {"torchtitan", file_kind::torchtitan, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, from, file_kind::torchtitan, &draft::torchtitan, with); }},
    {"nanotron", file_kind::nanotron, [](draft& d, const document& from, const import_settings&) { import_nanotron(d, from); }},
    {"gpt-neox", file_kind::gpt_neox, [](draft& d, const document& from, const import_settings&) { keep_gpt_neox(d, from); }},
    {"litgpt", file_kind::litgpt, [](draft& d, const document& from, const import_settings&) { keep_recipe(d, from); }},
    {"torchtune", file_kind::torchtune, [](draft& d, const document& from, const import_settings&) { keep_recipe(d, from); }},
    {"trainer", file_kind::trainer, [](draft& d, const document& from, const import_settings& with) { keep_unread(d, from, file_kind::trainer, &draft::trainer, with); }},
    {"launch", file_kind::launch, nullptr},
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

/// KEY=VALUE of a job, a value in JSON or a bare word.
/// Errors: job_error for what is none.
inline void say_key(draft& d, const std::string& said) {
  const auto equals = said.find('=');
  if (equals == std::string::npos || equals == 0) fail("headroom: --set must be KEY=VALUE, found " + in_quotes(said));
  const auto text = said.substr(equals + 1), key = said.substr(0, equals);
  const bool begins_json = text.empty() || text[0] == '{' || text[0] == '[' || text[0] == '"';
  const bool word = !begins_json && !json_value::accept(text);  // a name, a date
  const bool version = key == "framework.version" || key == "environment.torch" || key == "environment.trl" || key == "environment.transformers";  // 2.10 is no number
  const auto value = word || (version && !begins_json) ? json_value(text) : parse_json(text, "--set " + key);
  const auto dot = key.find('.');
  if (dot == std::string::npos)
    d.replace(key, value, "--set " + key);
  else
    d.say({key.substr(0, dot), key.substr(dot + 1)}, value, "--set " + key);
}

/// How a text is written.
enum class syntax : std::uint8_t { json, yaml, toml, shell };

/// How a text is written: by the end of its file's name, else by how it begins.
/// Errors: job_error for an empty text.
inline syntax syntax_of(std::string_view text, const std::filesystem::path& file, file_kind kind) {
  const auto end = file.extension().string();
  if (kind == file_kind::launch || end == ".sh" || end == ".env" || end == ".sbatch" || end == ".slurm") return syntax::shell;
  if (end == ".json") return syntax::json;
  if (end == ".yaml" || end == ".yml") return syntax::yaml;
  if (end == ".toml") return syntax::toml;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) fail("headroom: " + file.filename().string() + " is empty");
  text.remove_prefix(first);
  if (text[0] == '{') return syntax::json;
  if (text[0] == '[') return syntax::toml;
  if (text.starts_with("#!") || text.starts_with("--")) return syntax::shell;
  const auto line = text.substr(0, text.find('\n'));
  return line.find(": ") != std::string_view::npos || line.ends_with(':') ? syntax::yaml : syntax::shell;
}

/// A text of a file, parsed as far as its syntax goes.
struct import_input {
  std::string text;
  std::filesystem::path file;
  document parsed{};                     ///< what is no script
  file_kind kind{file_kind::unknown};
  std::optional<hosted_launch> host{};   ///< who starts a script, and on what
  std::vector<std::pair<std::string, std::string>> beside{};  ///< files that a manifest has beside its workload: name and text
};
/// A manifest's workload, of all objects that stand in it.
/// Errors: job_error for several workloads.
inline void read_manifest(import_input& in, const import_settings& with) {
  const auto source = in.file.filename().string();
  for (const auto& part : detail::manifest_parts(detail::filled_in(in.text, with.script.environment, source))) {
    auto one = with.yaml(part, source);
    if (detail::starts_nothing(one.root)) {
      detail::add_config_map(one.root, in.beside);
      continue;
    }
    if (!in.parsed.root.is_null()) fail("headroom: " + one.place("kind") + ": a second workload, after the one at " + in.parsed.place("kind") + ": give the one that trains, in a file of its own");
    in.parsed = std::move(one);
  }
  if (in.parsed.root.is_null()) fail("headroom: " + source + " has no workload that trains: a Pod, a Job, a PyTorchJob");
}
/// A text of a file, parsed as far as its syntax goes.
/// Errors: job_error with the line for what does not parse, and for a syntax whose reader was not built.
inline import_input input_of(std::string text, const std::filesystem::path& file, file_kind kind, const import_settings& with) {
  const auto source = file.filename().string();
  import_input in{std::move(text), file, {}, kind};
  switch (syntax_of(in.text, file, kind)) {
    case syntax::json: in.parsed = parse_json_document(in.text, source); break;
    case syntax::yaml:
      if (with.yaml == nullptr) fail("headroom: " + source + " is YAML, which this program was built without: it needs yaml-cpp (Debian: libyaml-cpp-dev)");
      if (in.text.find("apiVersion:") != std::string::npos) read_manifest(in, with);
      else in.parsed = with.yaml(in.text, source);
      break;
    case syntax::toml:
      if (with.toml == nullptr) fail("headroom: " + source + " is TOML, which this program was built without: it needs toml++ (Debian: libtomlplusplus-dev)");
      in.parsed = with.toml(in.text, source);
      break;
    case syntax::shell: in.kind = file_kind::launch; return in;
  }
  if (in.kind != file_kind::unknown) return in;
  if (const auto* other = with.program != nullptr || in.parsed.root.contains("model_type") || is_axolotl(in.parsed.root) ? nullptr : detail::other_program_of(in.parsed.root)) detail::refuse_other_program(*other, source);
  in.kind = kind_of(in.parsed.root);
  return in;
}
/// A manifest's or a task's command, as the script that it is.
inline void take_command(draft& d, import_input& in) {
  if (in.host) return;
  if (in.kind == file_kind::kubernetes) in.host = detail::kubernetes_workload{in.parsed}.read();
  else if (in.kind == file_kind::skypilot) in.host = detail::skypilot_task{d, in.parsed}.read();
  else return;
  in.text = in.host->text;
  in.kind = file_kind::launch;
}
/// A script that a cluster's manager starts on machines that it says.
inline void import_hosted(draft& d, const import_input& in, import_settings with) {
  const auto source = in.file.filename().string();
  detail::say_host(d, *in.host);
  const auto line = in.host->place.rfind(':') == std::string::npos ? std::string{"1"} : in.host->place.substr(in.host->place.rfind(':') + 1);
  const auto at = json_value::parse(line, nullptr, false);
  for (const auto& [name, value] : in.host->environment) {
    const shell_word set{name + "=" + value, at.is_number_unsigned() ? static_cast<int>(std::min<std::uint64_t>(at.get<std::uint64_t>(), 100'000)) : 1};
    detail::import_setting(d, set, source);
    detail::import_count(d, set, source);
  }
  auto& known = with.script.environment;  // --env wins
  known.insert(known.begin(), in.host->environment.begin(), in.host->environment.end());
  import_text(d, in.text, source, with.script);
  detail::check_host(d, *in.host);
}
/// Manifests as the scripts that they start. A script that such a command names, and that was given, runs where the manifest says; so do files of
/// its ConfigMaps that it names.
inline void take_commands(draft& d, std::vector<import_input>& all, const import_settings& with) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    take_command(d, all[i]);
    if (!all[i].host) continue;
    for (const auto& file : std::exchange(all[i].beside, {})) {
      const auto end = std::filesystem::path{file.first}.extension().string();
      const bool given = std::any_of(all.begin(), all.end(), [&](const import_input& other) { return other.file.filename() == file.first; });
      if (!given && all[i].text.find(file.first) != std::string::npos && (end == ".sh" || end == ".json" || end == ".yaml" || end == ".yml" || end == ".toml")) {
        auto made = input_of(file.second, file.first, file_kind::unknown, with);
        all.push_back(std::move(made));
      }
    }
    for (auto& other : all) {
      if (other.kind != file_kind::launch || other.host || other.file.extension() == ".env") continue;
      auto host = *all[i].host;
      if (!detail::starts_script(host, other.file.filename().string(), all[i].file.filename().string(), host.environment)) continue;
      other.host = std::move(host);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i--));
      break;
    }
  }
}
/// Adds what a file says; its path is for errors, and tells programs whose folders say what they are. Nothing but `text` is read.
inline void import_input_into(draft& d, const import_input& in, import_settings with) {
  with.script.path = in.file.generic_string();
  const auto source = in.file.filename().string();
  if (in.host) return import_hosted(d, in, std::move(with));
  if (in.kind == file_kind::launch) return import_text(d, in.text, source, with.script);
  d.notes.insert(d.notes.end(), in.parsed.notes.begin(), in.parsed.notes.end());
  with.base = with.base.empty() ? in.file.parent_path() : with.base;
  import_document(d, in.parsed, in.kind, with);
}
inline void import_file(draft& d, std::string_view text, const std::filesystem::path& file, file_kind kind, const import_settings& with = {}) {
  auto in = input_of(std::string{text}, file, kind, with);
  take_command(d, in);
  import_input_into(d, in, with);
  read_unread(d, with);
  read_gpt_neox(d);
}

/// Configurations that the scripts write themselves (cat > FILE <<END) and then name in a command.
/// Errors: job_error for a file of which the script leaves open whether it is written, or with what.
inline std::vector<import_input> written_by_scripts(std::span<const import_input> all, const import_settings& with) {
  std::vector<import_input> made;
  for (const auto& in : all) {
    if (in.kind != file_kind::launch || in.file.extension() == ".env") continue;
    const auto script = read_shell(in.text, in.file.filename().string(), with.script.environment);
    for (const auto& f : script.files) {
      const auto named = [&](const shell_word& w) { return w.shown().ends_with(f.path) && f.path.size() > 2; };
      const auto end = std::filesystem::path{f.path}.extension().string();
      const bool configures = end == ".json" || end == ".yaml" || end == ".yml" || end == ".toml";
      const bool given = std::any_of(all.begin(), all.end(), [&](const import_input& other) { return other.file.filename() == std::filesystem::path{f.path}.filename(); });
      if (!configures || given || std::none_of(script.commands.begin(), script.commands.end(), [&](const auto& c) { return std::any_of(c.words.begin(), c.words.end(), named); })) continue;
      const auto place = "headroom: " + in.file.filename().string() + ":" + std::to_string(f.line) + ": ";
      if (!f.sure) fail(place + in_quotes(f.path) + " is written in a branch of which the script does not say whether it runs: give the file, too");
      if (f.text.find(open_from) != std::string::npos) fail(place + in_quotes(f.path) + " holds a value that the script does not say, " + in_quotes(shell_word{f.text.substr(f.text.find(open_from), f.text.find(open_to) - f.text.find(open_from))}.shown()) + ": add --env NAME=VALUE");
      made.push_back(input_of(f.text, f.path, file_kind::unknown, with));
    }
  }
  return made;
}

/// Several files, in the order in which the programs themselves read them, whatever the order they are given in: a model's shape, what
/// launchers are configured with, a program's configuration, and last the command line, which wins. Files of one kind keep their order.
/// Errors: job_error for what is not read in any of them, and for files that contradict each other.
inline void import_files(draft& d, std::vector<import_input> all, const import_settings& with) {
  constexpr file_kind order[] = {file_kind::huggingface, file_kind::safetensors_index, file_kind::job, file_kind::adapter, file_kind::accelerate, file_kind::deepspeed, file_kind::megatron, file_kind::torchtitan, file_kind::nanotron, file_kind::gpt_neox, file_kind::litgpt, file_kind::torchtune, file_kind::trainer};
  const auto rank = [&](const import_input& in) { return std::find(std::begin(order), std::end(order), in.kind) - std::begin(order); };
  for (const auto kind : {file_kind::accelerate, file_kind::deepspeed, file_kind::adapter}) {  // a run has one of each
    const import_input* first = nullptr;
    for (const auto& in : all) {
      if (in.kind != kind) continue;
      if (first != nullptr)
        fail("headroom: " + first->file.filename().string() + " and " + in.file.filename().string() + " are both configurations of " + (kind == file_kind::deepspeed ? "DeepSpeed" : kind == file_kind::adapter ? "PEFT's adapters" : "Accelerate") + ", of which a run has one: give the one that it uses");
      first = &in;
    }
  }
  take_commands(d, all, with);
  auto inside = with;
  for (const auto& in : all)  // what a .env file says, scripts know
    if (in.kind == file_kind::launch && in.file.extension() == ".env") {
      shell_values said;
      for (const auto& w : read_shell(in.text, in.file.filename().string()).settings) {
        const auto equals = w.text.find('=');
        said.emplace_back(w.text.substr(0, equals), w.text.substr(equals + 1));
      }
      inside.script.environment.insert(inside.script.environment.begin(), said.begin(), said.end());
    }
  for (auto& made : written_by_scripts(all, inside)) all.push_back(std::move(made));
  std::stable_sort(all.begin(), all.end(), [&](const import_input& a, const import_input& b) { return rank(a) < rank(b); });
  for (const auto& in : all) import_input_into(d, in, inside);
  read_unread(d, inside);
  read_recipe(d);
  read_gpt_neox(d);
}

}  // namespace headroom::io
