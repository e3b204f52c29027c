// Distributed under the Boost Software License, Version 1.0.
// Every measured record is a job that survives its file, or is refused in a sentence that says what is not supported.
#include <doctest/doctest.h>

#include <headroom/io/measured.hpp>

namespace test_measured_records {

using namespace headroom;

TEST_CASE("the measured records") {
  const std::filesystem::path file{HEADROOM_TEST_DATA "/../accuracy/measured.jsonl"};
  REQUIRE(std::filesystem::exists(file));
  std::ifstream in{file};
  int read = 0;
  for (std::string line; std::getline(in, line);) {
    const auto record = io::read_measured(line, "measured.jsonl");
    CAPTURE(record.id);
    try {
      const job j = io::read_job(record.job);
      const bool same = io::read_job(io::job_to_json(j)) == j;
      CHECK(same);
      ++read;
    } catch (const job_error& e) {
      const std::string sentence = e.what();
      const bool said = sentence.find("is not supported by this version") != std::string::npos ||
                        sentence.find("framework.options") != std::string::npos;
      CHECK_MESSAGE(said, sentence);
    }
  }
  CHECK(read > 150);
}

}  // namespace test_measured_records
