// Distributed under the Boost Software License, Version 1.0.
// A step over time as a picture: what is alive after each event of a recording, stacked by row, phase after phase.
#pragma once

#include <headroom/io/report/svg.hpp>
#include <headroom/replay/recording.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace headroom::io {

namespace detail {

/// Of consecutive events, the one after which most is alive.
struct moment_of_step {
  breakdown rows{};
  bytes total{};
};

/// Where a phase begins, as a share of the step.
struct phase_mark {
  phase at{};
  double from{};
};

struct step_over_time {
  std::vector<moment_of_step> moments;  ///< at equal distances
  std::vector<phase_mark> phases;
};

/// At most `columns` moments of a step, the tallest of the events that each stands for. What is there when the step begins is no event of it.
inline step_over_time sampled(const recorded_step& r, std::size_t columns) {
  const auto counts = [](const step_event& e) { return e.what != step_event::kind::enter; };
  auto first = r.events.begin();
  auto live = r.beside;
  for (; first != r.events.end() && (first->what != step_event::kind::enter || first->at == phase::load); ++first)
    if (counts(*first)) live[first->of] += first->size;
  const auto events = static_cast<std::size_t>(std::count_if(first, r.events.end(), counts));
  step_over_time out;
  out.moments.resize(std::clamp<std::size_t>(events, 1, columns));
  const auto put = [&](std::size_t at) {
    auto& m = out.moments[std::min(at * out.moments.size() / std::max<std::size_t>(events, 1), out.moments.size() - 1)];
    if (const auto total = live.total(); total > m.total) m = {live, total};
  };
  put(0);
  std::size_t at = 0;
  for (auto e = first; e != r.events.end(); ++e) {
    if (!counts(*e)) {
      if (out.phases.empty() || out.phases.back().at != e->at) out.phases.push_back({e->at, static_cast<double>(at) / static_cast<double>(std::max<std::size_t>(events, 1))});
      continue;
    }
    live[e->of] = e->what == step_event::kind::make ? live[e->of] + e->size : live[e->of] - e->size;
    put(at++);
  }
  return out;
}

/// One row of the stack as a polygon: along its top from left to right, and back along its bottom.
inline void draw_area(svg_canvas& svg, const svg_frame& f, const step_over_time& step, std::size_t row_index) {
  const auto n = step.moments.size();
  const double width = f.width / static_cast<double>(n);
  std::vector<std::pair<double, double>> top, bottom;
  bool any = false;
  const auto reach = [&](auto& edge, double from, double to, double y) {  // a level that goes on needs no corner
    if (edge.size() > 1 && edge.back().second == y)
      edge.back().first = to;
    else
      edge.insert(edge.end(), {{from, y}, {to, y}});
  };
  for (std::size_t i = 0; i < n; ++i) {
    double below = 0;
    for (std::size_t k = 0; k < row_index; ++k) below += in_gib(step.moments[i].rows.rows[k]);
    const double own = in_gib(step.moments[i].rows.rows[row_index]), x = f.x + width * static_cast<double>(i);
    any = any || own > 0;
    reach(top, x, x + width, f.y(below + own));
    reach(bottom, x, x + width, f.y(below));
  }
  if (!any) return;
  top.insert(top.end(), bottom.rbegin(), bottom.rend());
  std::string label{text(static_cast<row>(row_index))};
  std::replace(label.begin(), label.end(), '_', ' ');
  svg.area(top, svg_colours[row_index], label);
}

/// One kind of rank: its areas, its phases below, the line of what the GPU can hold.
inline void draw_step(svg_canvas& svg, const svg_frame& f, const recorded_step& r, bytes capacity, bool staged) {
  const auto step = sampled(r, 300);
  const double tick = tick_of(f.scale), right = f.x + f.width;
  for (double v = 0; v <= f.scale; v += tick) {
    svg.line(f.x, f.y(v), right, f.y(v), svg_grid, 1);
    svg.text(f.x - 8, f.y(v) + 4, 12, fixed(v, tick < 0.1 ? 2 : tick < 1 ? 1 : 0), svg_dim, svg_anchor::end);
  }
  for (std::size_t k = 0; k < row_count; ++k) draw_area(svg, f, step, k);
  for (std::size_t i = 0; i < step.phases.size(); ++i) {
    const double from = f.x + f.width * step.phases[i].from;
    const double to = i + 1 < step.phases.size() ? f.x + f.width * step.phases[i + 1].from : right;
    if (i > 0) svg.line(from, f.top, from, f.bottom + 6, svg_axis, 1, "2 3");
    const auto name = text(step.phases[i].at);
    if (to - from > svg_width(name, 12)) svg.text((from + to) / 2, f.bottom + 18, 12, name, svg_ink, svg_anchor::middle);
  }
  std::string head = std::to_string(r.count) + " × " + std::string{r.gpu.view()};
  if (staged) head += ", stage " + std::to_string(r.pipeline_stage);
  svg.text(f.x, f.top - 14, svg_width(head, 13, true) > f.width ? 11 : 13, head, svg_ink, svg_anchor::start, true);
  if (capacity > bytes{0}) {
    svg.line(f.x, f.y(in_gib(capacity)), right, f.y(in_gib(capacity)), svg_over, 2);
    svg.text(f.x + 4, f.y(in_gib(capacity)) - 6, 12, "usable " + fixed(in_gib(capacity), 1) + " GiB", svg_over, svg_anchor::start, true);
  }
}

}  // namespace detail

/// A step as the replay made it, kind of rank by kind of rank, in GiB over the order of events. Reserved but unused memory and what lies
/// outside the allocator are not in it.
template <class Ranks>
std::string to_svg(std::span<const recorded_step> ranks, const basic_report<Ranks>& r, const svg_layout& as = {}) {
  double tallest = 0.01;
  for (const auto& rank : r) tallest = std::max({tallest, in_gib(rank.capacity), in_gib(rank.allocated)});
  const bool narrow = as.width > 0;
  const double left = narrow ? 52 : 72, width = narrow ? as.width - left - 12 : 900, height = narrow ? 200 : 260, gap = 84;
  detail::svg_canvas svg{narrow ? as.width : left + width + 24, 48 + static_cast<double>(ranks.size()) * (height + gap) - 56, "The same step over time", "What is alive after each event of a step, row by row, phase after phase."};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    detail::svg_frame f{.x = left, .top = 48 + static_cast<double>(i) * (height + gap), .width = width, .scale = tallest * 1.08};
    f.bottom = f.top + height;
    detail::draw_step(svg, f, ranks[i], r.ranks[i].capacity, r.staged());
  }
  return svg.finished();
}

}  // namespace headroom::io
