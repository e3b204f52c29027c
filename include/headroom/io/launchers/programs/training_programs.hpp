// Distributed under the Boost Software License, Version 1.0.
// The programs that launch scripts start, a row each, from their sources. Where two have a script of the same name, arguments tell.
#pragma once

#include <headroom/io/huggingface/other_networks.hpp>
#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/axolotl/keys.hpp>
#include <headroom/io/launchers/llama_factory/keys.hpp>
#include <headroom/io/launchers/other_trainings.hpp>
#include <headroom/io/launchers/programs/internvl_arguments.hpp>
#include <headroom/io/launchers/programs/program_keys.hpp>
#include <headroom/io/launchers/programs/training_program.hpp>
#include <headroom/io/launchers/swift/keys.hpp>
#include <headroom/io/launchers/swift/rollout.hpp>
#include <headroom/io/launchers/trl/keys.hpp>
#include <headroom/io/launchers/trl/own_scripts.hpp>

namespace headroom::io::detail {

/// TRL's ModelConfig (trl/trainer/model_config.py).
inline constexpr lora_words trl_lora{.on = "use_peft", .rank = "lora_r", .rank_default = 16, .targets = "lora_target_modules", .targets_by_words = true, .targets_default = "", .dropout = "lora_dropout", .dropout_percent = 5, .dora = "use_dora", .saved = "lora_modules_to_save"};
inline constexpr base_words trl_base{.four = "load_in_4bit", .eight = "load_in_8bit", .kind = "bnb_4bit_quant_type", .nested = "use_bnb_nested_quant"};
inline constexpr std::string_view trl_marks = "dataset_name|dataset_config|dataset_train_split|dataset_mixer|dataset_mixture|use_peft|lora_target_modules|attn_implementation|dtype|torch_dtype|load_in_4bit|config|reward_funcs";
/// One of its trainers beside SFT's. max_seq_length is of SFTConfig and what inherits from it, up to 0.19, where it wins over max_length (sft_config.py).
constexpr training_program trl_program(std::string_view name, std::string_view scripts, std::string_view method, std::span<const passed_key> passed, std::string_view own = {}) {
  return {.name = name, .scripts = scripts, .marks = trl_marks, .length = method == "distill" ? "max_seq_length|max_length" : "max_length", .keeps_lengths = true, .loads = "fp32", .dtype = "torch_dtype|dtype", .recompute = checkpoints::unknown, .lora = trl_lora, .base = trl_base, .passed = passed, .also = trl_passed, .method = method, .own = own};
}

// clang-format off
inline constexpr auto training_programs = std::to_array<training_program>({
    // Megatron-LM and what is built on it.
    {.name = "megatron", .scripts = "pretrain_gpt.py|finetune_t0.py|finetune_t0_non_causal_decoder.py|pretrain_prefix_lm.py", .marks = "num-layers|tensor-model-parallel-size|pipeline-model-parallel-size|micro-batch-size|use-distributed-optimizer|hidden-size", .takes = file_kind::megatron},
    {.name = "pai-megatron", .scripts = "pretrain_qwen.py|pretrain_qwen2_moe.py|pretrain_deepseek.py|pretrain_deepseek_250624.py|pretrain_mcore_mistral.py", .marks = "patch-tokenizer-type", .takes = file_kind::megatron},
    {.name = "megatron-bert", .scripts = "pretrain_bert.py", .takes = file_kind::megatron, .megatron = megatron_program::bert},
    {.name = "megatron-t5", .scripts = "pretrain_t5.py", .takes = file_kind::megatron, .megatron = megatron_program::t5},
    {.name = "megatron-mamba", .scripts = "pretrain_mamba.py|pretrain_hybrid.py", .takes = file_kind::megatron, .megatron = megatron_program::hybrid},
    {.name = "megatron-vlm", .scripts = "pretrain_vlm.py", .takes = file_kind::megatron, .megatron = megatron_program::vlm},
    {.name = "megatron-other", .scripts = "pretrain_retro.py|pretrain_vit.py|pretrain_vision_classify.py|pretrain_vision_dino.py|pretrain_vision_inpaint.py|pretrain_ict.py|train_rl.py|pretrain_gpt_single_dataset.py",
     .takes = file_kind::megatron, .refused = "is not modelled by this version"},
    // NVIDIA-NeMo/Megatron-Bridge scripts/training/run_recipe.py: io/launchers/megatron/import_bridge.hpp.
    {.name = "megatron-bridge", .scripts = "training/run_recipe.py", .takes = file_kind::megatron},
    // NVIDIA-NeMo/RL examples/run_*.py: io/launchers/nemo/launch.hpp.
    {.name = "nemo-rl", .scripts = "examples/run_grpo.py|examples/run_grpo_math.py|examples/run_dpo.py|examples/run_sft.py|examples/run_rm.py|examples/run_grpo_single_controller.py|run_grpo_math.py", .takes = file_kind::nemo_rl},
    {.name = "torchtitan", .scripts = "torchtitan/train.py|train.py|torchtitan.train|torchtitan.experiments.forge.example_train", .marks = "job.config_file|job.config-file|training.local_batch_size|training.batch_size|training.seq_len|parallelism.data_parallel_shard_degree|parallelism.tensor_parallel_degree|parallelism.pipeline_parallel_degree",
     .takes = file_kind::torchtitan},
    // transformers' Trainer (examples/pytorch/language-modeling/run_clm.py, 2026-08).
    {.name = "run-clm", .scripts = "run_clm.py", .length = "block_size", .length_default = 1024, .causal = true, .dtype = "torch_dtype|dtype", .keeps_predictions = true, .passed = run_clm_passed},
    {.name = "transformers", .length = "block_size|model_max_length|max_seq_length", .dtype = "torch_dtype|dtype", .passed = run_clm_passed},
    // src/llamafactory/hparams/*_args.py; its own reader says the rest.
    {.name = "llama-factory", .scripts = "llamafactory/launcher.py|llamafactory/cli.py|src/train.py|src/train_bash.py|train_bash.py", .marks = "finetuning_type|cutoff_len|stage|template|dataset_dir", .length = "cutoff_len", .length_default = 2048, .keeps_lengths = true, .loads = "half",
     .recompute = checkpoints::yes, .passed = llama_factory_passed},
    // lm-sys/FastChat fastchat/train/train.py and train_lora.py; tatsu-lab/stanford_alpaca train.py. train_mem.py and train_xformers.py put another kernel in LlamaAttention's place.
    {.name = "fastchat", .scripts = "fastchat/train/train.py|fastchat/train/train_mem.py|fastchat/train/train_xformers.py", .length = "model_max_length", .length_default = 512, .causal = true, .keys = cached::never,
     .flash = "train_mem.py|train_xformers.py", .passed = fastchat_passed},
    {.name = "fastchat-lora", .scripts = "fastchat/train/train_lora.py", .length = "model_max_length", .length_default = 512, .causal = true, .loads = "fp32",
     .keys = cached::never, .lora = {.by_default = true, .rank = "lora_r", .targets = "lora_target_modules", .targets_default = "q_proj|v_proj", .dropout = "lora_dropout", .dropout_percent = 5},
     .base = {.four = "q_lora", .nested_default = true}, .passed = fastchat_passed},
    // haotian-liu/LLaVA llava/train/train.py: LoRA on the language model's matrices, the projector trains, the tower does not. train_mem.py hands from_pretrained
    // flash_attention_2 (879ef31 of 2024-01-31; before, it put flash attention in LlamaAttention's place). train_xformers.py patches LlamaAttention, which transformers 4.37.2
    // makes no layer of (modeling_llama.py, LLAMA_ATTENTION_CLASSES): it trains as train.py does.
    {.name = "llava", .scripts = "llava/train/train.py|llava/train/train_mem.py|llava/train/train_xformers.py", .length = "model_max_length", .length_default = 512, .keeps_lengths = true, .loads = "half",
     .keys = cached::never, .lora = {.on = "lora_enable", .rank = "lora_r", .rank_default = 64, .targets_default = "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj", .dropout = "lora_dropout", .dropout_percent = 5},
     .base = {.bits = "bits", .kind = "quant_type", .nested = "double_quant", .nested_default = true}, .flash = "train_mem.py", .passed = llava_passed},
    // OpenGVLab/InternVL internvl_chat: io/launchers/programs/internvl_arguments.hpp.
    {.name = "internvl", .scripts = "internvl_chat_finetune.py|internvl_chat_pretrain.py", .length = "max_seq_length", .length_default = 8192, .loads = "bf16", .keys = cached::never, .passed = internvl_passed},
    // OpenBMB/MiniCPM finetune/finetune.py, whose arguments tell it from Qwen's script of the same name.
    {.name = "minicpm", .scripts = "finetune.py", .marks = "train_data_path", .length = "model_max_length", .length_default = 512, .causal = true, .loads = "half",
     .lora = {.on = "use_lora", .rank = "lora_r", .rank_default = 64, .targets = "lora_target_modules", .targets_default = "q_proj|v_proj", .dropout = "lora_dropout", .dropout_percent = 10},
     .base = {.four = "qlora", .nested_default = true, .prepared = false}, .passed = minicpm_passed},
    // QwenLM/Qwen finetune.py. The model's own code loads itself in bf16; what GPTQ has packed is loaded in fp16.
    {.name = "qwen", .scripts = "finetune.py", .marks = "q_lora|lazy_preprocess|use_lora", .length = "model_max_length", .length_default = 8192, .loads = "bf16",
     .keys = cached::never, .lora = {.on = "use_lora", .rank = "lora_r", .rank_default = 64, .targets = "lora_target_modules", .targets_default = "c_attn|c_proj|w1|w2", .dropout = "lora_dropout", .dropout_percent = 5, .saved_of_base = "wte|lm_head"},
     .base = {.packed = "q_lora"}, .passed = fastchat_passed},
    // shibing624/MedicalGPT training/supervised_finetuning.py, pretraining.py: whole models train in fp32.
    {.name = "medicalgpt", .scripts = "supervised_finetuning.py|supervised_finetuning_accelerate.py", .length = "model_max_length", .length_default = 512, .keeps_lengths = true, .causal = true, .loads = "fp16", .loads_whole = "fp32", .dtype = "torch_dtype",
     .keys = cached::unless_checkpointed, .lora = {.on = "use_peft", .by_default = true, .rank = "lora_rank", .targets = "target_modules", .dropout = "lora_dropout", .dropout_percent = 5, .saved = "modules_to_save"},
     .base = {.four = "load_in_4bit", .eight = "load_in_8bit", .double_by = "qlora"}, .passed = medicalgpt_passed},
    // … full_supervised_finetuning.py of its releases up to 2.4 (305ab149), whose arguments for adapters nothing reads; its scripts misspell it.
    {.name = "medicalgpt-full", .scripts = "full_supervised_finetuning.py|full_supersived_finetuning.py", .length = "model_max_length", .length_default = 512, .keeps_lengths = true, .causal = true, .loads = "fp16", .dtype = "torch_dtype", .keys = cached::unless_checkpointed, .passed = medicalgpt_full_passed, .also = medicalgpt_passed},
    {.name = "medicalgpt-pretrain", .scripts = "pretraining.py", .length = "block_size", .length_default = 1024, .causal = true, .loads = "fp32", .loads_whole = "fp32", .dtype = "torch_dtype", .keys = cached::unless_checkpointed, .keeps_predictions = true,
     .lora = {.on = "use_peft", .by_default = true, .rank = "lora_rank", .targets = "target_modules", .dropout = "lora_dropout", .dropout_percent = 5, .saved = "modules_to_save"},
     .base = {.four = "load_in_4bit", .eight = "load_in_8bit", .double_by = "qlora"}, .passed = medicalgpt_passed},
    {.name = "medicalgpt-rm", .scripts = "training/reward_modeling.py|reward_modeling.py", .marks = "train_file_dir|validation_file_dir|max_source_length", .loads = "half", .dtype = "torch_dtype",
     .keys = cached::unless_checkpointed, .lora = {.on = "use_peft", .by_default = true, .rank = "lora_rank", .targets = "target_modules", .dropout = "lora_dropout", .dropout_percent = 5, .saved = "modules_to_save"},
     .base = {.eight = "load_in_8bit"}, .passed = medicalgpt_method_passed, .also = medicalgpt_passed},
    // All that is not quantised is made fp32 before adapters are added.
    {.name = "medicalgpt-dpo", .scripts = "training/dpo_training.py|dpo_training.py", .marks = "train_file_dir|validation_file_dir|max_source_length", .keeps_lengths = true, .causal = true, .loads = "fp32", .micro_default = 4, .evaluates = 1, .recompute = checkpoints::yes,
     .lora = {.on = "use_peft", .by_default = true, .rank = "lora_rank", .targets = "target_modules", .targets_default = "", .dropout = "lora_dropout", .dropout_percent = 5},
     .passed = medicalgpt_method_passed, .also = medicalgpt_passed},
    {.name = "medicalgpt-grpo", .scripts = "training/grpo_training.py|grpo_training.py", .marks = "train_file_dir|train_samples|subset_name|qlora", .causal = true, .loads = "fp32", .dtype = "torch_dtype|dtype", .recompute = checkpoints::unknown,
     .lora = trl_lora, .base = {.four = "load_in_4bit", .eight = "load_in_8bit", .nested_default = true, .prepared = false}, .passed = trl_online_passed, .also = trl_passed, .method = "grpo"},
    // RLOO since 2026-03: the policy is handed over as a model, and the reward model is one of its reward functions.
    {.name = "medicalgpt-ppo", .scripts = "training/ppo_training.py|ppo_training.py", .marks = "sft_model_path|reward_model_path|max_source_length|train_file_dir", .model = "sft_model_path|model_name_or_path", .causal = true, .loads = "fp32", .dtype = "torch_dtype|dtype",
     .recompute = checkpoints::unknown, .lora = trl_lora, .base = trl_base, .passed = trl_online_passed, .also = trl_passed, .method = "rloo", .own = "sft_model_path|reward_model_path"},
    // OptimalScale/LMFlow src/lmflow/args.py, models/hf_model_mixin.py: nothing is prepared for training.
    {.name = "lmflow", .scripts = "examples/finetune.py", .length = "block_size", .causal = true, .dtype = "torch_dtype",
     .keys = cached::unless_checkpointed, .lora = {.on = "use_lora|use_dora|use_qlora", .rank = "lora_r", .targets = "lora_target_modules", .targets_default = "", .dropout = "lora_dropout", .dropout_percent = 10, .dora = "use_dora"},
     .base = {.four = "use_qlora", .kind = "quant_type", .nested = "double_quant", .nested_default = true, .prepared = false}, .passed = lmflow_passed},
    // tatsu-lab/stanford_alpaca train.py.
    {.name = "alpaca", .scripts = "train.py", .marks = "data_path", .length = "model_max_length", .length_default = 512, .keeps_lengths = true, .causal = true, .passed = fastchat_passed},
    // huggingface/peft examples/sft/train.py.
    {.name = "peft-sft", .scripts = "train.py", .marks = "use_peft_lora|use_4bit_quantization|chat_template_format", .length = "max_length|max_seq_length|max_seq_len", .length_default = 1024, .keeps_lengths = true, .causal = true, .loads = "fp32", .dtype = "bnb_4bit_quant_storage_dtype", .keys = cached::unless_checkpointed, .recompute = checkpoints::unknown,
     .lora = {.on = "use_peft_lora", .rank = "lora_r", .rank_default = 64, .targets = "lora_target_modules", .targets_default = "q_proj|k_proj|v_proj|down_proj|up_proj|gate_proj", .dropout = "lora_dropout", .dropout_percent = 10},
     .base = {.four = "use_4bit_quantization", .eight = "use_8bit_quantization", .kind = "bnb_4bit_quant_type", .nested = "use_nested_quant", .prepared = false}, .passed = peft_sft_passed},
    // trl/scripts/sft.py and what reads SFTConfig, ModelConfig and ScriptArguments: huggingface/alignment-handbook, princeton-nlp/SimPO.
    {.name = "trl-sft", .scripts = "trl/scripts/sft.py|trl.scripts.sft|open_r1/sft.py|run_sft.py|sft.py|sft|sft_gpt_oss.py|sft_nemotron_3.py", .marks = "dataset_mixer|dataset_mixture|dataset_train_split|use_peft|lora_target_modules|dataset_name|max_length|load_in_4bit|dataset_text_field|chat_template_path", .model = "model_name_or_path|model_name", .length = "max_seq_length|max_length", .keeps_lengths = true, .loads = "fp32",
     .dtype = "torch_dtype|dtype", .keys = cached::unless_checkpointed, .recompute = checkpoints::unknown,
     .lora = trl_lora, .base = trl_base, .passed = trl_passed, .method = "sft"},
    // examples/scripts/sft_video_llm.py: adapters and formats are the script's own (io/launchers/trl/video.hpp).
    {.name = "trl-sft-video", .scripts = "sft_video_llm.py", .passed = trl_sight_passed, .also = trl_passed, .method = "sft"},
    // examples/scripts/sft_vlm.py, sft_vlm_gemma3.py, and vsft_llava.py up to 0.11, which prepares no samples: whatever the arguments say, samples are cut nowhere (training_args.max_length = None).
    {.name = "trl-sft-vlm", .scripts = "sft_vlm.py|sft_vlm_gemma3.py|vsft_llava.py", .marks = trl_marks, .keeps_lengths = true, .loads = "fp32", .dtype = "torch_dtype|dtype", .keys = cached::unless_checkpointed, .recompute = checkpoints::unknown,
     .lora = trl_lora, .base = trl_base, .passed = trl_sight_passed, .also = trl_passed, .method = "sft"},
    trl_program("trl-dpo", "trl/scripts/dpo.py|trl.scripts.dpo|examples/scripts/dpo.py|examples/scripts/dpo_vlm.py|run_dpo.py|dpo.py|dpo_vlm.py|mpo_vlm.py", "dpo", trl_preference_passed),
    trl_program("trl-kto", "trl/scripts/kto.py|trl.scripts.kto|examples/scripts/kto.py|kto.py", "kto", trl_preference_passed),
    trl_program("trl-orpo", "examples/scripts/orpo.py|run_orpo.py|orpo.py", "orpo", trl_preference_passed),
    trl_program("trl-cpo", "examples/scripts/cpo.py|cpo.py", "cpo", trl_preference_passed),
    trl_program("trl-tpo", "examples/scripts/tpo.py|tpo.py", "tpo", trl_preference_passed),
    trl_program("trl-reward", "trl/scripts/reward.py|trl.scripts.reward|examples/scripts/reward_modeling.py|run_reward_modeling.py|reward_modeling.py|reward.py", "reward", trl_preference_passed),
    // examples/scripts/prm.py: transformers' own loading, whatever dtype and attn_implementation say; its accuracy is of all tokens that are labelled.
    {.name = "trl-prm", .scripts = "examples/scripts/prm.py|prm.py", .marks = trl_marks, .length = "max_length", .keeps_lengths = true, .keys = cached::unless_checkpointed, .keeps_predictions = true, .recompute = checkpoints::unknown,
     .lora = trl_lora, .base = trl_base, .passed = trl_steps_passed, .also = trl_passed, .method = "prm"},
    trl_program("trl-gkd", "examples/scripts/gkd.py|gkd.py", "distill", trl_preference_passed),
    {.name = "trl-ppo", .scripts = "examples/scripts/ppo/ppo.py|examples/scripts/ppo/ppo_tldr.py|ppo.py|ppo_tldr.py", .marks = "sft_model_path", .model = "sft_model_path", .model_default = "EleutherAI/pythia-160m", .loads = "fp32", .dtype = "torch_dtype|dtype", .lora = trl_lora, .base = trl_base, .passed = trl_scored_passed, .also = trl_passed, .method = "ppo"},
    trl_program("trl-online-dpo", "examples/scripts/online_dpo.py|online_dpo.py|examples/scripts/dpo_online.py|dpo_online.py", "online-dpo", trl_scored_passed),
    // … whose completions functions of the script's own score (reward_funcs), whatever reward_model_path says.
    trl_program("trl-online-dpo-vlm", "online_dpo_vlm.py", "online-dpo", trl_scored_passed, "reward_model_path"),
    trl_program("trl-nash-md", "examples/scripts/nash_md.py|nash_md.py", "nash-md", trl_scored_passed),
    trl_program("trl-grpo", "trl/scripts/grpo.py|trl.scripts.grpo|open_r1/grpo.py|examples/scripts/gspo.py|grpo.py|gspo.py|grpo_vlm.py|gspo_vlm.py", "grpo", trl_online_passed),
    // RLOO up to 0.21 (v0.21.0 examples/scripts/rloo/rloo.py, rloo_tldr.py): ModelConfig's formats and adapters are read, and nobody is told of them.
    {.name = "trl-rloo-0.21", .scripts = "examples/scripts/rloo/rloo.py|examples/scripts/rloo/rloo_tldr.py", .model = "sft_model_path", .model_default = "EleutherAI/pythia-160m", .loads = "fp32", .passed = trl_scored_passed, .also = trl_passed, .method = "rloo-0.21"},
    trl_program("trl-rloo", "trl/scripts/rloo.py|trl.scripts.rloo|rloo.py|rloo_tldr.py|rloo_vlm.py", "rloo", trl_online_passed),
    // princeton-nlp/SimPO 1b3e8f35 scripts/run_simpo.py, simpo_config.py: a trainer of its own, on alignment-handbook's arguments.
    {.name = "simpo", .scripts = "run_simpo.py", .length = "max_length", .length_default = 512, .keeps_lengths = true, .causal = true, .loads = "fp32", .dtype = "torch_dtype",
     .lora = trl_lora, .passed = trl_preference_passed, .also = trl_passed, .method = "simpo"},
    // axolotl-ai-cloud/axolotl: its own reader (io/launchers/axolotl/import.hpp) makes these arguments of its configuration.
    {.name = "axolotl", .scripts = "axolotl.cli.train|axolotl/cli/train.py|scripts/finetune.py", .length = "max_length", .loads = "half", .dtype = "dtype", .micro_default = 1,
     .lora = {.on = "use_peft", .rank = "lora_r", .targets = "lora_target_modules", .targets_default = "", .dropout = "lora_dropout", .dora = "use_dora", .saved = "lora_modules_to_save"},
     .base = {.four = "load_in_4bit", .eight = "load_in_8bit", .nested_default = true, .prepared = false}, .passed = axolotl_passed},
    // modelscope/ms-swift swift/cli/sft.py, pt.py; what is not the Trainer's stands in io/launchers/swift/arguments.hpp.
    {.name = "ms-swift", .scripts = "swift/cli/sft.py|swift/cli/pt.py|swift/cli/rlhf.py|llm_sft.py|llm_pt.py", .model = "model|model_id_or_path|model_type", .micro = "per_device_train_batch_size|batch_size", .length = "max_length", .keeps_lengths = true, .loads = "bf16",
     .dtype = "torch_dtype|dtype", .micro_default = 1, .evaluates = 1, .recompute = checkpoints::yes, .passed = swift_passed, .also = swift_rollout_passed},
    // allenai/open-instruct open_instruct/finetune.py: weights in bf16, formats by Accelerate.
    {.name = "open-instruct", .scripts = "open_instruct/finetune.py|open_instruct/finetune1.py", .length = "max_seq_length", .keeps_lengths = true, .causal = true, .loads = "bf16",
     .lora = {.on = "use_lora", .rank = "lora_rank", .rank_default = 64, .targets_default = "q_proj|o_proj|v_proj|k_proj|gate_proj|up_proj|down_proj", .dropout = "lora_dropout", .dropout_percent = 10},
     .passed = open_instruct_passed},
    // huggingface/nanotron: io/launchers/nanotron/launch.hpp.
    {.name = "nanotron", .scripts = "run_train.py", .marks = "config_file", .takes = file_kind::nanotron},
    // unslothai/unsloth: its own reader of arguments (io/launchers/programs/import_unsloth.hpp).
    {.name = "unsloth-cli", .scripts = "unsloth-cli.py"},
    // volcengine/verl: its own readers of overrides (io/launchers/verl/import.hpp, io/launchers/verl/import_sft.hpp).
    {.name = "verl", .scripts = "verl.trainer.main_ppo|verl/trainer/main_ppo.py|verl.experimental.one_step_off_policy.main_ppo|verl/experimental/one_step_off_policy/main_ppo.py|verl.trainer.fsdp_sft_trainer|verl/trainer/fsdp_sft_trainer.py", .takes = file_kind::verl},
    // OpenRLHF/OpenRLHF: its own reader of arguments (io/launchers/openrlhf/import.hpp).
    {.name = "openrlhf-sft", .scripts = "openrlhf.cli.train_sft|openrlhf/cli/train_sft.py", .takes = file_kind::openrlhf},
    {.name = "openrlhf-rm", .scripts = "openrlhf.cli.train_rm|openrlhf/cli/train_rm.py", .takes = file_kind::openrlhf},
    {.name = "openrlhf-dpo", .scripts = "openrlhf.cli.train_dpo|openrlhf/cli/train_dpo.py", .takes = file_kind::openrlhf},
    {.name = "openrlhf-ppo-ray", .scripts = "openrlhf.cli.train_ppo_ray|openrlhf/cli/train_ppo_ray.py", .takes = file_kind::openrlhf},
    // deepspeedai/DeepSpeedExamples applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py.
    {.name = "deepspeed-chat-ppo", .scripts = "main.py|step3_rlhf_finetuning/main.py", .marks = "actor_model_name_or_path", .takes = file_kind::deepspeed_chat},  // deepspeed/import_chat.hpp
    {.name = "deepspeed-chat-sft", .scripts = "main.py|step1_supervised_finetuning/main.py", .marks = "max_seq_len|sft_only_data_path", .length = "max_seq_len", .length_default = 512, .causal = true, .loads = "half", .micro_default = 16, .evaluates = 16, .passed = deepspeed_chat_passed},
});
// clang-format on

/// Whether the words have one of the arguments, as --name or --na-me, with =VALUE or without.
inline bool has_argument(std::span<const shell_word> words, std::string_view names) {
  return std::any_of(words.begin(), words.end(), [&](const shell_word& w) {
    if (!w.text.starts_with("--")) return false;
    auto name = w.text.substr(2, w.text.find('=') == std::string::npos ? std::string::npos : w.text.find('=') - 2);
    if (among_words(names, name)) return true;
    std::replace(name.begin(), name.end(), '-', '_');
    return among_words(names, name);
  });
}

inline const training_program* program_named(std::string_view name) {
  for (const auto& p : training_programs)
    if (p.name == name) return &p;
  return nullptr;
}

/// Scripts that take a trainer's arguments and do not train.
inline bool never_trains(std::string_view script) {
  const auto name = script.substr(script.rfind('/') == std::string_view::npos ? 0 : script.rfind('/') + 1);
  for (const auto* word : {"generat", "server", "inference", "infer", "eval", "convert", "preprocess", "merge", "export", "serve", "vllm", "demo", "prepare", "download"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}

/// Whether a script's name, or its folder's, says another training than a whole model's on a text: the Trainer's arguments alone do not say what it does.
inline bool names_a_method(std::string_view script) {
  constexpr std::string_view methods = "dpo|ppo|grpo|rloo|kto|orpo|cpo|ipo|simpo|rm|prm|reward|rewards|rlhf|rl|rlvr|raft|bco|distill|distillation|kd|lora|qlora|dora|peft|adapter|adapters|ptuning|prefix|prompt|embed|embedder|embedding|embeddings|"
                                       "rerank|reranker|retriever|retrieval|contrastive|classify|classification|classifier|cls|glue|squad|swag|qa|ner|mlm|plm|fim|seq2seq|summarization|translation|asr|speech|image|clip|mae|mim|diffusion|quant|quantize|qat|prune|pruning|medusa|eagle|draft";
  const auto name = script.rfind('/'), folder = name == std::string_view::npos || name == 0 ? name : script.rfind('/', name - 1);
  const auto end = script.substr(folder == std::string_view::npos ? 0 : folder);
  if (end.find("no_trainer") != std::string_view::npos) return true;  // a loop of the script's own (transformers examples/pytorch, run_*_no_trainer.py)
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  std::string word;
  for (std::size_t i = 0; i <= end.size(); ++i) {
    if (i < end.size() && letter(end[i])) {
      word += end[i] >= 'A' && end[i] <= 'Z' ? static_cast<char>(end[i] - 'A' + 'a') : end[i];
      continue;
    }
    if (!word.empty() && among_words(methods, word)) return true;
    word.clear();
  }
  return false;
}

/// A program that a script starts and that is not known, in a sentence's end.
inline std::string likely_program(const std::vector<shell_command>& commands) {
  for (const auto& c : commands)
    for (const auto& w : c.words)
      if (w.text.ends_with(".py") && trains_diffusion(w.text)) return ": " + in_quotes(w.shown()) + " trains a network that makes pictures or video by diffusion" + std::string{only_language};
  for (const auto& c : commands)
    for (const auto& w : c.words)
      if (w.text.ends_with(".py") && w.text.find('=') == std::string::npos && !never_trains(w.text)) return ": " + in_quotes(w.shown()) + " is no program whose arguments are known; --program says whose they are";
  for (const auto& c : commands)
    for (const auto& w : c.words)
      if (w.text.ends_with(".sh")) return ": give the script that it starts, too, " + in_quotes(w.shown());
  return {};
}

/// The program that a script is, by its path and arguments; null where it does not train, or nobody knows.
inline const training_program* program_of(std::string_view script, std::span<const shell_word> words) {
  if (never_trains(script)) return nullptr;
  if (const auto* own = trl_own_script_of(script, words)) return program_named(own->program);
  const auto says_enough = [](std::string_view end) { return end != "src/train.py" && (end.find('/') != std::string_view::npos || (end.find('.') != std::string_view::npos && !end.ends_with(".py"))); };  // a path that no other project has, a module of a package
  const bool configured = !words.empty() && (words[0].text.ends_with(".yaml") || words[0].text.ends_with(".yml"));  // TrlParser and H4ArgumentParser take it without --config, too
  const auto marked = [&](const training_program& p) { return p.marks.empty() || has_argument(words, p.marks) || (p.name.starts_with("trl-") && (configured || has_argument(words, "config"))) || (p.name == "llama-factory" && configured); };
  for (const bool enough : {true, false})  // … more than a file's name
    for (const auto& p : training_programs)
      if (const auto end = path_end(script, p.scripts); !end.empty() && says_enough(end) == enough && (enough || marked(p))) return &p;
  refuse_other_training(script, [&](auto&& name) {
    for (const auto& p : training_programs)
      if (!path_end(script, p.scripts).empty()) name(p.name);
  });
  if (script.empty() && has_argument(words, program_named("megatron")->marks)) return program_named("megatron");
  if (script.empty() && has_argument(words, program_named("torchtitan")->marks)) return program_named("torchtitan");
  if (has_argument(words, "finetuning_type|cutoff_len")) return program_named("llama-factory");
  bool flag = false;  // --deepspeed of the Trainer names a file; a flag is another program's
  for (std::size_t i = 0; i < words.size(); ++i) flag = flag || (words[i].text == "--deepspeed" && (i + 1 == words.size() || words[i + 1].text.starts_with("--")));
  if (!flag && !names_a_method(script) && has_argument(words, "per_device_train_batch_size") && has_argument(words, "model_name_or_path")) return program_named("transformers");
  return nullptr;
}

}  // namespace headroom::io::detail
