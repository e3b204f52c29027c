// Distributed under the Boost Software License, Version 1.0.
// Towers and experts of ms-swift's launches: what is asked for gradients, which of Liger's kernels there are, and routers.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/objection.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_towers {

using namespace imported;

namespace {

const std::string sees = "CUDA_VISIBLE_DEVICES=0 MAX_PIXELS=602112 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 2048 ";
job said(const std::string& command, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", command}}, set); }
std::string refused(const std::string& command) { return refusal_of({{"run.sh", command}}); }

}  // namespace

// swift/trainers/mixin.py _prepare_gradient_checkpointing of 3602360a; modelscope/ms-swift 10214 of 2026-09-21.
TEST_CASE("a frozen tower that is checkpointed is asked for a gradient before 4.7") {
  const auto usual = said(sees + "--tuner_type lora").recompute;
  CHECK(usual.mode == recompute_mode::full);
  CHECK(usual.reentrant == choice::yes);
  CHECK(usual.frozen_towers == choice::yes);
  CHECK(usual.towers == choice::unset);
  CHECK(said(sees + "--tuner_type full").recompute.frozen_towers == choice::yes);
  CHECK(said(sees, {"environment.ms-swift=4.7"}).recompute.frozen_towers == choice::no);
  CHECK(said(sees, {"environment.ms-swift=4.5"}).recompute.frozen_towers == choice::yes);
  // Whose matrices have adapters, or train, is gone back through anyway; what joins a tower to its text is a part of it.
  CHECK_FALSE(said(sees + "--freeze_vit false").recompute.frozen_towers == choice::yes);
  CHECK(said(sees + "--freeze_aligner false", {"environment.ms-swift=4.7"}).recompute.frozen_towers == choice::yes);
  CHECK_FALSE(said("CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048").recompute.frozen_towers == choice::yes);
  // Megatron's towers are asked where vit_gradient_checkpointing is true, which it is where the tower trains.
  CHECK_FALSE(job_of({{"run.sh", "NPROC_PER_NODE=1 MAX_PIXELS=602112 megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 2048 --tuner_type lora"}}).recompute.frozen_towers == choice::yes);
}

TEST_CASE("over Megatron-Core a frozen tower that is checkpointed is said to keep more") {
  const std::string run = "NPROC_PER_NODE=1 MAX_PIXELS=602112 megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 2048 --tuner_type lora ";
  const auto says = [](const io::draft& d) { return std::any_of(d.assumed.begin(), d.assumed.end(), [](const std::string& a) { return holds(a, "what it keeps for it is not counted"); }); };
  CHECK(says(draft_of({{"run.sh", run + "--vit_gradient_checkpointing true"}})));
  CHECK_FALSE(says(draft_of({{"run.sh", run}})));
  CHECK_FALSE(says(draft_of({{"run.sh", run + "--vit_gradient_checkpointing false"}})));
}

TEST_CASE("a tower is checkpointed or not, whatever the language model is") {
  const auto apart = said(sees + "--gradient_checkpointing false --vit_gradient_checkpointing true").recompute;
  CHECK(apart.mode == recompute_mode::none);
  CHECK(apart.towers == choice::yes);
  CHECK(apart.frozen_towers == choice::yes);
  const auto trains = said(sees + "--tuner_type full --freeze_vit false --vit_gradient_checkpointing false").recompute;
  CHECK(trains.mode == recompute_mode::full);
  CHECK(trains.towers == choice::no);
  CHECK_FALSE(trains.frozen_towers == choice::yes);
  // Not checkpointed and frozen: transformers 5 asks it for a gradient, releases before it do not (huggingface/transformers 41993).
  const auto off = sees + "--vit_gradient_checkpointing false";
  CHECK(said(off).recompute.frozen_towers == choice::yes);
  CHECK(said(off).recompute.towers == choice::no);
  CHECK_FALSE(said(off, {"environment.transformers=4.57"}).recompute.frozen_towers == choice::yes);
  CHECK(said(off, {"environment.ms-swift=4.7"}).recompute.frozen_towers == choice::no);
  CHECK_FALSE(said(sees + "--gradient_checkpointing false").recompute.frozen_towers == choice::yes);
}

// linkedin/Liger-Kernel ead96b61 src/liger_kernel/transformers/monkey_patch.py apply_liger_kernel_to_qwen2_5_vl, _qwen3_vl (whose swiglu is false), _qwen3_vl_moe (whose
// experts are one kernel).
TEST_CASE("Liger's kernels of models that see") {
  const auto of = [](const std::string& model) { return said("NPROC_PER_NODE=1 MAX_PIXELS=602112 swift sft --model " + model + " --max_length 2048 --use_liger_kernel true"); };
  CHECK(of("Qwen/Qwen2.5-VL-7B-Instruct").kernels == fused_kernels{fused_kernel::norm, fused_kernel::gated, fused_kernel::rotary});
  CHECK(of("Qwen/Qwen2.5-VL-7B-Instruct").loss.kind == loss_kind::fused_linear);
  CHECK(of("Qwen/Qwen3-VL-4B-Instruct").kernels == fused_kernels{fused_kernel::norm, fused_kernel::rotary});
  CHECK(holds(refused("NPROC_PER_NODE=1 swift sft --model Qwen/Qwen2-VL-7B-Instruct --max_length 2048 --use_liger_kernel true"), "use_liger_kernel = true is not modelled"));
  CHECK(holds(refused("NPROC_PER_NODE=1 swift sft --model Qwen/Qwen3-VL-30B-A3B-Instruct --max_length 2048 --experts_impl grouped_mm --use_liger_kernel true"), "use_liger_kernel = true is not modelled"));
}

// Of a trained tower of 32 blocks of 1,280 and 3,420 numbers its two norms are Liger's, which keep their input alone, and no gated activation is: in the layers of a
// language model that is left as it is nothing else changes.
TEST_CASE("of Liger's kernels Qwen2.5-VL's tower has the norms") {
  auto j = said("NPROC_PER_NODE=1 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --tuner_type full --freeze_vit false --freeze_aligner false --gradient_checkpointing false --max_length 2048 --attn_impl flash_attn", {"batch.images.width=448", "batch.images.height=448"});
  const auto kept = [&](const fused_kernels& k) {
    j.kernels = k;
    return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  const auto none = kept({}), gated = kept({fused_kernel::gated}), norm = kept({fused_kernel::norm});
  CHECK(none - gated == 28LL * 2048 * 18944 * 2);  // the activation of gate, in layers of text alone
  const std::int64_t text = 57LL * 2048 * 3584, tower = (2 * 32 + 1) * 1024LL * 1280;
  CHECK(none - norm > (text + tower) * 4 - 4'000'000);  // the fp32 copy of a norm's input
  CHECK(none - norm < (text + tower) * 6 + 4'000'000);
}

// mcore-bridge tuners/lora.py update_layer: rank × (2,048 + 128) numbers beside each of 48 routers.
TEST_CASE("adapters of routers over Megatron-Core") {
  const std::string run = "NPROC_PER_NODE=2 megatron sft --model Qwen/Qwen3-30B-A3B-Instruct-2507 --tuner_type lora --lora_rank 8 --expert_model_parallel_size 2 --max_length 2048 --target_modules all-linear";
  const auto with = job_of({{"run.sh", run + " all-router"}}), without = job_of({{"run.sh", run}});
  CHECK(with.adapter.targets.has(module::router));
  CHECK_FALSE(without.adapter.targets.has(module::router));
  CHECK(states(with).trained.count() - states(without).trained.count() == 48 * 8 * (2048 + 128));
}

// transformers modeling_llama4.py keeps routers' logits that are asked for, and has no loss of them.
TEST_CASE("Llama 4 has no loss of its routers") {
  const auto d = draft_of({{"run.sh", "NPROC_PER_NODE=4 swift sft --model meta-llama/Llama-4-Scout-17B-16E-Instruct --max_length 2048 --experts_impl grouped_mm --router_aux_loss_coef 1e-3 --deepspeed zero3"}});
  CHECK(std::any_of(d.assumed.begin(), d.assumed.end(), [](const std::string& a) { return holds(a, "routers' logits, which Llama 4 keeps until the loss"); }));
  auto copy = d;
  CHECK_FALSE(copy.settled().loss.balances_experts);
}

// swift/trainers/utils.py per_token_loss_func_sp does not ask how gradients are averaged.
TEST_CASE("rows that GPUs share, over DDP") {
  const auto j = said("NPROC_PER_NODE=8 CELOSS_PARALLEL_SIZE=2048 swift sft --model Qwen/Qwen2.5-3B-Instruct --tuner_type lora --max_length 65536 --gradient_accumulation_steps 8 --attn_impl flash_attn --sequence_parallel_size 2 --padding_free true");
  CHECK(j.sharding.kind == sharding_kind::ddp);
  CHECK(j.parallel.context == 2);
  CHECK(j.loss.kind == loss_kind::chunked);
  CHECK(objection_to(j).sentence == nullptr);
}

}  // namespace test_swift_towers

#endif
