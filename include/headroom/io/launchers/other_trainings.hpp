// Distributed under the Boost Software License, Version 1.0.
// Training that is known by its script's name, and is no job of this version: what it is, in a sentence.
#pragma once

#include <headroom/io/launchers/programs/training_program.hpp>

#include <string>
#include <vector>

namespace headroom::io::detail {

/// `end`: why it stops, and how to go on.
struct other_training {
  std::string_view scripts, is, end{", which is not modelled by this version"};
};
// clang-format off
inline constexpr auto other_trainings = std::to_array<other_training>({
    // allenai/open-instruct e6c3044a: dpo_utils.py build_reference_logprobs_cache and concatenated_forward, grpo_fast.py.
    {"open_instruct/dpo_tune_cache.py|open_instruct/dpo_tune.py|open_instruct/dpo.py", "open-instruct's DPO, which computes its reference before the first step, and has a loss of its own", ", which is not modelled by this version; its finetune.py is, and TRL's DPO with precompute_ref_log_probs"},
    {"open_instruct/grpo_fast.py|open_instruct/grpo.py|open_instruct/ppo_vllm_thread_ray_gtrl.py|open_instruct/grpo_vllm_thread_ray_gtrl.py", "open-instruct's reinforcement learning, learners beside vLLM on GPUs of its own", ", which is not modelled by this version; its finetune.py is, and TRL's GRPO with vllm_mode server, for what the learners occupy"},
    {"open_instruct/reward_modeling.py", "open-instruct's training of a reward model", ", which is not modelled by this version; TRL's reward trainer is"},
    {"dpo.py|run_dpo.py|run_orpo.py|orpo.py|kto.py|cpo.py|dpo_training.py|dpo_tune_cache.py", "preference training (a second model, or pairs of answers)"},
    {"orpo_training.py", "MedicalGPT's, which since 2026-03 asks TRL's DPOTrainer for the loss \"orpo\", that no release of TRL has: its run stops; and its earlier one is a training"},
    {"opd_training.py", "distillation on what the model generates"},
    // huggingface/trl f2cd57710 examples/scripts: each in a file of its name.
    {"examples/scripts/sft_gemma3.py|examples/scripts/sft_tiny_aya_tool_calling.py", "a script whose hyper-parameters stand in its own code", ", where nothing here reads them: give them as arguments of the same trainer's (trl sft, trl rloo), or as a job"},
    {"ppo.py|grpo.py|rloo.py|online_dpo.py|ppo_training.py|grpo_training.py|grpo_fast.py|ppo_vllm_thread.py|ppo_vllm_thread_ray_gtrl.py|grpo_vllm_thread_ray_gtrl.py", "reinforcement learning (several models, and generation)"},
    {"reward_modeling.py|reward.py|run_reward_modeling.py|rm.py|reward_training.py", "training of a reward model"},
    {"xpo.py", "TRL's XPO, where two models generate for each prompt and both completions' graphs wait for one backward", ", which is not modelled by this version; online DPO and Nash-MD are"},
    {"bco.py", "TRL's BCO, whose good and bad answers each have a reference"},
    {"sdft.py|sdpo.py|ssd.py", "distillation of a model from itself (TRL's SDFT, SDPO and SSD)"},
    {"gold.py|gold_vlm.py|distillation.py", "distillation on what the student generates (TRL's GOLD and DistillationTrainer)"},
    // environment_factory without use_vllm.
    {"openenv/carla.py|openenv/echo.py|openenv/multi_env.py", "GRPO over several turns with an environment, where the trained module generates each turn behind all that was said before"},
    {"openenv/browsergym.py|openenv/carla_vlm.py|openenv/carla_vlm_gemma.py|openenv/opencode.py|harbor/data_agent.py|grpo_agent.py|grpo_2048.py|async_grpo.py", "GRPO over several turns with an environment, whose lengths stand in the script's own code"},
    {"grpo_continuous_batching.py", "GRPO that generates by transformers' continuous batching"},
    {"mpo_vlm.py|dpo_vlm.py|grpo_vlm.py|gspo_vlm.py|rloo_vlm.py|online_dpo_vlm.py|ppo_tldr.py|sft_diffusion_gemma.py", "a trainer of TRL's that is read by name alone"},
    {"internvl_chat_dpo.py|internvl_chat_mpo.py|run_mpo.py", "preference training (a second model, or pairs of answers)"},
    {"train_flant5.py|train_lora_t5.py|finetune_multi_modal.py|olmo_core_finetune.py|run_mlm.py|run_plm.py|run_fim.py|run_seq2seq_qa.py|run_glue.py|run_summarization.py|run_translation.py", "a program that is read by name alone"},
});
// clang-format on

/// Throws job_error where the script is one of these. `each_program(say)` says the programs that have a script of its name and are known by arguments
/// that are not here.
template <class Each>
void refuse_other_training(std::string_view script, const Each& each_program) {
  for (const auto& o : other_trainings) {
    if (path_end(script, o.scripts).empty()) continue;
    std::vector<std::string_view> names;
    each_program([&](std::string_view name) { names.push_back(name); });
    const auto whose = names.empty() ? std::string{} : "; where its arguments are those of " + listed(names) + ", --program says so";
    fail("headroom: " + std::string{script} + " is " + std::string{o.is} + std::string{o.end} + whose);
  }
}

}  // namespace headroom::io::detail
