// Distributed under the Boost Software License, Version 1.0.
#include "trainer.hpp"

#include "counting.hpp"
#include "model.hpp"

#include <string>

namespace trainer {

namespace {

torch::Dtype format_of(const headroom::number_format& f) { return f.bits == 16 ? torch::kBFloat16 : torch::kFloat; }

/// One forward and backward. Logits and loss live as long as their names.
micro_batch run(decoder& model, const Tensor& numbers, const Tensor& targets, double share, byte_counter& bytes) {
  micro_batch seen{};
  bytes.take_peak();
  auto x = model.forward(numbers);
  seen.forward_peak = bytes.take_peak();
  const auto logits = model.logits(std::move(x));
  const auto loss = torch::cross_entropy_loss(logits.view({-1, logits.size(-1)}), targets.view({-1}));
  seen.loss_peak = bytes.take_peak();
  seen.after_forward = bytes.live();
  loss.backward(torch::full({}, share, loss.options()));
  seen.backward_peak = bytes.take_peak();
  return seen;
}

}  // namespace

counts train(const headroom::job& job, int steps) {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  at::globalContext().setUserEnabledMkldnn(false);  // oneDNN's scratch belongs to its library, and differs from one CPU to the next
  const plan p{&job, format_of(job.precision.parameters), format_of(job.adapter.format)};
  const counting bytes;
  decoder model(p);
  counts r{};
  for (const auto& w : model.parameters()) r.parameters += w.numel();
  r.built = bytes->live();

  std::vector<Tensor> trained;
  for (const auto& w : model.parameters())
    if (w.requires_grad()) trained.push_back(w);
  torch::optim::AdamW optimizer(trained, torch::optim::AdamWOptions(1e-3));
  const auto numbers = torch::randint(job.model.vocab, {job.batch.micro, job.batch.sequence}, torch::kLong);
  const auto targets = torch::randint(job.model.vocab, {job.batch.micro, job.batch.sequence}, torch::kLong);
  const auto share = 1.0 / static_cast<double>(job.batch.accumulation);
  for (int i = 0; i < steps; ++i) {
    step& here = r.steps.emplace_back();
    optimizer.zero_grad();
    for (std::int64_t k = 0; k < job.batch.accumulation; ++k) {
      here.micro_batches.push_back(run(model, numbers, targets, share, *bytes));
      here.micro_batches.back().after_backward = bytes->live();
    }
    bytes->take_peak();
    optimizer.step();
    here.update_peak = bytes->take_peak();
    here.after_update = bytes->live();
  }
  return r;
}

}  // namespace trainer
