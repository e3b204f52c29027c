// Distributed under the Boost Software License, Version 1.0.
// A job in the making: what several files say of it, and where each said it.
#pragma once

#include <headroom/io/job/model_hints.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/launchers/draft_facts.hpp>
#include <headroom/io/launchers/refused_keys.hpp>
#include <headroom/io/syntax/document.hpp>

#include <initializer_list>
#include <optional>
#include <span>

namespace headroom::io {

/// What is known of a job so far, and the place of each key. What is still open is decided by settled().
class draft {
 public:
  using fact = draft_facts::fact;
  using said = draft_facts::said;
  using named_role = draft_facts::named_role;
  using named_file = draft_facts::named_file;
  using said_keys = draft_facts::said_keys;
  using evaluated_examples = draft_facts::evaluated_examples;
  using default_of_release = draft_facts::default_of_release;
  using stage_rule = draft_facts::stage_rule;
  using program_text = draft_facts::program_text;

  /// Checkpoints to compare the model with.
  std::vector<safetensors_index> indices;
  /// Keys of a job file, as far as they are known.
  json_value job = json_value::object();
  /// For people: what was overridden, assumed or left out.
  std::vector<std::string> notes;

  /// `value` for the key at `path`; an object is merged key by key. What is said later counts, and a note says so.
  /// Errors: job_error for a part of what is said in one word.
  void say(std::span<const std::string_view> path, json_value value, const std::string& place) {
    std::string shown;
    auto* at = &job;
    for (const auto key : path) {
      if (at->is_string()) *at = draft_facts::spelled_out(shown, *at, place);
      if (!at->is_object()) *at = json_value::object();
      shown = joined(shown, key);
      at = &(*at)[std::string{key}];
    }
    put(*at, std::move(value), shown, place);
  }
  void say(std::initializer_list<std::string_view> path, json_value value, const std::string& place) { say(std::span{path.begin(), path.size()}, std::move(value), place); }
  /// The same for what only makes sense whole.
  void replace(std::string_view key, json_value value, const std::string& place) {
    auto& at = job[std::string{key}];
    if (!at.is_null() && at != value) overridden(std::string{key}, at, value, place);
    forget(std::string{key});
    at = std::move(value);
    places_[std::string{key}] = place;
  }

  /// The framework. A Trainer may run DeepSpeed; any other two exclude each other.
  void framework_is(const std::string& label, const std::string& place) {
    auto& f = job["framework"];
    if (f.is_string()) f = json_value{{"name", f}};
    if (!f.is_object()) f = json_value::object();
    const auto before = f.contains("name") && f["name"].is_string() ? f["name"].get<std::string>() : std::string{};
    if (before == label || (before == "deepspeed" && label == "hf-trainer")) return;
    if (before == "megatron-deepspeed" && label == "deepspeed") return;
    if (!before.empty() && !(before == "hf-trainer" && label == "deepspeed") && !(before == "deepspeed" && label == "megatron-deepspeed"))
      fail("headroom: " + place + " is for " + label + ", but " + place_of("framework.name") + " for " + before + ": one job has one framework");
    f["name"] = label;
    places_["framework.name"] = place;
  }
  [[nodiscard]] bool framework_is(std::string_view label) const {
    const auto f = job.find("framework");
    if (f == job.end()) return false;
    const auto& n = f->is_object() && f->contains("name") ? (*f)["name"] : *f;
    return n.is_string() && *n.get_ptr<const json_value::string_t*>() == label;
  }

  /// GPUs over all nodes; samples of a step, and completions that are generated together, over all GPUs; tokens that a prompt and its completion share.
  std::optional<fact> gpus, global_batch, generation_batch, shared_length;
  /// Processes that start where no launcher says how many.
  std::optional<fact> workers;
  /// A 16-bit format (or "no"), of which sharding and framework make a recipe.
  std::optional<said> half;
  /// What is fp32 is multiplied as tf32.
  std::optional<said> tf32;
  /// The format in which the weights are loaded: "fp32", "bf16", "fp16"; "half" is that of autocast.
  std::optional<said> loaded;
  /// The program that loads its model by transformers' AutoModelForCausalLM (io/launchers/settle/text_class.hpp).
  std::optional<said> causal;
  /// Kernels that an NPU alone has, which other GPUs go without.
  std::optional<said> npu_kernels;
  /// Liger's kernels of the layers, between bars, and the key that asks for them (io/launchers/settle/liger.hpp).
  std::optional<said> liger;
  std::string liger_key;
  /// The program takes the loss of each token itself, whatever kernel the model has for it.
  std::optional<said> own_loss;
  /// The format in which weights that do not train stay, where those that do are made fp32.
  std::optional<said> frozen;
  /// Whose formats and sharding a command says that no file here has.
  std::optional<said> awaits_formats;
  /// Where each replica is a node: the key that says so.
  std::string hybrid;

  /// What was read by the model that was known then: another one would make another job of it.
  std::optional<said> read_by_model;
  /// A model's name that the zoo does not have.
  std::optional<said> awaits_model;
  /// The name that a file gives the model that trains, the model_type of its config.json, and those of models beside it (io/launchers/other_roles.hpp).
  std::string trained_name;
  std::optional<said> model_type;
  std::vector<named_role> awaits_roles;
  /// A model's name that says that its weights are stored quantised; the format in which its config.json says so, empty where they are dequantised as
  /// they are loaded.
  std::optional<said> stored_quantised, stored;
  /// Dropout that the model's config.json asks for, as the job's key says it; null where it asks for none.
  json_value model_drops{};
  /// The place that says how long samples are at most, where each keeps a length of its own (io/launchers/settle/lengths.hpp).
  std::string keeps_lengths;
  /// How many texts an example has, or images a sample, which the data alone say; an engine's server that takes turns with an environment; USE_MCORE_GDN=0.
  std::optional<said> awaits_texts, awaits_images, server_turns, whole_delta;
  /// Layers with an adapter that no file says, and how a file would.
  std::optional<said> awaits_targets;
  json_value own_targets;  ///< adapter.targets as a job file or a reader lists them, in a job's own words
  /// PEFT looks for these layers in every module of the model, a tower's too: the key that names them (io/launchers/settle/adapters.hpp).
  std::optional<said> names_everywhere;
  /// A vocabulary that a tokenizer decides, of which nothing is known; rows that new words may add to a known one.
  std::optional<said> awaits_vocabulary, awaits_rows;
  std::vector<named_file> named;
  std::vector<std::pair<std::string, std::string>> made_from;  ///< files that a script makes of others which were not given: path and the other's
  std::vector<program_text> programs;  ///< given beside the launch
  std::vector<std::pair<std::string, std::string>> given;  ///< names and values (--env), for what a text computes
  std::vector<file_kind> read;  ///< what was given
  [[nodiscard]] bool has_read(file_kind kind) const { return std::find(read.begin(), read.end(), kind) != read.end(); }
  /// accelerate's, torchtitan's and a Trainer's configurations, and litgpt's or torchtune's, as far as they are known: a command line goes over them.
  std::optional<document> accelerate, torchtitan, trainer, recipe;
  std::optional<document> fsdp;      ///< of the Trainer, in a file of its own
  std::optional<document> gpt_neox;  ///< several files, joined
  std::vector<document> verl;        ///< of which a command names one
  std::vector<document> nemo_rl;     ///< … of which one is run, and inherits from the others
  std::optional<document> nemo_command;  ///< what a command says over them
  bool verl_read{}, recipe_read{};  ///< by its command, which says which program it is for
  /// Configurations of files that are read when all files are known, unless a command line is read together with them.
  std::vector<file_kind> unread;
  std::optional<said_keys> of_several;
  /// A launcher that takes every GPU of the machine it runs on, of which no file says how many there are.
  std::optional<said> takes_all_gpus;

  /// The Megatron-LM that a script puts into PYTHONPATH, as a version (io/launchers/megatron/import_pai.hpp).
  std::optional<said> megatron_backend;

  /// A number of nodes or GPUs that a file leaves to its environment.
  std::optional<said> open_nodes, open_gpus;
  static void leave_open(std::optional<said>& of, const std::string& name, const std::string& value, const std::string& place) { of = said{name + " is " + in_quotes(value), place}; }
  /// What torchrun takes where its options leave them open: PET_NNODES and PET_NPROC_PER_NODE (torch/distributed/argparse_util.py, env).
  std::optional<fact> torchrun_nodes, torchrun_processes;
  /// GPUs that CUDA_VISIBLE_DEVICES leaves to a launcher on one node.
  std::optional<fact> visible;
  /// One process that the Trainer makes several replicas of where it sees several GPUs (torch.nn.DataParallel).
  std::optional<said> alone;

  /// A key that says where ranks lie: it changes nothing on one node, and is not modelled on several.
  std::optional<said> placement;
  /// The path of the script that is being read.
  std::string script;

  /// Micro-batches of a step that are said beside its samples, and have to come to as many.
  std::optional<fact> own_accumulation;
  /// Samples that a step has at least, by as many micro-batches as that takes; tokens of a row that is packed; samples that are joined to one row; CELOSS_PARALLEL_SIZE.
  std::optional<fact> least_samples, packed_row, joined_samples, loss_rows;
  /// Processes of a node whose layers are spread over the node's GPUs, as many GPUs for each; 0: as many as a launcher starts.
  std::optional<fact> spread;
  /// Samples of text alone, whatever the model sees.
  std::optional<said> reads_texts;
  /// What is evaluated; and what is where an older release runs.
  std::optional<evaluated_examples> evaluates, evaluates_before;
  /// Who checkpoints by re-entering autograd, but where processes are data-parallel and nothing is sharded.
  std::optional<said> reenters;
  /// Who decides whether a tower that does not train is asked for gradients, where that is not the Trainer; and whether its layers are checkpointed, where that
  /// differs from the main stack's (io/launchers/settle/towers.hpp).
  std::optional<said> asks_towers;
  std::optional<bool> checkpoints_towers;

  std::optional<said> loads_once;  ///< FSDP's weights are loaded by the first process of a node, where the release does so
  std::vector<default_of_release> releases;
  std::int32_t least_transformers{};  ///< the first release of transformers that a script runs on, 100 × major + minor
  std::vector<std::string> assumed{};  ///< of them, the older ones that stand

  /// Keys that are to be passed over (--ignore), and those of them that were met.
  std::vector<std::string> ignores, ignored;
  refused_keys refused;  ///< of the others
  /// A key that is neither read nor known to be harmless: refused, unless it is to be passed over.
  void unknown_key(const std::string& key, const std::string& place, std::string_view meant = {}) {
    refuse_key(key, place, " is not known here", meant.empty() ? std::string{} : " (did you mean " + std::string{meant} + "?)");
  }
  /// … or known to change memory in a way that is not modelled.
  void unmodelled_key(const std::string& key, const json_value& value, const std::string& place, std::string_view whose = {}) {
    refuse_key(key, place, " = " + draft_facts::shown_value(value) + " is not modelled by this version", whose.empty() ? std::string{} : " (" + std::string{whose} + ")");
  }

  std::optional<stage_rule> stages;
  void know(std::optional<fact>& of, const char* what, std::int64_t value, const std::string& place) {
    if (of && of->value != value) notes.push_back(place + ": " + what + " " + std::to_string(value) + " instead of " + std::to_string(of->value) + " (" + of->place + ")");
    of = fact{value, place};
  }

  [[nodiscard]] bool has(std::initializer_list<std::string_view> path) const { return find(path) != nullptr; }
  [[nodiscard]] const json_value* find(std::initializer_list<std::string_view> path) const {
    const auto* at = &job;
    for (const auto key : path) {
      if (!at->is_object()) return nullptr;
      const auto it = at->find(key);
      if (it == at->end()) return nullptr;
      at = &*it;
    }
    return at;
  }
  [[nodiscard]] std::string place_of(std::string path) const {
    while (true) {
      if (const auto it = places_.find(path); it != places_.end()) return it->second;
      const auto cut = path.find_last_of(".[");
      if (cut == std::string::npos) return {};
      path.resize(cut);
    }
  }

  bool operator==(const draft&) const = default;

  /// Turns facts into keys, reads the whole, and refuses what is missing (io/launchers/settle/draft.hpp). Opens no file.
  headroom::job settled();

  /// The places of the keys that a sentence names, the first before it.
  [[nodiscard]] std::string with_places_of(std::string sentence) const {
    constexpr std::string_view us = "headroom: ", options = "framework.options";
    std::vector<std::string> found;
    const auto add = [&](const std::string& path) {
      const auto place = place_of(path);
      const bool again = std::any_of(found.begin(), found.end(), [&](const std::string& f) { return f.starts_with(place); });
      if (!place.empty() && !again) found.push_back(place);
    };
    if (const auto key = sentence.find("unknown key \""), in = sentence.find("\" in "); key != std::string::npos && in != std::string::npos)
      add(joined(sentence.substr(in + 5, sentence.find_first_of("; ", in + 5) - in - 5), sentence.substr(key + 13, in - key - 13)));
    for (std::size_t at = 0; at < sentence.size();) {
      const auto end = std::min(sentence.find_first_of(" ,;:", at), sentence.size());
      const auto word = sentence.substr(at, end - at);
      if (job.contains(word.substr(0, word.find_first_of(".[")))) add(word);
      at = end + 1;
    }
    for (auto at = sentence.find(options); at != std::string::npos; at = sentence.find(options, at)) {
      const bool dot = sentence.compare(at + options.size(), 1, ".") == 0;
      if (dot)
        sentence.erase(at, options.size() + 1);
      else
        sentence.replace(at, options.size(), framework_name() + "'s options");
    }
    if (found.empty() || !sentence.starts_with(us)) return sentence;
    sentence.insert(us.size(), found[0] + ": ");
    if (found.size() > 1) sentence += " (" + found[1] + ")";
    return sentence;
  }
  [[nodiscard]] std::string framework_name() const {
    const auto* n = find({"framework", "name"});
    return n != nullptr && n->is_string() ? n->get<std::string>() : "the framework";
  }

 private:
  void refuse_key(const std::string& key, const std::string& place, const std::string& why, const std::string& hint) {
    if (!names_key(ignores, key)) return refused.stop({key, place, why, hint});
    notes.push_back(place + ": " + key + " is ignored, as asked");
    if (std::find(ignored.begin(), ignored.end(), key) == ignored.end()) ignored.push_back(key);
  }
  void overridden(const std::string& path, const json_value& before, const json_value& after, const std::string& place) {
    const auto old = place_of(path);
    notes.push_back(place + ": " + path + " " + draft_facts::shown_value(after) + " instead of " + draft_facts::shown_value(before) + (old.empty() ? "" : " (" + old + ")"));
  }
  void forget(const std::string& path) {
    for (auto it = places_.lower_bound(path + "."); it != places_.end() && it->first.starts_with(path + ".");) it = places_.erase(it);
  }

  void put(json_value& at, json_value value, const std::string& path, const std::string& place) {
    if (value.is_object() && at.is_object()) {
      for (auto& [key, inner] : value.items()) put(at[key], inner, joined(path, key), place);
      return;
    }
    if (!at.is_null() && at != value) overridden(path, at, value, place);
    if (value.is_object()) {
      at = json_value::object();
      for (auto& [key, inner] : value.items()) put(at[key], inner, joined(path, key), place);
    } else {
      at = std::move(value);
    }
    places_[path] = place;
  }

  std::map<std::string, std::string, std::less<>> places_;
};

}  // namespace headroom::io
