// Distributed under the Boost Software License, Version 1.0.
// Searches, and what they found as JSON.
#include "answers.hpp"

#include <headroom/io/plan_text.hpp>
#include <headroom/plan/confirm.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/plan/untimed.hpp>

namespace calls {

using namespace headroom;

plan_result searched(const search& s, const plan_options& o, std::optional<double> sure) {
  const decided fits{sure ? std::optional{confidence{*sure}} : std::nullopt, o.until};
  auto why = untimed(s);
  if (why.empty()) return confirmed_plan(s, plan_judge{}, o, fits);
  auto r = confirmed_plan(s, judge_memory, o, fits);
  r.untimed = std::move(why);
  return r;
}

ordered_json plans_json(const std::vector<io::search_result>& all, double seconds, const heading& h) {
  const confidence sure = h.sure ? confidence{*h.sure} : confidence{};
  ordered_json out;
  if (h.parts > 1) out = {{"part", h.part}, {"parts", h.parts}};
  out["top"] = h.top;
  if (h.sure) out["confidence"] = *h.sure;
  if (all.front().sweep.is_null()) {
    out.update(io::to_json(all.front().found, seconds, sure, h.until));
    return out;
  }
  out["seconds"] = seconds;
  out["searches"] = ordered_json::array();
  for (const auto& s : all) {
    ordered_json one{{"sweep", s.sweep}};
    one.update(io::to_json(s.found, 0.0, sure, h.until));
    one.erase("seconds");
    out["searches"].push_back(std::move(one));
  }
  return out;
}

}  // namespace calls
