// Distributed under the Boost Software License, Version 1.0.
// QLoRA's weights as bitsandbytes makes them: every tensor of every layer a request of its own to an allocator that hands out 512 bytes at a time.
// Sources: bitsandbytes functional.py quantize_4bit, quantize_blockwise, get_4bit_type, QuantState; nn/modules.py Params4bit, Int8Params.cuda;
// peft utils/other.py prepare_model_for_kbit_training.
#include "../estimate/dice.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace test_quantised_pools {

using namespace headroom;

namespace {

/// Asks for tensors, one by one.
struct pool {
  std::int64_t taken{};
  void tensor(std::int64_t numbers, std::int64_t width) {
    const auto asked = numbers * width;
    taken += (asked / 512 + (asked % 512 != 0)) * 512;
  }
};

struct matrix {
  module is;
  std::int64_t out, in;
};
std::vector<matrix> layer_of(const shape& m) {
  const auto q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
  return {{module::q_proj, q, m.hidden}, {module::k_proj, kv, m.hidden}, {module::v_proj, kv, m.hidden}, {module::o_proj, m.hidden, q},
          {module::gate_proj, m.ffn, m.hidden}, {module::up_proj, m.ffn, m.hidden}, {module::down_proj, m.hidden, m.ffn}};
}

/// Params4bit: two numbers in a byte; absmax of 64 numbers; the code book of 16. Twice: absmax less its mean in a byte each, 256 of them with an absmax of
/// their own, and the mean; the code book of those bytes is made once.
void four_bits(pool& to, std::int64_t numbers, bool twice) {
  std::int64_t blocks = numbers / 64;
  blocks += numbers % 64 > 0 ? 1 : 0;
  to.tensor((numbers + 1) / 2, 1);
  to.tensor(16, 4);
  if (!twice) return to.tensor(blocks, 4);
  to.tensor(blocks, 1);
  std::int64_t outer = blocks / 256;
  outer += blocks % 256 > 0 ? 1 : 0;
  to.tensor(outer, 4);
  to.tensor(1, 4);
}

struct drawn {
  job of;
  std::int64_t rest{};  // bytes of a number that is not quantised
};
drawn draw_one(draw::dice& d) {
  drawn r;
  auto& m = r.of.model;
  m = {.layers = d.pick({1, 2, 5}), .heads = d.pick({3, 8, 10}), .head_dim = d.pick({40, 64, 100}), .ffn = d.pick({500, 1376, 4096}), .vocab = d.pick({257, 32'000}), .tied = d.flip()};
  m.kv_heads = d.flip() ? m.heads : 1;
  m.hidden = d.pick({272, 640, 1024});
  auto& j = r.of;
  const std::int64_t gpus = d.pick({1, 4});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = gpus};
  j.framework = frameworks::hf_trainer;
  j.precision = {.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32, .autocast = choice::yes};
  if (gpus > 1) j.sharding = ddp();
  j.batch = {.micro = 1, .sequence = 128};
  const number_format bases[] = {formats::nf4, formats::nf4_double, formats::fp4, formats::fp4_double, formats::int8};
  const bool narrow = d.flip();
  j.adapter = {.kind = d.flip() ? adapter_kind::lora : adapter_kind::dora, .rank = d.pick({1, 7, 64}), .format = narrow ? formats::bf16 : formats::fp32, .base = bases[d.index(5)]};
  for (const auto& w : layer_of(m)) {
    if (d.flip()) j.adapter.targets |= module_set{w.is};
    if (d.index(5) == 0) j.adapter.base_skips |= module_set{w.is};
  }
  j.adapter.targets |= module_set{module::v_proj};
  // "param.data = param.data.to(torch.float32)" of what is no Params4bit, unless the script leaves it.
  if (d.flip()) j.adapter.rest = formats::bf16;
  r.rest = j.adapter.rest.set() ? 2 : 4;
  return r;
}

}  // namespace

TEST_CASE("weights in few bits and their adapters, tensor by tensor") {
  draw::dice dice{2026'1127'03};
  for (int n = 0; n < 400; ++n) {
    const auto one = draw_one(dice);
    const auto& j = one.of;
    const auto& m = j.model;
    const auto& a = j.adapter;
    const auto label = std::string{a.base.label.view()};
    CAPTURE(n);
    CAPTURE(label);
    CAPTURE(m.hidden);
    CAPTURE(m.ffn);
    CAPTURE(m.heads);
    CAPTURE(m.head_dim);
    CAPTURE(a.base_skips.bits);
    CAPTURE(a.targets.bits);
    pool weights, adapters;
    weights.tensor(m.vocab * m.hidden, one.rest);
    if (!m.tied) weights.tensor(m.vocab * m.hidden, one.rest);  // transformers leaves the head
    weights.tensor(m.hidden, one.rest);
    const std::int64_t width = a.format.bits / 8;
    for (std::int64_t l = 0; l < m.layers; ++l) {
      weights.tensor(m.hidden, one.rest), weights.tensor(m.hidden, one.rest);
      for (const auto& w : layer_of(m)) {
        if (a.base_skips.has(w.is)) {
          weights.tensor(w.out * w.in, one.rest);
        } else if (label == "int8") {
          weights.tensor(w.out * w.in, 1);
          weights.tensor(w.out, 4);  // SCB
        } else {
          four_bits(weights, w.out * w.in, label.ends_with("double"));
        }
        if (!a.targets.has(w.is)) continue;
        adapters.tensor(a.rank * w.in, width), adapters.tensor(w.out * a.rank, width);
        if (a.kind == adapter_kind::dora) adapters.tensor(w.out, width);
      }
    }
    REQUIRE_FALSE(objection_to(j));
    const auto s = states(j).gpu;
    CHECK(s[row::model_parameters].count() == weights.taken);
    CHECK(s[row::adapters].count() == adapters.taken);
    CHECK(estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)][row::model_parameters].count() == weights.taken);
  }
}

}  // namespace test_quantised_pools
