// Distributed under the Boost Software License, Version 1.0.
// Words that stand side by side in a launch and that its program does not take together, or of which one takes the other back: the program's own
// source is named beside each.
#include "imported.hpp"

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_contradictions {

using namespace imported;

namespace {

const std::string megatron = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --bf16 "
                             "--tokenizer-type GPT2BPETokenizer --vocab-file v --merge-file m --transformer-impl transformer_engine ";
std::string why(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command + "\n"}}, set); }
job of(const std::string& command, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", command + "\n"}}, set); }

}  // namespace

// training/arguments.py validate_args: recompute_activations sets the granularity, whatever was said of it (megatron/arguments.py since 2022); core/transformer/
// transformer_config.py __post_init__ of NVIDIA/Megatron-LM of 2026-08-22.
TEST_CASE("Megatron-LM's two ways to recompute") {
  CHECK(of(megatron + "--recompute-activations").recompute.mode == recompute_mode::selective);
  CHECK(of(megatron + "--recompute-activations --recompute-granularity full").recompute.mode == recompute_mode::selective);
  CHECK(why(megatron + "--recompute-activations --recompute-granularity full --recompute-method uniform --recompute-num-layers 1") ==
        "headroom: run.sh:1: recompute-activations makes recompute-granularity selective, with which Megatron-LM ends at recompute-num-layers: take one of them out");
  CHECK(holds(why(megatron + "--recompute-granularity full"), "run.sh:1: Megatron-LM ends at recompute-granularity full without recompute-method: say uniform or block"));
  CHECK(of(megatron + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1").recompute.mode == recompute_mode::full);
  // Of 2021, when it was one flag, and each layer a unit.
  CHECK(of("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --vocab-file gpt2-vocab.json "
           "--merge-file gpt2-merges.txt --data-impl mmap --checkpoint-activations").recompute.mode == recompute_mode::full);
}

// core/transformer/transformer_config.py: "num_moe_experts must be non None to use expert-parallel."
TEST_CASE("experts over ranks need experts") {
  CHECK(holds(why(megatron + "--expert-model-parallel-size 2"), "run.sh:1: Megatron-LM ends at expert-model-parallel-size 2 without num-experts"));
  CHECK(why(megatron + "--expert-model-parallel-size 1").empty());
  CHECK(of(megatron + "--expert-model-parallel-size 2 --num-experts 4").parallel.expert == 2);
}

// bigscience-workshop/Megatron-DeepSpeed examples/pretrain_t5.sh; NVIDIA/Megatron-LM cbf8250b2c of 2022-10-03 brought decoder-num-layers.
TEST_CASE("T5's layers by one word are both stacks' up to 2022-09") {
  const std::string t5 = "torchrun --nproc_per_node 8 pretrain_t5.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --kv-channels 64 --ffn-hidden-size 3072 --encoder-seq-length 512 --decoder-seq-length 128 --max-position-embeddings 512 "
                         "--micro-batch-size 16 --global-batch-size 128 --fp16 --vocab-extra-ids 100 --vocab-file bert-large-uncased-vocab.txt --accumulate-allreduce-grads-in-fp32";
  CHECK(holds(why(t5), "decoder-num-layers is required by pretrain_t5.py since 2022-10, which ends without it; before, both stacks had num-layers layers (--set framework.version=2022-09 where it is older)"));
  const auto mixed = of(t5 + " --decoder-num-layers 6");
  CHECK(mixed.model.encoder.layers == 12);
  CHECK(mixed.model.layers == 6);
  io::draft d;
  d.say({"framework"}, {{"name", "megatron"}, {"version", "2022-09"}}, "--set framework.version");
  std::vector<io::import_input> all;
  all.push_back(io::input_of(t5 + "\n", "run.sh", io::file_kind::unknown, settings()));
  io::import_files(d, std::move(all), settings());
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  const auto old = d.settled();
  CHECK(old.model.encoder.layers == 12);
  CHECK(old.model.layers == 12);
}

// trl/trainer/model_config.py __post_init__; transformers utils/quantization_config.py BitsAndBytesConfig; peft examples/sft/utils.py.
TEST_CASE("a base has four bits or eight") {
  const std::string trl = "python trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B --dataset_name x --output_dir o --use_peft ";
  CHECK(why(trl + "--load_in_4bit --load_in_8bit") == "headroom: run.sh:1: load_in_8bit and load_in_4bit end the program together: take one of them out");
  CHECK(why(trl + "--load_in_4bit --load_in_8bit False").empty());
  const std::string peft = "python train.py --model_name_or_path meta-llama/Llama-2-7b-hf --dataset_name smangrul/ultrachat-10k-chatml --max_length 2048 --use_peft_lora True --per_device_train_batch_size 4 --bf16 True ";
  CHECK(holds(why(peft + "--use_4bit_quantization True --use_8bit_quantization True"), "use_8bit_quantization and use_4bit_quantization end the program together"));
}

// transformers training_args.py _process_fsdp_args of 5.9: the word auto_wrap alone sets accelerate's policy, which is NO_WRAP without; of 5.10 the policy wraps.
TEST_CASE("FSDP without auto_wrap is one unit") {
  const std::string trainer = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf --dataset_name x --do_train --per_device_train_batch_size 2 --block_size 2048 --output_dir o --bf16 ";
  CHECK(holds(why(trainer + "--fsdp full_shard"), "run.sh:1: fsdp without auto_wrap (add it where it is meant) makes the whole model one unit before transformers 5.10 (2026-06), which is not modelled by this version, and each layer one since: say it, or --set environment.transformers=VERSION"));
  CHECK(holds(why(trainer + "--fsdp 'full_shard offload'", {"environment.transformers=5.9"}), "run.sh:1: fsdp without auto_wrap makes the whole model one unit before transformers 5.10"));
  CHECK(of(trainer + "--fsdp full_shard", {"environment.transformers=5.10"}).sharding == of(trainer + "--fsdp 'full_shard auto_wrap'", {"environment.transformers=5.10"}).sharding);
  CHECK(of(trainer + "--fsdp 'full_shard auto_wrap'").sharding.kind == sharding_kind::fsdp1);
  CHECK(of(trainer + "--fsdp no_shard").sharding.kind == sharding_kind::ddp);
}

// deepspeedai/Megatron-DeepSpeed tests/functional_tests/test_scripts/bert/pretrain_bert_distributed_test.sh: TP_SIZE=$4.
TEST_CASE("a number that the script's starter gives is asked for by its name") {
  CHECK(holds(why("TP=$4\n" + megatron + "--tensor-model-parallel-size $TP"), "run.sh:2: tensor-model-parallel-size is \"$4\", which the file itself does not say: add --env NAME=VALUE"));
}

// bigscience-workshop/bigscience evaluation/results/tr13/tzeroeval/evaluate_mt0.slurm starts t-zero's run_eval.py.
TEST_CASE("an evaluation is not NeMo-RL's because of its name") {
  CHECK(holds(why("python t-zero/evaluation/run_eval.py --dataset_name x --model_name_or_path bigscience/mt0-xxl"), "starts no training that is known here"));
  CHECK(holds(why("uv run python examples/run_eval.py --config examples/configs/evals/eval.yaml"), "NeMo-RL's other programs"));
}

}  // namespace test_contradictions

#endif
