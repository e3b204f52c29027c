// Distributed under the Boost Software License, Version 1.0.
// A trainer's first steps written out, allocation by allocation: the walk of engine/eager/walk_step.hpp for a program that allocates as it goes.
#pragma once

#include <headroom/replay/block_trace.hpp>
#include <headroom/replay/load_trace.hpp>
#include <headroom/replay/traced_stack.hpp>
#include <headroom/replay/unit_trace_fsdp1.hpp>
#include <headroom/replay/unit_trace_fsdp2.hpp>
#include <headroom/replay/update_trace.hpp>

#include <utility>
#include <variant>
#include <vector>

namespace headroom {

/// Loads a model and runs steps of it. The first step makes the optimizer's state; from the second on all is as it stays.
class step_trace {
 public:
  using handle = tensor_memory::handle;

  step_trace(const settled_job& s, const inventory& list, const state_bytes& st, const windows& w, const moment& resident, caching_allocator& a,
             step_recorder* listener = nullptr)
      : job_(&s), windows_(&w), stack_(s), memory_(a, listener), blocks_(memory_) {
    const auto& j = *s.source;
    start_ = load_trace(s, st, w, memory_, a).run(list, resident);
    if (j.sharding.cuts_tensors()) units_.emplace<fsdp2_units>(s, list, memory_);
    if (j.sharding.gathers_units() && j.sharding.flat() && j.sharding.cuts(sharded_state::weights)) units_.emplace<fsdp1_units>(s, list, st, memory_);
  }

  /// One step: at most two micro-batches, since the third repeats the second.
  void run() { run(job_->source->batch.accumulation < 2 ? 1 : 2); }
  void run(std::int64_t micros) {
    for (std::int64_t i = 0; i < micros; ++i) {
      forward();
      backward(i > 0 || stays_ || start_.gradients_made, i + 1 == micros);
    }
    trace_update(*job_, *windows_, start_, averaged_, memory_);
    with_units([](auto& u) { u.zero_gradients(); });
    if (!job_->source->framework.gradients.stay) {
      free_reversed(memory_, gradients_);
      gradients_.clear();
    } else {
      stays_ = true;
    }
  }

 private:
  static constexpr handle none = tensor_memory::none;

  /// Calls act(units) where parameters are gathered unit by unit.
  template <class Act>
  void with_units(Act&& act) {
    if (auto* u = std::get_if<fsdp2_units>(&units_)) act(*u);
    if (auto* u = std::get_if<fsdp1_units>(&units_)) act(*u);
  }
  [[nodiscard]] bool sharded() const { return units_.index() != 0; }

  using layer = traced_layer;

  void forward() {
    const auto& habits = *stack_.sizes.habits;
    memory_.enter(phase::forward);
    block_tensors b;
    with_units([](auto& u) { u.begin_forward(); });
    blocks_.forward(stack_.embedding(), recording::on, b);
    with_units([](auto& u) { u.after_embedding(); });
    auto x = blocks_.take_output(stack_.embedding(), b, recording::on);
    embedding_tensors_ = b;
    if (job_->model.position == position_kind::rope && !habits.rotary.caches()) {
      const auto angles = bytes{checked::mul(checked::mul(stack_.sizes.tokens, job_->model.latent() ? job_->model.mla.rope_dim : job_->model.head_width()), stack_.sizes.width)};
      cosine_ = memory_.make(angles, row::activations);
      sine_ = memory_.make(angles, row::activations);
    }
    for (std::size_t i = 0; i < stack_.layers.size(); ++i) {
      memory_.enter(phase::forward, static_cast<std::int64_t>(i));
      with_units([&](auto& u) { u.before_forward(i); });
      x = forward(stack_.layers[i], x);
      with_units([&](auto& u) { u.after_forward(i); });
    }
    memory_.enter(phase::loss_forward);
    with_units([](auto& u) { u.before_head(); });
    block_tensors tail;
    tail.of[first_of(stack_.tail().input().bit())] = x;
    const auto leave = [&] { with_units([](auto& u) { u.end_forward(); }); };
    if (stack_.sizes.loss_program == loss_style::chunked_head) leave();
    blocks_.forward(stack_.tail(), recording::on, tail, [&] {
      free_previous();
      if (stack_.sizes.loss_outside()) leave();
    });
    free_previous();  // where no outputs are handed over before the loss
    leave();
    loss_ = blocks_.take_output(stack_.tail(), tail, recording::on);
    tail_tensors_ = tail;
    for (auto& l : stack_.layers)  // what autocast cached goes when forward closes
      if (l.recomputes)
        for (auto& part : l.parts) blocks_.free(part, part.alive);
  }

  handle forward(layer& l, handle x) {
    const auto& kind = stack_.kinds[l.kind];
    const auto mode = l.recomputes ? recording::off : recording::on;
    const bool checkpointed = l.recomputes && kind.back;
    if (checkpointed) l.input = x;
    for (std::size_t i = 0; i < kind.parts.size(); ++i) {
      const auto& p = kind.parts[i];
      auto& b = l.parts[i];
      b.alive = 0;
      b.borrowed = 0;
      const auto in = p.storages(p.input().bit());
      b.of[first_of(in)] = x;
      if (checkpointed && i == 0) b.borrowed = in;
      if (stack_.leaf && &l == &stack_.layers.front() && i == 0) {  // the embedding's result is a leaf: its owner keeps it
        b.borrowed = in;
        leaf_tensor_ = x;
      }
      blocks_.forward(p, mode, b);
      x = blocks_.take_output(p, b, mode);
    }
    return x;
  }

  void backward(bool gradients_exist, bool last) {
    const auto& w = *windows_;
    memory_.enter(phase::backward);
    gradient_sink sink;
    sink.accumulate = !sharded() && (gradients_exist || w.path == gradient_path::leaves);
    std::vector<handle> buffers;
    if (!sharded()) {
      if (w.gather_pool > bytes{0} && job_->flat)
        buffers.push_back(memory_.make(w.backward.rows[row::communication_buffers], row::communication_buffers, stream::reduce));
      else if (w.buckets == 0)
        buffers.push_back(memory_.make(w.backward.total, row::communication_buffers));
      for (std::int32_t i = 0; i < w.buckets; ++i) buffers.push_back(memory_.make(w.turn.total / w.buckets, row::communication_buffers));
    }
    const auto enter = [&] { with_units([](auto& u) { u.begin_backward(); }); };
    if (!stack_.sizes.loss_outside()) enter();
    auto g = memory_.make(stack_.tail().size(stack_.tail().output()), row::activations);  // of the scalar
    auto first = memory_.make(stack_.tail().size(stack_.tail().output()), row::activations);  // … which the caller names, too
    if (const auto tied = detail::tied_gradient(*job_, stack_.sizes); tied > bytes{0}) sink.tied_size = tied;
    g = blocks_.backward(stack_.tail(), tail_tensors_, g, sink, [&] {
      if (stack_.sizes.loss_outside()) enter();
    });
    const bool share = !gradients_exist && w.partition == bytes{0};
    handle partition = none;
    const auto reduce = [&] {
      if (w.partition > bytes{0} && partition == none) partition = memory_.make(w.partition, row::gradients, w.partition_apart ? stream::reduce : stream::compute);
    };
    with_units([&](auto& u) { u.after_head(sink, last); });
    collect(sink, share ? w.kept_root : bytes{0});
    for (auto i = stack_.layers.size(); i-- > 0;) {
      auto& l = stack_.layers[i];
      if (!stack_.kinds[l.kind].back) continue;
      memory_.enter(phase::backward, static_cast<std::int64_t>(i));
      with_units([&](auto& u) { u.before_backward(i); });
      g = backward(l, g, sink);
      with_units([&](auto& u) { u.after_backward(i, sink, last); });
      collect(sink, share ? w.kept_per_unit : bytes{0});
      if (static_cast<std::int64_t>(stack_.layers.size() - i) >= w.partition_after) reduce();
    }
    memory_.enter(phase::backward);
    with_units([](auto& u) { u.before_embedding_backward(); });
    if (const auto& p = stack_.embedding(); p.needs_gradient(p.output())) g = blocks_.backward(p, embedding_tensors_, g, sink);
    if (sink.accumulate)
      memory_.free(sink.tied);
    else if (sink.tied != none)
      sink.kept.push_back(sink.tied);
    memory_.free(g);
    memory_.free(first);
    if (sharded()) memory_.enter(phase::reduce);
    with_units([&](auto& u) { u.end_backward(sink, last); });
    collect(sink, bytes{0});
    reduce();
    if (averaged_ == none)
      averaged_ = partition;
    else
      memory_.free(partition);
    for (auto& b : buffers) memory_.free(b);
    memory_.free(cosine_);
    memory_.free(sine_);
    if (stack_.leaf) memory_.free(leaf_tensor_);
    leave_previous();
  }

  handle backward(layer& l, handle g, gradient_sink& sink) {
    const auto& kind = stack_.kinds[l.kind];
    handle local = none;
    if (l.recomputes) {
      auto x = l.input;
      for (std::size_t i = 0; i < kind.parts.size(); ++i) {
        const auto& p = kind.parts[i];
        auto& b = l.parts[i];
        b.borrowed = 0;
        const auto in = p.storages(p.input().bit());
        b.of[first_of(in)] = x;
        if (i == 0) b.borrowed = in;
        blocks_.forward(p, recording::on, b);
        x = blocks_.take_output(p, b, recording::on);
      }
      local = x;
      if (!job_->reentrant) memory_.free(local);
    } else if (kind.parts.front().checkpointed()) {
      run_again(l);
    }
    const auto& last = kind.parts.back();
    auto borrowed = last.borrows_output_gradient() && last.needs_gradient(last.output()) ? g : none;
    for (auto i = kind.parts.size(); i-- > 0;) g = blocks_.backward(kind.parts[i], l.parts[i], g, sink);
    if (borrowed != g) memory_.free(borrowed);
    memory_.free(local);
    if (l.recomputes && job_->reentrant)  // its graph dies at once
      for (auto& b : l.parts) blocks_.free(b, b.alive);
    if (l.recomputes && l.input != leaf_tensor_) memory_.free(l.input);
    l.input = none;
    return g;
  }

  /// A selective checkpoint: the layer runs again over what it kept.
  void run_again(layer& l) {
    const auto& kind = stack_.kinds[l.kind];
    handle x = none;
    for (std::size_t i = 0; i < kind.parts.size(); ++i) {
      const auto& p = kind.parts[i];
      auto& b = l.parts[i];
      const auto in = p.storages(p.input().bit());
      if (i > 0) b.of[first_of(in)] = x;
      blocks_.forward(p, recording::again, b);
      x = blocks_.take_output(p, b, recording::again);
    }
    memory_.free(x);
  }

  /// Gradients of one layer: they stay, or go and leave a share.
  void collect(gradient_sink& sink, bytes share) {
    if (sharded()) return;
    for (const auto h : sink.kept) gradients_.push_back(h);
    sink.kept.clear();
    if (windows_->path == gradient_path::leaves && share > bytes{0} && !start_.gradients_made) gradients_.push_back(memory_.make(share, row::gradients));
  }

  /// What outlives a micro-batch's graph: until the next one's forward has returned, or not at all.
  void leave_previous() {
    const bool stays = stack_.sizes.habits->loss.keeps_graph();
    const auto leave = [&](block_tensors& b) {
      if (!stays) return blocks_.free(b, b.alive);
      for (auto s = b.alive & ~b.borrowed; s != 0; s &= s - 1) previous_.push_back(b.of[first_of(s)]);
      b.alive = 0;
    };
    for (auto& l : stack_.layers)
      for (auto& b : l.parts) leave(b);
    leave(tail_tensors_);
    leave(embedding_tensors_);
    memory_.free(loss_);
  }
  void free_previous() {
    for (auto& h : previous_) memory_.free(h);
    previous_.clear();
  }

  const settled_job* job_;
  const windows* windows_;
  traced_stack stack_;
  tensor_memory memory_;
  block_trace blocks_;
  std::variant<std::monostate, fsdp2_units, fsdp1_units> units_;
  bool stays_{};
  block_tensors embedding_tensors_{}, tail_tensors_{};
  handle cosine_{none}, sine_{none}, loss_{none}, leaf_tensor_{none}, averaged_{none};
  std::vector<handle> gradients_, previous_;
  loaded_model start_;
};

}  // namespace headroom
