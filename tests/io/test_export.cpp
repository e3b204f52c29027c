// Distributed under the Boost Software License, Version 1.0.
// Jobs in other programs' files: what is written, and that it reads back as the same job.
#include <doctest/doctest.h>

#include <headroom/io/export.hpp>

#include "estimate/draw.hpp"
#include "imported.hpp"

namespace test_export {

using namespace imported;

namespace {

std::string refusal_of(const job& j, io::export_target target) {
  try {
    io::exported(j, target);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

const job eight{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8}, .batch = {.micro = 2, .sequence = 4096, .accumulation = 4}};

/// The job again, from a target's text: `kept` are the sections that it does not say.
job again(const job& j, const std::string& text, const char* file, std::initializer_list<const char*> kept) {
  const auto whole = io::job_to_json(io::stated(j));
  io::draft d;
  for (const auto* key : kept) {
    const std::string path{key};
    const auto dot = path.find('.');
    if (dot == std::string::npos && whole.contains(path)) d.job[path] = whole[path];
    if (dot != std::string::npos && whole.contains(path.substr(0, dot)) && whole[path.substr(0, dot)].contains(path.substr(dot + 1))) d.job[path.substr(0, dot)][path.substr(dot + 1)] = whole[path.substr(0, dot)][path.substr(dot + 1)];
  }
  io::import_file(d, text, file, io::file_kind::unknown, settings());
  return io::stated(d.settled());
}

/// Sizes and words that a target knows, where the dice would nearly never find them.
job fit_for(job j, io::export_target target) {
  auto& m = j.model;
  if (target == io::export_target::megatron) {
    m.activation = m.mlp == mlp_kind::gated ? activation_kind::silu : activation_kind::gelu;
    m.norm_bias = m.norm == norm_kind::layernorm;
    if (m.mlp == mlp_kind::gated) m.attention_bias = m.output_bias = m.mlp_bias = false;
    if (j.parallel.schedule != schedule::interleaved) j.parallel.schedule = schedule::one_forward_one_backward;
  }
  if (target == io::export_target::torchtitan) {
    j.batch.padded = false;
    j.loss = {};
    j.optimizer = {.how = j.optimizer.how};
    j.precision = {};
    j.offload = {};
    j.adapter = {};
    j.trainable = {};
    if (j.recompute.policy == recompute_policy::attention_only) j.recompute = {};
  }
  if (target == io::export_target::accelerate && j.framework.label.view() == "hf-trainer") {
    j.precision = j.sharding.kind == sharding_kind::fsdp1 || j.sharding.kind == sharding_kind::fsdp2 ? precisions::bf16_mixed : precisions::bf16_autocast;
    j.adapter = {};
    if (j.offload.parameters != place::on_gpu) j.offload.parameters = j.offload.optimizer = place::on_cpu;
  }
  if (target == io::export_target::deepspeed) {
    if (j.sharding.kind != sharding_kind::zero) j.sharding = zero(3);
    if (j.precision.compute == formats::fp8) j.precision = precisions::bf16_mixed;
  }
  return j;
}

}  // namespace

TEST_CASE("torchtitan: every schedule of torch's by its name") {
  for (const auto& s : schedules) {
    if (s.torch.empty()) continue;
    job j = eight;
    j.framework = frameworks::torchtitan_202508;
    j.sharding = fsdp2();
    j.parallel = {.data = 4, .pipeline = 4, .virtual_pipeline = s.chunks == 0 ? 2 : s.chunks, .schedule = s.kind};
    const auto text = io::exported(j, io::export_target::torchtitan);
    CHECK(holds(text, "pipeline_parallel_schedule = \"" + std::string{s.torch} + "\""));
#if HEADROOM_HAS_TOML
    CHECK(again(j, text, "job.toml", {"model", "hardware", "framework.name", "framework.version"}).parallel == j.parallel);
#endif
  }
}

TEST_CASE("DeepSpeed: numbers, and only what the job says") {
  job j = eight;
  j.framework = frameworks::deepspeed;
  j.sharding = zero(3);
  j.sharding.reduce_bucket_size = 16'777'216;
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_nvme, .pin_memory = true, .max_in_cpu = 1'000'000'000};
  const auto ds = io::parse_json(io::exported(j, io::export_target::deepspeed), "ds");
  CHECK(ds["train_batch_size"] == 128);  // 2 × 4 × 16
  CHECK(ds["train_micro_batch_size_per_gpu"] == 2);
  CHECK(ds["gradient_accumulation_steps"] == 4);
  CHECK(ds["bf16"]["enabled"] == true);
  CHECK(ds["fp16"]["enabled"] == false);
  CHECK(ds["optimizer"]["type"] == "AdamW");
  CHECK(ds["zero_optimization"]["stage"] == 3);
  CHECK(ds["zero_optimization"]["reduce_bucket_size"] == 16'777'216);
  CHECK(ds["zero_optimization"]["offload_optimizer"]["device"] == "cpu");
  CHECK(ds["zero_optimization"]["offload_param"]["max_in_cpu"] == 1'000'000'000);
  CHECK_FALSE(ds["zero_optimization"].contains("stage3_prefetch_bucket_size"));
  CHECK_FALSE(holds(ds.dump(), "auto"));
  j.framework = frameworks::megatron;
  CHECK(holds(refusal_of(j, io::export_target::deepspeed), "needs a job whose framework is deepspeed, found megatron"));
  j.framework = frameworks::deepspeed;
  j.precision = precisions::bf16;
  CHECK(holds(refusal_of(j, io::export_target::deepspeed), "cannot say precision"));
}

TEST_CASE("Megatron-LM: Llama-3.1-70B as people write it") {
  const auto j = io::read_job_file(HEADROOM_EXAMPLES "/jobs/llama-3.1-70b-megatron.json");
  const auto text = io::exported(j, io::export_target::megatron);
  for (const auto* part : {"--num-layers 80 ", "--hidden-size 8192 ", "--ffn-hidden-size 28672 ", "--num-query-groups 8 ", "--swiglu", "--tensor-model-parallel-size 8 ", "--pipeline-model-parallel-size 4 ", "--sequence-parallel ",
                           "--global-batch-size 64 ", "--use-distributed-optimizer", "--bf16 ", "--untie-embeddings-and-output-weights ", "--attention-backend flash ", "--no-create-attention-mask-in-dataloader "})
    CHECK_MESSAGE(holds(text, part), text);
  auto other = j;
  other.parallel.schedule = schedule::dualpipe;
  CHECK(holds(refusal_of(other, io::export_target::megatron), "cannot say parallel.schedule = \"dualpipe\""));
}

TEST_CASE("torchrun and sbatch") {
  job j = eight;
  j.environment = {.cublas_workspace = bytes{4096 * 1024 * 8}, .expandable_segments = choice::yes, .torch = 212};
  const auto run = io::exported(j, io::export_target::torchrun);
  CHECK(holds(run, "torchrun --nnodes=2 --nproc-per-node=8 --node-rank=\"$NODE_RANK\" --master-addr=\"$MASTER_ADDR\" --master-port=\"${MASTER_PORT:-29500}\""));
  CHECK(holds(run, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"));
  const auto batch = io::exported(j, io::export_target::sbatch);
  CHECK(batch.starts_with("#!/bin/bash\n#SBATCH --nodes=2\n"));
  CHECK(holds(batch, "#SBATCH --gpus-per-node=8\n"));
  j.hardware.others.add({gpus::a100_sxm_40gb, 8});
  CHECK(holds(refusal_of(j, io::export_target::sbatch), "mixed"));
}

TEST_CASE("what is written reads back as the same job") {
  draw::jobs dice{20261121};
  int written[6] = {};
  for (int i = 0; i < (draw::sanitized ? 150 : 1500); ++i) {
    const auto drawn = dice.next();
    for (const auto& t : io::export_targets) {
      const auto j = io::stated(fit_for(drawn, t.value));
      std::string text;
      try {
        text = io::exported(j, t.value);
      } catch (const job_error&) {
        continue;  // in a sentence
      }
      ++written[static_cast<int>(t.value)];
      CAPTURE(i);
      CAPTURE(text);
      switch (t.value) {
        case io::export_target::deepspeed:
          CHECK((again(j, text, "ds.json", {"model", "hardware", "framework", "optimizer", "parallel", "batch.sequence", "batch.padded", "batch.packed", "recompute", "attention", "loss", "adapter", "trainable", "dropout", "compile", "environment"}) == j));
          break;
        case io::export_target::megatron:
          CHECK((io::as_megatron(again(j, text, "run.sh", {"hardware", "environment"})) == io::as_megatron(j)));
          break;
#if HEADROOM_HAS_YAML
        case io::export_target::accelerate: {
          const bool engine = j.framework.label.view() == "deepspeed", sharded = j.sharding.kind == sharding_kind::fsdp1 || j.sharding.kind == sharding_kind::fsdp2;
          auto whole = io::job_to_json(j);
          whole["hardware"].erase("nodes");
          whole["hardware"].erase("gpus_per_node");
          if (!engine)
            for (const auto* key : {"sharding", "precision", "compile"}) whole.erase(key);
          if (!engine && sharded) whole.erase("offload");
          io::draft d;
          d.job = whole;
          d.read.push_back(io::file_kind::job);
          io::import_file(d, text, "accelerate.yaml", io::file_kind::unknown, settings());
          auto back = io::stated(d.settled());
          back.offload.activations = j.offload.activations;
          CHECK((io::as_accelerate(io::stated(back)) == io::as_accelerate(j)));
          break;
        }
#endif
#if HEADROOM_HAS_TOML
        case io::export_target::torchtitan:
          CHECK((io::as_torchtitan(again(j, text, "job.toml", {"model", "hardware", "framework.name", "framework.version", "environment", "attention", "dropout", "parallel.stage_layers"})) == io::as_torchtitan(j)));
          break;
#endif
        case io::export_target::torchrun:
        case io::export_target::sbatch: {
          auto whole = io::job_to_json(j);
          whole["hardware"].erase("nodes");
          whole["hardware"].erase("gpus_per_node");
          if (whole.contains("environment"))
            for (const auto* key : {"allocator", "cublas_workspace", "nccl_buffsize"}) whole["environment"].erase(key);
          io::draft d;
          d.job = whole;
          d.read.push_back(io::file_kind::job);
          io::import_file(d, text, "run.sh", io::file_kind::unknown, settings());
          CHECK((io::stated(d.settled()) == j));
          break;
        }
        default: break;
      }
    }
  }
  for (const auto& t : io::export_targets) {
    CAPTURE(t.text);
    CHECK(written[static_cast<int>(t.value)] >= (draw::sanitized ? 2 : 20));
  }
}

}  // namespace test_export
