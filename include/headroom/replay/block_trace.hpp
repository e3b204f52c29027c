// Distributed under the Boost Software License, Version 1.0.
// A block's run (block/run.hpp), allocation by allocation.
#pragma once

#include <headroom/replay/block_script.hpp>
#include <headroom/replay/tensor_memory.hpp>

#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace headroom {

/// The storages of a block's tensors between its forward and its backward.
struct block_tensors {
  std::array<tensor_memory::handle, program::max_tensors> of;
  wide_set alive;
  wide_set borrowed;  ///< somebody else frees these
};

/// What becomes of weight gradients: they stay, in `kept`, or are added to those that exist.
struct gradient_sink {
  bool accumulate{};
  std::vector<tensor_memory::handle> kept{};
  bool waits{};            ///< a gradient of a table that is used twice waits for its second
  bytes tied_size{-1};     ///< … which is as large as this
  tensor_memory::handle tied{tensor_memory::none};
  tensor_memory::handle second{tensor_memory::none};
};

/// Runs blocks. A program that it has seen stays where it is, as it is.
class block_trace {
 public:
  using handle = tensor_memory::handle;
  static constexpr handle none = tensor_memory::none;

  explicit block_trace(tensor_memory& m) : memory_(&m) {}

  /// Runs a block whose input's storage is in `b` already. What is left is in `b`: the output, and what is kept for backward.
  template <class OnReturn>
  void forward(const program& p, recording mode, block_tensors& b, OnReturn&& on_return) {
    const auto run = mode == recording::on ? block_run::forward : mode == recording::off ? block_run::forward_without_graph : block_run::forward_again;
    gradient_sink none_made;
    play(script_of(p, run, b), b, on_return, none_made);
  }
  void forward(const program& p, recording mode, block_tensors& b) {
    forward(p, mode, b, [] {});
  }
  /// Takes the output out of a block: the caller frees it, unless the graph keeps it.
  handle take_output(const program& p, block_tensors& b, recording mode) {
    const auto out = p.storages(p.output().bit());
    const auto t = first_of(out);
    const bool stays = mode != recording::off && (out & (p.checkpointed() ? p.kept() : p.saved() | p.sticky() | p.held())) != 0;
    if (!stays) b.alive &= ~out;
    return b.of[t];
  }

  /// Runs a block's backward; `gradient` is of its output, and what is returned is of its input. What is sticky or held stays in `b`;
  /// a gradient that is borrowed is left to its owner. `on_enter`: called when the gradient of what the model returned is there.
  template <class OnEnter>
  handle backward(const program& p, block_tensors& b, handle gradient, gradient_sink& sink, OnEnter&& on_enter) {
    const auto& s = script_of(p, block_run::backward, b);
    if (slots_.empty()) slots_.resize(1);
    slots_.front() = gradient;
    play(s, b, on_enter, sink);
    return s.output == block_script::nowhere ? none : slots_[std::size_t{s.output} - block_script::first_slot];
  }
  handle backward(const program& p, block_tensors& b, handle gradient, gradient_sink& sink) {
    return backward(p, b, gradient, sink, [] {});
  }

  /// What another model does when it runs.
  void beside(std::function<void()> other) { other_ = std::move(other); }
  /// From here on, temporaries that a collective reads are held for its stream when they are freed (tensor_memory::retire).
  void retire_communicated(bool yes) { retires_ = yes; }

  /// Frees some of a block's storages.
  void free(block_tensors& b, wide_set s) {
    b.alive &= ~s;
    for (const auto t : each(s & ~b.borrowed)) memory_->free(b.of[t.place()]);
  }

 private:
  const block_script& script_of(const program& p, block_run run, const block_tensors& b) {
    for (const auto& s : scripts_)
      if (s.of == &p && s.run == run && s.alive == b.alive && s.borrowed == b.borrowed) return s;
    scripts_.push_back({.of = &p, .run = run, .alive = b.alive, .borrowed = b.borrowed});
    write_script(scripts_.back());
    return scripts_.back();
  }

  template <class Pass>
  void play(const block_script& script, block_tensors& b, Pass& pass, gradient_sink& sink) {
    using detail::script_step;
    if (slots_.size() < script.slots) slots_.resize(script.slots);
    auto& m = *memory_;
    for (const auto& s : script.steps) {
      auto& h = s.at < block_script::first_slot ? b.of[s.at] : slots_[std::size_t{s.at} - block_script::first_slot];
      switch (s.what) {
        case script_step::kind::make: h = m.make(s.size, s.of); break;
        case script_step::kind::make_cut: h = m.make_cut(s.size, s.cut, s.of); break;
        case script_step::kind::free: retires_ && s.of == row::communication_buffers ? m.retire(h) : m.free(h); break;
        case script_step::kind::make_pieced: h = m.make_pieced(s.of); break;
        case script_step::kind::add_piece: m.add_piece(h, s.size); break;
        case script_step::kind::drop_piece: m.drop_piece(h); break;
        case script_step::kind::keep_weight: keep_weight(h, s, sink); break;
        case script_step::kind::pass: pass(); break;
        case script_step::kind::product: m.begin_product(); break;
        case script_step::kind::other:
          if (other_) other_();
          break;
      }
    }
    b.alive = script.left;
  }
  void keep_weight(handle weight, const detail::script_step& s, gradient_sink& sink) {
    if (s.waits && sink.waits) {
      sink.tied = weight;
    } else if (s.size == sink.tied_size) {  // the table's own is the last of this size: it is looked up first
      settle(std::exchange(sink.second, weight), sink);
    } else {
      settle(weight, sink);
    }
  }
  void settle(handle weight, gradient_sink& sink) {
    if (sink.accumulate)
      memory_->free(weight);
    else if (weight != none)
      sink.kept.push_back(weight);
  }

  tensor_memory* memory_;
  std::vector<block_script> scripts_;
  std::vector<handle> slots_;  // of the run that goes on
  std::function<void()> other_;
  bool retires_ = false;
};

}  // namespace headroom
