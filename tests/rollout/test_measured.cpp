// Distributed under the Boost Software License, Version 1.0.
// Online methods against public runs (tests/data/rollout_runs.jsonl). Recipes that run must be said to fit, runs that ran out of memory not to;
// where a number was measured, its error is held.
#include <headroom/bounds.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>

namespace test_rollout_runs {

using namespace headroom;

TEST_CASE("public runs") {
  std::ifstream in(HEADROOM_TEST_DATA "/rollout_runs.jsonl");
  std::map<std::string, int> seen;
  for (std::string line; std::getline(in, line);) {
    const auto run = io::parse_json(line, "run");
    const std::string id = run["id"], bound = run["bound"], metric = run["metric"];
    CAPTURE(id);
    const auto r = estimate(io::read_job(run["job"]));
    const auto& rank = r.tightest();
    const bytes measured{run["value"].get<std::int64_t>()};
    ++seen[bound];
    if (bound == "at-most") {
      CHECK(r.fits());
      CHECK(rank.device <= measured);
    } else if (bound == "at-least") {
      CHECK_FALSE(r.fits());
      CHECK(rank.device >= measured);
    } else if (run["lengths"] == "limits") {
      // Completions end where they will: what is predicted for the longest that the job allows lies above, here by a third.
      const auto error = rank.device.count() * 100 / measured.count() - 100;
      CHECK(error > 0);
      CHECK(error <= 34);
      CHECK(bounds(r, rank, reading::device).contains(measured));
    } else {
      CHECK(metric == "reserved");
      CHECK(bounds(r, rank, reading::reserved).contains(measured));  // 49 % below: of images and lengths that nobody said
    }
  }
  CHECK(seen["at-most"] == 12);
  CHECK(seen["at-least"] == 3);
  CHECK(seen["equal"] == 3);
}

}  // namespace test_rollout_runs
