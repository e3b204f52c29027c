// Distributed under the Boost Software License, Version 1.0.
// A picture of a training step: for each kind of rank a stacked bar for each moment, under the line of the GPU's capacity.
#pragma once

#include <algorithm>
#include <cmath>
#include <headroom/io/report/svg.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/job.hpp>
#include <headroom/report.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headroom::io {
namespace detail {

/// What joins the phases into one area over the step: each row's band from one bar to the next.
inline void draw_bands(svg_canvas& svg, const svg_frame& f, const rank_report& r, double slot, double width) {
  const bytes outside = r.outside.total();
  for (std::size_t i = 0; i + 1 < step_phase_count; ++i) {
    if (!r.has(static_cast<phase>(i)) || !r.has(static_cast<phase>(i + 1))) continue;  // a gap
    double left = 0, right = 0;
    const double x1 = f.x + slot * static_cast<double>(i) + (slot + width) / 2, x2 = x1 + slot - width;
    for (std::size_t k = 0; k <= row_count; ++k) {
      const double a = in_gib(k == row_count ? outside : r.at_phase[i].rows[k]);
      const double b = in_gib(k == row_count ? outside : r.at_phase[i + 1].rows[k]);
      if (a + b > 0) svg.band(x1, f.y(left + a), f.y(left), x2, f.y(right + b), f.y(right), svg_colours[k]);
      left += a;
      right += b;
    }
  }
}

/// The phases that have a bar: those of every step, and what else this rank's has.
inline std::vector<phase> phases_drawn(const rank_report& r) {
  std::vector<phase> all;
  for (int i = 0; i < phase_count; ++i)
    if (const auto p = static_cast<phase>(i); in_every_step(p) || r.has(p)) all.push_back(p);
  return all;
}

/// A stacked bar for each moment; how high each is, in GiB.
inline std::vector<double> draw_bars(svg_canvas& svg, const svg_frame& f, const rank_report& r, const std::vector<phase>& drawn) {
  const double slot = f.width / static_cast<double>(drawn.size());
  const double width = slot * 0.6;
  draw_bands(svg, f, r, slot, width);
  const bytes outside = r.outside.total();
  std::vector<double> levels;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto p = drawn[i];
    breakdown made_of = in_every_step(p) ? r.at_phase[i] : p == r.peak_phase ? r.at_peak : breakdown{};
    if (made_of.total() < r[p]) made_of[row::other_models] = r[p];  // of such a phase it is known how much, not of what
    const double x = f.x + slot * static_cast<double>(i) + (slot - width) / 2;
    double level = 0;
    const auto stack = [&](bytes amount, std::size_t colour, std::string_view label) {
      if (amount <= bytes{0}) return;
      const double h = in_gib(amount);
      svg.box(x, f.y(level + h), width, f.y(level) - f.y(level + h), svg_colours[colour],
              std::string{label} + ": " + gib_text(amount));
      level += h;
    };
    for (int k = 0; k < row_count; ++k)
      stack(made_of[static_cast<row>(k)], static_cast<std::size_t>(k), text(static_cast<row>(k)));
    if (r.has(p)) stack(outside, row_count, "outside the allocator");
    levels.push_back(level);
  }
  return levels;
}

/// Names of the moments below their bars, in as many lines as it takes that no two touch, and how high they are.
inline void draw_names(svg_canvas& svg, const svg_frame& f, const rank_report& r, const std::vector<phase>& drawn, const std::vector<double>& levels) {
  const double slot = f.width / static_cast<double>(drawn.size());
  double longest = 0;
  for (const auto p : drawn) longest = std::max(longest, svg_width(text(p), 12, p == r.peak_phase));
  const auto lines = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil((longest + 4) / slot)));
  const auto middle = [&](std::size_t i) { return f.x + slot * (static_cast<double>(i) + 0.5); };
  const auto below = [&](std::size_t i) { return f.bottom + 18 + 16 * static_cast<double>(i % lines); };
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if (i % lines > 0) svg.line(middle(i), f.bottom, middle(i), below(i) - 12, svg_grid, 1);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto p = drawn[i];
    const bool peak = p == r.peak_phase && r[p] > bytes{0};
    svg.text_free(middle(i), below(i), below(i) - 12, 12, text(p), r.has(p) ? svg_ink : svg_dim, svg_anchor::middle, peak);
    if (!r.has(p)) svg.text(middle(i), f.bottom - 6, 12, "–", svg_dim, svg_anchor::middle);  // a gap
    if (peak) svg.text_free(middle(i), below(lines - 1) + 16, f.bottom, 11, r.peak_layer >= 0 ? "peak, layer " + std::to_string(r.peak_layer) : "peak", svg_over, svg_anchor::middle);
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const bool peak = drawn[i] == r.peak_phase && r[drawn[i]] > bytes{0};
    if (levels[i] > 0)
      svg.text_free(middle(i), f.y(levels[i]) - 6, f.top, 12, fixed(levels[i], 1), peak ? svg_ink : svg_dim, svg_anchor::middle, peak);
  }
}

inline void draw_rank(svg_canvas& svg, const svg_frame& f, const rank_report& r, bool staged) {
  const double right_edge = f.x + f.width;
  const double step = tick_of(f.scale);
  for (double v = 0; v <= f.scale * 0.999; v += step) {
    svg.line(f.x, f.y(v), right_edge, f.y(v), v > 0 ? svg_grid : svg_axis, 1);
    svg.text(f.x - 8, f.y(v) + 4, 12, fixed(v, step < 0.1 ? 2 : step < 1 ? 1 : 0), svg_dim, svg_anchor::end);
  }
  svg.text(f.x - 8, f.top - 14, 12, "GiB", svg_dim, svg_anchor::end);
  std::string head = std::to_string(r.count) + " × " + std::string{r.gpu.view()};
  if (staged) head += ", stage " + std::to_string(r.pipeline_stage);
  svg.text(f.x, f.top - 14, svg_width(head, 13, true) > f.width ? 11 : 13, head, svg_ink, svg_anchor::start, true);
  const double capacity = in_gib(r.capacity);
  const double device = in_gib(r.device);
  // The device memory is no bar's: what the allocator took does not shrink after the peak. It is what the capacity has to
  // suffice for.
  if (device > 0) svg.line(f.x, f.y(device), right_edge, f.y(device), svg_ink, 1.2, "5 4");
  const auto drawn = phases_drawn(r);
  const auto levels = draw_bars(svg, f, r, drawn);
  if (capacity > 0) {
    svg.line(f.x, f.y(capacity), right_edge, f.y(capacity), svg_over, 2);
    svg.text(f.x + 4, f.y(capacity) - 6, 12, "usable " + fixed(capacity, 1) + " GiB", svg_over, svg_anchor::start, true);
  }
  if (device > 0) svg.text_free(right_edge - 4, f.y(device) - 6, f.top, 12, "device " + fixed(device, 1) + " GiB", svg_ink, svg_anchor::end);
  draw_names(svg, f, r, drawn, levels);
}

/// What the colours mean, top of the stack first: the rows that are ever occupied.
struct legend_entry {
  std::size_t colour{};
  std::string label{};
  bytes amount{};  ///< at the peak of the tightest rank
};
template <class Ranks>
std::vector<legend_entry> legend_of(const basic_report<Ranks>& r) {
  std::vector<legend_entry> all;
  if (r.size == 0) return all;
  const auto& tightest = r.tightest();
  all.push_back({row_count, "outside the allocator", tightest.outside.total()});
  for (int k = row_count - 1; k >= 0; --k) {
    bool ever = tightest.at_peak[static_cast<row>(k)] > bytes{0};
    for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i)
      for (const auto& moment : r.ranks[i].at_phase) ever = ever || moment[static_cast<row>(k)] > bytes{0};
    std::string label{text(static_cast<row>(k))};
    std::replace(label.begin(), label.end(), '_', ' ');
    if (ever) all.push_back({static_cast<std::size_t>(k), std::move(label), tightest.at_peak[static_cast<row>(k)]});
  }
  return all;
}
inline void draw_legend(svg_canvas& svg, const std::vector<legend_entry>& all, std::string_view head, double x, double y) {
  svg.text(x, y, 12, head, svg_ink, svg_anchor::start, true);
  y += 24;
  for (const auto& e : all) {
    svg.box(x, y - 10, 12, 12, svg_colours[e.colour]);
    svg.text(x + 20, y, 12, e.label);
    svg.text(x + 236, y, 12, gib_text(e.amount), svg_dim, svg_anchor::end);
    y += 22;
  }
}
/// … below a picture, in columns and without amounts.
inline std::size_t legend_columns(double width) { return std::max<std::size_t>(1, static_cast<std::size_t>((width - 16) / 168)); }
inline void draw_legend_below(svg_canvas& svg, const std::vector<legend_entry>& all, double y) {
  const auto columns = legend_columns(svg.width());
  const auto lines = (all.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double x = 8 + (svg.width() - 16) / static_cast<double>(columns) * static_cast<double>(i / lines), at = y + 20 * static_cast<double>(i % lines);
    svg.box(x, at - 10, 12, 12, svg_colours[all[i].colour]);
    svg.text(x + 18, at, 12, all[i].label);
  }
}

/// What the picture shows, in words.
template <class Ranks>
std::string picture_words(const basic_report<Ranks>& r) {
  std::string out = verdict_text(r) + ".";
  for (const auto& rank : r) {
    out += " " + std::to_string(rank.count) + " × " + std::string{rank.gpu.view()} + (r.staged() ? ", pipeline stage " + std::to_string(rank.pipeline_stage) : std::string{}) + ":";
    for (int i = 0; i < phase_count; ++i)
      if (const auto p = static_cast<phase>(i); rank.has(p)) out += " " + std::string{text(p)} + " " + fixed(in_gib(rank[p]), 1) + ",";
    out += " device " + fixed(in_gib(rank.device), 1) + " of " + fixed(in_gib(rank.capacity), 1) + " GiB.";
  }
  return out;
}

/// Where the panels stand, all on one scale.
struct svg_panels {
  std::size_t columns{};
  double left{}, top{}, width{}, height{}, below{}, scale{};
  [[nodiscard]] svg_frame at(std::size_t i) const {
    svg_frame f{.x = left + static_cast<double>(i % columns) * (width + left), .top = top + static_cast<double>(i / columns) * (height + below), .width = width, .scale = scale};
    f.bottom = f.top + height;
    return f;
  }
};
inline svg_panels panels_of(std::size_t ranks, const svg_layout& as, double scale) {
  const double top = as.heading ? 96 : 34;
  if (as.width <= 0) return {ranks == 1 ? std::size_t{1} : 2, 72, top, ranks == 1 ? 620.0 : 470.0, ranks <= 2 ? 374.0 : 300.0, 104, scale};
  const std::size_t columns = ranks > 1 && as.width >= 720 ? 2 : 1;
  const double left = 52, width = (as.width - 12) / static_cast<double>(columns) - left;
  return {columns, left, top, width, std::clamp(width * 0.5, 200.0, ranks <= 2 ? 374.0 : 300.0), 120, scale};
}

}  // namespace detail

/// The report of `j` as an SVG document that needs no other file.
template <class Ranks>
std::string to_svg(const basic_report<Ranks>& r, const job& j, const svg_layout& as = {}) {
  const auto ranks = static_cast<std::size_t>(std::max<std::int32_t>(1, r.size));
  double tallest = 0.01;
  for (const auto& rank : r) {
    const auto highest =
        *std::max_element(rank.phases.begin(), rank.phases.end()) + rank.outside.total();
    tallest = std::max({tallest, in_gib(rank.capacity), in_gib(rank.device), in_gib(highest)});
  }
  const auto panels = detail::panels_of(ranks, as, tallest * 1.08);
  const auto legend = detail::legend_of(r);
  const bool below = as.width > 0;
  const double beside = panels.at(panels.columns - 1).x + panels.width + 36, under = panels.at(ranks - 1).bottom + (below ? 96 : 60);
  const auto columns = detail::legend_columns(as.width);
  const auto label = j.model.label.empty() ? std::string{"model"} : std::string{j.model.label.view()};
  const auto title = label + ", " + count_text(r.parameter_count.total.count()) + " parameters, " + std::string{j.framework.label.view()};
  detail::svg_canvas svg{below ? as.width : beside + 260, below ? under + 20 * static_cast<double>((legend.size() + columns - 1) / columns) : std::max(under, panels.top + 40 + 22 * static_cast<double>(legend.size())), "One training step of " + title, detail::picture_words(r)};
  if (as.heading) {
    svg.text(24, 34, below && detail::svg_width(title, 20, true) > as.width - 30 ? 12 : 20, title, detail::svg_ink, detail::svg_anchor::start, true);
    svg.text(24, 58, 14, verdict_text(r), r.fits() ? detail::svg_fits : detail::svg_over);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i)
    detail::draw_rank(svg, panels.at(i), r.ranks[i], r.staged());
  if (below)
    detail::draw_legend_below(svg, legend, under);
  else if (r.size > 0)
    detail::draw_legend(svg, legend, r.size > 1 ? "At the peak of the tightest rank" : "At the peak", beside, panels.at(0).top + 6);
  return svg.finished();
}

}  // namespace headroom::io
