// Distributed under the Boost Software License, Version 1.0.
// Recomputes a function in backward: torch/utils/checkpoint.py CheckpointFunction (the reentrant one) in C++.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <functional>
#include <mutex>
#include <utility>

namespace trainer {

using function = std::function<torch::Tensor(torch::Tensor)>;

/// State of the random numbers, so that what is recomputed draws them again.
inline torch::Tensor random_state() {
  auto generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}
inline void set_random_state(const torch::Tensor& state) {
  auto generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

struct checkpointed : torch::autograd::Function<checkpointed> {
  struct holder : torch::CustomClassHolder {
    function run;
  };

  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, c10::intrusive_ptr<holder> what) {
    ctx->saved_data["what"] = c10::IValue::make_capsule(what);
    ctx->saved_data["random"] = random_state();
    ctx->save_for_backward({x});
    return what->run(std::move(x));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::variable_list gradients) {
    auto x = ctx->get_saved_variables()[0].detach();
    x.set_requires_grad(true);
    const auto what = c10::static_intrusive_pointer_cast<holder>(ctx->saved_data["what"].toCapsule());
    torch::Tensor y;
    {
      const auto outside = random_state();
      set_random_state(ctx->saved_data["random"].toTensor());
      const torch::AutoGradMode graph(true);
      y = what->run(x);
      set_random_state(outside);
    }
    torch::autograd::backward({y}, gradients);
    return {x.grad(), torch::Tensor()};
  }
};

inline torch::Tensor checkpoint(function f, torch::Tensor x) {
  auto what = c10::make_intrusive<checkpointed::holder>();
  what->run = std::move(f);
  return checkpointed::apply(std::move(x), std::move(what));
}

}  // namespace trainer
