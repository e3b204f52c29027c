// Distributed under the Boost Software License, Version 1.0.
// A launch: srun, torchrun, DeepSpeed's and Accelerate's launchers, the environment. What a program's own arguments say goes to the reader of
// that program (io/launchers/programs/training_programs.hpp says which is which).
#pragma once

#include <headroom/io/launchers/accelerate/import.hpp>
#include <headroom/io/launchers/accelerate/launch.hpp>
#include <headroom/io/launchers/cluster/mpi.hpp>
#include <headroom/io/launchers/cluster/ray_launch.hpp>
#include <headroom/io/launchers/cluster/slurm.hpp>
#include <headroom/io/launchers/launch_start.hpp>
#include <headroom/io/launchers/programs/started_program.hpp>

namespace headroom::io {

namespace detail {

class launch {
 public:
  /// `program`: what scripts are that nobody knows; null: nothing.
  launch(draft& d, std::string source, const training_program* program = nullptr) : d_(&d), source_(std::move(source)), run_(d, source_, program) {}

  /// Whether the command starts a training run that is known. Nothing is read yet.
  [[nodiscard]] bool starts(const shell_command& c) const {
    const auto s = start_in(c);
    if (s.how == launch_starter::swift) check_swift(c, s.at, source_);
    const auto known = [&](auto... hows) { return ((s.how == hows) || ...); };
    if (known(launch_starter::none, launch_starter::program, launch_starter::factory, launch_starter::swift, launch_starter::axolotl, launch_starter::trl, launch_starter::litgpt, launch_starter::tune) || d_->has_read(file_kind::job)) return s.how != launch_starter::none;
    // A launcher may start anything.
    for (auto i = s.at; i < c.words.size(); ++i)
      if (c.words[i].text.ends_with(".py") || c.words[i].text.starts_with("torchtitan.") || c.words[i].text == axolotl_module || is_verl(c.words[i].text) || is_openrlhf(c.words[i].text)) return run_.program_of(c.words[i].text, std::span{c.words}.subspan(i + 1)) != nullptr;
    return run_.program_of({}, std::span{c.words}.subspan(s.at)) != nullptr;
  }
  /// Reads a command that starts one.
  void read(const shell_command& c) {
    const auto s = start_in(c);
    wrappers(c, s);
    settings(c);
    open_end(c);
    switch (s.how) {
      case launch_starter::none: return;
      case launch_starter::torchrun: return torchrun(c, s.at);
      case launch_starter::deepspeed: return deepspeed(c, s.at);
      case launch_starter::accelerate: return accelerate(c, s.at);
      case launch_starter::factory: return factory(c, s.at);
      case launch_starter::swift: return swift(c, s.at);
      case launch_starter::axolotl: return axolotl(c, s.at);
      case launch_starter::trl: {
        const auto made = trl_command(*d_, c, s.at, source_);
        return accelerate(made.command, made.at);
      }
      case launch_starter::litgpt: return litgpt_launch(*d_, c, s.at, source_);
      case launch_starter::tune: return tune_launch(*d_, c, s.at, source_, [&](const argument& a) { counted(a); });
      case launch_starter::program:
        run_.one_process = true;
        return run_.program(c, s.at);
    }
  }
  /// Arguments alone, as they stand in a file.
  void bare(std::span<const shell_word> words) {
    const auto* p = run_.program_of({}, words);
    if (p == nullptr) fail("headroom: " + at(words.empty() ? 1 : words[0].line) + ": no program is known that has these arguments");
    run_.arguments(*p, words);
  }
  /// The #SBATCH lines.
  void directives(const std::vector<shell_word>& words) {
    if (words.empty()) return;
    lines_.emplace(*d_, source_);
    for (const auto& a : arguments_of(words)) lines_->take(a);
    lines_->say(false);
  }

 private:
  [[nodiscard]] launch_start start_in(const shell_command& c) const {
    return start_of(c, [this](std::string_view script, std::span<const shell_word> words) { return run_.program_of(script, words); });
  }
  [[nodiscard]] std::string at(int line) const { return source_ + ":" + std::to_string(line); }

  /// A last word that the script leaves open, and that is nobody's value, may hold further arguments. One of the script's own arguments is one, or names the file
  /// that has them.
  void open_end(const shell_command& c) {
    if (c.words.size() < 2 || c.words.back().known()) return;
    const auto& last = c.words.back();
    const std::string_view text = last.text, before = c.words[c.words.size() - 2].text;
    const bool whole = text.starts_with(open_from) && text.find(open_to) + 1 == text.size();
    const bool value = before.starts_with("--") && !before.starts_with("--no-") && before.find('=') == std::string_view::npos;
    if (!whole || value) return;
    const auto shown = last.shown();
    const auto digit = shown.find_first_not_of("${");
    if (digit != std::string::npos && shown.find_first_not_of("0123456789", digit) >= shown.size() - (shown.ends_with('}') ? 1 : 0) && shown[digit] != '0')
      fail("headroom: " + at(last.line) + ": " + in_quotes(shown) + " is the script's own argument, and one of the program's, or the file that has them: add --env " + shown.substr(digit, shown.find_last_of("0123456789") + 1 - digit) + "=VALUE");
    d_->notes.push_back(at(last.line) + ": the script leaves " + in_quotes(shown) + " open: where it holds arguments, they are not read");
  }
  /// ray, srun and mason before the launcher.
  void wrappers(const shell_command& c, const launch_start& s) {
    read_ray_submit(*d_, std::span{c.words}.first(std::min(s.at, c.words.size())), source_);
    for (std::size_t i = 0; i < std::min(s.at, c.words.size()); ++i) {
      const auto name = file_part(c.words[i].text);
      if (name == "srun") {
        auto options = lines_ ? *lines_ : slurm_options{*d_, source_};  // a step has what its batch job asks for
        options.read(c.words, i + 1);
        options.say(s.how == launch_starter::program);
      }
      if ((name == "mpirun" || name == "mpiexec") && s.how == launch_starter::program) read_mpirun(*d_, std::span{c.words}.subspan(i + 1, s.at - i - 1), source_);
      if (name == "mason.py") mason(std::span{c.words}.subspan(i + 1, s.at - i - 1));
    }
  }
  /// open-instruct's mason.py starts the command after "--" on so many nodes with so many GPUs each.
  void mason(std::span<const shell_word> words) {
    for (const auto& a : arguments_of(words)) {
      const auto name = dashed(a.name);
      if (name == "num-nodes") count(a, "nodes", d_->open_nodes);
      if (name == "gpus") count(a, "gpus_per_node", d_->open_gpus);
    }
    mason_ = true;
  }

  /// A number of nodes or GPUs.
  void count(const argument& a, const char* key, std::optional<draft::said>& open) {
    const auto n = how_many(a, source_);
    if (!n)
      draft::leave_open(open, "--" + a.name, a.values[0].shown(), at(a.line));
    else if (*n == 0)
      d_->takes_all_gpus = draft::said{"--" + a.name + " " + a.values[0].text, at(a.line)};
    else
      d_->say({"hardware", key}, *n, at(a.line));
  }
  /// One of torchrun's options.
  void counted(const argument& a) {
    if (a.name == "nnodes") count(a, "nodes", d_->open_nodes);
    if (a.name == "nproc-per-node") count(a, "gpus_per_node", d_->open_gpus);
  }
  void torchrun(const shell_command& c, std::size_t i) {
    i = skip_options(c.words, i, source_, torchrun_flags, torchrun_options, [&](const argument& a) { counted(a); });
    if (!d_->has({"hardware", "nodes"}) && !d_->open_nodes && d_->torchrun_nodes) d_->say({"hardware", "nodes"}, d_->torchrun_nodes->value, d_->torchrun_nodes->place);
    if (!d_->has({"hardware", "gpus_per_node"}) && !d_->open_gpus && !d_->takes_all_gpus) {  // run.py, --nproc-per-node
      const auto each = d_->torchrun_processes.value_or(draft::fact{1, at(c.words[0].line)});
      d_->say({"hardware", "gpus_per_node"}, each.value, each.place);
    }
    run_.program(c, i);
  }
  void deepspeed(const shell_command& c, std::size_t i) {
    bool counted = false, chosen = false;
    std::optional<argument> hosts;
    const auto begins = at(c.words[0].line);
    i = skip_options(c.words, i, source_, deepspeed_flags, deepspeed_options, [&](const argument& a) {
      if (a.name == "num-nodes") count(a, "nodes", d_->open_nodes);
      if (a.name == "num-gpus" || a.name == "num-accelerators") {
        counted = true;
        count(a, "gpus_per_node", d_->open_gpus);
      }
      if ((a.name == "hostfile" || a.name == "H") && !a.values.empty()) hosts = a;
      if (a.name == "elastic-training" || a.name == "autotuning") d_->unmodelled_key(a.name, value_of(a), at(a.line));
      if ((a.name == "include" || a.name == "i") && !a.values.empty()) {
        const auto only = hosts_of(a.values[0].text, at(a.line));
        if (only.nodes > 1) d_->say({"hardware", "nodes"}, only.nodes, at(a.line));
        if (only.gpus > 0) d_->say({"hardware", "gpus_per_node"}, only.gpus, at(a.line));
        counted = only.gpus > 0;
        chosen = true;
      }
    });
    if (hosts && !chosen && !d_->has({"hardware", "nodes"}) && !d_->open_nodes) d_->open_nodes = draft::said{"--hostfile " + hosts->values[0].shown() + " lists the nodes", at(hosts->line)};
    if (!counted) d_->takes_all_gpus = draft::said{"deepspeed", begins};
    run_.by_deepspeed = begins;
    run_.program(c, i);
  }

  /// What the command line says goes over what the file says, key by key.
  void accelerate(const shell_command& c, std::size_t i) {
    const auto begins = at(c.words[0].line);
    auto over = accelerate_options_said(*d_, c, i, source_);
    if (mason_) over.root.erase("num_processes");  // mason.py writes it anew
    auto whole = d_->accelerate ? *d_->accelerate : document{.source = source_, .root = {{"distributed_type", "MULTI_GPU"}}, .lines = {}};
    merge(whole, over);
    if (!whole.root.contains("num_processes") && !mason_) d_->takes_all_gpus = draft::said{"accelerate launch", begins};
    import_accelerate(*d_, whole);
    run_.program(c, i);
  }
  /// llamafactory-cli train FILE key=value …
  void factory(const shell_command& c, std::size_t i) {
    d_->takes_all_gpus = draft::said{"llamafactory-cli", at(c.words[0].line)};
    for (const auto& w : c.settings) import_count(*d_, w, source_);  // it starts torchrun by these itself (src/llamafactory/launcher.py)
    run_.arguments(*program_named("llama-factory"), std::span{c.words}.subspan(i));
  }
  /// swift sft ARGUMENTS, swift sft FILE: it starts torchrun by the environment itself (swift/cli/main.py, get_torchrun_args).
  void swift(const shell_command& c, std::size_t i) {
    const auto begins = at(c.words[0].line);
    const auto said = [&](const shell_word& w, std::string_view name) { return w.text.starts_with(name) && w.text.size() > name.size() && w.text[name.size()] == '='; };
    for (const auto& w : c.settings) {
      import_count(*d_, w, source_);
      if (w.known()) continue;
      if (said(w, "NNODES")) draft::leave_open(d_->open_nodes, "NNODES", w.shown().substr(7), at(w.line));
      if (said(w, "NPROC_PER_NODE")) draft::leave_open(d_->open_gpus, "NPROC_PER_NODE", w.shown().substr(15), at(w.line));
    }
    const bool nodes = d_->has({"hardware", "nodes"}) || d_->open_nodes, each = d_->has({"hardware", "gpus_per_node"}) || d_->open_gpus;
    run_.one_process = !nodes && !each;
    if (nodes && !each && d_->open_nodes)  // who sets the one may set the other, too
      draft::leave_open(d_->open_gpus, "NPROC_PER_NODE", "", begins);
    else if (nodes && !each)
      d_->say({"hardware", "gpus_per_node"}, 1, begins);
    if (run_.one_process) d_->takes_all_gpus = draft::said{"swift without NPROC_PER_NODE", begins};
    if (file_part(c.words[i - 1].text) == "megatron") {
      run_.megatron_swift(std::span{c.words}.subspan(i));
      for (const auto& w : c.settings) say_pixels(*d_, w, at(w.line)), swift_tasks::say_documents(*d_, w, at(w.line));
      return;
    }
    run_.spread(begins);
    run_.arguments(*program_named("ms-swift"), std::span{c.words}.subspan(i + 1));
    if (std::find(d_->unread.begin(), d_->unread.end(), file_kind::trainer) != d_->unread.end()) run_.trainer_arguments(*program_named("ms-swift"), {});
    for (const auto& w : c.settings) say_pixels(*d_, w, at(w.line)), swift_tasks::say_documents(*d_, w, at(w.line));
  }
  /// It sets PyTorch's allocator before it starts anything (axolotl/cli/main.py, set_pytorch_cuda_alloc_conf).
  void axolotl(const shell_command& c, std::size_t i) {
    if (!d_->has({"environment", "allocator"})) d_->say({"environment", "allocator", "expandable_segments"}, true, at(c.words[0].line));
    const auto made = axolotl_command(c, i);
    if (made.launcher == "accelerate") return accelerate(made.command, made.at);
    if (made.launcher == "torchrun") return torchrun(made.command, made.at);
    run_.program(made.command, made.at);
  }
  void settings(const shell_command& c) {
    for (const auto& w : c.settings) import_setting(*d_, w, source_);
  }

  draft* d_;
  std::string source_;
  std::optional<slurm_options> lines_;  ///< of #SBATCH
  bool mason_{};
  started_program run_;
};

}  // namespace detail

}  // namespace headroom::io
