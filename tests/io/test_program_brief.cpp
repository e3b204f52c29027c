// Distributed under the Boost Software License, Version 1.0.
// The program's short answers: estimate --brief, several jobs in one call, and two jobs side by side.
#if defined(HEADROOM_PROGRAM)

#include "program.hpp"

#include <doctest/doctest.h>

namespace test_program_brief {

using namespace test_programs;

namespace {

const std::string examples = HEADROOM_EXAMPLES "/jobs/";

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("a brief report of four pipeline stages has ten lines, each with its number") {
  const scratch at;
  const auto whole = at.run("estimate " + examples + "llama-3.1-70b-megatron.json --json");
  const auto brief = at.run("estimate " + examples + "llama-3.1-70b-megatron.json --brief");
  CAPTURE(brief.out);
  CHECK(brief.status == whole.status);
  CHECK(lines(brief.out) == 10);
  CHECK(holds(brief.out, "FITS with "));
  const auto report = headroom::io::parse_json(whole.out, "the report");
  for (const auto& rank : report.at("ranks")) {
    const auto gib = static_cast<double>(rank.at("device").get<std::int64_t>()) / (1 << 30);
    char size[32];
    std::snprintf(size, sizeof size, "%.2f GiB of", gib);
    CHECK(holds(brief.out, size));
  }
  CHECK(holds(brief.out, " tokens/s, "));
}

TEST_CASE("a brief report of sixteen stages names four, and a job that does not fit what would help") {
  const scratch at;
  const auto brief = at.run("estimate " + examples + "deepseek-v3-megatron.json --brief");
  CHECK(brief.status == 1);
  CHECK(holds(brief.out, "DOES NOT FIT"));
  CHECK(holds(brief.out, "and 12 kinds of rank with more headroom"));
  CHECK(holds(brief.out, "would fit: recompute full"));
  CHECK(lines(brief.out) == 12);
}

TEST_CASE("several jobs in one call: each under its name, and one that does not fit decides the status") {
  const scratch at;
  const auto fits = examples + "llama-3.1-8b-zero3.json", fails = examples + "llama-3.1-70b-zero3-8gpus.json";
  const auto both = at.run("estimate " + fits + " " + fails + " --brief");
  CHECK(both.status == 1);
  CHECK(both.out.find(fits) < both.out.find(fails));
  CHECK(at.run("estimate " + fits + " " + fits + " --brief").status == 0);
  const auto json = headroom::io::parse_json(at.run("estimate " + fits + " " + fails + " --json").out, "the reports");
  REQUIRE(json.size() == 2);
  CHECK(json[0].at("file") == fits);
  CHECK(json[0].at("report").at("fits") == true);
  CHECK(json[1].at("report").at("fits") == false);
  CHECK(json[0].at("report") == headroom::io::parse_json(at.run("estimate " + fits + " --json").out, "one"));
  const auto refused = at.run("estimate " + fits + " " + fails + " --svg " + at.file("x.svg"));
  CHECK(refused.status == 2);
  CHECK(one_sentence(refused));
  CHECK(at.run("estimate - -", "{}").status == 2);
  CHECK(at.run("estimate " + fits + " --brief --json").status == 2);
}

TEST_CASE("two jobs side by side: the keys that differ, and the numbers of both") {
  const scratch at;
  const auto job = [](int stage, int micro) {
    return R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": {"kind": "zero", "stage": )" +
           std::to_string(stage) + R"(}, "batch": {"micro": )" + std::to_string(micro) + R"(, "sequence": 4096}, "recompute": "full"})";
  };
  const auto first = at.file("first.json", job(3, 1)), second = at.file("second.json", job(2, 1));
  const auto seen = at.run("compare " + first + " " + second + " --json");
  CAPTURE(seen.err);
  CHECK(seen.status == 0);
  const auto json = headroom::io::parse_json(seen.out, "the comparison");
  REQUIRE(json.at("differ").size() == 1);
  CHECK(json.at("differ")[0].at("key") == "sharding.stage");
  CHECK(json.at("differ")[0].at("first") == "3");
  CHECK(json.at("differ")[0].at("second") == "2");
  // 16-bit parameters: 2 bytes x 8,030,261,248, divided among eight by stage 3 alone.
  for (const auto& n : json.at("numbers"))
    if (n.at("name") == "parameters") {
      CHECK(n.at("first").get<double>() == doctest::Approx(8'030'261'248.0 * 2 / 8 / (1 << 30)).epsilon(1e-4));
      CHECK(n.at("second").get<double>() == doctest::Approx(8'030'261'248.0 * 2 / (1 << 30)).epsilon(1e-4));
    }
  const auto text = at.run("compare " + first + " " + first);
  CHECK(holds(text.out, "No key differs"));
  CHECK(at.run("compare " + first + " -", job(2, 64)).status == 1);
  CHECK(at.run("compare - -", job(2, 1)).status == 2);
}

}  // namespace test_program_brief

#endif
