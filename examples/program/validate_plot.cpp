// Distributed under the Boost Software License, Version 1.0.
// The picture of `headroom validate`: each measured number of memory over its prediction.
#include <headroom/io/report/svg.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "validate.hpp"

namespace program::validating {
namespace {

constexpr double side = 520, beside = 62, behind = 16, above = 40, below = 56;

/// Both axes, in GiB, from one power of ten to another.
struct log_axes {
  double low, high;
  [[nodiscard]] double x(double gib) const { return beside + share(gib) * (side - beside - behind); }
  [[nodiscard]] double y(double gib) const { return side - below - share(gib) * (side - above - below); }
  [[nodiscard]] double share(double gib) const { return std::log10(gib / low) / std::log10(high / low); }
};

/// The numbers that are drawn, and in which colour.
struct drawn_metric {
  headroom::reading what;
  const char *name, *colour;
};
constexpr std::array<drawn_metric, 4> drawn{{{headroom::reading::allocated, "allocated", "#27548a"},
                                             {headroom::reading::active, "active", "#2f8f83"},
                                             {headroom::reading::reserved, "reserved", "#e8963a"},
                                             {headroom::reading::device, "device", "#c94f4f"}}};

bool shown(const outcome& o) { return o.judged() && o.exact() && !o.is_throughput() && o.record.value > 0 && o.predicted.value > 0; }
double gib(double bytes) { return bytes / (1024.0 * 1024.0 * 1024.0); }

log_axes axes_of(const std::vector<outcome>& all) {
  double low = 1e300, high = 0;
  for (const auto& o : all)
    if (shown(o)) low = std::min({low, gib(o.record.value), gib(o.predicted.value)}), high = std::max({high, gib(o.record.value), gib(o.predicted.value)});
  if (high == 0) low = 0.1, high = 100;
  return {std::pow(10, std::floor(std::log10(low))), std::pow(10, std::ceil(std::log10(high)))};
}

void draw_axes(headroom::io::detail::svg_canvas& c, const log_axes& a) {
  using namespace headroom::io::detail;
  const std::array<std::pair<double, double>, 4> band{{{a.x(a.low), a.y(a.low * 1.1)}, {a.x(a.high / 1.1), a.y(a.high)}, {a.x(a.high), a.y(a.high / 1.1)}, {a.x(a.low * 1.1), a.y(a.low)}}};
  c.area(band, "#eef1f5", "within 10 %");
  for (double power = a.low; power < a.high * 1.5; power *= 10) {
    const auto name = headroom::io::fixed(power, power < 1 ? (power < 0.1 ? 2 : 1) : 0);
    c.line(a.x(power), a.y(a.low), a.x(power), a.y(a.high), svg_grid, 1);
    c.line(a.x(a.low), a.y(power), a.x(a.high), a.y(power), svg_grid, 1);
    c.text(a.x(power), a.y(a.low) + 18, 12, name, svg_dim, svg_anchor::middle);
    c.text(a.x(a.low) - 8, a.y(power) + 4, 12, name, svg_dim, svg_anchor::end);
  }
  c.line(a.x(a.low), a.y(a.low), a.x(a.high), a.y(a.high), svg_axis, 1, "5 4");
  c.text((a.x(a.low) + a.x(a.high)) / 2, a.y(a.low) + 40, 13, "measured, GiB", svg_ink, svg_anchor::middle);
  c.text(a.x(a.low), above - 12, 13, "predicted, GiB");
}

}  // namespace

std::string plot(const std::vector<outcome>& all) {
  using namespace headroom::io::detail;
  const auto a = axes_of(all);
  const auto count = std::count_if(all.begin(), all.end(), shown);
  svg_canvas c{side, side, "Predicted memory over measured memory", std::to_string(count) + " measured runs; the band is 10 % to either side"};
  draw_axes(c, a);
  double y = a.y(a.high) + 20;
  for (const auto& m : drawn) {
    std::int64_t n = 0;
    for (const auto& o : all) {
      if (!shown(o) || headroom::io::reading_of(o.record.what) != m.what) continue;
      ++n;
      c.dot(a.x(gib(o.record.value)), a.y(gib(o.predicted.value)), 3, m.colour, o.record.id + ": " + headroom::io::fixed(gib(o.predicted.value), 2) + " predicted, " + headroom::io::fixed(gib(o.record.value), 2) + " GiB measured");
    }
    if (n == 0) continue;
    c.dot(a.x(a.low) + 16, y - 4, 4, m.colour);
    c.text(a.x(a.low) + 26, y, 12, std::string{m.name} + ", " + std::to_string(n) + (n == 1 ? " run" : " runs"));
    y += 18;
  }
  return c.finished();
}

}  // namespace program::validating
