// Distributed under the Boost Software License, Version 1.0.
// What in a program's text shapes a training's memory: fields that its command line fills, with their defaults, and statements that load, freeze, cast,
// adapt or checkpoint the model. Two copies of a program that have the same of both train the same.
#pragma once

#include <headroom/io/syntax/python_values.hpp>

#include <algorithm>
#include <cstdint>

namespace headroom::io::detail {

/// A field of a dataclass, or an argument of a parser.
struct program_field {
  std::string name;
  python_value value;  ///< nothing: it is computed
  int line{};
};

/// Words by which a statement is one that shapes memory, and those by which it is none.
inline constexpr std::string_view shaping_words =
    "requires_grad|requires_grad_|from_pretrained|from_config|get_peft_model|LoraConfig|PeftModel|prepare_model_for_kbit_training|prepare_model_for_int8_training|BitsAndBytesConfig|gradient_checkpointing|gradient_checkpointing_enable|"
    "half|to|bfloat16|float16|resize_token_embeddings|use_cache|attn_implementation|_attn_implementation|compile|autocast|enable_input_require_grads|load_in_4bit|load_in_8bit|modules_to_save|optimizers|create_optimizer|"
    "replace_llama_attn_with_flash_attn|replace_llama_attn|use_flash_attention_2|freeze|unfreeze|dequantize|quantization_config|torch_dtype";
inline constexpr std::string_view shapeless_words = "print|rank0_print|logger|logging|warnings|assert|AutoTokenizer|AutoProcessor|tokenizer|processor|preprocess";

/// Arguments of from_pretrained that choose where it loads from.
inline constexpr std::string_view shapeless_arguments = "trust_remote_code|cache_dir|token|use_auth_token|revision|local_files_only";
/// Names whose home counts: another module's are others.
inline constexpr std::string_view shaping_imports = "LoraConfig|get_peft_model|prepare_model_for_kbit_training|prepare_model_for_int8_training|BitsAndBytesConfig|PeftModel";

inline bool shapes_memory(const python_statement& s) {
  const bool imports = s.begins("from") || s.begins("import");
  if (s.begins("class") || s.begins("def") || (s.tokens.size() > 1 && is_mark(s.tokens[1], ":"))) return false;
  bool shapes = false, trains = false, other = false;
  for (std::size_t i = 0; i < s.tokens.size(); ++i) {
    if (s.tokens[i].is != python_word::name) continue;
    const std::string_view name = s.tokens[i].text;
    if (imports) {
      shapes = shapes || among_words(shaping_imports, name);
      continue;
    }
    other = other || among_words(shapeless_words, name);
    trains = trains || (name.ends_with("Trainer") && i + 1 < s.tokens.size() && is_mark(s.tokens[i + 1], "("));
    shapes = shapes || among_words(shaping_words, name) || (name.starts_with("replace_") && name.find("attn") != std::string_view::npos) || name.starts_with("apply_liger");
  }
  return trains || (shapes && !other);
}
inline std::uint64_t mixed(std::uint64_t h, const python_statement& s) {  // FNV-1a
  bool imported = false;  // what else is imported does not matter
  for (std::size_t i = 0; i < s.tokens.size(); ++i) {
    const auto& t = s.tokens[i];
    if (is_mark(t, ",") && i + 1 < s.tokens.size() && (is_mark(s.tokens[i + 1], ")") || is_mark(s.tokens[i + 1], "]"))) continue;
    if (i + 1 < s.tokens.size() && is_mark(s.tokens[i + 1], "=") && among_words(shapeless_arguments, t.text) && i > 0 && (is_mark(s.tokens[i - 1], "(") || is_mark(s.tokens[i - 1], ","))) {
      while (i + 1 < s.tokens.size() && !is_mark(s.tokens[i + 1], ",") && !is_mark(s.tokens[i + 1], ")")) ++i;
      if (i + 1 < s.tokens.size() && is_mark(s.tokens[i + 1], ",")) ++i;
      continue;
    }
    if (s.begins("from")) {
      imported = imported || t.text == "import";
      if (imported && !among_words(shaping_imports, t.text)) continue;
    }
    for (const char c : t.text + " ") h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return h;
}
struct shaping_statement {
  std::uint64_t number{};  ///< of its words, without the spaces, quotes and last commas that people write differently, and of the branches around it
  const python_statement* is{};
};
/// Those of a text, without what prepares data.
inline std::vector<shaping_statement> shaping_statements(std::span<const python_statement> all, const python_values& values) {
  std::vector<shaping_statement> r;
  const auto of_data = [&](std::size_t h) {
    if (all[h].tokens.size() < 2) return false;
    const std::string_view name = all[h].tokens[1].text;
    for (const std::string_view part : {"Dataset", "Collator", "preprocess", "tokenize", "collate"})
      if (name.find(part) != std::string_view::npos) return true;
    return false;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!shapes_memory(all[i])) continue;
    const auto& around = values.around(i);
    if (std::any_of(around.begin(), around.end(), of_data)) continue;
    auto number = mixed(14695981039346656037ULL, all[i]);
    for (const auto h : around)
      if (!all[h].begins("def") && !all[h].begins("class")) number = mixed(number, all[h]);
    r.push_back({number, &all[i]});
  }
  return r;
}

/// field(default=X), field(default_factory=lambda: X), X.
inline python_value default_of(std::span<const python_token> t, const python_values& values, std::size_t at) {
  if (t.size() < 3 || !(t[0].text == "field" || t[0].text == "Field") || !is_mark(t[1], "(")) return values.value(t, at);
  for (const auto part : between_commas(t.subspan(2, t.size() - 3))) {
    if (part.size() < 3 || !is_mark(part[1], "=")) continue;
    if (part[0].text == "default") return values.value(part.subspan(2), at);
    if (part[0].text == "default_factory" && part.size() > 4 && part[2].text == "lambda") return values.value(part.subspan(4), at);
  }
  return {};
}
/// The fields of a text's classes that are annotated, and arguments of its parsers.
inline std::vector<program_field> program_fields(std::span<const python_statement> all, const python_values& values) {
  std::vector<program_field> r;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto t = std::span{all[i].tokens};
    const auto around = values.scopes(i);
    if (!around.empty() && all[around.back()].begins("class") && t.size() > 4 && t[0].is == python_word::name && is_mark(t[1], ":")) {
      std::size_t k = 2;
      while (k < t.size() && !is_mark(t[k], "=")) k = is_mark(t[k], "(") || is_mark(t[k], "[") || is_mark(t[k], "{") ? past_bracket(t, k) : k + 1;
      if (k + 1 < t.size()) r.push_back({t[0].text, default_of(t.subspan(k + 1), values, i), t[0].line});
    }
    std::vector<python_call> calls;
    add_python_calls(calls, all[i], i);
    for (const auto& c : calls) {
      if (c.name() != "add_argument") continue;
      program_field f{.name = {}, .value = {}, .line = c.line};
      for (const auto& a : c.arguments) {
        if (a.name.empty() && a.value.size() == 1 && a.value[0].text.starts_with("--")) f.name = a.value[0].text.substr(2);
        if (a.name == "default") f.value = values.value(a.value, i);
      }
      std::replace(f.name.begin(), f.name.end(), '-', '_');
      if (!f.name.empty()) r.push_back(std::move(f));
    }
  }
  return r;
}

}  // namespace headroom::io::detail
