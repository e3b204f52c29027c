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
  moment kept{};             ///< until the gradients of its weights are computed, where that is later
};

/// Whether a block's forward leaves something for backward: what the graph needs (of a checkpointed block, what is kept), nothing, or
/// all of it, when a checkpointed block runs again with what was kept.
enum class recording : std::uint8_t { on, off, again };

namespace detail {

/// A set of storages, and nothing else.
constexpr moment moment_of(const program& p, tensor_set s) {
  moment m;
  m.clear();
  if (s == 0) return m;
  if (const auto these = s & p.logits(); these != 0) m.add(row::logits, p.sum(these));
  if (const auto these = s & p.weights(); these != 0) m.add(row::gathered_parameters, p.sum(these));
  m.add(row::activations, p.sum(s & ~p.logits() & ~p.weights()));
  return m;
}

/// For each operation the storages that nobody reads after it and nothing else keeps.
struct last_readers {
  std::array<tensor_set, program::max_operations> gone;
  constexpr last_readers(const program& p, tensor_set kept) {
    auto seen = kept | p.storages(p.output().bit());
    for (auto i = p.operations(); i-- > 0;) {
      const auto used = p.storages(p[i].reads | p[i].makes | p[i].holds);
      gone[i] = used & ~seen;
      seen |= used;
    }
  }
};

}  // namespace detail

/// Walks the forward of a block.
constexpr forward_walk walk_forward(const program& p, recording mode = recording::on) {
  const bool on = mode != recording::off;
  auto graph = (p.saved() | p.sticky()) & ~(p.recomputed() | p.offloaded());
  if (p.checkpointed() && mode == recording::on) [[unlikely]] graph = p.kept();
  const auto kept = p.cached() | p.held() | (on ? graph | p.held_in_forward() : 0);
  const detail::last_readers last(p, kept);
  tensor_set alive = p.storages(p.input().bit());
  if (mode == recording::again) alive |= p.kept();
  bytes now = p.sum(alive);
  struct {
    bytes total;
    tensor_set alive;
    const operation* at = nullptr;
  } top{now, alive};
  const auto peak = [&] {
    auto m = detail::moment_of(p, top.alive);
    if (top.at != nullptr) m.add(top.at->temporaries, top.at->forward_temporary);
    return m;
  };
  moment before_return{};
  for (std::size_t i = 0; i < p.operations(); ++i) {
    if (i == p.returns_at()) before_return = peak();
    const auto& o = p[i];
    const auto fresh = p.storages(o.makes) & ~alive;
    now += p.sum(fresh);
    alive |= fresh;
    if (const auto here = now + o.forward_temporary; here > top.total) top = {here, alive, &o};
    const auto gone = last.gone[i] & alive;
    now -= p.sum(gone);
    alive &= ~gone;
  }
  const auto left = detail::moment_of(p, on ? graph & ~p.held() : p.cached());
  return {.saved = left.total,
          .sticky = on ? p.sum(p.sticky() & ~p.held()) : bytes{0},
          .held = on ? p.sum(p.held()) : bytes{0},
          .saved_rows = left.rows,
          .peak = peak(),
          .before_return = before_return};
}

namespace detail {

/// The gradients of a block's tensors. An addition hands its own gradient on: then one buffer serves several tensors, and goes
/// with the last of them.
class gradient_buffers {
 public:
  constexpr explicit gradient_buffers(const program& p) : program_(&p) {}
  /// The tensors that have a gradient.
  [[nodiscard]] constexpr tensor_set present() const { return present_; }
  /// What of all buffers the report counts as logits.
  [[nodiscard]] constexpr bytes logits() const { return logits_; }

  /// New buffers for these tensors, and the end of such buffers: how many bytes that is.
  constexpr bytes make(tensor_set s) {
    if (const auto wide = s & program_->logits(); wide != 0) logits_ += program_->sum(wide);
    return program_->sum(s);
  }
  constexpr bytes free(tensor_set s) {
    if (const auto wide = s & program_->logits(); wide != 0) logits_ -= program_->sum(wide);
    return program_->sum(s);
  }
  /// These tensors have a gradient now; and have one no more: how many bytes that frees.
  constexpr void put(tensor_set s) { present_ |= s; }
  constexpr bytes drop(tensor_set s) {
    present_ &= ~s;
    auto joint = s & shared_;
    auto freed = free(s & ~joint);
    if (joint == 0) return freed;
    shared_ &= ~joint;
    for (; joint != 0; joint &= joint - 1) freed += unshare(buffer_[first_of(joint)], tensor{joint & -joint});
    return freed;
  }

  /// One more reference to the buffer of a tensor: which buffer that is. One fewer: how many bytes that frees.
  constexpr int share(tensor of) {
    auto& buffer = buffer_[first_of(of.bit())];
    if ((shared_ & of.bit()) == 0) {
      buffer = count_++;
      references_[static_cast<std::size_t>(buffer)] = 1;
      if (program_->is_logits(of)) logits_buffers_ |= tensor_set{1} << buffer;
      shared_ |= of.bit();
    }
    ++references_[static_cast<std::size_t>(buffer)];
    return buffer;
  }
  constexpr bytes unshare(int buffer, tensor as_large_as) {
    if (--references_[static_cast<std::size_t>(buffer)] > 0) return bytes{0};
    const auto freed = program_->size(as_large_as);
    if ((logits_buffers_ >> buffer & 1U) != 0) logits_ -= freed;
    return freed;
  }
  constexpr void put_shared(tensor_set s, int buffer) {
    present_ |= s;
    shared_ |= s;
    for (; s != 0; s &= s - 1) buffer_[first_of(s)] = static_cast<std::int8_t>(buffer);
  }
  [[nodiscard]] constexpr bool shared(tensor t) const {
    return (shared_ & t.bit()) != 0 && references_[static_cast<std::size_t>(buffer_[first_of(t.bit())])] > 1;
  }

 private:
  const program* program_;
  bytes logits_{};
  tensor_set present_ = 0;
  tensor_set shared_ = 0;          // of `present`: those in a shared buffer
  tensor_set logits_buffers_ = 0;  // shared buffers, by number
  std::int8_t count_ = 0;
  std::array<std::int8_t, program::max_tensors> buffer_;         // of a tensor in `shared`
  std::array<std::int8_t, program::max_operations> references_;  // to a shared buffer; an operation shares at most one
};

}  // namespace detail

/// Whether a backward computes the gradients of weights, too, or leaves them for later (zero bubble).
enum class weight_work : std::uint8_t { with_inputs, later };

/// Walks the backward of a block. `accumulate`: gradients exist already, so a new one is added to it and goes.
constexpr backward_walk walk_backward(const program& p, bool accumulate = false, weight_work weights_when = weight_work::with_inputs) {
  detail::gradient_buffers grads(p);
  const bool later = weights_when == weight_work::later;
  const auto stays = p.sticky() | p.held() | (later ? p.splits() : 0);
  tensor_set alive = p.saved() | stays;
  tensor_set waiting = 0;  // whose gradients stay for the gradients of weights
  bytes now = p.sum(alive);  // with the gradients of tensors and weights
  bytes weights{0};

  struct {
    bytes total{0};
    tensor_set alive = 0;
    bytes weights{0}, logits{0}, temporary{0};
    row temporaries{row::temporaries};
  } top;
  const auto look = [&](bytes temporary, row temporaries) {
    if (now + temporary <= top.total) return;
    top.total = now + temporary;
    top.alive = alive;
    top.weights = weights;
    top.logits = grads.logits();
    top.temporary = temporary;
    top.temporaries = temporaries;
  };

  const auto output = p.output().bit() & p.gradients();
  now += grads.make(output);
  grads.put(output);
  if (p.borrows_output_gradient() && output != 0) grads.share(tensor{output});
  look(bytes{0}, row::temporaries);

  for (auto i = p.operations(); i-- > 0;) {
    const auto& o = p[i];
    if (!o.recorded) continue;
    const auto arriving = o.makes & grads.present();  // a result that nobody used has no gradient
    const auto released = o.saves & ~stays;
    const auto release = [&] {
      alive &= ~released;
      now -= p.sum(released);
    };
    if (o.releases_first) release();

    // The gradients that it makes, and those that it hands on.
    const auto operands = o.reads & p.gradients();
    tensor_set handed_on = 0;
    int handed = 0;
    if (o.passes_gradient && arriving != 0) {
      const tensor from{std::bit_floor(arriving)};
      for (auto s = operands; s != 0; s &= s - 1) {
        const tensor t{s & -s};
        if (p.size(t) != p.size(from)) continue;
        handed = grads.share(from);
        handed_on |= t.bit();
      }
    }
    const auto fresh = operands & ~handed_on;
    now += grads.make(fresh) + o.weight_gradient;
    weights += o.weight_gradient;
    if (o.pieces > 1) {
      // Piece by piece: one piece's share is made before the first share is released, and one is left at the last.
      const auto n = o.pieces;
      const auto made = p.sum(fresh);
      const auto given_up = (p.sum(released) + p.sum(arriving)) / n;
      look(o.backward_temporary - (made - made / n), o.temporaries);
      if (o.weight_gradient > bytes{0})  // the second piece's weight gradient is added to the first's
        look(o.backward_temporary + o.weight_gradient - (made - made / n * 2 + given_up), o.temporaries);
      look(o.backward_temporary - given_up * (n - 1), o.temporaries);
    } else {
      look(o.backward_temporary, o.temporaries);
    }
    if (accumulate && !o.gradient_waits) {
      now -= o.weight_gradient;
      weights -= o.weight_gradient;
    }
    if (!o.releases_first) release();
    now -= grads.drop(arriving);
    if (later && o.splits) [[unlikely]] {
      now += p.sum(arriving);
      waiting |= arriving;
    }

    // A second gradient of a tensor is added to the first, unless somebody else holds that: then the sum takes a third buffer.
    const auto again = operands & grads.present();
    for (auto s = again; s != 0; s &= s - 1) {
      const tensor t{s & -s};
      if (grads.shared(t) || p.sums_out_of_place()) {
        now += grads.make(t.bit());
        look(bytes{0}, row::temporaries);
        now -= grads.drop(t.bit());
        grads.put(t.bit());
      }
      now -= (handed_on & t.bit()) != 0 ? grads.unshare(handed, t) : grads.free(t.bit());
    }
    grads.put(fresh);
    if (handed_on != 0) grads.put_shared(handed_on & ~again, handed);
  }
  backward_walk r{.peak = detail::moment_of(p, top.alive), .weight_gradients = weights};
  r.peak.add(row::gradients, top.weights);
  r.peak.add(row::logits, top.logits);
  if (later) [[unlikely]] {
    r.kept = detail::moment_of(p, p.splits());
    r.kept += detail::moment_of(p, waiting);
  }
  r.peak.add(top.temporaries, top.temporary);
  r.peak.add(row::temporaries, top.total - r.peak.total);  // the rest: gradients of tensors
  return r;
}

}  // namespace headroom
