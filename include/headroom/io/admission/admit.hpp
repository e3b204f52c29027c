// Distributed under the Boost Software License, Version 1.0.
// How an admission is decided: read, estimated, replayed where that could change the answer.
#pragma once

#include <headroom/decide.hpp>
#include <headroom/io/admission/answer.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/report_json.hpp>

namespace headroom::io::detail {

/// `replayed(job)`, `decided(job)`: the reports of one and the other.
template <class Replayed, class Decided>
admission admitted(const admission_request& asked, std::span<const std::string_view> labels, const Replayed& replayed, const Decided& decided) {
  try {
    asked.until.check();
    const job j = read_measured_job(parse_json(asked.job, "the job"), {.base = asked.base, .layers = labels}, asked.until);
    asked.until.check();
    auto r = asked.full ? replayed(j) : decided(j);
    const bool fitting = asked.sure ? fits(r, *asked.sure) : r.fits();
    const std::string doubt = r.fits() && !fitting ? "DOES NOT FIT FOR SURE: " : "";
    return {fitting ? decision::fits : decision::does_not_fit, doubt + verdict_text(r), j, std::move(r)};
  } catch (const out_of_time& e) {
    return {decision::not_decided, e.what(), {}, {}};
  } catch (const error& e) {
    return {decision::bad_input, e.what(), {}, {}};
  } catch (const std::filesystem::filesystem_error& e) {
    return {decision::bad_input, "headroom: " + printable(e.what()), {}, {}};
  }
}

inline admission admitted(const admission_request& asked) {
  return admitted(asked, {}, [&](const job& j) { return replay(j, asked.until); }, [&](const job& j) { return decide(j, asked.sure, asked.until); });
}

inline ordered_json json_of(const admission& a, confidence sure) {
  constexpr const char* names[] = {"fits", "does not fit", "bad input", "not decided"};
  ordered_json out = {{"decision", names[static_cast<int>(a.decision)]}, {"sentence", a.sentence}};
  if (a.report) out.update(to_json(*a.report, sure));
  return out;
}

}  // namespace headroom::io::detail

namespace headroom::io {

/// admit() by a program with layers of its own (block/own_layer.hpp), which the job's model.pattern may name. Programs that link
/// headroom::compiled include this file and replay/replay_ranks.hpp to have it.
template <labelled_layer... L>
admission admit(const admission_request& asked, const own_layers<L...>& own) {
  const auto labels = own.labels();
  return detail::admitted(asked, labels, [&](const job& j) { return replay(j, own, asked.until); }, [&](const job& j) { return decide(j, own, asked.sure, asked.until); });
}

}  // namespace headroom::io
