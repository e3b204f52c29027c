// Distributed under the Boost Software License, Version 1.0.
#include "readers.hpp"

#include <headroom/cost/cost.hpp>
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/huggingface.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/model/inventory.hpp>

// A review's job is read and estimated here; what a replay adds takes long, and is fuzzed by no text.
#define HEADROOM_COMPILED 1
#include <headroom/io/admission.hpp>

#include "../../examples/kubernetes/review.cpp"

namespace headroom::io {

admission admit(const admission_request& asked) {
  try {
    const job j = read_job(parse_json(asked.job, "the job"), {.base = asked.base});
    const full_report r = estimate(j);
    return {r.fits() ? decision::fits : decision::does_not_fit, "headroom: judged", j, r};
  } catch (const headroom::error& e) {
    return {decision::bad_input, e.what(), {}, {}};
  }
}

}  // namespace headroom::io

namespace fuzzed {

using namespace headroom;

/// The time of a step is asked of jobs that have no estimate, too.
void time_of(const job& j) {
  try {
    if (!(cost(j).step.value > 0)) __builtin_trap();
  } catch (const headroom::error&) {
  }
}

/// A job is written as it was read, and has an estimate that can be written.
void read_job(std::string_view text) {
  try {
    const auto value = io::parse_json(text, "input");
    const job j = io::read_job(value, io::no_files);
    time_of(j);
    if (io::read_job(io::job_to_json(j), io::no_files) != j) __builtin_trap();
    const report r = estimate(j);
    for (int i = 0; i < r.size; ++i)
      if (r.ranks[static_cast<std::size_t>(i)].at_peak.total() != r.ranks[static_cast<std::size_t>(i)].allocated) __builtin_trap();
    io::to_json(r).dump();
    io::to_text(r, j, true);
    io::to_svg(r, j);
  } catch (const headroom::error&) {
  }
}

void read_search(std::string_view text) {
  try {
    (void)io::read_search(io::parse_json(text, "input"), io::no_files);
  } catch (const headroom::error&) {
  }
}

/// A configuration has weights that can be counted, by component as in all.
void read_config(std::string_view text) {
  try {
    const auto value = io::parse_json(text, "input");
    if (!value.is_object()) return;
    const shape m = io::model_from_config(value);
    if (m.layers > 0 && m.hidden > 0 && io::read_model(io::model_to_json(m), "model", io::no_files) != m) __builtin_trap();
    const auto n = count(m);
    parameters sum{0};
    for (const auto part : n.by_component) sum += part;
    if (sum != n.total) __builtin_trap();
  } catch (const headroom::error&) {
  }
}

/// A review is answered, with JSON where it is one.
void read_review(std::string_view text) {
  const auto a = kubernetes::review(text, {});
  if (a.status == 200 && !io::json_value::accept(a.body)) __builtin_trap();
  if (a.status != 200 && !a.body.starts_with("headroom: ")) __builtin_trap();
}

void read_log(std::string_view text) {
  const auto m = read_oom(text);
  if (!m) return;
  for (const auto& s : {m->asked, m->capacity, m->free, m->in_use, m->allocated, m->unallocated, m->graph_pools})
    if (s && (s->value < bytes{0} || s->within < bytes{0})) __builtin_trap();
  const auto d = diagnose(*m);
  if (d.others && *d.others < bytes{0}) __builtin_trap();
}

}  // namespace fuzzed
