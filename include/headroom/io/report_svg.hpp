// Distributed under the Boost Software License, Version 1.0.
// A picture of a training step: for each kind of rank a stacked bar for each moment, under the line of the GPU's capacity.
#pragma once

#include <array>
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

inline void draw_bars(svg_canvas& svg, const svg_frame& f, const rank_report& r) {
  const auto drawn = phases_drawn(r);
  const double slot = f.width / static_cast<double>(drawn.size());
  const double width = slot * 0.6;
  draw_bands(svg, f, r, slot, width);
  const bytes outside = r.outside.total();
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
    const bool peak = p == r.peak_phase && r[p] > bytes{0};
    if (level > 0)
      svg.text(x + width / 2, f.y(level) - 6, 12, fixed(level, 1),
               peak ? "text-anchor=\"middle\" font-weight=\"bold\"" : "text-anchor=\"middle\" fill=\"#5b6470\"");
    svg.text(x + width / 2, f.bottom + 18, 12, text(p),
             peak       ? "text-anchor=\"middle\" font-weight=\"bold\""
             : r.has(p) ? "text-anchor=\"middle\""
                        : "text-anchor=\"middle\" fill=\"#b4bac2\"");
    if (peak) {
      const std::string where = r.peak_layer >= 0 ? "peak, layer " + std::to_string(r.peak_layer) : "peak";
      svg.text(x + width / 2, f.bottom + 33, 11, where, "text-anchor=\"middle\" fill=\"#c0392b\"");
    }
  }
}

inline void draw_rank(svg_canvas& svg, const svg_frame& f, const rank_report& r, bool staged) {
  const double right_edge = f.x + f.width;
  const double step = tick_of(f.scale);
  for (double v = 0; v <= f.scale * 0.999; v += step) {
    svg.line(f.x, f.y(v), right_edge, f.y(v), v > 0 ? "#e8eaed" : "#9aa1ab", 1);
    svg.text(f.x - 8, f.y(v) + 4, 12, fixed(v, step < 1 ? 1 : 0), "text-anchor=\"end\" fill=\"#5b6470\"");
  }
  svg.text(f.x - 8, f.top - 14, 12, "GiB", "text-anchor=\"end\" fill=\"#5b6470\"");
  const double capacity = in_gib(r.capacity);
  const double device = in_gib(r.device);
  // The device memory is no bar's: what the allocator took does not shrink after the peak. It is what the capacity has to
  // suffice for.
  if (device > 0) svg.line(f.x, f.y(device), right_edge, f.y(device), "#20262e", 1.2, "5 4");
  draw_bars(svg, f, r);
  if (device > 0)
    svg.text(right_edge - 4, f.y(device) - 6, 12, "device " + fixed(device, 1) + " GiB", "text-anchor=\"end\"");
  if (capacity > 0) {
    svg.line(f.x, f.y(capacity), right_edge, f.y(capacity), "#c0392b", 2);
    svg.text(f.x + 4, f.y(capacity) - 6, 12, "usable " + fixed(capacity, 1) + " GiB",
             "fill=\"#c0392b\" font-weight=\"bold\"");
  }
  std::string head = std::to_string(r.count) + " x " + std::string{r.gpu.view()};
  if (staged) head += ", pipeline stage " + std::to_string(r.pipeline_stage);
  svg.text(f.x, f.top - 14, 13, head, "font-weight=\"bold\"");
}

/// The rows that are ever occupied, top of the stack first, with what each has at the peak of the tightest rank.
template <class Ranks>
void draw_legend(svg_canvas& svg, const basic_report<Ranks>& r, double x, double y) {
  const auto& tightest = r.tightest();
  const auto entry = [&](std::size_t colour, std::string_view label, bytes amount) {
    svg.box(x, y - 10, 12, 12, svg_colours[colour]);
    svg.text(x + 20, y, 12, label);
    svg.text(x + 236, y, 12, gib_text(amount), "text-anchor=\"end\" fill=\"#5b6470\"");
    y += 22;
  };
  svg.text(x, y, 12, r.size > 1 ? "At the peak of the tightest rank" : "At the peak", "font-weight=\"bold\"");
  y += 24;
  entry(row_count, "outside the allocator", tightest.outside.total());
  for (int k = row_count - 1; k >= 0; --k) {
    bool ever = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i)
      for (const auto& moment : r.ranks[i].at_phase) ever = ever || moment[static_cast<row>(k)] > bytes{0};
    ever = ever || tightest.at_peak[static_cast<row>(k)] > bytes{0};
    std::string label{text(static_cast<row>(k))};
    std::replace(label.begin(), label.end(), '_', ' ');
    if (ever) entry(static_cast<std::size_t>(k), label, tightest.at_peak[static_cast<row>(k)]);
  }
}

}  // namespace detail

/// The report of `j` as an SVG document that needs no other file.
template <class Ranks>
std::string to_svg(const basic_report<Ranks>& r, const job& j) {
  const auto ranks = static_cast<std::size_t>(std::max<std::int32_t>(1, r.size));
  double tallest = 0.01;
  for (const auto& rank : r) {
    const auto highest =
        *std::max_element(rank.phases.begin(), rank.phases.end()) + rank.outside.total();
    tallest = std::max({tallest, in_gib(rank.capacity), in_gib(rank.device), in_gib(highest)});
  }
  // Two panels side by side, all on one scale.
  const std::size_t columns = ranks == 1 ? 1 : 2;
  const double width = ranks == 1 ? 620 : 470;
  const double height = ranks <= 2 ? 374 : 300;
  const auto panel = [&](std::size_t i) {
    detail::svg_frame f{.x = 72 + static_cast<double>(i % columns) * (width + 72),
                        .top = 96 + static_cast<double>(i / columns) * (height + 90),
                        .width = width,
                        .scale = tallest * 1.08};
    f.bottom = f.top + height;
    return f;
  };
  const double legend = panel(columns - 1).x + width + 36;
  detail::svg_canvas svg{legend + 260, panel(ranks - 1).bottom + 52};
  const auto label = j.model.label.empty() ? std::string{"model"} : std::string{j.model.label.view()};
  svg.text(
      24, 34, 20,
      label + ", " + count_text(r.parameter_count.total.count()) + " parameters, " + std::string{j.framework.label.view()},
      "font-weight=\"bold\"");
  svg.text(24, 58, 14, verdict_text(r), r.fits() ? "fill=\"#2e7d32\"" : "fill=\"#c0392b\"");
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i)
    detail::draw_rank(svg, panel(i), r.ranks[i], r.staged());
  if (r.size > 0) detail::draw_legend(svg, r, legend, panel(0).top + 6);
  return svg.finished();
}

}  // namespace headroom::io
