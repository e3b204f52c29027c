// Distributed under the Boost Software License, Version 1.0.
// Lengths of samples that contradict themselves, leave open what decides, or are of a trainer that makes all samples of one length.
#pragma once

#include <headroom/job.hpp>

namespace headroom::detail {

inline constexpr std::int64_t most_tokens = std::int64_t{1} << 30;

constexpr objection check_histogram(const sample_lengths& l, const auto& no) {
  if (l.buckets > sample_lengths::most_buckets) return no("headroom: batch.lengths.histogram must have at most 16 buckets; it has", l.buckets);
  for (std::int32_t i = 0, end = 0; i < l.buckets; ++i) {
    const auto& b = l.histogram[static_cast<std::size_t>(i)];
    if (b.from <= end || b.to < b.from || b.to > most_tokens) return no("headroom: the buckets of batch.lengths.histogram must rise, each [from, to, samples] with lengths from 1 to 2^30 that no other has; one ends at", b.to);
    if (b.samples < 1 || b.samples > (std::int64_t{1} << 40)) return no("headroom: each bucket of batch.lengths.histogram must have from 1 to 2^40 samples; one has", b.samples);
    end = b.to;
  }
  return {};
}

constexpr objection check_distribution(const sample_lengths& l, const auto& no) {
  if (l.mean > most_tokens) return no("headroom: batch.lengths.mean must be a whole number of tokens from 1 to 2^30", l.mean);
  if (l.deviation < 0 || l.deviation > most_tokens) return no("headroom: batch.lengths.deviation must be a whole number of tokens from 0 to 2^30", l.deviation);
  if (l.least < 0 || l.most < 0 || l.most > most_tokens) return no("headroom: batch.lengths.least and most must be 0 (not known) or numbers of tokens up to 2^30; most", l.most);
  if (l.most > 0 && (l.mean > l.most || l.mean < l.least)) return no("headroom: batch.lengths.mean must lie between least and most", l.mean);
  return {};
}

/// Which jobs have samples of different lengths.
constexpr objection check_lengths(const job& j, const auto& no) {
  const auto& l = j.batch.lengths;
  if (l == sample_lengths{}) return {};
  if (!l.given() && (l.mean != 0 || l.deviation != 0 || l.least != 0 || l.most != 0 || l.buckets != 0)) return no("headroom: batch.lengths needs mean and deviation, a histogram, a list or a file; mean", l.mean);
  if (l.mean > 0 && l.buckets > 0) return no("headroom: batch.lengths is either a distribution (mean, deviation) or a histogram, not both; mean", l.mean);
  if (l.unknown && l.given()) return no("headroom: batch.lengths says both how long samples are and that it is not known; leave batch.lengths.unknown out");
  if (l.given())
    if (const auto why = l.buckets > 0 ? check_histogram(l, no) : check_distribution(l, no)) return why;
  if (l.pad_to_multiple < 0 || l.pad_to_multiple > most_tokens) return no("headroom: batch.lengths.pad_to_multiple must be a number of tokens up to 2^30", l.pad_to_multiple);
  if (l.samples < 0 || l.samples > (std::int64_t{1} << 40)) return no("headroom: batch.lengths.samples must be a whole number up to 2^40", l.samples);
  if (l.given() && l.longer == longer_samples::unset && (l.longest() == 0 || l.longest() > j.batch.sequence))
    return no("headroom: batch.lengths.longer is required where samples may be longer than batch.sequence: \"truncated\" or \"deleted\"");
  if (l.given() && (l.longest_within(j.batch.sequence) < 1 || (l.longer == longer_samples::deleted && l.least > j.batch.sequence))) return no("headroom: batch.lengths leaves no sample that is at most as long as batch.sequence", j.batch.sequence);
  if (!l.given() && l.pad_to_multiple <= 1) return {};  // an order alone changes nothing
  if (!j.framework.modules.eager() || j.framework.runtime != runtime::autograd)
    return no("headroom: batch.lengths is for trainers that pad each micro-batch to its longest sample; this one makes all as long as batch.sequence; framework", j.framework.label);
  if (j.batch.packed && (l.pad_to_multiple > 1 || l.order != sample_order::shuffled))
    return no("headroom: of batch.lengths beside batch.packed the lengths alone mean something: leave order and pad_to_multiple out, since packed micro-batches are all as long as batch.sequence");
  if (j.rollout.given()) return no("headroom: batch.lengths is not modelled beside a rollout, whose longest prompt and completion are rollout.prompt and completion");
  if ((j.model.vision.kind != vision_kind::none && !j.batch.images.none) || j.model.encoder.layers > 0) return no("headroom: batch.lengths is modelled for models of text without an encoder; model", j.model.label);
  if (j.parallel.context > 1) return no("headroom: batch.lengths is not modelled with context parallelism; parallel.context", j.parallel.context);
  return {};
}

}  // namespace headroom::detail
