// Distributed under the Boost Software License, Version 1.0.
// Commands that start a recipe of their own program: `litgpt finetune …`, `tune run …`.
#pragma once

#include <headroom/io/launchers/launcher_options.hpp>
#include <headroom/io/launchers/litgpt/import.hpp>
#include <headroom/io/launchers/torchtune/import.hpp>

#include <functional>

namespace headroom::io::detail {

/// The configuration that files gave, with what a command says over it.
inline document recipe_with(const draft& d, const std::string& source) { return d.recipe ? *d.recipe : document{.source = source, .root = json_value::object(), .lines = {}}; }
inline void say_over(document& whole, const std::string& source, const argument& a, std::string_view class_key) {
  const std::string_view name = a.name;
  check_parts(name, source + ":" + std::to_string(a.line));
  const bool tune = class_key == "_component_";
  if (!tune || !(never_matters(torchtune_passed, name) || never_matters(torchtune_passed, name.substr(0, name.find('.'))))) check_known(a, source);
  std::string word;
  for (const auto& v : a.values) word += (word.empty() ? "" : " ") + v.shown();
  put_at(whole.root, a.name, a.values.empty() ? json_value(true) : yaml_word(word), class_key);
  if (whole.source == source) whole.lines[a.name] = a.line;
}

/// Whether a command of litgpt trains: finetune, finetune_lora, finetune_full, finetune_adapter, pretrain.
inline bool litgpt_trains(std::string_view command) { return command == "pretrain" || command.starts_with("finetune"); }

/// litgpt COMMAND [CHECKPOINT] --config FILE --train.micro_batch_size N; before 2024-06 `litgpt finetune lora`.
inline void litgpt_launch(draft& d, const shell_command& c, std::size_t i, const std::string& source) {
  const auto place = source + ":" + std::to_string(c.words[i].line);
  auto command = c.words[i++].text;
  if (command == "finetune" && i < c.words.size() && among_words("lora|full|adapter|adapter_v2", c.words[i].text)) command += "_" + c.words[i++].text;
  if (command != "finetune" && command != "finetune_lora" && command != "finetune_full" && command != "pretrain") fail("headroom: " + place + ": litgpt " + command + " is not modelled by this version; accepted: finetune_lora, finetune_full, pretrain");
  const auto what = command == "pretrain" ? litgpt_command::pretrain : command == "finetune_full" ? litgpt_command::full : litgpt_command::lora;
  std::vector<shell_word> others;
  auto whole = recipe_with(d, source);
  for (const auto& a : arguments_of(std::span{c.words}.subspan(i), &others)) {
    if (a.name == "config" && !a.values.empty())
      d.named.push_back({file_kind::litgpt, a.values[0].shown(), source + ":" + std::to_string(a.line)});
    else
      say_over(whole, source, a, "class_path");
  }
  if (!others.empty()) say_over(whole, source, {what == litgpt_command::pretrain ? "model_name" : "checkpoint_dir", {others[0]}, others[0].line}, "class_path");
  d.recipe_read = true;
  import_litgpt(d, whole, what);
}

/// tune run [torchrun's options] RECIPE --config FILE key=value …
inline void tune_launch(draft& d, const shell_command& c, std::size_t i, const std::string& source, const std::function<void(const argument&)>& counts) {
  i = skip_options(c.words, i, source, torchrun_flags, torchrun_options, counts);
  if (i >= c.words.size()) fail("headroom: " + source + ":" + std::to_string(c.words[0].line) + ": tune run names no recipe");
  const auto recipe = file_part(c.words[i].text);
  const auto place = source + ":" + std::to_string(c.words[i].line);
  const bool alone = recipe.find("single_device") != std::string_view::npos;
  const bool quantises = recipe == "qat_distributed" || recipe == "qat_single_device";
  if (recipe.ends_with(".py") || (!recipe.starts_with("full_finetune_") && !recipe.starts_with("lora_finetune_") && !quantises))
    fail("headroom: " + place + ": the recipe " + in_quotes(c.words[i].shown()) + " is not modelled by this version; accepted: full_finetune_distributed, full_finetune_single_device, lora_finetune_distributed, lora_finetune_single_device, qat_distributed, qat_single_device");
  if (alone) d.say({"hardware", "gpus_per_node"}, 1, place);
  if (!alone && !d.open_gpus && !d.takes_all_gpus && !d.has({"hardware", "gpus_per_node"})) d.open_gpus = draft::said{"a distributed recipe needs --nproc_per_node", place};
  auto whole = recipe_with(d, source);
  for (++i; i < c.words.size(); ++i) {
    const auto& w = c.words[i];
    const auto equals = w.text.find('=');
    if (w.text == "--config" && i + 1 < c.words.size())
      d.named.push_back({file_kind::torchtune, c.words[++i].shown(), place});
    else if (w.text.starts_with("--config="))
      d.named.push_back({file_kind::torchtune, w.shown().substr(9), place});
    else if (w.text.starts_with('~'))
      say_over(whole, source, {w.text.substr(1), {{"null", w.line}}, w.line}, "_component_");
    else if (equals != std::string::npos && !w.text.starts_with('-'))
      say_over(whole, source, {w.text.substr(0, equals), {{w.text.substr(equals + 1), w.line}}, w.line}, "_component_");
    else
      fail("headroom: " + place + ": " + in_quotes(w.shown()) + " is no KEY=VALUE of torchtune's");
  }
  d.recipe_read = true;
  if (!d.recipe && !d.named.empty()) return;  // the file is asked for
  if (!quantises && whole.root.is_object()) whole.root.erase("quantizer");  // which other recipes do not read
  import_torchtune(d, whole);
  if (quantises && !d.has({"fake_quantization"})) fail("headroom: " + place + ": the recipe " + in_quotes(std::string{recipe}) + " needs a quantizer, and its configuration has none");
  // A recipe for the whole model trains adapters and base alike; one for adapters asks for them.
  if (const bool lora = recipe.starts_with("lora_"); lora != d.has({"adapter"}))
    fail("headroom: " + place + ": the recipe " + in_quotes(std::string{recipe}) + (lora ? " trains adapters, which its model does not have" : " trains the whole model, beside adapters too, which is not modelled by this version"));
}

}  // namespace headroom::io::detail
