// Distributed under the Boost Software License, Version 1.0.
// NeMo-RL over Megatron's layers: what a rank holds in each phase, by sums on paper.
#include <headroom/headroom.hpp>
#include <headroom/objection.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <string>

namespace test_nemo_rl_phases {

using namespace headroom;
using namespace headroom::literals;

namespace {

using limits::check_all;

/// Qwen2.5-7B on eight H100, two GPUs a layer; beside vLLM with 0.3 of each, or without.
job nemo(const std::string& objective, const std::string& rollout = "", const std::string& more = "") {
  return io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8, "host_memory_gib": 2048}, "framework": "megatron",
    "parallel": {"tensor": 2, "sequence": true}, "sharding": "megatron-distributed-optimizer", "recompute": "full", "attention": "te", "batch": {"micro": 4, "accumulation": 2, "sequence": 1024},
    "objective": {"trainer": "nemo-rl", )" + objective + "}" + (rollout.empty() ? "" : R"(, "rollout": {"engine": "vllm", "prompt": 512, "completion": 512, "batched_tokens": 4096, )" + rollout + "}") + more + "}", "job"));
}
const std::string grpo = R"("kind": "grpo", "reference": "swapped")", no_reference = R"("kind": "grpo", "reference": "none")";
const std::string beside = R"("placement": "colocated", "share": 0.3, "tensor": 4, "sleep": 1, "trainer_moves": ["parameters", "gradients", "optimizer"])", elsewhere = R"("placement": "separate", "gpus": 8, "tensor": 4)";

constexpr std::int64_t share_of_h100 = 25'483'227'956;  // 0.3 × 81,009 MiB
constexpr std::int64_t layer = 3584LL * 3584 * 2 + 3584LL * 512 * 2 + 3LL * 3584 * 18944, biases = 3584 + 2 * 512, table = 152'064LL * 3584;
constexpr std::int64_t here = 28 * (layer / 2 + biases / 2 + 2 * 3584) + 2 * table / 2 + 3584;
constexpr std::int64_t updates = (here * 4 + 3) / 4 + (here * 8 + 3) / 4;  // masters and moments, over four data-parallel ranks
constexpr std::int64_t logits = 4 * 1024LL * 152'064 / 2;

std::int64_t at(const job& j, phase p) { return estimate(j).ranks[0][p].count(); }

}  // namespace

TEST_CASE("while the engine generates, the trainer has nothing there; scores are made without gradients and states") {
  const auto j = nemo(grpo, beside);
  const auto all = at(j, phase::save);
  CHECK(at(j, phase::generate) == all - 6 * here - updates + share_of_h100);
  CHECK(at(j, phase::score) == all - 4 * here - updates + 12 * logits);
  CHECK(at(j, phase::reference) == at(j, phase::score));  // its weights are written over the policy's
  CHECK(at(nemo(no_reference, beside), phase::save) == all);
  CHECK(at(nemo(grpo, beside, R"(, "loss": {"kind": "vocab-parallel", "logits": "bf16"})"), phase::score) == at(j, phase::score) + 2 * logits);
  // Sixteen samples are scored at once where that is asked for.
  CHECK(at(nemo(grpo, beside + R"(, "batch": 16)"), phase::score) == all - 4 * here - updates + 4 * 12 * logits);
}

TEST_CASE("weights are packed into buffers: of what is free, or as large as is said") {
  const auto j = nemo(grpo, beside);
  const auto r = estimate(j);
  const auto engine = 2 * (28 * (layer / 4 + biases / 4 + 2 * 3584) + 2 * table / 4 + 3584), before = at(j, phase::save) - 4 * here - updates + engine;
  const auto gathered = 2 * 2 * table;  // the halves, and the whole
  const auto outside = r.ranks[0].device.count() - r.ranks[0].reserved.count();
  CHECK(at(j, phase::sync) == before + gathered + 3 * (81'009 * 1'048'576LL - outside - before) / 10);
  CHECK(at(nemo(grpo, beside + R"(, "sync_bucket_mib": 4096)"), phase::sync) == before + gathered + (4_GiB).count());
  CHECK(at(nemo(grpo, beside + R"(, "sync_bucket_mib": 1024)"), phase::sync) == before + gathered + (1_GiB).count() + 2 * table);  // the table is larger than one of two
  // Outside the allocator: its graphs, a communicator of four ranks (24 channels of 2 x 12 MiB; for multicast 16 x 2 x 4 MiB), and the context of a process of its own.
  CHECK(r.ranks[0].outside.engine == 1_GiB + (576_MiB + 128_MiB) + 400_MiB);
  // On other GPUs: two of a fiftieth of the card, with all that the trainer has.
  const auto other = nemo(grpo, elsewhere);
  CHECK(at(other, phase::sync) == at(other, phase::save) + gathered + 2 * (81'009 * 1'048'576LL / 50));
  CHECK(at(other, phase::score) == at(other, phase::save) - 4 * here + 12 * logits);
}

TEST_CASE("the loss keeps the probabilities of all words") {
  // Beside Megatron's own cross entropy, which keeps as much: three of the logits' size at once in place of one, and what the head made is gone.
  const auto own = nemo(R"("kind": "sft")"), late = nemo(R"("kind": "sft")", "", R"(, "loss": {"kind": "vocab-parallel", "logits": "bf16"})");
  auto plain = own;
  plain.objective = {};
  const auto above = at(own, phase::loss_forward) - at(plain, phase::loss_forward) - 6 * logits;
  CHECK(above > -65'536);  // but for numbers of each token
  CHECK(above < 65'536);
  CHECK(at(late, phase::loss_forward) - at(own, phase::loss_forward) == 2 * logits);
  // A pair is two samples, and the reference's forward is made before, by weights that are swapped in, without gradients.
  const auto dpo = nemo(R"("kind": "dpo")" + std::string{R"(, "reference": "swapped")"});
  CHECK(at(dpo, phase::reference) == at(dpo, phase::save) - 4 * here + 2 * 12 * logits);
  CHECK(at(dpo, phase::loss_forward) > at(own, phase::loss_forward) + 12 * logits);
}

TEST_CASE("on the host: the reference's weights, the policy's while they are swapped, what is moved, and the engine's") {
  const auto host = [](const job& j) { return estimate(j).host.per_node.count(); };
  CHECK(host(nemo(grpo, elsewhere)) - host(nemo(no_reference, elsewhere)) == 8 * 2 * 2 * here);
  CHECK(host(nemo(no_reference, beside)) > host(nemo(no_reference, elsewhere)) + 8 * (2 * here + updates));
}

TEST_CASE("what NeMo-RL's workers are not modelled with") {
  check_all(nemo(grpo, beside), {
      {"", [](job&) {}},
      {"", [](job& j) { j.parallel.pipeline = 2, j.parallel.tensor = 2; }},
      {"", [](job& j) { j.batch.packed = true, j.batch.micro = 1, j.batch.sequence = 4096; }},
      {"must be rollout.prompt + rollout.completion", [](job& j) { j.batch.sequence = 4096; }},
      {"must hold the longest sample", [](job& j) { j.batch.packed = true, j.batch.sequence = 1000; }},
      {"\"swapped\" or \"none\"", [](job& j) { j.objective.reference = reference_way::copy; }},
      {"moves all that it has", [](job& j) { j.rollout.sleep = 2; }},
      {"moves all that it has", [](job& j) { j.rollout.trainer_moves = {}; }},
      {"sync_bucket_mib", [](job& j) { j.rollout.sync_bucket_mib = 0; }},
      {"DTensor workers", [](job& j) { j.framework = frameworks::hf_trainer; }},
      {"as NeMo-RL does", [](job& j) { j.objective.kind = objective_kind::rloo, j.objective.reference = reference_way::none; }},
  });
  check_all(nemo(R"("kind": "dpo", "reference": "swapped")"), {
      {"", [](job&) {}},
      {"", [](job& j) { j.parallel.pipeline = 2; }},
      {"as NeMo-RL does it alone", [](job& j) { j.objective.code = method_code::ms_swift_megatron; }},
  });
}

// grpo.py setup: the engine is there before the trainer, and finds the GPU as whoever else left it; verl's finds the trainer's context and what it holds. An engine whose share
// is of what is left has so much less for keys and values.
TEST_CASE("NeMo-RL's engine starts before its trainer") {
  auto j = nemo(grpo, beside);
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  j.rollout.engine = engine_kind::sglang;
  j.rollout.share = {.per_million = 800'000};
  j.rollout.trainer_moves = {};  // all stays where it is
  const auto cache = [&](bytes parameters) { return detail::engine_beside_stage(s, list, moment(row::model_parameters, parameters)).cache; };
  const auto alone = [&](bytes held) { return engine_memory_of(s.model, list, j.rollout, s.on->memory, held).cache; };
  for (const auto taken : {bytes{0}, 3_GiB}) {
    j.hardware.taken = taken;
    for (const auto parameters : {bytes{0}, 5_GiB}) {
      j.objective.code = method_code::nemo_rl;
      CHECK(cache(parameters) == alone(taken));
      j.objective.code = method_code::verl;
      CHECK(cache(parameters) == alone(taken + context_of(j, *s.on) + parameters));
    }
  }
}

}  // namespace test_nemo_rl_phases
