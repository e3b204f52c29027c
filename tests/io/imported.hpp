// Distributed under the Boost Software License, Version 1.0.
// Jobs from texts, as `headroom import` makes them of files.
#pragma once

#include <headroom/io/import.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>

#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

namespace imported {

using namespace headroom;

struct text {
  std::string file, said;
};

inline io::import_settings settings(io::auto_means means = io::auto_means::by_trainer) {
  io::import_settings with{.automatic = means, .base = "/nonexistent/folder"};
#if HEADROOM_HAS_YAML
  with.yaml = io::parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = io::parse_toml;
#endif
  return with;
}

/// The draft of files, then KEY=VALUE each; on an H100 where nothing says otherwise.
inline io::draft draft_of(const std::vector<text>& files, const std::vector<std::string>& set = {}, io::auto_means means = io::auto_means::by_trainer, const std::vector<std::string>& ignores = {}) {
  io::draft d;
  d.ignores = ignores;
  std::vector<io::import_input> all;
  for (const auto& f : files) all.push_back(io::input_of(f.said, f.file, io::file_kind::unknown, settings(means)));
  io::say_release(d, set);
  io::import_files(d, std::move(all), settings(means));
  for (const auto& s : set) io::say_key(d, s);
  if (!d.has({"hardware", "gpu"})) d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  return d;
}
inline job job_of(const std::vector<text>& files, const std::vector<std::string>& set = {}, io::auto_means means = io::auto_means::by_trainer) {
  return draft_of(files, set, means).settled();
}

/// Why the files are refused; empty where they are not.
inline std::string refusal_of(const std::vector<text>& files, const std::vector<std::string>& set = {}, io::auto_means means = io::auto_means::by_trainer) {
  try {
    job_of(files, set, means);
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}

/// A launch file of a public repository (tests/data/launches).
inline text launch_file(const std::string& folder, const std::string& name) {
  std::ifstream in{std::string{HEADROOM_TEST_DATA} + "/launches/" + folder + "/" + name};
  if (!in.good()) throw std::runtime_error("no file " + folder + "/" + name);
  return {name, {std::istreambuf_iterator<char>{in}, {}}};
}
inline bool holds(std::string_view sentence, std::string_view part) { return sentence.find(part) != std::string_view::npos; }

inline const std::vector<std::string> llama{"model=llama-3.1-8b", "batch.sequence=2048", "hardware.gpus_per_node=8"};

}  // namespace imported
