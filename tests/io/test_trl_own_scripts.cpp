// Distributed under the Boost Software License, Version 1.0.
// Scripts of TRL's examples whose configuration stands in their own code: what they hand to GRPOTrainer and RLOOTrainer, read from
// huggingface/trl v1.0.0 and f2cd57710 examples/scripts.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/states/states.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_trl_own_scripts {

using namespace imported;

namespace {

const std::vector<std::string> known{"environment.trl=1.9", "rollout.prompt=512"};
const imported::text zero3{"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"};

std::vector<imported::text> files_of(const std::string& command) {
  if (command.find("zero3.yaml") == std::string::npos) return {{"run.sh", command + "\n"}};
  return {{"run.sh", command + "\n"}, zero3};
}
job read(const std::string& command) { return job_of(files_of(command), known); }
std::string why(const std::string& command, const std::vector<std::string>& set = known) { return refusal_of(files_of(command), set); }

}  // namespace

TEST_CASE("a script's own values are the job's, and its own parser's arguments change them") {
  const auto j = read("python examples/scripts/openenv/wordle.py --vllm-mode colocate --env-url http://localhost:8001");
  CHECK(j.model.label.view() == "qwen3-1.7b");
  CHECK(j.objective.kind == objective_kind::grpo);
  CHECK(j.objective.reference == reference_way::none);
  CHECK(j.hardware.gpus() == 1);
  CHECK(j.batch.micro == 8);  // GRPOConfig's
  CHECK(j.batch.accumulation == 64);
  CHECK(j.rollout.generations == 4);
  CHECK(j.rollout.completion == 1024);
  CHECK(j.batch.sequence == 1536);
  CHECK(j.rollout.engine == engine_kind::vllm);
  CHECK(j.rollout.placement == rollout_place::colocated);
  CHECK(j.precision == precisions::bf16_autocast);  // create_model_from_path loads in fp32, and GRPOConfig trains in bf16

  const auto k = read("python examples/scripts/openenv/wordle.py --model Qwen/Qwen3-0.6B --gradient-accumulation-steps=8 --num-generations 2 --vllm-mode server --vllm-server-url http://x:1");
  CHECK(k.model.label.view() == "qwen3-0.6b");
  CHECK(k.batch.accumulation == 8);
  CHECK(k.rollout.generations == 2);
  CHECK(k.rollout.placement == rollout_place::separate);
}

TEST_CASE("the same as the trainer's own command with these values") {
  CHECK(read("python examples/scripts/openenv/catch.py --env-mode space --env-host https://x") ==
        read("python trl/scripts/grpo.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dataset_name x --use_vllm --vllm_mode colocate --vllm_gpu_memory_utilization 0.2 --per_device_train_batch_size 2 "
             "--num_generations 8 --max_completion_length 4096 --gradient_accumulation_steps 16"));
  CHECK(read("python examples/scripts/openenv/browsergym_llm.py --num-generations 8 --max-completion-length 2048") ==
        read("python trl/scripts/grpo.py --model_name_or_path Qwen/Qwen3-0.6B --dataset_name x --use_vllm --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 --per_device_train_batch_size 1 "
             "--num_generations 8 --generation_batch_size 8 --max_completion_length 2048 --gradient_accumulation_steps 32"));
  CHECK(read("accelerate launch --config_file zero3.yaml examples/scripts/openreward/seta.py --num-generations 4") ==
        read("accelerate launch --config_file zero3.yaml trl/scripts/grpo.py --model_name_or_path Qwen/Qwen3-4B --dataset_name x --use_vllm --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --per_device_train_batch_size 1 "
             "--num_generations 4 --max_completion_length 2048 --gradient_accumulation_steps 1"));
  // TRL's own parser, of whose ModelConfig the name alone is handed on.
  const std::string rest = " --model_name_or_path Qwen/Qwen3-1.7B --use_vllm True --vllm_mode colocate --max_completion_length 1024 --log_completions True --max_steps 400";
  CHECK(read("python examples/scripts/grpo_agent.py" + rest) == read("python trl/scripts/grpo.py --dataset_name x" + rest));
}

TEST_CASE("RLOO of NuminaMath: adapters, formats and the engine stand in the script") {
  const auto j = read("accelerate launch --config_file zero3.yaml examples/scripts/rloo.py");
  CHECK(j.objective.kind == objective_kind::rloo);
  CHECK(j.objective.reference == reference_way::adapter_off);  // RLOOConfig's beta is 0.05
  CHECK(j.hardware.gpus() == 8);
  CHECK(j.adapter.rank == 8);
  CHECK(j.adapter.dropout == probability{});
  CHECK(j.rollout.generations == 2);
  CHECK(j.rollout.completion == 1024);
  CHECK(j.rollout.steps_per_generation == 8);
  CHECK(j.batch.accumulation == 2);
  CHECK(io::job_to_json(j)["rollout"]["share"] == 0.5);
  // Of 28 layers 16 queries of 128 and 8 values of 128 from 1,024: 8 × (1,024 + 2,048) + 8 × (1,024 + 1,024).
  CHECK(states(j).adapters == parameters{28 * (24'576 + 16'384)});
  // With arguments it is somebody's own script: this one has no parser.
  CHECK(read("accelerate launch --config_file zero3.yaml examples/scripts/rloo.py --model_name_or_path Qwen/Qwen3-1.7B --dataset_name x --max_completion_length 64").model.label.view() == "qwen3-1.7b");
}

TEST_CASE("sudoku's switches: adapters, and layers that are kept") {
  const std::string run = "python examples/scripts/openenv/sudoku.py";
  const auto j = read(run);
  CHECK(j.rollout.completion == 16384);
  CHECK(j.rollout.generations == 8);
  CHECK(j.batch.micro == 1);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK_FALSE(j.adapter.active());
  CHECK(read(run + " --gradient-checkpointing") == j);
  CHECK(read(run + " --no-gradient-checkpointing --per-device-batch-size 2").recompute.mode == recompute_mode::none);
  // PEFT's rank 16 of the script beside queries of 2,048 and values of 1,024, from 2,048, in 28 layers, without dropout (LoraConfig's own).
  const auto adapted = read(run + " --use-lora --lora-alpha 8");
  CHECK(states(adapted).adapters == parameters{28 * 16 * (4'096 + 3'072)});
  CHECK(adapted.adapter.dropout == probability{});
  CHECK(read(run + " --use-lora --lora-r 4").adapter.rank == 4);
}

TEST_CASE("its release is taken to be today's, and older ones are other scripts") {
  const std::string run = "python examples/scripts/openenv/catch.py --vllm-mode colocate";
  CHECK(why(run, {"rollout.prompt=512"}).empty());
  auto d = draft_of({{"run.sh", run + "\n"}}, {"rollout.prompt=512"});
  (void)d.settled();
  CHECK(std::any_of(d.assumed.begin(), d.assumed.end(), [](const std::string& one) { return one == "examples/scripts/openenv/catch.py holds values of its own, which are known as of TRL 1.0 (2026-03): release 1.10 is assumed"; }));
  CHECK(holds(why(run, {"environment.trl=0.26", "rollout.prompt=512"}), "is another one in releases of TRL before 1.0"));
  CHECK(why(run, {"environment.trl=1.0", "rollout.prompt=512"}).empty());
}

TEST_CASE("what ends a script, and what it hands to nobody") {
  // docs/source/openenv.md starts multi_env.py by an argument that it does not have; wordle.py's url is no mode.
  CHECK(holds(why("python examples/scripts/openenv/wordle.py --env-mode space"), "run.sh:1: --env-mode is no argument of examples/scripts/openenv/wordle.py, and the program stops there: take it out"));
  CHECK(holds(why("python examples/scripts/openenv/wordle.py --no-model"), "--no-model is no argument"));
  CHECK(holds(why("python examples/scripts/grpo_agent.py --model_name_or_path Qwen/Qwen3-0.6B"), "grpo_agent.py without use_vllm: the trained module generates after each answer of a tool"));
  CHECK(holds(why("python examples/scripts/grpo_agent.py --model_name_or_path Qwen/Qwen3-0.6B --use_vllm --use_peft"), "examples/scripts/grpo_agent.py reads it and hands it to nobody"));
  CHECK(holds(why("python examples/scripts/grpo_agent.py --use_vllm --config x.yaml"), "give them on the command line"));
  for (const std::string turns : {"echo.py", "carla.py", "multi_env.py"}) CHECK(holds(why("python examples/scripts/openenv/" + turns), "where the trained module generates each turn behind all that was said before"));
  CHECK(holds(why("python examples/scripts/openenv/wordle.py --model $MODEL"), "--env"));
}

}  // namespace test_trl_own_scripts

#endif
