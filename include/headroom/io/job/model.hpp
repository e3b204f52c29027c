// Distributed under the Boost Software License, Version 1.0.
// The `model` key of a job: a name of the zoo, a Hugging Face configuration (inline, a file, a folder), or a shape.
#pragma once

#include <headroom/io/huggingface.hpp>
#include <headroom/io/job/model_hints.hpp>
#include <headroom/io/job/named_shape.hpp>
#include <headroom/io/syntax/file_base.hpp>

namespace headroom::io {

/// The `config.json` at a path (a file, or the folder that holds it), or nothing. Never a pipe or a device.
inline std::optional<std::filesystem::path> config_at(const std::string& path, const file_base& base) {
  return base.is_folder(path) ? base.file(std::filesystem::path{path} / "config.json") : base.file(path);
}

/// A shape from a name, or from the configuration at a path. No other file is read, and none at all with `no_files`. A bare
/// word is a name first, anything with a slash in it a path first: "./llama-2-7b" is the folder, "meta-llama/Llama-2-7b" the model
/// unless there is such a folder. Throws job_error.
inline shape read_model_named(const std::string& text, const std::string& path, const file_base& base) {
  if (text.empty() || text.size() > 4096 || text.find('\0') != std::string::npos)
    fail("headroom: " + path + " must be a model's name or the path of a config.json, found " + in_quotes(text));
  const auto known = shape_named(text);
  if (known && text.find('/') == std::string::npos) return *known;
  if (const auto file = config_at(text, base)) {
    const auto config = parse_config_file(*file, base);
    if (!config.is_object()) wrong_value(file->string(), "a model's configuration", config);
    auto m = model_from_config(config, path);
    if (m.label.empty()) m.label = name_from(file->filename() == "config.json" ? base.folder_name(*file) : file->stem().string());
    return m;
  }
  if (known) return *known;
  for (const auto& hint : {adapter_hint(text, base), quantised_hint(text), detail::diffusion_hint(text)})
    if (!hint.empty()) fail("headroom: " + path + " " + in_quotes(text) + hint);
  std::string sentence = "headroom: " + path + " " + in_quotes(text) +
                         (!base.reads_files()  ? " is no name of the model zoo, and files are not read here"
                          : base.forbids(text) ? " is no name of the model zoo, and leads out of the job's folder: only files below it are read here"
                                               : " is neither a name of the model zoo nor a file");
  const auto names = model_names();
  std::string spelt = text.substr(text.rfind('/') + 1);  // npos + 1 is 0
  for (char& c : spelt) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (const auto meant = likely(spelt, names); !meant.empty()) sentence += "; did you mean \"" + std::string{meant} + "\"?";
  fail(sentence);
}

/// A shape as records of Megatron's runs write it, in the words of a job: `causal` false is bidirectional, `lm_head` BERT's head, and
/// ssm.kind what the pattern says as well.
inline json_value in_own_words(json_value shape, const std::string& path) {
  const auto once = [&](json_value& in, const char* key, const std::string& at, const auto& use) {
    const auto it = in.find(key);
    if (it == in.end()) return;
    use(*it, at + "." + key);
    in.erase(key);
  };
  once(shape, "causal", path, [&](const json_value& v, const std::string& at) { shape["bidirectional"] = !flag_at(v, at); });
  once(shape, "lm_head", path, [&](const json_value& v, const std::string& at) {
    if (string_at(v, at) != "dense-gelu-norm") wrong_value(at, "\"dense-gelu-norm\"", v);
    shape["head"] = "masked-language";
  });
  if (const auto ssm = shape.find("ssm"); ssm != shape.end() && ssm->is_object())
    once(*ssm, "kind", path + ".ssm", [&](const json_value& v, const std::string& at) {
      if (string_at(v, at) != "mamba2" && string_at(v, at) != "gated-delta-net") wrong_value(at, "\"mamba2\" or \"gated-delta-net\"", v);
    });
  return shape;
}

/// The `model` key in any of its forms. `own`: labels of layers of one's own that a pattern may name. Throws job_error.
inline shape read_model(const json_value& value, const std::string& path, const file_base& base, std::span<const std::string_view> own = {}) {
  if (value.is_string()) return read_model_named(*value.get_ptr<const json_value::string_t*>(), path, base);
  if (!value.is_object()) wrong_value(path, "a name, a path, a configuration or a shape", value);
  if (value.contains("model_type") || value.contains("architectures")) return model_from_config(value, path);
  shape m;
  const auto given = in_own_words(value, path);
  key_reader keys{given, path};
  if (const auto* over = keys.take("base")) m = read_model_named(string_at(*over, keys.at("base")), keys.at("base"), base);
  describe(keys, m, own);
  keys.finish();
  for (const auto& [key, size] : {std::pair{"layers", m.layers}, std::pair{"hidden", m.hidden}})
    if (size == 0)
      fail("headroom: " + keys.at(key) +
           " is required: " + (std::string_view{key} == "layers" ? "how many layers" : "the width of the model"));
  return m;
}

/// A name where the model of that name has exactly this shape, else the shape's keys.
inline json_value model_to_json(const shape& m) {
  if (const auto known = shape_named(m.label.view()); known && *known == m) return m.label.view();
  return written_keys(m);
}

}  // namespace headroom::io
