// Distributed under the Boost Software License, Version 1.0.
#include "jobs.hpp"

#include <headroom/io/job_reader.hpp>

#include "../calls/answers.hpp"

namespace program {

std::filesystem::path folder_of(const std::string& file) { return file == "-" ? std::filesystem::path{"."} : std::filesystem::path{file}.parent_path(); }

headroom::job job_named(const std::string& file, std::istream& in, bool confined) {
  using namespace headroom::io;
  const auto value = file == "-" ? parse_json(read_text(in, "standard input"), "standard input") : parse_json_file(file);
  return calls::read_settled_job(value, confined ? file_base{folder_of(file)} : file_base::anywhere_from(folder_of(file)));
}

}  // namespace program
