// Distributed under the Boost Software License, Version 1.0.
// Names of layers as launchers list them.
#pragma once

#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

/// The first Qwen's MLP is c_proj(w1(x) · silu(w2(x))) (Qwen-7B modeling_qwen.py, QWenMLP): elsewhere w2 projects down. Nobody else has c_attn
/// beside them.
inline json_value with_qwen_names(json_value names) {
  if (std::find(names.begin(), names.end(), "c_attn") == names.end()) return names;
  for (auto& name : names) {
    if (name == "w1") name = "up_proj";
    if (name == "w2") name = "gate_proj";
  }
  return names;
}

/// Names between commas, blanks or bars, or a list; "all" and "all-linear" are the word.
inline json_value names_in(const json_value& said, const std::string& path) {
  if (said.is_array()) {
    if (said.size() == 1 && said[0].is_string()) return names_in(said[0], path);
    return with_qwen_names(said);
  }
  auto list = json_value::array();
  std::string text = string_at(said, path, "names between commas or a list");
  if (text == "all" || text == "all-linear") return json_value("all-linear");
  for (auto& c : text)
    if (c == '|') c = ' ';
  for_each_word(text, [&](std::string_view w) { list.push_back(w); });
  return with_qwen_names(list);
}

/// PEFT takes "all-linear" for every linear layer where it is the whole value; in a list it is a name like others, and no layer has it
/// (peft/tuners/tuners_utils.py _maybe_include_all_linear_layers, 5d602fdbf of 2026-08-21).
inline void refuse_listed_all_linear(const json_value& said, std::string_view key, const std::string& place, std::string_view all = "\"all-linear\"") {
  if (!said.is_array() || std::find(said.begin(), said.end(), "all-linear") == said.end()) return;
  fail("headroom: " + place + ": " + std::string{key} + " = " + said.dump() + " has \"all-linear\" in a list, where PEFT looks for layers of that name and no model has any: say " + std::string{all} + " alone, or the layers' names alone");
}

/// The names of a pattern that ends as one of them does, `.*\.(q_proj|v_proj)$`: PEFT matches the whole of a module's path with it
/// (tuners/tuners_utils.py, check_target_module_exists). Empty for other patterns.
inline json_value names_of_pattern(std::string_view text) {
  const auto drop = [&](std::string_view part, bool front) {
    if (front ? !text.starts_with(part) : !text.ends_with(part)) return false;
    front ? text.remove_prefix(part.size()) : text.remove_suffix(part.size());
    return true;
  };
  drop("^", true);
  if (!drop(".*\\.", true) && !drop(".*", true)) return json_value::array();
  drop("$", false);
  if (drop("(?:", true) || drop("(", true)) {
    if (!drop(")", false)) return json_value::array();
  }
  auto names = json_value::array();
  for (bool more = true; more;) {
    const auto bar = text.find('|');
    const auto one = text.substr(0, bar);
    if (one.empty() || one.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != std::string_view::npos) return json_value::array();
    names.push_back(one);
    more = bar != std::string_view::npos;
    text.remove_prefix(more ? bar + 1 : text.size());
  }
  return names;
}

/// A list as argparse makes it of the shell's words (huggingface/trl 1.10 trl/trainer/model_config.py, ModelConfig): a comma is a part of its name, and a blank
/// between quotes, and no layer has it then. One word alone is taken out of its list (__post_init__), and PEFT reads it as an expression for a module's whole path.
inline json_value names_by_words(draft& d, const json_value& said, const std::string& path, const std::string& place) {
  std::vector<std::string> words;
  if (said.is_array()) {
    each_at(said, path, "names", [&](const json_value& one, const std::string& at) { words.push_back(string_at(one, at)); });
  } else {
    words.push_back(string_at(said, path, "names"));
  }
  if (words.size() == 1) {
    if (words[0] == "all-linear") return words[0];
    if (const auto names = names_of_pattern(words[0]); !names.empty()) return names;
    fail("headroom: " + place + ": " + path + " " + in_quotes(words[0]) + " alone is an expression for a module's whole path, which no layer has, and PEFT ends there: say all-linear, several names with blanks between them, or .*\\.NAME");
  }
  auto list = json_value::array();
  std::string lost;
  for (const auto& one : words)
    if (one.find_first_of(", ") == std::string::npos)
      list.push_back(one);
    else
      lost += (lost.empty() ? "" : " ") + one;
  if (list.empty()) fail("headroom: " + place + ": " + path + ": a comma, or a blank between quotes, is a part of a name, no layer is called so, and PEFT ends there: put blanks between the names, and no quotes around them");
  if (!lost.empty()) d.notes.push_back(place + ": " + path + ": a comma, or a blank between quotes, is a part of a name, and no layer is called " + lost + ": " + list.dump() + " alone have adapters");
  return with_qwen_names(list);
}

}  // namespace headroom::io::detail
