// Distributed under the Boost Software License, Version 1.0.
// What ends a model of Megatron's layers: the head over the vocabulary, which tensor parallelism divides, and losses of other heads.
// Sources: Megatron-LM core/tensor_parallel/cross_entropy.py, core/models/gpt/gpt_model.py.
#pragma once

#include <headroom/block/divided_scores.hpp>
#include <headroom/block/fused_scores.hpp>
#include <headroom/block/megatron.hpp>

namespace headroom::megatron {

inline constexpr std::int64_t max_mtp = 4;  ///< multi-token-prediction modules, each with logits of its own in one program

/// Vocabulary-parallel cross entropy. Logits are tokens × padded vocabulary / tensor.
/// loss_style::upcast_in_loss: fp32 copy, then in place (tensor_parallel/cross_entropy.py); autocast: the compiled pieces of
/// "native" fusion, one more copy; in_place: TransformerEngine's, which writes the gradient over the logits.
constexpr tensor cross_entropy(program& p, const scene& s, tensor logits) {
  if (s.loss_program == loss_style::compared) return divided_scores(p, s, logits);
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
  if (s.loss_program == loss_style::fused_scores) {  // of all tokens; what came in is named until the loss is there
    p.hold_in_forward(x);
    auto whole = x;
    if (s.sequence_split > 1) {
      whole = p.make(checked::mul(s.tokens, m.hidden), s.width);
      p.step(x.bit(), whole.bit());
    }
    return ops::kernel_scores(p, s, whole, s.vocabulary / s.tensor, trained.has(module::head), false);
  }
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
