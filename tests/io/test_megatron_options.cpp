// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments as a job's framework options: what they set, and that a job says them again.
#include <doctest/doctest.h>

#include <headroom/io/job_reader.hpp>

#include <string>

namespace test_megatron_options {

using namespace headroom;

namespace {

job megatron(const std::string& options, const std::string& more = "") {
  return io::read_job(io::parse_json(R"({"model": "llama-2-13b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "batch": {"sequence": 2048}, )" + more +
                                         R"("framework": {"name": "megatron", "options": )" + options + "}}",
                                     "job"));
}
std::string refusal(const std::string& options, const std::string& more = "") {
  try {
    megatron(options, more);
  } catch (const job_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("arguments set the profile, and are written again") {
  const auto j = megatron(R"({"no-rope-fusion": true, "overlap-p2p-communication-warmup-flush": true, "microbatch-group-size-per-virtual-pipeline-stage": 6,
    "moe-token-dispatcher-type": "flex", "cp-comm-type": "a2a+p2p", "use-precision-aware-optimizer": true, "num-layers": 40})");
  const auto& f = j.framework;
  CHECK(f.rotary.writes_out);
  CHECK(f.pipeline.overlaps_warm_up);
  CHECK(f.pipeline.microbatch_group == 6);
  CHECK(f.experts.dispatcher == token_dispatcher::flex);
  CHECK(f.communication.exchanges_heads);
  CHECK(f.optimizer.precision_aware);
  CHECK(j.parallel.context_kind == context_kind::ring);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(megatron(R"({"moe-enable-deepep": true})").framework.experts.dispatcher == token_dispatcher::flex);
  CHECK(megatron(R"({"moe-flex-dispatcher-backend": "hybridep"})").framework.experts.dispatcher == token_dispatcher::flex);
  CHECK(megatron(R"({"moe-token-dispatcher-type": "alltoall"})").framework.experts.dispatcher == token_dispatcher::all_to_all);
  CHECK(megatron(R"({"num-layers": 40})").framework.experts.dispatcher == token_dispatcher::all_gather);  // Megatron's default
  CHECK(refusal(R"({"moe-token-dispatcher-type": "nvls"})").find("moe-token-dispatcher-type") != std::string::npos);
  CHECK(megatron(R"({"moe-router-dtype": "fp32", "moe-token-dispatcher-type": "alltoall"})").framework.experts.routes_in_fp32);
  const auto fused = megatron(R"({"moe-permute-fusion": true, "moe-token-dispatcher-type": "alltoall"})");
  CHECK(fused.framework.experts.fuses_permutation);
  CHECK(io::read_job(io::job_to_json(fused)) == fused);
}

TEST_CASE("formats of gradients and moments: the precision recipe's, or what they contradict") {
  const auto j = megatron(R"({"use-precision-aware-optimizer": true, "main-grads-dtype": "bf16", "exp-avg-dtype": "bf16", "exp-avg-sq-dtype": "bf16"})");
  CHECK(j.precision.gradients == formats::bf16);
  CHECK(j.precision.state == formats::bf16);
  CHECK(j.precision.master == formats::fp32);
  CHECK(megatron(R"({"grad-reduce-in-bf16": true})").precision.gradients == formats::bf16);
  CHECK(megatron(R"({"grad-reduce-in-bf16": true})").precision.reduce == formats::bf16);
  CHECK(refusal(R"({"grad-reduce-in-bf16": true})", R"("precision": {"parameters": "bf16", "gradients": "fp32"}, )").find("contradicts precision.gradients") !=
        std::string::npos);
  CHECK(refusal(R"({"exp-avg-dtype": "bf16"})").find("must be alike") != std::string::npos);
  CHECK(refusal(R"({"exp-avg-dtype": "int8", "exp-avg-sq-dtype": "int8"})").find("exp-avg-dtype") != std::string::npos);
}

TEST_CASE("fp8") {
  const auto j = megatron(R"({"fp8-format": "hybrid", "fp8-recipe": "mxfp8", "fp8-param-gather": true})");
  CHECK(j.precision.compute == formats::fp8);
  CHECK(j.precision.parameters == formats::fp8);
  CHECK(j.framework.fp8.scaling == fp8_scaling::block);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(refusal(R"({"fp8-format": "e5m2"})").find("fp8-format") != std::string::npos);
}

TEST_CASE("modules whose activations go to host memory") {
  const auto j = megatron(R"({"fine-grained-activation-offloading": true, "offload-modules": "[core_attn, attn_proj moe_act]", "overlap-moe-expert-parallel-comm": true})");
  CHECK(j.framework.checkpointing.offloaded_modules == 0b1001100);
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(j.framework.pipeline.overlaps_experts);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(megatron(R"({"offload-modules": "[core_attn]"})").framework.checkpointing.offloaded_modules == 0);
  CHECK(refusal(R"({"fine-grained-activation-offloading": true, "offload-modules": "[fused_group_mlp]"})").find("fused_group_mlp") != std::string::npos);
}

TEST_CASE("CUDA graphs") {
  const auto j = megatron(R"({"cuda-graph-impl": "transformer_engine", "cuda-graph-scope": "[attn moe_router]", "cuda-graph-warmup-steps": 0})");
  CHECK(j.framework.graphs.capture == graph_capture::by_engine);
  CHECK(j.framework.graphs.modules == 1);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(megatron(R"({"cuda-graph-impl": "transformer_engine", "cuda-graph-warmup-steps": 0})").framework.graphs.modules == 7);
  const auto later = megatron(R"({"cuda-graph-impl": "local", "cuda-graph-modules": "attn", "first-last-layers-bf16": true})");
  CHECK(later.framework.graphs.modules == 0);
  CHECK(io::read_job(io::job_to_json(later)) == later);
  CHECK(megatron(R"({"cuda-graph-impl": "none", "cuda-graph-scope": "full"})").framework.graphs.capture == graph_capture::none);
  CHECK(refusal(R"({"cuda-graph-impl": "full_iteration"})").find("full_iteration") != std::string::npos);
  CHECK(refusal(R"({"cuda-graph-impl": "local", "cuda-graph-scope": "full_iteration"})").find("full_iteration") != std::string::npos);
}

// Megatron-Bridge names a recipe for fp8 whether or not anything computes in it.
TEST_CASE("Megatron-Bridge by its name") {
  const auto j = io::read_job(io::parse_json(R"({"model": "llama-2-13b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "batch": {"sequence": 2048},
    "framework": {"name": "megatron", "version": "Megatron-Bridge @600d069, Megatron Core @24bad8e"}})", "job"));
  CHECK(j.framework == frameworks::megatron_bridge);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(megatron(R"({"fp8-recipe": "tensorwise"})").framework.fp8.names_recipe);
  CHECK_FALSE(megatron(R"({"fp8-recipe": "delayed"})").framework.fp8.names_recipe);
}

TEST_CASE("other trainers over Megatron by their names") {
  const auto named = [](const std::string& version) {
    const auto j = io::read_job(io::parse_json(R"({"model": "llama-2-13b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "batch": {"sequence": 2048},
      "framework": {"name": "megatron", "version": ")" + version + R"("}})", "job"));
    CHECK(io::read_job(io::job_to_json(j)).framework.communication.overlaps_input_gradients == j.framework.communication.overlaps_input_gradients);
    return j;
  };
  const auto nemo = named("NeMo 24.07");
  CHECK(nemo.framework.communication.overlaps_gradients);
  CHECK(io::read_job(io::job_to_json(nemo)) == nemo);
  CHECK_FALSE(named("Megatron-DeepSpeed bigscience 2022-02, DeepSpeed pipeline + ZeRO-1").framework.communication.overlaps_input_gradients);
  CHECK_FALSE(named("2021-04").framework.communication.overlaps_input_gradients);
  CHECK(named("2022-05").framework.communication.overlaps_input_gradients);
  CHECK_FALSE(megatron(R"({"no-async-tensor-model-parallel-allreduce": true})").framework.communication.overlaps_input_gradients);
}

// megatron/training/arguments.py: the strategy is optim_grads_params unless it is given; formats that are not given are "auto".
TEST_CASE("Megatron-FSDP") {
  const auto plain = megatron(R"({"use-megatron-fsdp": true})");
  CHECK(plain.sharding == megatron_fsdp());
  CHECK(megatron(R"({"use-megatron-fsdp": true, "data-parallel-sharding-strategy": "optim"})").sharding.stage == 1);
  CHECK(megatron(R"({"use-custom-fsdp": true, "data-parallel-sharding-strategy": "optim"})") == megatron(R"({"use-megatron-fsdp": true, "data-parallel-sharding-strategy": "optim"})"));  // its first name
  CHECK(megatron(R"({"use-custom-fsdp": false})").sharding.kind != sharding_kind::megatron_fsdp);
  CHECK(megatron(R"({"use-megatron-fsdp": true, "data-parallel-sharding-strategy": "no_shard"})").sharding.stage == 0);
  CHECK(megatron(R"({"data-parallel-sharding-strategy": "optim_grads"})").sharding == sharding{});
  const auto j = megatron(R"({"use-megatron-fsdp": true, "suggested-communication-unit-size": 1000, "fsdp-double-buffer": true, "megatron-fsdp-main-grads-dtype": "fp32",
    "megatron-fsdp-main-params-dtype": "auto", "megatron-fsdp-grad-comm-dtype": "bf16", "outer-dp-sharding-strategy": "no_shard"})");
  CHECK(j.sharding.communication_unit == 1000);
  CHECK(j.sharding.double_buffer == choice::yes);
  CHECK(j.precision.gradients == formats::fp32);
  CHECK(j.precision.reduce == formats::bf16);
  CHECK_FALSE(j.precision.master.present());
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(megatron(R"({"use-megatron-fsdp": true, "megatron-fsdp-main-grads-dtype": "auto"})").precision.gradients == formats::bf16);
  CHECK(refusal(R"({"use-megatron-fsdp": true})", R"("sharding": "ddp", )").find("contradicts sharding") != std::string::npos);
  CHECK(refusal(R"({"use-megatron-fsdp": true, "outer-dp-sharding-strategy": "optim"})").find("no_shard") != std::string::npos);
  CHECK(refusal(R"({"use-megatron-fsdp": true, "data-parallel-sharding-strategy": "zero"})").find("optim_grads_params") != std::string::npos);
}

TEST_CASE("Muon's layer-wise optimizer") {
  CHECK(megatron(R"({"no-use-layer-wise-param-layout": true})").framework.optimizer.muon == muon_layout::dealt_out);
  CHECK(megatron(R"({"overlap-grad-reduce": true})", R"("optimizer": "muon", )").framework.optimizer.muon == muon_layout::buckets);
  CHECK(megatron(R"({"overlap-grad-reduce": true})").framework.optimizer.muon == muon_layout::one_buffer);
  const auto j = megatron(R"({"overlap-grad-reduce": true, "no-use-layer-wise-param-layout": true})", R"("optimizer": "muon", )");
  CHECK(io::read_job(io::job_to_json(j)) == j);
}

TEST_CASE("fp8 beside fp32: a whole command line without --bf16 and --fp16") {
  CHECK(megatron(R"({"fp8-format": "e4m3", "hidden-size": 512})").framework.fp8.rest_in_fp32);
  CHECK_FALSE(megatron(R"({"fp8-format": "e4m3", "hidden-size": 512, "bf16": true})").framework.fp8.rest_in_fp32);
  CHECK_FALSE(megatron(R"({"fp8-format": "e4m3"})").framework.fp8.rest_in_fp32);
}

TEST_CASE("a command line as it stands in a recipe") {
  CHECK(megatron(R"({"train-iters": 50, "lr": 0.00015, "lr-decay-style": "cosine", "split": "949,50,1", "tokenizer-model": "x", "save-interval": 10000,
    "eval-iters": 10, "distributed-backend": "nccl", "bf16": true, "ckpt-format": "torch_dist", "moe-token-dispatcher-type": "alltoall"})") == megatron(R"({"moe-token-dispatcher-type": "alltoall"})"));
  CHECK(refusal(R"({"no-such-argument": 1})").find("no-such-argument") != std::string::npos);
}

TEST_CASE("what is not modelled is refused by name") {
  for (const std::string key : {"keep-fp8-transpose-cache", "cuda-graph-impl", "fine-grained-activation-offloading", "optimizer-cpu-offload", "delay-wgrad-compute"})
    CHECK(refusal("{\"" + key + "\": true}").find(key) != std::string::npos);
}

TEST_CASE("what Megatron-LM did before 2024-06 goes by the version's date, and is written with it") {
  const auto of = [](const char* version, const char* options) {
    return io::read_job(io::parse_json(std::string(R"({"model": "llama-2-7b", "hardware": {"gpu": "a100-sxm-80gb"}, "batch": {"sequence": 8}, "framework": {"name": "megatron", "version": ")") + version +
                                           R"(", "options": )" + options + "}}", "job"));
  };
  const auto old = of("2023-08", "{}").framework, later = of("2024-01", "{}").framework, spring = of("2024-05", "{}").framework, now = of("2024-06", "{}").framework;
  CHECK((old.mlp.writes_out_glu && old.rotary.writes_out && old.loss.copies_scaled_logits && old.modules.local()));
  CHECK((!later.mlp.writes_out_glu && !later.rotary.writes_out && later.loss.copies_scaled_logits && later.modules.local()));
  CHECK((spring.loss.copies_scaled_logits && !spring.modules.local()));
  CHECK((!now.loss.copies_scaled_logits && !now.modules.local()));
  CHECK_FALSE(of("2023-08", R"({"transformer-impl": "transformer_engine"})").framework.modules.local());
  CHECK(of("", R"({"no-bias-swiglu-fusion": true})").framework.mlp.writes_out_glu);
  for (const auto* version : {"2023-08", "2024-01", "2024-05", "2024-06", ""}) {
    for (const auto* options : {"{}", R"({"transformer-impl": "local"})", R"({"transformer-impl": "transformer_engine", "no-bias-swiglu-fusion": true})"}) {
      const auto j = of(version, options);
      CHECK((io::read_job(io::job_to_json(j)).framework == j.framework));
    }
  }
}

}  // namespace test_megatron_options
