// Distributed under the Boost Software License, Version 1.0.
// Who asks for an answer by a deadline has one by then: a decision, or that there is none.
#include "program.hpp"

#include <headroom/io/admission.hpp>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <string>

namespace test_deadline {

using namespace headroom;
using namespace test_programs;

namespace {

// Near the GPU's capacity, so that only a replay says whether it fits.
constexpr auto tight = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "libtorch", "batch": {"micro": 2, "sequence": 8192}, "recompute": "full"})";
// Twenty-six thousand chunks: a replay of half a second.
constexpr auto slow = R"({"model": {"base": "pythia-1b"}, "hardware": {"gpu": "b300-sxm-288gb"}, "framework": "litgpt", "batch": {"sequence": 1048576},
                          "loss": {"kind": "chunked", "chunk_tokens": 40}, "recompute": "full"})";

}  // namespace

TEST_CASE("an admission whose time is over has no opinion") {
  for (const bool full : {true, false}) {
    const auto a = io::admit({.job = tight, .full = full, .until = deadline::in(0)});
    CHECK(a.decision == io::decision::not_decided);
    CHECK(a.sentence == "headroom: not decided: there was no time left for an answer");
    CHECK_FALSE(a.report);
    CHECK(to_json(a)["decision"] == "not decided");
    CHECK(to_json(a).size() == 2);
    CHECK(io::admit({.job = tight, .full = full, .until = deadline::in(600)}).decision == io::decision::does_not_fit);
    CHECK(io::admit({.job = "{", .full = full, .until = deadline::in(600)}).decision == io::decision::bad_input);
  }
}

TEST_CASE("a replay under way is given up") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(io::admit({.job = slow, .until = deadline::in(0.02)}).decision == io::decision::not_decided);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(400));
}

#ifdef HEADROOM_PROGRAM
TEST_CASE("the program answers by --seconds, with a status of its own") {
  const scratch s;
  const auto job = s.file("job.json", tight), file = s.file("slow.json", slow), log = s.file("log", "CUDA out of memory. Tried to allocate 1.00 GiB");
  const std::array<std::string, 5> commands{"estimate " + job, "estimate --json " + job, "solve --for batch.micro " + job, "fit gpt2 --full --gpu l4", "diagnose --message " + log + " " + job};
  for (const auto& command : commands) {
    CAPTURE(command);
    const auto late = s.run(command + " --seconds 0");
    CHECK(late.status == 3);
    CHECK(one_sentence(late));
    CHECK(holds(late.err, "not decided"));
    const auto there = s.run(command + " --seconds 600");
    CHECK(there.status < 2);
    CHECK(there.out == s.run(command).out);
  }
  CHECK(s.run("estimate " + file + " --seconds 0.05").status == 3);
  CHECK(s.run("estimate " + job + " --seconds -1").status == 2);
  CHECK(s.run("list gpus --seconds 1").status == 2);
}

TEST_CASE("a search that is over before it has found anything is not decided, and one with a plan has it") {
  const scratch s;
  const auto search = std::string{HEADROOM_EXAMPLES} + "/searches/kimi-k2-16384-gpus.json";
  const auto none = s.run("plan " + search + " --seconds 0");
  CHECK(none.status == 3);
  CHECK(holds(none.out, "Not decided"));
  const auto usual = s.run("plan " + std::string{HEADROOM_EXAMPLES} + "/searches/llama-3.1-70b-512-gpus.json --top 2 --json --seconds 600");
  CHECK(usual.status == 0);
  CHECK(nlohmann::json::parse(usual.out)["complete"] == true);
}
#endif

}  // namespace test_deadline
