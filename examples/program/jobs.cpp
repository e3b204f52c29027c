// Distributed under the Boost Software License, Version 1.0.
#include "jobs.hpp"

#include <headroom/io/job_reader.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/replay.hpp>

namespace program {

headroom::job job_of(const headroom::io::json_value& value, const std::filesystem::path& base) { return headroom::io::read_job(value, base); }

headroom::job job_named(const std::string& file, std::istream& in) {
  using namespace headroom::io;
  const auto value = file == "-" ? parse_json(read_text(in, "standard input"), "standard input") : parse_json_file(file);
  try {
    return read_job(value, file == "-" ? std::filesystem::path{"."} : std::filesystem::path{file}.parent_path());
  } catch (const headroom::job_error&) {
    const auto open = detail::left_open(value, "");
    if (open.empty() || open == "model" || open.starts_with("model.")) throw;
    fail("headroom: " + open + " is \"auto\": only `headroom plan` looks for values; here it needs one");
  }
}

headroom::full_report report_of(const headroom::job& j) { return headroom::replay(j); }

bool has_steps(const headroom::job& j) { return headroom::replays(j); }

std::vector<headroom::recorded_step> steps_of(const headroom::job& j) { return headroom::record(j); }

headroom::io::admission admit(const headroom::io::admission_request& asked) { return headroom::io::admit(asked); }

}  // namespace program
