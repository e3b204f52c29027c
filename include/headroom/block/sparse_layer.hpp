// Distributed under the Boost Software License, Version 1.0.
// The half of a layer with routed experts, its parts joined: norm and router, the loop over the experts, shared experts and sums.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/experts.hpp>
#include <headroom/block/grouped_experts.hpp>
#include <headroom/block/sorted_experts.hpp>

namespace headroom {

namespace detail {

/// What is alive beside a part of the sparse half that its program does not name.
struct company {
  moment forward{};      ///< with a graph
  moment forward_off{};  ///< without one
  moment backward{};
  bytes backward_later{};  ///< … and from the second run on: the gradient that the first run made
  bytes counted{};       ///< of what the program names, what an earlier part has saved already: in forward
  bytes counted_saved{}; ///< … and saved by this one, too
  bytes backward_after{};  ///< weight gradients that are there from here on in backward, though no program makes them
};

/// Joins a part that runs `times` over, each run with tensors of its own.
constexpr void join_repeated(layer_walk& r, const program& p, std::int64_t times, const company& c, bool graphless, bool accumulate) {
  if (times == 0) return;
  const auto f = walk_forward(p);
  const auto b = walk_backward(p, accumulate);
  moment one(f.saved, f.saved_rows);
  one.add(row::activations, -c.counted_saved);
  const auto earlier = r.backward;
  auto live = r.saved;
  live += c.backward;
  live.add(row::activations, -c.counted_saved);
  // Backward runs the last first: all that was saved is there, then all the weight gradients are.
  r.backward = {};
  r.backward.rise_to(b.peak, live, multiple{times - 1, one});
  const auto gradients = accumulate ? bytes{0} : b.weight_gradients;
  const part later{row::temporaries, c.backward_later};
  if (times > 1) r.backward.rise_to(b.peak, live, later, multiple{times - 2, one}, part{row::gradients, gradients});
  r.backward.rise_to(b.peak, live, times > 1 ? later : part{row::temporaries, bytes{0}}, part{row::gradients, (times - 1) * gradients});
  r.backward.rise_to(earlier, part{row::gradients, times * gradients});
  r.backward.add(row::gradients, c.backward_after);
  auto before = r.saved;
  before += c.forward;
  before.add(row::activations, -c.counted);
  r.forward.rise_to(f.peak, before, multiple{times - 1, one});
  if (graphless) {
    const auto off = walk_forward(p, recording::off);
    const moment cached(off.saved, off.saved_rows);
    r.forward_off.rise_to(off.peak, r.cached, multiple{times - 1, cached}, c.forward_off, part{row::activations, r.input});
    r.cached += multiple{times, cached};
  }
  r.saved += multiple{times, one};
  r.sticky += times * f.sticky;
  r.weight_gradients += times * b.weight_gradients;
  r.made += times * b.made;
}

/// Norm and router of a sparse half.
constexpr program sparse_front(const scene& s, const module_set& trained, bool flows) {
  program p(s.granule);
  const auto x = p.input(checked::mul(s.tokens, s.model->hidden), s.residual_width, flows);
  const auto n = ops::norm(p, s, x, s.model->hidden, trained.has(module::norm));
  ops::route(p, s, trained, n);
  p.set_output(n);
  return p;
}

/// What the rest of it needs to know of that.
struct sparse_input {
  std::int64_t width{};  ///< of the normed input
  bool has_gradient{};
  bytes stream{}, normed{};
  bool keeps_stream{}, keeps_normed{};
};
constexpr sparse_input input_of(const program& p, bool flows) {
  const auto x = p.input(), n = p.output();
  return {p.width(n), p.needs_gradient(n) || flows, p.size(x), p.size(n), (p.saved() & p.storages(x.bit())) != 0, (p.saved() & p.storages(n.bit())) != 0};
}

/// Shared experts and the sums. The experts' sum comes in as the first input, then the residual stream, then the normed one.
constexpr program sparse_back(const scene& s, const module_set& trained, const sparse_input& in, std::int64_t sum_width, bool flows) {
  const auto& m = *s.model;
  const auto elements = checked::mul(s.tokens, m.hidden);
  program p(s.granule);
  const auto y0 = p.input(elements, sum_width, true);
  const auto x1 = p.input(elements, s.residual_width, flows);
  const auto n1 = p.input(elements, in.width, in.has_gradient);
  p.step(0, y0 | x1);
  auto y = ops::cast(p, y0, s.residual_width);
  if (m.experts.shares()) y = ops::add(p, y, ops::shared_experts(p, s, trained, n1));
  if (m.post_norms) y = ops::norm(p, s, y, m.hidden, trained.has(module::norm));
  p.set_output(ops::add(p, x1, ops::drop(p, y, s.drops.hidden)));
  return p;
}

/// What lies beside the loop over experts. `trained_experts` of all train.
constexpr company beside_experts(const scene& s, const sparse_input& in, std::int64_t sum_width, bool flows) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto rounded = [&](std::int64_t elements, std::int64_t width) { return bytes{checked::round_up(checked::mul(elements, width), s.granule)}; };
  const auto sum = rounded(checked::mul(s.tokens, m.hidden), sum_width);
  const auto numbers = rounded(checked::mul(s.tokens, e.active, e.count), 8);  // one_hot, int64
  const auto locals = rounded(checked::mul(routed_to_one(s), m.hidden), s.width);            // without a graph: the expert's before, named until the next is done
  company loop;
  loop.forward_off = moment(row::temporaries, sum + numbers + 2 * locals) + moment(row::activations, in.stream);
  loop.forward = moment(row::temporaries, sum + numbers) + moment(row::activations, in.keeps_stream ? bytes{0} : in.stream);
  loop.counted = in.keeps_normed ? in.normed : bytes{0};
  // Gradients of the sum, which may be the residual stream's, and of n as far as it has been added up.
  const bool apart = sum_width != s.residual_width || m.post_norms || s.drops.hidden.positive();
  loop.backward = moment(row::temporaries, sum + (apart && flows ? in.stream : bytes{0}));
  const auto gathered = part{row::temporaries, in.has_gradient ? in.normed : bytes{0}};
  if (e.shares()) loop.backward += gathered;
  else loop.backward_later = gathered.total;
  return loop;
}

/// Gradients of experts that lie in one tensor.
constexpr bytes fused_gradients(const scene& s) {
  const auto &m = *s.model;
  const auto& e = m.experts;
  const auto rounded = [&](std::int64_t elements) { return bytes{checked::round_up(checked::mul(elements, s.weight_width), s.granule)}; };
  return e.count * (rounded(checked::mul(3 * m.hidden, e.ffn)) + rounded(2 * e.ffn + m.hidden));
}

/// Norm and router; then the loop; then shared experts and the sums. `trained_experts` of all train.
constexpr void join_sparse_half(layer_walk& r, const scene& s, const module_set& trained, std::int64_t trained_experts, bool graphless, bool accumulate) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto style = style_of(m);
  const bool flows = r.output_has_gradient, begins = r.input == bytes{0};  // begins: the layer has no mixer
  const auto repeat = [&](const program& p, std::int64_t times, const company& beside) { join_repeated(r, p, times, beside, graphless, accumulate); };
  if (style == expert_style::repeated)
    return with_made([&] { return repeated_experts_block(s, trained, flows); }, [&](const program& p) { join(r, p, begins, graphless, accumulate); });

  const std::int64_t sum_width = style == expert_style::wide ? 4 : s.residual_width;
  const auto fused = style == expert_style::fused && trained_experts > 0 ? fused_gradients(s) : bytes{0};
  const auto there = accumulate ? bytes{0} : fused;  // from the first expert's backward on
  r.weight_gradients += fused;
  r.made += fused;
  sparse_input in;
  with_made([&] { return sparse_front(s, trained, flows); }, [&](const program& p) {
    in = input_of(p, flows);
    if (begins) {
      r.input = in.stream;
      r.input_saved = in.keeps_stream;
    }
    company start;
    start.backward += part{row::temporaries, flows ? in.stream : bytes{0}};  // behind it the residual stream's gradient waits for the norm's
    start.backward_after = there;
    repeat(p, 1, start);
  });
  auto loop = beside_experts(s, in, sum_width, flows);
  loop.backward.add(row::gradients, there);
  module_set frozen = trained;
  frozen.bits &= ~module_set{module::experts_gate, module::experts_up, module::experts_down}.bits;
  auto before = loop;  // backward has been through the others
  if (trained_experts > 0 && !e.shares()) before.backward += part{row::temporaries, before.backward_later}, before.backward_later = bytes{0};
  with_made([&] { return ops::one_expert(s, frozen, in.width, in.has_gradient); }, [&](const program& p) { repeat(p, e.count - trained_experts, before); });
  with_made([&] { return ops::one_expert(s, trained, in.width, in.has_gradient); }, [&](const program& p) { repeat(p, trained_experts, loop); });
  company end;
  end.forward_off = moment(row::activations, in.stream);
  end.counted = (in.keeps_normed ? in.normed : bytes{0}) + (in.keeps_stream ? in.stream : bytes{0});
  with_made([&] { return sparse_back(s, trained, in, sum_width, flows); }, [&](const program& p) {
    const bool again = in.keeps_normed && (p.saved() & p.storages(p.input().bit())) != 0;
    end.counted_saved = again ? in.normed : bytes{0};
    repeat(p, 1, end);
    r.output_has_gradient = p.needs_gradient(p.output());
  });
}

}  // namespace detail

}  // namespace headroom
