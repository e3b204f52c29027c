// Distributed under the Boost Software License, Version 1.0.
// "all-linear" as the whole value and in a list: PEFT expands the first alone (peft/tuners/tuners_utils.py _maybe_include_all_linear_layers).
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_listed_targets {

using namespace imported;

namespace {

const std::vector<std::string> one{"hardware.gpus_per_node=1"};
const std::string listed = "has \"all-linear\" in a list, where PEFT looks for layers of that name and no model has any";

}  // namespace

TEST_CASE("TRL's command line: one word is taken out of its list, several are PEFT's names") {
  const auto trl = [](const std::string& names) { return imported::text{"run.sh", "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --per_device_train_batch_size 1 --bf16 --max_length 1024 --use_peft --lora_target_modules " + names + "\n"}; };
  const std::vector<std::string> set{"hardware.gpus_per_node=1", "environment.trl=1.0"};
  CHECK(job_of({trl("all-linear")}, set).adapter.targets == all_linear);  // trl/trainer/model_config.py, __post_init__
  CHECK(job_of({trl("q_proj v_proj")}, set).adapter.targets == module_set{module::q_proj, module::v_proj});
  for (const auto* names : {"all-linear q_proj", "q_proj all-linear", "all-linear lm_head", "all-linear vision", "all-linear projector"}) {
    CAPTURE(names);
    const auto why = refusal_of({trl(names)}, set);
    CHECK(holds(why, listed));
    CHECK(holds(why, "run.sh"));
  }
  // What is said in a job's own words stays.
  auto both = all_linear;
  both |= module_set{module::head};
  const auto said = job_of({trl("all-linear q_proj")}, {"hardware.gpus_per_node=1", "environment.trl=1.0", R"(adapter.targets=["all-linear", "lm_head"])"});
  CHECK(said.adapter.targets == both);
}

TEST_CASE("programs that keep a list of one") {
  const auto factory = [](const std::string& names) { return imported::text{"lf.yaml", "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\ncutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\nlora_target: " + names + "\n"}; };
  CHECK(job_of({factory("all")}, one).adapter.targets == all_linear);
  for (const auto* names : {"all-linear", "[all-linear]", "all-linear,q_proj", "[q_proj, all-linear]"}) {
    CAPTURE(names);
    CHECK(holds(refusal_of({factory(names)}, one), listed + ": say \"all\" alone"));
  }
  const std::string frozen = "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: freeze\nfreeze_trainable_layers: 2\ncutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\nfreeze_trainable_modules: ";
  CHECK(job_of({{"lf.yaml", frozen + "all\n"}}, one).trainable.list[0].modules.empty());
  CHECK(holds(refusal_of({{"lf.yaml", frozen + "all-linear\n"}}, one), "LLaMA-Factory's word is \"all\""));

  const auto axolotl = [](const std::string& names) { return imported::text{"ax.yaml", "base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 1024\nmicro_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\nflash_attention: true\nadapter: lora\nlora_r: 8\nlora_target_modules: " + names + "\n"}; };
  CHECK(job_of({axolotl("all-linear")}, one).adapter.targets == all_linear);
  for (const auto* names : {"[all-linear]", "[all-linear, q_proj]"}) {
    CAPTURE(names);
    CHECK(holds(refusal_of({axolotl(names)}, one), listed));
  }

  const imported::text run{"r.sh", "torchrun --nproc_per_node 1 run_clm.py --model_name_or_path Qwen/Qwen2.5-0.5B --block_size 512 --bf16 True --per_device_train_batch_size 1\n"};
  const auto saved = [](const std::string& names) { return imported::text{"adapter_config.json", R"({"peft_type": "LORA", "r": 8, "base_model_name_or_path": "Qwen/Qwen2.5-0.5B", "target_modules": )" + names + "}"}; };
  CHECK(job_of({run, saved(R"("all-linear")")}, one).adapter.targets == all_linear);
  for (const auto* names : {R"(["all-linear"])", R"(["all-linear", "q_proj"])"}) {
    CAPTURE(names);
    CHECK(holds(refusal_of({run, saved(names)}, one), listed));
  }
}

TEST_CASE("verl hands its list on, and a job's own list stands") {
  const auto verl = [](const std::string& names) {
    return imported::text{"run.sh", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=64 data.max_prompt_length=512 data.max_response_length=512 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
                          "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
                          "actor_rollout_ref.rollout.load_format=safetensors actor_rollout_ref.model.use_remove_padding=True trainer.n_gpus_per_node=8 trainer.nnodes=1 actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.target_modules=" + names + "\n"};
  };
  CHECK(job_of({verl("all-linear")}).adapter.targets == all_linear);
  CHECK(holds(refusal_of({verl("[all-linear]")}), listed));
  CHECK(holds(refusal_of({verl("[all-linear,q_proj]")}), listed));

  const imported::text job{"job.json", R"({"model": "qwen2.5-vl-7b", "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "hf-trainer", "precision": "bf16-autocast", "optimizer": "adamw",
    "adapter": {"kind": "lora", "rank": 8, "targets": ["all-linear", "vision", "projector"]}, "batch": {"micro": 1, "sequence": 1024, "images": {"width": 448, "height": 448}}})"};
  auto all = all_linear;
  all |= module_set{module::vision, module::projector};
  CHECK(job_of({job}).adapter.targets == all);
}

}  // namespace test_listed_targets

#endif
