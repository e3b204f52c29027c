// Distributed under the Boost Software License, Version 1.0.
// headroom solve JOB --for KEY: the largest (or least) value of one number of a job that fits.
#include <headroom/decide.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>

#include <iostream>
#include <optional>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {
int run(const solve_request& asked, const streams& in_out) {
  using namespace headroom;
  const auto [given, imported] = job_and_words(asked.job, in_out.in, false, asked.measured, in_out.until);
  const decided fits{asked.confidence ? std::optional{confidence{*asked.confidence}} : std::nullopt, in_out.until};
  const auto a = calls::solve_for(given, asked.key, "--for", fits);
  const auto r = replay(a.of, in_out.until);
  const auto sure = fits.sure.value_or(confidence{});
  if (asked.json)
    in_out.out << nlohmann::ordered_json{{"key", asked.key}, {"value", a.value}, {"report", io::to_json(r, sure)}}.dump(2) << '\n';
  else
    in_out.out << a.sentence << "\n\n" << io::to_text(r, a.of, in_out.colour, sure, imported);
  return a.found ? 0 : 1;
}

}  // namespace program
