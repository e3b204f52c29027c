// Distributed under the Boost Software License, Version 1.0.
// GRPO over Megatron's layers as ms-swift runs it: what a rank holds while it scores, passes weights on, waits for its engine and trains: sums on paper
// (swift/megatron/trainers/rollout_mixin.py, grpo_trainer.py, vocab_parallel_utils.py of 2026-08-22; mcore-bridge's gpt_bridge.py).
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_divided_generation {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// Qwen2.5-7B on eight H100, `tensor` GPUs a layer, beside vLLM with 0.3 of each.
job grpo(int tensor, const std::string& moves, const std::string& more = "", const std::string& rest = R"(, "placement": "colocated", "share": 0.3, "sleep": 2)") {
  return io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": {"name": "megatron", "version": "Megatron-SWIFT"},
    "parallel": {"tensor": )" + std::to_string(tensor) + R"(, "sequence": )" + (tensor > 1 ? "true" : "false") + R"(}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "flash",
    "batch": {"micro": 4, "accumulation": 2, "sequence": 1024, "packed": true}, "objective": {"kind": "grpo", "trainer": "ms-swift-megatron", "reference": "copy"})" + more + R"(,
    "rollout": {"engine": "vllm", "tensor": 4, "prompt": 512, "completion": 512, "batched_tokens": 4096, "trainer_moves": )" + moves + rest + "}}", "job"));
}
constexpr std::int64_t share_of_h100 = 25'483'227'956;  // 0.3 × 81,009 MiB
constexpr std::int64_t matrices = 3584LL * 3584 * 2 + 3584LL * 512 * 2 + 3LL * 3584 * 18944, biases = 3584 + 2 * 512, words = 152'064;
constexpr std::int64_t here = 28 * (matrices / 2 + biases / 2 + 2 * 3584) + 2 * words * 3584 / 2 + 3584;  ///< a rank of two
constexpr std::int64_t layer = 2 * (matrices + biases + 2 * 3584), table = 2 * words * 3584;              ///< whole, in bytes
constexpr std::int64_t tokens = 4 * 1024;
constexpr std::int64_t sharded(std::int64_t bytes_each) { return (here * bytes_each + 3) / 4; }  // over four data-parallel ranks
const std::string all = R"(["parameters", "optimizer"])";

std::int64_t at(const job& j, phase p) { return estimate(j).ranks[0][p].count(); }
std::int64_t logits(const job& j, phase p) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][row::logits].count(); }

}  // namespace

TEST_CASE("while ms-swift's engine generates, parameters, gradients, states and the reference have gone") {
  const auto moved = grpo(2, all);
  const auto rest = at(moved, phase::save);
  CHECK(rest - at(moved, phase::generate) + share_of_h100 == 6 * here + sharded(4) + sharded(8) + 2 * here);
  CHECK(rest - at(grpo(2, "[]"), phase::generate) + share_of_h100 == 0);
  CHECK(rest - at(grpo(2, R"(["optimizer"])"), phase::generate) + share_of_h100 == sharded(4) + sharded(8));
  CHECK(rest - at(grpo(2, R"(["parameters"])"), phase::generate) + share_of_h100 == 6 * here + 2 * here);
}

TEST_CASE("ms-swift passes weights on, layer after layer of the checkpoint, with all of the trainer's there") {
  const auto engine = 2 * (28 * (matrices / 4 + biases / 4 + 2 * 3584) + 2 * words * 3584 / 4 + 3584);
  const auto moved = grpo(2, all);
  CHECK(layer < table);
  CHECK(at(moved, phase::sync) - at(moved, phase::save) == engine + layer + table + table / 2);
  // To a server: a bucket, and its tensors joined.
  const auto apart = grpo(2, "[]", "", R"(, "placement": "separate", "gpus": 4)");
  CHECK(at(apart, phase::sync) - at(apart, phase::save) == layer + table + table / 2 + (1_GiB).count());
  // Of a mixture two layers, each with all of its experts, are more than one and the table.
  const auto mixture = io::read_job(io::parse_json(R"({"model": "qwen3-30b-a3b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": {"name": "megatron", "version": "Megatron-SWIFT", "options": {"moe-grouped-gemm": true, "moe-token-dispatcher-type": "alltoall"}},
    "parallel": {"expert": 8}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "flash", "batch": {"micro": 1, "sequence": 256}, "objective": {"kind": "grpo", "trainer": "ms-swift-megatron", "reference": "copy"},
    "rollout": {"engine": "vllm", "placement": "separate", "gpus": 4, "prompt": 128, "completion": 128}})", "job"));
  constexpr std::int64_t sparse = 128LL * 3 * 2048 * 768 + 128 * 2048 + 2 * 2048LL * 4096 + 2 * 2048LL * 512 + 2 * 128 + 2 * 2048;
  CHECK(at(mixture, phase::sync) - at(mixture, phase::save) == 2 * 2 * sparse + (1_GiB).count());
}

TEST_CASE("ms-swift's completions are scored with everything there, in the format of the layers") {
  const auto moved = grpo(2, all);
  const auto rest = at(moved, phase::save);
  CHECK(at(moved, phase::score) - rest == 4 * 2 * tokens * words / 2);      // logits, exponentials, a difference and another
  CHECK(at(moved, phase::reference) - rest == 4 * 2 * tokens * words / 2);
  const auto alone = grpo(1, all);
  CHECK(at(alone, phase::score) - at(alone, phase::save) == 2 * 2 * tokens * words);  // logits and their log-softmax
}

TEST_CASE("ms-swift's log-probabilities are made of fp32 logits that the model returned") {
  // Of a word of each token: 4 bytes of logits, of exponentials, of a difference, and of the log-softmax; backward the saved exponentials, and two gradients.
  const auto divided = tokens * words / 2, whole = tokens * words;
  CHECK(logits(grpo(2, all), phase::loss_forward) == 16 * divided);
  CHECK(logits(grpo(1, all), phase::loss_forward) == 8 * whole);
  CHECK(logits(grpo(1, all), phase::backward) == 12 * whole);
  CHECK(logits(grpo(2, all), phase::backward) == 12 * divided);
}

}  // namespace test_divided_generation
