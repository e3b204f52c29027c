// Distributed under the Boost Software License, Version 1.0.
// Programs that train and whose files are recognised, but not read: a row each, with what may be used instead.
#pragma once

#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/nested_values.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>

namespace headroom::io::detail {

// Names stand between bars; empty where a program has none of the kind.

struct other_program {
  std::string_view name;
  std::string_view words{};      ///< of its commands: a word, the end of a path, or how a word begins ("verl.", "policy.model_name=")
  std::string_view arguments{};  ///< of its own
  std::string_view keys{};       ///< of its files; "a&b": both; "a.b": in a section
  std::string_view instead{"write the model, the degrees and the batch as a job file"};
};

// clang-format off
inline constexpr auto other_programs = std::to_array<other_program>({
    // Its other programs (bigscience-workshop/Megatron-DeepSpeed 8387ae17).
    {.name = "Megatron-DeepSpeed", .instead = R"(pretrain_gpt.py, pretrain_prefix_lm.py and finetune_t0.py of it are, with --deepspeed and DeepSpeed's configuration beside them)"},
    // EleutherAI/gpt-neox ea7aefd8: deepy.py.
    {.name = "gpt-neox's command line", .words = "deepy.py", .instead = "give the YAML files that it names alone (configs/*.yml), which are"},
    // huggingface/nanotron 2411b022.
    {.name = "nanotron's other programs", .words = "nanotron.", .instead = "run_train.py with the YAML of its --config-file is"},
    // CarperAI/trlx 3340c2f3 trlx/data/configs.py, TRLConfig.
    {.name = "trlx", .words = "trlx.", .keys = "method&train&model&optimizer", .instead = "its models with value heads and its loops are its own; the same training by TRL is"},
    // NVIDIA-NeMo/Megatron-Bridge 067f987d: scripts/training/*.py, src/megatron/bridge/training/config.py.
    {.name = "Megatron-Bridge", .words = "run_recipe.py|finetune_decoder.py|pretrain_decoder.py|setup_experiment.py|megatron.bridge|run_script.py|pretrain_gemma3.py", .keys = "train&model&checkpoint|train&model&optimizer|train&checkpoint&dataset|model&train&dist|train&dataset&scheduler|train&model&ddp|train&scheduler",
     .instead = R"(scripts/training/run_recipe.py with --recipe is, for recipes of Llama and Qwen without experts; or write a job file with framework {"name": "megatron", "version": "Megatron-Bridge"})"},
    // alibaba/Pai-Megatron-Patch: megatron_patch/arguments.py.
    {.name = "Pai-Megatron-Patch", .words = "megatron_patch", .arguments = "patch-tokenizer-type|extra-vocab-size|max-padding-length|optimizer-offload-policy|train-mode",
     .instead = "its programs of Qwen 2 to 3, DeepSeek-V3 and Mistral over Megatron-Core are; --program megatron reads what others share with Megatron-LM, with --ignore for each argument of Pai's own"},
    // THUDM/slime: slime/utils/arguments.py.
    {.name = "slime", .words = "slime.", .arguments = "actor-num-nodes|actor-num-gpus-per-node|rollout-function-path|rollout-num-gpus|rollout-batch-size|debug-train-only|rollout-num-gpus-per-engine",
     .instead = "its trainer takes Megatron-LM's arguments, which --program megatron reads where they are given alone; generation beside it is not modelled"},
    // volcengine/verl: the path before it moved (2bb42bae6 of 2026-01-06 took recipe/ away).
    {.name = "verl's one-step-off-policy trainer under its earlier path", .words = "recipe.one_step_off_policy.|recipe/one_step_off_policy/main_ppo.py|recipe/one_step_off_policy/async_main_ppo.py",
     .instead = "python3 -m verl.experimental.one_step_off_policy.main_ppo, where it stands since, is"},
    // volcengine/verl: verl/trainer/config/*.yaml.
    {.name = "verl", .words = "verl.|actor_rollout_ref.|model.partial_pretrain=|main_ppo.py|fsdp_sft_trainer.py", .keys = "actor_rollout_ref|ulysses_sequence_parallel_size|trainer&optim&data|algorithm&critic|trainer&data&rollout",
     .instead = "verl.trainer.main_ppo and verl.trainer.fsdp_sft_trainer with overrides of verl's own configurations are"},
    // OpenRLHF/OpenRLHF: openrlhf/cli/*.py.
    {.name = "OpenRLHF", .words = "openrlhf.|openrlhf/cli", .arguments = "micro_train_batch_size|micro_rollout_batch_size|colocate_actor_ref",
     .instead = "its trainers openrlhf.cli.train_sft, train_rm, train_dpo and train_ppo_ray are"},
    // NVIDIA-NeMo/RL: examples/configs/*.yaml, examples/run_*.py; NVIDIA/NeMo.
    {.name = "NeMo-RL's other programs", .words = "run_ppo.py|run_distillation_math.py|run_distillation.py|run_vlm_grpo.py|examples/run_eval.py|run_grpo_sliding_puzzle.py|nemo_rl.|policy.model_name=|grpo.num_prompts_per_step=|cluster.num_nodes=", .instead = "examples/run_grpo.py, run_dpo.py and run_sft.py are, with the YAML of their --config and what that inherits from"},
    {.name = "NeMo", .words = "nemo|nemo.|nemo_run.|megatron_gpt_pretraining.py|megatron_gpt_finetuning.py", .keys = "trainer&exp_manager", .instead = R"(write a job file with framework {"name": "megatron", "version": "NeMo 24"})"},
    // Lightning-AI/pytorch-lightning src/lightning/pytorch/cli.py: LightningCLI's configurations and arguments.
    {.name = "Lightning", .words = "lightning.|pytorch_lightning.|lightning_fabric.", .arguments = "trainer.devices|trainer.strategy|trainer.accelerator|trainer.num_nodes|trainer.max_epochs",
     .keys = "seed_everything&trainer|trainer.accelerator&model|trainer.strategy&model|trainer.max_epochs&model|trainer.accumulate_grad_batches&model",
     .instead = "its module and its loop are a program of one's own: write the model, the degrees and the batch as a job file, with sharding ddp, fsdp1 or zero as its strategy says; the same training by litgpt is read"},
    // InternLM/xtuner: xtuner/entry_point.py; its configurations are programs.
    {.name = "xtuner", .words = "xtuner|xtuner.|train_alpaca-qlora_with_xtuner_deepspeed.py"},
    // AMD-AGI/Primus: primus/cli, examples/*/configs/*.yaml.
    {.name = "Primus", .words = "primus|primus-cli|primus/cli/main.py|primus.|examples/run_pretrain.sh|examples/run_slurm_pretrain.sh|examples/run_local_pretrain.sh", .keys = "work_group&modules|modules&workspace|exp_name&modules|framework&task&training",
     .instead = "what it starts is Megatron-LM or torchtitan, whose own files are read"},
    // unslothai/unsloth 015bdef0: unsloth_cli/config.py, whose trainer is another (studio/backend), FastLanguageModel.from_pretrained and get_peft_model.
    {.name = "unsloth", .words = "unsloth|unsloth.|unsloth_cli", .arguments = "full_finetuning|fast_inference|load_in_16bit|unsloth_tiled_mlp",
     .keys = "training&lora&logging|training&lora&data|training&lora|full_finetuning|use_gradient_checkpointing|fast_inference|load_in_16bit|model_name&max_seq_length&load_in_4bit",
     .instead = "its script unsloth-cli.py is; or write a job file with framework unsloth, which is modelled for LoRA on Llama, Mistral, Qwen2 and Qwen3 on one GPU; the same training without it is a job of hf-trainer"},
    // Online methods over trainers of their own: hiyouga/EasyR1 examples/config.yaml, inclusionAI/AReaL examples/math/gsm8k_grpo.yaml, alibaba/ROLL
    // examples/*/rlvr_config.yaml, NovaSky-AI/SkyRL examples/train/gsm8k/run_gsm8k.sh, PrimeIntellect-ai/prime-rl examples/*/rl.toml.
    {.name = "EasyR1", .keys = "worker&algorithm&trainer", .instead = "the same training by verl is"},
    {.name = "AReaL", .words = "areal.", .keys = "trial_name&actor|trial_name&experiment_name", .instead = "the same training by verl is"},
    {.name = "ROLL", .words = "examples/start_rlvr_pipeline.py|examples/start_agentic_pipeline.py|examples/start_rlvr_vl_pipeline.py", .keys = "actor_train&actor_infer|actor_train&pretrain", .instead = "the same training by verl is"},
    {.name = "SkyRL", .words = "skyrl_train.|trainer.policy.model.path=|skyrl.", .instead = "the same training by verl is"},
    {.name = "prime-rl", .words = "prime_rl.|src/prime_rl/trainer/sft/train.py", .keys = "trainer&orchestrator&inference", .instead = "the same training by verl is"},
    // snowflakedb/ArcticTraining projects/*/*.yml; ServiceNow/Fast-LLM examples/mistral.yaml; flagos-ai/FlagScale examples/*/conf; huggingface/optimum-habana
    // examples/gaudi_spawn.py; Ascend/MindSpeed-LLM examples/mcore.
    {.name = "ArcticTraining", .words = "arctic_training|arctic_training.", .keys = "micro_batch_size&model&data&deepspeed|type&model&data&deepspeed|type&model&data&checkpoint", .instead = "write a job file with framework deepspeed, or the same training as the Trainer's"},
    {.name = "Fast-LLM", .words = "fast-llm|fast_llm.", .keys = "training&optimizer&model&run|training&batch&model&data"},
    {.name = "FlagScale", .words = "flagscale", .keys = "experiment&action|system&model&data", .instead = "what it starts is Megatron-LM, whose own arguments are read"},
    {.name = "optimum-habana", .words = "gaudi_spawn.py", .arguments = "use_habana|gaudi_config_name|use_lazy_mode", .instead = "it trains on Gaudi, whose allocator is another; the same training by transformers on GPUs is"},
    {.name = "MindSpeed-LLM", .words = "posttrain_gpt.py", .arguments = "use-fused-rotary-pos-emb|use-fused-rmsnorm|use-fused-swiglu|use-ascend-coc|reuse-fp32-param|context-parallel-algo|enable-hf2mg-convert",
     .instead = "it patches Megatron-LM for Ascend's NPUs; what they share is read without its own arguments (--ignore for each)"},
    // Scripts of model families' own repositories, some under names that other programs' have, too (QwenLM/Qwen-VL aa00ed04 finetune.py, QwenLM/Qwen3-VL
    // 96588727 qwen-vl-finetune/qwenvl/train, OpenBMB/MiniCPM-V 0dbb566d finetune/finetune.py, NVlabs/VILA b760c34b llava/train, THUDM/ChatGLM2-6B
    // cb8e8b43 ptuning/main.py), and artidoro/qlora 7f4e95a6 qlora.py.
    {.name = "Qwen-VL's finetune.py", .arguments = "fix_vit"},
    {.name = "Qwen2.5-VL's and Qwen3-VL's qwen-vl-finetune", .arguments = "data_flatten|tune_mm_llm|tune_mm_vision", .instead = "the same training by ms-swift or LLaMA-Factory is"},
    {.name = "MiniCPM-V's finetune.py", .arguments = "llm_type|tune_vision|max_slice_nums"},
    {.name = "VILA", .arguments = "data_mixture|seq_parallel_size|seq_parallel_ring_size|tune_vision_tower", .instead = "its towers, projectors and sequence parallelism are its own; write the model, the degrees and the batch as a job file"},
    {.name = "ChatGLM's P-tuning", .arguments = "pre_seq_len|prompt_column|history_column"},
    {.name = "qlora.py", .words = "qlora.py", .instead = "it makes norms fp32 beside a base of four bits and adapters in bf16, which is not modelled; the same training by LLaMA-Factory or axolotl is read"},
    // aws-samples/awsome-distributed-training 7217859f 3.test_cases/pytorch/FSDP/src/train.py, model_utils/arguments.py: transformers' layers under FSDP2.
    {.name = "AWS's example of FSDP (its own train.py)", .arguments = "max_context_width|hidden_width", .instead = "write a job file with framework hf-trainer and sharding fsdp2, or the same training as torchtitan's"},
    // allenai/OLMo 59a53e3f olmo/config.py TrainConfig; stanford-crfm/levanter 9263f81e src/levanter/main/*.py; yangjianxin1/Firefly e22b406e train.py,
    // component/argument.py; facebookresearch/fairseq fairseq/dataclass/configs.py.
    {.name = "OLMo's trainer", .words = "olmo.|olmo_core.", .keys = "tokenizer&data&scheduler&optimizer|global_train_batch_size&save_folder&data"},
    {.name = "Composer", .words = "composer|llmfoundry", .keys = "max_seq_len&fsdp_config&device_train_microbatch_size|device_eval_batch_size|max_duration&device_train_microbatch_size|max_duration&global_train_batch_size"},  // some of its keys are OLMo's, too
    {.name = "levanter", .words = "levanter.|src/levanter/main/train_lm.py", .keys = "trainer&data&model|trainer&data&optimizer|trainer&model&optimizer|trainer&model_name_or_path|hf_save_path&trainer"},
    {.name = "Firefly", .keys = "train_file&template_name|train_file&task_type|train_file&train_mode", .instead = "the same training by LLaMA-Factory is"},
    {.name = "fairseq", .words = "fairseq|fairseq-hydra-train|fairseq-train|fairseq_cli.", .keys = "task&optimization&dataset|checkpoint&optimization&task"},
    {.name = "Colossal-AI", .words = "colossalai"},
});
// clang-format on

inline constexpr const other_program& megatron_deepspeed = other_programs.front();
static_assert(megatron_deepspeed.name == "Megatron-DeepSpeed");

/// Whether a word of a command is one of these names, ends as a path does in one, or begins as "name." or "name=" does. `early`: it may be the
/// command itself, and not some argument's value, which a plain word may be, too.
inline bool says_one_of(std::string_view word, std::string_view names, bool early) {
  while (word.starts_with('+')) word.remove_prefix(1);  // what a command adds to a configuration
  while (!names.empty()) {
    const auto bar = names.find('|');
    const auto name = names.substr(0, bar);
    const bool begins = name.ends_with('.') || name.ends_with('=');
    const bool plain = name.find_first_of("./=") == std::string_view::npos;
    if ((early || !plain) && (begins ? word.starts_with(name) : !path_end(word, name).empty())) return true;
    names.remove_prefix(bar == std::string_view::npos ? names.size() : bar + 1);
  }
  return false;
}

/// Whether a word is one of the arguments; those that are to be passed over are none.
inline bool argument_of(const shell_word& w, std::string_view names, std::span<const std::string> ignores = {}) {
  if (names.empty() || !w.text.starts_with("--")) return false;
  const auto name = std::string_view{w.text}.substr(2, w.text.find('=') == std::string::npos ? std::string::npos : w.text.find('=') - 2);
  return !name.empty() && among_words(names, name) && std::find(ignores.begin(), ignores.end(), name) == ignores.end();
}

/// The program that a command starts; null where it is none of these. Values of a program's own options, paths and names, tell nothing.
inline const other_program* other_program_of(std::span<const shell_word> words, std::span<const std::string> ignores = {}) {
  words = words.first(std::min<std::size_t>(words.size(), 4096));  // no command that people write has more
  for (const auto& p : other_programs) {
    bool program = false, value = false;  // whether the program was named; whether a word is the value of one of its options
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i].text;
      if (word.starts_with("--")) {
        if (argument_of(words[i], p.arguments, ignores)) return &p;
        value = program && word.find('=') == std::string_view::npos;
        continue;
      }
      if (!value && says_one_of(word, p.words, i < 3)) return &p;
      program = program || word.ends_with(".py") || (i > 0 && (words[i - 1].text == "-m" || words[i - 1].text == "--module") && !word.starts_with("torch.distributed"));
    }
  }
  return nullptr;
}
/// The program that a script names in a text that it hands on: a heredoc, a string for eval.
inline const other_program* other_program_in(std::string_view text) {
  const auto starts = [&](std::string_view name) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
      if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '"' || text[at - 1] == '\'') return true;
    return false;
  };
  for (const auto& p : other_programs) {
    for (const auto name : words_between_bars(p.words))
      if (name.ends_with('.') && name.size() > 5 && starts(name)) return &p;
    for (const auto name : words_between_bars(p.arguments))
      if (name.size() > 8 && (starts("--" + std::string{name} + " ") || starts("--" + std::string{name} + "\n"))) return &p;
  }
  return nullptr;
}
/// The program whose configuration an object is.
inline const other_program* other_program_of(const json_value& root) {
  if (!root.is_object()) return nullptr;
  for (const auto& p : other_programs)
    for (auto names : words_between_bars(p.keys)) {
      bool all = !names.empty();
      while (all && !names.empty()) {
        const auto both = names.find('&');
        all = value_at(root, names.substr(0, both)) != nullptr;
        names.remove_prefix(both == std::string_view::npos ? names.size() : both + 1);
      }
      if (all) return &p;
    }
  return nullptr;
}

[[noreturn]] inline void refuse_other_program(const other_program& p, const std::string& place) {
  fail("headroom: " + place + " is for " + std::string{p.name} + ", which is not read by this version: " + std::string{p.instead});
}

}  // namespace headroom::io::detail
