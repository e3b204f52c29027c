// Distributed under the Boost Software License, Version 1.0.
// What one rank of a pipeline stage makes, in the order it makes it: parameters, buffers, master copies, the first step, and only
// then the optimizer's state, in the holes that the first step's activations left.
// Sources: Megatron-LM core/distributed/param_and_grad_buffer.py, core/optimizer/optimizer.py Float16OptimizerWithFloat16Params,
// core/optimizer/distrib_optimizer.py; TransformerEngine optimizers/fused_adam.py initialize_state, apex the same.
#pragma once

#include <headroom/replay/deepspeed_tensors.hpp>
#include <headroom/replay/nanotron_tensors.hpp>
#include <headroom/replay/stage_trace.hpp>

#include <optional>

namespace headroom {

/// What one rank of a pipeline stage makes from its start on, allocation by allocation.
class stage_run {
 public:
  stage_run(const settled_job& s, const inventory& list, const stage_cut& cut, std::int64_t stage, caching_allocator& a, const replay_watch& watch = {})
      : job_(&s), stage_(stage), listener_(watch.listener), steps_(s, cut, stage, a, watch, detail::layers_ahead_of(s, list, detail::enough_micros(*s.source, stage))), memory_(&steps_.memory()), inputs_left_(steps_.inputs_left()) {
    const auto held = detail::weights_of_stage(s, list, stage);
    // Megatron-FSDP's shards are buffers, and Muon's layer-wise optimizer gives whole weights to ranks: theirs are added as they are.
    const auto& j = *s.source;
    const bool in_shares = j.sharding.distributes_optimizer() && s.optimizer.vector_moments > 0;
    if (j.sharding.gathers_units()) {
      layout_ = detail::fsdp_layout_of(s, list);
      steps_.gather(layout_);
    }
    if (j.framework.modules.nanotron()) {
      mine_ = detail::make_nanotron_states(s, tensors_of_stage(s, list, cut, stage), *memory_);
      gathered_ = detail::gathered_for_update(s, held.dense);
    } else if (detail::under_deepspeed(s)) {
      const auto all = tensors_of_stage(s, list, cut, stage);
      detail::make_deepspeed_parameters(s, all, *memory_);
      loading_ = memory_->peak_asked();
      memory_->reset_peak();
      wrapped_.emplace(s, all, *memory_);
      mine_ = {{.elements = wrapped_->mine()}};
      make_states();  // initialize_optimizer_states
    } else if (!j.sharding.gathers_units() && !in_shares)
      make_parameters(tensors_of_stage(s, list, cut, stage));
    else
      copies_ = detail::update_temporaries(s, held) + (in_shares ? detail::layer_wise_temporaries(s, held) : bytes{0});
  }
  stage_run(const stage_run&) = delete;
  stage_run& operator=(const stage_run&) = delete;

  /// Three steps: without state, with it made, and with it there from the start. The listener hears the last.
  void run() {
    step(true);
    step(false);
    if (listener_ != nullptr) listener_->begin();
    step(false);
  }
  /// The most bytes that it has asked for at a time, since parameters are where they stay; and before that.
  [[nodiscard]] bytes peak_asked() const { return memory_->peak_asked(); }
  [[nodiscard]] bytes asked_in_load() const { return loading_; }
  [[nodiscard]] std::int64_t made() const { return memory_->made(); }

 private:
  tensor_memory::handle make(std::int64_t elements, std::int64_t width, row of) { return memory_->make(bytes{checked::mul(elements, width)}, of); }

  /// With the distributed optimizer parameters move into buffers, of which each rank then copies its share.
  void make_parameters(std::vector<stage_tensor> all) {
    const auto& p = job_->precision;
    const auto& d = job_->source->parallel;
    const bool divided = job_->source->sharding.distributes_optimizer(), moves = divided && job_->source->framework.loading.into_buffers;
    std::vector<tensor_memory::handle> made;
    const auto kept_in = job_->source->adapter.active() ? row::adapters : row::model_parameters;
    for (const auto& t : all) made.push_back(make(t.elements, p.parameters.width(), t.adapter ? row::adapters : row::model_parameters));
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) {  // chunk by chunk
      while (end < all.size() && all[end].chunk == all[first].chunk) ++end;
      for (const bool experts : {false, true}) {
        const auto lies_here = [&](std::size_t i) { return !all[i].frozen && (all[i].expert && detail::experts_apart(d)) == experts; };
        std::int64_t buffer = 0;
        for (auto i = first; i < end; ++i) buffer += lies_here(i) ? all[i].elements : 0;
        if (moves) make(buffer, p.parameters.width(), kept_in);
        make(buffer, p.gradients.width(), row::gradients);
        for (auto i = first; i < end; ++i)
          if (moves && lies_here(i)) memory_->free(made[i]);
      }
    }
    loading_ = memory_->peak_asked();
    memory_->reset_peak();
    std::erase_if(all, [](const stage_tensor& t) { return t.frozen; });
    if (divided) {
      const auto ranks = detail::degrees_of_states(*job_);
      mine_ = last_share(all, false, ranks.dense);
      const auto experts = last_share(all, true, ranks.experts);
      mine_.insert(mine_.end(), experts.begin(), experts.end());
    } else {
      mine_ = std::move(all);
    }
    if (p.master.bits == 0) return;
    for (const auto& t : mine_) {
      auto copied = make(t.elements, p.parameters.width(), row::temporaries);  // detach().clone().float()
      make(t.elements, detail::master_width(*job_), row::master_parameters);
      memory_->free(copied);
    }
  }

  void step(bool makes_states) {
    if (!wrapped_) {
      steps_.run(stage_);
      return update(makes_states);
    }
    wrapped_->begin_step();
    steps_.run(stage_);
    memory_->enter(phase::reduce);
    wrapped_->reduce();
    memory_->enter(phase::step);
    wrapped_->update([&] { update(false); });
  }

  void make_states() {
    const auto& o = job_->optimizer;
    for (const auto& w : mine_) {
      const auto moments = w.plain && o.vector_moments > 0 ? o.vector_moments : o.moments;
      for (std::int64_t i = 0; i < moments; ++i) make(w.elements, o.state.width(), row::optimizer_state);
    }
  }

  /// Gradients are copied to fp32 where that is not what they are in, and moments where they are kept in fewer bits (update_temporaries).
  void update(bool makes_states) {
    memory_->enter(phase::step);
    auto left = memory_->make(inputs_left_, row::communication_buffers), copies = memory_->make(copies_, row::temporaries);
    const auto t = detail::update_copies(*job_);
    std::vector<tensor_memory::handle> gradients;
    for (const auto& w : mine_)
      if (t.gradients) gradients.push_back(make(w.elements, 4, row::temporaries));
    const auto tensors = job_->source->framework.modules.nanotron() ? mine_.size() : 0;
    const auto calls = detail::clipping_calls(mine_, gathered_.ranks > 0 ? gathered_.ranks : 1);
    if (tensors > 0) steps_.update(calls, 2 * tensors, 0);
    if (makes_states) make_states();
    for (const bool experts : {false, true}) {
      std::vector<tensor_memory::handle> moments;
      for (const auto& w : mine_)
        for (std::int64_t i = 0; w.expert == experts && i < t.moments; ++i) moments.push_back(make(w.elements, 4, row::temporaries));
      for (auto& h : moments) memory_->free(h);
    }
    for (auto& h : gradients) memory_->free(h);
    if (tensors > 0) steps_.update(calls + tensors, tensors, tensors * static_cast<std::size_t>(gathered_.ranks));
    detail::gather_update(gathered_, *memory_);
    memory_->free(copies);
    memory_->free(left);
  }

  const settled_job* job_;
  std::int64_t stage_;
  step_recorder* listener_;
  stage_trace steps_;
  tensor_memory* memory_;           ///< of the steps
  bytes inputs_left_, loading_{0};
  bytes copies_{0};                 ///< of an update, where states are buffers
  std::optional<detail::deepspeed_gradients> wrapped_;  ///< by DeepSpeed's optimizer
  detail::gathered_update gathered_;  ///< nanotron's updated parameters
  detail::fsdp_layout layout_;      ///< of Megatron-FSDP's buffers
  std::vector<stage_tensor> mine_;  ///< of which this rank holds master copy and state
};

}  // namespace headroom
