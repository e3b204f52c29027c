// Distributed under the Boost Software License, Version 1.0.
#include "jobs.hpp"

#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

namespace program {

headroom::job job_of(const headroom::io::json_value& value, const std::filesystem::path& base) { return headroom::io::read_job(value, base); }

headroom::job job_named(const std::string& file, std::istream& in) {
  using namespace headroom::io;
  return file == "-" ? read_job(parse_json(read_text(in, "standard input"), "standard input")) : read_job_file(file);
}

headroom::report report_of(const headroom::job& j) { return headroom::replay(j); }

headroom::io::admission admit(const headroom::io::admission_request& asked) { return headroom::io::admit(asked); }

}  // namespace program
