// Distributed under the Boost Software License, Version 1.0.
// FSDP2 around torchtitan's Llama: which units are gathered when, what waits to be reduced, and the pools of the streams.
// Sources: torch distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py; torchtitan apply_fsdp before and after #1094.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

namespace test_fsdp2 {

using namespace headroom;

namespace {

constexpr shape llama{.layers = 4, .hidden = 256, .heads = 8, .kv_heads = 2, .head_dim = 32, .ffn = 512, .vocab = 4096};
// Elements: two norms, q and o, k and v, gate, up and down of a layer; a table of the vocabulary.
constexpr std::int64_t layer = 2 * 256 + 2 * 256 * 256 + 2 * 256 * 64 + 3 * 256 * 512, table = 4096 * 256, norm = 256;
constexpr std::int64_t all = 4 * layer + 2 * table + norm;
// A rank's eighth of a norm's gradient, 128 bytes, takes the allocator's 512.
constexpr std::int64_t rounding = 9 * (512 - 4 * 256 / 8);

job titan(const profile& framework, std::int64_t data = 8) {
  job j{.model = llama, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = data > 8 ? data / 8 : 1, .gpus_per_node = 8}, .framework = framework, .sharding = fsdp2(),
        .batch = {.micro = 1, .sequence = 128}};
  j.parallel.data = data;
  return j;
}
windows windows_around(const job& j) {
  const auto s = settle(j);
  return windows_of(s, states(s, weights_of(s.model)));
}

}  // namespace

TEST_CASE("embedding, norm and head in the root: gathered to the end, with the last layer between forward and backward") {
  const auto w = windows_around(titan(frameworks::torchtitan_202404));
  CHECK(w.forward.total == bytes{2 * (2 * table + norm) + 2 * 2 * layer});
  CHECK(w.loss.total == bytes{2 * (2 * table + norm) + 2 * layer});
  CHECK(w.end.total == bytes{2 * (2 * table + norm) + 4 * layer});
  CHECK(w.root_waits);
  CHECK(w.pending_first == bytes{0});
  CHECK(w.pending == bytes{4 * layer});
  // The root's all-gather output stays until the first layer has been copied out.
  CHECK(w.gather_pool == bytes{2 * (2 * table + norm) + 2 * layer + 2 * layer / 8});
  CHECK(w.reduce_pool == bytes{4 * all / 8 + rounding});
}

TEST_CASE("the embedding by itself, and norm with head: the head's gradients are reduced first") {
  const auto w = windows_around(titan(frameworks::torchtitan_202508));
  CHECK(w.forward.total == bytes{2 * 2 * layer});
  CHECK(w.loss.total == bytes{2 * (table + norm)});
  CHECK(w.end.total == bytes{2 * table + 4 * layer});
  CHECK_FALSE(w.root_waits);
  CHECK(w.pending_first == bytes{4 * (table + norm)});
  CHECK(w.kept_root == bytes{4 * (2 * table + norm) / 8});
  CHECK(w.kept_embedding == bytes{4 * table / 8});
}

TEST_CASE("fp8 all-gather moves one byte an element of a layer") {
  auto j = titan(frameworks::torchtitan_202508);
  j.framework.sharding.gathers_in_fp8 = true;
  CHECK(windows_around(j).forward.total == bytes{2 * layer});
  CHECK(windows_around(j).loss.total == bytes{2 * (table + norm)});
}

TEST_CASE("hybrid sharding divides by the ranks of a replica, and averages a layer's shard while the next one runs") {
  auto j = titan(frameworks::torchtitan_202508, 16);
  j.parallel.replicate = 2;
  const auto w = windows_around(j);
  CHECK(w.reduce_pool == bytes{4 * all / 8 + rounding});
  CHECK(w.pending == bytes{4 * layer});  // the fp32 shard that is averaged is the gradient's own storage
  j.precision = {"bf16-reduced", formats::fp32, formats::bf16, formats::fp32, formats::bf16, formats::none, formats::fp32};
  CHECK(windows_around(j).pending == bytes{2 * layer + 2 * layer / 8});  // a bf16 one is copied into it later
}

// torch distributed/fsdp: where a unit is not resharded after forward, it is whole until backward has been through it, whichever stack it
// belongs to. So all weights are there in the loss, in two bytes each: transformers' counts of LLaVA-1.5-7B, of which 303,507,456 are the
// tower's, and of T5-3B, of which half are the encoder's. FSDP2 still has what the last layer was copied from: 4 h² + 3 h f + 2 h of Llama,
// 8 h · 4096 + 2 h f + 3 h of a decoder layer of T5.
TEST_CASE("weights that stay gathered are a tower's and an encoder's, too") {
  constexpr std::int64_t llava = 7'063'427'072, t5 = 2'851'598'336, h = 4096, f = 11008;
  const auto in_loss = [](const shape& m, const sharding& how) {
    const job j{.model = m, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::hf_trainer, .precision = precisions::bf16_mixed, .sharding = how,
                .batch = {.micro = 1, .sequence = 1024}};
    return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::gathered_parameters].count();
  };
  CHECK(in_loss(models::llava_1_5_7b, fsdp1(2)) == 2 * llava);
  CHECK(in_loss(models::t5_3b, fsdp1(2)) == 2 * t5);
  CHECK(in_loss(models::llava_1_5_7b, fsdp2(2)) == 2 * llava + 2 * (4 * h * h + 3 * h * f + 2 * h));
  CHECK(in_loss(models::t5_3b, fsdp2(2)) == 2 * t5 + 2 * (8 * 1024 * 4096 + 2 * 1024 * 16384 + 3 * 1024));
  // Where units are let go, neither is there.
  CHECK(in_loss(models::llava_1_5_7b, fsdp1(3)) < 2 * llava - 2 * 303'507'456);
  CHECK(in_loss(models::t5_3b, fsdp2(3)) < t5);
}

TEST_CASE("tensor parallelism gathers and reduces a rank's share") {
  auto j = titan(frameworks::torchtitan_202508, 4);
  j.hardware.nodes = 1;
  j.parallel.tensor = 2;
  j.parallel.sequence = true;
  const auto w = windows_around(j);
  // Norms are whole on every rank.
  constexpr std::int64_t share = (layer - 2 * 256) / 2 + 2 * 256;
  CHECK(w.forward.total == bytes{2 * 2 * share});
  CHECK(w.loss.total == bytes{2 * (table / 2 + norm)});
  CHECK(w.reduce_pool == bytes{4 * (4 * share + table + norm) / 4 + 9 * (512 - 4 * 256 / 4)});
  // Counts of the report are of the whole model.
  CHECK(estimate(j).parameter_count.total == parameters{all});
  CHECK(estimate(j).parameter_count.trainable == parameters{all});
}

// CPUOffloadPolicy: a shard of gradients goes to the host where it has been reduced. What is left in backward are the whole gradients of the unit that is
// reduced last: embedding, head and final norm of Llama-3-8B, which belong to no layer, in the compute format.
TEST_CASE("shards on the host take their gradients there, unit by unit") {
  job j{.model = models::llama_3_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::hf_trainer, .sharding = {.kind = sharding_kind::fsdp2}, .batch = {.micro = 1, .sequence = 1024}, .recompute = recompute::full};
  constexpr std::int64_t words = 128'256 * 4096, parameters = 8'030'261'248;
  const auto at = [](const report& r, phase p) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][row::gradients].count(); };
  const auto on_gpu = estimate(j);
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  for (const std::int64_t accumulation : {1, 3}) {
    j.batch.accumulation = accumulation;
    const auto r = estimate(j);
    CHECK(at(r, phase::reduce) == 2 * (2 * words + 4096));
    CHECK(at(r, phase::step) == 0);
    CHECK(at(r, phase::forward) == 0);
    CHECK(replay(j).ranks[0].allocated == r.ranks[0].allocated);
  }
  CHECK(at(on_gpu, phase::step) >= 4 * parameters / 8);  // fp32 shards
  j.sharding.kind = sharding_kind::fsdp1;
  j.batch.accumulation = 1;
  CHECK(at(estimate(j), phase::reduce) > 4 * (parameters - 2 * words) / 8);  // FSDP1 keeps what it has copied until backward is over
}

}  // namespace test_fsdp2
