// Distributed under the Boost Software License, Version 1.0.
// The halves of a Megatron layer of any kind.
#pragma once

#include <headroom/block/megatron.hpp>
#include <headroom/block/megatron_experts.hpp>

namespace headroom::megatron {

/// Mixers that have a program here, and can be divided.
constexpr bool has_program(mixer_kind k) { return k == mixer_kind::attention || k == mixer_kind::latent_attention; }

constexpr program mixer_block(const scene& s, layer_kind kind, const module_set& trained) {
  return kind.mixer == mixer_kind::latent_attention ? latent_block(s, true) : dense_block(s, true, trained, true);
}
constexpr program feed_forward_block(const scene& s, layer_kind kind, const module_set& trained) {
  return kind.sparse() ? sparse_block(s, trained, true) : dense_block(s, false, trained, true);
}

}  // namespace headroom::megatron
