// Distributed under the Boost Software License, Version 1.0.
// Trains a model for some steps and counts the bytes of tensors alive, phase by phase.
#pragma once

#include "trainer/micro_batch.hpp"

#include <headroom/job.hpp>

#include <cstdint>
#include <vector>

namespace trainer {

/// Bytes of tensors, as of a micro-batch.
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
