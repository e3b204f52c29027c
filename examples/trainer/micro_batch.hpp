// Distributed under the Boost Software License, Version 1.0.
// What is counted of a micro-batch. (Without LibTorch, whose headers are heavy.)
#pragma once

#include <cstdint>

namespace trainer {

/// Bytes of tensors: alive when a phase is done, or at its tallest moment.
struct micro_batch {
  std::int64_t forward_peak, loss_peak, after_forward, backward_peak, after_backward;
};

}  // namespace trainer
