// Distributed under the Boost Software License, Version 1.0.
// Programs that are recognised and not read: each is refused by its name, and never taken for another. What they are started with is from their
// documents: volcengine/verl 70a1859b, OpenRLHF 1445b3ba, THUDM/slime 57f3c59b, NVIDIA-NeMo/RL 00455ac0, alibaba/Pai-Megatron-Patch 33191bdd,
// AMD-AGI/Primus 2386c727, InternLM/xtuner 05525371; the files are named in tests/data/README.md.
#include <doctest/doctest.h>


#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_other_programs {

using namespace imported;

namespace {

bool is_for(const std::string& sentence, const std::string& name) { return sentence.find(" is for " + name + ", which is not read by this version: ") != std::string::npos; }
std::string script(const std::string& said) { return refusal_of({{"run.sh", said}}); }
std::string yaml(const std::string& said) { return refusal_of({{"config.yaml", said}}); }

}  // namespace

TEST_CASE("files of their repositories") {
  CHECK(is_for(script("torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 24 --hidden-size 1024 --deepspeed --deepspeed_config ds.json\n"), "Megatron-DeepSpeed"));
  CHECK(is_for(script("torchrun --nproc_per_node 8 pretrain_prefix_lm.py --num-layers 24 --hidden-size 1024\n"), "Megatron-DeepSpeed"));
  // Its own optimizer, without DeepSpeed's, which DeepSpeed's launcher starts all the same.
  CHECK(refusal_of({launch_file("megatron-deepspeed-gpt", "pretrain_gpt_tiny.sh")}).find("DeepSpeed's launcher starts \"pretrain_gpt.py\" without --deepspeed") != std::string::npos);
  CHECK(is_for(refusal_of({launch_file("megatron-bridge-distill", "llama32_3b-1b_distill_override_example.yaml")}), "Megatron-Bridge"));
}

TEST_CASE("commands") {
  CHECK(is_for(script("python ./deepy.py train.py -d configs 160M.yml local_setup.yml\n"), "gpt-neox's command line"));
  CHECK(is_for(script("torchrun --nproc_per_node=8 -m nanotron.generate --config-file examples/config_tiny_llama.yaml\n"), "nanotron's other programs"));
  CHECK(is_for(script("torchrun --nproc_per_node=8 scripts/performance/run_recipe.py --model_family_name llama --model_recipe_name llama3_8b\n"), "Megatron-Bridge"));
  CHECK(is_for(script("python3 -m recipe.dapo.main_dapo actor_rollout_ref.model.path=x trainer.n_gpus_per_node=8\n"), "verl"));
  CHECK(is_for(script("read -r -d '' commands <<EOF\nopenrlhf.cli.train_kto \\\n   --max_len 2048 --bf16\nEOF\ndeepspeed --module $commands\n"), "OpenRLHF"));
  CHECK(is_for(script("deepspeed --module openrlhf.cli.train_kto --max_len 2048 --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 2 --bf16\n"), "OpenRLHF"));
  CHECK(is_for(script("NUM=8\nray job submit --address=http://127.0.0.1:8265 -- python3 train_async.py --actor-num-nodes 1 --tensor-model-parallel-size 1\n"), "slime"));
  CHECK(is_for(script("torchrun --nproc_per_node 8 pretrain_llama.py --num-layers 32 --hidden-size 4096 --patch-tokenizer-type LLama3Tokenizer\n"), "Pai-Megatron-Patch"));
  CHECK(is_for(script("uv run python examples/run_ppo.py cluster.gpus_per_node=8\n"), "NeMo-RL's other programs"));
  CHECK(is_for(script("NPROC_PER_NODE=8 xtuner train internlm2_chat_7b_qlora_oasst1_e3 --deepspeed deepspeed_zero2\n"), "xtuner"));
  CHECK(is_for(script("EXP=examples/megatron/configs/llama3.1_8B-pretrain.yaml bash ./examples/run_pretrain.sh\n"), "Primus"));
  CHECK(script("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --zero-stage 1\n").find("(Megatron-DeepSpeed has it)") != std::string::npos);
}

TEST_CASE("programs beside them, by commands and files of their repositories") {
  CHECK(is_for(yaml("data: {train_files: hiyouga/math12k@train}\nalgorithm: {adv_estimator: grpo}\nworker: {actor: {global_batch_size: 128}}\ntrainer: {nnodes: 1, n_gpus_per_node: 8}\n"), "EasyR1"));
  CHECK(is_for(yaml("experiment_name: gsm8k-grpo\ntrial_name: trial0\ncluster: {n_nodes: 1, n_gpus_per_node: 8}\nactor: {path: Qwen/Qwen2.5-1.5B-Instruct}\n"), "AReaL"));
  CHECK(is_for(yaml("exp_name: rlvr\npretrain: Qwen/Qwen2.5-7B\nactor_train: {training_args: {per_device_train_batch_size: 1}}\nactor_infer: {generating_args: {}}\n"), "ROLL"));
  CHECK(is_for(script("uv run --isolated --extra fsdp -m skyrl_train.entrypoints.main_base trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct\n"), "SkyRL"));
  CHECK(is_for(script("uv run torchrun --nproc-per-node 8 src/prime_rl/trainer/sft/train.py @ sft.toml\n"), "prime-rl"));
  CHECK(is_for(yaml("type: sft\nmicro_batch_size: 1\nmodel: {name_or_path: meta-llama/Llama-3.1-8B-Instruct}\ndata: {sources: [], max_length: 8192}\ndeepspeed: {zero_optimization: {stage: 3}}\n"
                    "optimizer: {lr: 1e-5}\ncheckpoint:\n  - {type: huggingface, output_dir: x}\n"), "ArcticTraining"));
  CHECK(is_for(yaml("training: {train_iters: 100000}\ndata: {datasets: {}}\noptimizer: {learning_rate: {base: 1e-5}}\nmodel: {base_model: {}}\nrun: {experiment_dir: x}\n"), "Fast-LLM"));
  CHECK(is_for(yaml("defaults: []\nexperiment: {exp_name: aquila, task: {type: train, backend: megatron}}\naction: run\n"), "FlagScale"));
  CHECK(is_for(script("PT_HPU_LAZY_MODE=1 python ../gaudi_spawn.py --world_size 8 --use_deepspeed run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 4\n"), "optimum-habana"));
  const std::string npu = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 28 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --use-fused-rotary-pos-emb\n";
  CHECK(is_for(script(npu), "MindSpeed-LLM"));
  // A configuration of verl's that had levanter's keys (SkyworkAI/Skywork-OR1 verl/trainer/config/generation.yaml).
  CHECK(is_for(yaml("trainer: {nnodes: 1}\ndata: {path: x}\nmodel: {path: x}\nrollout: {name: vllm}\nactor: {}\n"), "verl"));
  // A file of data is no program.
  CHECK(script("torchrun -m trainer.main data.custom_cls.path=scripts/dataset.py trainer.total_epochs=2\n").find("dataset.py\" is no program") == std::string::npos);
}

TEST_CASE("unsloth, by its command, its notebooks' arguments and its files") {
  CHECK(is_for(script("unsloth train --config sft.yaml\n"), "unsloth"));
  CHECK(is_for(script("python train.py --full_finetuning --model_name unsloth/llama-3-8b\n"), "unsloth"));
  CHECK(is_for(refusal_of({{"sft.yaml", "model: unsloth/Qwen3-0.6B\ntraining:\n  batch_size: 2\nlora:\n  lora_r: 64\n"}}), "unsloth"));
  CHECK(is_for(refusal_of({{"sft.yaml", "model_name: unsloth/llama-3-8b-bnb-4bit\nmax_seq_length: 2048\nload_in_4bit: true\nr: 16\n"}}), "unsloth"));
}

TEST_CASE("configurations") {
  CHECK(is_for(yaml("actor_rollout_ref:\n  model: {path: Qwen/Qwen2-7B}\ntrainer:\n  n_gpus_per_node: 8\n"), "verl"));
  CHECK(is_for(yaml("work_group: amd\nexp_name: llama3.1_8B-pretrain\nmodules:\n  pre_trainer: {framework: megatron}\n"), "Primus"));
  // allenai/OLMo configs/official-0724, stanford-crfm/levanter config/llama2_7b.yaml, Firefly train_args/sft/lora, fairseq wav2vec: their keys were refused one by one.
  CHECK(is_for(yaml("model: {d_model: 4096}\noptimizer: {name: adamw}\nscheduler: {name: cosine}\ntokenizer: {identifier: x}\ndata: {paths: []}\ndevice_eval_batch_size: 8\nmax_duration: 2ep\n"), "OLMo's trainer"));  // a key of Composer's, too
  CHECK(is_for(yaml("train: {seq_length: 1024, batch_size: 32}\nmodel: {model_path: gpt2}\noptimizer: {name: adamw}\nscheduler: {name: cosine}\nmethod: {name: ppoconfig}\n"), "trlx"));
  CHECK(is_for(yaml("run_name: OLMo-7B\nmodel: {d_model: 4096}\noptimizer: {name: adamw}\nscheduler: {name: cosine}\ntokenizer: {identifier: x}\ndata: {paths: []}\nglobal_train_batch_size: 1024\n"), "OLMo's trainer"));
  CHECK(is_for(yaml("data:\n  tokenizer: x\nmodel:\n  type: llama\n  seq_len: 4096\ntrainer:\n  mp: p=f32,c=bfloat16\noptimizer:\n  learning_rate: 1e-4\n"), "levanter"));
  // Lightning-AI/pytorch-lightning's LightningCLI; mosaicml/llm-foundry scripts/train/yamls.
  CHECK(is_for(yaml("seed_everything: 42\ntrainer: {devices: 8}\nmodel: {class_path: mine.Lit}\n"), "Lightning"));
  CHECK(is_for(yaml("trainer: {accelerator: gpu, devices: 8, strategy: fsdp}\nmodel: {class_path: mine.Lit}\ndata: {class_path: mine.Data}\n"), "Lightning"));
  CHECK(is_for(script("srun python main.py fit --config lit.yaml --trainer.devices 8 --trainer.strategy fsdp\n"), "Lightning"));
  CHECK(is_for(yaml("max_duration: 1ep\nglobal_train_batch_size: 512\nmodel: {name: hf_causal_lm}\n"), "Composer"));
  CHECK(is_for(refusal_of({{"sft.json", R"({"model_name_or_path": "x", "train_file": "d.jsonl", "template_name": "default", "per_device_train_batch_size": 1, "lora_rank": 64})"}}), "Firefly"));
  CHECK(is_for(yaml("task: {_name: audio_pretraining}\ndataset: {batch_size: 1}\noptimization: {max_update: 10}\noptimizer: {_name: adam}\n"), "fairseq"));
}

TEST_CASE("what is not theirs is read on") {
  const std::string plain = "--num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type NullTokenizer --vocab-size 1000 ";
  CHECK(script("torchrun --nproc_per_node 8 pretrain_gpt.py " + plain + "\n").empty());
  // an argument that is passed over, and a program that is named
  const std::string patch = "torchrun --nproc_per_node 8 pretrain_gpt.py " + plain + "--extra-vocab-size 256\n";
  CHECK(is_for(script(patch), "Pai-Megatron-Patch"));
  CHECK(draft_of({{"run.sh", patch}}, {}, io::auto_means::by_trainer, {"extra-vocab-size"}).settled().ignored_keys == 1);
  CHECK(script("torchrun --nproc_per_node 8 pretrain_gpt.py " + plain + "--save checkpoints/nemo --wandb-project composer\n").empty());  // names of other things
  // paths and names that begin or end as another program's do
  for (const auto* value : {"--data-path 0.3 /data/nemo.x 0.7 verl.x", "--load /runs/run_train.py", "--wandb-project slime.x --wandb-exp-name primus.run", "--tensorboard-dir logs/openrlhf/cli"})
    CHECK(script("torchrun --nproc_per_node 8 pretrain_gpt.py " + plain + value + "\n").empty());
  CHECK(script("torchrun --standalone run_train.py --config-file pretrain_gpt.py\n").find("\"pretrain_gpt.py\" is a program that makes nanotron's configuration") != std::string::npos);
  CHECK(script("python -m torch.distributed.run --standalone run_train.py --load x\n").find("\"run_train.py\" is no program whose arguments are known") != std::string::npos);
  CHECK(yaml("model: llama-3.1-8b\nbatch: {sequence: 64}\nframework: hf-trainer\nhardware: {gpu: h100-sxm-80gb}\n").empty());
}

}  // namespace test_other_programs

#endif
