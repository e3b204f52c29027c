// Distributed under the Boost Software License, Version 1.0.
// PyTorch's attention where no kernel of it runs: the math path, in fp32.
// Sources: pytorch aten/src/ATen/native/transformers/sdp_utils_cpp.cpp use_flash_attention_cpp (on a CPU: heads of one size, no dropout, no gradient of a
// mask); attention.cpp _scaled_dot_product_attention_math (queries and keys are each multiplied with the root of the scale; grouped keys and values are
// repeated, repeat_interleave, and one head without enable_gqa is expanded by matmul, which copies it where there are several samples;
// _safe_softmax keeps its result alone: tools/autograd/derivatives.yaml).
#pragma once

#include <headroom/block/given_heads.hpp>
#include <headroom/block/linear.hpp>

namespace headroom::ops {

/// Whether it runs. `alike`: values are as wide as queries and keys; `biased`: what is added to the scores trains.
constexpr bool runs_math(const scene& s, bool alike, bool biased = false) {
  return s.kernel == attention::sdpa && (s.no_kernel || (s.host && (!alike || biased || s.drops.attention.positive())));
}

/// From queries, keys and values to the result, heads beside each other. `keys`: positions attended to; `out`: elements of the result; `kept`: beside the weights.
constexpr tensor math_attention(program& p, const scene& s, tensor q, tensor k, tensor v, tensor_set biases, std::int64_t out, tensor_set kept = 0) {
  const auto& m = *s.model;
  const auto keys = s.keys > 0 ? s.keys : s.sequence, scores = checked::mul(s.samples, m.heads, checked::mul(s.sequence, keys));
  const auto width = p.width(q);
  const auto copy = [&](tensor x, std::int64_t elements, std::int64_t bytes_each) {
    const auto y = p.make(elements, bytes_each);
    p.step(x.bit(), y.bit());
    return y;
  };
  const auto given = broadcasts_heads(m) && s.samples == 1 ? m.heads : 1;  // heads that are views of one
  const auto of_keys = [&](std::int64_t elements) { return elements / given / s.sequence * keys; };  // as many heads as queries have
  const auto scaled_q = copy(q, p.elements(q), 4), scaled_k = copy(k, of_keys(p.elements(q)), 4), wide_v = copy(v, of_keys(out), 4);
  const auto product = p.make(scores, 4), soft = p.make(scores, 4);
  p.step(scaled_q | scaled_k, product.bit(), {.saves = scaled_q | scaled_k});
  // Its backward on a GPU: as of ops::softmax().
  p.step(product.bit() | biases, soft.bit(), {.saves = kept | soft, .forward_temporary = p.size(product), .backward_temporary = s.host ? bytes{0} : p.size(soft)});
  auto weights = s.host ? soft : drop(p, soft, s.drops.attention);
  if (s.host && s.drops.attention.positive()) {
    const auto mask = p.make(scores, 4);
    weights = p.make(scores, 4);
    p.step(soft.bit(), mask | weights, {.saves = mask.bit()});
  }
  const auto sum = p.make(out, 4);
  p.step(weights | wide_v, sum.bit(), {.saves = weights | wide_v, .forward_temporary = s.host || width == 4 ? bytes{0} : p.rounded(scores, width)});  // the weights are returned, too
  return copy(width == 4 ? sum : copy(sum, out, width), out, width);
}

}  // namespace headroom::ops
