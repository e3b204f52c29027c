// Distributed under the Boost Software License, Version 1.0.
// Trains a model for some steps and counts the bytes of tensors alive, phase by phase.
#pragma once

#include <headroom/job.hpp>

#include <cstdint>
#include <vector>

namespace trainer {

/// Bytes of tensors: alive when a phase is done, or at its tallest moment.
struct micro_batch {
  std::int64_t forward_peak, loss_peak, after_forward, backward_peak, after_backward;
};
struct step {
  std::vector<micro_batch> micro_batches;
  std::int64_t update_peak, after_update;
};
struct counts {
  std::int64_t parameters;  ///< a number
  std::int64_t built;       ///< bytes, when the model has been made
  std::vector<step> steps;
};

counts train(const headroom::job& job, int steps);

}  // namespace trainer
