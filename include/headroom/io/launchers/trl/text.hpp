// Distributed under the Boost Software License, Version 1.0.
// A Python text that makes one of TRL's trainers of arguments that stand in it: SFTTrainer(model="…", args=SFTConfig(…), peft_config=LoraConfig(…)). Nothing is run.
// Sources: huggingface/trl v0.12.0 to v1.9.0 and f2cd57710 of 2026-07-24, trl/trainer/{sft,dpo,grpo}_trainer.py, trl/trainer/utils.py create_model_from_path;
// huggingface/peft 5d602fdb of 2026-08-21 src/peft/tuners/lora/config.py.
#pragma once

#include <headroom/io/launchers/programs/changed_copy.hpp>
#include <headroom/io/launchers/programs/python_environment.hpp>
#include <headroom/io/launchers/programs/python_origin.hpp>
#include <headroom/io/launchers/trainer/import.hpp>
#include <headroom/io/launchers/trl/text_keys.hpp>

namespace headroom::io::detail {

class trl_text {
 public:
  trl_text(draft& d, const python_program& p, int line) : d_(&d), p_(&p), origin_(p), line_(line) {}

  /// The trainer of a call; null: none of TRL's that is read.
  static const trl_trainer* trainer_of(const python_call& c) {
    for (const auto& t : trl_text_trainers)
      if (c.name() == t.name) return &t;
    return nullptr;
  }
  void import() {
    const auto& trainer = the_trainer();
    const auto& kind = *trainer_of(trainer);
    from_ = {.source = p_->source(), .root = json_value::object(), .lines = {}};
    unchanged(trainer);
    python_environment{*d_, *p_}.import(trainer.statement);
    p_->read(from_, trainer, {.read = "max_seq_length|packing|beta|max_length|max_prompt_length", .positions = "_|_|_", .passed = trl_trainer_passed, .also = read_beside_, .last = {}});
    configured(trainer, kind);
    adapted(trainer, said(trainer, "peft_config"));
    auto program = *program_named(kind.program);
    program.dtype = text_dtype;
    program.lora.dora = text_dora;
    named_ = loaded(trainer);
    if (!named_) program.loads = {};
    check_method(trainer, kind);
    d_->notes.push_back(p_->at(trainer.line) + ": read of the text, of which nothing is run: what other files or cells change of the model or the trainer is not seen");
    import_trainer(*d_, from_, &program);
    if (named_ && !from_.root.contains(std::string{text_dtype})) date_format(kind);
  }

 private:
  using tokens = std::span<const python_token>;

  [[noreturn]] void ends(int line, const std::string& why) const { fail("headroom: " + p_->at(line) + ": " + why); }
  void refuse(const std::string& what, int line) const { d_->unmodelled_key(what, json_value("set"), p_->at(line), "it stands beside the calls that are read"); }

  /// Errors: job_error for none, for several, and for a class of the text's own.
  [[nodiscard]] const python_call& the_trainer() const {
    std::vector<const python_call*> all;
    for (const auto& c : p_->calls())
      if (trainer_of(c) != nullptr && (line_ == 0 || c.line == line_)) all.push_back(&c);
    if (all.empty()) fail("headroom: " + p_->source() + (line_ > 0 ? ":" + std::to_string(line_) : "") + ": no trainer of TRL's that is read is made here");
    for (const auto* c : all)
      for (const auto& s : p_->statements())
        if (s.begins("class") && s.tokens.size() > 1 && s.tokens[1].text == c->name()) ends(c->line, std::string{c->name()} + " is a class of this text's own, and what it trains is not read");
    if (all.size() == 1) return *all[0];
    std::string lines;
    for (const auto* c : all) lines += (lines.empty() ? "" : ", ") + std::to_string(c->line);
    ends(all[1]->line, std::to_string(all.size()) + " trainers are made in this file (lines " + lines + "): say which with --line N");
  }
  /// Errors: job_error for a statement before the training that changes what trains.
  void unchanged(const python_call& trainer) const {
    for (const auto* c : p_->called(trl_changing_calls))
      if (c->statement <= trainer.statement) refuse(c->callee, c->line);
    for (std::size_t i = 0; i <= trainer.statement; ++i) {
      const auto& t = p_->statements()[i].tokens;
      for (std::size_t k = 2; k < t.size(); ++k)
        if (is_mark(t[k], "=") && is_mark(t[k - 2], ".") && among_words(trl_changing_attributes, t[k - 1].text)) refuse(t[k - 1].text, t[k].line);
    }
  }
  /// What stands for an argument of the trainer; nothing where it is not given.
  [[nodiscard]] static tokens said(const python_call& c, std::string_view name, bool first = false) {
    for (const auto& a : c.arguments)
      if (a.name == name || (first && a.name.empty() && &a == c.arguments.data())) return a.value;
    return {};
  }
  /// All arguments of the configuration: those of the trainer's program. TrainingArguments become an SFTConfig with all of their own defaults (sft_trainer.py, to_dict).
  void configured(const python_call& trainer, const trl_trainer& kind) {
    const auto args = said(trainer, "args");
    if (args.empty()) ends(trainer.line, "the trainer is given no args: write args=" + std::string{kind.config} + "(…), whose defaults differ between releases");
    const auto& config = origin_.maker(trainer, args, kind.name == "SFTTrainer" ? "SFTConfig|TrainingArguments" : kind.config, "args");
    read_all(config);
    if (config.name() != "TrainingArguments") return;
    for (const auto* key : {"bf16", "fp16", "gradient_checkpointing"})
      if (!from_.root.contains(key)) from_.root[key] = false, from_.lines[key] = config.line;
  }
  void read_all(const python_call& c) {
    bool first = true;
    for (const auto& a : c.arguments) {
      const bool folder = std::exchange(first, false) && a.name.empty();  // output_dir
      if (folder || never_matters(trl_passed, a.name) || never_matters(transformers_passed, a.name)) continue;
      if (a.name == "model_init_kwargs") {
        initial(a, c.statement);
        continue;
      }
      if (a.name.empty() || a.name == "**") ends(a.line, c.callee + " is given arguments by " + in_quotes(python_shown(a.value)) + ", and which they are is not written there: write them out");
      put(a.name, a, c.statement);
    }
  }
  void put(const std::string& name, const python_argument& a, std::size_t statement) {
    auto v = p_->values().value(a.value, statement);
    if (!v) v = p_->values().given(name);
    if (!v) ends(a.line, name + " is computed (" + in_quotes(python_shown(a.value)) + "), and nothing is run here: say what it is with --env " + name + "=VALUE");
    if (v->is_null()) return;
    if (const auto it = from_.root.find(name); it != from_.root.end() && *it != *v) ends(a.line, name + " is " + v->dump() + " here, and " + it->dump() + " at " + from_.place(name) + ": give the text with one of them");
    from_.root[name] = std::move(*v);
    from_.lines[name] = a.line;
  }
  /// What a model that is given by its name is loaded with.
  void initial(const python_argument& a, std::size_t statement) {
    const auto v = p_->values().value(a.value, statement);
    if (!v || !(v->is_object() || v->is_null())) ends(a.line, "model_init_kwargs is computed (" + in_quotes(python_shown(a.value)) + "), and nothing is run here: write it out");
    initial_line_ = a.line;
    if (v->is_null()) return;
    for (const auto& [key, value] : v->items()) {
      if (never_matters(trl_loader_passed, key)) continue;
      if (key != "dtype" && key != "torch_dtype" && key != "attn_implementation") d_->unmodelled_key("model_init_kwargs." + key, value, p_->at(a.line));
      initial_[key == "attn_implementation" ? key : std::string{text_dtype}] = value;
    }
  }
  /// PEFT's defaults, where the script's own configuration has others.
  void adapted(const python_call& user, tokens what) {
    if (what.empty() || (what.size() == 1 && what[0].text == "None")) return;
    const auto& c = origin_.maker(user, what, "LoraConfig", "peft_config");
    document lora{.source = p_->source(), .root = json_value::object(), .lines = {}};
    p_->read(lora, c, {.read = "r|target_modules|lora_dropout|modules_to_save|use_dora", .positions = "_|r", .passed = trl_lora_passed, .also = {}, .last = {}});
    const auto hand = [&](const char* ours, const char* theirs, const json_value& otherwise) {
      const auto it = lora.root.find(theirs);
      const bool given = it != lora.root.end() && !it->is_null();
      if (!given && otherwise.is_null()) return;
      from_.root[ours] = given ? *it : otherwise;
      from_.lines[ours] = given ? lora.lines[theirs] : c.line;
    };
    from_.root["use_peft"] = true;
    from_.lines["use_peft"] = c.line;
    hand("lora_r", "r", 8);
    hand("lora_dropout", "lora_dropout", 0.0);
    hand("lora_target_modules", "target_modules", nullptr);
    hand("lora_modules_to_save", "modules_to_save", nullptr);
    hand(text_dora, "use_dora", nullptr);
    const auto it = from_.root.find("lora_target_modules");
    if (it != from_.root.end() && it->is_array() && it->size() == 1) it->push_back((*it)[0]);  // a list of one name is a list: TRL's own argument of one name is an expression
    if (it != from_.root.end() && it->is_string() && *it != "all-linear")
      d_->unmodelled_key("target_modules", *it, from_.place("lora_target_modules"), "an expression for whole names of modules: a list of names and \"all-linear\" are read");
  }
  /// The model: its name, which the trainer loads, or a call that loads it, and perhaps one that adds adapters. True: by its name.
  bool loaded(const python_call& trainer) {
    const auto what = said(trainer, "model", true), quantizer = said(trainer, "quantization_config");
    if (what.empty()) ends(trainer.line, "the trainer is given no model");
    if (const auto name = p_->values().value(what, trainer.statement); name && name->is_string()) {
      from_.root["model_name_or_path"] = *name;
      from_.lines["model_name_or_path"] = what[0].line;
      for (const auto& [key, value] : initial_.items()) from_.root[key] = value, from_.lines[key] = initial_line_;
      if (!quantizer.empty() && quantizer[0].text != "None") quantised(trainer, quantizer);
      return true;
    }
    if (const auto* adds = adds_adapters(trainer, what); adds != nullptr) {
      if (from_.root.contains("use_peft")) ends(trainer.line, "the trainer is given a peft_config beside a model that has adapters, and ends there");
      if (trainer_of(trainer)->name == "DPOTrainer") ends(adds->line, "of a model that has adapters already DPO makes a copy of them as its reference, which is not modelled by this version: hand peft_config to the trainer");
      const auto base = said(*adds, "model", true);
      auto config = said(*adds, "peft_config");
      if (config.empty() && adds->arguments.size() > 1 && adds->arguments[1].name.empty()) config = adds->arguments[1].value;
      for (const auto& a : adds->arguments)
        if (!a.name.empty() && a.name != "model" && a.name != "peft_config") d_->unmodelled_key(a.name, json_value(python_shown(a.value)), p_->at(a.line), "get_peft_model");
      origin_.untouched(trainer, what[0].text, adds->statement);
      adapted(*adds, config);
      load(*adds, base);
      if (from_.root.contains("load_in_4bit") || from_.root.contains("load_in_8bit")) ends(adds->line, "adapters that are added to a quantised model before the trainer has it are not read: hand peft_config to the trainer");
      wraps_ = true;
      return false;
    }
    load(trainer, what);
    return false;
  }
  /// The get_peft_model whose result a name is; null where it is no such call.
  [[nodiscard]] const python_call* adds_adapters(const python_call& trainer, tokens what) const {
    if (what.size() != 1) return nullptr;
    const auto at = origin_.assigned(what[0].text, trainer.statement);
    for (const auto* c : p_->called("get_peft_model"))
      if (!at.empty() && c->statement == at.back() && c->first == 2 && c->last == p_->statements()[at.back()].tokens.size() && !p_->values().conditional(at.back())) return c;
    return nullptr;
  }
  void load(const python_call& user, tokens what) {
    if (what.empty()) ends(user.line, user.callee + " is given no model");
    const auto& c = origin_.maker(user, what, "AutoModelForCausalLM.from_pretrained", "model");
    origin_.untouched(user, what[0].text, c.statement);
    document load{.source = p_->source(), .root = json_value::object(), .lines = {}};
    tokens quantizer{};
    auto plain = c;
    std::erase_if(plain.arguments, [&](const python_argument& a) { return a.name == "quantization_config" ? (quantizer = a.value, true) : false; });
    p_->read(load, plain, {.read = "pretrained_model_name_or_path|dtype|torch_dtype|attn_implementation|load_in_4bit|load_in_8bit", .positions = "pretrained_model_name_or_path", .passed = trl_loader_passed, .also = {}, .last = {}});
    for (const auto& [key, value] : load.root.items()) {
      if (value.is_null()) continue;
      const auto ours = key == "pretrained_model_name_or_path" ? std::string{"model_name_or_path"} : key == "torch_dtype" || key == "dtype" ? std::string{text_dtype} : key;
      from_.root[ours] = value;
      from_.lines[ours] = load.lines[key];
    }
    if (load.root.value("load_in_4bit", json_value(false)) == true) ends(load.lines["load_in_4bit"], "load_in_4bit without a BitsAndBytesConfig multiplies the base in float32, and what is modelled is bfloat16 (bnb_4bit_compute_dtype)");
    if (!quantizer.empty() && quantizer[0].text != "None") quantised(c, quantizer);
  }
  void quantised(const python_call& loads, tokens what) {
    const auto& c = origin_.maker(loads, what, "BitsAndBytesConfig", "quantization_config");
    document q{.source = p_->source(), .root = json_value::object(), .lines = {}};
    p_->read(q, c, {.read = "load_in_4bit|load_in_8bit|bnb_4bit_quant_type|bnb_4bit_use_double_quant|bnb_4bit_compute_dtype", .positions = {}, .passed = trl_quantizer_passed, .also = {}, .last = {}});
    if (q.root.value("load_in_4bit", json_value(false)) == true && q.root.value("bnb_4bit_compute_dtype", json_value("float32")) != "bfloat16")
      ends(c.line, "bnb_4bit_compute_dtype is " + q.root.value("bnb_4bit_compute_dtype", json_value("not said, which is float32")).dump() + ", in which the base is multiplied, and what is modelled is bfloat16");
    if (from_.root.value("bf16", json_value(true)) != true || from_.root.value("fp16", json_value(false)) == true) ends(c.line, "a quantised base beside a step that is not in bf16 is not read of a text");
    for (const auto& [theirs, ours] : {std::pair{"load_in_4bit", "load_in_4bit"}, {"load_in_8bit", "load_in_8bit"}, {"bnb_4bit_quant_type", "bnb_4bit_quant_type"}, {"bnb_4bit_use_double_quant", "use_bnb_nested_quant"}})
      if (q.root.contains(theirs)) from_.root[ours] = q.root[theirs], from_.lines[ours] = q.lines[theirs];
    if (!q.root.contains("bnb_4bit_quant_type") && q.root.value("load_in_4bit", json_value(false)) == true) from_.root["bnb_4bit_quant_type"] = "fp4", from_.lines["bnb_4bit_quant_type"] = c.line;  // BitsAndBytesConfig's own
  }
  /// What a copy of the model is loaded as, and rewards that are models.
  void check_method(const python_call& trainer, const trl_trainer& kind) const {
    if (kind.name == "SFTTrainer") return;
    const bool adapter = from_.root.contains("use_peft"), said_to = from_.root.value("beta", json_value(0)) != 0, compares = kind.name == "DPOTrainer" || from_.root.value("beta", json_value(0.04)) != 0;  // of GRPO's releases before 0.18
    if (wraps_ && said_to) ends(trainer.line, "of a model that has adapters already GRPO makes a copy of them as its reference since TRL 0.28, which is not modelled by this version: hand peft_config to the trainer");
    for (const auto* key : {"tools", "environment_factory", "rollout_func"})
      if (const auto what = said(trainer, key); !what.empty() && what[0].text != "None") ends(what[0].line, std::string{key} + ": completions of several turns are not read of a text");
    if (!adapter && compares && !(kind.name == "GRPOTrainer" && named_))
      ends(trainer.line, "without a peft_config the trainer loads a reference by itself, in a format that differs between releases, which is not read of a text: with a peft_config there is none, nor with beta=0 of GRPO");
    for (const auto& t : said(trainer, "reward_funcs", false))
      if (t.is == python_word::text || t.is == python_word::open_text || t.text.ends_with("odel")) ends(t.line, "a reward function that is a model (" + in_quotes(t.text) + ") is not read of a text: functions are");
  }
  /// create_model_from_path: of a name, as transformers has it before 0.26, "auto" in 0.26, fp32 since 0.27.
  void date_format(const trl_trainer& kind) {
    const named_values v{from_, std::int64_t{1} << 31};
    trl_defaults releases{*d_, v, program_named(kind.program)->method};
    releases.since(26, "TRL 0.26 (2025-12) loads a model that is given by its name as it is stored, and no release before", nullptr, [](draft& d, const std::string& place) { d.loaded = draft::said{"half", place}; }, loads_as_it_computes);
    releases.since(27, "TRL loads a model that is given by its name in fp32 since 0.27 (2026-01)", nullptr, [](draft& d, const std::string& place) { d.loaded = draft::said{"fp32", place}; }, loads_as_it_computes);
  }

  static constexpr std::array<passed_key, 8> read_beside_{{{"model", "*"}, {"args", "*"}, {"peft_config", "*"}, {"reward_funcs", "*"}, {"quantization_config", "*"}, {"tools", "*"}, {"rollout_func", "*"}, {"environment_factory", "*"}}};
  /// Names that no release of TRL has, and that say nothing of one: the calls' own arguments have none of TRL's ages.
  static constexpr const char *text_dtype = "dtype_of_from_pretrained", *text_dora = "use_dora_of_peft";

  draft* d_;
  const python_program* p_;
  python_origin origin_;
  int line_;
  document from_;
  json_value initial_ = json_value::object();  ///< model_init_kwargs
  int initial_line_{};
  bool named_{}, wraps_{};  ///< the model is given by its name; adapters are added before the trainer has it
};

/// Whether a text makes a trainer of TRL's of arguments of its own, and not beside Unsloth.
inline bool is_trl_text(const python_program& p) {
  const bool unsloth = std::any_of(p.calls().begin(), p.calls().end(), [](const python_call& c) { return c.callee.starts_with("Fast") && c.callee.find("Model.") != std::string::npos; });
  return !unsloth && std::any_of(p.calls().begin(), p.calls().end(), [](const python_call& c) { return trl_text::trainer_of(c) != nullptr; });
}
/// The text of a script that was given beside its command, and says itself what it trains: it makes one of TRL's trainers, and has no parser. Null: it is none.
inline const draft::program_text* trl_text_beside(draft& d, std::string_view script) {
  const auto it = std::find_if(d.programs.begin(), d.programs.end(), [&](const auto& given) { return file_of_path(given.file) == file_of_path(script); });
  if (it == d.programs.end()) return nullptr;
  const python_program text{d, it->text, file_of_path(it->file), {}, d.given};
  return is_trl_text(text) && text.called("TrlParser|HfArgumentParser|ArgumentParser|parse_args|Fire|command|option").empty() ? &*it : nullptr;
}

}  // namespace headroom::io::detail
