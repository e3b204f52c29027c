// Distributed under the Boost Software License, Version 1.0.
// What a search is asked for beside its job, and what it may ask of a judge.
#pragma once

#include <headroom/deadline.hpp>
#include <headroom/plan/result.hpp>

#include <atomic>
#include <concepts>
#include <stop_token>

namespace headroom {

/// How a search is run, and what of it is kept.
struct plan_options {
  std::size_t top{10};
  unsigned threads{};                              ///< 0: all cores
  std::int64_t part{0}, parts{1};                  ///< of a search that is divided: this part of so many
  std::stop_token stop{};                          ///< ends it with the best so far
  deadline until{};                                ///< … and so does this
  std::atomic<std::int64_t>* finished{};           ///< counts finished divisions of the GPUs, for a progress bar
  std::atomic<std::int64_t>* divisions{};          ///< … of so many
  const std::vector<std::uint64_t>* left_out{};    ///< ordinals of plans that are neither kept nor beat another, ascending: see plan/confirm.hpp
};

/// A judge that is quicker with lines of jobs, which differ in batch.micro and batch.accumulation alone: next() judges the job that begin() was
/// given, as it is now, and may say too few seconds; seconds() are those of the job last judged to fit.
template <class Judge>
concept judges_lines = requires(Judge& judge, const job& j) {
  judge.begin(j);
  { judge.next() } -> std::same_as<judged_plan>;
  { judge.seconds() } -> std::same_as<double>;
};

}  // namespace headroom
