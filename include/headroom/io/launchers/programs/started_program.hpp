// Distributed under the Boost Software License, Version 1.0.
// A training program and its arguments, as a launcher starts it: each goes to the reader of its kind.
// io/launchers/programs/training_programs.hpp says which is which.
#pragma once

#include <headroom/io/launchers/accelerate/import.hpp>
#include <headroom/io/launchers/accelerate/launch.hpp>
#include <headroom/io/launchers/deepspeed/chat.hpp>
#include <headroom/io/launchers/deepspeed/import_chat.hpp>
#include <headroom/io/launchers/launch_start.hpp>
#include <headroom/io/launchers/llama_factory/cutoff.hpp>
#include <headroom/io/launchers/megatron/import_bridge.hpp>
#include <headroom/io/launchers/megatron/import_deepspeed.hpp>
#include <headroom/io/launchers/megatron/import_pai.hpp>
#include <headroom/io/launchers/nanotron/launch.hpp>
#include <headroom/io/launchers/nemo/launch.hpp>
#include <headroom/io/launchers/openrlhf/import.hpp>
#include <headroom/io/launchers/other_programs.hpp>
#include <headroom/io/launchers/programs/changed_copy.hpp>
#include <headroom/io/launchers/programs/import_unsloth.hpp>
#include <headroom/io/launchers/programs/projects.hpp>
#include <headroom/io/launchers/programs/training_programs.hpp>
#include <headroom/io/launchers/swift/megatron.hpp>
#include <headroom/io/launchers/torchtitan/import.hpp>
#include <headroom/io/launchers/trainer/import.hpp>
#include <headroom/io/launchers/trainer/keys.hpp>
#include <headroom/io/launchers/trl/text.hpp>
#include <headroom/io/launchers/verl/import.hpp>
#include <headroom/io/launchers/verl/import_sft.hpp>

namespace headroom::io {
namespace detail {

/// Reads a training program with its arguments, whoever starts it.
class started_program {
 public:
  /// `otherwise`: what scripts are that nobody knows; null: nothing.
  started_program(draft& d, std::string source, const training_program* otherwise) : d_(&d), source_(std::move(source)), otherwise_(otherwise) {}

  bool one_process{};        ///< no launcher starts several
  std::string by_deepspeed;  ///< where DeepSpeed's launcher begins

  [[nodiscard]] const training_program* program_of(std::string_view script, std::span<const shell_word> words) const {
    const auto* p = detail::program_of(script, words);
    if (!d_->programs.empty() && !script.empty() && !never_trains(script) && (p == nullptr || p->name == "transformers")) {  // a copy under another name
      const auto [known, first] = by_text_.try_emplace(file_of_path(script));
      if (first) known->second = program_by_text(*d_, script);
      if (first && known->second == nullptr && trl_text_beside(*d_, script) != nullptr) known->second = program_named("trl-sft");
      if (known->second != nullptr) return known->second;
    }
    return p == nullptr && !never_trains(script) ? otherwise_ : p;
  }
  [[nodiscard]] std::string at(int line) const { return source_ + ":" + std::to_string(line); }
  void named(file_kind kind, const argument& a) {
    if (!a.values.empty()) d_->named.push_back({kind, a.values[0].shown(), at(a.line)});
  }
  /// Whether a word is the name of a configuration.
  static bool configures(const shell_word& w) { return w.text.ends_with(".yaml") || w.text.ends_with(".yml") || w.text.ends_with(".json"); }
  /// How its layers lie on the GPUs that each process has for itself (ms-swift).
  void spread(const std::string& place) { d_->spread = draft::fact{one_process ? 1 : 0, place}; }
  void megatron_swift(std::span<const shell_word> words) {
    std::vector<shell_word> files;
    auto all = arguments_of(words.subspan(1), &files);
    const bool configured = files.size() == 1 && all.empty() && configures(files[0]);
    if (!files.empty() && !configured) fail("headroom: " + at(files[0].line) + ": " + in_quotes(files[0].shown()) + " is no argument of megatron sft's: give its arguments as --name value");
    for (auto& a : all) std::replace(a.name.begin(), a.name.end(), '-', '_');
    auto from = document_of(all, source_);
    if (configured) {
      named(file_kind::trainer, {"", {files[0]}, files[0].line});
      if (!d_->trainer) return;  // it is asked for
      from = *d_->trainer;
      std::erase(d_->unread, file_kind::trainer);
    }
    swift_over_megatron(*d_, std::move(from), words[0].text == "rlhf");
  }
  /// ms-swift's arguments over Megatron-Core, with what a configuration says of its own environment.
  static void swift_over_megatron(draft& d, document from, bool compares) {
    const auto own = from.root.contains("ENV") ? settings_of(from) : std::vector<shell_word>{};
    for (const auto& w : own) import_setting(d, w, from.source), import_count(d, w, from.source);
    for (auto& [key, value] : from.root.items())  // words on a command line
      if (value == "true" || value == "True") value = true;
      else if (value == "false" || value == "False") value = false;
    with_places(from, [&] { swift_megatron{d, from, compares}.import(); });
    for (const auto& w : own) say_pixels(d, w, from.source);
  }

  /// The environment that a configuration of ms-swift's has in itself (swift/cli/main.py, parse_yaml_args).
  static std::vector<shell_word> settings_of(document& from) {
    std::vector<shell_word> all;
    if (from.root["ENV"].is_object())
      for (const auto& [name, value] : from.root["ENV"].items()) all.push_back({name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()), 1});
    from.root.erase("ENV");
    return all;
  }

  /// The program at `i`, which a launcher starts.
  void program(const shell_command& c, std::size_t i) {
    if (i >= c.words.size()) return;
    if (std::find(d_->unread.begin(), d_->unread.end(), file_kind::accelerate) != d_->unread.end()) import_accelerate(*d_, document{*d_->accelerate});
    const bool script = !c.words[i].text.starts_with("--");
    auto words = std::span{c.words}.subspan(script ? i + 1 : i);
    if (script && otherwise_ == nullptr && trains_by_its_text(c.words[i], words)) return;
    const auto* p = program_of(script ? std::string_view{c.words[i].text} : std::string_view{}, words);
    if (p != nullptr && p->name == "ms-swift") spread(at(c.words[i].line));
    if (p != nullptr && p->name != "ms-swift" && p->takes == file_kind::trainer && one_process && script) d_->alone = draft::said{in_quotes(c.words[i].shown()), at(c.words[i].line)};  // training_args.py, _setup_devices
    // A Trainer uses its engine where its own arguments ask for it (transformers/training_args.py, --deepspeed).
    const bool asks = p != nullptr && p->takes == file_kind::trainer && p->name != "deepspeed-chat-sft";
    if (!by_deepspeed.empty() && !asks && (p == nullptr || p->takes != file_kind::megatron)) d_->framework_is("deepspeed", by_deepspeed);
    if (p == nullptr && d_->has_read(file_kind::job)) return;  // the job file says what the program does
    if (p == nullptr)
      fail("headroom: " + at(c.words[i].line) + ": " + in_quotes(c.words[i].shown()) + " is no training program that is known here: say with --program whose arguments it takes (" +
           listed(texts(training_programs, [](const auto& t) { return t.name; })) + ")");
    script_ = script ? c.words[i].text : std::string{};
    const bool compared = std::any_of(d_->programs.begin(), d_->programs.end(), [&](const auto& given) { return file_of_path(given.file) == file_of_path(script_); });
    if (script && otherwise_ == nullptr && (!compared || p->name == "transformers")) says_whose(*p, c.words[i]);
    std::vector<shell_word> own;
    const auto* holds = script && p->name.starts_with("trl-") ? trl_own_script_of(c.words[i].text, words) : nullptr;
    if (holds != nullptr) words = own = trl_own_arguments(*d_, *holds, c.words[i], words, source_);
    arguments(*p, words, script ? std::string_view{c.words[i].text} : std::string_view{});
    if (holds != nullptr) ask_trl_release(*d_, c.words[i], source_);
  }
  /// A script whose own text says what it trains.
  bool trains_by_its_text(const shell_word& script, std::span<const shell_word> words) {
    const auto* given = trl_text_beside(*d_, script.text);
    if (given == nullptr) return false;
    if (!words.empty()) fail("headroom: " + at(words[0].line) + ": " + in_quotes(words[0].shown()) + " is given to " + in_quotes(script.shown()) + ", whose text has no parser of arguments: take it out");
    if (one_process) d_->alone = draft::said{in_quotes(script.shown()), at(script.line)};
    trl_text{*d_, python_program{*d_, given->text, file_of_path(given->file), {}, d_->given}, 0}.import();
    return true;
  }
  /// A script goes by its name, which a changed copy has, too.
  void says_whose(const training_program& p, const shell_word& script) {
    if (p.name == "transformers") return says_little(script);
    const auto project = project_of(p);
    if (project.empty()) return;
    for (const auto& one : needed_releases)
      if (script.text.ends_with(one.script)) d_->least_transformers = one.transformers;
    const auto note = at(script.line) + ": " + in_quotes(script.shown()) + " is taken to be that of " + std::string{project} + ", as it is there: a copy that was changed may train another job than this";
    if (std::find(d_->notes.begin(), d_->notes.end(), note) == d_->notes.end()) d_->notes.push_back(note);
  }
  /// A script that nobody knows, and that the Trainer's arguments alone say something of: above all other notes.
  void says_little(const shell_word& script) {
    const auto note = at(script.line) + ": " + in_quotes(script.shown()) + " is no program that is known here: it has the arguments of transformers' Trainer, and is read as one that trains the model as it is by them, and does nothing else (--program says whose arguments they are)";
    if (std::find(d_->notes.begin(), d_->notes.end(), note) == d_->notes.end()) d_->notes.insert(d_->notes.begin(), note);
  }
  void arguments(const training_program& p, std::span<const shell_word> words, std::string_view script = {}) {
    const auto place = at(words.empty() ? 1 : words[0].line);
    if (!p.refused.empty()) fail("headroom: " + place + ": " + std::string{p.name} + " " + std::string{p.refused});
    if (p.name == "megatron-bridge") return bridge_run{*d_, words, source_}.import();
    if (p.name == "unsloth-cli") return import_unsloth(*d_, document_of(arguments_of(words), source_));
    switch (p.takes) {
      case file_kind::megatron: {
        const auto from = document_of(arguments_of(words), source_);
        if (p.name == "pai-megatron") return import_pai_megatron(*d_, from, script);
        const bool asks = from.root.contains("deepspeed") && std::find(d_->ignores.begin(), d_->ignores.end(), "deepspeed") == d_->ignores.end();
        if (!asks && d_->framework_is("deepspeed"))
          fail("headroom: " + place + ": Megatron's arguments have no --deepspeed, without which no configuration of DeepSpeed is used (" + d_->place_of("framework.name") + "): give it, or leave that file out");
        if (!asks && !by_deepspeed.empty() && otherwise_ != &p)
          fail("headroom: " + by_deepspeed + ": DeepSpeed's launcher starts " + in_quotes(script) + " without --deepspeed, and several have a program of this name (Megatron-LM, Megatron-DeepSpeed, DeepSpeed's Domino): say --program " + std::string{p.name} + " where it is Megatron-LM's");
        if (!asks && !detail::masks_samples(script)) return import_megatron(*d_, from, p.megatron);
        if (!asks || p.megatron != megatron_program::gpt) refuse_other_program(megatron_deepspeed, place);
        return import_megatron_deepspeed(*d_, from, script);
      }
      case file_kind::torchtitan: return torchtitan(words);
      case file_kind::deepspeed_chat: return import_deepspeed_chat(*d_, words, source_);
      case file_kind::nanotron: return nanotron_launch(*d_, words, source_);
      case file_kind::nemo_rl: return nemo_launch(*d_, words, script, source_);
      case file_kind::verl:
        if (script == verl_tuning || script.ends_with(verl_tuning_script)) return import_verl_sft(*d_, words, source_);
        return import_verl(*d_, words, source_, script == verl_detached || script.ends_with(verl_detached_script));
      case file_kind::openrlhf: return import_openrlhf(*d_, words, source_, p.name == "openrlhf-sft" ? openrlhf_trainer::sft : p.name == "openrlhf-rm" ? openrlhf_trainer::reward : p.name == "openrlhf-dpo" ? openrlhf_trainer::dpo : openrlhf_trainer::online);
      default: break;
    }
    if (words.empty() && !d_->trainer)
      fail("headroom: " + place + ": " + (script.empty() ? std::string{p.name} : in_quotes(script)) + " is started without arguments, which would say the model and the batch: give the command whole, or the file that they stand in");
    if (p.name == "llama-factory" && !words.empty() && configures(words[0])) return factory(p, words);
    std::vector<shell_word> files;
    auto all = arguments_of(words, &files);
    if (p.name == "deepspeed-chat-sft" && otherwise_ != &p) check_first_step(*d_, all, place);
    bool configured = false;
    for (const auto& f : files) {
      if (f.known() && !configures(f)) fail("headroom: " + at(f.line) + ": " + in_quotes(f.shown()) + " is no argument of " + std::string{p.name} + "'s, which begin with two dashes: take it out");
      if (configures(f)) named(file_kind::trainer, {"", {f}, f.line}), configured = true;
    }
    std::erase_if(all, [&](const argument& a) {
      if (a.name != "config") return false;
      named(file_kind::trainer, a);
      return configured = true;
    });
    if (configured && !d_->trainer && p.name.starts_with("trl-")) return;  // it is asked for: without it the other arguments may say what they do not mean
    if (p.name == "llama-factory" && !all.empty()) say_old_cutoff(script, all, words[0].line);
    const bool brought = !words.empty() && !path_end(script, p.flash).empty() && flash(p, all, words[0].line);
    if (!all.empty() || files.empty() || (!p.method.empty() && d_->trainer)) trainer_arguments(p, std::move(all));
    if (brought && p.name == "fastchat") patched(at(words[0].line));
  }
  /// Adds the kernel that a script trains with, where its arguments do not name one. FastChat's puts it in the place of Llama's attention alone
  /// (fastchat/train/llama2_flash_attn_monkey_patch.py): a model of another class keeps transformers' own.
  static bool flash(const training_program& p, std::vector<argument>& all, int line) {
    constexpr std::string_view others = "baichuan|bloom|chatglm|cohere|command-r|deepseek-moe|deepseek-v|falcon|gemma|glm-|gpt|granite|internlm|mistral|mixtral|mpt-|olmo|opt-|phi-|pythia|qwen|stablelm|starcoder";
    for (const auto& a : all) {
      if (a.name == "attn_implementation" || a.name == "attn-implementation") return false;
      if (p.name != "fastchat" || a.values.empty() || (a.name != "model_name_or_path" && a.name != "model-name-or-path")) continue;
      auto name = a.values[0].text;
      for (auto& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      for (const auto other : words_between_bars(others))
        if (name.find(other) != std::string::npos && name.find("llama") == std::string::npos && name.find("vicuna") == std::string::npos) return false;
    }
    all.push_back({"attn_implementation", {{"flash_attention_2", line}}, line});
    return true;
  }
  /// FastChat's patch of LlamaAttention.forward: transformers 4.36 makes its layers of LlamaSdpaAttention, which has a forward of its own, and 4.48 of LlamaAttention again,
  /// with position_embeddings, that the patch does not take (transformers models/llama/modeling_llama.py, v4.35.2, v4.36.2, v4.47.1, v4.48.0).
  void patched(const std::string& place) {
    d_->releases.push_back({"transformers", 436, place, "the kernel that FastChat's script puts in the place of Llama's attention is used before transformers 4.36 (2023-12), and has no effect since", false,
                            [](draft& d, const std::string&) { if (!d.place_of("attention").starts_with("--set")) d.job.erase("attention"); }});
    d_->releases.push_back({"transformers", 448, place, "the kernel that FastChat's script puts in the place of Llama's attention ends a run since transformers 4.48 (2025-01)", false,
                            [](draft&, const std::string& at) { fail("headroom: " + at + ": the kernel that FastChat's script puts in the place of Llama's attention does not take position_embeddings, which transformers 4.48 and later hand to it: the run ends there; fastchat/train/train.py does not, nor does an older transformers"); },
                            [](const draft& d) { return d.find({"environment", "transformers"}) != nullptr; }});
  }
  /// LLaMA-Factory's FILE key=value … (src/llamafactory/hparams/parser.py, read_args).
  void factory(const training_program& p, std::span<const shell_word> words) {
    named(file_kind::trainer, {"", {words[0]}, words[0].line});
    std::vector<argument> over;
    for (const auto& w : words.subspan(1)) {
      const auto equals = w.text.find('=');
      const bool pair = equals != std::string::npos && !w.text.starts_with('-');
      if (pair) over.push_back({w.text.substr(0, equals), {{w.text.substr(equals + 1), w.line}}, w.line});
      if (!pair && w.known()) fail("headroom: " + at(w.line) + ": " + in_quotes(w.shown()) + " stands beside a configuration, where LLaMA-Factory takes key=value alone");
    }
    if (!over.empty()) trainer_arguments(p, std::move(over));
  }
  void trainer_arguments(const training_program& p, std::vector<argument> all) {
    for (auto& a : all) std::replace(a.name.begin(), a.name.end(), '-', '_');
    for (const auto& a : all)
      if (must_be_known(a.name)) check_known(a, source_);
    auto from = document_of(all, source_);
    for (const auto& a : all) {
      if (a.name == "model_name_or_path" && a.values.size() > 1)  // argparse: "unrecognized arguments"
        fail("headroom: " + at(a.line) + ": " + in_quotes(a.values[1].shown()) + " stands behind the model's name and belongs to no argument, where the program ends: take it out");
      if (!p.lora.targets_by_words || a.name != p.lora.targets) continue;
      auto& words = from.root[a.name] = json_value::array();
      for (const auto& w : a.values) words.push_back(w.shown());
    }
    for (auto& [key, value] : from.root.items())  // "True" and "none" are words on a command line
      if (value.is_string()) {
        const auto& word = value.get_ref<const std::string&>();
        if (word == "True" || word == "true") value = true;
        else if (word == "False" || word == "false") value = false;
      }
    auto whole = d_->trainer ? *d_->trainer : from;
    if (d_->trainer) merge(whole, from);
    if (d_->programs.empty()) return import_trainer(*d_, whole, &p);
    const auto with = changed_copy{*d_, p, whole}.compared(script_);
    import_trainer(*d_, whole, &with);
  }
  /// --section.key=value beside a configuration.
  void torchtitan(std::span<const shell_word> words) {
    auto all = arguments_of(words);
    std::erase_if(all, [&](const argument& a) {
      if (a.name != "job.config_file" && a.name != "job.config-file") return false;
      named(file_kind::torchtitan, a);
      return true;
    });
    const auto from = torchtitan_arguments(*d_, all, source_);
    if (from.root.empty() && d_->torchtitan) return;
    auto whole = d_->torchtitan ? *d_->torchtitan : document{.source = source_, .root = json_value::object(), .lines = {}};
    whole.root.merge_patch(from.root);
    if (whole.source == from.source) whole.lines.insert(from.lines.begin(), from.lines.end());
    import_torchtitan(*d_, whole);
  }

 private:
  draft* d_;
  std::string source_;
  const training_program* otherwise_;
  std::string script_;  ///< that is started
  mutable std::map<std::string, const training_program*> by_text_;
};

}  // namespace detail
}  // namespace headroom::io
