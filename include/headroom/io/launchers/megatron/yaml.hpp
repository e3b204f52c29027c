// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments as its functional tests write them.
#pragma once

#include <headroom/io/launchers/arguments.hpp>

namespace headroom::io {

/// Megatron's arguments as YAML: names with their dashes at top level or under MODEL_ARGS, the environment under ENV_VARS
/// (tests/functional_tests/test_cases/*/model_config.yaml).
inline document megatron_yaml(const document& from) {
  document d{.source = from.source, .root = json_value::object(), .lines = {}};
  const bool nested = from.root.contains("MODEL_ARGS");
  const auto& all = nested ? from.root["MODEL_ARGS"] : from.root;
  with_places(from, [&] {
    if (!all.is_object()) wrong_value("MODEL_ARGS", "an object", all);
    for (const auto& [key, value] : from.root.items())
      if (nested && key.starts_with("MODEL_ARGS_")) fail("headroom: " + from.place(key) + ": the file has several runs, MODEL_ARGS and " + key + " among them, and a job is one: take the others out");
    for (const auto& [key, value] : all.items()) {
      if (!key.starts_with("--")) {
        if (nested) fail("headroom: " + joined("MODEL_ARGS", key) + " must begin with two dashes");
        continue;
      }
      const auto name = key.substr(2);
      const auto word = value.is_string() ? value.get<std::string>() : std::string{};
      d.root[name] = word == "true" || word == "false" ? json_value(word == "true") : value.is_string() ? typed(word) : value;
      const auto place = from.lines.find(nested ? "MODEL_ARGS." + key : key);
      if (place != from.lines.end()) d.lines[name] = place->second;
    }
  });
  return d;
}

}  // namespace headroom::io
