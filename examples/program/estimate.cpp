// Distributed under the Boost Software License, Version 1.0.
// headroom estimate JOB: one job in, its report out.
#include <fstream>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report_html.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/report_trace.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "jobs.hpp"
#include "program.hpp"

namespace program {

namespace {

/// The time of a step, or the sentence why it is not predicted.
struct timed {
  std::optional<headroom::step_cost> cost;
  std::string refused;
};
timed time_of(const headroom::job& j) {
  try {
    return {headroom::cost(j), {}};
  } catch (const headroom::error& e) {
    const std::string_view sentence = e.what(), prefix = "headroom: ";
    return {std::nullopt, std::string{sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence}};
  }
}

void close(std::ofstream& file, const std::string& name) {
  file.close();
  if (!file) headroom::io::fail("headroom: " + name + " could not be written");
}
void write(const std::string& name, const std::string& text) {
  std::ofstream file{name, std::ios::binary};
  file << text;
  close(file, name);
}

}  // namespace

int run(const estimate_request& asked, const streams& io) {
  using namespace headroom;
  const confidence sure = asked.confidence ? confidence{*asked.confidence} : confidence{};
  const job j = job_named(asked.job, io.in, asked.confined);
  const auto r = replay(j, io.until);
  if (!asked.svg.empty()) write(asked.svg, io::to_svg(r, j));
  const auto [time, refused] = time_of(j);
  if (!asked.trace.empty()) {
    const auto step = record(j, io.until);
    std::ofstream file{asked.trace, std::ios::binary};
    io::write_trace(file, step, j);
    close(file, asked.trace);
  }
  if (!asked.html.empty()) write(asked.html, io::to_html(r, j, explore(j, [&](const job& k) { return replay(k, io.until); }), time ? &*time : nullptr, replays(j) ? record(j, io.until) : std::vector<recorded_step>{}));
  const bool fit = asked.confidence ? fits(r, sure) : r.fits();
  const auto advice = fit ? std::nullopt : advice_for(j, asked.confidence ? std::optional{sure} : std::nullopt, io.until);
  if (asked.json) {
    auto document = io::to_json(r, sure);
    if (time)
      document.update(io::to_json(*time, sure));
    else
      document["step_refused"] = refused;
    if (!fit) document["advice"] = advice_json(advice);
    io.out << document.dump(2) << '\n';
  } else {
    io.out << io::to_text(r, j, io.colour, sure);
    io.out << '\n' << (time ? io::to_text(*time, io.colour, sure) : io::palette{io.colour}.bold("No step time") + ": " + refused + "\n");
    if (!fit) io.out << '\n' << advice_text(advice, io.colour);
  }
  return fit ? 0 : 1;
}

}  // namespace program
