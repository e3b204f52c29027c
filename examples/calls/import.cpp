// Distributed under the Boost Software License, Version 1.0.
// A job from the files of other programs, and a job in them.
#include "answers.hpp"

#include <headroom/io/export.hpp>
#include <headroom/io/import.hpp>
#if HEADROOM_HAS_YAML
#include <headroom/io/yaml.hpp>
#endif
#if HEADROOM_HAS_TOML
#include <headroom/io/toml.hpp>
#endif

namespace calls {
namespace {

using namespace headroom;
using namespace headroom::io;

import_settings settings_of(const import_request& asked) {
  if (asked.automatic != "trainer" && asked.automatic != "deepspeed") fail("headroom: " + asked.mark + "auto must be trainer or deepspeed, found " + in_quotes(asked.automatic));
  import_settings with{.automatic = asked.automatic == "trainer" ? auto_means::by_trainer : auto_means::by_deepspeed, .base = {}, .files = asked.job_base, .script = {asked.environment, asked.line}};
  if (!asked.program.empty()) {
    with.program = headroom::io::detail::program_named(asked.program);
    if (with.program == nullptr) unknown_name(asked.mark + "program", asked.program, texts(headroom::io::detail::training_programs, [](const auto& p) { return p.name; }));
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

file_kind kind_named(const std::string& text, const std::string& place) {
  if (text.empty()) return file_kind::unknown;
  for (const auto& n : file_kinds)
    if (n.text == text) return n.value;
  unknown_name(place, text, texts(file_kinds, [](const auto& n) { return n.text; }));
}

}  // namespace

imported import_from(const import_request& asked) {
  draft d;
  d.ignores = asked.ignore;
  const auto kind = kind_named(asked.as, asked.mark + "as");
  const auto with = settings_of(asked);
  const auto say_given = [&] {
    if (asked.model.empty()) return;
    d.replace("model", model_to_json(read_model_named(asked.model, asked.mark + "model", asked.model_base)), asked.mark + "model");
    say_configured(d, headroom::io::detail::config_of(asked.model, asked.model_base), asked.mark + "model");
  };
  say_given();
  std::vector<import_input> files;
  for (const auto& [name, text] : asked.files) files.push_back(input_of(text, name, kind, with));
  say_release(d, asked.set);
  import_files(d, std::move(files), with);
  if (d.place_of("model") != asked.mark + "model") say_given();  // what a reader has made of it stays: a tower before it, tiles of its images
  if (!asked.gpu.empty()) d.say({"hardware", "gpu"}, asked.gpu, asked.mark + "gpu");
  if (!asked.usual_gpu.empty() && !d.has({"hardware", "gpu"})) d.say({"hardware", "gpu"}, asked.usual_gpu, asked.mark + "gpu");
  for (const auto& s : asked.set) say_key(d, s);
  const auto j = d.settled();
  for (const auto& index : d.indices) d.notes.push_back(compared(index, j.model));
  imported made{job_to_json(j), std::move(d.notes)};
  if (read_job(made.job, no_files) != j) made.job = d.job;
  if (!d.ignored.empty()) made.job["ignored_keys"] = d.ignored;
  if (!d.assumed.empty()) made.job["assumed_defaults"] = d.assumed;
  return made;
}

std::string export_to(const headroom::job& j, const std::string& target, const std::string& place) {
  for (const auto& t : export_targets)
    if (t.text == target) return exported(j, t.value);
  unknown_name(place, target, texts(export_targets, [](const auto& t) { return t.text; }));
}

}  // namespace calls
