// Distributed under the Boost Software License, Version 1.0.
// The keys of a job's batch, with batch.lengths: how long its samples are, from a distribution, a histogram, a list or a file.
#pragma once

#include <headroom/io/job/recipe.hpp>
#include <headroom/io/syntax/file_base.hpp>
#include <headroom/io/syntax/json_reader.hpp>

#include <algorithm>
#include <charconv>
#include <vector>

namespace headroom::io {

inline constexpr std::int64_t most_sample = std::int64_t{1} << 30;
inline constexpr std::int64_t most_histogram_samples = std::int64_t{1} << 40;

/// All but the lengths themselves, where they are listed.
template <class Keys>
void describe(Keys& k, sample_lengths& l) {
  k.whole("mean", l.mean, {}, 0, most_sample);
  k.whole("deviation", l.deviation, {}, 0, most_sample);
  k.whole("least", l.least, {}, 0, most_sample);
  k.whole("most", l.most, {}, 0, most_sample);
  k.word("longer", l.longer);
  k.word("order", l.order);
  k.whole("pad_to_multiple", l.pad_to_multiple, {}, 0, most_sample);
  k.whole("samples", l.samples, {}, 0, most_histogram_samples);
  k.flag("unknown", l.unknown);
}

namespace detail {

/// Puts sorted lengths into buckets: as many as there are different ones, or those below each of these per mille of the samples.
inline void fill_histogram(sample_lengths& l, const std::vector<std::int64_t>& sorted) {
  constexpr std::array ends{100, 200, 300, 400, 500, 600, 700, 800, 850, 900, 950, 980, 990, 995, 998, 1000};
  static_assert(ends.size() == sample_lengths::most_buckets);
  std::size_t different = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) different += sorted[i] != sorted[i - 1] ? 1U : 0U;
  const auto next = [&](std::size_t i) { return static_cast<std::size_t>(std::upper_bound(sorted.begin() + static_cast<std::ptrdiff_t>(i), sorted.end(), sorted[i]) - sorted.begin()); };
  for (std::size_t first = 0, k = 0; first < sorted.size(); ++k) {
    auto end = next(first);
    if (different > ends.size()) {
      const auto share = (sorted.size() * static_cast<std::size_t>(ends[std::min(k, ends.size() - 1)]) + 999) / 1000;
      if (share > end) end = next(share - 1);
    }
    l.histogram[static_cast<std::size_t>(l.buckets++)] = {static_cast<std::int32_t>(sorted[first]), static_cast<std::int32_t>(sorted[end - 1]), static_cast<std::int64_t>(end - first)};
    first = end;
  }
}

inline void read_list(const json_value& value, const std::string& path, sample_lengths& l) {
  std::vector<std::int64_t> all;
  each_at(value, path, "a list of lengths", [&](const json_value& v, const std::string& at) { all.push_back(whole_at(v, at, 1, most_sample)); });
  if (all.empty()) fail("headroom: " + path + " has no lengths");
  std::sort(all.begin(), all.end());
  fill_histogram(l, all);
}

/// A JSON list, or numbers apart by commas and white space.
inline void read_length_file(const json_value& value, const std::string& path, const file_base& base, sample_lengths& l) {
  const auto& said = string_at(value, path, "the name of a file with lengths");
  if (!base.reads_files()) fail("headroom: " + path + " names a file, and this job may not read any; batch.lengths.list or histogram say the same");
  if (base.forbids(said)) fail("headroom: " + path + ": " + in_quotes(printable(said)) + " leads out of the folder of the job; put the file below it");
  const auto file = base.file(said);
  if (!file) fail("headroom: " + path + ": there is no file " + in_quotes(printable(said)));
  const auto text = read_file(*file);
  if (const auto first = text.find_first_not_of(" \t\r\n"); first != std::string::npos && text[first] == '[') return read_list(parse_json(text, path), path, l);
  std::vector<std::int64_t> all;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t n = 0;
    const auto read = std::from_chars(at, end, n);
    const bool ends = read.ptr == end || *read.ptr == ' ' || *read.ptr == '\t' || *read.ptr == '\r' || *read.ptr == '\n' || *read.ptr == ',';
    if (read.ec != std::errc{} || !ends || n < 1 || n > most_sample)
      fail("headroom: " + path + ": " + in_quotes(printable(said)) + " must be a JSON list, or whole numbers from 1 to 2^30 apart by commas, spaces or lines; number " + std::to_string(all.size() + 1) + " is none");
    all.push_back(n);
    at = read.ptr;
  }
  if (all.empty()) fail("headroom: " + path + ": " + in_quotes(printable(said)) + " has no lengths");
  std::sort(all.begin(), all.end());
  fill_histogram(l, all);
}

inline void read_histogram(const json_value& value, const std::string& path, sample_lengths& l) {
  each_at(value, path, "a list of buckets [from, to, samples]", [&](const json_value& v, const std::string& at) {
    if (!v.is_array() || v.size() != 3) wrong_value(at, "[from, to, samples]", v);
    if (l.buckets == sample_lengths::most_buckets) fail("headroom: " + path + " has more than 16 buckets; join some");
    const auto length = [&](std::size_t i) { return static_cast<std::int32_t>(whole_at(v[i], at + "[" + std::to_string(i) + "]", 1, most_sample)); };
    l.histogram[static_cast<std::size_t>(l.buckets++)] = {length(0), length(1), whole_at(v[2], at + "[2]", 1, most_histogram_samples)};
  });
  if (l.buckets == 0) fail("headroom: " + path + " has no buckets");
}

}  // namespace detail

inline sample_lengths read_lengths(const json_value& value, const std::string& path, const file_base& base) {
  sample_lengths l;
  key_reader k{value, path};
  describe(k, l);
  const json_value* forms[] = {k.take("histogram"), k.take("list"), k.take("file")};
  k.finish();
  // What launch files say of order and padding may stand alone: the lengths are the data's.
  const auto said = (l.mean > 0 ? 1 : 0) + std::count_if(std::begin(forms), std::end(forms), [](const auto* f) { return f != nullptr; });
  if (said > 1 || (said == 0 && l == sample_lengths{}))
    fail("headroom: " + path + " says lengths in one of four ways: mean and deviation, histogram, list, or file");
  if (l.mean > 0 && !value.contains("deviation")) fail("headroom: " + k.at("deviation") + " is required beside mean: the standard deviation of the samples' lengths");
  if (l.mean == 0 && (l.deviation > 0 || l.least > 0 || l.most > 0)) fail("headroom: " + path + ": deviation, least and most are of a distribution with a mean; a histogram, a list or a file says them itself");
  if (forms[0] != nullptr) detail::read_histogram(*forms[0], k.at("histogram"), l);
  if (forms[1] != nullptr) detail::read_list(*forms[1], k.at("list"), l);
  if (forms[2] != nullptr) detail::read_length_file(*forms[2], k.at("file"), base, l);
  return l;
}

inline batch read_batch(const json_value& value, const std::string& path, const file_base& base) {
  batch b;
  key_reader k{value, path};
  describe(k, b);
  if (const auto* v = k.take("lengths")) b.lengths = read_lengths(*v, k.at("lengths"), base);
  k.finish();
  return b;
}

/// Lists and files are written as the histogram that they were read into.
inline json_value batch_to_json(const batch& b) {
  auto object = written_keys(b);
  if (b.lengths == sample_lengths{}) return object;
  object["lengths"] = written_keys(b.lengths);
  for (std::int32_t i = 0; i < b.lengths.buckets; ++i) {
    const auto& one = b.lengths.histogram[static_cast<std::size_t>(i)];
    object["lengths"]["histogram"].push_back(json_value{one.from, one.to, one.samples});
  }
  return object;
}

}  // namespace headroom::io
