// Distributed under the Boost Software License, Version 1.0.
// One job: its report, its step's time, and what would help.
#include "answers.hpp"

#include <headroom/diagnose/diagnose.hpp>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/diagnosis_json.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/report_html.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/search_reader.hpp>

namespace calls {

using namespace headroom;

headroom::job read_settled_job(const json_value& value, const io::file_base& base, const deadline& until) try {
  return io::read_measured_job(value, {.base = base}, until);
} catch (const job_error&) {
  const auto open = io::detail::left_open(value, "");
  if (open.empty() || open == "model" || open.starts_with("model.")) throw;
  io::fail("headroom: " + open + " is \"auto\": only `headroom plan` looks for values; here it needs one");
}

timed time_of(const headroom::job& j) {
  try {
    return {headroom::cost(j), {}};
  } catch (const error& e) {
    const std::string_view sentence = e.what(), prefix = "headroom: ";
    return {std::nullopt, std::string{sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence}};
  }
}

std::optional<std::vector<advice>> advice_for(const headroom::job& j, std::optional<confidence> sure, const deadline& until) try {
  const auto look = [&](const headroom::job& k) { return replay(k, until); };
  return advise(j, [&](const headroom::job& k) {
    until.check();
    return judged(k, look, sure);
  });
} catch (const out_of_time&) {
  return std::nullopt;
}

ordered_json advice_json(const std::optional<std::vector<advice>>& all) { return all ? io::to_json(*all) : ordered_json(nullptr); }

ordered_json report_json(const full_report& r, const timed& time, confidence sure) {
  auto document = io::to_json(r, sure);
  if (time.cost)
    document.update(io::to_json(*time.cost, sure));
  else
    document["step_refused"] = time.refused;
  return document;
}

std::string page_of(const headroom::job& j, const full_report& r, const timed& time, const deadline& until) {
  const auto others = explore(j, [&](const headroom::job& k) { return replay(k, until); });
  const auto step = replays(j) ? record(j, until) : std::vector<recorded_step>{};
  const auto help = r.fits() ? std::nullopt : advice_for(j, {}, until);
  return io::to_html(r, j, {.others = others, .time = time.cost ? &*time.cost : nullptr, .step = step, .help = help ? &*help : nullptr});
}

std::optional<ordered_json> diagnosis_json(const headroom::job& j, std::string_view log, const full_report& r, const deadline& until) {
  const auto message = read_oom(log);
  if (!message) return std::nullopt;
  auto document = io::to_json(diagnose(*message, j, r), *message);
  document["fits"] = r.fits();
  if (!r.fits()) document["advice"] = advice_json(advice_for(j, {}, until));
  return document;
}

}  // namespace calls
