// Distributed under the Boost Software License, Version 1.0.
// Launch files of public repositories, and what is hard about them: placeholders, defaults of PEFT, scripts of one name in several programs.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_more_launches {

using namespace imported;

namespace {

const std::string eight = "hardware.gpus_per_node=8", megatron = "--num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type NullTokenizer --vocab-size 1000 ";

}  // namespace

TEST_CASE("GPUs of all nodes, and nobody says how many nodes") {
  const std::string run = " pretrain_gpt.py " + megatron + "--micro-batch-size 1 --bf16\n";
  const auto tasks = [&](const std::string& lines) { return std::vector<imported::text>{{"r.sh", "#!/bin/bash\n" + lines + "srun python" + run}}; };
  CHECK(holds(refusal_of(tasks("#SBATCH --ntasks=16\n#SBATCH --gpus-per-task=1\n")), "r.sh:3: 16 GPUs without --nodes lie on as many nodes as Slurm chooses, which the file itself does not say: add --env NAME=VALUE or --set hardware.nodes=N"));
  CHECK(job_of(tasks("#SBATCH --ntasks=16\n#SBATCH --gpus-per-task=1\n"), {"hardware.nodes=2"}).hardware.gpus_per_node == 8);
  CHECK(job_of(tasks("#SBATCH --ntasks=16\n#SBATCH --gpus-per-task=1\n#SBATCH --nodes=4\n")).hardware.gpus_per_node == 4);
  CHECK(job_of(tasks("#SBATCH --gpus=8\n")).hardware.gpus_per_node == 8);
  const auto all = [&](const std::string& machines) { return std::vector<imported::text>{{"r.sh", "accelerate launch --num_processes 16 --num_machines " + machines + " run_clm.py --model_name_or_path gpt2 --block_size 512 --per_device_train_batch_size 1 --do_train\n"}}; };
  CHECK(holds(refusal_of(all("$NN")), "r.sh:1: --num_machines is \"$NN\", which the file itself does not say"));
  CHECK(job_of(all("2")).hardware.gpus_per_node == 8);
}

TEST_CASE("a place to fill in is no redirection, and a batch job's tasks are ranks") {
  // In sh -c "… --tensorboard-dir <TENSORBOARD DIRECTORY> --fp16 …" the shell would read from one file and write to another.
  const auto j = job_of({launch_file("megatron-gpt3-175b-slurm", "pretrain_gpt3_175B.sh")});
  CHECK(j.precision.compute == formats::fp16);
  CHECK(j.hardware.nodes == 128);
  CHECK(j.hardware.gpus_per_node == 8);  // --ntasks-per-node=8, a process each
  CHECK(j.parallel.tensor == 8);
  CHECK(j.parallel.pipeline == 16);
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 192});  // 1536 samples over 8 replicas
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.model.layers == 96);

  const auto run = [](const std::string& rest) { return refusal_of({{"r.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py " + megatron + rest + "\n"}}); };
  CHECK(run("--save <CHECKPOINT DIR> --bf16 >log 2>&1").empty());
  CHECK(run("--bf16 <in >out").empty());
  CHECK(run("--bf16 <in 2> out").empty());
  CHECK(holds(run("--micro-batch-size <SIZE>"), "\"<SIZE>\""));
  const auto redirected = job_of({{"r.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py " + megatron + "<in > --bf16\n"}});
  CHECK(redirected.precision.compute == formats::fp32);  // a file's name, as the shell has it
}

TEST_CASE("what is open stays open in a string of commands") {
  const std::string log = "L=out/$(date '+%Y-%m-%d-%H-%M-%S-and-a-format-that-is-longer-than-sixty-characters')/log.txt\n";
  const auto j = job_of({{"r.sh", log + "cmd=\"torchrun --nproc_per_node 8 pretrain_gpt.py " + megatron + "--save $L --bf16 &> $L\"\neval $cmd\n"}});
  CHECK(io::job_to_json(j).contains("precision") == false);  // bf16 is the framework's own
  CHECK(j.hardware.gpus() == 8);
}

TEST_CASE("GPUs that nobody counts are asked for where nodes or degrees need them") {
  CHECK(holds(refusal_of({{"r.sh", "#SBATCH --nodes=4\npython pretrain_gpt.py " + megatron + "\n"}}), "r.sh:1: there are 4 nodes, and no file says how many GPUs each has: add --set hardware.gpus_per_node=N"));
  CHECK(holds(refusal_of({{"m.yaml", "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 256\n  --num-attention-heads: 8\n  --seq-length: 128\n  --tensor-model-parallel-size: 2\n  --pipeline-model-parallel-size: 2\n"}}),
              "the degrees need at least 4: add --set hardware.gpus_per_node=N"));
  CHECK(holds(refusal_of({{"s.sh", "NNODES=$WORLD_SIZE swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --max_length 2048\n"}}, {"hardware.nodes=2"}), "NPROC_PER_NODE"));
}

TEST_CASE("the order of Megatron's ranks changes no memory") {
  const auto said = [](const std::string& nodes, const std::string& rest) { return refusal_of({{"r.sh", "torchrun --nnodes " + nodes + " --nproc_per_node 8 pretrain_gpt.py " + megatron + "--pipeline-model-parallel-size 2 " + rest + "\n"}}); };
  CHECK(said("1", "--use-tp-pp-dp-mapping").empty());
  CHECK(said("2", "--use-tp-pp-dp-mapping").empty());  // memory is the same; the time is said to be another order's
  const auto ordered = [&](const std::string& nodes) {
    auto d = draft_of({{"r.sh", "torchrun --nnodes " + nodes + " --nproc_per_node 8 pretrain_gpt.py " + megatron + "--pipeline-model-parallel-size 2 --use-tp-pp-dp-mapping\n"}});
    (void)d.settled();
    return d.assumed;
  };
  CHECK(ordered("1").empty());
  REQUIRE(ordered("2").size() == 1);
  CHECK(holds(ordered("2")[0], "use-tp-pp-dp-mapping lets other ranks share a node"));
  CHECK(said("2", "").empty());
}

TEST_CASE("Qwen's QLoRA is over GPTQ's four bits") {
  imported::text config{"ds_config_zero2.json", R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto", "gradient_accumulation_steps": "auto"})"};
  const auto j = job_of({launch_file("qwen-qlora-ds", "finetune_qlora_ds.sh"), config}, {eight});
  CHECK(j.model == *models::find("qwen-7b"));
  CHECK(j.adapter.base == formats::gptq_int4);
  CHECK(j.adapter.rank == 64);
  CHECK(j.adapter.modules_to_save.empty());
  CHECK(j.precision == precisions::fp16_mixed);
  CHECK(j.batch == batch{.micro = 2, .sequence = 512, .accumulation = 8});
}

TEST_CASE("LMFlow: PEFT chooses the layers where none are named") {
  const auto lora = job_of({launch_file("lmflow-fsdp", "run_finetune_with_lora.sh"), launch_file("lmflow-fsdp", "accelerate_fsdp_config.yaml")});
  CHECK(lora.model == *models::find("llama-3.2-3b"));
  CHECK(lora.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(lora.adapter.rank == 8);
  CHECK(lora.adapter.base.set() == false);
  CHECK(lora.hardware.gpus() == 8);
  CHECK(lora.sharding.kind == sharding_kind::fsdp1);
  CHECK(lora.batch == batch{.micro = 1, .sequence = 512});
  const auto qlora = job_of({launch_file("lmflow-fsdp", "run_finetune_with_qlora.sh"), launch_file("lmflow-fsdp", "accelerate_fsdp_config.yaml")});
  CHECK(qlora.adapter.base == formats::nf4_double);
  CHECK(qlora.adapter.targets == lora.adapter.targets);
  CHECK(qlora.precision.parameters == formats::bf16);  // nothing is prepared for training

  using io::detail::usual_targets;
  CHECK(usual_targets("gpt2-medium") == "c_attn");
  CHECK(usual_targets("falcon-7b") == "query_key_value");
  CHECK(usual_targets("falcon3-7b") == "q_proj|v_proj");  // a Llama
  for (const auto* other : {"llama-4-scout", "qwen2.5-vl-7b", "qwen3-vl-4b", "qwen3-30b-a3b", "gemma-3-12b", "phi-2", "deepseek-v3", ""}) CHECK(usual_targets(other).empty());
}

TEST_CASE("MiniCPM's finetune.py is not Qwen's") {
  const auto j = job_of({launch_file("minicpm-lora", "lora_finetune.sh"), launch_file("minicpm-lora", "ds_config_zero3_offload.json")});
  CHECK(j.model == *models::find("minicpm-2b"));
  CHECK(j.hardware.gpus() == 1);  // --include localhost:1
  CHECK(j.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(j.adapter.rank == 64);
  CHECK(j.batch == batch{.micro = 32, .sequence = 384});
  CHECK(j.sharding.stage == 3);
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(j.recompute.mode == recompute_mode::none);
}

TEST_CASE("DeepSpeed-Chat: a main.py that may be any step is asked about") {
  auto dpo = launch_file("deepspeed-chat-dpo", "run_350m.sh");
  const std::vector<std::string> known{eight, "model=llama-3.1-8b"};
  CHECK(holds(refusal_of({dpo}, known), "main.py is one of DeepSpeed-Chat's three steps, and the script does not say which"));
  dpo.file = "training/step2_dpo_finetuning/training_scripts/opt/multi_node/run_350m.sh";
  CHECK(holds(refusal_of({dpo}, known), "the script stands in a folder of DeepSpeed-Chat's reward, preference or reinforcement learning"));
  dpo.file = "training/step1_supervised_finetuning/training_scripts/opt/run_350m.sh";
  CHECK(job_of({dpo}, known).batch == batch{.micro = 2, .sequence = 512});
}

TEST_CASE("LLaVA, Accelerate's FSDP beside DeepSpeed, YAML's merge keys, a tied head that is saved") {
  const std::string llava = "torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path liuhaotian/llava-v1.5-7b --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --bf16 True --model_max_length 2048\n";
  CHECK(job_of({{"l.sh", llava}}).model == *models::find("llava-1.5-7b"));

  const imported::text fsdp{"fsdp.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nmixed_precision: bf16\nnum_processes: 8\n"};
  CHECK_MESSAGE(holds(refusal_of({fsdp, {"sft.yaml", "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ncutoff_len: 1024\nbf16: true\ndeepspeed: ds_z3.json\n"}}),
              "sft.yaml:5: names a configuration of DeepSpeed beside FSDP (fsdp.yaml"), refusal_of({fsdp, {"sft.yaml", "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ncutoff_len: 1024\nbf16: true\ndeepspeed: ds_z3.json\n"}}));

  const std::string base = "BASE: &base\n  --num-layers: 4\n  --hidden-size: 256\n  --num-attention-heads: 8\n  --seq-length: 128\n  --tokenizer-type: NullTokenizer\n  --vocab-size: 1000\nMODEL_ARGS:\n  <<: *base\n  --hidden-size: 512\n";
  const auto merged = job_of({{"m.yaml", base}});
  CHECK(merged.model.layers == 4);
  CHECK(merged.model.hidden == 512);
  CHECK(holds(refusal_of({{"m.yaml", base + "MODEL_ARGS_2:\n  <<: *base\n"}}), "m.yaml:11: the file has several runs, MODEL_ARGS and MODEL_ARGS_2 among them"));

  // BERT's runs have GPT's arguments (tests/functional_tests/test_cases/bert/bert_mcore_tp1_pp2); their data and vocabulary tell, but not how
  // many words there are.
  const std::string bert = "MODEL_ARGS:\n  --num-layers: 24\n  --hidden-size: 1024\n  --num-attention-heads: 16\n  --seq-length: 512\n  --max-position-embeddings: 512\n";
  CHECK(refusal_of({{"m.yaml", bert}}).empty());
  CHECK(holds(refusal_of({{"m.yaml", bert + "  --data-path: ${DATA_PATH}/my-bert_00_text_sentence\n"}}), "the file of words decides how large the vocabulary is: add --set model.vocab=N"));
  CHECK(holds(refusal_of({{"m.yaml", bert + "  --vocab-file: ${DATA_PATH}/text/vocab.txt\n"}}), "m.yaml:7: the file of words decides how large the vocabulary is"));

  const auto saved = [](const std::string& model) { return refusal_of({{"t.yaml", "model_name_or_path: " + model + "\nfinetuning_type: lora\ncutoff_len: 1024\nbf16: true\nadditional_target: embed_tokens,lm_head\n"}}); };
  CHECK(saved("meta-llama/Llama-3.2-1B").empty());  // PEFT's copy of a tied head is a matrix of its own (tests/step/test_beside_text.cpp)
  CHECK(saved("meta-llama/Meta-Llama-3-8B").empty());
}

TEST_CASE("an adapter's folder says its base, its layers and its rank") {
  const auto adapter = [](const std::string& other) {
    auto config = io::json_value::parse(R"({"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-7B-Instruct", "r": 16, "lora_alpha": 32, "lora_dropout": 0.1, "bias": "none", "task_type": "CAUSAL_LM",
      "fan_in_fan_out": false, "inference_mode": true, "init_lora_weights": true, "rank_pattern": {}, "alpha_pattern": {}, "use_rslora": true, "peft_version": "0.17.0"})");
    for (const auto* key : {"layers_to_transform", "layers_pattern", "modules_to_save", "megatron_config"}) config[key] = nullptr;
    const auto over = io::json_value::parse("{" + other + "}");
    for (const auto& [key, value] : over.items()) config[key] = value;
    return imported::text{"adapter_config.json", config.dump()};
  };
  const std::string list = R"("target_modules": ["v_proj", "q_proj"])", run = "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path ./out/adapter --block_size 1024 --bf16 True --per_device_train_batch_size 2\n";
  const auto j = job_of({{"r.sh", run}, adapter(list)});
  CHECK(j.model == *models::find("qwen2.5-7b"));
  CHECK(j.adapter.kind == adapter_kind::lora);
  CHECK(j.adapter.rank == 16);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(j.adapter.dropout == probability::of(0.1));
  CHECK(j.hardware.gpus() == 4);
  CHECK(job_of({{"r.sh", run}, adapter(R"("target_modules": "all-linear", "use_dora": true)")}).adapter.kind == adapter_kind::dora);
  CHECK(job_of({{"r.sh", run}, adapter(R"("target_modules": ".*\\.(q_proj|v_proj)$")")}).adapter == j.adapter);
  CHECK(job_of({{"r.sh", run}, adapter(list + R"(, "modules_to_save": ["lm_head"])")}).adapter.modules_to_save == module_set{module::head});

  const auto why = [&](const std::string& more) { return refusal_of({{"r.sh", run}, adapter(more)}); };
  CHECK(holds(why(R"("target_modules": "model\\.layers\\.[0-7]\\..*")"), "target_modules"));
  CHECK(holds(why(list + R"(, "bias": "all")"), "bias = \"all\" is not modelled"));
  CHECK(holds(why(list + R"(, "layers_to_transform": [0, 1])"), "layers_to_transform = [0,1] is not modelled"));
  CHECK(holds(why(list + R"(, "rank_pattern": {"q_proj": 4})"), "rank_pattern = {\"q_proj\":4} is not modelled"));
  CHECK(holds(why(list + R"(, "peft_type": "LOHA")"), "peft_type = \"LOHA\" is not modelled"));
  CHECK(holds(why(R"("r": 8)"), "target_modules is not given"));
  CHECK(job_of({{"r.sh", run}, adapter(R"("r": 8)")}, {R"(adapter.targets=["q_proj"])"}).adapter.targets == module_set{module::q_proj});

  // LLaMA-Factory trains a saved adapter on, whatever its own arguments say, or begins another.
  const std::string factory = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nfinetuning_type: lora\nlora_rank: 64\ncutoff_len: 1024\nbf16: true\nadapter_name_or_path: saves/sft\n";
  CHECK(job_of({{"t.yaml", factory}, adapter(list)}).adapter.rank == 16);
  CHECK(job_of({{"t.yaml", factory + "create_new_adapter: true\n"}}).adapter.rank == 64);
  CHECK(holds(refusal_of({{"t.yaml", factory}}), "t.yaml:6: names \"saves/sft/adapter_config.json\", which no file here is: give it, too"));
  CHECK(holds(refusal_of({{"t.yaml", "model_name_or_path: Qwen/Qwen2.5-0.5B\nfinetuning_type: lora\ncutoff_len: 1024\nbf16: true\nadapter_name_or_path: saves/sft\n"}, adapter(list)}), "is another model than the one that the adapter is for"));
  // A program's own adapter beside it.
  CHECK(holds(refusal_of({{"r.sh", "torchrun --nproc_per_node 4 supervised_finetuning.py --model_name_or_path ./out/adapter --use_peft True --bf16 True\n"}, adapter(list)}), "an adapter of its own beside that of adapter_config.json"));
}

TEST_CASE("models drop as their configurations say, whoever trains them") {
  const auto drops = [](const std::string& model, const std::string& more = {}) { return job_of({{"r.sh", "python run_clm.py --block_size 512 --model_name_or_path " + model + "\n" + more}}).dropout; };
  const auto tenth = probability::of(0.1);
  CHECK(drops("gpt2-medium") == dropout{tenth, tenth, tenth});
  CHECK(drops("facebook/opt-1.3b") == dropout{tenth, {}, {}});
  CHECK(drops("meta-llama/Llama-3.2-1B") == dropout{});
  auto chat = launch_file("deepspeed-chat-step1-llama2", "run_llama2_7b.sh");
  chat.said.replace(chat.said.find("meta-llama/Llama-2-7b-hf"), 24, "facebook/opt-6.7b --dropout 0.0");
  CHECK(job_of({chat}, {eight}).dropout == dropout{});
  chat.said.replace(chat.said.find(" --dropout 0.0"), 14, "");
  CHECK(job_of({chat}, {eight}).dropout == dropout{tenth, {}, {}});
  // What DeepSpeed and Megatron are told themselves is theirs.
  CHECK(job_of({{"d.json", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}})"}}, {"model=gpt2", "batch.sequence=512", eight}).dropout == dropout{});
  const imported::text config{"config.json", R"({"model_type": "gpt2", "n_embd": 512, "n_layer": 4, "n_head": 8, "n_positions": 512, "vocab_size": 1000, "resid_pdrop": 0.2, "attn_pdrop": 0.0, "embd_pdrop": 0.3})"};
  CHECK(job_of({{"r.sh", "python run_clm.py --block_size 512 --model_name_or_path mine\n"}, config}).dropout == dropout{probability::of(0.2), {}, probability::of(0.3)});
}

TEST_CASE("open-instruct: the template by the beginning of its argument's name") {  // scripts/train/tulu3/finetune_8b.sh; argparse knows it by that
  auto olmo = launch_file("open-instruct-mason", "finetune_13b.sh");
  const auto conf = launch_file("open-instruct-mason", "stage3_no_offloading_accelerate.conf");
  const auto without = job_of({olmo, conf});
  olmo.said.replace(olmo.said.find("open_instruct/finetune.py"), 25, "open_instruct/finetune.py --chat_template tulu");
  CHECK(job_of({olmo, conf}) == without);
}

TEST_CASE("what evaluates trains nothing") {
  const std::string model = "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\n", factory = model + "finetuning_type: lora\ntemplate: llama3\n";
  CHECK(holds(refusal_of({{"chat.yaml", factory + "adapter_name_or_path: saves/sft\n"}}), "for inference, evaluation or merging, and starts no training"));
  CHECK(holds(refusal_of({{"eval.yaml", model + "finetuning_type: full\ntask: mmlu_test\nn_shot: 5\nsave_dir: saves\n"}}), "starts no training"));
  CHECK(holds(refusal_of({{"p.yaml", factory + "stage: sft\ncutoff_len: 1024\ndo_predict: true\n"}}), "p.yaml:6: do_predict without do_train evaluates, and starts no training"));
  CHECK(refusal_of({{"t.yaml", factory + "stage: sft\ncutoff_len: 1024\ndo_predict: true\ndo_train: true\nbf16: true\n"}}).empty());
  CHECK(holds(refusal_of({{"r.sh", "python run_clm.py --block_size 512 --model_name_or_path gpt2 --do_eval\n"}}), "do_eval without do_train evaluates"));
}

TEST_CASE("vocabularies that a tokenizer's name tells") {
  const auto vocab = [](const std::string& tokenizer) {
    return job_of({{"r.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --tokenizer-type " + tokenizer + "\n"}}).model.vocab;
  };
  CHECK(vocab("Llama2Tokenizer --tokenizer-model $MODEL") == 32'000);
  CHECK(vocab("GPTSentencePieceTokenizer --tokenizer-model ${DATA}/utils/nemotron_2_256k.model") == 256'000);
  CHECK(holds(refusal_of({{"r.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --tokenizer-type GPTSentencePieceTokenizer --tokenizer-model mine.model\n"}}), "add --set model.vocab=N"));
}

TEST_CASE("models that launch files name") {
  CHECK(count(*models::find("Qwen/Qwen3-VL-2B-Instruct")).total.count() == 2'127'532'032);
  CHECK(count(*models::find("Qwen/Qwen3-VL-4B-Instruct")).total.count() == 4'437'815'808);
  CHECK(count(*models::find("Qwen/Qwen3-VL-8B-Instruct")).total.count() == 8'767'123'696);
  CHECK(count(*models::find("openlm-research/open_llama_3b_v2")).total.count() == 3'426'473'600);
  CHECK(io::shape_named("mistralai/Devstral-Small-2507") == models::mistral_small_24b);
}

}  // namespace test_more_launches

#endif
