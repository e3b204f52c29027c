// Distributed under the Boost Software License, Version 1.0.
// What one key of another program's file makes of a small job: the fields of the job that become others, and what they become.
#pragma once

#include "launcher_keys.hpp"

#include <algorithm>
#include <string>
#include <vector>

#if HEADROOM_HAS_YAML

namespace key_changes {

using namespace headroom;
using io::json_value;

/// What a reader's key is put beside: a command line, or a file as a tree.
struct beside {
  const char* reader;
  const char* means;  ///< JSON; of "megatron" and of scripts, the text in which @ is the key's place
};
inline constexpr auto trainer = R"({"model_name_or_path": "qwen2.5-7b", "per_device_train_batch_size": 1, "bf16": true, "gradient_checkpointing": true})";
// clang-format off
inline constexpr beside readers[] = {
    {"megatron", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type NullTokenizer --vocab-size 1000 --micro-batch-size 1 @\n"},
    {"megatron hybrid", "torchrun --nproc_per_node 8 pretrain_mamba.py --hybrid-override-pattern M-M* --is-hybrid-model --num-layers 4 --seq-length 512 --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec --hidden-size 256 --num-attention-heads 8 --max-position-embeddings 512 --tokenizer-type NullTokenizer --vocab-size 1000 --micro-batch-size 1 @\n"},
    {"megatron bert", "torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 4 --seq-length 512 --vocab-file bert-large-uncased-vocab.txt --hidden-size 256 --num-attention-heads 8 --max-position-embeddings 512 --micro-batch-size 1 @\n"},
    {"megatron t5", "torchrun --nproc_per_node 8 pretrain_t5.py --encoder-num-layers 2 --decoder-num-layers 3 --encoder-seq-length 512 --decoder-seq-length 128 --vocab-file bert-base-cased-vocab.txt --hidden-size 256 --num-attention-heads 8 --max-position-embeddings 512 --micro-batch-size 1 @\n"},
    {"megatron swift", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --tensor_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 16 --max_length 512 @\n"},
    {"megatron yaml", R"({"MODEL_ARGS": {"--num-layers": 4, "--hidden-size": 256, "--num-attention-heads": 8, "--seq-length": 128, "--max-position-embeddings": 128, "--tokenizer-type": "NullTokenizer", "--vocab-size": 1000, "--micro-batch-size": 1}})"},
    {"srun", "srun @ python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --vocab-size 1000 --bf16\n"},
    {"mpirun", "mpirun @ python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --vocab-size 1000 --bf16\n"},
    {"torchrun", "torchrun @ pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --vocab-size 1000 --bf16\n"},
    {"torchtitan", R"({"model": {"name": "llama3", "flavor": "8B"}, "training": {"local_batch_size": 2}})"},
    {"torchtitan fp8", R"({"model": {"name": "llama3", "flavor": "8B", "converters": ["float8"]}})"},
    {"torchtitan mx", R"({"model": {"name": "llama3", "flavor": "8B", "converters": ["mx"]}})"},
    {"torchtitan pipeline", R"({"model": {"name": "llama3", "flavor": "8B"}, "training": {"local_batch_size": 16}, "parallelism": {"pipeline_parallel_degree": 2}})"},
    {"torchtitan tensor", R"({"model": {"name": "llama3", "flavor": "8B"}, "parallelism": {"tensor_parallel_degree": 2}})"},
    {"torchtitan context", R"({"model": {"name": "llama3", "flavor": "8B"}, "parallelism": {"context_parallel_degree": 2}})"},
    {"torchtitan compile", R"({"model": {"name": "llama3", "flavor": "8B"}, "compile": {"enable": true}})"},
    {"litgpt", R"({"checkpoint_dir": "meta-llama/Llama-2-7b-hf", "precision": "bf16-true", "devices": 1, "train": {"max_seq_length": 512}})"},
    {"litgpt full", R"({"checkpoint_dir": "meta-llama/Llama-2-7b-hf", "precision": "bf16-true", "devices": 1, "train": {"max_seq_length": 512}})"},
    {"litgpt pretrain", R"({"model_name": "meta-llama/Llama-2-7b-hf", "precision": "bf16-mixed", "devices": 1, "train": {"max_seq_length": 512}})"},
    {"torchtune", R"({"model": {"_component_": "torchtune.models.llama3_1.llama3_1_8b"}, "optimizer": {"_component_": "torch.optim.AdamW"}, "tokenizer": {"max_seq_len": 2048}, "dtype": "bf16"})"},
    {"torchtune lora", R"({"model": {"_component_": "torchtune.models.llama3_1.lora_llama3_1_8b", "lora_attn_modules": ["q_proj", "v_proj"]}, "optimizer": {"_component_": "torch.optim.AdamW"}, "tokenizer": {"max_seq_len": 2048}, "dtype": "bf16"})"},
    {"accelerate", R"({"distributed_type": "MULTI_GPU", "num_processes": 8})"},
    {"accelerate fsdp", R"({"distributed_type": "FSDP", "num_processes": 8, "fsdp_config": {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}})"},
    {"accelerate deepspeed", R"({"distributed_type": "DEEPSPEED", "num_processes": 8, "deepspeed_config": {"zero_stage": 2}})"},
    {"deepspeed", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}})"},
    {"deepspeed offload", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"}}})"},
    {"nanotron", R"({"parallelism": {"dp": 1, "pp": 1, "tp": 2}, "model": {"model_config": {"is_llama_config": true, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8, "num_hidden_layers": 14, "vocab_size": 49152}},
                     "optimizer": {"zero_stage": 0, "accumulate_grad_in_fp32": true, "optimizer_factory": {"name": "adamW", "torch_adam_is_fused": true}}, "tokens": {"sequence_length": 1024, "micro_batch_size": 1, "batch_accumulation_per_replica": 4}})"},
    {"transformers", trainer},
    {"llama-factory", R"({"model_name_or_path": "qwen2.5-7b", "per_device_train_batch_size": 1, "bf16": true, "finetuning_type": "lora", "cutoff_len": 2048})"},
    {"medicalgpt", trainer},
    {"open-instruct", trainer},
    {"trl-sft", R"({"model_name_or_path": "qwen2.5-7b", "per_device_train_batch_size": 1, "bf16": true, "gradient_checkpointing": true, "max_length": 64})"},
    {"trl-dpo", trainer}, {"trl-kto", trainer}, {"trl-orpo", trainer}, {"trl-cpo", trainer},
    {"trl-gkd", R"({"model_name_or_path": "qwen2.5-7b", "teacher_model_name_or_path": "qwen2.5-7b", "lmbda": 0.0, "per_device_train_batch_size": 1, "bf16": true, "gradient_checkpointing": true})"},
    {"trl-reward", trainer}, {"trl-prm", trainer}, {"trl-grpo", trainer}, {"trl-rloo", trainer},
    {"ms-swift", R"({"model": "qwen2.5-7b", "per_device_train_batch_size": 1, "bf16": true, "gradient_checkpointing": true, "max_length": 64})"},
    {"axolotl", R"({"base_model": "meta-llama/Llama-3.1-8B", "micro_batch_size": 1, "flash_attention": true, "sequence_len": 2048, "bf16": true, "gradient_checkpointing": true})"},
    {"axolotl lora", R"({"base_model": "meta-llama/Llama-3.1-8B", "micro_batch_size": 1, "flash_attention": true, "sequence_len": 2048, "bf16": true, "gradient_checkpointing": true, "adapter": "lora", "lora_r": 8, "lora_target_modules": ["q_proj"]})"},
    {"axolotl grpo", R"({"base_model": "meta-llama/Llama-3.1-8B", "micro_batch_size": 1, "flash_attention": true, "bf16": true, "gradient_checkpointing": true, "rl": "grpo", "trl": {"max_completion_length": 128}})"},
    {"gpt-neox", R"({"pipe_parallel_size": 1, "num_layers": 4, "hidden_size": 256, "num_attention_heads": 8, "seq_length": 1024, "max_position_embeddings": 1024, "pos_emb": "rotary", "train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}})"},
    {"verl", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.enforce_eager=False @\n"},
    {"openrlhf sft", "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --data.max_len 2048 --train.batch_size 256 --train.micro_batch_size 2 --model.model_name_or_path meta-llama/Meta-Llama-3-8B --ds.zero_stage 2 @\n"},
    {"openrlhf dpo", "deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo --data.max_len 2048 --train.batch_size 256 --train.micro_batch_size 1 --model.model_name_or_path meta-llama/Meta-Llama-3-8B --ds.zero_stage 3 @\n"},
    {"openrlhf ppo", "python3 -m openrlhf.cli.train_ppo_ray --ref.num_nodes 1 --ref.num_gpus_per_node 8 --actor.num_nodes 1 --actor.num_gpus_per_node 8 --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_all --algo.kl.init_coef 1e-3 --algo.kl.use_loss --algo.advantage.estimator group_norm --actor.model_name_or_path meta-llama/Meta-Llama-3-8B --reward.remote_url /a.py --train.micro_batch_size 8 --train.batch_size 128 --rollout.micro_batch_size 16 --rollout.batch_size 128 --rollout.n_samples_per_prompt 8 --data.max_len 2048 --ds.zero_stage 3 @\n"},
    {"nemo-rl", R"({"grpo": {"num_generations_per_prompt": 16}, "loss_fn": {"reference_policy_kl_penalty": 0.01}, "cluster": {"gpus_per_node": 8, "num_nodes": 1}, "policy": {"model_name": "Qwen/Qwen2.5-1.5B", "train_global_batch_size": 512, "train_micro_batch_size": 4, "logprob_batch_size": 4, "max_total_sequence_length": 512, "precision": "bfloat16",
                   "sequence_packing": {"train_mb_tokens": 2048, "logprob_mb_tokens": 2048}, "dynamic_batching": {"train_mb_tokens": 1024, "logprob_mb_tokens": 1024}, "generation": {"backend": "vllm", "max_new_tokens": 128, "colocated": {"enabled": true}, "vllm_cfg": {"gpu_memory_utilization": 0.6, "tensor_parallel_size": 1}},
                   "megatron_cfg": {"enabled": true, "apply_rope_fusion": true, "bias_activation_fusion": true, "gradient_accumulation_fusion": false, "activation_checkpointing": false, "sequence_parallel": false, "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "context_parallel_size": 1,
                   "optimizer": {"use_precision_aware_optimizer": true, "use_distributed_optimizer": true, "optimizer_cpu_offload": false}, "distributed_data_parallel_config": {"grad_reduce_in_fp32": false, "overlap_grad_reduce": false, "overlap_param_gather": false}}}})"},
    {"nemo-rl dtensor", R"({"sft": {"val_period": 0}, "cluster": {"gpus_per_node": 8, "num_nodes": 1}, "policy": {"model_name": "Qwen/Qwen2.5-1.5B", "train_global_batch_size": 64, "train_micro_batch_size": 2, "max_total_sequence_length": 512, "precision": "bfloat16", "dtensor_cfg": {"_v2": true, "enabled": true}}})"},
    {"llava", R"({"model_name_or_path": "lmsys/vicuna-7b-v1.5", "vision_tower": "openai/clip-vit-large-patch14-336", "mm_projector_type": "mlp2x_gelu", "mm_vision_select_layer": -2, "per_device_train_batch_size": 1, "bf16": true, "gradient_checkpointing": true, "model_max_length": 2048})"},
    {"deepspeed-chat", "deepspeed --num_gpus 8 applications/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py --actor_model_name_or_path facebook/opt-1.3b --critic_model_name_or_path facebook/opt-350m --per_device_training_batch_size 4 --per_device_generation_batch_size 4 --actor_zero_stage 3 --critic_zero_stage 3 @\n"},
    {"internvl", "torchrun --nproc_per_node=2 internvl/train/internvl_chat_finetune.py --model_name_or_path OpenGVLab/InternVL2_5-8B --force_image_size 448 --max_dynamic_patch 6 --down_sample_ratio 0.5 --freeze_llm True --freeze_mlp True --freeze_backbone True --use_llm_lora 16 --bf16 True --per_device_train_batch_size 1 --max_seq_length 8192 --grad_checkpoint True --dynamic_image_size True --use_thumbnail True @\n"},
    {"swift dpo", "NPROC_PER_NODE=2 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 --deepspeed zero3 --attn_impl flash_attn --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 1024 @\n"},
    {"swift gkd", "NPROC_PER_NODE=2 swift rlhf --rlhf_type gkd --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 --deepspeed zero3 --attn_impl flash_attn --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 1024 --lmbda 0 --teacher_model Qwen/Qwen2.5-14B-Instruct @\n"},
    {"swift ppo", "NPROC_PER_NODE=2 swift rlhf --rlhf_type ppo --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 --deepspeed zero3 --attn_impl flash_attn --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 1024 --reward_model Qwen/Qwen2.5-7B-Instruct --num_sample_generations 0 @\n"},
    {"swift grpo", "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 --deepspeed zero3 --attn_impl flash_attn --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 1024 --beta 0 --num_generations 2 --max_completion_length 512 --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.5 @\n"},
    {"trl ppo", "accelerate launch --num_processes 2 examples/scripts/ppo/ppo.py --sft_model_path Qwen/Qwen2.5-0.5B --reward_model_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --bf16 true --num_sample_generations 0 @\n"},
    {"megatron vlm", "torchrun --nproc_per_node 8 pretrain_vlm.py --num-layers 12 --hidden-size 624 --num-attention-heads 12 --micro-batch-size 4 --global-batch-size 32 --seq-length 1024 --max-position-embeddings 1024 --tokenizer-type NullTokenizer --vocab-size 8193 --img-h 336 --img-w 336 --patch-dim 14 --bf16 @\n"},
    {"swift sft", "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 --attn_impl flash_attn --per_device_train_batch_size 1 --max_length 1024 @\n"},
    {"swift vl", "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --tuner_type full --torch_dtype bfloat16 --attn_impl flash_attn --per_device_train_batch_size 1 --max_length 1024 @\n"},
    {"swift moe", "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen3-30B-A3B --tuner_type full --torch_dtype bfloat16 --attn_impl flash_attn --per_device_train_batch_size 1 --max_length 1024 @\n"},
    {"llama-factory vl", "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-VL-7B-Instruct --stage sft --do_train --finetuning_type full --per_device_train_batch_size 1 --cutoff_len 2048 --bf16 true --template qwen2_vl @\n"},
    {"llama-factory command", "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-7B-Instruct --stage sft --do_train --finetuning_type full --per_device_train_batch_size 1 --cutoff_len 2048 --bf16 true @\n"},
    {"llama-factory ppo", "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-7B-Instruct --stage ppo --do_train --finetuning_type lora --lora_target all --reward_model a --per_device_train_batch_size 1 --cutoff_len 1024 --max_new_tokens 512 --bf16 true --template qwen @\n"},
    {"trl nash", "accelerate launch --num_processes 2 examples/scripts/nash_md.py --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 4 --max_new_tokens 64 --bf16 true --reward_model_path Qwen/Qwen2.5-0.5B @\n"},
    {"verl sft", "torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer model.partial_pretrain=Qwen/Qwen2.5-7B data.max_length=1024 trainer.device=cuda @\n"},
    {"run-clm", "torchrun --nproc_per_node 2 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --block_size 512 --do_train --do_eval --eval_strategy steps @\n"},
    {"unsloth", "python unsloth-cli.py --model_name unsloth/Qwen2.5-7B @\n"},
};
// clang-format on

inline void import_root(io::draft& d, std::string_view reader, const json_value& root) {
  const io::document from{.source = "a.yaml", .root = root, .lines = {}};
  const auto name = reader.substr(0, reader.find(' '));
  if (name == "torchtitan") return io::import_torchtitan(d, from);
  if (name == "litgpt") return io::import_litgpt(d, from, reader == "litgpt full" ? io::litgpt_command::full : reader == "litgpt" ? io::litgpt_command::lora : io::litgpt_command::pretrain);
  if (name == "torchtune") return io::import_torchtune(d, from);
  if (name == "nanotron") return io::import_nanotron(d, from);
  if (name == "nemo-rl") {
    io::keep_nemo_rl(d, from);
    return io::read_nemo_rl(d);
  }
  if (name == "gpt-neox") {
    io::keep_gpt_neox(d, from);
    return io::read_gpt_neox(d);
  }
  if (name == "accelerate" || name == "deepspeed" || name == "megatron") return io::import_files(d, {io::input_of(root.dump(1), name == "deepspeed" ? "ds.json" : "a.yaml", io::file_kind::unknown, imported::settings())}, imported::settings());
  d.half = io::draft::said{"bf16", "accelerate"};
  io::import_trainer(d, from, io::detail::program_named(name));
}

/// What `means` becomes with `says` in it: keys of a file by their paths, or words of a command line.
inline io::draft draft_with(std::string_view reader, std::string means, const json_value& says) {
  io::draft d;
  d.ignores = {"pretrain"};  // of litgpt: that it compiles the whole model
  if (says.is_string()) {
    const auto at = means.find('@');
    std::vector<std::string> set;
    if (reader == "openrlhf ppo") set = {"rollout.prompt=1024"};
    if (reader == "trl nash") set = {"rollout.prompt=64"};
    if (reader == "trl ppo") set = {"rollout.prompt=128"};
    if (reader == "swift vl" || reader == "llama-factory vl") set = {"batch.images.width=448", "batch.images.height=448"};
    if (reader.starts_with("llama-factory ")) set.push_back("hardware.gpus_per_node=2");
    d = imported::draft_of({{"run.sh", means.replace(at, 1, says.get<std::string>())}}, set);
  } else {
    auto root = io::parse_json(means, "beside");
    for (const auto& [path, value] : says.items()) launcher_keys::put(root, path, value);
    import_root(d, reader, root);
    d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
    if (reader.starts_with("deepspeed") || reader.starts_with("accelerate")) io::say_key(d, "model=llama-3.1-8b");
    if (!reader.starts_with("litgpt") && !reader.starts_with("nanotron") && !d.has({"hardware", "gpus_per_node"}) && !d.gpus) d.say({"hardware", "gpus_per_node"}, 8, "--set");
    if (reader == "trl-grpo" || reader == "trl-rloo" || reader == "axolotl grpo") io::say_key(d, "rollout.prompt=64");
    const bool answers = reader == "trl-gkd" && d.has({"rollout"});  // prompt and completion say it
    if (!answers && !d.has({"batch", "sequence"})) d.say({"batch", "sequence"}, 512, "--set");
  }
  return d;
}

/// The job that it is, and what the import said beside it.
struct reading {
  json_value job;
  std::vector<std::string> notes;
};
inline reading read_with(std::string_view reader, const std::string& means, const json_value& says) {
  auto d = draft_with(reader, means, says);
  auto job = io::job_to_json(d.settled());
  return {std::move(job), std::move(d.notes)};
}

/// The notes of `after` that `before` has not, behind +, and those that it has alone, behind -.
inline json_value notes_between(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  auto all = json_value::array();
  const auto has = [](const std::vector<std::string>& list, const std::string& n) { return std::find(list.begin(), list.end(), n) != list.end(); };
  for (const auto& n : before)
    if (!has(after, n)) all.push_back("-" + n);
  for (const auto& n : after)
    if (!has(before, n)) all.push_back("+" + n);
  return all;
}

/// Two keys together: words behind words, or keys beside keys, of which the first are as they are said.
inline json_value both(const json_value& first, const json_value& second) {
  if (first.is_string()) return first.get<std::string>() + " " + second.get<std::string>();
  auto all = second;
  all.update(first);
  return all;
}

/// The values of `after` that are not those of `before`, by their paths; null for what is no longer there.
inline json_value changes_between(const json_value& before, const json_value& after) {
  auto changes = json_value::object();
  const auto was = before.flatten(), is = after.flatten();
  for (const auto& [path, value] : is.items())
    if (!was.contains(path) || was[path] != value) changes[path.substr(1)] = value;
  for (const auto& [path, value] : was.items())
    if (!is.contains(path)) changes[path.substr(1)] = nullptr;
  return changes;
}

}  // namespace key_changes

#endif
