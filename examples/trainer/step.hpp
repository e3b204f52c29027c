// Distributed under the Boost Software License, Version 1.0.
// One forward and backward of a model, and the bytes of tensors alive in it.
#pragma once

#include "trainer/counting.hpp"
#include "trainer/micro_batch.hpp"
#include "trainer/model.hpp"

namespace trainer {

/// Everything but `after_backward`, which is for the caller to see: logits and loss live as long as their names here.
inline micro_batch run(decoder& model, const Tensor& numbers, const Tensor& targets, double share, byte_counter& bytes, double* loss_value = nullptr) {
  micro_batch seen{};
  bytes.take_peak();
  auto x = model.forward(numbers);
  seen.forward_peak = bytes.take_peak();
  const auto logits = model.logits(std::move(x));
  const auto loss = torch::cross_entropy_loss(logits.view({-1, logits.size(-1)}), targets.view({-1}));
  seen.loss_peak = bytes.take_peak();
  seen.after_forward = bytes.live();
  if (loss_value != nullptr) *loss_value = loss.item<double>();
  loss.backward(torch::full({}, share, loss.options()));
  seen.backward_peak = bytes.take_peak();
  return seen;
}

/// What a job's tensors are made of.
inline plan plan_of(const headroom::job& job) {
  const auto format_of = [](const headroom::number_format& f) { return f.bits == 16 ? torch::kBFloat16 : torch::kFloat; };
  return {&job, format_of(job.precision.parameters), format_of(job.adapter.format)};
}

/// One thread, and no library whose scratch is its own and differs from one CPU to the next.
inline void set_up(std::uint64_t seed) {
  torch::manual_seed(seed);
  torch::set_num_threads(1);
  at::globalContext().setUserEnabledMkldnn(false);
}

}  // namespace trainer
