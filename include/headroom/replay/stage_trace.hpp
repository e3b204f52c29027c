// Distributed under the Boost Software License, Version 1.0.
// One pipeline stage's step written out, allocation by allocation: activations alone, in the order of its schedule. What stays for the
// whole run lies in buffers of its own and is left out.
#pragma once

#include <headroom/engine/tensor_parallel/stages.hpp>
#include <headroom/replay/block_trace.hpp>

#include <map>
#include <utility>
#include <vector>

namespace headroom {

class stage_trace {
 public:
  using handle = tensor_memory::handle;

  stage_trace(const settled_job& s, const stage_cut& cut, std::int64_t stage, caching_allocator& a, step_recorder* listener = nullptr)
      : job_(&s), scene_(s.layer), memory_(a, listener), blocks_(memory_) {
    scene_.model = &s.model;
    build(cut, stage);
  }

  /// The order of layout/schedule.hpp for this stage, as many micro-batches as show its steady state.
  void run(std::int64_t stage) { run(stage, detail::enough_micros(*job_->source, stage)); }
  void run(std::int64_t stage, std::int64_t micros) {
    const auto& j = *job_->source;
    const auto& d = j.parallel;
    const auto chunks = static_cast<std::int64_t>(chunks_.size());
    const pipeline_plan plan{schedule_of(d), d.pipeline, chunks, micros, j.framework.pipeline.microbatch_group};
    run_schedule(plan, stage, [&](const work& step) {
      if (step.kind == work_kind::forward)
        forward(step);
      else
        backward(step);
    });
  }

 private:
  static constexpr handle none = tensor_memory::none;

  /// Layers that share a checkpoint, or one.
  struct unit {
    std::vector<bool> sparse;  ///< of each layer
    bool recomputes{};
    std::int64_t first{};      ///< its first layer
  };
  struct chunk {
    std::vector<unit> units;
    bool first{}, has_head{};
  };
  /// A unit between its forward and its backward.
  struct held_unit {
    handle input{none};  ///< of a checkpoint
    std::vector<std::vector<block_tensors>> layers;
  };
  struct held_chunk {
    std::vector<held_unit> units;
    block_tensors head{};
  };

  void build(const stage_cut& cut, std::int64_t stage) {
    const auto& j = *job_->source;
    const auto trained = trained_modules(j, -1);
    for (const auto& k : kinds_of(job_->model)) {
      auto& parts = parts_[k.kind.sparse()];
      parts.clear();
      const auto keep = [&](const program& p) { parts.push_back(p); };
      with_made([&] { return megatron::mixer_block(scene_, k.kind, trained); }, keep);
      with_made([&] { return megatron::feed_forward_block(scene_, k.kind, trained); }, keep);
    }
    with_made([&] { return megatron::head_and_loss(scene_, trained); }, [&](const program& p) { head_.push_back(p); });
    cut.for_each(stage, [&](const layer_chunk& c) {
      chunk k;
      k.first = c.index == 0;
      k.has_head = c.index == cut.chunks() - 1;
      detail::stage_parts kinds;
      const auto runs = detail::cut_chunk(j, job_->model, c, kinds);
      for (std::int32_t i = 0; i < runs.size; ++i) {
        const auto& r = runs.runs[static_cast<std::size_t>(i)];
        for (std::int64_t n = 0; n < r.count; ++n) {
          unit u{{}, r.recomputes, r.first + n * r.each};
          for (std::int64_t l = 0; l < r.each; ++l) u.sparse.push_back(job_->model.sparse_layer(r.first + n * r.each + l));
          k.units.push_back(u);
        }
      }
      chunks_.push_back(k);
    });
  }

  void forward(const work& step) {
    const auto& k = chunks_[static_cast<std::size_t>(step.chunk)];
    auto& held = held_[{step.chunk, step.micro}];
    memory_.enter(phase::forward);
    held.units.resize(k.units.size());
    const auto& first = parts_[k.units.empty() || !k.units.front().sparse.front() ? 0 : 1];
    auto x = first.empty() ? none : memory_.make(first.front().size(first.front().input()), row::activations);  // received, or the embedding's
    for (std::size_t i = 0; i < k.units.size(); ++i) {
      const auto& u = k.units[i];
      memory_.enter(phase::forward, u.first);
      if (u.recomputes) held.units[i].input = x;
      x = forward(u, held.units[i], x, u.recomputes ? recording::off : recording::on, u.recomputes);
    }
    if (!k.has_head) return memory_.free(x);  // sent, then deallocated
    memory_.enter(phase::loss_forward);
    held.head.alive = 0;
    held.head.of[first_of(head_.front().input().bit())] = x;
    blocks_.forward(head_.front(), recording::on, held.head);
    auto loss = blocks_.take_output(head_.front(), held.head, recording::on);
    memory_.free(loss);
  }

  handle forward(const unit& u, held_unit& held, handle x, recording mode, bool keeps_input) {
    held.layers.assign(u.sparse.size(), {});
    for (std::size_t l = 0; l < u.sparse.size(); ++l) {
      const auto& parts = parts_[u.sparse[l] ? 1 : 0];
      held.layers[l].resize(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        auto& b = held.layers[l][i];
        b.alive = b.borrowed = 0;
        const auto in = parts[i].storages(parts[i].input().bit());
        b.of[first_of(in)] = x;
        if (keeps_input && l == 0 && i == 0) b.borrowed = in;
        blocks_.forward(parts[i], mode, b);
        x = blocks_.take_output(parts[i], b, mode);
      }
    }
    return x;
  }

  void backward(const work& step) {
    const auto& k = chunks_[static_cast<std::size_t>(step.chunk)];
    const auto found = held_.find({step.chunk, step.micro});
    if (found == held_.end()) return;
    auto& held = found->second;
    memory_.enter(phase::backward);
    gradient_sink sink;
    sink.accumulate = true;
    handle g = none;
    if (k.has_head) {
      g = blocks_.backward(head_.front(), held.head, memory_.make(head_.front().size(head_.front().output()), row::activations), sink);
    } else if (!k.units.empty()) {
      const auto& last = parts_[k.units.back().sparse.back() ? 1 : 0];
      g = memory_.make(last.back().size(last.back().output()), row::temporaries);  // received
    }
    for (auto i = k.units.size(); i-- > 0;) {
      const auto& u = k.units[i];
      auto& of = held.units[i];
      memory_.enter(phase::backward, u.first);
      if (u.recomputes) {
        auto out = forward(u, of, of.input, recording::on, true);
        memory_.free(out);
      }
      for (auto l = u.sparse.size(); l-- > 0;) {
        const auto& parts = parts_[u.sparse[l] ? 1 : 0];
        for (auto p = parts.size(); p-- > 0;) g = blocks_.backward(parts[p], of.layers[l][p], g, sink);
      }
      memory_.free(of.input);
    }
    memory_.free(g);
    held_.erase(found);
  }

  const settled_job* job_;
  scene scene_;
  tensor_memory memory_;
  block_trace blocks_;
  std::array<std::vector<program>, 2> parts_;  // of a dense layer, of a sparse one
  std::vector<program> head_;                  // one
  std::vector<chunk> chunks_;
  std::map<std::pair<std::int64_t, std::int64_t>, held_chunk> held_;  // by chunk and micro-batch
};

}  // namespace headroom
