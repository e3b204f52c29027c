// Distributed under the Boost Software License, Version 1.0.
// Evaluation between steps of training: forwards without a graph, and what is kept of them until metrics are computed.
#pragma once

#include <headroom/layout/sharding.hpp>

namespace headroom {

/// What is evaluated between steps, and what is kept of it.
struct evaluation {
  std::int32_t sequence{};            ///< tokens of each example; 0: batch.sequence
  std::int32_t samples{};             ///< examples of the set, over all GPUs
  std::int32_t batch{};               ///< examples that a GPU evaluates at once; 0: nothing is evaluated
  std::int32_t accumulation_steps{};  ///< batches after which what is kept goes to the host; 0: at the end (eval_accumulation_steps)
  std::int32_t kept_bytes{};          ///< of each token, that are kept for metrics; 0: its logits (preprocess_logits_for_metrics returns less)
  std::int32_t generate{};            ///< tokens that are generated of each example (predict_with_generate); 0: none
  bool loss_only{};                   ///< nothing but losses is kept (prediction_loss_only, or no compute_metrics)
  choice use_cache{};                 ///< a forward makes keys and values, too; unset: before transformers 5 yes, since then no

  [[nodiscard]] constexpr bool given() const { return batch > 0; }
  bool operator==(const evaluation&) const = default;
};

}  // namespace headroom
