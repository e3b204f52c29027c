// Distributed under the Boost Software License, Version 1.0.
// The half of a layer with routed experts, its parts joined: norm and router, the loop over the experts, shared experts and sums.
#pragma once

#include <headroom/block/decoder.hpp>
#include <headroom/block/experts.hpp>
#include <headroom/block/grouped_experts.hpp>

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
}

/// Norm and router; then the loop; then shared experts and the sums. `trained_experts` of all train.
constexpr void join_sparse_half(layer_walk& r, const scene& s, const module_set& trained, std::int64_t trained_experts, bool graphless, bool accumulate) {
  const auto& m = *s.model;
  const auto& e = m.experts;
  const auto style = style_of(m);
  const bool flows = r.output_has_gradient;
  if (style == expert_style::repeated) return join(r, repeated_experts_block(s, trained, flows), false, graphless, accumulate);

  const auto elements = checked::mul(s.tokens, m.hidden);
  program front(s.granule);
  const auto x = front.input(elements, s.residual_width, flows);
  const auto n = ops::norm(front, s, x, m.hidden, trained.has(module::norm));
  ops::route(front, s, trained, n);
  front.set_output(n);
  const auto width = front.width(n);
  const bool n_flows = front.needs_gradient(n) || flows;
  const auto stream = front.size(x), normed = front.size(n);
  const bool begins = r.input == bytes{0};  // the layer has no mixer
  const bool keeps_x = (front.saved() & front.storages(x.bit())) != 0, keeps_n = (front.saved() & front.storages(n.bit())) != 0;
  if (begins) {
    r.input = stream;
    r.input_saved = keeps_x;
  }
  // Behind it the residual stream's gradient waits for the norm's.
  const auto residual = part{row::temporaries, flows ? stream : bytes{0}};

  const std::int64_t sum_width = style == expert_style::wide ? 4 : s.residual_width;
  program back(s.granule);
  const auto y0 = back.input(elements, sum_width, true);
  const auto x1 = back.input(elements, s.residual_width, flows);
  const auto n1 = back.input(elements, width, n_flows);
  back.step(0, y0 | x1);
  auto y = ops::cast(back, y0, s.residual_width);
  if (e.shared_ffn > 0) y = ops::add(back, y, ops::shared_experts(back, s, trained, n1));
  if (m.post_norms) y = ops::norm(back, s, y, m.hidden, trained.has(module::norm));
  back.set_output(ops::add(back, x1, ops::drop(back, y, s.drops.hidden)));
  const bool again = keeps_n && (back.saved() & back.storages(n1.bit())) != 0;

  const auto sum = back.size(y0);
  const auto numbers = front.rounded(checked::mul(checked::mul(s.tokens, e.active), e.count), 8);  // one_hot, int64
  const auto locals = front.rounded(checked::mul(routed_to_one(s), m.hidden), s.width);            // without a graph: the expert's before, named until the next is done
  company start, loop;
  start.backward += residual;
  loop.forward_off = moment(row::temporaries, sum + numbers + 2 * locals) + moment(row::activations, stream);
  loop.forward = moment(row::temporaries, sum + numbers) + moment(row::activations, keeps_x ? bytes{0} : stream);
  loop.counted = keeps_n ? normed : bytes{0};
  // Gradients of the sum, which may be the residual stream's, and of n as far as it has been added up.
  const bool apart = sum_width != s.residual_width || m.post_norms || s.drops.hidden.positive();
  loop.backward = moment(row::temporaries, sum + (apart && flows ? stream : bytes{0}));
  const auto gathered = part{row::temporaries, n_flows ? normed : bytes{0}};
  if (e.shared_ffn > 0) loop.backward += gathered;
  else loop.backward_later = gathered.total;
  if (style == expert_style::fused && trained_experts > 0) {
    const auto fused = e.count * (front.rounded(checked::mul(3 * m.hidden, e.ffn), s.weight_width) + front.rounded(2 * e.ffn + m.hidden, s.weight_width));
    r.weight_gradients += fused;
    if (!accumulate) {  // there from the first expert's backward on
      loop.backward.add(row::gradients, fused);
      start.backward_after = fused;
    }
  }
  company end;
  end.forward_off = moment(row::activations, stream);
  end.counted = (keeps_n ? normed : bytes{0}) + (keeps_x ? stream : bytes{0});
  end.counted_saved = again ? normed : bytes{0};
  module_set frozen = trained;
  frozen.bits &= ~module_set{module::experts_gate, module::experts_up, module::experts_down}.bits;
  join_repeated(r, front, 1, start, graphless, accumulate);
  auto before = loop;  // backward has been through the others
  if (trained_experts > 0 && e.shared_ffn == 0) before.backward += gathered, before.backward_later = bytes{0};
  join_repeated(r, ops::one_expert(s, frozen, width, n_flows), e.count - trained_experts, before, graphless, accumulate);
  join_repeated(r, ops::one_expert(s, trained, width, n_flows), trained_experts, loop, graphless, accumulate);
  join_repeated(r, back, 1, end, graphless, accumulate);
  r.output_has_gradient = back.needs_gradient(back.output());
}

}  // namespace detail

}  // namespace headroom
