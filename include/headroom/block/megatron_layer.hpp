// Distributed under the Boost Software License, Version 1.0.
// The halves of a Megatron layer of any kind. A letter of a hybrid stack is one half alone; nanotron's layer and GPT-NeoX's are one program.
#pragma once

#include <headroom/block/gpt_neox.hpp>
#include <headroom/block/in_place.hpp>
#include <headroom/block/megatron.hpp>
#include <headroom/block/megatron_cross.hpp>
#include <headroom/block/megatron_experts.hpp>
#include <headroom/block/megatron_gated_delta_net.hpp>
#include <headroom/block/megatron_loss.hpp>
#include <headroom/block/megatron_mamba2.hpp>
#include <headroom/block/nanotron.hpp>

namespace headroom::megatron {

/// Mixers that have a program here, and can be divided.
constexpr bool has_program(mixer_kind k) { return k == mixer_kind::attention || k == mixer_kind::latent_attention || k == mixer_kind::mamba2 || k == mixer_kind::gated_delta_net; }

/// Where what a kind of layer costs is kept: a stack is of whole layers, dense and sparse, or of halves.
inline constexpr std::size_t kind_places = 4;
constexpr std::size_t place_of(layer_kind k) {
  if (k.whole()) return (k.sparse() ? 1U : 0U) + (k.mixer == mixer_kind::gated_delta_net ? 2U : 0U);
  if (k.mixer == mixer_kind::none) return k.sparse() ? 1 : 2;
  return k.mixer == mixer_kind::mamba2 ? 3 : 0;
}

/// Whether a layer's locals reach from one half into the other, so that both are one program: mixer_block().
constexpr bool in_one_program(const scene& s) { return s.habits->modules.nanotron() || s.habits->modules.neox(); }

/// The half of a layer that mixes positions.
constexpr program mixer_block(const scene& s, layer_kind kind, const module_set& trained) {
  if (in_one_program(s)) return s.habits->modules.neox() ? neox::layer(s) : nanotron::layer(s);
  if (kind.mixer == mixer_kind::mamba2) return mamba2_block(s, trained);
  if (kind.mixer == mixer_kind::gated_delta_net) return gated_delta_block(s, trained);
  return kind.mixer == mixer_kind::latent_attention ? latent_block(s, true) : dense_block(s, true, trained, true);
}
/// The half that each position passes through by itself.
constexpr program feed_forward_block(const scene& s, layer_kind kind, const module_set& trained) {
  return kind.sparse() ? sparse_block(s, trained, true) : dense_block(s, false, trained, true);
}
/// visit(program) for each half that a layer has, and for its attention to an encoder.
constexpr void for_each_half(const scene& s, layer_kind kind, const module_set& trained, const auto& visit) {
  if (kind.mixer != mixer_kind::none) with_made([&] { return mixer_block(s, kind, trained); }, visit);
  if (s.memory > 0) with_made([&] { return cross_block(s, trained); }, visit);
  if (kind.feeds != feed_forward_kind::none && !in_one_program(s)) with_made([&] { return feed_forward_block(s, kind, trained); }, visit);
}

/// Head and loss of the last stage.
constexpr program last_block(const scene& s, const module_set& trained) {
  if (in_one_program(s)) return s.habits->modules.neox() ? neox::head_and_loss(s) : nanotron::head_and_loss(s);
  return head_and_loss(s, trained);
}

}  // namespace headroom::megatron
