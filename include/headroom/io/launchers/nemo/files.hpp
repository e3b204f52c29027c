// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's configurations: files that inherit from each other by `defaults`, and values that other values stand in, as ${…}.
// Source: NVIDIA-NeMo/RL 7ea279ab of 2026-08-22 nemo_rl/utils/config.py load_config_with_inheritance, merge_with_override, register_omegaconf_resolvers.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/launchers/nested_values.hpp>

#include <cmath>
#include <functional>
#include <map>

namespace headroom::io::detail {

/// Whether an object is a configuration of NeMo-RL's, or a part of one.
inline bool is_nemo_rl(const json_value& root) {
  if (!root.is_object()) return false;
  const auto file = [](const json_value& v) { return v.is_string() && v.get_ref<const std::string&>().ends_with(".yaml"); };
  if (const auto from = root.find("defaults"); from != root.end() && (file(*from) || (from->is_array() && !from->empty() && std::all_of(from->begin(), from->end(), file)))) return true;
  if (const auto generation = root.find("generation"); root.contains("eval") && generation != root.end() && generation->is_object() && generation->contains("vllm_cfg")) return true;
  const auto policy = root.find("policy");
  return policy != root.end() && policy->is_object() && (policy->contains("model_name") || policy->contains("megatron_cfg") || policy->contains("dtensor_cfg") || policy->contains("train_global_batch_size"));
}

/// What a file says goes over what it inherits, section by section; lists are replaced. "???", a value that must be given, leaves what is inherited
/// (omegaconf/basecontainer.py _map_merge).
inline void merge_nemo(json_value& under, const json_value& over) {
  for (const auto& [key, value] : over.items()) {
    if (value == "???" && under.contains(key)) continue;
    auto& at = under[key];
    if (at.is_object() && value.is_object()) merge_nemo(at, value);
    else at = value;
  }
}

/// The steps that a copy of a value takes.
inline std::size_t copied(const json_value& v) {
  std::size_t sum = 16;
  if (v.is_string()) sum += v.get_ref<const std::string&>().size();
  if (v.is_structured())
    for (const auto& [key, inner] : v.items()) sum += (v.is_object() ? key.size() : 0) + copied(inner);
  return sum;
}

/// Files, each found by its name, and the one that none of the others inherits from.
class nemo_files {
 public:
  explicit nemo_files(const std::vector<document>& all) : all_(&all) {
    for (const auto& one : all) {
      called_.emplace(one.source, &one);
      for (const auto& path : parents(one)) {
        auto& heir = heirs_of_[std::string{file_part(path)}];
        heir = heir == nullptr || heir == &one ? &one : several();
      }
    }
  }

  /// All of it as one document.
  /// Errors: job_error for a file that is named and not given, for two that are run, for a circle, and for too long a line of heirs.
  [[nodiscard]] document joined() const {
    const document* run = nullptr;
    for (const auto& one : *all_) {
      if (const auto heir = heirs_of_.find(one.source); heir != heirs_of_.end() && heir->second != &one) continue;
      if (run != nullptr) fail("headroom: " + run->source + " and " + one.source + " are both configurations of NeMo-RL's, of which a job has one: give the one that is run, and those that it inherits from");
      run = &one;
    }
    document whole{.source = run == nullptr ? all_->front().source : run->source, .root = json_value::object(), .lines = {}};
    std::vector<std::string> heirs;
    for (const auto& one : *all_)  // each inherits from another: one of them lies in a circle
      if (run == nullptr) add(whole, one, heirs);
    if (run != nullptr) add(whole, *run, heirs);
    return whole;
  }

 private:
  static std::vector<std::string> parents(const document& of) {
    std::vector<std::string> paths;
    const auto said = of.root.find("defaults");
    if (said == of.root.end() || said->is_null()) return paths;
    for (const auto& path : said->is_array() ? *said : json_value::array({*said})) {
      if (!path.is_string()) fail("headroom: " + of.place("defaults") + ": defaults must be the path of a file that is inherited from, or a list of such, found " + path.dump());
      paths.push_back(path.get<std::string>());
    }
    return paths;
  }
  /// Stands for more than one document.
  static const document* several() {
    static const document none{};
    return &none;
  }

  /// `heirs`: the files that inherit from this one, the one that is run first.
  void add(document& whole, const document& one, std::vector<std::string>& heirs) const {
    const bool again = std::find(heirs.begin(), heirs.end(), one.source) != heirs.end();
    heirs.push_back(one.source);
    if (again) {
      std::string way;
      for (const auto& file : heirs) way += (way.empty() ? "" : ", then from ") + file;
      fail("headroom: " + one.place("defaults") + ": these configurations of NeMo-RL's inherit from each other in a circle: " + way);
    }
    for (const auto& path : parents(one)) {
      if (heirs.size() == static_cast<std::size_t>(deepest_nesting)) fail("headroom: " + one.place("defaults") + ": more than " + std::to_string(deepest_nesting) + " configurations inherit from each other, one from the next");
      const auto found = called_.find(file_part(path));
      if (found == called_.end()) fail("headroom: " + one.place("defaults") + ": names " + in_quotes(path) + ", which no file here is: give it, too");
      add(whole, *found->second, heirs);
    }
    heirs.pop_back();
    whole.spend(copied(one.root));
    auto own = one.root;
    own.erase("defaults");
    for (auto& [key, section] : own.items()) {  // "_override_", with a value that Python takes for true: nothing of the section is inherited
      if (!section.is_object() || !section.contains("_override_")) continue;
      const auto said = section["_override_"];
      section.erase("_override_");
      const bool empty = said.is_null() || said == false || said == 0 || said == "" || (said.is_structured() && said.empty());
      if (!empty) whole.root.erase(key);
    }
    merge_nemo(whole.root, own);
    for (const auto& [key, line] : one.lines) {
      whole.spend(key.size());
      whole.elsewhere[key] = one.source + ":" + std::to_string(line);
    }
  }

  const std::vector<document>* all_;
  std::map<std::string, const document*, std::less<>> called_{};    ///< files by their names, of two alike the first
  std::map<std::string, const document*, std::less<>> heirs_of_{};  ///< what names a file of that name, or several()
};

/// ${section.key}, ${.sibling}, and add, mul, div and max of such. What cannot be told (an environment's variable) stays as it is written, and is
/// refused by whoever wants a number of it.
class nemo_values {
 public:
  explicit nemo_values(document& d) : d_(&d), said_(d.root) {}
  void resolve() { walk(d_->root, ""); }

 private:
  static constexpr int deepest = 12;
  static constexpr std::size_t longest = 4096;

  void walk(json_value& at, const std::string& path) {
    if (at.is_object())
      for (auto& [key, inner] : at.items()) walk(inner, io::joined(path, key));
    else if (at.is_array())
      for (auto& inner : at) walk(inner, path);
    else if (at.is_string()) at = value(at, path, 0);
  }
  /// What stands at `path`, with all that it refers to.
  json_value value(const json_value& said, const std::string& path, int depth) {
    if (!said.is_string()) return said;
    const auto& text = said.get_ref<const std::string&>();
    const auto begin = text.find("${");
    if (begin == std::string::npos || depth > deepest || text.size() > longest) return said;
    d_->spend(text.size());
    const auto end = closing(text, begin);
    if (end == std::string::npos) return said;
    const auto found = expression(text.substr(begin + 2, end - begin - 2), path, depth);
    if (found.is_discarded()) return said;
    if (begin == 0 && end + 1 == text.size()) return found;
    if (found.is_structured()) return said;
    return value(text.substr(0, begin) + (found.is_string() ? found.get<std::string>() : found.dump()) + text.substr(end + 1), path, depth + 1);
  }
  static std::size_t closing(std::string_view text, std::size_t begin) {
    int open = 0;
    for (auto i = begin; i < text.size(); ++i) {
      open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (text[i] == '}' && open == 0) return i;
    }
    return std::string::npos;
  }
  /// Discarded: it cannot be told.
  json_value expression(std::string text, const std::string& path, int depth) {
    const json_value unknown(json_value::value_t::discarded);
    const auto colon = text.find(':');
    if (colon == std::string::npos) return referred(text, path, depth);
    const auto name = text.substr(0, colon);
    std::vector<double> numbers;
    for (const auto& one : parts(text.substr(colon + 1))) {
      const auto v = value(typed(one), path, depth + 1);
      const auto number = v.is_string() ? typed(v.get<std::string>()) : v;
      if (!number.is_number()) return unknown;
      numbers.push_back(number.get<double>());
    }
    if (numbers.size() < 2 || (numbers.size() > 2 && name != "max")) return unknown;
    double r = numbers[0];
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const auto n = numbers[i];
      if (name == "mul") r *= n;
      else if (name == "add") r += n;
      else if (name == "max") r = std::max(r, n);
      else if (name == "div" && n != 0) r /= n;
      else return unknown;
    }
    if (std::floor(r) == r && std::abs(r) < 1e15) return static_cast<std::int64_t>(r);
    return r;
  }
  static std::vector<std::string> parts(const std::string& text) {
    std::vector<std::string> all(1);
    int open = 0;
    for (const char c : text) {
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (c == ',' && open == 0) all.emplace_back();
      else if (c != ' ') all.back() += c;
    }
    return all;
  }
  /// A path from the root, or, with dots before it, from the section that the value stands in.
  json_value referred(std::string name, std::string path, int depth) {
    if (name.starts_with('.')) {
      for (; name.starts_with('.'); name.erase(0, 1)) path.resize(path.rfind('.') == std::string::npos ? 0 : path.rfind('.'));
      name = io::joined(path, name);
    }
    const auto* at = value_at(said_, name);
    if (at == nullptr) return json_value(json_value::value_t::discarded);
    d_->spend(copied(*at));
    return value(*at, name, depth + 1);
  }

  document* d_;
  json_value said_;
};

/// Programs of NeMo-RL's that are not read, by the sections that they alone have.
inline void refuse_nemo_program(const document& from) {
  const auto has = [&](const char* section) { return from.root.contains(section) && !from.root[section].is_null(); };
  if (has("eval")) fail("headroom: " + from.place("eval") + ": eval is a section of NeMo-RL's evaluation (examples/run_eval.py), which trains nothing: give the file of a training (sections grpo, dpo, sft, rm)");
  for (const auto* other : {"ppo", "distillation"})
    if (has(other)) fail("headroom: " + from.place(other) + ": " + other + " is a section of a program of NeMo-RL's that is not modelled by this version; its GRPO, DPO, SFT and reward models are (sections grpo, dpo, sft, rm)");
}

/// Keys of a command line, each with its value in their order, over those of the files; "~section.key" takes one out.
inline void say_over_nemo(document& from, const document& command) {
  for (const auto& one : command.root) {
    const auto said = one[0].get<std::string>();
    const auto& value = one[1];
    const bool out = said.starts_with('~');
    auto key = out ? said.substr(1) : said;
    from.elsewhere[key] = command.place(said);
    auto* at = &from.root;
    for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.')) {
      auto& inner = (*at)[key.substr(0, dot)];
      if (!inner.is_object()) inner = json_value::object();
      at = &inner;
      key.erase(0, dot + 1);
    }
    if (out) at->erase(key);
    else (*at)[key] = value;
  }
}

/// What a section that is switched off says has no effect, nor has what another way to train is told.
inline void without_unused(document& d) {
  auto& policy = d.root["policy"];
  if (!policy.is_object()) return;
  const auto off = [&](const std::string& section) {
    const auto* on = value_at(policy, section + ".enabled");
    return policy.contains(section) && policy[section].is_object() && (on == nullptr || on->is_null() || !truth(*on, "policy." + section + ".enabled"));
  };
  for (const auto* section : {"megatron_cfg", "dtensor_cfg"})
    if (off(section)) policy.erase(section);
  if (policy.contains("megatron_cfg")) policy.erase("optimizer");
  if (!d.root.contains("grpo")) policy.erase("generation");
}

}  // namespace headroom::io::detail
