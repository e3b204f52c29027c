// Distributed under the Boost Software License, Version 1.0.
// A job's text in, a decision out: what schedulers, admission hooks and other languages ask.
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/verdict.hpp>
#include <headroom/replay.hpp>

#include <string_view>

namespace headroom::io {

enum class decision { fits, does_not_fit, bad_input };

struct admission {
  headroom::io::decision decision{headroom::io::decision::bad_input};
  std::string sentence{};                       ///< for a person
  headroom::job job{};                          ///< unless the input was bad
  std::optional<headroom::report> report{};     ///< unless the input was bad
};

/// Reads a job, replays it, and says whether it fits: by the report, or, where `sure` is stated, even at the upper end of that range. Bad
/// input of any kind is a decision, not an exception; std::bad_alloc is what can be thrown. Nothing is shared between calls.
inline admission admit(std::string_view text, const file_base& base = no_files, std::optional<confidence> sure = std::nullopt) {
  try {
    const job j = read_job(parse_json(text, "the job"), base);
    const report r = replay(j);
    const bool by_report = r.fits();
    const bool fitting = sure ? fits(r, *sure) : by_report;
    std::string sentence = verdict_text(r);
    if (by_report && !fitting) sentence = "DOES NOT FIT FOR SURE: " + sentence;
    return {fitting ? decision::fits : decision::does_not_fit, std::move(sentence), j, r};
  } catch (const error& e) {
    return {decision::bad_input, e.what(), {}, {}};
  } catch (const std::filesystem::filesystem_error& e) {
    return {decision::bad_input, std::string{"headroom: "} + e.what(), {}, {}};
  }
}

/// {"decision", "sentence"} and, unless the input was bad, the report's own keys.
inline ordered_json to_json(const admission& a, confidence sure = {}) {
  constexpr const char* names[] = {"fits", "does not fit", "bad input"};
  ordered_json out = {{"decision", names[static_cast<int>(a.decision)]}, {"sentence", a.sentence}};
  if (a.report) out.update(to_json(*a.report, sure));
  return out;
}

}  // namespace headroom::io
