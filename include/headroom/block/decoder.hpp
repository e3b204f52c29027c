// Distributed under the Boost Software License, Version 1.0.
// Whole decoder layers: Llama-type, GPT-2-type, and their parallel and post-norm relatives.
#pragma once

#include <headroom/block/in_place.hpp>
#include <headroom/block/mixers.hpp>
#include <headroom/block/walk.hpp>

namespace headroom {

namespace ops {

/// xIELU (transformers activations.py XIELUActivation._xielu_python; Huang 2024): where(x > 0, a·x·x + c·x, (expm1(min(x, e)) − x)·b + c·x) with trained
/// numbers a and b. Numbers in fp32 make all of it fp32.
constexpr tensor xielu(program& p, const scene& s, tensor x, bool trains) {
  const auto n = p.elements(x);
  const auto w = s.autocast ? 4 : p.width(x);
  if (s.compiled) return cast(p, activate(p, s, x, activation_kind::xielu), w);
  const auto positive = p.make(n, 1), a = p.make(1, w), b = p.make(1, w);
  p.step(x.bit(), (positive | a) | b);
  const auto first = p.make(n, w), square = p.make(n, w), above = p.make(n, w);
  p.step(x | a, first.bit(), {.saves = x | a});
  p.step(x | first, square.bit(), {.saves = x | first});
  p.step(square | x, above.bit(), {.forward_temporary = p.rounded(n, p.width(x))});
  const auto least = p.make(n, p.width(x)), power = p.make(n, w), less = p.make(n, w), below = p.make(n, w);
  p.step(x.bit(), least.bit(), {.saves = x.bit()});
  p.step(least.bit(), power.bit(), {.saves = power.bit()});
  p.step(power | x, less.bit(), {.passes_gradient = true});
  p.step((less | x) | b, below.bit(), {.saves = (trains ? less.bit() : 0) | b, .forward_temporary = p.size(below) + p.rounded(n, p.width(x))});
  const auto y = p.make(n, w);
  p.step((positive | above) | below, y.bit(), {.saves = positive.bit()});
  return y;
}

/// Whether what an MLP's last matrix reads is cast to that weight's format, whatever autocast makes of it then: T5's (T5DenseActDense, T5DenseGatedActDense,
/// since transformers 4.27 of 2023-03).
constexpr bool writes_as_weight(const scene& s) { return s.casts_weights && s.model->position == position_kind::relative && s.habits->date >= 202303 && !s.host; }

/// The dense MLP: down(act(gate)·up), or down(act(up)). T5 drops out in front of the last matrix, too (T5DenseActDense).
constexpr tensor feed_forward(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto width = s.divided(m.ffn);
  const auto inner = m.position == position_kind::relative ? s.drops.hidden : probability{};
  if (m.mlp == mlp_kind::gated && fuses(s, fused_kernel::adapted_mlp, {module::gate_proj, module::up_proj, module::down_proj})) return adapted_feed_forward(p, s, x, width);
  if (m.mlp == mlp_kind::gated) {
    auto product = drop(p, gated_projection(p, s, trained, {module::gate_proj, module::up_proj}, x, width, m.mlp_bias), inner);
    if (m.sub_norms) product = norm(p, s, product, width, trained.has(module::norm));
    if (writes_as_weight(s)) product = cast(p, product, s.weight_width);
    return reduce_partial(p, s, linear(p, s, trained, module::down_proj, product, width, m.hidden, m.mlp_bias || m.down_bias), m.hidden);
  }
  const auto up = linear(p, s, trained, module::up_proj, x, m.hidden, width, m.mlp_bias);
  const bool by_numbers = m.activation == activation_kind::xielu;
  auto activated = drop(p, by_numbers ? xielu(p, s, up, trained.has(module::other)) : activate(p, s, up, m.activation), inner);
  if (m.sub_norms) activated = norm(p, s, activated, width, trained.has(module::norm));
  if (writes_as_weight(s)) activated = cast(p, activated, s.weight_width);
  return reduce_partial(p, s, linear(p, s, trained, module::down_proj, activated, width, m.hidden, m.mlp_bias || m.down_bias), m.hidden);
}

}  // namespace ops

/// A decoder layer runs as one block or two, each from residual stream to residual stream. Two where the MLP reads what
/// attention wrote; one where both read the same input.
enum class layer_part : std::uint8_t { attention, mlp, parallel };

/// One part of a decoder layer with such a mixer. `trained`: the modules whose weights train here. `input_has_gradient`: something below
/// trains. `matrices`: multiplied by earlier parts of the layer.
constexpr program decoder_block(const scene& s, layer_part part, mixer_kind mixer, const module_set& trained, bool input_has_gradient, std::int64_t matrices = 0) {
  const auto& m = *s.model;
  program p(s.granule);
  p.count_matrices_from(matrices);
  p.sum_out_of_place(s.habits->autograd.sums_out_of_place);
  p.borrow_output_gradient(s.nested_backward && part != layer_part::attention);
  const bool norms = trained.has(module::norm);
  const auto x = p.input(checked::mul(s.stream_tokens(), m.hidden), s.residual_width, input_has_gradient);
  // Norms that follow their sub-block stand behind the sum (BertSelfOutput, OPTDecoderLayer) or, RMSNorm, before it (Olmo2DecoderLayer).
  const bool after = m.norm_after && !recurrent(mixer);  // OLMo Hybrid's linear layers have theirs in front
  const bool norms_sum = after && m.norm == norm_kind::layernorm;
  const auto branch = [&](tensor y) {
    if (m.post_norms || (after && !norms_sum)) y = ops::norm(p, s, y, m.hidden, norms);
    if (s.layer_scale) [[unlikely]] y = ops::layer_scale(p, s, y, m.hidden, norms);
    return ops::drop(p, y, s.drops.hidden);
  };
  const auto mixed = [&](tensor y) { return ops::mix(p, s, mixer, trained, y); };
  const auto normalised = [&] { return ops::gather_tokens(p, s, ops::norm(p, s, m.fp32_residual ? ops::cast(p, x, s.width) : x, m.hidden, norms), m.hidden); };
  const auto first = after ? x : normalised();
  if (part == layer_part::parallel) {
    const auto side = branch(mixed(first));
    const auto second = m.shared_attention_norm ? first : normalised();
    const auto sum = ops::add(p, x, side);
    p.set_output(ops::add(p, sum, branch(ops::feed_forward(p, s, trained, second))));
  } else {
    const auto y = part == layer_part::attention ? mixed(first) : ops::feed_forward(p, s, trained, first);
    ops::name_to_end(p, s, first.bit());
    const auto side = branch(y);
    const auto residual = m.normed_residual ? ops::scale(p, s, first) : x;
    const auto sum = ops::add(p, residual, m.normed_residual ? ops::scale(p, s, side) : side);
    p.set_output(norms_sum ? ops::norm(p, s, sum, m.hidden, norms) : sum);
  }
  if (s.policy == recompute_policy::every_other_matmul) [[unlikely]] {
    // torch.utils.checkpoint keeps the layer's input, and what create_selective_checkpoint_contexts was told to save.
    const bool begins = part != layer_part::mlp, ends = part != layer_part::attention;
    if (s.compiled) p.keep_needed(ends ? 0 : p.output().bit());
    if (begins) p.keep(x.bit());
    p.checkpoint();
  }
  return p;
}

/// … of a model whose layers all attend.
constexpr program decoder_block(const scene& s, layer_part part, const module_set& trained, bool input_has_gradient, std::int64_t matrices = 0) {
  return decoder_block(s, part, s.model->attention(), trained, input_has_gradient, matrices);
}

/// What a whole layer costs, its parts joined.
struct layer_walk {
  moment saved{};             ///< for backward, its input included where that is saved
  bytes sticky{};             ///< of it, what stays until the graph dies
  moment forward{};           ///< peak of the forward, its input included
  moment forward_off{};       ///< … without a graph
  moment cached{};            ///< what a forward without a graph leaves all the same (autocast's weights)
  moment backward{};          ///< peak of the backward: what it saved and the gradient of its output included
  moment rebuilt{};           ///< of a checkpointed layer: what it saves when it has run again
  moment again{};             ///< … and the peak of that
  bytes weight_gradients{};   ///< as far as they stay
  bytes made{};               ///< all of them
  bytes offloaded{};          ///< saved in host memory instead
  bytes doubled{};            ///< … and come back in more copies than there were
  bytes input{};
  bool input_saved{};
  bool output_has_gradient{};
};

namespace detail {

constexpr moment taller(const moment& a, const moment& b) { return a.total < b.total ? b : a; }

/// Tensors that were moved to host memory come back a layer ahead, module by module: while the later part of a layer runs backward, all
/// of its earlier part is back; while that does, so is the later part of the layer before.
constexpr void bring_back(layer_walk& r, const program& p, moment& earlier) {
  const auto here = p.sum(p.offloaded() & ~p.recomputed()), doubled = p.doubled();
  r.backward.add(row::activations, r.offloaded + r.doubled + doubled);
  earlier.add(row::activations, here + doubled);
  r.offloaded += here;
  r.doubled += doubled;
}

constexpr void join(layer_walk& r, const program& p, bool first, bool graphless, bool accumulate) {
  const auto f = walk_forward(p);
  const auto b = walk_backward(p, accumulate);
  const bool keeps_input = graphless && !first && !r.input_saved;  // the checkpoint's, while the layer runs again
  r.forward.rise_to(f.peak, r.saved, part{row::activations, keeps_input ? r.input : bytes{0}});
  if (graphless) {
    const auto off = walk_forward(p, recording::off);
    r.forward_off.rise_to(off.peak, r.cached, part{row::activations, r.input});
    r.cached += moment(off.saved, off.saved_rows);
  }
  // Later parts run backward first: what the earlier ones saved is alive then, and the later ones' weight gradients after.
  auto earlier = r.backward;
  if (p.borrows_output_gradient() && p.needs_gradient(p.output())) earlier.add(row::temporaries, p.size(p.output()));
  r.backward = b.peak;
  if (p.checkpointed()) [[unlikely]] {
    const auto a = walk_forward(p, recording::again);
    r.again += moment(f.saved, f.saved_rows);  // kept by this part while the earlier ones run again
    r.again.rise_to(a.peak, r.rebuilt);
    r.backward += r.rebuilt;
    r.rebuilt += moment(a.saved, a.saved_rows);
    // The checkpoint holds the layer's input until the graph goes (torch/utils/checkpoint.py, recompute_fn's arguments).
    if (first && (p.saved() & p.storages(p.input().bit())) == 0) r.rebuilt.add(row::activations, p.size(p.input()));
  } else {
    r.backward += r.saved;
  }
  if (p.offloaded() != 0 || r.offloaded > bytes{0}) [[unlikely]] bring_back(r, p, earlier);
  if (!first) r.backward.rise_to(earlier, part{row::gradients, accumulate ? bytes{0} : b.weight_gradients});
  r.saved += moment(f.saved, f.saved_rows);
  r.sticky += f.sticky;
  r.weight_gradients += b.weight_gradients;
  r.made += b.made;
  r.output_has_gradient = p.needs_gradient(p.output());
  if (first) {
    r.input = p.size(p.input());
    r.input_saved = ((p.checkpointed() ? p.kept() : p.saved() | p.sticky()) & p.storages(p.input().bit())) != 0;
  }
}

}  // namespace detail

}  // namespace headroom
