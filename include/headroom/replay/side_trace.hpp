// Distributed under the Boost Software License, Version 1.0.
// A tower or an encoder before the main stack, allocation by allocation: what engine/eager/prelude.hpp adds up.
#pragma once

#include <headroom/engine/eager/prelude.hpp>
#include <headroom/replay/stack_trace.hpp>

#include <utility>
#include <vector>

namespace headroom {

/// Runs it, and back.
class side_trace {
 public:
  using block = tensor_memory::handle;
  static constexpr block none = tensor_memory::none;

  side_trace(const settled_job& s, tensor_memory& m) : memory_(&m), named_(s.model.vision.layers == 0), recomputes_(s.model.vision.layers > 0 ? recomputes_tower(*s.source) : s.source->recompute.mode == recompute_mode::full), stack_(s.reentrant, m, stack_of(s)) {}

  /// An encoder's result is there until its backward begins; a tower's goes where it is copied among the text's.
  void forward() {
    const auto& sc = stack_.sizes();
    stack_.forward_front();
    auto bias = memory_->make(bias_of(sc), row::activations);
    mask_ = memory_->make(detail::side_mask(sc, stack_.layers(), stack_.layers_have_gradient(), recomputes_), row::activations);
    for (std::int64_t i = 0; i < stack_.layers(); ++i) stack_.forward(i);
    stack_.forward_tail([] {});
    result_ = stack_.take_loss();
    if (stack_.keeps_result()) result_ = none;
    memory_->free(bias);
    if (!stack_.layers_have_gradient()) memory_->free(mask_);
    if (!named_) memory_->free(result_);
  }
  void end_forward() { stack_.end_forward(); }

  /// `gradient`: of the result, if it is there already. `exist`: its weights have gradients. Those that it makes go to `kept`.
  void backward(block gradient, bool exist, std::vector<block>& kept, std::vector<block>& previous) {
    memory_->free(result_);
    if (!stack_.has_gradient()) {
      memory_->free(gradient);
      return stack_.leave_graph(previous);
    }
    stack_.gradients.accumulate = exist;
    stack_.begin_backward(gradient != none ? gradient : memory_->make(stack_.scalar(), row::temporaries));
    stack_.backward_tail(bytes{0}, [] {});
    auto bias = memory_->make(bias_of(stack_.sizes()), row::activations);
    if (stack_.layers_have_gradient())
      for (auto i = stack_.layers(); i-- > 0;) stack_.backward(i);
    memory_->free(bias);
    memory_->free(mask_);
    if (stack_.layers_have_gradient()) stack_.backward_front(bytes{0});
    kept.insert(kept.end(), stack_.gradients.kept.begin(), stack_.gradients.kept.end());
    stack_.gradients.kept.clear();
    stack_.leave_graph(previous);
  }

 private:
  static bytes bias_of(const scene& sc) { return detail::relative_positions(sc).total; }
  static traced_stack stack_of(const settled_job& s) {
    const auto made = [](const scene& sc, const detail::layer_run& run, const auto& front, const auto& back) { return traced_stack(sc, run, front, back); };
    return s.model.vision.layers > 0 ? detail::with_tower(s, made) : detail::with_encoder(s, made);
  }

  tensor_memory* memory_;
  bool named_, recomputes_;
  stack_trace stack_;
  block mask_{none}, result_{none};
};

}  // namespace headroom
