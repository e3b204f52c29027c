// Distributed under the Boost Software License, Version 1.0.
// The tensors that DeepSpeed keeps of a stage of Megatron's layers, in the order it makes them: parameters one by one, then as one tensor, its
// partition's master, gradients, and what an update makes of these.
// Sources: see engine/tensor_parallel/deepspeed_states.hpp.
#pragma once

#include <headroom/replay/stage_tensors.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <utility>
#include <vector>

namespace headroom::detail {

/// Parameters. Weights with decay and those without are two groups in DeepSpeed; here they are one.
inline void make_deepspeed_parameters(const settled_job& s, const std::vector<stage_tensor>& all, tensor_memory& to) {
  const auto width = s.precision.parameters.width();
  std::vector<tensor_memory::handle> made, copies;
  std::int64_t whole = 0;
  for (const auto& t : all) {
    made.push_back(to.make(bytes{checked::mul(t.elements, width)}, row::model_parameters));
    whole += t.elements;
  }
  const bool by_host = wrapper_of(s) == deepspeed_wrapper::zero;
  if (wrapper_of(s) == deepspeed_wrapper::fp16)
    for (const auto& t : all) copies.push_back(to.make(bytes{checked::mul(t.elements, width)}, row::model_parameters));
  if (by_host)
    for (auto& h : made) to.free(h);
  to.make(bytes{checked::mul(whole, width)}, row::model_parameters);
  for (auto& h : copies) to.free(h);
  if (!by_host)
    for (auto& h : made) to.free(h);
}

/// What DeepSpeed's optimizer makes of a stage's gradients.
class deepspeed_gradients {
 public:
  deepspeed_gradients(const settled_job& s, std::vector<stage_tensor> all, tensor_memory& to) : job_(&s), all_(std::move(all)), to_(&to) {
    for (const auto& t : all_) whole_ += t.elements;
    mine_ = checked::ceil_div(whole_, degrees_of_states(s).dense);
    make(mine_, s.precision.master.width(), row::master_parameters);
    if (summed_apart()) make(whole_, s.precision.gradients.width(), row::gradients);
  }
  /// Elements that this rank has moments of.
  [[nodiscard]] std::int64_t mine() const { return mine_; }

  /// Autograd's own, which a step's first backward makes.
  void begin_step() {
    const auto width = summed_apart() ? job_->precision.parameters.width() : job_->precision.gradients.width();
    if (!own_.empty()) return;
    for (const auto& t : all_) own_.push_back(make(t.elements, width, row::gradients));
  }
  void reduce() {
    auto bucket = to_->make(deepspeed_bucket(*job_, parameters{whole_}), row::communication_buffers);
    to_->free(bucket);
  }
  /// `step`: Adam, beside fp32 gradients.
  template <class Step>
  void update(const Step& step) {
    if (summed_apart()) return step();  // autograd's own stay until the next backward
    const auto width = job_->precision.gradients.width();
    std::vector<tensor_memory::handle> casts;
    tensor_memory::handle wide;
    if (wrapper_of(*job_) == deepspeed_wrapper::fp16) {
      for (const auto& t : all_) casts.push_back(make(t.elements, 4, row::temporaries));
      wide = make(whole_, 4, row::temporaries);
    } else {
      free_others();
      auto flat = make(mine_, width, row::temporaries);
      wide = make(mine_, 4, row::temporaries);
      casts.push_back(flat);
    }
    for (auto& h : own_) to_->free(h);
    for (auto& h : casts) to_->free(h);
    own_.clear();
    step();
    to_->free(wide);
  }

 private:
  [[nodiscard]] bool summed_apart() const { return wrapper_of(*job_) == deepspeed_wrapper::bf16; }
  tensor_memory::handle make(std::int64_t elements, std::int64_t width, row of) { return to_->make(bytes{checked::mul(elements, width)}, of); }
  /// Gradients of other ranks' partitions: this rank's is the first. Of the gradient that its end cuts, a part is kept.
  void free_others() {
    std::int64_t left = mine_;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (left < all_[i].elements) to_->free(own_[i]);
      if (left > 0 && left < all_[i].elements) own_[i] = make(left, job_->precision.gradients.width(), row::gradients);
      left = left > all_[i].elements ? left - all_[i].elements : 0;
    }
  }

  const settled_job* job_;
  std::vector<stage_tensor> all_;
  tensor_memory* to_;
  std::int64_t whole_ = 0, mine_ = 0;
  std::vector<tensor_memory::handle> own_;
};

}  // namespace headroom::detail
