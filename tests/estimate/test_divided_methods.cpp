// Distributed under the Boost Software License, Version 1.0.
// Methods over Megatron's layers: what a reference adds to a stage, and what a rank holds while an engine generates: sums on paper.
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <string>

namespace test_divided_methods {

using namespace headroom;
using namespace headroom::literals;

namespace {

using limits::check_all;

/// Qwen3-4B on four GPUs, layers divided over them, as ms-swift's examples/megatron/rlhf/dpo has it.
job swift(const std::string& batch, const std::string& rest) {
  return io::read_job(io::parse_json(R"({"model": "qwen3-4b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": {"name": "megatron", "version": "Megatron-SWIFT"},
    "parallel": {"tensor": 4, "sequence": true}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "flash", "batch": )" + batch + rest + "}", "job"));
}
const std::string dpo = R"(, "objective": {"kind": "dpo", "trainer": "ms-swift-megatron"})";

/// A rank's parameters: matrices of 36 layers and of the table that words are read from and written by, divided by four; norms are whole.
constexpr std::int64_t layer = 2560LL * 4096 * 2 + 2560LL * 1024 * 2 + 3LL * 2560 * 9728;
constexpr std::int64_t here = 36 * (layer / 4 + 2 * 2560 + 2 * 128) + 151'936LL * 2560 / 4 + 2560;

std::int64_t other(const job& j) { return estimate(j).ranks[0].at_peak[row::other_models].count(); }
std::int64_t peak(const job& j) { return estimate(j).ranks[0].allocated.count(); }
std::int64_t at(const job& j, phase p) { return estimate(j).ranks[0][p].count(); }

}  // namespace

TEST_CASE("a reference over Megatron's layers is 2 bytes a parameter of the rank; wrapped in DDP it had 4 more for gradients") {
  const std::string row = R"({"micro": 1, "sequence": 4096, "packed": true})";
  CHECK(other(swift(row, dpo)) == 2 * here);
  CHECK(other(swift(row, R"(, "objective": {"kind": "dpo", "trainer": "ms-swift-megatron-3.8"})")) == 6 * here);
  CHECK(other(swift(row, R"(, "objective": {"kind": "dpo", "trainer": "ms-swift-megatron", "reference": "none"})")) == 0);
  // The worked case: 2P/4 and 4P/4 of the published count, where norms were divided, too.
  CHECK(2 * here - 4'022'468'096 / 2 < 2'000'000);
  CHECK(2 * here - 4'022'468'096 / 2 > 0);
}

TEST_CASE("the step of a method over Megatron's layers is that of its sequences") {
  const auto pairs = swift(R"({"micro": 8, "sequence": 1024})", dpo), sequences = swift(R"({"micro": 16, "sequence": 1024})", "");
  CHECK(peak(pairs) == peak(sequences) + 2 * here);
  // Until 4.0 the reference was there before the policy moved into its buffers.
  const auto early = swift(R"({"micro": 8, "sequence": 1024})", R"(, "objective": {"kind": "dpo", "trainer": "ms-swift-megatron-3.12"})");
  CHECK(peak(early) == peak(pairs));
  CHECK(at(early, phase::load) == at(sequences, phase::load) + 2 * here);
  CHECK(at(pairs, phase::load) == at(sequences, phase::load));
  // A row of pairs is as long as both sides of all of them.
  CHECK(peak(swift(R"({"micro": 1, "sequence": 4096, "packed": true})", dpo)) == peak(swift(R"({"micro": 2, "sequence": 4096})", "")) + 2 * here);
  // KTO has single samples, and an adapter that is switched off no copy.
  const std::string lora = R"(, "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear"})";
  CHECK(peak(swift(R"({"micro": 4, "sequence": 1024})", R"(, "objective": {"kind": "kto", "trainer": "ms-swift-megatron"})" + lora)) == peak(swift(R"({"micro": 4, "sequence": 1024})", lora)));
  // Its forward keeps nothing, and is below the policy's.
  CHECK(at(pairs, phase::reference) > at(pairs, phase::save));
  CHECK(at(pairs, phase::reference) < at(pairs, phase::loss_forward));
}

TEST_CASE("models that score or embed over Megatron's layers have no vocabulary's head") {
  const auto of = [](const std::string& objective, int tensor) {
    return io::read_job(io::parse_json(R"({"model": "qwen3-8b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 2}, "framework": {"name": "megatron", "version": "Megatron-SWIFT"}, "parallel": {"tensor": )" +
                                       std::to_string(tensor) + R"(, "sequence": )" + (tensor > 1 ? "true" : "false") + R"(}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "flash",
      "batch": {"micro": 16, "sequence": 40}, "objective": )" + objective + "}", "job"));
  };
  // 8,190,735,360 parameters of Qwen3-8B without its head of 151,936 × 4,096. Norms are whole on both ranks.
  constexpr std::int64_t norms = 36 * (2 * 4096 + 2 * 128) + 4096, all = 8'190'735'360 - 151'936 * 4096LL, rank = (all - norms) / 2 + norms;
  const auto at_save = [](const report& r, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)][what].count(); };
  const auto embeds = estimate(of(R"({"kind": "embedding", "trainer": "ms-swift-megatron"})", 2));
  CHECK(at_save(embeds, row::model_parameters) == 2 * rank);
  CHECK(at_save(embeds, row::gradients) == 4 * rank);
  CHECK(at_save(embeds, row::other_models) == 0);
  CHECK(embeds.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count() == 0);
  const auto scores = estimate(of(R"({"kind": "reward", "trainer": "ms-swift-megatron"})", 2));
  CHECK(at_save(scores, row::model_parameters) == 2 * (rank + 4096));  // one score, whole on both
  // A pair is two texts; classes are of one.
  CHECK(estimate(of(R"({"kind": "classification", "trainer": "ms-swift-megatron"})", 2)).ranks[0].allocated < scores.ranks[0].allocated);
}

namespace {

/// GRPO of Qwen2.5-7B by verl: eight H100, two GPUs a layer, beside vLLM with 0.3 of each.
job grpo(const std::string& moves, const std::string& more = "", const std::string& reference = R"("copy", "reference_parameters_at": "cpu")", int sleep = 2) {
  return io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": "megatron",
    "parallel": {"tensor": 2, "sequence": true}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "te", "batch": {"micro": 4, "accumulation": 2, "sequence": 1024},
    "objective": {"kind": "grpo", "trainer": "verl", "reference": )" + reference + R"(},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.3, "tensor": 4, "sleep": )" + std::to_string(sleep) + R"(, "prompt": 512, "completion": 512, "batched_tokens": 4096, "trainer_moves": )" + moves + more + "}}", "job"));
}
constexpr std::int64_t share_of_h100 = 25'483'227'956;  // 0.3 × 81,009 MiB
constexpr std::int64_t layer_7b = 3584LL * 3584 * 2 + 3584LL * 512 * 2 + 3LL * 3584 * 18944, biases = 3584 + 2 * 512;
constexpr std::int64_t here_7b = 28 * (layer_7b / 2 + biases / 2 + 2 * 3584) + 2 * 152'064LL * 3584 / 2 + 3584;
constexpr std::int64_t table = 2 * 152'064LL * 3584;

}  // namespace

TEST_CASE("while an engine generates, verl's Megatron workers have put parameters, gradients and states away") {
  const auto all = grpo(R"(["parameters", "optimizer"])");
  const auto rest = at(all, phase::save);
  const auto sharded = [](std::int64_t bytes_each) { return (here_7b * bytes_each + 3) / 4; };  // over four data-parallel ranks
  CHECK(rest - at(all, phase::generate) + share_of_h100 == 6 * here_7b + sharded(4) + sharded(8));
  // What is not moved stays.
  CHECK(rest - at(grpo("[]"), phase::generate) + share_of_h100 == 0);
  CHECK(rest - at(grpo(R"(["gradients"])"), phase::generate) + share_of_h100 == 4 * here_7b);
  CHECK(rest - at(grpo(R"(["optimizer"])"), phase::generate) + share_of_h100 == sharded(4) + sharded(8));
  // The weights go over with the gradients and the states away: the engine's quarter, a bucket, and a table in two halves and whole.
  const auto engine = 2 * (28 * (layer_7b / 4 + biases / 4 + 2 * 3584) + 2 * 152'064LL * 3584 / 4 + 3584);
  CHECK(at(all, phase::sync) - rest == engine + (2_GiB).count() + 2 * table - 4 * here_7b - sharded(4) - sharded(8));
  CHECK(at(grpo(R"(["parameters", "optimizer"])", R"(, "sync_bucket_mib": 0)"), phase::sync) - rest == engine + 2 * table - 4 * here_7b - sharded(4) - sharded(8));
  // A reference that waits on the host lies nowhere else; one that does not is there all the time.
  CHECK(at(grpo("[]"), phase::save) == at(grpo("[]", "", R"("none")"), phase::save));
  CHECK(at(grpo("[]", "", R"("copy")"), phase::save) == at(grpo("[]", "", R"("none")"), phase::save) + 2 * here_7b);
  // It comes from the host when the policy has gone.
  const auto scored = 4 * 1024LL * 152'064 / 2;
  CHECK(at(all, phase::reference) - at(all, phase::generate) + share_of_h100 == 2 * here_7b + 6 * scored);
  CHECK(at(all, phase::score) - rest == 8 * scored - 4 * here_7b - sharded(4) - sharded(8));
  CHECK(at(grpo(R"(["parameters", "optimizer"])", R"(, "batch": 8)"), phase::score) - at(all, phase::score) == 8 * scored);
}

TEST_CASE("an engine that never sleeps beside Megatron's layers is there in every phase") {
  const auto awake = grpo("[]", "", R"("none")", 0);
  auto asleep = awake;
  asleep.rollout.sleep = 2;
  CHECK(at(awake, phase::save) - at(asleep, phase::save) == share_of_h100);
  CHECK(at(awake, phase::backward) - at(asleep, phase::backward) == share_of_h100);
  CHECK(at(awake, phase::generate) == at(awake, phase::save));
}

TEST_CASE("host memory of verl's Megatron workers: what is moved, the reference, and the engine's weights where they sleep there") {
  const auto host = [](const job& j) { return estimate(j).host.per_node.count(); };
  const auto sharded = [](std::int64_t bytes_each) { return (here_7b * bytes_each + 3) / 4; };
  const auto nothing = host(grpo("[]", "", R"("none")"));
  CHECK(host(grpo("[]")) - nothing == 8 * 2 * here_7b);
  CHECK(host(grpo(R"(["optimizer"])", "", R"("none")")) - nothing == 8 * (sharded(4) + sharded(8)));
  CHECK(host(grpo(R"(["parameters"])", "", R"("none")")) - nothing == 8 * (8_GiB).count());  // 7.1 GiB of parameters, pinned in one piece
  CHECK(host(grpo("[]", "", R"("none")", 1)) > nothing + 8 * 2 * (7'615'616'512 / 4));
}

TEST_CASE("Megatron's optimizer on the host leaves parameters and gradients, and of masters and moments what the fraction leaves") {
  // Qwen3-4B over two data-parallel ranks of four GPUs each.
  const auto states = [](const std::string& offload) {
    const auto j = io::read_job(io::parse_json(R"({"model": "qwen3-4b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": {"name": "megatron", "version": "Megatron-SWIFT"},
      "parallel": {"tensor": 4, "sequence": true}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "flash", "batch": {"micro": 1, "sequence": 1024}, "offload": )" + offload + "}", "job"));
    return estimate(j);
  };
  const auto all = states(R"({"optimizer": "cpu"})"), half = states(R"({"optimizer": "cpu", "optimizer_fraction": 0.5})");
  const auto rows = [](const report& r) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::save)]; };
  CHECK(rows(all)[row::model_parameters].count() == 2 * here);
  CHECK(rows(all)[row::gradients].count() == 4 * here);
  CHECK(rows(all)[row::master_parameters].count() == 0);
  CHECK(rows(all)[row::optimizer_state].count() == 0);
  CHECK(rows(half)[row::master_parameters].count() == here);          // 4 / 2 ranks / 2
  CHECK(rows(half)[row::optimizer_state].count() == 2 * here);
  // On the host of each of eight ranks: masters and gradients, each matrix pinned up to a power of two, and two moments.
  const auto up = [](std::int64_t n) { std::int64_t p = 1; while (p < n) p *= 2; return p; };
  const std::int64_t q = 2560LL * 4096 / 4, k = 2560LL * 1024 / 4, f = 2560LL * 9728 / 4, t = 151'936LL * 2560 / 4;
  const double matrices = static_cast<double>(36 * (2 * q + 2 * k + 3 * f) + t), larger = static_cast<double>(36 * (2 * up(4 * q) + 2 * up(4 * k) + 3 * up(4 * f)) + up(4 * t)) / 4;
  const double expected = 8 * (2 * 4 * static_cast<double>(here) / 2 * larger / matrices + 8 * static_cast<double>(here) / 2);
  CHECK(static_cast<double>(all.host.per_node.count()) > expected * 0.999);
  CHECK(static_cast<double>(all.host.per_node.count()) < expected * 1.001);
  CHECK(half.host.per_node.count() < all.host.per_node.count() * 501 / 1000);
  check_all(swift(R"({"micro": 2, "sequence": 1024})", R"(, "offload": {"optimizer": "cpu"})"), {
      {"", [](job&) {}},
      {"", [](job& j) { j.objective = {.kind = objective_kind::dpo, .code = method_code::ms_swift_megatron}; }},
      {"from 0 to 1", [](job& j) { j.offload.optimizer_fraction = 1'000'001; }},
      {"none or cpu", [](job& j) { j.offload.optimizer = place::on_nvme; }},
      {"none or cpu", [](job& j) { j.offload.parameters = place::on_cpu; }},
      {"distributed optimizer", [](job& j) { j.sharding = {}; }},
      {"in fp32", [](job& j) { j.precision = precisions::bf16_mixed; j.precision.gradients = formats::bf16; }},
  });
}

TEST_CASE("what methods over Megatron's layers are not modelled with") {
  check_all(swift(R"({"micro": 2, "sequence": 1024})", dpo), {
      {"", [](job&) {}},
      {"as ms-swift runs them", [](job& j) { j.objective.code = method_code::trl; }},
      {"as ms-swift runs them", [](job& j) { j.objective.kind = objective_kind::simpo; j.objective.reference = {}; }},
      {"pipeline stages", [](job& j) { j.parallel.pipeline = 2; j.parallel.tensor = 2; j.batch.accumulation = 2; }},
      {"multi-token prediction", [](job& j) { j.model.mtp_layers = 1; }},
      {"Megatron-FSDP", [](job& j) { j.sharding = megatron_fsdp(); }},
      {"copy, adapter-off or none", [](job& j) { j.objective.reference = reference_way::precomputed; }},
      {"framework must be megatron", [](job& j) { j = io::read_job(io::parse_json(R"({"model": "qwen3-4b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "sharding": "zero3", "batch": {"micro": 1, "sequence": 64}, "objective": {"kind": "dpo", "trainer": "ms-swift-megatron"}})", "job")); }},
      {"reference_parameters_at must be", [](job& j) { j.objective.reference_at = place::on_cpu; }},
      {"verl's", [](job& j) { j.objective.reference = reference_way::copy; j.objective.reference_at = place::on_cpu; }},
      {"reference_parameters_at must be", [](job& j) { j.objective.reference = reference_way::copy; j.objective.reference_at = place::on_nvme; }},
  });
  check_all(grpo("[]"), {
      {"", [](job&) {}},
      {"", [](job& j) { j.parallel.pipeline = 2; j.parallel.tensor = 2; }},
      {"do not generate", [](job& j) { j.rollout.engine = engine_kind::trainer; }},
      {"sync_groups", [](job& j) { j.rollout.sync_groups = 2; }},
      {"must be rollout.prompt + rollout.completion", [](job& j) { j.batch.padded = true; j.batch.sequence = 1023; }},
      {"", [](job& j) { j.batch.sequence = 400; }},
      {"must be rollout.prompt + rollout.completion", [](job& j) { j.batch.sequence = 1025; }},
      {"must hold the longest sample", [](job& j) { j.batch.packed = true; j.batch.sequence = 1023; }},
      {"", [](job& j) { j.batch.packed = true; j.batch.sequence = 4096; }},
  });
}

}  // namespace test_divided_methods
