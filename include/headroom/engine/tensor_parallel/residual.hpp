// Distributed under the Boost Software License, Version 1.0.
// The residual stream where layers are divided.
#pragma once

#include <headroom/settle/settle.hpp>

namespace headroom::detail {

/// A tensor of the residual stream, as stages hand it on.
constexpr bytes residual_tensor(const settled_job& s) {
  const auto& sc = s.layer;
  return bytes{checked::round_up(checked::mul(checked::mul(sc.stream_tokens(), s.model.hidden), sc.residual_width), sc.granule)};
}

}  // namespace headroom::detail
