// Distributed under the Boost Software License, Version 1.0.
// A report in about ten lines: the verdict, the largest kinds of rank with what fills them, host memory, the time of a step.
#pragma once

#include <headroom/io/cost_text.hpp>
#include <headroom/io/report_text.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace headroom::io {
namespace detail {

/// Of so many kinds of rank each has a line; the others are counted.
inline constexpr std::size_t brief_ranks = 4;

/// "logits 11.7, optimizer state 7.5, activations 2.3": the largest rows of the peak, in GiB.
inline std::string largest_rows_text(const rank_report& r, std::size_t most) {
  std::vector<row> rows;
  for (int i = 0; i < row_count; ++i)
    if (r.at_peak[static_cast<row>(i)] > bytes{0}) rows.push_back(static_cast<row>(i));
  std::stable_sort(rows.begin(), rows.end(), [&](row a, row b) { return r.at_peak[a] > r.at_peak[b]; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    std::string label{headroom::text(rows[i])};
    std::replace(label.begin(), label.end(), '_', ' ');
    text += (i > 0 ? ", " : "") + label + " " + fixed(in_gib(r.at_peak[rows[i]]), 1);
  }
  return text;
}

inline std::string brief_rank_text(const rank_report& r, bool staged, const palette& ink) {
  const auto name = std::to_string(r.count) + " x " + std::string{r.gpu.view()} + (staged ? ", stage " + std::to_string(r.pipeline_stage) : std::string{});
  const auto size = gib_text(r.device) + " of " + gib_text(r.capacity);
  return left(name, 28) + "  " + (r.fits() ? ink.bold(size) : ink.bad(size)) + "  " + ink.dim("peak in " + peak_text(r) + ": " + largest_rows_text(r, 3)) + "\n";
}

/// The tightest kinds of rank first.
template <class Ranks>
std::string brief_ranks_text(const basic_report<Ranks>& r, const palette& ink) {
  std::vector<const rank_report*> ranks;
  for (const auto& one : r) ranks.push_back(&one);
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) { return a->headroom() < b->headroom(); });
  std::string text;
  for (std::size_t i = 0; i < std::min(brief_ranks, ranks.size()); ++i) text += brief_rank_text(*ranks[i], r.staged(), ink);
  if (const auto more = r.kinds - static_cast<std::int64_t>(std::min(brief_ranks, ranks.size())); more > 0)
    text += ink.dim("… and " + std::to_string(more) + (more == 1 ? " kind" : " kinds") + " of rank with more headroom") + "\n";
  return text;
}

}  // namespace detail

/// The report in about ten lines. `time`: nothing where none is predicted.
template <class Ranks>
std::string to_brief(const basic_report<Ranks>& r, const job& j, const step_cost* time, bool colour = false, confidence sure = {}, const imported_words& imported = {}) {
  const palette ink{colour};
  auto text = detail::heading_text(r, j, ink, sure, imported) + detail::brief_ranks_text(r, ink);
  if (r.host.per_node > bytes{0})
    text += left("host memory of a node", 28) + "  " + gib_text(r.host.per_node) + (r.host.capacity > bytes{0} ? " of " + gib_text(r.host.capacity) : "") + "\n";
  if (r.nvme_per_node > bytes{0})
    text += left("NVMe of a node", 28) + "  " + gib_text(r.nvme_per_node) + (r.nvme_capacity > bytes{0} ? " of " + gib_text(r.nvme_capacity) : "") + "\n";
  if (time != nullptr) {
    const auto seen = bounds(*time, sure);
    text += left("step", 28) + "  " + fixed(time->step.value, 2) + " s (" + fixed(seen.low.value, 2) + " to " + fixed(seen.high.value, 2) + "), " +
            grouped(static_cast<std::int64_t>(time->tokens_per_second())) + " tokens/s, " + fixed(time->mfu() * 100, 1) + " % MFU\n";
  } else {
    text += left("step", 28) + "  no time is predicted\n";
  }
  std::int64_t assumed = 0;
  for (int i = 0; i < assumption_count; ++i) assumed += r.assumptions.has(static_cast<assumption>(i)) ? 1 : 0;
  return text + ink.dim(std::to_string(assumed) + " assumptions: the whole report lists them") + "\n";
}

}  // namespace headroom::io
