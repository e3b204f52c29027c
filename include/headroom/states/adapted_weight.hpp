// Distributed under the Boost Software License, Version 1.0.
// What an adapter adds beside a weight: how many output features its B has, and how much of both matrices one rank holds.
#pragma once

#include <headroom/settle/settled_job.hpp>

namespace headroom::detail {

/// Output features of the adapter beside a weight: the weight's own; of one over a fused q, k, v projection all three's, counted with q, and so gate and up,
/// counted with the gate (peft tuners/lora/layer.py: of a linear layer one A and one B). Megatron's are one layer (mlp.py linear_fc1); the gate of a shared expert is none.
constexpr std::int64_t adapted_rows(const settled_job& s, const weight& w) {
  const bool joins = s.source->framework.adapters.parallel;
  const bool joins_qkv = joins || s.layer.joins_qkv(s.model), joins_gate_up = joins || s.layer.joins_gate_up(s.model);
  if (joins && w.rows == 1) return 0;
  switch (w.role) {
    case module::q_proj: return joins_qkv ? checked::add(w.rows, 2 * s.model.kv_width()) : w.rows;
    case module::k_proj:
    case module::v_proj: return joins_qkv ? 0 : w.rows;
    case module::gate_proj:
    case module::experts_gate:
    case module::shared_gate: return joins_gate_up && w.rows > 1 ? 2 * w.rows : w.rows;
    case module::up_proj:
    case module::experts_up:
    case module::shared_up: return joins_gate_up && s.model.mlp == mlp_kind::gated ? 0 : w.rows;
    case module::mixer_in: {  // Gated DeltaNet's two, of which Megatron has one (mcore-bridge gated_delta_net.py in_proj)
      const auto gates = 2 * s.model.ssm.heads;
      return !joins ? w.rows : w.rows == gates ? 0 : checked::add(w.rows, gates);
    }
    default: return w.rows;
  }
}

/// Tells add(rows, columns) of each tensor that an adapter adds beside a weight: A, B, and DoRA's magnitudes.
constexpr void for_each_adapter(const settled_job& s, const weight& w, const auto& add) {
  const auto& a = s.source->adapter;
  const auto rows = adapted_rows(s, w);
  if (rows == 0) return;
  add(a.rank, w.columns);
  add(rows, a.rank);
  if (a.kind == adapter_kind::dora) add(rows, 1);
}

/// The matrix that a tied head's adapter lies beside: the list has it as the embedding.
constexpr weight tied_head(const settled_job& s) { return {.role = module::head, .rows = s.model.vocab, .columns = s.model.embedding_width(), .linear = true}; }

/// Elements of LoRA's A (rank × in) and B (out × rank) beside one weight on one rank of parallel.tensor (experts: expert_tensor). Beside a
/// column-parallel layer B is divided, beside a row-parallel one A (ms-swift swift/megatron/tuners/lora.py LoraParallelLinear.update_layer).
constexpr std::int64_t adapter_elements(const settled_job& s, const weight& w) {
  if (!w.linear || w.vector() || !s.layer.adapts(w.role)) return 0;
  const auto rows = adapted_rows(s, w);
  if (rows == 0) return 0;
  const auto& d = s.source->parallel;
  const auto parts = w.expert ? d.expert_tensor : d.tensor;
  const auto a = checked::mul(s.source->adapter.rank, w.columns), b = checked::mul(rows, s.source->adapter.rank);
  const bool by_rows = w.role == module::o_proj || w.role == module::down_proj || w.role == module::experts_down || w.role == module::shared_down || w.role == module::mixer_out;
  return by_rows ? checked::add(a / parts, b) : checked::add(a, b / parts);
}

}  // namespace headroom::detail
