// Distributed under the Boost Software License, Version 1.0.
// Python that makes one of TRL's trainers of arguments of its own: read as the same arguments of TRL's scripts are, with the defaults of the classes it calls.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_trl_text {

using namespace headroom;
using namespace imported;

namespace {

const std::string config = "args = SFTConfig(output_dir='out', per_device_train_batch_size=2, gradient_accumulation_steps=4, max_length=1024, gradient_checkpointing=False, bf16=True)\n";
const std::string loads = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B', torch_dtype=torch.bfloat16, attn_implementation='flash_attention_2')\n";

job text_job(const std::string& text, const std::vector<std::string>& set = {}) { return job_of({{"train.py", text}}, set); }
std::string why(const std::string& text, const std::vector<std::string>& set = {}) { return refusal_of({{"train.py", text}}, set); }
job command(const std::string& arguments) { return job_of({{"t.sh", "python trl/scripts/sft.py " + arguments + "\n"}}); }

}  // namespace

TEST_CASE("a model by its name, and one that is loaded") {
  // trl/trainer/utils.py create_model_from_path: fp32 since 0.27; transformers from_pretrained otherwise.
  const auto named = text_job(config + "trainer = SFTTrainer(model='meta-llama/Llama-3.1-8B', args=args, train_dataset=ds)\ntrainer.train()\n");
  CHECK(named.model == models::llama_3_1_8b);
  CHECK(named.precision == precisions::bf16_autocast);
  CHECK(named.batch.micro == 2);
  CHECK(named.batch.accumulation == 4);
  CHECK(named.batch.sequence == 1024);
  CHECK(named.recompute.mode == recompute_mode::none);
  CHECK(text_job(config + "trainer = SFTTrainer(model='meta-llama/Llama-3.1-8B', args=args, train_dataset=ds)\n", {"environment.trl=0.26"}).precision.parameters == formats::bf16);
  CHECK(text_job(config + "trainer = SFTTrainer(model='meta-llama/Llama-3.1-8B', args=args, train_dataset=ds)\n", {"environment.trl=0.24"}).precision == precisions::bf16_autocast);
  const auto loaded = text_job(loads + config + "trainer = SFTTrainer(model, args=args, train_dataset=ds)\n");
  CHECK(loaded.precision.parameters == formats::bf16);
  CHECK(loaded.attention == attention::flash);
  const auto initial = text_job("args = SFTConfig(output_dir='out', max_length=1024, gradient_checkpointing=False, bf16=True, model_init_kwargs={'dtype': 'bfloat16', 'attn_implementation': 'flash_attention_2'})\n"
                                "name = 'meta-llama/Llama-3.1-8B'\nSFTTrainer(name, args=args, train_dataset=ds).train()\n");
  CHECK(initial.precision.parameters == formats::bf16);
  CHECK(initial.attention == attention::flash);
  CHECK(initial.batch.micro == 8);
}

TEST_CASE("adapters with PEFT's own defaults, over a quantised base") {
  // LoraConfig: rank 8, no dropout; BitsAndBytesConfig: fp4, once.
  const std::string quantised = "q = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16%)\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-7B', torch_dtype=torch.bfloat16, quantization_config=q, device_map='auto')\n";
  const auto with = [&](const std::string& more) {
    auto t = quantised;
    t.replace(t.find('%'), 1, more);
    return text_job(t + config + "trainer = SFTTrainer(model=model, args=args, train_dataset=ds, peft_config=LoraConfig(target_modules=['q_proj', 'v_proj'], lora_alpha=16))\n");
  };
  const auto plain = with("");
  CHECK(plain.adapter.rank == 8);
  CHECK(plain.adapter.dropout.per_million == 0);
  CHECK(plain.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(plain.adapter.base == formats::fp4);
  CHECK(with(", bnb_4bit_quant_type='nf4', bnb_4bit_use_double_quant=True").adapter.base == formats::nf4_double);
  const auto whole = text_job(loads + config + "lora = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules='all-linear', task_type='CAUSAL_LM')\ntrainer = SFTTrainer(model=model, args=args, train_dataset=ds, peft_config=lora)\n");
  CHECK(whole.adapter.rank == 16);
  CHECK(whole.adapter.dropout.per_million == 50'000);
  CHECK(whole.adapter.base == number_format{});
  const auto same = command("--model_name_or_path meta-llama/Llama-3.1-8B --dtype bfloat16 --attn_implementation flash_attention_2 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_length 1024 --gradient_checkpointing false --bf16 true "
                         "--use_peft --lora_r 16 --lora_dropout 0.05 --lora_target_modules all-linear");
  CHECK(whole.adapter == same.adapter);
  CHECK(whole.precision == same.precision);
  CHECK(estimate(whole).ranks[0].allocated == estimate(same).ranks[0].allocated);
  const auto wrapped = text_job(loads + config + "model = get_peft_model(model, LoraConfig(r=16, lora_dropout=0.05, target_modules='all-linear'))\nmodel.print_trainable_parameters()\ntrainer = SFTTrainer(model=model, args=args, train_dataset=ds)\n");
  CHECK(wrapped.adapter == whole.adapter);
  CHECK(wrapped.precision == whole.precision);
  CHECK(text_job(loads + config + "lora = LoraConfig(r=4, target_modules=['q_proj'])\nboth = get_peft_model(model, lora)\ntrainer = SFTTrainer(model=both, args=args, train_dataset=ds)\n").adapter.targets == module_set{module::q_proj});
  CHECK(text_job("name, where = 'Qwen/Qwen2.5-7B', 'out'\nkind = getattr(torch, 'bfloat16')\nmodel = AutoModelForCausalLM.from_pretrained(name, torch_dtype=kind)\n" + config + "SFTTrainer(model=model, args=args)\n").precision.parameters == formats::bf16);
  const auto by_trainer = text_job("q = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype='bfloat16')\n" + config + "SFTTrainer(model='Qwen/Qwen2.5-7B', args=args, quantization_config=q, peft_config=LoraConfig(target_modules='all-linear'))\n");
  CHECK(by_trainer.adapter.base == formats::nf4);
  CHECK(holds(why("q = BitsAndBytesConfig(load_in_8bit=True)\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-7B', quantization_config=q)\nmodel = get_peft_model(model, LoraConfig(target_modules='all-linear'))\n" + config + "SFTTrainer(model=model, args=args)\n"),
              "adapters that are added to a quantised model before the trainer has it"));
  CHECK(holds(why("q = BitsAndBytesConfig(load_in_4bit=True)\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-7B', quantization_config=q)\n" + config + "SFTTrainer(model=model, args=args, peft_config=LoraConfig(r=8))\n"),
              "train.py:1: bnb_4bit_compute_dtype is \"not said, which is float32\""));
}

TEST_CASE("TrainingArguments have defaults of their own") {
  // sft_trainer.py: SFTConfig(**args.to_dict()), in which gradient_checkpointing and bf16 are false where nobody says them.
  const auto j = text_job(loads + "args = TrainingArguments(output_dir='out', per_device_train_batch_size=2)\ntrainer = SFTTrainer(model, args=args, train_dataset=ds, max_seq_length=512)\n");
  CHECK(j.recompute.mode == recompute_mode::none);
  CHECK(j.precision == precision{.parameters = formats::bf16, .compute = formats::bf16, .gradients = formats::bf16, .reduce = formats::bf16, .master = formats::none, .state = formats::bf16, .autocast = choice::no});
  CHECK(j.batch.sequence == 512);
}

TEST_CASE("samples without padding lie in one row, which flash attention takes apart") {
  // trl/trainer/sft_trainer.py DataCollatorForLanguageModeling, padding_free.
  const auto with = [](const std::string& loads_more) { return text_job(loads_more + "args = SFTConfig(output_dir='o', max_length=1024, per_device_train_batch_size=4, padding_free=True, bf16=True, gradient_checkpointing=False)\nSFTTrainer(model, args=args, train_dataset=ds).train()\n"); };
  const auto j = with(loads);
  CHECK(j.batch == batch{.micro = 4, .sequence = 1024, .packed = true});
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  CHECK(holds(why("model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B', torch_dtype=torch.bfloat16)\nargs = SFTConfig(output_dir='o', max_length=1024, padding_free=True)\nSFTTrainer(model, args=args)\n"), "padding_free = true is not modelled by this version (without flash attention"));
}

TEST_CASE("a launch beside the text") {
  const std::string text = config + "trainer = SFTTrainer(model='meta-llama/Llama-3.1-8B', args=args, train_dataset=ds)\n";
  const auto many = job_of({{"run.sh", "accelerate launch --num_processes 4 --mixed_precision bf16 train.py\n"}, {"train.py", text}});
  CHECK(many.hardware.gpus() == 4);
  CHECK(many.sharding.kind == sharding_kind::ddp);
  const auto sharded = job_of({{"run.sh", "accelerate launch --config_file zero3.yaml src/train.py\n"}, {"train.py", text},
                               {"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_processes: 8\n"}});
  CHECK(sharded.sharding.stage == 3);
  CHECK(sharded.precision == precisions::bf16_mixed);
  CHECK(job_of({{"run.sh", "CUDA_VISIBLE_DEVICES=0 python sft.py\n"}, {"sft.py", text}}).hardware.gpus() == 1);
  CHECK(holds(refusal_of({{"run.sh", "python train.py --epochs 3\n"}, {"train.py", text}}), "whose text has no parser of arguments"));
  CHECK(holds(refusal_of({{"run.sh", "CUDA_VISIBLE_DEVICES=0,1 python train.py\n"}, {"train.py", text}}), "torch's DataParallel"));
}

TEST_CASE("what the text sets of its environment") {
  const std::string text = config + "SFTTrainer(model='meta-llama/Llama-3.1-8B', args=args)\n";
  CHECK(text_job("os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'\n" + text).environment.expandable_segments == choice::yes);
  CHECK(text_job("os.environ.setdefault('PYTORCH_ALLOC_CONF', 'expandable_segments:True')\n" + text).environment.expandable_segments == choice::yes);
  CHECK_FALSE(text_job("os.environ['WANDB_PROJECT'] = 'x'\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n" + text).environment.expandable_segments == choice::yes);
  CHECK(holds(why("os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\n" + text), "train.py:1: the text shows its process several GPUs"));
  CHECK(holds(why("os.environ['ACCELERATE_MIXED_PRECISION'] = 'no'\n" + text), "ACCELERATE_MIXED_PRECISION"));
}

TEST_CASE("preferences and rewards") {
  const std::string lora = ", peft_config=LoraConfig(r=8, target_modules='all-linear'))\n", dpo = "args = DPOConfig(output_dir='o', beta=0.1, max_length=1024, bf16=True, gradient_checkpointing=False)\n";
  const auto pairs = text_job(loads + dpo + "trainer = DPOTrainer(model=model, args=args, train_dataset=ds, processing_class=tok" + lora);
  CHECK(pairs.objective.kind == objective_kind::dpo);
  CHECK(pairs.adapter.rank == 8);
  CHECK(holds(why(loads + dpo + "trainer = DPOTrainer(model=model, args=args, train_dataset=ds)\n"), "train.py:4: without a peft_config the trainer loads a reference by itself"));
  const std::string grpo = "args = GRPOConfig(output_dir='o', bf16=True, gradient_checkpointing=False, per_device_train_batch_size=8, num_generations=8, max_completion_length=256)\ndef right(completions, **kwargs):\n    return [1.0]\n";
  const auto group = text_job(grpo + "trainer = GRPOTrainer(model='Qwen/Qwen2.5-0.5B', reward_funcs=[right], args=args, train_dataset=ds)\n", {"rollout.prompt=256"});
  CHECK(group.objective.kind == objective_kind::grpo);
  CHECK(group.rollout.completion == 256);
  CHECK(holds(why(grpo + "trainer = GRPOTrainer(model='Qwen/Qwen2.5-0.5B', reward_funcs=right, args=args, environment_factory=Game)\n"), "environment_factory: completions of several turns are not read of a text"));
  CHECK(text_job(loads + grpo + "model = get_peft_model(model, LoraConfig(target_modules='all-linear'))\ntrainer = GRPOTrainer(model=model, reward_funcs=right, args=args)\n", {"rollout.prompt=256"}).adapter.rank == 8);
  CHECK(holds(why(loads + "args = GRPOConfig(output_dir='o', beta=0.1)\nmodel = get_peft_model(model, LoraConfig(target_modules='all-linear'))\ntrainer = GRPOTrainer(model=model, reward_funcs=right, args=args)\n"), "GRPO makes a copy of them"));
  CHECK(holds(why(loads + dpo + "model = get_peft_model(model, LoraConfig(target_modules='all-linear'))\ntrainer = DPOTrainer(model=model, args=args)\n"), "DPO makes a copy of them as its reference"));
  CHECK(holds(why(grpo + "trainer = GRPOTrainer(model='Qwen/Qwen2.5-0.5B', reward_funcs='me/reward', args=args, train_dataset=ds)\n"), "a reward function that is a model (\"me/reward\")"));
}

TEST_CASE("what changes the model, or is computed, is refused") {
  const std::string trains = "trainer = SFTTrainer(model=model, args=args, train_dataset=ds)\n";
  for (const auto* change : {"model = prepare_model_for_kbit_training(model)\n", "model.gradient_checkpointing_enable()\n", "model.resize_token_embeddings(100)\n", "model, tok = setup_chat_format(model, tok)\n", "model.config.output_router_logits = True\n",
                             "for p in model.parameters():\n    p.requires_grad = False\n", "freeze(model)\n", "model.freeze()\n", "model = get_peft_model(model, IA3Config())\n", "model = get_peft_model(model, LoraConfig(), mixed=True)\n", "model.half()\n", "model.to(torch.float16)\n", "model.to(dtype=kind)\n"})
    CHECK_FALSE(why(loads + change + config + trains).empty());
  CHECK(why(loads + "model.config.use_cache = False\nmodel.print_trainable_parameters()\nprint(model)\n" + config + trains).empty());
  CHECK(why(loads + "model.to('cuda')\nmodel = model\n" + config + trains).find("several places") != std::string::npos);
  CHECK(why(loads + "model.to(device)\n" + config + trains).empty());
  CHECK(text_job("model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B', torch_dtype=torch.bfloat16).to('cuda')\n" + config + trains).precision.parameters == formats::bf16);
  CHECK(holds(why("model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B').to(torch.bfloat16)\n" + config + trains), "the trainer's model is made by"));
  CHECK(holds(why("model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B', load_in_4bit=True)\n" + config + trains), "train.py:1: load_in_4bit without a BitsAndBytesConfig"));
  CHECK(holds(why(loads + config + "class SFTTrainer(Trainer):\n    pass\n" + trains), "is a class of this text's own"));
  CHECK(holds(why(config + "model = AutoModelForVision2Seq.from_pretrained('a')\n" + trains), "the trainer's model is made by"));
  CHECK(holds(why(config + "model = wrap(AutoModelForCausalLM.from_pretrained('a'))\n" + trains), "the trainer's model is made by"));
  CHECK(holds(why("if big:\n    model = AutoModelForCausalLM.from_pretrained('a')\nelse:\n    model = AutoModelForCausalLM.from_pretrained('b')\n" + config + trains), "which is made in several places"));
  CHECK(holds(why(loads + "args = SFTConfig(output_dir='o', per_device_train_batch_size=n(), max_length=8)\n" + trains), "train.py:3: per_device_train_batch_size is computed"));
  CHECK(holds(why(loads + "args = SFTConfig(**options)\n" + trains), "and which they are is not written there"));
  CHECK(holds(why(loads + "trainer = SFTTrainer(model=model, train_dataset=ds)\n"), "the trainer is given no args"));
  CHECK(holds(why(loads + config + trains + trains), "2 trainers are made in this file (lines 4, 5): say which with --line N"));
  CHECK(holds(why(loads + config + "trainer = SFTTrainer(model=model, args=args, peft_config=LoraConfig(r=8, layers_to_transform=[1], target_modules='all-linear'))\n"), "layers_to_transform = [1] is not modelled"));
  CHECK(holds(why(loads + config + "trainer = SFTTrainer(model=model, args=args, peft_config=LoraConfig(r=8, target_modules='.*q_proj'))\n"), "an expression for whole names of modules"));
  CHECK(holds(why(loads + "args = SFTConfig(output_dir='o', max_length=8, unknown_key=3)\n" + trains), "train.py:3: unknown_key is not known here"));
}

}  // namespace test_trl_text

#endif
