// Distributed under the Boost Software License, Version 1.0.
// How long the samples of a data set are, and in which order a trainer takes them: what a trainer without packing pads each micro-batch to.
#pragma once

#include <array>
#include <cstdint>

namespace headroom {

/// So many samples of `from` to `to` tokens, spread evenly over these lengths.
struct length_bucket {
  std::int32_t from{}, to{};
  std::int64_t samples{};
  bool operator==(const length_bucket&) const = default;
};

/// What becomes of samples longer than batch.sequence.
enum class longer_samples : std::uint8_t { unset, truncated, deleted };

/// In which order samples come: by chance; the shortest first; the longest first; or grouped by length as transformers does
/// (trainer_pt_utils.py get_length_grouped_indices): by chance into groups of 50 steps' samples, each sorted with the longest first, and the
/// longest sample of all at the front.
enum class sample_order : std::uint8_t { shuffled, sorted, longest_first, grouped };

/// Lengths in tokens: a histogram, or a log-normal distribution with a mean and a standard deviation, cut at `least` and `most`.
struct sample_lengths {
  static constexpr std::int32_t most_buckets = 16;

  std::int64_t mean{}, deviation{};   ///< of a log-normal distribution, before it is cut
  std::int64_t least{}, most{};       ///< of it; 0: not known
  std::array<length_bucket, most_buckets> histogram{};
  std::int32_t buckets{};             ///< of the histogram; the shortest first
  longer_samples longer{};
  sample_order order{};
  bool unknown{};                     ///< they have lengths of their own, of which nobody knows more: batch.sequence is a limit, or a guess
  std::int64_t pad_to_multiple{};     ///< micro-batches are padded to a multiple of this; 0, 1: to their longest sample alone
  std::int64_t samples{};             ///< that a run sees, of all ranks together; 0: not known

  [[nodiscard]] constexpr bool given() const { return mean > 0 || buckets > 0; }
  /// The longest sample of the data; 0: not known.
  [[nodiscard]] constexpr std::int64_t longest() const { return buckets > 0 ? histogram[static_cast<std::size_t>(buckets - 1)].to : most; }
  /// The longest that is left of samples where none is longer than a limit; 0: none is.
  [[nodiscard]] constexpr std::int64_t longest_within(std::int64_t limit) const {
    if (longer != longer_samples::deleted || buckets == 0) return longest() > 0 && longest() < limit ? longest() : limit;
    std::int64_t r = 0;
    for (std::int32_t i = 0; i < buckets; ++i) {
      const auto& b = histogram[static_cast<std::size_t>(i)];
      if (b.from <= limit) r = b.to < limit ? b.to : limit;
    }
    return r;
  }
  /// How long a token's own sample is on average, of samples that a limit has cut: Σ length² / Σ length. Of a log-normal distribution
  /// (mean² + deviation²) / mean, before `least` and `most` cut it, and at most the longest that is left. 0 where no sample is left.
  [[nodiscard]] constexpr double of_a_token(std::int64_t limit) const {
    const auto top = static_cast<double>(longest_within(limit));
    double lengths = 0, squares = 0;
    const auto add = [&](double from, double to, double many) {  // spread evenly over whole lengths
      const double middle = (from + to) / 2, count = to - from + 1;
      lengths += many * middle;
      squares += many * (middle * middle + (count * count - 1) / 12);
    };
    for (std::int32_t i = 0; i < buckets; ++i) {
      const auto& b = histogram[static_cast<std::size_t>(i)];
      const auto from = static_cast<double>(b.from), to = static_cast<double>(b.to), each = static_cast<double>(b.samples) / (to - from + 1);
      const double end = to < top ? to : top;
      if (from <= end) add(from, end, each * (end - from + 1));
      const double beyond = to - (from <= end ? end : from - 1);
      if (longer == longer_samples::truncated && beyond > 0) add(top, top, each * beyond);
    }
    if (buckets > 0) return lengths > 0 ? squares / lengths : 0;
    const auto m = static_cast<double>(mean), d = static_cast<double>(deviation);
    const double of = (m * m + d * d) / m;
    return of < top ? of : top;
  }
  /// What a micro-batch whose longest sample has so many tokens is padded to.
  [[nodiscard]] constexpr std::int64_t padded(std::int64_t length) const {
    return pad_to_multiple > 1 ? (length + pad_to_multiple - 1) / pad_to_multiple * pad_to_multiple : length;
  }
  bool operator==(const sample_lengths&) const = default;
};

}  // namespace headroom
