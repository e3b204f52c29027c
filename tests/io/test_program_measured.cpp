// Distributed under the Boost Software License, Version 1.0.
// What a run took, given to the program: figures or a log in, corrected numbers out.
#if defined(HEADROOM_PROGRAM)

#include "program.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace test_program_measured {

using namespace test_programs;

namespace {

const std::string zero3 = HEADROOM_EXAMPLES "/jobs/llama-3.1-8b-zero3.json";
constexpr std::int64_t gib = std::int64_t{1} << 30;

}  // namespace

TEST_CASE("the job that was run has what was measured") {
  const scratch at;
  const auto said = at.run("estimate " + zero3 + " --json --measured allocated=30GiB,reserved=34GiB,step=2.5");
  CAPTURE(said.err);
  REQUIRE(said.status == 0);
  const auto report = headroom::io::parse_json(said.out, "the report");
  CHECK(report.at("ranks").at(0).at("allocated") == 30 * gib);
  CHECK(report.at("ranks").at(0).at("reserved") == 34 * gib);
  CHECK(report.at("step_seconds").get<double>() == doctest::Approx(2.5));
  // A log says the same: torch's summary after a step, in mebibytes as Megatron-LM prints them.
  const auto log = at.file("run.log", "[Rank 0] (after 10 iterations) memory (MB) | allocated: 20000.0 | max allocated: 30720.0 | reserved: 34816.0 | max reserved: 34816.0\n");
  const auto read = headroom::io::parse_json(at.run("estimate " + zero3 + " --json --measured " + log).out, "the report");
  CHECK(read.at("ranks").at(0).at("allocated") == 30 * gib);
  CHECK(read.at("ranks").at(0).at("reserved") == 34 * gib);
}

TEST_CASE("a search, an estimate and a log's diagnosis have one figure of the job that was measured") {
  const scratch at;
  const std::string rest = R"("hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": "zero3", "precision": "bf16-mixed", "model": "llama-3.1-8b", "recompute": "full",)";
  const auto run = R"( "measured": {"allocated": "24 GiB", "reserved": "26 GiB", "of": {"batch": {"micro": 1, "accumulation": 8}}}})";
  const auto search = at.file("search.json", "{" + rest + R"("batch": {"micro": "auto", "global": 64, "sequence": 8192},)" + run);
  const auto plans = at.run("plan " + search);
  CAPTURE(plans.out);
  CHECK(plans.status == 0);
  for (const int micro : {1, 2, 4}) {
    CAPTURE(micro);
    const auto job = at.file("job.json", "{" + rest + R"("batch": {"sequence": 8192, "micro": )" + std::to_string(micro) + R"(, "accumulation": )" + std::to_string(8 / micro) + "}," + run);
    const auto report = headroom::io::parse_json(at.run("estimate --json " + job).out, "the report");
    const auto device = report.at("ranks").at(0).at("device").get<std::int64_t>();
    char figure[32];
    std::snprintf(figure, sizeof figure, "%.2f GiB", static_cast<double>(device) / static_cast<double>(gib));
    CHECK(holds(plans.out, std::string{figure} + "  data 8, zero 3, batch " + std::to_string(micro) + " x "));
    if (micro == 1) CHECK(holds(figure, "27.77 GiB"));  // 26 GiB, a context of 400 MiB, communicators of 832 and 576
  }
  const auto solved = at.run("solve --for batch.micro --json " + at.file("one.json", "{" + rest + R"("batch": {"micro": 1, "accumulation": 8, "sequence": 8192},)" + run));
  CAPTURE(solved.err);
  CHECK(headroom::io::parse_json(solved.out, "the solution").at("value") == 4);
}

TEST_CASE("figures that say nothing, or that no such run took, are refused") {
  const scratch at;
  const auto refused = [&](const std::string& figures, std::string_view why) {
    CAPTURE(figures);
    const auto o = at.run("estimate " + zero3 + " --measured '" + figures + "'");
    CHECK(o.status == 2);
    CHECK(holds(o.err, why));
    CHECK(o.out.empty());
  };
  refused("", "--measured: give figures, such as allocated=61.2GiB, or the name of a log; found nothing");
  refused("allocated=1GiB", "less than the weights, gradients and optimizer states");
  refused("allocated=nan", "must be whole bytes");
  refused("allocated=99999999999999999999GiB", "must be whole bytes");
  refused("memory=3GiB", "--measured must not be \"memory\"; accepted: allocated, active, reserved, device, step, rank");
  refused("/dev/zero", "not a file");
}

}  // namespace test_program_measured

#endif
