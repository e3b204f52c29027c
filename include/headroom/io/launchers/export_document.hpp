// Distributed under the Boost Software License, Version 1.0.
// Objects as other programs write them: YAML, TOML, command lines.
#pragma once

#include <headroom/io/launchers/settle/draft.hpp>

namespace headroom::io {

/// A job with what it leaves open said: the framework's recipe, AdamW, the data-parallel ranks that the GPUs make.
inline job stated(job j) {
  auto& p = j.precision;
  const bool open = !p.set();
  if (open) p = j.framework.precision;
  if (open && j.sharding.kind == sharding_kind::megatron_fsdp) p.gradients = p.reduce = p.parameters;
  fill_open_formats(p);
  p.label = {};
  if (!j.optimizer.set()) {
    const auto how = j.optimizer.how;
    j.optimizer = optimizers::adamw;
    j.optimizer.how = how;
  }
  if (j.parallel.data == 0) j.parallel.data = std::max<std::int64_t>(1, j.hardware.gpus() / checked::mul(j.parallel.tensor, j.parallel.pipeline, j.parallel.context));
  if (j.offload.optimizer == place::on_gpu && j.offload.parameters == place::on_gpu && j.offload.activations == place::on_gpu) j.offload.pin_memory = true;
  return j;
}

/// … and that what computes in fewer bits than its weights have is autocast, unless the weights are gathered so (settle/settle.hpp).
inline job with_autocast(job j) {
  auto& p = j.precision;
  if (!j.sharding.properties().shards_are_master && p.compute.bits >= 16 && p.compute.bits < p.parameters.bits) p.autocast = choice::yes;
  if (j.framework.autocast.over_16bit && p.compute.bits == 16 && p.autocast == choice::unset) p.autocast = choice::yes;
  return j;
}

namespace detail {

inline bool plain_word(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const auto* word : {"", "no", "yes", "on", "off", "true", "false", "null", "y", "n"})
    if (lower == word) return false;
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/')) return false;
  return (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z');
}

/// Block style; empty objects and lists inline. JSON's scalars are YAML's.
inline void write_yaml(std::string& out, const json_value& object, int depth) {
  for (const auto& [key, value] : object.items()) {
    out += std::string(static_cast<std::size_t>(depth) * 2, ' ') + key + ":";
    if (value.is_object() && !value.empty()) {
      out += '\n';
      write_yaml(out, value, depth + 1);
    } else if (value.is_string() && plain_word(value.get_ref<const std::string&>())) {
      out += " " + value.get_ref<const std::string&>() + "\n";
    } else {
      out += " " + value.dump() + "\n";
    }
  }
}

/// Sections of keys, as torchtitan's files have them.
inline std::string write_toml(const json_value& sections) {
  std::string out;
  for (const auto& [name, keys] : sections.items()) {
    out += (out.empty() ? "[" : "\n[") + name + "]\n";
    for (const auto& [key, value] : keys.items()) out += key + " = " + value.dump() + "\n";
  }
  return out;
}

/// One argument a line, quoted where a shell would see more in it than a word.
inline std::string write_arguments(const json_value& arguments) {
  std::string out;
  for (const auto& [name, value] : arguments.items()) {
    out += (out.empty() ? "--" : " \\\n--") + name;
    if (value.is_boolean()) continue;
    const auto text = value.is_string() ? value.get<std::string>() : value.dump();
    const bool words = text.find_first_of("()*[]|&;<>$`\"\\#") == std::string::npos;
    out += words ? " " + text : " '" + text + "'";
  }
  return out + "\n";
}

/// Refuses what a target cannot say: what is written, read again over the rest of the job, has to be the job.
inline void check_reads_back(const job& j, const job& back, std::string_view target) {
  const auto wanted = stated(j), got = stated(back);
  if (wanted == got) return;
  const auto a = job_to_json(wanted), b = job_to_json(got);
  for (const auto& change : json_value::diff(b, a)) {
    const auto pointer = change["path"].get<std::string>();
    auto path = pointer.substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    if (path.ends_with(".-")) path.resize(path.size() - 2);  // one more of a list
    const auto shown = [](const json_value& v) { return v.dump().substr(0, 80); };
    const auto begin = "headroom: " + std::string{target} + " cannot ";
    if (change.contains("value")) fail(begin + "say " + path + " = " + shown(change["value"]) + " of this job");
    fail(begin + "leave " + path + " out: it would be " + shown(b[json_value::json_pointer{pointer}]));
  }
  fail("headroom: " + std::string{target} + " cannot say this job");
}

/// The keys of a job that a target does not say. A path is "section" or "section.key".
inline json_value without(json_value j, std::initializer_list<std::string_view> paths) {
  for (const auto path : paths) {
    const auto dot = path.find('.');
    if (dot == std::string_view::npos)
      j.erase(std::string{path});
    else if (const auto it = j.find(std::string{path.substr(0, dot)}); it != j.end() && it->is_object())
      it->erase(std::string{path.substr(dot + 1)});
  }
  return j;
}
inline draft draft_from(const json_value& rest) {
  draft d;
  for (const auto& [key, value] : rest.items()) d.job[key] = value;
  d.read.push_back(file_kind::job);
  return d;
}

inline void needs_framework(const job& j, std::string_view label, std::string_view target) {
  if (j.framework.label.view() != label) fail("headroom: " + std::string{target} + " needs a job whose framework is " + std::string{label} + ", found " + std::string{j.framework.label.view()});
}
inline void one_kind_of_gpu(const job& j, std::string_view target) {
  if (j.hardware.kinds() > 1) fail("headroom: " + std::string{target} + " cannot say which GPU a rank is on: the cluster is mixed");
}

}  // namespace detail

}  // namespace headroom::io
