// Distributed under the Boost Software License, Version 1.0.
// Small Llamas and how they train, drawn at random: accounts of a step are held to reports of these.
#pragma once

#include "../estimate/dice.hpp"
#include "run_of_model.hpp"

namespace ledger {

inline job drawn(draw::dice& dice) {
  job j;
  j.model = {.layers = dice.pick({1, 2, 3, 5}), .hidden = 512, .heads = 8, .kv_heads = dice.pick({2, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 16384}), .tied = dice.index(3) == 0};
  j.parallel.data = dice.pick({2, 4, 8});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = j.parallel.data};
  j.batch = {.micro = dice.pick({1, 2}), .sequence = dice.pick({128, 512, 2048}), .accumulation = dice.pick({1, 2, 3})};
  switch (dice.index(4)) {
    case 0: break;
    case 1: j.recompute = recompute::full; break;
    case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 1 + static_cast<std::int64_t>(dice.index(static_cast<std::size_t>(j.model.layers)))}; break;
    default: j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; break;
  }
  j.optimizer.how = dice.flip() ? implementation::fused : implementation::foreach;
  return j;
}

inline constexpr std::initializer_list<phase> steps{phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step, phase::save};

}  // namespace ledger
