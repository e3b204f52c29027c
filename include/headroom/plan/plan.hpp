// Distributed under the Boost Software License, Version 1.0.
// plan(search): of all jobs that the open keys allow, the fastest that fit. Every one is judged: larger micro-batches than one that does
// not fit are passed over, since they need more, and nothing else is left out.
#pragma once

#include <headroom/plan/axes.hpp>
#include <headroom/plan/mixed.hpp>
#include <headroom/plan/result.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headroom {

struct plan_options {
  std::size_t top{10};
  unsigned threads{};                              ///< 0: all cores
  std::int64_t part{0}, parts{1};                  ///< of a search that is divided: this part of so many
  std::stop_token stop{};                          ///< ends it with the best so far
  std::atomic<std::int64_t>* finished{};           ///< counts finished divisions of the GPUs, for a progress bar
  std::atomic<std::int64_t>* divisions{};          ///< … of so many
  const std::vector<std::uint64_t>* left_out{};    ///< ordinals of plans that are neither kept nor beat another, ascending: see plan/confirm.hpp
};

namespace detail {

constexpr std::uint64_t most_ordinals = std::uint64_t{1} << 40;  // of one division of the GPUs

/// The first clause of a sentence: what jobs that are refused alike have in common.
inline std::string reason_of(std::string_view sentence) {
  if (sentence.starts_with("headroom: ")) sentence.remove_prefix(10);
  if (const auto end = sentence.find(" (found"); end != std::string_view::npos) sentence = sentence.substr(0, end);
  return std::string{sentence.substr(0, sentence.find(';'))};
}

template <class Judge>
class searcher {
 public:
  searcher(const search& s, Judge judge, const plan_options& o) : given_(&s), judge_(judge), options_(&o) { screen(); }

  /// What is left of the axes once the GPUs are divided: every job of the n-th division.
  void run(const std::array<std::int64_t, axes::degrees_end>& values, std::uint64_t n, plan_result& r) {
    auto& j = tried_.back() = given_->job;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (open(i)) axes::all[i].set(j, values[i]);
    ordinal_ = n * most_ordinals;
    descend(j, axes::degrees_end, r);
    for (std::size_t i = 0; i < counted_.size(); ++i)
      if (const auto count = std::exchange(counted_[i], 0); count > 0) r.rejected[std::string{frequent[i]}] += count;
    for (const auto& [sentence, count] : refused_) r.rejected[reason_of(sentence)] += count;
    refused_.clear();
  }
  /// A way to divide the GPUs: the values of the first axes. A list of jobs would take a hundred times the room.
  using division = std::array<std::int64_t, axes::degrees_end>;
  [[nodiscard]] std::vector<division> divisions() const {
    std::vector<division> all;
    divide(given_->job, 0, {}, all);
    return all;
  }
  /// Reasons for values that no division of the GPUs can have.
  [[nodiscard]] const std::map<std::string, std::int64_t>& screened() const { return screened_; }

 private:
  [[nodiscard]] bool open(std::size_t i) const { return (given_->open >> i & 1U) != 0; }

  void divide(const job& j, std::size_t i, division d, std::vector<division>& all) const {
    if (i == axes::degrees_end) return all.push_back(d);
    if (!open(i)) return divide(j, i + 1, d, all);
    for (const auto v : axes::all[i].values(j)) {
      auto next = j;
      axes::all[i].set(next, v);
      d[i] = v;
      divide(next, i + 1, d, all);
    }
  }

  /// Values that a framework refuses by themselves are not tried with everything else.
  void screen() {
    auto& plain = tried_[0] = given_->job;
    plain.batch.accumulation = std::max<std::int64_t>(plain.batch.accumulation, 2);
    if (!accepts(plain, nullptr)) return;
    for (std::size_t i = axes::degrees_end; i < axes::all.size(); ++i) {
      if (!open(i) || (axes::of_framework >> i & 1U) == 0) continue;
      for (const auto v : axes::all[i].values(plain)) {
        auto& j = tried_[1] = plain;
        axes::all[i].set(j, v);
        std::string why;
        if (accepts(j, &why)) continue;
        excluded_[i] |= std::uint64_t{1} << v;
        ++screened_[why];
      }
    }
  }
  bool accepts(const job& j, std::string* why) {
#if HEADROOM_EXCEPTIONS
    try {
      const auto seen = judge_(j);
      if (seen.refused && why != nullptr) *why = reason_of(seen.refused.sentence);
      return !seen.refused;
    } catch (const job_error& e) {
      if (why != nullptr) *why = reason_of(e.what());
      return false;
    }
#else
    const auto seen = judge_(j);
    if (seen.refused && why != nullptr) *why = reason_of(seen.refused.sentence);
    return !seen.refused;
#endif
  }

  void descend(job& j, std::size_t i, plan_result& r) {
    if (options_->stop.stop_requested()) {
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
    if (!given_->open_micro) {
      (void)look(j, r);
      return;
    }
    if (global % data != 0) {
      ++counted_[uneven_batch];
      return;
    }
    const auto each = global / data;
    bool full = false, any = false;
    const auto given_micro = given_->job.batch.micro, given_accumulation = given_->job.batch.accumulation;
    for (const auto micro : divisors(each)) {
      if ((given_->keeps_micro && micro != given_micro) || (given_->keeps_accumulation && each / micro != given_accumulation)) continue;
      any = true;
      if (full && micro != each) {
        ++ordinal_;
        ++r.passed_over;
        ++counted_[too_large];
        continue;
      }
      j.batch.micro = micro;
      j.batch.accumulation = each / micro;
      if (properties_of(j.parallel.schedule).in_groups && j.batch.accumulation % j.parallel.pipeline != 0) {  // checked here too: many are
        ++ordinal_;
        ++r.passed_over;
        ++counted_[uneven_stages];
        continue;
      }
      full = !look(j, r) || full;
    }
    if (!any) ++counted_[other_batch];
  }

  /// A refusal. Sentences are the library's own: as many as there are places that refuse.
  void count(const char* sentence) {
    for (auto& [known, n] : refused_)
      if (known == sentence) return ++n, void();
    refused_.emplace_back(sentence, 1);
  }

  /// False: it does not fit.
  bool look(const job& j, plan_result& r) {
    if (cuts_stages(given_->job, j)) [[unlikely]] return look_divided(j, r);
    return look_at(j, r);
  }
  /// Over several kinds of GPU: in each way that its stages may be cut.
  bool look_divided(const job& j, plan_result& r) {
#if HEADROOM_EXCEPTIONS
    try {
#endif
      bool any = false;
      for (const auto& way : stage_divisions(j)) any = look_at(way, r) || any;
      return any;
#if HEADROOM_EXCEPTIONS
    } catch (const error& e) {
      ++r.evaluated;
      ++ordinal_;
      ++r.rejected[reason_of(e.what())];
    }
    return true;
#endif
  }
  bool look_at(const job& j, plan_result& r) {
    ++r.evaluated;
    const auto ordinal = ordinal_++;
#if HEADROOM_EXCEPTIONS
    try {
#endif
      const auto seen = judge_(j);
      if (seen.refused) {
        count(seen.refused.sentence);
        return true;
      }
      if (!seen.fits) {
        ++counted_[too_large];
        return false;
      }
      ++r.fitting;
      const bool fast = among_best(r.best, seen, ordinal, options_->top), front = in_front(r.front, seen, ordinal, j.hardware.gpus());
      if (!(fast || front) || left_out(ordinal)) return true;
      keep(j, seen, ordinal, fast, front, r);
#if HEADROOM_EXCEPTIONS
    } catch (const error& e) {
      ++r.rejected[reason_of(e.what())];
    }
#endif
    return true;
  }

  [[gnu::noinline]] void keep(const job& j, const judged_plan& seen, std::uint64_t ordinal, bool fast, bool front, plan_result& r) const {
    if (fast) keep_best(r.best, {j, seen, ordinal}, options_->top);
    if (front) keep_front(r.front, {j, seen, ordinal});
  }
  [[nodiscard]] bool left_out(std::uint64_t ordinal) const {
    return options_->left_out != nullptr && std::binary_search(options_->left_out->begin(), options_->left_out->end(), ordinal);
  }

  /// Of the sequences of a rank, the sizes of a micro-batch: ascending.
  const std::vector<std::int64_t>& divisors(std::int64_t of) {
    if (of != divided_) {
      divided_ = of;
      divisors_.clear();
      for (std::int64_t i = 1; i <= of; ++i)
        if (of % i == 0) divisors_.push_back(i);
    }
    return divisors_;
  }

  /// Reasons that come so often that looking them up would cost more than judging does.
  enum : std::size_t { too_large, uneven_batch, uneven_stages, other_batch };
  static constexpr std::array<std::string_view, 4> frequent{"does not fit", "the global batch does not divide by the data-parallel ranks",
                                                            "interleaved stages need a multiple of parallel.pipeline micro-batches",
                                                            "the global batch is not made of batch.micro or batch.accumulation as given"};
  const search* given_;
  Judge judge_;
  const plan_options* options_;
  std::vector<job> tried_ = std::vector<job>(axes::all.size() + 1);  // one for each axis, and the one that they begin with: too large for the stack
  std::array<std::uint64_t, axes::all.size()> excluded_{};
  std::map<std::string, std::int64_t> screened_;
  std::array<std::int64_t, frequent.size()> counted_{};
  std::vector<std::pair<const char*, std::int64_t>> refused_;
  std::int64_t divided_ = 0;
  std::vector<std::int64_t> divisors_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace detail

/// By a judge of one's own: judge(job) -> judged_plan, called from several threads at once; an objection in it, or a job_error, refuses a job.
template <class Judge>
  requires std::invocable<Judge&, const job&>
plan_result plan(const search& s, Judge judge, const plan_options& o = {}) {
  if (s.open_micro && s.global_batch < 1) refuse("headroom: with batch.micro open, search.global_batch must say how many sequences a step has; found", s.global_batch);
  if (o.parts < 1 || o.part < 0 || o.part >= o.parts) refuse("headroom: a part of a search must be from 0 to parts - 1; found", o.part);
  const detail::searcher<Judge> first(s, judge, o);
  const auto divisions = first.divisions();
  if (o.divisions != nullptr) o.divisions->store(static_cast<std::int64_t>(divisions.size()));
  if (o.finished != nullptr) o.finished->store(0);
  std::atomic<std::size_t> next{0};
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = std::min<std::size_t>(o.threads > 0 ? o.threads : cores, std::max<std::size_t>(divisions.size(), 1));
  std::vector<plan_result> partial(threads);
  const auto work = [&](std::size_t me) {
    auto mine = first;
    plan_result found;  // of its own: counters of two threads side by side would share a cache line
    for (auto i = next.fetch_add(1); i < divisions.size(); i = next.fetch_add(1)) {
      if (static_cast<std::int64_t>(i) % o.parts == o.part) mine.run(divisions[i], i, found);
      if (o.finished != nullptr) o.finished->fetch_add(1);
    }
    partial[me] = std::move(found);
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
  }
  plan_result all;
  for (const auto& p : partial) detail::join(all, p, o.top);
  if (o.part == 0)
    for (const auto& [reason, n] : first.screened()) all.rejected[reason] += n;
  return all;
}

}  // namespace headroom
