// Distributed under the Boost Software License, Version 1.0.
// How a block runs, forward and backward, told to a listener: what is made and what is freed, in PyTorch's order. The rules stand here
// and nowhere else; what they add up to is the listener's: sums (block/walk.hpp), places in one segment (block/span.hpp), blocks of the
// caching allocator (replay/block_trace.hpp). They are those of PyTorch's autograd engine (torch/csrc/autograd/engine.cpp,
// input_buffer.cpp, functions/accumulate_grad.h):
//  forward:  outputs are made while the operation's temporary is alive; then the temporary goes; then every tensor after its
//            last reader, unless it is saved or held.
//  backward: reversed. Gradients of the operands and of the weights are made while the temporary is alive; then the temporary
//            goes, then what was saved, then the gradients of the results. A second gradient for the same tensor is added in
//            place only if nobody else holds the first.
//
// A listener has, for forward and backward:
//   set                         how it names tensors: near_set, where the program is near, or wide_set
//   alive                       the storages that are there; the run reads and writes it
//   make(set), free(set)        storages come, and go
//   make_temporary(bytes, operation), free_temporary(operation)
//   begin_pieces(set, operation), make_piece(set, operation, i), end_pieces()
//   after_piece(i, operation)   the next piece to be told of: i + 1, or a later one
//   returns()                   the model hands its outputs to the caller
// and for backward alone:
//   adopt(tensor)               the gradient of the block's result is there
//   make_gradients(set, second) gradients come; of those in `second` there is one already
//   free_gradients(set)         first gradients go
//   free_second(tensor)         a second one goes, added to the first
//   make_sum(tensor), settle_sum(tensor)  a third, of first and second; it takes the first's place, which has gone
//   begin_gradient_pieces(set, second, operation), make_gradient_piece(set, second, operation, i), drop_piece(storages, gradients, operation)
//   make_weight(operation), add_weight(operation), free_added_weight(operation)   the first gradient of weights, another, and that one's end
//   keep_weight(operation)      the gradient of weights is complete: it stays, or is added to one that exists
//   keep_gradients(set)         the gradients of weights, which come later, are computed from these
//   enters()                    the gradient of what the model returned is there
//   hand_back(tensor)           the gradient of the block's input: the caller's from here on
#pragma once

#include <headroom/block/last_readers.hpp>
#include <headroom/block/shared_gradients.hpp>

namespace headroom {

/// Whether a block's forward leaves something for backward: what the graph needs (of a checkpointed block, what is kept), nothing, or
/// all of it, when a checkpointed block runs again with what was kept.
enum class recording : std::uint8_t { on, off, again };

/// Whether a backward computes the gradients of weights, too, or leaves them for later (zero bubble): then what they need stays, or, where
/// autograd runs it, all that the graph has saved (retain_graph), and the gradients of the results that weights were multiplied into.
enum class weight_work : std::uint8_t { with_inputs, later, later_in_graph };

/// What a block's forward leaves for its graph.
template <class Set = wide_set>
constexpr Set kept_for_graph(const program& p, recording mode) {
  if (mode == recording::off) return 0;
  if (p.checkpointed() && mode == recording::on) [[unlikely]] return cut<Set>(p.kept());
  return (cut<Set>(p.saved()) | cut<Set>(p.sticky())) & ~(cut<Set>(p.recomputed()) | cut<Set>(p.offloaded()));
}
/// What a block's backward leaves: what is kept on the context, or by the caller.
template <class Set = wide_set>
constexpr Set kept_in_backward(const program& p, weight_work when) {
  const Set there = cut<Set>(p.sticky()) | cut<Set>(p.held());
  if (when == weight_work::later_in_graph) [[unlikely]] return there | cut<Set>(p.saved());
  return there | (when == weight_work::later ? cut<Set>(p.splits()) : Set{});
}

namespace detail {

[[gnu::always_inline]] constexpr void run_forward_operation(const auto& o, std::int64_t pieces, const auto& fresh, auto& to) {
  if (pieces > 1) [[unlikely]] {
    to.begin_pieces(fresh, o);
    for (std::int64_t i = 0; i < pieces; i = to.after_piece(i, o)) {
      to.make_temporary(o.forward_temporary, o);
      to.make_piece(fresh, o, i);
      to.free_temporary(o);
    }
    return to.end_pieces();
  }
  to.make_temporary(o.forward_temporary, o);
  to.make(fresh);
  to.free_temporary(o);
}

/// The gradients of an operation's operands and weights. Piece by piece: what was saved and the result's gradient go with each, and a
/// weight's gradients are added up before anybody sees the sum (engine.cpp: its node waits for all of them).
template <class Operation, class Set, class Listener>
[[gnu::always_inline]] constexpr void run_backward_operation(const Operation& o, std::int64_t pieces, const Set& fresh, const Set& second, const Set& released,
                                                             const Set& arriving, bool weights, Listener& to) {
  if (pieces > 1) [[unlikely]] {
    to.begin_gradient_pieces(fresh, second, o);
    for (std::int64_t i = 0; i < pieces; i = to.after_piece(i, o)) {
      to.make_temporary(o.backward_temporary, o);
      to.make_gradient_piece(fresh, second, o, i);
      if (weights && i == 0) to.make_weight(o);
      if (weights && i > 0) to.add_weight(o);
      to.free_temporary(o);
      if (weights && i > 0) to.free_added_weight(o);
      to.drop_piece(released, arriving, o);
    }
    to.end_pieces();
  } else {
    to.make_temporary(o.backward_temporary, o);
    to.make_gradients(fresh, second);
    if (weights) to.make_weight(o);
    to.free_temporary(o);
  }
  if (weights) to.keep_weight(o);
}

/// A second gradient of a tensor is added to the first, unless somebody else holds that: then the sum takes a third buffer. `handed`:
/// the second is one that an addition hands on.
template <class Set, class Listener>
[[gnu::always_inline]] constexpr void add_second(const program& p, tensor t, tensor handed, shared_gradients<Set>& shared, Listener& to) {
  if (shared.has(t) || p.sums_out_of_place()) {
    to.make_sum(t);
    to.free_gradients(has(shared.all(), t) ? shared.drop(t.as<Set>()) : t.as<Set>());
    to.settle_sum(t);
  }
  if (!handed.valid())
    to.free_second(t);
  else if (shared.let_go(handed))
    to.free_gradients(handed.as<Set>());
}

/// An addition's gradient, which its operands of that size take as it is. `handed`: the tensor whose buffer they share.
template <class Set>
[[gnu::always_inline]] constexpr Set hand_on(const program& p, tensor from, const Set& operands, shared_gradients<Set>& shared, tensor& handed) {
  Set to{};
  for (const auto t : each(operands)) {
    if (p.size(t) != p.size(from)) continue;
    handed = shared.hold(from);
    to |= t.template as<Set>();
  }
  return to;
}

/// The input's gradient is the caller's; of tensors that nothing in the block made, they go.
template <class Set, class Listener>
[[gnu::always_inline]] constexpr void end_gradients(const program& p, const Set& present, shared_gradients<Set>& shared, Listener& to) {
  const auto left = present & p.input().template as<Set>();
  if (left != 0) to.hand_back((shared.all() & left) != 0 ? shared.home(p.input()) : p.input());
  if (const auto rest = present & ~left; rest != 0) [[unlikely]] {
    to.free_gradients(rest & ~shared.all());
    to.free_gradients(shared.drop(rest & shared.all()));
  }
}

}  // namespace detail

/// Runs a block's forward; its input is there.
template <class Listener>
[[gnu::always_inline]] constexpr void run_forward(const program& p, recording mode, Listener& to) {
  using Set = typename Listener::set;
  const bool on = mode != recording::off;
  const auto stays = kept_for_graph<Set>(p, mode) | cut<Set>(p.cached()) | cut<Set>(p.held());
  const detail::last_readers<Set> last(p, stays | (on ? cut<Set>(p.held_in_forward()) : Set{}));
  to.alive |= p.storages(p.input().template as<Set>());
  if (mode == recording::again) to.alive |= cut<Set>(p.kept());
  for (std::size_t i = 0; i < p.operations(); ++i) {
    if (i == p.returns_at()) to.returns();
    if constexpr (requires { to.other(); })
      if (i == p.other_at()) to.other();
    const auto& o = p.template at<Set>(i);
    const auto fresh = p.storages(o.makes) & ~to.alive;
    to.alive |= fresh;
    detail::run_forward_operation(o, p.rare(o).pieces, fresh, to);
    const auto gone = last.gone(i) & to.alive;
    to.alive &= ~gone;
    to.free(gone);
  }
  if (!on) return;
  // Locals of the caller end with forward.
  const auto gone = cut<Set>(p.held_in_forward()) & ~stays & ~p.storages(p.output().template as<Set>()) & to.alive;
  if (gone == 0) return;
  to.alive &= ~gone;
  to.free(gone);
}

/// Runs a block's backward. What was dropped or moved away is there again when it begins.
template <class Listener>
[[gnu::always_inline]] constexpr void run_backward(const program& p, weight_work weights_when, Listener& to) {
  using Set = typename Listener::set;
  detail::shared_gradients<Set> shared;
  const bool in_graph = weights_when == weight_work::later_in_graph;
  const auto stays = kept_in_backward<Set>(p, weights_when);
  if (const auto missing = (cut<Set>(p.saved()) | cut<Set>(p.sticky())) & ~to.alive; missing != 0) [[unlikely]] {
    to.alive |= missing;
    to.make(missing);
  }
  Set present = p.output().template as<Set>() & cut<Set>(p.gradients());  // tensors that have a gradient
  if (present != 0) to.adopt(p.output());
  if (p.borrows_output_gradient() && present != 0) shared.hold(p.output());
  const auto release = [&](const Set& s) {
    const auto gone = s & to.alive;
    to.alive &= ~gone;
    to.free(gone);
  };

  for (auto i = p.operations(); i-- > 0;) {
    const auto& o = p.template at<Set>(i);
    if (i + 1 == p.returns_at()) to.enters();
    if (!o.recorded) continue;
    const auto arriving = o.makes & present;  // a result that nobody used has no gradient
    const auto operands = o.reads & cut<Set>(p.gradients());
    auto released = o.saves & ~stays;
    if (o.releases_first) [[unlikely]] {
      release(released);
      released = 0;
    }

    // The gradients that it makes, and those that it hands on.
    tensor handed{};
    Set handed_on{};
    if (o.passes_gradient && arriving != 0) [[unlikely]] handed_on = detail::hand_on(p, last_of(arriving), operands, shared, handed);
    const auto fresh = operands & ~handed_on;
    const auto second = operands & present;
    const auto pieces = p.rare(o).pieces;
    detail::run_backward_operation(o, pieces, fresh, second, released, pieces > 1 ? shared.alone(arriving) : Set{}, !in_graph, to);
    release(released);
    present &= ~arriving;
    if (in_graph ? o.weight_gradient > bytes{0} : weights_when == weight_work::later && o.splits) [[unlikely]] {
      to.keep_gradients(arriving);
    } else {
      const auto joint = arriving & shared.all();
      to.free_gradients(arriving & ~joint);
      if (joint != 0) [[unlikely]] to.free_gradients(shared.drop(joint));
    }

    for (const auto t : each(second)) detail::add_second(p, t, has(handed_on, t) ? handed : tensor{}, shared, to);
    present |= operands;
    if (handed_on != 0) [[unlikely]] shared.put(handed_on & ~second, handed);
  }

  detail::end_gradients(p, present, shared, to);
  release(to.alive & ~stays);
}

}  // namespace headroom
