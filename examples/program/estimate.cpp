// Distributed under the Boost Software License, Version 1.0.
// headroom estimate JOB…: jobs in, their reports out.
#include <algorithm>
#include <fstream>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report_brief.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/report_trace.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {

namespace {

void close(std::ofstream& file, const std::string& name) {
  file.close();
  if (!file) headroom::io::fail("headroom: " + name + " could not be written");
}
void write(const std::string& name, const std::string& text) {
  std::ofstream file{name, std::ios::binary};
  file << text;
  close(file, name);
}

/// One job's report, as it was asked for, its document where that is JSON.
struct answered {
  bool fits{};
  nlohmann::ordered_json document;
};

/// The pictures and the trace that were asked for.
void write_files(const estimate_request& asked, const headroom::job& j, const headroom::full_report& r, const calls::timed& t, const streams& io) {
  using namespace headroom;
  if (!asked.svg.empty()) write(asked.svg, io::to_svg(r, j));
  if (!asked.trace.empty()) {
    const auto step = record(j, io.until);
    std::ofstream file{asked.trace, std::ios::binary};
    io::write_trace(file, step, j);
    close(file, asked.trace);
  }
  if (!asked.html.empty()) write(asked.html, calls::page_of(j, r, t, io.until));
}

answered report_of(const estimate_request& asked, const std::string& file, const streams& io) {
  using namespace headroom;
  const confidence sure = asked.confidence ? confidence{*asked.confidence} : confidence{};
  const auto [j, imported] = job_and_words(file, io.in, asked.confined, asked.measured, io.until);
  const auto r = replay(j, io.until);
  const auto time = calls::time_of(j);
  write_files(asked, j, r, time, io);
  const bool fit = asked.confidence ? fits(r, sure) : r.fits();
  const auto advice = fit ? std::nullopt : calls::advice_for(j, asked.confidence ? std::optional{sure} : std::nullopt, io.until);
  if (asked.json) {
    answered a{fit, calls::report_json(r, time, sure)};
    if (!imported.assumed.empty()) a.document["assumed_defaults"] = imported.assumed;
    if (!imported.ignored.empty()) a.document["ignored_keys"] = imported.ignored;
    if (!fit) a.document["advice"] = calls::advice_json(advice);
    return a;
  }
  if (asked.brief) {
    io.out << io::to_brief(r, j, time.cost ? &*time.cost : nullptr, io.colour, sure, imported);
    if (!fit && advice && !advice->empty()) io.out << "would fit: " << io::changes_text(advice->front()) << " (" << io::gib_text(advice->front().outcome.device) << ")\n";
    return {fit, {}};
  }
  io.out << io::to_text(r, j, io.colour, sure, imported);
  io.out << '\n' << (time.cost ? io::to_text(*time.cost, io.colour, sure) : io::palette{io.colour}.bold("No step time") + ": " + time.refused + "\n");
  if (!fit) io.out << '\n' << advice_text(advice, io.colour);
  return {fit, {}};
}

}  // namespace

int run(const estimate_request& asked, const streams& io) {
  const bool several = asked.jobs.size() > 1;
  if (several && !(asked.svg + asked.trace + asked.html).empty()) headroom::io::fail("headroom: --svg, --trace and --html write the files of one job; several were given");
  if (several && !asked.measured.empty()) headroom::io::fail("headroom: --measured is what one job took; several were given");
  if (std::count(asked.jobs.begin(), asked.jobs.end(), "-") > 1) headroom::io::fail("headroom: standard input holds one job; \"-\" was given twice");
  auto documents = nlohmann::ordered_json::array();
  bool all_fit = true;
  for (const auto& file : asked.jobs) {
    if (several && !asked.json) io.out << (&file == &asked.jobs.front() ? "" : "\n") << headroom::io::palette{io.colour}.bold(headroom::io::printable(file)) << '\n';
    auto a = report_of(asked, file, io);
    all_fit = all_fit && a.fits;
    if (several && asked.json) a.document = nlohmann::ordered_json{{"file", headroom::io::printable(file)}, {"report", std::move(a.document)}};
    if (asked.json) documents.push_back(std::move(a.document));
  }
  if (asked.json) io.out << (several ? documents : documents.front()).dump(2) << '\n';
  return all_fit ? 0 : 1;
}

}  // namespace program
