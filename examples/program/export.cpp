// Distributed under the Boost Software License, Version 1.0.
// headroom export JOB --to TARGET: a job in the files of other programs.
#include <headroom/io/export.hpp>

#include <iostream>

#include "jobs.hpp"
#include "program.hpp"

namespace program {

int run(const export_request& asked, const streams& in_out) {
  using namespace headroom::io;
  for (const auto& t : export_targets) {
    if (t.text != asked.to) continue;
    in_out.out << exported(job_named(asked.job, in_out.in), t.value);
    return 0;
  }
  unknown_name("--to", asked.to, texts(export_targets, [](const auto& t) { return t.text; }));
}

}  // namespace program
