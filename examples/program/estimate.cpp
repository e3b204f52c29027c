// Distributed under the Boost Software License, Version 1.0.
// headroom estimate JOB: one job in, its report out.
#include <fstream>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/replay.hpp>
#include <iostream>

#include "program.hpp"

namespace program {

int run(const estimate_request& asked, const streams& io) {
  using namespace headroom;
  const job j = asked.job == "-" ? io::read_job(io::parse_json(io::read_text(io.in, "standard input"), "standard input"))
                                 : io::read_job_file(asked.job);
  const report r = replay(j);
  if (!asked.svg.empty()) {
    std::ofstream file{asked.svg};
    file << io::to_svg(r, j);
    file.close();
    if (!file) io::fail("headroom: " + asked.svg + " could not be written");
  }
  if (asked.json)
    io.out << io::to_json(r).dump(2) << '\n';
  else
    io.out << io::to_text(r, j, io.colour);
  return r.fits() ? 0 : 1;
}

}  // namespace program
