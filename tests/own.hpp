// Distributed under the Boost Software License, Version 1.0.
// The library's layers told from outside, and models in which they take turns with the library's own.
#pragma once

#include <headroom/headroom.hpp>

#include <string_view>

namespace own {

using namespace headroom;

inline constexpr void add_matrix(inventory& list, const layer_span& layers, module role, std::int64_t out, std::int64_t in) {
  list.add({.role = role, .rows = out, .columns = in, .layers = layers, .linear = true});
}

/// Attention, added to its input: half of a Llama layer.
struct attention_half {
  static constexpr std::string_view label() { return "attends"; }
  static constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) {
    add_matrix(list, layers, module::q_proj, m.query_width(), m.hidden);
    add_matrix(list, layers, module::k_proj, m.kv_width(), m.hidden);
    add_matrix(list, layers, module::v_proj, m.kv_width(), m.hidden);
    add_matrix(list, layers, module::o_proj, m.hidden, m.query_width());
    list.add({.role = module::norm, .rows = m.hidden, .layers = layers});
  }
  static constexpr int parts() { return 1; }
  static constexpr program part(int, const scene& s, const module_set& trained, bool flows) { return decoder_block(s, layer_part::attention, trained, flows); }
  static constexpr layer_flops flops(const scene& s) { return attention_flops(s); }
};

/// … which does not say what it computes beside its matrices.
struct silent_half {
  static constexpr std::string_view label() { return "attends"; }
  static constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) { attention_half::add_weights(list, m, layers); }
  static constexpr int parts() { return 1; }
  static constexpr program part(int i, const scene& s, const module_set& trained, bool flows) { return attention_half::part(i, s, trained, flows); }
};

/// All of it.
struct llama_layer {
  static constexpr std::string_view label() { return "llama"; }
  static constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) {
    attention_half::add_weights(list, m, layers);
    list.add({.role = module::norm, .rows = m.hidden, .layers = layers});
    add_matrix(list, layers, module::gate_proj, m.ffn, m.hidden);
    add_matrix(list, layers, module::up_proj, m.ffn, m.hidden);
    add_matrix(list, layers, module::down_proj, m.hidden, m.ffn);
  }
  static constexpr int parts() { return 2; }
  static constexpr program part(int i, const scene& s, const module_set& trained, bool flows) {
    return decoder_block(s, i == 0 ? layer_part::attention : layer_part::mlp, trained, flows);
  }
  static constexpr layer_flops flops(const scene& s) { return attention_flops(s); }
};

inline constexpr own_layers both{llama_layer{}, attention_half{}};
inline constexpr layer_kind dense{mixer_kind::attention, feed_forward_kind::dense}, recurs{mixer_kind::gated_delta_net, feed_forward_kind::dense};

/// Layers from outside in turns with those of `other` kind: whole ones, or halves before the library's MLP.
constexpr job whole(job j, layer_kind other) {
  j.model.pattern.add_own("llama");
  j.model.pattern.add(other);
  return j;
}
constexpr job half(job j, layer_kind other) {
  j.model.pattern.add_own("attends", feed_forward_kind::dense);
  j.model.pattern.add(other);
  return j;
}
/// … the library's instead.
constexpr job shipped(job j, layer_kind other) {
  j.model.pattern.add(dense);
  j.model.pattern.add(other);
  return j;
}

/// Sizes for Gated DeltaNet beside a Llama of 2048.
inline constexpr ssm_shape states{.heads = 16, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};

/// Calls visit(job) for so many recipes of eager trainers.
template <class Visit>
void for_each_recipe(const job& of, const Visit& visit) {
  for (const auto& framework : {frameworks::libtorch, frameworks::hf_trainer, frameworks::deepspeed, frameworks::litgpt_202410})
    for (const auto& sharding : {ddp(), zero(2), zero(3), fsdp1(), fsdp2()})
      for (const auto& recompute : {recompute::none, recompute::full})
        for (const auto& adapter : {headroom::adapter{}, headroom::adapter{.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32}}) {
          auto j = of;
          j.framework = framework;
          j.sharding = sharding;
          j.recompute = recompute;
          j.adapter = adapter;
          if (!framework.sharding.no_others || framework.sharding.offers(sharding.kind)) visit(j);
        }
}

}  // namespace own
