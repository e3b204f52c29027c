// Distributed under the Boost Software License, Version 1.0.
// What a page of a report is made of: its style, rows of tables, bars.
#pragma once

#include <headroom/io/report/text_table.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// Light or dark as the reader's system is. Words of the pictures take the page's colours, by what svg_kind calls them.
inline constexpr std::string_view html_style = R"(
  :root { color-scheme: light dark; --paper: #ffffff; --ink: #20262e; --dim: #57606c; --line: #d5d8dd; --soft: #f1f4f8; --fits: #22702a; --over: #b4281a; --axis: #8a8f98; }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #16191e; --ink: #e6e9ee; --dim: #a2abb8; --line: #363d47; --soft: #242a32; --fits: #6fcf85; --over: #ff9386; --axis: #8c97a6; }
  }
  * { box-sizing: border-box; }
  body { font: 15px/1.5 system-ui, Helvetica, Arial, "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
  main { margin: 0 auto; max-width: 80rem; padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.4rem; margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
  p { margin: 0 0 .5rem; } .verdict { font-size: 1.3rem; }
  .fits { color: var(--fits); font-weight: bold; } .over { color: var(--over); font-weight: bold; } .dim { color: var(--dim); font-weight: normal; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  svg { display: block; max-width: 100%; height: auto; } .narrow { display: none; } .narrow svg { width: 100%; max-width: 32rem; }
  svg .paper { fill: var(--paper); } svg text { stroke: var(--paper); } svg text.ink { fill: var(--ink); } svg text.dim { fill: var(--dim); } svg text.over { fill: var(--over); } svg text.fits { fill: var(--fits); }
  svg line.ink { stroke: var(--ink); } svg line.over { stroke: var(--over); } svg line.grid { stroke: var(--line); } svg line.axis { stroke: var(--axis); }
  .scroll { overflow-x: auto; max-width: 100%; position: relative; }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { padding: .2rem .8rem .2rem 0; text-align: right; white-space: nowrap; font-weight: inherit; }
  th:first-child { text-align: left; } th[scope="col"] { color: var(--dim); border-bottom: 1px solid var(--line); }
  td.why { white-space: normal; text-align: left; max-width: min(26rem, 62vw); }
  tr.own { background: var(--soft); font-weight: bold; }
  .track { position: relative; width: min(14rem, 24vw); height: .9rem; background: var(--soft); text-align: left; }
  .track span { position: absolute; left: 0; top: 0; bottom: 0; }
  .track i { position: absolute; top: -.2rem; bottom: -.2rem; width: 2px; background: var(--over); }
  .knobs { display: flex; flex-wrap: wrap; gap: 0 3rem; } .knobs > div { min-width: 0; max-width: 100%; } ul { padding-left: 1.2rem; } li { margin-bottom: .35rem; overflow-wrap: anywhere; }
  @media (max-width: 760px) { .wide { display: none; } .narrow { display: block; } th, td { padding-right: .5rem; } }
)";

/// A bar on a scale, and where the capacity lies on it. What it shows stands in words beside it.
inline std::string html_bar(double share, double capacity, std::string_view colour) {
  const auto percent = [](double x) { return fixed(100 * std::clamp(x, 0.0, 1.0), 1) + "%"; };
  return "<div class=\"track\" aria-hidden=\"true\"><span style=\"width:" + percent(share) + ";background:" + std::string{colour} + "\"></span>" +
         (capacity > 0 && capacity <= 1 ? "<i style=\"left:" + percent(capacity) + "\"></i>" : "") + "</div>";
}

/// Cells of "td", the first of which heads the row, or of "th", which head columns.
inline std::string html_row(std::span<const std::string> cells, std::string_view tag = "td", std::string_view of_class = {}) {
  std::string out = of_class.empty() ? "<tr>" : "<tr class=\"" + std::string{of_class} + "\">";
  bool first = true;
  for (const auto& c : cells) {
    const std::string name = tag == "th" || first ? "th" : "td";
    out += "<" + name + (name == "td" ? "" : tag == "th" ? " scope=\"col\"" : " scope=\"row\"") + ">" + c + "</" + name + ">";
    first = false;
  }
  return out + "</tr>\n";
}

}  // namespace headroom::io::detail
