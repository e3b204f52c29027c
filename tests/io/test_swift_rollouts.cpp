// Distributed under the Boost Software License, Version 1.0.
// ms-swift's GRPO over Megatron-Core, and what its methods leave open: launches in, jobs out, as its source reads them (modelscope/ms-swift 3602360a
// of 2026-08-22: swift/megatron/arguments/megatron_args.py, swift/megatron/trainers, swift/arguments/rlhf_args.py).
#include <doctest/doctest.h>

#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/objection.hpp>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_swift_rollouts {

using namespace imported;

namespace {

/// examples/megatron/grpo/moe_colocate_full.sh, without what has no effect.
const std::string run =
    "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B-Instruct-2507 --tensor_model_parallel_size 4 "
    "--expert_model_parallel_size 4 --pipeline_model_parallel_size 2 --global_batch_size 8 --micro_batch_size 2 --steps_per_generation 1 --num_generations 8 "
    "--reward_funcs accuracy format --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 --vllm_tensor_parallel_size 8 --vllm_max_model_len 16384 "
    "--max_length 8192 --max_completion_length 4096 --importance_sampling_level sequence --overlong_filter true --sleep_level 2 --offload_model true "
    "--offload_bridge false --offload_optimizer true --attention_backend flash --temperature 1.0 --log_completions true ";
job said(const std::string& command, const std::vector<std::string>& set = {}) { return job_of({{"run.sh", command}}, set); }
std::string refused(const std::string& command, const std::vector<std::string>& set = {}) { return refusal_of({{"run.sh", command}}, set); }

}  // namespace

// grpo_trainer.py __init__: as many times more micro-batches as GPUs share a row.
TEST_CASE("GPUs that share each row of GRPO") {
  const std::string grpo = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --tuner_type full --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.5 --vllm_max_model_len 2048 --vllm_tensor_parallel_size 4 "
                           "--torch_dtype bfloat16 --max_length 2048 --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --max_completion_length 1024 --num_generations 32 --deepspeed zero3 --attn_impl flash_attn --padding_free true --sleep_level 1 ";
  const auto j = said(grpo + "--sequence_parallel_size 4");
  CHECK(j.parallel.context == 4);
  CHECK(j.parallel.context_kind == context_kind::ulysses);
  CHECK(j.batch == batch{.micro = 4, .sequence = 2048, .accumulation = 32, .packed = true});
  CHECK(j.rollout.steps_per_generation == 0);
  CHECK(said(grpo + "--sequence_parallel_size 4 --steps_per_generation 4").rollout.steps_per_generation == 16);
  CHECK(said(grpo + "--sequence_parallel_size 1").batch.accumulation == 8);
  const auto e = estimate(j);
  CHECK(e.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::logits] == bytes{3 * 2 * 152'064LL * 2048});
  CHECK(holds(refused(grpo + "--sequence_parallel_size 4 --padding_free false"), "sequence_parallel_size = 4 is not modelled by this version (read of rows without padding (padding_free) that an engine completes)"));
  CHECK(holds(refused(grpo + "--sequence_parallel_size 4 --use_vllm false"), "sequence_parallel_size = 4"));
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B --max_length 1024 --sequence_parallel_size 2"), "sequence_parallel_size = 2 is not modelled"));  // rows are padded
}

// swift/rlhf_trainers/rollout_mixin.py: unwrap_model_for_generation is told whether ZeRO's third stage gathers the whole model.
TEST_CASE("whose weights are gathered while the trained module generates") {
  const std::string grpo = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm false --num_generations 8 --max_length 1024 --max_completion_length 512 --deepspeed zero3 ";
  CHECK(holds(refused(grpo + "--vllm_mode colocate"), "ms-swift stops since 3.12 (2025-12) where vllm_mode is said and use_vllm is not true"));
  CHECK(holds(refused(grpo + "--vllm_mode colocate", {"environment.ms-swift=3.12"}), "where vllm_mode is said"));
  CHECK(said(grpo + "--vllm_mode colocate", {"environment.ms-swift=3.11"}) == said(grpo));
  CHECK(holds(refused(grpo + "--num_generations 1"), "num_generations must be a whole number from 2"));
  CHECK(holds(refused(grpo + "--num_generations 1 --teacher_model a"), "\"a\" is not in the model zoo"));
  const auto whole = said(grpo), parts = said(grpo + "--ds3_gather_for_generation false");
  CHECK(whole.rollout.gathers != choice::no);
  CHECK(parts.rollout.gathers == choice::no);
  CHECK(said(grpo + "--ds3_gather_for_generation true") == whole);
  // 7,615,616,512 parameters of two bytes, of which an eighth lies here, or one unit beside that eighth: the table of words, 152,064 by 3,584.
  const auto more = estimate(whole).ranks[0][phase::generate] - estimate(parts).ranks[0][phase::generate];
  CHECK(more > bytes{2 * (7'615'616'512 * 7 / 8 - 2 * 152'064LL * 3'584)});
  CHECK(more <= bytes{2 * 7'615'616'512});
  CHECK(said("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 --deepspeed zero3 --ds3_gather_for_generation false") ==
        said("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 --deepspeed zero3"));
}

TEST_CASE("GRPO over Megatron-Core: completions, an engine beside them, and a copy of the model") {
  const auto j = said(run + "--sequence_parallel true --padding_free true --beta 0.00");
  CHECK(j.objective == objective{.kind = objective_kind::grpo, .code = method_code::ms_swift_megatron, .reference = reference_way::copy});
  CHECK(j.batch == batch{.micro = 2, .sequence = 12288, .accumulation = 4, .packed = true});  // 8 completions of a step, one replica
  CHECK(j.parallel.tensor == 4);
  CHECK(j.parallel.pipeline == 2);
  CHECK(j.parallel.expert == 4);
  CHECK(j.parallel.sequence);
  const auto& r = j.rollout;
  CHECK(r.engine == engine_kind::vllm);
  CHECK(r.placement == rollout_place::colocated);
  CHECK(r.share.per_million == 400'000);
  CHECK(r.tensor == 8);
  CHECK(r.sleep == 2);
  CHECK(r.prompt == 8192);
  CHECK(r.completion == 4096);
  CHECK(r.generations == 8);
  CHECK(r.trainer_moves.has(trainer_part::weights));
  CHECK(r.trainer_moves.has(trainer_part::optimizer));
  // Adapters are switched off for the reference, or there is none.
  CHECK(said(run + "--tuner_type lora").objective.reference == reference_way::adapter_off);
  CHECK(said(run + "--tuner_type lora --beta 0").objective.reference == reference_way::none);
  CHECK(said(run + "--beta 0.1 --padding_free false").batch == batch{.micro = 2, .sequence = 12288, .accumulation = 4});
  CHECK(holds(refused("NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct"), "needs vllm_mode, colocate or server"));
  const std::string apart = "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --vllm_mode server --vllm_server_port 8000 ";
  CHECK(holds(refused(apart), "no file says how long a prompt is: add --set rollout.prompt=TOKENS"));
  const auto server = said(apart, {"rollout.prompt=512"});
  CHECK(server.rollout.placement == rollout_place::separate);
  CHECK(server.batch == batch{.micro = 1, .sequence = 1024, .accumulation = 2, .packed = true});
  CHECK(holds(refused(run + "--use_vllm false"), "use_vllm must be true"));
  CHECK(holds(refused(run + "--offload_bridge true"), "offload_bridge = true is not modelled"));
  CHECK(holds(refused(run + "--log_entropy true"), "log_entropy = true is not modelled"));
  CHECK(holds(refused(run + "--teacher_model Qwen/Qwen3-32B"), "teacher_model"));
  CHECK(holds(refused(run + "--packing true"), "packing = true is not modelled by this version (beside rlhf_type grpo)"));
  CHECK(said(run + "--dynamic_sample true").assumed_defaults == said(run).assumed_defaults + 1);
}

TEST_CASE("of an environment that answers, only who knows it says how long a conversation is") {
  const std::string grpo = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode server --num_generations 8 --max_length 1024 --max_completion_length 512 ";
  CHECK(said(grpo).batch.sequence == 1536);
  CHECK(holds(refused(grpo + "--use_gym_env true"), "no file says how long a completion is"));
  CHECK(said(grpo + "--use_gym_env true", {"rollout.completion=3000"}).batch.sequence == 4024);
  CHECK(said(grpo + "--dynamic_sample true").assumed_defaults == said(grpo).assumed_defaults + 1);
}

TEST_CASE("entropies of completions stand in the loss") {
  const std::string grpo = "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-1.7B --tuner_type full --torch_dtype bfloat16 --use_vllm true --vllm_mode server --num_generations 8 --max_length 512 --max_completion_length 8192 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 ";
  const auto plain = said(grpo), logged = said(grpo + "--log_entropy true");
  CHECK_FALSE(plain.objective.entropies);
  CHECK(logged.objective.entropies);
  CHECK(said(grpo + "--top_entropy_quantile 0.2") == logged);
  CHECK(said(grpo + "--top_entropy_quantile 1.0 --log_entropy false") == plain);
  // Of 2 × 8192 tokens and 151,936 words in fp32: a copy, log-probabilities and exponentials, before what backward takes of them.
  const auto loss = [](const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)].total(); };
  CHECK(loss(logged) - loss(plain) > bytes{2 * 2LL * 2 * 8192 * 151'936});
  CHECK(loss(logged) - loss(plain) <= bytes{3 * 4LL * 2 * 8192 * 151'936 + (std::int64_t{1} << 21)});
  CHECK(holds(refused(grpo + "--log_entropy true --padding_free true --attn_impl flash_attn --sequence_parallel_size 2"), "log_entropy = true is not modelled by this version (beside sequence_parallel_size)"));
}

TEST_CASE("a row is no longer than the window of a colocated engine") {
  const std::string grpo = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --num_generations 8 --max_length 12000 --max_completion_length 8192 --vllm_max_model_len 16384 ";
  const auto rows = [&](const std::string& more) {
    const auto j = said(grpo + more);
    return std::array{j.batch.sequence, j.rollout.prompt, j.rollout.completion};
  };
  CHECK(rows("--vllm_mode colocate --per_device_train_batch_size 1") == std::array<std::int64_t, 3>{16384, 8192, 8192});
  CHECK(rows("--vllm_mode colocate --per_device_train_batch_size 4") == std::array<std::int64_t, 3>{16384, 8192, 8192});  // four answers to one prompt
  // Two answers of 9 to a prompt are padded with those of the next: wide by the prompt of one and the answer of another.
  CHECK(rows("--vllm_mode colocate --per_device_train_batch_size 2 --num_generations 9 --gradient_accumulation_steps 9") == std::array<std::int64_t, 3>{20192, 12000, 8192});
  CHECK(rows("--vllm_mode colocate --per_device_train_batch_size 2 --num_generations 9 --gradient_accumulation_steps 9 --attn_impl flash_attn --padding_free true")[0] == 16384);
  CHECK(rows("--vllm_mode server")[0] == 20192);  // the server's own window is not said here
  CHECK(rows("--vllm_mode colocate --max_length 4096")[0] == 12288);
  CHECK(rows("--vllm_mode colocate --max_completion_length 20000") == std::array<std::int64_t, 3>{16384, 1, 16383});
  // How long a conversation is, the job says; its prompt leaves the engine at least a token.
  const auto turns = job_of({{"run.sh", grpo + "--vllm_mode colocate --multi_turn_scheduler math_tip_trick --max_turns 3"}}, {"rollout.completion=3000"});
  CHECK(turns.rollout.prompt == 12000);
  CHECK(said(run + "--max_completion_length 8192 --max_length 9000").batch.sequence == 16384);
  // Megatron's rows are joined unless it is said otherwise.
  const auto uneven = run + "--max_completion_length 8192 --max_length 9000 --num_generations 3 --global_batch_size 6 ";
  CHECK(said(uneven).batch.sequence == 16384);
  CHECK(said(uneven + "--padding_free false").batch.sequence == 17192);
  CHECK(rows("--use_vllm false")[0] == 20192);  // no engine
}

TEST_CASE("arguments of a colocated engine are passed over where it is not given them, and refused where it is") {
  const std::string grpo = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode colocate --num_generations 8 --max_length 1024 --max_completion_length 512 ";
  const auto plain = said(grpo);
  for (const std::string more : {"--vllm_pipeline_parallel_size 2", "--vllm_quantization fp8", "--vllm_speculative_config {}", "--vllm_enable_lora false"}) CHECK(said(grpo + more) == plain);
  CHECK(holds(refused(grpo + "--vllm_enable_lora true"), "vllm_enable_lora = true is not modelled"));
  CHECK(holds(refused(grpo + "--vllm_max_num_seqs 8"), "vllm_max_num_seqs = 8 is not modelled"));
  CHECK(holds(refused(grpo + "--vllm_engine_kwargs '{\"kv_cache_dtype\": \"fp8\"}'"), "vllm_engine_kwargs"));
  CHECK(holds(refused(grpo + "--quant_method bnb --quant_bits 4"), "a quantised model beside vllm_mode colocate"));
  CHECK(said(grpo + "--vllm_mode server --quant_method bnb --quant_bits 4").adapter.base.quantised());
}

TEST_CASE("completions that several micro-batches and updates learn from") {
  const std::string grpo = "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-1.5B-Instruct --use_vllm true --vllm_mode server --max_length 1024 --max_completion_length 512 --deepspeed zero2 "
                           "--per_device_train_batch_size 2 --gradient_accumulation_steps 2 ";
  const auto once = said(grpo + "--num_generations 8");
  CHECK(once.rollout.steps_per_generation == 0);
  CHECK(once.rollout.iterations == 0);
  CHECK(holds(objection_to(said(grpo + "--num_generations 16")).sentence, "rollout.generations must divide"));  // 2 x 2 x 2 completions a step
  const auto four = said(grpo + "--num_generations 16 --steps_per_generation 4");
  CHECK(four.rollout.steps_per_generation == 4);
  CHECK_FALSE(objection_to(four));
  CHECK(said(grpo + "--num_generations 16 --generation_batch_size 16") == four);
  CHECK(holds(refused(grpo + "--num_generations 8 --generation_batch_size 18"), "must be a multiple of micro-batch"));
  CHECK(said(grpo + "--num_generations 16 --steps_per_generation 4 --generation_batch_size 16") == four);  // ms-swift stops where they disagree
  const auto thrice = said(grpo + "--num_generations 8 --num_iterations 3");
  CHECK(thrice.rollout.iterations == 3);
  // Generation and the scores of both models are of a third of the steps; forward, backward and update of each.
  const auto timed = [](job j) { return j.rollout.gpus = 1, cost(j); };
  const auto all = timed(once), third = timed(thrice);
  CHECK(third.other_models.value == doctest::Approx(all.other_models.value / 3));
  CHECK(estimate(thrice).peak() == estimate(once).peak());
  CHECK(holds(refused(run + "--num_iterations 2"), "num_iterations = 2 is not modelled by this version (over Megatron-Core, where ms-swift stops)"));
}

TEST_CASE("a server that takes turns leaves open how long a conversation is") {
  const std::string train = "NPROC_PER_NODE=1 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-0.5B --use_vllm true --vllm_mode server --max_length 1024 --max_completion_length 512 --num_generations 8 --per_device_train_batch_size 8\n";
  const std::string serves = "swift rollout --model Qwen/Qwen2.5-0.5B ";
  CHECK(said(serves + "&\n" + train).batch.sequence == 1536);
  CHECK(holds(refused(serves + "--multi_turn_scheduler tree_rollout_scheduler --max_turns 6 &\n" + train), "no file says how long a completion is"));
  CHECK(said(serves + "--multi_turn_scheduler tree_rollout_scheduler &\n" + train.substr(0, train.size() - 1) + " --vllm_mode colocate\n").batch.sequence == 1536);  // another's server
  CHECK(said(serves + "--multi_turn_scheduler=tree_rollout_scheduler &\n" + train, {"rollout.completion=3072"}).batch.sequence == 4096);
}

TEST_CASE("an engine beside Gated DeltaNet, and one that several GPUs hold a tower in") {
  // examples/train/grpo/plugin/gsm8k/gsm8k.sh, without what has no effect. vLLM takes 0.4 of the card while it is awake, states and keys alike.
  const std::string recurs = "NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen3.5-2B --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 --vllm_max_model_len 10240 --sleep_level 1 "
                             "--tuner_type full --torch_dtype bfloat16 --max_length 2048 --max_completion_length 8192 --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --num_generations 8 --deepspeed zero2 ";
  const auto j = said(recurs, {"batch.images.count=1", "batch.images.width=512", "batch.images.height=512"});
  const auto r = estimate(j).ranks[0];
  CHECK((r[phase::generate] - r[phase::save]).count() == (j.hardware.gpu.memory.count() * 2 + 4) / 5);
  // 24 layers, one in four of attention with 2 heads of 256: 544 positions a block, as vLLM logs for this shape. 10,240 positions are 19 blocks of six layers,
  // and the three groups of states hold two each: 25 blocks of 544 × 2,048 × 6 bytes. One byte less, and the engine stops when it starts.
  auto least = j.rollout;
  CHECK_FALSE(check_start(j.model, least, {.cache = bytes{25LL * 544 * 2048 * 6}}));
  CHECK(check_start(j.model, least, {.cache = bytes{25LL * 544 * 2048 * 6 - 1}}));
  // examples/train/grpo/internal/vllm_lora_qwenvl72b.sh: 72 B over four GPUs, of which the tower is a part.
  const std::string sees = "MAX_PIXELS=602112 NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-VL-72B-Instruct --tuner_type lora --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.5 "
                           "--vllm_max_model_len 8192 --vllm_tensor_parallel_size 4 --max_length 8192 --torch_dtype bfloat16 --attn_impl flash_attn --max_completion_length 2048 --num_generations 8 --deepspeed zero3 "
                           "--offload_optimizer true --offload_model true --move_model_batches 40 --sleep_level 1";
  const auto seen = said(sees);
  CHECK(seen.rollout.tensor == 4);
  CHECK(estimate(seen).ranks[0].allocated > bytes{0});
  // 32 blocks of 1,280 and 16 heads, 3,456 wide, and a merger of 5,120 to 8,192, in quarters; patches, norms and biases of what is cut by columns whole.
  constexpr std::int64_t cut = 32LL * (4 * 1280 * 1280 + 3 * 1280 * 3456 + 3 * 1280 + 2 * 3456) + 5120LL * 5120 + 5120LL * 8192;
  constexpr std::int64_t stays = 1280LL * 1176 + 32 * (2 * 1280 + 2 * 1280) + 1280 + 5120 + 8192;
  constexpr std::int64_t text = 72'706'203'648, norms = 161 * 8192;
  CHECK(engine_weights(seen.model, weights_of(seen.model), 4, formats::bf16).count() == 2 * ((text - norms) / 4 + norms + cut / 4 + stays));
  auto other = j;
  other.rollout.engine = engine_kind::sglang, other.rollout.sleep = 0, other.rollout.trainer_moves = {};
  CHECK(holds(objection_to(other).sentence, "of recurrent layers vLLM's states are modelled"));
}

TEST_CASE("over Megatron-Core pixels of all completions that were generated together wait on the GPU") {
  // examples/megatron/grpo/sapo.sh: 128 completions of a step, of eight GPUs, and as many for each of four steps; 1,024 patches of 1,176 numbers in fp32 an image.
  const std::string sees = "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen2.5-VL-3B-Instruct --micro_batch_size 2 --global_batch_size 128 --num_generations 8 --use_vllm true --vllm_mode colocate "
                           "--vllm_gpu_memory_utilization 0.7 --vllm_max_model_len 8192 --max_length 4096 --max_completion_length 4096 --sleep_level 2 --offload_model true --offload_optimizer true ";
  const std::vector<std::string> images{"batch.images.width=448", "batch.images.height=448"};
  const auto one = said(sees, images), four = said(sees + "--steps_per_generation 4", images);
  CHECK(one.rollout.steps_per_generation == 0);
  CHECK(one.batch.accumulation == 8);
  CHECK(four.rollout.steps_per_generation == 32);
  CHECK(said(sees + "--generation_batch_size 512", images) == four);
  CHECK((estimate(four).ranks[0].allocated - estimate(one).ranks[0].allocated).count() == 48LL * 1024 * 1176 * 4);
}

TEST_CASE("rpo_alpha is the weight of a likelihood beside DPO") {
  const std::string dpo = "NPROC_PER_NODE=4 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 ";
  CHECK(said(dpo).objective.sft_weight == 0);
  CHECK(holds(refused(dpo + "--ref_model Qwen/Qwen2.5-7B-Instruct"), "ref_model does not go with adapters"));
  CHECK(said(dpo + "--tuner_type full --ref_model Qwen/Qwen2.5-7B-Instruct").objective.reference == reference_way::copy);
  CHECK(said(dpo + "--rpo_alpha 0.1").objective.sft_weight == 100'000);
  const std::string divided = "NPROC_PER_NODE=4 megatron rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 --padding_free false ";
  CHECK(said(divided + "--rpo_alpha 1").objective.sft_weight == 1'000'000);
  CHECK(said(divided).objective.sft_weight == 0);
}

TEST_CASE("a configuration of ms-swift's for Megatron-Core stands in for its arguments") {
  const std::string file = R"(ENV:
  PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True'
  MAX_PIXELS: '1003520'
model: Qwen/Qwen3-30B-A3B
tuner_type: lora
lora_rank: 16
max_length: 2048
micro_batch_size: 2
global_batch_size: 8
expert_model_parallel_size: 4
recompute_granularity: full
recompute_method: uniform
recompute_num_layers: 1
)";
  const std::string start = "NPROC_PER_NODE=4 megatron sft sft.yaml";
  const auto j = job_of({{"run.sh", start}, {"sft.yaml", file}});
  CHECK(j.parallel.expert == 4);
  CHECK(j.adapter.rank == 16);
  CHECK(j.batch == batch{.micro = 1, .sequence = 4096, .accumulation = 1});
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.environment.expandable_segments == choice::yes);
  CHECK(holds(refused(start), "names \"sft.yaml\", which no file here is: give it, too"));
  CHECK(holds(refused("NPROC_PER_NODE=4 megatron sft sft.txt"), "is no argument of megatron sft's"));
}

TEST_CASE("layers of adapters that no file says may be set") {
  const auto trl = [](const std::string& model) { return "trl sft --model_name_or_path " + model + " --use_peft --max_length 512 --lora_r 8 --dataset_name x"; };
  const std::string one = "hardware.gpus_per_node=1";
  CHECK(!said(trl("meta-llama/Llama-3.1-8B"), {one}).adapter.targets.empty());  // PEFT's own table has Llama
  CHECK(holds(refused(trl("allenai/OLMo-2-1124-7B"), {one, "model=olmo-2-7b"}), "lora_target_modules is not given, and PEFT's choice differs by model and release: say the layers with lora_target_modules or --set adapter.targets="));
  CHECK(said(trl("allenai/OLMo-2-1124-7B"), {one, "model=olmo-2-7b", R"(adapter.targets=["q_proj"])"}).adapter.targets == module_set{module::q_proj});
}

// swift/tuners/llamapro.py: 28 layers in 4 groups of 7, behind each a copy of its last; swift/optimizers/muon.py: matrices have one moment.
TEST_CASE("LLaMA Pro's copies of layers, and Muon") {
  const std::string qwen = "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 1024 ";
  const auto pro = said(qwen + "--tuner_type llamapro --llamapro_num_new_blocks 4");
  constexpr std::int64_t layer = 3584LL * 3584 * 2 + 3584LL * 512 * 2 + 3LL * 3584 * 18944 + 3584 + 2 * 512 + 2 * 3584;
  CHECK(pro.model.layers == 32);
  CHECK(count(pro.model).total.count() == 7'615'616'512 + 4 * layer);
  const auto at_save = [](const job& j, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)][r].count(); };
  CHECK(at_save(pro, row::model_parameters) == 2 * (7'615'616'512 + 4 * layer));
  CHECK(at_save(pro, row::optimizer_state) == 2 * 2 * 4 * layer);  // two moments in the format of the model
  CHECK(holds(refused(qwen + "--tuner_type llamapro --llamapro_num_new_blocks 5"), "must divide the model's layers, 28"));
  CHECK(holds(refused("CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen3-30B-A3B --max_length 1024 --tuner_type llamapro"), "llamapro"));
  const auto adam = said(qwen + "--tuner_type lora"), muon = said(qwen + "--tuner_type lora --optimizer muon");
  CHECK(muon.optimizer == optimizers::muon);
  CHECK(2 * at_save(muon, row::optimizer_state) == at_save(adam, row::optimizer_state));
}

TEST_CASE("adapters on a table are refused, not passed over") {
  const std::string lora = "CUDA_VISIBLE_DEVICES=0 swift sft --max_length 1024 --model Qwen/";
  const auto why = [&](const std::string& more) {
    try {
      const auto j = said(lora + more);
      const auto o = objection_to(j);
      return o ? std::string{o.sentence} : std::string{};
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
  };
  CHECK(holds(why("Qwen2.5-1.5B --target_modules q_proj embed_tokens"), "adapters on a table of embeddings are not modelled by this version"));
  CHECK(why("Qwen2.5-7B --target_modules q_proj lm_head") == "");
  CHECK(said(lora + "Qwen2.5-7B --target_modules q_proj lm_head").adapter.targets.has(module::head));
  CHECK(holds(refused(lora + "Qwen2.5-7B --target_modules all-linear embed_tokens"), "all linear layers, and others beside them"));
}

}  // namespace test_swift_rollouts

#endif
