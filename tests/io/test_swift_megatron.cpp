// Distributed under the Boost Software License, Version 1.0.
// ms-swift over Megatron-Core, as examples/megatron/sft.sh of modelscope/ms-swift 36023605 has it.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_megatron {

using namespace imported;

namespace {

imported::text launch(const std::string& more = {}, const std::string& command = "megatron sft") {
  return {"sft.sh", "PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 " + command +
                        " --model Qwen/Qwen2.5-7B-Instruct --save_safetensors true --dataset 'a#500' 'b#500' --tensor_model_parallel_size 2 --sequence_parallel true --micro_batch_size 16 --global_batch_size 16 "
                        "--recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --finetune true --cross_entropy_loss_fusion true --lr 1e-5 --lr_warmup_fraction 0.05 --min_lr 1e-6 "
                        "--num_train_epochs 1 --output_dir o --save_steps 100 --max_length 2048 --dataloader_num_workers 4 --no_save_optim true --no_save_rng true --dataset_num_proc 4 " + more + "\n"};
}

}  // namespace

TEST_CASE("ms-swift's training over Megatron-Core is Megatron's") {
  const auto j = job_of({launch()});
  CHECK(j.framework.label.view() == "megatron");
  CHECK(j.model.label.view() == "qwen2.5-7b");
  CHECK(j.hardware.gpus() == 2);
  CHECK(j.parallel.tensor == 2);
  CHECK(j.parallel.sequence);
  // padding_free is true where nothing is said: 16 samples of at most 2048 tokens lie one behind the other.
  CHECK(j.batch == batch{.micro = 1, .sequence = 32768, .accumulation = 1});
  CHECK(j.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  CHECK(j.attention == attention::flash);
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.framework.rotary.writes_out);  // apply_rope_fusion is false where nothing is said
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  CHECK(job_of({launch("--split_dataset_ratio 0.01 --eval_steps 100 --eval_iters 50")}) == j);  // evaluation is a forward of the same micro-batches
  const auto padded = job_of({launch("--padding_free false")});
  CHECK(padded.batch == batch{.micro = 16, .sequence = 2048, .accumulation = 1});
  CHECK(job_of({launch("--apply_rope_fusion true")}).framework.rotary.writes_out == false);
  // Selective recompute where nothing is said of it, and none where that is said.
  auto words = launch();
  words.said.replace(words.said.find("--recompute_granularity full --recompute_method uniform --recompute_num_layers 1"), 80, "");
  CHECK(job_of({words}).recompute.mode == recompute_mode::selective);
  words.said.replace(words.said.find("--finetune"), 0, "--recompute_granularity none ");
  CHECK(job_of({words}).recompute.mode == recompute_mode::none);
}

// swift/megatron/arguments/megatron_args.py MegatronTunerMixin: rank 8 and a dropout of 0.05 where they are not said.
TEST_CASE("ms-swift's adapters over Megatron-Core") {
  const auto j = job_of({launch("--tuner_type lora")});
  CHECK(j.framework.adapters.parallel);
  CHECK(j.adapter.kind == adapter_kind::lora);
  CHECK(j.adapter.rank == 8);
  CHECK(j.adapter.targets == all_linear);
  CHECK(j.adapter.dropout == probability::of(0.05));
  const auto some = job_of({launch("--train_type lora --lora_rank 32 --lora_alpha 64 --lora_dropout 0 --target_modules linear_qkv linear_proj")});
  CHECK(some.adapter.rank == 32);
  CHECK(some.adapter.targets == module_set{module::q_proj, module::k_proj, module::v_proj, module::o_proj});
  CHECK(!some.adapter.dropout.positive());
  // Weights of 7.6e9 numbers on two ranks, whole; beside them what trains is small.
  const auto with = estimate(some).ranks[0], without = estimate(job_of({launch()})).ranks[0];
  CHECK(with.at_peak[row::model_parameters] == without.at_peak[row::model_parameters]);
  CHECK(with.allocated < without.allocated);
  CHECK(without.at_peak[row::adapters] == bytes{0});
  // Figures of its own lie further above for mixtures of experts: another range.
  const auto dense = estimate(some).assumptions;
  CHECK(dense.has(assumption::swift_over_megatron));
  CHECK_FALSE(dense.has(assumption::swift_experts_over_megatron));
  const auto sparse = estimate(job_of({{"sft.sh", "NPROC_PER_NODE=2 megatron sft --max_length 512 --expert_model_parallel_size 2 --tuner_type lora --model Qwen/Qwen3-30B-A3B\n"}})).assumptions;
  CHECK(sparse.has(assumption::swift_experts_over_megatron));
  CHECK_FALSE(sparse.has(assumption::swift_over_megatron));
}

TEST_CASE("what of ms-swift over Megatron-Core is refused, by name") {
  const auto why = [](const std::string& more) { return refusal_of({launch(more)}); };
  CHECK(holds(why("--tuner_type longlora"), "tuner_type"));
  CHECK(holds(why("--tuner_type lora --target_modules all-router"), "target_modules = \"all-router\" is not modelled by this version (read are all-linear, linear_qkv"));
  CHECK(holds(why("--tuner_type lora --modules_to_save word_embeddings"), "modules_to_save"));
  CHECK(holds(why("--attention_backend unfused"), "padding_free = true is not modelled by this version (beside attention_backend unfused)"));
  CHECK(holds(why("--task_type seq_cls"), "task_type = \"seq_cls\" is not modelled"));
  CHECK(holds(why("--freeze_parameters_ratio 0.5"), "freeze_parameters_ratio"));
  CHECK(holds(why("--twinkle 3"), "twinkle is not known here"));
  const auto on_host = job_of({launch("--optimizer_cpu_offload true --use_precision_aware_optimizer true --optimizer_offload_fraction 0.75")});
  CHECK(on_host.offload.optimizer == place::on_cpu);
  CHECK(on_host.offload.optimizer_fraction == 750'000);
  CHECK(holds(why("--global_batch_size 24"), "must be a multiple of micro_batch_size, 16, found 24"));
  CHECK(holds(refusal_of({launch("", "megatron rlhf")}), "with a second model or with generation"));
  const imported::text open{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --micro_batch_size 2 --global_batch_size 32\n"};
  CHECK(holds(refusal_of({open}), "no file says how long a sequence is: add --set batch.sequence=TOKENS"));
  CHECK(job_of({open}, {"batch.sequence=8192"}).batch == batch{.micro = 1, .sequence = 8192, .accumulation = 2});
  // It overlaps the shared experts, where there are any.
  const auto overlaps = [](const std::string& model) { return imported::text{"sft.sh", "NPROC_PER_NODE=8 megatron sft --max_length 512 --expert_model_parallel_size 4 --moe_shared_expert_overlap true --model " + model + "\n"}; };
  CHECK(job_of({overlaps("Qwen/Qwen3-30B-A3B")}).parallel.expert == 4);
  CHECK(holds(refusal_of({overlaps("Qwen/Qwen1.5-MoE-A2.7B")}), "moe-shared-expert-overlap = true is not modelled"));
  CHECK(holds(refusal_of({{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 2048\n"}}), "models that see"));
  CHECK(holds(refusal_of({{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model openai/gpt-oss-20b --max_length 2048 --padding_free false --attention_backend unfused\n"}}), "attention with sinks (gpt-oss) is not modelled over Megatron-Core"));
}

}  // namespace test_swift_megatron

#endif
