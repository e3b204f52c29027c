// Distributed under the Boost Software License, Version 1.0.
// What ms-swift trains for beside the next token: launches in, jobs out, as its source reads them (modelscope/ms-swift 3602360a of 2026-08-22), and
// the bytes that follow, by hand.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_methods {

using namespace imported;

namespace {

const std::string qwen = " --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 ";
job said(const std::string& command, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", command}}, set); }
std::string refused(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command}}, set); }
bytes at(const job& j, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)][r]; }

}  // namespace

// swift/template/base.py _embedding_data_collator, _reranker_data_collator; swift/pipelines/train/tuner.py prepare_adapter.
TEST_CASE("embeddings and rerankers") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft" + qwen;
  CHECK(holds(refused(run + "--task_type embedding --loss_type infonce"), "no file says how many texts an example has, its anchor, positive and negatives together: add --set objective.texts=N"));
  const auto pairs = said(run + "--task_type embedding --loss_type infonce --per_device_train_batch_size 4", {"objective.texts=2"});
  CHECK(pairs.objective == objective{.kind = objective_kind::embedding, .code = method_code::ms_swift, .texts = 2});
  CHECK(pairs.adapter.modules_to_save.empty());
  const auto triples = said(run + "--task_type embedding --per_device_train_batch_size 4", {"objective.texts=3"});
  // Checkpoints keep the input of each of 28 layers: 4 texts more of 1024 positions, 3584 numbers in bf16 each.
  const auto forward = [](const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][row::activations].count(); };
  CHECK(forward(triples) - forward(pairs) >= std::int64_t{27} * 4 * 1024 * 3584 * 2);
  CHECK(holds(refused(run + "--task_type embedding --loss_type mine", {"objective.texts=2"}), "loss_type = \"mine\" is not modelled by this version (beside task_type embedding)"));

  const auto scores = said(run + "--task_type reranker --loss_type pointwise_reranker");
  CHECK(scores.objective == objective{.kind = objective_kind::rerank, .code = method_code::ms_swift, .texts = 8});  // a positive and 7 negatives
  CHECK(scores.adapter.modules_to_save == module_set{module::head});
  CHECK(scores.assumed_defaults == said(run).assumed_defaults + 1);
  CHECK(said("MAX_NEGATIVE_SAMPLES=1 " + run + "--task_type reranker").objective.texts == 2);
  CHECK(said("MAX_NEGATIVE_SAMPLES=1 " + run + "--task_type reranker", {"objective.texts=5"}).objective.texts == 5);
  CHECK(holds(refused("MAX_POSITIVE_SAMPLES=2 " + run + "--task_type reranker"), "MAX_POSITIVE_SAMPLES"));
  CHECK(said(run + "--task_type reranker --packing true --attn_impl flash_attn").objective.texts == 1);

  const std::string preference = "NPROC_PER_NODE=1 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --torch_dtype bfloat16 --max_length 1024 --attn_impl flash_attn ";
  CHECK(said(preference + "--packing true").assumed_defaults == said(preference).assumed_defaults + 1);  // a row of one pair, or of several
  CHECK(said(preference + "--packing true --packing_length 2048").assumed_defaults == said(preference).assumed_defaults);
  CHECK(said(preference + "--packing true").batch.sequence == 1024);

  // Two words of the language head, which stays: of a tied one its gradient is there, as large as the table.
  const std::string tied = "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen3-4B --max_length 64 --tuner_type full ";
  const auto speaks = said(tied + "--task_type generative_reranker"), scored = said(tied + "--task_type reranker");
  CHECK(speaks.objective.generative);
  CHECK(at(scored, row::model_parameters) - at(speaks, row::model_parameters) == bytes{2 * 2560});  // the matrix of one score
  CHECK(said(run + "--task_type generative_reranker").adapter.modules_to_save.empty());
  const auto own = said(run + "--task_type generative_reranker --tuner_type full"), without = said(run + "--task_type reranker --tuner_type full");
  CHECK(at(own, row::model_parameters) - at(without, row::model_parameters) == bytes{std::int64_t{2} * (152064 - 1) * 3584});
}

// swift/arguments/rlhf_args.py _check_teacher, swift/rlhf_trainers/gkd_trainer.py.
TEST_CASE("distillation") {
  const std::string run = "NPROC_PER_NODE=4 swift rlhf --rlhf_type gkd --tuner_type full --deepspeed zero3 --attn_impl flash_attn --per_device_train_batch_size 2" + qwen, teacher = "--teacher_model Qwen/Qwen2.5-14B-Instruct ";
  const auto offline = said(run + teacher + "--lmbda 0");
  CHECK(offline.objective.kind == objective_kind::distill);
  CHECK(offline.objective.code == method_code::ms_swift);
  CHECK(offline.objective.frozen.model == *models::find("qwen2.5-14b"));
  CHECK(offline.objective.frozen.stage == -1);
  CHECK(offline.objective.divergence == divergence_kind::jensen_shannon);
  CHECK_FALSE(offline.rollout.given());
  CHECK(said(run + teacher + "--lmbda 0 --beta 0").objective.divergence == divergence_kind::forward);
  CHECK(said(run + teacher + "--lmbda 0 --beta 1").objective.divergence == divergence_kind::reverse);
  CHECK(said(run + teacher + "--lmbda 0 --padding_free true").batch.packed);
  const auto placed = said(run + teacher + "--lmbda 0 --teacher_deepspeed zero3_offload").objective.frozen;
  CHECK(placed.stage == 3);
  CHECK(placed.parameters_at == place::on_cpu);
  // The student answers where nothing is said of lmbda: max_length is of prompts.
  const auto online = said(run + teacher + "--max_completion_length 256");
  CHECK(online.rollout.engine == engine_kind::trainer);
  CHECK(online.rollout.prompt == 1024);
  CHECK(online.rollout.completion == 256);
  CHECK(online.batch.sequence == 1280);
  CHECK(online.rollout.generations == 0);
  CHECK(online.rollout.data_answers == 1024);  // half of the batches are the data's own, which max_length cuts
  const auto alone = said(run + teacher + "--max_completion_length 256 --lmbda 1");
  CHECK(alone.rollout.data_answers == 0);
  // Logits of 1025 positions instead of 257, of two samples: of both models' logits themselves, a copy and a quotient, and 7 tensors that are saved. What
  // 512 tokens make on the way is there in both.
  const auto loss = [](const job& of) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count(); };
  CHECK(loss(online) - loss(alone) == std::int64_t{2} * 768 * 152064 * 2 * 13);
  CHECK(said(run + teacher + "--use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --sleep_level 1").rollout.placement == rollout_place::colocated);
  // LoRA and the student's own name: the student with its adapters switched off. A server names so many logits of a token.
  const std::string lora = "NPROC_PER_NODE=4 swift rlhf --rlhf_type gkd --lmbda 0 --deepspeed zero2" + qwen;
  const auto self = said(lora + "--teacher_model Qwen/Qwen2.5-7B-Instruct");
  CHECK(self.objective.reference == reference_way::adapter_off);
  CHECK_FALSE(self.objective.frozen.given());
  const auto served = said(lora + "--teacher_model_server http://localhost:8000 --gkd_logits_topk 64");
  CHECK(served.objective.top_logits == 64);
  CHECK_FALSE(served.objective.frozen.given());
  for (const auto& j : {offline, online, self, served}) CHECK(estimate(j).ranks[0].allocated > bytes{0});
  CHECK(estimate(served).ranks[0].allocated < estimate(self).ranks[0].allocated);
  // The teacher lies there in bf16, a fourth on each GPU: 14,770,033,664 numbers (its table of tensors on Hugging Face), beside what ZeRO-3 keeps whole.
  const auto others = at(offline, row::other_models);
  CHECK(others >= bytes{std::int64_t{2} * 14'770'033'664 / 4});
  CHECK(others < bytes{std::int64_t{2} * 14'770'033'664 / 4 + (std::int64_t{1} << 26)});

  CHECK(holds(refused(run + "--lmbda 0"), "teacher_model is required"));
  // sft_alpha: the student computes its own cross entropy, whose log-probabilities stay, in fp32; of batches that it answers itself it computes none.
  const auto beside = said(run + teacher + "--lmbda 0 --sft_alpha 0.1");
  CHECK(beside.objective.sft_weight == 100'000);
  CHECK(said(run + teacher + "--lmbda 0 --sft_alpha 1").objective.sft_weight == 1'000'000);
  CHECK(said(run + teacher + "--lmbda 0 --sft_alpha 0") == offline);
  CHECK(loss(beside) - loss(offline) == std::int64_t{4} * 2 * 1024 * 152064);
  CHECK(said(run + teacher + "--max_completion_length 256 --lmbda 1 --sft_alpha 0.1") == alone);
  CHECK(holds(objection_to([&] { auto j = beside; j.objective.code = method_code::trl; return j; }()).in_words().what(), "objective.sft_weight is modelled of DPO as ms-swift"));
  CHECK(holds(refused(run + teacher + "--offload_teacher_model true"), "offload_teacher_model = true is not modelled"));
  CHECK(holds(refused(run + teacher + "--teacher_adapters some"), "teacher_adapters"));
  CHECK(holds(refused(lora + "--teacher_model_server http://localhost:8000"), "gkd_logits_topk is required"));
}

// examples/train/reranker/train_reranker.sh: ModernBERT with a class, 8 documents of each query (swift/template/base.py _reranker_data_collator).
TEST_CASE("a reranker that is an encoder scores each document of a query") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft --model iic/gte-reranker-modernbert-base --task_type reranker --tuner_type full --torch_dtype bfloat16 --max_length 512 --split_dataset_ratio 0.05 --eval_strategy steps "
                          "--per_device_train_batch_size 64 --per_device_eval_batch_size 16 --gradient_accumulation_steps 1 ";
  const auto j = said(run + "--loss_type pointwise_reranker");
  CHECK(j.batch.micro == 512);
  CHECK(j.evaluation.batch == 128);
  CHECK(j.objective == objective{});
  CHECK(j.model.classes == 1);
  CHECK(j.assumed_defaults > 0);
  CHECK(said(run + "--loss_type listwise_reranker") == j);
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  CHECK(holds(refused(run + "--padding_free true --attn_impl flash_attn"), "padding_free = true is not modelled by this version (beside an encoder)"));
  CHECK(holds(refused("swift sft --model iic/gte-modernbert-base --task_type embedding --tuner_type full --max_length 512"), "embeddings and rerankers over encoders are not modelled"));
}

// swift/rlhf_trainers/kto_trainer.py forward.
TEST_CASE("KTO, and one row of samples") {
  const std::string run = "NPROC_PER_NODE=2 swift rlhf --rlhf_type kto --deepspeed zero2 --attn_impl flash_attn" + qwen;
  const auto j = said(run + "--tuner_type full");
  CHECK(j.objective == objective{.kind = objective_kind::kto, .code = method_code::ms_swift, .reference = reference_way::unset});
  CHECK(at(j, row::other_models) == bytes{std::int64_t{2} * 7'615'616'512});  // whole on each GPU, as no stage but the third divides it
  CHECK(said(run + "--padding_free true").batch.packed);
  const std::string grpo = "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --attn_impl flash_attn --num_generations 2 --max_completion_length 512 --beta 0 --per_device_train_batch_size 2" + qwen;
  const auto joined = said(grpo + "--padding_free true"), apart = said(grpo);
  CHECK(joined.batch.packed);
  // Of two samples in one row logits are made from behind the first prompt: a prompt of 1024 more than of two rows.
  const auto loss = [](const job& of) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits].count(); };
  const std::int64_t one = std::int64_t{1024} * 152064;
  CHECK(loss(joined) - loss(apart) > one);  // at least a byte of each of their numbers
}

TEST_CASE("several turns: how long they are together is asked for") {
  const std::string run = "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --num_generations 2 --max_completion_length 512 --use_vllm true --vllm_mode server --multi_turn_scheduler math_tip_trick --max_turns ";
  CHECK(holds(refused(run + "3" + qwen), "no file says how long a completion is: add --set rollout.completion=TOKENS"));
  CHECK(said(run + "3" + qwen, {"rollout.completion=3000"}).rollout.completion == 3000);
  CHECK(said(run + "1" + qwen).rollout.completion == 512);
}

// swift/tuner_plugin/lora_llm.py.
TEST_CASE("adapters of the language model beside a tower that trains") {
  const std::string sees = "NPROC_PER_NODE=4 MAX_PIXELS=1003520 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 8192 --tuner_type lora_llm --lora_rank 16 ";
  const auto j = said(sees + "--deepspeed zero2 --vit_lr 1e-5 --aligner_lr 1e-5");
  CHECK(j.adapter.targets == all_linear);
  CHECK_FALSE(j.adapter.dropout.positive());
  REQUIRE(j.trainable.size == 1);
  CHECK(j.trainable.list[0].modules == module_set{module::vision, module::projector});
  // 676,550,144 numbers of tower and merger (the checkpoint's visual.* tensors), and LoRA's on 28 layers.
  const auto lora = std::int64_t{28} * 16 * ((3584 + 3584) * 2 + (3584 + 512) * 2 + (3584 + 18944) * 2 + (18944 + 3584));
  CHECK(estimate(j).parameter_count.trainable == parameters{676'550'144 + lora});
  CHECK(holds(refused(sees), "tuner_type = \"lora_llm\" is not modelled by this version (read are launches with --deepspeed"));
  CHECK(holds(refused("NPROC_PER_NODE=4 swift sft --deepspeed zero2 --tuner_type lora_llm" + qwen), "lora_llm needs a model that sees"));
}

// Counted: transformers' load_balancing_loss_func on torch 1.13, without a mask 12 bytes a row, choice and expert beside what the logits and their
// softmax take; with one, on a GPU, 24, of which nobody counts the cast that a CPU makes.
TEST_CASE("the loss that balances experts") {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen3-30B-A3B --max_length 2048 --experts_impl grouped_mm --attn_impl flash_attn --gradient_checkpointing true --router_aux_loss_coef ";
  const auto tallest = [](const job& of) { return estimate(of).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)].total().count(); };
  const std::int64_t scores = std::int64_t{48} * 2048 * 128, chosen = 8 * scores;
  const auto with = said(run + "0.001"), without = said(run + "0");
  CHECK(with.loss.balances_experts);
  const auto more = tallest(with) - tallest(without);
  CHECK(more > 24 * chosen - 8 * std::int64_t{2048} * 151936);  // the loss's own moment is another, of at most as much
  CHECK(more < 24 * chosen + 20 * scores);
  const auto joined = [&](const char* weight) { return said(run + weight + " --padding_free true", {"batch.packed=true"}); };
  const auto less = tallest(joined("0.001")) - tallest(joined("0"));
  CHECK(less > 12 * chosen - 8 * std::int64_t{2048} * 151936);
  CHECK(less < 12 * chosen + 12 * scores);
}

TEST_CASE("PPO is TRL's trainer: a copy as the reference, a reward model, and a critic made of it that trains") {
  // examples/train/rlhf/ppo/full.sh of modelscope/ms-swift, with fewer lines.
  const std::string run = "NPROC_PER_NODE=8 swift rlhf --rlhf_type ppo --model LLM-Research/Meta-Llama-3.1-8B-Instruct --reward_model 'Qwen/Qwen2.5-7B-Instruct' --torch_dtype bfloat16"
                          " --split_dataset_ratio 0.01 --eval_steps 100 --per_device_train_batch_size 1 --per_device_eval_batch_size 1 --gradient_accumulation_steps 2 --max_length 2048 --deepspeed zero3 --temperature 0.7";
  const auto j = job_of({{"run.sh", run + " --tuner_type full --response_length 512\n"}});
  CHECK(j.objective.kind == objective_kind::ppo);
  CHECK(j.objective.code == method_code::trl);
  CHECK(j.objective.reference == reference_way::copy);
  CHECK(j.objective.frozen.model.label.view() == "qwen2.5-7b");
  CHECK(j.objective.critic.model.label.view() == "qwen2.5-7b");
  CHECK(j.rollout.prompt == 2048);
  CHECK(j.rollout.completion == 512);
  CHECK(j.rollout.batch == 64);
  CHECK(j.batch.accumulation == 2);
  CHECK(j.evaluation == evaluation{});  // its loop never asks
  CHECK(job_of({{"run.sh", run + " --tuner_type full --max_completion_length 300 --local_rollout_forward_batch_size 8\n"}}).rollout.completion == 300);
  CHECK(job_of({{"run.sh", run + " --tuner_type full --local_rollout_forward_batch_size 8\n"}}).rollout.batch == 8);
  CHECK(holds(refusal_of({{"run.sh", run + " --tuner_type lora\n"}}), "gives the value model adapters of its own"));
  CHECK(holds(refusal_of({{"run.sh", run + " --tuner_type full --num_mini_batches 2\n"}}), "num_mini_batches = 2 is not modelled"));
}

TEST_CASE("under Ray one group of workers is a launch of as many processes") {
  const std::string config = "model: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\ntorch_dtype: bfloat16\nper_device_train_batch_size: 1\nmax_length: 2048\ndeepspeed: zero3\nuse_ray: true\n"
                             "device_groups:\n  nproc_per_node: 4\n  default:\n    device: GPU\n    ranks: ";
  const std::string workers = "\n    workers:\n      - default\n";
  const imported::text start{"sft.sh", "swift sft sft.yaml\n"};
  const auto with = [&](const std::string& ranks) { return imported::text{"sft.yaml", config + ranks + workers}; };
  CHECK(job_of({start, with("list(range(0, 4))")}).hardware.gpus() == 4);
  CHECK(job_of({start, with("2")}).hardware.gpus() == 2);
  CHECK(job_of({start, with("[0, 1, 2]")}).hardware.gpus() == 3);
  const auto two = job_of({start, with("list(range(8))")}).hardware;
  CHECK(two.nodes == 2);
  CHECK(two.gpus_per_node == 4);
  CHECK(job_of({start, with("[4, 5, 6, 7, 0, 1, 2, 3]")}).hardware.nodes == 2);
  // swift/ray_utils/resource_manager.py: rank // nproc_per_node is a node, of as many as all ranks fill; each rank once.
  for (const char* uneven : {"list(range(6))", "[0, 1, 2, 3, 4]", "[0, 1, 4, 5]", "[4, 5]", "list(range(4, 8))", "[0, 0]", "[0, 1, 2, 3, 4, 5, 6, 9]"}) CHECK(holds(refusal_of({start, with(uneven)}), "must differ, lie on those nodes, and be as many on each"));
  for (const char* none : {"0", "-2", "[]", "[-1, 0]", "list(range(3, 3))", "list(range(0, 999999))", "70000", "[0, 99999999999]", "[a]"}) CHECK(holds(refusal_of({start, with(none)}), "use_ray is read with device_groups"));
  CHECK(holds(refusal_of({start, {"sft.yaml", config + "4\n    workers:\n      - rollout\n"}}), "use_ray is read with device_groups"));
  CHECK(holds(refusal_of({start, {"sft.yaml", config + "2" + workers + "  rollout:\n    device: GPU\n    ranks: 2" + workers}}), "use_ray is read with device_groups"));
}

TEST_CASE("Qwen's own quantised checkpoints are known by their names, and nobody else's") {
  const auto of = [](const std::string& model) { return std::string{"NPROC_PER_NODE=1 swift sft --model "} + model + " --torch_dtype bfloat16 --per_device_train_batch_size 1 --max_length 1024 --tuner_type lora\n"; };
  const auto j = job_of({{"run.sh", of("Qwen/Qwen2.5-7B-Instruct-AWQ")}});
  CHECK(j.model.label.view() == "qwen2.5-7b");
  CHECK(j.adapter.base == formats::awq_int4);
  CHECK(j.adapter.base_skips == module_set{module::head});
  CHECK(job_of({{"run.sh", of("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8")}}).adapter.base == formats::gptq_int8);
  CHECK(job_of({{"run.sh", of("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4")}}).adapter.base == formats::gptq_int4);
  CHECK(holds(refusal_of({{"run.sh", of("somebody/Qwen2.5-7B-Instruct-AWQ")}}), "give its config.json, too"));
}

}  // namespace test_swift_methods

#endif
