// Distributed under the Boost Software License, Version 1.0.
// Jobs in other programs' files: what is written, and that it reads back as the same job.
#include <doctest/doctest.h>

#include <headroom/io/export.hpp>

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

#if HEADROOM_HAS_TOML
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
#endif

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

TEST_CASE("torchtitan shards nothing over one rank") {
  job j = eight;
  j.hardware.nodes = j.hardware.gpus_per_node = 1;
  j.framework = frameworks::torchtitan_202508;
  j.sharding = fsdp2();
  CHECK(holds(refusal_of(j, io::export_target::torchtitan), "cannot say sharding.kind = \"fsdp2\" of one rank"));
  j.hardware.gpus_per_node = 2;
  CHECK(refusal_of(j, io::export_target::torchtitan) == "");
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

// megatron/training/arguments.py: p2p, a2a and all_gather are cp_comm_type's words; MTP layers are said where a model has them.
TEST_CASE("Megatron-LM: how ranks of context parallelism exchange") {
  auto j = io::read_job_file(HEADROOM_EXAMPLES "/jobs/llama-3.1-70b-megatron.json");
  CHECK_FALSE(holds(io::exported(j, io::export_target::megatron), "cp-comm-type"));
  CHECK_FALSE(holds(io::exported(j, io::export_target::megatron), "mtp-num-layers"));
  j.hardware.nodes *= 2;
  j.parallel.context = 2;
  const std::pair<context_kind, const char*> kinds[] = {{context_kind::ring, "p2p"}, {context_kind::ulysses, "a2a"}, {context_kind::all_gather, "all_gather"}};
  for (const auto& [kind, word] : kinds) {
    j.parallel.context_kind = kind;
    j.parallel.tensor = kind == context_kind::ulysses ? 4 : 8;  // which exchanges a rank's key-value heads: there must be two
    j.hardware.nodes = j.parallel.data * j.parallel.pipeline * j.parallel.tensor * 2 / 8;
    CHECK(holds(io::exported(j, io::export_target::megatron), "--cp-comm-type " + std::string{word} + " "));
  }
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

TEST_CASE("a schedule is not dropped on one stage") {
  job j = eight;
  j.framework = frameworks::megatron;
  j.attention = attention::flash;
  j.sharding.kind = sharding_kind::ddp;
  CHECK(refusal_of(j, io::export_target::megatron) == "");
  j.parallel.schedule = schedule::gpipe;
  CHECK(holds(refusal_of(j, io::export_target::megatron), "cannot say parallel.schedule = \"gpipe\""));
  j.parallel.schedule = {};
  j.attention = attention::unset;
  CHECK(holds(refusal_of(j, io::export_target::megatron), "cannot leave attention out: it would be \"te\""));
  j.framework = frameworks::megatron_bridge;
  CHECK(holds(refusal_of(j, io::export_target::megatron), "cannot say framework.version = \"Megatron-Bridge\""));
}

}  // namespace test_export
