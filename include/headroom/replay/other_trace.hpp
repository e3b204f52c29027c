// Distributed under the Boost Software License, Version 1.0.
// A model that runs forward beside the one that trains (engine/eager/other_model.hpp), allocation by allocation: its weights, and its layers without a graph.
#pragma once

#include <headroom/engine/eager/other_model.hpp>
#include <headroom/replay/traced_stack.hpp>

namespace headroom {

/// A reference or a teacher, whose standing is a job of its own. What is gathered of it is one block, as of the model that trains.
class other_trace {
 public:
  template <class Layers>
  other_trace(const settled_job& trained, std::size_t kind, tensor_memory& m, const Layers& layers)
      : own_(other_model_of(*trained.source) == other_weights::own), role_(trained.source->objective.has_teacher() ? trained.source->objective.frozen : model_role{}),
        standing_(standing_of_other(*trained.source, role_)), job_(detail::settle_checked(standing_, kind)), memory_(&m), blocks_(m), stack_(job_, layers) {
    if (trained.layer.scoring.in_pieces) job_.layer.kept = trained.layer.kept;
    const auto which = other_model_of(*trained.source);
    const auto walked = detail::walk_other(trained, kind, which, layers, role_);
    const auto st = detail::states_of_other(job_, layers);
    const auto w = windows_of(job_, st);
    gathered_ = detail::gathered_of_other(job_, st, w, which);
    const auto head = walked.at_head - gathered_.head;
    logits_ = min(head, bytes{checked::mul(job_.layer.tokens, job_.layer.vocabulary, trained.layer.loss.logits.width())});
    beside_logits_ = head - logits_;
    if (own_) load(detail::list_of(job_, layers), walked.resident);
  }
  other_trace(const other_trace&) = delete;
  other_trace& operator=(const other_trace&) = delete;

  void forward() {
    auto& m = *memory_;
    auto gathered = m.make(gathered_.layers, row::gathered_parameters, stream::gather);
    block_tensors front;
    blocks_.forward(stack_.embedding(), recording::off, front);
    auto flow = blocks_.take_output(stack_.embedding(), front, recording::off);
    for (const auto& l : stack_.layers)
      for (const auto& p : stack_.kinds[l.kind].parts) {
        block_tensors b;
        b.of[first_of(p.storages(p.input().bit()))] = flow;
        blocks_.forward(p, recording::off, b);
        flow = blocks_.take_output(p, b, recording::off);
      }
    m.free(gathered);
    gathered = m.make(gathered_.head, row::gathered_parameters, stream::gather);
    m.free(flow);
    auto beside = m.make(beside_logits_, row::activations), logits = m.make(logits_, row::logits);
    m.free(beside);
    m.free(gathered);
    m.free(logits);
  }

 private:
  /// Each weight, or this rank's part of it, which is cut where it lies whole.
  void load(const inventory& list, bytes resident) {
    auto& m = *memory_;
    const auto ranks = job_.shards.parameters, width = std::int64_t{job_.precision.parameters.width()};
    auto left = place_of_parameters(standing_) == place::on_gpu ? resident : bytes{0};
    for (const auto& w : list)
      for (std::int64_t i = 0; i < w.copies() && left > bytes{0}; ++i) {
        const bytes all{checked::mul(w.elements(), width)}, here = min(left, ceil_div(all, ranks));
        auto whole = ranks > 1 ? m.make(all, row::gathered_parameters) : tensor_memory::none;
        m.make(here, row::other_models);
        m.free(whole);
        left -= here;
      }
    m.make(left, row::other_models);  // what of it is never let go
  }

  bool own_;
  model_role role_;
  job standing_;
  settled_job job_;
  tensor_memory* memory_;
  block_trace blocks_;
  traced_stack stack_;
  detail::gathered_beside gathered_{};
  bytes logits_{}, beside_logits_{};
};

}  // namespace headroom
