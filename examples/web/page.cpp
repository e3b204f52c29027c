// Distributed under the Boost Software License, Version 1.0.
// What the page asks: texts in, JSON out. Each function answers {"error": sentence} for bad input; an answer lasts until the next call.
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/export.hpp>
#include <headroom/io/job_schema.hpp>
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/plan_text.hpp>
#include <headroom/io/report_html.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/version.hpp>

#include "../program/answers.hpp"
#include "../program/importing.hpp"
#include "../program/planning.hpp"

namespace program {
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

job job_of(const char* text) {
  const auto value = parse_json(text, "the job");
  try {
    return read_job(value, no_files);
  } catch (const job_error&) {
    const auto open = headroom::io::detail::left_open(value, "");
    if (open.empty() || open == "model" || open.starts_with("model.")) throw;
    fail("headroom: " + open + " is \"auto\": only a search for plans looks for values; here it needs one");
  }
}

/// What is shown of a report.
ordered_json shown(const full_report& r, const job& j, int /*width*/) {
  const confidence sure{};
  const auto time = time_of(j);
  const auto data = j.parallel.data > 0 ? j.parallel.data : j.hardware.gpus() / std::max<std::int64_t>(1, j.parallel.tensor * j.parallel.pipeline * j.parallel.context);
  return {{"report", estimate_json(r, time, sure)},
          {"verdict", verdict_text(r)},
          {"range", headroom::io::detail::range_text(r, sure)},
          {"line", headroom::io::detail::plan_text(j)},
          {"time", time.cost ? to_text(*time.cost, false, sure) : ""},
          {"tightest", &r.tightest() - &r.ranks[0]},
          {"global", data * j.batch.micro * j.batch.accumulation},
          {"svg", to_svg(r, j)}};
}

std::vector<search_result> joined_of(const json_value& parts) {
  std::vector<read_part> read;
  for (const auto& p : parts) read.push_back(read_plans(p, "a part"));
  return join_plans(read, read.empty() ? 0 : read.front().top);
}

}  // namespace

extern "C" {

/// Names, keys and their meanings: what a form is made of.
const char* headroom_names() {
  return answered([] {
    auto all_models = ordered_json::array(), all_gpus = ordered_json::array(), targets = ordered_json::array(), colours = ordered_json::array();
    for (const auto& e : models::table) all_models.push_back({{"name", std::string{e.names[0]}}, {"parameters", count_text(count(*e.model).total.count())}, {"also", {std::string{e.names[1]}, std::string{e.names[2]}}}});
    for (const auto& g : gpus::all) all_gpus.push_back({{"name", std::string{g.label.view()}}, {"memory", g.memory.count()}});
    for (const auto& t : export_targets) targets.push_back(std::string{t.text});
    for (std::size_t i = 0; i < row_count; ++i) colours.push_back({std::string{text(static_cast<row>(i))}, std::string{headroom::io::detail::svg_colours[i]}});
    const auto version = std::to_string(HEADROOM_VERSION_MAJOR) + '.' + std::to_string(HEADROOM_VERSION_MINOR) + '.' + std::to_string(HEADROOM_VERSION_PATCH);
    return ordered_json{{"version", version}, {"models", all_models}, {"gpus", all_gpus}, {"targets", targets}, {"colours", colours}, {"schema", job_schema()}};
  });
}

/// A job's report, by estimate() alone: for every keystroke.
const char* headroom_glance(const char* text, int width) {
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
    const auto all = advice_for(job_of(text), {}, {});
    auto lines = ordered_json::array();
    for (const auto& a : *all) lines.push_back({{"changes", changes_text(a)}, {"device", gib_text(a.outcome.device)}, {"headroom", gib_text(a.outcome.headroom)}, {"time", headroom::io::detail::time_text(a)}, {"job", job_to_json(a.job)}});
    return ordered_json{{"advice", advice_json(all)}, {"lines", lines}};
  });
}

/// {"model", "gpu", "set": ["KEY=VALUE"], "ignore": [KEY], "env": ["NAME=VALUE"], "files": [{"name", "text"}]} to {"job", "notes"}.
const char* headroom_import(const char* request) {
  return answered([&] {
    const auto value = parse_json(request, "the request");
    import_request asked{};
    asked.model = value.value("model", "");
    asked.gpu = value.value("gpu", "");
    for (const auto& [key, to] : {std::pair{"set", &asked.set}, {"ignore", &asked.ignore}, {"env", &asked.env}})
      if (value.contains(key)) *to = value.at(key).get<std::vector<std::string>>();
    const auto with = import_settings_of(asked);
    std::vector<import_input> files;
    for (const auto& f : value.at("files")) files.push_back(input_of(f.at("text").get<std::string>(), f.at("name").get<std::string>(), file_kind::unknown, with));
    auto found = imported(asked, std::move(files), with, no_files);
    return ordered_json{{"job", found.job}, {"notes", found.notes}};
  });
}

/// {"text"} of another program's file.
const char* headroom_export(const char* text, const char* to) {
  return answered([&] {
    for (const auto& t : export_targets)
      if (t.text == to) return ordered_json{{"text", exported(job_of(text), t.value)}};
    unknown_name("the target", to, texts(export_targets, [](const auto& t) { return t.text; }));
  });
}

/// One part of a search, as `headroom plan --shard --json` writes it.
const char* headroom_plan(const char* text, int part, int parts, int top) {
  return answered([&] {
    const auto s = read_search(parse_json(text, "the search"), no_files);
    std::atomic<std::int64_t> divisions{0};
    const auto found = searched(s, {.top = static_cast<std::size_t>(top), .threads = 1, .part = part, .parts = parts, .divisions = &divisions}, std::nullopt);
    ordered_json out{{"part", part}, {"parts", parts}, {"top", top}};
    out.update(to_json(found, 0.0));
    return ordered_json{{"found", out}, {"divisions", divisions.load()}};
  });
}

/// Parts of a search, all of them, to the whole.
const char* headroom_join(const char* parts) {
  return answered([&] {
    const auto all = joined_of(parse_json(parts, "the parts"));
    auto lines = ordered_json::array();
    for (const auto& p : all.front().found.best)
      lines.push_back({{"plan", headroom::io::detail::plan_line(p.job)}, {"seconds", p.outcome.seconds}, {"tokens_per_second", p.outcome.seconds > 0 ? headroom::io::detail::tokens_per_second(p) : 0.0}, {"device", gib_text(p.outcome.device)}, {"range", headroom::io::detail::range_text(p, {})}, {"gpus", p.job.hardware.gpus()}, {"job", job_to_json(p.job)}});
    return ordered_json{{"found", to_json(all.front().found, 0.0)}, {"lines", lines}, {"tied", headroom::io::detail::tied_text(all.front().found.best, {})}};
  });
}

/// The page of one job: {"html"}.
const char* headroom_html(const char* text) {
  return answered([&] {
    const auto j = job_of(text);
    const auto r = replay(j);
    const auto time = time_of(j);
    return ordered_json{{"html", to_html(r, j, explore(j, [](const job& k) { return replay(k); }), time.cost ? &*time.cost : nullptr, replays(j) ? record(j) : std::vector<recorded_step>{})}};
  });
}
}  // extern "C"

}  // namespace program
