// Distributed under the Boost Software License, Version 1.0.
// A DeepSpeed configuration (JSON) as part of a job. Its keys are read by io/options/deepspeed.hpp, and judged here, so that --ignore can pass
// them over.
#pragma once

#include <headroom/io/launchers/draft.hpp>
#include <headroom/io/options/deepspeed_keys.hpp>

namespace headroom::io {

/// Who fills in "auto": the Hugging Face Trainer, or nobody. DeepSpeed itself drops such keys inside a section, so that its defaults
/// hold (deepspeed/runtime/config_utils.py, DeepSpeedConfigModel), and stops at one at top level.
enum class auto_means : std::uint8_t { by_trainer, by_deepspeed };

namespace detail {

template <class List>
bool among_list(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The key of a section that a misspelt one probably is; ZeRO's also with "stage3_".
inline std::string meant_in_deepspeed(const std::string& path, const std::string& key) {
  std::vector<std::string_view> all;
  const auto add = [&](std::string_view name) {
    const bool inside = path.empty() || (name.starts_with(path) && name.size() > path.size() && name[path.size()] == '.');
    if (!inside) return;
    if (!path.empty()) name.remove_prefix(path.size() + 1);
    all.push_back(name.substr(0, name.find('.')));
  };
  for (const auto name : deepspeed_read) add(name);
  for (const auto& k : deepspeed_passed) add(k.name);
  const std::string prefix = path == "zero_optimization" && key.starts_with("stage3_") ? "stage3_" : "";
  const auto meant = closest(std::string_view{key}.substr(prefix.size()), all);
  return meant.empty() ? std::string{} : prefix + std::string{meant};
}

inline void drop_auto(json_value& section, const std::string& path) {
  for (auto it = section.begin(); it != section.end();) {
    if (it->is_object()) drop_auto(*it, joined(path, it.key()));
    const bool is_auto = it->is_string() && *it->get_ptr<const json_value::string_t*>() == "auto";
    if (is_auto && path.empty()) fail("headroom: " + it.key() + " must not be \"auto\": DeepSpeed by itself has no Trainer that fills it in");
    it = is_auto ? section.erase(it) : std::next(it);
  }
}

/// Takes out of a section what is ignored, as asked, and comments, in a format that has none. Throws job_error for keys that are neither
/// read nor harmless.
inline void judge_deepspeed(draft& d, const document& from, json_value& section, const std::string& path) {
  for (auto it = section.begin(); it != section.end();) {
    const auto key = it.key();
    if (key.starts_with('_')) {
      it = section.erase(it);
      continue;
    }
    const auto name = deepspeed_name(path, key), shown = joined(path, key);
    const bool listed_inside = among_list(deepspeed_sections, name) && (it->is_object() || it->is_null());
    if (listed_inside || among_list(deepspeed_read, name) || name == "zero_optimization") {
      if (it->is_object()) judge_deepspeed(d, from, *it, shown);
      ++it;
      continue;
    }
    const auto rule = deepspeed_rule(section, name, *it);
    if (rule == key_rule::passed || (rule == key_rule::refused && path == "activation_checkpointing")) {  // no Trainer reads that section
      ++it;
      continue;
    }
    if (rule == key_rule::refused)
      d.unmodelled_key(shown, *it, from.place(shown));
    else
      d.unknown_key(shown, from.place(shown), meant_in_deepspeed(path, key));
    it = section.erase(it);
  }
}

}  // namespace detail

/// Throws job_error for what is no object, and for keys that are neither read nor harmless; values are read when the draft is settled.
inline void import_deepspeed(draft& d, const document& from, auto_means means = auto_means::by_trainer) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("a DeepSpeed configuration", "an object", from.root);
    auto options = from.root;
    if (options.contains("bfloat16")) {  // its name before "bf16"
      if (!options.contains("bf16")) options["bf16"] = options["bfloat16"];
      options.erase("bfloat16");
    }
    detail::judge_deepspeed(d, from, options, "");
    if (means == auto_means::by_deepspeed) detail::drop_auto(options, "");
    d.framework_is("deepspeed", from.source);
    if (!d.has({"framework", "options"})) d.say({"framework", "options"}, json_value::object(), from.source);
    // Sections are merged a key at a time, so that each has its line.
    for (const auto& [key, value] : options.items()) {
      if (!value.is_object()) {
        d.say({"framework", "options", key}, value, from.place(key));
        continue;
      }
      if (!d.has({"framework", "options", key})) d.say({"framework", "options", key}, json_value::object(), from.place(key));
      for (const auto& [inner, said] : value.items()) d.say({"framework", "options", key, inner}, said, from.place(key + "." + inner));
    }
  });
}

}  // namespace headroom::io
