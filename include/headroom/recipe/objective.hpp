// Distributed under the Boost Software License, Version 1.0.
// What a step optimises: the method, whose loss code computes it, and the models beside the one that trains.
#pragma once

#include <headroom/layout/sharding.hpp>
#include <headroom/model/shape.hpp>
#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// Methods that differ in models, batches or losses; what differs in arithmetic alone (IPO, DAPO) is an alias (io/syntax/names.hpp).
enum class objective_kind : std::uint8_t { sft, dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank, distill, online_dpo, ppo, grpo, rloo, nash_md, tpo };

/// Whose code runs the method. Where its loss changed, an older release has a name of its own.
enum class method_code : std::uint8_t { unset, trl, trl_0_29, trl_0_28, trl_0_22, trl_0_21, trl_0_19, trl_0_14, ms_swift, ms_swift_3_11, ms_swift_3_5, ms_swift_3_4, ms_swift_megatron, ms_swift_megatron_3_12, ms_swift_megatron_3_8, llama_factory, openrlhf, verl, nemo_rl, slime, deepspeed_chat, medicalgpt };

/// How the reference's log-probabilities come about: by a copy of the model; by the model with its adapters switched off; by weights that are
/// swapped in from the host; once, before the first step, so that they are data; or there is none.
enum class reference_way : std::uint8_t { unset, copy, adapter_off, swapped, precomputed, none };

/// Which divergence a distillation computes of the teacher's distribution and the student's: the generalised Jensen-Shannon divergence, or one of its
/// ends (Agarwal et al. 2023, equation 1: beta between 0 and 1, 0, or 1).
enum class divergence_kind : std::uint8_t { jensen_shannon, forward, reverse };

/// A model beside the one that trains: its own shape, and what its standing has of its own. The rest is the job's.
struct model_role {
  shape model{};                     ///< no layers: there is no such model
  number_format parameters{};        ///< of its weights; not set(): the job's
  std::int32_t stage{-1};            ///< of its own sharding, under DeepSpeed; -1: the job's
  std::int32_t micro{};              ///< completions that a critic trains on, or a reward model scores, at once; 0: as many as the policy
  place parameters_at{};             ///< where its weights wait; on the host they are gathered a unit at a time
  choice recompute{};                ///< of a critic: its layers are computed again in its backward; unset: as the policy's

  [[nodiscard]] constexpr bool given() const { return model.layers > 0; }
  bool operator==(const model_role&) const = default;
};

/// What a job trains for, and the models beside the one that trains. Unset: the next token.
struct objective {
  objective_kind kind{};
  method_code code{};
  reference_way reference{};
  number_format reference_format{};  ///< of the weights of a reference that is a copy; not set(): the job's
  place reference_at{};              ///< where a reference that is a copy waits: on the host it comes whole, or a unit at a time where weights are gathered
  std::int32_t sft_weight{};         ///< of the likelihood of the answers that are wanted, beside the comparison, in millionths; 0: it is not computed
  bool reward_adapter{};             ///< the reward model is the trained one with other adapters, which lie beside its own
  model_role frozen{};               ///< a teacher, of a distillation and of ms-swift's GRPO; else a reward model, without which a function or a server scores
  bool entropies{};                  ///< of the completions' tokens are made with a graph, which stands until the loss is there (ms-swift's GRPO)
  bool averages{};                   ///< a copy of the policy stands beside the reference, in the same way, and is averaged with the policy after each update
  model_role critic{};               ///< trains beside the policy: a score for each token instead of the vocabulary's head
  std::int32_t texts{};              ///< of each example of an embedding or a reranker: with its negatives; 0: as many as the method has
  bool generative{};                 ///< a reranker's score is the difference of two words' logits, made by two rows of the language head
  divergence_kind divergence{};      ///< of a distillation
  std::int32_t top_logits{};         ///< of the teacher's logits so many a token are compared, the largest; 0: all

  [[nodiscard]] constexpr bool has_teacher() const { return kind == objective_kind::distill && frozen.given(); }
  [[nodiscard]] constexpr bool has_reward() const { return kind != objective_kind::distill && frozen.given(); }
  /// Whether what scores completions is a teacher: its log-probabilities are the reward (ms-swift grpo_trainer.py _compute_teacher_logps).
  [[nodiscard]] constexpr bool reward_teaches() const { return kind == objective_kind::grpo && code == method_code::ms_swift; }
  bool operator==(const objective&) const = default;
};

/// Whether the trainer's own code computes the loss: of every method, of OpenRLHF's and NeMo-RL's fine-tuning, which sum log-probabilities of the
/// labels (openrlhf/trainer/sft_trainer.py fit, nemo_rl/algorithms/loss/loss_functions.py NLLLossFn), and of verl's (verl/trainer/fsdp_sft_trainer.py).
constexpr bool has_own_loss(const objective& o) { return o.kind != objective_kind::sft || o.code == method_code::openrlhf || o.code == method_code::nemo_rl || o.code == method_code::verl; }

/// Whether the trained model keeps its language head beside the score for which it trains (LLaMA-Factory: TRL's
/// AutoModelForCausalLMWithValueHead, trl/models/modeling_value_head.py up to 0.11).
constexpr bool scores_beside_words(const objective& o) { return o.kind == objective_kind::reward && o.code == method_code::llama_factory; }

/// … or keeps it though its loss reads no logits over the vocabulary.
constexpr bool keeps_language_head(const objective& o) { return scores_beside_words(o) || (o.kind == objective_kind::rerank && o.generative); }

/// What a method is, apart from who runs it.
struct objective_traits {
  objective_kind kind{};
  std::int64_t sequences{1};         ///< of each example that batch.micro counts: a pair has two
  bool reference{};                  ///< compares with a reference, unless it is left out
  bool teacher{};
  bool vocabulary{true};             ///< its loss reads logits
  bool modelled{};                   ///< by this version
};
inline constexpr std::array<objective_traits, 17> all_objectives{{
    {.kind = objective_kind::sft, .modelled = true},
    {.kind = objective_kind::dpo, .sequences = 2, .reference = true, .modelled = true},
    {.kind = objective_kind::kto, .reference = true, .modelled = true},
    {.kind = objective_kind::orpo, .sequences = 2, .modelled = true},
    {.kind = objective_kind::cpo, .sequences = 2, .modelled = true},
    {.kind = objective_kind::simpo, .sequences = 2, .modelled = true},
    {.kind = objective_kind::reward, .sequences = 2, .vocabulary = false, .modelled = true},
    {.kind = objective_kind::classification, .vocabulary = false, .modelled = true},
    {.kind = objective_kind::embedding, .sequences = 2, .vocabulary = false, .modelled = true},
    {.kind = objective_kind::rerank, .vocabulary = false, .modelled = true},
    {.kind = objective_kind::distill, .teacher = true, .modelled = true},
    {.kind = objective_kind::online_dpo, .sequences = 2, .reference = true, .modelled = true},
    {.kind = objective_kind::ppo, .reference = true, .modelled = true},
    {.kind = objective_kind::grpo, .reference = true, .modelled = true},
    {.kind = objective_kind::rloo, .reference = true, .modelled = true},
    {.kind = objective_kind::nash_md, .reference = true, .modelled = true},
    {.kind = objective_kind::tpo, .sequences = 3, .modelled = true},
}};
static_assert([] {
  for (std::size_t i = 0; i < all_objectives.size(); ++i)
    if (static_cast<std::size_t>(all_objectives[i].kind) != i) return false;
  return true;
}(), "the table has one entry for each method, in their order");

/// Sequences of each example that batch.micro counts.
constexpr std::int64_t sequences_of(const objective& o) { return o.texts > 0 ? o.texts : all_objectives[static_cast<std::size_t>(o.kind)].sequences; }

/// Methods that train on what the model generates.
constexpr bool generates(objective_kind k) { return k == objective_kind::online_dpo || k == objective_kind::ppo || k == objective_kind::grpo || k == objective_kind::rloo || k == objective_kind::nash_md; }

/// ms-swift's distillation, of any release that is modelled.
constexpr bool distils_by_swift(const objective& o) { return o.kind == objective_kind::distill && (o.code == method_code::ms_swift || o.code == method_code::ms_swift_3_11); }

/// TRL's GKD.
constexpr bool distils_by_trl(const objective& o) { return o.kind == objective_kind::distill && (o.code == method_code::trl || o.code == method_code::unset); }

/// … or may: a distillation learns from answers of the student's own, where a rollout is given (ms-swift swift/rlhf_trainers/gkd_trainer.py
/// _rollout_samples; TRL trl/experimental/gkd/gkd_trainer.py training_step).
constexpr bool may_generate(const objective& o) { return generates(o.kind) || distils_by_swift(o) || distils_by_trl(o); }

/// Methods that generate and score the completions before they train on them. Online DPO and Nash-MD compare them with the reference while they train.
constexpr bool scores_first(objective_kind k) { return generates(k) && k != objective_kind::online_dpo && k != objective_kind::nash_md; }

/// Whose actor and critic are one module, of which one backward and one update are made (TRL's PolicyAndValueWrapper); elsewhere each has an
/// engine of its own, and they train in turn.
constexpr bool wraps_critic(const objective& o) { return o.critic.given() && (o.code == method_code::trl || o.code == method_code::unset); }

/// TRL's RLOO up to 0.21, a copy of its PPO without a critic (trl/trainer/rloo_trainer.py, 0.8 to 0.21); up to 0.14 scores were made of all samples at once.
constexpr bool rolls_out_as_ppo(const objective& o) { return o.kind == objective_kind::rloo && (o.code == method_code::trl_0_21 || o.code == method_code::trl_0_14); }

/// Whose generation keeps the scores of every word until they are read.
constexpr bool keeps_generated_scores(const objective& o) { return rolls_out_as_ppo(o) || (o.kind == objective_kind::ppo && wraps_critic(o)); }

/// TRL's, of any release.
constexpr bool of_trl(method_code c) { return c >= method_code::trl && c <= method_code::trl_0_14; }

/// ms-swift's over Megatron-Core, of any release.
constexpr bool of_swift_megatron(method_code c) { return c >= method_code::ms_swift_megatron && c <= method_code::ms_swift_megatron_3_8; }

/// … over transformers' modules.
constexpr bool of_swift(method_code c) { return c >= method_code::ms_swift && c <= method_code::ms_swift_3_4; }

/// The row of a method.
constexpr const objective_traits& traits_of(objective_kind k) { return all_objectives[static_cast<std::size_t>(k)]; }

}  // namespace headroom
