// Distributed under the Boost Software License, Version 1.0.
// What the pictures of a report are drawn with: colours, an SVG document, and a panel's axes.
#pragma once

#include <headroom/io/report/text_table.hpp>
#include <headroom/report.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::io {

/// How a picture is laid out.
struct svg_layout {
  double width{};      ///< of the whole, in pixels, with what the colours mean below; 0: as wide as it is, with that beside it
  bool heading{true};  ///< model and verdict above it
};

namespace detail {

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

/// What a shape is, for a page that has colours of its own (html_style in report_html.hpp); a picture by itself has those it is drawn with.
struct svg_kind {
  std::string_view name, colour;
};
inline constexpr svg_kind svg_ink{"ink", "#20262e"}, svg_dim{"dim", "#5b6470"}, svg_over{"over", "#c0392b"}, svg_fits{"fits", "#2e7d32"}, svg_grid{"grid", "#e3e6ea"}, svg_axis{"axis", "#8a8f98"};

enum class svg_anchor : std::uint8_t { start, middle, end };

/// About as wide as words are drawn, in the widest of the fonts that the pictures name.
inline double svg_width(std::string_view words, double size, bool bold = false) { return static_cast<double>(width_of(words)) * size * (bold ? 0.69 : 0.62); }

class svg_canvas {
 public:
  /// `title` and `description` are read out in place of the picture.
  svg_canvas(double width, double height, std::string_view title, std::string_view description) : width_(width) {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(height, 0) +
           "\" width=\"" + fixed(width, 0) + "\" height=\"" + fixed(height, 0) +
           "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" fill=\"#20262e\">\n<title>" + escaped(title) + "</title>\n<desc>" + escaped(description) + "</desc>\n";
    out_ += "<rect class=\"paper\" x=\"0\" y=\"0\" width=\"" + fixed(width, 0) + "\" height=\"" + fixed(height, 0) + "\" fill=\"#ffffff\"/>\n";
  }
  [[nodiscard]] double width() const { return width_; }
  void box(double x, double y, double w, double h, std::string_view fill, std::string_view tip = {}) {
    out_ += "<rect x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(w, 1) + "\" height=\"" +
            fixed(h, 1) + "\" fill=\"" + std::string{fill} + "\"";
    out_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
  }
  void line(double x1, double y1, double x2, double y2, svg_kind kind, double width, std::string_view dash = {}) {
    out_ += "<line class=\"" + std::string{kind.name} + "\" x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" + fixed(x2, 1) + "\" y2=\"" +
            fixed(y2, 1) + "\" stroke=\"" + std::string{kind.colour} + "\" stroke-width=\"" + fixed(width, 1) + "\"" +
            (dash.empty() ? std::string{} : " stroke-dasharray=\"" + std::string{dash} + "\"") + "/>\n";
  }
  /// A rim of the paper's colour keeps words legible on lines and bars.
  void text(double x, double y, double size, std::string_view words, svg_kind kind = svg_ink, svg_anchor anchor = svg_anchor::start, bool bold = false) {
    constexpr std::string_view anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    out_ += "<text class=\"" + std::string{kind.name} + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" font-size=\"" + fixed(size, 0) +
            "\" fill=\"" + std::string{kind.colour} + "\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"" +
            std::string{anchors[static_cast<int>(anchor)]} + (bold ? " font-weight=\"bold\"" : "") + ">" + escaped(words) + "</text>\n";
    taken_.push_back(place_of(x, y, size, words, anchor, bold));
  }
  /// The same where no words are yet: at `y`, or above it as far as `top`, or else below. What does not fit sideways moves inward.
  void text_free(double x, double y, double top, double size, std::string_view words, svg_kind kind = svg_ink, svg_anchor anchor = svg_anchor::start, bool bold = false) {
    const auto inward = place_of(x, y, size, words, anchor, bold);
    x += std::max(0.0, 2 - inward.left) - std::max(0.0, inward.right - (width_ - 2));
    const auto free = [&](double at) {
      const auto p = place_of(x, at, size, words, anchor, bold);
      return std::none_of(taken_.begin(), taken_.end(), [&](const place& o) { return p.left < o.right && o.left < p.right && p.top < o.bottom && o.top < p.bottom; });
    };
    double at = y;
    while (at - size > top && !free(at)) at -= 3;
    if (!free(at))
      for (at = y; at < y + 400 && !free(at);) at += 3;
    text(x, at, size, words, kind, anchor, bold);
  }
  /// A disc, a little of what lies below it still to be seen.
  void dot(double x, double y, double radius, std::string_view fill, std::string_view tip = {}) {
    out_ += "<circle cx=\"" + fixed(x, 1) + "\" cy=\"" + fixed(y, 1) + "\" r=\"" + fixed(radius, 1) + "\" fill=\"" + std::string{fill} + "\" fill-opacity=\"0.7\"";
    out_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></circle>\n";
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
  /// Where words stand.
  struct place {
    double left{}, right{}, top{}, bottom{};
  };
  static place place_of(double x, double y, double size, std::string_view words, svg_anchor anchor, bool bold) {
    const double w = svg_width(words, size, bold), left = x - w * (anchor == svg_anchor::start ? 0.0 : anchor == svg_anchor::middle ? 0.5 : 1.0);
    return {left, left + w, y - size, y + size * 0.28};
  }

  double width_{};
  std::string out_;
  std::vector<place> taken_;
};

/// One panel: where its axes lie, and what the top edge stands for.
struct svg_frame {
  double x{}, top{}, bottom{}, width{};
  double scale{1};  ///< GiB at the top edge
  [[nodiscard]] double y(double gib) const { return bottom - gib / scale * (bottom - top); }
};

}  // namespace detail
}  // namespace headroom::io
