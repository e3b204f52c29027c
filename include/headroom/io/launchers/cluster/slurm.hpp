// Distributed under the Boost Software License, Version 1.0.
// What Slurm's options say of nodes and GPUs: #SBATCH lines, and srun before a command (SchedMD/slurm src/common/slurm_opt.c, 2026-08).
#pragma once

#include <headroom/io/launchers/import_environment.hpp>

namespace headroom::io::detail {

/// Options without a value of their own; every other takes one.
inline constexpr auto slurm_flags = std::to_array<std::string_view>(
    {"exclusive", "immediate", "I", "K", "kill-on-bad-exit", "nice", "propagate", "k", "no-kill", "pty", "overlap", "requeue",  // or =VALUE
     "E", "H", "O", "Q", "V", "W", "X", "Z", "async",
     "bell", "consolidate-segments", "contiguous", "debugger-test", "disable-status", "exact", "external", "get-user-env", "h",
     "help", "hold", "ignore-pbs", "interactive", "l", "label", "multi-prog", "no-allocate", "no-bell",
     "no-requeue", "no-shell", "overcommit", "oversubscribe", "parsable", "preserve-env", "quiet", "quit-on-interrupt", "reboot",
     "s", "spread-job", "spread-segments", "stepmgr", "test-only", "u", "unbuffered", "usage", "use-min-nodes",
     "v", "verbose", "version", "wait", "wait-for-children", "whole"});

class slurm_options {
 public:
  slurm_options(draft& d, const std::string& source) : d_(&d), source_(&source) {}

  /// Reads srun's options; where the command begins.
  std::size_t read(std::span<const shell_word> w, std::size_t i) {
    while (i < w.size() && w[i].text.starts_with("-")) {
      auto one = arguments_of(w.subspan(i, 1));
      if (one.empty()) break;
      ++i;
      glued(one[0]);
      const bool flag = std::find(slurm_flags.begin(), slurm_flags.end(), one[0].name) != slurm_flags.end();
      const bool number_next = i < w.size() && !w[i].text.empty() && w[i].text.find_first_not_of("0123456789") == std::string::npos;
      if (one[0].values.empty() && i < w.size() && (!flag || number_next)) one[0].values.push_back(w[i++]);
      take(one[0]);
    }
    return i;
  }
  /// One option.
  void take(argument a) {
    glued(a);
    static constexpr std::pair<std::string_view, std::string_view> shorts[] = {{"N", "nodes"}, {"n", "ntasks"}, {"G", "gpus"}, {"tasks-per-node", "ntasks-per-node"}};
    std::string_view name = a.name;
    for (const auto& [from, to] : shorts)
      if (name == from) name = to;
    for (const auto* other : {"gpus-per-socket", "ntasks-per-gpu", "ntasks-per-tres", "nodefile", "F", "het-group", "hetjob", "packjob", "multi-prog"})
      if (name == other) d_->unmodelled_key(a.name, a.values.empty() ? json_value(true) : json_value(a.values[0].shown()), *source_ + ":" + std::to_string(a.line));
    if (a.values.empty()) return;
    auto text = a.values[0].text;
    if (name == "export") return settings(a);
    if (name == "gres") {
      const auto at = text.find("gpu");
      if (at == std::string::npos) return;
      text = text.substr(at, text.find(',', at) - at);
      const auto colon = text.rfind(':');
      if (colon == std::string::npos || (a.known() && text.find_first_of("0123456789", colon) != colon + 1)) text = "1";  // gpu, gpu:TYPE
      name = "gpus-per-node";
    }
    if (name == "nodes")
      number(a, text, nodes_);
    else if (name == "gpus-per-node")
      number(a, text, each_);
    else if (name == "gpus")
      number(a, text, gpus_);
    else if (name == "ntasks")
      number(a, text, tasks_);
    else if (name == "ntasks-per-node")
      number(a, text, tasks_each_);
    else if (name == "gpus-per-task")
      number(a, text, per_task_);
  }
  /// Says what they add up to. `a_process_each`: the command is no launcher, so that each task is a rank with a GPU of its own.
  void say(bool a_process_each) {
    if (each_.value == 0 && per_task_.value > 0 && tasks_each_.value > 0) each_ = {checked::mul(per_task_.value, tasks_each_.value), per_task_.place};
    if (gpus_.value == 0 && per_task_.value > 0 && tasks_.value > 0) gpus_ = {checked::mul(per_task_.value, tasks_.value), per_task_.place};
    if (a_process_each && gpus_.value == 0 && tasks_.value > 0) gpus_ = tasks_;
    if (a_process_each && each_.value == 0 && tasks_each_.value > 0) each_ = at_most_each();
    if (nodes_.value > 0) d_->say({"hardware", "nodes"}, nodes_.value, nodes_.place);
    if (each_.value > 0) d_->say({"hardware", "gpus_per_node"}, each_.value, each_.place);
    if (gpus_.value > 0 && (nodes_.value == 0 || each_.value == 0)) d_->know(d_->gpus, "GPUs", gpus_.value, gpus_.place);
    // Slurm chooses the nodes where nobody says how many (sbatch(1), --ntasks, --gpus).
    if (gpus_.value > 8 && nodes_.value == 0 && each_.value == 0 && !d_->open_nodes) d_->open_nodes = draft::said{std::to_string(gpus_.value) + " GPUs without --nodes lie on as many nodes as Slurm chooses", gpus_.place};
  }

 private:
  /// --export=ALL,NAME=VALUE,…: the environment of the job.
  void settings(const argument& a) {
    const auto& text = a.values[0].text;
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find(',', at), text.size());
      const auto one = text.substr(at, end - at);
      if (one.find('=') != std::string::npos) import_setting(*d_, {one, a.line}, *source_);
      at = end + 1;
    }
  }
  /// Tasks of each node. Beside --ntasks, --ntasks-per-node is the most that a node has (srun(1)).
  [[nodiscard]] draft::fact at_most_each() const {
    if (tasks_.value == 0 || nodes_.value == 0 || checked::mul(nodes_.value, tasks_each_.value) == tasks_.value) return tasks_each_;
    if (tasks_.value % nodes_.value != 0)
      fail("headroom: " + tasks_.place + ": " + std::to_string(tasks_.value) + " tasks are not as many on each of " + std::to_string(nodes_.value) + " nodes, which is not modelled: say ntasks a multiple of nodes");
    return {tasks_.value / nodes_.value, tasks_.place};
  }
  /// -N4
  static void glued(argument& a) {
    if (a.name.size() < 2 || !a.values.empty() || a.name.find_first_not_of("0123456789", 1) != std::string::npos) return;
    a.values.push_back({a.name.substr(1), a.line});
    a.name.resize(1);
  }
  /// [gpu:][type:]count
  void number(const argument& a, std::string text, draft::fact& of) {
    const auto place = *source_ + ":" + std::to_string(a.line);
    if (const auto colon = text.rfind(':'); colon != std::string::npos) text = text.substr(colon + 1);
    if (!a.known()) {
      if (&of == &nodes_) d_->leave_open(d_->open_nodes, a.name, a.values[0].shown(), place);
      if (&of == &each_ || &of == &gpus_) d_->leave_open(d_->open_gpus, a.name, a.values[0].shown(), place);
      return;
    }
    const auto n = typed(text);
    if (!n.is_number()) fail("headroom: " + place + ": " + a.name + " is " + in_quotes(a.values[0].shown()) + ", which is no number: say it with --set hardware.nodes=N or --set hardware.gpus_per_node=N");
    of = {count_at(n, place + ": " + a.name, 1, 1 << 20), place};
  }

  draft* d_;
  const std::string* source_;
  draft::fact nodes_{}, each_{}, gpus_{}, tasks_{}, tasks_each_{}, per_task_{};
};

}  // namespace headroom::io::detail
