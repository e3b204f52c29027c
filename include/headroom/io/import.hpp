// Distributed under the Boost Software License, Version 1.0.
// A job from the files of other programs, each recognised by what stands in it. YAML and TOML come parsed: io/yaml.hpp, io/toml.hpp.
#pragma once

#include <headroom/io/launchers/import_inputs.hpp>
#include <headroom/io/launchers/programs/python_job.hpp>
#include <headroom/io/launchers/settle/draft.hpp>
#include <headroom/io/launchers/written_files.hpp>

#include <span>

namespace headroom::io {

/// KEY=VALUE of a job, a value in JSON or a bare word.
/// Errors: job_error for what is none.
inline void say_key(draft& d, const std::string& said) {
  const auto equals = said.find('=');
  if (equals == std::string::npos || equals == 0) fail("headroom: --set must be KEY=VALUE, found " + in_quotes(said));
  const auto text = said.substr(equals + 1), key = said.substr(0, equals);
  detail::check_parts(key, "--set");
  const bool begins_json = text.empty() || text[0] == '{' || text[0] == '[' || text[0] == '"';
  const bool word = !begins_json && !json_value::accept(text);  // a name, a date
  const bool version = key == "framework.version" || key == "environment.torch" || key == "environment.trl" || key == "environment.transformers" || key == "environment.ms-swift" || key == "environment.verl" || key == "environment.openrlhf" || key == "environment.accelerate";  // 2.10 is no number
  const auto value = word || (version && !begins_json) ? json_value(text) : parse_json(text, "--set " + key);
  if (key.find('.') == std::string::npos) return d.replace(key, value, "--set " + key);
  std::vector<std::string_view> path;
  for (std::string_view rest = key;;) {
    const auto dot = rest.find('.');
    path.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  d.say(path, value, "--set " + key);
}

/// Adds what a file says; its path is for errors, and tells programs whose folders say what they are. Nothing but `text` is read.
/// Errors: job_error for what is not read in it.
inline void import_input_into(draft& d, const import_input& in, import_settings with) {
  if (!in.broken.empty()) fail(in.broken);
  with.script.path = in.file.generic_string();
  const auto source = in.file.filename().string();
  const bool command = in.kind == file_kind::launch && in.file.extension() != ".env" && !detail::lists_packages(source);
  if (in.host || in.kind == file_kind::python || command) d.read.push_back(in.kind);
  if (in.host) return import_hosted(d, in, std::move(with));
  if (in.kind == file_kind::python) return import_python(d, in.text, source, with.script.environment, with.script.line);
  if (in.kind == file_kind::launch) return import_text(d, in.text, source, with.script);
  d.notes.insert(d.notes.end(), in.parsed.notes.begin(), in.parsed.notes.end());
  with.base = with.base.empty() ? in.file.parent_path() : with.base;
  import_document(d, in.parsed, in.kind, with);
}
inline void import_file(draft& d, std::string_view text, const std::filesystem::path& file, file_kind kind, const import_settings& with = {}) {
  auto in = input_of(std::string{text}, file, kind, with);
  take_command(d, in, with);
  import_input_into(d, in, with);
  read_unread(d, with);
  read_gpt_neox(d);
  read_nemo_rl(d);
  read_verl(d);
}

/// Programs beside a launch, which starts one of them; alone a program is the job.
/// Errors: job_error for several of which none is launched.
inline void keep_programs(draft& d, std::vector<import_input>& all) {
  const auto launches = [](const import_input& in) { return in.kind == file_kind::launch && in.file.extension() != ".env" && !detail::lists_packages(in.file.filename().string()); };
  const bool launched = std::any_of(all.begin(), all.end(), launches);
  const import_input* first = nullptr;
  for (const auto& in : all) {
    if (in.kind != file_kind::python) continue;
    if (launched) d.programs.push_back({in.file.generic_string(), in.text});
    else if (first != nullptr) fail("headroom: " + first->file.filename().string() + " and " + in.file.filename().string() + " are both programs, and nothing says which of them starts: give the one that trains, or the command, too");
    first = &in;
  }
  if (launched) std::erase_if(all, [](const import_input& in) { return in.kind == file_kind::python; });
}

/// Several files, in the order in which the programs themselves read them, whatever the order they are given in: a model's shape, what
/// launchers are configured with, a program's configuration, and last the command line, which wins. Files of one kind keep their order.
/// Errors: job_error for what is not read in any of them, and for files that contradict each other.
inline void import_all(draft& d, std::vector<import_input> all, const import_settings& with) {
  constexpr file_kind order[] = {file_kind::ray_environment, file_kind::huggingface, file_kind::safetensors_index, file_kind::job, file_kind::adapter, file_kind::accelerate, file_kind::deepspeed, file_kind::fsdp, file_kind::megatron, file_kind::torchtitan, file_kind::nanotron, file_kind::nemo_rl, file_kind::verl, file_kind::gpt_neox, file_kind::litgpt, file_kind::torchtune, file_kind::llama_factory_v1, file_kind::trainer};
  const auto rank = [&](const import_input& in) { return std::find(std::begin(order), std::end(order), in.kind) - std::begin(order); };
  for (const auto kind : {file_kind::accelerate, file_kind::deepspeed, file_kind::adapter, file_kind::fsdp}) {  // a run has one of each
    const import_input* first = nullptr;
    for (const auto& in : all) {
      if (in.kind != kind) continue;
      if (first != nullptr)
        fail("headroom: " + first->file.filename().string() + " and " + in.file.filename().string() + " are both configurations of " + (kind == file_kind::deepspeed ? "DeepSpeed" : kind == file_kind::adapter ? "PEFT's adapters" : kind == file_kind::fsdp ? "FSDP" : "Accelerate") + ", of which a run has one: give the one that it uses");
      first = &in;
    }
  }
  take_commands(d, all, with);
  keep_programs(d, all);
  d.given = with.script.environment;
  auto inside = with;
  for (const auto& in : all)  // what a .env file says, scripts know
    if (in.kind == file_kind::launch && in.file.extension() == ".env") {
      shell_values said;
      for (const auto& w : read_shell(in.text, in.file.filename().string()).settings) {
        const auto equals = w.text.find('=');
        said.emplace_back(w.text.substr(0, equals), w.text.substr(equals + 1));
      }
      inside.script.environment.insert(inside.script.environment.begin(), said.begin(), said.end());
    }
  add_written_files(d, all, inside);
  std::stable_sort(all.begin(), all.end(), [&](const import_input& a, const import_input& b) { return rank(a) < rank(b); });
  for (const auto& in : all) import_input_into(d, in, inside);
  read_unread(d, inside);
  read_recipe(d);
  read_gpt_neox(d);
  read_nemo_rl(d);
  read_verl(d);
}

/// … and all keys that none of them may have, at once.
/// Errors: as import_all().
inline void import_files(draft& d, std::vector<import_input> all, const import_settings& with) {
  stopped_once(d, [&] { import_all(d, std::move(all), with); });
}

/// Of what is said over files (KEY=VALUE), what their readers have to know before: the release of the program.
/// Errors: as say_key().
inline void say_release(draft& d, const std::vector<std::string>& set) {
  for (const auto& said : set)
    if (said.starts_with("framework.version=")) say_key(d, said);
}

}  // namespace headroom::io
