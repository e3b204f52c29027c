// Distributed under the Boost Software License, Version 1.0.
// A job file whose `measured` says what was measured of a run: the prediction of that run is worked out and put beside it, so that the job,
// and every job made of it, is corrected.
//   "measured": {"allocated": "61.2 GiB", "reserved": "66.0 GiB", "step": 2.31}                          the job itself was run
//   "measured": {"reserved": 70866960384, "of": {"batch": {"micro": 1}, "recompute": "full"}}             a job that differs in these keys
#pragma once

#include <headroom/io/job_reader.hpp>
#include <headroom/measured.hpp>

namespace headroom::io {

namespace detail {

/// Sets what `of` says; objects key by key, null takes a key away.
inline void say_otherwise(json_value& job, const json_value& of) {
  for (const auto& [key, v] : of.items()) {
    if (v.is_null()) job.erase(key);
    else if (v.is_object() && job.contains(key) && job.at(key).is_object()) say_otherwise(job.at(key), v);
    else job[key] = v;
  }
}

/// What is for a search alone says nothing of a run.
inline void leave_search_out(json_value& job) {
  job.erase("sweep");
  if (job.contains("batch") && job.at("batch").is_object()) job.at("batch").erase("global");
  if (!job.contains("hardware") || !job.at("hardware").is_object()) return;
  for (const auto* key : {"max_nodes", "max_gpus_per_node"}) job.at("hardware").erase(key);
}

inline std::string first_auto(const json_value& v, const std::string& path) {
  if (v.is_string() && v == "auto") return path;
  if (v.is_object())
    for (const auto& [key, inner] : v.items())
      if (const auto at = joined(path, key); at != "framework.options")
        if (const auto found = first_auto(inner, at); !found.empty()) return found;
  return {};
}

inline json_value run_of(const json_value& document, const measured_key& key) {
  auto ran = document;
  ran.erase("measured");
  leave_search_out(ran);
  if (key.of != nullptr) {
    if (!key.of->is_object()) wrong_value("measured.of", "an object of the keys in which the measured job differed, such as {\"batch\": {\"micro\": 1}}", *key.of);
    if (key.of->contains("measured")) fail("headroom: measured.of holds a measured of its own; one run corrects a job");
    say_otherwise(ran, *key.of);
  }
  if (const auto open = first_auto(ran, ""); !open.empty() && open != "model" && !open.starts_with("model."))
    fail("headroom: measured: " + open + " is \"auto\" in this search, and what it was in the run that was measured is not said; add it to measured.of, as {\"batch\": {\"micro\": 1}}");
  return ran;
}

}  // namespace detail

/// The document with what is predicted of the measured run in its `measured`; without such a key, or with the prediction beside it, as it is.
/// Errors: those of read_job(), replay() and cost() for the job that was run, and for figures that cannot be that job's.
inline json_value with_measured(json_value document, const job_reading& how = {}, const deadline& until = {}) {
  if (!document.is_object() || !document.contains("measured")) return document;
  const auto key = read_measured_key(document.at("measured"), "measured");
  if (key.complete) return document;
  const auto ran = detail::run_of(document, key);
  measured_run run;
  try {
    run = measured_by(read_job(ran, how), key.run, key.rank, until);
  } catch (const job_error& e) {
    const std::string_view why = e.what(), prefix = "headroom: ";
    fail("headroom: " + std::string{why.substr(prefix.size()).starts_with("measured") ? "" : "the job that was measured (measured.of): "} + std::string{why.starts_with(prefix) ? why.substr(prefix.size()) : why});
  }
  document["measured"] = measured_to_json(run);
  return document;
}

/// read_job() of a file that may have `measured`. Errors: those of both.
inline job read_measured_job(const json_value& value, const job_reading& how = {}, const deadline& until = {}) { return read_job(with_measured(value, how, until), how); }

}  // namespace headroom::io
