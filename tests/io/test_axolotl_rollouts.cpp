// Distributed under the Boost Software License, Version 1.0.
// GRPO and GDPO in axolotl's configurations, against its examples/llama-3/qlora-1b-gdpo.yaml and TRL 1.8 (067b021c).
#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_axolotl_rollouts {

using namespace imported;

namespace {

std::string gdpo(const std::string& trl, const std::string& rest = "") {
  return "base_model: meta-llama/Llama-3.2-1B-Instruct\nrl: gdpo\nsequence_len: 512\nsample_packing: false\npad_to_sequence_len: false\ngradient_accumulation_steps: 8\nmicro_batch_size: 1\n"
         "attn_implementation: flash_attention_2\nbf16: auto\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n" + rest + "trl:\n" + trl;
}
const std::string usual = "  max_completion_length: 128\n  num_generations: 2\n  temperature: 0.7\n  use_vllm: false\n  multi_objective_aggregation: normalize_then_sum\n  reward_funcs: [rwd.format_reward, rwd.correctness_reward]\n"
                          "  reward_weights: [1.0, 2.0]\n  log_completions: true\n  num_completions_to_print: 3\n  scale_rewards: true\n";
const std::vector<std::string> prompt{"rollout.prompt=256"};
job yaml(const std::string& said) { return job_of({{"axo.yaml", said}}, prompt); }
std::string why(const std::string& said) { return refusal_of({{"axo.yaml", said}}, prompt); }

}  // namespace

TEST_CASE("GDPO, whose completions the trained module generates") {
  const auto j = yaml(gdpo("  beta: 0.001\n" + usual));
  CHECK(j.model == *models::find("llama-3.2-1b"));
  CHECK(j.objective.kind == objective_kind::grpo);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.reference_format == formats::fp32);
  CHECK(j.rollout.prompt == 256);
  CHECK(j.rollout.completion == 128);
  CHECK(j.rollout.generations == 2);
  CHECK(j.batch.micro == 1);
  CHECK(j.batch.accumulation == 8);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(yaml(gdpo("  beta: 0.0\n" + usual)).objective.reference == reference_way::none);
  CHECK(yaml(gdpo(usual)).objective.reference == reference_way::none);  // TRL's own default
  CHECK(yaml(gdpo(usual, "rl_beta: 0.1\n")).objective.reference == reference_way::copy);
  // The reference's 1,235,814,400 numbers, four bytes each; nothing asks how long a prompt is but the user.
  const auto alone = estimate(yaml(gdpo(usual))).ranks[0].allocated, beside = estimate(j).ranks[0].allocated;
  CHECK((beside - alone).count() >= 4 * 1'235'814'400L);
  CHECK((beside - alone).count() < 4 * 1'235'814'400L + 64 * 1024 * 1024);
  CHECK(holds(refusal_of({{"axo.yaml", gdpo(usual)}}, {}), "rollout.prompt"));
  CHECK(io::read_job(io::job_to_json(j)) == j);
}

TEST_CASE("who generates, and what is not read") {
  const std::string served = "  max_completion_length: 128\n  num_generations: 2\n  use_vllm: true\n", beside = served + "  vllm_mode: colocate\n";
  const auto j = yaml(gdpo(beside, "vllm:\n  gpu_memory_utilization: 0.25\n"));
  CHECK(j.rollout.share.per_million == 250'000);
  CHECK(yaml(gdpo(beside)).rollout.share.per_million == 900'000);  // utils/schemas/vllm.py
  CHECK(holds(why(gdpo("  num_generations: 2\n")), "trl.max_completion_length is not given"));
  CHECK(holds(why(gdpo("  beta: 0.1\n" + usual, "adapter: lora\nlora_r: 8\nlora_target_linear: true\n")), "TRL makes a second adapter for the reference"));
  CHECK(yaml(gdpo(usual, "adapter: lora\nlora_r: 8\nlora_target_linear: true\n")).objective.reference == reference_way::none);
  CHECK(holds(why(gdpo(usual + "  async_prefetch: true\n")), "trl.async_prefetch = true is not modelled"));
  CHECK(holds(why(gdpo(usual + "  sync_ref_model: true\n")), "trl.sync_ref_model = true is not modelled"));
  CHECK(holds(why(gdpo(usual + "  max_prompt_length: false\n")), "trl.max_prompt_length = false is not modelled"));  // no key of trl's, whatever it says
  CHECK(holds(why(gdpo("  max_completion_length: 128\n  reward_funcs: [OpenAssistant/reward-model-deberta]\n")), "trl.reward_funcs"));
  CHECK(holds(why("base_model: meta-llama/Llama-3.2-1B\nrl: grpo\nmicro_batch_size: 2\n"), "trl.max_completion_length is not given"));
  CHECK(holds(why("base_model: meta-llama/Llama-3.2-1B\nrl: nash\nmicro_batch_size: 2\n"), "rl = \"nash\" is not modelled"));
}

TEST_CASE("what TRL is handed as it is said") {
  const auto j = yaml(gdpo(usual));
  CHECK(yaml(gdpo(usual + "  num_iterations: 3\n")).rollout.iterations == 3);
  CHECK(yaml(gdpo(usual + "  num_iterations: 1\n")) == j);
  CHECK(yaml(gdpo(usual + "  generation_batch_size: 4\n")).rollout.steps_per_generation == 4);  // of one sample each, on one GPU
  // TRL's default is to weigh tokens, for which the policy says how likely they are before the update.
  const std::string beside = "  max_completion_length: 128\n  num_generations: 2\n  use_vllm: true\n  vllm_mode: colocate\n  vllm_importance_sampling_correction: ";
  const auto weighs = yaml(gdpo(beside + "true\n")), counts = yaml(gdpo(beside + "false\n"));
  CHECK(weighs.rollout.corrects == choice::unset);
  CHECK(counts.rollout.corrects == choice::no);
  CHECK(yaml(gdpo(beside + "\n")) == weighs);  // null
  // Defaults that are written out, and keys of the trainer that generates beside training, which no other one is handed.
  CHECK(yaml(gdpo(usual + "  replay_buffer_size: 0\n  reroll_start_fraction: 1.0\n  reroll_max_groups: 1\n  reward_num_workers: 1\n  replay_recompute_logps: true\n  skip_zero_advantage_batches: true\n")) == j);
  CHECK(yaml(gdpo(usual + "  use_data_producer: false\n  async_prefetch: false\n  sync_ref_model: false\n  use_liger_loss: false\n  prefetch_depth: 2\n  streaming_partial_batch: true\n")) == j);
}

TEST_CASE("the KL term's weight by the first of three keys") {
  CHECK(yaml(gdpo(usual, "orpo_alpha: 0.1\n")).objective.reference == reference_way::copy);
  CHECK(yaml(gdpo(usual, "orpo_alpha: 0.1\nrl_beta: 0\n")).objective.reference == reference_way::none);
  CHECK(yaml(gdpo("  beta: 0.0\n" + usual, "orpo_alpha: 0.1\nrl_beta: 0.1\n")).objective.reference == reference_way::none);
  CHECK(holds(why(gdpo(usual, "orpo_alpha: 0.1\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n")), "orpo_alpha must be 0"));
}

}  // namespace test_axolotl_rollouts

#endif
