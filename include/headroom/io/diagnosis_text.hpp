// Distributed under the Boost Software License, Version 1.0.
// Advice and diagnoses in sentences.
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/io/change_spelling.hpp>
#include <headroom/io/report/text_table.hpp>

#include <cmath>
#include <string>

namespace headroom::io {

namespace detail {
inline std::string fixed_or_whole(double x) { return x == std::floor(x) ? std::to_string(std::llround(x)) : fixed(x, 2); }
}  // namespace detail

/// The changes of one advice in a line, each with the framework's own spelling behind it; how many micro-batches a replica accumulates where it has others
/// beside it than before, and what a step reads where it is not as many sequences.
inline std::string changes_text(const advice& a) {
  std::string text;
  for (const auto* c : a.changes) {
    const auto theirs = spelling_of(*c, a.job);
    text += (text.empty() ? "" : "; ") + std::string{c->text} + (theirs.empty() ? "" : " (" + theirs + ")");
    if (!c->text.starts_with("parallel.stage_layers")) continue;
    text += ":";
    for (std::int32_t i = 0; i < chunks_given(a.job.parallel); ++i) text += " " + std::to_string(a.job.parallel.stage_layers[i]);
  }
  if (a.regroups()) text += "; batch.accumulation " + std::to_string(a.job.batch.accumulation);
  if (a.larger != 1) text += "; " + detail::fixed_or_whole(a.larger) + " times the sequences a step";
  return text;
}

namespace detail {

/// What it costs: "12.31 s a step, 25 % more time a token".
inline std::string time_text(const advice& a) {
  if (a.seconds <= 0) return "";
  const auto percent = std::lround(100 * (a.slower - 1));
  const auto change = percent == 0 ? std::string{"as fast"} : a.slower >= 2 ? fixed(a.slower, 1) + " times the time a token" : std::to_string(percent > 0 ? percent : -percent) + (percent > 0 ? " % more" : " % less") + " time a token";
  return "; " + fixed(a.seconds, a.seconds < 10 ? 3 : 2) + " s a step, " + change;
}

}  // namespace detail

/// One line each, with the tightest GPU's new peak and the predicted time of a step.
inline std::string advice_text(const std::vector<advice>& all, const palette& ink) {
  if (all.empty()) return ink.bold("What would help") + "\n  No three of the changes that headroom knows make it fit.\n";
  std::string text = ink.bold("What would make it fit") + ink.dim(", each alone, the least change first: the tightest GPU's new peak and the predicted time") + "\n";
  for (const auto& a : all)
    text += "  - " + changes_text(a) + ink.dim(": " + gib_text(a.outcome.device) + ", " + gib_text(a.outcome.headroom) + " of headroom" + detail::time_text(a)) + "\n";
  return text;
}

namespace detail {

inline std::string said(const std::optional<printed_size>& s) { return s ? gib_text(s->value) : "an amount it does not say"; }

inline std::string cause_text(const diagnosis& d, const oom_message& m) {
  switch (d.why) {
    case cause::fragmentation:
      return "Fragmentation: " + said(m.asked) + " were asked for while PyTorch held " + said(m.unallocated) +
             " in no tensor, in pieces too small. expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF joins them.";
    case cause::engine_share:
      return "The engine's share of the GPU (vLLM's gpu_memory_utilization) leaves nothing for keys and values beside its weights: rollout.share must be larger, or more GPUs share the weights.";
    case cause::other_processes:
      if (m.what == exhausted::engine)
        return "The GPU was taken already: the engine is to have " + said(m.asked) + ", of " + said(m.capacity) + " " + said(m.free) + " were free. What trains on the same GPU, or another process, holds " +
               gib_text(d.others.value_or(bytes{0})) + ".";
      return "Another process: of the GPU's " + said(m.capacity) + " others hold " + gib_text(d.others.value_or(bytes{0})) + ".";
    case cause::outside:
      return "Outside PyTorch's allocator: a CUDA context, NCCL or a library handle found no room beside what PyTorch keeps cached.";
    case cause::host:
      return m.what == exhausted::killed ? "The process was killed, which is what Linux does when the node's memory runs out: not the GPU's."
                                         : "The node's memory, not the GPU's: " + said(m.asked) + " were asked for at once.";
    case cause::capacity:
      break;
  }
  return "Capacity: " + said(m.allocated) + " of live tensors, " + said(m.asked) + " more asked for, " + said(m.free) + " free of " + said(m.capacity) + ".";
}

}  // namespace detail

/// A diagnosis in sentences: what ran out, in which phase, how much was asked for and what for.
template <class Ranks>
std::string diagnosis_text(const diagnosis& d, const oom_message& m, const basic_report<Ranks>& r) {
  std::string text = detail::cause_text(d, m) + "\n";
  if (d.died_in)
    text += (d.seen ? "By its traceback it died in the phase " + std::string{headroom::text(*d.died_in)}
                    : "By the estimate the " + std::string{headroom::text(*d.died_in)} + " is the first phase that needs more than there is") + ".\n";
  if (!d.suspects.empty()) {
    text += "As large as what was asked for:\n";
    for (const auto& s : d.suspects) text += "  - " + s.what + ", in the " + std::string{headroom::text(s.when)} + " (" + gib_text(s.size) + ")\n";
  } else if (m.asked && d.why == cause::capacity) {
    text += m.asked->value <= 20 * mib ? "A segment for small tensors was asked for; any of them may have been the last.\n"
                                       : "No tensor of the job is as large as what was asked for: the run may have had other sizes.\n";
  }
  if (d.unpredicted) {
    const auto apart = *d.unpredicted;
    text += "Live tensors and what was asked for are " + gib_text(max(apart, -apart)) + (apart > bytes{0} ? " more" : " less") +
            " than the tallest moment of the estimate (" + gib_text(r.tightest().allocated) + ")" +
            (apart > bounds(r, r.tightest(), reading::allocated, 0.99).high - r.tightest().allocated && apart > bytes{0} ? ": the run was not the job that the file describes.\n" : ".\n");
  }
  return text;
}

}  // namespace headroom::io
