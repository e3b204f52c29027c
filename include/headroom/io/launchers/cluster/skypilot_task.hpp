// Distributed under the Boost Software License, Version 1.0.
// The command of a SkyPilot task, and the machines that it asks for (skypilot-org/skypilot, sky/utils/schemas.py, get_task_schema and
// get_resources_schema; the variables of a run: docs.skypilot.co, distributed jobs).
#pragma once

#include <headroom/io/launchers/cluster/hosted_launch.hpp>
#include <headroom/io/launchers/installed_releases.hpp>

namespace headroom::io {

namespace detail {

inline bool is_skypilot(const json_value& root) {
  const auto run = root.find("run");
  return root.is_object() && run != root.end() && run->is_string() && (root.contains("resources") || root.contains("num_nodes") || root.contains("setup") || root.contains("file_mounts"));
}

/// Keys that change neither memory nor time of a step.
inline constexpr std::string_view skypilot_harmless = "name|workdir|setup|file_mounts|volumes|config|event_callback|inputs|outputs|experimental";
inline constexpr std::string_view skypilot_harmless_resources =
    "cloud|infra|region|zone|cpus|memory|disk_size|disk_tier|network_tier|local_disk|use_spot|spot_recovery|job_recovery|ports|image_id|labels|autostop|priority|volumes|_cluster_config_overrides";

class skypilot_task {
 public:
  skypilot_task(draft& d, const document& from) : d_(&d), from_(&from) {}

  /// Errors: job_error for keys that are not known, and for accelerators of which a run has one of several.
  hosted_launch read() {
    const auto& root = from_->root;
    for (const auto& [key, value] : root.items()) {
      if (key == "service" || key == "pool") fail("headroom: " + from_->place(key) + ": " + key + " serves a model: it starts no training");
      if (key == "num_nodes") at_.machines = whole_at(value, from_->place(key) + ": " + key, 1, 1 << 20);
      else if (key == "resources") resources(value);
      else if (key == "envs" || key == "secrets") environment(value);
      else if (key == "setup" && value.is_string()) installed(value.get<std::string>(), from_->place(key));
      else if (key != "run" && !among_words(skypilot_harmless, key)) d_->unknown_key(key, from_->place(key));
    }
    if (at_.place.empty()) at_.place = from_->place("run");
    at_.environment.emplace_back("SKYPILOT_NUM_NODES", std::to_string(at_.machines));
    if (at_.gpus > 0) at_.environment.emplace_back("SKYPILOT_NUM_GPUS_PER_NODE", std::to_string(at_.gpus));
    const auto at = from_->place("run");
    const auto line = json_value::parse(at.substr(at.rfind(':') == std::string::npos ? at.size() : at.rfind(':') + 1), nullptr, false);
    const auto script = with_nodes(root["run"].get<std::string>());
    const shell_word words[] = {{"sh", 1}, {"-c", 1}, {script, line.is_number_unsigned() ? static_cast<int>(std::min<std::uint64_t>(line.get<std::uint64_t>(), 100'000)) : 1}};
    at_.text = script_of(words);
    return std::move(at_);
  }

 private:
  /// Packages that the machines get before they run.
  void installed(const std::string& setup, const std::string& place) const {
    for (const auto* by : {"pip", "git clone"}) say_releases_of_lines(*d_, setup, place, by);
  }
  /// How many lines the list of addresses has, as tasks count their nodes (docs.skypilot.co, distributed jobs, of 0.5 and before).
  [[nodiscard]] std::string with_nodes(std::string script) const {
    static constexpr std::string_view idioms[] = {R"($(echo "$SKYPILOT_NODE_IPS" | wc -l))", R"(`echo "$SKYPILOT_NODE_IPS" | wc -l`)"};
    for (const auto idiom : idioms) {
      std::string made;  // anew: a script may have it many times
      std::size_t from = 0;
      for (auto at = script.find(idiom); at != std::string::npos; from = at + idiom.size(), at = script.find(idiom, from)) made.append(script, from, at - from).append(std::to_string(at_.machines));
      script = made.append(script, from);
    }
    return script;
  }
  void environment(const json_value& said) {
    if (!said.is_object()) return;
    for (const auto& [name, value] : said.items())
      if (!value.is_null() && value != "") at_.environment.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  void resources(const json_value& said) {
    if (said.is_null()) return;
    if (!said.is_object()) wrong_value(from_->place("resources") + ": resources", "an object", said);
    for (const auto& [key, value] : said.items()) {
      const auto place = from_->place("resources." + key);
      if (key == "accelerators") accelerators(value, place);
      else if (key == "instance_type" && value.is_string()) machine(value.get<std::string>());
      else if (key == "any_of" || key == "ordered" || key == "accelerator_args") fail("headroom: " + place + ": " + key + " leaves open which machines the run gets: leave one, as resources.accelerators");
      else if (!among_words(skypilot_harmless_resources, key)) d_->unknown_key(key, place);
    }
  }
  void machine(const std::string& type) {
    const auto known = gpu_of_label(machine_gpu_labels, type);
    if (at_.gpu.empty() && !known.empty()) at_.gpu = known;
  }
  /// "A100:8", {"A100": 8}; several are alternatives.
  void accelerators(const json_value& said, const std::string& place) {
    at_.place = place;
    if (said.is_null()) return;
    const auto one = said.is_array() && said.size() == 1 ? said[0] : said;
    if ((one.is_object() && one.size() > 1) || one.is_array()) fail("headroom: " + place + ": accelerators names several, of which the run gets one: leave the one that is meant");
    std::string name;
    json_value count = 1;
    if (one.is_object() && one.size() == 1) {
      name = one.begin().key();
      if (!one.begin().value().is_null()) count = one.begin().value();
    } else {
      name = string_at(one, place + ": accelerators", "a name and a count, as A100:8");
      if (const auto colon = name.find(':'); colon != std::string::npos) {
        const auto n = json_value::parse(name.substr(colon + 1), nullptr, false);
        count = n.is_number() ? n : json_value(name.substr(colon + 1));
        name.resize(colon);
      }
    }
    if (name.starts_with("tpu")) fail("headroom: " + place + ": " + in_quotes(name) + ": what a compiler lays out as a whole is not predicted");
    at_.gpus = whole_at(count, place + ": the number of accelerators", 1, 1 << 10);
    const auto known = gpu_of_label(skypilot_gpu_labels, name);
    if (!known.empty()) at_.gpu = known;
    else d_->notes.push_back(place + ": " + in_quotes(name) + " is no GPU of the table: --gpu says which it is");
  }

  draft* d_;
  const document* from_;
  hosted_launch at_{};
};

}  // namespace detail

}  // namespace headroom::io
