// Distributed under the Boost Software License, Version 1.0.
// What a program occupies, moment by moment. The rules are those of PyTorch's autograd engine (torch/csrc/autograd/engine.cpp,
// input_buffer.cpp, functions/accumulate_grad.h):
//  forward:  outputs are made while the operation's temporary is alive; then the temporary goes; then every tensor after its
//            last reader, unless it is saved or held.
//  backward: reversed. Gradients of the operands and of the weights are made while the temporary is alive; then the temporary
//            goes, then what was saved, then the gradients of the results. A second gradient for the same tensor is added in
//            place only if nobody else holds the first.
#pragma once

#include <headroom/block/moment.hpp>
#include <headroom/block/program.hpp>

namespace headroom {

struct forward_walk {
  bytes saved{};      ///< alive when the block has run, for the graph; without its output and what outlives the graph
  bytes sticky{};     ///< of it, what stays until the graph dies
  bytes held{};       ///< alive for a caller
  breakdown saved_rows{};
  moment peak{};      ///< its input included
  moment before_return{};  ///< the peak up to the place where the model hands over its outputs
};

struct backward_walk {
  moment peak{};             ///< what the block saved and the gradient of its output included
  bytes weight_gradients{};  ///< of all its weights
};

/// Whether a block's forward leaves something for backward.
enum class recording : std::uint8_t { on, off };

namespace detail {

constexpr breakdown rows_of(const program& p, tensor_set alive) {
  breakdown b{};
  b[row::logits] = p.sum(alive & p.logits());
  b[row::gathered_parameters] = p.sum(alive & p.weights());
  b[row::activations] = p.sum(alive & ~p.logits() & ~p.weights());
  return b;
}

/// For each operation the storages that nobody reads after it.
struct last_readers {
  std::array<tensor_set, program::max_operations> gone;
  constexpr explicit last_readers(const program& p) {
    tensor_set seen = p.storages(p.output().bit());
    for (int i = p.operations(); i-- > 0;) {
      const auto used = p.storages(p[i].reads | p[i].makes | p[i].holds);
      gone[static_cast<std::size_t>(i)] = used & ~seen;
      seen |= used;
    }
  }
};

}  // namespace detail

/// Walks the forward of a block.
constexpr forward_walk walk_forward(const program& p, recording mode = recording::on) {
  const detail::last_readers last(p);
  const auto kept = mode == recording::on ? p.saved() | p.sticky() | p.held() | p.held_in_forward() | p.cached() : p.cached() | p.held();
  forward_walk r;
  tensor_set alive = p.storages(p.input().bit());
  bytes now = p.sum(alive);
  tensor_set tallest = alive;
  bytes height = now;
  bytes temporary{0};
  row temporary_row = row::temporaries;
  const auto top = [&] {
    moment m(height, detail::rows_of(p, tallest));
    m.rows[temporary_row] += temporary;
    return m;
  };
  for (int i = 0; i < p.operations(); ++i) {
    if (i > 0 && i == p.returns_at()) r.before_return = top();
    const auto& o = p[i];
    const auto fresh = p.storages(o.makes) & ~alive;
    now += p.sum(fresh);
    alive |= fresh;
    if (now + o.forward_temporary > height) {
      height = now + o.forward_temporary;
      tallest = alive;
      temporary = o.forward_temporary;
      temporary_row = o.temporaries;
    }
    const auto gone = last.gone[static_cast<std::size_t>(i)] & alive & ~kept;
    now -= p.sum(gone);
    alive &= ~gone;
  }
  r.peak = top();
  if (mode == recording::on) {
    const auto graph = (p.saved() | p.sticky()) & ~p.held();
    r.saved = p.sum(graph);
    r.saved_rows = detail::rows_of(p, graph);
    r.sticky = p.sum(p.sticky() & ~p.held());
    r.held = p.sum(p.held());
  } else {
    r.saved_rows = detail::rows_of(p, p.cached());
    r.saved = p.sum(p.cached());
  }
  return r;
}

namespace detail {

/// Gradient buffers with reference counts: an addition hands its own gradient on, so that one buffer serves two tensors.
class gradient_buffers {
 public:
  constexpr explicit gradient_buffers(const program& p) : program_(&p) {
    for (auto& s : slot_) s = -1;
  }
  [[nodiscard]] constexpr bool has(int t) const { return slot_[static_cast<std::size_t>(t)] >= 0; }
  [[nodiscard]] constexpr int of(int t) const { return slot_[static_cast<std::size_t>(t)]; }
  [[nodiscard]] constexpr bytes plain() const { return plain_; }
  [[nodiscard]] constexpr bytes logits() const { return logits_; }
  [[nodiscard]] constexpr bytes total() const { return plain_ + logits_; }

  constexpr int make(tensor t) {
    if (count_ == capacity) refuse("headroom: a block's backward makes at most 192 gradients; split it", count_);
    const auto i = static_cast<std::size_t>(count_);
    size_[i] = program_->gradient_size(t);
    is_logits_[i] = program_->is_logits(t);
    references_[i] = 1;
    (is_logits_[i] ? logits_ : plain_) += size_[i];
    return count_++;
  }
  constexpr void share(int b) { ++references_[static_cast<std::size_t>(b)]; }
  constexpr void drop(int b) {
    const auto i = static_cast<std::size_t>(b);
    if (--references_[i] == 0) (is_logits_[i] ? logits_ : plain_) -= size_[i];
  }
  [[nodiscard]] constexpr bool shared(int b) const { return references_[static_cast<std::size_t>(b)] > 1; }
  [[nodiscard]] constexpr bytes size(int b) const { return size_[static_cast<std::size_t>(b)]; }
  constexpr void put(int t, int b) { slot_[static_cast<std::size_t>(t)] = static_cast<std::int16_t>(b); }
  constexpr int take(int t) {
    const int b = of(t);
    slot_[static_cast<std::size_t>(t)] = -1;
    return b;
  }

 private:
  static constexpr int capacity = 192;
  const program* program_;
  std::array<std::int16_t, program::max_tensors> slot_;
  std::array<bytes, capacity> size_;
  std::array<std::int16_t, capacity> references_;
  std::array<bool, capacity> is_logits_;
  int count_ = 0;
  bytes plain_{}, logits_{};
};

}  // namespace detail

/// Walks the backward of a block. `accumulate`: gradients exist already, so a new one is added to it and goes.
constexpr backward_walk walk_backward(const program& p, bool accumulate = false) {
  backward_walk r;
  detail::gradient_buffers grads(p);
  tensor_set alive = p.saved() | p.sticky() | p.held();
  bytes kept = p.sum(alive);
  bytes weights{0};

  tensor_set tallest = alive;
  bytes tallest_weights{0}, tallest_plain{0}, tallest_logits{0}, tallest_temporary{0};
  row tallest_row = row::temporaries;
  const auto look = [&](bytes temporary, bytes fewer, row temporary_row) {
    const auto now = kept + weights + grads.total() + temporary - fewer;
    if (now <= r.peak.total) return;
    r.peak.total = now;
    tallest = alive;
    tallest_weights = weights;
    tallest_plain = grads.plain();
    tallest_logits = grads.logits();
    tallest_temporary = temporary - fewer;
    tallest_row = temporary_row;
  };

  if (p.output().valid() && p.needs_gradient(p.output())) grads.put(p.output().id, grads.make(p.output()));
  look(bytes{0}, bytes{0}, row::temporaries);

  for (int i = p.operations(); i-- > 0;) {
    const auto& o = p[i];
    if (!o.recorded) continue;
    // The gradients that arrive. A result that nobody used has none.
    const auto results = o.makes & p.gradients();
    int arriving = -1;
    bytes arrived{0};
    for (auto s = results; s != 0; s &= s - 1) {
      const int t = std::countr_zero(s);
      if (!grads.has(t)) continue;
      arriving = grads.of(t);
      arrived += grads.size(arriving);
    }
    const auto released = o.saves & alive & ~p.sticky() & ~p.held();
    const auto released_bytes = p.sum(released);
    const auto release = [&] {
      alive &= ~released;
      kept -= released_bytes;
    };
    if (o.releases_first) release();
    // The gradients that it makes.
    std::array<std::int16_t, 8> made;
    int makes = 0;
    bytes fresh{0};
    for (auto s = o.reads & p.gradients(); s != 0; s &= s - 1) {
      const tensor t{std::countr_zero(s)};
      int b = -1;
      if (o.passes_gradient && arriving >= 0 && grads.size(arriving) == p.gradient_size(t)) {
        b = arriving;
        grads.share(b);
      } else {
        b = grads.make(t);
        fresh += grads.size(b);
      }
      made[static_cast<std::size_t>(makes++)] = static_cast<std::int16_t>(b);
    }
    if (o.pieces > 1) {
      // Piece by piece: one piece's share is made before the first share is released, and one is left at the last.
      const auto n = o.pieces;
      weights += o.weight_gradient;
      look(o.backward_temporary, fresh - fresh / n, o.temporaries);
      if (o.weight_gradient > bytes{0})  // the second piece's weight gradient is added to the first's
        look(o.backward_temporary + o.weight_gradient, fresh - fresh / n * 2 + (released_bytes + arrived) / n, o.temporaries);
      look(o.backward_temporary, (released_bytes + arrived) / n * (n - 1), o.temporaries);
    } else {
      weights += o.weight_gradient;
      look(o.backward_temporary, bytes{0}, o.temporaries);
    }
    if (accumulate) weights -= o.weight_gradient;
    if (!o.releases_first) release();
    for (auto s = results; s != 0; s &= s - 1) {
      const int t = std::countr_zero(s);
      if (grads.has(t)) grads.drop(grads.take(t));
    }
    makes = 0;
    for (auto s = o.reads & p.gradients(); s != 0; s &= s - 1) {
      const tensor t{std::countr_zero(s)};
      const int b = made[static_cast<std::size_t>(makes++)];
      if (!grads.has(t.id)) {
        grads.put(t.id, b);
      } else if (!grads.shared(grads.of(t.id))) {
        grads.drop(b);
      } else {
        const int sum = grads.make(t);
        look(bytes{0}, bytes{0}, row::temporaries);
        grads.drop(grads.take(t.id));
        grads.drop(b);
        grads.put(t.id, sum);
      }
    }
  }
  r.weight_gradients = weights;
  r.peak.rows = detail::rows_of(p, tallest);
  r.peak.rows[row::gradients] = tallest_weights;
  r.peak.rows[row::temporaries] += tallest_plain;
  r.peak.rows[row::logits] += tallest_logits;
  r.peak.rows[tallest_row] += tallest_temporary;
  return r;
}

}  // namespace headroom
