// Distributed under the Boost Software License, Version 1.0.
// What ends a program together, or one without the other: refused by the key that the program stops at. The same without it is read.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_ends_together {

using namespace imported;

namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string megatron = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 "
                             "--tokenizer-type NullTokenizer --vocab-size 32000 --bf16 --train-iters 10 --lr 1e-4 --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights ";
std::string of_megatron(const std::string& more) { return refusal_of({{"run.sh", megatron + more}}); }

}  // namespace

// NVIDIA/Megatron-LM d98e8a64 of 2026-08-22: megatron/training/arguments.py validate_args, argument_utils.py core_transformer_config_from_args, core/optimizer/__init__.py.
TEST_CASE("arguments that end Megatron-LM together are refused by name") {
  CHECK(of_megatron("").empty());
  struct row {
    const char *with, *says, *beside;
  };
  const row rows[] = {
      {"--overlap-param-gather", "overlap-param-gather without use-distributed-optimizer or use-megatron-fsdp", "--use-distributed-optimizer --overlap-grad-reduce"},
      {"--overlap-param-gather --use-distributed-optimizer", "overlap-param-gather without overlap-grad-reduce", "--overlap-grad-reduce"},
      {"--tp-comm-overlap --tensor-model-parallel-size 2", "tp-comm-overlap without sequence-parallel", "--sequence-parallel"},
      {"--use-precision-aware-optimizer", "use-precision-aware-optimizer without use-distributed-optimizer", "--use-distributed-optimizer"},
      {"--optimizer-cpu-offload --use-distributed-optimizer", "optimizer-cpu-offload without use-precision-aware-optimizer", "--use-precision-aware-optimizer"},
      {"--main-grads-dtype bf16", "main-grads-dtype bf16 without use-precision-aware-optimizer", "--use-precision-aware-optimizer --use-distributed-optimizer"},
      {"--recompute-granularity full --recompute-method uniform", "without a recompute-num-layers of at least 1", "--recompute-num-layers 1"},
      {"--context-parallel-size 8 --seq-length 4088", "seq-length 4088, which must be a multiple of twice context-parallel-size, 8", "--seq-length 4096"},
      {"--seq-length 8192", "max-position-embeddings 4096, which must be seq-length, 8192, at least", "--max-position-embeddings 8192"},
      {"--hidden-size 4104", "hidden-size 4104, which num-attention-heads, 32, do not divide, without kv-channels", "--kv-channels 128"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.with);
    CHECK(holds(of_megatron(r.with), r.says));
    CHECK(of_megatron(std::string{r.with} + " " + r.beside).empty());
  }
  CHECK(holds(of_megatron("--squared-relu"), "swiglu beside another activation (squared-relu)"));
  CHECK(holds(of_megatron("--recompute-granularity selective --recompute-method uniform"), "recompute-method beside recompute-granularity selective"));
  CHECK(holds(of_megatron("--recompute-granularity full --recompute-method uniform --recompute-num-layers 0"), "of at least 1"));
}

// EleutherAI/gpt-neox megatron/neox_arguments/arguments.py check_batch_parameters, calculate_derived, expand_attention_types of megatron/utils.py.
TEST_CASE("GPT-NeoX's batch and kinds of attention have to come out even, and a hostfile says neither nodes nor GPUs") {
  const auto of = [](const std::string& more, const std::vector<std::string>& set = {"hardware.gpus_per_node=8"}) {
    return refusal_of({{"neox.yml", "{\"pipe_parallel_size\": 1, \"model_parallel_size\": 1, \"num_layers\": 12, \"hidden_size\": 768, \"num_attention_heads\": 12, \"seq_length\": 2048, \"max_position_embeddings\": 2048, \"pos_emb\": \"rotary\", "
                                    "\"no_weight_tying\": true, \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 0.0006}}, \"zero_optimization\": {\"stage\": 1}, \"train_micro_batch_size_per_gpu\": 4, \"fp16\": {\"enabled\": true}" + more + "}"}}, set);
  };
  CHECK(of("").empty());
  CHECK(of(", \"train_batch_size\": 64, \"gradient_accumulation_steps\": 2").empty());
  CHECK(holds(of(", \"train_batch_size\": 64, \"gradient_accumulation_steps\": 4"), "4 micro-batches of 4 × 8 samples are not the 64 of a step"));
  CHECK(of(", \"attention_config\": [[[\"flash\"], 12]]").empty());
  CHECK(of(", \"attention_config\": [[[\"flash\"], \"all\"]]").empty());
  CHECK(holds(of(", \"attention_config\": [[[\"flash\"], 11]]"), "attention_config lists 11 kinds"));
  CHECK(holds(of(", \"hostfile\": \"/job/hostfile\"", {}), "hostfile lists the nodes"));
  CHECK(holds(of(", \"hostfile\": \"/job/hostfile\"", {"hardware.nodes=2"}), "--set hardware.gpus_per_node=N"));
  CHECK(of(", \"hostfile\": \"/job/hostfile\"", {"hardware.nodes=2", "hardware.gpus_per_node=8"}).empty());
}

// hiyouga/LLaMA-Factory ff6d4d12e src/llamafactory/hparams/finetuning_args.py __post_init__.
TEST_CASE("LLaMA-Factory's optimizers of whole models do not go with LoRA, nor two of them together") {
  const auto of = [](const std::string& more) { return refusal_of({{"a.yaml", "model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nstage: sft\ndo_train: true\ndataset: x\ntemplate: qwen\ncutoff_len: 1024\nbf16: true\n" + more}}); };
  CHECK(holds(of("use_galore: true\n"), "use_galore does not go with finetuning_type lora, its default"));
  CHECK(holds(of("finetuning_type: lora\nuse_badam: true\n"), "use_badam does not go with finetuning_type lora,"));
  CHECK(of("finetuning_type: full\nuse_galore: true\n").empty());
  CHECK(holds(of("finetuning_type: full\nuse_galore: true\nuse_apollo: true\n"), "use_apollo does not go with use_galore"));
  CHECK(holds(of("finetuning_type: full\nuse_dora: true\n"), "use_dora is of finetuning_type lora alone"));
  CHECK(of("use_dora: true\n").empty());
}

// axolotl-ai-cloud/axolotl 067b021c src/axolotl/loaders/adapter.py load_lora; peft tuners_utils.py inject_adapter.
TEST_CASE("axolotl's adapters need layers that are named") {
  const auto of = [](const std::string& more) { return refusal_of({{"a.yaml", "base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 1024\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nbf16: true\noptimizer: adamw_torch_fused\nadapter: lora\nlora_r: 8\nlora_alpha: 16\ndatasets:\n  - path: x\n    type: alpaca\n" + more}}); };
  CHECK(of("lora_target_linear: true\n").empty());
  CHECK(of("lora_target_modules: [q_proj]\n").empty());
  CHECK(holds(of(""), "neither lora_target_linear nor lora_target_modules names any"));
  CHECK(holds(of("lora_target_modules: []\n"), "neither lora_target_linear nor lora_target_modules names any"));
}

// transformers training_args.py: the Trainer makes a launch of accelerate's DeepSpeed's where --deepspeed is given.
TEST_CASE("a launcher that is told of processes alone starts DeepSpeed where the Trainer is told so") {
  const std::string zero = R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto"})";
  const std::string words = " --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --max_length 1024 --bf16 --per_device_train_batch_size 2 --gradient_checkpointing --deepspeed ds.json";
  for (const auto* launch : {"trl sft --num_processes 8", "accelerate launch --num_processes 8 trl/scripts/sft.py", "accelerate launch --multi_gpu --num_processes 8 trl/scripts/sft.py", "torchrun --nproc_per_node 8 trl/scripts/sft.py"}) {
    CAPTURE(launch);
    const auto j = job_of({{"run.sh", launch + words}, {"ds.json", zero}});
    CHECK(j.sharding.kind == sharding_kind::zero);
    CHECK(j.sharding.stage == 3);
    CHECK(j.framework.label.view() == "deepspeed");
  }
}

// DeepSpeed's configuration reference: data_types.grad_accum_dtype, communication_data_type.
TEST_CASE("formats of gradients in DeepSpeed's configuration go with the Trainer's bf16") {
  const auto of = [](const std::string& more) {
    return job_of({{"run.sh", "torchrun --nproc_per_node 8 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --max_length 1024 --bf16 --per_device_train_batch_size 2 --gradient_checkpointing --deepspeed ds.json"},
                   {"ds.json", R"({"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto")" + more + "}"}}).precision;
  };
  CHECK(of("") == precisions::bf16_mixed);
  const auto sums = of(R"(, "data_types": {"grad_accum_dtype": "fp32"})");
  CHECK(sums.parameters == formats::bf16);
  CHECK(sums.gradients == formats::fp32);
  CHECK(sums.reduce == formats::bf16);
  CHECK(sums.master == formats::fp32);
  const auto reduced = of(R"(, "communication_data_type": "fp32")");
  CHECK(reduced.gradients == formats::bf16);
  CHECK(reduced.reduce == formats::fp32);
  CHECK(of(R"(, "data_types": {"grad_accum_dtype": "bf16"})") == precisions::bf16_mixed);
}

}  // namespace test_ends_together

#endif
