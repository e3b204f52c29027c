// Distributed under the Boost Software License, Version 1.0.
// Results of a search that was divided, as they were written, for joining.
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/plan/untimed.hpp>

#include <optional>
#include <set>
#include <vector>

namespace headroom::io {

/// What one search found, and what sets it apart in a sweep (null where there is none).
struct search_result {
  json_value sweep;
  plan_result found;
};

/// One part of a search, or of each search of a sweep: which, of how many.
struct read_part {
  std::int64_t part{};
  std::int64_t parts{1};
  std::size_t top{};  ///< plans that the whole names
  std::optional<double> confidence;
  std::vector<search_result> searches;
};

namespace detail {

inline constexpr std::int64_t most_plans = std::int64_t{1} << 53;

/// Plans are judged again, so that nothing depends on how a number was printed.
inline void read_plan_list(key_reader& k, std::string_view key, judged_plan (*judge)(const job&), std::vector<ranked_plan>& to) {
  each_at(k.need(key, "a list of plans"), k.at(key), "a list of plans", [&](const json_value& v, const std::string& path) {
    key_reader p{v, path};
    for (const auto* shown : {"step_seconds", "step_bounds", "tokens_per_second", "tied", "report"}) p.take(shown);
    ranked_plan one;
    one.job = read_job(p.need("job", "a job"));
    one.ordinal = static_cast<std::uint64_t>(whole_at(p.need("ordinal", "a whole number"), p.at("ordinal"), 0, std::numeric_limits<std::int64_t>::max()));
    p.finish();
    one.outcome = judge(one.job);
    if (one.outcome.refused) refuse(one.outcome.refused);
    to.push_back(one);
  });
}

inline plan_result read_found(key_reader& k) {
  const auto count = [&](std::string_view key) { return whole_at(k.need(key, "a result of plan --json"), k.at(key), 0, most_plans); };
  plan_result r;
  r.evaluated = count("evaluated");
  r.passed_over = count("passed_over");
  r.fitting = count("fitting");
  r.complete = flag_at(k.need("complete", "a result of plan --json"), k.at("complete"));
  k.take("seconds");
  if (const auto* v = k.take("untimed")) r.untimed = string_at(*v, k.at("untimed"));
  judged_plan (*const timed)(const job&) = judge_plan;
  const auto judge = r.untimed.empty() ? timed : judge_memory;
  read_plan_list(k, "plans", judge, r.best);
  read_plan_list(k, "front", judge, r.front);
  each_at(k.need("rejected", "a list of reasons"), k.at("rejected"), "a list of reasons", [&](const json_value& v, const std::string& path) {
    key_reader p{v, path};
    const auto reason = string_at(p.need("reason", "a sentence"), p.at("reason"));
    r.rejected[reason] += whole_at(p.need("count", "a whole number"), p.at("count"), 0, most_plans);
    p.finish();
  });
  return r;
}

}  // namespace detail

/// What `plan --json` wrote. Errors: job_error with the place for what is missing, of a wrong type or no job.
inline read_part read_plans(const json_value& value, const std::string& source) {
  key_reader k{value, source};
  read_part r;
  if (const auto* v = k.take("part")) r.part = whole_at(*v, k.at("part"), 0, detail::most_plans);
  if (const auto* v = k.take("parts")) r.parts = whole_at(*v, k.at("parts"), 1, detail::most_plans);
  r.top = static_cast<std::size_t>(whole_at(k.need("top", "a result of plan --json"), k.at("top"), 0, detail::most_plans));
  if (const auto* v = k.take("confidence")) r.confidence = number_at(*v, k.at("confidence"), 0.5, 0.999);
  if (const auto* searches = k.take("searches")) {
    each_at(*searches, k.at("searches"), "a list of results", [&](const json_value& v, const std::string& path) {
      key_reader one{v, path};
      const auto sweep = one.need("sweep", "what sets the search apart");
      r.searches.push_back({sweep, detail::read_found(one)});
      one.finish();
    });
    k.take("seconds");
  } else {
    r.searches.push_back({nullptr, detail::read_found(k)});
  }
  k.finish();
  return r;
}

/// The whole search, or sweep, of its parts; `keep` of the fastest of each.
/// Errors: job_error where parts are missing, come twice, or belong to searches that were divided otherwise.
inline std::vector<search_result> join_plans(const std::vector<read_part>& parts, std::size_t keep) {
  std::vector<search_result> all;
  std::set<std::int64_t> seen;
  for (const auto& p : parts) {
    const auto& first = parts.front();
    if (p.parts != first.parts || p.top != first.top || p.confidence != first.confidence)
      fail("headroom: the results are of searches that were divided otherwise: " + std::to_string(first.parts) + " and " + std::to_string(p.parts) + " parts, " +
           std::to_string(first.top) + " and " + std::to_string(p.top) + " plans each, with one confidence or another");
    if (!seen.insert(p.part).second) fail("headroom: part " + std::to_string(p.part) + " comes twice");
    if (all.empty()) all.resize(p.searches.size());
    if (p.searches.size() != all.size()) fail("headroom: the results are of other sweeps: " + std::to_string(all.size()) + " and " + std::to_string(p.searches.size()) + " searches");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (&p != &first && p.searches[i].sweep != all[i].sweep) fail("headroom: search " + std::to_string(i) + " of part " + std::to_string(p.part) + " is another: " + p.searches[i].sweep.dump());
      all[i].sweep = p.searches[i].sweep;
      headroom::detail::join(all[i].found, p.searches[i].found, keep);
    }
  }
  if (!parts.empty() && static_cast<std::int64_t>(seen.size()) != parts.front().parts)
    fail("headroom: " + std::to_string(seen.size()) + " of " + std::to_string(parts.front().parts) + " parts are given; the search is not whole");
  return all;
}

}  // namespace headroom::io
