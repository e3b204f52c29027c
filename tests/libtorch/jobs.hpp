// Distributed under the Boost Software License, Version 1.0.
// Small jobs for a CPU, drawn at random; the same ones from the same seed.
#pragma once

#include "../estimate/dice.hpp"

#include <headroom/headroom.hpp>

namespace trainer {

class jobs {
 public:
  explicit jobs(std::uint64_t seed) : dice_(seed) {}

  headroom::job next() {
    using namespace headroom;
    job j;
    j.model = dice_.flip() ? llama() : gpt();
    j.hardware.gpu = gpus::cpu;
    j.framework = frameworks::libtorch_cpp;
    j.precision = dice_.flip() ? precisions::fp32 : precisions::bf16;
    j.optimizer = optimizers::adamw;
    j.batch = {.micro = dice_.pick({1, 2, 3, 5}), .sequence = dice_.pick({1, 7, 16, 33}), .accumulation = dice_.pick({1, 1, 2, 3})};
    j.model.max_positions = j.batch.sequence + dice_.pick({0, 9});
    if (dice_.index(3) == 0) j.recompute = recompute::full;
    j.attention = attention::eager;
    if (dice_.index(3) == 0 && !j.model.fused_qkv)
      j.adapter = {.kind = adapter_kind::lora, .rank = dice_.pick({1, 4, 8}), .targets = targets(),
                   .format = dice_.flip() ? formats::fp32 : j.precision.parameters};
    return j;
  }

 private:
  static constexpr headroom::activation_kind activations[] = {headroom::activation_kind::gelu_new, headroom::activation_kind::gelu,
                                                              headroom::activation_kind::gelu_pytorch_tanh, headroom::activation_kind::relu};

  headroom::shape common() {
    headroom::shape m;
    m.layers = dice_.pick({1, 2, 3, 5});
    m.heads = dice_.pick({1, 2, 4, 6, 8});
    m.hidden = m.heads * dice_.pick({4, 8, 16});
    m.head_dim = dice_.pick({0, 0, 0, 6, 20});
    m.ffn = m.hidden * dice_.pick({1, 2, 3, 4}) + dice_.pick({0, 2});
    m.vocab = dice_.pick({11, 64, 257, 1000});
    m.tied = dice_.flip();
    return m;
  }
  headroom::shape llama() {
    auto m = common();
    m.kv_heads = dice_.flip() ? 1 : dice_.flip() ? m.heads : m.heads / (m.heads % 2 == 0 ? 2 : 1);
    m.attention_bias = dice_.index(3) == 0;
    m.fused_qkv = dice_.index(4) == 0;
    return m;
  }
  headroom::shape gpt() {
    using namespace headroom;
    auto m = common();
    m.mlp = mlp_kind::plain;
    m.activation = activations[dice_.index(std::size(activations))];
    m.norm = norm_kind::layernorm;
    m.position = position_kind::learned;
    m.norm_bias = dice_.index(4) != 0;
    m.attention_bias = m.output_bias = m.mlp_bias = dice_.index(4) != 0;
    m.fused_qkv = dice_.flip();
    return m;
  }
  headroom::module_set targets() {
    using headroom::module;
    switch (dice_.index(3)) {
      case 0: return {module::q_proj, module::v_proj};
      case 1: return {module::down_proj, module::o_proj};
      default: return {module::q_proj, module::k_proj, module::v_proj, module::o_proj, module::up_proj, module::gate_proj, module::down_proj};
    }
  }

  draw::dice dice_;
};

}  // namespace trainer
