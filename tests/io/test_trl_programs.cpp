// Distributed under the Boost Software License, Version 1.0.
// Scripts of TRL's, alignment-handbook's and open-r1's by the names that their own commands give them, and those for models that see.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_trl_programs {

using namespace imported;

namespace {

const imported::text zero3{"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero3_init_flag: true\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"};
/// huggingface/open-r1 1416fa0, recipes/OpenR1-Distill-7B/sft/config_distill.yaml: what decides memory, with another kernel.
const imported::text distill{"config.yaml",
                             "model_name_or_path: Qwen/Qwen2.5-7B\ntorch_dtype: bfloat16\nattn_implementation: flash_attention_2\nbf16: true\neval_strategy: 'no'\ngradient_accumulation_steps: 8\n"
                             "gradient_checkpointing: true\nmax_length: 32768\npacking: true\nper_device_train_batch_size: 2\nsystem_prompt: x\n"};
const std::vector<std::string> old{"environment.trl=1.0"};

std::string see(const std::string& script, const std::string& model, const std::string& rest) {
  return "accelerate launch --config_file zero3.yaml examples/scripts/" + script + " --dataset_name x --model_name_or_path " + model + " --dtype bfloat16 " + rest + "\n";
}
const std::vector<std::string> seen{"batch.images={\"count\":1,\"width\":448,\"height\":448}", "batch.sequence=2048"};

}  // namespace

TEST_CASE("open-r1's and alignment-handbook's scripts take TRL's arguments, from a file alone too") {
  for (const std::string run : {"src/open_r1/sft.py --config config.yaml", "scripts/sft.py --config config.yaml", "scripts/sft.py config.yaml"}) {
    CAPTURE(run);
    const auto j = job_of({{"run.sh", "accelerate launch --config_file zero3.yaml " + run + "\n"}, zero3, distill}, old);
    CHECK(j.model.label.view() == "qwen2.5-7b");
    CHECK(j.batch.micro == 2);
    CHECK(j.batch.accumulation == 8);
    CHECK(j.batch.sequence == 32768);
    CHECK(j.sharding.stage == 3);
    CHECK(j.hardware.gpus() == 8);
    CHECK(j.recompute.mode == recompute_mode::full);
  }
  // Where neither arguments nor a file of them says whose script it is, nothing is guessed.
  CHECK(holds(refusal_of({{"run.sh", "accelerate launch --config_file zero3.yaml scripts/dpo.py\n"}, zero3}), "where its arguments are those of trl-dpo, --program says so"));
  CHECK_FALSE(refusal_of({{"run.sh", "accelerate launch --config_file zero3.yaml scripts/sft.py\n"}, zero3}).empty());
}

// examples/scripts/online_dpo_vlm.py: reward_funcs are two functions, and nobody reads reward_model_path.
TEST_CASE("online DPO of a model that sees is scored by functions of its script") {
  const std::vector<std::string> pictures{"batch.images={\"count\":1,\"width\":448,\"height\":448}"};
  const std::string rest = "--max_length 1536 --max_new_tokens 1024 --use_vllm --vllm_mode server --use_peft --lora_target_modules q_proj v_proj --per_device_train_batch_size 1";
  const auto run = [&](const std::string& script, const std::string& more) { return imported::text{"run.sh", "accelerate launch --config_file zero3.yaml examples/scripts/" + script + " --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --dtype bfloat16 " + more + rest + "\n"}; };
  const auto j = job_of({run("online_dpo_vlm.py", "--reward_model_path Qwen/Qwen2.5-VL-3B-Instruct "), zero3}, pictures);
  CHECK_FALSE(j.objective.has_reward());
  CHECK(j.objective.reference == reference_way::adapter_off);
  CHECK(j.rollout.prompt == 512);
  CHECK(j.recompute == recompute{.mode = recompute_mode::full, .reentrant = choice::yes});  // gradient_checkpointing_kwargs of the script
  CHECK(j == job_of({run("online_dpo_vlm.py", ""), zero3}, pictures));
  CHECK(job_of({run("online_dpo.py", "--reward_model_path Qwen/Qwen2.5-0.5B "), zero3}, pictures).objective.has_reward());
}

// examples/scripts/mpo_vlm.py: DPO beside the cross entropy of what is wanted.
TEST_CASE("a likelihood among DPO's losses") {
  const auto mpo = [](const std::string& losses, const std::vector<std::string>& set) { return std::pair{imported::text{"run.sh", see("mpo_vlm.py", "Qwen/Qwen2.5-VL-3B-Instruct", "--use_peft --lora_target_modules q_proj v_proj " + losses)}, set}; };
  const auto job = [&](const std::string& losses) { const auto [text, set] = mpo(losses, seen); return job_of({text, zero3}, set); };
  CHECK(job("--loss_type sigmoid bco_pair sft --loss_weights 0.8 0.2 1.0").objective.sft_weight == 1'000'000);
  CHECK(job("--loss_type sigmoid bco_pair --loss_weights 0.8 0.2").objective.sft_weight == 0);
  auto old_release = seen;
  old_release.push_back("environment.trl=0.28");
  const auto [text, set] = mpo("--loss_type sigmoid sft", old_release);
  const auto before = job_of({text, zero3}, set);
  CHECK(before.objective.code == method_code::trl_0_28);
  CHECK(holds(objection_to(before).in_words().what(), "objective.sft_weight is modelled of DPO as"));
}

TEST_CASE("packed documents stand behind a mask where attention is not flash") {
  const auto packed = [](const std::string& rest) { return see("sft.py", "Qwen/Qwen2.5-0.5B", "--max_length 4096 --packing " + rest); };
  const auto mask = "packing = true is not modelled by this version (without flash attention: a mask of all tokens by all tokens";
  CHECK(holds(refusal_of({{"run.sh", packed("")}, zero3}, old), mask));
  CHECK(holds(refusal_of({{"run.sh", packed("--attn_implementation sdpa")}, zero3}), mask));  // dtype came with 0.23
  for (const std::string apart : {"--attn_implementation flash_attention_2", "--attn_implementation kernels-community/vllm-flash-attn3", "--packing_strategy wrapped"}) CHECK(job_of({{"run.sh", packed(apart)}, zero3}, old).batch.sequence == 4096);
  // v0.19.0 trl/data_utils.py has ffd, v0.20.0 has bfd in its place, and neither has another.
  const std::string ffd = "python trl/scripts/sft.py --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B --max_length 4096 --packing --torch_dtype bfloat16 --attn_implementation flash_attention_2 --packing_strategy ffd\n";
  CHECK(job_of({{"run.sh", ffd}}, {"hardware.gpus_per_node=1", "environment.trl=0.19"}).batch.sequence == 4096);
  CHECK(holds(refusal_of({{"run.sh", ffd}}, {"hardware.gpus_per_node=1", "environment.trl=0.21"}), "packing_strategy ffd is called bfd since TRL 0.20"));
  CHECK(holds(refusal_of({{"run.sh", packed("--packing_strategy best")}, zero3}), "TRL has no packing_strategy \"best\""));
  const auto open = job_of({{"run.sh", "python trl/scripts/sft.py --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B --max_length 4096 --packing\n"}}, {"hardware.gpus_per_node=1"});
  CHECK(open.batch.sequence == 4096);
  CHECK(open.assumed_defaults > 0);
}

TEST_CASE("TRL's fine-tuning cuts samples at 1,024 tokens where nothing says max_length") {
  const std::string run = "trl sft --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B ";
  const std::vector<std::string> one{"hardware.gpus_per_node=1", "environment.trl=1.0"};
  const auto open = job_of({{"run.sh", run}}, one);
  CHECK(open.batch.sequence == 1024);
  CHECK(open.assumed_defaults == job_of({{"run.sh", run + "--max_length 512"}}, one).assumed_defaults + 1);
  CHECK(job_of({{"run.sh", run + "--max_length 512"}}, one).batch.sequence == 512);
  CHECK(job_of({{"run.sh", run}}, {one[0], one[1], "batch.sequence=300"}).batch.sequence == 300);
  // The command's own arguments win over those of its file, which may be read first.
  const imported::text yaml{"sft.yaml", "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: x\n"}, command{"run.sh", "trl sft --config sft.yaml --max_length 768"};
  for (const auto& both : {std::vector{yaml, command}, std::vector{command, yaml}}) {
    const auto j = job_of(both, one);
    CHECK(j.batch.sequence == 768);
    CHECK(j.assumed_defaults == job_of({{"run.sh", run + "--max_length 768"}}, one).assumed_defaults);
  }
  // Of a file that says null samples are cut nowhere.
  CHECK(holds(refusal_of({{"sft.yaml", yaml.said + "max_length: null\n"}, {"run.sh", "trl sft --config sft.yaml"}}, one), "no file says how long a sequence is"));
}

TEST_CASE("samples of sft_vlm.py are cut nowhere, whatever its arguments say") {
  const auto run = see("sft_vlm.py", "llava-hf/llava-1.5-7b-hf", "--gradient_accumulation_steps 8");
  CHECK(holds(refusal_of({{"run.sh", run}, zero3}), "no file says how long a sequence is"));
  auto set = seen;
  set.push_back("environment.trl=1.0");
  const auto j = job_of({{"run.sh", run}, zero3}, set);
  CHECK(j.batch.micro == 8);
  CHECK(j.batch.sequence == 2048);
  CHECK(j.batch.accumulation == 8);
  CHECK(j.batch.images == image_batch{.count = 1, .width = 448, .height = 448});
  CHECK_FALSE(j.adapter.active());
  CHECK(job_of({{"run.sh", see("sft_vlm.py", "llava-hf/llava-1.5-7b-hf", "--gradient_accumulation_steps 8 --max_length 512")}, zero3}, set) == j);
}

TEST_CASE("all linear layers of a model that sees are its tower's, too") {
  const auto why = [](const std::string& model, const std::string& targets) {
    auto set = seen;
    set.push_back("environment.trl=1.0");
    return refusal_of({{"run.sh", see("sft_vlm.py", model, "--use_peft --lora_target_modules " + targets)}, zero3}, set);
  };
  // modeling_siglip.py and modeling_clip.py have q_proj, k_proj, v_proj, out_proj; Qwen2.5-VL's tower has qkv, proj, and the text's names in its MLP.
  // Gemma 3's projector is a parameter and no layer; Qwen2.5-VL's merger has two layers.
  CHECK(why("google/gemma-3-4b-it", "all-linear").empty());
  auto all = all_linear;
  all |= module_set{module::vision};
  const auto of = [](const std::string& model) { return job_of({{"run.sh", see("sft_vlm.py", model, "--use_peft --lora_target_modules all-linear")}, zero3}, [] { auto set = seen; set.push_back("environment.trl=1.0"); return set; }()); };
  CHECK(of("google/gemma-3-4b-it").adapter.targets == all);
  all |= module_set{module::projector};
  const auto qwen = of("Qwen/Qwen2.5-VL-3B-Instruct");
  CHECK(qwen.adapter.targets == all);
  CHECK(io::job_to_json(qwen)["adapter"]["targets"] == io::parse_json(R"(["all-linear", "vision", "projector"])", "targets"));
  CHECK(io::read_job(io::job_to_json(qwen)) == qwen);
  CHECK(why("google/gemma-3-4b-it", "gate_proj up_proj down_proj").empty());
  CHECK(why("Qwen/Qwen2.5-VL-3B-Instruct", "q_proj v_proj").empty());
  CHECK(job_of({{"run.sh", see("sft.py", "Qwen/Qwen2.5-0.5B", "--max_length 512 --use_peft --lora_target_modules all-linear")}, zero3}, old).adapter.rank == 16);
}

TEST_CASE("a tower is quantised with what it stands before") {
  auto set = seen;
  set.push_back("environment.trl=1.0");
  set.push_back("hardware.gpus_per_node=1");
  const auto j = job_of({{"run.sh", "python examples/scripts/sft_vlm.py --dataset_name x --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --dtype bfloat16 --use_peft --lora_target_modules q_proj v_proj --load_in_4bit\n"}}, set);
  CHECK(j.adapter.base == formats::nf4);
  CHECK(j.adapter.base_also.has(module::vision));
  CHECK(j.adapter.base_also.has(module::projector));
}

TEST_CASE("GRPO of a model that sees, generated by vLLM beside it") {
  // The command of huggingface/trl f2cd57710 examples/scripts/grpo_vlm.py.
  const auto run = see("grpo_vlm.py", "Qwen/Qwen2.5-VL-3B-Instruct", "--max_completion_length 1024 --use_vllm --vllm_mode colocate --use_peft --lora_target_modules \"q_proj\", \"v_proj\" --log_completions");
  const auto j = job_of({{"run.sh", run}, zero3}, {"batch.images={\"count\":1,\"width\":448,\"height\":448}", "rollout.prompt=512", "environment.trl=1.0"});
  CHECK(j.objective.kind == objective_kind::grpo);
  CHECK(j.objective.reference == reference_way::none);  // beta 0
  CHECK(j.batch.micro == 8);
  CHECK(j.batch.sequence == 1536);
  CHECK(j.rollout.engine == engine_kind::vllm);
  CHECK(j.rollout.placement == rollout_place::colocated);
  CHECK(j.rollout.generations == 8);
  CHECK(j.adapter.rank == 16);
  CHECK(estimate(j).ranks[0].at_peak[row::adapters] > bytes{0});
}

// huggingface/trl v0.14.0 examples/scripts/sft_video_llm.py: the command of its docstring, and what the script sets itself (BitsAndBytesConfig, LoraConfig).
TEST_CASE("videos by TRL's own script: adapters, base and frames are the script's") {
  const std::string run = "accelerate launch --config_file=zero2.yaml sft_video_llm.py --dataset_name=mfarre/simplevideoshorts --video_cache_dir=\"/optional/path/to/cache/\" --model_name_or_path=Qwen/Qwen2-VL-7B-Instruct --per_device_train_batch_size=1 "
                          "--output_dir=video-llm-output --bf16=True --tf32=True --gradient_accumulation_steps=4 --num_train_epochs=4 --optim=\"adamw_torch_fused\" --logging_steps=1 --max_grad_norm=0.3 --torch_dtype=bfloat16 --gradient_checkpointing=True";
  const imported::text zero2{"zero2.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"};
  const auto j = job_of({{"run.sh", run + "\n"}, zero2}, {"batch.images.count=30", "batch.sequence=8192"});
  CHECK(j.adapter.kind == adapter_kind::lora);
  CHECK(j.adapter.rank == 16);
  CHECK(j.adapter.base == formats::nf4_double);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj});
  CHECK(j.recompute == recompute{.mode = recompute_mode::full, .reentrant = choice::no});
  CHECK(j.batch.accumulation == 4);
  // Four matrices of 28 layers of 3,584, with 512 for keys and for values, of rank 16: (7,168 + 4,096 + 4,096 + 7,168) × 16 × 28.
  CHECK(states(j).adapters == parameters{10'092'544});
  // Alone it is walked; under ZeRO a tower of four bits is not.
  const auto one = job_of({{"run.sh", "python " + run.substr(run.find("sft_video")) + "\n"}}, {"hardware.gpus_per_node=1", "batch.images.count=30", "batch.sequence=8192"});
  CHECK(estimate(one).tightest().at_phase[static_cast<std::size_t>(phase::save)][row::adapters] == bytes{4 * 10'092'544});
  CHECK(holds(refusal_of({{"run.sh", run + "\n"}, zero2}, {"batch.sequence=8192"}), "no file says how many frames a video has, of which there is one a second: half of them are N: add --set batch.images.count=N"));
  // As of 0.26 SFTTrainer maps over what it is handed, and a list has no map.
  CHECK(holds(refusal_of({{"run.sh", run + " --dtype=bfloat16\n"}, zero2}, {"batch.images.count=30"}), "the program ends there"));
}

// huggingface/trl v0.22.0 docs/source/peft_integration.md: argparse takes the beginning of an argument's name for it.
TEST_CASE("model_name is model_name_or_path, shortened") {
  const auto j = job_of({{"run.sh", "python examples/scripts/sft.py --output_dir sft_openassistant-guanaco --model_name meta-llama/Llama-2-7b-hf --dataset_name timdettmers/openassistant-guanaco --load_in_4bit --use_peft --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --lora_target_modules q_proj v_proj --bf16 true --gradient_checkpointing true\n"}}, {"hardware.gpus_per_node=1", "batch.sequence=1024"});
  CHECK(j.model.label.view() == "llama-2-7b");
  CHECK(j.adapter.base == formats::nf4);
  CHECK(j.batch.micro == 4);
}

TEST_CASE("scripts that are known and not modelled say what they are") {
  const auto why = [](const std::string& script, const std::string& rest = " --model_name_or_path Qwen/Qwen2-0.5B --per_device_train_batch_size 8 --dataset_name x") { return refusal_of({{"run.sh", "python " + script + rest + "\n"}}); };
  CHECK(holds(why("examples/scripts/xpo.py"), "where two models generate for each prompt and both completions' graphs wait for one backward, which is not modelled by this version"));
  CHECK(holds(why("examples/scripts/openenv/browsergym.py"), "GRPO over several turns with an environment"));
  CHECK(holds(why("examples/scripts/sft_gemma3.py", ""), "a script whose hyper-parameters stand in its own code, where nothing here reads them"));
  CHECK(holds(why("examples/scripts/sft_tiny_aya_tool_calling.py", ""), "a script whose hyper-parameters stand in its own code"));
}

}  // namespace test_trl_programs

#endif
