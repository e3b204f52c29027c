// Distributed under the Boost Software License, Version 1.0.
// What a framework's version says of its date: against the days on which PyPI has releases of transformers.
#include <headroom/io/job_reader.hpp>

#include <headroom/estimate.hpp>
#include <headroom/io/report_text.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_framework_versions {

using namespace headroom;

namespace {

job of(const std::string& name, const std::string& version) {
  return io::read_job(io::parse_json(R"({"model": "llama-3-8b", "framework": {"name": ")" + name + R"(", "version": ")" + version + R"("}, "batch": {"sequence": 128}})", "job"));
}
const profile& hf(const std::string& version) {
  static job j;
  j = of("hf-trainer", version);
  CHECK_FALSE(j.undated);
  return j.framework;
}

}  // namespace

// 4.35.0 of 2023-11-02, 4.36.0 of 2023-12-11, 4.38.2, 4.39.0 of 2024-03-21, 4.46.0 of 2024-10-24, 4.47.1, 4.48.0 of 2025-01-10, 4.49.0 of 2025-02-17,
// 4.52.4, 4.53.0 of 2025-06-26, 4.54.0 of 2025-07-25, 4.55.4 (as 4.54), 4.56.0 of 2025-08-29, 4.57.6, 5.0.0 of 2026-01-26, 5.15.0, 5.16.0.
TEST_CASE("a release of transformers is the profile of its day") {
  CHECK(hf("4.35.0") == frameworks::hf_trainer_2023);
  CHECK(hf("4.36.0") == frameworks::hf_trainer_202312);
  CHECK(hf("4.38.2") == frameworks::hf_trainer_202312);
  CHECK(hf("v4.39") == frameworks::hf_trainer_202403);
  CHECK(hf("4.44.2") == frameworks::hf_trainer_202403);
  CHECK(hf("4.46.0") == frameworks::hf_trainer_202410);
  CHECK(hf("transformers 4.47.1") == frameworks::hf_trainer_202410);
  CHECK(hf("transformers==4.48.0") == *frameworks::find("hf-trainer", 202501));
  CHECK(hf("4.49.0") == frameworks::hf_trainer_202503);
  CHECK(hf("4.52.4") == frameworks::hf_trainer_202503);
  CHECK(hf("4.53.0") == *frameworks::find("hf-trainer", 202506));
  CHECK(hf("4.54.0") == *frameworks::find("hf-trainer", 202507));
  CHECK(hf("4.55.4") == *frameworks::find("hf-trainer", 202507));
  CHECK(hf("4.56.0") == frameworks::hf_trainer_202508);
  CHECK(hf("4.57.0.dev0") == frameworks::hf_trainer_202508);
  CHECK(hf("5.0.0") == frameworks::hf_trainer_202601);
  CHECK(hf("5.15.0") == frameworks::hf_trainer_202601);
  CHECK(hf("5.16.0") == frameworks::hf_trainer_202608);
  CHECK(hf("5.17.0") == frameworks::hf_trainer);
  CHECK(hf("5.99") == frameworks::hf_trainer);
  CHECK(of("deepspeed", "4.53.1").framework == *frameworks::find("deepspeed", 202506));
  CHECK(of("libtorch", "peft 0.15, transformers 4.49.0, torch 2.6.0").framework == *frameworks::find("libtorch", 202501));
}

// A release is more exact than the month beside it: 2025-02 has releases 4.48.1 to 4.49.0.
TEST_CASE("a release and a date") {
  CHECK(hf("transformers 4.48.1, trl 0.13.0, torch 2.4.1, 2025-02") == *frameworks::find("hf-trainer", 202501));
  CHECK(hf("transformers 4.49.0, 2025-02") == frameworks::hf_trainer_202503);
  CHECK(hf("2023-11, torch 2.0, transformers 4.3x, peft<0.8") == frameworks::hf_trainer_2023);
  CHECK(hf("transformers 4.1x-4.2x (2022)") == frameworks::hf_trainer_202110);
  // Another package, whose name ends so; and one behind a comma or in brackets.
  CHECK(hf("sentence-transformers 3.0, 2025-03") == frameworks::hf_trainer_202503);
  CHECK(hf("sentence-transformers 3.0, transformers 4.57, 2025-03") == frameworks::hf_trainer_202508);
  CHECK(hf("2025-03 (transformers 4.48)") == *frameworks::find("hf-trainer", 202501));
  CHECK(hf("torch 2.4,transformers==4.48") == *frameworks::find("hf-trainer", 202501));
  CHECK(hf("transformers + TRL + FlashAttention-2, 2024-12") == frameworks::hf_trainer_202410);
}

// Days of the tags of modelscope/ms-swift and huggingface/trl: v3.9.0 of 2025-10-14, v3.7.0 of 2025-08-07, v0.9.2 of 2024-06-05, v0.24.0 of 2025-10-16.
TEST_CASE("a release of a trainer over transformers stands for its day where no date is said") {
  const auto day = [](const char* text) { return hf(text); };
  CHECK(io::date_of_trainer("ms-swift 3.9") == 202510);
  CHECK(io::date_of_trainer("ms-swift 3.10.dev") == 202510);
  CHECK(io::date_of_trainer("ms-swift 3.8.0.dev0") == 202508);
  CHECK(io::date_of_trainer("LLaMA-Factory 0.9.5.dev0, TRL 0.24, torch 2.8") == 202510);
  CHECK(io::date_of_trainer("TRL 0.9.5.dev0") == 202406);
  CHECK(io::date_of_trainer("TRL 0.7-0.9, alignment-handbook") == 202406);
  for (const auto* none : {"TRL", "ms-swift", "ms-swift 9.9", "ms-swift 3.x", "my-ms-swift 3.8", "TRL 0.100"}) CHECK(io::date_of_trainer(none) == 0);
  CHECK(day("ms-swift 3.10.dev") == *frameworks::find("hf-trainer", 202510));
  CHECK(day("TRL 0.9") == *frameworks::find("hf-trainer", 202406));
  CHECK(day("TRL 0.9") != frameworks::hf_trainer);
  CHECK_FALSE(of("deepspeed", "ms-swift 3.8.dev").undated);
  // A date that is said, or a release of transformers, is nearer than the trainer's.
  CHECK(day("TRL 0.9, 2025-01") == *frameworks::find("hf-trainer", 202501));
  CHECK(day("TRL 0.9, transformers 4.48") == *frameworks::find("hf-trainer", 202501));
  CHECK(of("megatron", "TRL 0.9").undated);
}

// What is neither is the newest, and the report begins with that; other frameworks' releases are not transformers'.
TEST_CASE("a version that tells nothing of its date") {
  for (const auto* text : {"TRL", "4.4x", "verl 0.3-0.4, vLLM 0.8.2/0.8.3", "main", "0.16.4", "torch 2.8", "transformers main", "transformers 4."}) {
    CAPTURE(text);
    const auto j = of("hf-trainer", text);
    CHECK(j.undated);
    CHECK(j.framework == frameworks::hf_trainer);
    CHECK(estimate(j).assumptions.has(assumption::newest_framework));
    CHECK(io::read_job(io::job_to_json(j)) == j);
  }
  const auto said = of("hf-trainer", "TRL");
  CHECK(io::detail::heading_text(estimate(said), said, io::palette{false}, confidence{0.95}).find("Assumed: framework.version says neither a date nor a release") != std::string::npos);
  CHECK(of("megatron", "4.46.0").undated);
  CHECK_FALSE(of("megatron", "Megatron-Bridge 25.09").undated);
  CHECK_FALSE(of("torchtune", "torchtune 0.0.1").undated);
  CHECK_FALSE(of("hf-trainer", "").undated);
  const auto open = io::read_job(io::parse_json(R"({"model": "llama-3-8b", "framework": "hf-trainer", "batch": {"sequence": 128}})", "job"));
  CHECK_FALSE(open.undated);
  CHECK_FALSE(estimate(open).assumptions.has(assumption::newest_framework));
}

}  // namespace test_framework_versions
