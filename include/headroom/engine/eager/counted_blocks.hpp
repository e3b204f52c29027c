// Distributed under the Boost Software License, Version 1.0.
// What the blocks of a step add to its account, forward and backward.
#pragma once

#include <headroom/engine/eager/counted_step.hpp>

namespace headroom {

constexpr void step_count::forward_side(const prelude& p) {
  look(p.forward);
  live_ += p.saved;
}

constexpr void step_count::forward_front() {
  look(front_forward_.peak);
  live_ += moment(front_forward_.saved, front_forward_.saved_rows);
  flow_ = make(front_output_, row::activations);
}

constexpr void step_count::forward(const layer_place& at) {
  const auto& r = runs_.list[at.run];
  hand_on();
  look(r.forward);
  live_ += r.saved;
  if (leaf_ > bytes{0} && at.layer - r.span + 1 == first_layer_ && !r.keeps_input) [[unlikely]] add_leaf(leaf_);
  flow_ = make(r.stream, row::activations);
}

constexpr void step_count::forward_tail(const auto& returns) {
  hand_on();
  if (returns_.reached) {
    look(returns_.before);
    live_ += returns_.there;
    returns();
    settle();
    live_ -= returns_.there;
  }
  if (other_.total > bytes{0}) [[unlikely]] t_.look_beside(phase::reference, -1, live_ + other_);
  look(tail_forward_.peak);
  if (pools_) [[unlikely]] t_.reach(live_.total + tail_span_);
  live_ += moment(tail_forward_.saved, tail_forward_.saved_rows);
  live_.add(row::logits, tail_forward_.held);
  flow_ = make(scalar_, row::activations);
  if (!returns_.reached) returns();
}

constexpr void step_count::end_forward() {
  for (std::size_t i = 0; i < runs_.size; ++i) live_.add(row::gathered_parameters, -runs_.list[i].count * runs_.list[i].cached);
  if (job_->source->recompute.mode == recompute_mode::full && cached_beside_ > bytes{0}) live_.add(row::gathered_parameters, -cached_beside_);
}

constexpr step_count::handle step_count::begin_backward() {
  flow_ = make(scalar_, row::temporaries);
  return make(scalar_, row::activations);
}

constexpr void step_count::backward_tail(const auto& enters) {
  hand_on();
  live_ -= moment(tail_forward_.saved, tail_forward_.saved_rows);
  live_.add(row::logits, -tail_forward_.held);
  if (enters_.reached) {
    look(enters_.before);
    live_ += enters_.there;
    enters();
    settle();
    live_ -= enters_.there;
  }
  look(tail_backward_.peak);
  live_.add(row::activations, tail_forward_.sticky);
  live_.add(row::logits, tail_forward_.held);
  live_.add(row::gradients, tail_backward_.weight_gradients);
  made_.size += tail_backward_.weight_gradients - tied_;
  made_.all += tail_backward_.made - tied_;
  flow_ = make(tail_flow_, row::temporaries);
  if (!enters_.reached) enters();
}

constexpr void step_count::backward(const layer_place& at) {
  const auto& r = runs_.list[at.run];
  hand_on();
  live_ -= r.saved;
  live_.add(row::gathered_parameters, r.cached);
  look(r.backward);
  live_.add(row::activations, r.sticky);
  live_.add(row::gradients, r.gradients);
  made_.size += r.gradients;
  made_.all += r.made;
  if (leaf_ > bytes{0} && at.layer - r.span + 1 == first_layer_ && r.keeps_input) [[unlikely]] add_leaf(leaf_);
  flow_ = make(r.input_gradient, row::temporaries);
}

constexpr void step_count::backward_front() {
  hand_on();
  live_ -= moment(front_forward_.saved, front_forward_.saved_rows);
  look(front_backward_.peak);
  live_.add(row::gradients, front_backward_.weight_gradients);
  made_.size += front_backward_.weight_gradients;
  made_.all += front_backward_.made;
  rising_ = true;
  if (tied_ == bytes{0}) return;
  // The first gradient of a table that is used twice has waited for the second, which is added to it.
  if (accumulates_) live_.add(row::gradients, second_);
  if (sums_out_of_place_ && second_ > bytes{0}) {
    settle();
    look(moment(row::gradients, second_));
  }
  settle();
  live_.add(row::gradients, -second_);
  if (accumulates_) live_.add(row::gradients, -tied_);
  made_.size += accumulates_ ? bytes{0} : tied_ - second_;
  made_.all += tied_ - second_;
}

constexpr void step_count::backward_side(const prelude& p, handle& gathered, bool exist, bool last) {
  live_ -= p.saved;
  if (cached_beside_ > bytes{0} && job_->source->recompute.mode == recompute_mode::full) live_.add(row::gathered_parameters, cached_beside_);
  free(gathered);
  look(p.backward);
  if (p.summed == bytes{0}) return live_.add(row::gradients, exist ? bytes{0} : p.gradients);
  if (!exist) live_.add(row::gradients, p.summed);
  if (last) live_.add(row::gradients, p.gradients - p.summed);
}

}  // namespace headroom
