// Distributed under the Boost Software License, Version 1.0.
// ms-swift over Megatron-Core, as examples/megatron/sft.sh of modelscope/ms-swift 36023605 has it.
#include <doctest/doctest.h>

#include <headroom/estimate.hpp>
#include <headroom/objection.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_megatron {

using namespace imported;

namespace {

imported::text launch(const std::string& more = {}, const std::string& command = "megatron sft") {
  return {"sft.sh", "PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 " + command +
                        " --model Qwen/Qwen2.5-7B-Instruct --load_safetensors true --save_safetensors true --dataset 'a#500' 'b#500' --tensor_model_parallel_size 2 --sequence_parallel true --micro_batch_size 16 --global_batch_size 16 "
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

// A rank's share of Qwen2.5-7B: 7,615,616,512 numbers on two tensor-parallel ranks, of which 57 norms of 3584 are whole on each.
constexpr std::int64_t norms = 57 * 3584, rank_share = (7'615'616'512 - norms) / 2 + norms;
bytes at(const job& j, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)][r]; }

// swift/megatron/trainers/rlhf_mixin.py prepare_model, dpo_trainer.py forward_step: the reference is a model of its own, which no buffer holds; pairs are two samples.
TEST_CASE("preferences over Megatron-Core") {
  const auto dpo = job_of({launch("--rlhf_type dpo --beta 0.1 --rpo_alpha 0.1 --loss_type sigmoid", "megatron rlhf")}), sft = job_of({launch()});
  CHECK(dpo.objective == objective{.kind = objective_kind::dpo, .code = method_code::ms_swift_megatron, .reference = reference_way::copy, .sft_weight = 100'000});
  CHECK(dpo.batch == sft.batch);
  CHECK(at(dpo, row::other_models) == bytes{2 * rank_share});
  CHECK(at(dpo, row::model_parameters) == bytes{2 * rank_share});
  CHECK(at(dpo, row::gradients) == bytes{4 * rank_share});
  CHECK(at(sft, row::other_models) == bytes{0});
  // As fine-tuning on twice the tokens, but for the reference.
  auto twice = sft;
  twice.batch.micro = 2;
  const auto one = estimate(dpo).ranks[0], other = estimate(twice).ranks[0];
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward})
    CHECK(one.at_phase[static_cast<std::size_t>(p)].total() - other.at_phase[static_cast<std::size_t>(p)].total() == bytes{2 * rank_share});

  const auto kto = job_of({launch("--rlhf_type kto --desirable_weight 1 --undesirable_weight 1", "megatron rlhf")});
  CHECK(kto.objective.kind == objective_kind::kto);
  CHECK(estimate(kto).ranks[0].at_phase[1].total() - estimate(sft).ranks[0].at_phase[1].total() == bytes{2 * rank_share});
  const auto beside = job_of({launch("--rlhf_type dpo --tuner_type lora", "megatron rlhf")});
  CHECK(beside.objective.reference == reference_way::adapter_off);
  CHECK(at(beside, row::other_models) == bytes{0});
  // Without a word of it the method is DPO. A packed row of pairs: both answers of the longest, or as many as there is room for.
  CHECK(job_of({launch("", "megatron rlhf")}).objective.kind == objective_kind::dpo);
  CHECK(job_of({launch("--packing true --micro_batch_size 1", "megatron rlhf")}).batch.sequence == 2048);
  CHECK(job_of({launch("--packing true --micro_batch_size 1 --packing_length 9001", "megatron rlhf")}).batch.sequence == 4501);
  const auto sides = [](const std::string& more) {
    const auto d = draft_of({launch("--packing true --micro_batch_size 1 " + more, "megatron rlhf")});
    return std::count_if(d.assumed.begin(), d.assumed.end(), [](const auto& a) { return holds(a, "a packed row is taken for one sample of two sides of 2048 tokens each; rows of shorter ones have 2048 of both sides together and take less: batch.sequence is 1024 for those"); });
  };
  CHECK(sides("") == 1);
  CHECK(sides("--rlhf_type kto") == 1);
  CHECK(sides("--rlhf_type rm") == 1);
  CHECK(sides("--packing_length 9001") == 0);  // of which no side has more than half
  CHECK_THROWS_AS(estimate(job_of({launch("--rlhf_type dpo --pipeline_model_parallel_size 2 --tensor_model_parallel_size 1 --sequence_parallel false", "megatron rlhf")})), job_error);
}

// mcore_bridge model/gpt_model.py: a matrix of classes that is whole on every rank in the head's place, or nothing.
TEST_CASE("heads over Megatron-Core that read no vocabulary") {
  constexpr std::int64_t head = 152064 / 2 * std::int64_t{3584};
  const auto reward = job_of({launch("--rlhf_type rm --center_rewards_coefficient 0.01", "megatron rlhf")});
  CHECK(reward.objective == objective{.kind = objective_kind::reward, .code = method_code::ms_swift_megatron});
  CHECK(at(reward, row::model_parameters) == bytes{2 * (rank_share - head + 3584)});
  const auto classes = job_of({launch("--task_type seq_cls --num_labels 5")});
  CHECK(at(classes, row::model_parameters) == bytes{2 * (rank_share - head + 5 * 3584)});
  CHECK(at(classes, row::gradients) == bytes{4 * (rank_share - head + 5 * 3584)});
  const auto vectors = job_of({launch("--task_type embedding --loss_type infonce")}, {"objective.texts=2"});
  CHECK(at(vectors, row::model_parameters) == bytes{2 * (rank_share - head)});
  CHECK(vectors.objective.texts == 2);
  CHECK(job_of({launch("--task_type embedding --packing true --micro_batch_size 1")}).objective.texts == 1);
  // The hidden states of all tokens are gathered, divided by their lengths, and turned to batch first: 2 × 32768 of 3584 numbers in bf16, three times.
  const auto loss = [](const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)]; };
  constexpr std::int64_t states = std::int64_t{2} * 32768 * 3584 * 2;
  CHECK(loss(vectors)[row::activations] - estimate(vectors).ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][row::activations] < bytes{3 * states});
  CHECK(loss(vectors)[row::logits] == bytes{0});
  // A generative reranker has all of the vocabulary's logits on each rank, in bf16, and its part of them.
  const auto words_of = job_of({launch("--task_type generative_reranker --micro_batch_size 1")});
  CHECK(words_of.objective == objective{.kind = objective_kind::rerank, .code = method_code::ms_swift_megatron, .texts = 8, .generative = true});
  CHECK(at(words_of, row::model_parameters) == bytes{2 * rank_share});
  CHECK(estimate(words_of).ranks[0].at_phase[static_cast<std::size_t>(phase::backward)][row::logits] >= bytes{std::int64_t{2} * 2 * 8 * 2048 * 152064});
  CHECK(job_of({{"run.sh", "MAX_NEGATIVE_SAMPLES=3 " + launch("--task_type generative_reranker --micro_batch_size 1").said}}).objective.texts == 4);
  // Beside adapters the matrix of classes trains as a copy.
  const auto beside = job_of({launch("--task_type seq_cls --num_labels 5 --tuner_type lora")}), words = job_of({launch("--tuner_type lora")});
  CHECK(beside.adapter.modules_to_save == module_set{module::head});
  CHECK(at(beside, row::adapters) - at(words, row::adapters) == bytes{2 * 5 * 3584});
  CHECK(at(beside, row::gradients) - at(words, row::gradients) == bytes{4 * 5 * 3584});
  const auto both = job_of({launch("--tuner_type lora --modules_to_save word_embeddings output_layer")});
  CHECK(both.adapter.modules_to_save == module_set{module::embedding, module::head});
  CHECK(at(both, row::adapters) - at(words, row::adapters) == bytes{2 * 2 * head});
  CHECK(at(both, row::model_parameters) == at(words, row::model_parameters));
}

// core/optimizer/cpu_offloading/hybrid_optimizer.py: pinned, a master copy and gradients in fp32, each tensor rounded up to a power of two; pageable, two moments.
TEST_CASE("the optimizer on the host") {
  const auto j = job_of({launch("--optimizer_cpu_offload true --use_precision_aware_optimizer true --optimizer_offload_fraction 1")});
  CHECK(j.offload.optimizer == place::on_cpu);
  CHECK(at(j, row::master_parameters) == bytes{0});
  CHECK(at(j, row::optimizer_state) == bytes{0});
  CHECK(at(j, row::gradients) == bytes{4 * rank_share});
  const auto host = estimate(j).host;
  CHECK(host.per_node >= bytes{2 * 16 * rank_share});
  CHECK(host.per_node <= bytes{2 * 24 * rank_share});
  CHECK(host.pinned_per_node >= bytes{2 * 8 * rank_share});
  CHECK(host.pinned_per_node <= bytes{2 * 16 * rank_share});
}

// mcore_bridge model/mm_gpt_model.py, mm_gpts/utils.py: transformers' tower, whole on each rank and frozen: 676,550,144 numbers of Qwen2.5-VL-7B.
TEST_CASE("models that see over Megatron-Core") {
  const auto seen = [](const std::string& more, const std::string& before = "MAX_PIXELS=1003520 ") {
    auto l = launch(more);
    l.said.replace(l.said.find("Qwen/Qwen2.5-7B-Instruct"), 24, "Qwen/Qwen2.5-VL-7B-Instruct");
    l.said = before + l.said;
    return job_of({l});
  };
  const auto j = seen("--micro_batch_size 1 --max_length 8192"), text = job_of({launch("--micro_batch_size 1 --max_length 8192")});
  CHECK(j.batch.images.width == 1001);
  CHECK(at(j, row::model_parameters) - at(text, row::model_parameters) == bytes{2 * 676'550'144});
  for (const auto r : {row::gradients, row::master_parameters, row::optimizer_state}) CHECK(at(j, r) == at(text, r));
  const auto lora = seen("--micro_batch_size 1 --max_length 8192 --tuner_type lora"), beside = job_of({launch("--micro_batch_size 1 --max_length 8192 --tuner_type lora")});
  CHECK(at(lora, row::adapters) == at(beside, row::adapters));
  CHECK(at(lora, row::model_parameters) - at(beside, row::model_parameters) == bytes{2 * 676'550'144});
  CHECK(seen("--micro_batch_size 1 --max_length 8192 --model_kwargs '{\"max_pixels\": 1003520}'", "").batch.images.width == 1001);
  for (const auto* none : {"{}", ""}) CHECK(seen("--micro_batch_size 1 --max_length 8192 --model_kwargs '" + std::string{none} + "'") == j);
}

// 1001 pixels are 36 positions of 28, rounded, either way: 1,296 tokens an image.
TEST_CASE("a row of several samples has the images of all of them") {
  const auto seen = [](const std::string& more, const std::string& command = "megatron sft", const std::string& before = "MAX_PIXELS=1003520 ") {
    auto l = launch(more, command);
    l.said.replace(l.said.find("Qwen/Qwen2.5-7B-Instruct"), 24, "Qwen/Qwen2.5-VL-7B-Instruct");
    l.said = before + l.said;
    return job_of({l}).batch.images;
  };
  const auto images = [](std::int64_t count) { return image_batch{.count = count, .width = 1001, .height = 1001}; };
  CHECK(seen("--micro_batch_size 1") == images(0));
  CHECK(seen("--micro_batch_size 4") == images(4));
  CHECK(seen("--micro_batch_size 4 --padding_free false") == images(0));
  CHECK(seen("--micro_batch_size 1 --max_length 8192 --packing true") == images(6));  // 6.32
  CHECK(seen("--micro_batch_size 2 --max_length 8192 --packing true") == images(12));  // 12.64
  CHECK(seen("--micro_batch_size 1 --max_length 1024 --packing true") == images(0));
  CHECK(seen("--micro_batch_size 1 --packing true --packing_length 5184") == images(4));
  CHECK(seen("--micro_batch_size 1 --packing true --packing_length 5183") == images(3));
  const std::string kwargs = "--model_kwargs '{\"max_pixels\": 1003520}' ";
  CHECK(seen(kwargs + "--micro_batch_size 1 --max_length 8192 --packing true", "megatron sft", "") == images(6));
  CHECK(seen(kwargs + "--micro_batch_size 4", "megatron sft", "") == images(4));
  // Of a pair each answer is a sequence of its own, with the images of its prompt: six together.
  CHECK(seen("--rlhf_type dpo --micro_batch_size 1 --max_length 8192 --packing true", "megatron rlhf") == images(3));
  CHECK(seen("--rlhf_type rm --micro_batch_size 2", "megatron rlhf") == images(2));
  auto joined = launch("--micro_batch_size 4");
  joined.said.replace(joined.said.find("Qwen/Qwen2.5-7B-Instruct"), 24, "Qwen/Qwen2.5-VL-7B-Instruct");
  std::string notes;
  for (const auto& n : draft_of({joined}, {"batch.images={\"width\": 512}"}).notes) notes += n + "\n";
  CHECK(holds(notes, "the samples of a micro-batch lie in one row, and batch.images.count is of all of them"));
}

// swift/template/vision_utils.py _dynamic_preprocess: from one tile to twelve, and a thirteenth.
TEST_CASE("InternVL's tiles are asked for") {
  auto l = launch("--micro_batch_size 1");
  l.said.replace(l.said.find("Qwen/Qwen2.5-7B-Instruct"), 24, "OpenGVLab/InternVL3-8B");
  CHECK(holds(refusal_of({l}), "no file says how many tiles of 448 × 448 pixels the images of a row are cut into: of each at most MAX_NUM, or 12, and the image as a whole: add --set batch.images.count=N"));
  CHECK(job_of({l}, {"batch.images.count=7"}).batch.images.count == 7);
  CHECK(job_of({l}, {"batch.images={\"none\": true}"}).batch.images.none);
}

// swift/megatron/arguments/megatron_args.py _check_muon switches the distributed optimizer off; trainers/base.py get_optimizer_and_scheduler divides
// states by layers where the name has "dist" in it.
TEST_CASE("Muon's states are whole on every rank, or divided by layers") {
  const auto run = [](const std::string& name) {
    auto l = launch("--micro_batch_size 1 --optimizer " + name);
    l.said.replace(l.said.find("NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1"), 41, "NPROC_PER_NODE=8");
    return job_of({l});
  };
  const auto whole = run("muon"), parts = run("dist_muon");
  CHECK(whole.optimizer == parts.optimizer);
  CHECK(whole.sharding.kind == sharding_kind::ddp);
  CHECK(parts.sharding.kind == sharding_kind::megatron_distributed_optimizer);
  // Half of 7,615,616,512 parameters is on a rank, and the norms twice: 28 layers of two and one at the end, of 3,584.
  const std::int64_t mine = (7'615'616'512 + 57 * 3'584) / 2;
  CHECK(at(whole, row::master_parameters) >= bytes{4 * mine});
  CHECK(at(whole, row::master_parameters) < bytes{4 * mine + (1 << 20)});
}

TEST_CASE("a configuration of its arguments is read without its command") {
  const imported::text yaml{"sft.yaml", "ENV:\n  PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True'\nmodel: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\nmax_length: 2048\nmicro_batch_size: 1\nglobal_batch_size: 4\n"
                                         "no_save_optim: true\ncross_entropy_loss_fusion: true\nattention_backend: flash\ntensor_model_parallel_size: 2\nlr: 1e-4\n"};
  const imported::text command{"sft.sh", "NPROC_PER_NODE=4 megatron sft sft.yaml\n"};
  CHECK(job_of({yaml}, {"hardware.gpus_per_node=4"}) == job_of({command, yaml}));
  CHECK(job_of({yaml}, {"hardware.gpus_per_node=4"}).batch.accumulation == 2);
  CHECK(holds(refusal_of({yaml}), "sft.yaml: how many GPUs there are, which the file itself does not say"));
  const imported::text workers{"grpo.yaml", "rlhf_type: grpo\nmodel: Qwen/Qwen2.5-7B-Instruct\nmicro_batch_size: 2\nglobal_batch_size: 16\ntrain:\n  gpus: 4\nrollout:\n  gpus: 4\n"};
  CHECK(holds(refusal_of({workers}), "groups of workers under Ray, each with a configuration of its own, are not read by this version"));
}

TEST_CASE("modules that predict further tokens are those that mtp_num_layers asks for") {
  // examples/megatron/lora/mtp.sh names GLM-4.5-Air, whose checkpoint has 110,468,824,832 parameters: beside the 106,852,245,504 of its 46 layers one such
  // module, with an embedding and a head of its own of 151,552 × 4,096, which Megatron shares, and 46 corrections of 128 routers.
  const std::string run = "NPROC_PER_NODE=8 megatron sft --model ZhipuAI/GLM-4.5-Air --tensor_model_parallel_size 4 --expert_model_parallel_size 4 --expert_tensor_parallel_size 1 --sequence_parallel true --max_length 8192 --packing true "
                          "--recompute_granularity full --recompute_method uniform --recompute_num_layers 1 ";
  const auto bare = job_of({{"mtp.sh", run}}), j = job_of({{"mtp.sh", run + "--mtp_num_layers 1"}});
  CHECK(bare.model.mtp_layers == 0);
  CHECK(j.model.mtp_layers == 1);
  CHECK(count(bare.model).total.count() == 106'852'245'504);
  CHECK(count(j.model).total.count() == 110'468'824'832 - 2 * 151'552LL * 4096 - 46 * 128);
  CHECK(estimate(j).ranks[0].allocated > estimate(bare).ranks[0].allocated);
  CHECK(holds(objection_to(job_of({{"mtp.sh", run + "--mtp_num_layers 1 --tuner_type lora --target_modules linear_qkv linear_proj"}})).sentence, "without multi-token prediction"));
  CHECK(holds(refusal_of({{"mtp.sh", run + "--mtp_num_layers 1 --mtp_shared_weights true"}}), "mtp_shared_weights"));
  // A checkpoint that has them does not ask for them.
  CHECK(job_of({{"mimo.sh", "NPROC_PER_NODE=8 megatron sft --model XiaomiMiMo/MiMo-7B-SFT --max_length 2048\n"}}).model.mtp_layers == 0);
}

TEST_CASE("Qwen3.5's layers over Megatron-Core are divided by heads, unless they are transformers' own") {
  // examples/models/qwen3_5/mcore.sh, without what has no effect.
  const std::string run = "NPROC_PER_NODE=4 IMAGE_MAX_TOKEN_NUM=1024 megatron sft --model Qwen/Qwen3.5-35B-A3B --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 4 --moe_permute_fusion true "
                          "--moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 4 --global_batch_size 16 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --group_by_length true "
                          "--freeze_llm false --freeze_vit true --freeze_aligner true --max_length 2048 --sequence_parallel true --attention_backend flash --padding_free false ";
  const auto j = job_of({{"mcore.sh", run}});
  CHECK(j.adapter.targets == all_linear);
  CHECK(j.batch.micro == 4);
  // 40 layers, three of four with 12,288 + 64 rows, a convolution of 8,192 × 4, 64 gates, a norm of 128 and 4,096 columns; one with 2 × 4,096 + 2 × 512 rows, two
  // norms of 256 and 4,096 columns. Each with 256 experts of 512, of which a rank has 64, a shared one with its gate, and two norms.
  constexpr std::int64_t h = 2048, recurrent = h * (12'288 + 64) + 8192 * 4 + 64 + 128 + h * 4096, attention = h * (2 * 4096 + 2 * 512) + 2 * 256 + h * 4096, experts = 256 * h + (64 + 1) * 3 * h * 512 + h + 2 * h;
  const auto n = 2 * (30 * recurrent + 10 * attention + 40 * experts + 2 * 248'320 * h + h + count(j.model).of(component::vision).count() + count(j.model).of(component::projector).count());
  CHECK(estimate(j).ranks[0].at_peak[row::model_parameters].count() == n);
  CHECK(holds(refusal_of({{"run.sh", "export USE_MCORE_GDN=0\n" + run}}), "run.sh:1: USE_MCORE_GDN=0: transformers' own Gated DeltaNet, whole on every GPU, is not modelled over Megatron-Core"));
  CHECK(job_of({{"run.sh", "export USE_MCORE_GDN=1\n" + run}}) == j);
  // Qwen3-Next's since 4.3.
  const imported::text next{"next.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-Next-80B-A3B-Instruct --tuner_type lora --tensor_model_parallel_size 2 --sequence_parallel true --expert_model_parallel_size 4 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --max_length 1024\n"};
  CHECK(holds(refusal_of({next}, {"environment.ms-swift=4.2"}), "transformers' own Gated DeltaNet, whole on every GPU"));
  CHECK(holds(refusal_of({{"next.sh", "export USE_MCORE_GDN=0\n" + next.said}}), "USE_MCORE_GDN=0: transformers' own Gated DeltaNet"));
  const auto divided = job_of({next});
  CHECK(divided.model == job_of({next}, {"environment.ms-swift=4.3"}).model);
  CHECK(divided.model.label.view() == "qwen3-next-80b-a3b");
  CHECK(divided.model.mtp_layers == 0);
  CHECK(divided.parallel.expert == 4);
  // Half of what is not experts lies on each of two ranks, and a quarter of the experts: 48 layers of 512, of 3 matrices of 2,048 × 512.
  const auto weights = estimate(divided).ranks[0].at_phase[static_cast<std::size_t>(phase::load)][row::model_parameters].count();
  const std::int64_t all = count(divided.model).total.count(), routed = 48LL * 512 * 3 * 2048 * 512;
  CHECK(weights > 2 * ((all - routed) / 2 + routed / 4));
  CHECK(weights < 2 * ((all - routed) / 2 + routed / 4) * 102 / 100);
  // Under GRPO a colocated engine has states beside its keys and values.
  const auto grpo = job_of({{"grpo.sh", "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3.5-35B-A3B --expert_model_parallel_size 8 --global_batch_size 64 --micro_batch_size 1 --steps_per_generation 2 --num_generations 8 --use_vllm true "
                                        "--vllm_mode colocate --vllm_gpu_memory_utilization 0.5 --vllm_tensor_parallel_size 2 --vllm_max_model_len 9192 --max_length 1000 --max_completion_length 8192 --tuner_type lora --beta 0 --sleep_level 1 "
                                        "--offload_model true --offload_optimizer true --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --padding_free false"}}, {"batch.images.width=512", "batch.images.height=512"});
  CHECK(grpo.rollout.tensor == 2);
  CHECK(estimate(grpo).ranks[0].allocated > bytes{0});
}

TEST_CASE("what of ms-swift over Megatron-Core is refused, by name") {
  const auto why = [](const std::string& more) { return refusal_of({launch(more)}); };
  CHECK(holds(why("--tuner_type longlora"), "tuner_type"));
  CHECK(holds(why("--tuner_type lora --target_modules all-embedding"), "target_modules = \"all-embedding\" is not modelled by this version (read are all-linear, all-router, linear_qkv"));
  CHECK(holds(why("--tuner_type lora --modules_to_save linear_qkv"), "modules_to_save"));
  CHECK(holds(why("--attention_backend unfused"), "padding_free = true is not modelled by this version (beside attention_backend unfused)"));
  CHECK(holds(why("--task_type seq_cls"), "num_labels is required"));
  CHECK(holds(why("--task_type reranker"), "accepted: causal_lm, seq_cls, embedding, generative_reranker"));
  CHECK(holds(why("--task_type embedding"), "no file says how many texts an example has"));
  CHECK(holds(why("--freeze_parameters_ratio 0.5"), "freeze_parameters_ratio"));
  CHECK(holds(why("--twinkle 3"), "twinkle is not known here"));
  const auto on_host = job_of({launch("--optimizer_cpu_offload true --use_precision_aware_optimizer true --optimizer_offload_fraction 0.75")});
  CHECK(on_host.offload.optimizer == place::on_cpu);
  CHECK(on_host.offload.optimizer_fraction == 750'000);
  CHECK(holds(why("--global_batch_size 24"), "must be a multiple of micro_batch_size, 16, found 24"));
  CHECK(holds(refusal_of({launch("--rlhf_type gkd", "megatron rlhf")}), "rlhf_type \"gkd\" over Megatron-Core is not modelled by this version; accepted: dpo, kto, rm"));
  CHECK(holds(refusal_of({launch("--rlhf_type dpo --ref_model Qwen/Qwen2.5-14B", "megatron rlhf")}), "a reference that is another model"));
  const imported::text open{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --micro_batch_size 2 --global_batch_size 32\n"};
  CHECK(holds(refusal_of({open}), "no file says how long a sequence is: add --set batch.sequence=TOKENS"));
  CHECK(job_of({open}, {"batch.sequence=8192"}).batch == batch{.micro = 1, .sequence = 8192, .accumulation = 2});
  // It overlaps the shared experts, where there are any.
  const auto overlaps = [](const std::string& model) { return imported::text{"sft.sh", "NPROC_PER_NODE=8 megatron sft --max_length 512 --expert_model_parallel_size 4 --moe_shared_expert_overlap true --model " + model + "\n"}; };
  CHECK(job_of({overlaps("Qwen/Qwen3-30B-A3B")}).parallel.expert == 4);
  CHECK(job_of({overlaps("Qwen/Qwen1.5-MoE-A2.7B")}).parallel.expert == 4);
  CHECK(job_of({overlaps("Qwen/Qwen1.5-MoE-A2.7B --tensor_model_parallel_size 2")}).framework.experts.overlaps_shared);
  CHECK(!job_of({overlaps("Qwen/Qwen3-30B-A3B")}).framework.experts.overlaps_shared);
  CHECK(holds(refusal_of({{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --max_length 2048 --freeze_vit false\n"}}), "freeze_vit = false is not modelled"));
  CHECK(holds(refusal_of({{"sft.sh", "NPROC_PER_NODE=8 megatron sft --model openai/gpt-oss-20b --max_length 2048 --padding_free false --attention_backend unfused\n"}}), "attention with sinks (gpt-oss) is not modelled over Megatron-Core"));
}

}  // namespace test_swift_megatron

#endif
