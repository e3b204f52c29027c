// Distributed under the Boost Software License, Version 1.0.
// What the pictures of a report are drawn with: colours, an SVG document, and a panel's axes.
#pragma once

#include <headroom/io/report/text_table.hpp>
#include <headroom/report.hpp>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace headroom::io::detail {

/// One colour a row of the report, in the order in which they are stacked from the bottom; the last is what lies outside
/// the allocator.
inline constexpr std::array<std::string_view, row_count + 1> svg_colours{"#27548a", "#5c8fc7", "#e8963a", "#2f8f83",
                                                                         "#9bd0c4", "#a0703c", "#c94f4f", "#f0b5ac",
                                                                         "#7a5aa6", "#bda6d8", "#8a8f98", "#4f8a3f",
                                                                         "#a9cf8f", "#e3c34f", "#d5d8dd"};
static_assert(svg_colours.size() == row_count + 1, "a colour for each row");

inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

/// 1, 2 or 5 times a power of ten, so that about six lines cross the axis.
inline double tick_of(double top) {
  double step = 0.01;
  for (int i = 0; step * 6.5 < top; ++i) step *= i % 3 == 1 ? 2.5 : 2.0;
  return step;
}

class svg_canvas {
 public:
  svg_canvas(double width, double height) {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(height, 0) +
           "\" width=\"" + fixed(width, 0) + "\" height=\"" + fixed(height, 0) +
           "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" fill=\"#20262e\">\n";
    box(0, 0, width, height, "#ffffff");
  }
  void box(double x, double y, double w, double h, std::string_view fill, std::string_view tip = {}) {
    out_ += "<rect x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(w, 1) + "\" height=\"" +
            fixed(h, 1) + "\" fill=\"" + std::string{fill} + "\"";
    out_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width, std::string_view dash = {}) {
    out_ += "<line x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" + fixed(x2, 1) + "\" y2=\"" +
            fixed(y2, 1) + "\" stroke=\"" + std::string{colour} + "\" stroke-width=\"" + fixed(width, 1) + "\"" +
            (dash.empty() ? std::string{} : " stroke-dasharray=\"" + std::string{dash} + "\"") + "/>\n";
  }
  /// `style`: further attributes, e.g. text-anchor. A white rim keeps words legible on lines and bars.
  void text(double x, double y, double size, std::string_view words, std::string_view style = {}) {
    out_ += "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" font-size=\"" + fixed(size, 0) +
            "\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\" " +
            std::string{style} + ">" + escaped(words) + "</text>\n";
  }
  /// A band between two bars: from (x1, top1..bottom1) to (x2, top2..bottom2).
  void band(double x1, double top1, double bottom1, double x2, double top2, double bottom2, std::string_view colour) {
    const auto point = [](double x, double y) { return fixed(x, 1) + "," + fixed(y, 1) + " "; };
    out_ += "<polygon points=\"" + point(x1, top1) + point(x2, top2) + point(x2, bottom2) + point(x1, bottom1) +
            "\" fill=\"" + std::string{colour} + "\" fill-opacity=\"0.45\"/>\n";
  }
  /// An area with these corners.
  void area(std::span<const std::pair<double, double>> corners, std::string_view fill, std::string_view tip) {
    out_ += "<polygon points=\"";
    for (const auto& [x, y] : corners) out_ += fixed(x, 1) + "," + fixed(y, 1) + " ";
    out_ += "\" fill=\"" + std::string{fill} + "\"><title>" + escaped(tip) + "</title></polygon>\n";
  }
  [[nodiscard]] std::string finished() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

/// One panel: where its axes lie, and what the top edge stands for.
struct svg_frame {
  double x{}, top{}, bottom{}, width{};
  double scale{1};  ///< GiB at the top edge
  [[nodiscard]] double y(double gib) const { return bottom - gib / scale * (bottom - top); }
};

}  // namespace headroom::io::detail
