// Distributed under the Boost Software License, Version 1.0.
// What the small matrices of LoRA and DoRA take beside a linear layer, unmerged (Hu et al. 2021, section 4.1; peft tuners/lora/layer.py Linear.forward).
#pragma once

#include <headroom/cost/layer_parts.hpp>

namespace headroom::detail {

/// What a multiplication takes beyond reading its operands and writing its result, which the layer's program counts (traffic_of): one waits for the
/// slower of the two (Williams et al. 2009, Roofline). A matrix of rank 8 reads a vector of the model for each 16 sums, so that 16-bit adapters hide
/// behind memory, and fp32 ones, which no tensor core takes, do not.
constexpr double beyond_traffic(const cost_scene& c, const matmul& x, double width, double rate) {
  const double moved = (x.rows * x.inner + x.inner * x.columns + x.rows * x.columns) * x.batch * width / c.on.memory;
  const double computed = seconds_of(x, rate);
  return computed > moved ? computed - moved : 0;
}

/// An adapter of `copies` layers of in → out for so many tokens: in → rank → out; in backward the gradients of both products and of both matrices.
constexpr void add_adapter(both_passes& t, const cost_scene& c, double tokens, double out, double in, double copies) {
  const auto& l = c.layer;
  const auto rank = static_cast<double>(l.side->rank);
  const bool wide = l.habits->adapters.casts_input && !l.autocast && !l.habits->adapters.parallel;
  const auto width = static_cast<double>(wide ? l.adapter_width : l.width);
  const double rate = width <= 2 ? c.on.matmul_16 : c.job->multiplies.bits == 32 ? c.on.matmul : 0.8 * c.on.vector;
  const auto each = [&](double rows, double columns, double inner) {
    return beyond_traffic(c, {.rows = rows, .columns = columns, .inner = inner, .batch = copies}, width, rate);
  };
  t.forward.matmul += each(tokens, rank, in) + each(tokens, out, rank);
  t.backward.matmul += each(tokens, rank, out) + each(tokens, in, rank);
  const double gradients = each(in, rank, tokens) + each(out, rank, tokens);
  t.backward.matmul += gradients;
  t.backward.weights += gradients;
  if (l.side->kind != adapter_kind::dora) return;
  // The norm of W + B·A, of which no gradient is asked, by A and B of an identity matrix (peft tuners/lora/dora.py get_lora_weight); after a dropout the
  // base's own product again (DoraLinearLayer.forward).
  t.forward.matmul += each(in, rank, in) + each(out, in, rank);
  if (!l.side->dropout.positive()) return;
  t.forward.matmul += each(tokens, out, in);
  t.backward.matmul += each(tokens, in, out);
}

}  // namespace headroom::detail
