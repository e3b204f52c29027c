// Distributed under the Boost Software License, Version 1.0.
// torchtitan's own options, as they stand in published runs.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

namespace test_torchtitan_options {

using namespace headroom;

namespace {

job titan(const std::string& options, const std::string& neutral = "{}", const std::string& version = "2025-09") {
  auto whole = io::parse_json(neutral, "job");
  whole["model"] = "llama-3.1-8b";
  whole["batch"] = {{"sequence", 8192}};
  whole["hardware"] = {{"gpu", "h100-sxm-80gb"}, {"gpus_per_node", 8}};
  whole["framework"] = {{"name", "torchtitan"}, {"version", version}, {"options", io::parse_json(options, "options")}};
  return io::read_job(whole);
}
std::string refusal(const std::string& options, const std::string& neutral = "{}") {
  try {
    titan(options, neutral);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}
bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("versions of torchtitan are known by their date") {
  CHECK(titan("{}", "{}", "9dec370 (2024-12-26), torch 1963fc8 (2024-12-23)").framework == frameworks::torchtitan_202411);
  CHECK(titan("{}", "{}", "e7c0cae (2025-06-13)").framework == frameworks::torchtitan_202504);
  CHECK(titan("{}", "{}", "6fc499f, torch 2.9.0.dev20250815").framework == frameworks::torchtitan_202508);
  CHECK(titan("{}", "{}", "HEAD 2026-08").framework == frameworks::torchtitan_202607);
}

TEST_CASE("float8: tensorwise scaling gathers 8-bit weights, the others do not") {
  CHECK(titan(R"({"float8": "tensorwise + fsdp float8 all-gather + precompute"})").framework.sharding.gathers_in_fp8);
  CHECK_FALSE(titan(R"({"float8": "rowwise"})").framework.sharding.gathers_in_fp8);
  CHECK_FALSE(titan(R"({"float8": "MXFP8"})").framework.sharding.gathers_in_fp8);
  CHECK_FALSE(titan(R"({"float8": "tensorwise", "float8.enable_fsdp_float8_all_gather": false})").framework.sharding.gathers_in_fp8);
  CHECK(holds(refusal(R"({"float8": "nvfp4"})"), "framework.options.float8 \"nvfp4\" is not modelled by this version; accepted: tensorwise"));
}

TEST_CASE("checkpointing, components, loss and context by torchtitan's names") {
  const recompute by_op{.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul};
  CHECK(titan(R"({"activation_checkpoint.mode": "selective"})").recompute == by_op);
  CHECK(titan(R"({"activation_checkpoint.mode": "full"})").recompute == recompute::full);
  const recompute half{.mode = recompute_mode::full, .method = recompute_method::block, .layers = 16};
  CHECK(titan(R"({"activation_checkpoint.mode": "selective", "activation_checkpoint.selective_ac_option": "2"})").recompute == half);
  const auto every = [](const std::string& n) { return R"({"activation_checkpoint.mode": "selective", "activation_checkpoint.selective_ac_option": ")" + n + "\"}"; };
  CHECK(titan(every("3")).recompute.layers == 10);  // of 32
  CHECK(titan(every("32")).recompute.layers == 1);
  CHECK(titan(every("1")).recompute.layers == 32);
  CHECK(titan(every("33")).recompute == recompute::none);  // none is a 33rd
  CHECK(titan(every("1000000")).recompute == recompute::none);
  for (const auto* wrong : {"0", "", "2x", "-1", "100000000000000000000"}) CHECK(holds(refusal(every(wrong)), "must be \"op\" or a number of layers"));
  CHECK(holds(refusal(R"({"activation_checkpoint.mode": "full"})", R"({"recompute": "none"})"), "contradicts recompute"));
  CHECK(holds(refusal(R"({"activation_checkpoint.mode": "some"})"), "must be \"none\", \"full\" or \"selective\", found \"some\""));
  const auto loss_alone = titan(R"({"compile.components": ["loss"]})").framework;
  CHECK(loss_alone.compile.loss);
  CHECK_FALSE(loss_alone.compile.layers);
  CHECK(titan(R"({"disable_loss_parallel": true})", R"({"parallel": {"tensor": 2, "sequence": true}})").loss.kind == loss_kind::full);
  CHECK(holds(refusal(R"({"disable_loss_parallel": true})", R"({"parallel": {"tensor": 2}, "loss": {"kind": "vocab-parallel"}})"), "contradicts loss.kind"));
  CHECK(titan(R"({"context_parallel_rotate_method": "allgather"})").parallel.context_kind == context_kind::all_gather);
  CHECK(titan(R"({"context_parallel_rotate_method": "alltoall"})").parallel.context_kind == context_kind::ring);
  for (const auto* wrong : {"ring", "all_gather", "AllGather"})
    CHECK(refusal(R"({"context_parallel_rotate_method": ")" + std::string{wrong} + R"("})") ==
          "headroom: framework.options.context_parallel_rotate_method must be \"allgather\" or \"alltoall\", found \"" + std::string{wrong} + "\"");
  CHECK(holds(refusal(R"({"context_parallel_rotate_method": "alltoall"})", R"({"parallel": {"context_kind": "all-gather"}})"), "contradicts parallel.context_kind"));
  CHECK(holds(refusal(R"({"enable_cpu_offloading": true})"), "unknown key \"enable_cpu_offloading\" in framework.options"));
}

TEST_CASE("a job with options reads back from its file") {
  const auto j = titan(R"({"float8": "tensorwise", "compile.components": ["model"]})", R"({"compile": true})");
  CHECK(io::read_job(io::job_to_json(j)).framework == j.framework);
}

TEST_CASE("the example fits an H100") {
  const auto j = io::read_job_file(std::string(HEADROOM_EXAMPLES) + "/jobs/llama-3.1-8b-torchtitan.json");
  CHECK(estimate(j).fits());
}

}  // namespace test_torchtitan_options
