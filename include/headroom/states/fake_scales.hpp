// Distributed under the Boost Software License, Version 1.0.
// What quantisation-aware training keeps between steps: the scales and zero points of the last call of each linear layer.
#pragma once

#include <headroom/settle/settle.hpp>

namespace headroom {

/// IntxFakeQuantizer keeps both as attributes, four bytes each, of its weight's groups and of its input's tokens (torchao quantization/qat/
/// fake_quantizer.py, _per_token_forward and _per_channel_or_group_forward). Of a weight that is gathered they are those of the whole.
constexpr bytes fake_scales(const settled_job& s) {
  const auto& q = s.layer.fake;
  bytes r{};
  if (!q.active()) return r;
  const auto style = s.layer.loss_program;
  const bool calls_head = s.layer.fake_head && style != loss_style::fused_linear && style != loss_style::cut;
  const auto both = [](std::int64_t n) { return 2 * round_up(bytes{checked::mul(n, 4)}, bytes{512}); };
  const auto add = [&](std::int64_t weights, std::int64_t copies) {
    if (q.weights == fake_quantizer::intx) r += copies * both(weights / q.group);
    if (q.activations) r += copies * both(s.layer.tokens);
  };
  for (const auto& w : weights_of(s.model)) {
    if (!w.linear || w.vector() || w.role == module::head) continue;
    add(w.elements(), w.copies());
  }
  if (calls_head) add(checked::mul(s.layer.vocabulary, s.model.hidden), 1);
  return r;
}

}  // namespace headroom
