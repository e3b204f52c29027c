// Distributed under the Boost Software License, Version 1.0.
// Which loss code a method runs, as plain data: a row for each trainer. What it makes of the logits: block/preference_loss.hpp.
#pragma once

#include <headroom/recipe/objective.hpp>

#include <concepts>

namespace headroom {

/// How log-probabilities of labels are made of logits.
enum class label_scores : std::uint8_t {
  whole,      ///< log_softmax over all of them, which makes a slice contiguous first, and gather
  by_sample,  ///< sample after sample; of fp32 logits gather and a log-sum-exp (TRL since 0.15, trl/trainer/utils.py selective_log_softmax)
  in_chunks,  ///< gather and the log-sum-exp of 1024 tokens at a time (OpenRLHF openrlhf/models/utils.py _logsumexp_by_chunk)
  in_kernel,  ///< flash-attn's cross entropy, which saves the logits (flash_attn/ops/triton/cross_entropy.py)
  by_entropy, ///< nn.CrossEntropyLoss under autocast
};

/// How logits are divided by the temperature: where they lie, or into a copy of what is read of them, whose name the logits' takes.
enum class divided_by_temperature : std::uint8_t { no, in_place, into_copy };

/// A metric of the logits: their entropy, from log-probabilities, exponentials and the product of both.
enum class logits_entropy : std::uint8_t {
  none,
  of_copy,       ///< 128 tokens at a time, of a contiguous copy of the slice that is read
  in_chunks,     ///< … of logits that are contiguous as they are
  by_sample,     ///< of all tokens of a sample at once
  all_at_once,   ///< of a copy, of all tokens at once
  with_graph,    ///< 128 tokens at a time, whose log-probabilities and exponentials stand until the loss is there
};

/// The likelihood of the first half of the samples, by cross entropy of their logits: before all are scored, of a shifted copy; or after, of such a
/// copy or of the logits as they are, of the reference's, too; or of the last third's, a copy of what is labelled; or of such a copy once both models are scored. `unused`: the loss does not need it, but a variable names it until the loss is there.
/// `by_model`: of all samples, by the model itself, which is given the labels.
enum class half_entropy : std::uint8_t { none, by_model, before, after_of_copy, after_as_they_are, unused, after_of_third, after_reference };

/// How a trainer's code computes the loss of a method with several models: what it copies and keeps of the logits.
struct method_loss {
  label_scores scores{};
  divided_by_temperature divides{};
  logits_entropy entropy{};
  bool shifts{true};               ///< logits[:, :-1]; else labels are rolled
  bool widens{};                   ///< logits are made fp32 whatever they come in
  half_entropy likelihood{};
  bool names_logits{true};         ///< a variable names the logits until the loss is there
  bool names_reference{};          ///< … those of the reference, too
  bool copies_by_verdict{};        ///< … and copies of the samples that are wanted and of those that are not, and of the tokens of the first (KTO)
  bool keeps_logits{};             ///< … and keeps naming them through the backward
  bool keeps_probabilities{};      ///< … and log-probabilities of all words
  bool reads_completion{};         ///< of all logits the completion's are read, a slice
  bool overwrites{};               ///< the gradient is written over the saved logits (flash_attn cross_entropy_loss, inplace_backward)
  bool means_halves{};             ///< each model's logits of the first half of the samples are copied for a metric, then those of the others
  bool keeps_hidden_states{};      ///< the forward returns every layer's input, which the graph has of the policy and nobody of the reference
  bool one_row{};                  ///< samples lie one behind the other in a row, which is scored as one
  bool by_token{};                 ///< … and there token after token
  bool repads{};                   ///< texts of such a row are copied, each into a row of its own, before one position of each is read
  bool of_two_words{};             ///< a score is the difference of two words' logits
  bool saves_softmax{};            ///< a function of the trainer's own keeps the probabilities of all words, in fp32, for its backward
  bool in_pieces{};                ///< a divergence is computed of 512 tokens at a time, of copies of both models' logits
  bool selects{};                  ///< … or of all tokens at once, of such copies
  bool divergence{};               ///< a divergence from the teacher's distribution instead of scores
  divergence_kind towards{};
  std::int32_t top{};              ///< of the teacher's logits so many a token are compared; 0: all
  bool operator==(const method_loss&) const = default;
};

/// Sources: TRL trl/trainer/dpo_trainer.py and kto_trainer.py _compute_loss (since 0.29), trl/experimental/{orpo,cpo}/*_trainer.py concatenated_forward and
/// get_batch_logps, trl/experimental/gkd/gkd_trainer.py generalized_jsd_loss; 0.15 to 0.28 dpo_trainer.py
/// concatenated_forward (output_hidden_states since 0.19, 53c4a7c2b of 2025-06-12); up to 0.11 get_batch_logps;
/// ms-swift swift/rlhf_trainers/dpo_trainer.py concatenated_forward, kto_trainer.py forward, gkd_loss.py and rlhf_mixin.py get_per_token_logps (the
/// likelihood from scores since 19b34bc5c of 2025-06-11; label by label since c60ceecfe of 2025-05-15, get_batch_logps and get_nll_loss before); LLaMA-Factory
/// src/llamafactory/train/dpo/trainer.py concatenated_forward and trainer_utils.py get_batch_logps; OpenRLHF openrlhf/models/actor.py forward.
/// GKD of ms-swift up to 3.11: TRL's divergence, of the tokens that have a label (swift/trainers/rlhf_trainer/gkd_trainer.py compute_loss; in pieces
/// since b3d0d794e of 2025-12-23).
/// GRPO and RLOO: TRL trl/trainer/grpo_trainer.py _get_per_token_logps_and_entropies: in place since 1.0 (c49f3753e of 2026-03-10, rloo_trainer.py
/// f18d59425), a copy before; entropies 128 tokens at a time since 0.23 (deae7e00b of 2025-09-04), sample by sample since 0.20 (7e8ef867a of
/// 2025-06-25), none before; ms-swift swift/rlhf_trainers/grpo_trainer.py
/// _get_logps_via_local_forward, whose entropies, where they are asked for, are made without torch.no_grad(); verl verl/workers/actor/dp_actor.py _forward_micro_batch without
/// entropy, on samples without padding.
/// OpenRLHF's GRPO and RLOO: openrlhf/models/actor.py forward, at temperature 1 and without entropies.
/// TPO: TRL trl/experimental/tpo/tpo_trainer.py _compute_loss (since 1.7, c6d2f3ae3 of 2026-06-19).
/// Nash-MD: TRL trl/experimental/nash_md/nash_md_trainer.py _compute_logprobs (sample by sample since 0.15, 09eefa73a of 2025-02-08).
/// RLOO up to 0.21: TRL trl/trainer/rloo_trainer.py train (sample by sample since 0.15, 09eefa73a of 2025-02-08), trl/trainer/utils.py forward, which returns hidden states.
/// PPO and online DPO: TRL trl/experimental/ppo/ppo_trainer.py train and trl/experimental/online_dpo/online_dpo_trainer.py _forward; OpenRLHF
/// openrlhf/models/actor.py forward; DeepSpeed-Chat dschat/rlhf/ppo_trainer.py train_rlhf, gather_log_probs; LLaMA-Factory
/// src/llamafactory/train/ppo/trainer.py batched_forward_pass over TRL 0.9's PPOTrainer.train_minibatch and loss, whose language-model head with a
/// value head makes fp32 logits (trl/models/modeling_value_head.py forward).
/// verl's fine-tuning: verl/trainer/fsdp_sft_trainer.py _compute_loss_and_backward.
/// NeMo-RL's DTensor workers: nemo_rl/distributed/model_utils.py get_next_token_logprobs_from_logits, of logits that
/// nemo_rl/models/automodel/train.py forward_with_post_processing_fn names (7ea279ab of 2026-08-22). Samples of a packed row are scored one by one
/// (nemo_rl/algorithms/loss/wrapper.py SequencePackingLossWrapper): in backward all gradients are added up in one as large as the logits, beside another, as
/// one sample's are beside what it saved; of many short samples, or of one, that is as much.
/// `kernels`: flash-attn is installed.
constexpr method_loss loss_of(const objective& o, bool kernels) {
  const auto half = o.kind == objective_kind::orpo || o.kind == objective_kind::cpo ? half_entropy::before : half_entropy::none;
  const auto beside = o.sft_weight > 0 ? half_entropy::by_model : half_entropy::none;  // GKD's sft_alpha: compute_loss hands labels to the student
  const bool compares = traits_of(o.kind).reference;
  const auto wanted = o.kind == objective_kind::dpo && o.sft_weight > 0 ? half_entropy::after_reference : half;  // loss_type "sft"
  if (o.code == method_code::nemo_rl) return {.scores = label_scores::whole};
  if (o.kind == objective_kind::sft && o.code == method_code::verl) return {.scores = label_scores::by_entropy, .keeps_logits = true};
  if (traits_of(o.kind).teacher && o.code == method_code::ms_swift) return {.shifts = false, .likelihood = beside, .names_reference = true, .in_pieces = true, .divergence = true, .towards = o.divergence, .top = o.top_logits};
  if (distils_by_swift(o)) return {.shifts = false, .likelihood = beside, .names_reference = true, .selects = true, .divergence = true};
  if (traits_of(o.kind).teacher) return {.names_reference = true, .divergence = true};
  if (o.kind == objective_kind::online_dpo) return {.scores = label_scores::whole, .names_logits = false, .reads_completion = true};
  if (o.kind == objective_kind::nash_md) return {.scores = label_scores::by_sample, .names_logits = false, .reads_completion = true};
  if (rolls_out_as_ppo(o))
    return {.scores = o.code == method_code::trl_0_14 ? label_scores::whole : label_scores::by_sample, .divides = divided_by_temperature::in_place, .keeps_logits = true,
            .keeps_probabilities = o.code == method_code::trl_0_14, .reads_completion = true, .keeps_hidden_states = true};
  if (o.kind == objective_kind::ppo) switch (o.code) {
      case method_code::verl: return {.scores = label_scores::in_kernel, .divides = divided_by_temperature::in_place, .shifts = false, .overwrites = true};
      case method_code::openrlhf: return {.scores = kernels ? label_scores::in_kernel : label_scores::in_chunks, .shifts = false, .widens = true, .names_logits = false};
      case method_code::deepspeed_chat: return {.scores = label_scores::whole, .keeps_logits = true};
      case method_code::llama_factory: return {.scores = label_scores::whole, .entropy = logits_entropy::all_at_once, .widens = true, .names_logits = false};
      default: return {.scores = label_scores::by_sample, .divides = divided_by_temperature::in_place, .keeps_logits = true, .reads_completion = true, .keeps_hidden_states = true};
    }
  if (o.kind == objective_kind::grpo || o.kind == objective_kind::rloo) {
    using enum divided_by_temperature;
    switch (o.code) {
      case method_code::verl: return {.scores = label_scores::in_kernel, .divides = in_place, .shifts = false, .overwrites = true};
      case method_code::ms_swift: return {.scores = label_scores::by_sample, .divides = in_place, .entropy = o.entropies ? logits_entropy::with_graph : logits_entropy::none};
      case method_code::openrlhf: return {.scores = kernels ? label_scores::in_kernel : label_scores::in_chunks, .shifts = false, .widens = true, .names_logits = false};
      case method_code::trl_0_29: return {.scores = label_scores::by_sample, .divides = into_copy, .entropy = logits_entropy::in_chunks};
      case method_code::trl_0_22: return {.scores = label_scores::by_sample, .divides = into_copy, .entropy = logits_entropy::by_sample};
      case method_code::trl_0_19: return {.scores = label_scores::by_sample, .divides = into_copy};
      default: return {.scores = label_scores::by_sample, .divides = in_place, .entropy = logits_entropy::of_copy};
    }
  }
  if (o.kind == objective_kind::tpo) return {.scores = label_scores::by_sample, .entropy = logits_entropy::of_copy, .likelihood = half_entropy::after_of_third};
  switch (o.code) {
    case method_code::trl_0_28: return {.scores = label_scores::by_sample, .shifts = false, .names_logits = false, .means_halves = true, .keeps_hidden_states = true};
    case method_code::trl_0_14: return {.scores = label_scores::whole, .likelihood = half};
    case method_code::llama_factory: return {.scores = label_scores::whole, .widens = true};
    case method_code::openrlhf: return {.scores = kernels ? label_scores::in_kernel : label_scores::in_chunks, .shifts = false, .widens = true, .names_logits = false};
    case method_code::ms_swift_3_4:
      if (compares) return {.scores = label_scores::whole, .likelihood = o.sft_weight > 0 ? half_entropy::after_of_copy : half_entropy::none, .names_logits = false};
      break;
    case method_code::ms_swift_3_5:
      if (compares) return {.scores = label_scores::by_sample, .shifts = false, .likelihood = o.sft_weight > 0 ? half_entropy::after_as_they_are : half_entropy::unused, .names_logits = false};
      break;
    case method_code::ms_swift:
      if (o.kind == objective_kind::kto) return {.scores = label_scores::by_sample, .shifts = false, .names_logits = false};
      if (compares) return {.scores = label_scores::by_sample, .shifts = false};
      break;
    default: break;
  }
  return {.scores = label_scores::by_sample, .entropy = compares ? logits_entropy::of_copy : logits_entropy::none, .likelihood = wanted, .names_reference = compares,
          .copies_by_verdict = o.kind == objective_kind::kto};
}

/// NeMo-RL's workers make log-probabilities of the logits that the model returns, whatever they train for.
constexpr bool trains_by_nemo(const objective& o) {
  return o.code == method_code::nemo_rl && (o.kind == objective_kind::sft || o.kind == objective_kind::dpo || o.kind == objective_kind::grpo);
}

/// … as ms-swift's GRPO over Megatron's layers does, where its other methods there, and verl's, have the loss of each token from Megatron
/// (block/divided_scores.hpp).
constexpr bool scores_returned_logits(const objective& o) { return trains_by_nemo(o) || (o.code == method_code::ms_swift_megatron && o.kind == objective_kind::grpo); }

/// Whether a trainer's code of a method that generates is modelled.
constexpr bool models_generating(const objective& o) {
  using enum method_code;
  switch (o.kind) {
    case objective_kind::ppo: return o.code == trl || o.code == verl || o.code == openrlhf || o.code == deepspeed_chat || o.code == llama_factory;
    case objective_kind::online_dpo:
    case objective_kind::nash_md: return o.code == trl;
    case objective_kind::rloo:
    case objective_kind::grpo: return o.code == trl || o.code == trl_0_29 || o.code == trl_0_22 || (o.code == trl_0_19 && o.kind == objective_kind::grpo) || rolls_out_as_ppo(o) || o.code == ms_swift || o.code == verl || o.code == openrlhf || scores_returned_logits(o);
    default: return false;
  }
}

/// Whether a trainer's loss code of a method is modelled.
constexpr bool models_loss(const objective& o) {
  using enum objective_kind;
  const auto is = [&](std::same_as<objective_kind> auto... kinds) { return ((o.kind == kinds) || ...); };
  switch (o.code) {
    case method_code::unset:
    case method_code::trl: return true;
    case method_code::trl_0_28: return is(dpo);
    case method_code::trl_0_14: return is(dpo, orpo, cpo, simpo);
    case method_code::ms_swift_3_11: return is(distill);
    case method_code::ms_swift_3_5:
    case method_code::ms_swift_3_4: return is(dpo);
    case method_code::ms_swift: return is(dpo, kto, orpo, cpo, simpo, distill, reward, classification, embedding, rerank);
    case method_code::llama_factory: return is(dpo, kto, orpo, simpo, reward);
    case method_code::openrlhf: return is(sft, dpo, reward);
    case method_code::verl: return is(sft);
    case method_code::nemo_rl: return is(sft, dpo);
    default: return false;
  }
}

}  // namespace headroom
