// Distributed under the Boost Software License, Version 1.0.
// DeepSpeed's hybrid engine: the trained weights generate through its kernels for inference, which have memory of their own.
#pragma once

#include <headroom/model/shape.hpp>
#include <headroom/recipe/number_format.hpp>
#include <headroom/units/quantity.hpp>

namespace headroom {

/// What the kernels allocate at the first generation, and keep: ten activations, keys and values of all layers and the scores of one, of as many
/// positions as a sequence may have; heads are as wide as the next of 32, 64 and 128 (DeepSpeed edaa7221, csrc/transformer/inference/includes/
/// inference_context.h InferenceContext::GenWorkSpace; runtime/hybrid_engine.py new_inference_container: no less than max_out_tokens). Bytes.
constexpr bytes hybrid_workspace(const shape& m, std::int64_t sequences, std::int64_t length, const number_format& format) {
  const auto head = m.head_width();
  const std::int64_t padded = head <= 32 ? 32 : head <= 64 ? 64 : head <= 128 ? 128 : head;
  const auto inner = checked::mul(m.heads, padded);
  const auto activations = checked::mul(10, inner), scores = checked::mul(m.heads, length), cache = checked::mul(m.layers, inner, 2);
  return bytes{checked::mul(activations + scores + cache, sequences, length, format.width())};
}

/// Buffers into which each layer's q, k and v are copied, the same for all layers (ops/transformer/inference/ds_attention.py _qkv_buffers). Bytes.
constexpr bytes hybrid_joined(const shape& m, const number_format& format) { return bytes{checked::mul(3, m.hidden, m.hidden + 1, format.width())}; }

}  // namespace headroom
