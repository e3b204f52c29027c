// Distributed under the Boost Software License, Version 1.0.
// Advice in a framework's words: read by its importer, they make the job that the change makes.
#include "imported.hpp"

#include <headroom/io/change_spelling.hpp>

#include <doctest/doctest.h>

namespace test_change_spelling {

using namespace imported;

const change& named(std::string_view text) {
  return *std::find_if(changes::all.begin(), changes::all.end(), [&](const change& c) { return c.text.starts_with(text); });
}

TEST_CASE("every row is of a change and a framework that there are") {
  for (const auto& s : io::detail::change_spellings) {
    CAPTURE(s.change);
    CHECK(std::any_of(changes::all.begin(), changes::all.end(), [&](const change& c) { return c.text == s.change || (s.change == "batch.micro" && c.text.starts_with("batch.micro")); }));
    CHECK((s.framework.empty() || s.framework.starts_with("verl") || std::any_of(io::framework_rows.begin(), io::framework_rows.end(), [&](const auto& r) { return r.name == s.framework; })));
  }
}

/// What the command with the advice's words behind it is read as, and what the change makes of the command's job.
void agrees(const std::string& command, std::string_view change_text) {
  CAPTURE(change_text);
  const auto before = job_of({{"run.sh", command}}, {"hardware.gpus_per_node=8"});
  auto changed = before;
  const auto& c = named(change_text);
  REQUIRE(c.apply(changed));
  const auto words = io::spelling_of(c, changed);
  CAPTURE(words);
  REQUIRE_FALSE(words.empty());
  const auto after = job_of({{"run.sh", command + " " + words.substr(0, words.find(';'))}}, {"hardware.gpus_per_node=8"});
  CHECK(after.batch.micro == changed.batch.micro);
  CHECK(after.batch.sequence == changed.batch.sequence);
  if (c.text.starts_with("batch.")) CHECK(after.batch.accumulation == changed.batch.accumulation);  // Megatron's global batch stays; fewer replicas have more micro-batches
  CHECK(after.recompute.mode == changed.recompute.mode);
  CHECK(after.recompute.modules == changed.recompute.modules);
  CHECK(after.parallel.tensor == changed.parallel.tensor);
  CHECK(after.parallel.pipeline == changed.parallel.pipeline);
  CHECK(after.parallel.context == changed.parallel.context);
  CHECK(after.parallel.sequence == changed.parallel.sequence);
  CHECK(after.sharding.kind == changed.sharding.kind);
  CHECK(after.loss.kind == changed.loss.kind);
  CHECK(after.optimizer.label == changed.optimizer.label);
}

TEST_CASE("Megatron-LM's words") {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
                          "--micro-batch-size 4 --global-batch-size 64 --vocab-size 32000 --bf16 --transformer-impl transformer_engine --tensor-model-parallel-size 2 --lr 1e-4";
  for (const auto* change : {"sharding.kind megatron-distributed-optimizer", "parallel.sequence true", "batch.micro halved", "batch.micro 1", "recompute selective: core_attn", "recompute full", "parallel.tensor doubled",
                             "parallel.pipeline doubled", "parallel.context doubled"})
    agrees(run, change);
}

TEST_CASE("the Trainer's words") {
  const std::string run = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --torch_dtype bfloat16 --per_device_train_batch_size 4 --block_size 2048";
  for (const auto* change : {"loss.kind fused-linear", "sharding fsdp1", "batch.micro halved", "batch.micro 1", "recompute full", "optimizer adamw-8bit"}) agrees(run, change);
  CHECK(io::spelling_of(named("recompute full"), job_of({{"run.sh", run}})) == "--gradient_checkpointing True");
}

TEST_CASE("verl's words, over the Trainer's modules and Megatron's") {
  const std::string run = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 "
                          "algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.enforce_eager=False";
  for (const auto* change : {"loss.kind fused-linear", "batch.micro halved", "batch.micro 1"}) agrees(run, change);
  agrees(run + " actor_rollout_ref.model.enable_gradient_checkpointing=False", "recompute full");
  for (const auto* change : {"loss.kind fused-linear", "parallel.pipeline doubled"}) agrees(run + " --config-name=ppo_megatron_trainer.yaml", change);
}

TEST_CASE("a change for which a framework has no word has none") {
  auto j = job_of({{"run.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --per_device_train_batch_size 4 --block_size 2048"}});
  CHECK(io::spelling_of(named("batch.sequence halved"), j).empty());  // each program over the Trainer has its own
  CHECK(io::spelling_of(named("hardware.nodes doubled"), j).empty());
  j.objective.code = method_code::verl;  // its trainer of supervised fine-tuning
  CHECK(io::spelling_of(named("recompute full"), j).empty());
  CHECK(io::spelling_of(named("environment.allocator"), j) == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
}

}  // namespace test_change_spelling
