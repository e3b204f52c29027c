// Distributed under the Boost Software License, Version 1.0.
// Launches of TRL's trainers that compare, reward, distill and generate: commands in, jobs or sentences out.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#if HEADROOM_HAS_YAML

namespace test_trl_methods {

using namespace imported;

namespace {

/// trl/accelerate_configs/zero3.yaml of huggingface/trl f2cd57710, as far as it says something.
const imported::text zero3{"zero3.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  offload_optimizer_device: none\n  offload_param_device: none\n  zero3_init_flag: true\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"};
const std::vector<std::string> one{"hardware.gpus_per_node=1"};

job said(const std::string& command, const std::vector<std::string>& set = one) { return job_of({{"run.sh", command + "\n"}}, set); }
std::string refused(const std::string& command, const std::vector<std::string>& set = one) { return refusal_of({{"run.sh", command + "\n"}}, set); }
std::vector<std::string> notes(const std::string& command, const std::vector<std::string>& set = one) {
  auto d = draft_of({{"run.sh", command + "\n"}}, set);
  (void)d.settled();
  return d.notes;
}
bool notes_hold(const std::vector<std::string>& all, std::string_view part) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& n) { return holds(n, part); });
}
job example(const std::string& name) {
  std::ifstream in{std::string{HEADROOM_EXAMPLES} + "/jobs/" + name};
  return io::read_job(io::parse_json(std::string{std::istreambuf_iterator<char>{in}, {}}, name), HEADROOM_EXAMPLES);
}

/// The commands that stand in trl/scripts/dpo.py (f2cd57710).
const std::string dpo =
    "python trl/scripts/dpo.py --dataset_name trl-lib/ultrafeedback_binarized --model_name_or_path Qwen/Qwen2-0.5B-Instruct --learning_rate 5.0e-7 --num_train_epochs 1 "
    "--per_device_train_batch_size 2 --max_steps 1000 --gradient_accumulation_steps 8 --eval_strategy steps --eval_steps 50 --output_dir Qwen2-0.5B-DPO --no_remove_unused_columns";
const std::string lora = dpo + " --use_peft --lora_r 32 --lora_alpha 16 --lora_target_modules all-linear";
const std::string grpo =
    "accelerate launch --config_file zero3.yaml trl/scripts/grpo.py --dataset_name trl-lib/DeepMath-103K --model_name_or_path Qwen/Qwen2.5-7B --reward_funcs accuracy_reward --dtype bfloat16 --num_generations 8 "
    "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --max_completion_length 1024";
const std::string vllm = grpo + " --use_vllm --vllm_mode colocate --vllm_enable_sleep_mode True";
job online(const std::string& command, std::vector<std::string> set = {}) {
  set.push_back("rollout.prompt=512");
  return job_of({{"run.sh", command + "\n"}, zero3}, set);
}
std::string online_refused(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command + "\n"}, zero3}, set); }

}  // namespace

TEST_CASE("TRL's DPO, by its own commands") {
  const auto whole = said(dpo);
  CHECK(whole.objective == objective{.kind = objective_kind::dpo, .code = method_code::trl});
  CHECK(whole.batch == batch{.micro = 2, .sequence = 1024, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(whole.precision == precisions::bf16_autocast);
  CHECK(whole.recompute.mode == recompute_mode::full);
  // A copy of 494,032,768 parameters in fp32, as create_model_from_path loads them.
  CHECK(estimate(whole).ranks[0].at_peak[row::other_models] == bytes{4 * 494'032'768});
  const auto adapted = said(lora);
  CHECK(adapted.adapter.rank == 32);
  CHECK_FALSE(adapted.adapter.dropout.per_million > 0);  // disable_dropout, which is on, stops PEFT's too
  CHECK(said(lora + " --disable_dropout False").adapter.dropout.per_million == 50'000);
  CHECK(estimate(adapted).ranks[0].at_peak[row::other_models] == bytes{0});
  CHECK(said(dpo + " --precompute_ref_log_probs").objective.reference == reference_way::precomputed);
  CHECK(said(dpo + " --max_length 512 --dtype bfloat16").batch.sequence == 512);
  for (const auto* more : {" --loss_type sigmoid bco_pair --loss_weights 1.0 0.5", " --beta 0.3 --f_divergence_type js_divergence --label_smoothing 0.1 --ld_alpha 0.2"}) {
    auto same = said(dpo + more);
    same.assumed_defaults = whole.assumed_defaults;  // fewer, as some arguments came late
    CHECK(same == whole);
  }
}

TEST_CASE("words that belong to no argument end TRL's programs") {
  // docs/source/kernels_hub.md of f2cd57710 leaves the rest out so; open-r1's README shows a difference, whose "+" is a word of the command.
  const std::string rest = "--model_name_or_path Qwen/Qwen2.5-0.5B --max_length 512 --dtype bfloat16 --loss_type nll";
  CHECK(said("trl sft " + rest).batch.sequence == 512);
  CHECK(holds(refused("trl sft ... " + rest), "\"...\" is no argument of trl-sft's"));
  CHECK(holds(refused("trl dpo config.yaml " + rest), "\"config.yaml\" is no argument of trl-dpo's"));  // --config names it
  CHECK(holds(refused("trl sft --max_length 512 --model_name_or_path Qwen/Qwen2.5-0.5B + --eos_token x"), "\"+\" stands behind the model's name and belongs to no argument"));
  CHECK(holds(refused("trl sft --max_length 512 --model_name_or_path Qwen/Qwen2.5-0.5B + --eos_token x", {"model=llama-3.1-8b", "hardware.gpus_per_node=1"}), "stands behind the model's name"));
}

TEST_CASE("the job of the example is what its command line says") {
  const auto command =
      "accelerate launch --config_file zero3.yaml trl/scripts/dpo.py --dataset_name x --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --bf16 --gradient_checkpointing --max_length 1024 --activation_offloading False";
  auto read = job_of({{"run.sh", command}, zero3}, {"hardware.gpu=a100-sxm-80gb", "hardware.host_memory_gib=1000", "batch.lengths.unknown=false"});
  auto theirs = example("llama-3.1-8b-dpo.json");
  read.objective.reference = reference_way::copy;  // what it is without adapters
  CHECK(read.objective == theirs.objective);
  CHECK(read.batch == theirs.batch);
  CHECK(read.precision == theirs.precision);
  CHECK(read.sharding.stage == 3);
  // 2P/8 of 8,030,261,248 parameters, and what ZeRO-3 leaves whole.
  const auto copy = estimate(read).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::other_models];
  CHECK(copy >= bytes{2'007'565'312});
  CHECK(copy < bytes{2'007'565'312} + 2_MiB);

  const auto generating = online(vllm, {"hardware.host_memory_gib=2000"});
  auto expected = example("qwen2.5-7b-grpo-vllm.json");
  expected.rollout.batched_tokens = 0;  // TRL's own 4096
  CHECK(generating.rollout == expected.rollout);
  CHECK(generating.objective == expected.objective);
  CHECK(generating.batch == expected.batch);
  CHECK(estimate(generating).peak() == estimate(expected).peak());
}

TEST_CASE("what a file's arguments say of its release decides what is left open") {
  CHECK(notes_hold(notes(dpo), "bf16 is not given, and TRL's default is true since 0.19 (2025-06), and false before: release 1.10 is assumed"));
  CHECK(notes_hold(notes(dpo), "max_length is not given, and TRL's default is 1024 since 0.14"));
  CHECK(said(dpo, {one[0], "environment.trl=0.18"}).precision == precisions::fp32);
  CHECK(said(dpo, {one[0], "environment.trl=0.18"}).recompute.mode == recompute_mode::none);
  CHECK(said(dpo, {one[0], "environment.trl=0.28"}).objective.code == method_code::trl_0_28);
  CHECK(said(dpo, {one[0], "environment.trl=0.14"}).objective.code == method_code::trl_0_14);
  CHECK(holds(refused(dpo, {one[0], "environment.trl=0.13"}), "no file says how long a sequence is"));
  CHECK(said(dpo + " --force_use_ref_model True").objective == objective{.kind = objective_kind::dpo, .code = method_code::trl_0_28, .reference = reference_way::copy});  // ended with 0.28
  CHECK(said(dpo + " --max_length 1024 --max_prompt_length 256 --max_completion_length 256").batch.sequence == 512);
  const auto since = said(dpo + " --activation_offloading False");  // since 0.29
  CHECK(since.objective.code == method_code::trl);
  CHECK(since.assumed_defaults == 0);
  CHECK(holds(refused(dpo + " --activation_offloading False --max_prompt_length 512"), "no release of TRL has both activation_offloading, which came with 0.29, and max_prompt_length, which ended with 0.28"));
}

TEST_CASE("KTO, ORPO, CPO, SimPO, rewards and GKD") {
  const std::string rest = " --dataset_name x --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 --max_length 1024 --dtype bfloat16";
  CHECK(said("trl kto" + rest).objective.kind == objective_kind::kto);
  CHECK(holds(refused("trl kto" + rest + " --max_completion_length 512"), "max_completion_length ended with TRL 0.26, and TRL's KTO is modelled as of 1.6"));
  CHECK(said("python examples/scripts/orpo.py" + rest).objective == objective{.kind = objective_kind::orpo, .code = method_code::trl});
  CHECK(said("python examples/scripts/orpo.py" + rest.substr(0, rest.find(" --dtype")), {one[0], "environment.trl=0.12"}).objective.code == method_code::trl_0_14);
  CHECK(said("python examples/scripts/cpo.py" + rest).objective.kind == objective_kind::cpo);
  CHECK(said("python examples/scripts/cpo.py --loss_type simpo" + rest).objective.kind == objective_kind::cpo);
  CHECK(said("python examples/scripts/cpo.py --loss_type simpo --cpo_alpha 0.0" + rest).objective.kind == objective_kind::simpo);
  const auto scores = said("accelerate launch --num_processes 8 --mixed_precision bf16 examples/scripts/reward_modeling.py --use_peft --lora_task_type SEQ_CLS --lora_target_modules all-linear" + rest, {});
  CHECK(scores.objective.kind == objective_kind::reward);
  CHECK(scores.recompute.mode == recompute_mode::full);
  CHECK(scores.hardware.gpus() == 8);
  CHECK_FALSE(objection_to(scores));
  const auto taught = said("python examples/scripts/gkd.py --teacher_model_name_or_path Qwen/Qwen2.5-14B-Instruct --lmbda 0.0" + rest);
  CHECK(taught.objective.kind == objective_kind::distill);
  CHECK(taught.objective.frozen.model == *models::find("qwen2.5-14b"));
  CHECK(taught.objective.frozen.parameters == formats::bf16);
  CHECK_FALSE(objection_to(taught));
  CHECK(holds(refused("python examples/scripts/gkd.py --lmbda 0" + rest), "teacher_model_name_or_path is required"));
  CHECK(holds(refused("python examples/scripts/gkd.py --lmbda 0 --teacher_model_name_or_path some/one" + rest), "the teacher \"some/one\" is not in the model zoo"));
}

TEST_CASE("GRPO and RLOO: who generates, and how much") {
  const auto own = online(grpo);
  CHECK(own.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 1024, .generations = 8});
  CHECK(own.objective == objective{.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none});
  CHECK(own.batch == batch{.micro = 4, .sequence = 1536, .accumulation = 2});
  // Whose loss code: in place since 1.0, entropies in chunks since 0.23, made since 0.20 (recipe/method_loss.hpp).
  using enum method_code;
  const std::pair<const char*, method_code> releases[] = {{"1.0", trl}, {"0.29", trl_0_29}, {"0.23", trl_0_29}, {"0.22", trl_0_22}, {"0.20", trl_0_22}, {"0.19", trl_0_19}, {"0.16", trl_0_19}};
  const std::string dtype = " --dtype bfloat16", old = grpo.substr(0, grpo.find(dtype)) + grpo.substr(grpo.find(dtype) + dtype.size());  // of 0.24
  for (const auto& [release, code] : releases) CHECK(online(old, {std::string{"environment.trl="} + release}).objective.code == code);
  CHECK(online_refused(old, {"environment.trl=0.15"}).find("GRPO of TRL before 0.16") != std::string::npos);
  CHECK(online(grpo + " --ds3_gather_for_generation False").rollout.gathers == choice::no);
  CHECK(online(grpo + " --beta 0.04").objective.reference == reference_way::copy);
  CHECK(online(grpo + " --beta 0.04 --use_peft --lora_target_modules q_proj v_proj").objective.reference == reference_way::adapter_off);
  CHECK(online(vllm + " --vllm_gpu_memory_utilization 0.5 --vllm_tensor_parallel_size 2").rollout.tensor == 2);
  CHECK(online(vllm, {"environment.trl=0.24"}).rollout.sleep == 1);
  CHECK(online(grpo + " --use_vllm --vllm_mode colocate").rollout.sleep == 0);
  CHECK(online(grpo + " --use_vllm").rollout.placement == rollout_place::colocated);
  const auto served = online(grpo + " --use_vllm --vllm_mode server --vllm_server_host 0.0.0.0");
  CHECK(served.rollout == rollout{.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 1024, .generations = 8});
  CHECK(online(grpo + " --use_vllm", {"environment.trl=0.29"}).rollout == served.rollout);
  const auto rloo = said("trl rloo --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B --reward_funcs accuracy_reward --max_completion_length 256 --num_processes 2", {"rollout.prompt=256"});
  CHECK(rloo.objective == objective{.kind = objective_kind::rloo, .code = method_code::trl, .reference = reference_way::copy});
  CHECK(rloo.rollout.generations == 2);
  CHECK(rloo.hardware.gpus() == 2);

  CHECK(holds(online_refused(vllm), "no file says how long a prompt is: add --set rollout.prompt=TOKENS"));
  CHECK(online(grpo + " --max_prompt_length 256").rollout.prompt == 512);  // what --set says wins
  CHECK(job_of({{"run.sh", grpo + " --max_prompt_length 256\n"}, zero3}).rollout.prompt == 256);
  CHECK(online(grpo.substr(0, grpo.find(" --max_completion"))).rollout.completion == 512);
  CHECK(job_of({{"run.sh", grpo.substr(0, grpo.find(" --max_completion")) + "\n"}, zero3}, {"environment.trl=0.25"}).batch.sequence == 768);
  auto more = online(vllm).rollout;
  CHECK(online(vllm + " --num_iterations 1 --loss_type dr_grpo").rollout == more);
  more.steps_per_generation = 8;
  more.iterations = 2;
  CHECK(online(vllm + " --steps_per_generation 8 --num_iterations 2").rollout == more);
  // Completions over all eight GPUs, each of which has so many in a micro-batch (GRPOConfig.__post_init__).
  CHECK(online(vllm + " --generation_batch_size " + std::to_string(8 * 8 * online(vllm).batch.micro) + " --num_iterations 2").rollout == more);
  CHECK(online(grpo + " --generation_batch_size " + std::to_string(8 * online(grpo).batch.micro * online(grpo).batch.accumulation)).rollout == online(grpo).rollout);
  CHECK(holds(online_refused(grpo + " --generation_batch_size 12"), "must be a multiple of micro-batch"));
  CHECK(holds(online_refused(vllm + " --generation_batch_size 64 --steps_per_generation 8"), "beside steps_per_generation"));
  CHECK(online(vllm + " --vllm_importance_sampling_correction False").rollout.corrects == choice::no);
  CHECK(online(grpo + " --vllm_importance_sampling_correction False").rollout.corrects == choice::unset);  // there is no vLLM
}

TEST_CASE("what changes memory and is not modelled is refused by name") {
  for (const auto* more : {"--sync_ref_model", "--use_weighting", "--activation_offloading", "--use_liger_kernel", "--rpo_alpha 1.0", "--reference_free", "--use_logits_to_keep", "--ref_model_init_kwargs {}x"}) {
    CAPTURE(more);
    const auto why = refused(dpo + " " + more);
    CHECK_MESSAGE((holds(why, "is not modelled by this version") && holds(why, std::string{more}.substr(2, std::string_view{more}.find(' ') - 2))), why);
  }
  for (const auto* more : {"--use_liger_kernel", "--cast_lm_head_to_fp32", "--use_transformers_paged", "--cache_implementation static", "--entropy_coef 0.1", "--sync_ref_model"}) {
    CAPTURE(more);
    const auto why = online_refused(grpo + " " + more);
    CHECK_MESSAGE(holds(why, "is not modelled by this version"), why);
  }
}

TEST_CASE("GKD's student answers, and learns from what it wrote") {
  // The command of examples/scripts/gkd.py, of another size.
  const std::string gkd =
      "python examples/scripts/gkd.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --teacher_model_name_or_path Qwen/Qwen2.5-14B-Instruct --dataset_name x --per_device_train_batch_size 4 "
      "--gradient_accumulation_steps 8 --dtype bfloat16 --use_peft --lora_r 64 --lora_alpha 16 --lora_target_modules q_proj v_proj";
  const auto j = said(gkd);
  CHECK(j.objective.kind == objective_kind::distill);
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 1024, .completion = 128});
  CHECK(j.batch == batch{.micro = 4, .sequence = 1152, .accumulation = 8});
  CHECK_FALSE(objection_to(j));
  CHECK(notes_hold(notes(gkd), "the student answers in every micro-batch"));
  CHECK(said(gkd + " --max_length 512 --max_new_tokens 64 --lmbda 1.0").batch.sequence == 576);
  CHECK(said(gkd + " --max_length 512 --max_new_tokens 64 --lmbda 0.0").rollout == rollout{});
  // A token in a layer without a graph: three results of 18,944 and three of 3,584, in two bytes: the layer's input, which the loop over layers still names, the
  // residual and its norm. Scores of the last one: in bf16, in fp32, and their softmax.
  const std::int64_t layer = 2 * (3 * 18'944 + 3 * 3584), scores = 4 * 152'064 * 10, token = 28 * 2 * 4 * 128 * 2;
  const auto above = [](const job& of) { const auto rank = estimate(of).ranks[0]; return (rank[phase::generate] - rank[phase::save]).count(); };
  CHECK(above(j) == 4 * 1152 * layer + scores);  // use_cache is false where layers are checkpointed: the whole text for each token
  CHECK(above(said(gkd + " --gradient_checkpointing false")) == 4 * 1024 * (layer + token) + scores);  // else the prompts are read once
  const auto rest = estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)];
  CHECK(rest[row::other_models].count() >= 2 * std::int64_t{14'770'033'664});  // the teacher lies there all along
  CHECK(holds(refused(gkd + " --seq_kd"), "seq_kd = true is not modelled"));
}

TEST_CASE("a ranker on every GPU is no harmless judge") {
  const std::string online_dpo = "python examples/scripts/dpo_online.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dataset_name x --max_new_tokens 128";
  const std::vector<std::string> prompts{one[0], "rollout.prompt=384"};
  CHECK(holds(refused(online_dpo + " --judge pair_rm", prompts), "judge = \"pair_rm\" is not modelled"));
  CHECK(said(online_dpo + " --judge hf", prompts).objective.kind == objective_kind::online_dpo);
}

TEST_CASE("Nash-MD: policy and reference write a second answer from logits of all of a text") {
  // The command of docs/source/nash_md_trainer.md (f2cd57710).
  const std::string nash = "python examples/scripts/nash_md.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --reward_model_path Qwen/Qwen2.5-1.5B --dataset_name trl-lib/ultrafeedback-prompt --learning_rate 5.0e-7 --warmup_steps 0.1";
  const std::vector<std::string> prompts{one[0], "rollout.prompt=512"};
  const auto j = said(nash, prompts);
  CHECK(j.objective.kind == objective_kind::nash_md);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.frozen.model.layers == 28);
  CHECK(j.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 64});
  CHECK(j.batch == batch{.micro = 8, .sequence = 576});
  CHECK(j.recompute == recompute{.mode = recompute_mode::full, .reentrant = choice::yes});
  CHECK(j.dropout == dropout{});
  CHECK_FALSE(objection_to(j));
  // 575 tokens have been read when the last is written: of 8 texts, in fp32, which accelerate makes of them: the policy's logits, the reference's, both
  // times a half, and their sum.
  const auto above = [](const job& of, phase p) { const auto rank = estimate(of).ranks[0]; return (rank[p] - rank[phase::save]).count(); };
  CHECK(above(j, phase::generate) == std::int64_t{5} * 8 * 575 * 151'936 * 4);
  const auto wide = said(nash + " --max_new_tokens 128 --per_device_train_batch_size 2", prompts);
  CHECK(above(wide, phase::generate) == std::int64_t{5} * 2 * 639 * 151'936 * 4);
  const auto zero2 = job_of({{"run.sh", "accelerate launch --config_file zero2.yaml " + nash.substr(7) + "\n"}, {"zero2.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"}}, {"rollout.prompt=512"});
  CHECK(above(zero2, phase::generate) == std::int64_t{5} * 8 * 575 * 151'936 * 2);
  // The reference lies there whole, and so does the reward model of 28 layers of 1,536, whose head is one row: 1,543,714,304 weights and 1,536.
  const auto stays = estimate(zero2).ranks[0].at_phase[static_cast<std::size_t>(phase::save)];
  CHECK(stays[row::other_models].count() == std::int64_t{2} * (494'032'768 + 1'543'714'304 + 1536));
  CHECK(estimate(zero2).ranks[0][phase::reward] > bytes{0});
  CHECK(holds(refused(nash + " --use_peft --lora_target_modules q_proj v_proj", prompts), "which nash_md.py reads and hands to nobody"));
  CHECK(holds(refused(nash + " --gradient_checkpointing false", prompts), "both models of the mixture are handed one cache"));
  CHECK(holds(refused("python examples/scripts/nash_md.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --judge pair_rm --dataset_name x", prompts), "judge = \"pair_rm\" is not modelled"));
  CHECK(holds(refused(nash, {prompts[0], prompts[1], "environment.trl=0.14"}), "Nash-MD of TRL before 0.15"));
  CHECK(holds(refused(nash), "rollout.prompt=TOKENS"));
  CHECK(notes_hold(notes(nash + " --max_length 1024", prompts), "Nash-MD cuts nothing at max_length"));
  CHECK(said(nash + " --max_length 1024", prompts).batch == j.batch);
}

// trl/trainer/sft_config.py of 0.16 to 0.19: max_length = max_seq_length where that is given; GKDConfig inherits from it. No other configuration has it.
TEST_CASE("max_seq_length is of SFTConfig, and of what inherits from it") {
  const std::string rest = " --dataset_name x --model_name_or_path Qwen/Qwen3-0.6B --per_device_train_batch_size 2 --bf16 True --max_length 512";
  CHECK(said("trl sft" + rest + " --max_seq_length 256", {one[0], "environment.trl=0.18"}).batch.sequence == 256);
  CHECK(said("trl dpo" + rest).batch.sequence == 512);
  for (const std::string program : {"trl dpo", "trl kto", "python examples/scripts/cpo.py", "trl reward"}) CHECK(holds(refused(program + rest + " --max_seq_length 256"), "max_seq_length"));
}

TEST_CASE("TPO: three answers, of which the third is learned as a text") {
  // The command of examples/scripts/tpo.py (f2cd57710).
  const std::string tpo = "python examples/scripts/tpo.py --dataset_name tpo-alignment/triple-preference-ultrafeedback-40K --model_name_or_path Qwen/Qwen3-0.6B --per_device_train_batch_size 2 --max_steps 1000 --learning_rate 5e-7 "
                          "--gradient_accumulation_steps 8 --beta 0.01 --tpo_alpha 1.0 --output_dir Qwen3-0.6B-TPO --no_remove_unused_columns";
  const auto j = said(tpo);
  CHECK(j.objective == objective{.kind = objective_kind::tpo, .code = method_code::trl});
  CHECK(j.batch == batch{.micro = 2, .sequence = 1024, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK_FALSE(objection_to(j));
  CHECK(said(tpo + " --loss_type tpo-l --tpo_l_gamma 0.5") == j);
  CHECK(said(tpo + " --use_peft --lora_r 32 --lora_target_modules q_proj v_proj").adapter.rank == 32);
  CHECK(holds(refused(tpo + " --tpo_alpha 0"), "tpo_alpha = 0 is not modelled by this version (two answers instead of three)"));
  for (const std::string key : {"force_use_ref_model", "precompute_ref_log_probs"})  // trl/experimental/tpo/tpo_config.py has neither
    CHECK(holds(refused(tpo + " --" + key + " True"), key + " is no argument of TRL's TPOConfig, and the program stops there"));
  // A file alone, by an argument that one trainer has.
  const std::string alone = "model_name_or_path: Qwen/Qwen3-0.6B\nper_device_train_batch_size: 2\nmax_length: 512\nbf16: true\nbeta: 0.1\n";
  CHECK(holds(refusal_of({{"t.yaml", alone + "tpo_alpha: 1.0\n"}}, one), "tpo_alpha is an argument of one of TRL's trainers, and the file does not say which program reads it: give the command that starts it, too, or say --program trl-tpo"));
  CHECK(holds(refusal_of({{"t.yaml", alone + "mixture_coef: 0.5\n"}}, one), "say --program trl-nash-md"));
  CHECK(holds(refused(tpo, {one[0], "environment.trl=1.6"}), "this method of a release of TRL as old as environment.trl says"));
  // Six texts a micro-batch: as fine-tuning on three times as many keeps, layer by layer, one input each: 28 of 1,024 in bf16 and the stream's first.
  const auto pairs = said(tpo + " --per_device_train_batch_size 4");
  const auto more = estimate(pairs).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][row::activations] - estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][row::activations];
  CHECK(more.count() > std::int64_t{28} * 6 * 1024 * 1024 * 2);
}

TEST_CASE("PRM: two classes of every token, loaded as transformers loads them") {
  // The command of examples/scripts/prm.py (f2cd57710).
  const std::string prm =
      "python examples/scripts/prm.py --model_name_or_path Qwen/Qwen2-0.5B-Instruct --dataset_name trl-lib/prm800k --output_dir Qwen2-0.5B-Reward --per_device_train_batch_size 8 "
      "--num_train_epochs 1 --learning_rate 1.0e-5 --eval_strategy steps --eval_steps 50";
  const auto j = said(prm);
  CHECK(j.objective == objective{.kind = objective_kind::classification, .code = method_code::trl});
  CHECK(j.model.classes == 2);
  CHECK(j.batch.micro == 8);
  CHECK(j.batch.sequence == 1024);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.evaluation.batch == 8);
  CHECK_FALSE(objection_to(j));
  // 494,032,768 parameters, whose head is the embedding, and 2 rows of 896 with a bias each.
  CHECK(estimate(j).parameter_count.total == parameters{494'032'768 + 2 * 896 + 2});
  CHECK(said(prm, {one[0], "environment.transformers=5.0"}).precision.parameters == formats::bf16);  // as they are stored
  CHECK(said(prm, {one[0], "environment.transformers=4.57"}).precision == precisions::bf16_autocast);
  CHECK(j.evaluation.use_cache == choice::no);  // of the model's configuration, where layers are checkpointed
  CHECK(said(prm + " --gradient_checkpointing false", {one[0], "environment.transformers=4.57"}).evaluation.use_cache != choice::no);
  CHECK(said(prm + " --gradient_checkpointing false").evaluation.use_cache == choice::no);  // of the Trainer since transformers 5
  CHECK(said(prm + " --dtype float32").precision == j.precision);  // the script reads it and makes no use of it
  CHECK(holds(refused(prm + " --attn_implementation flash_attention_2"), "which this script reads and hands to nobody"));
  CHECK(holds(refused(prm + " --use_peft --lora_target_modules q_proj v_proj --lora_task_type TOKEN_CLS"), "lora_task_type = \"TOKEN_CLS\" is not modelled"));
  CHECK(said(prm + " --use_peft --lora_target_modules q_proj v_proj").adapter.rank == 16);
}

TEST_CASE("GRPO that generates for more steps than one trains on") {
  // 8 micro-batches of 4 completions instead of 2: 24 prompts more of 512 tokens, which a layer reads as above.
  const auto two = online(grpo), eight = online(grpo + " --steps_per_generation 8");
  CHECK(two.rollout.steps_per_generation == 0);
  CHECK(eight.rollout.steps_per_generation == 8);
  CHECK(online(grpo + " --steps_per_generation 2").rollout == two.rollout);  // as many as accumulate
  const std::int64_t more = std::int64_t{24} * (512 * (2 * (3 * 18'944 + 3 * 3584) + 28 * 2 * 4 * 128 * 2) + 152'064 * 10);
  CHECK((estimate(eight).ranks[0][phase::generate] - estimate(two).ranks[0][phase::generate]).count() == more);
  CHECK(estimate(eight).ranks[0][phase::backward] == estimate(two).ranks[0][phase::backward]);
  // Four times as many side by side, for four steps: weights are read a quarter as often a step.
  CHECK(cost(eight).generation < cost(two).generation);
  CHECK(cost(eight).generation.value > cost(two).generation.value / 4);
}

TEST_CASE("Liger beside GRPO and DPO: kernels of layers before 0.25, its loss since") {
  const std::string dtype = " --dtype bfloat16", old = grpo.substr(0, grpo.find(dtype)) + grpo.substr(grpo.find(dtype) + dtype.size()) + " --use_liger_kernel";
  CHECK(online(old, {"environment.trl=0.24"}).kernels == fused_kernels{fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary});
  CHECK(holds(online_refused(old, {"environment.trl=0.25"}), "use_liger_kernel = true is not modelled by this version (beside this method, whose loss is Liger's since TRL 0.25)"));
  CHECK(online(old.substr(0, old.rfind(" --")), {"environment.trl=0.24"}).kernels.empty());
  CHECK(estimate(online(old, {"environment.trl=0.24"})).ranks[0][phase::backward] <= estimate(online(old.substr(0, old.rfind(" --")), {"environment.trl=0.24"})).ranks[0][phase::backward]);
}

TEST_CASE("TRL's own command starts accelerate") {
  const std::string rest = " --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B --max_length 512 --per_device_train_batch_size 1";
  const auto two = said("trl dpo --accelerate_config zero2 --num_processes 4" + rest, {});
  CHECK(two.hardware.gpus() == 4);
  CHECK(two.sharding.stage == 2);
  CHECK(said("trl sft --accelerate_config fsdp2 --loss_type nll" + rest, {}).sharding.kind == sharding_kind::fsdp2);
  CHECK(said("trl sft --accelerate_config single_gpu --loss_type nll" + rest, {}).hardware.gpus() == 1);
  CHECK(said("trl dpo --accelerate_config zero3" + rest, {}).hardware.gpus() == 8);
  CHECK(holds(refused("trl dpo" + rest, {}), "takes every GPU of its machine"));
  const imported::text yaml{"dpo.yaml", "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: x\naccelerate_config: zero1\nnum_processes: 2\nmax_length: 512\ndtype: bfloat16\nloss_type: [sigmoid, bco_pair]\n"};
  const auto by_file = job_of({{"run.sh", "trl dpo --config dpo.yaml\n"}, yaml});
  CHECK(by_file.sharding.stage == 1);
  CHECK(by_file.hardware.gpus() == 2);
  CHECK(job_of({yaml, {"run.sh", "trl dpo --config dpo.yaml\n"}}) == by_file);
  CHECK(holds(refusal_of({{"run.sh", "trl dpo --config dpo.yaml\n"}}), "names \"dpo.yaml\", which no file here is"));
  // What stands beside it may need what it says: the file is asked for first.
  CHECK(holds(refusal_of({{"run.sh", "trl dpo --config dpo.yaml --load_in_4bit true\n"}}), "names \"dpo.yaml\", which no file here is"));
  // DPO's padding_free does nothing since 0.29.
  const auto free = "python trl/scripts/dpo.py --dataset_name x --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --padding_free true";
  CHECK(job_of({{"run.sh", std::string{free} + "\n"}}, {"hardware.gpus_per_node=1", "environment.trl=1.0"}).objective.code == method_code::trl);
  CHECK(holds(refusal_of({{"run.sh", std::string{free} + "\n"}}, {"hardware.gpus_per_node=1", "environment.trl=0.28"}), "padding_free = true is not modelled by this version (pairs side by side in one row)"));
}

TEST_CASE("example scripts that are SFT's for one model, and one whose name was turned around") {
  const auto oss = job_of({zero3, {"run.sh", "accelerate launch --config_file zero3.yaml examples/scripts/sft_gpt_oss.py --dtype bfloat16 --model_name_or_path openai/gpt-oss-20b --packing --attn_implementation kernels-community/vllm-flash-attn3 "
                                             "--dataset_num_proc 12 --dataset_name HuggingFaceH4/Multilingual-Thinking --max_length 4096 --per_device_train_batch_size 2 --loss_type nll\n"}});
  CHECK(oss.model == *models::find("gpt-oss-20b"));
  // Stored in MXFP4: bf16 as it is loaded is an assumption, and bitsandbytes an end (transformers quantizers/quantizer_mxfp4.py).
  const std::string stored = "python trl/scripts/sft.py --dtype bfloat16 --model_name_or_path openai/gpt-oss-20b --dataset_name x --max_length 1024 --loss_type nll --use_peft --lora_target_modules q_proj v_proj";
  auto d = draft_of({{"run.sh", stored + "\n"}}, {"hardware.gpus_per_node=1"});
  d.settled();
  CHECK(std::any_of(d.assumed.begin(), d.assumed.end(), [](const std::string& a) { return holds(a, "openai/gpt-oss-20b is stored in MXFP4 and taken to be made bf16 as it is loaded"); }));
  CHECK(holds(refusal_of({{"run.sh", stored + " --load_in_4bit\n"}}, {"hardware.gpus_per_node=1"}), "transformers ends where it is to be loaded by bitsandbytes"));
  CHECK(checked::mul(oss.batch.micro, oss.batch.sequence) == 8192);
  CHECK(oss.attention == attention::flash3);
  CHECK(oss.sharding.stage == 3);
  CHECK(oss.recompute.mode == recompute_mode::full);  // SFTConfig's default

  const std::string pairs = " --model_name_or_path Qwen/Qwen2.5-0.5B --reward_model_path Qwen/Qwen2.5-0.5B --dataset_name x --beta 0.1 --max_new_tokens 53 --missing_eos_penalty 1.0 --per_device_train_batch_size 8";
  const std::vector<std::string> lengths{"hardware.gpus_per_node=1", "rollout.prompt=512"};
  CHECK(said("python examples/scripts/dpo_online.py" + pairs, lengths) == said("python examples/scripts/online_dpo.py" + pairs, lengths));
}

}  // namespace test_trl_methods

#endif
