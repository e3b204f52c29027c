// Distributed under the Boost Software License, Version 1.0.
// What the scans of Gated DeltaNet read: chunks and gates.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/gated_delta_net.hpp>

namespace headroom::ops {

/// What the chunks are made of: samples × heads of them, one for every 64 positions, the last one padded.
struct delta_chunks {
  std::int64_t chunks{};  ///< of a sequence
  std::int64_t heads{};   ///< of values, of all samples
  std::int64_t all{};     ///< chunks × heads
  std::int64_t rows{};    ///< positions of all heads, padding included
  std::int64_t keys{};    ///< rows × features of a key
  std::int64_t values{};
  std::int64_t square{};  ///< all × positions × positions
  std::int64_t state{};   ///< heads × features of a key × of a value

  static constexpr std::int64_t positions = 64;
  constexpr explicit delta_chunks(const scene& s)
      : chunks(checked::ceil_div(s.sequence, positions)), heads(checked::mul(s.samples, s.model->ssm.heads)), all(checked::mul(chunks, heads)),
        rows(checked::mul(all, positions)), keys(checked::mul(rows, s.model->ssm.state)), values(checked::mul(rows, s.model->ssm.head_dim)),
        square(checked::mul(rows, positions)), state(checked::mul(heads, checked::mul(s.model->ssm.state, s.model->ssm.head_dim))) {}
};

/// beta, the sigmoid of one half of a projection; g = -exp(A_log) softplus(a + dt_bias) in fp32 of the other.
struct delta_gates {
  tensor beta{}, g{};
};
constexpr delta_gates gates_of(program& p, const scene& s, const module_set& trained, tensor ba) {
  const auto heads = s.model->ssm.heads, n = checked::mul(s.tokens, heads);
  const auto weight = trained.has(module::mixer) ? p.rounded(heads, s.weight_width) : bytes{0};
  const auto beta = kept_of(p, ba.bit(), n, p.width(ba));
  const auto softplus = made_of(p, ba.bit(), 2 * n, 4, {.weight_gradient = weight});  // its argument and its result
  const auto rate = p.make(2 * heads, 4);                                             // exp(A_log), and its negative
  p.step(0, rate.bit(), {.saves = weight > bytes{0} ? rate.bit() : 0, .weight_gradient = weight});
  return {beta, made_of(p, softplus | rate, n, 4, {.saves = softplus | rate})};
}

}  // namespace headroom::ops
