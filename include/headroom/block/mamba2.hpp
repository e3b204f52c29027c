// Distributed under the Boost Software License, Version 1.0.
// Mamba-2, from the normalised input to the output projection. Fused, all behind the first projection is one operation; eager, a tensor of
// this program stands for those that PyTorch makes and drops together.
// Sources: transformers 5.16 models/mamba2/modeling_mamba2.py Mamba2Mixer.cuda_kernels_forward, torch_forward, MambaRMSNormGated; mamba_ssm
// ops/triton/ssd_combined.py MambaSplitConv1dScanCombinedFn.
#pragma once

#include <headroom/block/short_convolution.hpp>
#include <headroom/model/mamba2.hpp>

namespace headroom::ops {

/// What the chunks are made of; the last one is padded. Of this rank: tensor and context parallelism divide heads.
struct mamba2_chunks {
  std::int64_t chunks{};  ///< of a sequence
  std::int64_t size{};    ///< positions of a chunk
  std::int64_t heads{};   ///< of all samples
  std::int64_t rows{};    ///< positions of all heads, padding included
  std::int64_t inner{};   ///< rows × features of a head
  std::int64_t keys{};    ///< rows × state
  std::int64_t square{};  ///< rows × positions of a chunk
  std::int64_t states{};  ///< heads × chunks and the one before × features × state

  constexpr explicit mamba2_chunks(const scene& s)
      : chunks(checked::ceil_div(s.sequence, detail::mamba2_chunk(*s.model))), size(detail::mamba2_chunk(*s.model)), heads(checked::mul(s.samples, s.model->ssm.heads) / (s.tensor * s.context)),
        rows(checked::mul(heads, chunks, size)), inner(checked::mul(rows, s.model->ssm.head_dim)), keys(checked::mul(rows, s.model->ssm.state)),
        square(checked::mul(rows, size)), states(checked::mul(heads, chunks + 1, checked::mul(s.model->ssm.head_dim, s.model->ssm.state))) {}
};

/// What the scan of a layer makes for a moment, in forward and in backward.
struct mamba2_scan {
  bytes forward{}, backward{};
  constexpr mamba2_scan(const program& p, const scene& s, std::int64_t w) {
    const auto& m = *s.model;
    const mamba2_chunks c(s);
    const auto divided = [&](std::int64_t features) { return checked::mul(s.tokens, features) / s.tensor; };
    const auto convolved = p.rounded(divided(detail::mamba2_channels(m)), w), steps = 2 * p.rounded(c.rows, 4);
    const auto states = p.rounded(c.states, 4) + p.rounded(c.states, w), products = p.rounded(c.square / m.ssm.heads * m.ssm.groups, 4);
    const auto made = convolved + steps + states + products;
    const auto of_groups = p.rounded(divided(checked::mul(2 * m.ssm.groups, m.ssm.state)), 4), inner = p.rounded(divided(detail::mamba2_inner(m)), w);
    forward = made + inner;
    backward = 2 * made + convolved + of_groups + 2 * inner;
  }
};

/// MambaSplitConv1dScanCombinedFn keeps what the first projection made, the scan's result before the gate, and a root a group. The
/// convolution's result, steps and decays (fp32), states (fp32 and in the compute format) and C·BT (fp32) are made again in backward, beside
/// gradients of as many, of B and C in fp32, and the gated norm's result for the last matrix.
constexpr tensor mamba2_fused(program& p, const scene& s, const module_set& trained, tensor projected) {
  const auto& m = *s.model;
  const auto inner = detail::mamba2_inner(m), n = checked::mul(s.tokens, inner);
  const auto w = p.width(projected);
  const mamba2_scan scan(p, s, w);
  const auto y = p.make(checked::mul(s.tokens, m.hidden), w), scanned = p.make(n, w), roots = p.make(m.ssm.no_norm ? 0 : checked::mul(s.tokens, m.ssm.groups), 4);
  bytes weights{0};
  if (trained.has(module::mixer))
    weights += p.rounded(checked::mul(detail::mamba2_channels(m), m.ssm.conv + (m.ssm.conv_bias ? 1 : 0)), s.weight_width) + 3 * p.rounded(m.ssm.heads, s.weight_width) +
               (m.ssm.no_norm ? bytes{0} : p.rounded(inner, s.weight_width));
  if (trained.has(module::mixer_out)) weights += p.rounded(checked::mul(inner, m.hidden), s.weight_width) + (m.ssm.bias ? p.rounded(m.hidden, s.weight_width) : bytes{0});
  const auto copy = cast_weights(p, s, checked::mul(inner, m.hidden));
  p.step(projected.bit(), (y | scanned) | roots,
         {.saves = (projected | scanned) | (roots | copy), .forward_temporary = scan.forward, .backward_temporary = scan.backward,
          .weight_gradient = weights});
  return y;
}

/// torch_forward: sums over products that are written out, of a chunk's positions × positions × heads × state.
constexpr tensor mamba2_eager(program& p, const scene& s, const module_set& trained, tensor projected) {
  const auto& m = *s.model;
  const mamba2_chunks c(s);
  const auto inner = detail::mamba2_inner(m), n = checked::mul(s.tokens, inner), per_head = checked::mul(s.tokens, m.ssm.heads);
  const auto w = p.width(projected);
  const bool trains = trained.has(module::mixer);
  const auto vector = trains ? p.rounded(m.ssm.heads, s.weight_width) : bytes{0};
  const auto in = p.view(projected, checked::mul(s.tokens, detail::mamba2_channels(m)));
  p.step(projected.bit(), in.bit());
  const auto mixed = short_convolution(p, s, trained, in);
  const auto softplus = kept_of(p, projected.bit(), 2 * per_head, w, {.weight_gradient = vector});  // its argument and its result
  const auto rate = p.make(2 * m.ssm.heads, 4);  // exp(A_log), and its negative
  p.step(0, rate.bit(), {.saves = trains ? rate.bit() : 0, .weight_gradient = vector});
  const auto steps = made_of(p, softplus.bit(), w == 4 ? per_head : 2 * per_head, 4);
  auto hidden = mixed;
  if (w < 4) hidden = made_of(p, mixed.bit(), n, 4);
  const auto residual = made_of(p, hidden.bit(), c.inner, 4, {.saves = 0, .weight_gradient = vector});  // padded, times D
  const auto b = made_of(p, mixed.bit(), c.keys, 4, {.forward_temporary = p.rounded(c.keys, 4)}), cs = made_of(p, mixed.bit(), c.keys, 4, {.forward_temporary = p.rounded(c.keys, 4)});
  const auto x = made_of(p, hidden | steps, c.inner, 4, {.saves = (hidden | steps), .forward_temporary = p.rounded(n, 4)});
  const auto sums = made_of(p, steps | rate, c.rows, 4, {.saves = steps | rate});
  const auto masks = p.make(checked::mul(2 * c.size, c.size), 1), decay = p.make(c.square, 4);
  p.step(sums.bit(), decay | masks, {.saves = decay | masks, .forward_temporary = p.rounded(c.square, 4), .backward_temporary = p.rounded(c.square, 4)});
  const auto wide = p.rounded(checked::mul(c.square, m.ssm.state), 4);  // G_intermediate
  const auto scores = made_of(p, cs | b, c.square, 4, {.saves = cs | b, .forward_temporary = wide, .backward_temporary = 2 * wide, .temporary_block = wide});
  const auto attended = made_of(p, scores | decay, c.square, 4, {.saves = scores | decay});
  const auto weighed = p.rounded(checked::mul(c.square, m.ssm.head_dim), 4);
  const auto diagonal = made_of(p, attended | x, c.inner, 4, {.saves = attended | x, .forward_temporary = weighed, .backward_temporary = 2 * weighed, .temporary_block = weighed});
  const auto decays = kept_of(p, sums.bit(), 2 * c.rows, 4);  // to the chunk's end, and from its beginning
  const auto left = made_of(p, b | decays, c.keys, 4, {.saves = b.bit()});
  const auto ends = checked::mul(c.heads, c.chunks + 1, c.chunks + 1);
  const auto written = p.rounded(checked::mul(c.inner, m.ssm.state), 4);  // B × hidden states, before they are summed
  const auto states = p.make(checked::add(2 * c.states, ends), 4), edges = p.make(checked::mul(2 * (c.chunks + 1), c.chunks + 1), 1);
  p.step((left | x) | sums, states | edges, {.saves = (left | x) | (states | edges), .forward_temporary = written, .backward_temporary = 2 * written, .temporary_block = written});
  const auto off = made_of(p, cs | states, c.inner, 4, {.saves = cs | states, .forward_temporary = written, .backward_temporary = 2 * written, .temporary_block = written});
  const auto scanned = made_of(p, (diagonal | off) | (decays | residual), c.inner, 4, {.saves = off | residual | decays});
  // MambaRMSNormGated: silu of the gate, times what was scanned, over its root; the weight in fp32.
  const auto weight = trains ? p.rounded(inner, s.weight_width) : bytes{0};
  if (m.ssm.no_norm) {  // FalconH1Mixer: the gate's silu in the compute format
    const auto gate = made_of(p, projected.bit(), n, w, {.saves = projected.bit()});
    return cast(p, made_of(p, scanned | gate, n, 4, {.saves = scanned | gate}), w);
  }
  const auto silu = made_of(p, projected.bit(), w == 4 ? n : 2 * n, 4, {.saves = w == 4 ? projected.bit() : 0});  // with an fp32 copy of the gate
  const auto gated = made_of(p, scanned | silu, n, 4, {.saves = scanned | silu});
  const auto root = kept_of(p, gated.bit(), s.tokens, 4, {.saves = gated.bit(), .forward_temporary = p.size(gated), .backward_temporary = p.size(gated)});
  const auto scaled = made_of(p, gated | root, n, 4, {.saves = gated | root, .backward_temporary = p.size(gated)});
  return cast(p, made_of(p, scaled.bit(), n, 4, {.saves = trains ? scaled.bit() : 0, .backward_temporary = trains ? p.size(scaled) : bytes{0}, .weight_gradient = weight}), w);
}

/// Mamba-2 as a mixer. Errors: job_error for adapters on out_proj, or fewer bits of it, under the fused kernel.
constexpr tensor mamba2(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  if (s.padded) x = pointwise(p, x);  // times the mask
  const auto projected = linear(p, s, trained, module::mixer_in, x, m.hidden, detail::mamba2_projected(m), m.ssm.bias);
  if (s.recurrence == recurrence::fused) {
    if (s.adapts(module::mixer_out)) refuse("headroom: PEFT has no adapters for Mamba's out_proj, whose weight the fused kernel takes; adapter.targets must leave it out");
    if (s.quantised.has(module::mixer_out)) refuse("headroom: Mamba's fused kernel takes out_proj's weight as it is, which no base of fewer bits lets it: adapter.base_skips must have mixer_out");
    return mamba2_fused(p, s, trained, projected);
  }
  return linear(p, s, trained, module::mixer_out, mamba2_eager(p, s, trained, projected), detail::mamba2_inner(m), m.hidden, m.ssm.bias);
}

}  // namespace headroom::ops
