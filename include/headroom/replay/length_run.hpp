// Distributed under the Boost Software License, Version 1.0.
// A rank's run over micro-batches of different lengths: each length's micro-batch is walked once, and its calls are made again wherever it comes.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>
#include <headroom/replay/call_script.hpp>
#include <headroom/replay/step_trace.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// What a run took of an allocator.
struct run_result {
  bytes reserved{};
  bool found_room{};  ///< in every step
};

/// Runs a rank of a job over micro-batches of given lengths. The first step, which makes the optimizer's states, is one micro-batch of the first length.
template <class Layers = detail::shipped_layers>
class length_run {
 public:
  length_run(const job& j, std::size_t kind, const Layers& layers = {}, const deadline& until = {})
      : job_(std::make_unique<job>(j)), kind_(kind), layers_(&layers), until_(until), accumulation_(j.batch.accumulation) {
    job_->batch.lengths = {};
    positions_ = accumulation_ < 3 ? static_cast<std::size_t>(accumulation_) : 3;
  }

  /// How many calls a micro-batch makes, about.
  [[nodiscard]] std::size_t calls_of(std::int64_t length) { return scripts_of(length).front().calls(); }

  /// Micro-batches one behind the other, in an allocator of its own. `stops`: where there is no room the rest is left.
  /// Nothing where micro-batches of different lengths differ in more than their sizes.
  std::optional<run_result> run(std::span<const std::int64_t> micro_batches, const allocator_settings& settings, bool stops = false) {
    caching_allocator a(settings);
    in_use_.clear();
    start_of(micro_batches.front()).play(a, in_use_, made_);
    a.reset_peaks();
    for (std::size_t i = 0; i < micro_batches.size() && !(stops && a.overflowed()); ++i) {
      until_.check();
      const auto in_step = static_cast<std::int64_t>(i) % accumulation_;
      const auto& scripts = scripts_of(micro_batches[i]);
      const auto at = in_step + 1 == accumulation_ ? positions_ - 1 : std::min(static_cast<std::size_t>(in_step), positions_ - 2);
      if (scripts[at].before() != in_use_.size()) return std::nullopt;
      scripts[at].play(a, in_use_, made_);
    }
    return run_result{bytes{a.peak_reserved()}, !a.overflowed()};
  }

 private:
  const std::vector<call_script>& scripts_of(std::int64_t length) {
    auto& known = scripts_[length];
    if (!known.empty()) return known;
    known = walked(length).second;
    // Of the micro-batches between a step's first and last each is like the one before, if not in the first of them, then in the second.
    if (accumulation_ > 3 && positions_ == 3 && !known[1].repeats()) {
      positions_ = 4;
      scripts_.clear();
      return scripts_of(length);
    }
    if (like_.empty()) like_ = known;
    return known;
  }
  const call_script& start_of(std::int64_t length) {
    const auto at = starts_.find(length);
    return at != starts_.end() ? at->second : starts_.emplace(length, walked(length).first).first->second;
  }

  /// Loading and the first step; and each micro-batch of the second.
  std::pair<call_script, std::vector<call_script>> walked(std::int64_t length) {
    until_.check();
    job_->batch.sequence = length;
    const auto s = settle(*job_, kind_);
    const auto list = kept_weights(s, layers_->weights(s.model));
    const auto st = states(s, list);
    const auto w = windows_of(s, st);
    caching_allocator a;
    calls_.clear();
    a.write_calls_to(&calls_);
    step_trace trace(s, list, st, w, detail::resident_bytes(s, st, w), a, {nullptr, until_}, *layers_);
    trace.run(1);
    std::vector<std::size_t> ends{calls_.size()};
    trace.run(static_cast<std::int64_t>(positions_), [&] { ends.push_back(calls_.size()); });
    ends.push_back(calls_.size());
    live_blocks in_use;
    std::size_t retired = 0;
    const std::span<const allocator_call> all(calls_);
    call_script start(all.first(ends[0]), in_use, retired);
    std::vector<call_script> micros;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
      micros.emplace_back(all.subspan(ends[i], ends[i + 1] - ends[i]), in_use, retired, i < like_.size() ? &like_[i] : nullptr);
    return {std::move(start), std::move(micros)};
  }

  std::unique_ptr<job> job_;  // with another sequence for each length; on the heap, as it is large
  std::size_t kind_;
  const Layers* layers_;
  deadline until_;
  std::int64_t accumulation_;
  std::size_t positions_;  // micro-batches of a step that are walked: the first, one or two like those in between, the last
  std::map<std::int64_t, std::vector<call_script>> scripts_;
  std::map<std::int64_t, call_script> starts_;
  std::vector<call_script> like_;
  std::vector<allocator_call> calls_;
  live_blocks in_use_, made_;
};

}  // namespace headroom
