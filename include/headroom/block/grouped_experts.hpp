// Distributed under the Boost Software License, Version 1.0.
// Routed experts as grouped matrix multiplications: tokens are sorted by expert, sent to the ranks that hold it (expert parallelism),
// sorted again there, and come back the same way. Sizes are those of one rank.
// Source: torchtitan models/moe.py MoE, TokenChoiceTopKRouter, _run_experts_grouped_mm; distributed/expert_parallel.py ExpertParallel.
#pragma once

#include <headroom/block/experts.hpp>

namespace headroom {

namespace ops {

/// The router: logits, scores in fp32, the chosen ones' scores and numbers. Its matrix multiplication is not one of those that a selective
/// checkpoint counts (activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns).
constexpr tensor sorted_scores(program& p, const scene& s, const module_set& trained, tensor n) {
  const auto& e = s.model->experts;
  const auto scores = checked::mul(s.tokens, e.count), chosen = checked::mul(s.tokens, e.active);
  const bool trains = trained.has(module::router);
  const auto logits = p.make(scores, s.width);
  p.step(n.bit(), logits.bit(), {.saves = trains ? n.bit() : 0, .weight_gradient = trains ? p.rounded(checked::mul(s.model->hidden, e.count), s.weight_width) : bytes{0}});
  const auto wide = p.make(scores, 4);
  p.step(logits.bit(), wide.bit(), {.saves = wide.bit()});
  const auto top = p.make(chosen, 4), numbers = p.make(chosen, 8);
  p.step(wide.bit(), top | numbers, {.saves = numbers.bit()});
  const auto sorted = p.make(chosen, 4), order = p.make(chosen, 8);
  p.step(top | numbers, sorted | order, {.saves = order.bit()});
  return sorted;
}

/// The experts of this rank: three grouped multiplications of `rows` tokens.
constexpr tensor grouped_mlp(program& p, const scene& s, const module_set& trained, tensor x, std::int64_t rows) {
  const auto& m = *s.model;
  const auto product = [&](tensor from, std::int64_t in, std::int64_t out, module role) {
    const auto to = p.make(checked::mul(rows, out), s.width);
    const bool trains = trained.has(role);
    const auto weights = checked::mul(in, out, m.experts.count / s.expert);
    p.step(from.bit(), to.bit(), {.saves = trains ? from.bit() : 0, .weight_gradient = trains ? p.rounded(weights, s.weight_width) : bytes{0}});
    return to;
  };
  const auto gate = activate(p, s, product(x, m.hidden, m.experts.ffn, module::experts_gate), m.activation);
  const auto up = product(x, m.hidden, m.experts.ffn, module::experts_up);
  return product(multiply(p, gate, up), m.experts.ffn, m.hidden, module::experts_down);
}

}  // namespace ops

/// The sparse half of a layer. `matrices`: multiplied by the attention half.
constexpr program grouped_experts_block(const scene& s, const module_set& trained, bool input_has_gradient, std::int64_t matrices) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const bool selects = s.policy == recompute_policy::every_other_matmul;
  program p(s.granule);
  p.count_matrices_from(matrices);
  const auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  const auto n = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const auto scores = ops::sorted_scores(p, s, trained, n);
  const auto sent = checked::mul(s.tokens, e.active);
  const auto received = s.expert > 1 ? checked::ceil_div(checked::mul(sent, s.expert_imbalance), 100) : sent;
  const auto move = [&](tensor from, std::int64_t rows, bool exchanged = false) {
    const auto to = p.make(checked::mul(rows, m.hidden), p.width(from));
    p.step(from.bit(), to.bit());
    if (exchanged && selects) p.keep(to.bit());  // all_to_all_single is on the list of what is saved
    return to;
  };
  auto moved = move(n, sent);
  if (s.expert > 1) moved = move(moved, received, true);
  moved = move(moved, received);  // with a row of zeros for what pads an expert's tokens
  moved = move(moved, received);  // sorted by expert
  auto y = move(ops::grouped_mlp(p, s, trained, moved, received), received);  // sorted back
  if (s.expert > 1) y = move(y, sent, true);
  tensor shared{};
  if (e.shared_ffn > 0) {
    constexpr ops::mlp_modules of{module::shared_gate, module::shared_up, module::shared_down};
    shared = ops::feed_forward(p, s, trained, of, n, e.shared_ffn, m.mlp_bias);
  } else {
    shared = p.make(checked::mul(s.tokens, m.hidden), s.width);
    p.step(0, shared.bit());
  }
  const auto weighted = p.make(p.elements(y), 4);  // in fp32, times each one's score
  const auto wide = ops::cast(p, y, 4);
  p.step(wide | scores, weighted.bit(), {.saves = wide | scores});
  const auto narrow = ops::cast(p, weighted, s.width);
  const auto sum = p.make(checked::mul(s.tokens, m.hidden), s.width);
  p.step(shared | narrow, sum.bit());
  p.set_output(ops::add(p, x, sum));
  if (selects) {
    if (s.compiled) p.keep_needed(0);
    p.checkpoint();
  }
  return p;
}

}  // namespace headroom
