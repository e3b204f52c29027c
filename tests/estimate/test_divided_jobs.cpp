// Distributed under the Boost Software License, Version 1.0.
// What must hold for every job whose layers are divided: over many drawn at random, from the same seed each time.
#include "add_up.hpp"
#include "dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_divided_jobs {

using namespace headroom;

namespace {

class divided_jobs {
 public:
  job draw() {
    job j;
    auto& m = j.model;
    auto& p = j.parallel;
    p.tensor = dice_.pick({1, 2, 4, 8});
    p.pipeline = dice_.pick({1, 2, 4});
    p.virtual_pipeline = p.pipeline > 1 ? dice_.pick({1, 1, 2, 3}) : 1;
    p.context = dice_.pick({1, 1, 2});
    p.context_kind = static_cast<context_kind>(dice_.pick({0, 1, 2}));
    p.data = dice_.pick({1, 2, 8});
    p.sequence = p.tensor > 1 && dice_.flip();
    m.heads = 8 * dice_.pick({1, 2, 4});
    m.kv_heads = dice_.pick({0, 8});
    m.hidden = m.heads * dice_.pick({16, 64});
    m.layers = p.pipeline * p.virtual_pipeline * dice_.pick({1, 2, 3});
    m.mtp_layers = dice_.pick({0, 0, 1, 2});
    m.ffn = m.hidden * 4;
    m.vocab = dice_.pick({1000, 50257});
    m.vocab_multiple = 128;
    m.max_positions = 4096;
    m.mlp = dice_.flip() ? mlp_kind::gated : mlp_kind::plain;
    m.norm = dice_.flip() ? norm_kind::rmsnorm : norm_kind::layernorm;
    m.position = dice_.flip() ? position_kind::rope : position_kind::learned;
    m.tied = dice_.flip();
    m.qk_norm = dice_.flip();
    if (dice_.pick({0, 1, 2}) == 0) {
      m.experts = {.count = 8, .active = dice_.pick({1, 2}), .ffn = m.hidden * 2, .shared_ffn = dice_.flip() ? m.hidden : 0, .first_dense_layers = dice_.pick({0, 1})};
      p.expert = dice_.pick({1, 2});
      if (j.parallel.data * p.tensor * p.context % p.expert != 0) p.expert = 1;
    }
    if (dice_.pick({0, 1, 2}) == 0) m.mla = {.q_rank = dice_.pick({0, 96}), .kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.data * p.pipeline, .gpus_per_node = p.tensor * p.context};
    j.framework = frameworks::megatron;
    j.framework.gradients.fused_accumulation = dice_.flip();
    j.sharding.kind = dice_.flip() ? sharding_kind::ddp : sharding_kind::megatron_distributed_optimizer;
    j.batch = {.micro = dice_.pick({1, 2}), .sequence = dice_.pick({256, 1024}), .accumulation = p.pipeline * dice_.pick({1, 2, 5})};
    if (p.pipeline > 1 && p.virtual_pipeline == 1) p.schedule = static_cast<schedule>(dice_.pick({0, 0, 2, 4, 5}));
    if (p.virtual_pipeline > 1) j.framework.pipeline.microbatch_group = static_cast<std::int32_t>(dice_.pick({0, 0, p.pipeline + 1}));
    if (dice_.pick({0, 1, 2, 3}) == 0) {
      j.precision = j.framework.precision;
      j.precision.compute = formats::fp8;
      if (dice_.flip()) j.precision.parameters = formats::fp8;
      j.framework.fp8.scaling = dice_.flip() ? fp8_scaling::tensor : fp8_scaling::block;
    }
    j.framework.experts.dispatcher = static_cast<token_dispatcher>(dice_.pick({0, 1, 2}));
    j.framework.experts.routes_in_fp32 = dice_.flip();
    j.framework.pipeline.overlaps_warm_up = dice_.flip();
    j.framework.rotary.writes_out = dice_.flip();
    j.attention = dice_.flip() ? attention::flash : attention::eager;
    switch (dice_.pick({0, 1, 2})) {
      case 0:
        j.recompute = headroom::recompute::full;
        j.recompute.method = static_cast<recompute_method>(dice_.pick({0, 1, 2}));
        if (j.recompute.method != recompute_method::unset) j.recompute.layers = dice_.pick({0, 1, 2});
        if (j.model.mtp_layers > 0 && j.recompute.method == recompute_method::uniform) j.recompute.layers = 1;  // else Megatron-LM stops
        break;
      case 1: j.recompute = {.mode = recompute_mode::selective, .modules = static_cast<std::uint32_t>(dice_.pick({1, 2, 8, 16, 31, 127}))}; break;
      default: break;
    }
    if (p.schedule == schedule::zero_bubble) j.recompute = {};
    if (dice_.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
    return j;
  }

 private:
  draw::dice dice_{20220505};
};

}  // namespace

TEST_CASE("a report for each stage, whose parts add up") {
  divided_jobs random;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = random.draw();
    CAPTURE(i);
    const auto r = estimate(j);
    REQUIRE(r.size == j.parallel.pipeline);
    parts_add_up(j, r);
  }
}

TEST_CASE("the states of all ranks are never less than the whole model's") {
  divided_jobs random;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = random.draw();
    CAPTURE(i);
    const auto s = settle(j);
    const auto list = weights_of(s.model);
    const auto total = count(list, s.model.experts).total.count();
    std::int64_t parameters_held = 0, states_held = 0;
    for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage) {
      const auto w = detail::weights_of_stage(s, list, stage);
      const auto b = detail::states_of_stage(s, w);
      // Tensor-parallel ranks hold a share of the dense weights each, expert-parallel ones of the experts.
      parameters_held += w.dense.count() * j.parallel.tensor + w.experts.count() * j.parallel.expert * j.parallel.expert_tensor;
      states_held += b[row::optimizer_state].count() * (j.hardware.gpus() / j.parallel.pipeline);
    }
    REQUIRE(parameters_held >= total);
    REQUIRE(states_held >= 8 * total);
  }
}

TEST_CASE("more data-parallel ranks never hold more each, and more recompute never keeps more") {
  divided_jobs random;
  for (int i = 0; i < draw::some(20'000); ++i) {
    auto j = random.draw();
    CAPTURE(i);
    auto more = j;
    more.parallel.data *= 2;
    more.hardware.nodes *= 2;
    const auto a = estimate(j), b = estimate(more);
    for (std::size_t k = 0; k < static_cast<std::size_t>(a.size); ++k) {
      REQUIRE(b.ranks[k].at_phase[static_cast<std::size_t>(phase::step)].total() <= a.ranks[k].at_phase[static_cast<std::size_t>(phase::step)].total());
      REQUIRE(b.ranks[k].allocated <= a.ranks[k].allocated);
    }
    j.framework.attention.masks_in_loader = false;  // a checkpoint of attention saves the mask that it is given, which is more than it drops of a fused kernel
    auto less = j;
    less.recompute = headroom::recompute::none;
    if (j.recompute.mode != recompute_mode::selective) continue;
    const auto c = estimate(j), d = estimate(less);
    for (std::size_t k = 0; k < static_cast<std::size_t>(c.size); ++k) REQUIRE(c.ranks[k].allocated <= d.ranks[k].allocated);
  }
}

TEST_CASE("what does not factor is refused") {
  divided_jobs random;
  for (int i = 0; i < draw::some(2'000); ++i) {
    auto j = random.draw();
    CAPTURE(i);
    switch (i % 5) {
      case 0: j.hardware.nodes += 1; break;
      case 1: j.model.layers += 1; if (j.parallel.pipeline * j.parallel.virtual_pipeline == 1) continue; break;
      case 2: j.model.heads += 1; j.model.kv_heads = 0; j.model.head_dim = 16; if (j.parallel.tensor == 1) continue; break;
      case 3: j.batch.sequence += 1; if (j.parallel.context == 1 && !j.parallel.sequence) continue; break;
      default: j.parallel.expert = 7; if (!j.model.sparse()) continue; break;
    }
    CHECK_THROWS_AS(estimate(j), job_error);
  }
}

}  // namespace test_divided_jobs
