// Distributed under the Boost Software License, Version 1.0.
// What lengths, evaluations, methods and rollouts may be, from both sides of each limit: one change makes a job that is accepted one that is
// refused, by the sentence that names it.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/objection.hpp>

#include <doctest/doctest.h>

#include "limits.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace test_method_limits {

using namespace headroom;

namespace {

using limits::check_all;
using limits::limit;

constexpr std::int64_t two_30 = std::int64_t{1} << 30, two_40 = std::int64_t{1} << 40;

constexpr job eight_gpus() {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
          .sharding = zero(3), .batch = {.micro = 2, .sequence = 1024}, .recompute = recompute::full};
}
job with_lengths() {
  auto j = eight_gpus();
  j.batch.lengths = {.mean = 800, .deviation = 600, .longer = longer_samples::truncated};
  return j;
}
job with_histogram() {
  auto j = eight_gpus();
  j.batch.lengths = {.histogram = {{{1, 5, 1}, {6, 9, 1}}}, .buckets = 2, .longer = longer_samples::truncated};
  return j;
}
job preference(reference_way way = reference_way::copy) {
  auto j = eight_gpus();
  j.objective = {.kind = objective_kind::dpo, .code = method_code::trl, .reference = way};
  return j;
}
adapter lora() { return {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}, .format = formats::bf16}; }
job grpo() {
  auto j = eight_gpus();
  j.objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none};
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.5), .sleep = 2, .prompt = 512, .completion = 512};
  return j;
}
job ppo(method_code code) {
  auto j = eight_gpus();
  j.objective = {.kind = objective_kind::ppo, .code = code, .reference = reference_way::copy, .frozen = {.model = models::llama_3_1_8b}, .critic = {.model = models::llama_3_1_8b}};
  j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512};
  if (code == method_code::llama_factory) j.objective.critic = {};
  return j;
}
job distilled() {
  auto j = eight_gpus();
  j.objective = {.kind = objective_kind::distill, .code = method_code::trl, .frozen = {.model = models::llama_3_1_70b}};
  return j;
}
job evaluated() {
  auto j = eight_gpus();
  j.evaluation = {.samples = 100, .batch = 4};
  return j;
}

}  // namespace

TEST_CASE("a histogram of lengths rises, from 1 to 2^30, in at most 16 buckets of 1 to 2^40 samples") {
  check_all(with_histogram(), {
      {"", [](job&) {}},
      {"", [](job& j) { for (std::int32_t i = 0; i < 16; ++i) j.batch.lengths.histogram[static_cast<std::size_t>(i)] = {i + 1, i + 1, 1}; j.batch.lengths.buckets = 16; }},
      {"at most 16 buckets", [](job& j) { j.batch.lengths.buckets = 17; }},
      {"batch.lengths needs", [](job& j) { j.batch.lengths.buckets = -1; }},
      {"must rise", [](job& j) { j.batch.lengths.histogram[0].from = 0; }},
      {"must rise", [](job& j) { j.batch.lengths.histogram[1].from = 5; }},
      {"must rise", [](job& j) { j.batch.lengths.histogram[1] = {8, 7, 1}; }},
      {"", [](job& j) { j.batch.lengths.histogram[1] = {7, 7, 1}; }},
      {"", [](job& j) { j.batch.lengths.histogram[1].to = two_30; }},
      {"must rise", [](job& j) { j.batch.lengths.histogram[1].to = two_30 + 1; }},
      {"from 1 to 2^40 samples", [](job& j) { j.batch.lengths.histogram[1].samples = 0; }},
      {"", [](job& j) { j.batch.lengths.histogram[1].samples = two_40; }},
      {"from 1 to 2^40 samples", [](job& j) { j.batch.lengths.histogram[1].samples = two_40 + 1; }},
      {"not both", [](job& j) { j.batch.lengths.mean = 1; }},
      // A sample of 1,024 tokens is as long as the sequence; all of 1,025 are deleted.
      {"", [](job& j) { j.batch.lengths.histogram[1].to = 1024; j.batch.lengths.longer = {}; }},
      {"longer is required", [](job& j) { j.batch.lengths.histogram[1].to = 1025; j.batch.lengths.longer = {}; }},
      {"", [](job& j) { j.batch.lengths.histogram[0] = {1024, 1024, 1}; j.batch.lengths.buckets = 1; j.batch.lengths.longer = longer_samples::deleted; }},
      {"", [](job& j) { j.batch.lengths.histogram[0] = {1, 1, 1}; j.batch.lengths.buckets = 1; }},  // a token each
      {"leaves no sample", [](job& j) { j.batch.lengths.histogram[0] = {1025, 1025, 1}; j.batch.lengths.buckets = 1; j.batch.lengths.longer = longer_samples::deleted; }},
  });
}

TEST_CASE("a distribution of lengths has a mean between what it is cut at") {
  check_all(with_lengths(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.batch.lengths.mean = two_30; }},
      {"lengths.mean", [](job& j) { j.batch.lengths.mean = two_30 + 1; }},
      {"batch.lengths needs", [](job& j) { j.batch.lengths.mean = -1; }},
      {"batch.lengths needs", [](job& j) { j.batch.lengths.mean = 0; }},
      {"batch.lengths needs", [](job& j) { j.batch.lengths = {.least = 1}; }},
      {"batch.lengths needs", [](job& j) { j.batch.lengths = {.most = 1}; }},
      {"", [](job& j) { j.batch.lengths.deviation = 0; }},
      {"", [](job& j) { j.batch.lengths.deviation = two_30; }},
      {"lengths.deviation", [](job& j) { j.batch.lengths.deviation = -1; }},
      {"lengths.deviation", [](job& j) { j.batch.lengths.deviation = two_30 + 1; }},
      {"least and most", [](job& j) { j.batch.lengths.least = -1; }},
      {"least and most", [](job& j) { j.batch.lengths.most = -1; }},
      {"", [](job& j) { j.batch.lengths.most = two_30; }},
      {"least and most", [](job& j) { j.batch.lengths.most = two_30 + 1; }},
      {"", [](job& j) { j.batch.lengths.most = 800; }},
      {"between least and most", [](job& j) { j.batch.lengths.most = 799; }},
      {"", [](job& j) { j.batch.lengths.least = 800; j.batch.lengths.most = 900; }},
      {"between least and most", [](job& j) { j.batch.lengths.least = 801; j.batch.lengths.most = 900; }},
      {"", [](job& j) { j.batch.lengths.least = 1024; j.batch.lengths.longer = longer_samples::deleted; }},
      {"leaves no sample", [](job& j) { j.batch.lengths.least = 1025; j.batch.lengths.longer = longer_samples::deleted; }},
      {"", [](job& j) { j.batch.lengths.least = 1025; }},
      {"longer is required", [](job& j) { j.batch.lengths.longer = {}; }},
      {"", [](job& j) { j.batch.lengths.longer = {}; j.batch.lengths.most = 1024; }},
      {"longer is required", [](job& j) { j.batch.lengths.longer = {}; j.batch.lengths.most = 1025; }},
  });
}

TEST_CASE("lengths are of trainers that pad, and of text") {
  check_all(with_lengths(), {
      {"pad_to_multiple", [](job& j) { j.batch.lengths.pad_to_multiple = -1; }},
      {"", [](job& j) { j.batch.lengths.pad_to_multiple = 64; }},
      {"pad_to_multiple", [](job& j) { j.batch.lengths.pad_to_multiple = two_30 + 1; }},
      {"lengths.samples", [](job& j) { j.batch.lengths.samples = -1; }},
      {"", [](job& j) { j.batch.lengths.samples = two_40; }},
      {"lengths.samples", [](job& j) { j.batch.lengths.samples = two_40 + 1; }},
      {"makes all as long", [](job& j) { j.framework = frameworks::megatron; j.sharding = {}; }},
      {"makes all as long", [](job& j) { j.framework = frameworks::llm_c; j.sharding = {}; }},
      {"makes all as long", [](job& j) { j.framework = frameworks::megatron; j.sharding = {}; j.batch.lengths = {.pad_to_multiple = 2}; }},
      {"", [](job& j) { j.batch.packed = true; j.attention = attention::flash; }},
      {"", [](job& j) { j.batch.packed = true; j.attention = attention::flash; j.batch.lengths.pad_to_multiple = 1; }},
      {"beside batch.packed", [](job& j) { j.batch.packed = true; j.attention = attention::flash; j.batch.lengths.pad_to_multiple = 2; }},
      {"beside batch.packed", [](job& j) { j.batch.packed = true; j.attention = attention::flash; j.batch.lengths.order = sample_order::sorted; }},
      {"text without an encoder", [](job& j) { j.model = models::t5_small; }},
      {"text without an encoder", [](job& j) { j.model.vision.kind = vision_kind::clip; j.model.vision.layers = 2; j.model.vision.hidden = 64; j.model.vision.heads = 4; j.model.vision.ffn = 128; j.model.vision.patch = 14; j.model.vision.channels = 3; j.model.vision.positions = 17; }},
      {"context parallelism", [](job& j) { j.parallel.context = 2; }},
  });
  auto generates = grpo();
  generates.batch.lengths = with_lengths().batch.lengths;
  check_all(generates, {{"beside a rollout", [](job&) {}}});
  // An order alone, or a multiple of 1, changes nothing, whoever trains.
  auto order = with_lengths();
  order.framework = frameworks::megatron;
  order.sharding = {};
  check_all(order, {
      {"", [](job& j) { j.batch.lengths = {.order = sample_order::grouped}; }},
      {"", [](job& j) { j.batch.lengths = {.pad_to_multiple = 1}; }},
  });
}

TEST_CASE("an evaluation says what it keeps, and of what") {
  check_all(evaluated(), {
      {"", [](job&) {}},
      {"evaluation.batch is required", [](job& j) { j.evaluation.batch = 0; }},
      {"", [](job& j) { j.evaluation.batch = 1; }},
      {"", [](job& j) { j.evaluation.samples = 1; }},
      {"evaluation.samples is required", [](job& j) { j.evaluation.samples = 0; }},
      {"", [](job& j) { j.evaluation = {.batch = 4, .loss_only = true}; }},
      {"nothing but losses", [](job& j) { j.evaluation = {.samples = 1, .batch = 4, .loss_only = true}; }},
      {"nothing but losses", [](job& j) { j.evaluation = {.batch = 4, .accumulation_steps = 1, .loss_only = true}; }},
      {"nothing but losses", [](job& j) { j.evaluation = {.batch = 4, .kept_bytes = 1, .loss_only = true}; }},
      {"transformers' Trainer", [](job& j) { j.framework = frameworks::libtorch; j.sharding = {}; }},
      {"transformers' Trainer", [](job& j) { j.framework = frameworks::megatron; j.sharding = {}; }},
      {"transformers' Trainer", [](job& j) { j.framework = frameworks::llm_c; j.sharding = {}; }},
      {"", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); }},
      {"layers spread over GPUs", [](job& j) { j.parallel.context = 2; }},
      {"layers spread over GPUs", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = {}; j.parallel.pipeline = 8; j.parallel.schedule = schedule::naive; }},
      {"encoders, or with towers that may train", [](job& j) { j.model = models::t5_small; }},
      {"", [](job& j) { j.evaluation.generate = 8; }},
      // A pair's losses are all that preference methods keep.
      {"", [](job& j) { j.objective = preference().objective; j.evaluation = {.batch = 4}; }},
      {"\"sft\" alone", [](job& j) { j.objective = preference().objective; j.evaluation = {.batch = 4, .generate = 8}; }},
      // A window of 1,032 tokens holds 1,024 and 8 that are generated.
      {"", [](job& j) { j.model.sliding_window = 1032; j.evaluation.generate = 8; }},
      {"sliding window", [](job& j) { j.model.sliding_window = 1031; j.evaluation.generate = 8; }},
      {"sliding window", [](job& j) { j.model.sliding_window = 1032; j.evaluation.generate = 8; j.evaluation.sequence = 1025; }},
  });
  auto generates = grpo();
  generates.evaluation = {.batch = 4, .loss_only = true};
  check_all(generates, {
      {"", [](job&) {}},
      {"", [](job& j) { j.objective.kind = objective_kind::rloo; j.evaluation.use_cache = choice::no; }},
      {"how many at once is all", [](job& j) { j.evaluation.samples = 1; }},
      {"how many at once is all", [](job& j) { j.evaluation.sequence = 512; }},
      {"of TRL's and ms-swift's GRPO and RLOO, and of ms-swift's distillation, alone", [](job& j) { j.objective.kind = objective_kind::online_dpo; j.objective.reference = reference_way::copy; j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}; }},
      {"of TRL's and ms-swift's GRPO and RLOO, and of ms-swift's distillation, alone", [](job& j) { j.objective.code = method_code::verl; j.framework = frameworks::hf_trainer; j.sharding = fsdp1(); j.attention = attention::flash; }},
  });
}

TEST_CASE("a reference is where a method has one, and as it can be") {
  check_all(preference(), {
      {"", [](job&) {}},
      {"", [](job& j) { j.objective.sft_weight = 1; }},
      {"sft_weight is modelled of", [](job& j) { j.objective.sft_weight = 1; j.objective.code = method_code::trl_0_28; }},
      {"", [](job& j) { j.objective.sft_weight = 1; j.objective.code = method_code::ms_swift_3_4; }},
      {"", [](job& j) { j.objective.sft_weight = 1; j.objective.code = method_code::llama_factory; }},
      {"sft_weight is modelled of", [](job& j) { j.objective.sft_weight = 1; j.objective.code = method_code::llama_factory; j.objective.kind = objective_kind::kto; }},
      {"objective.trainer's code", [](job& j) { j.objective.code = method_code::ms_swift_3_5; j.objective.kind = objective_kind::orpo; j.objective.reference = {}; }},
      {"", [](job& j) { j.objective.reference_at = place::on_cpu; }},
      {"reference_parameters_at must be", [](job& j) { j.objective.reference_at = place::on_cpu; j.sharding = zero(2); }},
      {"reference_parameters_at must be", [](job& j) { j.objective.reference_at = place::on_nvme; }},
      {"no reference model", [](job& j) { j.objective.kind = objective_kind::simpo; }},
      {"", [](job& j) { j.objective.kind = objective_kind::simpo; j.objective.reference = reference_way::none; }},
      {"", [](job& j) { j.objective.kind = objective_kind::simpo; j.objective.reference = {}; }},
      {"swapped in", [](job& j) { j.objective.reference = reference_way::swapped; }},
      {"needs an adapter", [](job& j) { j.objective.reference = reference_way::adapter_off; }},
      {"", [](job& j) { j.objective.reference = reference_way::adapter_off; j.adapter = lora(); }},
      {"copy of a quantised base", [](job& j) { j.adapter = lora(); j.adapter.base = formats::nf4; }},
      {"", [](job& j) { j.adapter = lora(); j.adapter.base = formats::nf4; j.objective.reference = reference_way::adapter_off; j.sharding = zero(2); }},
      {"", [](job& j) { j.objective.reference_format = formats::fp16; }},
      {"", [](job& j) { j.objective.reference_format = formats::fp16; j.objective.reference = {}; }},
      {"objective.reference must be copy", [](job& j) { j.objective.reference_format = formats::fp16; j.objective.reference = reference_way::none; }},
      {"objective.reference must be copy", [](job& j) { j.objective.reference_format = formats::fp16; j.objective.reference = reference_way::precomputed; }},
      {"objective.reference must be copy", [](job& j) { j.objective.reference_format = formats::fp16; j.objective.reference = {}; j.adapter = lora(); }},
      {"objective.reference must be copy", [](job& j) { j.objective.reference_format = formats::fp16; j.objective.reference = reference_way::adapter_off; j.adapter = lora(); }},
      {"must be fp32, bf16 or fp16", [](job& j) { j.objective.reference_format = formats::int8; }},
  });
}

TEST_CASE("a teacher: a language model with the student's vocabulary, where its weights can lie") {
  check_all(distilled(), {
      {"", [](job&) {}},
      {"needs objective.teacher", [](job& j) { j.objective.frozen = {}; }},
      {"", [](job& j) { j.objective.code = {}; }},
      {"", [](job& j) { j.objective.code = method_code::ms_swift; }},
      {"TRL's and ms-swift's GKD trainers", [](job& j) { j.objective.code = method_code::openrlhf; }},
      {"modelled as ms-swift computes them", [](job& j) { j.objective.divergence = divergence_kind::forward; }},
      {"modelled as ms-swift computes them", [](job& j) { j.objective.top_logits = 64; }},
      {"", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.divergence = divergence_kind::reverse; }},
      {"", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.top_logits = static_cast<std::int32_t>(j.model.vocab); j.objective.frozen = {}; }},
      {"from 0 to the vocabulary", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.top_logits = static_cast<std::int32_t>(j.model.vocab + 1); }},
      {"needs objective.teacher", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.frozen = {}; }},
      {"one teacher", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.reference = reference_way::adapter_off; j.adapter = lora(); }},
      {"", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.reference = reference_way::adapter_off; j.objective.frozen = {}; j.adapter = lora(); }},
      {"must be adapter-off", [](job& j) { j.objective.code = method_code::ms_swift; j.objective.reference = reference_way::copy; }},
      {"are of distillations", [](job& j) { j.objective = {.kind = objective_kind::dpo, .divergence = divergence_kind::forward}; }},
      {"are of distillations", [](job& j) { j.objective = {.kind = objective_kind::dpo, .top_logits = 1}; }},
      {"the student's vocabulary", [](job& j) { --j.objective.frozen.model.vocab; }},
      {"model.heads", [](job& j) { j.objective.frozen.model.heads = 0; }},
      {"", [](job& j) { j.objective.frozen.model.layers = 1 << 16; }},
      {"at most 2^16", [](job& j) { j.objective.frozen.model.layers = (1 << 16) + 1; }},
      {"name the language model", [](job& j) { j.objective.frozen.model.head = head_kind::none; }},
      {"name the language model", [](job& j) { j.objective.frozen.model.classes = 2; }},
      {"quantised teacher", [](job& j) { j.objective.frozen.parameters = formats::int8; }},
      {"", [](job& j) { j.objective.frozen.parameters = formats::fp16; }},
      {"is ZeRO's", [](job& j) { j.objective.frozen.stage = 0; j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); }},
      {"", [](job& j) { j.objective.frozen.stage = 0; }},
      {"on NVMe", [](job& j) { j.objective.frozen.parameters_at = place::on_nvme; }},
      {"", [](job& j) { j.objective.frozen.parameters_at = place::on_cpu; }},
      {"gathers its weights", [](job& j) { j.objective.frozen.parameters_at = place::on_cpu; j.objective.frozen.stage = 2; }},
      {"", [](job& j) { j.objective.frozen.parameters_at = place::on_cpu; j.objective.frozen.stage = 3; j.sharding = zero(2); }},
      {"gathers its weights", [](job& j) { j.objective.frozen.parameters_at = place::on_cpu; j.sharding = zero(2); }},
      {"", [](job& j) { j.sharding = zero(2); }},
  });
}

TEST_CASE("reward models and critics are PPO's, each trainer's in its own way") {
  check_all(ppo(method_code::openrlhf), {
      {"", [](job&) {}},
      {"", [](job& j) { j.objective.frozen = {}; }},
      {"needs objective.critic", [](job& j) { j.objective.critic = {}; }},
      {"a critic trains", [](job& j) { j.objective.critic.parameters_at = place::on_cpu; }},
      {"quantised", [](job& j) { j.objective.critic.parameters = formats::int8; }},
      {"quantised", [](job& j) { j.objective.frozen.parameters = formats::int8; }},
      {"reward_adapter is LLaMA-Factory's", [](job& j) { j.objective.reward_adapter = true; }},
      {"", [](job& j) { j.adapter = lora(); }},
      {"", [](job& j) { j.objective.code = method_code::deepspeed_chat; j.adapter = lora(); }},
      {"", [](job& j) { j.objective.code = method_code::deepspeed_chat; j.objective.critic.recompute = choice::no; j.objective.averages = true; }},
      {"have no backward", [](job& j) { j.objective.code = method_code::deepspeed_chat; j.objective.frozen.recompute = choice::no; }},
      {"objective.averages is DeepSpeed-Chat's", [](job& j) { j.objective.averages = true; }},
      {"objective.entropies is of ms-swift's GRPO", [](job& j) { j.objective.entropies = true; }},
      {"", [](job& j) { j.objective.code = method_code::deepspeed_chat; }},
      {"objective.critic is PPO's", [](job& j) { j.objective.kind = objective_kind::online_dpo; j.objective.code = method_code::trl; }},
      {"", [](job& j) { j.objective.kind = objective_kind::online_dpo; j.objective.code = method_code::trl; j.objective.critic = {}; }},
      {"quantised", [](job& j) { j.objective.kind = objective_kind::online_dpo; j.objective.code = method_code::trl; j.objective.critic = {}; j.objective.frozen.parameters = formats::int8; }},
      {"", [](job& j) { j.objective.kind = objective_kind::grpo; j.objective.code = method_code::trl; j.objective.critic = {}; }},
      {"as TRL runs them", [](job& j) { j.objective.kind = objective_kind::grpo; j.objective.critic = {}; }},
      {"as TRL runs them", [](job& j) { j.objective.kind = objective_kind::rloo; j.objective.code = method_code::ms_swift; j.objective.critic = {}; }},
      // Beside ms-swift's GRPO it is a teacher, whose words are the trained model's (swift/rlhf_trainers/grpo_trainer.py).
      {"", [](job& j) { j.objective.kind = objective_kind::grpo; j.objective.code = method_code::ms_swift; j.objective.critic = {}; }},
      {"with the trained model's vocabulary", [](job& j) { j.objective.kind = objective_kind::grpo; j.objective.code = method_code::ms_swift; j.objective.critic = {}; ++j.objective.frozen.model.vocab; }},
      {"and TRL's GRPO and RLOO", [](job& j) { j.objective.kind = objective_kind::dpo; j.objective.code = method_code::trl; j.objective.critic = {}; j.rollout = {}; }},
  });
  check_all(ppo(method_code::llama_factory), {
      {"", [](job&) {}},
      {"value head", [](job& j) { j.objective.critic = {.model = models::llama_3_1_8b}; }},
      {"in place of objective.reward", [](job& j) { j.objective.reward_adapter = true; j.adapter = lora(); }},
      {"needs an adapter", [](job& j) { j.objective.reward_adapter = true; j.objective.frozen = {}; }},
      {"", [](job& j) { j.objective.reward_adapter = true; j.objective.frozen = {}; j.adapter = lora(); }},
      {"reward_adapter is LLaMA-Factory's", [](job& j) { j.objective = preference().objective; j.objective.code = method_code::llama_factory; j.objective.reward_adapter = true; j.rollout = {}; }},
  });
}

TEST_CASE("whose methods are walked, over which trainers and models") {
  check_all(preference(), {
      {"DTensor workers", [](job& j) { j.objective.code = method_code::nemo_rl; }},
      {"framework must be hf-trainer or deepspeed", [](job& j) { j.framework = frameworks::libtorch; j.sharding = {}; }},
      {"as ms-swift runs them", [](job& j) { j.framework = frameworks::megatron; j.sharding = {}; }},
      {"framework must be hf-trainer or deepspeed", [](job& j) { j.framework = frameworks::llm_c; j.sharding = {}; }},
      {"", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); }},
      {"parallel.pipeline must be 1", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = {}; j.parallel.pipeline = 8; j.parallel.schedule = schedule::naive; }},
      {"", [](job& j) { j.objective = {.kind = objective_kind::reward, .code = method_code::llama_factory}; }},
      {"keeps its language head", [](job& j) { j.objective = {.kind = objective_kind::reward, .code = method_code::llama_factory}; j.framework = frameworks::hf_trainer; j.sharding = ddp(); }},
      {"", [](job& j) { j.objective = {.kind = objective_kind::reward, .code = method_code::llama_factory}; j.framework = frameworks::hf_trainer; j.sharding = ddp(); j.adapter = lora(); }},
      {"losses of whole logits", [](job& j) { j.loss.kind = loss_kind::fused_linear; }},
      {"", [](job& j) { j.loss.kind = loss_kind::full; }},
      {"decoders with a language head", [](job& j) { j.model = models::t5_small; }},
      {"decoders with a language head", [](job& j) { j.model.head = head_kind::none; }},
      {"compile must be false", [](job& j) { j.compile = true; }},
      {"at least 2", [](job& j) { j.objective.kind = objective_kind::kto; j.batch.micro = 1; }},
      {"", [](job& j) { j.objective.kind = objective_kind::kto; j.batch.micro = 2; }},
      {"", [](job& j) { j.objective.kind = objective_kind::kto; j.objective.code = method_code::llama_factory; j.batch.micro = 1; }},
      {"", [](job& j) { j.batch.micro = 1; }},
  });
  // Which trainer's loss of which method: the rows of models_loss, from the trainers' folders.
  struct row_of { method_code code; std::vector<objective_kind> kinds; };
  using enum objective_kind;
  const row_of rows[] = {
      {method_code::unset, {dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank}},
      {method_code::trl, {dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank}},
      {method_code::trl_0_28, {dpo}},
      {method_code::trl_0_14, {dpo, orpo, cpo, simpo}},
      {method_code::ms_swift, {dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank}},
      {method_code::llama_factory, {dpo, kto, orpo, simpo, reward}},
      {method_code::openrlhf, {dpo, reward}},
      {method_code::verl, {}}, {method_code::slime, {}}, {method_code::deepspeed_chat, {}}, {method_code::medicalgpt, {}}, {method_code::ms_swift_megatron, {}},
  };
  for (const auto& r : rows)
    for (const auto kind : {dpo, kto, orpo, cpo, simpo, reward, classification, embedding, rerank}) {
      auto j = preference(reference_way::unset);
      j.objective.kind = kind;
      j.objective.code = r.code;
      CAPTURE(static_cast<int>(r.code));
      CAPTURE(static_cast<int>(kind));
      CHECK(!objection_to(j) == (std::find(r.kinds.begin(), r.kinds.end(), kind) != r.kinds.end()));
    }
}

TEST_CASE("texts of an example, and scores of two words") {
  check_all(preference(reference_way::unset), {
      {"objective.texts is of embeddings and rerankers", [](job& j) { j.objective.texts = 2; }},
      {"", [](job& j) { j.objective = {.kind = objective_kind::embedding, .code = method_code::ms_swift, .texts = 1024}; }},
      {"from 1 to 1024", [](job& j) { j.objective = {.kind = objective_kind::embedding, .code = method_code::ms_swift, .texts = 1025}; }},
      {"", [](job& j) { j.objective = {.kind = objective_kind::rerank, .code = method_code::ms_swift, .texts = 8, .generative = true}; }},
      {"objective.generative is of ms-swift's rerankers", [](job& j) { j.objective = {.kind = objective_kind::rerank, .code = method_code::trl, .generative = true}; }},
      {"objective.generative is of ms-swift's rerankers", [](job& j) { j.objective = {.kind = objective_kind::embedding, .code = method_code::ms_swift, .generative = true}; }},
  });
}

TEST_CASE("methods over Megatron's layers are ms-swift's") {
  auto base = preference(reference_way::copy);
  base.framework = frameworks::megatron_swift;
  base.sharding = {};
  base.objective.code = method_code::ms_swift_megatron;
  check_all(base, {
      {"", [](job&) {}},
      {"as ms-swift runs them", [](job& j) { j.objective.code = method_code::trl; }},
      {"as ms-swift runs them", [](job& j) { j.objective.kind = objective_kind::orpo; j.objective.reference = {}; }},
      {"", [](job& j) { j.objective.kind = objective_kind::kto; }},
      {"", [](job& j) { j.objective = {.kind = objective_kind::reward, .code = method_code::ms_swift_megatron}; }},
      {"not modelled with pipeline stages", [](job& j) { j.parallel.pipeline = 2; }},
      {"", [](job& j) { j.parallel.pipeline = 2; j.objective = {.kind = objective_kind::reward, .code = method_code::ms_swift_megatron}; }},
      {"Megatron-FSDP, fp8", [](job& j) { j.precision = precisions::fp8; }},
      {"without multi-token prediction", [](job& j) { j.model.mtp_layers = 1; }},
      {"offload.activations must be", [](job& j) { j.objective = {.kind = objective_kind::reward, .code = method_code::ms_swift_megatron}; j.offload.activations = place::on_cpu; j.framework.checkpointing.offloaded_modules = 1; j.recompute = {}; }},
  });
}

TEST_CASE("the loss that balances experts is transformers'") {
  auto base = preference(reference_way::unset);
  base.objective = {};
  base.model = *models::find("qwen3-30b-a3b");
  base.loss.balances_experts = true;
  check_all(base, {
      {"", [](job&) {}},
      {"of mixtures of experts", [](job& j) { j.model = models::llama_3_1_8b; }},
      {"with latent attention", [](job& j) { j.model = models::deepseek_v3; }},
      {"of mixtures of experts", [](job& j) { j.loss.kind = loss_kind::cut; }},
      {"of mixtures of experts", [](job& j) { j.objective = {.kind = objective_kind::dpo}; }},
      {"is of transformers", [](job& j) { j.framework = frameworks::megatron; j.sharding = {}; }},
  });
}

TEST_CASE("a rollout: who generates, with how much, beside whom") {
  check_all(grpo(), {
      {"", [](job&) {}},
      {"trains on what the model generates", [](job& j) { j.rollout = {}; }},
      {"rollout.engine says who generates", [](job& j) { j.rollout.engine = {}; }},
      {"", [](job& j) { j.rollout = {}; j.objective = {}; }},
      {"rollout.engine is required", [](job& j) { j.rollout = {.prompt = 1}; j.objective = {}; }},
      {"rollout is for methods", [](job& j) { j.objective = preference().objective; }},
      {"objective.reference is required", [](job& j) { j.objective.reference = {}; }},
      {"rollout.prompt and rollout.completion are required", [](job& j) { j.rollout.prompt = 0; }},
      {"rollout.prompt and rollout.completion are required", [](job& j) { j.rollout.completion = 0; }},
      {"", [](job& j) { j.rollout.prompt = 1; j.rollout.completion = 1023; }},
      {"", [](job& j) { j.rollout.prompt = 1023; j.rollout.completion = 1; }},
      {"batch.sequence must be", [](job& j) { ++j.rollout.prompt; }},
      {"batch.sequence must be", [](job& j) { j.rollout.prompt = two_40 + 1; }},
      {"batch.sequence must be", [](job& j) { j.rollout.completion = two_40 + 1; }},
      // 2 × 1 × 8 completions of a step; verl counts prompts.
      {"", [](job& j) { j.rollout.generations = 16; }},
      {"rollout.generations must divide", [](job& j) { j.rollout.generations = 3; }},
      {"", [](job& j) { j.rollout.generations = 3; j.batch.accumulation = 3; }},
      {"rollout.placement is required", [](job& j) { j.rollout.placement = {}; }},
      {"rollout.gathers is for", [](job& j) { j.rollout.gathers = choice::yes; }},
      {"rollout.gpus is for", [](job& j) { j.rollout.gpus = 2; }},
      {"rollout.share is required", [](job& j) { j.rollout.share = {}; }},
      {"rollout.sleep is required", [](job& j) { j.rollout.sleep = -1; }},
      {"", [](job& j) { j.rollout.sleep = 0; j.rollout.share = memory_share::of(0.3); }},
      {"", [](job& j) { j.rollout.sleep = 1; }},
      {"SGLang gives back", [](job& j) { j.rollout.engine = engine_kind::sglang; }},
      {"", [](job& j) { j.rollout.engine = engine_kind::sglang; j.rollout.sleep = 0; }},
      {"must divide the GPUs", [](job& j) { j.rollout.tensor = 2; j.hardware.gpus_per_node = 7; }},
      {"", [](job& j) { j.rollout.tensor = 8; }},
      {"rollout.tensor must be 1 or more", [](job& j) { j.rollout.tensor = 0; }},
      {"kv_format must be", [](job& j) { j.rollout.kv_format = formats::nf4; }},
      {"", [](job& j) { j.rollout.kv_format = formats::fp8; }},
      {"rollout.format must be", [](job& j) { j.rollout.format = formats::fp8; }},
      {"NVIDIA's alone", [](job& j) { j.hardware.gpu = gpus::mi300x_192gb; }},
      {"too small", [](job& j) { j.rollout.share = memory_share::of(0.1); }},
      {"are modelled as TRL, ms-swift, verl and OpenRLHF run them", [](job& j) { j.objective.code = method_code::slime; }},
      {"", [](job& j) { j.objective.code = method_code::trl_0_29; }},
      {"", [](job& j) { j.objective.code = method_code::trl_0_19; }},
      {"TRL's trainer puts nothing", [](job& j) { j.objective.code = method_code::trl_0_19; j.rollout.trainer_moves = {trainer_part::weights}; }},
      {"TRL and NeMo-RL have none", [](job& j) { j.objective.code = method_code::trl_0_22; j.rollout.sync_groups = 2; }},
      {"are modelled as TRL, ms-swift, verl and OpenRLHF run them", [](job& j) { j.objective.code = method_code::trl_0_28; }},
      {"are modelled as TRL, ms-swift, verl and OpenRLHF run them", [](job& j) { j.objective = {.kind = objective_kind::rloo, .code = method_code::trl_0_19, .reference = reference_way::none}; }},
      {"sync_bucket_mib is verl's", [](job& j) { j.rollout.sync_bucket_mib = 0; }},
      {"TRL and NeMo-RL have none", [](job& j) { j.rollout.sync_groups = 2; }},
      {"TRL's trainer puts nothing", [](job& j) { j.rollout.trainer_moves = {trainer_part::weights}; }},
      {"full training with an engine", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); j.adapter = lora(); }},
      {"", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); }},
      {"full training with an engine", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}; }},
  });
}

TEST_CASE("an engine on GPUs of its own") {
  auto j = grpo();
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 512};
  check_all(j, {
      {"", [](job&) {}},
      {"", [](job& k) { k.rollout.gpus = 4; k.rollout.tensor = 4; }},
      {"rollout.gpus is for", [](job& k) { k.rollout.gpus = 6; k.rollout.tensor = 4; }},
      {"sleep and trainer_moves are for", [](job& k) { k.rollout.sleep = 1; }},
      {"", [](job& k) { k.rollout.sleep = 0; }},
      {"sleep and trainer_moves are for", [](job& k) { k.objective.code = method_code::ms_swift; k.rollout.trainer_moves = {trainer_part::optimizer}; }},
  });
}

TEST_CASE("generation by the trained module has nothing of an engine") {
  auto j = grpo();
  j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512};
  check_all(j, {
      {"", [](job&) {}},
      {"", [](job& k) { k.rollout.placement = rollout_place::colocated; }},
      {"the trained module itself", [](job& k) { k.rollout.placement = rollout_place::separate; }},
      {"the trained module itself", [](job& k) { k.rollout.share = memory_share::of(0.5); }},
      {"the trained module itself", [](job& k) { k.rollout.tensor = 2; }},
      {"the trained module itself", [](job& k) { k.rollout.sleep = 0; }},
      {"the trained module itself", [](job& k) { k.rollout.format = formats::bf16; }},
      {"the trained module itself", [](job& k) { k.rollout.kv_format = formats::bf16; }},
      {"the trained module itself", [](job& k) { k.objective.code = method_code::ms_swift; k.rollout.trainer_moves = {trainer_part::optimizer}; }},
      {"", [](job& k) { k.rollout.gathers = choice::no; }},
      {"is DeepSpeed-Chat's", [](job& k) { k.rollout.engine = engine_kind::hybrid; }},
      {"ZeRO's third stage", [](job& k) { k.framework = frameworks::hf_trainer; k.sharding = ddp(); k.rollout.gathers = choice::no; }},
      {"", [](job& k) { k.model.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 16, .conv = 4}; k.model.pattern.add({mixer_kind::gated_delta_net}); k.model.pattern.add({mixer_kind::attention}); }},
      {"of Gated DeltaNet alone", [](job& k) { k.model.ssm = {.heads = 64, .head_dim = 64, .state = 128, .groups = 8, .conv = 4}; k.model.pattern.add({mixer_kind::mamba2}); k.model.pattern.add({mixer_kind::attention}); }},
  });
}

TEST_CASE("what each trainer does around an engine") {
  auto swift = grpo();
  swift.objective.code = method_code::ms_swift;
  check_all(swift, {
      {"", [](job&) {}},
      {"", [](job& j) { j.rollout.trainer_moves = {trainer_part::weights, trainer_part::optimizer}; }},
      {"beside an engine that never sleeps", [](job& j) { j.rollout.sleep = 0; j.rollout.share = memory_share::of(0.3); j.rollout.trainer_moves = {trainer_part::optimizer}; }},
      {"of ms-swift, one process", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp2(); }},
      {"", [](job& j) { j.sharding = zero(2); j.rollout.trainer_moves = {trainer_part::weights}; }},
      {"", [](job& j) { j.sharding = zero(2); j.rollout.trainer_moves = {trainer_part::optimizer}; }},
      {"", [](job& j) { j.sharding = zero(2); j.rollout.trainer_moves = {trainer_part::weights}; j.adapter = lora(); }},
      {"", [](job& j) { j.rollout.sync_groups = 2; }},
      {"sync_bucket_mib is verl's", [](job& j) { j.rollout.sync_bucket_mib = 512; }},
  });
  auto verl = grpo();
  verl.objective.code = method_code::verl;
  verl.framework = frameworks::hf_trainer;
  verl.sharding = fsdp1();
  verl.attention = attention::flash;
  check_all(verl, {
      {"", [](job&) {}},
      {"attention must be \"flash\"", [](job& j) { j.attention = attention::sdpa; }},
      {"of verl, FSDP", [](job& j) { j.sharding = ddp(); }},
      {"of verl, FSDP", [](job& j) { j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}; }},
      {"", [](job& j) { j.rollout.generations = 3; }},
      // 128,256 rows of 4,096 in bf16 are 1,002 MiB.
      {"", [](job& j) { j.rollout.sync_bucket_mib = 1002; }},
      {"largest tensor", [](job& j) { j.rollout.sync_bucket_mib = 1001; }},
      {"", [](job& j) { j.rollout.sync_bucket_mib = 0; }},
  });
  auto open = ppo(method_code::openrlhf);
  open.rollout = grpo().rollout;
  check_all(open, {
      {"", [](job&) {}},
      {"", [](job& j) { j.rollout.trainer_moves = {trainer_part::optimizer}; }},
      {"write \"optimizer\" alone", [](job& j) { j.rollout.trainer_moves = {trainer_part::weights}; }},
      {"run DeepSpeed's engines", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = ddp(); }},
      {"run DeepSpeed's engines", [](job& j) { j.objective.code = method_code::deepspeed_chat; j.rollout = {.engine = engine_kind::trainer, .prompt = 512, .completion = 512}; j.framework = frameworks::hf_trainer; j.sharding = ddp(); }},
      {"must be \"trainer\"", [](job& j) { j.objective.code = method_code::deepspeed_chat; }},
      {"must be \"trainer\"", [](job& j) { j.objective.code = method_code::trl; }},
  });
  check_all(ppo(method_code::llama_factory), {
      {"must be \"trainer\"", [](job& j) { j.rollout = grpo().rollout; }},
      {"of LLaMA-Factory's PPO", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = fsdp1(); }},
      {"", [](job& j) { j.framework = frameworks::hf_trainer; j.sharding = ddp(); }},
  });
  check_all(ppo(method_code::verl), {{"attention must be \"flash\"", [](job&) {}}});
  check_all(ppo(method_code::ms_swift), {{"objective.trainer", [](job&) {}}});
}

}  // namespace test_method_limits
