// Distributed under the Boost Software License, Version 1.0.
// The lengths of a run's micro-batches, in the orders in which samples may come. The same ones whenever they are asked for.
#pragma once

#include <headroom/job.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace headroom {

namespace detail {

/// A permutation by chance: Steele, Lea and Flood's SplitMix64 (2014) under Fisher's and Yates's shuffle.
template <class Iterator>
void shuffle(Iterator first, Iterator end, std::uint64_t& state) {
  for (auto n = static_cast<std::uint64_t>(end - first); n > 1; --n) {
    auto z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    std::swap(first[static_cast<std::ptrdiff_t>((z ^ z >> 31) % n)], first[static_cast<std::ptrdiff_t>(n - 1)]);
  }
}

/// The shares of samples that are at most so long, and back.
class length_distribution {
 public:
  explicit length_distribution(const sample_lengths& l) : of_(&l) {
    if (l.buckets > 0) {
      for (std::int32_t i = 0; i < l.buckets; ++i) all_ += static_cast<double>(l.histogram[static_cast<std::size_t>(i)].samples);
      return;
    }
    const double m = static_cast<double>(l.mean), d = static_cast<double>(l.deviation);
    sigma_ = std::sqrt(std::log(1 + d * d / (m * m)));
    mu_ = std::log(m) - sigma_ * sigma_ / 2;
    below_ = l.least > 1 ? normal(static_cast<double>(l.least) - 0.5) : 0.0;
    above_ = l.most > 0 ? normal(static_cast<double>(l.most) + 0.5) : 1.0;
  }
  /// The share of samples that have at most this length.
  [[nodiscard]] double share(std::int64_t length) const {
    const double x = static_cast<double>(length);
    if (of_->buckets == 0) return std::clamp((normal(x + 0.5) - below_) / (above_ - below_), 0.0, 1.0);
    double n = 0;
    for (std::int32_t i = 0; i < of_->buckets; ++i) {
      const auto& b = of_->histogram[static_cast<std::size_t>(i)];
      n += static_cast<double>(b.samples) * std::clamp((x - b.from + 1) / (static_cast<double>(b.to) - b.from + 1), 0.0, 1.0);
    }
    return n / all_;
  }
  /// The shortest length from 1 to `most` that so large a share of samples is at most as long as.
  [[nodiscard]] std::int64_t quantile(double p, std::int64_t most) const {
    std::int64_t low = 0, high = most;
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      (share(middle) >= p ? high : low) = middle;
    }
    return high;
  }

 private:
  [[nodiscard]] double normal(double x) const {
    if (x <= 0) return 0;
    if (sigma_ <= 0) return std::log(x) >= mu_ ? 1 : 0;
    return std::erfc((mu_ - std::log(x)) / (sigma_ * std::sqrt(2.0))) / 2;
  }
  const sample_lengths* of_;
  double mu_{}, sigma_{}, below_{}, above_{}, all_{};
};

}  // namespace detail

/// So many samples in ascending order, as the data has them: the middle of each of so many equal shares, and the longest of all.
/// Cut or left out where they are longer than batch.sequence.
inline std::vector<std::int64_t> typical_samples(const batch& b, std::int64_t count) {
  const detail::length_distribution d(b.lengths);
  const auto limit = b.lengths.longest_within(b.sequence);
  const double left = b.lengths.longer == longer_samples::deleted ? d.share(limit) : 1.0;
  std::vector<std::int64_t> r;
  for (std::int64_t i = 0; i < count; ++i) r.push_back(d.quantile(left * (static_cast<double>(i) + 0.5) / static_cast<double>(count), limit));
  if (!r.empty()) r.back() = limit;
  return r;
}

/// The micro-batches that these samples make on a rank, in tokens of each of its samples, when they come in the n-th order. Groups are of 50 steps'
/// samples, fewer where there are not four such groups (get_length_grouped_indices, mega_batch_mult).
inline std::vector<std::int64_t> micro_batches_in_order(const batch& b, std::vector<std::int64_t> samples, std::uint64_t n) {
  auto state = n;
  if (b.lengths.order == sample_order::longest_first) std::reverse(samples.begin(), samples.end());
  if (b.lengths.order == sample_order::shuffled || b.lengths.order == sample_order::grouped) detail::shuffle(samples.begin(), samples.end(), state);
  if (b.lengths.order == sample_order::grouped) {
    const auto count = static_cast<std::int64_t>(samples.size()), step = b.micro * b.accumulation;
    const auto group = step * std::max<std::int64_t>(1, std::min<std::int64_t>(50, count / (step * 4)));
    for (std::int64_t i = 0; i < count; i += group) std::sort(samples.begin() + i, samples.begin() + std::min(count, i + group), std::greater<>{});
    std::iter_swap(samples.begin(), std::max_element(samples.begin(), samples.end()));
  }
  std::vector<std::int64_t> r;
  const auto each = static_cast<std::size_t>(b.micro);
  for (std::size_t i = 0; i < samples.size(); i += each) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(i);
    r.push_back(b.lengths.padded(*std::max_element(first, first + static_cast<std::ptrdiff_t>(std::min(each, samples.size() - i)))));
  }
  return r;
}

}  // namespace headroom
