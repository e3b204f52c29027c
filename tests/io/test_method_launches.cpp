// Distributed under the Boost Software License, Version 1.0.
// Launches of MedicalGPT's stages and of ms-swift's methods: the public files as they are in, jobs and estimates or sentences out.
#include "imported.hpp"

#include <headroom/decide.hpp>
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

namespace test_method_launches {

using namespace imported;

namespace {

/// run_STAGE.sh of MedicalGPT, of whose model (Qwen3.5) another stands here.
job stage(const std::string& name, std::vector<std::string> set = {}) {
  set.push_back("model=qwen2.5-1.5b");
  return job_of({launch_file("medicalgpt-stages", "run_" + name + ".sh")}, set);
}
std::string stage_refused(const std::string& name, std::vector<std::string> set = {}) {
  set.push_back("model=qwen2.5-1.5b");
  return refusal_of({launch_file("medicalgpt-stages", "run_" + name + ".sh")}, set);
}
const std::vector<std::string> one{"hardware.gpus_per_node=1"};
std::string changed(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("MedicalGPT's pretraining and supervised fine-tuning") {
  const auto pretrained = stage("pt"), tuned = stage("sft");
  CHECK(pretrained.batch == batch{.micro = 4, .sequence = 512, .accumulation = 8});
  CHECK(pretrained.hardware.gpus() == 2);
  CHECK(pretrained.sharding.kind == sharding_kind::ddp);
  CHECK(pretrained.adapter.rank == 8);
  CHECK(pretrained.objective == objective{});
  CHECK(tuned.batch == batch{.micro = 2, .sequence = 512, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(tuned.attention == attention::flash);
  CHECK(stage("sft_accelerate").batch == tuned.batch);
  CHECK(estimate(stage("sft_accelerate")).peak() == estimate(tuned).peak());
}

TEST_CASE("MedicalGPT's reward model and DPO, on one GPU") {
  const auto rewards = stage("rm", one);
  CHECK(rewards.objective == objective{.kind = objective_kind::reward, .code = method_code::trl});
  CHECK(rewards.batch == batch{.micro = 4, .sequence = 1024 + 256, .accumulation = 8});
  CHECK(rewards.precision.parameters == formats::bf16);
  CHECK(rewards.adapter.dropout.per_million == 50'000);
  CHECK(rewards.assumed_defaults == 1);  // both answers at once
  CHECK_FALSE(objection_to(rewards));
  const auto pairs = stage("dpo", one);
  CHECK(pairs.objective == objective{.kind = objective_kind::dpo, .code = method_code::trl});
  CHECK(pairs.batch == batch{.micro = 4, .sequence = 1024 + 512, .accumulation = 8, .lengths = {.unknown = true}});
  CHECK(pairs.precision.parameters == formats::fp32);  // the script makes every weight fp32 before TRL adds adapters
  CHECK_FALSE(pairs.adapter.dropout.per_million > 0);
  CHECK(pairs.recompute.mode == recompute_mode::full);
  // The frozen model of 1,543,714,304 parameters in four bytes.
  CHECK(estimate(pairs).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::model_parameters] >= bytes{std::int64_t{4} * 1'543'714'304});
  // As they stand, one process has two GPUs, over which device_map lays the layers. The model's head is its embedding: logits and loss lie on the first.
  for (const auto* name : {"rm", "dpo"}) {
    CHECK(stage(name).parallel.pipeline == 2);
    CHECK_FALSE(objection_to(stage(name)));
    CHECK(decide(stage(name)).fits());
  }
  CHECK(estimate(stage("dpo")).peak() < estimate(pairs).peak());
  // With the model that the script names, which sees: TRL's class for scores has the tower, and these texts never ask for it.
  const auto seen = job_of({launch_file("medicalgpt-stages", "run_rm.sh")}, {"model=qwen3.5-2b"});
  CHECK(seen.batch.images.none);
  CHECK_FALSE(objection_to(seen));
}

TEST_CASE("MedicalGPT's GRPO, and what of it is no job") {
  const auto generates = stage("grpo", {"rollout.prompt=512"});
  CHECK(generates.objective == objective{.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::adapter_off});  // beta 0.001
  CHECK(generates.rollout == rollout{.engine = engine_kind::trainer, .prompt = 512, .completion = 512, .generations = 4});
  CHECK(generates.hardware.gpus() == 2);
  CHECK(generates.batch == batch{.micro = 4, .sequence = 1024, .accumulation = 1});
  CHECK(generates.recompute.mode == recompute_mode::none);
  CHECK(generates.adapter.rank == 16);
  CHECK(generates.adapter.dropout.per_million == 100'000);
  CHECK_FALSE(objection_to(generates));
  CHECK(holds(stage_refused("grpo"), "no file says how long a prompt is: add --set rollout.prompt=TOKENS"));
  auto file = launch_file("medicalgpt-stages", "run_grpo.sh");
  file.said = changed(file.said, "--gradient_checkpointing False", "--gradient_checkpointing True");
  CHECK(job_of({file}, {"model=qwen2.5-1.5b", "rollout.prompt=512"}).recompute.mode == recompute_mode::none);  // adapters switch it off
  CHECK(holds(stage_refused("orpo"), "asks TRL's DPOTrainer for the loss \"orpo\""));
}

TEST_CASE("MedicalGPT's stages, from its scripts to plans that fit on small GPUs") {
  struct row {
    const char* name;
    bool fits;  ///< as the script has it
    std::vector<std::string> set;
    std::string gpu{"rtx-4090"};
  };
  const std::vector<std::string> alone{"hardware.gpus_per_node=1"};
  const row rows[] = {{"pt", true, {}}, {"sft", true, {}}, {"rm", true, alone}, {"dpo", false, alone}, {"grpo", true, {"rollout.prompt=512"}},
                      {"ppo", true, {"hardware.gpus_per_node=1", "rollout.prompt=512", "objective.reward=qwen2.5-0.5b"}, "a100-sxm-40gb"}};
  for (const auto& one_of : rows) {
    const std::string name = one_of.name;
    auto set = one_of.set;
    CAPTURE(name);
    set.push_back("hardware.gpu=" + one_of.gpu);
    const auto j = stage(name, set);
    CHECK_FALSE(objection_to(j));
    CHECK(estimate(j).fits() == one_of.fits);
    const auto found = plan(search{.job = j, .open = axes::bit(axes::recomputation), .open_micro = true, .global_batch = j.batch.micro * j.batch.accumulation * j.hardware.gpus()}, {.top = 1, .threads = 1});
    REQUIRE_FALSE(found.best.empty());
    const auto& best = found.best.front().job;
    CHECK(estimate(best).may_fit());
    CHECK(best.batch.micro * best.batch.accumulation == j.batch.micro * j.batch.accumulation);
  }
}

TEST_CASE("MedicalGPT's stages of a model as it has them: Gated DeltaNet in three layers of four") {
  // Qwen3.5-4B's text model (config.json, text_config); the scripts have 0.8 B and 2 B of the same family.
  const imported::text config{"config.json", R"({"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text", "hidden_size": 2560, "num_hidden_layers": 32, "intermediate_size": 9216, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
    "vocab_size": 248320, "tie_word_embeddings": true})"};
  const std::vector<std::string> alone{"hardware.gpus_per_node=1", "hardware.gpu=a100-sxm-80gb"}, both{"hardware.gpu=a100-sxm-80gb"};
  for (const std::string name : {"pt", "sft", "rm", "dpo", "ppo", "grpo"}) {
    CAPTURE(name);
    auto set = name == "pt" || name == "sft" || name == "grpo" ? both : alone;
    if (name == "ppo" || name == "grpo") set.push_back("rollout.prompt=512");
    if (name == "ppo") set.push_back("objective.reward=qwen2.5-0.5b");
    const auto j = job_of({config, launch_file("medicalgpt-stages", "run_" + name + ".sh")}, set);
    CHECK(count(j.model).total == parameters{4'205'751'296});
    CHECK_FALSE(objection_to(j));
    const auto found = plan(search{.job = j, .open = axes::bit(axes::recomputation), .open_micro = true, .global_batch = j.batch.micro * j.batch.accumulation * j.hardware.gpus()}, {.top = 1, .threads = 1});
    REQUIRE_FALSE(found.best.empty());
    CHECK(estimate(found.best.front().job).may_fit());
  }
}

TEST_CASE("ms-swift's GRPO, by its own scripts") {
  const auto large = job_of({launch_file("swift-grpo", "vllm_72b_4gpu.sh")}, {"hardware.gpu=a100-sxm-80gb", "hardware.host_memory_gib=2000"});
  CHECK(large.objective == objective{.kind = objective_kind::grpo, .code = method_code::ms_swift, .reference = reference_way::adapter_off});
  CHECK(large.rollout == rollout{.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.55), .tensor = 4, .sleep = 1,
                                 .trainer_moves = {trainer_part::weights, trainer_part::optimizer}, .prompt = 1024, .completion = 1024, .generations = 4, .sync_groups = 16});
  CHECK(large.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 1});  // no row is longer than vllm_max_model_len
  CHECK(large.offload.parameters == place::on_cpu);
  CHECK(large.sharding.stage3_prefetch_bucket_size == 0);
  // vLLM's weights alone are 2P/4 of 72,706,203,648 parameters; 80 GiB are enough, as the recipe says.
  const auto peak = estimate(large).peak();
  CHECK(peak > bytes{36'353'101'824});
  CHECK(peak < 80_GiB);

  const auto full = job_of({launch_file("swift-grpo", "gspo.sh")}, {"rollout.prompt=2048"});
  CHECK(full.objective.reference == reference_way::none);  // beta 0
  CHECK(full.batch == batch{.micro = 2, .sequence = 2048 + 8192, .accumulation = 8});
  CHECK(full.rollout.share == memory_share::of(0.6));
  CHECK(full.hardware.gpus() == 8);
  CHECK_FALSE(objection_to(full));
  const auto own = job_of({launch_file("swift-grpo", "transformers.sh")});
  CHECK(own.rollout.engine == engine_kind::trainer);
  CHECK(own.objective.reference == reference_way::adapter_off);  // beta 0.04 where nothing is said
  CHECK_FALSE(objection_to(own));
  CHECK(job_of({launch_file("swift-grpo", "rm.sh")}).objective == objective{.kind = objective_kind::reward, .code = method_code::ms_swift});

  auto file = launch_file("swift-grpo", "gspo.sh");
  const auto refused = [&](const std::string& from, const std::string& to) { return refusal_of({{"run.sh", changed(file.said, from, to)}}, {"rollout.prompt=2048"}); };
  CHECK(holds(refused("--vllm_mode colocate", ""), "use_vllm needs vllm_mode, colocate or server"));
  // Beside an engine on other GPUs offloading has no effect.
  const auto elsewhere = job_of({{"run.sh", changed(file.said, "--vllm_mode colocate", "--vllm_mode server")}}, {"rollout.prompt=2048"});
  CHECK(elsewhere.rollout.placement == rollout_place::separate);
  CHECK(elsewhere.rollout.trainer_moves == trainer_parts{});
  CHECK(holds(refused("--log_completions true", "--reward_model a/b"), "reward_model = \"a/b\" is not modelled"));
  CHECK(refusal_of({{"run.sh", changed(changed(changed(file.said, "--vllm_mode colocate", "--vllm_mode server"), "--offload_model true", ""), "--offload_optimizer true", "")}}, {"rollout.prompt=2048"}) == "");
}

TEST_CASE("a comment between backquotes is no word") {
  const auto j = job_of({{"run.sh", "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct `# how long` --max_length 512 ` # 显存` --lora_rank 4\n"}});
  CHECK(j.batch.sequence == 512);
  CHECK(j.adapter.rank == 4);
}

}  // namespace test_method_launches
