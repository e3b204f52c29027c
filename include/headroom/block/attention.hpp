// Distributed under the Boost Software License, Version 1.0.
// Self-attention, from the normalised input to the output projection.
#pragma once

#include <headroom/block/attention_kernels.hpp>
#include <headroom/block/given_heads.hpp>
#include <headroom/block/host_attention.hpp>

namespace headroom::ops {

/// litgpt's LoRA on the fused q, k, v projection (litgpt/lora.py, LoRAQKVLinear): one A for all adapted parts, B as a grouped
/// convolution, and zero padding by index_copy where not all three are adapted.
constexpr tensor adapt_fused_qkv(program& p, const scene& s, tensor x, tensor qkv) {
  const auto& m = *s.model;
  const bool q = s.adapts(module::q_proj), k = s.adapts(module::k_proj), v = s.adapts(module::v_proj);
  const std::int64_t parts = (q ? 1 : 0) + (k ? 1 : 0) + (v ? 1 : 0);
  if (parts == 0) return qkv;
  const auto w = s.adapter_width;
  const auto out = (q ? m.query_width() : 0) + (k ? m.kv_width() : 0) + (v ? m.kv_width() : 0);
  const auto low_width = checked::mul(s.side->rank, parts);
  const auto train = [&](std::int64_t i, std::int64_t o) { return p.rounded(checked::mul(i, o), w); };
  const auto h = drop(p, x, s.side->dropout);
  const auto low = p.make(checked::mul(s.tokens, low_width), w);
  p.step(h.bit(), low.bit(), {.saves = h.bit(), .weight_gradient = train(m.hidden, low_width)});
  const auto turned = pointwise(p, low);  // made contiguous for the convolution
  auto high = p.make(checked::mul(s.tokens, out), w);
  p.step(turned.bit(), high.bit(), {.saves = turned.bit(), .weight_gradient = train(s.side->rank, out)});
  if (parts < 3) {
    // index_copy's derivative expands `source`, so the whole source is saved, and the int64 index.
    if (s.habits->date <= 202310 || m.kv() != m.heads) high = pointwise(p, high);
    const auto index = p.make(out, 8);
    const auto padded = p.make(checked::mul(s.tokens, m.query_width() + 2 * m.kv_width()), w);
    p.step(high.bit(), padded | index, {.saves = high | index, .forward_temporary = s.habits->date <= 202310 ? p.size(padded) : bytes{0}});
    high = padded;
  }
  return add(p, qkv, pointwise(p, high));
}

/// q, k and v out of one projection.
constexpr heads fused_projection(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto q_out = s.divided(m.query_width()), kv_out = s.divided(m.kv_width());
  auto qkv = multiply(p, s, x, {.in = m.hidden, .out = q_out + 2 * kv_out, .bias = m.attention_bias,
                                .trains = trained.has(module::q_proj), .quantised = s.quantised.has(module::q_proj)});
  if (s.joins_qkv(m) && s.adapts(module::q_proj))
    qkv = adapt(p, s, x, qkv, m.hidden, q_out + 2 * kv_out);
  else if (s.side->active())
    qkv = adapt_fused_qkv(p, s, x, qkv);
  heads h{.parts = true};
  h.q = p.view(qkv, checked::mul(s.tokens, q_out));
  h.k = p.view(qkv, checked::mul(s.tokens, kv_out));
  h.v = p.view(qkv, checked::mul(s.tokens, kv_out));
  p.step(qkv.bit(), (h.q | h.k) | h.v);  // a split: its backward concatenates
  return h;
}

/// Whether written-out attention computes its softmax in fp32. T5 and its kin did up to transformers 5.15 (modeling_t5.py; pull request 47014 of
/// 2026-07-30 gave them the functions that other families have); Llama 4's never is (models/llama4/modeling_llama4.py eager_attention_forward).
constexpr bool fp32_softmax(const scene& s) {
  const auto& m = *s.model;
  if (s.autocast) return true;
  if (m.softmax == softmax_kind::by_position && m.position == position_kind::relative && s.habits->date >= 202608) return false;
  return m.softmax == softmax_kind::by_position ? m.position != position_kind::learned && !m.chunked : m.softmax != softmax_kind::compute && m.softmax != softmax_kind::maximum;
}

/// The kernel's result lies as q does, and q lies heads before positions where the part of each head that turns was concatenated with the rest
/// (FlashAttention's and its like in torch: empty_like(q)): heads beside each other are a copy. The kernel that takes masks makes a layout of its own
/// (native/transformers/cuda/attention.cu _efficient_attention_forward), and so do those that take tokens without padding.
constexpr bool heads_first(const scene& s) {
  const auto& m = *s.model;
  // Phi-3's and MiniMax-M2's code concatenate where nothing is left, too (apply_rotary_pos_emb in models/phi3/modeling_phi3.py, since transformers 4.49, and
  // in models/minimax_m2/modeling_minimax_m2.py).
  const bool phi = m.fused_qkv && m.fused_gate_up && !m.attention_bias && !m.bidirectional && s.habits->date >= 202503;
  if (s.compiled || m.position != position_kind::rope || (m.rotary_percent == 100 && !phi && !(m.qk_norm_full && m.experts.fp32_weights)) || m.rotary == rotary_kind::own_pairs || s.habits->rotary.style != rope_style::rotate_half) return false;
  if (s.fused.has(fused_kernel::rotary)) return false;
  return s.host || ((s.kernel == attention::sdpa || s.kernel == attention::flash) && (s.cudnn || (!s.padded && !s.packed && !reads_mask(s))));
}

/// UMT5Attention.compute_bias: the bucket of each pair of positions, an int64, and what a layer's own table has for it. The sum's gradient of all
/// samples is added up for it.
constexpr tensor relative_biases(program& p, const scene& s, bool trains) {
  const auto pairs = checked::mul(s.sequence, s.sequence);
  const auto buckets = p.make(pairs, 8);
  p.step(0, buckets.bit(), {.forward_temporary = 2 * p.rounded(pairs, 8)});
  const auto y = p.make(checked::mul(s.model->heads, pairs), s.width);
  p.step(buckets.bit(), y.bit(), {.saves = trains ? buckets.bit() : 0, .weight_gradient = trains ? p.rounded(checked::mul(s.model->relative_buckets, s.model->heads), s.weight_width) : bytes{0}});
  return y;
}

/// T5's biases as a mask: where a position may not look, and everywhere where a sample is padded, a layer fills in the least number. The condition is kept.
struct bias_mask {
  tensor_set read{}, kept{};
};
constexpr bias_mask mask_of_biases(program& p, const scene& s) {
  const auto& m = *s.model;
  if (!masks_biases(s, m) || (m.bidirectional && !s.padded)) return {};
  const auto pairs = checked::mul(s.sequence, s.sequence), all = checked::mul(s.padded ? s.samples : 1, m.heads, pairs);
  const auto seen = p.make(s.padded ? 0 : pairs, 1), mask = p.make(all, s.residual_width);
  p.step(0, seen | mask);
  return {mask.bit(), seen.bit()};
}

/// Where a layer's keys and values come from.
enum class key_source : std::uint8_t {
  own,
  as_values,  ///< what the keys are made of is the values, too
  shared,     ///< an earlier layer's
};

/// Keys or values of an earlier layer: counted where they are made. Their gradients are added up over the layers that read them.
constexpr tensor shared_keys(program& p, const scene& s, bool has_gradient) {
  const auto n = checked::mul(s.tokens, s.model->kv_width());
  const auto there = p.make(n, 0), read = p.make(n, 0);
  if (has_gradient) p.require_gradient(there);
  p.step(there.bit(), read.bit(), {.backward_temporary = has_gradient ? p.rounded(n, s.width) : bytes{0}});
  return read;
}

/// Queries, keys and values as they come out of their projections, and the gate of the result where a model has one.
struct projected_heads {
  heads h{};
  tensor gate{};
};
constexpr projected_heads project_heads(program& p, const scene& s, const module_set& trained, tensor x, key_source keys) {
  const auto& m = *s.model;
  const auto q_out = s.divided(m.query_width()), kv_out = s.divided(m.kv_width());
  const auto& style = s.habits->attention;
  const bool halved = m.gated_attention && !m.gate_apart();
  const auto wide = halved ? 2 * q_out : q_out;
  projected_heads r;
  auto& h = r.h;
  const auto divide = [&] {  // of each head one half is the gate
    if (!halved) return;
    const auto both = h.q;
    h.q = p.view(both, checked::mul(s.tokens, q_out));
    r.gate = p.view(both, checked::mul(s.tokens, q_out));
    p.step(both.bit(), h.q | r.gate);
  };
  if (style.qkv != qkv_projection::separate || m.fused_qkv) {
    h = fused_projection(p, s, trained, x);
    const bool repeats = style.expands_kv == kv_expansion::always;
    if (style.qkv == qkv_projection::fused_then_copied && (m.kv() != m.heads || !repeats)) {
      h.q = pointwise(p, h.q);
      h.k = repeats ? expand(p, s, h.k) : pointwise(p, h.k);
      h.v = repeats ? expand(p, s, h.v) : pointwise(p, h.v);
    }
  } else if (keys == key_source::own && fuses(s, fused_kernel::adapted_qkv, {module::q_proj, module::k_proj, module::v_proj})) {
    const auto made = multiply_adapted(p, s, x, {{module::q_proj, m.hidden, wide}, {module::k_proj, m.hidden, kv_out}, {module::v_proj, m.hidden, kv_out}});
    h.q = made[0];
    divide();
    h.k = made[1];
    h.v = made[2];
  } else {
    const bool shares = keys == key_source::shared;
    h.q = linear(p, s, trained, module::q_proj, x, m.hidden, wide, m.attention_bias);
    divide();
    h.k = shares ? shared_keys(p, s, p.needs_gradient(h.q)) : linear(p, s, trained, module::k_proj, x, m.hidden, kv_out, m.attention_bias && !m.no_key_bias);
    h.v = shares ? shared_keys(p, s, p.needs_gradient(h.q)) : keys == key_source::as_values ? h.k : linear(p, s, trained, module::v_proj, x, m.hidden, s.divided(m.value_width()), m.attention_bias);
  }
  if (m.gate_apart()) r.gate = linear(p, s, trained, module::gate_proj, x, m.hidden, q_out, false);
  return r;
}

/// … divided into heads, normalised, turned by their positions and cast. Shared keys and values are all that already.
constexpr void turn_heads(program& p, const scene& s, const module_set& trained, heads& h, bool shares) {
  const auto& m = *s.model;
  h.q = split_heads(p, s, h.q, m.heads);
  if (!shares) {
    h.k = split_heads(p, s, h.k, m.kv());
    h.v = split_heads(p, s, h.v, m.kv());
  }
  const bool at_once = s.fused.has(fused_kernel::normed_rotary);
  if (at_once) {
    h.q = norm_and_turn(p, s, h.q, trained.has(module::norm));
    h.k = norm_and_turn(p, s, h.k, trained.has(module::norm));
  } else if ((m.qk_norm && !m.chunked) || m.qk_norm_full) {
    h.q = norm(p, s, h.q, m.qk_norm ? m.head_width() : s.divided(m.query_width()), trained.has(module::norm), m.qk_norm);  // in full: never a bias (StableLmLayerNormPerHead)
    if (!shares) h.k = norm(p, s, h.k, m.qk_norm ? m.head_width() : s.divided(m.kv_width()), trained.has(module::norm), m.qk_norm);
  }
  if (m.value_norm && !shares) h.v = unit_norm(p, s, h.v, m.head_width());
  if (s.habits->rotary.style == rope_style::complex_fp32 && !s.compiled)
    rotate_pair(p, s, h);
  else if (!at_once) {
    const auto tables = rotary_tables(p, s);
    h.q = rotate(p, s, h.q, tables);
    if (!shares) h.k = rotate(p, s, h.k, m.rotary == rotary_kind::own_pairs ? rotary_tables(p, s) : tables);
  }
  if (norms_turned(s, m)) h.q = unit_norm(p, s, h.q, m.head_width()), h.k = unit_norm(p, s, h.k, m.head_width());  // Llama4TextL2Norm
  if (m.scaled_queries) {  // get_llama_4_attn_scale
    const auto numbers = p.make(s.sequence, s.width);
    p.step(0, numbers.bit());
    h.q = multiply(p, h.q, numbers);
  }
  if (s.autocast) {  // scaled_dot_product_attention is on autocast's lower-precision list
    h.q = cast(p, h.q, s.width);
    if (!shares) h.k = cast(p, h.k, s.width);
  }
}

/// contiguous(): a copy, which hands its gradient on (CloneBackward0).
constexpr tensor lay_out(program& p, tensor x) {
  const auto y = p.make(p.elements(x), p.width(x));
  p.step(x.bit(), y.bit(), {.passes_gradient = true});
  return y;
}

/// … and attended to, by the kernel that the job runs.
constexpr tensor attend_heads(program& p, const scene& s, const module_set& trained, heads& h) {
  const auto& m = *s.model;
  const auto& style = s.habits->attention;
  // Since transformers 5.16 T5's biases are a mask of torch's own attention (models/t5/modeling_t5.py, pull request 47014 of 2026-07-30).
  const bool on_host = runs_math(s, true, m.layer_biases && s.habits->date >= 202608);
  const bool written_out = !on_host && writes_scores(s);
  if ((written_out || repeats_heads(s)) && p.elements(h.k) < p.elements(h.q)) {
    const bool view = views_repeats(s, written_out);
    h.k = expand(p, s, h.k, view && !s.autocast);  // autocast's cast of what is repeated copies it
    h.v = expand(p, s, h.v, view);
    h.repeated = true;
  }
  const bool lays = lays_out(s) && !written_out && !on_host, turned = heads_first(s);
  tensor_set named = 0;
  if (lays) {  // queries and keys that were concatenated are contiguous, and so is what was repeated
    named = (h.q | h.k) | h.v;
    if (!turned) h.q = lay_out(p, h.q);
    if (!turned && !h.repeated) h.k = lay_out(p, h.k);
    if (!h.repeated) h.v = lay_out(p, h.v);
  }
  const auto biases = [&] { return m.layer_biases ? relative_biases(p, s, trained.has(module::position)) : tensor{}; };
  const bool by_math = on_host || (!written_out && (masks_biases(s, m) || attends_by_math(s, m)));
  const auto mask = mask_of_biases(p, s);
  const auto out = by_math       ? math_attention(p, s, h.q, h.k, h.v, (m.layer_biases ? biases().bit() : 0) | mask.read, p.elements(h.q), mask.kept)
                   : !written_out ? fused_attention(p, s, h, named)
                   : (m.attention_sinks && !m.sinks_scale) || m.fixed_sinks ? attention_with_sinks(p, s, h)
                                                                            : eager_attention(p, s, h, fp32_softmax(s), biases());
  if (s.joins_images) return pointwise(p, out);
  if (written_out || by_math) return out;
  return style.copies_output || turned || copies_result(s) ? pointwise(p, out) : lays && !reads_mask(s) ? lay_out(p, out) : out;
}

/// The attention half of a layer: from the normalised input to what is added to the residual stream.
constexpr tensor attend(program& p, const scene& s, const module_set& trained, tensor x, key_source keys = key_source::own) {
  const auto& m = *s.model;
  auto [h, gate] = project_heads(p, s, trained, x, keys);
  turn_heads(p, s, trained, h, keys == key_source::shared);
  auto out = attend_heads(p, s, trained, h);
  if (gate.valid()) {
    const auto sigmoid = p.make(p.elements(gate), p.width(gate));
    p.step(gate.bit(), sigmoid.bit(), {.saves = sigmoid.bit()});
    out = multiply(p, out, sigmoid);
  }
  const auto q_out = s.divided(m.query_width());
  if (m.sub_norms) out = norm(p, s, out, q_out, trained.has(module::norm));
  if (fuses(s, fused_kernel::adapted_output, {module::o_proj})) return multiply_adapted(p, s, out, {{module::o_proj, q_out, m.hidden}})[0];
  const auto y = reduce_partial(p, s, linear(p, s, trained, module::o_proj, out, s.divided(m.output_width()), m.hidden, m.output_bias), m.hidden);
  name_to_end(p, s, (h.q | h.k) | h.v);
  return y;
}

}  // namespace headroom::ops
