// Distributed under the Boost Software License, Version 1.0.
// The residual stream where layers are divided.
#pragma once

#include <headroom/settle/settle.hpp>

namespace headroom::detail {

/// A tensor of the residual stream, as stages hand it on.
constexpr bytes residual_tensor(const settled_job& s) {
  const auto& sc = s.layer;
  return bytes{checked::round_up(checked::mul(sc.stream_tokens(), s.model.hidden, sc.residual_width), sc.granule)};
}

/// What a checkpoint keeps of its input: all of it, or this rank's part (DeepSpeed's partition_activations).
constexpr bytes kept_input(const settled_job& s) {
  const auto& j = *s.source;
  const auto whole = residual_tensor(s);
  return j.framework.checkpointing.copies_input && j.parallel.tensor > 1 ? bytes{checked::round_up(checked::ceil_div(whole.count(), j.parallel.tensor), s.layer.granule)} : whole;
}

}  // namespace headroom::detail
