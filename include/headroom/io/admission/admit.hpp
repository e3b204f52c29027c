// Distributed under the Boost Software License, Version 1.0.
// How an admission is decided: read, estimated, replayed where that could change the answer.
#pragma once

#include <headroom/io/admission/answer.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/replay.hpp>

namespace headroom::io::detail {

/// Whether no replay could change the decision: every GPU is outside the range in which its memory is expected, on the same side for all
/// that fit, or host memory or NVMe does not suffice, of which replay() says the same.
inline bool is_decided(const full_report& r) {
  constexpr confidence almost_sure{0.999};
  const bool others_suffice = r.host.capacity == bytes{0} || r.host.per_node <= r.host.capacity;
  if (!others_suffice || (r.nvme_capacity > bytes{0} && r.nvme_per_node > r.nvme_capacity)) return true;
  bool all_fit = true;
  for (const auto& rank : r) {
    const auto range = bounds(r, rank, reading::device, almost_sure);
    if (range.low > rank.capacity) return true;
    all_fit = all_fit && range.high <= rank.capacity;
  }
  return all_fit;
}

inline admission admitted(const admission_request& asked) {
  try {
    const job j = read_job(parse_json(asked.job, "the job"), asked.base);
    auto r = estimate_all(j);
    if (asked.full || !is_decided(r)) r = replay(j);
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
