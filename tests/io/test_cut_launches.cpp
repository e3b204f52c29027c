// Distributed under the Boost Software License, Version 1.0.
// Launches that say less than they seem to: without arguments, with arguments that nobody reads, or cut by a comment; and scripts whose names say
// another training than their arguments. Each is a public file in its essentials; the repositories and the commits are named beside them.
#include "imported.hpp"

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_cut_launches {

using namespace imported;

namespace {

const std::vector<std::string> eight{"hardware.gpus_per_node=8"};
imported::text script(const std::string& said) { return {"run.sh", said}; }
const std::string trains = " --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --block_size 512 --bf16 True";
const imported::text factory_file{"sft.yaml", "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"};

}  // namespace

// LianjiaTech/BELLE 645084d3 train/README_FT.md: its own src/train.py, which was read as LLaMA-Factory's with adapters of rank 8.
TEST_CASE("a launch without arguments is no job, whoever has a script of its name") {
  CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 --nnodes 2 src/train.py\n")}, llama), "\"src/train.py\" is no program whose arguments are known"));
  CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 fastchat/train/train.py\n")}, llama), "run.sh:1: \"fastchat/train/train.py\" is started without arguments"));
  CHECK(holds(refusal_of({script("llamafactory-cli train\n")}, llama), "llama-factory is started without arguments"));
  // What is LLaMA-Factory's by its arguments or by its file still is.
  CHECK(job_of({script("torchrun --nproc_per_node 8 src/train.py --stage sft --finetuning_type lora --cutoff_len 1024 --template default --do_train" + trains.substr(0, trains.find(" --block_size")) + "\n")}).batch.sequence == 1024);
  CHECK(job_of({script("torchrun --nproc_per_node 8 src/train.py sft.yaml\n"), factory_file}).adapter.rank == 8);
  // Another repository's, on the Trainer's arguments alone.
  CHECK(job_of({script("torchrun --nproc_per_node 8 src/train.py" + trains + "\n")}).batch.micro == 4);
  CHECK(!job_of({script("torchrun --nproc_per_node 8 src/train.py" + trains + "\n")}).adapter.active());
}

// LLaMA-Factory src/llamafactory/hparams/parser.py read_args: sys.argv[2:] are OmegaConf's, whoever starts it.
TEST_CASE("what stands beside a configuration goes over it, or stops the import") {
  for (const std::string start : {"torchrun --nproc_per_node 8 src/train.py", "llamafactory-cli train"}) {
    CAPTURE(start);
    const auto over = job_of({script(start + " sft.yaml per_device_train_batch_size=4 lora_rank=64\n"), factory_file}, eight);
    CHECK(over.batch.micro == 4);
    CHECK(over.adapter.rank == 64);
    CHECK(job_of({script(start + " sft.yaml\n"), factory_file}, eight).batch.micro == 1);
    CHECK(holds(refusal_of({script(start + " sft.yaml --lora_rank 64\n"), factory_file}, eight), "run.sh:1: \"--lora_rank\" stands beside a configuration, where LLaMA-Factory takes key=value alone"));
    CHECK(holds(refusal_of({script(start + " sft.yaml dpo\n"), factory_file}, eight), "\"dpo\" stands beside a configuration"));
  }
  CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 run_clm.py foo" + trains + "\n")}), "run.sh:1: \"foo\" is no argument of run-clm's"));
  CHECK(holds(refusal_of({script("accelerate launch --num_processes 8 sft.py trl.yaml foo\n"), {"trl.yaml", "model_name_or_path: meta-llama/Llama-2-7b-hf\ndataset_name: x\nmax_length: 512\n"}}), "\"foo\" is no argument of trl-sft's"));
}

// huggingface/open-r1 1416fa0c README.md: a line of a diff without its backslash; comments between lines that go on are as common.
TEST_CASE("arguments behind a line that ends its command are not lost") {
  const std::string begin = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --block_size 512";
  CHECK(holds(refusal_of({script(begin + " \\\n+   --eos_token '<|im_end|>'\n    --gradient_checkpointing True\n")}), "run.sh:3: \"--gradient_checkpointing\" begins a command of its own, and is no argument of the launch in line 1"));
  CHECK(holds(refusal_of({script(begin + " \\\n  # --bf16 True \\\n  --gradient_checkpointing True\n")}), "run.sh:3: \"--gradient_checkpointing\" begins a command of its own"));
  CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 finetune.py \\\n  # the model\n  --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --block_size 512\n")}), "begins a command of its own"));
  // Deep-Agent/R1-V src/scripts/run_grpo_clevr.sh: a comment behind the backslash; eight samples at once and full recomputation were read, not one and none.
  CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 src/open_r1/grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --dataset_name x \\  # a link\n    --max_prompt_length 1024 --per_device_train_batch_size 1\n")}),
              "run.sh:2: \"--max_prompt_length\" begins a command of its own"));
  CHECK(refusal_of({script(begin + " \\\n  --gradient_checkpointing True\n")}).empty());
  CHECK(job_of({script(begin + "\n  --run_name x --logging_steps 5\n")}).batch.micro == 4);  // what was cut off changes nothing
  // The first line that is cut off changes nothing, and the next one does.
  CHECK(holds(refusal_of({script(begin + "\n  --logging_steps 1\n  --block_size 4096 --gradient_checkpointing True\n")}), "run.sh:2: \"--logging_steps\" begins a command of its own"));
  CHECK(refusal_of({script(begin + "\n  --logging_steps 1\n  --run_name x\n")}).empty());
  CHECK(refusal_of({script(begin + "\n# --gradient_checkpointing True\necho done\n")}).empty());
  CHECK(refusal_of({script("ARGS=\"\n--gradient_checkpointing True\n\"\n" + begin + " $ARGS\n")}).empty());
  // key=value, which the shell takes for assignments or for commands.
  const std::string factory = "llamafactory-cli train sft.yaml";
  CHECK(holds(refusal_of({script(factory + " \\\n  per_device_train_batch_size=4\n  cutoff_len=8192\n"), factory_file}, eight), "run.sh:3: \"cutoff_len=8192\" begins a command of its own"));
  CHECK(job_of({script(factory + " \\\n  per_device_train_batch_size=4\nstatus=$?\nCUTOFF_LEN=8192\ncutoff_length=1\n"), factory_file}, eight).batch.micro == 4);
  CHECK(job_of({script(factory + "\necho done\ncutoff_len=8192\n"), factory_file}, eight).batch.micro == 1);
  // Of two launches the one that is meant is asked for first (transformers docs/source/en/perf_hardware.md).
  CHECK(holds(refusal_of({script(begin + "\n" + begin + " --do_train\n--gradient_checkpointing True\n")}), "2 trainings start in this file (lines 1, 2): say which with --line N"));
  CHECK(holds(refusal_of({script(begin + " && " + begin + " --bf16 True\n")}), "2 trainings start in this one line, and are not the same job: put each in a line of its own"));
}

// Scripts of the Trainer's arguments alone, whose names say that more happens (yangjianxin1/Firefly e22b406e train_qlora.py; transformers
// examples/pytorch/multiple-choice/run_swag_no_trainer.py, which was read as a language model's training).
TEST_CASE("a script that is not known, and that names a method, is no training of a whole model on a text") {
  for (const auto* name : {"train_qlora.py", "run_lora.py", "my_dpo.py", "train-grpo.py", "reward/train.py", "rm/run.py", "train_rerank.py", "Finetune_LoRA.py", "run_distill.py", "run_swag_no_trainer.py", "run_clm_no_trainer.py"}) {
    CAPTURE(name);
    CHECK(holds(refusal_of({script("torchrun --nproc_per_node 8 " + std::string{name} + trains + "\n")}), "is no program whose arguments are known; --program says whose they are"));
  }
  for (const auto* name : {"train_llama.py", "run_clm_prompted.py", "my_program.py", "explorer/run.py", "dpo_project/src/main.py"}) {
    CAPTURE(name);
    CHECK(refusal_of({script("torchrun --nproc_per_node 8 " + std::string{name} + trains + "\n")}).empty());
  }
}

}  // namespace test_cut_launches

#endif
