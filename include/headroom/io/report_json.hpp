// Distributed under the Boost Software License, Version 1.0.
// A report as JSON: the keys of the contract, in its order. Bytes are integers.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/report/assumptions.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom::io {

/// JSON whose keys keep their order.
using ordered_json = nlohmann::ordered_json;

/// What lies outside the allocator, in bytes.
inline ordered_json to_json(const outside_allocator& o) {
  ordered_json out = {{"context", o.context.count()}, {"nccl", o.nccl.count()}};
  if (o.engine > bytes{0}) out["engine"] = o.engine.count();
  return out;
}

/// Bytes by row of the report.
inline ordered_json to_json(const breakdown& b) {
  ordered_json out = ordered_json::object();
  for (int i = 0; i < row_count; ++i) {
    const auto r = static_cast<row>(i);
    out[std::string{text(r)}] = b[r].count();
  }
  return out;
}

/// A range in bytes.
inline ordered_json to_json(const byte_range& r) { return {{"low", r.low.count()}, {"high", r.high.count()}}; }

/// The range of each of the four numbers.
template <class Ranks>
ordered_json bounds_json(const basic_report<Ranks>& all, const rank_report& r, confidence sure) {
  ordered_json out = ordered_json::object();
  for (int i = 0; i < reading_count; ++i) out[std::string{text(static_cast<reading>(i))}] = to_json(bounds(all, r, static_cast<reading>(i), sure));
  return out;
}

/// What makes the range of `device`: each source of error with one standard deviation to either side.
inline ordered_json errors_json(const assumption_set& listed, const rank_report& r) {
  auto out = ordered_json::array();
  for (const auto& s : uncertainties) {
    const auto one = deviation_of(s, r);
    if (!applies(s, listed, reading::device) || one.of == bytes{0}) continue;
    out.push_back({{"from", std::string{s.from}}, {"of", one.of.count()}, {"below", one.below.count()}, {"above", one.above.count()}});
  }
  return out;
}

/// What a rank reserves by the order of its samples.
inline ordered_json to_json(const reserved_orders& l) {
  return {{"reserved", {{"p10", l.low.count()}, {"p50", l.median.count()}, {"p90", l.high.count()}}}, {"least", l.least.count()}, {"orders", l.orders}, {"micro_batches", l.micro_batches}};
}

/// What a measured run has moved each number by, what is left of its range in thousandths, and what of that run is not explained.
inline ordered_json to_json(const measured_effect& m) {
  ordered_json out = {{"moved", ordered_json::object()}, {"left", ordered_json::object()}, {"unexplained", ordered_json::object()}};
  for (std::size_t i = 0; i < reading_count; ++i) {
    const std::string name{text(static_cast<reading>(i))};
    out["moved"][name] = m.moved[i].count();
    out["left"][name] = {{"below", m.below[i]}, {"above", m.above[i]}};
    out["unexplained"][name] = m.unexplained[i].count();
  }
  return out;
}

/// One kind of rank. It fits where what it needs (`device`; with `lengths`, `least` and what lies outside the allocator) and `fragmentation` together
/// are within `capacity`, and may fit where that without `surplus` is.
template <class Ranks>
ordered_json to_json(const basic_report<Ranks>& all, const rank_report& r, confidence sure) {
  ordered_json phases = ordered_json::object();
  for (int i = 0; i < phase_count; ++i) {
    const auto p = static_cast<phase>(i);
    if (!in_every_step(p) && !r.has(p)) continue;
    phases[std::string{text(p)}] = r.has(p) ? ordered_json(r[p].count()) : ordered_json(nullptr);
  }
  ordered_json out = {{"pipeline_stage", r.pipeline_stage},
          {"count", r.count},
          {"gpu", std::string{r.gpu.view()}},
          {"allocated", r.allocated.count()},
          {"active", r.active.count()},
          {"reserved", r.reserved.count()},
          {"device", r.device.count()},
          {"fragmentation", r.fragmentation.count()},
          {"surplus", r.surplus.count()},
          {"peak_phase", std::string{text(r.peak_phase)}},
          {"peak_layer", r.peak_layer},
          {"at_peak", to_json(r.at_peak)},
          {"outside_allocator", to_json(r.outside)},
          {"phases", std::move(phases)},
          {"capacity", r.capacity.count()},
          {"taken", r.taken.count()},
          {"fits", r.fits()},
          {"headroom", r.headroom().count()},
          {"bounds", bounds_json(all, r, sure)},
          {"errors", errors_json(all.assumptions, r)}};
  if (r.measured.given) out["measured"] = to_json(r.measured);
  if (r.lengths.given()) out["lengths"] = to_json(r.lengths);
  return out;
}

/// The whole report. `at_peak` of each rank adds up to its `allocated`; a phase that a rank's step does not have is null. Ranges are those
/// of a confidence.
template <class Ranks>
ordered_json to_json(const basic_report<Ranks>& r, confidence sure = {}) {
  ordered_json ranks = ordered_json::array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i) ranks.push_back(to_json(r, r.ranks[i], sure));
  ordered_json assumptions = ordered_json::array();
  for (int i = 0; i < assumption_count; ++i)
    if (r.assumptions.has(static_cast<assumption>(i)))
      assumptions.push_back(std::string{assumption_text(static_cast<assumption>(i))});
  const auto seen = bounds(r, sure);
  ordered_json out = {{"ranks", std::move(ranks)},
          {"host",
           {{"per_node", r.host.per_node.count()},
            {"pinned_per_node", r.host.pinned_per_node.count()},
            {"at", std::string{text(r.host.at)}}}},
          {"nvme", {{"per_node", r.nvme_per_node.count()}}},
          {"parameters",
           {{"total", r.parameter_count.total.count()},
            {"trainable", r.parameter_count.trainable.count()},
            {"active", r.parameter_count.active.count()}}},
          {"fits", r.fits()},
          {"bounds", {{"low", seen.low.count()}, {"high", seen.high.count()}, {"confidence", sure.share()}, {"fits", fits(r, sure)}}},
          {"assumptions", std::move(assumptions)}};
  if (r.kinds > r.size) out["kinds"] = r.kinds;  // of which `ranks` shows those that decide; a full_report shows all
  return out;
}

/// [{"changes", "device", "headroom"}], the least change first.
inline ordered_json to_json(const std::vector<advice>& all) {
  auto list = ordered_json::array();
  for (const auto& a : all) {
    auto changes = ordered_json::array();
    for (const auto* c : a.changes) changes.push_back(std::string{c->text});
    list.push_back({{"changes", changes}, {"device", a.outcome.device.count()}, {"headroom", a.outcome.headroom.count()}});
    if (a.regroups()) list.back()["accumulation"] = a.job.batch.accumulation;
    if (a.larger != 1) list.back()["relative_sequences"] = a.larger;
    if (a.seconds > 0) list.back().update({{"step_seconds", a.seconds}, {"relative_time", a.slower}});
  }
  return list;
}

}  // namespace headroom::io
