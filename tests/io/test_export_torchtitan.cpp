// Distributed under the Boost Software License, Version 1.0.
// What a job is in torchtitan's TOML, section by section, as its train.py and job_config.py of the autumn of 2025 read it.
#include <headroom/headroom.hpp>
#include <headroom/io/export.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_export_torchtitan {

using namespace headroom;
using io::json_value;

namespace {

/// 32 GPUs: two replicas of four shards, two tensor-parallel and two context-parallel ranks.
job divided() {
  job j{.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202508,
        .parallel = {.data = 8, .replicate = 2, .tensor = 2, .sequence = true, .context = 2}, .sharding = fsdp2(), .batch = {.micro = 1, .sequence = 8192, .accumulation = 3},
        .recompute = recompute::full};
  j.parallel.context_kind = context_kind::all_gather;
  return j;
}
json_value section(const job& j, const char* name) { return io::torchtitan_document(j).at(name); }
json_value json(const char* text) { return io::parse_json(text, "expected"); }

}  // namespace

// train.py: gradient_accumulation_steps = global_batch_size // (local_batch_size * dp_degree), dp_degree = replicas × shards.
TEST_CASE("batch and formats") {
  CHECK(section(divided(), "training") ==
        json(R"({"local_batch_size": 1, "seq_len": 8192, "dtype": "float32", "mixed_precision_param": "bfloat16", "mixed_precision_reduce": "float32", "global_batch_size": 24})"));
  auto j = divided();
  j.batch.accumulation = 1;
  CHECK_FALSE(section(j, "training").contains("global_batch_size"));
  j.offload.parameters = place::on_cpu;
  j.offload.optimizer = place::on_cpu;
  CHECK(section(j, "training").at("enable_cpu_offload") == true);
  CHECK_FALSE(section(divided(), "training").contains("enable_cpu_offload"));
}

// job_config.py: data_parallel_replicate_degree × data_parallel_shard_degree × context × tensor × pipeline are all GPUs.
TEST_CASE("degrees") {
  CHECK(section(divided(), "parallelism") ==
        json(R"({"data_parallel_replicate_degree": 2, "data_parallel_shard_degree": 4, "tensor_parallel_degree": 2, "pipeline_parallel_degree": 1, "context_parallel_degree": 2,
                 "fsdp_reshard_after_forward": "always", "context_parallel_rotate_method": "allgather", "disable_loss_parallel": false})"));
  auto j = divided();
  j.parallel.context_kind = context_kind::ring;
  j.loss.kind = loss_kind::full;
  j.sharding.stage = 2;
  const auto other = section(j, "parallelism");
  CHECK(other.at("context_parallel_rotate_method") == "alltoall");
  CHECK(other.at("disable_loss_parallel") == true);
  CHECK(other.at("fsdp_reshard_after_forward") == "never");
  j = divided();
  j.parallel = {.data = 32};
  j.sharding = ddp();
  const auto plain = section(j, "parallelism");
  CHECK(plain.at("data_parallel_replicate_degree") == 32);
  CHECK(plain.at("data_parallel_shard_degree") == 1);
  for (const auto* key : {"fsdp_reshard_after_forward", "context_parallel_rotate_method", "disable_loss_parallel", "pipeline_parallel_schedule"}) CHECK_FALSE(plain.contains(key));
}

// torchtitan distributed/pipeline_parallel.py: local_batch_size samples go through the pipeline in parts of microbatch_size.
TEST_CASE("a pipeline, with stages of the user's own") {
  auto j = divided();
  j.model = models::llama_3_1_8b;
  j.model.layers = 5;
  j.parallel = {.data = 16, .pipeline = 2, .schedule = schedule::one_forward_one_backward};
  j.batch = {.micro = 2, .sequence = 4096, .accumulation = 4};
  CHECK(section(j, "training").at("local_batch_size") == 8);
  CHECK_FALSE(section(j, "training").contains("global_batch_size"));
  const auto even = section(j, "parallelism");
  CHECK(even.at("pipeline_parallel_microbatch_size") == 2);
  CHECK(even.at("pipeline_parallel_schedule") == "1F1B");
  CHECK_FALSE(even.contains("module_fqns_per_model_part"));
  j.parallel.chunks = 2;
  j.parallel.stage_layers[0] = 3;
  j.parallel.stage_layers[1] = 2;
  CHECK(section(j, "parallelism").at("module_fqns_per_model_part") ==
        json(R"([["tok_embeddings", "layers.0", "layers.1", "layers.2"], ["layers.3", "layers.4", "norm", "output"]])"));
  j.framework = frameworks::torchtitan_202504;
  CHECK(section(j, "parallelism").at("pipeline_parallel_split_points") == json(R"(["layers.3"])"));
  CHECK_FALSE(section(j, "parallelism").contains("module_fqns_per_model_part"));
}

// parallelize_llama: selective_ac_option n checkpoints every n-th layer; "op" decides by operation.
TEST_CASE("checkpointing, compiling, optimizer and float8") {
  auto j = divided();
  CHECK(section(j, "activation_checkpoint") == json(R"({"mode": "full"})"));
  CHECK(section(j, "compile") == json(R"({"enable": false})"));
  CHECK(section(j, "optimizer").at("name") == "AdamW");
  CHECK_FALSE(section(j, "optimizer").contains("early_step_in_backward"));
  auto early = j;
  early.batch.accumulation = 1;
  early.optimizer = optimizers::adamw;
  early.optimizer.in_backward = true;
  CHECK(section(early, "optimizer").at("early_step_in_backward") == true);
  CHECK_FALSE(section(j, "model").contains("converters"));
  j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 26};  // 80 / 3
  CHECK(section(j, "activation_checkpoint") == json(R"({"mode": "selective", "selective_ac_option": "3"})"));
  j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul};
  CHECK(section(j, "activation_checkpoint") == json(R"({"mode": "selective", "selective_ac_option": "op"})"));
  j.recompute = {};
  CHECK(section(j, "activation_checkpoint") == json(R"({"mode": "none"})"));
  j.compile = true;
  CHECK(section(j, "compile") == json(R"({"enable": true, "components": ["model", "loss"]})"));
  j.framework.compile.loss = false;
  CHECK(section(j, "compile") == json(R"({"enable": true, "components": ["model"]})"));
  j.optimizer.how = implementation::loop;
  CHECK(section(j, "optimizer").at("implementation") == "for-loop");
  j.optimizer.how = implementation::foreach;
  CHECK(section(j, "optimizer").at("implementation") == "foreach");
  j.framework = frameworks::torchtitan_202508;
  j.precision = {"float8", formats::fp32, formats::fp8, formats::fp32, formats::fp32, formats::none, formats::fp32};
  j.framework.fp8.scaling = fp8_scaling::row;
  CHECK(section(j, "model").at("converters") == json(R"(["float8"])"));
  CHECK(io::torchtitan_document(j).at("float8") == json(R"({"enable_fsdp_float8_all_gather": false, "recipe_name": "rowwise"})"));
  j.framework.fp8.scaling = frameworks::torchtitan_202508.fp8.scaling;
  j.framework.sharding.gathers_in_fp8 = true;
  CHECK(io::torchtitan_document(j).at("float8") == json(R"({"enable_fsdp_float8_all_gather": true})"));
}

TEST_CASE("models that torchtitan has") {
  const auto of = [](const shape& m) {
    auto j = divided();
    j.model = m;
    return section(j, "model");
  };
  CHECK(of(models::llama_3_1_8b) == json(R"({"name": "llama3", "flavor": "8B"})"));
  CHECK(of(models::llama_3_1_70b) == json(R"({"name": "llama3", "flavor": "70B"})"));
  CHECK(of(models::llama_3_1_405b) == json(R"({"name": "llama3", "flavor": "405B"})"));
  CHECK(of(models::qwen3_0_6b) == json(R"({"name": "qwen3", "flavor": "0.6B"})"));
  CHECK(of(models::qwen3_30b_a3b) == json(R"({"name": "qwen3", "flavor": "30B-A3B"})"));
  CHECK(io::torchtitan_model("deepseek-v3") == json(R"({"name": "deepseek_v3", "flavor": "671B"})"));
  CHECK(of(models::llama_2_7b) == json(R"({"name": "llama3", "flavor": "debugmodel"})"));
}

}  // namespace test_export_torchtitan
