// Distributed under the Boost Software License, Version 1.0.
// Launches of ms-swift with a teacher beside GRPO, or one that sees, and rows that several GPUs share: files of its repository, from file to number.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/io/report/rollout_text.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_teachers {

using namespace imported;

namespace {

job said(const std::string& command, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", command}}, set); }
std::string refused(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command}}, set); }
std::int64_t at(const job& j, phase p, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(p)][r].count(); }

}  // namespace

// swift/rlhf_trainers/rollout_mixin.py _setup_teacher, grpo_trainer.py _compute_teacher_logps. Totals of tensors: Hugging Face's pages of the checkpoints.
TEST_CASE("a teacher beside GRPO lies on every GPU, and scores as a reference does") {
  const std::vector<std::string> text{"batch.images.none=true"};
  const auto j = job_of({launch_file("swift-teachers", "opd_rl.sh")}, text);
  CHECK(j.objective.kind == objective_kind::grpo);
  CHECK(j.objective.frozen.model == *models::find("qwen3.5-9b"));
  CHECK(j.objective.reference == reference_way::adapter_off);
  CHECK(j.rollout.generations == 1);
  CHECK(j.batch == batch{.micro = 2, .sequence = 4096, .accumulation = 2, .images = {.none = true}});
  auto alone = j;
  alone.objective.frozen = {};
  alone.rollout.generations = 2;
  // The tower, which text does not need, is loaded with it.
  CHECK(at(j, phase::save, row::other_models) - at(alone, phase::save, row::other_models) == 2 * count(*models::find("qwen3.5-9b")).total.count());
  CHECK(estimate(j).ranks[0].allocated > estimate(alone).ranks[0].allocated);
  CHECK(io::read_job(io::job_to_json(j)) == j);

  // Full training has a copy of the student, whole under ZeRO-2, beside a teacher of 32.8 billion numbers that ZeRO-3 divides among seven GPUs.
  const auto divided = job_of({launch_file("swift-teachers", "on_policy_distillation.sh")});
  CHECK(divided.objective.reference == reference_way::copy);
  CHECK(divided.objective.frozen.stage == 3);
  CHECK(divided.hardware.gpus() == 7);
  const auto others = at(divided, phase::save, row::other_models);
  const auto least = std::int64_t{2} * 8'190'735'360 + std::int64_t{2} * 32'762'123'264 / 7;
  CHECK(others >= least);
  CHECK(others < least + (std::int64_t{1} << 26));
  // While it scores, a layer of it is gathered, and log-probabilities are made of its logits.
  const auto scoring = estimate(divided).ranks[0];
  const auto logits = std::int64_t{2} * 151'936 * 8193;  // of a prompt's last position, and of those that were written
  CHECK(scoring[phase::reward].count() > scoring[phase::save].count() + 2 * logits);
  CHECK(scoring[phase::reward] > scoring[phase::reference]);

  const std::string run = "NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --max_length 1024 --max_completion_length 512 --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 --deepspeed zero2 --num_generations 4 --per_device_train_batch_size 4 ";
  CHECK(said(run + "--teacher_model Qwen/Qwen2.5-14B").objective.frozen.model == *models::find("qwen2.5-14b"));
  CHECK(holds(refused(run + "--teacher_model Qwen/Qwen2.5-7B"), "teacher_model = \"Qwen/Qwen2.5-7B\" is not modelled by this version (the model itself with its adapters switched off, beside GRPO)"));
  CHECK(holds(refused(run + "--teacher_model Qwen/Qwen2.5-14B --offload_teacher_model true"), "offload_teacher_model = true is not modelled"));
  CHECK(holds(refused(run + "--teacher_model Qwen/Qwen2.5-14B --teacher_model_server http://a"), "are both given"));
  CHECK(holds(objection_to(said(run + "--teacher_model Qwen/Qwen2.5-0.5B")).in_words().what(), "a teacher beside GRPO is modelled with the trained model's vocabulary"));
  // What is moved while an engine generates is the student, and a copy of it, but no teacher (offload_context).
  CHECK(holds(objection_to(said(run + "--tuner_type full --sleep_level 1 --offload_model true --teacher_model Qwen/Qwen2.5-14B")).in_words().what(), "without rollout.trainer_moves of a reference that is a copy"));
  const auto moves = said(run + "--sleep_level 1 --offload_model true --teacher_model Qwen/Qwen2.5-14B");
  const auto without = said(run + "--sleep_level 1 --offload_model true");
  CHECK((estimate(moves).ranks[0][phase::generate] - estimate(without).ranks[0][phase::generate]).count() == std::int64_t{2} * 14'770'033'664);
}

TEST_CASE("a teacher that sees has a tower of its own, which runs where the student's does") {
  const std::vector<std::string> tiles{"batch.images.count=4"};
  const auto j = job_of({launch_file("swift-teachers", "fast.sh")}, tiles);
  CHECK(j.objective.frozen.model == *models::find("internvl3-8b"));
  CHECK(at(j, phase::save, row::other_models) == 2 * count(*models::find("internvl3-8b")).total.count());
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  // Its generation by the trained module, which the same launch without --lmbda 0 has, is not modelled beside a tower.
  const auto turns = job_of({launch_file("swift-teachers", "multi_turn.sh")}, {"batch.images.none=true", "rollout.completion=2048"});
  CHECK(turns.objective.frozen.stage == 3);
  CHECK(turns.objective.frozen.parameters_at == place::on_cpu);
  CHECK(estimate(turns).ranks[0].allocated > bytes{0});
  auto others = j;
  others.objective.frozen.model = *models::find("qwen2.5-vl-7b");
  CHECK(holds(objection_to(others).in_words().what(), "but for a teacher that sees as the trained model does"));
  // A reward model that sees is not read.
  auto scores = said("NPROC_PER_NODE=4 swift rlhf --rlhf_type gkd --lmbda 0 --deepspeed zero2 --model Qwen/Qwen2.5-7B --max_length 512 --teacher_model Qwen/Qwen2.5-VL-7B-Instruct");
  CHECK(holds(objection_to(scores).in_words().what(), "but for a teacher that sees as the trained model does"));
}

// swift/trainers/mixin.py _patch_tasks, swift/model/patcher.py gather_sequence_parallel_outputs.
TEST_CASE("rows that several GPUs share, before a head that reads hidden states") {
  const auto classes = job_of({launch_file("swift-shared-rows", "sequence_parallel_seq_cls.sh")});
  CHECK(classes.parallel.context == 2);
  CHECK(classes.parallel.context_kind == context_kind::ulysses);
  CHECK(classes.batch.accumulation == 16);
  CHECK(classes.batch.packed);
  const auto vectors = job_of({launch_file("swift-shared-rows", "sequence_parallel_emb.sh")}, {"batch.sequence=512", "objective.texts=2"});
  const auto words = job_of({launch_file("swift-shared-rows", "sequence_parallel_reranker.sh")}, {"batch.sequence=2048"});
  CHECK(words.objective.generative);
  for (const auto* j : {&classes, &vectors, &words}) {
    CHECK(j->hardware.gpus() % j->parallel.context == 0);
    CHECK(j->evaluation.batch == j->batch.micro);
    CHECK(j->evaluation.loss_only);
    CHECK(estimate(*j).ranks[0].allocated > bytes{0});
  }
  const std::string run = "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-0.5B --max_length 1024 --task_type seq_cls --num_labels 2 --attn_impl flash_attn --sequence_parallel_size 2 ";
  CHECK(holds(refused(run + "--padding_free true"), "sequence_parallel_size = 2 is not modelled by this version (read of rows without padding (padding_free, of fine-tuning also packing), beside gradient_accumulation_steps)"));
  CHECK(holds(refused(run + "--gradient_accumulation_steps 2"), "sequence_parallel_size = 2 is not modelled"));
  // Two heads of keys among four GPUs go round in a ring.
  CHECK(holds(objection_to(said("NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-0.5B --max_length 1024 --task_type seq_cls --num_labels 2 --attn_impl flash_attn --sequence_parallel_size 4 --padding_free true --gradient_accumulation_steps 2")).in_words().what(),
              "parallel.context must divide model.heads"));
}

// swift/trainers/utils.py per_token_loss_func_sp, swift/sequence_parallel/utils.py ChunkedCrossEntropyLoss.
TEST_CASE("rows of half a million tokens that eight GPUs share, and their loss of 2,048 tokens at a time") {
  const auto j = job_of({launch_file("swift-shared-rows", "sequence_parallel_512k.sh")});
  CHECK(j.objective == objective{.kind = objective_kind::sft, .code = method_code::ms_swift});
  CHECK(j.parallel.context == 8);
  CHECK(j.batch == batch{.micro = 1, .sequence = 512'000, .accumulation = 2, .packed = true});
  CHECK(j.loss.kind == loss_kind::chunked);
  CHECK(j.loss.chunk_tokens == 2048);
  CHECK_FALSE(j.kernels.empty());
  // Logits of 64,000 positions in bf16, while the head's weights are gathered, which are more than log-probabilities of one piece; backward has both gradients of a piece, too,
  // and the one before.
  const auto logits = std::int64_t{2} * 152'064 * 64'000, piece = std::int64_t{2} * 152'064 * 2048;
  CHECK(at(j, phase::loss_forward, row::logits) == logits);
  const auto settled = settle(j);
  auto sc = settled.layer;
  sc.model = &settled.model;
  const auto tail = head_and_loss(sc, trained_modules(j, -1), true);
  const auto back = walk_backward(tail).peak;
  CHECK(back.rows[row::logits].count() == logits + 4 * piece);
  auto whole = j;
  whole.loss = {.kind = loss_kind::full};
  CHECK(at(whole, phase::loss_forward, row::logits) == 2 * logits);
  CHECK(io::read_job(io::job_to_json(j)) == j);

  const std::string run = "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-7B --max_length 4096 --attn_impl flash_attn --gradient_accumulation_steps 2 --sequence_parallel_size 4 --deepspeed zero2 ";
  CHECK(said(run + "--padding_free true").loss == loss{.kind = loss_kind::full});
  CHECK(said("CELOSS_PARALLEL_SIZE=0 " + run + "--padding_free true").loss == loss{.kind = loss_kind::full});
  CHECK(holds(refused(run), "sequence_parallel_size = 4 is not modelled by this version (read of rows without padding"));
  CHECK(holds(refused("NPROC_PER_NODE=4 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B --max_length 4096 --attn_impl flash_attn --sequence_parallel_size 4 --padding_free true"), "sequence_parallel_size = 4 is not modelled"));
  auto spread = said(run + "--padding_free true");
  spread.sharding = {};
  CHECK(holds(objection_to(spread).in_words().what(), "ms-swift's fine-tuning with parallel.context_kind"));
}

// examples/train/rlhf/gkd.sh at 85c16d44e of 2025-06-17, whose first line says 4 * 65GiB. Both write: the teacher for the batches that the student leaves.
TEST_CASE("a teacher that writes what the student learns from") {
  const std::string run = "NPROC_PER_NODE=4 PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' swift rlhf --rlhf_type gkd --model Qwen/Qwen2.5-7B --teacher_model Qwen/Qwen2.5-14B-Instruct --train_type full --torch_dtype bfloat16 "
                          "--per_device_train_batch_size 4 --per_device_eval_batch_size 4 --gradient_accumulation_steps 1 --max_length 2048 --max_completion_length 512 --eval_strategy no --deepspeed zero3 --attn_impl flash_attn ";
  const auto j = said(run + "--seq_kd true"), student = said(run), teacher = said(run + "--seq_kd true --lmbda 0");
  CHECK(j.rollout.by == completion_writer::both);
  CHECK(teacher.rollout.by == completion_writer::teacher);
  CHECK(student.rollout.by == completion_writer::unset);
  CHECK(j.batch.sequence == 2560);
  CHECK(io::read_job(io::job_to_json(j)) == j);
  CHECK(holds(io::detail::rollout_text(j), "generated by the trained module and the teacher by turns"));
  CHECK(holds(io::detail::rollout_text(teacher), "generated by the teacher"));
  // 14,770,033,664 numbers of the teacher where 7,615,616,512 of the student are gathered, and, of 4 × 2,560 tokens at most, keys of 48 layers of eight heads where
  // there are 28 of four. While prompts are read the student's MLP is the wider one.
  const auto writes = [](const job& of) { return estimate(of).ranks[0][phase::generate].count(); };
  const std::int64_t weights = 2 * (14'770'033'664 - 7'615'616'512), keys = (48LL * 1024 - 28LL * 512) * 2 * 2 * 4 * 2560;
  CHECK(writes(j) == writes(teacher));
  CHECK(writes(j) - writes(student) > weights + keys / 2);
  CHECK(writes(j) - writes(student) < weights + keys);
  CHECK(holds(refused(run + "--seq_kd true --use_vllm true --vllm_mode server"), "beside an engine, which writes for the student alone"));
}

}  // namespace test_swift_teachers

#endif
