// Distributed under the Boost Software License, Version 1.0.
// What a program occupies, moment by moment: a block's run (block/run.hpp) as sums.
#pragma once

#include <headroom/block/moment.hpp>
#include <headroom/block/run.hpp>

namespace headroom {

/// The place in a block where the model hands its outputs to its caller, or, in backward, where their gradients come back.
struct handover {
  bool reached{};
  moment before{};  ///< the peak up to there
  moment there{};   ///< what is alive there
};

struct forward_walk {
  bytes saved{};      ///< alive when the block has run, for the graph; without its output and what outlives the graph
  bytes sticky{};     ///< of it, what stays until the graph dies
  bytes held{};       ///< alive for a caller
  breakdown saved_rows{};
  moment peak{};      ///< its input included; behind a handover that is asked for
};

struct backward_walk {
  moment peak{};             ///< what the block saved and the gradient of its output included
  bytes weight_gradients{};  ///< of all its weights, as far as they stay
  bytes made{};              ///< all of them
  bytes waits{};             ///< … of a table that is used twice
  moment kept{};             ///< until the gradients of its weights are computed, where that is later; beside what is saved where autograd runs it
};

namespace detail {

/// A set of storages, and nothing else.
template <class Set>
constexpr moment moment_of(const program& p, const Set& s) {
  moment m;
  if (s == 0) return m;
  const auto &logits = cut<Set>(p.logits()), &weights = cut<Set>(p.weights());
  if (const auto these = s & logits; these != 0) m.add(row::logits, p.sum(these));
  if (const auto these = s & weights; these != 0) m.add(row::gathered_parameters, p.sum(these));
  m.add(row::activations, p.sum(s & ~logits & ~weights));
  return m;
}

/// The listener that counts: bytes that are there, and the tallest moment. `alive` are there at first. `accumulates`: gradients of
/// weights exist already, so that a new one is added to them and goes.
template <class Set>
class tally {
 public:
  using set = Set;
  Set alive;

  constexpr tally(const program& p, const Set& at_first, handover* meeting, bool accumulates = false)
      : alive(at_first), program_(&p), meeting_(meeting), accumulates_(accumulates), now_(p.sum(at_first)), top_{now_, at_first, {}, {}, {}, row::temporaries} {}

  /// The tallest moment.
  [[nodiscard]] constexpr moment peak() const { return moment_of(top_); }
  [[nodiscard]] constexpr bytes weight_gradients() const { return weights_; }
  [[nodiscard]] constexpr bytes made() const { return made_; }
  /// Of them, what waits for a second gradient of the same table.
  [[nodiscard]] constexpr bytes waits() const { return waits_; }
  /// Gradients that stay for the gradients of weights.
  [[nodiscard]] constexpr const Set& waiting() const { return waiting_; }

  [[gnu::always_inline]] constexpr void make(const Set& s) { now_ += program_->sum(s); }
  [[gnu::always_inline]] constexpr void free(const Set& s) { now_ -= program_->sum(s); }
  [[gnu::always_inline]] constexpr void make_temporary(bytes b, const basic_operation<Set>&) { temporary_ = b; }
  [[gnu::always_inline]] constexpr void free_temporary(const basic_operation<Set>& o) { look(temporary_ + pieces_, o.temporaries); }
  constexpr void returns() { meet(); }
  constexpr void enters() { meet(); }

  [[gnu::always_inline]] constexpr void adopt(tensor t) { make_gradients(t.template as<Set>(), Set{}); look(bytes{0}, row::temporaries); }
  [[gnu::always_inline]] constexpr void make_gradients(const Set& s, const Set&) {
    now_ += program_->sum(s);
    if (const auto wide = s & cut<Set>(program_->logits()); wide != 0) [[unlikely]] logits_ += program_->sum(wide);
  }
  [[gnu::always_inline]] constexpr void free_gradients(const Set& s) {
    now_ -= program_->sum(s);
    if (const auto wide = s & cut<Set>(program_->logits()); wide != 0) [[unlikely]] logits_ -= program_->sum(wide);
  }
  [[gnu::always_inline]] constexpr void free_second(tensor t) { free_gradients(t.template as<Set>()); }
  [[gnu::always_inline]] constexpr void make_sum(tensor t) {
    make_gradients(t.template as<Set>(), Set{});
    look(bytes{0}, row::temporaries);
  }
  [[gnu::always_inline]] constexpr void settle_sum(tensor) {}
  [[gnu::always_inline]] constexpr void keep_gradients(const Set& s) { waiting_ |= s; }
  constexpr void hand_back(tensor) {}

  [[gnu::always_inline]] constexpr void make_weight(const basic_operation<Set>& o) {
    now_ += o.weight_gradient;
    weights_ += o.weight_gradient;
  }
  [[gnu::always_inline]] constexpr void keep_weight(const basic_operation<Set>& o) {
    made_ += o.weight_gradient;
    if (o.gradient_waits) [[unlikely]] waits_ += o.weight_gradient;
    if (!accumulates_ || o.gradient_waits) return;
    now_ -= o.weight_gradient;
    weights_ -= o.weight_gradient;
  }

  // Piece by piece: all of it counts at once, and `pieces_` is what is not there yet, or no longer.
  [[gnu::always_inline]] constexpr void begin_pieces(const Set& s, const basic_operation<Set>&) {
    make(s);
    pieces_ = -program_->sum(s);
  }
  [[gnu::always_inline]] constexpr void begin_gradient_pieces(const Set& s, const Set& second, const basic_operation<Set>&) {
    make_gradients(s, second);
    pieces_ = -program_->sum(s);
  }
  [[gnu::always_inline]] constexpr void make_piece(const Set& s, const basic_operation<Set>& o, std::int64_t i) {
    const auto one = piece_of(s, o);
    pieces_ += i == 0 ? program_->sum(s) - one * (o.pieces - 1) : one;
  }
  [[gnu::always_inline]] constexpr void make_gradient_piece(const Set& s, const Set&, const basic_operation<Set>& o, std::int64_t i) { make_piece(s, o, i); }
  [[gnu::always_inline]] constexpr void drop_piece(const Set& storages, const Set& gradients, const basic_operation<Set>& o) {
    pieces_ -= piece_of(storages, o) + piece_of(gradients, o);
  }
  [[gnu::always_inline]] constexpr void add_weight(const basic_operation<Set>& o) { pieces_ += o.weight_gradient; }
  [[gnu::always_inline]] constexpr void free_added_weight(const basic_operation<Set>& o) { pieces_ -= o.weight_gradient; }
  [[gnu::always_inline]] constexpr void end_pieces() { pieces_ = bytes{0}; }
  /// All but the first piece and the last do as the second does, which stands for them.
  [[gnu::always_inline]] constexpr std::int64_t after_piece(std::int64_t i, const basic_operation<Set>& o) {
    if (i == 1 && o.pieces > 2) {
      pieces_ += (pieces_ - after_first_) * (o.pieces - 3);
      return o.pieces - 1;
    }
    after_first_ = pieces_;
    return i + 1;
  }

 private:
  /// What comes behind the handover is looked at apart.
  constexpr void meet() {
    if (meeting_ == nullptr) return;
    meeting_->reached = true;
    meeting_->before = peak();
    top_ = {now_, alive, weights_, logits_, bytes{0}, row::temporaries};
    meeting_->there = peak();
  }
  /// Each piece of these but the first, which has what is left over.
  [[nodiscard]] constexpr bytes piece_of(const Set& s, const basic_operation<Set>& o) const {
    bytes sum{0};
    for (const auto t : each(s)) sum += program_->size(t) / o.pieces;
    return sum;
  }
  struct sight {
    bytes total;
    Set alive;
    bytes weights, logits, temporary;
    row temporaries;
  };
  [[gnu::always_inline]] constexpr void look(bytes temporary, row temporaries) {
    const auto here = now_ + temporary;
    if (here <= top_.total) return;
    top_.total = here;  // one by one: as a whole they would go through memory
    top_.alive = alive;
    top_.weights = weights_;
    top_.logits = logits_;
    top_.temporary = temporary;
    top_.temporaries = temporaries;
  }
  [[nodiscard]] constexpr moment moment_of(const sight& s) const {
    auto m = detail::moment_of(*program_, s.alive);
    m.add(row::gradients, s.weights);
    m.add(row::logits, s.logits);
    m.add(s.temporaries, s.temporary);
    m.add(row::temporaries, s.total - m.total);  // the rest: gradients of tensors
    return m;
  }

  const program* program_;
  handover* meeting_;
  bool accumulates_;
  bytes now_;  ///< with the gradients of tensors and weights
  bytes weights_{}, made_{}, waits_{}, logits_{}, temporary_{}, pieces_{}, after_first_{};
  Set waiting_{};
  sight top_;
};

/// The walks of a block, by what its sets are; each in a frame of its own.
template <class Set>
[[gnu::noinline]] constexpr forward_walk walk_forward(const program& p, recording mode, handover* returns) {
  tally<Set> t(p, p.storages(p.input().as<Set>()) | (mode == recording::again ? cut<Set>(p.kept()) : Set{}), returns);
  run_forward(p, mode, t);
  const bool on = mode != recording::off;
  const auto &held = cut<Set>(p.held()), &sticky = cut<Set>(p.sticky());
  const auto left = moment_of<Set>(p, on ? kept_for_graph<Set>(p, mode) & ~held : cut<Set>(p.cached()));
  return {.saved = left.total,
          .sticky = on ? p.sum(sticky & ~held) : bytes{0},
          .held = on ? p.sum(held) : bytes{0},
          .saved_rows = left.rows,
          .peak = t.peak()};
}
template <class Set>
[[gnu::noinline]] constexpr backward_walk walk_backward(const program& p, bool accumulate, weight_work weights_when, handover* enters) {
  tally<Set> t(p, cut<Set>(p.saved()) | kept_in_backward<Set>(p, weights_when), enters, accumulate);
  run_backward(p, weights_when, t);
  backward_walk r{.peak = t.peak(), .weight_gradients = t.weight_gradients(), .made = t.made(), .waits = t.waits()};
  if (weights_when != weight_work::with_inputs) [[unlikely]] {
    if (weights_when == weight_work::later) r.kept = moment_of(p, cut<Set>(p.splits()));
    r.kept += moment_of(p, t.waiting());
  }
  return r;
}

}  // namespace detail

/// Walks the forward of a block.
constexpr forward_walk walk_forward(const program& p, recording mode = recording::on, handover* returns = nullptr) {
  if (p.near()) [[likely]] return detail::walk_forward<near_set>(p, mode, returns);
  return detail::walk_forward<wide_set>(p, mode, returns);
}

/// Walks the backward of a block. `accumulate`: gradients exist already, so a new one is added to it and goes.
constexpr backward_walk walk_backward(const program& p, bool accumulate = false, weight_work weights_when = weight_work::with_inputs,
                                      handover* enters = nullptr) {
  if (p.near()) [[likely]] return detail::walk_backward<near_set>(p, accumulate, weights_when, enters);
  return detail::walk_backward<wide_set>(p, accumulate, weights_when, enters);
}

}  // namespace headroom
