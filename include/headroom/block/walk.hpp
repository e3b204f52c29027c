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

#include <utility>

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
  moment kept{};             ///< until the gradients of its weights are computed, where that is later; beside what is saved where autograd runs it
};

/// Whether a block's forward leaves something for backward: what the graph needs (of a checkpointed block, what is kept), nothing, or
/// all of it, when a checkpointed block runs again with what was kept.
enum class recording : std::uint8_t { on, off, again };

namespace detail {

/// A set of storages, and nothing else.
constexpr moment moment_of(const program& p, tensor_set s) {
  moment m;
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

/// Gradients that share a buffer: an addition hands its own gradient on, then one buffer serves several tensors, and goes with the
/// last of them. Few operations are additions, so that all of this is out of the way of the others.
class shared_gradients {
 public:
  constexpr explicit shared_gradients(const program& p) : program_(&p) {}
  /// The tensors whose gradient lies in a shared buffer.
  [[nodiscard]] constexpr tensor_set all() const { return shared_; }
  /// What of buffers that went the report counts as logits, since it was last asked.
  [[nodiscard]] constexpr bytes logits_freed() { return std::exchange(logits_freed_, bytes{0}); }

  /// One more reference to the buffer of a tensor: which buffer that is. One fewer: how many bytes that frees.
  [[gnu::noinline]] constexpr int share(tensor of) {
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
    if ((logits_buffers_ >> buffer & 1U) != 0) logits_freed_ += freed;
    return freed;
  }
  /// These have a gradient in that buffer; these have none any more: how many bytes that frees.
  constexpr void put(tensor_set s, int buffer) {
    shared_ |= s;
    for (; s != 0; s &= s - 1) buffer_[first_of(s)] = static_cast<std::int8_t>(buffer);
  }
  [[gnu::noinline]] constexpr bytes drop(tensor_set s) {
    shared_ &= ~s;
    bytes freed{0};
    for (; s != 0; s &= s - 1) freed += unshare(buffer_[first_of(s)], tensor{s & -s});
    return freed;
  }
  [[nodiscard]] constexpr bool has(tensor t) const {
    return (shared_ & t.bit()) != 0 && references_[static_cast<std::size_t>(buffer_[first_of(t.bit())])] > 1;
  }

 private:
  const program* program_;
  tensor_set shared_ = 0;
  tensor_set logits_buffers_ = 0;  // shared buffers, by number
  bytes logits_freed_{};
  std::int8_t count_ = 0;
  std::array<std::int8_t, program::max_tensors> buffer_;         // of a tensor in `shared_`
  std::array<std::int8_t, program::max_operations> references_;  // to a shared buffer; an operation shares at most one
};

/// The tallest temporary of an operation that runs piece by piece: one piece's share is made before the first share is released, and one
/// is left at the last.
[[gnu::noinline]] constexpr bytes temporary_of_pieces(const program& p, const operation& o, tensor_set fresh, tensor_set released, tensor_set arriving) {
  const auto n = o.pieces;
  const auto made = p.sum(fresh);
  const auto given_up = (p.sum(released) + p.sum(arriving)) / n;
  auto most = max(o.backward_temporary - (made - made / n), o.backward_temporary - given_up * (n - 1));
  if (o.weight_gradient > bytes{0})  // the second piece's weight gradient is added to the first's
    most = max(most, o.backward_temporary + o.weight_gradient - (made - made / n * 2 + given_up));
  return most;
}

}  // namespace detail

/// Whether a backward computes the gradients of weights, too, or leaves them for later (zero bubble): then what they need stays, or, where
/// autograd runs it, all that the graph has saved (retain_graph), and the gradients of the results that weights were multiplied into.
enum class weight_work : std::uint8_t { with_inputs, later, later_in_graph };

/// Walks the backward of a block. `accumulate`: gradients exist already, so a new one is added to it and goes.
constexpr backward_walk walk_backward(const program& p, bool accumulate = false, weight_work weights_when = weight_work::with_inputs) {
  detail::shared_gradients shared(p);
  const bool in_graph = weights_when == weight_work::later_in_graph, later = weights_when == weight_work::later || in_graph;
  const auto needed = in_graph ? p.saved() : later ? p.splits() : 0;
  const auto stays = p.sticky() | p.held() | needed;
  const auto wide = p.logits();
  tensor_set alive = p.saved() | stays;
  tensor_set present = p.output().bit() & p.gradients();  // tensors that have a gradient
  tensor_set waiting = 0;  // whose gradients stay for the gradients of weights
  bytes now = p.sum(alive) + p.sum(present);  // with the gradients of tensors and weights
  bytes weights{0}, logits = p.sum(present & wide);
  if (p.borrows_output_gradient() && present != 0) shared.share(tensor{present});

  struct {
    bytes total;
    tensor_set alive;
    bytes weights, logits, temporary;
    row temporaries;
  } top{now, alive, weights, logits, bytes{0}, row::temporaries};
  const auto look = [&](bytes temporary, row temporaries) {
    if (const auto here = now + temporary; here > top.total) top = {here, alive, weights, logits, temporary, temporaries};
  };

  for (auto i = p.operations(); i-- > 0;) {
    const auto& o = p[i];
    if (!o.recorded) continue;
    const auto arriving = o.makes & present;  // a result that nobody used has no gradient
    const auto operands = o.reads & p.gradients();
    auto released = o.saves & ~stays;
    if (o.releases_first) [[unlikely]] {
      now -= p.sum(released);
      alive &= ~released;
      released = 0;
    }

    // The gradients that it makes, and those that it hands on.
    tensor_set handed_on = 0;
    int handed = 0;
    if (o.passes_gradient && arriving != 0) [[unlikely]] {
      const tensor from{std::bit_floor(arriving)};
      for (auto s = operands; s != 0; s &= s - 1) {
        const tensor t{s & -s};
        if (p.size(t) != p.size(from)) continue;
        handed = shared.share(from);
        handed_on |= t.bit();
      }
    }
    const auto fresh = operands & ~handed_on;
    const auto weight_gradient = in_graph ? bytes{0} : o.weight_gradient;
    now += p.sum(fresh) + weight_gradient;
    weights += weight_gradient;
    if ((fresh & wide) != 0) [[unlikely]] logits += p.sum(fresh & wide);
    if (o.pieces > 1) [[unlikely]]
      look(detail::temporary_of_pieces(p, o, fresh, o.saves & ~stays, arriving), o.temporaries);
    else
      look(o.backward_temporary, o.temporaries);
    if (accumulate && !o.gradient_waits) {
      now -= weight_gradient;
      weights -= weight_gradient;
    }
    alive &= ~released;
    now -= p.sum(released);
    present &= ~arriving;
    const auto joint = arriving & shared.all(), own = arriving & ~joint;
    now -= p.sum(own);
    if ((own & wide) != 0) [[unlikely]] logits -= p.sum(own & wide);
    if (joint != 0) [[unlikely]] {
      now -= shared.drop(joint);
      logits -= shared.logits_freed();
    }
    if (later && (in_graph ? o.weight_gradient > bytes{0} : o.splits)) [[unlikely]] {
      now += p.sum(arriving);
      waiting |= arriving;
    }

    // A second gradient of a tensor is added to the first, unless somebody else holds that: then the sum takes a third buffer.
    const auto again = operands & present;
    for (auto s = again; s != 0; s &= s - 1) {
      const tensor t{s & -s};
      const auto logits_of_one = p.is_logits(t) ? p.size(t) : bytes{0};
      if (shared.has(t) || p.sums_out_of_place()) {
        now += p.size(t);
        logits += logits_of_one;
        look(bytes{0}, row::temporaries);
        if ((shared.all() & t.bit()) != 0) {
          now -= shared.drop(t.bit());
        } else {
          now -= p.size(t);
          logits -= logits_of_one;
        }
      }
      if ((handed_on & t.bit()) != 0) {
        now -= shared.unshare(handed, t);
      } else {
        now -= p.size(t);
        logits -= logits_of_one;
      }
      logits -= shared.logits_freed();
    }
    present |= operands;
    if (handed_on != 0) [[unlikely]] shared.put(handed_on & ~again, handed);
  }
  backward_walk r{.peak = detail::moment_of(p, top.alive), .weight_gradients = weights};
  r.peak.add(row::gradients, top.weights);
  r.peak.add(row::logits, top.logits);
  if (later) [[unlikely]] {
    if (!in_graph) r.kept = detail::moment_of(p, needed);
    r.kept += detail::moment_of(p, waiting);
  }
  r.peak.add(top.temporaries, top.temporary);
  r.peak.add(row::temporaries, top.total - r.peak.total);  // the rest: gradients of tensors
  return r;
}

}  // namespace headroom
