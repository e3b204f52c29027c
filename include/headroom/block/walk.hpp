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

/// What a block leaves behind in forward, and its tallest moment; in bytes.
struct forward_walk {
  bytes saved{};      ///< alive when the block has run, for the graph; without its output and what outlives the graph
  bytes sticky{};     ///< of it, what stays until the graph dies
  bytes held{};       ///< alive for a caller
  breakdown saved_rows{};
  moment peak{};      ///< its input included; behind a handover that is asked for
};

/// The tallest moment of a block's backward, in bytes.
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

/// Sums of a program that is near need no check (program::near), those of another do.
template <class Set>
constexpr std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  if constexpr (std::is_same_v<Set, near_set>)
    return proven::add(a, b);
  else
    return checked::add(a, b);
}

/// The listener that counts: bytes that are there, and the tallest moment. `alive` are there at first. `accumulates`: gradients of
/// weights exist already, so that a new one is added to them and goes.
template <class Set>
class tally {
 public:
  using set = Set;
  using operation_type = basic_operation<Set>;
  Set alive;

  constexpr tally(const program& p, const Set& at_first, handover* meeting, bool accumulates = false)
      : alive(at_first), program_(&p), meeting_(meeting), accumulates_(accumulates), now_(p.count(at_first)), top_{now_, at_first, 0, 0, 0, row::temporaries} {}

  /// The tallest moment.
  [[nodiscard, gnu::always_inline]] constexpr moment peak() const { return moment_of(*program_, top_); }
  [[nodiscard]] constexpr bytes weight_gradients() const { return bytes{weights_}; }
  [[nodiscard]] constexpr bytes made() const { return bytes{made_}; }
  /// Of them, what waits for a second gradient of the same table.
  [[nodiscard]] constexpr bytes waits() const { return bytes{waits_}; }
  /// Gradients that stay for the gradients of weights.
  [[nodiscard]] constexpr const Set& waiting() const { return waiting_; }

  [[gnu::always_inline]] constexpr void make(const Set& s) { add(now_, program_->count(s)); }
  [[gnu::always_inline]] constexpr void free(const Set& s) { add(now_, -program_->count(s)); }
  [[gnu::always_inline]] constexpr void make_temporary(bytes b, const operation_type&) { temporary_ = b.value; }
  [[gnu::always_inline]] constexpr void free_temporary(const operation_type& o) { look(sum_of<Set>(temporary_, pieces_), o.temporaries); }
  constexpr void returns() { meet(); }
  constexpr void enters() { meet(); }

  [[gnu::always_inline]] constexpr void adopt(tensor t) { make_gradients(t.template as<Set>(), Set{}); look(0, row::temporaries); }
  [[gnu::always_inline]] constexpr void make_gradients(const Set& s, const Set&) {
    add(now_, program_->count(s));
    if (const auto wide = s & cut<Set>(program_->logits()); wide != 0) [[unlikely]] add(logits_, program_->count(wide));
  }
  [[gnu::always_inline]] constexpr void free_gradients(const Set& s) {
    add(now_, -program_->count(s));
    if (const auto wide = s & cut<Set>(program_->logits()); wide != 0) [[unlikely]] add(logits_, -program_->count(wide));
  }
  [[gnu::always_inline]] constexpr void free_second(tensor t) { free_gradients(t.template as<Set>()); }
  [[gnu::always_inline]] constexpr void make_sum(tensor t) {
    make_gradients(t.template as<Set>(), Set{});
    look(0, row::temporaries);
  }
  [[gnu::always_inline]] constexpr void settle_sum(tensor) {}
  [[gnu::always_inline]] constexpr void keep_gradients(const Set& s) { waiting_ |= s; }
  constexpr void hand_back(tensor) {}

  [[gnu::always_inline]] constexpr void make_weight(const operation_type& o) {
    add(now_, o.weight_gradient.value);
    add(weights_, o.weight_gradient.value);
  }
  [[gnu::always_inline]] constexpr void keep_weight(const operation_type& o) {
    add(made_, o.weight_gradient.value);
    if (o.gradient_waits) [[unlikely]] add(waits_, o.weight_gradient.value);
    if (!accumulates_ || o.gradient_waits) return;
    add(now_, -o.weight_gradient.value);
    add(weights_, -o.weight_gradient.value);
  }

  // Piece by piece: all of it counts at once, and `pieces_` is what is not there yet, or no longer.
  [[gnu::always_inline]] constexpr void begin_pieces(const Set& s, const operation_type&) {
    make(s);
    pieces_ = -program_->count(s);
  }
  [[gnu::always_inline]] constexpr void begin_gradient_pieces(const Set& s, const Set& second, const operation_type&) {
    make_gradients(s, second);
    pieces_ = -program_->count(s);
  }
  [[gnu::always_inline]] constexpr void make_piece(const Set& s, const operation_type& o, std::int64_t i) { rise(piece_of(*program_, s, o, i)); }
  [[gnu::always_inline]] constexpr void make_gradient_piece(const Set& s, const Set&, const operation_type& o, std::int64_t i) { make_piece(s, o, i); }
  [[gnu::always_inline]] constexpr void drop_piece(const Set& storages, const Set& gradients, const operation_type& o) {
    rise(-checked::add(piece_of(*program_, storages, o, 1), piece_of(*program_, gradients, o, 1)));
  }
  [[gnu::always_inline]] constexpr void add_weight(const operation_type& o) { rise(o.weight_gradient.value); }
  [[gnu::always_inline]] constexpr void free_added_weight(const operation_type& o) { rise(-o.weight_gradient.value); }
  [[gnu::always_inline]] constexpr void end_pieces() { pieces_ = 0; }
  /// All but the first piece and the last do as the second does, which stands for them.
  [[gnu::always_inline]] constexpr std::int64_t after_piece(std::int64_t i, const operation_type& o) {
    if (const auto all = program_->rare(o).pieces; i == 1 && all > 2) {
      rise(checked::mul(checked::sub(pieces_, after_first_), all - 3));
      return all - 1;
    }
    after_first_ = pieces_;
    return i + 1;
  }

 private:
  [[gnu::always_inline]] static constexpr void add(std::int64_t& to, std::int64_t b) { to = sum_of<Set>(to, b); }
  [[gnu::always_inline]] constexpr void rise(std::int64_t b) { pieces_ = checked::add(pieces_, b); }
  /// What comes behind the handover is looked at apart.
  [[gnu::always_inline]] constexpr void meet() {
    if (meeting_ == nullptr) return;
    meeting_->reached = true;
    meeting_->before = peak();
    top_ = {now_, alive, weights_, logits_, 0, row::temporaries};
    meeting_->there = peak();
  }
  /// Piece i of these; the first has what is left over.
  [[nodiscard, gnu::noinline, gnu::cold]] static constexpr std::int64_t piece_of(const program& p, Set s, const operation_type& o, std::int64_t i) {
    const auto pieces = p.rare(o).pieces;
    std::int64_t all = 0, one = 0;
    for (const auto t : each(s)) {
      all = checked::add(all, p.size(t).value);
      one = checked::add(one, p.size(t).value / pieces);
    }
    return i == 0 ? checked::sub(all, checked::mul(one, pieces - 1)) : one;
  }
  struct sight {
    std::int64_t total;
    Set alive;
    std::int64_t weights, logits, temporary;
    row temporaries;
  };
  [[gnu::always_inline]] constexpr void look(std::int64_t temporary, row temporaries) {
    const auto here = sum_of<Set>(now_, temporary);
    if (here <= top_.total) return;
    top_.total = here;  // one by one: as a whole they would go through memory
    top_.alive = alive;
    top_.weights = weights_;
    top_.logits = logits_;
    top_.temporary = temporary;
    top_.temporaries = temporaries;
  }
  [[nodiscard, gnu::noinline]] static constexpr moment moment_of(const program& p, sight s) {
    auto m = detail::moment_of(p, s.alive);
    m.add(row::gradients, bytes{s.weights});
    m.add(row::logits, bytes{s.logits});
    m.add(s.temporaries, bytes{s.temporary});
    m.add(row::temporaries, bytes{s.total} - m.total);  // the rest: gradients of tensors
    return m;
  }

  const program* program_;
  handover* meeting_;
  bool accumulates_;
  std::int64_t now_;  ///< with the gradients of tensors and weights
  std::int64_t weights_{}, made_{}, waits_{}, logits_{}, temporary_{}, pieces_{}, after_first_{};
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
[[gnu::always_inline]] constexpr backward_walk run_tally_backward(const program& p, bool accumulate, weight_work weights_when, handover* enters) {
  tally<Set> t(p, cut<Set>(p.saved()) | kept_in_backward<Set>(p, weights_when), enters, accumulate);
  run_backward(p, weights_when, t);
  backward_walk r{.peak = t.peak(), .weight_gradients = t.weight_gradients(), .made = t.made(), .waits = t.waits()};
  if (weights_when != weight_work::with_inputs) {
    if (weights_when == weight_work::later) r.kept = moment_of(p, cut<Set>(p.splits()));
    r.kept += moment_of(p, t.waiting());
  }
  return r;
}
template <class Set>
[[gnu::noinline]] constexpr backward_walk walk_backward(const program& p, bool accumulate, handover* enters) {
  return run_tally_backward<Set>(p, accumulate, weight_work::with_inputs, enters);
}
template <class Set>
[[gnu::noinline]] constexpr backward_walk walk_split_backward(const program& p, bool accumulate, weight_work weights_when, handover* enters) {
  return run_tally_backward<Set>(p, accumulate, weights_when, enters);
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
  if (!p.near()) [[unlikely]] return detail::walk_split_backward<wide_set>(p, accumulate, weights_when, enters);
  if (weights_when != weight_work::with_inputs) return detail::walk_split_backward<near_set>(p, accumulate, weights_when, enters);
  return detail::walk_backward<near_set>(p, accumulate, enters);
}

}  // namespace headroom
