// Distributed under the Boost Software License, Version 1.0.
// What a job leaves open, one thing at a time: of two jobs that differ in one key, the assumptions differ in those that the key decides, and no others.
#include <headroom/estimate.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/report/assumption.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

namespace test_assumptions {

namespace {

using namespace headroom;
using a = assumption;

/// Nothing of it is open. Eight GPUs, mixed precision under ZeRO's second stage.
job said() {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
        .optimizer = optimizers::adamw, .parallel = {.data = 8}, .sharding = zero(2), .batch = {.micro = 1, .sequence = 1024}, .attention = attention::sdpa,
        .loss = {.kind = loss_kind::full, .logits = formats::fp32}};
  j.optimizer.how = implementation::fused;
  j.sharding.reduce_bucket_size = j.sharding.allgather_bucket_size = j.sharding.stage3_prefetch_bucket_size = 500'000'000;
  j.environment.cublas_workspace = 32 * mib;
  j.batch.packed = true;
  j.attention = attention::flash;
  return j;
}
job under(const profile& f, sharding how = {}) {
  auto j = said();
  j.framework = f;
  j.sharding = how;
  return j;
}
job megatron() {
  auto j = under(frameworks::megatron, {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1});
  j.precision = frameworks::megatron.precision;
  j.batch.packed = false;
  j.attention = attention::te;
  j.loss = {.kind = loss_kind::vocab_parallel};
  return j;
}
job lora(job j) {
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::bf16};
  return j;
}
template <class Change>
job with(job j, Change change) {
  change(j);
  return j;
}

std::string names(const assumption_set& s) {
  std::string r;
  for (const auto& e : all_assumptions)
    if (s.has(e.id)) r += std::string(e.sentence.substr(0, 48)) + "… ";
  return r;
}
std::string names(std::initializer_list<assumption> list) {
  assumption_set s;
  for (const auto one : list) s.add(one);
  return names(s);
}
/// What the first job's assumptions have beside the second's, and the other way round.
void differ(const job& first, const job& second, std::initializer_list<assumption> more, std::initializer_list<assumption> less = {}) {
  for (const auto* j : {&first, &second})
    if (const auto why = check(*j, objecting{})) {
      FAIL_CHECK(std::string(why.sentence));
      return;
    }
  const auto one = settle(first).assumptions, two = settle(second).assumptions;
  assumption_set here, there;
  for (const auto& e : all_assumptions) {
    if (one.has(e.id) && !two.has(e.id)) here.add(e.id);
    if (two.has(e.id) && !one.has(e.id)) there.add(e.id);
  }
  CHECK(names(here) == names(more));
  CHECK(names(there) == names(less));
}

}  // namespace

TEST_CASE("where all is said, what is left holds for every job") {
  CHECK(names(settle(said()).assumptions) == names({a::steady_state, a::flash_backward_workspace, a::context_calibrated, a::host_runtime_not_counted, a::no_eval_no_generation}));
}

// Unsloth takes the kernel that is installed; transformers' models of every date run torch's own, which a job that leaves it open has not said.
TEST_CASE("attention that is left open is listed under transformers of every date") {
  int transformers = 0;
  for (const auto& f : frameworks::known) {
    const bool unsloth = f.label == "unsloth";
    if (!unsloth && f.label != "libtorch" && f.label != "hf-trainer" && f.label != "deepspeed") continue;
    CAPTURE(f.date);
    auto j = under(f);
    j.hardware.gpus_per_node = 1, j.parallel.data = 1;
    j.batch.packed = false;
    j.attention = attention::unset;
    if (unsloth) j = lora(j), j.precision = precisions::bf16, j.loss = {};
    CHECK(settle(j).assumptions.has(a::attention_sdpa) == !unsloth);
    transformers += unsloth ? 0 : 1;
  }
  CHECK(transformers >= 27);
}

TEST_CASE("each key that may be left open is listed where it is") {
  const auto j = said();
  differ(with(j, [](job& k) { k.precision = {}; }), j, {a::framework_precision});
  differ(with(j, [](job& k) { k.optimizer = {}; }), j, {a::optimizer_adamw, a::optimizer_implementation});
  differ(with(j, [](job& k) { k.optimizer.how = implementation::unset; }), j, {a::optimizer_implementation});
  differ(with(j, [](job& k) { k.optimizer = optimizers::sgd; }), j, {});        // its update makes nothing, however it is carried out
  differ(with(j, [](job& k) { k.parallel.data = 0; }), j, {a::data_parallel_from_gpus});
  const auto alone = with(j, [](job& k) { k.hardware.gpus_per_node = 1, k.parallel.data = 1; });
  differ(with(alone, [](job& k) { k.parallel.data = 0; }), alone, {});
  differ(with(j, [](job& k) { k.attention = attention::unset, k.batch.packed = false; }), with(j, [](job& k) { k.attention = attention::sdpa, k.batch.packed = false; }), {a::attention_sdpa});
  differ(with(j, [](job& k) { k.loss.kind = loss_kind::unset; }), j, {a::loss_of_framework});
  differ(with(j, [](job& k) { k.loss.logits = {}; }), j, {a::logits_format_of_framework});
  differ(with(j, [](job& k) { k.hardware.gpu = {}; }), j, {a::gpu_assumed});
  differ(with(j, [](job& k) { k.environment.cublas_workspace = bytes{-1}; }), j, {a::cublas_workspace_by_capability});
  differ(with(j, [](job& k) { k.environment.cublas_workspace = bytes{0}; }), j, {});
  const auto again = with(j, [](job& k) { k.recompute = recompute::full; });
  differ(again, with(again, [](job& k) { k.recompute.reentrant = choice::yes; }), {a::recompute_reentrant_default});
  differ(j, with(j, [](job& k) { k.recompute.reentrant = choice::yes; }), {});
  differ(lora(with(j, [](job& k) { k.adapter.format = {}; })), lora(j), {});
  differ(with(lora(j), [](job& k) { k.adapter.format = {}; }), lora(j), {a::adapter_format});
  const auto compared = with(j, [](job& k) { k.objective = {.kind = objective_kind::orpo, .code = method_code::trl}, k.batch.packed = false, k.batch.micro = 2, k.loss.kind = loss_kind::unset; });
  differ(with(compared, [](job& k) { k.objective.code = {}; }), compared, {a::method_of_trl});
  differ(with(compared, [](job& k) { k.loss.logits = {}; }), compared, {a::logits_format_of_framework});
  const auto m = megatron();
  differ(with(m, [](job& k) { k.loss.kind = {}; }), m, {a::loss_of_framework});
}

TEST_CASE("ZeRO's buckets are its own, each stage's") {
  const auto j = said();
  for (const bool first : {true, false})
    differ(with(j, [&](job& k) { (first ? k.sharding.reduce_bucket_size : k.sharding.allgather_bucket_size) = -1; }), j, {a::zero_buckets_default});
  differ(with(j, [](job& k) { k.sharding.stage3_prefetch_bucket_size = -1; }), j, {});
  const auto three = with(j, [](job& k) { k.sharding.stage = 3; });
  differ(three, j, {a::deepspeed_stage3_trace});
  differ(with(three, [](job& k) { k.sharding.stage3_prefetch_bucket_size = -1; }), three, {a::zero_buckets_default});
  differ(with(three, [](job& k) { k.sharding.allgather_bucket_size = -1; }), three, {});
  differ(with(j, [](job& k) { k.sharding = zero(0); }), j, {});
  differ(with(j, [](job& k) { k.sharding = zero(1); }), j, {a::zero_buckets_default});
}

TEST_CASE("what a sharding takes for granted") {
  const auto whole = under(frameworks::hf_trainer, ddp());
  differ(under(frameworks::hf_trainer), whole, {a::ddp_assumed});
  const auto alone = with(under(frameworks::hf_trainer), [](job& k) { k.hardware.gpus_per_node = 1, k.parallel.data = 1; });
  differ(alone, whole, {});
  differ(under(frameworks::hf_trainer, fsdp2()), whole, {a::fsdp_keeps_fp32_shards});
  differ(with(under(frameworks::hf_trainer, fsdp2()), [](job& k) { k.precision = precisions::bf16; }), whole, {});
  differ(with(under(frameworks::hf_trainer, fsdp2()), [](job& k) { k.precision = precisions::bf16_autocast; }), whole, {});
}

TEST_CASE("what a trainer is asked for beside a step, and what was passed over") {
  const auto j = said();
  differ(j, with(j, [](job& k) { k.evaluation = {.batch = 1, .loss_only = true}; }), {a::no_eval_no_generation});
  differ(with(j, [](job& k) { k.ignored_keys = 1; }), j, {a::keys_ignored});
  differ(with(j, [](job& k) { k.assumed_defaults = 1; }), j, {a::open_defaults});
  differ(with(j, [](job& k) { k.undated = true; }), j, {a::newest_framework});
  differ(with(j, [](job& k) { k.framework.recipes_change = true; }), j, {a::recipe_of_one_date});
  differ(with(j, [](job& k) { k.objective = {.kind = objective_kind::orpo, .code = method_code::trl}, k.batch.packed = false, k.batch.micro = 2, k.loss.kind = loss_kind::unset; }),
         with(j, [](job& k) { k.batch.packed = false; }), {a::methods_on_few_runs});
  differ(with(j, [](job& k) { k.offload.activations = place::on_cpu, k.recompute = recompute::full, k.recompute.reentrant = choice::no; }), j, {a::activations_offload_overlap});
  differ(with(j, [](job& k) { k.offload.parameters = place::on_cpu, k.offload.optimizer = place::on_cpu; }), with(j, [](job& k) { k.offload.optimizer = place::on_cpu; }), {a::parameters_stay_on_gpu});
  const auto three = with(j, [](job& k) { k.sharding.stage = 3, k.offload.optimizer = place::on_cpu; });
  differ(with(three, [](job& k) { k.offload.parameters = place::on_cpu; }), three, {});
}

TEST_CASE("who generates") {
  const auto made = with(said(), [](job& k) {
    k.objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::none};
    k.batch = {.micro = 2, .sequence = 1024, .accumulation = 4};
    k.loss.kind = {};
    k.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.4), .sleep = 1, .graphs = choice::no, .prompt = 512, .completion = 512};
  });
  const auto plain = with(said(), [](job& k) { k.batch.packed = false; });
  differ(made, plain, {a::methods_on_few_runs, a::generation_of_full_length}, {a::no_eval_no_generation});
  differ(with(made, [](job& k) { k.rollout.graphs = {}; }), made, {a::engine_graphs});
  differ(with(made, [](job& k) { k.rollout.graphs = choice::yes; }), made, {a::engine_graphs});
  const auto apart = with(made, [](job& k) { k.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 512, .completion = 512}; });
  differ(apart, made, {});
}

TEST_CASE("kinds of layers, and who computes them") {
  const auto j = said();
  // Expert by expert, or over rows that are sorted by expert, which are as large however they are shared out.
  const auto older = with(j, [](job& k) { k.framework = frameworks::deepspeed_202410; });
  differ(with(older, [](job& k) { k.model = models::mixtral_8x7b; }), older, {a::balanced_routing});
  differ(with(j, [](job& k) { k.model = models::mixtral_8x7b; }), j, {});
  const auto scores = with(j, [](job& k) { k.attention = attention::sdpa, k.batch.packed = false; });
  differ(scores, with(scores, [](job& k) { k.attention = attention::eager; }), {a::flash_backward_workspace});
  differ(scores, with(scores, [](job& k) { k.attention = attention::math; }), {a::flash_backward_workspace});
  const auto old = with(scores, [](job& k) { k.hardware.gpu = gpus::v100_sxm2_32gb, k.precision = precisions::bf16; });
  differ(old, with(old, [](job& k) { k.hardware.gpu = gpus::a100_sxm_80gb; }), {a::attention_by_math});
  const auto before = with(scores, [](job& k) { k.framework = frameworks::deepspeed_202410; });
  const auto capped = with(before, [](job& k) { k.model = models::gemma_2_9b; });
  differ(capped, with(capped, [](job& k) { k.attention = attention::eager; }), {a::attention_eager_for_softcap});
  differ(with(capped, [](job& k) { k.attention = attention::unset; }), with(capped, [](job& k) { k.attention = attention::eager; }), {a::attention_eager_for_softcap});  // not the fused kernel, too
  differ(with(capped, [](job& k) { k.attention = attention::eager; }), with(before, [](job& k) { k.attention = attention::eager; }), {});
  const auto since = with(scores, [](job& k) { k.framework = frameworks::deepspeed, k.model = models::gemma_2_9b; });  // the kernel that is asked for
  differ(since, with(since, [](job& k) { k.attention = attention::eager; }), {a::flash_backward_workspace});
  const auto fp8 = with(under(frameworks::torchtitan_202602, fsdp2()), [](job& k) { k.batch.packed = false, k.attention = attention::sdpa; });
  differ(with(fp8, [](job& k) { k.precision.compute = formats::fp8; }), fp8, {a::fp8_in_linear});
  differ(with(fp8, [](job& k) { k.compile = true; }), fp8, {a::compiled_layers});
}

TEST_CASE("adapters") {
  const auto j = lora(said());
  differ(with(j, [](job& k) { k.framework.adapters.in_fp32 = true; }), j, {a::adapters_in_fp32});
  differ(with(j, [](job& k) { k.framework.adapters.in_fp32 = true, k.adapter.format = formats::fp32; }), j, {});
  auto trainer = lora(under(frameworks::hf_trainer, fsdp1()));
  trainer.framework.autocast.converts_outputs = false;
  const auto converts = with(trainer, [](job& k) { k.framework.autocast.converts_outputs = true; });
  differ(converts, trainer, {a::sharded_adapters_unexplained});
  const auto two = with(trainer, [](job& k) { k.sharding.kind = sharding_kind::fsdp2; });
  differ(with(two, [](job& k) { k.framework.autocast.converts_outputs = true; }), two, {});
  const auto alone = with(trainer, [](job& k) { k.hardware.gpus_per_node = 1, k.parallel.data = 1, k.sharding = {}; });
  const auto packed = with(alone, [](job& k) { k.adapter.base = formats::nf4; });
  differ(packed, alone, {});
  differ(with(packed, [](job& k) { k.framework.autocast.converts_outputs = true; }), packed, {a::upcast_quantised_base});
  differ(with(packed, [](job& k) { k.framework.autocast.converts_outputs = true, k.adapter.rest = formats::fp32; }), packed, {});
  // Later micro-batches are shorter than the longest, where what is sharded peaks.
  const auto several = with(trainer, [](job& k) { k.batch.accumulation = 2; });
  differ(several, trainer, {});
  const auto padded = with(trainer, [](job& k) { k.batch.packed = false; });
  differ(with(padded, [](job& k) { k.batch.accumulation = 2; }), padded, {a::samples_of_one_length});
  const auto unsharded = with(padded, [](job& k) { k.sharding = ddp(); });
  differ(with(unsharded, [](job& k) { k.batch.accumulation = 2; }), unsharded, {});
  const auto full = with(padded, [](job& k) { k.adapter = {}; });
  differ(with(full, [](job& k) { k.batch.accumulation = 2; }), full, {});
}

TEST_CASE("samples whose lengths nobody gave") {
  const auto packed = under(frameworks::hf_trainer, ddp());
  const auto padded = with(packed, [](job& k) { k.batch.packed = false; });
  differ(padded, packed, {a::lengths_not_given});
  differ(with(padded, [](job& k) { k.batch.lengths = {.mean = 300, .deviation = 100, .longer = longer_samples::truncated}; }), padded, {a::lengths_not_replayed}, {a::lengths_not_given});
  differ(with(padded, [](job& k) { k.framework.lengths = {}; }), padded, {}, {a::lengths_not_given});
  differ(with(padded, [](job& k) { k.framework.lengths = {}, k.batch.lengths.order = sample_order::grouped; }), padded, {});
  const auto tuned = with(padded, [](job& k) { k.framework.lengths = micro_batch_lengths::of_longest_sample_with_adapters; });
  differ(tuned, padded, {}, {a::lengths_not_given});
  differ(lora(tuned), tuned, {a::lengths_not_given});
  // Said to be unknown, they are of any trainer; those of documents in a packed row are no lengths of rows.
  const auto unknown = [](job& k) { k.batch.lengths.unknown = true; };
  differ(with(padded, unknown), padded, {a::lengths_unknown}, {a::lengths_not_given});
  differ(with(with(padded, [](job& k) { k.framework.lengths = {}; }), unknown), padded, {a::lengths_unknown}, {a::lengths_not_given});
  differ(with(packed, unknown), packed, {});
}

TEST_CASE("optimizers") {
  const auto tune = with(under(frameworks::torchtune_202409, fsdp2()), [](job& k) { k.optimizer.how = implementation::fused; });
  const auto copies = with(tune, [](job& k) { k.framework.optimizer.foreach_copies = 0; });
  differ(with(copies, [](job& k) { k.optimizer.how = implementation::foreach; }), copies, {a::update_without_copies});
  differ(with(copies, [](job& k) { k.optimizer.how = implementation::foreach, k.framework.optimizer.foreach_copies = 1; }), copies, {});
  differ(with(copies, [](job& k) { k.framework.optimizer.how = implementation::foreach, k.optimizer.how = {}; }), copies, {a::optimizer_implementation, a::update_without_copies});
  const auto small = with(under(frameworks::torchtune_202409), [](job& k) { k.hardware.gpus_per_node = 1, k.parallel.data = 1, k.precision = precisions::bf16, k.framework.optimizer.int8_copies = 0; });
  const auto quantised = with(small, [](job& k) { k.optimizer = optimizers::adamw_8bit; });
  const auto paged = with(small, [](job& k) { k.optimizer = optimizers::paged_adamw_8bit; });
  const auto three = [](job& k) { k.framework.optimizer.int8_copies = 3; };
  differ(with(quantised, three), quantised, {a::int8_update_copies});
  differ(with(paged, three), paged, {});
  differ(with(small, three), small, {});
}

TEST_CASE("Megatron's own") {
  const auto j = megatron();
  differ(with(j, [](job& k) { k.framework.adapters.parallel = true; }), j, {a::swift_over_megatron});
  differ(with(j, [](job& k) { k.framework.pipeline.overlaps_experts = true; }), j, {a::experts_overlap_in_turn});
  differ(with(j, [](job& k) { k.optimizer = optimizers::muon, k.optimizer.how = implementation::fused; }), j, {a::rank_with_most_weights});
  const auto aware = with(j, [](job& k) { k.framework.optimizer.precision_aware = true, k.optimizer.state = formats::bf16; });
  differ(aware, j, {a::moments_copied_for_step});
  differ(with(aware, [](job& k) { k.framework.optimizer.unscales_moments = false; }), j, {});
  differ(with(aware, [](job& k) { k.optimizer.state = formats::fp32; }), j, {});
  const auto piped = with(j, [](job& k) { k.parallel = {.data = 4, .pipeline = 2}, k.batch.accumulation = 4; });
  differ(with(piped, [](job& k) { k.parallel.schedule = schedule::zero_bubble; }), piped, {a::zero_bubble_defers_all});
  const auto sparse = with(j, [](job& k) { k.model = models::mixtral_8x7b; });
  differ(sparse, j, {});
  const auto divided = with(sparse, [](job& k) { k.parallel.expert = 8; });
  differ(divided, j, {a::balanced_routing});
  differ(with(divided, [](job& k) { k.parallel.expert_imbalance_percent = 120; }), j, {});
  differ(with(divided, [](job& k) { k.model.experts.capacity_factor_percent = 100; }), j, {});
}

TEST_CASE("formats that a recipe leaves open") {
  const auto filled = [](precision p) {
    fill_open_formats(p);
    return p;
  };
  const auto open = filled({.parameters = formats::bf16});
  CHECK(open.compute == formats::bf16);
  CHECK(open.gradients == formats::bf16);
  CHECK(open.reduce == formats::bf16);
  CHECK(open.master == formats::none);
  CHECK(open.state == formats::bf16);
  CHECK(filled({.parameters = formats::bf16, .gradients = formats::fp32}).reduce == formats::fp32);
  CHECK(filled({.parameters = formats::bf16, .master = formats::fp32}).state == formats::fp32);
  CHECK(filled({.parameters = formats::fp32, .compute = formats::bf16}).gradients == formats::fp32);
  const precision all{"own", formats::bf16, formats::fp16, formats::fp32, formats::bf16, formats::fp32, formats::bf16};
  CHECK(filled(all) == all);
}

TEST_CASE("flash-attn's cross entropy is there where its attention is") {
  const auto scores = [](attention kernel) {
    auto j = with(said(), [](job& k) { k.objective = {.kind = objective_kind::dpo, .code = method_code::openrlhf, .reference = reference_way::precomputed}, k.batch.packed = false, k.batch.micro = 2, k.loss = {}; });
    j.attention = kernel;
    return settle(j).layer.scoring.scores;
  };
  CHECK(scores(attention::flash) == label_scores::in_kernel);
  CHECK(scores(attention::flash3) == label_scores::in_kernel);
  CHECK(scores(attention::sdpa) == label_scores::in_chunks);
}

TEST_CASE("what a report tells of its ranks") {
  const auto listed = [](job j, auto change) {
    j.model = models::qwen2_5_0_5b;
    change(j);
    return estimate(j).assumptions;
  };
  const auto as_it_is = [](job&) {};
  const auto zero2 = listed(said(), as_it_is);
  CHECK(zero2.has(a::nccl_derived));
  CHECK(zero2.has(a::reserved_without_fragmentation));
  CHECK(!zero2.has(a::reserved_by_pools));
  CHECK(!listed(said(), [](job& k) { k.hardware.gpus_per_node = 1, k.parallel.data = 1; }).has(a::nccl_derived));
  const auto units = listed(under(frameworks::hf_trainer, fsdp2()), as_it_is);
  CHECK(units.has(a::reserved_by_pools));
  CHECK(!units.has(a::reserved_without_fragmentation));
  CHECK(!units.has(a::eager_stages_on_two_runs));
  for (const std::int64_t stage : {1, 2, 3}) {
    const auto gathered = listed(megatron(), [&](job& k) { k.sharding = megatron_fsdp(stage); });
    CHECK(gathered.has(a::reserved_by_pools));
    CHECK(gathered.has(a::first_micro_batch_gathers) == (stage == 3));
  }
  CHECK(!listed(megatron(), as_it_is).has(a::reserved_by_pools));
  const auto stages = listed(under(frameworks::torchtitan_202602, fsdp2()), [](job& k) {
    k.model = models::llama_3_1_8b;
    k.parallel = {.data = 4, .pipeline = 2};
    k.batch = {.micro = 1, .sequence = 1024, .accumulation = 4};
    k.attention = attention::sdpa;
  });
  CHECK(stages.has(a::eager_stages_on_two_runs));
  CHECK(stages.has(a::reserved_by_pools));
}

}  // namespace test_assumptions
