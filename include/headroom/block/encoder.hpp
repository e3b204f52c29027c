// Distributed under the Boost Software License, Version 1.0.
// What reads an encoder's last hidden state: BERT's heads and their relatives.
// Sources: transformers models/bert/modeling_bert.py (BertPooler, BertLMPredictionHead, BertForSequenceClassification,
// BertForTokenClassification, BertForPreTraining), models/vit/modeling_vit.py ViTForImageClassification.
#pragma once

#include <headroom/block/loss.hpp>

namespace headroom {

namespace ops {

/// The first position of each sample: a slice, whose gradient is a tensor of zeros as large as the whole.
constexpr tensor first_positions(program& p, const scene& s, tensor x) {
  const auto y = p.view(x, checked::mul(s.samples, s.model->hidden));
  p.step(x.bit(), y.bit());
  return y;
}

/// Texts that lie one behind the other in a row, each copied into a row of its own: every one is joined to its padding, then all are stacked. In
/// backward each is padded to the whole row and added (ms-swift swift/model/patcher.py revert_padding_free). Texts are taken to be equally long.
constexpr tensor padded_again(program& p, tensor x) {
  const auto each = p.make(p.elements(x), p.width(x)), all = p.make(p.elements(x), p.width(x));
  p.step(x.bit(), each.bit(), {.backward_temporary = p.size(x)});
  p.step(each.bit(), all.bit());
  return all;
}

/// Positions of all ranks, of which each has computed some of a row: what comes is a piece from each, and then one tensor; backward takes this rank's (ms-swift
/// swift/model/patcher.py gather_sequence_parallel_outputs; swift/sequence_parallel gather, GatherTensor).
constexpr tensor gathered_positions(program& p, const scene& s, tensor x) {
  if (!exchanges_positions(s)) return x;
  const auto y = p.make(checked::mul(p.elements(x), s.context), p.width(x));
  p.step(x.bit(), y.bit(), {.forward_temporary = p.size(y)});
  return y;
}

/// CrossEntropyLoss over rows × classes: autocast computes it in fp32.
constexpr tensor classify(program& p, const scene& s, const module_set& trained, tensor x, std::int64_t in) {
  const auto& m = *s.model;
  const auto logits = multiply(p, s, x, {.in = in, .out = m.classes, .bias = m.head_bias, .trains = trained.has(module::head), .result = row::logits});
  return cross_entropy(p, s, s.autocast ? cast(p, logits, 4) : logits);
}

/// BCEWithLogitsLoss of a score for each token that is no padding (ElectraForPreTraining.forward). The boolean mask is two lists of places; targets
/// become fp32; ATen native/Loss.cpp binary_cross_entropy_with_logits makes two results of the scores' size and keeps scores and targets.
constexpr tensor judge_tokens(program& p, const scene& s, const module_set& trained, tensor x) {
  auto scores = multiply(p, s, x, {.in = s.model->hidden, .out = 1, .bias = true, .trains = trained.has(module::head), .result = row::logits});
  const auto places = p.make(2 * s.tokens, 8), chosen = p.make(s.tokens, p.width(scores)), targets = p.make(s.tokens, 4), loss = p.make(1, 4);
  p.step(scores.bit(), chosen | places, {.saves = places.bit()});
  scores = s.autocast ? cast(p, chosen, 4) : chosen;
  p.step(0, targets.bit());
  p.step(scores | targets, loss.bit(), {.saves = scores | targets, .forward_temporary = 2 * p.size(targets), .backward_temporary = p.size(targets)});
  return loss;
}

/// A dense layer, its function and a norm (BertPredictionHeadTransform, ModernBertPredictionHead).
constexpr tensor transform(program& p, const scene& s, tensor x, std::int64_t width, bool bias, bool trains) {
  const auto& m = *s.model;
  return norm(p, s, activate(p, s, multiply(p, s, x, {.in = m.hidden, .out = width, .bias = bias, .trains = trains}), m.activation), width, trains);
}

/// … then the matrix to the vocabulary; labels are not shifted.
constexpr tensor masked_language(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto& m = *s.model;
  const bool trains = trained.has(module::head);
  const auto width = m.embedding_width();
  const auto y = transform(p, s, x, width, !m.transformed_classes, trains);
  const auto logits = multiply(p, s, y, {.in = width, .out = s.vocabulary, .bias = true, .trains = trains, .waits = m.tied, .result = row::logits});
  if (s.habits->loss.keeps_outputs()) p.hold_through_backward(logits);
  p.hold_in_forward(logits);
  const bool wide = s.autocast || m.transformed_classes;  // loss_utils.py ForMaskedLMLoss, which only newer classes call
  return cross_entropy(p, s, cast(p, logits, wide ? 4 : p.width(logits)));
}

}  // namespace ops

/// From the last layer's output to the scalar, for models that do not predict the next token. A bare model ends in a scalar that
/// keeps nothing: its loss is the user's.
constexpr program encoder_head(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  if (!m.no_final_norm) x = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  tensor loss{};
  if (m.head != head_kind::none) loss = ops::masked_language(p, s, trained, x);
  const bool patches = m.vision.kind != vision_kind::none;  // ViT's classifier reads its class token
  auto y = x;
  if (m.pooler || (patches && m.classes > 0)) y = ops::first_positions(p, s, x);
  if (m.transformed_classes && m.classes > 0) {
    y = ops::transform(p, s, y, m.hidden, false, trained.has(module::head));
  } else if (m.pooler || m.scored_tokens) {
    y = ops::multiply(p, s, y, {.in = m.hidden, .out = m.hidden, .bias = true, .trains = trained.has(module::head)});
    y = ops::activate(p, s, y, m.pooler ? activation_kind::tanh : m.activation);
  }
  if (s.scoring.repads) y = ops::padded_again(p, ops::gathered_positions(p, s, y));
  if (m.scored_tokens) {
    loss = ops::judge_tokens(p, s, trained, y);
  } else if (m.classes > 0) {
    if (!patches) y = ops::drop(p, y, s.drops.hidden);
    y = ops::classify(p, s, trained, y, m.hidden);
    loss = loss.valid() ? ops::add(p, loss, y) : y;
  }
  if (!loss.valid()) {
    loss = p.make(1, 4);
    p.step(y.bit(), loss.bit());
  }
  p.set_output(loss);
  return p;
}

/// A generative reranker's score of each token: two rows of the language head are copied and multiplied, and the products' difference is read where a
/// text ends. The two rows' gradient is as large as the head (ms-swift swift/utils/torch_utils.py get_generative_reranker_logits). Texts of one row are
/// copied before (swift/trainers/mixin.py _patch_tasks).
constexpr program two_words_head(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  const bool trains = trained.has(module::head);
  program p(s.granule);
  auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  if (!m.no_final_norm) x = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  if (s.scoring.repads) x = ops::padded_again(p, ops::gathered_positions(p, s, x));
  if (s.autocast) x = ops::cast(p, x, s.width);
  const auto rows = p.elements(x) / m.hidden;
  const auto words = p.make(checked::mul(2, m.hidden), s.width), scores = p.make(checked::mul(2, rows), s.width), apart = p.make(rows, s.width), loss = p.make(1, 4);
  p.step(0, words.bit(), {.weight_gradient = trains ? p.rounded(checked::mul(s.vocabulary, m.embedding_width()), s.weight_width) : bytes{0}, .gradient_waits = m.tied});
  p.step(x | words, scores.bit(), {.saves = (trains ? x.bit() : 0) | (p.needs_gradient(x) ? words.bit() : 0)});
  p.step(scores.bit(), apart.bit());
  p.step(apart.bit(), loss.bit(), {.saves = apart.bit()});
  p.set_output(loss);
  return p;
}

/// A score of each token beside the language head: logits are made, also in fp32, and go as soon as the forward is over, since nobody reads
/// them; the last hidden state is dropped from and read by a linear layer with a bias (trl/models/modeling_value_head.py ValueHead,
/// summary_dropout_prob 0.1, and AutoModelForCausalLMWithValueHead.forward; LLaMA-Factory train/rm/trainer.py compute_loss).
constexpr program value_head(const scene& s, const module_set& trained, bool input_has_gradient) {
  const auto& m = *s.model;
  program p(s.granule);
  auto x = p.input(checked::mul(s.tokens, m.hidden), s.residual_width, input_has_gradient);
  if (!m.no_final_norm) x = ops::norm(p, s, x, m.hidden, trained.has(module::norm));
  const auto words = checked::mul(s.tokens, s.vocabulary);
  p.step(0, 0, {.holds = x.bit(), .forward_temporary = p.rounded(words, s.width) + (s.width < 4 ? p.rounded(words, 4) : bytes{0}), .temporaries = row::logits});
  auto y = ops::drop(p, x, probability::of(0.1));
  if (s.autocast) y = ops::cast(p, y, 4);
  const auto values = ops::multiply(p, s, y, {.in = m.hidden, .out = m.classes, .bias = true, .trains = trained.has(module::head)});
  const auto loss = p.make(1, 4);
  p.step(values.bit(), loss.bit(), {.saves = values.bit()});
  p.set_output(loss);
  return p;
}

}  // namespace headroom
