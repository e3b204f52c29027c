// Distributed under the Boost Software License, Version 1.0.
// A DeepSpeed configuration (JSON) as part of a job. Its keys are read by io/options/deepspeed.hpp, and judged here, so that --ignore can pass
// them over.
#pragma once

#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/options/deepspeed_keys.hpp>

namespace headroom::io {

/// Who fills in "auto": the Hugging Face Trainer, or nobody. DeepSpeed itself drops such keys inside a section, so that its defaults
/// hold (deepspeed/runtime/config_utils.py, DeepSpeedConfigModel), and stops at one at top level.
enum class auto_means : std::uint8_t { by_trainer, by_deepspeed };

namespace detail {

/// Its keys, ZeRO's also with "stage3_" before them.
struct deepspeed_lists {
  key_lists all{deepspeed_read, deepspeed_passed};

  static std::string plain(std::string_view name) {
    const auto dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string{name} : deepspeed_name(std::string{name.substr(0, dot)}, std::string{name.substr(dot + 1)});
  }
  [[nodiscard]] bool reads(std::string_view name) const { return all.reads(plain(name)); }
  [[nodiscard]] bool opens(std::string_view name) const { return all.opens(name); }
  [[nodiscard]] key_rule rule(const json_value& section, std::string_view name, const json_value& value) const { return deepspeed_rule(section, plain(name), value); }
  [[nodiscard]] std::string meant(std::string_view path, std::string_view key) const {
    constexpr std::string_view prefix = "stage3_";
    const bool third = path == "zero_optimization" && key.starts_with(prefix);
    const auto found = all.meant(path, third ? key.substr(prefix.size()) : key);
    return third && !found.empty() ? std::string{prefix} + found : found;
  }
};

inline void drop_auto(json_value& section, const std::string& path) {
  for (auto it = section.begin(); it != section.end();) {
    if (it->is_object()) drop_auto(*it, joined(path, it.key()));
    const bool is_auto = it->is_string() && *it->get_ptr<const json_value::string_t*>() == "auto";
    if (is_auto && path.empty()) fail("headroom: " + it.key() + " must not be \"auto\": DeepSpeed by itself has no Trainer that fills it in");
    it = is_auto ? section.erase(it) : std::next(it);
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
    if (means == auto_means::by_deepspeed) detail::drop_auto(options, "");
    if (detail::deepspeed_slower(options)) d.notes.push_back(from.source + ": DeepSpeed's timers wait for the GPU: a step takes longer than predicted");
    // Whether anybody reads activation_checkpointing is known when the draft is settled.
    auto layers = options.contains("activation_checkpointing") ? options["activation_checkpointing"] : json_value{};
    options.erase("activation_checkpointing");
    detail::judge_keys(d, from, options, "", detail::deepspeed_lists{});
    if (!layers.is_null()) options["activation_checkpointing"] = std::move(layers);
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
