// Distributed under the Boost Software License, Version 1.0.
#include "jobs.hpp"

#include <headroom/io/job_reader.hpp>
#include <headroom/io/search_reader.hpp>

#include <string_view>

namespace program {

std::filesystem::path folder_of(const std::string& file) { return file == "-" ? std::filesystem::path{"."} : std::filesystem::path{file}.parent_path(); }

headroom::job job_named(const std::string& file, std::istream& in, bool confined) {
  using namespace headroom::io;
  const auto value = file == "-" ? parse_json(read_text(in, "standard input"), "standard input") : parse_json_file(file);
  try {
    return read_job(value, confined ? file_base{folder_of(file)} : file_base::anywhere_from(folder_of(file)));
  } catch (const headroom::job_error&) {
    const auto open = headroom::io::detail::left_open(value, "");
    if (open.empty() || open == "model" || open.starts_with("model.")) throw;
    fail("headroom: " + open + " is \"auto\": only `headroom plan` looks for values; here it needs one");
  }
}

timed time_of(const headroom::job& j) {
  try {
    return {headroom::cost(j), {}};
  } catch (const headroom::error& e) {
    const std::string_view sentence = e.what(), prefix = "headroom: ";
    return {std::nullopt, std::string{sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence}};
  }
}

}  // namespace program
