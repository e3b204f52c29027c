// Distributed under the Boost Software License, Version 1.0.
// Job files that name layers of a program's own: read, answered, written again; refused where the program did not register them.
#include <headroom/io/admission.hpp>
#include <headroom/io/admission/admit.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay/replay_ranks.hpp>

#include "own.hpp"

#include <doctest/doctest.h>

#include <string>

namespace test_own_layers_io {

using namespace headroom;

namespace {

constexpr std::string_view file = R"({
  "model": {"base": "llama-3.2-1b", "pattern": ["llama", "attends+dense", "attention+dense", "attends+dense"]},
  "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8},
  "batch": {"micro": 2, "sequence": 1024}
})";
io::json_value parsed(std::string_view text = file) { return io::parse_json(text, "the job"); }

template <class... Given>
std::string refusal(std::string_view text, const Given&... given) {
  try {
    (void)io::read_job(parsed(text), given...);
  } catch (const job_error& e) {
    return e.what();
  }
  return "";
}
std::string with_pattern(const std::string& pattern) {
  return R"({"model": {"base": "llama-3.2-1b", "pattern": [)" + pattern + R"(]}, "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 1024}})";
}

}  // namespace

TEST_CASE("a job file that names registered layers, from its text to the number") {
  const auto j = io::read_job(parsed(), {.layers = own::both.labels()});
  job plain{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 2, .sequence = 1024}};
  const auto r = estimate(j, own::both);
  CHECK(r.device() == estimate(plain).device());
  CHECK(r.parameter_count.total == parameters{1'235'814'400});  // meta-llama/Llama-3.2-1B
  CHECK(j.model.pattern.period == 4);
  CHECK(io::read_job(io::job_to_json(j), {.layers = own::both.labels()}) == j);
  CHECK(io::job_to_json(j)["model"]["pattern"] == io::json_value::array({"llama", "attends+dense", "attention+dense", "attends+dense"}));

  const auto answer = io::admit({.job = file}, own::both);
  CHECK(answer.decision == io::decision::fits);
  REQUIRE(answer.report.has_value());
  CHECK(*answer.report == replay(j, own::both));
  CHECK(io::admit({.job = file, .sure = 0.9, .full = false}, own::both).decision == io::decision::fits);
}

TEST_CASE("a job file that names a layer which is not registered") {
  const auto unknown = refusal(file);
  CHECK(unknown ==
        "headroom: model.pattern[0] must be one of none, attention, global-attention, sparse-attention, shared-attention, shared-global-attention, gated-delta-net, mamba2, mamba1, attention-mamba2, gated-convolution, lightning-attention, rg-lru, kimi-delta, alone or with \"+none\", \"+dense\", \"+wide\", \"+cut\" or \"+experts\" "
        "behind it; found \"llama\"");
  CHECK(io::admit({.job = file}).sentence == unknown);
  constexpr std::string_view one[] = {"llama"};
  const io::job_reading how{.layers = one};
  CHECK(refusal(file, how).find("kimi-delta, llama, alone") != std::string::npos);
  CHECK(refusal(file, how).find("model.pattern[1]") != std::string::npos);
  CHECK(refusal(with_pattern(R"("llama+mlp")"), how).find("found \"llama+mlp\"") != std::string::npos);
  CHECK(refusal(with_pattern(R"("llama", "attention+dense")"), how).empty());
}

TEST_CASE("labels that a pattern could not tell from something else") {
  for (const std::string_view label : {"attention", "none", "latent-attention", "a+b"}) {
    CAPTURE(label);
    const std::string_view labels[] = {label};
    const io::job_reading how{.layers = labels};
    CHECK(refusal(file, how).find("needs a label of its own") != std::string::npos);
  }
}

}  // namespace test_own_layers_io
