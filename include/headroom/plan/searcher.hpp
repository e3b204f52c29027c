// Distributed under the Boost Software License, Version 1.0.
// One thread of a search: every job of a division of the GPUs, judged one by one.
#pragma once

#include <headroom/plan/verdicts.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headroom::detail {

constexpr std::uint64_t most_ordinals = std::uint64_t{1} << 40;  // of one division of the GPUs

/// A way to divide the GPUs: the values of the first axes. A list of jobs would take a hundred times the room.
using gpu_division = std::array<std::int64_t, axes::degrees_end>;

template <class Judge>
class searcher {
 public:
  searcher(const search& s, Judge judge, const plan_options& o) : given_(&s), options_(&o), verdicts_(s, judge, o) { screen(judge); }

  /// What is left of the axes once the GPUs are divided: every job of the n-th division.
  void run(const gpu_division& values, std::uint64_t n, plan_result& r) {
    auto& j = tried_.back() = given_->job;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (open(i)) axes::all[i].set(j, values[i]);
    verdicts_.start(n * most_ordinals);
    descend(j, axes::degrees_end, r);
    verdicts_.finish(r);
  }
  /// As far as there is time.
  [[nodiscard]] std::vector<gpu_division> divisions() const {
    std::vector<gpu_division> all;
    divide(given_->job, 0, {}, all);
    return all;
  }
  /// Reasons for values that no division of the GPUs can have.
  [[nodiscard]] const std::map<std::string, std::int64_t>& screened() const { return screened_; }

 private:
  [[nodiscard]] bool open(std::size_t i) const { return (given_->open >> i & 1U) != 0; }
  [[nodiscard]] bool over() const { return options_->stop.stop_requested() || options_->until.passed(); }

  void divide(const job& j, std::size_t i, gpu_division d, std::vector<gpu_division>& all) const {
    if (i == axes::degrees_end) return all.push_back(d);
    if (options_->until.passed()) return;
    if (!open(i)) return divide(j, i + 1, d, all);
    for (const auto v : axes::all[i].values(j)) {
      const auto next = std::make_unique<job>(j);  // large, so not on the stack
      axes::all[i].set(*next, v);
      d[i] = v;
      divide(*next, i + 1, d, all);
    }
  }

  /// Values that a framework refuses by themselves are not tried with everything else.
  void screen(Judge& judge) {
    auto& plain = tried_[0] = given_->job;
    plain.batch.accumulation = std::max<std::int64_t>(plain.batch.accumulation, 2);
    if (!accepts(judge, plain, nullptr)) return;
    for (std::size_t i = axes::degrees_end; i < axes::all.size(); ++i) {
      if (!open(i) || (axes::of_framework >> i & 1U) == 0) continue;
      for (const auto v : axes::all[i].values(plain)) {
        auto& j = tried_[1] = plain;
        axes::all[i].set(j, v);
        std::string why;
        if (accepts(judge, j, &why)) continue;
        excluded_[i] |= std::uint64_t{1} << v;
        ++screened_[why];
      }
    }
  }
  static bool accepts(Judge& judge, const job& j, std::string* why) {
#if HEADROOM_EXCEPTIONS
    try {
#endif
      const auto seen = judge(j);
      if (seen.refused && why != nullptr) *why = reason_of(seen.refused.sentence);
      return !seen.refused;
#if HEADROOM_EXCEPTIONS
    } catch (const job_error& e) {
      if (why != nullptr) *why = reason_of(e.what());
      return false;
    }
#endif
  }

  void descend(job& j, std::size_t i, plan_result& r) {
    if (over()) {
      r.complete = false;
      return;
    }
    if (i == axes::all.size()) return batches(j, r);
    if (!open(i)) return descend(j, i + 1, r);
    for (const auto v : axes::all[i].values(j)) {
      if (v < 64 && (excluded_[i] >> v & 1U) != 0) continue;
      auto& next = tried_[i] = j;
      axes::all[i].set(next, v);
      descend(next, i + 1, r);
    }
  }

  /// Micro-batches from small to large, at one global batch. Of those with several micro-batches in a step the next larger needs no less
  /// memory; with one there are no gradients to add to, and it is judged by itself.
  void batches(job& j, plan_result& r) {
    const auto data = j.hardware.gpus() / (j.parallel.tensor * j.parallel.pipeline * j.parallel.context);
    const auto global = given_->global_batch;
    using enum frequent_reason;
    verdicts_.begin(j);
    if (!given_->open_micro) {
      (void)verdicts_.look(j, r);
      return;
    }
    if (global % data != 0) {
      verdicts_.leave_out(uneven_batch);
      return;
    }
    const auto each = global / data;
    bool full = false, any = false;
    const auto given_micro = given_->job.batch.micro, given_accumulation = given_->job.batch.accumulation;
    for (const auto micro : divisors(each)) {
      if ((given_->keeps_micro && micro != given_micro) || (given_->keeps_accumulation && each / micro != given_accumulation)) continue;
      any = true;
      if (options_->until.passed()) return void(r.complete = false);
      if (full && micro != each) {
        verdicts_.pass_over(too_large, r);
        continue;
      }
      j.batch.micro = micro;
      j.batch.accumulation = each / micro;
      if (properties_of(j.parallel.schedule).in_groups && j.batch.accumulation % j.parallel.pipeline != 0) {  // checked here too: many are
        verdicts_.pass_over(uneven_stages, r);
        continue;
      }
      full = !verdicts_.look(j, r) || full;
    }
    if (!any) verdicts_.leave_out(other_batch);
  }

  /// Of the sequences of a rank, the sizes of a micro-batch: ascending.
  const std::vector<std::int64_t>& divisors(std::int64_t of) {
    if (of != divided_) {
      divided_ = of;
      divisors_.clear();
      for (std::int64_t i = 1; i <= of / i; ++i)
        if (of % i == 0) divisors_.push_back(i);
      for (auto n = divisors_.size(); n-- > 0;)
        if (const auto i = divisors_[n]; i != of / i) divisors_.push_back(of / i);
    }
    return divisors_;
  }

  const search* given_;
  const plan_options* options_;
  verdicts<Judge> verdicts_;
  std::vector<job> tried_ = std::vector<job>(axes::all.size() + 1);  // one for each axis, and the one that they begin with: too large for the stack
  std::array<std::uint64_t, axes::all.size()> excluded_{};
  std::map<std::string, std::int64_t> screened_;
  std::int64_t divided_ = 0;
  std::vector<std::int64_t> divisors_;
};

}  // namespace headroom::detail
