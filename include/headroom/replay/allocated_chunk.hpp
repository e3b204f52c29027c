// Distributed under the Boost Software License, Version 1.0.
// A chunk of a pipeline stage that is allocated, tensor by tensor: what chunk_step makes and frees, in blocks of the caching allocator.
#pragma once

#include <headroom/engine/tensor_parallel/chunk_step.hpp>
#include <headroom/engine/tensor_parallel/divided_layers.hpp>
#include <headroom/replay/block_trace.hpp>
#include <headroom/replay/run_ahead.hpp>

#include <array>
#include <deque>
#include <utility>
#include <vector>

namespace headroom {

/// Layers that share a checkpoint, or one, between their forward and their backward.
struct held_unit {
  tensor_memory::handle input{tensor_memory::none};  ///< of a checkpoint
  std::vector<std::vector<block_tensors>> layers;
};

/// A listener of chunk_step that allocates.
class allocated_chunk {
 public:
  /// None, unless it was made.
  struct handle {
    tensor_memory::handle at{tensor_memory::none};
  };
  /// A micro-batch of a chunk between its forward and its backward.
  struct micro_batch {
    std::vector<held_unit> units;  ///< by their first layer
    block_tensors head{};
    std::vector<block_tensors> encoder;  ///< halves of its layers, and its norm
    chunk_leaves<handle> leaves{};
  };

  /// `ahead`: by how many layers the host is.
  allocated_chunk(const settled_job& s, bytes input, tensor_memory& m, const detail::layers_ahead& ahead = {})
      : job_(&s), scene_(s.layer), memory_(&m), blocks_(m), input_(input), kept_(detail::kept_input(s)), ahead_(ahead, m) {
    blocks_.retire_communicated(ahead_.any());
    scene_.model = &s.model;
    const auto trained = trained_modules(*s.source, -1);
    for (const auto& k : kinds_of(s.model)) {
      auto& parts = parts_[megatron::place_of(k.kind)];
      parts.clear();
      megatron::for_each_half(scene_, k.kind, trained, [&](const program& p) { parts.push_back(p); });
    }
    with_made([&] { return megatron::last_block(scene_, trained); }, [&](const program& p) { head_.push_back(p); });
    if (s.model.encoder.layers > 0) {
      const auto stack = encoder_stack(s.model);
      const auto own = megatron::encoder_scene(scene_, stack);
      std::vector<program> layer;
      megatron::for_each_half(own, {mixer_kind::attention, feed_forward_kind::dense}, trained, [&](const program& p) { layer.push_back(p); });
      for (std::int64_t i = 0; i < s.model.encoder.layers; ++i) encoder_.insert(encoder_.end(), layer.begin(), layer.end());
      with_made([&] { return megatron::norm_block(own); }, [&](const program& p) { encoder_.push_back(p); });
    }
    sink_.accumulate = !s.source->framework.gradients.stay_in_micro_batch;
    for (auto& slot : slots_) slot.assign(static_cast<std::size_t>(2 * s.model.layers + 1), none);
  }
  /// What comes next is of this micro-batch, of a chunk whose first layer is `first`.
  void of(micro_batch& h, std::int64_t first, std::int64_t layers) {
    held_ = &h;
    first_ = first;
    h.units.resize(static_cast<std::size_t>(layers));
  }
  /// So many tensors as large as the chunk's input are named by the schedule's variables: of those that the last steps left, if there are any.
  void name(std::int64_t n) {
    const auto most = static_cast<std::size_t>(n);
    for (; named_.size() > most; named_.pop_front()) memory_->free(named_.front());
    while (named_.size() < most) named_.push_back(memory_->make(input_, row::communication_buffers));
  }

  // --- tensors ---------------------------------------------------------------------------------------------------------

  handle make(bytes size, row of, stream on = stream::compute) { return {memory_->make(size, of, on)}; }
  void free(handle& h) { memory_->free(h.at); }
  void put(detail::group_slot s, std::int64_t place, bytes size, row of, stream on = stream::compute) { at(s, place) = memory_->make(size, of, on); }
  void drop(detail::group_slot s, std::int64_t place, bytes, row) { memory_->free(at(s, place)); }
  void enter(phase p, std::int64_t layer) { memory_->enter(p, layer); }
  template <class Units, class Body>
  void each_up(const detail::chunk_run& r, Units&, const Body& body) {
    for (std::int64_t n = 0; n < r.count; ++n) body(n);
  }
  template <class Units, class Body>
  void each_down(const detail::chunk_run& r, Units&, const Body& body) {
    for (auto n = r.count; n-- > 0;) body(n);
  }

  // --- forward ---------------------------------------------------------------------------------------------------------

  void forward_encoder(std::int64_t) {
    auto& held = held_->encoder;
    held.resize(encoder_.size());
    auto x = memory_->make(encoder_.front().size(encoder_.front().input()), row::activations);
    for (std::size_t i = 0; i < encoder_.size(); ++i) x = forward(encoder_[i], held[i], x);
    memory_->free(x);
  }
  void receive() {  // or the embedding's
    if (first_ > 0) ahead_.wait();
    flow_ = memory_->make(input_, row::activations);
  }
  void send() {  // then deallocated
    ahead_.send(first_ == 0);
    memory_->free(flow_);
  }
  void forward(const detail::layer_unit& u) {
    auto& h = unit(u);
    if (u.run.recomputes) h.input = flow_;
    flow_ = run(u, h, flow_, u.run.recomputes ? recording::off : recording::on);
    if (u.run.recomputes) exchange(h.input, input_, kept_);
    ahead_.layer(true);
  }
  void begin_step() { ahead_.begin(); }
  /// What an update starts behind the layers (run_ahead::update).
  void update(std::size_t calls, std::size_t operations, std::size_t slices) { ahead_.update(calls, operations, slices); }
  void forward_norm() {}
  void forward_module() {}
  void forward_head() {
    const auto& p = head_.front();
    auto& h = held_->head;
    h.alive = 0;
    h.of[first_of(p.input().bit())] = flow_;
    blocks_.forward(p, recording::on, h);
    flow_ = blocks_.take_output(p, h, recording::on);
    memory_->free(flow_);
  }

  // --- backward --------------------------------------------------------------------------------------------------------

  void backward_encoder(std::int64_t) {
    auto g = memory_->make(encoder_.back().size(encoder_.back().output()), row::temporaries);
    for (auto i = encoder_.size(); i-- > 0;) g = blocks_.backward(encoder_[i], held_->encoder[i], g, sink_);
    memory_->free(g);
  }
  void receive_gradient() {
    ahead_.wait();
    flow_ = memory_->make(input_, row::temporaries);
  }
  void send_gradient() {
    if (first_ > 0) ahead_.wait();
    memory_->free(flow_);
  }
  void backward_head() {
    const auto& p = head_.front();
    flow_ = blocks_.backward(p, held_->head, memory_->make(p.size(p.output()), row::activations), sink_);
  }
  void backward_module() {}
  void backward_norm() {}
  void backward(const detail::layer_unit& u, handle* held) {
    auto& h = unit(u);
    if (u.run.recomputes) {
      exchange(h.input, kept_, input_);
      auto out = run(u, h, h.input, recording::on);
      memory_->free(out);
    }
    for (auto l = u.run.each; l-- > 0;) {
      const auto& parts = parts_of(u.first() + l);
      for (auto p = parts.size(); p-- > 0;) {
        flow_ = blocks_.backward(parts[p], h.layers[static_cast<std::size_t>(l)][p], flow_, sink_);
        if (held != nullptr && !u.run.recomputes) *std::exchange(held, nullptr) = make(input_, row::communication_buffers);
      }
    }
    memory_->free(h.input);
    ahead_.layer(false);
    if (held != nullptr) *held = make(input_, row::communication_buffers);
  }
  void consider_input() {}
  void consider_gradient() {}
  void drop_gradients() {
    for (auto& g : sink_.kept) memory_->free(g);
    sink_.kept.clear();
  }

 private:
  static constexpr tensor_memory::handle none = tensor_memory::none;

  /// A checkpoint's input is given up for this rank's part of it, or gathered from that.
  void exchange(tensor_memory::handle& h, bytes from, bytes to) {
    if (from == to) return;
    memory_->free(h);
    h = memory_->make(to, row::activations);
  }
  [[nodiscard]] const std::vector<program>& parts_of(std::int64_t layer) const { return parts_[megatron::place_of(job_->model.kind_of(layer))]; }
  [[nodiscard]] held_unit& unit(const detail::layer_unit& u) const { return held_->units[static_cast<std::size_t>(u.first() - first_)]; }
  tensor_memory::handle& at(detail::group_slot s, std::int64_t place) { return slots_[static_cast<std::size_t>(s)][static_cast<std::size_t>(place)]; }

  tensor_memory::handle forward(const program& p, block_tensors& b, tensor_memory::handle x) {
    b.alive = b.borrowed = 0;
    b.of[first_of(p.storages(p.input().bit()))] = x;
    blocks_.forward(p, recording::on, b);
    return blocks_.take_output(p, b, recording::on);
  }
  /// A unit's forward; the first block of a checkpoint leaves its input to the checkpoint.
  tensor_memory::handle run(const detail::layer_unit& u, held_unit& h, tensor_memory::handle x, recording mode) {
    h.layers.assign(static_cast<std::size_t>(u.run.each), {});
    for (std::size_t l = 0; l < h.layers.size(); ++l) {
      const auto& parts = parts_of(u.first() + static_cast<std::int64_t>(l));
      h.layers[l].resize(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        auto& b = h.layers[l][i];
        b.alive = b.borrowed = 0;
        const auto in = parts[i].storages(parts[i].input().bit());
        b.of[first_of(in)] = x;
        if (u.run.recomputes && l == 0 && i == 0) b.borrowed = in;
        blocks_.forward(parts[i], mode, b);
        x = blocks_.take_output(parts[i], b, mode);
      }
    }
    return x;
  }

  const settled_job* job_;
  scene scene_;
  tensor_memory* memory_;
  block_trace blocks_;
  bytes input_, kept_;
  run_ahead ahead_;
  std::array<std::vector<program>, megatron::kind_places> parts_;  // of each kind of layer
  std::vector<program> encoder_;               // halves of all its layers, and its norm
  std::vector<program> head_;                  // one
  gradient_sink sink_;
  std::array<std::vector<tensor_memory::handle>, 2> slots_;  // by group_slot and group
  std::deque<tensor_memory::handle> named_;
  micro_batch* held_{};
  std::int64_t first_{};
  tensor_memory::handle flow_{none};  // the residual stream between layers, or its gradient
};

}  // namespace headroom
