// Distributed under the Boost Software License, Version 1.0.
// LLaMA-Factory's second trainer: its own examples in (hiyouga/LLaMA-Factory ff6d4d12 examples/v1), jobs, bytes or sentences out.
#include "imported.hpp"

#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_llama_factory_v1 {

using namespace imported;

namespace {

/// examples/v1/train_full/train_full_fsdp2.yaml, without its comments.
const std::string full =
    "model: Qwen/Qwen3-0.6B\nmodel_class: llm\nkernel_config:\n  name: auto\nquant_config: null\ndist_config:\n  name: fsdp2\n  dcp_path: null\ntrain_dataset: data/v1_sft_demo.yaml\n"
    "output_dir: outputs/test_fsdp2\nmicro_batch_size: 1\ncutoff_len: 2048\nlearning_rate: 1.0e-4\nmax_steps: 10\nsample_backend: hf\nmax_new_tokens: 128\n";
const std::vector<std::string> eight{"hardware.gpus_per_node=8"}, one{"hardware.gpus_per_node=1"};

job read(const std::string& yaml, const std::vector<std::string>& set = eight) { return job_of({{"sft.yaml", yaml}}, set); }
std::string refused(const std::string& yaml, const std::vector<std::string>& set = eight) { return refusal_of({{"sft.yaml", yaml}}, set); }
std::string with(std::string yaml, const std::string& from, const std::string& to) {
  yaml.replace(yaml.find(from), from.size(), to);
  return yaml;
}

breakdown at(const rank_report& r, phase p) { return r.at_phase[static_cast<std::size_t>(p)]; }

/// Qwen3-0.6B's file: 596,049,920 parameters, of which the tied table has 151,936 × 1,024.
constexpr std::int64_t all = 596'049'920, vocabulary = 151'936;

}  // namespace

TEST_CASE("whole models under FSDP2, as the second trainer has them") {
  const auto j = read(full);
  CHECK(j.framework.label == "llama-factory-v1");
  CHECK(j.sharding.kind == sharding_kind::fsdp2);
  CHECK(j.sharding.reshard_after_forward);
  CHECK(j.precision == precision{{}, formats::fp32, formats::bf16, formats::fp32, formats::fp32, formats::none, formats::fp32});
  CHECK(j.recompute == recompute{.mode = recompute_mode::full, .reentrant = choice::no});
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .lengths = {.unknown = true}});
  CHECK(j.optimizer.label == "adamw");
  const auto r = estimate(j);
  const auto& rank = r.tightest();
  const auto stays = [&](row of) { return at(rank, phase::save)[of]; };
  // The whole model is on each GPU, in fp32, before it is divided.
  CHECK(rank[phase::load] >= bytes{4 * all});
  CHECK(rank[phase::load] < bytes{4 * all} + 96 * mib);
  // What stays: an eighth of fp32 weights and of two moments.
  CHECK(stays(row::model_parameters) >= bytes{4 * all / 8});
  CHECK(stays(row::model_parameters) < bytes{4 * all / 8} + mib);
  CHECK(stays(row::optimizer_state) >= bytes{8 * all / 8});
  CHECK(stays(row::optimizer_state) < bytes{8 * all / 8} + 2 * mib);
}

// fully_shard divides what lies on the GPU, and each shard goes to the host from there (torch distributed/fsdp/_fully_shard/_fsdp_param.py _init_sharded_param).
TEST_CASE("shards that wait on the host were whole on the GPU, too") {
  auto j = read(full, {"hardware.gpus_per_node=2"});
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  const auto there = estimate(j).tightest()[phase::load];
  CHECK(there >= bytes{4 * all});
  CHECK(there < bytes{4 * all} + 4 * bytes{vocabulary * 1024 / 2} + 2 * mib);  // half of the table beside it
}

// compute_log_probs gives the model labels. In the loss of a micro-batch of one sample stand at once, a number for each token and word: what the model returned in
// bf16; log-probabilities of its own loss, which outputs.loss keeps; the logits that are made fp32 again, of which one sample's shifted part is no copy; and what
// cross_entropy makes of 2,047 positions. Two samples' shifted part is a copy more.
TEST_CASE("the loss beside the model's own") {
  const auto logits = [&](const job& j) { return at(estimate(j).tightest(), phase::loss_forward)[row::logits].count(); };
  const std::int64_t numbers = 2048 * vocabulary, shifted = 2047 * vocabulary;
  const auto within = [](std::int64_t found, std::int64_t expected) { return found >= expected && found < expected + 8 * 1024 * 1024; };
  CHECK(within(logits(read(full)), (2 + 4 + 4) * numbers + 4 * shifted));
  CHECK(within(logits(read(with(full, "micro_batch_size: 1", "micro_batch_size: 2"))), 2 * ((2 + 4 + 4) * numbers + (4 + 4) * shifted)));
  // In one row: as long as its samples together.
  const auto rows = read(with(full, "micro_batch_size: 1", "micro_batch_size: 4\nbatching_strategy: padding_free\nflash_attn: flash_attention_2"));
  CHECK(rows.batch == batch{.micro = 1, .sequence = 8192, .packed = true});
  CHECK(rows.attention == attention::flash);
  CHECK(within(logits(rows), (2 + 4 + 4) * 8192 * vocabulary + 4 * 8191 * vocabulary));
}

TEST_CASE("one process shards nothing, and several without a backend are DDP's, both in fp32") {
  const auto alone = read(full, one);
  CHECK(alone.sharding.kind == sharding_kind::none);
  CHECK(alone.framework.precision == precisions::fp32);
  CHECK_FALSE(alone.precision.set());
  const auto ddp = read(with(full, "dist_config:\n  name: fsdp2\n  dcp_path: null\n", "global_batch_size: 32\n"));
  CHECK(ddp.sharding.kind == sharding_kind::ddp);
  CHECK(ddp.batch.accumulation == 4);
  // Weights, two moments and gradients of each GPU in fp32.
  CHECK(at(estimate(ddp).tightest(), phase::save)[row::optimizer_state] >= bytes{8 * all});
  CHECK(read(with(full, "cutoff_len: 2048", "cutoff_len: 2048\nbf16: false")).precision == job{}.precision);
  CHECK(holds(refused(full, {}), "llamafactory-cli starts a process on each of the machine's GPUs"));
}

TEST_CASE("its replay is its estimate, but for the ends of a block and of a reduction") {
  const auto j = read(full);
  CHECK(j.environment.expandable_segments == choice::yes);
  CHECK(read(full, one).environment.expandable_segments == choice::unset);
  const auto walked = estimate(j).tightest().allocated, apart = replay(j).tightest().allocated - walked;
  CAPTURE(walked.count());
  CAPTURE(apart.count());
  CHECK(apart <= 64_KiB);
  CHECK(-apart <= walked / 15);
}

TEST_CASE("a job file says what of it is modelled") {
  const auto why = [](const std::string& model, const std::string& more) {
    const auto j = io::read_job(io::parse_json(R"({"model": ")" + model + R"(", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "llama-factory-v1", "batch": {"sequence": 512}, )" + more + "}", "job"));
    return std::string{objection_to(j).in_words().what()};
  };
  CHECK_FALSE(objection_to(read(full)));
  CHECK_FALSE(holds(why("qwen3-8b", R"("sharding": "fsdp2")"), "headroom:"));  // a head of its own
  for (const std::string kind : {"fsdp2", "ddp"}) CHECK(holds(why("qwen3-0.6b", R"("adapter": {"kind": "lora", "rank": 8, "targets": "all-linear"}, "sharding": ")" + kind + "\""), "decoders that train whole"));
  CHECK(holds(why("t5-base", R"("sharding": "ddp")"), "decoders that train whole"));
  CHECK(holds(why("qwen3-0.6b", R"("sharding": "fsdp2", "parallel": {"data": 4, "context": 2})"), "without context parallelism"));  // its Ulysses has a loss of its own
  // dtype auto is the checkpoint's until the model is made fp32; nothing is autocast, so that DDP computes so, too.
  const std::string narrow = R"("precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32"}, "sharding": )";
  CHECK(holds(why("qwen3-0.6b", narrow + R"("ddp")"), "computes so, or under FSDP2 in bf16"));
  for (const std::string recipe : {"bf16", "fp16-mixed"}) CHECK(holds(why("qwen3-0.6b", R"("sharding": "fsdp2", "precision": ")" + recipe + "\""), "computes so, or under FSDP2 in bf16"));
  CHECK(holds(why("qwen3-0.6b", R"("sharding": "fsdp2", "loss": {"kind": "fused"})"), "computes its loss of all logits"));
  CHECK(holds(why("qwen3-0.6b", R"("sharding": "fsdp2", "loss": {"logits": "bf16"})"), "computes its loss of all logits"));
  CHECK(holds(why("qwen3-0.6b", R"("sharding": "zero3")"), "this framework's own program does not shard so"));
}

TEST_CASE("what is not read of it stops the import") {
  const auto says = [&](const std::string& from, const std::string& to, const std::string& sentence) { CHECK(holds(refused(with(full, from, to)), sentence)); };
  says("quant_config: null", "peft_config:\n  name: lora\n  r: 16\n  target_modules: all", "peft_config = \"lora\" is not modelled by this version (each matrix of an adapter is a unit of FSDP2's own");
  says("quant_config: null", "quant_config:\n  name: bnb\n  quantization_bit: 4", "quant_config = \"bnb\" is not modelled");
  says("quant_config: null", "optim_config:\n  name: muon", "optim_config = \"muon\" is not modelled");
  says("name: auto", "name: liger_kernel", "kernel_config.name = \"liger_kernel\" is not modelled");
  says("name: fsdp2", "name: deepspeed\n  config_file: ds.json", "dist_config.config_file is not known");
  says("quant_config: null", "cp_size: 2", "cp_size = 2 is not modelled");
  says("quant_config: null", "init_config:\n  name: init_on_meta", "init_config.name = \"init_on_meta\" is not modelled");
  says("quant_config: null", "pref_loss: sigmoid", "pref_loss = \"sigmoid\" is not modelled");
  CHECK_FALSE(objection_to(read(with(full, "model: Qwen/Qwen3-0.6B", "model: Qwen/Qwen3-8B"))));  // its embedding is a unit, norm and head the root's
  says("model: Qwen/Qwen3-0.6B", "model: Qwen/Qwen3-30B-A3B", "is read for dense models of text");
  says("quant_config: null", "batching_strategy: padding_free", "padding_free without flash_attn flash_attention_2 is not read");
  says("quant_config: null", "lora_rank: 8", "lora_rank is not known here");
}

}  // namespace test_llama_factory_v1

#endif
