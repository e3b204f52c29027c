// Distributed under the Boost Software License, Version 1.0.
// Damaged job files: cut off, bytes changed, values replaced. Each is a job with an estimate, or a headroom::error.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>
#include <random>

#include "../estimate/dice.hpp"

namespace test_job_mutations {

using namespace headroom;

namespace {

std::vector<std::string> example_jobs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{HEADROOM_EXAMPLES "/jobs"})
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& file : files) texts.push_back(io::read_file(file));
  return texts;
}

/// Counts what became of a text; anything but a report that adds up or a headroom::error fails the test.
struct tally {
  int jobs{}, errors{};
  void read(const std::string& text) {
    try {
      const report r = estimate(io::read_job(io::parse_json(text, "job"), HEADROOM_EXAMPLES));
      for (std::size_t i = 0; i < static_cast<std::size_t>(r.size); ++i)
        CHECK(r.ranks[i].at_peak.total() == r.ranks[i].allocated);
      ++jobs;
    } catch (const error& e) {
      ++errors;
      const std::string_view sentence = e.what();
      CHECK_MESSAGE(sentence.starts_with("headroom: "), sentence);
      CHECK(sentence.size() < 400);
    }
  }
};

}  // namespace

TEST_CASE("truncated jobs") {
  tally seen;
  for (const auto& text : example_jobs())
    for (std::size_t n = 0; n + 3 < text.size(); n += draw::sanitized ? 29 : 3) seen.read(text.substr(0, n));
  CHECK(seen.jobs == 0);
  CHECK(seen.errors > draw::watched(1000));
}

TEST_CASE("jobs with changed bytes") {
  std::mt19937 engine{7};
  tally seen;
  for (const auto& text : example_jobs())
    for (int i = 0; i < draw::watched(200); ++i) {
      auto damaged = text;
      for (int k = 0; k < 1 + i % 4; ++k) damaged[engine() % damaged.size()] = static_cast<char>(engine() % 256);
      seen.read(damaged);
    }
  CHECK(seen.errors > draw::watched(500));
}

TEST_CASE("jobs with one value replaced") {
  // Every value of every example job, replaced by each of these.
  const std::vector<io::json_value> replacements{nullptr,
                                                 true,
                                                 -1,
                                                 0,
                                                 3,
                                                 0.5,
                                                 1e300,
                                                 std::numeric_limits<std::uint64_t>::max(),
                                                 "",
                                                 "none",
                                                 "auto",
                                                 io::json_value::array(),
                                                 io::json_value::object(),
                                                 {{"name", "x"}},
                                                 {1, 2}};
  tally seen;
  int turn = 0;
  for (const auto& text : example_jobs()) {
    const auto whole = io::parse_json(text, "job");
    const auto flat = whole.flatten();
    for (const auto& [pointer, unused] : flat.items())
      for (std::string at = pointer; !at.empty(); at.erase(at.rfind('/')))
        for (const auto& value : replacements) {
          if (draw::sanitized && turn++ % 10 != 0) continue;  // the fuzzer does the same for longer
          auto damaged = whole;
          damaged[io::json_value::json_pointer{at}] = value;
          seen.read(damaged.dump());
        }
  }
  CHECK(seen.jobs > 0);
  CHECK(seen.errors > draw::watched(1000));
}

}  // namespace test_job_mutations
