// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL's DTensor workers: what a rank holds in each phase, by sums on paper.
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <bit>
#include <string>

namespace test_nemo_units {

using namespace headroom;
using namespace headroom::literals;

namespace {

using limits::check_all;

/// Qwen2.5-1.5B on eight H100, whose head is its table; beside vLLM with 0.3 of each, or without.
job nemo(const std::string& objective, const std::string& rollout = "", std::int64_t micro = 4) {
  return io::read_job(io::parse_json(R"({"model": "qwen2.5-1.5b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": "hf-trainer",
    "sharding": {"kind": "fsdp2", "stage": 3}, "recompute": "none", "attention": "sdpa", "optimizer": {"name": "adamw", "implementation": "loop"},
    "precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"},
    "batch": {"accumulation": 2, "sequence": 1024, "micro": )" + std::to_string(micro) + R"(}, "objective": {"trainer": "nemo-rl", )" + objective + "}" +
    (rollout.empty() ? "" : R"(, "rollout": {"engine": "vllm", "prompt": 512, "completion": 512, "batched_tokens": 4096, )" + rollout + "}") + "}", "job"));
}
const std::string sft = R"("kind": "sft")", dpo = R"("kind": "dpo", "reference": "swapped")", grpo = R"("kind": "grpo", "reference": "swapped")", no_reference = R"("kind": "grpo", "reference": "none")";
const std::string beside = R"("placement": "colocated", "share": 0.3, "tensor": 2, "sleep": 1, "trainer_moves": ["parameters", "optimizer"])", elsewhere = R"("placement": "separate", "gpus": 8, "tensor": 2)";

constexpr std::int64_t share_of_h100 = 25'483'227'956;  // 0.3 × 81,009 MiB
constexpr std::int64_t h = 1536, kv = 256, ffn = 8960, words = 151'936, layers = 28;
constexpr std::int64_t layer = 2 * h * h + 2 * h * kv + 3 * h * ffn, biases = h + 2 * kv, table = words * h;
constexpr std::int64_t all = layers * (layer + biases + 2 * h) + table + h;
static_assert(all == 1'543'714'304);  // its checkpoint's
constexpr std::int64_t here = all / 8;
constexpr std::int64_t weights = 4 * here + layers * (3 * 256 + 2 * 384) + 256;  // shards of vectors are rounded up to 512 bytes: of 768 and of 128
constexpr std::int64_t root = 2 * (table + h), last = 2 * (layer + biases + 2 * h);  // whole, in bf16, when the loss is made
constexpr std::int64_t logits = 4 * 1024 * words;

std::int64_t at(const job& j, phase p) { return estimate(j).ranks[0][p].count(); }

}  // namespace

TEST_CASE("while the engine generates, the trainer has nothing there; scores are made without states") {
  const auto j = nemo(grpo, beside);
  const auto held = at(j, phase::save);
  CHECK(at(j, phase::generate) == held - 3 * weights + share_of_h100);
  CHECK(at(j, phase::score) == held - 2 * weights + root + last + 12 * logits);
  CHECK(at(j, phase::reference) == at(j, phase::score));
  // Sixteen samples are scored at once where that is asked for; one sample's slice is contiguous as it is.
  CHECK(at(nemo(grpo, beside + R"(, "batch": 16)"), phase::score) == held - 2 * weights + root + last + 4 * 12 * logits);
  const auto one = nemo(grpo, beside, 1);
  CHECK(at(one, phase::score) == at(one, phase::save) - 2 * weights + root + last + 8 * logits / 4);
  CHECK(at(nemo(no_reference, beside), phase::reference) == 0);
  const auto other = nemo(grpo, elsewhere);
  CHECK(at(other, phase::score) == at(other, phase::save) + root + last + 12 * logits);  // its states stay
}

TEST_CASE("a tensor is whole in fp32, as it is sent, and in buffers") {
  const auto j = nemo(grpo, beside);
  const auto r = estimate(j);
  const auto engine = 2 * (layers * (layer / 2 + biases / 2 + 2 * h) + table / 2 + h), before = at(j, phase::save) - 2 * weights + engine;
  const auto outside = r.ranks[0].device.count() - r.ranks[0].reserved.count();
  CHECK(at(j, phase::sync) == before + 6 * table + 3 * (81'009 * 1'048'576LL - outside - before) / 10);
  CHECK(at(nemo(grpo, beside + R"(, "sync_bucket_mib": 256)"), phase::sync) == before + 6 * table + (256_MiB).count() + 2 * table);  // the table is larger than one of two
  const auto other = nemo(grpo, elsewhere);
  CHECK(at(other, phase::sync) == at(other, phase::save) + 6 * table + 2 * (81'009 * 1'048'576LL / 50));
}

// Beside transformers' own loss under accelerate, which makes fp32 logits of 16-bit ones, their copy in fp32, and log-probabilities: logits in fp32, a
// contiguous slice and its log-probabilities. The stream comes to the head in fp32, whose norm keeps what it multiplies with the weight so.
TEST_CASE("the loss is made of fp32 logits, and units return fp32") {
  const auto own = nemo(sft);
  auto plain = own;
  plain.objective = {};
  const auto above = at(own, phase::loss_forward) - at(plain, phase::loss_forward) - (2 * logits - 2 * 4 * 4 * words + 2 * 4096 * h);  // without the last of 1,024 positions
  CHECK(above > -65'536);  // but for numbers of each token
  CHECK(above < 65'536);
}

TEST_CASE("a pair's reference is scored before the step, beside the states") {
  const auto j = nemo(dpo);
  CHECK(at(j, phase::reference) == at(j, phase::save) + root + last + 2 * 12 * logits);
  CHECK(at(j, phase::loss_forward) > at(nemo(sft), phase::loss_forward) + 12 * logits);
}

TEST_CASE("a packed row is one sample to the head, and as many to the kernel") {
  auto j = nemo(grpo, beside, 1);
  j.batch.packed = true, j.batch.sequence = 4096, j.attention = attention::flash, j.rollout.batch = 2;
  CHECK(at(j, phase::score) == at(j, phase::save) - 2 * weights + root + last + 2 * 8 * logits);
}

TEST_CASE("on the host: every rank reads the checkpoint; the reference, and the policy while it is swapped, are pinned tensor by tensor") {
  const auto host = [](const job& j) { return estimate(j).host.per_node.count(); };
  CHECK(host(nemo(sft)) == 8 * 2 * all);
  const auto rounded = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows * columns / 8 * 4))); };
  const auto of_layer = 2 * rounded(h, h) + 2 * rounded(kv, h) + 3 * rounded(ffn, h) + 3 * rounded(h, 1) + 2 * rounded(kv, 1);
  const auto model = layers * of_layer + 2 * rounded(words, h) + rounded(h, 1);  // the table has two names
  CHECK(host(nemo(grpo, beside)) - host(nemo(no_reference, beside)) == 8 * 2 * model);
}

TEST_CASE("what NeMo-RL's DTensor workers are not modelled with") {
  check_all(nemo(grpo, beside), {
      {"", [](job&) {}},
      {"", [](job& j) { j.batch.packed = true, j.batch.micro = 1, j.batch.sequence = 4096, j.attention = attention::flash; }},
      {"packs samples into one row", [](job& j) { j.batch.packed = true, j.batch.sequence = 4096, j.attention = attention::flash; }},
      {"\"swapped\" or \"none\"", [](job& j) { j.objective.reference = reference_way::copy; }},
      {"move all that they have", [](job& j) { j.rollout.sleep = 2; }},
      {"move all that they have", [](job& j) { j.rollout.trainer_moves = {}; }},
      {"sync_bucket_mib", [](job& j) { j.rollout.sync_bucket_mib = 0; }},
      {"do not generate", [](job& j) { j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}; }},
      {"layered_summon; TRL and NeMo-RL have none", [](job& j) { j.rollout.sync_groups = 2; }},
      {"objective.trainer", [](job& j) { j.objective.kind = objective_kind::rloo, j.objective.reference = reference_way::none; }},
  });
  check_all(nemo(sft), {
      {"", [](job&) {}},
      {"run FSDP2", [](job& j) { j.sharding = fsdp1(); }},
      {"reduces gradients after every micro-batch", [](job& j) { j.sharding.no_sync = true; }},
      {"lets go of layers after forward", [](job& j) { j.sharding.stage = 2; }},
      {"keep weights in fp32", [](job& j) { j.precision = precisions::bf16_mixed; }},
      {"leave loss.logits out", [](job& j) { j.loss.logits = formats::bf16; }},
      {"cpu_offload", [](job& j) { j.offload.optimizer = place::on_cpu; }},
      {"cpu_offload", [](job& j) { j.offload.activations = place::on_cpu; }},
      {"without validation", [](job& j) { j.evaluation = {.batch = 4, .loss_only = true}; }},
      {"without checkpointing", [](job& j) { j.recompute = recompute::full; }},
      {"without checkpointing", [](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }},
      {"attention and dense MLPs", [](job& j) { j.model = models::qwen3_30b_a3b; }},
      {"code of this method", [](job& j) { j.objective.kind = objective_kind::reward; }},
  });
}

}  // namespace test_nemo_units
