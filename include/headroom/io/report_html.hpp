// Distributed under the Boost Software License, Version 1.0.
// A report as a page that needs no other file and no network: verdict, the step's picture, what each rank's peak is made of, and what
// other settings would do.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/diagnose/what_if.hpp>
#include <headroom/io/report/assumptions.hpp>
#include <headroom/io/report/phase_words.hpp>
#include <headroom/io/report/timeline_svg.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/syntax/names.hpp>

#include <span>

namespace headroom::io {

namespace detail {

inline constexpr std::string_view html_style = R"(
  body { font: 15px/1.45 Helvetica, Arial, "DejaVu Sans", sans-serif; color: #20262e; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
  h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
  .fits { color: #2e7d32; font-weight: bold; } .over { color: #c0392b; font-weight: bold; } .dim { color: #5b6470; }
  svg { max-width: 100%; height: auto; }
  table { border-collapse: collapse; } th, td { padding: .18rem .9rem .18rem 0; text-align: right; white-space: nowrap; }
  th:first-child, td:first-child { text-align: left; } th { color: #5b6470; font-weight: normal; border-bottom: 1px solid #d5d8dd; }
  tr.own { background: #f1f4f8; font-weight: bold; }
  .track { position: relative; width: 14rem; height: .9rem; background: #f4f5f7; text-align: left; }
  .track span { position: absolute; left: 0; top: 0; bottom: 0; }
  .track i { position: absolute; top: -.2rem; bottom: -.2rem; width: 2px; background: #c0392b; }
  .knobs { display: flex; flex-wrap: wrap; gap: 0 3rem; } li { margin-bottom: .3rem; }
)";

/// A bar on a scale, and where the capacity lies on it.
inline std::string html_bar(double share, double capacity, std::string_view colour) {
  const auto percent = [](double x) { return fixed(100 * std::clamp(x, 0.0, 1.0), 1) + "%"; };
  return "<div class=\"track\"><span style=\"width:" + percent(share) + ";background:" + std::string{colour} + "\"></span>" +
         (capacity > 0 && capacity <= 1 ? "<i style=\"left:" + percent(capacity) + "\"></i>" : "") + "</div>";
}

inline std::string html_row(std::span<const std::string> cells, std::string_view tag = "td", std::string_view of_class = {}) {
  std::string out = of_class.empty() ? "<tr>" : "<tr class=\"" + std::string{of_class} + "\">";
  for (const auto& c : cells) out += "<" + std::string{tag} + ">" + c + "</" + std::string{tag} + ">";
  return out + "</tr>\n";
}

/// What a kind of rank holds at its peak, tallest first.
inline std::string html_rank(const rank_report& r, bool staged) {
  std::string out = "<h3>" + std::to_string(r.count) + " × " + escaped(r.gpu.view()) + (staged ? ", pipeline stage " + std::to_string(r.pipeline_stage) : "") +
                    " <span class=\"dim\">peak in " + phase_words(r.peak_phase) +
                    (r.peak_layer >= 0 ? ", layer " + std::to_string(r.peak_layer) : std::string{}) + "</span></h3>\n<table>\n";
  std::vector<std::pair<std::size_t, bytes>> parts;
  for (std::size_t k = 0; k < row_count; ++k)
    if (r.at_peak.rows[k] > bytes{0}) parts.emplace_back(k, r.at_peak.rows[k]);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const double whole = std::max({in_gib(r.device), in_gib(r.capacity), 0.01}) * 1.02, capacity = in_gib(r.capacity) / whole;
  for (const auto& [k, amount] : parts) {
    std::string label{text(static_cast<row>(k))};
    std::replace(label.begin(), label.end(), '_', ' ');
    out += html_row(std::array{label, gib_text(amount), html_bar(in_gib(amount) / whole, 0, svg_colours[k])});
  }
  for (const auto& [label, amount] : {std::pair{"allocated", r.allocated}, std::pair{"reserved", r.reserved}, std::pair{"device", r.device}})
    out += html_row(std::array{std::string{label}, gib_text(amount), html_bar(in_gib(amount) / whole, capacity, "#8a8f98")}, "td", "own");
  return out + "</table>\n";
}

inline std::string value_text(const knob& k, std::int64_t value) {
  return k.key == knobs::recompute.key ? std::string{text_of(static_cast<recompute_mode>(value))} : grouped(value);
}

/// One knob: memory of the tightest GPU and speed at each value.
inline std::string html_knob(const what_if& w) {
  double whole = 0.01;
  for (const auto& s : w.settings)
    if (s.report) whole = std::max({whole, in_gib(s.report->device()), in_gib(s.report->tightest().capacity)});
  // A value far above the capacity would leave nothing of the others to see.
  for (const auto& s : w.settings)
    if (s.report) whole = std::min(whole, 2.5 * std::max(in_gib(s.report->tightest().capacity), 0.01));
  std::string out = "<div><h3>" + escaped(w.knob->key) + "</h3>\n<table>\n" + html_row(std::array<std::string, 4>{"", "device", "", "tokens/s per GPU"}, "th");
  for (const auto& s : w.settings) {
    const auto name = value_text(*w.knob, s.value);
    if (!s.report) {
      out += html_row(std::array<std::string, 4>{name, "", "<span class=\"dim\">not possible here</span>", ""}, "td", s.own ? "own" : "");
      continue;
    }
    const bool fitting = s.report->fits();
    const double device = in_gib(s.report->device()), capacity = in_gib(s.report->tightest().capacity);
    out += html_row(std::array{name, "<span class=\"" + std::string{fitting ? "fits" : "over"} + "\">" + gib_text(s.report->device()) + "</span>",
                               html_bar(device / whole, capacity / whole, fitting ? "#5c8fc7" : "#e0a39a"),
                               s.cost ? grouped(static_cast<std::int64_t>(s.cost->tokens_per_second_per_gpu())) : std::string{}},
                    "td", s.own ? "own" : "");
  }
  return out + "</table></div>\n";
}

}  // namespace detail

/// The report of `j` as one HTML document, with what `explore(j, …)` found, and the step over time where record(j) has written it out.
template <class Ranks>
std::string to_html(const basic_report<Ranks>& r, const job& j, std::span<const what_if> others, const step_cost* time = nullptr,
                    std::span<const recorded_step> step = {}) {
  const auto name = j.model.label.empty() ? std::string{"model"} : std::string{j.model.label.view()};
  const auto title = detail::escaped(name) + " on " + std::to_string(j.hardware.gpus()) + " × " + detail::escaped(j.hardware.accelerator().label.view());
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + title +
                    "</title>\n<style>" + std::string{detail::html_style} + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
  out += "<p><span class=\"" + std::string{r.fits() ? "fits" : "over"} + "\">" + verdict_text(r) + "</span> <span class=\"dim\">· " +
         count_text(r.parameter_count.total.count()) + " parameters · " + detail::escaped(j.framework.label.view()) + " · micro-batch " + grouped(j.batch.micro) + " × " +
         grouped(j.batch.sequence) + " tokens · recompute " + std::string{text_of(j.recompute.mode)};
  if (time != nullptr)
    out += " · " + fixed(time->step.value, 2) + " s a step, " + grouped(static_cast<std::int64_t>(time->tokens_per_second_per_gpu())) + " tokens/s per GPU";
  out += "</span></p>\n<h2>One training step</h2>\n" + to_svg(r, j);
  if (!step.empty())
    out += "<h2>The same step over time</h2>\n<p class=\"dim\">What is alive after each event of a replayed step, in GiB; the time between events is not to scale.</p>\n" + to_svg(step, r);
  out += "<h2>What the peak is made of</h2>\n<div class=\"knobs\">\n";
  for (const auto& rank : r) out += "<div>" + detail::html_rank(rank, r.staged()) + "</div>\n";
  out += "</div>\n";
  if (r.host.per_node > bytes{0} || r.nvme_per_node > bytes{0})
    out += "<p>Host memory per node: " + gib_text(r.host.per_node) + " (" + gib_text(r.host.pinned_per_node) + " pinned). NVMe per node: " + gib_text(r.nvme_per_node) + ".</p>\n";
  if (!others.empty()) {
    out += "<h2>What if</h2>\n<p class=\"dim\">One setting changed at a time, the rest as it is; the red mark is what a GPU can hold.</p>\n<div class=\"knobs\">\n";
    for (const auto& w : others) out += detail::html_knob(w);
    out += "</div>\n";
  }
  out += "<h2>Assumptions</h2>\n<ul>\n";
  for (int i = 0; i < assumption_count; ++i)
    if (const auto a = static_cast<assumption>(i); r.assumptions.has(a)) out += "<li>" + detail::escaped(assumption_text(a)) + "</li>\n";
  return out + "</ul>\n</body>\n</html>\n";
}

}  // namespace headroom::io
