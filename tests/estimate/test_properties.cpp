// Distributed under the Boost Software License, Version 1.0.
// What must hold for every job: over many drawn at random, from the same seed each time.
#include "add_up.hpp"
#include "dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace test_properties {

using namespace headroom;

namespace {

class jobs {
 public:
  job draw() {
    job j;
    auto& m = j.model;
    m.heads = dice_.pick({1, 2, 4, 8, 16});
    m.kv_heads = m.heads / dice_.pick({1, 1, 2, 4});
    if (m.kv_heads == 0) m.kv_heads = 1;
    m.hidden = m.heads * dice_.pick({8, 16, 64, 80});
    m.head_dim = dice_.pick({0, 0, 32, 128});
    m.layers = dice_.pick({1, 2, 3, 7, 24});
    m.ffn = m.hidden * dice_.pick({1, 3, 4});
    m.vocab = dice_.pick({7, 1000, 50257});
    m.max_positions = 2048;
    m.mlp = dice_.flip() ? mlp_kind::gated : mlp_kind::plain;
    m.norm = dice_.flip() ? norm_kind::rmsnorm : norm_kind::layernorm;
    m.norm_bias = m.attention_bias = m.mlp_bias = m.output_bias = dice_.flip();
    m.position = dice_.flip() ? position_kind::rope : position_kind::learned;
    m.tied = dice_.flip();
    m.parallel_block = dice_.pick({0, 0, 0, 1}) == 1;
    m.post_norms = dice_.pick({0, 0, 0, 1}) == 1;
    m.qk_norm = dice_.pick({0, 0, 1}) == 1;
    j.hardware = {.gpu = dice_.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_40gb, .nodes = dice_.pick({1, 1, 2, 16}), .gpus_per_node = dice_.pick({1, 2, 8})};
    const std::vector<profile> frameworks{frameworks::libtorch, frameworks::libtorch_2023, frameworks::hf_trainer, frameworks::deepspeed, frameworks::litgpt_202407};
    j.framework = frameworks[dice_.index(frameworks.size())];
    if (dice_.pick({0, 1, 2}) != 0) j.precision = precisions::all[dice_.index(6)];
    if (dice_.flip()) j.optimizer = optimizers::all[dice_.index(optimizers::all.size())];
    j.optimizer.how = static_cast<implementation>(dice_.pick({0, 1, 2, 3}));
    switch (dice_.pick({0, 1, 2, 3, 4})) {
      case 0: j.hardware.nodes = j.hardware.gpus_per_node = 1; break;
      case 1: j.sharding = ddp(); break;
      case 2: j.sharding = zero(dice_.pick({0, 1, 2, 3})); break;
      case 3: j.sharding = fsdp1(); break;
      default: j.sharding = fsdp2(); break;
    }
    if (j.framework.sharding.no_others && !j.framework.sharding.offers(j.sharding.kind)) j.sharding = fsdp1();
    j.batch = {.micro = dice_.pick({1, 2, 5}), .sequence = dice_.pick({1, 128, 1024}), .accumulation = dice_.pick({1, 1, 4})};
    if (dice_.flip()) j.recompute = headroom::recompute::full;
    j.attention = static_cast<attention>(dice_.pick({0, 1, 2, 3}));
    if (dice_.pick({0, 1, 2}) == 0) {
      j.adapter = {.kind = adapter_kind::lora, .rank = dice_.pick({1, 8, 64}), .targets = dice_.flip() ? all_linear : module_set{module::q_proj, module::v_proj},
                   .format = dice_.flip() ? formats::fp32 : formats::bf16};
      if (dice_.flip()) j.adapter.dropout.per_million = 50'000;
      if (dice_.flip() && j.sharding.kind == sharding_kind::none) j.adapter.base = dice_.flip() ? formats::nf4 : formats::nf4_double;
    }
    if (dice_.pick({0, 1, 2, 3}) == 0) j.trainable = {{.first_layer = 0, .last_layer = m.layers / 2}};
    if (dice_.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
    return j;
  }

 private:
  draw::dice dice_{20240229};
};

/// Both estimates, or nothing where the library refuses one of them.
template <class Check>
void grows(job smaller, job larger, Check check) {
  try {
    check(estimate(smaller), estimate(larger));
  } catch (const job_error&) {
  }
}

}  // namespace

TEST_CASE("parts add up, phases lie below the peak, nothing is negative") {
  jobs random;
  int estimated = 0;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = random.draw();
    report r;
    try {
      r = estimate(j);
    } catch (const job_error&) {
      continue;
    }
    ++estimated;
    parts_add_up(j, r);
  }
  CHECK(estimated > draw::some(18'000));
}

TEST_CASE("more of anything never takes less") {
  jobs random;
  for (int i = 0; i < draw::some(20'000); ++i) {
    auto j = random.draw();
    // Thresholds are no part of this: 8-bit state begins at 4096 elements, pages at 10^5, low rank where the matrix is larger, one
    // moment where a tensor is a matrix (rank 1 is taken for a vector), and ZeRO-3 partitions what is larger than its persistence
    // threshold.
    const auto& o = j.optimizer;
    if (o.plain_below > 0 || o.paged_from > 0 || o.extent != state_extent::full || o.vector_moments > 0) j.optimizer = optimizers::adamw;
    j.sharding.stage3_param_persistence_threshold = 0;
    const auto check = [&](const report& a, const report& b) {
      REQUIRE(a.ranks[0].allocated <= b.ranks[0].allocated);
      for (std::size_t p = 0; p < phase_count; ++p) REQUIRE(a.ranks[0].phases[p] <= b.ranks[0].phases[p]);
    };
    auto more = j;
    switch (i % 6) {
      case 0: more.batch.micro += 1; break;
      case 1: more.batch.sequence += 64; break;
      case 2: if (j.trainable.all()) more.model.layers += 1; break;
      case 3: more.model.ffn += 64; break;
      case 4: more.model.vocab += 512; break;
      default: if (j.adapter.active()) more.adapter.rank += 8; break;
    }
    CAPTURE(i);
    grows(j, more, check);
  }
}

TEST_CASE("layers are additive: the third adds what the second added") {
  jobs random;
  for (int i = 0; i < draw::some(3'000); ++i) {
    auto j = random.draw();
    j.trainable = {};
    if (check(j, objecting{})) continue;  // an optimizer that does not run under this sharding
    const auto states_with = [&](std::int64_t layers) {
      j.model.layers = layers;
      return states(j).gpu.total();
    };
    if (j.optimizer.blocks > 1) continue;  // BAdam trains a share of the layers, rounded up
    REQUIRE(states_with(3) - states_with(2) == states_with(4) - states_with(3));
  }
}

TEST_CASE("shards of all ranks hold at least the whole, and higher stages hold less") {
  jobs random;
  for (int i = 0; i < draw::some(3'000); ++i) {
    auto j = random.draw();
    if (j.adapter.base.quantised()) continue;
    j.framework = frameworks::deepspeed;
    j.precision = precisions::bf16_mixed;
    j.optimizer = optimizers::adamw;
    const auto d = j.hardware.gpus();
    if (d == 1) continue;
    j.sharding = zero(0);
    const auto whole = states(j).gpu;
    auto last = whole.total();
    for (const std::int64_t stage : {1, 2, 3}) {
      j.sharding = zero(stage);
      const auto shard = states(j).gpu;
      REQUIRE(shard.total() <= last);
      last = shard.total();
      const auto least = [&](row r) { return d * shard[r] + d * 512 * bytes{64 * j.model.layers + 64} >= whole[r]; };
      REQUIRE(least(row::model_parameters));
      REQUIRE(least(row::optimizer_state));
      REQUIRE(least(row::master_parameters));
      REQUIRE(least(row::gradients));
    }
  }
}

}  // namespace test_properties
