// Distributed under the Boost Software License, Version 1.0.
// What a measured run has changed in a report, and what of it is not explained, in sentences.
#pragma once

#include <headroom/cost/step.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/report.hpp>

namespace headroom::io {

namespace detail {

inline std::string signed_gib(bytes b) { return (b < bytes{0} ? "-" : "+") + gib_text(b < bytes{0} ? -b : b); }

/// "allocated +1.20 GiB, reserved +1.41 GiB, device +1.41 GiB".
inline std::string moved_text(const measured_effect& m) {
  std::string text;
  for (std::size_t i = 0; i < reading_count; ++i) text += (i > 0 ? ", " : "") + std::string{headroom::text(static_cast<reading>(i))} + " " + signed_gib(m.moved[i]);
  return text;
}

}  // namespace detail

/// Of the tightest rank; empty where no measured run corrects it.
template <class Ranks>
std::string measured_text(const basic_report<Ranks>& r) {
  const auto& m = r.tightest().measured;
  if (!m.given) return {};
  const auto last = reading_count - 1;
  std::string text = "Corrected by the measured run: " + detail::moved_text(m) + "; of the range of device memory " + fixed(m.below[last] / 10.0, 0) + " % are left below and " + fixed(m.above[last] / 10.0, 0) + " % above.";
  for (std::size_t i = 0; i < reading_count; ++i)
    if (m.unexplained[i] != bytes{0})
      text += " Of what was measured (" + std::string{headroom::text(static_cast<reading>(i))}  + ") " + detail::signed_gib(m.unexplained[i]) +
              " lie beyond all that is uncertain in the prediction and are not carried to other jobs: the run may not have been the job that measured and measured.of say.";
  return text;
}

/// … of a step's time.
inline std::string measured_text(const step_cost& c) {
  const auto& m = c.measured;
  if (m.moved == 1 && m.left == 1) return {};
  std::string text = "Corrected by the measured run: " + fixed(m.moved, 3) + " times the prediction; " + fixed(m.left * 100, 0) + " % of the range are left.";
  if (m.unexplained > 1.0005 || m.unexplained < 0.9995)
    text += " A factor of " + fixed(m.unexplained, 2) + " of what was measured lies beyond the range and is not carried to other jobs.";
  return text;
}

}  // namespace headroom::io
