// Distributed under the Boost Software License, Version 1.0.
// What is said of a key that cannot be read: a row is what changes in a job of GPT-2 on one H100, and how the sentence begins (tests/data/refused_jobs.jsonl).
// Rows end where a sentence begins to list what is accepted.
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace test_refused_jobs {

using namespace headroom;
using io::json_value;

namespace {

void merge(json_value& into, const json_value& change) {
  for (const auto& [key, value] : change.items()) {
    if (value.is_object() && into.contains(key) && into[key].is_object()) merge(into[key], value);
    else into[key] = value;
  }
}
std::string said_of(const json_value& job) {
  try {
    const auto j = io::read_job(job);
    (void)estimate(j);
    return "read";
  } catch (const error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("each key that cannot be read is named, with what is wrong and what stands there") {
  const auto plain = io::parse_json(R"({"model": "gpt2", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 128}})", "job");
  REQUIRE(said_of(plain) == "read");
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/refused_jobs.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const auto row = io::parse_json(line, "row");
    auto job = plain;
    merge(job, row.at("change"));
    const auto said = said_of(job);
    CAPTURE(line);
    CAPTURE(said);
    CHECK(said.starts_with(row.at("says").get<std::string>()));
  }
  CHECK(rows > 100);
}

}  // namespace test_refused_jobs
