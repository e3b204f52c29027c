// Distributed under the Boost Software License, Version 1.0.
// headroom schema: what a job file may say, as a JSON Schema or as a page.
#include <headroom/io/job_reference.hpp>

#include <ostream>

#include "program.hpp"

namespace program {

int run(const schema_request& asked, const streams& io) {
  if (asked.markdown)
    io.out << headroom::io::job_reference();
  else
    io.out << headroom::io::job_schema().dump(2) << '\n';
  return 0;
}

}  // namespace program
