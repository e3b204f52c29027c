// Distributed under the Boost Software License, Version 1.0.
// A report as a person reads it: the verdict, what occupies each kind of rank at its peak, the moments of a step.
#pragma once

#include <algorithm>
#include <headroom/bounds.hpp>
#include <headroom/io/report/assumptions.hpp>
#include <headroom/io/report/imported.hpp>
#include <headroom/io/report/measured_text.hpp>
#include <headroom/io/report/phase_words.hpp>
#include <headroom/io/report/rollout_text.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/syntax/names.hpp>
#include <headroom/job.hpp>
#include <headroom/model/images.hpp>
#include <string>
#include <utility>
#include <vector>

namespace headroom::io {
namespace detail {

inline constexpr std::size_t label_width = 23;
inline constexpr std::size_t number_width = 11;
inline constexpr int bar_width = 30;

/// ", 2 images of 1,288 x 728 pixels": what a tower beside a text reads of each sample, tiles counted one by one; of InternVL's with how many an image is cut into at most.
inline std::string images_text(const job& j) {
  if (j.model.vision.layers == 0 || j.batch.images.none) return {};
  const auto v = seen(j.model.vision, j.batch.images);
  const auto edge = tile_edge(v);
  if (edge == 0) return {};
  const auto& b = j.batch.images;
  const auto several = [](std::int64_t n, const char* what) { return std::to_string(n) + " " + what + (n > 1 ? "s of " : " of "); };
  const auto count = b.count > 0 ? b.count : 1;
  auto text = ", " + (b.video() ? several(count, "video") + several(headroom::detail::frames_read(b), "frame") : several(tiles(v), "image"));
  text += b.pixels > 0 ? grouped(b.pixels) : grouped(edge) + " x " + grouped(v.image_height > 0 ? v.image_height : edge);
  text += " pixels";
  const auto most = v.grid > 0 ? v.grid : headroom::detail::usual_tiles;
  if (headroom::detail::tiles_by_shape(v.kind) && j.model.vision.slices == 0 && b.width > 0) text += ", at most " + std::to_string(most) + " tiles of each";
  return text;
}

/// "deepspeed, zero stage 3, data 8 x tensor 2".
inline std::string plan_text(const job& j) {
  std::string text{j.framework.label.view()};
  if (!j.sharding.by(sharder::nobody)) {
    text += ", " + std::string{text_of(j.sharding.kind)};
    if (j.sharding.divides()) text += " stage " + std::to_string(j.sharding.stage);
  }
  const std::pair<std::int64_t, const char*> degrees_said[] = {{j.parallel.tensor, "tensor"},
                                                               {j.parallel.context, "context"},
                                                               {j.parallel.expert, "expert"},
                                                               {j.parallel.pipeline, "pipeline"}};
  for (const auto& [degree, name] : degrees_said)
    if (degree > 1) text += ", " + std::string{name} + " " + std::to_string(degree);
  if (j.parallel.pipeline > 1 && j.parallel.schedule != usual_schedule(1))
    text += " (" + std::string{text_of(j.parallel.schedule)} + ")";
  text += ", batch " + std::to_string(j.batch.micro) + " x " + (j.batch.varies() ? "up to " : "") + grouped(j.batch.longest());
  if (j.batch.accumulation > 1) text += " x " + std::to_string(j.batch.accumulation);
  if (const auto n = sequences_of(j.objective); n > 1) text += n == 2 ? " pairs" : " groups of " + std::to_string(n);
  if (j.objective.kind != objective_kind::sft) text += ", " + std::string{text_of(j.objective.kind)};
  text += images_text(j);
  if (j.recompute.mode != recompute_mode::none) text += ", " + std::string{text_of(j.recompute.mode)} + " recompute";
  return text;
}

inline std::string line(std::string_view label, bytes value, bytes whole, const palette& ink, std::string_view after = {}) {
  const double share = whole > bytes{0} ? in_gib(value) / in_gib(whole) : 0.0;
  return "  " + left(label, label_width) + right(gib_text(value), number_width) + right(fixed(share * 100.0, 1) + " %", 9) +
         "  " + ink.hue(bar(share, bar_width)) + std::string{after} + "\n";
}

inline std::string peak_text(const rank_report& r) {
  std::string text = phase_words(r.peak_phase);
  if (r.peak_layer >= 0) text += " of layer " + std::to_string(r.peak_layer);
  return text;
}

/// "reserved, by the order of samples   21.35 to 31.79 GiB in 8 of 10 orders, median 28.38" and what must be there.
inline std::string lengths_text(const reserved_orders& l, const palette& ink) {
  if (!l.given()) return {};
  std::string text = "  " + left("  by order of samples", label_width) + right(gib_text(l.low), number_width) + " to " + gib_text(l.high);
  text += ink.dim("  8 of 10 of " + std::to_string(l.orders) + (l.orders == 1 ? " order" : " orders") + " of " + std::to_string(l.micro_batches) + " micro-batches") + "\n";
  text += "  " + left("  must be there", label_width) + right(gib_text(l.least), number_width) + ink.dim("  with less a step finds no room, whatever is given back") + "\n";
  return text;
}

inline std::string rank_text(const rank_report& r, bool staged, const palette& ink) {
  std::string head = std::to_string(r.count) + " x " + std::string{r.gpu.view()};
  if (staged) head += ", pipeline stage " + std::to_string(r.pipeline_stage);
  std::string text = ink.bold(head) + ink.dim("  peak in " + peak_text(r)) + "\n";
  for (int i = 0; i < row_count; ++i) {
    const auto kind = static_cast<row>(i);
    if (r.at_peak[kind] == bytes{0}) continue;
    std::string label{headroom::text(kind)};
    std::replace(label.begin(), label.end(), '_', ' ');
    text += line(label, r.at_peak[kind], r.allocated, ink);
  }
  text += "  " + left("allocated", label_width) + ink.bold(right(gib_text(r.allocated), number_width)) + "\n";
  text += "  " + left("active", label_width) + right(gib_text(r.active), number_width) + "\n";
  text += "  " + left("reserved", label_width) + right(gib_text(r.reserved), number_width) + "\n";
  text += lengths_text(r.lengths, ink);
  text += "  " + left("outside the allocator", label_width) +
          right(gib_text(r.outside.total()), number_width) +
          ink.dim("  context " + gib_text(r.outside.context) + ", NCCL " + gib_text(r.outside.nccl) + (r.outside.engine > bytes{0} ? ", engine " + gib_text(r.outside.engine) : std::string{})) + "\n";
  const double share = r.capacity > bytes{0} ? in_gib(r.device) / in_gib(r.capacity) : 0.0;
  text += "  " + left("device", label_width) + ink.bold(right(gib_text(r.device), number_width)) +
          right(fixed(share * 100.0, 1) + " %", 9) + "  " +
          (r.fits() ? ink.good(bar(share, bar_width)) : ink.bad(bar(share, bar_width))) + " of " + gib_text(r.capacity) +
          (r.taken > bytes{0} ? ink.dim(", others hold " + gib_text(r.taken)) : "") + "\n\n";
  const auto tallest = *std::max_element(r.phases.begin(), r.phases.end());
  for (int i = 0; i < phase_count; ++i) {
    const auto p = static_cast<phase>(i);
    if (!in_every_step(p) && !r.has(p)) continue;
    const double height = tallest > bytes{0} ? in_gib(r[p]) / in_gib(tallest) : 0.0;
    const bool peak = p == r.peak_phase && r[p] > bytes{0};
    text += "  " + left(headroom::text(p), label_width) + right(r.has(p) ? gib_text(r[p]) : "–", number_width) + std::string(11, ' ') +
            ink.hue(bar(height, bar_width)) + (peak ? ink.bold(" ◀ peak") : "") + "\n";
  }
  return text + "\n";
}

/// Broken at spaces into lines of at most `width`, after the first indented.
inline std::string wrapped(std::string_view text, std::string_view first, std::size_t width = 100) {
  std::string out{first};
  const std::string indent(width_of(first), ' ');
  std::size_t column = width_of(first);
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    if (column > indent.size() && column + 1 + word.size() > width) {
      out += "\n" + indent;
      column = indent.size();
    } else if (column > indent.size()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\n";
}

/// "95 % sure: device memory between 30.10 GiB and 35.90 GiB (least certain: driver reading, context); fits even then".
template <class Ranks>
std::string range_text(const basic_report<Ranks>& r, confidence sure) {
  const auto& rank = r.tightest();
  const auto seen = bounds(r, sure);
  const uncertainty* widest[2]{};
  bytes width[2]{};
  for (const auto& s : uncertainties) {
    if (!applies(s, r.assumptions, reading::device)) continue;
    const auto one = deviation_of(s, rank);
    const auto w = max(one.below, one.above);
    if (w > width[0]) {
      width[1] = std::exchange(width[0], w);
      widest[1] = std::exchange(widest[0], &s);
    } else if (w > width[1]) {
      width[1] = w;
      widest[1] = &s;
    }
  }
  std::string text = fixed(sure.share() * 100.0, sure.per_mille % 10 == 0 ? 0 : 1) + " % sure: device memory between " + gib_text(seen.low) + " and " + gib_text(seen.high);
  if (widest[0] != nullptr) text += " (least certain: " + std::string{widest[0]->from} + (widest[1] != nullptr ? ", " + std::string{widest[1]->from} : "") + ")";
  std::replace(text.begin(), text.end(), '_', ' ');
  if (r.fits()) text += fits(r, sure) ? "; fits even then" : "; may not fit then";
  return text;
}

template <class Ranks>
std::string off_gpu_text(const basic_report<Ranks>& r, const palette& ink) {
  std::string text;
  const auto judged = [&](bytes used, bytes capacity) {
    if (capacity == bytes{0}) return std::string{};
    return " of " + gib_text(capacity) + (used > capacity ? ink.bad("  DOES NOT FIT") : "");
  };
  if (r.host.per_node > bytes{0})
    text += "  " + left("host, per node", label_width) + right(gib_text(r.host.per_node), number_width) +
            judged(r.host.per_node, r.host.capacity) +
            ink.dim("  at " + std::string{headroom::text(r.host.at)} + ", " + gib_text(r.host.pinned_per_node) + " pinned") +
            "\n";
  if (r.nvme_per_node > bytes{0})
    text += "  " + left("NVMe, per node", label_width) + right(gib_text(r.nvme_per_node), number_width) +
            judged(r.nvme_per_node, r.nvme_capacity) + "\n";
  return text.empty() ? text : ink.bold("Off the GPU") + "\n" + text + "\n";
}

/// Below an assumption, what it is about.
inline std::string listed_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& one : words) text += wrapped(one, "         - ");
  return text;
}

/// What stands above all numbers: the job, the verdict, its range, and what was assumed where that decides.
template <class Ranks>
std::string heading_text(const basic_report<Ranks>& r, const job& j, const palette& ink, confidence sure, const imported_words& imported = {}) {
  std::string text;
  const auto label = j.model.label.empty() ? std::string{"model"} : std::string{j.model.label.view()};
  text += ink.bold(label) + ", " + io::count_text(r.parameter_count.total.count()) + " parameters";
  if (r.parameter_count.trainable != r.parameter_count.total)
    text += " (" + io::count_text(r.parameter_count.trainable.count()) + " trained)";
  for (std::size_t i = 0; i < j.hardware.kinds(); ++i)
    text += (i == 0 ? ", " : " + ") + std::to_string(j.hardware.count(i)) + " x " + std::string{j.hardware.accelerator(i).label.view()};
  text += "\n";
  text += ink.dim(plan_text(j)) + "\n";
  if (j.rollout.given()) text += wrapped(rollout_text(j), "");
  if (j.evaluation.given()) text += wrapped(evaluation_text(j), "");
  text += r.fits() ? ink.good(verdict_text(r)) : ink.bad(verdict_text(r));
  text += "\n" + ink.dim(range_text(r, sure)) + "\n";
  for (const auto& a : all_assumptions) {
    if (a.why != without_spread::decides || !r.assumptions.has(a.id) || a.id == assumption::corrected_by_run) continue;
    text += wrapped(a.sentence, "Assumed: ");
    if (a.id == assumption::open_defaults) text += listed_text(imported.assumed);
    if (a.id == assumption::keys_ignored) text += listed_text(imported.ignored);
  }
  if (const auto corrected = measured_text(r); !corrected.empty()) text += wrapped(corrected, "");
  return text;
}

}  // namespace detail

/// The report of `j` in lines of at most about a hundred characters. `colour`: with escape sequences for a terminal. Ranges are those
/// of a confidence. `imported`: what the job's import wrote beside it.
template <class Ranks>
std::string to_text(const basic_report<Ranks>& r, const job& j, bool colour = false, confidence sure = {}, const imported_words& imported = {}) {
  const palette ink{colour};
  auto text = detail::heading_text(r, j, ink, sure, imported);
  text += "\n";
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i) text += detail::rank_text(r.ranks[i], r.staged(), ink);
  text += detail::off_gpu_text(r, ink);
  bool first = true;
  for (int i = 0; i < assumption_count; ++i) {
    if (!r.assumptions.has(static_cast<assumption>(i))) continue;
    if (first) text += ink.bold("Assumed") + "\n";
    first = false;
    text += detail::wrapped(assumption_text(static_cast<assumption>(i)), "  - ");
  }
  return text;
}

}  // namespace headroom::io
