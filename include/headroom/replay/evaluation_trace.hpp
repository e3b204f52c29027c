// Distributed under the Boost Software License, Version 1.0.
// An evaluation between steps (engine/eager/evaluation_phase.hpp), allocation by allocation: forwards without a graph, and what is kept of their logits.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>
#include <headroom/engine/eager/evaluation_phase.hpp>
#include <headroom/replay/traced_stack.hpp>

#include <utility>
#include <vector>

namespace headroom {

/// Of a model of one stack whose parameters stay whole, and that does not generate.
constexpr bool replays_evaluation(const settled_job& s) {
  const auto& j = *s.source;
  return j.evaluation.batch > 0 && j.evaluation.generate == 0 && !j.sharding.cuts(sharded_state::weights) && !s.layer.compares && !detail::has_prelude(s) && s.model.vision.kind == vision_kind::none;
}

/// Its blocks, in the allocator that the steps have left.
class evaluation_trace {
 public:
  template <class Layers>
  evaluation_trace(const settled_job& s, const state_bytes& st, const windows& w, tensor_memory& m, const Layers& layers)
      : job_(detail::evaluated(s)), kept_(detail::kept_of(s)), cache_(detail::cache_of_evaluation(job_)), memory_(&m), blocks_(m), stack_(job_, layers), runs_(stack_.layers.size()) {
    stack_.sizes.loss_program = detail::loss_of_evaluation(s);
    with_made([this] { return detail::tail_of(stack_.sizes, module_set{}, false); }, [this](const program& p) { tail_.push_back(p); });
    stand_beside(st, w);
  }
  evaluation_trace(const evaluation_trace&) = delete;
  evaluation_trace& operator=(const evaluation_trace&) = delete;

  /// All batches' logits, each joined to those before; of the forwards the first and the last, which are alike.
  void run() {
    auto& m = *memory_;
    const auto n = kept_.batches, first = n > most_joined ? n - most_joined : 1;
    forward();
    if (n == 0) return;
    auto kept = m.make(first * kept_.batch, row::logits);
    for (auto i = first + 1; i < n; ++i) kept = joined(kept, i);
    if (n > first) {
      forward();
      kept = joined(kept, n);
    }
    m.free(kept);
  }

 private:
  using handle = tensor_memory::handle;

  static constexpr std::int64_t most_joined = 1024;  ///< of those before only that they are there

  /// What is kept, and a batch more (trainer_pt_utils.py torch_pad_and_concatenate): no block that was there before is large enough.
  handle joined(handle& before, std::int64_t batches) {
    auto& m = *memory_;
    auto one = m.make(kept_.batch, row::logits);
    const auto all = m.make(batches * kept_.batch, row::logits);
    m.free(before);
    m.free(one);
    return all;
  }

  /// In a frame of its own: facts are large.
  [[gnu::noinline]] void stand_beside(const state_bytes& st, const windows& w) {
    const step_facts f(job_, stack_.sizes, st, w, {0, job_.model.layers});
    beside_ = {f.angles, f.angles, f.bias, f.shared.kept + f.shared.in_forward};
  }

  void forward() {
    auto& m = *memory_;
    std::vector<handle> stays;
    for (const auto b : beside_) stays.push_back(m.make(b, row::activations));
    block_tensors front;
    blocks_.forward(stack_.embedding(), recording::off, front);
    auto flow = blocks_.take_output(stack_.embedding(), front, recording::off);
    std::size_t i = 0;
    for (const auto& l : stack_.layers) {
      auto& parts = runs_[i++];
      parts.assign(stack_.kinds[l.kind].parts.size(), {});
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const auto& p = stack_.kinds[l.kind].parts[k];
        parts[k].of[first_of(p.storages(p.input().bit()))] = flow;
        blocks_.forward(p, recording::off, parts[k]);
        flow = blocks_.take_output(p, parts[k], recording::off);
      }
      for (int half = 0; half < 2; ++half) stays.push_back(m.make(cache_ / (2 * job_.model.layers), row::kv_cache));
    }
    // Nothing of the tail is recorded; what the model's code names lives until its loss is there.
    const auto& tail = tail_.front();
    block_tensors end;
    end.of[first_of(tail.input().bit())] = flow;
    blocks_.forward(tail, recording::on, end);
    blocks_.free(end, end.alive);
    blocks_.free(front, front.alive);
    for (auto& parts : runs_)  // what autocast has cached
      for (auto& p : parts) blocks_.free(p, p.alive);
    for (auto& h : stays) m.free(h);
  }

  settled_job job_;
  kept_for_metrics kept_;
  bytes cache_;
  tensor_memory* memory_;
  block_trace blocks_;
  traced_stack stack_;
  std::vector<std::vector<block_tensors>> runs_;  ///< of each layer
  std::vector<program> tail_;
  std::vector<bytes> beside_;  ///< cosines and sines, masks
};

}  // namespace headroom
