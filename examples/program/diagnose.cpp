// Distributed under the Boost Software License, Version 1.0.
// headroom diagnose JOB --message FILE: why a run went out of memory, and what would help.
#include <headroom/io/diagnosis_json.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/syntax/json_reader.hpp>

#include <fstream>
#include <iostream>

#include "jobs.hpp"
#include "program.hpp"

namespace program {

std::optional<std::vector<headroom::advice>> advice_for(const headroom::job& j, std::optional<headroom::confidence> sure, const headroom::deadline& until) try {
  using namespace headroom;
  const auto look = [&](const job& k) { return replay(k, until); };
  return advise(j, [&](const job& k) {
    until.check();
    return judged(k, look, sure);
  });
} catch (const headroom::out_of_time&) {
  return std::nullopt;
}

std::string advice_text(const std::optional<std::vector<headroom::advice>>& all, bool colour) {
  return all ? headroom::io::advice_text(*all, headroom::io::palette{colour}) : "There was no time for advice.\n";
}

nlohmann::ordered_json advice_json(const std::optional<std::vector<headroom::advice>>& all) {
  return all ? headroom::io::to_json(*all) : nlohmann::ordered_json(nullptr);
}

int run(const diagnose_request& asked, const streams& io) {
  using namespace headroom;
  if (asked.job == "-" && asked.message == "-") io::fail("headroom: standard input can be the job or the message, not both");
  const job j = job_named(asked.job, io.in);
  const auto log = asked.message == "-" ? io::read_text(io.in, "standard input") : io::read_file(asked.message);
  const auto message = read_oom(log);
  if (!message)
    io::fail("headroom: " + asked.message + " holds no out-of-memory message that headroom knows: PyTorch's \"Tried to allocate …\", one of NCCL, cuBLAS or host memory, or a kill by signal 9");
  const auto r = replay(j, io.until);
  const auto d = diagnose(*message, j, r);
  if (asked.json) {
    auto document = io::to_json(d, *message);
    document["fits"] = r.fits();
    if (!r.fits()) document["advice"] = advice_json(advice_for(j, {}, io.until));
    io.out << document.dump(2) << '\n';
    return r.fits() ? 0 : 1;
  }
  io.out << io::diagnosis_text(d, *message, r) << "The job as it is given " << io::verdict_text(r) << ".\n";
  if (!r.fits()) io.out << "\n" << advice_text(advice_for(j, {}, io.until), io.colour);
  return r.fits() ? 0 : 1;
}

}  // namespace program
