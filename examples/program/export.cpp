// Distributed under the Boost Software License, Version 1.0.
// headroom export JOB --to TARGET: a job in the files of other programs.
#include <iostream>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {

int run(const export_request& asked, const streams& in_out) {
  in_out.out << calls::export_to(job_named(asked.job, in_out.in), asked.to, "--to");
  return 0;
}

}  // namespace program
