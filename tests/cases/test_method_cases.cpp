// Distributed under the Boost Software License, Version 1.0.
// Jobs of several models, from a file to a number: P parameters, V words, R = tokens of a forward. What is exact is met to the byte.
// Parameters are those that the models' owners publish; coefficients of V·R were counted while each trainer's loss ran on torch 1.13.
#include <headroom/io/job_reader.hpp>
#include <headroom/headroom.hpp>
#include <headroom/rollout/key_value_cache.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_method_cases {

namespace {

using namespace headroom;
using namespace headroom::literals;

constexpr std::int64_t p7 = 7'615'616'512, p8 = 8'030'261'248, p72 = 72'706'203'648, llama_words = 128'256, qwen_words = 152'064;

job from(const std::string& text) { return io::read_job(io::parse_json(text, "job.json")); }
std::int64_t of(const report& r, phase p, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][what].count(); }
std::int64_t states(const report& r, phase p) {
  return of(r, p, row::model_parameters) + of(r, p, row::gradients) + of(r, p, row::master_parameters) + of(r, p, row::optimizer_state);
}
std::int64_t at(const report& r, phase p) { return r.ranks[0][p].count(); }
/// What a phase has beside what is there between steps.
std::int64_t beside(const report& r, phase p) { return at(r, p) - at(r, phase::save); }
/// Of a vocabulary times tokens, to a hundredth.
std::int64_t hundredths(std::int64_t bytes, std::int64_t words, std::int64_t tokens) { return (bytes * 100 + words * tokens / 2) / (words * tokens); }

std::string dpo(const std::string& sharding, const std::string& more = {}) {
  return R"({"model": "llama-3.1-8b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed", "recompute": "full", "batch": {"micro": 2, "sequence": 1024}, "loss": {"logits": "bf16"}, "sharding": )" +
         sharding + (more.empty() ? R"(, "objective": {"kind": "dpo", "trainer": "trl", "reference": "copy"}})" : more + "}");
}

}  // namespace

TEST_CASE("DPO of Llama 3.1 8B: the reference costs 2 bytes a parameter, divided under ZeRO-3, whole under ZeRO-2, and none with adapters") {
  const auto three = estimate(from(dpo(R"("zero3")"))), two = estimate(from(dpo(R"("zero2")")));
  CHECK(states(three, phase::step) == 16 * p8 / 8);
  CHECK(of(three, phase::step, row::model_parameters) == 2'007'565'312);
  CHECK(of(three, phase::step, row::master_parameters) + of(three, phase::step, row::optimizer_state) == 12'045'391'872);
  CHECK(of(three, phase::step, row::other_models) == 2'007'565'312 + 2 * 65 * 4096);  // norms are whole on every GPU
  CHECK(of(two, phase::step, row::model_parameters) == 16'060'522'496);
  CHECK(of(two, phase::step, row::other_models) == 16'060'522'496);
  CHECK(states(two, phase::step) == 2 * p8 + 14 * p8 / 8);
  CHECK(two.fits());
  const auto lora = estimate(from(dpo(R"("zero3")", R"(, "objective": {"kind": "dpo", "trainer": "trl"}, "adapter": {"kind": "lora", "rank": 16, "targets": "all-linear", "format": "bf16"})")));
  CHECK(of(lora, phase::step, row::other_models) == 0);
  CHECK(lora.parameter_count.trainable.count() == 41'943'040);
  CHECK(of(lora, phase::step, row::adapters) + of(lora, phase::step, row::gradients) + of(lora, phase::step, row::master_parameters) + of(lora, phase::step, row::optimizer_state) == 83'886'080);
  // The same logits in all three; the end of the loss is the peak, and checkpoints of 4,096 tokens lie beside it.
  for (const auto* r : {&three, &two, &lora}) CHECK(hundredths(of(*r, phase::loss_forward, row::logits), llama_words, 4096) == 818);  // 8, and 18 of entropies in pieces
  CHECK(of(three, phase::loss_forward, row::activations) >= 1'073'741'824);
  CHECK(three.ranks[0].peak_phase == phase::loss_forward);
  // Four times the pairs: four times the logits.
  auto eight = from(dpo(R"("zero3")"));
  eight.batch.micro = 8;
  CHECK(hundredths(of(estimate(eight), phase::loss_forward, row::logits), llama_words, 4 * 4096) == 804);  // the pieces do not grow
}

TEST_CASE("GRPO of Qwen2.5 7B beside vLLM: an engine asleep takes its turn, one awake adds up") {
  const std::string text = R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": "zero3", "recompute": "full",
    "batch": {"micro": 4, "accumulation": 2, "sequence": 1024}, "loss": {"logits": "bf16"}, "objective": {"kind": "grpo", "trainer": "trl", "reference": "none"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.3, "tensor": 1, "sleep": 2, "prompt": 512, "completion": 512, "generations": 8}})";
  const auto job = from(text);
  const auto r = estimate(job);
  CHECK(beside(r, phase::generate) == 25'483'227'956);               // 0.3 of 81,009 MiB
  CHECK(beside(r, phase::sync) == 15'231'233'024 + 1'089'994'752);  // 2P, and the largest tensor
  CHECK(token_bytes(job.model, 1, formats::bf16).count() == 57'344);
  CHECK(states(r, phase::step) == 15'231'233'024);
  CHECK(hundredths(of(r, phase::loss_forward, row::logits), qwen_words, 2048) == 638);  // 6·V·n·C, and entropies of 128 positions at a time
  CHECK(hundredths(of(r, phase::backward, row::logits), qwen_words, 2048) == 801);      // 8·V·n·C
  CHECK(r.ranks[0].peak_phase == phase::generate);
  auto awake = job;
  awake.rollout.sleep = 0;
  CHECK(at(estimate(awake), phase::backward) - at(r, phase::backward) == 25'483'227'956);
  auto compared = job;
  compared.objective.reference = reference_way::copy;
  CHECK(of(estimate(compared), phase::step, row::other_models) == 1'903'904'128 + 2 * (57 * 3584 + 28 * (3584 + 2 * 512)));  // norms and biases are whole
}

// MedicalGPT's ppo_training.py up to 2026-03: TRL's PPO, whose scores of every word stay until the next rollout's are there. Gradients are gone by then
// (ppo_trainer.py train: optimizer.zero_grad, which sets them to none), so that 1,976,131,072 bytes fewer lie beside the scores than in the step.
TEST_CASE("PPO of Qwen2.5 0.5B with three more models of its size: scores of 4,000 tokens three times") {
  const auto r = estimate(from(R"({"model": "qwen2.5-0.5b", "hardware": {"gpu": "rtx-4090", "gpus_per_node": 1}, "framework": "hf-trainer", "precision": "bf16", "sharding": "none", "recompute": "full",
    "batch": {"micro": 1, "accumulation": 4, "sequence": 2024}, "loss": {"logits": "bf16"}, "objective": {"kind": "ppo", "trainer": "trl", "reference": "copy", "reward": "qwen2.5-0.5b", "critic": "qwen2.5-0.5b"},
    "rollout": {"engine": "trainer", "prompt": 1024, "completion": 1000, "generations": 1, "batch": 4}})"));
  constexpr std::int64_t p = 494'032'768, words = 151'936, scores = 4 * 1000 * words * 4;
  CHECK(scores == 2'430'976'000);
  CHECK(r.ranks[0].peak_phase == phase::generate);
  CHECK(r.ranks[0].at_peak[row::logits].count() == 3 * scores);
  CHECK(r.ranks[0].at_peak[row::kv_cache].count() == 99'483'648);  // 12,288 a token × 4 × 2,024
  CHECK(r.ranks[0].at_peak[row::gradients] == bytes{0});
  // Four models in bf16, and two moments of two of them; two have a score of 896 numbers for a head. Norms and biases end at multiples of 512 bytes.
  const auto& held = r.ranks[0].at_peak;
  const auto models = (held[row::model_parameters] + held[row::optimizer_state] + held[row::other_models]).count();
  CHECK(models >= 4 * 2 * p + 2 * 4 * p);
  CHECK(models < 4 * 2 * p + 2 * 4 * p + 500'000);
}

TEST_CASE("a reward model: TRL's has no vocabulary, LLaMA-Factory's keeps it") {
  const std::string text = R"({"model": "qwen2.5-7b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": "zero3", "recompute": "full",
    "batch": {"micro": 4, "sequence": 1024}, "objective": {"kind": "reward", "trainer": )";
  const auto trl = estimate(from(text + R"("trl"}})")), factory = estimate(from(text + R"("llama-factory"}})"));
  CHECK(trl.parameter_count.total.count() == 7'070'622'720);
  CHECK(states(trl, phase::step) == 14'141'245'440);
  CHECK(of(trl, phase::loss_forward, row::logits) < 1'000'000);
  CHECK(of(trl, phase::loss_forward, row::activations) >= 27 * 2 * 3584 * 8192);
  CHECK(states(factory, phase::step) == 16 * (15'231'240'194 / 16 + 1));  // an eighth of P + 3,585 is no whole number
  CHECK(of(factory, phase::loss_forward, row::logits) == 7'474'249'728);
  CHECK(of(factory, phase::backward, row::logits) == 0);
}

TEST_CASE("GKD of Qwen3 8B from a teacher of 32B: 17 tensors of the vocabulary, or the 64 largest logits") {
  const std::string text = R"({"model": "qwen3-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "precision": "bf16-mixed", "recompute": "full", "batch": {"micro": 4, "sequence": 1024}, )";
  const std::string trl = R"("objective": {"kind": "distill", "trainer": "trl", "teacher": "qwen3-32b"}, )";
  const auto r = estimate(from(text + trl + R"("sharding": "zero3", "loss": {"logits": "bf16"}})"));
  CHECK(states(r, phase::step) == 16'381'470'720);
  CHECK(of(r, phase::step, row::other_models) >= 8'190'530'816);
  CHECK(of(r, phase::step, row::other_models) - 8'190'530'816 < 4 << 20);
  CHECK(hundredths(of(r, phase::loss_forward, row::logits), 151'936, 4096) == 3397);
  CHECK(hundredths(of(estimate(from(text + trl + R"("sharding": "zero3", "loss": {"logits": "fp32"}})")), phase::loss_forward, row::logits), 151'936, 4096) == 6794);
  const auto two = estimate(from(text + trl + R"("sharding": "zero2", "loss": {"logits": "bf16"}})"));
  CHECK(of(two, phase::step, row::other_models) == 65'524'246'528);
  CHECK_FALSE(two.fits());
  // The teacher's own logits, gone before the student's backward; of the comparison 64 numbers a token are left.
  const auto few = estimate(from(text + R"("objective": {"kind": "distill", "trainer": "ms-swift", "teacher": "qwen3-32b", "top_logits": 64}, "sharding": "zero3", "loss": {"logits": "bf16"}})"));
  CHECK(hundredths(of(few, phase::loss_forward, row::logits), 151'936, 4096) < 1000);
  CHECK(few.fits());
}

// ms-swift's own script for four A100. What is pinned is rounded up to a power of two, tensor by tensor: vLLM's backups (vllm device_allocator/cumem.py
// sleep) and the partitions of weights that do not train (DeepSpeed runtime/zero/partition_parameters.py _partition_param).
TEST_CASE("GRPO with LoRA of Qwen2.5 72B on four A100: by groups of layers it fits, and the host pays") {
  const std::string text = R"({"model": "qwen2.5-72b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": "zero3", "recompute": "full",
    "offload": {"optimizer": "cpu", "parameters": "cpu"}, "batch": {"micro": 1, "sequence": 3072}, "loss": {"logits": "bf16"},
    "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear", "format": "bf16"}, "objective": {"kind": "grpo", "trainer": "ms-swift", "reference": "adapter-off"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.55, "tensor": 4, "sleep": 1, "prompt": 2048, "completion": 1024, "sync_groups": 16, "trainer_moves": ["parameters", "optimizer"]}})";
  const auto job = from(text);
  const auto r = estimate(job);
  CHECK(r.fits());
  constexpr std::int64_t norms = 161 * 8192;
  CHECK(beside(r, phase::generate) == 46'742'896'640);  // 0.55 of 81,050 MiB
  CHECK(token_bytes(job.model, 4, formats::bf16).count() == 81'920);
  // 2P/4 of the engine, whose norms are whole, and five layers, gathered; beside them adapters and one of their products.
  const auto sync = beside(r, phase::sync) - (36'353'101'824 + 2 * norms * 3 / 4 + 8'776'847'360);
  CHECK(sync > 0);
  CHECK(sync < 1'100'000'000);
  // A quarter of each tensor, in MiB: q and output 32, k and v 4, gate, up and down 115.5 -> 128, two tables 594 -> 1,024; vectors of 8,192 and 1,024.
  constexpr std::int64_t mib = 1 << 20, base = 80 * ((2 * 32 + 2 * 4 + 3 * 128) * mib + 3 * 4096 + 2 * 512) + 2 * 1024 * mib + 4096;
  auto alone = job;
  alone.rollout.sleep = 2;
  const auto host = estimate(alone).host;
  auto without = alone;
  without.offload.pin_memory = false;
  const auto trained = r.parameter_count.trainable.count();
  CHECK(estimate(without).host.pinned_per_node.count() == 4 * 128 * mib / 2);  // the flat buffer of what trains: 50.2 MiB of each rank
  CHECK(trained * 2 / 4 < 64 * mib);
  CHECK((host.pinned_per_node - estimate(without).host.pinned_per_node).count() >= 4 * base);
  CHECK(base * 4 > 2 * p72);
  CHECK(base * 4 < 2 * p72 * 112 / 100);
  CHECK((r.host.pinned_per_node - host.pinned_per_node).count() >= 4 * 36'353'101'824);  // level 1
}

// Logits are divided in place by the temperature, which backward pays: the gradient of a view is copied whole, its part copied and divided (torch
// csrc/autograd/functions/tensor.cpp CopySlices; counted on torch 1.13.1: four such tensors at a time, beside none that outlive it).
TEST_CASE("GRPO of Qwen2 7B by verl on two H800: what trains and what generates is never there together") {
  const std::string text = R"({"model": "qwen2-7b", "hardware": {"gpu": "h800-sxm-80gb", "gpus_per_node": 2}, "framework": "hf-trainer",
    "precision": {"parameters": "fp32", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "fsdp1", "recompute": "full", "attention": "flash",
    "batch": {"micro": 16, "sequence": 400, "padded": false}, "loss": {"logits": "bf16"}, "objective": {"kind": "grpo", "trainer": "verl", "reference": "copy"},
    "rollout": {"engine": "vllm", "placement": "colocated", "share": 0.6, "tensor": 2, "sleep": 1, "prompt": 1024, "completion": 1024, "generations": 5, "trainer_moves": ["parameters", "optimizer"]}})";
  const auto job = from(text);
  const auto r = estimate(job);
  CHECK(of(r, phase::step, row::model_parameters) == 15'231'233'024);
  CHECK(states(r, phase::step) == 60'924'932'096);
  CHECK(of(r, phase::loss_forward, row::logits) == 1'946'419'200);
  CHECK(beside(r, phase::generate) == 50'966'455'911 - 4 * p7 / 2 - 8 * p7 / 2);  // 0.6 of 81,009 MiB, where parameters and moments were
  CHECK(r.fits());
  auto longest = job;
  longest.batch.sequence = 2048;
  CHECK(of(estimate(longest), phase::loss_forward, row::logits) == 9'965'666'304);
  CHECK(of(estimate(longest), phase::backward, row::logits) == 4 * 9'965'666'304);
  // Parameters and moments on the host while the engine generates.
  auto none = job, stays = job;
  none.objective.reference = reference_way::none;
  stays.objective.reference = reference_way::none;
  stays.rollout.trainer_moves = {};
  CHECK((estimate(none).host.per_node - estimate(none).host.pinned_per_node).count() == 91'387'398'144);
  CHECK((estimate(stays).host.per_node - estimate(stays).host.pinned_per_node).count() < 91'387'398'144);
}

TEST_CASE("DPO of Qwen3 4B over Megatron's layers, tensor 4: a wrapped reference has gradients of its own") {
  const std::string text = R"({"model": "qwen3-4b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 4}, "framework": {"name": "megatron", "options": {"cross-entropy-loss-fusion": true, "attention-backend": "flash"}},
    "precision": {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "fp32", "state": "fp32"}, "parallel": {"tensor": 4, "sequence": true},
    "sharding": {"kind": "megatron-distributed-optimizer", "stage": 1}, "recompute": "full", "attention": "flash", "batch": {"micro": 1, "sequence": 8192, "accumulation": 4, "padded": false}, "objective": {"kind": "dpo", "trainer": )";
  const auto after = estimate(from(text + R"("ms-swift-megatron"}})")), before = estimate(from(text + R"("ms-swift-megatron-3.8"}})"));
  const auto norms = (73 * 2560 + 36 * 2 * 128) * std::int64_t{3} / 4;  // whole on every rank
  CHECK(states(after, phase::step) == 18'101'106'432 + 18 * norms);
  CHECK(of(after, phase::step, row::other_models) == 2'011'234'048 + 2 * norms);
  CHECK(of(before, phase::step, row::other_models) - of(after, phase::step, row::other_models) == 4'022'468'096 + 4 * norms);
  CHECK(of(after, phase::loss_forward, row::activations) >= 377'487'360);
}

TEST_CASE("an embedding of Qwen3 4B has no tokens to speak of, and one of 8B no head") {
  const auto small = estimate(from(R"({"model": "qwen3-4b", "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 2}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": "zero2", "recompute": "full",
    "batch": {"micro": 8, "sequence": 64}, "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear"}, "objective": "embedding"})"));
  CHECK(of(small, phase::step, row::model_parameters) == 8'044'936'192);
  CHECK(of(small, phase::loss_forward, row::logits) == 0);
  const auto large = estimate(from(R"({"model": {"base": "qwen3-8b", "vocab": 151665}, "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 2}, "framework": {"name": "megatron", "options": {"attention-backend": "flash"}},
    "precision": {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "fp32", "state": "fp32"}, "parallel": {"tensor": 2, "sequence": true},
    "sharding": {"kind": "megatron-distributed-optimizer", "stage": 1}, "recompute": "full", "attention": "flash", "batch": {"micro": 16, "sequence": 40, "padded": false},
    "objective": {"kind": "embedding", "trainer": "ms-swift-megatron"}})"));
  CHECK(states(large, phase::step) / 100'000'000 == 681);  // 18 · 7,568,405,504 / 2, and norms
}

TEST_CASE("SimPO of Llama 3 8B: evaluation of twice as many pairs is smaller than training, and logits kept for metrics are not") {
  const std::string text = R"({"model": "llama-3-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 4}, "framework": "deepspeed", "precision": "bf16-mixed", "sharding": "zero3", "recompute": "full",
    "batch": {"micro": 2, "sequence": 2048, "accumulation": 16}, "loss": {"logits": "bf16"}, "objective": {"kind": "simpo", "trainer": "trl"}, "evaluation": {"batch": 4, "sequence": 2048, "loss_only": true}})";
  const auto r = estimate(from(text));
  CHECK(states(r, phase::step) == 32'121'044'992);
  CHECK(hundredths(of(r, phase::loss_forward, row::logits), llama_words, 8192) == 400);
  CHECK(beside(r, phase::evaluate) >= 4'202'692'608);
  CHECK(at(r, phase::evaluate) < at(r, phase::loss_forward));
  CHECK(r.fits());
  auto kept = from(R"({"model": "llama-3-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 1}, "framework": "hf-trainer", "precision": "bf16", "recompute": "full", "batch": {"micro": 1, "sequence": 2048},
    "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear"}, "loss": {"logits": "fp32"}, "evaluation": {"batch": 1, "sequence": 2048, "samples": 100}})");
  CHECK(beside(estimate(kept), phase::evaluate) >= 105'067'315'200);  // 4·V·2,048 of each of 100 samples
  CHECK_FALSE(estimate(kept).fits());
  kept.evaluation.accumulation_steps = 1;
  CHECK(estimate(kept).fits());
}

TEST_CASE("published figures of generation: logits and keys of 20,480 tokens") {
  CHECK(4LL * llama_words * 8 * 20'480 == 84'053'852'160);
  CHECK(20'480 * token_bytes(models::llama_3_1_8b, 1, formats::bf16) == 2560_MiB);  // 2.5 GiB
}

}  // namespace test_method_cases
