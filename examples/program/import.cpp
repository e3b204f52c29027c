// Distributed under the Boost Software License, Version 1.0.
// headroom import FILE…: a job from the files of other programs.
#include <headroom/io/syntax/json_reader.hpp>

#include <iostream>

#include "../calls/answers.hpp"
#include "program.hpp"

namespace program {

int run(const import_request& asked, const streams& in_out) {
  using namespace headroom::io;
  calls::import_request all{.as = asked.as, .model = asked.model, .gpu = asked.gpu, .automatic = asked.automatic, .program = asked.program, .set = asked.set, .ignore = asked.ignore, .line = asked.line, .model_base = file_base::anywhere_from(".")};
  for (const auto& said : asked.env) {
    const auto equals = said.find('=');
    if (equals == std::string::npos || equals == 0) fail("headroom: --env must be NAME=VALUE, found " + in_quotes(said));
    all.environment.emplace_back(said.substr(0, equals), said.substr(equals + 1));
  }
  for (const auto& file : asked.files) {
    if (file == "-")
      all.files.emplace_back("standard input", read_text(in_out.in, "standard input"));
    else
      all.files.emplace_back(file, read_file(file));
  }
  const auto made = calls::import_from(all);
  for (const auto& note : made.notes) std::cerr << "note: " << printable(note) << '\n';
  in_out.out << made.job.dump(2) << '\n';
  return 0;
}

}  // namespace program
