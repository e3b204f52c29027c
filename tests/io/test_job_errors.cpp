// Distributed under the Boost Software License, Version 1.0.
// What is wrong with a job is said by path, with what was found and what is accepted.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

namespace test_job_errors {

using namespace headroom;

namespace {

std::string reading(const io::json_value& value) {
  try {
    io::read_job(value);
  } catch (const job_error& e) {
    return e.what();
  }
  return "no error";
}

/// A good job with one value replaced: `pointer` as in RFC 6901.
std::string with(const std::string& pointer, const std::string& text) {
  auto job = io::parse_json(R"({
    "model": {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 128, "vocab": 1000, "experts": {"count": 4, "active": 2, "ffn": 64}},
    "hardware": {"gpu": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 8, "host_memory_gib": 64, "nvme_gib": 0},
    "framework": {"name": "libtorch", "version": "2025-01"},
    "precision": {"parameters": "bf16", "compute": "bf16", "gradients": "bf16", "reduce": "bf16", "master": "none", "state": "bf16"},
    "optimizer": {"name": "adamw", "implementation": "foreach"},
    "parallel": {"data": 8, "tensor": 1, "sequence": false, "pipeline": 1, "context": 1, "expert": 1, "schedule": "1f1b"},
    "sharding": {"kind": "fsdp2", "stage": 3},
    "offload": {"optimizer": "none", "parameters": "none", "activations": "none", "pin_memory": true},
    "batch": {"micro": 1, "sequence": 128, "accumulation": 1, "padded": false},
    "recompute": {"mode": "selective", "policy": "every-other-matmul"},
    "attention": "sdpa",
    "loss": {"kind": "full", "logits": "fp32"},
    "adapter": {"kind": "lora", "rank": 8, "targets": ["q_proj"], "format": "bf16", "dropout": 0.1, "base": "nf4"},
    "trainable": [{"layers": [0, 1], "modules": ["router"]}],
    "dropout": {"hidden": 0.1},
    "compile": false,
    "environment": {"cublas_workspace": ":4096:8", "allocator": {"expandable_segments": true}}})",
                            "job");
  if (!pointer.empty()) job[io::json_value::json_pointer{pointer}] = io::parse_json(text, "value");
  return reading(job);
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the good job is good") { CHECK(with("", "") == "no error"); }

TEST_CASE("every key refuses a wrong type and names itself") {
  // The value that no key accepts is a list that holds an object.
  for (const std::string pointer : {"/model",
                                    "/model/layers",
                                    "/model/experts",
                                    "/model/experts/count",
                                    "/hardware",
                                    "/hardware/gpu",
                                    "/hardware/nodes",
                                    "/hardware/gpus_per_node",
                                    "/hardware/host_memory_gib",
                                    "/hardware/nvme_gib",
                                    "/framework",
                                    "/framework/name",
                                    "/framework/version",
                                    "/framework/options",
                                    "/precision",
                                    "/precision/parameters",
                                    "/precision/state",
                                    "/precision/autocast",
                                    "/optimizer",
                                    "/optimizer/name",
                                    "/optimizer/implementation",
                                    "/optimizer/state",
                                    "/optimizer/paged",
                                    "/optimizer/rank",
                                    "/parallel",
                                    "/parallel/data",
                                    "/parallel/sequence",
                                    "/parallel/schedule",
                                    "/parallel/stage_layers",
                                    "/sharding",
                                    "/sharding/kind",
                                    "/sharding/stage",
                                    "/sharding/reduce_bucket_size",
                                    "/sharding/overlap_comm",
                                    "/sharding/unit",
                                    "/offload",
                                    "/offload/optimizer",
                                    "/offload/pin_memory",
                                    "/batch",
                                    "/batch/micro",
                                    "/batch/sequence",
                                    "/batch/padded",
                                    "/recompute",
                                    "/recompute/mode",
                                    "/recompute/modules",
                                    "/recompute/policy",
                                    "/recompute/reentrant",
                                    "/attention",
                                    "/loss",
                                    "/loss/kind",
                                    "/loss/logits",
                                    "/loss/chunk_tokens",
                                    "/adapter",
                                    "/adapter/kind",
                                    "/adapter/rank",
                                    "/adapter/targets",
                                    "/adapter/base",
                                    "/adapter/dropout",
                                    "/adapter/fused_qkv",
                                    "/adapter/base_skips",
                                    "/adapter/modules_to_save",
                                    "/trainable",
                                    "/trainable/0/layers",
                                    "/trainable/0/experts",
                                    "/trainable/0/modules",
                                    "/dropout",
                                    "/dropout/hidden",
                                    "/compile",
                                    "/environment",
                                    "/environment/cublas_workspace",
                                    "/environment/allocator",
                                    "/environment/allocator/expandable_segments",
                                    "/environment/nccl_buffsize",
                                    "/environment/torch"}) {
    CAPTURE(pointer);
    const auto sentence = with(pointer, pointer == "/trainable" ? "3" : R"([{"no": "such"}])");
    auto path = pointer.substr(1);
    if (path == "hardware/gpu") {  // a list is a mixed cluster there
      CHECK(holds(sentence, "hardware.gpu[0].gpu is required"));
      continue;
    }
    std::replace(path.begin(), path.end(), '/', '.');
    if (const auto at = path.find(".0"); at != std::string::npos) path.replace(at, 2, "[0]");
    CHECK(sentence.starts_with("headroom: " + path));
    CHECK(holds(sentence, " must "));
  }
}

TEST_CASE("unknown keys are refused in every object, with the likely one") {
  CHECK(holds(with("/optimiser", "1"),
              "headroom: unknown key \"optimiser\" at top level; did you mean \"optimizer\"? accepted: "));
  CHECK(holds(with("/parallel/tensr", "1"), "unknown key \"tensr\" in parallel; did you mean \"tensor\"?"));
  CHECK(holds(with("/model/layer", "1"), "unknown key \"layer\" in model; did you mean \"layers\"?"));
  CHECK(holds(with("/model/experts/cuont", "1"), "in model.experts; did you mean \"count\"?"));
  CHECK(holds(with("/hardware/gpus", "1"), "in hardware"));
  CHECK(holds(with("/environment/allocator/backend", "1"),
              "in environment.allocator; accepted: "));
  CHECK(holds(with("/trainable/0/layer", "1"), "in trainable[0]; did you mean \"layers\"?"));
  for (const std::string section : {"hardware", "framework", "precision", "optimizer", "parallel", "sharding", "offload",
                                    "batch", "recompute", "loss", "adapter", "dropout", "environment"}) {
    CAPTURE(section);
    CHECK(with("/" + section + "/zzzzzzzz", "1")
              .starts_with("headroom: unknown key \"zzzzzzzz\" in " + section + "; accepted: "));
  }
}

TEST_CASE("sentences") {
  CHECK(with("/parallel/tensor", "\"two\"") ==
        "headroom: parallel.tensor must be a whole number from 1 to 1048576, found \"two\"");
  CHECK(with("/model/layers", "1e30") == "headroom: model.layers must be a whole number from 0 to 1048576, found 1e+30");
  CHECK(with("/batch/micro", "-1") == "headroom: batch.micro must be a whole number from 1 to 2147483648, found -1");
  CHECK(with("/compile", "\"yes\"") == "headroom: compile must be true or false, found \"yes\"");
  CHECK(with("/dropout/hidden", "1.5") == "headroom: dropout.hidden must be a number from 0.0 to 1.0, found 1.5");
  CHECK(holds(with("/attention", "\"flsh\""),
              "attention must not be \"flsh\"; did you mean \"flash\"? accepted: eager, sdpa, flash, flash3, te, math"));
  CHECK(holds(with("/hardware/gpu", "\"h100-sxm-80g\""), "did you mean \"h100-sxm-80gb\"?"));
  CHECK(holds(with("/hardware/gpu", R"({"name": "mystery"})"), "hardware.gpu.memory_gib is required"));
  CHECK(holds(with("/hardware/gpu", R"([{"gpu": "l4", "count": 3}])"), "must add up to nodes × gpus_per_node, 8; they add up to 3"));
  CHECK(holds(with("/hardware/gpu", R"([{"gpu": "l4"}])"), "hardware.gpu[0].count is required"));
  CHECK(holds(with("/hardware/gpu", "[]"), "hardware.gpu must not be an empty list"));
  CHECK(holds(with("/framework", "\"no-such\""), "accepted: torchtitan, megatron"));
  CHECK(holds(with("/framework/options", R"({"b": 1})"), "unknown key \"b\" in framework.options"));
  CHECK(with("/framework/options", "{}") == "no error");
  CHECK(holds(with("/sharding", "\"zero4\""), "did you mean \"zero"));
  CHECK(holds(with("/sharding", R"({"kind": "zero"})"), "sharding.stage is required"));
  CHECK(holds(with("/sharding", R"({"kind": "ddp", "stage": 1})"),
              "sharding.stage must be a whole number from 0 to 0, found 1"));
  CHECK(holds(with("/model", "\"llama-3.1-8\""),
              "is neither a name of the model zoo nor a file; did you mean \"llama-3.1-8b\"?"));
  CHECK(holds(with("/model", R"({"hidden": 8})"), "model.layers is required"));
  CHECK(holds(with("/model", R"({"base": "nobody", "layers": 3})"), "model.base \"nobody\" is neither"));
  CHECK(holds(with("/adapter/targets", R"(["q_porj"])"),
              "adapter.targets[0] must not be \"q_porj\"; did you mean \"q_proj\"?"));
  CHECK(holds(with("/trainable/0/layers", "[3, 1]"), "first <= last"));
  CHECK(holds(with("/environment/cublas_workspace", "\":4096\""), ":4096:8"));
  CHECK(holds(with("/offload/activations", "\"nvme\""), "must be \"none\" or \"cpu\""));
  CHECK(holds(with("/recompute/modules", R"(["mlp", "attn"])"), "recompute.modules[1] must not be \"attn\""));
  CHECK(reading(io::parse_json("[]", "x")) == "headroom: a job must be an object, found an empty list");
  CHECK(holds(reading(io::parse_json("{}", "x")), "headroom: model is required"));
  CHECK(holds(reading(io::parse_json(R"({"model": "llama-3.1-8b"})", "x")), "batch.sequence is required"));
  CHECK(holds(with("/optimizer", "\"adamx\""), "did you mean \"adam"));
}

TEST_CASE("a path is relative to the job's folder, and only that file is read") {
  const auto m = io::read_model_named("models/llama-3.1-8b", "model", HEADROOM_EXAMPLES);
  CHECK(m.hidden == 4096);
  CHECK(m.label.view() == "llama-3.1-8b");
  CHECK(io::read_model_named("models/llama-3.1-8b/config.json", "model", HEADROOM_EXAMPLES) == m);
  CHECK(holds(with("/model", "\"jobs\""), "neither a name"));
  CHECK_THROWS_AS(io::read_job_file("/no/such/file.json"), job_error);
  CHECK_THROWS_AS(io::read_job_file(HEADROOM_EXAMPLES), job_error);
}

TEST_CASE("what is refused names what was probably meant") {
  CHECK(holds(with("/hardware/gpu", R"("h100")"), "did you mean one of h100-pcie-80gb, h100-sxm-80gb, h100-sxm-96gb, h100-nvl-94gb, h100-80gb?"));
  CHECK(holds(with("/hardware/gpu", "null"), "must be a GPU's name, or {\"name\", \"memory_gib\"}, found null"));
  CHECK(holds(with("/hardware/gpu", R"({"name": "mine", "memory_gb": 80})"), "accepted: name, memory_gib, compute"));
  CHECK(holds(with("/model", R"("meta-llama/Llama-3.1-8B-Instrct")"), "did you mean \"llama-3.1-8b-instruct\"?"));
  CHECK(holds(with("/precision", R"("fp16")"), "did you mean \"fp16-mixed\"?"));
  CHECK(holds(with("/batch/micro_batch_size", "2"), "did you mean \"micro\"?"));
  CHECK(holds(with("/hardware/memory", "80"), "did you mean \"host_memory_gib\"?"));
  CHECK(holds(with("/batch/global", "32"), "is for headroom plan"));
  CHECK(holds(with("/parallel", R"("auto")"), "\"auto\" is for headroom plan"));
  CHECK(holds(with("/recompute", "true"), "must be \"none\", \"full\", \"selective\" or an object, found true"));
  CHECK(holds(reading(io::parse_json(R"({"train_batch_size": 32, "zero_optimization": {"stage": 3}})", "ds")), "headroom import makes a job of it"));
}

TEST_CASE("what would stop the training itself at its first step") {
  const auto said = [](const std::string& model, const std::string& batch, const std::string& rest = {}) {
    const auto job = io::read_job(io::parse_json(R"({"model": )" + model + R"(, "framework": "hf-trainer", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": )" + batch + rest + "}", "job"));
    const auto why = objection_to(job);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  // A table of positions has no row for a later one: GPT-2 has 1,024, Whisper 448 for its text and 1,500 for its sound (their model cards).
  CHECK(said("\"gpt2\"", R"({"sequence": 1024})").empty());
  CHECK(holds(said("\"gpt2\"", R"({"sequence": 1025})"), "batch.sequence must be at most model.max_positions, the positions that this model has learned; they are (found 1024)"));
  CHECK(said("\"gpt2\"", R"({"sequence": 4096, "packed": true})", R"(, "attention": "flash")").empty());  // each document begins at 0
  CHECK(said("\"gpt2\"", R"({"sequence": 4096, "lengths": {"mean": 200, "deviation": 50, "least": 10, "most": 900}})").empty());
  CHECK(!said("\"gpt2\"", R"({"sequence": 4096, "lengths": {"mean": 200, "deviation": 50, "least": 10, "most": 1100}})").empty());
  CHECK(said("\"llama-3.2-1b\"", R"({"sequence": 1000000})").empty());  // turned by angles, of which there is no table
  CHECK(said("\"whisper-small\"", R"({"sequence": 448})").empty());
  CHECK(!said("\"whisper-small\"", R"({"sequence": 449})").empty());
  auto j = io::read_job(io::parse_json(R"({"model": "whisper-small", "framework": "hf-trainer", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 448}})", "job"));
  j.model.encoder.sequence = 1501;
  CHECK(holds(objection_to(j).in_words().what(), "model.encoder.sequence must be at most the positions that the encoder has learned; they are (found 1500)"));
}

TEST_CASE("fp8 is computed where there are units for it") {
  const auto said = [](const std::string& gpu) {
    const auto job = io::read_job(io::parse_json(R"({"model": "llama-3.1-8b", "framework": "megatron", "precision": "fp8", "sharding": "megatron-distributed-optimizer", "hardware": {"gpus_per_node": 8, "gpu": )" + gpu + R"(}, "batch": {"sequence": 4096}})", "job"));
    const auto why = objection_to(job);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  for (const auto* able : {"\"h100-sxm-80gb\"", "\"l40s\"", "\"b200-sxm-180gb\"", "\"mi300x-192gb\"", R"({"name": "one of my own", "memory_gib": 80})"}) CHECK(said(able).empty());
  for (const auto* unable : {"\"a100-sxm-80gb\"", "\"rtx-3090\"", "\"v100-32gb\""}) CHECK(holds(said(unable), "compute in fp8 on GPUs of compute capability 8.9 and later alone"));
}

TEST_CASE("attention kernels run where they can") {
  // flash-attn: "FlashAttention only supports Ampere GPUs or newer".
  const auto of = [](const std::string& framework, const std::string& attention, const std::string& gpu, const std::string& precision, const std::string& rest = {}) {
    return io::read_job(io::parse_json(R"({"model": "llama-3.2-1b", "framework": ")" + framework + R"(", "attention": ")" + attention + R"(", "precision": ")" + precision + R"(", "hardware": {"gpus_per_node": 8, "gpu": ")" + gpu + R"("})" + rest + R"(, "batch": {"sequence": 4096}})", "job"));
  };
  const auto said = [&](const auto&... a) {
    const auto j = of(a...);
    const auto why = objection_to(j);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  const std::string ddp = R"(, "sharding": "ddp")";
  CHECK(said("hf-trainer", "flash", "a100-sxm-80gb", "bf16", ddp).empty());
  CHECK(said("hf-trainer", "flash", "mi300x-192gb", "bf16", ddp).empty());
  CHECK(holds(said("hf-trainer", "flash", "v100-32gb", "fp16-mixed", ddp), "flash attention runs on GPUs of compute capability 8.0 and later alone; attention may be sdpa or eager; hardware.gpu (found \"v100-sxm2-32gb\")"));
  CHECK(said("hf-trainer", "sdpa", "v100-32gb", "fp32", ddp).empty());
  // TransformerEngine falls back on its unfused kernel there, which writes the scores out.
  const auto peak = [&](const auto&... a) { return estimate(of("megatron", a...)).peak(); };
  CHECK(peak("te", "a100-sxm-80gb", "fp32") == peak("eager", "a100-sxm-80gb", "fp32"));
  CHECK(peak("te", "v100-32gb", "fp16-mixed") == peak("eager", "v100-32gb", "fp16-mixed"));
  CHECK(peak("te", "a100-sxm-80gb", "fp16-mixed") < peak("eager", "a100-sxm-80gb", "fp16-mixed"));
  // A rank has a piece from either end of the sequence.
  const auto context = [&](const std::string& sequence) {
    const auto j = io::read_job(io::parse_json(R"({"model": "llama-3.2-1b", "framework": "megatron", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "parallel": {"context": 4}, "batch": {"sequence": )" + sequence + "}}", "job"));
    const auto why = objection_to(j);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  CHECK(context("4096").empty());
  CHECK(context("4104").empty());
  CHECK(holds(context("4100"), "batch.sequence must be a multiple of 2 × parallel.context; sequence (found 4100)"));
}

TEST_CASE("degrees that do not make the GPUs are told with their product") {
  const auto sentence = [](degrees parallel) {
    try {
      estimate(job{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .parallel = parallel, .batch = {.sequence = 8}});
    } catch (const job_error& e) {
      return std::string{e.what()};
    }
    return std::string{"no error"};
  };
  CHECK(holds(sentence({.tensor = 3}), "must divide the GPUs, hardware.nodes × gpus_per_node; the product (found 3)"));
  CHECK(holds(sentence({.data = 2, .tensor = 8}), "must be the GPUs, hardware.nodes × gpus_per_node; the product (found 16)"));
}

}  // namespace test_job_errors
