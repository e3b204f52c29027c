// Distributed under the Boost Software License, Version 1.0.
// Which program computes the loss, and in which format; check_loss.hpp refuses what there is no program for.
#pragma once

#include <headroom/settle/check_loss.hpp>
#include <headroom/settle/settled_job.hpp>

namespace headroom::detail {

/// Megatron's loss is computed over a divided vocabulary, whatever loss.kind says. A fused one is TransformerEngine's kernel where the logits
/// stay in 16 bits, else the framework's own.
constexpr void settle_divided_loss(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.loss_program = loss_style::upcast_in_loss;
  if (j.loss.kind == loss_kind::fused) s.loss_program = j.loss.logits.bits == 16 ? loss_style::in_place : j.framework.loss.style;
  if (j.loss.kind == loss_kind::fused_linear || j.loss.kind == loss_kind::cut) s.loss_program = loss_style::fused_scores;
  if (j.loss.kind == loss_kind::unset) r.assumptions.add(assumption::loss_of_framework);
  if (scores_returned_logits(j.objective)) s.loss_program = loss_style::compared, s.scoring.one_row = j.batch.packed;
  s.scoring.saves_softmax = trains_by_nemo(j.objective);
}

/// Rows of a chunk of Unsloth's loss (unsloth_zoo fused_losses/cross_entropy_loss.py _get_chunk_multiplier, get_chunk_size): fp32 logits of so many as
/// half of what is free would hold, at the first loss, when neither gradients nor optimizer states are there. What passes through the layers is left out.
constexpr std::int64_t rows_by_memory(const settled_job& r, std::int64_t tokens) {
  const auto& how = r.source->framework.loss;
  const auto all = count(r.model).total.count(), tables = checked::mul(r.model.tied ? 1 : 2, r.model.vocab, r.model.hidden);
  const bool quantised = r.source->adapter.base.quantised();
  const auto base = quantised ? checked::add((all - tables) / 128 * 66, 2 * tables) : checked::mul(2, all);  // 4 bits, a byte of scale for 64 numbers
  const auto there = r.on->memory - r.source->hardware.taken - 400 * mib - bytes{base};
  constexpr auto least = 64 * mib;
  auto target = max(least, there) / 2;
  if (how.chunk_mib > 0) target = min(target, how.chunk_mib * mib);
  const auto whole = checked::mul(tokens, r.model.vocab, 4);
  if (how.rounds_chunks_up && whole <= target.count()) return tokens;
  const auto four = checked::mul(4, target.count());
  const auto chunks = how.rounds_chunks_up ? 4 * checked::ceil_div(whole, four) : 4 * (checked::add(whole, four / 2) / four);
  return checked::ceil_div(tokens, chunks > 0 ? chunks : 1);
}

/// Unsloth's loss is its own: cut where it cuts, whole of few tokens.
constexpr void settle_own_loss(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  const auto tokens = checked::mul(j.batch.micro, j.batch.longest());
  s.loss_program = j.framework.loss.style;
  if (s.loss_program == loss_style::chunked_by_memory) s.loss.chunk_tokens = rows_by_memory(r, tokens);
  if (tokens <= j.framework.loss.whole_up_to) s.loss_program = loss_style::in_place;
}

constexpr void settle_loss(settled_job& r) {
  const auto& j = *r.source;
  auto& s = r.layer;
  s.loss = j.loss;
  s.loss_program = j.framework.loss.style;
  if (j.framework.modules.megatron()) return settle_divided_loss(r);
  if (j.framework.kernels.adapted()) return settle_own_loss(r);
  switch (j.loss.kind) {
    case loss_kind::unset:
      r.assumptions.add(assumption::loss_of_framework);
      break;
    case loss_kind::full:
      if (s.loss_program == loss_style::chunked || s.loss_program == loss_style::in_place) s.loss_program = loss_style::upcast_in_loss;
      break;
    case loss_kind::chunked:
      if (chunks_by_trl(j)) {
        s.loss_program = loss_style::checkpointed_chunks;
        if (s.loss.chunk_tokens <= 0) s.loss.chunk_tokens = 256;  // trl/trainer/sft_trainer.py _CHUNKED_LM_HEAD_CHUNK_SIZE
      }
      break;
    case loss_kind::vocab_parallel: break;
    case loss_kind::fused: s.loss_program = loss_style::in_place; break;
    case loss_kind::fused_linear: s.loss_program = loss_style::fused_linear; break;
    case loss_kind::cut: s.loss_program = loss_style::cut; break;
  }
  if (j.framework.modules.dtensor()) {
    if ((j.loss.kind == loss_kind::unset || j.loss.kind == loss_kind::chunked) && j.parallel.tensor > 1) s.loss.kind = loss_kind::vocab_parallel;
    if (s.loss_program == loss_style::chunked_head && j.loss.chunked_head == choice::no) s.loss_program = loss_style::whole_or_divided;
  }
  if (shares_rows(j)) {
    s.loss_program = j.loss.kind == loss_kind::chunked ? loss_style::rows_again : loss_style::plain;
    if (!s.loss.logits.set()) s.loss.logits = r.precision.compute;
  }
  s.compiled_loss = j.compile && j.framework.compile.loss;
  if (r.model.encoder.layers > 0 && s.loss_program == loss_style::upcast_shifted) s.loss_program = loss_style::upcast_in_loss;  // labels are not shifted
  if (s.loss.kind == loss_kind::unset && s.loss_program == loss_style::chunked) s.loss.kind = loss_kind::chunked;
  if (!s.loss.logits.set()) {
    // T5, BART and Whisper hand their logits to cross_entropy as they are; so do models with one projection for q, k and v.
    const bool leaves = r.model.encoder.layers > 0 || (s.loss_program == loss_style::upcast_shifted && r.model.fused_qkv);
    s.loss.logits = leaves && !r.precision.autocasts() ? r.precision.compute : formats::fp32;
    r.assumptions.add(assumption::logits_format_of_framework);
  }
  if (s.loss_program == loss_style::chunked_in_loss) {
    const auto chunks = j.framework.loss.chunks;
    if (s.loss.kind == loss_kind::unset && chunks > 0) s.loss.kind = loss_kind::chunked;
    if (s.loss.chunk_tokens <= 0) s.loss.chunk_tokens = checked::ceil_div(j.batch.longest(), chunks > 0 ? chunks : 8);
    s.loss.chunked_head = choice::yes;
    if (s.compiled_loss) r.assumptions.add(assumption::compiled_chunks_in_place);
  }
  if (s.compiled_loss && s.loss.kind == loss_kind::full && j.framework.compile.scatters_loss_gradient) r.assumptions.add(assumption::compiled_loss_targets);
  if (s.loss_program == loss_style::chunked) {
    s.loss.logits = formats::fp32;  // Fabric converts what a module returns
    if (s.loss.chunk_tokens <= 0) s.loss.chunk_tokens = 128;
    if (s.loss.chunked_head == choice::unset) s.loss.chunked_head = j.adapter.active() ? choice::yes : choice::no;
  }
}

}  // namespace headroom::detail
