// Distributed under the Boost Software License, Version 1.0.
// A pipeline stage's step is written once (engine/tensor_parallel/chunk_step.hpp, stage_order.hpp): what estimate() adds up is what a replay
// asks the allocator for, byte by byte.
#include "../estimate/draw.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

namespace test_one_stage_account {

using namespace headroom;

namespace {

/// What a replay of one rank asks for, parameters and states included, and what is no part of it: workspaces, tables, what stays gathered.
bytes asked(const settled_job& s, std::int64_t stage) {
  const auto& j = *s.source;
  const auto list = weights_of(s.model);
  const auto cut = cut_into_stages(j, s.model);
  caching_allocator allocator;
  stage_run run(s, list, cut, stage, allocator);
  run.run();
  detail::stage_parts parts;
  cut.for_each(stage, [&](const layer_chunk& c) {
    (void)detail::cut_chunk(j, s.model, c, parts);
    detail::add_ends(parts, s.model, c.index == 0, c.index == cut.chunks() - 1);
  });
  auto beside = detail::resident_of_stage(s, breakdown{}, parts).total;
  if (j.sharding.gathers_units()) beside += detail::fsdp_states(s, detail::fsdp_layout_of(s, list)).total();
  return run.peak_asked() + beside;
}

/// Calls visit(settled job, rank) for every kind of rank of jobs drawn at random whose stages a replay writes out.
template <class Visit>
void each_stage(std::uint64_t seed, int jobs, const Visit& visit) {
  draw::jobs source(seed);
  for (int i = 0; i < jobs; ++i) {
    const auto j = source.next();
    if (!detail::replays_stages(j)) continue;
    try {
      const auto r = estimate_all(j);
      for (std::size_t kind = 0; kind < j.hardware.kinds(); ++kind) {
        const auto s = settle(j, kind);
        for (const auto& rank : r) {
          CAPTURE(i);
          CAPTURE(rank.pipeline_stage);
          if (rank.gpu == s.on->label) visit(s, rank);
        }
      }
    } catch (const job_error&) {
      continue;
    }
  }
}

/// What it asks for at most until parameters are where they stay.
bytes asked_in_load(const settled_job& s, std::int64_t stage) {
  const auto list = weights_of(s.model);
  const auto cut = cut_into_stages(*s.source, s.model);
  caching_allocator allocator;
  return stage_run(s, list, cut, stage, allocator).asked_in_load();
}

}  // namespace

// DeepSpeed's three optimizers around Megatron's layers, its pipeline's tensors with and without tensor parallelism, one micro-batch or several.
TEST_CASE("estimate and replay ask for the same bytes of every stage of Megatron-DeepSpeed") {
  int seen = 0;
  for (const bool wide : {false, true})
    for (const std::int64_t stage : {0, 1})
      for (const std::int64_t tensor : {1, 4})
        for (const std::int64_t pipeline : {1, 2, 4})
          for (const std::int64_t micros : {1, 2, 8})
            for (const auto mode : {recompute_mode::none, recompute_mode::full}) {
              if (wide && stage == 0) continue;
              job j{.model = models::gpt2_xl, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 4, .gpus_per_node = 8}, .framework = frameworks::megatron_deepspeed, .sharding = zero(stage), .batch = {.micro = 2, .sequence = 512}};
              j.model.heads = 20, j.model.vocab = 51'200;
              j.recompute.mode = mode;
              j.parallel.tensor = tensor, j.parallel.pipeline = pipeline;
              j.batch.accumulation = micros;
              if (wide) j.precision = {"bf16", formats::bf16, formats::bf16, formats::fp32, formats::fp32, formats::fp32, formats::fp32};
              const auto s = settle(j);
              for (const auto& rank : estimate_all(j)) {
                CAPTURE(wide);
                CAPTURE(stage);
                CAPTURE(tensor);
                CAPTURE(pipeline);
                CAPTURE(micros);
                CAPTURE(rank.pipeline_stage);
                ++seen;
                CHECK(rank.allocated.count() == max(asked(s, rank.pipeline_stage), rank[phase::load]).count());
                CHECK(asked_in_load(s, rank.pipeline_stage) == rank[phase::load]);
              }
            }
  CHECK(seen == 3 * 2 * (1 + 2 + 4) * 3 * 2);
}

// nanotron's embedding works on all tokens where its table is divided. With few tokens its table's gradient, at the end of backward, is the tallest of all, on
// the first stage alone.
TEST_CASE("estimate and replay ask for the same bytes of every stage of nanotron") {
  int seen = 0;
  for (const std::int64_t tensor : {1, 2, 4})
    for (const std::int64_t pipeline : {1, 2, 4})
      for (const std::int64_t tokens : {64, 8192})  // fewer and more than words
        for (const auto mode : {recompute_mode::none, recompute_mode::full}) {
          job j{.model = {.layers = 8, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .ffn = 4096, .vocab = 32768, .tied = false, .fused_qkv = true, .fused_gate_up = true},
                .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = tensor * pipeline}, .framework = frameworks::nanotron, .batch = {.micro = 1, .sequence = tokens, .accumulation = 8},
                .attention = attention::flash};
          j.parallel = {.tensor = tensor, .sequence = tensor > 1, .pipeline = pipeline};
          j.recompute.mode = mode;
          const auto s = settle(j);
          for (const auto& rank : estimate_all(j)) {
            CAPTURE(tensor);
            CAPTURE(pipeline);
            CAPTURE(tokens);
            CAPTURE(rank.pipeline_stage);
            ++seen;
            CHECK(rank.allocated.count() == max(asked(s, rank.pipeline_stage), rank[phase::load]).count());
          }
        }
  CHECK(seen == 3 * (1 + 2 + 4) * 2 * 2);
}

// Every rank, whatever its schedule: masks, tensors between stages, gathers and reductions of Megatron-FSDP, recomputation, the update.
TEST_CASE("estimate and replay ask for the same bytes of every rank of a pipeline stage") {
  int seen = 0, gathers = 0;
  each_stage(20261122, draw::some(8'000), [&](const settled_job& s, const rank_report& rank) {
    ++seen;
    gathers += s.source->sharding.gathers_units();
    CHECK(rank.allocated.count() == max(asked(s, rank.pipeline_stage), rank[phase::load]).count());
  });
  MESSAGE(seen, " ranks, ", gathers, " of them under Megatron-FSDP");
  CHECK(seen >= draw::some(4'000));
  CHECK(gathers >= draw::some(60));
}

// Parameters that are made one by one, the buffers that they move into and their gradients' buffers. What is added as it is (shards of
// Megatron-FSDP, whole weights of Muon) a replay does not load, and fp8 parameters it has without transposes.
TEST_CASE("estimate and replay ask for the same bytes while a stage is loaded") {
  int seen = 0, tallest = 0, chunks = 0;
  each_stage(20261123, draw::some(8'000), [&](const settled_job& s, const rank_report& rank) {
    const auto& z = s.source->sharding;
    if (z.gathers_units() || (z.distributes_optimizer() && s.optimizer.vector_moments > 0) || s.precision.parameters.bits == 8) return;
    ++seen;
    tallest += rank.peak_phase == phase::load;
    chunks += s.source->parallel.virtual_pipeline > 1 && s.source->framework.loading.into_buffers && z.distributes_optimizer();
    CHECK(rank[phase::load].count() == asked_in_load(s, rank.pipeline_stage).count());
  });
  MESSAGE(seen, " ranks, ", tallest, " of them tallest in load, ", chunks, " with buffers of several chunks");
  CHECK(seen >= draw::some(4'000));
  CHECK(tallest >= draw::some(50));
  CHECK(chunks >= draw::some(100));
}

}  // namespace test_one_stage_account
