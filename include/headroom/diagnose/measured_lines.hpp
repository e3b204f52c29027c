// Distributed under the Boost Software License, Version 1.0.
// What a run's log says that it took: the lines that trainers print, the tallest of each figure, and the time of a usual step.
// Sources: Megatron-LM training/utils.py (report_memory) and training.py (training_log); DeepSpeed runtime/utils.py (see_memory_usage, which sets
// the peak back at each line); torch cuda/memory.py (memory_summary); torchtitan's train.py (max_reserved_gib); transformers trainer_utils.py
// (TrainerMemoryTracker) and trainer_pt_utils.py (metrics_format).
#pragma once

#include <headroom/diagnose/message.hpp>
#include <headroom/measured/run.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace headroom {

/// Figures of one rank, as measured_by() takes them.
struct measured_lines {
  measured_run run{};
  bool died{};        ///< it went out of memory, so that the tallest moment may never have been
  [[nodiscard]] bool any() const { return run.step > 0 || std::any_of(run.measured.begin(), run.measured.end(), [](bytes b) { return b >= bytes{0}; }); }
};

namespace detail {

/// A decimal number at the start, after blanks and the marks that stand between a name and its value; and what follows it.
struct printed_number {
  double value{};
  std::string_view rest{};
};
inline std::optional<printed_number> number_after(std::string_view line, std::string_view name) {
  const auto found = after(line, name);
  if (!found) return std::nullopt;
  auto rest = *found;
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == ':' || rest[0] == '=' || rest[0] == '"' || rest[0] == '\'' || rest[0] == '|')) rest.remove_prefix(1);
  double value = 0, unit = 1;
  std::size_t digits = 0, i = 0;
  bool point = false;
  for (; i < rest.size(); ++i) {
    if (rest[i] == '.' && !point) {
      point = true;
    } else if (rest[i] >= '0' && rest[i] <= '9' && digits < 17) {
      value = 10 * value + (rest[i] - '0');
      if (point) unit *= 10;
      ++digits;
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  rest.remove_prefix(i);
  if (rest.size() > 1 && rest[0] == 'e') return std::nullopt;
  return printed_number{value / unit, rest};
}

inline bytes of_unit(double value, double unit) { return bytes{std::llround(value * unit)}; }

class log_reader {
 public:
  void line(std::string_view text) {
    constexpr double mega = 1024.0 * 1024.0, giga = 1024.0 * mega;
    if (text.find("Tried to allocate ") != std::string_view::npos) all_.died = true;
    if (text.find(" memory (MB)") != std::string_view::npos) {  // Megatron-LM
      take(reading::allocated, text, "max allocated:", mega);
      take(reading::reserved, text, "max reserved:", mega);
    }
    if (const auto n = number_after(text, "elapsed time per iteration (ms)")) steps_.push_back(n->value / 1000);
    if (const auto at = text.find("Max_MA "); at != std::string_view::npos) {  // DeepSpeed; its Max_CA has no decimals
      take(reading::allocated, text, "Max_MA ", giga);
      take(reading::reserved, text.substr(at), " CA ", giga);
    }
    if (const auto n = number_after(text, "memory:"); n && n->rest.starts_with("GiB(")) most(reading::reserved, of_unit(n->value, giga));  // torchtitan
    table(text, "| Allocated memory ", reading::allocated);
    table(text, "| Active memory ", reading::active);
    table(text, "| GPU reserved memory ", reading::reserved);
    trainer(text);
  }
  measured_lines end() {
    if (tracked_[0] && tracked_[1] && tracked_[2] && tracked_[3]) most(reading::allocated, *tracked_[0] + *tracked_[1] + *tracked_[2] + *tracked_[3]);
    if (steps_.size() > 1) steps_.erase(steps_.begin());  // the first waits for kernels, data and the allocator
    if (!steps_.empty()) {
      std::sort(steps_.begin(), steps_.end());
      all_.run.step = std::llround(steps_[steps_.size() / 2] * 1e9);
    }
    return all_;
  }

 private:
  void most(reading m, bytes b) {
    auto& known = all_.run.measured[static_cast<std::size_t>(m)];
    known = max(known, b);
  }
  void take(reading m, std::string_view text, std::string_view name, double unit) {
    if (const auto n = number_after(text, name)) most(m, of_unit(n->value, unit));
  }
  /// memory_summary(): usage now, its peak.
  void table(std::string_view text, std::string_view name, reading m) {
    const auto now = number_after(text, name);
    if (!now) return;
    const auto at = now->rest.find('|');
    if (at == std::string_view::npos) return;
    const auto peak = number_after(now->rest.substr(at), "|");
    if (!peak) return;
    auto unit = peak->rest;
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    constexpr std::string_view units = "BKMGT";
    if (unit.empty() || units.find(unit[0]) == std::string_view::npos) return;
    most(m, of_unit(peak->value, std::pow(1024.0, static_cast<double>(units.find(unit[0])))));
  }
  /// What was there before, what the trainer's and the training's start added, and how much higher the training's peak was than its end.
  void trainer(std::string_view text) {
    constexpr std::string_view names[] = {"before_init_mem_gpu", "init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta", "train_mem_gpu_peaked_delta"};
    for (std::size_t i = 0; i < std::size(names); ++i)
      if (const auto n = number_after(text, names[i])) tracked_[i] = of_unit(n->value, n->rest.starts_with("MB") ? 1024.0 * 1024.0 : 1.0);
    if (const auto n = number_after(text, "train_steps_per_second"); n && n->value > 0) steps_ = {1 / n->value};
  }

  measured_lines all_;
  std::vector<double> steps_;
  std::optional<bytes> tracked_[4];
};

}  // namespace detail

/// The tallest figure of each kind in a log. Of several ranks' lines that is the rank with the most. The figures are rounded as they were printed.
inline measured_lines read_measured_lines(std::string_view log) {
  detail::log_reader reader;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    reader.line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return reader.end();
}

}  // namespace headroom
