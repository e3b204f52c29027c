// Distributed under the Boost Software License, Version 1.0.
#include <headroom/plan/judge.hpp>
#include <headroom/plan/line_judge.hpp>

namespace headroom {

plan_judge::plan_judge() : of_(std::make_unique<detail::line_judge>()) {}
plan_judge::plan_judge(const plan_judge&) : plan_judge() {}
plan_judge& plan_judge::operator=(const plan_judge&) {
  of_ = std::make_unique<detail::line_judge>();
  return *this;
}
plan_judge::~plan_judge() = default;
judged_plan plan_judge::operator()(const job& j) { return of_->judge(j); }
void plan_judge::begin(const job& j) { of_->begin(j); }
judged_plan plan_judge::next() { return of_->next(); }
double plan_judge::seconds() { return of_->seconds(); }

}  // namespace headroom
