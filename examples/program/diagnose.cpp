// Distributed under the Boost Software License, Version 1.0.
// headroom diagnose JOB --message FILE: why a run went out of memory, and what would help.
#include <headroom/diagnose/diagnose.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/syntax/json_reader.hpp>

#include <fstream>
#include <iostream>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {

std::string advice_text(const std::optional<std::vector<headroom::advice>>& all, bool colour) {
  return all ? headroom::io::advice_text(*all, headroom::io::palette{colour}) : "There was no time for advice.\n";
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
  if (asked.json) {
    io.out << calls::diagnosis_json(j, log, r, io.until)->dump(2) << '\n';
    return r.fits() ? 0 : 1;
  }
  const auto d = diagnose(*message, j, r);
  io.out << io::diagnosis_text(d, *message, r) << "The job as it is given " << io::verdict_text(r) << ".\n";
  if (!r.fits()) io.out << "\n" << advice_text(calls::advice_for(j, {}, io.until), io.colour);
  return r.fits() ? 0 : 1;
}

}  // namespace program
