// Distributed under the Boost Software License, Version 1.0.
#include "trainer.hpp"

#include "trainer/step.hpp"

namespace trainer {

counts train(const headroom::job& job, int steps) {
  set_up(1);
  const counting bytes;
  decoder model(plan_of(job));
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
