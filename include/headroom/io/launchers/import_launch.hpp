// Distributed under the Boost Software License, Version 1.0.
// A launch: torchrun's and DeepSpeed's launchers, sbatch's directives, the environment. What a program's own arguments say goes to the
// reader of that program.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/launchers/import_megatron.hpp>
#include <headroom/io/launchers/import_torchtitan.hpp>
#include <headroom/io/launchers/import_trainer.hpp>

namespace headroom::io {

namespace detail {

/// torchrun's own (torch/distributed/run.py), and those of torch.distributed.launch before it.
inline constexpr auto torchrun_flags = std::to_array<std::string_view>({"standalone", "no-python", "m", "module", "run-path", "use-env", "virtual-local-rank"});
inline constexpr auto torchrun_options = std::to_array<std::string_view>(
    {"nnodes", "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts", "monitor-interval", "start-method", "event-log-handler", "role",
     "log-dir", "r", "redirects", "t", "tee", "local-ranks-filter", "node-rank", "master-addr", "master-port", "local-addr", "logs-specs", "numa-binding", "signals-to-handle"});
/// The deepspeed launcher's (deepspeed/launcher/runner.py).
inline constexpr auto deepspeed_flags = std::to_array<std::string_view>({"no-python", "module", "no-local-rank", "save-pid", "enable-each-rank-log", "no-ssh", "no-ssh-check", "force-multi", "bind-cores-to-rank"});
inline constexpr auto deepspeed_launch = std::to_array<std::string_view>(
    {"num-gpus", "num-nodes", "hostfile", "H", "i", "include", "e", "exclude", "master-addr", "master-port", "node-rank", "launcher", "launcher-args", "autotuning", "elastic-training", "ssh-port",
     "bind-core-list", "min-elastic-nodes", "max-elastic-nodes"});

template <class Names>
bool among(const Names& names, std::string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

class launch {
 public:
  launch(draft& d, std::string source) : d_(&d), source_(std::move(source)) {}

  /// Whether the command starts a training run.
  bool read(const shell_command& c) {
    const auto& w = c.words;
    std::size_t i = 0;
    for (; i < w.size(); ++i) {
      const auto name = file_part(w[i].text);
      if (name == "torchrun" || w[i].text == "torch.distributed.run" || w[i].text == "torch.distributed.launch") return started(c, i + 1, torchrun_flags, torchrun_options);
      if (name == "deepspeed" || name == "ds") return deepspeed(c, i + 1);
      if (name == "accelerate" && i + 1 < w.size() && w[i + 1].text == "launch") return accelerate(c, i + 2);
      if (name == "llamafactory-cli" && i + 1 < w.size() && w[i + 1].text == "train") return factory(c, i + 2);
      if (w[i].text.starts_with("--") && megatron(c.words, i)) return program(c, i, i);
      if (name.ends_with(".py")) return megatron(c.words, i + 1) || trainer(c.words, i + 1) || titan(c.words, i + 1) ? program(c, i, i + 1) : false;
    }
    return false;
  }
  /// Arguments alone, as they stand in a file.
  void bare(std::span<const shell_word> words) {
    shell_command c;
    c.words.assign(words.begin(), words.end());
    if (!program(c, 0, 0)) fail("headroom: " + source_ + ":" + std::to_string(words.empty() ? 1 : words[0].line) + ": no program is known that has these arguments");
  }
  /// The #SBATCH lines (slurm's sbatch manual).
  void directives(const std::vector<shell_word>& words) {
    for (const auto& a : arguments_of(words)) {
      const auto place = source_ + ":" + std::to_string(a.line);
      const auto name = a.name == "N" ? "nodes" : a.name == "G" ? "gpus" : a.name;
      if (a.values.empty() || (name != "nodes" && name != "gpus-per-node" && name != "gres" && name != "gpus")) continue;
      auto value = a.values[0].text;
      if (name == "gres" && !value.starts_with("gpu")) continue;
      // [gpu:][type:]count
      if (const auto colon = value.rfind(':'); colon != std::string::npos) value = value.substr(colon + 1);
      const auto n = typed(value);
      if (!n.is_number()) {
        d_->notes.push_back(place + ": " + in_quotes(a.name + "=" + a.values[0].text) + " is no number and is not read");
        continue;
      }
      const auto count = whole_at(n, place + ": " + a.name, 1, 1 << 20);
      if (name == "gpus")
        d_->know(d_->gpus, "GPUs", count, place);
      else
        d_->say({"hardware", name == "nodes" ? "nodes" : "gpus_per_node"}, count, place);
    }
  }

 private:
  [[nodiscard]] std::string at(int line) const { return source_ + ":" + std::to_string(line); }
  static bool has(std::span<const shell_word> words, std::size_t from, std::initializer_list<std::string_view> names) {
    for (auto i = from; i < words.size(); ++i)
      for (const auto n : names)
        if (words[i].text == n || (words[i].text.starts_with(n) && words[i].text.size() > n.size() && words[i].text[n.size()] == '=')) return true;
    return false;
  }
  static bool megatron(std::span<const shell_word> w, std::size_t from) {
    return has(w, from, {"--num-layers", "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--hidden-size", "--micro-batch-size", "--use-distributed-optimizer"});
  }
  static bool trainer(std::span<const shell_word> w, std::size_t from) {
    return has(w, from, {"--per_device_train_batch_size", "--per-device-train-batch-size", "--model_name_or_path", "--model-name-or-path", "--deepspeed", "--gradient_accumulation_steps", "--gradient_checkpointing", "--bf16"});
  }
  static bool titan(std::span<const shell_word> w, std::size_t from) {
    for (auto i = from; i < w.size(); ++i)
      for (const auto* section : {"--job.", "--training.", "--parallelism.", "--model.", "--activation_checkpoint.", "--optimizer.", "--compile.", "--experimental."})
        if (w[i].text.starts_with(section)) return true;
    return false;
  }

  /// A launcher's options up to the program; `counts` is told each.
  template <class Flags, class Options, class Counts>
  std::size_t skip_options(const std::vector<shell_word>& w, std::size_t i, const Flags& flags, const Options& options, Counts counts) {
    while (i < w.size() && w[i].text.starts_with("-")) {
      auto one = arguments_of(std::span{&w[i], 1});
      if (one.empty()) break;
      one[0].name = dashed(one[0].name);
      const auto& name = one[0].name;
      ++i;
      if (among(flags, name)) continue;
      if (!among(options, name)) {
        std::vector<std::string_view> all(options.begin(), options.end());
        all.insert(all.end(), flags.begin(), flags.end());
        const auto meant = closest(name, all);
        fail("headroom: " + at(one[0].line) + ": the launcher has no option --" + name + (meant.empty() ? "" : "; did you mean --" + std::string{meant} + "?"));
      }
      if (one[0].values.empty() && i < w.size()) one[0].values.push_back(w[i++]);
      counts(one[0]);
    }
    return i;
  }
  template <class Flags, class Options>
  bool started(const shell_command& c, std::size_t i, const Flags& flags, const Options& options) {
    i = skip_options(c.words, i, flags, options, [&](const argument& a) {
      const auto* key = a.name == "nnodes" ? "nodes" : a.name == "nproc-per-node" ? "gpus_per_node" : nullptr;
      if (key == nullptr) return;
      if (const auto n = how_many(a, source_)) d_->say({"hardware", key}, *n, at(a.line));
    });
    settings(c);
    if (i < c.words.size()) program(c, i, i + 1);
    return true;
  }
  bool deepspeed(const shell_command& c, std::size_t i) {
    i = skip_options(c.words, i, deepspeed_flags, deepspeed_launch, [&](const argument& a) {
      const auto* key = a.name == "num-nodes" ? "nodes" : a.name == "num-gpus" ? "gpus_per_node" : nullptr;
      if (key != nullptr) {
        if (const auto n = how_many(a, source_)) d_->say({"hardware", key}, *n, at(a.line));
      } else if ((a.name == "include" || a.name == "i") && !a.values.empty()) {
        const auto& hosts = a.values[0].text;  // HOST:0,1,2@HOST:…
        if (const auto colon = hosts.find(':'); colon != std::string::npos && hosts.find('@') == std::string::npos)
          d_->say({"hardware", "gpus_per_node"}, 1 + std::count(hosts.begin() + static_cast<std::ptrdiff_t>(colon), hosts.end(), ','), at(a.line));
      }
    });
    settings(c);
    d_->framework_is("deepspeed", at(c.words[0].line));
    if (i < c.words.size()) program(c, i, i + 1);
    return true;
  }
  bool accelerate(const shell_command& c, std::size_t i) {
    while (i < c.words.size() && c.words[i].text.starts_with("-")) {
      auto said = arguments_of(std::span{&c.words[i], 1});
      if (said.empty()) break;
      auto& one = said[0];
      one.name = dashed(one.name);
      ++i;
      static constexpr auto flags = std::to_array<std::string_view>({"multi-gpu", "use-deepspeed", "use-fsdp", "cpu", "tpu", "m", "module", "no-python", "quiet", "q", "debug", "same-network", "dynamo-use-dynamic",
                                                                     "use-megatron-lm", "ipex", "use-xpu", "enable-cpu-affinity", "mpirun", "no-tpu-cluster"});
      if (among(flags, one.name)) {
        if (one.name == "use-megatron-lm") fail("headroom: " + at(one.line) + ": accelerate's Megatron-LM plugin is not read by this version");
        if (one.name == "multi-gpu" && !d_->has({"sharding"})) d_->replace("sharding", "ddp", at(one.line));
        continue;
      }
      if (one.values.empty() && i < c.words.size()) one.values.push_back(c.words[i++]);
      if (one.name == "num-processes")
        if (const auto n = how_many(one, source_)) d_->know(d_->gpus, "GPUs", *n, at(one.line));
      if (one.name == "num-machines")
        if (const auto n = how_many(one, source_)) d_->say({"hardware", "nodes"}, *n, at(one.line));
      if (one.name == "config-file") named(one);
    }
    settings(c);
    if (!d_->has({"framework"})) d_->framework_is("hf-trainer", at(c.words[0].line));
    if (i < c.words.size()) program(c, i, i + 1);
    return true;
  }
  /// llamafactory-cli train FILE key=value …
  bool factory(const shell_command& c, std::size_t i) {
    settings(c);
    if (i < c.words.size() && !c.words[i].text.starts_with("-")) {
      named({"", {c.words[i]}, c.words[i].line});
      std::vector<argument> over;
      for (++i; i < c.words.size(); ++i)
        if (const auto equals = c.words[i].text.find('='); equals != std::string::npos)
          over.push_back({c.words[i].text.substr(0, equals), {{c.words[i].text.substr(equals + 1), c.words[i].line}}, c.words[i].line});
      if (!over.empty()) trainer_arguments(over);
      return true;
    }
    return program(c, i, i);
  }
  void named(const argument& a) {
    if (!a.values.empty()) d_->notes.push_back(at(a.line) + ": names " + in_quotes(a.values[0].shown()) + ", which is read only where it is given beside this file");
  }
  void settings(const shell_command& c) {
    for (const auto& w : c.settings) import_setting(*d_, w, source_);
  }
  void trainer_arguments(std::vector<argument> all) {
    for (auto& a : all) std::replace(a.name.begin(), a.name.end(), '-', '_');
    for (const auto& a : all)
      if (trainer_reads(a.name)) check_known(a, source_);
    auto from = document_of(all, source_);
    for (auto& [key, value] : from.root.items())  // "True" and "none" are words on a command line
      if (value.is_string()) {
        const auto& word = value.get_ref<const std::string&>();
        if (word == "True" || word == "true") value = true;
        else if (word == "False" || word == "false") value = false;
      }
    import_trainer(*d_, from);
  }
  bool program(const shell_command& c, std::size_t script, std::size_t first) {
    const auto words = std::span{c.words}.subspan(std::min(first, c.words.size()));
    if (megatron(words, 0)) {
      settings(c);
      const auto all = arguments_of(words);
      import_megatron(*d_, document_of(all, source_));
      return true;
    }
    if (titan(words, 0)) return torchtitan(c, words);
    if (trainer(words, 0)) {
      settings(c);
      trainer_arguments(arguments_of(words));
      return true;
    }
    if (script < c.words.size() && script != first) d_->notes.push_back(at(c.words[script].line) + ": the arguments of " + in_quotes(c.words[script].shown()) + " are its own and are not read");
    return false;
  }
  /// --section.key=value beside a configuration.
  bool torchtitan(const shell_command& c, std::span<const shell_word> words) {
    settings(c);
    document from{.source = source_, .root = json_value::object(), .lines = {}};
    for (const auto& a : arguments_of(words)) {
      if (a.name == "job.config_file" || a.name == "job.config-file") {
        named(a);
        continue;
      }
      const auto dot = a.name.find('.');
      if (dot == std::string::npos) continue;
      const auto section = a.name.substr(0, dot), key = a.name.substr(dot + 1);
      if (!a.known()) continue;
      auto value = value_of(a);
      if (value == "True" || value == "true") value = true;
      if (value == "False" || value == "false") value = false;
      from.root[section][key] = value;
      from.lines[a.name] = a.line;
    }
    import_torchtitan(*d_, from);
    return true;
  }

  draft* d_;
  std::string source_;
};

}  // namespace detail

}  // namespace headroom::io
