// Distributed under the Boost Software License, Version 1.0.
// headroom import FILE…: a job from the files of other programs.
#include <headroom/io/import.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

#include <iostream>

#include "program.hpp"

namespace program {
namespace {

using namespace headroom;
using namespace headroom::io;

import_settings settings(const import_request& asked, shell_values environment) {
  if (asked.automatic != "trainer" && asked.automatic != "deepspeed") fail("headroom: --auto must be trainer or deepspeed, found " + in_quotes(asked.automatic));
  import_settings with{.automatic = asked.automatic == "trainer" ? auto_means::by_trainer : auto_means::by_deepspeed, .base = {}, .script = {std::move(environment), asked.line}};
  if (!asked.program.empty()) {
    with.program = headroom::io::detail::program_named(asked.program);
    if (with.program == nullptr) unknown_name("--program", asked.program, texts(headroom::io::detail::training_programs, [](const auto& p) { return p.name; }));
    with.script.program = with.program;
  }
#if HEADROOM_HAS_YAML
  with.yaml = parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = parse_toml;
#endif
  return with;
}

import_input input(const std::string& name, file_kind kind, const import_settings& with, std::istream& in) {
  if (name == "-") return input_of(read_text(in, "standard input"), "standard input", kind, with);
  const std::filesystem::path file{name};
  return input_of(read_file(file), file, kind, with);
}

/// NAME=VALUE of the environment.
void add_value(shell_values& to, const std::string& said) {
  const auto equals = said.find('=');
  if (equals == std::string::npos || equals == 0) fail("headroom: --env must be NAME=VALUE, found " + in_quotes(said));
  to.emplace_back(said.substr(0, equals), said.substr(equals + 1));
}

file_kind kind_named(const std::string& text) {
  if (text.empty()) return file_kind::unknown;
  for (const auto& n : file_kinds)
    if (n.text == text) return n.value;
  unknown_name("--as", text, texts(file_kinds, [](const auto& n) { return n.text; }));
}

}  // namespace

int run(const import_request& asked, const streams& in_out) {
  draft d;
  d.ignores = asked.ignore;
  const auto kind = kind_named(asked.as);
  shell_values environment;
  for (const auto& said : asked.env) add_value(environment, said);
  const auto with = settings(asked, std::move(environment));
  const auto say_given = [&] {
    if (!asked.model.empty()) d.replace("model", model_to_json(read_model_named(asked.model, "--model", file_base::anywhere_from("."))), "--model");
  };
  say_given();
  std::vector<import_input> files;
  for (const auto& file : asked.files) files.push_back(input(file, kind, with, in_out.in));
  import_files(d, std::move(files), with);
  say_given();
  if (!asked.gpu.empty()) d.say({"hardware", "gpu"}, asked.gpu, "--gpu");
  for (const auto& s : asked.set) say_key(d, s);
  const auto j = d.settled();
  for (const auto& index : d.indices) d.notes.push_back(compared(index, j.model));
  for (const auto& note : d.notes) std::cerr << "note: " << printable(note) << '\n';
  auto written = job_to_json(j);
  if (read_job(written, "/nonexistent/folder") != j) written = d.job;
  if (!d.ignored.empty()) written["ignored_keys"] = d.ignored;
  if (!d.assumed.empty()) written["assumed_defaults"] = d.assumed;
  in_out.out << written.dump(2) << '\n';
  return 0;
}

}  // namespace program
