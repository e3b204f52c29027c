// Distributed under the Boost Software License, Version 1.0.
// headroom solve JOB --for KEY: the largest (or least) value of one number of a job that fits.
#include <headroom/decide.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/solve/solve.hpp>

#include <algorithm>
#include <iostream>
#include <optional>

#include "jobs.hpp"
#include "program.hpp"

namespace program {
namespace {

using namespace headroom;

struct answer {
  bool found{};
  nlohmann::json value;
  job of;                ///< with the value
  std::string sentence;  ///< and what the next one would need
};

std::string keys() {
  std::string all = "model";
  for (const auto& u : unknowns::all) all += ", " + std::string{u.key};
  return all;
}

/// Of the models that the library knows, the one with most parameters.
answer largest_model(const job& given, const decided& fits) {
  struct candidate {
    parameters size;
    const shape* model;
  };
  std::vector<candidate> models;
  for (const auto& m : models::all())
    if (m.head == given.model.head) models.push_back({count(m).total, &m});
  std::sort(models.begin(), models.end(), [](const candidate& a, const candidate& b) { return a.size > b.size; });
  answer a{.value = nullptr, .of = given, .sentence = "No model that headroom knows by name fits."};
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
nlohmann::json value_of(const unknown& u, std::int64_t n) {
  return u.parts == 1 ? nlohmann::json(n) : nlohmann::json(static_cast<double>(n) / static_cast<double>(u.parts));
}
std::string text_of(const unknown& u, std::int64_t n) { return value_of(u, n).dump(); }

std::string next_text(const unknown& u, std::int64_t value, const job& j, const deadline& until) {
  auto next = j;
  u.set(next, value);
  const auto r = replay(next, until);
  return "With " + text_of(u, value) + " it " + (r.fits() ? "may not fit: as predicted it " : "") + io::verdict_text(r);
}

answer solved(const job& given, const unknown& u, const decided& fits) {
  const auto s = headroom::solve(given, u, fits);
  const std::string key{u.key};
  answer a{s.found, s.found ? value_of(u, s.value) : nlohmann::json(nullptr), s.job, {}};
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

int run(const solve_request& asked, const streams& in_out) {
  const job given = job_named(asked.job, in_out.in);
  const auto* u = unknowns::find(asked.key);
  if (u == nullptr && asked.key != "model") io::fail("headroom: --for must be one of " + keys() + "; found " + io::in_quotes(asked.key));
  const decided fits{asked.confidence ? std::optional{confidence{*asked.confidence}} : std::nullopt, in_out.until};
  const auto a = u == nullptr ? largest_model(given, fits) : solved(given, *u, fits);
  const auto r = replay(a.of, in_out.until);
  const auto sure = fits.sure.value_or(confidence{});
  if (asked.json)
    in_out.out << nlohmann::ordered_json{{"key", asked.key}, {"value", a.value}, {"report", io::to_json(r, sure)}}.dump(2) << '\n';
  else
    in_out.out << a.sentence << "\n\n" << io::to_text(r, a.of, in_out.colour, sure);
  return a.found ? 0 : 1;
}

}  // namespace program
