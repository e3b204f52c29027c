// Distributed under the Boost Software License, Version 1.0.
// What one rank of a pipeline stage makes, in the order it makes it: parameters, buffers, master copies, the first step, and only
// then the optimizer's state, in the holes that the first step's activations left.
// Sources: Megatron-LM core/distributed/param_and_grad_buffer.py, core/optimizer/optimizer.py Float16OptimizerWithFloat16Params,
// core/optimizer/distrib_optimizer.py; TransformerEngine optimizers/fused_adam.py initialize_state, apex the same.
#pragma once

#include <headroom/replay/stage_tensors.hpp>
#include <headroom/replay/stage_trace.hpp>

namespace headroom {

class stage_run {
 public:
  stage_run(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, caching_allocator& a, step_recorder* listener = nullptr)
      : job_(&s), stage_(stage), listener_(listener), memory_(a, listener), steps_(s, cut, stage, a, listener) {
    // Megatron-FSDP's shards are buffers, and Muon's layer-wise optimizer gives whole weights to ranks: theirs are added as they are.
    const auto& j = *s.source;
    const bool in_shares = j.sharding.distributes_optimizer() && s.optimizer.vector_moments > 0;
    if (!j.sharding.gathers_units() && !in_shares) make_parameters(tensors_of_stage(s, list, cut, stage));
  }

  /// Three steps: without state, with it made, and with it there from the start. The listener hears the last.
  void run() {
    steps_.run(stage_);
    const auto& o = job_->optimizer;
    memory_.enter(phase::step);
    for (const auto& t : mine_) {
      const auto moments = t.plain && o.vector_moments > 0 ? o.vector_moments : o.moments;
      for (std::int64_t i = 0; i < moments; ++i) make(t.elements, o.state.width(), row::optimizer_state);
    }
    steps_.run(stage_);
    if (listener_ != nullptr) listener_->begin();
    steps_.run(stage_);
  }

 private:
  tensor_memory::handle make(std::int64_t elements, std::int64_t width, row of) { return memory_.make(bytes{checked::mul(elements, width)}, of); }

  /// With the distributed optimizer parameters move into one buffer, of which each rank then copies its share.
  void make_parameters(std::vector<stage_tensor> all) {
    const auto& p = job_->precision;
    const bool divided = job_->source->sharding.distributes_optimizer();
    std::vector<tensor_memory::handle> apart;
    std::array<std::int64_t, 2> buffers{};  // dense, of experts
    for (const auto& t : all) {
      apart.push_back(make(t.elements, p.parameters.width(), row::model_parameters));
      buffers[t.expert ? 1 : 0] += t.elements;
    }
    for (const auto n : buffers) {
      if (divided) make(n, p.parameters.width(), row::model_parameters);
      make(n, p.gradients.width(), row::gradients);
    }
    if (divided) {
      for (auto& h : apart) memory_.free(h);
      const auto d = detail::degrees_of_states(*job_);
      mine_ = last_share(all, false, d.dense);
      const auto experts = last_share(all, true, d.experts);
      mine_.insert(mine_.end(), experts.begin(), experts.end());
    } else {
      mine_ = std::move(all);
    }
    if (p.master.bits == 0) return;
    for (const auto& t : mine_) {
      auto copied = make(t.elements, p.parameters.width(), row::temporaries);  // detach().clone().float()
      make(t.elements, detail::master_width(*job_), row::master_parameters);
      memory_.free(copied);
    }
  }

  const settled_job* job_;
  std::int64_t stage_;
  step_recorder* listener_;
  tensor_memory memory_;
  stage_trace steps_;
  std::vector<stage_tensor> mine_;  ///< of which this rank holds master copy and state
};

}  // namespace headroom
