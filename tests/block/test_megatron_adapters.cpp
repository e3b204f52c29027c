// Distributed under the Boost Software License, Version 1.0.
// LoRA beside Megatron's layers (modelscope/ms-swift swift/megatron/tuners/lora.py, LoraParallelLinear), added up by hand.
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

namespace test_megatron_adapters {

using namespace headroom;

namespace {

/// T = 512 tokens, h = 1024, 16 heads of 64 and 4 of keys, f = 2816, rank 8, two ranks, 2 bytes a number.
job dense(bool sequence_parallel) {
  job j;
  j.model = {.layers = 4, .hidden = 1024, .heads = 16, .kv_heads = 4, .head_dim = 64, .ffn = 2816, .vocab = 32000};
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 2};
  j.framework = frameworks::megatron_swift;
  j.parallel = {.data = 1, .tensor = 2, .sequence = sequence_parallel};
  j.batch = {.micro = 1, .sequence = 512};
  j.attention = attention::flash;
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  return j;
}

std::int64_t saved_by_a_layer(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  return detail::walk_divided_layer(sc, trained_modules(j, -1), s.model.kind_of(0), false).saved.total.count();
}

job experts() {
  job j;
  j.model = models::qwen3_30b_a3b;
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 2};
  j.framework = frameworks::megatron_swift;
  j.parallel = {.data = 2, .expert = 2};
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.batch = {.micro = 1, .sequence = 4096};
  j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 1};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  return j;
}

}  // namespace

// Frozen layers alone: norms, attention and the activation's input of 2 · f features.
TEST_CASE("adapters of other trainers over Megatron are not walked") {
  constexpr std::int64_t t = 512, h = 1024, f = 2816;
  auto j = dense(true);
  j.framework.adapters.parallel = false;
  const auto norm = 2 * (t / 2) * h + 4 * (t / 2), heads = 2 * t * (h + 256 + 256 + h) / 2 + 4 * t * 8;
  CHECK(saved_by_a_layer(j) == 2 * norm + heads + 2 * t * 2 * f / 2);
  CHECK(cost(j).memory.value < cost(dense(true)).memory.value);
}

// Of a frozen matrix nothing is saved. A saves what enters it, B what A makes: T·r numbers.
TEST_CASE("a layer with adapters saves what A and B read") {
  constexpr std::int64_t t = 512, h = 1024, f = 2816, low = 2 * t * 8;
  // Norm: x and a statistic of each token. q, k, v, their result and its log-sum-exp of half the heads; A of the output reads the result.
  constexpr std::int64_t heads = 2 * t * (h + 256 + 256 + h) / 2 + 4 * t * 8;
  constexpr std::int64_t mlp = 2 * t * (2 * f + f) / 2;
  const auto norm = [](std::int64_t rows) { return 2 * rows * h + 4 * rows; };
  // Under sequence parallelism A reads the gathered result of the norm, without it that itself.
  CHECK(saved_by_a_layer(dense(true)) == 2 * (norm(t / 2) + 2 * t * h + 2 * low) + heads + mlp);
  CHECK(saved_by_a_layer(dense(true)) == 8'833'024);
  CHECK(saved_by_a_layer(dense(false)) == 2 * (norm(t) + 2 * t * h + 2 * low) + heads + mlp);
  // Adapters of attention alone: the MLP saves its norm's input and its statistic, and what the activation reads.
  auto some = dense(true);
  some.adapter.targets = {module::q_proj, module::k_proj, module::v_proj, module::o_proj};
  CHECK(saved_by_a_layer(some) == 2 * norm(t / 2) + 2 * t * h + 2 * low + heads + 2 * t * 2 * f / 2);
  // Adapters of the MLP's first layer alone: nothing reads attention's norm again, and nobody saves what the activation makes.
  some.adapter.targets = {module::gate_proj, module::up_proj};
  CHECK(saved_by_a_layer(some) == 2 * norm(t / 2) + 2 * t * h + low + heads + 2 * t * 2 * f / 2);
  // With dropout A reads what that left, and one byte a number says where: of both halves' norms, the result of attention and the activation.
  auto drops = dense(true);
  drops.adapter.dropout = probability::of(0.05);
  CHECK(saved_by_a_layer(drops) == 8'833'024 + 2 * t * h + t * h / 2 * 3 + t * f / 2);
}

// 8 × (2048 + 5120 + 4096 + 2048) numbers a layer beside q, k, v (one layer) and the output, 8 × (2048 + 1536 + 768 + 2048) beside each expert.
TEST_CASE("two ranks share the adapters of experts") {
  const auto j = experts();
  constexpr std::int64_t attention = 48 * 8 * (2048 + 5120 + 4096 + 2048), all_experts = 48 * 128 * 8 * (2048 + 1536 + 768 + 2048), here = attention + all_experts / 2;
  CHECK(here == 162'398'208);
  const auto r = estimate(j).ranks[0];
  CHECK(r.at_peak[row::adapters].count() == 2 * here);
  CHECK(r.at_peak[row::gradients].count() == 4 * here);
  // Both ranks hold the same attention, and other experts: master copies and two moments in fp32.
  CHECK(r.at_peak[row::master_parameters].count() == 4 * (attention / 2 + all_experts / 2));
  CHECK(r.at_peak[row::optimizer_state].count() == 8 * (attention / 2 + all_experts / 2));
  // Weights: 30,532,122,624 in all, of which 128 experts in 48 layers of 3 × 2048 × 768 are shared.
  CHECK(r.at_peak[row::model_parameters].count() == 2 * (30'532'122'624 - 48L * 64 * 3 * 2048 * 768));
  const auto replayed = replay(j).ranks[0];
  for (const auto of : {row::adapters, row::gradients, row::master_parameters, row::optimizer_state, row::model_parameters}) {
    CAPTURE(static_cast<int>(of));
    const auto low = r.at_peak[of].count(), high = replayed.at_peak[of].count();
    CHECK(high >= low);
    CHECK(high <= low + 512 * 48 * 140);  // each tensor is rounded to 512 bytes
  }
}

// Balanced, a rank's experts compute 4096 × 8 tokens. Without adapters they save what their activation reads, with them what enters both
// multiplications (2048 and 768 numbers a token) and what both A make.
TEST_CASE("frozen experts save nothing for themselves") {
  auto some = experts();
  some.adapter.targets = {module::q_proj, module::k_proj, module::v_proj, module::o_proj};
  constexpr std::int64_t tokens = 4096 * 8;
  CHECK(saved_by_a_layer(experts()) - saved_by_a_layer(some) == tokens * 2 * (2048 + 768 + 8 + 8));
}

// Of column-parallel layers B is divided over two ranks, of row-parallel ones A: rank 8, four layers.
TEST_CASE("two ranks divide one matrix of each adapter") {
  CHECK(estimate(dense(true)).ranks[0].at_peak[row::adapters].count() == 2 * 4 * 8 * (1024 + 1536 / 2 + 1024 / 2 + 1024 + 1024 + 2 * 2816 / 2 + 2816 / 2 + 1024));
}

TEST_CASE("adapters that nobody adds to Megatron's layers are refused") {
  const auto why = [](auto change) {
    auto j = dense(false);
    change(j);
    const auto o = objection_to(j);
    return o ? std::string{o.sentence} : std::string{};
  };
  CHECK(why([](job&) {}).empty());
  CHECK(why([](job& j) { j.framework = frameworks::megatron; }).find("framework.version must be \"Megatron-SWIFT\"") != std::string::npos);
  CHECK(why([](job& j) { j.adapter.kind = adapter_kind::dora; }).find("no DoRA") != std::string::npos);
  CHECK(why([](job& j) { j.adapter.targets = {module::q_proj}; }).find("all or none of each") != std::string::npos);
  CHECK(why([](job& j) { j.adapter.base = formats::nf4; }).find("no quantised base") != std::string::npos);
  CHECK(why([](job& j) { j.adapter.format = formats::fp32; }).find("parameters' format") != std::string::npos);
  CHECK(why([](job& j) { j.trainable = {{.modules = {module::head}}}; }).find("partly frozen") != std::string::npos);
}

}  // namespace test_megatron_adapters
