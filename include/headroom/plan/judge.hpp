// Distributed under the Boost Software License, Version 1.0.
// plan(search) by estimate() and cost().
#pragma once

#include <headroom/plan/judge_plan.hpp>
#include <headroom/plan/plan.hpp>
#ifndef HEADROOM_COMPILED
#include <headroom/plan/line_judge.hpp>
#endif

#include <memory>

namespace headroom {

namespace detail {
class line_judge;  // plan/line_judge.hpp
}

/// judge_plan() for the jobs of one search, one after the other: what jobs have in common is worked out once. They may differ in what
/// axes.hpp opens, in the batch, and in nothing else. For one thread; a copy begins with nothing known.
/// Errors: those of estimate() and cost().
class plan_judge {
 public:
  plan_judge();
  plan_judge(const plan_judge&);
  plan_judge& operator=(const plan_judge&);
  ~plan_judge();

  judged_plan operator()(const job& j);
  /// A line of jobs begins: `j`, and what it will be when next() is called again, which may differ in batch.micro and batch.accumulation.
  void begin(const job& j);
  /// What judge_plan() says of the job as it is now; `seconds` may be less, and `device` where it does not fit.
  judged_plan next();
  /// The time of the job that next() last said to fit.
  double seconds();

 private:
  std::unique_ptr<detail::line_judge> of_;  ///< large, so not on the stack
};

/// The fastest plans of a search that fit, on all cores. Errors: those of plan() with a judge (plan/plan.hpp).
inline plan_result plan(const search& s, const plan_options& o = {}) { return plan(s, plan_judge{}, o); }
/// … with layers of one's own (block/own_layer.hpp).
/// Errors: those of plan(search). A job whose pattern names a layer that is not among those given is rejected, as any that is refused.
template <own_stack Own>
plan_result plan(const search& s, const Own& own, const plan_options& o = {}) {
  return plan(s, [&](const job& j) { return judge_own_plan(j, own); }, o);
}

#ifndef HEADROOM_COMPILED
inline plan_judge::plan_judge() : of_(std::make_unique<detail::line_judge>()) {}
inline plan_judge::plan_judge(const plan_judge&) : plan_judge() {}
inline plan_judge& plan_judge::operator=(const plan_judge&) {
  of_ = std::make_unique<detail::line_judge>();
  return *this;
}
inline plan_judge::~plan_judge() = default;
inline judged_plan plan_judge::operator()(const job& j) { return of_->judge(j); }
inline void plan_judge::begin(const job& j) { of_->begin(j); }
inline judged_plan plan_judge::next() { return of_->next(); }
inline double plan_judge::seconds() { return of_->seconds(); }
#endif

}  // namespace headroom
