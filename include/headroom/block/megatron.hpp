// Distributed under the Boost Software License, Version 1.0.
// Megatron's layer over TransformerEngine: tensor, sequence and context parallelism, fused modules. Sizes are those of one rank.
// Sources: Megatron-LM core/transformer/{attention,mlp,transformer_layer}.py, core/tensor_parallel/{layers,mappings,
// cross_entropy}.py; TransformerEngine pytorch/module/{linear,layernorm_linear}.py, attention/dot_product_attention/backends.py.
#pragma once

#include <headroom/block/megatron_adapters.hpp>

namespace headroom::megatron {

inline constexpr std::int64_t max_mtp = 4;  ///< multi-token-prediction modules, each with logits of its own in one program

/// A tensor of `width` features for each of this rank's tokens, features divided over tensor parallelism.
constexpr std::int64_t divided(const scene& s, std::int64_t width) { return checked::mul(s.tokens, width) / s.tensor; }
/// A tensor of the residual stream: whole features, tokens divided under sequence parallelism.
constexpr std::int64_t streamed(const scene& s, std::int64_t width) { return checked::mul(s.stream_tokens(), width); }

/// Bytes of a weight's gradient of its own, where the multiplication does not add to the buffer.
constexpr bytes weight_gradient(const program& p, const scene& s, std::int64_t weights, bool trains) {
  return trains && !s.fuses_weight_gradients ? p.rounded(weights, s.weight_width) : bytes{0};
}

/// What a linear layer saves of its input for the weight's gradient: the input itself or, in fp8, the quantised tensor that it made of
/// it, in the layout of that multiplication (TransformerEngine pytorch/module/linear.py, update_usage before saving).
struct operand {
  tensor_set makes{};
  tensor_set saves{};
};
constexpr operand operand_of(program& p, const scene& s, tensor x, bool trains) {
  if (!s.fp8) return {0, trains ? x.bit() : 0};
  const auto quantised = p.make(p.elements(x), 1);
  return {quantised.bit(), trains ? quantised.bit() : 0};
}
/// The other layout of the input, in forward; the result's gradient in both, in backward.
constexpr bytes quantised_input(const program& p, const scene& s, tensor x) { return s.fp8 && s.fp8_copies > 1 ? p.rounded(p.elements(x), 1) : bytes{0}; }
constexpr bytes quantised_gradient(const program& p, const scene& s, tensor y) { return s.fp8 ? s.fp8_copies * p.rounded(p.elements(y), 1) : bytes{0}; }

/// A column-parallel linear layer: each rank makes its share of the outputs from all tokens. Under sequence parallelism the input
/// is gathered for a moment in forward and again in backward, where its gradient is whole, too, before it is scattered.
constexpr tensor column(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out, bool trains) {
  const auto y = p.make(divided(s, out), s.width);
  const auto whole = checked::mul(s.tokens, in);
  const bytes gathered = s.sequence_split > 1 ? p.rounded(whole, s.fp8 ? 1 : s.width) : bytes{0};
  const bytes gradient = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0};
  const auto o = operand_of(p, s, x, trains);
  p.step(x.bit(), y.bit() | o.makes,
         {.saves = o.saves, .forward_temporary = gathered + quantised_input(p, s, x), .backward_temporary = gathered + gradient + quantised_gradient(p, s, y),
          .weight_gradient = weight_gradient(p, s, checked::mul(in, out) / s.tensor, trains), .splits = trains});
  return y;
}

/// A row-parallel linear layer: partial sums of all tokens, reduced (scattered under sequence parallelism).
constexpr tensor row_parallel(program& p, const scene& s, tensor x, std::int64_t in, std::int64_t out, bool trains) {
  const auto y = p.make(streamed(s, out), s.width);
  const auto whole = checked::mul(s.tokens, out);
  const bytes sums = s.sequence_split > 1 ? p.rounded(whole, s.width) : bytes{0};
  const bytes gathered = s.sequence_split > 1 ? p.rounded(whole, s.fp8 ? 1 : s.width) : bytes{0};
  const auto o = operand_of(p, s, x, trains);
  p.step(x.bit(), y.bit() | o.makes,
         {.saves = o.saves, .forward_temporary = sums + quantised_input(p, s, x), .backward_temporary = gathered + quantised_gradient(p, s, y),
          .weight_gradient = weight_gradient(p, s, checked::mul(in, out) / s.tensor, trains), .splits = trains});
  return y;
}

/// Moves a module's saved tensors to host memory, if the module is named; those of fewer than 2^20 elements stay
/// (core/transformer/transformer_config.py, min_offloaded_tensor_size). `twice`: those that two of its operations save.
constexpr void offload(program& p, const scene& s, offload_module m, const wide_set& saved, const wide_set& twice = 0) {
  if (!s.offloads(m)) return;
  wide_set large;
  for (const auto t : each(saved & p.saved()))
    if (p.elements(t) >= std::int64_t{1} << 20) large |= t.bit();
  p.offload(large, twice & large);
}

/// A norm in one kernel: input and statistics of the rank's rows.
constexpr tensor norm(program& p, const scene& s, tensor x, std::int64_t rows) {
  const auto y = p.make(p.elements(x), p.width(x));
  const auto statistics = p.make(checked::mul(rows, s.model->norm == norm_kind::rmsnorm ? 1 : 2), 4);
  p.step(x.bit(), y | statistics, {.saves = x | statistics});
  return y;
}

/// Queries, keys and values, as attention takes them.
struct heads {
  tensor q{}, k{}, v{};
};

/// Attention proper: fused kernels save q, k, v, their result and a log-sum-exp; written out, the probabilities (with a mask
/// and the dropped copy under dropout).
constexpr tensor core_attention(program& p, const scene& s, tensor_set inputs, std::int64_t result_elements) {
  const auto& m = *s.model;
  const auto first = p.tensors();
  const auto pairs = checked::mul(s.sequence / s.context, s.keys > 0 ? s.keys : s.sequence);
  if (s.kernel == attention::eager || s.kernel == attention::math) {
    const auto scores = checked::mul(checked::mul(s.samples, m.heads / s.tensor), pairs);
    const auto raw = p.make(scores, s.width);
    p.step(inputs, raw.bit(), {.saves = inputs, .forward_temporary = p.rounded(scores, s.width)});
    auto soft = p.make(scores, s.width);
    p.step(raw.bit(), soft.bit(), {.saves = soft.bit(), .passes_gradient = true});
    if (s.zeroes_padding && (m.bidirectional || s.keys > 0)) {
      const auto mask = p.make(checked::mul(s.samples, pairs), 1), filled = p.make(scores, s.width);
      p.step(soft.bit(), filled | mask, {.saves = mask.bit()});
      soft = filled;
    }
    if (s.drops.attention.positive()) soft = ops::drop(p, soft, s.drops.attention);
    const auto product = p.make(result_elements, s.width);
    p.step(soft.bit(), product.bit(), {.saves = soft.bit()});
    // The probabilities are what softmax and what the product with v saved.
    offload(p, s, offload_module::core_attn, p.since(first) | inputs, soft.bit());
    if (s.recomputes(recompute_module::core_attn)) p.recompute_since(first, inputs);
    // Locals hold the scores and q, k, v up to here, though softmax has been (TransformerEngine backends.py, UnfusedDotProductAttention).
    const auto out = p.make(result_elements, s.width);
    p.step(product.bit(), out.bit(), {.holds = inputs | raw});
    return out;
  }
  const auto out = p.make(result_elements, s.width);
  const auto lse = p.make(divided(s, m.heads), 4);
  const bool ring = s.context > 1;
  p.step(inputs, out | lse, {.saves = inputs | out | lse, .backward_temporary = ring ? p.rounded(divided(s, m.query_width()), s.width) : bytes{0}});
  if (s.recomputes(recompute_module::core_attn)) p.recompute(lse.bit());
  offload(p, s, offload_module::core_attn, inputs | out | lse);
  // Ulysses (and a2a+p2p) brings the result back by an all-to-all that makes a second copy; a flash kernel's b-s-h-d result is transposed, under
  // context parallelism too (backends.py FlashAttention.forward: output.contiguous()).
  if ((ring && (s.context_kind == context_kind::ulysses || s.habits->communication.exchanges_heads)) || (s.copies_flash_output && s.samples > 1)) return ops::pointwise(p, out);
  return out;
}

/// What a rotary embedding written out saves: each call makes cosine and sine in the format of q and k, of this rank's positions
/// (core/models/common/embeddings/rope_utils.py _apply_rotary_pos_emb_bshd). The fused kernel makes them on the way.
constexpr tensor_set rotary_factors(program& p, const scene& s, std::int64_t width) {
  if (!s.habits->rotary.writes_out || s.model->position != position_kind::rope) return 0;
  return p.make(checked::mul(checked::mul(4, s.sequence / s.context), width), s.width).bit();  // two factors, for q and for k
}

/// Ordinary attention: one projection makes q, k and v. Rotary embedding or grouped heads make fresh q, k, v of the same size, and
/// the projection's result goes; without either, its views are what the kernel reads.
constexpr tensor attend(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto q_out = m.query_width(), kv_out = m.kv_width();
  auto mixed = column(p, s, x, m.hidden, q_out + 2 * kv_out, trained.has(module::q_proj));
  if (adapts(s, module::q_proj)) [[unlikely]] mixed = adapt_column(p, s, x, mixed, m.hidden, q_out + 2 * kv_out);
  offload(p, s, offload_module::qkv_linear, p.input() | x);  // the norm in front is part of it (LayerNormLinear)
  tensor_set inputs = mixed.bit();
  if (m.qk_norm) {
    const auto q0 = p.make(divided(s, q_out), s.width), k0 = p.make(divided(s, kv_out), s.width), v = p.make(divided(s, kv_out), s.width);
    p.step(mixed.bit(), (q0 | k0) | v);
    auto q = norm(p, s, q0, divided(s, m.heads)), k = norm(p, s, k0, divided(s, m.kv()));
    if (m.position == position_kind::rope) {
      const auto q1 = q, k1 = k;
      q = p.make(divided(s, q_out), s.width), k = p.make(divided(s, kv_out), s.width);
      const auto factors = rotary_factors(p, s, m.rotary_width());
      p.step(q1 | k1, (q | k) | factors, {.saves = factors});
    }
    inputs = (q | k) | v;
  } else if (m.position == position_kind::rope || m.kv() != m.heads) {
    const auto q = p.make(divided(s, q_out), s.width), k = p.make(divided(s, kv_out), s.width), v = p.make(divided(s, kv_out), s.width);
    const auto factors = rotary_factors(p, s, m.rotary_width());
    p.step(mixed.bit(), ((q | k) | v) | factors, {.saves = factors});
    inputs = (q | k) | v;
  }
  const auto out = core_attention(p, s, inputs, divided(s, q_out));
  auto y = row_parallel(p, s, out, q_out, m.hidden, trained.has(module::o_proj));
  if (adapts(s, module::o_proj)) [[unlikely]] y = adapt_row(p, s, out, y, q_out, m.hidden);
  offload(p, s, offload_module::attn_proj, out.bit());
  return y;
}

/// SwiGLU without its fused kernel: the sum with the bias, two views, the function of one and its product with the other.
constexpr tensor written_out_glu(program& p, const scene& s, tensor up, std::int64_t width) {
  const auto part = divided(s, width);
  if (s.model->mlp_bias) {
    const auto sum = p.make(p.elements(up), s.width);
    p.step(up.bit(), sum.bit(), {.passes_gradient = true});
    up = sum;
  }
  const auto gate = p.view(up, part), value = p.view(up, part);
  p.step(up.bit(), gate | value);
  const auto activated = p.make(part, s.width), product = p.make(part, s.width);
  p.step(gate.bit(), activated.bit(), {.saves = gate.bit()});
  p.step(activated | value, product.bit(), {.saves = activated | value});
  return product;
}

/// The dense MLP, or a shared expert: `width` features wide; the activation is one kernel over the first projection's whole result. `first` and
/// `last`: what its layers are called.
constexpr tensor feed_forward(program& p, const scene& s, tensor x, std::int64_t width, bool trains, module first = module::up_proj, module last = module::down_proj) {
  const auto& m = *s.model;
  const std::int64_t factor = m.mlp == mlp_kind::gated ? 2 : 1;
  auto up = column(p, s, x, m.hidden, factor * width, trains);
  if (adapts(s, first)) [[unlikely]] up = adapt_column(p, s, x, up, m.hidden, factor * width);
  if (m.mlp == mlp_kind::gated && s.habits->mlp.writes_out_glu) return row_parallel(p, s, written_out_glu(p, s, up, width), width, m.hidden, trains);
  const auto activated = p.make(divided(s, width), s.width);
  p.step(up.bit(), activated.bit(), {.saves = up.bit()});
  const auto y = row_parallel(p, s, activated, width, m.hidden, trains);
  return adapts(s, last) ? adapt_row(p, s, activated, y, width, m.hidden) : y;
}

/// One part of a dense layer, from residual stream to residual stream.
constexpr program dense_block(const scene& s, bool attention_part, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, input_has_gradient);
  const auto first = p.tensors();
  const auto n = norm(p, s, x, s.stream_tokens());
  if (s.recomputes(recompute_module::layernorm)) p.recompute(n.bit());
  const auto y = attention_part ? attend(p, s, trained, n) : feed_forward(p, s, n, m.ffn, trained.has(module::up_proj));
  if (!attention_part && s.recomputes(recompute_module::mlp)) p.recompute_since(first, x.bit());
  p.set_output(ops::add(p, x, ops::drop(p, y, s.drops.hidden)));
  return p;
}

/// Vocabulary-parallel cross entropy. Logits are tokens × padded vocabulary / tensor.
/// loss_style::upcast_in_loss: fp32 copy, then in place (tensor_parallel/cross_entropy.py); autocast: the compiled pieces of
/// "native" fusion, one more copy; in_place: TransformerEngine's, which writes the gradient over the logits.
constexpr tensor cross_entropy(program& p, const scene& s, tensor logits) {
  const auto loss = p.make(s.tokens, 4);
  if (s.loss_program == loss_style::in_place) {
    const auto statistics = p.make(checked::mul(4, s.tokens), 4);  // maximum, sum, target's logit and loss of each row
    p.step(logits.bit(), loss | statistics, {.saves = logits | statistics, .releases_first = true});
    return loss;
  }
  const auto elements = p.elements(logits);
  const auto masks = p.make(checked::mul(9, s.tokens), 1);  // masked targets (int64) and the mask of each row
  const bool copies = s.habits->loss.copies_scaled_logits;
  if (p.width(logits) == 4 && s.loss_program != loss_style::autocast && !copies) {  // logits.float() is the logits themselves, and so is their gradient
    p.step(logits.bit(), loss | masks, {.saves = logits | masks, .releases_first = true});
    return loss;
  }
  const auto wide = p.make(elements, 4, row::logits);
  const bytes copy = s.loss_program == loss_style::autocast || (copies && p.width(logits) != 4) ? p.rounded(elements, 4) : bytes{0};
  p.step(logits.bit(), loss | wide | masks, {.saves = wide | masks, .forward_temporary = copy, .temporaries = row::logits});
  return loss;
}

/// The head, and the loss of what it makes of the hidden state x.
constexpr tensor head_loss(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto logits = p.make(divided(s, s.vocabulary), s.width, row::logits);
  const bytes whole = s.sequence_split > 1 ? p.rounded(checked::mul(s.tokens, m.hidden), s.width) : bytes{0};
  const bool trains = trained.has(module::head);
  p.step(x.bit(), logits.bit(),
         {.saves = trains ? x.bit() : 0, .backward_temporary = whole,
          .weight_gradient = weight_gradient(p, s, checked::mul(s.vocabulary, m.hidden) / s.tensor, trains), .splits = true});
  return cross_entropy(p, s, logits);
}

/// BERT's layer before the head, whole on every tensor-parallel rank: torch's own linear layer, GELU and a norm
/// (core/models/bert/bert_lm_head.py BertLMHead). The pooler reads a position of the same input.
constexpr tensor masked_language_layer(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto h = s.model->hidden;
  const bool trains = trained.has(module::head);
  const auto y = p.make(p.elements(x), s.width), activated = p.make(p.elements(x), s.width);
  p.step(x.bit(), y.bit(), {.saves = trains ? x.bit() : 0, .weight_gradient = trains ? p.rounded(checked::mul(h, h), s.weight_width) : bytes{0}, .splits = trains});
  p.step(y.bit(), activated.bit(), {.saves = y.bit()});
  return norm(p, s, activated, s.stream_tokens());
}

/// What ms-swift ends a model with that has no head over the vocabulary (mcore_bridge model/gpt_model.py _postprocess): all tokens are gathered; scores are
/// made by a matrix that is whole on every rank, or the hidden states are divided by their lengths (F.normalize). They are turned to batch first, which
/// copies them where there are several rows, and one position of each text is read.
constexpr tensor pooled_loss(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const auto elements = checked::mul(s.tokens, m.hidden);
  auto whole = x;
  if (s.sequence_split > 1) {
    whole = p.make(elements, s.width);
    p.step(x.bit(), whole.bit());
  }
  const bool trains = trained.has(module::head);
  tensor y{};
  if (m.classes > 0) {
    y = p.make(checked::mul(s.tokens, m.classes), s.width);
    p.step(whole.bit(), y.bit(), {.saves = trains ? whole.bit() : 0, .weight_gradient = weight_gradient(p, s, checked::mul(m.classes, m.hidden), trains), .splits = true});
  } else {
    y = p.make(elements, s.width);
    const auto lengths = p.make(checked::mul(2, s.tokens), s.width);
    p.step(whole.bit(), y | lengths, {.saves = whole | lengths, .backward_temporary = 2 * p.size(whole)});
  }
  if (s.samples > 1) {
    const auto turned = p.make(p.elements(y), s.width);
    p.step(y.bit(), turned.bit());
    y = turned;
  }
  const auto loss = p.make(1, 4);
  p.step(y.bit(), loss.bit());
  return loss;
}

/// A generative reranker's scores: every rank gathers the logits of the whole vocabulary, and reads two words' of each token. In backward a tensor of zeros
/// as large is made for each, and they are added.
constexpr tensor two_words_loss(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const bool trains = trained.has(module::head);
  const auto logits = p.make(divided(s, s.vocabulary), s.width, row::logits);
  p.step(x.bit(), logits.bit(),
         {.saves = trains ? x.bit() : 0, .backward_temporary = s.sequence_split > 1 ? p.rounded(checked::mul(s.tokens, m.hidden), s.width) : bytes{0},
          .weight_gradient = weight_gradient(p, s, checked::mul(s.vocabulary, m.hidden) / s.tensor, trains), .splits = true});
  auto whole = logits;
  if (s.tensor > 1) {
    whole = p.make(checked::mul(s.tokens, s.vocabulary), s.width, row::logits);
    p.step(logits.bit(), whole.bit());
  }
  const auto apart = p.make(s.tokens, s.width), loss = p.make(1, 4);
  p.step(whole.bit(), apart.bit(), {.backward_temporary = p.size(whole), .temporaries = row::logits});
  p.step(apart.bit(), loss.bit(), {.saves = apart.bit()});
  return loss;
}

/// Head and loss of the last stage. Without multi-token prediction the final norm comes first. With it the norm has run already, and
/// the hidden states of the stack and of each module are joined in one tensor, whose parts go through the same head in turn: the
/// modules' losses are kept for backward before the model's own logits are made.
/// Errors: job_error for more than four such modules.
constexpr program head_and_loss(const scene& s, const module_set& trained) {
  const auto& m = *s.model;
  program p(s.granule);
  const auto x = p.input(streamed(s, m.hidden), s.residual_width, true);
  if (m.mtp_layers == 0) {
    auto last = norm(p, s, x, s.stream_tokens());
    if (m.head == head_kind::masked_language) last = masked_language_layer(p, s, trained, last);
    if (m.head == head_kind::none || s.scoring.of_two_words) {
      p.set_output(s.scoring.of_two_words ? two_words_loss(p, s, trained, last) : pooled_loss(p, s, trained, last));
      return p;
    }
    p.set_output(head_loss(p, s, trained, last));
    return p;
  }
  if (m.mtp_layers > max_mtp) refuse("headroom: for megatron model.mtp_layers must be from 0 to 4", m.mtp_layers);
  const auto joined = p.make(checked::mul(p.elements(x), m.mtp_layers + 1), p.width(x));
  p.step(x.bit(), joined.bit());
  const auto own = p.view(joined, p.elements(x));
  tensor_set parts = own.bit();
  std::array<tensor, max_mtp> modules{};
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) parts |= (modules[static_cast<std::size_t>(i)] = p.view(joined, p.elements(x))).bit();
  p.step(joined.bit(), parts);
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) head_loss(p, s, trained, modules[static_cast<std::size_t>(i)]);
  p.set_output(head_loss(p, s, trained, own));
  return p;
}

}  // namespace headroom::megatron
