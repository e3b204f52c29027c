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

import_settings settings(const import_request& asked) {
  if (asked.automatic != "trainer" && asked.automatic != "deepspeed") fail("headroom: --auto must be trainer or deepspeed, found " + in_quotes(asked.automatic));
  import_settings with{.automatic = asked.automatic == "trainer" ? auto_means::by_trainer : auto_means::by_deepspeed};
#if HEADROOM_HAS_YAML
  with.yaml = parse_yaml;
#endif
#if HEADROOM_HAS_TOML
  with.toml = parse_toml;
#endif
  return with;
}

void read(draft& d, const std::string& name, file_kind kind, import_settings with, std::istream& in) {
  if (name == "-") return import_file(d, read_text(in, "standard input"), "standard input", kind, with);
  const std::filesystem::path file{name};
  with.base = file.parent_path();
  import_file(d, read_file(file), file, kind, with);
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
  const auto kind = kind_named(asked.as);
  const auto with = settings(asked);
  const auto say_given = [&] {
    if (!asked.model.empty()) d.replace("model", model_to_json(read_model_named(asked.model, "--model", ".")), "--model");
  };
  say_given();
  for (const auto& file : asked.files) read(d, file, kind, with, in_out.in);
  say_given();
  if (!asked.gpu.empty()) d.say({"hardware", "gpu"}, asked.gpu, "--gpu");
  for (const auto& s : asked.set) say_key(d, s);
  const auto j = d.settled();
  for (const auto& index : d.indices) d.notes.push_back(compared(index, j.model));
  for (const auto& note : d.notes) std::cerr << "note: " << note << '\n';
  auto written = job_to_json(j);
  if (read_job(written, "/nonexistent/folder") != j) written = d.job;
  in_out.out << written.dump(2) << '\n';
  return 0;
}

}  // namespace program
