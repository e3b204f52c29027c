// Distributed under the Boost Software License, Version 1.0.
// The jobs that other models' standings are, key by key: what they keep of the job that trains, and what they have of their own.
#include <headroom/headroom.hpp>

#include <both.hpp>

namespace test_standings {

using namespace headroom;

namespace {

constexpr number_format own = formats::fp16;

/// A job that says something of all that a standing may drop.
constexpr job policy(objective_kind kind, method_code code) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
        .offload = {.activations = place::on_cpu}, .batch = {.micro = 3, .sequence = 1024, .accumulation = 5}, .recompute = recompute::full, .loss = {.kind = loss_kind::full},
        .objective = {.kind = kind, .code = code, .reference = reference_way::copy}, .rollout = {.engine = engine_kind::trainer, .prompt = 24, .completion = 1000}, .evaluation = {.batch = 7, .loss_only = true},
        .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linear, .base = formats::nf4, .rest = formats::fp32}, .dropout = {{100'000}, {}, {}}};
  j.kernels = {fused_kernel::norm};
  j.trainable.add({.first_layer = 0, .last_layer = 1});
  return j;
}
constexpr job ppo(method_code code) { return policy(objective_kind::ppo, code); }
constexpr model_role scorer{.model = models::qwen2_5_7b};

}  // namespace

TEST_CASE("a reference: the model itself, in which nothing trains") {
  constexpr auto j = ppo(method_code::openrlhf);
  constexpr auto r = standing_of_other(j, {});
  BOTH(r.model == j.model);
  BOTH(r.precision == j.precision);
  BOTH(r.sharding == j.sharding);
  BOTH(r.batch.micro == 3);
  BOTH(r.objective == objective{.kind = objective_kind::sft, .code = method_code::openrlhf});
  BOTH(r.rollout == rollout{});
  BOTH(r.evaluation == evaluation{});
  BOTH(r.recompute == recompute::none);
  BOTH(r.trainable.all());
  BOTH(r.dropout == dropout{});
  BOTH(r.offload.activations == place::on_gpu);
  BOTH(r.kernels.has(fused_kernel::norm));
  BOTH(r.adapter == adapter{.kind = adapter_kind::lora, .rank = 1, .base = formats::nf4, .rest = formats::fp32});
  constexpr auto adapted = [] {
    auto k = ppo(method_code::openrlhf);
    k.kernels.add(fused_kernel::adapted_mlp);
    return standing_of_other(k, {});
  }();
  BOTH(adapted.kernels.empty());
}

TEST_CASE("a reward model: its own shape, format and place, with a score for its head") {
  constexpr auto j = ppo(method_code::openrlhf);
  constexpr auto r = standing_of_other(j, scorer);
  BOTH(r.model == models::qwen2_5_7b);
  BOTH(r.precision == j.precision);
  BOTH(r.sharding == zero(3));
  BOTH(r.offload.parameters == place::on_gpu);
  BOTH(r.objective.kind == objective_kind::classification);
  BOTH(!r.adapter.base.set());
  BOTH(!r.adapter.rest.set());
  constexpr auto own_way = standing_of_other(j, {.model = models::qwen2_5_7b, .parameters = own, .stage = 3, .parameters_at = place::on_cpu});
  BOTH(own_way.precision == precision{.parameters = own});
  BOTH(own_way.offload.parameters == place::on_cpu);
  BOTH(own_way.sharding == zero(3));
  // LLaMA-Factory's keeps its language head; a teacher has one, too.
  BOTH(standing_of_other(ppo(method_code::llama_factory), scorer).objective.kind == objective_kind::sft);
  BOTH(standing_of_other(policy(objective_kind::distill, method_code::trl), scorer).objective.kind == objective_kind::sft);
}

TEST_CASE("DeepSpeed divides what stands beside in its third stage alone, whose ever it is") {
  constexpr auto of = [](std::int64_t stage, std::int32_t own_stage) {
    auto j = ppo(method_code::openrlhf);
    j.sharding = zero(stage);
    auto role = scorer;
    role.stage = own_stage;
    return standing_of_other(j, role).sharding;
  };
  BOTH(of(3, -1) == zero(3));
  BOTH(of(2, -1) == zero(0));
  BOTH(of(3, 0) == zero(0));
  BOTH(of(3, 2) == zero(0));
  BOTH(of(2, 3).stage == 3);
}

TEST_CASE("verl's stand in bf16, on the host") {
  constexpr auto r = standing_of_other(policy(objective_kind::grpo, method_code::verl), {});
  BOTH(r.precision == precision{.parameters = formats::bf16});
  BOTH(r.offload.parameters == place::on_cpu);
}

TEST_CASE("a critic trains as the policy does, without its method, its loss and what of it trains") {
  constexpr auto j = [] {
    auto k = ppo(method_code::openrlhf);
    k.objective.critic = {.model = models::qwen2_5_7b, .parameters = own, .stage = 2};
    return k;
  }();
  constexpr auto r = standing_of_critic(j);
  BOTH(r.model == models::qwen2_5_7b);
  BOTH(r.precision.parameters == own);
  BOTH(r.precision.compute == j.precision.compute);
  BOTH(r.precision.master == j.precision.master);
  BOTH(r.sharding.stage == 2);
  BOTH(r.batch == j.batch);
  BOTH(r.recompute == j.recompute);
  BOTH(r.dropout == j.dropout);
  BOTH(r.rollout == rollout{});
  BOTH(r.evaluation == evaluation{});
  BOTH(r.loss == loss{});
  BOTH(r.trainable.all());
  BOTH(r.objective == objective{.kind = objective_kind::classification, .code = method_code::openrlhf});
  BOTH(r.adapter == j.adapter);
  constexpr auto trl = [] {
    auto k = ppo(method_code::trl);
    k.objective.critic = {.model = models::qwen2_5_7b};
    return standing_of_critic(k);
  }();
  BOTH(!trl.adapter.active());
  BOTH(trl.precision == precisions::bf16_mixed);
}

TEST_CASE("which models stand beside") {
  constexpr auto beside = [](objective_kind kind, const objective& o) {
    auto j = ppo(method_code::openrlhf);
    j.objective = o;
    j.objective.kind = kind;
    return has_other_models(j);
  };
  using enum objective_kind;
  BOTH(!beside(sft, {.frozen = scorer}));
  BOTH(beside(dpo, {.reference = reference_way::copy}));
  BOTH(beside(dpo, {.reference = reference_way::adapter_off}));
  BOTH(!beside(dpo, {.reference = reference_way::precomputed}));
  BOTH(!beside(simpo, {}));
  BOTH(beside(distill, {.frozen = scorer}));
  BOTH(!beside(ppo, {.reference = reference_way::none}));
  BOTH(beside(ppo, {.reference = reference_way::none, .frozen = scorer}));
  BOTH(beside(ppo, {.reference = reference_way::none, .reward_adapter = true}));
  BOTH(beside(ppo, {.reference = reference_way::none, .critic = scorer}));
  BOTH(model_role{.model = {.layers = 1}}.given());
  BOTH(!model_role{}.given());
  // Left open: an adapter that is switched off, but by OpenRLHF; a copy where there is none; nothing where nothing is compared.
  constexpr auto way = [](objective_kind kind, method_code code, bool adapted) {
    auto j = policy(kind, code);
    j.objective.reference = {};
    if (!adapted) j.adapter = {};
    return reference_of(j);
  };
  BOTH(way(dpo, method_code::trl, true) == reference_way::adapter_off);
  BOTH(way(dpo, method_code::openrlhf, true) == reference_way::copy);
  BOTH(way(dpo, method_code::trl, false) == reference_way::copy);
  BOTH(way(simpo, method_code::trl, true) == reference_way::none);
}

TEST_CASE("how many completions are generated, scored and trained on at once") {
  constexpr auto with = [](objective_kind kind, method_code code, std::int64_t micro, std::int64_t batch, bool critic, std::int32_t evaluated = 0) {
    auto j = policy(kind, code);
    j.evaluation.batch = evaluated;
    j.batch.micro = micro;
    j.rollout.batch = batch;
    if (critic) j.objective.critic = scorer;
    return j;
  };
  using enum objective_kind;
  // TRL's PPO: local_rollout_forward_batch_size, 64, of the 5 micro-batches of a step.
  BOTH(scored_at_once(with(ppo, method_code::trl, 3, 0, true)) == 15);
  BOTH(scored_at_once(with(ppo, method_code::trl, 13, 0, true)) == 64);
  BOTH(scored_at_once(with(ppo, method_code::trl, 3, 10, true)) == 10);
  BOTH(scored_at_once(with(ppo, method_code::trl, 1, 10, true)) == 5);
  BOTH(scored_at_once(with(ppo, method_code::openrlhf, 3, 0, true)) == 3);
  BOTH(scored_at_once(with(grpo, method_code::trl, 3, 0, false)) == 3);
  BOTH(scored_at_once(with(grpo, method_code::trl, 3, 10, false)) == 10);
  BOTH(scored_at_once(with(dpo, method_code::trl, 3, 0, false)) == 6);  // pairs
  BOTH(generated_at_once(with(grpo, method_code::trl, 3, 0, false)) == 15);
  BOTH(generated_at_once(with(online_dpo, method_code::trl, 3, 0, false)) == 6);
  BOTH(generated_at_once(with(ppo, method_code::openrlhf, 3, 0, true)) == 3);
  // An evaluation of GRPO's generates and scores by the same code: 20 at once are more than 3 and 15, PPO's and a preference's are not looked at.
  BOTH(scored_at_once(with(grpo, method_code::trl, 3, 0, false, 20)) == 20);
  BOTH(scored_at_once(with(grpo, method_code::trl, 3, 0, false, 2)) == 3);
  BOTH(generated_at_once(with(grpo, method_code::trl, 3, 0, false, 20)) == 20);
  BOTH(generated_at_once(with(grpo, method_code::trl, 3, 0, false, 14)) == 15);
  BOTH(scored_at_once(with(ppo, method_code::openrlhf, 3, 0, true, 20)) == 3);
  BOTH(scored_at_once(with(dpo, method_code::trl, 3, 0, false, 20)) == 6);
  BOTH(rewarded_at_once(with(grpo, method_code::trl, 3, 0, false)) == 15);
  BOTH(rewarded_at_once(with(ppo, method_code::openrlhf, 3, 0, true)) == 3);
  // Scores over a vocabulary of ten for each of 1,000 tokens of two completions, in fp32.
  BOTH(kept_scores(with(ppo, method_code::trl, 3, 0, true), 10, 2) == bytes{80'000});
  BOTH(kept_scores(with(ppo, method_code::unset, 3, 0, true), 10, 2) == bytes{80'000});
  BOTH(kept_scores(with(ppo, method_code::openrlhf, 3, 0, true), 10, 2) == bytes{0});
  BOTH(kept_scores(with(grpo, method_code::trl, 3, 0, true), 10, 2) == bytes{0});
}

TEST_CASE("heads of methods that read no vocabulary") {
  const auto head = [](objective_kind kind, std::int64_t classes) {
    job j{.model = models::qwen2_5_0_5b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.sequence = 64}, .objective = {.kind = kind}};
    j.model.classes = classes;
    return settle(j).model;
  };
  const auto one = head(objective_kind::reward, 0), three = head(objective_kind::classification, 3), none = head(objective_kind::embedding, 0);
  CHECK(one.head == head_kind::none);
  CHECK(!one.tied);
  CHECK(one.classes == 1);
  CHECK(three.classes == 3);
  CHECK(none.classes == 0);
  CHECK(!none.tied);
  CHECK(head(objective_kind::sft, 0).tied);
}

TEST_CASE("models that wait in host memory are in the node's, each once") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(3),
        .batch = {.micro = 1, .sequence = 1024}, .recompute = recompute::full, .objective = {.kind = objective_kind::distill, .code = method_code::trl, .frozen = {.model = models::llama_3_1_70b}}};
  const auto host = [&] { return estimate(j).host.pinned_per_node; };
  CHECK(host() == bytes{0});
  j.objective.frozen.parameters_at = place::on_cpu;
  // An eighth of each tensor in two bytes, pinned, in a power of two of its own. Of a layer q and o 16 MiB each, k and v 2, gate, up and down 56, which take 64;
  // two norms. Embedding and head 250.5 MiB each, which take 256, and a norm.
  CHECK(host() == 8 * (80 * (2 * 16_MiB + 2 * 2_MiB + 3 * 64_MiB + 2 * bytes{2048}) + 2 * 256_MiB + bytes{2048}));
}

}  // namespace test_standings
