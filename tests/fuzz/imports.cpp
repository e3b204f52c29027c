// Distributed under the Boost Software License, Version 1.0.
#include "readers.hpp"

#include <headroom/io/export.hpp>
#include <headroom/io/import.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

namespace fuzzed {

namespace {

/// What a file says becomes a job, which the other programs' files can say, too.
void import(std::string_view text, const char* file) {
  using namespace headroom;
  io::import_settings with{.base = "/nonexistent/folder"};
#if HEADROOM_HAS_YAML
  with.yaml = io::parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = io::parse_toml;
#endif
  try {
    io::draft d;
    io::import_files(d, {io::input_of(std::string{text}, file, io::file_kind::unknown, with)}, with);
    if (!d.has({"batch", "sequence"})) io::say_key(d, "batch.sequence=8");
    if (!d.has({"model"})) io::say_key(d, "model=gpt2");
    const job j = d.settled();
    for (const auto& index : d.indices) io::compared(index, j.model);
    io::exported(j, io::export_targets[text.size() % io::export_targets.size()].value);
  } catch (const headroom::error&) {
  }
}

}  // namespace

void read_json(std::string_view text) { import(text, "a.json"); }
void read_yaml(std::string_view text) { import(text, "a.yaml"); }
void read_toml(std::string_view text) { import(text, "a.toml"); }
void read_shell(std::string_view text) { import(text, "a.sh"); }
void read_settings(std::string_view text) { import(text, ".env"); }

}  // namespace fuzzed
