// Distributed under the Boost Software License, Version 1.0.
// A DeepSpeed configuration (JSON) as part of a job. Its keys are read by io/options/deepspeed.hpp.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io {

/// Who fills in "auto": the Hugging Face Trainer, or nobody. DeepSpeed itself drops such keys inside a section, so that its defaults
/// hold (deepspeed/runtime/config_utils.py, DeepSpeedConfigModel), and stops at one at top level.
enum class auto_means : std::uint8_t { by_trainer, by_deepspeed };

namespace detail {

inline void drop_auto(json_value& section, const std::string& path) {
  for (auto it = section.begin(); it != section.end();) {
    if (it->is_object()) drop_auto(*it, joined(path, it.key()));
    const bool is_auto = it->is_string() && *it->get_ptr<const json_value::string_t*>() == "auto";
    if (is_auto && path.empty()) fail("headroom: " + it.key() + " must not be \"auto\": DeepSpeed by itself has no Trainer that fills it in");
    it = is_auto ? section.erase(it) : std::next(it);
  }
}

}  // namespace detail

/// Throws job_error for what is no object; its keys are judged when the draft is settled.
inline void import_deepspeed(draft& d, const document& from, auto_means means = auto_means::by_trainer) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("a DeepSpeed configuration", "an object", from.root);
    auto options = from.root;
    if (means == auto_means::by_deepspeed) detail::drop_auto(options, "");
    d.framework_is("deepspeed", from.source);
    if (!d.has({"framework", "options"})) d.say({"framework", "options"}, json_value::object(), from.source);
    // Sections are merged a key at a time, so that each has its line.
    for (const auto& [key, value] : options.items()) {
      if (key.starts_with('_')) continue;  // a comment, in a format that has none
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
