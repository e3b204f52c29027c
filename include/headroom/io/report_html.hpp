// Distributed under the Boost Software License, Version 1.0.
// A report as a page that needs no other file and no network: verdict and range, the step's picture, what each rank's peak is made of, what
// would make it fit, and what other settings would do.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/diagnose/what_if.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report/assumptions.hpp>
#include <headroom/io/report/html_parts.hpp>
#include <headroom/io/report/phase_words.hpp>
#include <headroom/io/report/timeline_svg.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/syntax/names.hpp>

#include <span>

namespace headroom::io {

/// What a page shows beside the report, where it is given.
struct html_details {
  std::span<const what_if> others{};              ///< explore(j, …)
  const step_cost* time{};
  std::span<const recorded_step> step{};          ///< record(j)
  const std::vector<advice>* help{};              ///< advise(j, …), of a job that does not fit
  confidence sure{};                              ///< of the range
};

namespace detail {

/// What a kind of rank holds at its peak, tallest first.
inline std::string html_rank(const rank_report& r, bool staged) {
  std::string out = "<h3>" + std::to_string(r.count) + " × " + escaped(r.gpu.view()) + (staged ? ", pipeline stage " + std::to_string(r.pipeline_stage) : "") +
                    " <span class=\"dim\">peak in " + phase_words(r.peak_phase) +
                    (r.peak_layer >= 0 ? ", layer " + std::to_string(r.peak_layer) : std::string{}) + "</span></h3>\n<div class=\"scroll\"><table>\n";
  std::vector<std::pair<std::size_t, bytes>> parts;
  for (std::size_t k = 0; k < row_count; ++k)
    if (r.at_peak.rows[k] > bytes{0}) parts.emplace_back(k, r.at_peak.rows[k]);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const double whole = std::max({in_gib(r.device), in_gib(r.capacity), 0.01}) * 1.02, capacity = in_gib(r.capacity) / whole;
  out += html_row(std::array<std::string, 3>{"at the peak", "memory", "<span class=\"unseen\">of the GPU</span>"}, "th");
  for (const auto& [k, amount] : parts) {
    std::string label{text(static_cast<row>(k))};
    std::replace(label.begin(), label.end(), '_', ' ');
    out += html_row(std::array{label, gib_text(amount), html_bar(in_gib(amount) / whole, 0, svg_colours[k])});
  }
  for (const auto& [label, amount] : {std::pair{"allocated", r.allocated}, std::pair{"reserved", r.reserved}, std::pair{"device", r.device}})
    out += html_row(std::array{std::string{label}, gib_text(amount), html_bar(in_gib(amount) / whole, capacity, "#8a8f98")}, "td", "own");
  return out + "</table></div>\n";
}

inline std::string value_text(const knob& k, std::int64_t value) {
  return k.key == knobs::recompute.key ? std::string{text_of(static_cast<recompute_mode>(value))} : grouped(value);
}

/// Why there is no report of a setting, without the library's name.
inline std::string html_refusal(const setting& s) {
  const std::string_view why = s.refused, prefix = "headroom: ";
  return "not possible here" + (why.empty() ? std::string{} : ": " + escaped(why.starts_with(prefix) ? why.substr(prefix.size()) : why));
}

/// One knob: memory of the tightest GPU and speed at each value.
inline std::string html_knob(const what_if& w) {
  double whole = 0.01;
  for (const auto& s : w.settings)
    if (s.report) whole = std::max({whole, in_gib(s.report->device()), in_gib(s.report->tightest().capacity)});
  // A value far above the capacity would leave nothing of the others to see.
  for (const auto& s : w.settings)
    if (s.report) whole = std::min(whole, 2.5 * std::max(in_gib(s.report->tightest().capacity), 0.01));
  std::string out = "<div><h3>" + escaped(w.knob->key) + "</h3>\n<div class=\"scroll\"><table>\n" +
                    html_row(std::array<std::string, 4>{"value", "device", "<span class=\"unseen\">of the GPU</span>", "tokens/s per GPU"}, "th");
  for (const auto& s : w.settings) {
    const auto name = value_text(*w.knob, s.value) + (s.own ? " <span class=\"dim\">(the job's)</span>" : "");
    if (!s.report) {
      out += "<tr" + std::string{s.own ? " class=\"own\"" : ""} + "><th scope=\"row\">" + name + "</th><td colspan=\"3\" class=\"why dim\">" + html_refusal(s) + "</td></tr>\n";
      continue;
    }
    const bool fitting = s.report->fits();
    const double device = in_gib(s.report->device()), capacity = in_gib(s.report->tightest().capacity);
    out += html_row(std::array{name, "<span class=\"" + std::string{fitting ? "fits" : "over"} + "\">" + gib_text(s.report->device()) + "<span class=\"unseen\">" + (fitting ? " fits" : " does not fit") + "</span></span>",
                               html_bar(device / whole, capacity / whole, fitting ? "#5c8fc7" : "#e0a39a"),
                               s.cost ? grouped(static_cast<std::int64_t>(s.cost->tokens_per_second_per_gpu())) : std::string{"–"}},
                    "td", s.own ? "own" : "");
  }
  return out + "</table></div></div>\n";
}

/// What would make it fit, as the terminal has it.
inline std::string html_advice(const std::vector<advice>& all) {
  if (all.empty()) return "<h2>What would help</h2>\n<p>No three of the changes that headroom knows make it fit.</p>\n";
  std::string out = "<h2>What would make it fit</h2>\n<p class=\"dim\">Each alone, the least change first: the tightest GPU's new peak and the predicted time.</p>\n<ul>\n";
  for (const auto& a : all)
    out += "<li>" + escaped(changes_text(a)) + "<span class=\"dim\">: " + gib_text(a.outcome.device) + ", " + gib_text(a.outcome.headroom) + " of headroom" + escaped(time_text(a)) + "</span></li>\n";
  return out + "</ul>\n";
}

/// A picture for wide screens, and one whose words are as large for narrow ones.
template <class Draw>
std::string html_picture(Draw draw) {
  return "<div class=\"wide\">" + draw(svg_layout{.heading = false}) + "</div>\n<div class=\"narrow\">" + draw(svg_layout{.width = 343, .heading = false}) + "</div>\n";
}

inline std::string html_head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>" + title +
         "</title>\n<style>" + std::string{html_style} + "</style>\n</head>\n<body>\n<main>\n<h1>" + title + "</h1>\n";
}

}  // namespace detail

/// The report of `j` as one HTML document.
template <class Ranks>
std::string to_html(const basic_report<Ranks>& r, const job& j, const html_details& with = {}) {
  const auto name = j.model.label.empty() ? std::string{"model"} : std::string{j.model.label.view()};
  auto out = detail::html_head(detail::escaped(name) + " on " + std::to_string(j.hardware.gpus()) + " × " + detail::escaped(j.hardware.accelerator().label.view()));
  out += "<p class=\"verdict " + std::string{r.fits() ? "fits" : "over"} + "\">" + verdict_text(r) + "</p>\n<p>" + detail::escaped(detail::range_text(r, with.sure)) + ".</p>\n<p class=\"dim\">" +
         count_text(r.parameter_count.total.count()) + " parameters · " + detail::escaped(detail::plan_text(j));
  if (with.time != nullptr)
    out += " · " + fixed(with.time->step.value, 2) + " s a step, " + grouped(static_cast<std::int64_t>(with.time->tokens_per_second_per_gpu())) + " tokens/s per GPU";
  out += "</p>\n<h2>One training step</h2>\n" + detail::html_picture([&](const svg_layout& as) { return to_svg(r, j, as); });
  if (with.help != nullptr) out += detail::html_advice(*with.help);
  if (!with.step.empty())
    out += "<h2>The same step over time</h2>\n<p class=\"dim\">What is alive after each event of a replayed step, in GiB; the time between events is not to scale.</p>\n" +
           detail::html_picture([&](const svg_layout& as) { return to_svg(with.step, r, as); });
  out += "<h2>What the peak is made of</h2>\n<div class=\"knobs\">\n";
  for (const auto& rank : r) out += "<div>" + detail::html_rank(rank, r.staged()) + "</div>\n";
  out += "</div>\n";
  if (r.host.per_node > bytes{0} || r.nvme_per_node > bytes{0})
    out += "<p>Host memory per node: " + gib_text(r.host.per_node) + " (" + gib_text(r.host.pinned_per_node) + " pinned). NVMe per node: " + gib_text(r.nvme_per_node) + ".</p>\n";
  if (!with.others.empty()) {
    out += "<h2>What if</h2>\n<p class=\"dim\">One setting changed at a time, the rest as it is; the red mark is what a GPU can hold.</p>\n<div class=\"knobs\">\n";
    for (const auto& w : with.others) out += detail::html_knob(w);
    out += "</div>\n";
  }
  out += "<h2>Assumptions</h2>\n<ul>\n";
  for (int i = 0; i < assumption_count; ++i)
    if (const auto a = static_cast<assumption>(i); r.assumptions.has(a)) out += "<li>" + detail::escaped(assumption_text(a)) + "</li>\n";
  return out + "</ul>\n</main>\n</body>\n</html>\n";
}

}  // namespace headroom::io
