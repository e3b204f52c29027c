// Distributed under the Boost Software License, Version 1.0.
// What the page asks: texts in, JSON out, over what the program asks, too (../calls). Each function answers {"error": sentence} for bad input;
// an answer lasts until the next call. One thread, no files.
#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/export.hpp>
#include <headroom/io/job_schema.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/version.hpp>

// As one file: each by itself would instantiate the library.
#include "../calls/import.cpp"
#include "../calls/plan.cpp"
#include "../calls/report.cpp"

namespace page {
namespace {

using namespace headroom;
using namespace headroom::io;

template <class Make>
const char* answered(Make make) {
  static std::string answer;
  ordered_json made;
  try {
    made = ordered_json(make());
  } catch (const std::exception& wrong) {
    made = {{"error", wrong.what()}};
  }
  answer = made.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return answer.c_str();
}

job job_of(const char* text) { return calls::read_settled_job(parse_json(text, "the job"), no_files); }

std::string words(std::string_view text) {
  std::string spaced{text};
  std::replace(spaced.begin(), spaced.end(), '_', ' ');
  return spaced;
}

/// What is shown of a report; `report` is what `headroom estimate --json` writes, without advice.
ordered_json shown(const full_report& r, const job& j, int width) {
  const confidence sure{};
  const auto time = calls::time_of(j);
  const auto data = j.parallel.data > 0 ? j.parallel.data : j.hardware.gpus() / std::max<std::int64_t>(1, j.parallel.tensor * j.parallel.pipeline * j.parallel.context);
  return {{"report", calls::report_json(r, time, sure)},
          {"verdict", verdict_text(r)},
          {"range", headroom::io::detail::range_text(r, sure)},
          {"line", headroom::io::detail::plan_text(j)},
          {"time", time.cost ? to_text(*time.cost, false, sure) : ""},
          {"tightest", &r.tightest() - &r.ranks[0]},
          {"global", data * j.batch.micro * j.batch.accumulation},
          {"svg", to_svg(r, j, {.width = static_cast<double>(width), .heading = false})}};
}

ordered_json line_of(const ranked_plan& p) {
  const bool timed = p.outcome.seconds > 0;
  return {{"plan", headroom::io::detail::plan_line(p.job)},
          {"seconds", timed ? ordered_json(p.outcome.seconds) : ordered_json(nullptr)},
          {"range", headroom::io::detail::range_text(p, {})},
          {"tokens_per_second", timed ? ordered_json(headroom::io::detail::tokens_per_second(p)) : ordered_json(nullptr)},
          {"device", gib_text(headroom::io::detail::device_of_plan(p))},
          {"job", job_to_json(p.job)}};
}

}  // namespace

extern "C" {

/// Names, keys and their meanings: what a form is made of.
const char* headroom_names() {
  return answered([] {
    auto shapes = ordered_json::array(), cards = ordered_json::array(), targets = ordered_json::array(), rows = ordered_json::object();
    for (const auto& e : models::table) shapes.push_back({{"name", std::string{e.names[0]}}, {"parameters", count_text(count(*e.model).total.count())}});
    for (const auto& g : gpus::all) cards.push_back({{"name", std::string{g.label.view()}}, {"memory", g.memory.count()}});
    for (const auto& t : export_targets) targets.push_back(std::string{t.text});
    for (std::size_t i = 0; i < row_count; ++i) rows[std::string{text(static_cast<row>(i))}] = {{"name", words(text(static_cast<row>(i)))}, {"colour", std::string{headroom::io::detail::svg_colours[i]}}};
    const auto version = std::to_string(HEADROOM_VERSION_MAJOR) + '.' + std::to_string(HEADROOM_VERSION_MINOR) + '.' + std::to_string(HEADROOM_VERSION_PATCH);
    return ordered_json{{"version", version}, {"models", shapes}, {"gpus", cards}, {"targets", targets}, {"rows", rows}, {"schema", job_schema()}};
  });
}

/// Whether a job fits, by estimate() alone, and nothing else: {"fits", "device"}.
const char* headroom_glance(const char* text) {
  return answered([&] {
    const auto r = estimate(job_of(text));
    return ordered_json{{"fits", r.fits()}, {"device", r.device().count()}};
  });
}

/// A job's report, by estimate() alone. `width`: of the picture, in pixels.
const char* headroom_sketch(const char* text, int width) {
  return answered([&] {
    const auto j = job_of(text);
    return shown(estimate_all(j), j, width);
  });
}

/// … replayed, as the program's.
const char* headroom_estimate(const char* text, int width) {
  return answered([&] {
    const auto j = job_of(text);
    return shown(replay(j), j, width);
  });
}

/// What would make it fit.
const char* headroom_advise(const char* text) {
  return answered([&] {
    const auto all = calls::advice_for(job_of(text), {}, {});
    auto lines = ordered_json::array();
    for (const auto& a : *all)
      lines.push_back({{"changes", changes_text(a)}, {"outcome", gib_text(a.outcome.device) + ", " + gib_text(a.outcome.headroom) + " of headroom" + headroom::io::detail::time_text(a)}, {"job", job_to_json(a.job)}});
    return ordered_json{{"advice", calls::advice_json(all)}, {"lines", lines}};
  });
}

/// {"model", "gpu", "set": ["KEY=VALUE"], "ignore": [KEY], "env": [["NAME", "VALUE"]], "files": [["name", "text"]]} to {"job", "notes"}.
const char* headroom_import(const char* request) {
  return answered([&] {
    const auto value = parse_json(request, "the request");
    calls::import_request asked{.model = value.at("model"), .gpu = value.at("gpu"), .mark = ""};
    value.at("set").get_to(asked.set);
    value.at("ignore").get_to(asked.ignore);
    value.at("env").get_to(asked.environment);
    value.at("files").get_to(asked.files);
    asked.job_base = no_files;
    auto found = calls::import_from(asked);
    return ordered_json{{"job", found.job}, {"notes", found.notes}};
  });
}

/// {"text"} of another program's file.
const char* headroom_export(const char* text, const char* to) {
  return answered([&] { return ordered_json{{"text", calls::export_to(job_of(text), to, "the target")}}; });
}

/// One part of a search, as `headroom plan --shard --json` writes it.
const char* headroom_plan(const char* text, int part, int parts, int top) {
  return answered([&] {
    const auto s = read_search(with_measured(parse_json(text, "the search"), {.base = no_files}), no_files);
    const calls::heading h{.top = static_cast<std::size_t>(top), .part = part, .parts = parts};
    std::vector<search_result> all;
    all.push_back({nullptr, calls::searched(s, {.top = h.top, .threads = 1, .part = part, .parts = parts}, std::nullopt)});
    return calls::plans_json(all, 0.0, h);
  });
}

/// Parts of a search, all of them, to the whole.
const char* headroom_join(const char* parts) {
  return answered([&] {
    std::vector<read_part> read;
    for (const auto& p : parse_json(parts, "the parts")) read.push_back(read_plans(p, "a part"));
    const auto found = join_plans(read, read.at(0).top).at(0).found;
    auto lines = ordered_json::array(), rejected = ordered_json::array();
    for (const auto& p : found.best) lines.push_back(line_of(p));
    for (const auto& [reason, n] : found.rejected) rejected.push_back({{"reason", reason}, {"count", n}});
    return ordered_json{{"evaluated", found.evaluated}, {"passed_over", found.passed_over}, {"fitting", found.fitting}, {"lines", lines}, {"rejected", rejected}, {"tied", headroom::io::detail::tied_text(found.best, {})}};
  });
}

/// The page of one job, as `headroom estimate --html` writes it: {"html"}.
const char* headroom_html(const char* text) {
  return answered([&] {
    const auto j = job_of(text);
    return ordered_json{{"html", calls::page_of(j, replay(j), calls::time_of(j), {})}};
  });
}

}  // extern "C"

}  // namespace page
