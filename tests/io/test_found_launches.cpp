// Distributed under the Boost Software License, Version 1.0.
// Launch files of public repositories that were read as another job, or refused without a way on: each in a few lines of the same form. The
// repositories and the commits are named beside them.
#include "imported.hpp"

#include <headroom/estimate.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_found_launches {

using namespace imported;

namespace {

const std::vector<std::string> eight{"hardware.gpus_per_node=8"}, zero3{"hardware.gpus_per_node=8", "sharding=zero3"};
/// As `--model NAME` says it, before files and after them.
std::string refused_with_model(const std::vector<imported::text>& files, const std::string& model, std::vector<std::string> set) {
  set.push_back("model=" + model);
  try {
    io::draft d;
    d.replace("model", model, "--model");
    std::vector<io::import_input> all;
    for (const auto& f : files) all.push_back(io::input_of(f.said, f.file, io::file_kind::unknown, settings()));
    io::import_files(d, std::move(all), settings());
    for (const auto& s : set) io::say_key(d, s);
    d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
    (void)d.settled();
  } catch (const headroom::error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

// haotian-liu/LLaVA c121f043 scripts/finetune.sh, pretrain.sh; OpenGVLab/InternVL 2410d1db internvl_chat_llava/scripts_internvl/*.sh.
TEST_CASE("a tower that LLaVA-1.5 does not have is not read as LLaVA-1.5's") {
  const auto run = [](const std::string& tower) {
    return imported::text{"finetune.sh", "deepspeed llava/train/train_mem.py --deepspeed zero2.json --model_name_or_path ./checkpoints/mine --version v1 --vision_tower " + tower +
                                   " --bf16 True --per_device_train_batch_size 16 --model_max_length 2048 --gradient_checkpointing True\n"};
  };
  CHECK(holds(refused_with_model({run("openai/clip-vit-large-patch14")}, "llava-1.5-7b", zero3),
              "finetune.sh:1: vision_tower \"openai/clip-vit-large-patch14\" under mm_projector_type \"linear\" is not what llava-1.5-7b is made of (openai/clip-vit-large-patch14-336 under mlp2x_gelu)"));
  CHECK(holds(refused_with_model({run("./pretrained/intern_vit_6b_224px --mm_projector_type mlp2x_gelu")}, "llava-1.5-13b", zero3), "vision_tower \"./pretrained/intern_vit_6b_224px\" under"));
  CHECK(holds(refused_with_model({run("openai/clip-vit-large-patch14-336")}, "llava-1.5-7b", zero3), "under mm_projector_type \"linear\" is not what"));
  CHECK(refused_with_model({run("openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu")}, "llava-1.5-7b", zero3).empty());
  CHECK(holds(refusal_of({run("openai/clip-vit-large-patch14")}, zero3), "finetune.sh:1: LLaVA is named by its language model here, \"./checkpoints/mine\", which is none that is known: add --model llama-2-7b, llama-7b or the like, to which vision_tower"));
  // CircleRadon/TokenPacker scripts/v1_5/finetune.sh
  CHECK(holds(refusal_of({run("./clip-vit-large-patch14-336 --mm_projector_type tokenpacker")}, zero3), "under mm_projector_type \"tokenpacker\" makes of it a model that only its config.json says: give that, or --set 'model={…}'"));
  CHECK(holds(refusal_of({run("openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu")}, zero3), ", which is none that is known: add --model llava-1.5-7b or the like"));
}

// haotian-liu/LLaVA c121f043 scripts/finetune.sh, finetune_lora.sh, pretrain.sh: its first release, before the models that have names of their own.
TEST_CASE("LLaVA by its language model and its tower") {
  const auto of = [](const std::string& more, const std::string& model = "lmsys/vicuna-7b-v1.3") {
    return job_of({{"finetune.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path " + model + " --vision_tower openai/clip-vit-large-patch14" + more +
                                       " --bf16 True --per_device_train_batch_size 16 --model_max_length 2048 --gradient_checkpointing True\n"}});
  };
  const std::string plain = " --version v1 --mm_use_im_start_end False --mm_use_im_patch_token False";
  const auto j = of(plain);
  // Llama's 6,738,415,616 parameters, the 303,179,776 of openai/clip-vit-large-patch14's tower, and a layer from 1024 to 4096 features.
  CHECK(count(j.model).total.count() == 6'738'415'616 + 303'179'776 + 1024 * 4096 + 4096);
  CHECK(image_tokens(j.model.vision) == 256);
  CHECK(j.trainable.list[0].modules.has(module::projector));
  CHECK(j.trainable.list[0].modules.has(module::q_proj));
  CHECK_FALSE(j.trainable.list[0].modules.has(module::vision));
  CHECK(of(plain + " --tune_mm_mlp_adapter True").trainable.list[0].modules == module_set{module::projector});
  CHECK(of(plain + " --lora_enable True").adapter.rank == 64);
  CHECK(of("-336 --mm_projector_type mlp2x_gelu" + plain).model.vision.image == 336);
  CHECK(image_tokens(of("-336" + plain).model.vision) == 576);
  // A word for padding in version v0, which is the default, one for a patch by default, and two around an image.
  CHECK(of("").model.vocab == 32002);
  CHECK(of(" --version v1 --mm_use_im_start_end True").model.vocab == 32003);
  CHECK(holds(refusal_of({{"a.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path mistralai/Mistral-7B-v0.1 --vision_tower openai/clip-vit-large-patch14 --bf16 True --per_device_train_batch_size 1 --model_max_length 2048\n"}}), "makes of it a model that only its config.json says: give that"));
}

// haotian-liu/LLaVA c121f043 llava/train/train_mem.py, train_xformers.py; lm-sys/FastChat 0e6d3e4b fastchat/train/train_mem.py, train_xformers.py and the patches of
// Llama's attention that these import, which write no scores out; transformers models/llama/modeling_llama.py, LLAMA_ATTENTION_CLASSES of v4.36.2 to v4.47.1.
TEST_CASE("scripts of LLaVA's and FastChat's that bring a kernel of attention") {
  const std::string llava = " --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --bf16 True --per_device_train_batch_size 1 --model_max_length 2048";
  const auto fastchat = [](const std::string& model) { return " --model_name_or_path " + model + " --bf16 True --per_device_train_batch_size 2 --model_max_length 2048 --data_path d"; };
  const auto kernel = [](const std::string& script, const std::string& rest) {
    CAPTURE(script);
    return job_of({{"run.sh", "torchrun --nproc_per_node 8 " + script + rest + "\n"}}).attention;
  };
  for (const auto* script : {"train_mem.py", "train_xformers.py"}) {
    CHECK(kernel("/home/me/FastChat/fastchat/train/" + std::string{script}, fastchat("meta-llama/Llama-2-7b-hf")) == attention::flash);
    CHECK(kernel("fastchat/train/" + std::string{script}, fastchat("lmsys/vicuna-7b-v1.3")) == attention::flash);
    // A patch of Llama's class leaves others as they are.
    CHECK(kernel("fastchat/train/" + std::string{script}, fastchat("mistralai/Mistral-7B-v0.1")) == kernel("fastchat/train/train.py", fastchat("mistralai/Mistral-7B-v0.1")));
  }
  CHECK(kernel("llava/train/train_mem.py", llava) == attention::flash);
  CHECK(kernel("llava/train/train.py", llava) != attention::flash);
  CHECK(kernel("llava/train/train_xformers.py", llava) == kernel("llava/train/train.py", llava));
  const std::vector<imported::text> vicuna{{"run.sh", "torchrun --nproc_per_node 8 fastchat/train/train_mem.py" + fastchat("lmsys/vicuna-7b-v1.5") + "\n"}};
  CHECK(job_of(vicuna, {"environment.transformers=4.35"}).attention == attention::flash);
  CHECK(job_of(vicuna, {"environment.transformers=4.36"}).attention != attention::flash);
  CHECK(job_of(vicuna, {"environment.transformers=4.47"}).attention != attention::flash);
  CHECK(job_of(vicuna, {"environment.transformers=4.47", "attention=flash"}).attention == attention::flash);
  CHECK(holds(refusal_of(vicuna, {"environment.transformers=4.48"}), "does not take position_embeddings, which transformers 4.48 and later hand to it"));
  CHECK(kernel("fastchat/train/train.py", fastchat("meta-llama/Llama-2-7b-hf")) != attention::flash);
  CHECK(kernel("fastchat/train/train.py", fastchat("mistralai/Mistral-7B-v0.1")) != attention::flash);
  CHECK(kernel("fastchat/train/train_lora.py", fastchat("meta-llama/Llama-2-7b-hf")) != attention::flash);
  CHECK(kernel("llava/train/train_mem.py", llava + " --attn_implementation sdpa") == attention::sdpa);  // LLaVA-NeXT's argument
  CHECK(draft_of({{"run.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py" + llava + "\n"}}, {"attention=eager"}).settled().attention == attention::eager);
}

// llava/train/train.py, train(): llm_int8_skip_modules is mm_projector alone, and transformers 4.37.2 leaves no other linear layer as it is, the head neither; the tower is
// loaded afterwards. 32,000 by 4,096 weights of half a byte, where 16 bits would be two.
TEST_CASE("LLaVA's QLoRA packs the head, too") {
  const auto j = job_of({{"run.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py --lora_enable True --bits 4 --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --bf16 True "
                                    "--per_device_train_batch_size 1 --model_max_length 2048 --gradient_checkpointing True\n"}});
  CHECK(j.adapter.base_also == module_set{module::head});
  CHECK(j.adapter.base_skips.empty());
  CHECK_FALSE(objection_to(j));
  auto whole = j;
  whole.adapter.base_also = {};
  whole.adapter.base_skips = module_set{module::head};
  const auto weights = [](const job& of) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::model_parameters].count(); };
  const auto more = weights(whole) - weights(j);
  CHECK(more > std::int64_t{32'000} * 4096 * 14 / 10);
  CHECK(more < std::int64_t{32'000} * 4096 * 36 / 10);
}

TEST_CASE("a script that nobody knows is named above all other notes") {
  const std::string rest = " --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --per_device_train_batch_size 2 --block_size 2048\n";
  const auto notes = [&](const std::string& script) { return draft_of({{"run.sh", "torchrun --nproc_per_node 8 " + script + rest}}).notes; };
  const auto said = notes("mine/tune.py");
  REQUIRE_FALSE(said.empty());
  CHECK(holds(said[0], "run.sh:1: \"mine/tune.py\" is no program that is known here"));
  CHECK(std::count(said.begin(), said.end(), said[0]) == 1);
  for (const auto& note : notes("run_clm.py")) CHECK_FALSE(holds(note, "is no program that is known here"));
}

// SmallPigPeppa/LLaVA 13d0b062 llava/train/train.py holds a second model in every run, and that of feiyu12138/llava 8118000f makes an abstractor, by the arguments that LLaVA's own takes.
TEST_CASE("whose program a script is taken to be is said, as a changed copy has the same name and arguments") {
  const std::string rest = " --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --per_device_train_batch_size 4 --model_max_length 2048 --bf16 True\n";
  const auto whose = [&](const std::string& command, const std::string& project) {
    const auto notes = draft_of({{"run.sh", command}}).notes;
    return std::count_if(notes.begin(), notes.end(), [&](const auto& n) { return holds(n, "is taken to be that of " + project) && holds(n, "a copy that was changed may train another job than this"); });
  };
  CHECK(whose("torchrun --nproc_per_node 8 llava/train/train_mem.py" + rest, "haotian-liu/LLaVA, as it is there") == 1);
  CHECK(whose("deepspeed --num_gpus 8 ./mine/llava/train/train_mem.py" + rest, "haotian-liu/LLaVA") == 1);
  CHECK(whose("torchrun --nproc_per_node 8 fastchat/train/train.py --per_device_train_batch_size 2 --model_max_length 2048 --model_name_or_path lmsys/vicuna-7b-v1.5 --data_path x --bf16 True\n", "lm-sys/FastChat") == 1);
  CHECK(whose("swift sft --model Qwen/Qwen2.5-0.5B --dataset x\n", "") == 0);  // a program that is installed
  CHECK(whose("torchrun --nproc_per_node 8 mine/tune.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --per_device_train_batch_size 2 --block_size 2048\n", "") == 0);  // nobody's
}

// SachinKonan/LLaMA-Factory-AutoReviewer sbatch/qwen2_5_7b_finetune.sbatch with its two configurations; hiyouga/LLaMA-Factory 109162dc model/model_utils/checkpointing.py.
TEST_CASE("LLaMA-Factory's checkpoints beside FSDP2, and those that the Trainer asks it for again") {
  const auto of = [](const std::string& more, const std::string& version = "2", const std::vector<std::string>& set = {}) {
    return job_of({{"run.sbatch", "#SBATCH --gres=gpu:4\naccelerate launch --config_file fsdp2_4gpu.yaml src/train.py full_sft.yaml\n"},
                   {"fsdp2_4gpu.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: " + std::string{version == "2" ? "true" : "FULL_SHARD"} + "\n  fsdp_version: " + version +
                                           "\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n"},
                   {"full_sft.yaml", "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nflash_attn: fa2\nstage: sft\nfinetuning_type: full\ndataset: x\ntemplate: qwen\ncutoff_len: 24480\nper_device_train_batch_size: 1\nbf16: true\n" + more}},
                  set).recompute;
  };
  const recompute apart{.mode = recompute_mode::full, .reentrant = choice::no}, nested{.mode = recompute_mode::full, .reentrant = choice::yes};
  CHECK(of("") == apart);
  CHECK(of("use_reentrant_gc: true\n") == apart);
  CHECK(of("", "1") == nested);
  CHECK(of("use_reentrant_gc: false\n", "1") == apart);
  CHECK(of("gradient_checkpointing: true\n") == nested);
  CHECK(of("gradient_checkpointing: true\nuse_reentrant_gc: false\n", "1") == nested);
  CHECK(of("gradient_checkpointing: true\ngradient_checkpointing_kwargs: {\"use_reentrant\": false}\n", "1") == apart);
  CHECK(of("gradient_checkpointing_kwargs: {\"use_reentrant\": false}\n", "1") == nested);  // of which nobody makes anything
  CHECK(of("disable_gradient_checkpointing: true\n").mode == recompute_mode::none);
  CHECK(of("disable_gradient_checkpointing: true\ngradient_checkpointing: true\n").mode == recompute_mode::full);
  CHECK(of("", "2", {"recompute={\"mode\": \"full\", \"reentrant\": true}"}) == nested);
}

// open_instruct/finetune.py of ca9a57fd (2024-08-22), whose arguments became fields, and of the commit before.
TEST_CASE("open-instruct's flash attention, where nothing says it") {
  const auto of = [](const std::string& more) { return draft_of({{"run.sh", "accelerate launch --mixed_precision bf16 --num_machines 1 --num_processes 4 open_instruct/finetune.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --train_file a.jsonl" + more + "\n"}}); };
  const auto noted = [](const io::draft& d) { return std::count_if(d.notes.begin(), d.notes.end(), [](const auto& n) { return holds(n, "use_flash_attn is not given, and is true in open-instruct's finetune.py since 2024-08"); }); };
  CHECK(noted(of("")) == 1);
  CHECK(noted(of(" --use_flash_attn")) == 0);
  CHECK(of("").settled().attention == attention::flash);
}

// allenai/open-instruct e6c3044a scripts/train/olmo2/dpo_7b.sh, scripts/train/rlvr/*.sh.
TEST_CASE("open-instruct's other programs are refused by their own names") {
  const auto of = [](const std::string& script) { return refusal_of({{"run.sh", "python mason.py --num_nodes 4 --gpus 8 -- accelerate launch --num_processes 8 open_instruct/" + script + " --model_name_or_path allenai/OLMo-2-1124-7B-SFT --max_seq_length 2048\n"}}); };
  CHECK(holds(of("dpo_tune_cache.py"), "open_instruct/dpo_tune_cache.py is open-instruct's DPO, which computes its reference before the first step, and has a loss of its own, which is not modelled by this version; its finetune.py is, and TRL's DPO with precompute_ref_log_probs"));
  CHECK(holds(of("grpo_fast.py"), "open_instruct/grpo_fast.py is open-instruct's reinforcement learning, learners beside vLLM on GPUs of its own"));
  CHECK(holds(of("reward_modeling.py"), "open-instruct's training of a reward model, which is not modelled by this version; TRL's reward trainer is"));
}

// src/llmtuner/hparams/data_args.py of v0.7.0, src/llamafactory/hparams/data_args.py of v0.9.0 and v0.9.1.
TEST_CASE("LLaMA-Factory's cutoff_len where nothing says it, by the age of the program") {
  const std::string rest = " --stage sft --do_train --model_name_or_path Qwen/Qwen2.5-7B-Instruct --dataset x --template qwen --finetuning_type lora --lora_target all --per_device_train_batch_size 4 --bf16 ";
  const auto length = [&](const std::string& command, const std::string& more = {}) { return job_of({{"run.sh", command + rest + more + "\n"}}, {"hardware.gpus_per_node=1"}).batch.sequence; };
  CHECK(length("CUDA_VISIBLE_DEVICES=0 python src/train_bash.py") == 1024);
  CHECK(length("CUDA_VISIBLE_DEVICES=0 python src/train_bash.py", "--cutoff_len 512") == 512);
  CHECK(length("CUDA_VISIBLE_DEVICES=0 llamafactory-cli train") == 2048);
  const auto noted = [&](const std::string& more) {
    const auto notes = draft_of({{"run.sh", "llamafactory-cli train" + rest + more + "\n"}}, {"hardware.gpus_per_node=1"}).notes;
    return std::count_if(notes.begin(), notes.end(), [](const auto& n) { return holds(n, "cutoff_len is not given, and is 2048 in LLaMA-Factory since 0.9.1"); });
  };
  CHECK(noted("") == 1);
  CHECK(noted("--cutoff_len 2048") == 0);
}

// haotian-liu/LLaVA c121f043: pyproject.toml pins transformers 4.37.2; llava/train/train.py, train(), tells from_pretrained bf16 or nothing; llava/model/llava_arch.py,
// initialize_vision_tokenizer: with tune_mm_mlp_adapter and mm_use_im_start_end the embedding trains beside the projector.
TEST_CASE("LLaVA's release of transformers, its weights under fp16, and the embedding that trains with new tokens") {
  const std::string rest = " --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --per_device_train_batch_size 16 --model_max_length 2048 --gradient_checkpointing True";
  const auto of = [&](const std::string& more) { return job_of({{"run.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py" + rest + more + "\n"}}); };
  const auto pretrained = of(" --bf16 True --tune_mm_mlp_adapter True");
  CHECK(pretrained.framework == *frameworks::find("hf-trainer", 202402));
  CHECK(pretrained.trainable.list[0].modules == module_set{module::projector});
  CHECK(of(" --bf16 True --tune_mm_mlp_adapter True --mm_use_im_start_end True").trainable.list[0].modules == module_set{module::projector, module::embedding});
  CHECK(pretrained.precision.parameters == formats::bf16);
  CHECK(of(" --fp16 True --tune_mm_mlp_adapter True").precision == precisions::fp16_autocast);
  CHECK(of(" --fp16 True --lora_enable True").precision.parameters == formats::fp16);
}

// OptimalScale/LMFlow f3597dba src/lmflow/models/auto_model.py: text_regression is another model, with a head of its own.
TEST_CASE("LMFlow's kinds of model") {
  const auto of = [](const std::string& kind) { return refusal_of({{"run.sh", "torchrun --nproc_per_node 8 examples/finetune.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 --block_size 512 --arch_type " + kind + "\n"}}); };
  CHECK(of("decoder_only").empty());
  CHECK(holds(of("text_regression"), "arch_type = \"text_regression\" is not modelled"));
}

// hiyouga/LLaMA-Factory ff6d4d12 examples/train_qlora/llama3_lora_sft_awq.yaml, llama3_lora_sft_gptq.yaml.
TEST_CASE("a quantised checkpoint is no base of 16 bits") {
  const auto yaml = [](const std::string& name) {
    return imported::text{"sft.yaml", "model_name_or_path: TechxGenus/Meta-Llama-3-8B-Instruct" + name + "\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\ntemplate: llama3\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"};
  };
  const auto config = [](const std::string& quantised) {
    return imported::text{"config.json", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": false)" +
                                   (quantised.empty() ? std::string{} : ", \"quantization_config\": " + quantised) + "}"};
  };
  CHECK(holds(refused_with_model({yaml("-AWQ")}, "llama-3-8b", {}), "sft.yaml:1: \"TechxGenus/Meta-Llama-3-8B-Instruct-AWQ\" is a checkpoint of quantised weights by its name, and llama-3-8b stands for its shape alone"));
  CHECK(holds(refusal_of({yaml("-GPTQ")}), "is a checkpoint of quantised weights by its name: give its config.json, too"));
  CHECK(holds(refusal_of({yaml("-AWQ"), config("")}), "is a checkpoint of quantised weights by its name"));
  CHECK(refused_with_model({yaml("")}, "llama-3-8b", {}).empty());
  CHECK(refused_with_model({yaml("-FP8")}, "llama-3-8b", {}).empty());  // blocks of fp8 are dequantised as they are loaded
  CHECK(refused_with_model({yaml("-AWQ")}, "llama-3-8b", {"adapter.base=awq-int4"}).empty());

  const auto awq = job_of({yaml("-AWQ"), config(R"({"quant_method": "awq", "bits": 4, "group_size": 128})")});
  CHECK(awq.adapter.base == formats::awq_int4);
  CHECK(awq.adapter.rank == 8);
  CHECK(job_of({yaml(""), config(R"({"quant_method": "gptq", "bits": 8, "group_size": 128})")}).adapter.base == formats::gptq_int8);
  CHECK(job_of({yaml(""), config("")}).adapter.base == number_format{});
  // 6,979,321,856 weights of the layers' matrices in 4 bits and 20 for each group of 128, and embedding and head in bf16 beside them.
  CHECK(estimate(awq).ranks[0].at_peak[row::model_parameters] < estimate(job_of({yaml(""), config("")})).ranks[0].at_peak[row::model_parameters] / 2);
  CHECK(!job_of({yaml(""), config(R"({"quant_method": "fp8", "fmt": "e4m3"})")}).adapter.base.set());
  CHECK(holds(refusal_of({yaml("") , config(R"({"quant_method": "aqlm"})")}), "quant_method \"aqlm\" is not modelled by this version"));
  CHECK(holds(refusal_of({yaml(""), config(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})")}), "weights are stored in nf4, of which"));
  auto four = yaml("-bnb-4bit");
  four.said += "quantization_bit: 4\n";
  CHECK(job_of({four, config(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true})")}).adapter.base == formats::nf4_double);
  CHECK(holds(refusal_of({four, config(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})")}), "adapter.base \"nf4-double\" contradicts quantization_config, which says \"int8\" (config.json)"));
  auto whole = yaml("");
  whole.said.replace(whole.said.find("finetuning_type: lora"), 21, "finetuning_type: full");
  CHECK(holds(refusal_of({whole, config(R"({"quant_method": "gptq", "bits": 4})")}), "config.json: quantization_config: weights in gptq-int4 do not train by themselves"));
}

// bigscience-workshop/bigscience 9e64edec train/arch-and-scaling-template.slurm: DeepSpeed's configuration is written by the script itself.
TEST_CASE("Megatron's arguments beside DeepSpeed's configuration are Megatron-DeepSpeed's") {
  const auto j = job_of({{"train.slurm", "config_json=\"./ds_config.json\"\ncat <<EOT > $config_json\n{\"train_micro_batch_size_per_gpu\": 4, \"train_batch_size\": 256, \"zero_optimization\": {\"stage\": 1}, \"fp16\": {\"enabled\": true}}\nEOT\n"
                                                "python -m torch.distributed.launch --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
                                                "--micro-batch-size 4 --global-batch-size 256 --fp16 --deepspeed --deepspeed_config ${config_json} --zero-stage 1\n"}});
  CHECK(j.framework == frameworks::megatron_deepspeed);
  CHECK(j.sharding == zero(1));
  CHECK(j.hardware.gpus() == 16);
  CHECK(j.batch.accumulation == 4);  // 256 / 16 ranks / 4
}

// modelscope/ms-swift 3602360a examples/train/multi-node/deepspeed/train.sh.
TEST_CASE("how many nodes there are, DeepSpeed's hostfile says, which is not read") {
  const auto run = [](const std::string& options) {
    return imported::text{"train.sh", "deepspeed " + options + " swift/cli/sft.py --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --torch_dtype bfloat16 --max_length 2048 --deepspeed zero2\n"};
  };
  CHECK(holds(refusal_of({run("--hostfile=./host.txt")}, eight), "train.sh:1: --hostfile ./host.txt lists the nodes, which the file itself does not say: add --env NAME=VALUE or --set hardware.nodes=N"));
  CHECK(job_of({run("--hostfile=./host.txt")}, {"hardware.nodes=2", "hardware.gpus_per_node=8"}).hardware.gpus() == 16);
  CHECK(job_of({run("--hostfile ./host.txt --num_nodes 4")}, eight).hardware.gpus() == 32);
  CHECK(job_of({run("-H ./host.txt --include worker-0:0,1")}).hardware.gpus() == 2);
  CHECK(job_of({run("")}, eight).hardware.gpus() == 8);
}

// princeton-nlp/SimPO 1b3e8f35 training_configs/llama-3-8b-instruct-simpo.yaml, started by scripts/run_simpo.py.
TEST_CASE("SimPO's own trainer, by its file and by its command") {
  const imported::text yaml{"simpo.yaml", "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\ntorch_dtype: null\nattn_implementation: flash_attention_2\ndataset_mixer:\n  princeton-nlp/llama3-ultrafeedback: 1.0\nbf16: true\nbeta: 2.5\ngamma_beta_ratio: 0.55\n"
                                "gradient_accumulation_steps: 16\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: False\nmax_length: 2048\nmax_prompt_length: 1800\noptim: adamw_torch\nper_device_train_batch_size: 2\n"};
  const imported::text engine{"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n"};
  const imported::text run{"run.sh", "ACCELERATE_LOG_LEVEL=info accelerate launch --config_file zero3.yaml scripts/run_simpo.py simpo.yaml\n"};
  for (const auto& files : {std::vector<imported::text>{yaml, engine}, {run, engine, yaml}}) {
    const auto j = job_of(files);
    CHECK(j.model == *models::find("llama-3-8b"));
    CHECK(j.objective == objective{.kind = objective_kind::simpo, .code = method_code::trl_0_14});
    CHECK(j.batch == batch{.micro = 2, .sequence = 2048, .accumulation = 16, .lengths = {.unknown = true}});
    CHECK(j.hardware.gpus() == 4);
    CHECK(j.sharding.stage == 3);
    CHECK(j.precision == precisions::bf16_mixed);
    CHECK(j.recompute.reentrant == choice::no);
    CHECK(j.assumed_defaults == 0);
  }
  const auto with = [&](const std::string& more) { return refusal_of({{"simpo.yaml", yaml.said + more}, engine}); };
  CHECK(with("loss_type: hinge\nsft_weight: 0.0\n").empty());
  CHECK(holds(with("loss_type: ipo\n"), "loss_type = \"ipo\" is not modelled"));
  CHECK(holds(with("sft_weight: 0.1\n"), "sft_weight = 0.1 is not modelled by this version (a cross entropy beside the scores)"));
  auto plain = yaml;  // TrainingArguments' defaults of its time, not TRL's of later
  plain.said.replace(plain.said.find("gradient_checkpointing: true"), 28, "logging_steps: 5\nreport_to: none\ndo_eval: true");
  plain.said.erase(plain.said.find("gradient_checkpointing_kwargs:"), std::string{"gradient_checkpointing_kwargs:\n  use_reentrant: False\n"}.size());
  CHECK(job_of({plain, engine}).recompute.mode == recompute_mode::none);
}

// huggingface/alignment-handbook 925acdfe recipes/zephyr-7b-beta/dpo/config_full.yaml; allenai/open-instruct e6c3044a configs/train_configs/dpo/*.yaml.
TEST_CASE("arguments that several trainers have ask whose they are") {
  const std::string said = "model_name_or_path: alignment-handbook/zephyr-7b-sft-full\nbf16: true\nbeta: 0.01\ngradient_checkpointing: true\nmax_length: 1024\nmax_prompt_length: 512\nper_device_train_batch_size: 8\n";
  const auto why = refusal_of({{"config_full.yaml", said}});
  CHECK(holds(why, "beta is an argument of several trainers that compare answers, reward or generate"));
  CHECK(holds(why, "say with --program trl-dpo, trl-kto, trl-orpo, trl-cpo, trl-tpo, trl-reward"));
  CHECK(holds(refusal_of({{"dpo.yaml", "model_name_or_path: allenai/OLMo-2-1124-7B\nuse_slow_tokenizer: true\ndpo_beta: 5\nmax_seq_length: 2048\nper_device_train_batch_size: 1\n"}}), "dpo_beta is of open-instruct's preference or reinforcement learning"));
  // modelscope/ms-swift: a method by its name.
  CHECK(job_of({{"dpo.yaml", "rlhf_type: dpo\nmodel: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\ntorch_dtype: bfloat16\nbeta: 0.1\nmax_length: 2048\n"}}).objective.kind == objective_kind::dpo);
}

// allenai/open-instruct e6c3044a configs/train_configs/sft/tulu2_7b.yaml: 80 such files, whose launch stands in another one.
TEST_CASE("open-instruct's configuration without its launch asks for formats and sharding, and takes them from --set") {
  const imported::text yaml{"tulu2_7b.yaml", "model_name_or_path: allenai/OLMo-2-1124-7B\ntokenizer_name: allenai/OLMo-2-1124-7B\nuse_slow_tokenizer: true\nuse_flash_attn: true\nmax_seq_length: 8192\npreprocessing_num_workers: 16\nper_device_train_batch_size: 1\n"
                                   "gradient_accumulation_steps: 4\nlearning_rate: 2.0e-05\nlr_scheduler_type: linear\nwarmup_ratio: 0.03\nweight_decay: 0.0\nnum_train_epochs: 2\nwith_tracking: true\nlogging_steps: 1\n"};
  CHECK(holds(refusal_of({yaml}, eight), "tulu2_7b.yaml: open-instruct's formats and sharding stand in its accelerate launch, and no file here says them: give that command, too, or say both"));
  CHECK(holds(refusal_of({yaml}, {"precision=bf16-mixed"}), "and no file here says them"));
  CHECK(holds(refusal_of({yaml}, zero3), "and no file here says them"));
  const auto j = job_of({yaml}, {"hardware.gpus_per_node=8", "precision=bf16-mixed", "sharding=zero3", "framework=deepspeed"});
  CHECK(j.batch == batch{.micro = 1, .sequence = 8192, .accumulation = 4, .lengths = {.unknown = true}});
  CHECK(j.sharding.stage == 3);
  CHECK(j.precision == precisions::bf16_mixed);
  CHECK(j.attention == attention::flash);
}

// axolotl-ai-cloud/axolotl 067b021c core/builders/causal.py, build_collator.
TEST_CASE("what axolotl pads a micro-batch to is a key of the job") {
  const std::string whole = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 2\nsequence_len: 1000\nflash_attention: true\n";
  CHECK(job_of({{"axo.yaml", whole}}).batch.lengths.pad_to_multiple == 64);
  CHECK(job_of({{"axo.yaml", whole + "pad_to_multiple_of: 128\n"}}).batch.lengths.pad_to_multiple == 128);
  CHECK(job_of({{"axo.yaml", whole + "pad_to_multiple_of: 128\n"}}).batch.sequence == 1024);
  for (const auto* other : {"pad_to_sequence_len: true\n", "sample_packing: true\n"}) CHECK(job_of({{"axo.yaml", whole + other}}).batch.lengths == sample_lengths{});
  CHECK(job_of({{"axo.yaml", whole + "pad_to_sequence_len: false\n"}}).batch.lengths == sample_lengths{.unknown = true});
}

// deepspeedai/DeepSpeedExamples 45b4b715 applications/DeepSpeed-Chat/training/step1_supervised_finetuning/training_scripts: llama2/run_llama2_7b_lora.sh,
// opt/single_node/run_1.3b_lora.sh, run_13b.sh.
TEST_CASE("DeepSpeed-Chat's adapters, and what trains beside them") {
  const auto run = [](const std::string& model, const std::string& more) {
    return imported::text{"run.sh", "OUTPUT=./output_step1_lora\ndeepspeed main.py --sft_only_data_path x --model_name_or_path " + model + " --per_device_train_batch_size 4 --max_seq_len 512 --gradient_checkpointing --zero_stage 3 --deepspeed --lora_dim 128 " + more + " --output_dir $OUTPUT\n"};
  };
  const auto llama = job_of({run("meta-llama/Llama-2-7b-hf", "--lora_module_name layers.")}, eight);
  CHECK(llama.adapter.kind == adapter_kind::lora);
  CHECK(llama.adapter.rank == 128);
  CHECK(llama.adapter.targets == all_linear);
  CHECK(llama.adapter.dropout.per_million == 0);
  CHECK_FALSE(llama.adapter.format.set());  // the engine's
  REQUIRE(llama.trainable.size == 1);
  CHECK(llama.trainable.list[0].modules == module_set{module::embedding, module::norm, module::head});
  // Adapters of 32 layers, 128 × (4 · 2 · 4096 + 3 · (4096 + 11008)), and 2 · 32000 · 4096 + 65 · 4096 that train as a whole.
  CHECK(estimate(llama).parameter_count.trainable == parameters{std::int64_t{32} * 128 * (8 * 4096 + 3 * (4096 + 11008)) + 2 * 32000 * 4096 + 65 * 4096});
  const auto alone = job_of({run("facebook/opt-1.3b", "--lora_module_name decoder.layers. --only_optimize_lora")}, eight);
  CHECK(alone.adapter.rank == 128);
  CHECK(alone.trainable.all());
  CHECK(job_of({run("facebook/opt-1.3b", "--only_optimize_lora")}, eight) == alone);  // its default
  CHECK(holds(refusal_of({run("facebook/opt-13b", "--lora_module_name decoder.layers.")}, eight), "lora_dim = 128 is not modelled by this version (biases of the adapted layers train, too: only_optimize_lora is modelled)"));
  CHECK(holds(refusal_of({run("meta-llama/Llama-2-7b-hf", "--only_optimize_lora")}, eight), "lora_module_name = \"decoder.layers.\" is not modelled"));
  CHECK(holds(refusal_of({run("bigscience/bloom-7b1", "--lora_module_name h. --only_optimize_lora")}, eight), "of bloom-7b1's layers"));
  auto none = run("meta-llama/Llama-2-7b-hf", "");
  none.said.replace(none.said.find("lora_dim 128"), 12, "lora_dim 0");
  CHECK_FALSE(job_of({none}, eight).adapter.active());
}

// shibing624/MedicalGPT 305ab149 run_full_sft.sh, full_supervised_finetuning.py.
TEST_CASE("MedicalGPT's whole fine-tuning has no adapter, whatever its arguments for one say") {
  const imported::text run{"run_full_sft.sh", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 torchrun --nproc_per_node 8 full_supersived_finetuning.py --model_type auto --model_name_or_path Qwen/Qwen1.5-0.5B --train_file_dir ./ --per_device_train_batch_size 2 --do_train "
                                              "--model_max_length 2048 --gradient_accumulation_steps 1 --target_modules all --torch_dtype bfloat16 --gradient_checkpointing True --deepspeed ds_zero_2.json --fp16\n"};
  const imported::text engine{"ds_zero_2.json", R"({"zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})"};
  const auto j = job_of({run, engine});
  CHECK(j.model == *models::find("qwen1.5-0.5b"));
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.batch == batch{.micro = 2, .sequence = 2048, .lengths = {.unknown = true}});
  CHECK_FALSE(j.adapter.active());
  CHECK(j.trainable.all());
  CHECK(j.sharding.stage == 2);
  CHECK(j.precision == precisions::fp16_mixed);
  CHECK(j.recompute.mode == recompute_mode::full);
}

// allenai/open-instruct e6c3044a scripts/train/dgx-spark/lora_sft_no_robots.sh; huggingface/alignment-handbook 925acdfe recipes/zephyr-7b-beta/README.md:
// ddp.yaml with --num_processes=1.
TEST_CASE("one process of accelerate's is not wrapped in DistributedDataParallel") {
  const std::string ddp = "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n";
  const std::string sft = " scripts/sft.py --model_name_or_path mistralai/Mistral-7B-v0.1 --torch_dtype bfloat16 --bf16 True --max_seq_length 2048 --per_device_train_batch_size 4 --gradient_checkpointing true --use_peft --lora_target_modules q_proj v_proj\n";
  CHECK(job_of({{"run.sh", "accelerate launch --config_file ddp.yaml --num_processes=1" + sft}, {"ddp.yaml", ddp}}).sharding.kind == sharding_kind::none);
  CHECK(job_of({{"run.sh", "accelerate launch --mixed_precision bf16 --num_processes 1" + sft}}).sharding.kind == sharding_kind::none);
  CHECK(job_of({{"run.sh", "accelerate launch --config_file ddp.yaml" + sft}, {"ddp.yaml", ddp}}).sharding.kind == sharding_kind::ddp);
  CHECK(job_of({{"run.sh", "accelerate launch --mixed_precision bf16 --num_processes 1" + sft}}, {"sharding=ddp"}).sharding.kind == sharding_kind::ddp);
}

// OpenGVLab/InternVL 2410d1db internvl_chat_gpt_oss/shell: batch sizes of the environment. axolotl-ai-cloud/axolotl 4b997c3e examples/qwen/lora.yml: an older name.
TEST_CASE("values of the environment say how to go on, and an older name of axolotl's is harmless") {
  CHECK(holds(refusal_of({{"run.sh", "torchrun --nproc_per_node 8 train.py --model_name_or_path mistralai/Mistral-7B-v0.1 --data_path d --bf16 True --model_max_length 512 --gradient_accumulation_steps $((64 / WORLD_SIZE))\n"}}),
              "run.sh:1: --gradient_accumulation_steps is \"$((64 / WORLD_SIZE))\", which the file itself does not say: add --env NAME=VALUE for what it leaves to its environment"));
  CHECK(job_of({{"axo.yaml", "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 2\nsequence_len: 2048\nflash_attention: true\neval_table_size:\neval_table_max_new_tokens: 128\n"}}).batch.micro == 2);
}

// NVIDIA/Megatron-LM d98e8a64 tests/performance_tests/shell_test_utils/determinism/perf_breakdown.sh: a flag that a command makes, behind harmless ones.
TEST_CASE("what a command's last word may hold is said not to be read") {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 256 --max-position-embeddings 256 --micro-batch-size 2 --global-batch-size 16 --vocab-size 256 --tokenizer-type NullTokenizer --bf16 ";
  const auto notes = [&](const std::string& end) {
    std::string all;
    for (const auto& n : draft_of({{"run.sh", run + end + "\n"}}).notes) all += n + "\n";
    return all;
  };
  CHECK(holds(notes("--no-load-rng $([ \"$MODE\" = det ] && echo --deterministic-mode)"), "run.sh:1: the script leaves \"$([ "));
  CHECK(holds(notes("--save ckpt $EXTRA_ARGS"), "run.sh:1: the script leaves \"$EXTRA_ARGS\" open: where it holds arguments, they are not read"));
  // allenai/open-instruct e6c3044a scripts/finetune_qlora_with_accelerate_config.sh: the configuration is the script's second argument, and the program's only one.
  const std::string configured = "NUM_GPUS=\"$1\"\naccelerate launch --num_machines 1 --num_processes 8 open_instruct/finetune.py \\\n    \"$2\" #\\\n";
  CHECK(refusal_of({{"run.sh", configured}}, {"model=llama-2-7b", "batch.sequence=2048"}) == "headroom: run.sh:3: \"$2\" is the script's own argument, and one of the program's, or the file that has them: add --env 2=VALUE");
  CHECK(holds(refusal_of({{"run.sh", run + "--no-load-rng ${12}\n"}}), "\"$12\" is the script's own argument, and one of the program's, or the file that has them: add --env 12=VALUE"));
  for (const auto* end : {"--save $CKPT", "--no-load-rng", "--save ckpt", "--save $CKPT/x", "--no-load-rng --save ckpt"}) CHECK_FALSE(holds(notes(end), "open: where"));
}

// QwenLM/Qwen-VL aa00ed04, QwenLM/Qwen3-VL 96588727, OpenBMB/MiniCPM-V 0dbb566d, NVlabs/VILA b760c34b, THUDM/ChatGLM2-6B cb8e8b43, artidoro/qlora 7f4e95a6.
TEST_CASE("programs of models' own repositories are named, whatever their script is called") {
  const auto is_for = [](const std::string& command, const std::string& name) { return holds(refusal_of({{"run.sh", command + "\n"}}, eight), " is for " + name + ", which is not read by this version: "); };
  CHECK(is_for("torchrun --nproc_per_node 8 finetune.py --model_name_or_path Qwen/Qwen-VL-Chat --data_path d --bf16 True --fix_vit True --model_max_length 2048 --lazy_preprocess True --use_lora", "Qwen-VL's finetune.py"));
  CHECK(is_for("torchrun --nproc_per_node 8 qwenvl/train/train_qwen.py --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --dataset_use d --data_flatten True --tune_mm_llm True", "Qwen2.5-VL's and Qwen3-VL's qwen-vl-finetune"));
  CHECK(is_for("torchrun --nproc_per_node 8 finetune.py --model_name_or_path openbmb/MiniCPM-V-2_6 --llm_type qwen2 --data_path d --bf16 true", "MiniCPM-V's finetune.py"));
  CHECK(is_for("torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path Efficient-Large-Model/NVILA-Lite-8B --data_mixture d --vision_tower siglip --bf16 True", "VILA"));
  CHECK(is_for("torchrun --nproc_per_node 1 main.py --do_train --train_file t.json --prompt_column content --model_name_or_path THUDM/chatglm2-6b --pre_seq_len 128", "ChatGLM's P-tuning"));
  CHECK(is_for("torchrun --nproc_per_node 8 ../src/train.py --max_context_width=4096 --hidden_width=4096 --num_layers=32 --model_type=llama_v2 --checkpoint_dir=c --train_batch_size=1", "AWS's example of FSDP (its own train.py)"));
  CHECK(is_for("python qlora.py --model_name_or_path huggyllama/llama-7b --bits 4 --bf16", "qlora.py"));
}

}  // namespace test_found_launches

#endif
