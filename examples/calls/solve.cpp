// Distributed under the Boost Software License, Version 1.0.
// The largest (or least) value of one number of a job that fits.
#include "answers.hpp"

#include <headroom/io/report/verdict.hpp>
#include <headroom/io/syntax/json_value.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/solve/solve.hpp>

#include <algorithm>

namespace calls {
namespace {

using namespace headroom;

std::string keys() {
  std::string all = "model";
  for (const auto& u : unknowns::all) all += ", " + std::string{u.key};
  return all;
}

/// Of the models that the library knows, the one with most parameters.
solution largest_model(const headroom::job& given, const decided& fits) {
  struct candidate {
    parameters size;
    const shape* model;
  };
  std::vector<candidate> models;
  for (const auto& m : models::all())
    if (m.head == given.model.head) models.push_back({count(m).total, &m});
  std::sort(models.begin(), models.end(), [](const candidate& a, const candidate& b) { return a.size > b.size; });
  solution a{.value = nullptr, .of = given, .sentence = "No model that headroom knows by name fits."};
  for (const auto& c : models) {
    auto j = given;
    j.model = *c.model;
    try {
      if (!fits(j)) continue;
    } catch (const job_error&) {
      continue;  // heads that do not divide, a family that the framework does not train
    }
    const std::string name{c.model->label.view()};
    return {true, name, j, name + " is the largest that fits of the models headroom knows by name."};
  }
  return a;
}

/// A value of a key, in the key's own unit.
json_value value_of(const unknown& u, std::int64_t n) {
  return u.parts == 1 ? json_value(n) : json_value(static_cast<double>(n) / static_cast<double>(u.parts));
}
std::string text_of(const unknown& u, std::int64_t n) { return value_of(u, n).dump(); }

std::string next_text(const unknown& u, std::int64_t value, const headroom::job& j, const deadline& until) {
  auto next = j;
  u.set(next, value);
  const auto r = replay(next, until);
  return "With " + text_of(u, value) + " it " + (r.fits() ? "may not fit: as predicted it " : "") + io::verdict_text(r);
}

solution solved(const headroom::job& given, const unknown& u, const decided& fits) {
  const auto s = headroom::solve(given, u, fits);
  const std::string key{u.key};
  solution a{s.found, s.found ? value_of(u, s.value) : json_value(nullptr), s.job, {}};
  if (!s.found) {
    a.sentence = "No " + key + (u.fewest ? " up to " + text_of(u, u.most(given) / s.step * s.step) : " from " + text_of(u, u.first == nullptr ? s.step : u.first(given))) + " fits.";
  } else {
    a.sentence = key + " " + text_of(u, s.value) + " is the " + (u.fewest ? "least" : "largest") + " that fits" + (fits.sure ? " with a confidence of " + io::fixed(fits.sure->share() * 100, 1) + " %" : "");
    if (s.limited)
      a.sentence += "; more is not tried.";
    else if (const auto next = s.value + (u.fewest ? -s.step : s.step); next > 0)
      a.sentence += ". " + next_text(u, next, s.job, fits.until) + ".";
    else
      a.sentence += ".";
  }
  return a;
}

}  // namespace

solution solve_for(const headroom::job& given, const std::string& key, const std::string& place, const decided& fits) {
  const auto* u = unknowns::find(key);
  if (u == nullptr && key != "model") io::fail("headroom: " + place + " must be one of " + keys() + "; found " + io::in_quotes(key));
  return u == nullptr ? largest_model(given, fits) : solved(given, *u, fits);
}

}  // namespace calls
