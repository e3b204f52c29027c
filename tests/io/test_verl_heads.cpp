// Distributed under the Boost Software License, Version 1.0.
// verl's commands: how the head's logits become scores. Fused with the head (use_fused_kernels), and of samples that keep their padding (use_remove_padding=False).
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_verl_heads {

using namespace imported;

namespace {

const std::string least =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.rollout.enforce_eager=False ";
const std::string bare = "actor_rollout_ref.model.use_remove_padding=True ", padded = "actor_rollout_ref.model.use_remove_padding=False ", fused = "actor_rollout_ref.model.use_fused_kernels=True ";
const std::string megatron = "--config-name=ppo_megatron_trainer.yaml actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 ";
job said(const std::string& more) { return job_of({{"run.sh", least + more + "\n"}}); }
std::string refused(const std::string& more) { return refusal_of({{"run.sh", least + more + "\n"}}); }

constexpr std::int64_t v = 152'064, h = 3584, tokens = 4 * 1536;
/// Without checkpoints the loss is the tallest moment of backward.
const std::string whole = "actor_rollout_ref.model.enable_gradient_checkpointing=False ";
bytes at(const report& r, phase when, row what) { return r.ranks[0].at_phase[static_cast<std::size_t>(when)][what]; }

}  // namespace

// verl/utils/experimental/torch_functional.py: 512 tokens at a time. In forward four fp32 tensors of the vocabulary (logits, probabilities, their logarithm, one more); in
// backward three beside the gradient in bf16 and the weight's, and that of the 512 tokens before.
TEST_CASE("scores of 512 tokens at a time") {
  const auto j = said(bare + fused);
  CHECK(j.loss.kind == loss_kind::fused_linear);
  const auto r = estimate(j);
  CHECK(at(r, phase::loss_forward, row::logits) == bytes{4 * 4 * 512 * v});
  CHECK(at(r, phase::backward, row::logits) == bytes{3 * 4 * 512 * v + 2 * 512 * v + 2 * (2 * v * h) + 2 * 512 * h});
  const auto plain = estimate(said(bare));
  CHECK(at(plain, phase::loss_forward, row::logits) == bytes{2 * v * tokens});
  const auto less = plain.ranks[0][phase::score] - r.ranks[0][phase::score];
  CHECK(less <= bytes{2 * v * tokens - 4 * 4 * 512 * v});
  CHECK(less >= bytes{0});
  CHECK(holds(refused(bare + fused + "actor_rollout_ref.actor.entropy_coeff=0.001"), "an entropy in the loss beside use_fused_kernels with impl_backend torch"));
  CHECK(said(bare + fused + "actor_rollout_ref.actor.use_torch_compile=False") == j);
}

// verl/utils/kernel/kernels.py: three fp32 numbers for each token and 1024 words; in backward the gradient of 9504 words' logits beside one of the input.
TEST_CASE("scores by kernels") {
  const auto j = said(bare + fused + "actor_rollout_ref.model.fused_kernel_options.impl_backend=triton actor_rollout_ref.actor.entropy_coeff=0.001");
  CHECK(j.loss.kind == loss_kind::cut);
  CHECK(at(estimate(j), phase::loss_forward, row::logits) == bytes{0});  // less than the final norm's
  const program p(512);
  CHECK(ops::kernel_forward(p, tokens, v) == bytes{3 * 4 * tokens * 149});
  CHECK(ops::kernel_backward(p, tokens, v, h, 2) == bytes{2 * tokens * (9504 + h)});         // 16 parts, all full
  CHECK(ops::kernel_backward(p, tokens, 2 * 9504, h, 2) == bytes{2 * tokens * (9504 + h)});  // the second part's beside the first's
  CHECK(ops::kernel_backward(p, tokens, 5000, h, 2) == bytes{2 * tokens * (9504 + 5000)});   // what is filled is copied
  CHECK(ops::kernel_backward(p, tokens, 9504 + 8000, h, 2) == bytes{2 * tokens * (9504 + 8000)});
}

TEST_CASE("scores by kernels of layers that Megatron divides") {
  const auto j = said(megatron + fused);
  CHECK(j.loss.kind == loss_kind::fused_linear);
  const auto r = estimate(j), plain = estimate(said(megatron));
  // Half the words a rank: 76,032 in 8 parts of 9504.
  CHECK(at(r, phase::backward, row::logits) == bytes{2 * tokens * (9504 + h)});
  CHECK(r.ranks[0][phase::score] < plain.ranks[0][phase::score]);
  auto other = j;
  other.objective.code = method_code::nemo_rl;
  CHECK(objection_to(other));
}

// dp_actor.py _forward_micro_batch without use_remove_padding: all logits are divided, the completions' are copied for flash-attn; entropies of what is scored are torch's.
TEST_CASE("samples that keep their padding") {
  const auto j = said(padded);
  CHECK(j.batch == batch{.micro = 4, .sequence = 1536, .accumulation = 64, .padded = true});
  const auto r = estimate(j);
  CHECK(at(r, phase::loss_forward, row::logits) == bytes{2 * v * (4 * 1536 + 4 * 1024)});
  CHECK(at(estimate(said(padded + whole)), phase::backward, row::logits) == bytes{2 * (2 * v * 4 * 1536)});
  CHECK(r.ranks[0][phase::score] - estimate(said(bare)).ranks[0][phase::score] == bytes{8 * v * 4 * 1024});
  const auto one = estimate(said(padded + "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1"));  // a slice of one sample is contiguous
  CHECK(at(one, phase::loss_forward, row::logits) == bytes{2 * v * 1536});
  CHECK(said(padded + "actor_rollout_ref.actor.use_torch_compile=False") == j);
  CHECK(holds(refused(padded + "actor_rollout_ref.actor.entropy_coeff=0.001"), "padded samples beside rows of tokens, or an entropy in the loss"));
  CHECK(holds(refused(padded + "actor_rollout_ref.actor.use_dynamic_bsz=True"), "padded samples beside rows of tokens"));
  CHECK(holds(refused(padded + "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"), "verl stops where ulysses_sequence_parallel_size is above 1 without use_remove_padding"));
  // A command that does not say is of a release that does.
  CHECK(holds(refused(""), "use_remove_padding is not given, and is false in verl before 0.7 (2026-01), and true since"));
  CHECK(job_of({{"run.sh", least + "\n"}}, {"environment.verl=0.6"}).batch.padded);
  CHECK_FALSE(job_of({{"run.sh", least + "\n"}}, {"environment.verl=0.7"}).batch.padded);
}

// Softmax of bf16 logits under autocast makes them fp32, and writes as much; then the probabilities lie beside their product with the logits.
TEST_CASE("entropies that are not compiled, of all tokens or of 2,048 at a time") {
  const std::string eager = bare + "actor_rollout_ref.actor.use_torch_compile=False ", in_pieces = "actor_rollout_ref.actor.entropy_from_logits_with_chunking=True ";
  const auto score = [&](const std::string& command) { return estimate(said(command)).ranks[0][phase::score]; };
  constexpr std::int64_t all = 4 * 1536;
  CHECK(score(eager) - score(bare) == bytes{8 * v * all});
  CHECK(score(eager + in_pieces) - score(bare) == bytes{12 * v * 2048});
  const std::string one = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1";  // whose 1,536 tokens are one piece
  CHECK(score(eager + in_pieces + one) - score(eager + one) == bytes{(12 - 8) * v * 1536});
  // The reference's logits are scored without an entropy.
  const std::string compared = "actor_rollout_ref.actor.use_kl_loss=True ";
  CHECK(estimate(said(eager + compared)).ranks[0][phase::reference] == estimate(said(bare + compared)).ranks[0][phase::reference]);
  CHECK(said(eager + "actor_rollout_ref.model.use_fused_kernels=True").loss.entropies == entropy_code::unset);
  CHECK(holds(refused(eager + "actor_rollout_ref.actor.entropy_coeff=0.001"), "entropies in the loss by torch's operations"));
  CHECK(holds(refused(bare + in_pieces), "entropy_from_logits_with_chunking = true is not modelled"));
  auto other = said(eager);
  other.batch.padded = true;
  CHECK(objection_to(other));
}

TEST_CASE("gradients that FSDP adds up in 16 bits") {
  const std::string mixed = "+actor_rollout_ref.actor.fsdp_config.mixed_precision.";
  const auto j = said(bare + mixed + "param_dtype=bf16 " + mixed + "reduce_dtype=bf16 " + mixed + "buffer_dtype=fp32");
  CHECK(j.precision.reduce == formats::bf16);
  CHECK_FALSE(objection_to(j));
  CHECK(said(bare + mixed + "reduce_dtype=fp32") == said(bare));
  CHECK(said(bare + "actor_rollout_ref.actor.fsdp_config.forward_prefetch=True actor_rollout_ref.ref.fsdp_config.forward_prefetch=True").assumed_defaults == said(bare).assumed_defaults + 2);
  CHECK(holds(refused(bare + mixed + "param_dtype=fp16"), "mixed_precision.param_dtype must not be \"fp16\""));
}

TEST_CASE("weights in 16 bits") {
  const auto narrow = said(bare + "+actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16");
  CHECK(narrow.precision.parameters == formats::bf16);
  CHECK(narrow.precision.gradients == formats::bf16);
  CHECK(narrow.precision.state == formats::bf16);
  CHECK(narrow.precision.reduce == formats::fp32);
  constexpr std::int64_t p = 7'615'616'512;
  const auto r = estimate(narrow);
  CHECK(at(r, phase::step, row::model_parameters) + at(r, phase::step, row::gradients) + at(r, phase::step, row::optimizer_state) == bytes{8 * p / 8});
  CHECK(said(bare + "actor_rollout_ref.actor.fsdp_config.model_dtype=fp32") == said(bare));
  const auto adapted = said(bare + "actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 actor_rollout_ref.model.lora_rank=8");
  CHECK(adapted.precision.parameters == formats::bf16);
  CHECK(adapted.precision.gradients == formats::fp32);
  CHECK_FALSE(objection_to(adapted));
  CHECK(holds(refused(bare + "actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 algorithm.adv_estimator=gae critic.ppo_micro_batch_size_per_gpu=4 critic.model.path=Qwen/Qwen2.5-7B"), "beside a critic, whose weights are in fp32"));
}

// verl/workers/megatron_workers.py: a provider of Megatron-Bridge's is told; verl's own converter is not asked.
TEST_CASE("a sequence that is not cut with the tensors") {
  const std::string off = "actor_rollout_ref.actor.megatron.sequence_parallel=False ";
  CHECK(said(megatron).parallel.sequence);
  CHECK(said(megatron + off).parallel.sequence);
  CHECK_FALSE(said(megatron + off + "actor_rollout_ref.actor.megatron.vanilla_mbridge=False").parallel.sequence);
  CHECK(holds(refused(megatron + "actor_rollout_ref.actor.megatron.sequence_parallel=abc"), "actor_rollout_ref.actor.megatron.sequence_parallel"));
}

}  // namespace test_verl_heads
