// Distributed under the Boost Software License, Version 1.0.
// Multi-head latent attention as transformers writes it: nothing is absorbed or fused.
// Source: transformers models/deepseek_v3/modeling_deepseek_v3.py DeepseekV3Attention (DeepSeek-V2's is the same but for names).
#pragma once

#include <headroom/block/attention.hpp>
#include <headroom/block/host_attention.hpp>
#include <headroom/block/indexer.hpp>

namespace headroom::ops {

/// Queries, keys and values out of compressed vectors, and the compressed queries. q and k are concatenated from a rotated part and the rest; v stays a
/// view of the second up-projection's result, which lives as long.
struct latent_heads {
  heads h{};
  tensor queries{};
};
constexpr latent_heads project_latent(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto& a = m.mla;
  const auto head = a.nope_dim + a.rope_dim;
  const auto of_heads = [&](std::int64_t width) { return checked::mul(s.tokens, checked::mul(m.heads, width)); };
  const bool norms = trained.has(module::mla_down);
  const auto query_width = checked::mul(m.heads, head);
  latent_heads r;
  auto& h = r.h;
  tensor q0{};
  if (a.q_rank > 0) {
    const auto low = linear(p, s, trained, module::mla_down, x, m.hidden, a.q_rank, m.attention_bias);
    r.queries = rms_norm(p, s, low, a.q_rank, norms);
    q0 = linear(p, s, trained, module::q_proj, r.queries, a.q_rank, query_width, false);
  } else {
    q0 = linear(p, s, trained, module::q_proj, x, m.hidden, query_width, false);
  }
  const auto compressed = linear(p, s, trained, module::mla_down, x, m.hidden, a.kv_rank + a.rope_dim, m.attention_bias);
  const auto low = p.view(compressed, checked::mul(s.tokens, a.kv_rank)), rotary = p.view(compressed, checked::mul(s.tokens, a.rope_dim));
  p.step(compressed.bit(), low | rotary);
  const auto kv = linear(p, s, trained, module::k_proj, rms_norm(p, s, low, a.kv_rank, norms), a.kv_rank, checked::mul(m.heads, a.nope_dim + a.value_dim), false);
  const auto nope = p.view(kv, of_heads(a.nope_dim));
  h.v = p.view(kv, of_heads(a.value_dim));
  p.step(kv.bit(), nope | h.v);
  const auto w = p.width(q0);
  const bool turns = m.position == position_kind::rope;  // Kimi Linear's are concatenated and not turned
  const bytes rotating = turns ? 3 * p.rounded(of_heads(a.rope_dim), w) : bytes{0};
  h.q = p.make(of_heads(head), w);
  p.step(q0.bit(), h.q.bit(), {.forward_temporary = rotating, .backward_temporary = rotating});
  h.k = p.make(of_heads(head), w);
  p.step(nope | rotary, h.k.bit(), {.forward_temporary = turns ? 3 * p.rounded(checked::mul(s.tokens, a.rope_dim), w) : bytes{0}});
  return r;
}

/// Fused attention of heads whose values are narrower. Flash kernels want v as wide as q and k: it is padded, their result cut.
constexpr tensor attend_latent(program& p, const scene& s, heads& h, const chosen_keys& chosen, bool indexed) {
  const auto& m = *s.model;
  const auto& a = m.mla;
  const auto head = a.nope_dim + a.rope_dim;
  const auto of_heads = [&](std::int64_t width) { return checked::mul(s.tokens, checked::mul(m.heads, width)); };
  const auto w = p.width(h.k);
  const bool pads = (s.kernel == attention::flash || s.kernel == attention::flash3) && head != a.value_dim;
  if (pads) {
    const auto padded = p.make(of_heads(head), w);
    p.step(h.v.bit(), padded.bit());
    h.v = padded;
  }
  const auto out = p.make(of_heads(pads ? head : a.value_dim), w);
  const auto lse = p.make(checked::mul(s.tokens, m.heads), 4);
  const bytes workspace = s.host ? bytes{0} : p.rounded(of_heads(checked::round_up(head, 32)), 4) + p.rounded(checked::mul(s.tokens, m.heads), 4);
  auto inputs = (h.q | h.k) | h.v;
  if (indexed) inputs |= p.width(chosen.mask) == w ? chosen.mask.bit() : pointwise(p, chosen.mask, w).bit();  // what is added to the scores
  p.step(inputs, out | lse, {.saves = inputs | out | lse, .backward_temporary = workspace});
  if (s.policy == recompute_policy::every_other_matmul) p.keep(out | lse);
  // Queries are concatenated, heads before positions, and so lies what kernels of one width give; that of a second width makes a layout of its own.
  if (!pads && head != a.value_dim && !s.cudnn) return out;
  const auto beside = p.make(of_heads(a.value_dim), w);
  p.step(out.bit(), beside.bit());
  return beside;
}

/// The attention half of a layer. `indexed`: to the keys that an indexer chooses.
constexpr tensor latent_attend(program& p, const scene& s, const module_set& trained, tensor x, bool indexed = false) {
  const auto& m = *s.model;
  const auto& a = m.mla;
  auto [h, queries] = project_latent(p, s, trained, x);
  if (m.scaled_queries) {  // get_llama_4_attn_scale
    const auto numbers = p.make(s.sequence, s.width);
    p.step(0, numbers.bit());
    h.q = multiply(p, h.q, numbers);
  }
  const auto chosen = indexed ? choose_keys(p, s, x, queries) : chosen_keys{};
  tensor out{};
  if (s.kernel == attention::eager || s.kernel == attention::math) {
    h.v_cut = s.samples > 1 && m.heads > 1;
    out = eager_attention(p, s, h, true);
  } else if (runs_math(s, a.nope_dim + a.rope_dim == a.value_dim)) {
    out = math_attention(p, s, h.q, h.k, h.v, indexed ? chosen.mask.bit() : 0, checked::mul(s.tokens, checked::mul(m.heads, a.value_dim)));
  } else {
    out = attend_latent(p, s, h, chosen, indexed);
  }
  const auto y = linear(p, s, trained, module::o_proj, out, checked::mul(m.heads, a.value_dim), m.hidden, m.output_bias);
  if (indexed) p.step(0, 0, {.holds = chosen.with});  // to the end of the module
  return y;
}

}  // namespace headroom::ops
