// Distributed under the Boost Software License, Version 1.0.
// A change of a job in the words of the program that trains: what to write into its command or its configuration.
#pragma once

#include <headroom/diagnose/advise.hpp>

#include <string>

namespace headroom::io {

namespace detail {

/// One change, one framework. In the words stand the values of the changed job: {micro} {accumulation} {sequence} {tensor} {pipeline} {context}.
struct change_spelling {
  std::string_view change, framework, words;
};
// Sources: transformers training_args.py; LLaMA-Factory hparams/model_args.py; DeepSpeed runtime/config.py and zero/config.py; Megatron-LM
// training/arguments.py; torchtitan config/job_config.py; torchtune recipes/configs; litgpt args.py.
// clang-format off
inline constexpr auto change_spellings = std::to_array<change_spelling>({
    {"environment.allocator.expandable_segments true", "", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"batch.lengths.order grouped", "hf-trainer", "--group_by_length True; since transformers 5 --train_sampling_strategy group_by_length"},
    {"batch.lengths.order grouped", "deepspeed", "the Trainer's --group_by_length True"},
    {"batch.lengths.pad_to_multiple 256", "hf-trainer", "pad_to_multiple_of=256 of the data collator; under TRL --pad_to_multiple_of 256"},
    {"sharding.kind megatron-distributed-optimizer", "megatron", "--use-distributed-optimizer"},
    {"sharding zero stage 1", "deepspeed", "\"zero_optimization\": {\"stage\": 1}"},
    {"sharding zero stage 2", "deepspeed", "\"zero_optimization\": {\"stage\": 2}"},
    {"sharding zero stage 3", "deepspeed", "\"zero_optimization\": {\"stage\": 3}"},
    {"parallel.sequence true", "megatron", "--sequence-parallel"},
    {"loss.kind fused-linear", "hf-trainer", "--use_liger_kernel True; under LLaMA-Factory enable_liger_kernel: true"},
    {"loss.kind fused-linear", "deepspeed", "the Trainer's --use_liger_kernel True"},
    {"loss.kind fused-linear", "torchtune", "loss._component_=torchtune.modules.loss.LinearCrossEntropyLoss"},
    {"loss.kind chunked", "torchtune", "loss._component_=torchtune.modules.loss.CEWithChunkedOutputLoss"},
    {"sharding fsdp2", "hf-trainer", "--fsdp \"full_shard auto_wrap\" --fsdp_config '{\"version\": 2}'"},
    {"sharding fsdp2", "torchtitan", "parallelism.data_parallel_shard_degree = -1"},
    {"sharding fsdp1", "hf-trainer", "--fsdp \"full_shard auto_wrap\" --fsdp_config '{\"version\": 1}'"},
    {"batch.micro", "hf-trainer", "--per_device_train_batch_size {micro} --gradient_accumulation_steps {accumulation}"},
    {"batch.micro", "deepspeed", "\"train_micro_batch_size_per_gpu\": {micro}, \"gradient_accumulation_steps\": {accumulation}"},
    {"batch.micro", "megatron", "--micro-batch-size {micro}"},
    {"batch.micro", "torchtitan", "training.local_batch_size = {micro}"},
    {"batch.micro", "torchtune", "batch_size={micro} gradient_accumulation_steps={accumulation}"},
    {"batch.micro", "litgpt", "--train.micro_batch_size {micro}"},
    {"recompute selective: core_attn", "megatron", "--recompute-granularity selective --recompute-modules core_attn"},
    {"recompute selective: every other matmul", "torchtitan", "activation_checkpoint.mode = \"selective\", selective_ac_option = \"op\""},
    {"recompute full", "hf-trainer", "--gradient_checkpointing True"},
    {"recompute full", "deepspeed", "the Trainer's --gradient_checkpointing True"},
    {"recompute full", "megatron", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"},
    {"recompute full", "torchtitan", "activation_checkpoint.mode = \"full\""},
    {"recompute full", "torchtune", "enable_activation_checkpointing=True"},
    {"parallel.tensor doubled", "megatron", "--tensor-model-parallel-size {tensor}"},
    {"parallel.tensor doubled", "torchtitan", "parallelism.tensor_parallel_degree = {tensor}"},
    {"parallel.pipeline doubled", "megatron", "--pipeline-model-parallel-size {pipeline}"},
    {"parallel.pipeline doubled", "torchtitan", "parallelism.pipeline_parallel_degree = {pipeline}"},
    {"parallel.context doubled", "megatron", "--context-parallel-size {context}"},
    {"parallel.context doubled", "torchtitan", "parallelism.context_parallel_degree = {context}"},
    {"offload.optimizer cpu", "deepspeed", "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}"},
    {"offload.activations cpu", "torchtune", "enable_activation_offloading=True"},
    {"offload.parameters cpu", "deepspeed", "\"zero_optimization\": {\"offload_param\": {\"device\": \"cpu\"}}"},
    {"offload.parameters cpu", "hf-trainer", "--fsdp \"full_shard auto_wrap offload\""},
    {"offload.parameters cpu", "torchtitan", "training.enable_cpu_offload = true"},
    {"optimizer adamw-8bit", "hf-trainer", "--optim adamw_bnb_8bit"},
    {"optimizer adamw-8bit", "torchtune", "optimizer._component_=bitsandbytes.optim.AdamW8bit"},
    {"batch.sequence halved", "megatron", "--seq-length {sequence}"},
    {"batch.sequence halved", "torchtitan", "training.seq_len = {sequence}"},
    {"batch.sequence halved", "torchtune", "tokenizer.max_seq_len={sequence}"},
    {"batch.sequence halved", "litgpt", "--train.max_seq_length {sequence}"},
    // volcengine/verl b178a3cd: verl/trainer/config/ppo_trainer.yaml, ppo_megatron_trainer.yaml
    {"loss.kind fused-linear", "verl", "actor_rollout_ref.model.use_fused_kernels=True"},
    {"loss.kind fused-linear", "verl-megatron", "actor_rollout_ref.model.use_fused_kernels=True"},
    {"sharding fsdp2", "verl", "actor_rollout_ref.actor.strategy=fsdp2"},
    {"sharding fsdp1", "verl", "actor_rollout_ref.actor.strategy=fsdp"},
    {"batch.micro", "verl", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={micro}"},
    {"batch.micro", "verl-megatron", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={micro}"},
    {"recompute full", "verl", "actor_rollout_ref.model.enable_gradient_checkpointing=True"},
    {"parallel.pipeline doubled", "verl-megatron", "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size={pipeline}"},
    {"parallel.context doubled", "verl-megatron", "actor_rollout_ref.actor.megatron.context_parallel_size={context}"},
    // verl/trainer/config/rollout/rollout.yaml; TRL 1.10 grpo_config.py, dpo_config.py; ms-swift 4.6 swift/arguments/rlhf_args.py
    {"rollout.sync_groups: a layer at a time", "verl", "actor_rollout_ref.rollout.layered_summon=True actor_rollout_ref.rollout.load_format=safetensors"},
    {"rollout.sync_groups: a layer at a time", "", "ms-swift's --move_model_batches, as many as layers"},
    {"rollout.sleep 2", "verl", "actor_rollout_ref.rollout.free_cache_engine=True"},
    {"rollout.sleep 2", "", "TRL's --vllm_enable_sleep_mode True; ms-swift's --sleep_level 2"},
    {"rollout.trainer_moves parameters and optimizer", "verl", "actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True"},
    {"rollout.trainer_moves parameters and optimizer", "", "ms-swift's --offload_model true --offload_optimizer true"},
    {"objective.reference precomputed", "", "TRL's --precompute_ref_log_probs True"},
});
// clang-format on

/// Whose words they are: a framework's, or verl's, which has options of its own for each of its workers and programs.
inline std::string_view speaker(const job& j) {
  if (j.objective.code != method_code::verl) return j.framework.label.view();
  if (!generates(j.objective.kind)) return "verl-sft";
  return j.framework.label == "megatron" ? "verl-megatron" : "verl";
}

}  // namespace detail

/// How the job's framework calls a change; empty where it has no word for it. `changed` is the job with the change.
inline std::string spelling_of(const change& c, const job& changed) {
  const auto row = std::find_if(detail::change_spellings.begin(), detail::change_spellings.end(), [&](const auto& s) {
    return (s.framework.empty() || s.framework == detail::speaker(changed)) && (c.text == s.change || (s.change == "batch.micro" && c.text.starts_with(s.change)));
  });
  if (row == detail::change_spellings.end()) return {};
  std::string text{row->words};
  const std::pair<std::string_view, std::int64_t> values[] = {{"{micro}", changed.batch.micro}, {"{accumulation}", changed.batch.accumulation}, {"{sequence}", changed.batch.sequence},
                                                              {"{tensor}", changed.parallel.tensor}, {"{pipeline}", changed.parallel.pipeline}, {"{context}", changed.parallel.context}};
  for (const auto& [name, value] : values)
    if (const auto at = text.find(name); at != std::string::npos) text.replace(at, name.size(), std::to_string(value));
  return text;
}

}  // namespace headroom::io
