// Distributed under the Boost Software License, Version 1.0.
// Results of a search that was divided, as they were written, for joining.
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/plan/judge.hpp>

namespace headroom::io {

/// One part of a search: which, of how many, and what it found.
struct read_part {
  std::int64_t part{};
  std::int64_t parts{1};
  std::size_t top{};  ///< plans that it names
  plan_result found{};
};

/// What `plan --json` wrote. Plans are judged again, so that nothing depends on how a number was printed.
/// Errors: job_error with the place for what is missing, of a wrong type or no job.
inline read_part read_plans(const json_value& value, const std::string& source) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  key_reader k{value, source};
  const auto count = [&](std::string_view key) { return whole_at(k.need(key, "a result of plan --json"), k.at(key), 0, most); };
  read_part r;
  if (const auto* v = k.take("part")) r.part = whole_at(*v, k.at("part"), 0, most);
  if (const auto* v = k.take("parts")) r.parts = whole_at(*v, k.at("parts"), 1, most);
  r.top = static_cast<std::size_t>(count("top"));
  r.found.evaluated = count("evaluated");
  r.found.passed_over = count("passed_over");
  r.found.fitting = count("fitting");
  r.found.complete = flag_at(k.need("complete", "a result of plan --json"), k.at("complete"));
  k.take("seconds");
  const auto plans = [&](std::string_view key, std::vector<ranked_plan>& to) {
    each_at(k.need(key, "a list of plans"), k.at(key), "a list of plans", [&](const json_value& v, const std::string& path) {
      key_reader p{v, path};
      for (const auto* shown : {"step_seconds", "tokens_per_second", "report"}) p.take(shown);
      ranked_plan one;
      one.job = read_job(p.need("job", "a job"));
      one.ordinal = static_cast<std::uint64_t>(whole_at(p.need("ordinal", "a whole number"), p.at("ordinal"), 0, std::numeric_limits<std::int64_t>::max()));
      p.finish();
      one.outcome = judge_plan(one.job);
      to.push_back(one);
    });
  };
  plans("plans", r.found.best);
  plans("front", r.found.front);
  each_at(k.need("rejected", "a list of reasons"), k.at("rejected"), "a list of reasons", [&](const json_value& v, const std::string& path) {
    key_reader p{v, path};
    const auto reason = string_at(p.need("reason", "a sentence"), p.at("reason"));
    r.found.rejected[reason] += whole_at(p.need("count", "a whole number"), p.at("count"), 0, most);
    p.finish();
  });
  k.finish();
  return r;
}

/// The whole search of its parts. Errors: job_error where parts are missing, come twice, or belong to searches that were divided otherwise.
inline plan_result join_plans(const std::vector<read_part>& parts) {
  plan_result all;
  std::set<std::int64_t> seen;
  for (const auto& p : parts) {
    if (p.parts != parts.front().parts || p.top != parts.front().top)
      fail("headroom: the results are of searches that were divided otherwise: " + std::to_string(parts.front().parts) + " and " + std::to_string(p.parts) + " parts, " +
           std::to_string(parts.front().top) + " and " + std::to_string(p.top) + " plans each");
    if (!seen.insert(p.part).second) fail("headroom: part " + std::to_string(p.part) + " comes twice");
    headroom::detail::join(all, p.found, p.top);
  }
  if (!parts.empty() && static_cast<std::int64_t>(seen.size()) != parts.front().parts)
    fail("headroom: " + std::to_string(seen.size()) + " of " + std::to_string(parts.front().parts) + " parts are given; the search is not whole");
  return all;
}

}  // namespace headroom::io
