// Distributed under the Boost Software License, Version 1.0.
// LoRA beside Megatron's divided layers, as ms-swift adds it: A and B are layers of TransformerEngine, and the result is scaled and added in Python.
// Source: modelscope/ms-swift swift/megatron/tuners/lora.py LoraParallelLinear (update_layer, forward).
#pragma once

#include <headroom/block/linear.hpp>

namespace headroom::megatron {

/// Whether a layer has an adapter of ms-swift's beside it. What NeMo and Megatron-Bridge add is not walked: their memory is refused, and a time
/// is that of the layers alone.
constexpr bool adapts(const scene& s, module m) { return s.habits->adapters.parallel && s.adapts(m); }

/// Whether the model's own weights are frozen, so that no layer saves its input for them.
constexpr bool base_trains(const scene& s) { return !s.side->active(); }

/// One matrix of an adapter: it trains, and so it saves its input.
constexpr tensor side_matrix(program& p, const scene& s, tensor x, std::int64_t elements, std::int64_t weights) {
  const auto y = p.make(elements, s.width);
  p.step(x.bit(), y.bit(), {.saves = x.bit(), .weight_gradient = s.fuses_weight_gradients ? bytes{0} : p.rounded(weights, s.adapter_width), .splits = true});
  return y;
}

/// B's result × scaling, added to the base's; the locals `result` and `x` hold both until then.
constexpr tensor join_side(program& p, const scene& s, tensor high, tensor base, tensor x, std::int64_t result) {
  const auto scaled = p.make(p.elements(high), s.width);
  p.step(high.bit(), scaled.bit(), {.holds = base | x});
  const auto y = p.make(result, s.width);
  p.step(base | scaled, y.bit(), {.holds = x.bit(), .passes_gradient = p.elements(scaled) == result});
  return y;
}

/// Beside a column-parallel layer of in → out features: A is whole on every rank, B divided. Under sequence parallelism the input is gathered
/// for A, which saves it whole.
constexpr tensor adapt_column(program& p, const scene& s, tensor x, tensor base, std::int64_t in, std::int64_t out) {
  const auto rank = s.side->rank;
  auto whole = x;
  if (s.sequence_split > 1) {
    whole = p.make(checked::mul(s.tokens, in), s.width);
    p.step(x.bit(), whole.bit(), {.holds = base.bit()});
  }
  const auto dropped = ops::drop(p, whole, s.side->dropout);
  const auto low = side_matrix(p, s, dropped, checked::mul(s.tokens, rank), checked::mul(in, rank));
  const auto high = side_matrix(p, s, low, p.elements(base), checked::mul(rank, out) / s.tensor);
  return join_side(p, s, high, base, whole, p.elements(base));
}

/// Beside a row-parallel layer: A is divided and its result summed over the ranks, B whole; of B's result, which is of all tokens, each rank
/// adds its share under sequence parallelism.
constexpr tensor adapt_row(program& p, const scene& s, tensor x, tensor base, std::int64_t in, std::int64_t out) {
  const auto rank = s.side->rank;
  const auto dropped = ops::drop(p, x, s.side->dropout);
  const auto low = side_matrix(p, s, dropped, checked::mul(s.tokens, rank), checked::mul(in, rank) / s.tensor);
  const auto high = side_matrix(p, s, low, checked::mul(s.tokens, out), checked::mul(rank, out));
  return join_side(p, s, high, base, x, p.elements(base));
}

/// Beside the experts of this rank, `tokens` of them in all: a matrix for each expert, in two grouped multiplications. `in` and `out` are
/// of one rank; `weights` of A and B together, of all experts here, in elements.
constexpr tensor adapt_grouped(program& p, const scene& s, tensor x, tensor base, std::int64_t tokens, std::int64_t weights) {
  const auto dropped = ops::drop(p, x, s.side->dropout);
  const auto low = side_matrix(p, s, dropped, checked::mul(tokens, s.side->rank), weights);
  const auto high = side_matrix(p, s, low, p.elements(base), 0);
  return join_side(p, s, high, base, x, p.elements(base));
}

}  // namespace headroom::megatron
