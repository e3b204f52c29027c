// Distributed under the Boost Software License, Version 1.0.
// plan(search): of all jobs that the open keys allow, the fastest that fit. Every one is judged: larger micro-batches than one that does
// not fit are passed over, since they need more, and nothing else is left out.
#pragma once

#include <headroom/plan/searcher.hpp>

#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace headroom {

namespace detail {

/// Divisions of the GPUs, by their numbers, as threads take them: those that differ in the pipeline alone together, whose layers are alike, as
/// long as there are enough for all threads.
inline std::vector<std::vector<std::size_t>> shares_of(const std::vector<gpu_division>& divisions, std::size_t threads) {
  std::map<gpu_division, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    auto key = divisions[i];
    key[axes::find(axes::pipeline.key)] = 0;
    alike[key].push_back(i);
  }
  std::vector<std::vector<std::size_t>> shares;
  for (auto& [key, numbers] : alike) {
    if (alike.size() >= 4 * threads) shares.push_back(std::move(numbers));
    else for (const auto n : numbers) shares.push_back({n});
  }
  return shares;
}

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
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = std::min<std::size_t>(o.threads > 0 ? o.threads : cores, std::max<std::size_t>(divisions.size(), 1));
  const auto shares = detail::shares_of(divisions, threads);
  std::atomic<std::size_t> next{0};
  std::vector<plan_result> partial(threads);
  const auto work = [&](std::size_t me) {
    auto mine = first;
    plan_result found;  // of its own: counters of two threads side by side would share a cache line
    for (auto share = next.fetch_add(1); share < shares.size(); share = next.fetch_add(1))
      for (const auto i : shares[share]) {
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
  if (o.until.passed()) all.complete = false;
  for (const auto& p : partial) detail::join(all, p, o.top);
  if (o.part == 0)
    for (const auto& [reason, n] : first.screened()) all.rejected[reason] += n;
  return all;
}

}  // namespace headroom
