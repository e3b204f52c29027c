// Distributed under the Boost Software License, Version 1.0.
// Measured records, one JSON object a line: what a real run occupied, beside the job that it ran.
#pragma once

#include <algorithm>
#include <headroom/bounds.hpp>
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/report.hpp>

namespace headroom::io {

/// What was measured: bytes, and from step_seconds on the time of a step in several guises.
enum class metric : std::uint8_t { allocated, active, reserved, device, step_seconds, tokens_per_second_per_gpu, tflops_per_gpu, mfu };
/// Whether it is of time, not of memory.
constexpr bool is_throughput(metric m) { return m >= metric::step_seconds; }
/// Which of a run's GPUs was measured.
enum class rank_choice : std::uint8_t { max, first, last, single, sum };
/// A run that went out of memory is `at_least` the capacity, one that fitted is `at_most`.
enum class bound_kind : std::uint8_t { equal, at_least, at_most };

template <>
inline constexpr auto names_of<metric> = std::array<named<metric>, 8>{{{"allocated", metric::allocated},
                                                                       {"active", metric::active},
                                                                       {"reserved", metric::reserved},
                                                                       {"device", metric::device},
                                                                       {"step_seconds", metric::step_seconds},
                                                                       {"tokens_per_second_per_gpu", metric::tokens_per_second_per_gpu},
                                                                       {"tflops_per_gpu", metric::tflops_per_gpu},
                                                                       {"mfu", metric::mfu}}};
template <>
inline constexpr auto names_of<rank_choice> = std::array<named<rank_choice>, 5>{{{"max", rank_choice::max},
                                                                                 {"first", rank_choice::first},
                                                                                 {"last", rank_choice::last},
                                                                                 {"single", rank_choice::single},
                                                                                 {"sum", rank_choice::sum}}};
template <>
inline constexpr auto names_of<bound_kind> = std::array<named<bound_kind>, 3>{
    {{"equal", bound_kind::equal}, {"at-least", bound_kind::at_least}, {"at-most", bound_kind::at_most}}};

/// One measured run. `value` is in bytes, or what the metric says (seconds, tokens a second, TFLOP/s, a share).
struct measured_record {
  std::string id, family, grade;
  std::string metric_name;  ///< as the record spells it
  metric what{};
  rank_choice rank{};
  bound_kind bound{};
  double value{};
  std::string table;        ///< of a throughput: rows that may be ranked together
  json_value job;
};

/// One line. Throws job_error where it is not a record; the job in it is not read yet.
inline measured_record read_measured(std::string_view line, const std::string& source) {
  const json_value value = parse_json(line, source);
  key_reader k{value, ""};
  measured_record r;
  r.id = string_at(k.need("id", "a name of the record"), "id");
  r.family = string_at(k.need("family", "what it is a record of"), "family");
  r.grade = string_at(k.need("grade", "\"A\", \"B\" or \"C\""), "grade");
  r.job = k.need("job", "the job that was run");
  const auto& metric_value = k.need("metric", "\"allocated\", \"active\", \"reserved\" or \"device\"");
  r.what = name_at<metric>(metric_value, "metric");
  r.metric_name = string_at(metric_value, "metric");
  r.value = number_at(k.need("value", "what was measured"), "value", 0.0, 1e18);
  k.word("rank", r.rank);
  k.word("bound", r.bound);
  if (const auto* v = k.take("table")) r.table = string_at(*v, "table");
  for (const auto key : {"source", "note"}) k.take(key);
  k.finish();
  return r;
}

/// The number of a rank that a metric is compared with.
constexpr reading reading_of(metric what) { return is_throughput(what) ? reading::device : static_cast<reading>(what); }
static_assert(reading_of(metric::allocated) == reading::allocated && reading_of(metric::active) == reading::active &&
              reading_of(metric::reserved) == reading::reserved);

/// A predicted value and its range, in the metric's unit.
struct prediction {
  double value{};
  double low{};  ///< the range in which the report expects the measured value
  double high{};
};

/// The rank that a record is about. Of a sum over all ranks: the one with most.
template <class Ranks>
const rank_report& rank_of(const basic_report<Ranks>& r, metric what, rank_choice choice) {
  const auto most = reading_of(what);
  const rank_report* chosen = &r.ranks[0];
  for (const auto& other : r)
    if (((choice == rank_choice::max || choice == rank_choice::sum) && value_of(other, most) > value_of(*chosen, most)) ||
        (choice == rank_choice::last && other.pipeline_stage > chosen->pipeline_stage) ||
        (choice == rank_choice::first && other.pipeline_stage < chosen->pipeline_stage))
      chosen = &other;
  return *chosen;
}

/// What a report says about a metric of the chosen ranks. The errors of ranks that are added up are one error.
template <class Ranks>
prediction predict(const basic_report<Ranks>& r, metric what, rank_choice choice, confidence sure = {}) {
  if (r.size == 0) return {};
  prediction p;
  const auto add = [&](const rank_report& rank, double times) {
    const auto seen = bounds(r, rank, reading_of(what), sure);
    p.value += times * static_cast<double>(value_of(rank, reading_of(what)).count());
    p.low += times * static_cast<double>(seen.low.count());
    p.high += times * static_cast<double>(seen.high.count());
  };
  if (choice == rank_choice::sum)
    for (const auto& rank : r) add(rank, static_cast<double>(rank.count));
  else
    add(rank_of(r, what, choice), 1.0);
  return p;
}

/// A step's time in a record's metric. TFLOP/s count recompute, and all of attention's square, as the papers do that print them.
constexpr double throughput_of(const step_cost& c, metric what) {
  switch (what) {
    case metric::tokens_per_second_per_gpu:
      return c.tokens_per_second_per_gpu();
    case metric::tflops_per_gpu:
      return c.hardware_tflops_per_gpu();
    case metric::mfu:
      return c.mfu();
    default:
      break;
  }
  return c.step.value;
}

/// A one-sided record that the prediction contradicts: it went out of memory where less was predicted, or the reverse.
inline bool violates(bound_kind bound, double predicted, double measured) {
  return (bound == bound_kind::at_least && predicted < measured) || (bound == bound_kind::at_most && predicted > measured);
}

}  // namespace headroom::io
