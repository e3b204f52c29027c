// Distributed under the Boost Software License, Version 1.0.
// RecurrentGemma's recurrence, from the normalised input to the output projection: two branches, a convolution, gates, and a loop over positions
// whose tensors this program joins. No kernel of another package stands for the loop.
// Source: transformers 5.16 models/recurrent_gemma/modeling_recurrent_gemma.py RecurrentGemmaRecurrentBlock, RecurrentGemmaRglru.forward and _rnn_scan.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/rg_lru.hpp>

namespace headroom::ops {

/// Each position's state is a gate times the one before it, and what comes in, in fp32. A position saves its gate and the state before it; the first one's
/// state is zero and needs no gradient. Backward makes a gradient as large as the sequence for each position that it writes or reads.
constexpr tensor rg_lru_scan(program& p, const scene& s, tensor gate, tensor x) {
  const auto n = p.elements(x), state = n / s.sequence;
  const bool wide = p.width(gate) == 4;  // positions of it are views, not copies
  const auto gates = wide ? gate : p.make(n - state, 4), states = p.make(n, 4);
  const bytes whole = p.rounded(n, p.width(x));
  p.step(gate | x, gates.bit() == gate.bit() ? states.bit() : gates | states, {.saves = gates | states, .backward_temporary = 3 * whole, .temporary_block = whole});
  return made_of(p, states.bit(), n, p.width(x), {.forward_temporary = p.rounded(state, p.width(x))});
}

/// Gates of the input and of the recurrence, each head's from its own features; the root of one less the square of the latter scales what comes in.
constexpr tensor rg_lru(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto width = headroom::detail::rg_lru_width(m), n = checked::mul(s.tokens, width);
  const bool trains = trained.has(module::mixer);
  const auto gradient = [&](std::int64_t elements) { return trains ? p.rounded(elements, s.weight_width) : bytes{0}; };
  const auto y = activate(p, s, linear(p, s, trained, module::mixer_in, x, m.hidden, width, true), m.activation);
  const auto branch = linear(p, s, trained, module::mixer_in, x, m.hidden, width, true);
  const auto w = p.width(branch);
  const auto padded = checked::mul(s.samples, width, checked::add(s.sequence, m.ssm.conv - 1));
  const auto convolved = made_of(p, branch.bit(), padded, w, {.saves = branch.bit(), .weight_gradient = gradient(checked::mul(width, checked::add(m.ssm.conv, 1)))});
  const auto heads = s.samples > 1 ? p.make(n, w) : p.view(convolved, n);  // of one sample heads lie apart as they are
  p.step(convolved.bit(), heads.bit());
  const auto sigmoid = [&] {  // of a product with each head's matrix, added to a bias, and put in order
    const auto product = made_of(p, heads.bit(), n, w, {.saves = heads.bit(), .weight_gradient = gradient(checked::mul(width, checked::add(m.ssm.head_dim, 1)))});
    return kept_of(p, pointwise(p, product).bit(), n, w);
  };
  const auto opens = sigmoid(), recurs = sigmoid();
  const auto scaled = scale(p, s, recurs);
  const auto softplus = p.make(width, s.weight_width);
  p.step(0, softplus.bit(), {.weight_gradient = gradient(width)});
  const auto v = p.width(softplus) > w ? p.width(softplus) : w;  // a parameter in fp32 makes all that follows fp32
  const auto logarithm = made_of(p, scaled | softplus, n, v, {.saves = (trains ? scaled.bit() : 0) | softplus});
  const auto gate = kept_of(p, logarithm.bit(), n, v), square = kept_of(p, logarithm.bit(), n, v, {.forward_temporary = p.rounded(n, v), .backward_temporary = p.rounded(n, v)});
  const auto gated = made_of(p, convolved | opens, n, w, {.saves = convolved | opens});
  const auto rest = made_of(p, square.bit(), n, v);
  const auto root = made_of(p, rest.bit(), n, v, {.saves = rest.bit(), .backward_temporary = p.rounded(n, v)});
  const auto begins = p.make(s.sequence, 1), again = p.make(s.sequence, 1);  // where positions begin anew
  p.step(0, begins | again);
  const auto factor = cast(p, made_of(p, root | begins, n, v, {.saves = begins.bit(), .forward_temporary = p.rounded(n, v)}), w);
  const auto normal = made_of(p, gated | factor, n, w, {.saves = gated | factor});
  const auto kept = made_of(p, gate | again, n, v, {.saves = again.bit()});
  const auto scanned = rg_lru_scan(p, s, kept, normal);
  return linear(p, s, trained, module::mixer_out, multiply(p, scanned, y), width, m.hidden, true);
}

}  // namespace headroom::ops
