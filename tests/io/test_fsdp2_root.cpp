// Distributed under the Boost Software License, Version 1.0.
// What FSDP2 makes of embedding, last norm and head, by the releases of accelerate, torch and the trainers.
#include "imported.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_fsdp2_root {

using namespace imported;

namespace {

constexpr std::int64_t table = 2 * 152'064 * 3584, norm = 2 * 3584;  // Qwen2.5 7B's, in bf16
constexpr std::int64_t layer = 2 * (3584 * 3584 + 3584 + 2 * (3584 * 512 + 512) + 3584 * 3584 + 3 * 3584 * 18'944 + 2 * 3584);
static_assert(layer == 466'115'584);

imported::text verl_run(const std::string& more = {}) {
  return {"run.sh",
          "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
          "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 "
          "algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.enforce_eager=False actor_rollout_ref.actor.strategy=fsdp2" + more + "\n"};
}
job by_verl(const std::vector<std::string>& set, const std::string& more = {}) { return job_of({verl_run(more)}, set); }
bool notes_hold(io::draft d, std::string_view part) {
  (void)d.settled();
  return std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, part); });
}
std::int64_t gathered(const job& j, phase when) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(when)][row::gathered_parameters].count(); }
const imported::text sharded{"accelerate.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: true\n"};
job by_accelerate(const std::string& model, std::vector<std::string> set) {
  set.insert(set.end(), {"model=" + model, "batch.sequence=2048", "batch.micro=1", "hardware.gpus_per_node=8"});
  return job_of({sharded}, set);
}

}  // namespace

// Units of verl: the embedding, each layer, and the root with norm and head. The loss is computed behind the model, and its backward, the tallest moment here, comes
// before the model's: nothing is gathered there since torch 2.8.
TEST_CASE("verl's root goes between forward and backward since torch 2.8") {
  const auto older = by_verl({"environment.torch=2.7"}), newer = by_verl({"environment.torch=2.8"});
  CHECK_FALSE(objection_to(newer));
  CHECK(gathered(older, phase::backward) == table + norm);
  CHECK(gathered(newer, phase::backward) == 0);
  CHECK(gathered(by_verl({}), phase::backward) == 0);
  // Which torch it is taken to be is said where nobody says it.
  constexpr auto assumed = "lets go of norm and head between forward and backward since torch 2.8 (2025-08), and keeps them before: release 2.8 is assumed";
  CHECK(notes_hold(draft_of({verl_run()}), assumed));
  CHECK_FALSE(notes_hold(draft_of({verl_run()}, {"environment.torch=2.7"}), "torch 2.8"));
  CHECK_FALSE(notes_hold(draft_of({verl_run(" actor_rollout_ref.actor.strategy=fsdp")}), "torch 2.8"));
  CHECK(gathered(by_verl({"framework.version=2025-01"}), phase::backward) == table + norm);
  CHECK_FALSE(notes_hold(draft_of({verl_run()}, {"framework.version=2025-01"}), "torch 2.8"));
  // Its fine-tuning, whose strategy is fsdp2 where nothing is said, gives reshard_after_forward for the root, too (fsdp_sft_trainer.py).
  const std::string tuned = "torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer model.partial_pretrain=Qwen/Qwen2.5-7B data.max_length=1024 trainer.device=cuda";
  CHECK(notes_hold(draft_of({{"run.sh", tuned + "\n"}}), assumed));
  CHECK_FALSE(notes_hold(draft_of({{"run.sh", tuned + " model.strategy=fsdp\n"}}), "torch 2.8"));
  // Where units stay gathered, the root does: every one of them, in two bytes.
  const std::string stays = " actor_rollout_ref.actor.fsdp_config.reshard_after_forward=false actor_rollout_ref.ref.fsdp_config.reshard_after_forward=false";
  CHECK(gathered(by_verl({"environment.torch=2.8"}, stays), phase::backward) == 2 * 7'615'616'512);
  // One unit for all would hold the embedding, too.
  auto whole = older;
  whole.sharding.root = root_units::whole;
  CHECK(gathered(whole, phase::backward) == 2 * table + norm);
}

TEST_CASE("accelerate splits the root since 1.14") {
  CHECK(by_accelerate("qwen2.5-7b", {}).sharding.root == root_units::unset);
  CHECK(by_accelerate("qwen2.5-7b", {"environment.accelerate=1.13"}).sharding.root == root_units::unset);
  const auto split = by_accelerate("qwen2.5-7b", {"environment.accelerate=1.14"}), one = by_accelerate("qwen2.5-7b", {"environment.accelerate=1.13"});
  CHECK(split.sharding.root == root_units::split);
  // Transformers computes the loss inside the model, whose last layer's buffer is there until it returns: 466,115,584 bytes in bf16.
  CHECK(gathered(one, phase::loss_forward) == 2 * table + norm + layer);
  CHECK(gathered(split, phase::loss_forward) == 2 * (table + norm));  // norm and head, and the buffer that they were copied out of
  // Of a model whose head is the embedding all is one unit, and stays, whatever the release.
  const auto tied = by_accelerate("qwen2.5-0.5b", {"environment.accelerate=1.14"});
  auto kept = by_accelerate("qwen2.5-0.5b", {"environment.accelerate=1.13", "environment.torch=2.7"});
  CHECK(estimate(tied).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)].total() == estimate(kept).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)].total());
  CHECK(notes_hold(draft_of({sharded}, {"model=qwen2.5-7b", "batch.sequence=2048", "hardware.gpus_per_node=8"}), "--set environment.accelerate=VERSION"));
}

TEST_CASE("a job file says what FSDP2's root is") {
  const auto j = io::read_job(io::parse_json(R"({"model": "qwen2.5-7b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "hf-trainer", "sharding": {"kind": "fsdp2", "root": "split"}, "batch": {"sequence": 2048}})", "job"));
  CHECK(j.sharding.root == root_units::split);
  auto other = j;
  other.sharding.kind = sharding_kind::fsdp1;
  CHECK(holds(objection_to(other).in_words().what(), "sharding.root says how FSDP2 is set up"));
  other = j;
  other.framework = frameworks::torchtitan_202508;
  CHECK(holds(objection_to(other).in_words().what(), "sharding.root says how FSDP2 is set up"));
  // LLaMA-Factory's second trainer: a table's unit, and the root's with norm and head, beside two layers; all in fp32.
  other.framework = frameworks::llama_factory_v1;
  other.sharding.root = root_units::unset;
  CHECK_FALSE(objection_to(other));
  CHECK(gathered(other, phase::forward) == 2 * (table + norm) + 2 * 2 * layer);
}

}  // namespace test_fsdp2_root
