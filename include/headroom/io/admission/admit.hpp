// Distributed under the Boost Software License, Version 1.0.
// How an admission is decided: read, estimated, replayed where that could change the answer.
#pragma once

#include <headroom/decide.hpp>
#include <headroom/io/admission/answer.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/report_json.hpp>

namespace headroom::io::detail {

inline admission admitted(const admission_request& asked) {
  try {
    const job j = read_job(parse_json(asked.job, "the job"), asked.base);
    auto r = asked.full ? replay(j) : decide(j, asked.sure);
    const bool fitting = asked.sure ? fits(r, *asked.sure) : r.fits();
    const std::string doubt = r.fits() && !fitting ? "DOES NOT FIT FOR SURE: " : "";
    return {fitting ? decision::fits : decision::does_not_fit, doubt + verdict_text(r), j, std::move(r)};
  } catch (const error& e) {
    return {decision::bad_input, e.what(), {}, {}};
  } catch (const std::filesystem::filesystem_error& e) {
    return {decision::bad_input, std::string{"headroom: "} + e.what(), {}, {}};
  }
}

inline ordered_json json_of(const admission& a, confidence sure) {
  constexpr const char* names[] = {"fits", "does not fit", "bad input"};
  ordered_json out = {{"decision", names[static_cast<int>(a.decision)]}, {"sentence", a.sentence}};
  if (a.report) out.update(to_json(*a.report, sure));
  return out;
}

}  // namespace headroom::io::detail
