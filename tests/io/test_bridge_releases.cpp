// Distributed under the Boost Software License, Version 1.0.
// What the recipe of a release of Megatron-Bridge sets, and what that makes of a step's time. Expected values are the recipes' own at the release's tag
// (NVIDIA-NeMo/Megatron-Bridge scripts/performance/configs/*/*workload_base_configs.py).
#include <headroom/cost/cost.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_bridge_releases {

using namespace headroom;

namespace {

/// Qwen3-30B-A3B on eight GPUs, as docs/performance-summary.md has it.
std::string job_of(const std::string& version, const std::string& gpu, const std::string& options, const std::string& compute = "fp8") {
  return R"({"model": "qwen3-30b-a3b", "hardware": {"gpu": ")" + gpu + R"(", "gpus_per_node": 8},
    "framework": {"name": "megatron", "version": ")" + version + R"(", "options": {)" + options + R"(}},
    "precision": {"parameters": "bf16", "compute": ")" + compute + R"(", "gradients": "bf16", "reduce": "bf16", "master": "fp32", "state": "fp32"},
    "optimizer": {"name": "adamw", "implementation": "fused"}, "parallel": {"data": 8, "expert": 8},
    "sharding": {"kind": "megatron-distributed-optimizer", "stage": 1}, "batch": {"micro": 8, "sequence": 4096, "accumulation": 8}, "attention": "te"})";
}
job read(const std::string& text) { return io::read_job(io::parse_json(text, "job")); }
const std::string mx = R"("fp8-recipe": "mxfp8")";

}  // namespace

TEST_CASE("releases in versions") {
  CHECK(io::performance::release_in("Megatron-Bridge 26.04.01") == 260401);
  CHECK(io::performance::release_in("Megatron-Bridge 25.11") == 251100);
  for (const auto* version : {"Megatron-Bridge", "Megatron-Bridge 26", "Megatron-Bridge 26.13", "Megatron-Bridge 26.004", "Megatron-Bridge @600d069, Megatron Core @24bad8e", "26.04", ""})
    CHECK_MESSAGE(io::performance::release_in(version) == 0, version);
  for (const auto* version : {"Megatron-Bridge", "Megatron-Bridge 26.04.01", "Megatron-Bridge 25.09"}) CHECK(io::performance::version_of(io::performance::release_in(version)) == version);
}

TEST_CASE("what a release's recipe sets") {
  const auto of = [](const std::string& version, const std::string& gpu, const std::string& options, const std::string& compute = "fp8") {
    return read(job_of(version, gpu, options, compute)).framework.recipe;
  };
  // v0.4.0 QWEN3_30B_A3B_PRETRAIN_CONFIG_GB300_FP8_MX_V1: hybridep, moe_router and moe_preprocess by TransformerEngine.
  const auto before = of("Megatron-Bridge 26.04", "gb300", mx);
  CHECK((before == recipe_profile{.release = 260400, .known = true, .graphs = recipe_graphs::layers, .sends_once = true}));
  // v0.5.0: full_iteration, moe_a2a_overlap.
  const auto since = of("Megatron-Bridge 26.06", "gb300", mx);
  CHECK((since == recipe_profile{.release = 260600, .known = true, .graphs = recipe_graphs::step, .hides_exchange = true, .sends_once = true}));
  // B200 follows in v0.5.1, other formats do not.
  CHECK(of("Megatron-Bridge 26.06", "b200", mx).graphs == recipe_graphs::layers);
  CHECK(of("Megatron-Bridge 26.06.01", "b200", mx).graphs == recipe_graphs::step);
  CHECK(of("Megatron-Bridge 26.08", "gb300", "", "bf16").graphs == recipe_graphs::layers);
  // v0.2.0 …_H100_FP8_CS_BASE_CONFIG: alltoall, no graphs.
  CHECK((of("Megatron-Bridge 25.11", "h100-sxm-80gb", R"("fp8-recipe": "tensorwise")") == recipe_profile{.release = 251100, .known = true}));
  // Before 25.11, on other GPUs, of other models: nothing is known.
  CHECK_FALSE(of("Megatron-Bridge 25.09", "gb300", mx).known);
  CHECK_FALSE(of("Megatron-Bridge 26.06", "h200", mx).known);
  CHECK_FALSE(of("Megatron-Bridge", "gb300", mx).known);
  // A job's own graphs win.
  CHECK_FALSE(of("Megatron-Bridge 26.06", "gb300", mx + R"(, "cuda-graph-impl": "transformer_engine", "cuda-graph-scope": "attn")").known);
}

TEST_CASE("a release's step") {
  const auto before = cost(read(job_of("Megatron-Bridge 26.04", "gb300", mx))), since = cost(read(job_of("Megatron-Bridge 26.06", "gb300", mx)));
  // The recipe of 26.06 ran 1.44 times as fast as that of 26.04 (45,275 and 31,470 tokens a second and GPU); of that graphs and exchange are 1.37.
  CHECK(before.step / since.step == doctest::Approx(1.37).epsilon(0.01));
  CHECK(since.launch < 0.1 * before.launch);
  CHECK(since.communication / before.communication == doctest::Approx(0.22).epsilon(0.001));  // rates::channels: it all finds compute to hide behind
  CHECK(since.matmul == before.matmul);
  CHECK(since.assumptions.has(time_assumption::recipe_of_release));
  CHECK_FALSE(since.assumptions.has(time_assumption::release_recipe));
  CHECK(cost(read(job_of("Megatron-Bridge", "gb300", mx))).assumptions.has(time_assumption::release_recipe));
}

TEST_CASE("what a job file says of a release is written again") {
  for (const auto* version : {"Megatron-Bridge", "Megatron-Bridge 26.06.01"}) {
    const auto j = read(job_of(version, "gb300", mx));
    const auto out = io::job_to_json(j);
    CHECK(out.at("framework").at("version") == version);
    CHECK(io::read_job(out).framework.recipe == j.framework.recipe);
  }
}

}  // namespace test_bridge_releases
