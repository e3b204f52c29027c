// Distributed under the Boost Software License, Version 1.0.
// What must hold for models of every kind of block: experts, latent attention, encoders, towers, encoder and decoder. Drawn at random,
// from the same seed each time.
#include "add_up.hpp"
#include "dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace test_block_properties {

using namespace headroom;
using namespace headroom::literals;

namespace {

class jobs {
 public:
  job draw() {
    job j;
    auto& m = j.model;
    m.heads = dice_.pick({2, 4, 8});
    m.hidden = m.heads * dice_.pick({16, 64});
    m.layers = dice_.pick({1, 2, 5, 12});
    m.ffn = m.hidden * dice_.pick({1, 3});
    m.vocab = dice_.pick({100, 32000});
    m.max_positions = 1024;
    m.mlp = dice_.flip() ? mlp_kind::gated : mlp_kind::plain;
    m.activation = static_cast<activation_kind>(dice_.pick({0, 1, 2, 3, 4, 5}));
    m.norm = dice_.flip() ? norm_kind::rmsnorm : norm_kind::layernorm;
    m.norm_bias = m.attention_bias = m.mlp_bias = dice_.flip();
    m.tied = dice_.flip();
    m.norm_after = dice_.pick({0, 0, 1}) == 1;
    switch (dice_.pick({0, 0, 1, 2, 3})) {
      case 0: experts(m); break;
      case 1: encoder(m); break;
      case 2: tower(m); break;
      default: encoder_and_decoder(m); break;
    }
    if (m.encoder.layers == 0 && dice_.pick({0, 0, 1}) == 1) m.mla = {.q_rank = dice_.pick({0, 24}), .kv_rank = 16, .nope_dim = 12, .rope_dim = 4, .value_dim = 8};
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = dice_.pick({1, 2}), .gpus_per_node = dice_.pick({1, 8})};
    const std::vector<profile> frameworks{frameworks::libtorch, frameworks::hf_trainer, frameworks::hf_trainer_2023, frameworks::hf_trainer_202110, frameworks::deepspeed};
    j.framework = frameworks[dice_.index(frameworks.size())];
    j.precision = precisions::all[dice_.index(6)];
    j.optimizer.how = static_cast<implementation>(dice_.pick({0, 1, 2, 3}));
    switch (dice_.pick({0, 1, 2, 3, 4})) {
      case 0: j.hardware.nodes = j.hardware.gpus_per_node = 1; break;
      case 1: j.sharding = ddp(); break;
      case 2: j.sharding = zero(dice_.pick({1, 2, 3})); break;
      case 3: j.sharding = fsdp1(); break;
      default: j.sharding = fsdp2(); break;
    }
    if (j.sharding.kind == sharding_kind::fsdp2 && j.hardware.gpus() > 1 && dice_.flip()) j.parallel.replicate = 2;
    j.batch = {.micro = dice_.pick({1, 3}), .sequence = dice_.pick({8, 128}), .accumulation = dice_.pick({1, 4}), .padded = dice_.flip()};
    if (dice_.flip()) j.recompute = headroom::recompute::full;
    j.attention = static_cast<attention>(dice_.pick({0, 1, 2, 3}));
    if (dice_.pick({0, 1, 2}) == 0)
      j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = dice_.flip() ? formats::fp32 : formats::bf16};
    if (dice_.pick({0, 1, 2}) == 0) j.trainable = {{.first_layer = 0, .last_layer = m.layers / 2, .experts = dice_.pick({-1, 1, 2})}};
    if (dice_.flip()) j.dropout = {{100'000}, {100'000}, {100'000}};
    return j;
  }

 private:
  void experts(shape& m) {
    m.norm_after = false;
    auto& e = m.experts;
    e.count = dice_.pick({2, 8, 16});
    e.active = e.count > 2 ? dice_.pick({1, 2, 4}) : 1;
    e.ffn = dice_.pick({16, 48});
    e.every = dice_.pick({1, 1, 2, 3});
    e.first_dense_layers = dice_.pick({0, 0, 1});
    switch (dice_.pick({0, 1, 2, 3})) {
      case 0: e.bias = e.router_bias = true; break;
      case 1: e.shared = 1, e.shared_ffn = 32, e.shared_gate = true; break;
      case 2: e.shared = 1, e.shared_ffn = 32; break;
      default: break;
    }
  }
  void encoder(shape& m) {
    m.bidirectional = m.embedding_norm = true;
    m.position = position_kind::learned;
    m.token_types = dice_.pick({0, 2});
    m.head = dice_.flip() ? head_kind::masked_language : head_kind::none;
    m.pooler = dice_.flip();
    m.classes = dice_.pick({0, 3});
    m.no_final_norm = dice_.flip();
  }
  void tower(shape& m) {
    m.norm_after = false;
    auto& v = m.vision;
    v.kind = static_cast<vision_kind>(dice_.pick({1, 2, 3, 4, 5}));
    v.projector = static_cast<projector_kind>(dice_.pick({1, 2, 3, 5}));
    v.layers = dice_.pick({1, 3});
    v.heads = 4;
    v.hidden = 32;
    v.ffn = 48;
    v.patch = 8;
    v.image = dice_.pick({16, 64});
    v.merge = v.projector == projector_kind::merger ? 2 : 1;
    v.positions = dice_.flip() ? 65 : 0;
    v.slices = dice_.pick({0, 3});
    v.resampler = v.projector == projector_kind::resampler ? 4 : 0;
  }
  void encoder_and_decoder(shape& m) {
    m.position = dice_.flip() ? position_kind::relative : position_kind::learned;
    m.relative_buckets = m.position == position_kind::relative ? 8 : 0;
    m.encoder.layers = dice_.pick({1, 4});
    m.encoder.cross_attention = true;
    m.encoder.sequence = dice_.pick({0, 64});
    m.encoder.audio_channels = m.position == position_kind::learned ? dice_.pick({0, 16}) : 0;
    m.no_final_norm = m.norm_after;
  }
  draw::dice dice_{20261121};
};

}  // namespace

TEST_CASE("rows add up and none is negative, whatever the blocks") {
  jobs source;
  int walked = 0;
  for (int i = 0; i < draw::some(20'000); ++i) {
    const auto j = source.draw();
    report r;
    try {
      r = estimate(j);
    } catch (const job_error&) {
      continue;
    }
    ++walked;
    CAPTURE(i);
    parts_add_up(j, r);

    // One more sample never takes less.
    auto more = j;
    ++more.batch.micro;
    REQUIRE(estimate(more).ranks[0].allocated >= r.ranks[0].allocated);
  }
  CHECK(walked > draw::some(15'000));
}

}  // namespace test_block_properties
