// Distributed under the Boost Software License, Version 1.0.
// Megatron-FSDP, counted by hand from Megatron-LM core/distributed/fsdp/src/megatron_fsdp/{megatron_fsdp,param_and_grad_buffer}.py, and
// held to peaks of its functional tests (tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp2_zp_z3_resume_fsdp_dtensor*).
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include "both.hpp"

#include <doctest/doctest.h>

namespace test_megatron_fsdp {

using namespace headroom;
using namespace headroom::literals;

namespace {

/// gpt3_mcore_te_tp2_zp_z3_resume_fsdp_dtensor: 12 layers of 512, tensor 2, micro-batches of 4 × 1024.
job functional_test(const gpu& on, std::int64_t data) {
  job j;
  j.model = {.layers = 12, .hidden = 512, .heads = 8, .ffn = 2048, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm,
             .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true, .position = position_kind::learned, .max_positions = 1024,
             .vocab = 50257, .vocab_multiple = 128, .tied = true};
  j.hardware = {.gpu = on, .gpus_per_node = 2 * data};
  j.framework = frameworks::megatron;
  j.framework.gradients.fused_accumulation = false;
  j.precision = frameworks::megatron.precision;  // megatron-fsdp-main-grads-dtype and -grad-comm-dtype fp32
  j.parallel = {.data = data, .tensor = 2};
  j.sharding = megatron_fsdp();
  j.batch = {.micro = 4, .sequence = 1024, .accumulation = 8 / data};
  j.attention = attention::te;
  j.dropout = {{100'000}, {100'000}, {100'000}};
  j.environment.cublas_workspace = 32_MiB;
  return j;
}

job llama(std::int64_t gpus) {
  job j{.model = models::llama_3_1_8b, .framework = frameworks::megatron, .sharding = megatron_fsdp(), .batch = {.micro = 1, .sequence = 4096}};
  j.attention = attention::te;
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = gpus / 8, .gpus_per_node = 8};
  return j;
}

detail::fsdp_layout layout_of(const job& j) {
  const auto s = settle(j);
  return detail::fsdp_layout_of(s, weights_of(s.model));
}

constexpr std::int64_t layer = 218'112'000;  // Llama-3.1-8B's: 2·4096² + 2·4096·1024 + 3·4096·14336 + 2·4096

}  // namespace

// A layer on one of two tensor-parallel ranks: qkv 768 × 512, projection 512 × 256, MLP 1024 × 512 and 512 × 1024 make 1,572,864, their
// biases 768 + 512 + 1024 + 512, two norms 4 × 512: 1,577,728. The widest row, 1024, is a multiple of the others: a multiple of 4 × 1024 is
// 386 × 4096. Outside: 25,216 × 512 of 50,432 rows, positions 1024 × 512, the last norm 2 × 512: 13,435,904; 6561 × 4 × 512. One buffer,
// since 40 million elements are not reached.
TEST_CASE("buffers are padded to ranks times the row that their weights share") {
  const auto l = layout_of(functional_test(gpus::h100_sxm_80gb, 4));
  CHECK(l.layer[0].dense.rest.exact == 1'577'728);
  CHECK(l.layer[0].dense.rest.padded == 1'581'056);
  CHECK(l.across.rest.exact == 13'435'904);
  CHECK(l.across.rest.padded == 13'436'928);
  CHECK(l.front.empty());
  CHECK(l.back.empty());
  // 14336 and 4096 share 28672 = lcm; 8 ranks: 218,112,000 becomes 951 × 229,376.
  const auto wide = layout_of(llama(8));
  CHECK(wide.layer[0].dense.rest.exact == layer);
  CHECK(wide.layer[0].dense.rest.padded == 951 * 8 * 28'672);
  // 128,256 × 4096 is a buffer by itself, as is the head with the norm before it.
  CHECK(wide.front.rest.exact == 128'256 * 4096);
  CHECK(wide.back.rest.exact == 128'256 * 4096 + 4096);
}

// The test's mem-allocated-bytes after a step is 246,999,552 on 8 GPUs and 394,290,688 on 4, recorded before what lies outside the layers
// stayed gathered (2026-05, pull request 4717): 18 bytes for each of the shard's elements, 2 + 4 + 4 and 8 without padding, and three
// workspaces of 32 MiB.
TEST_CASE("states") {
  for (const auto& [data, measured] : {std::pair<std::int64_t, std::int64_t>{4, 246'999'552}, {2, 394'290'688}}) {
    const auto j = functional_test(gpus::h100_sxm_80gb, data);
    const auto r = estimate(j);
    const auto& rows = r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)];
    const auto outside = layout_of(j).across.rest.padded;
    CHECK(rows[row::gathered_parameters].count() == 2 * outside);
    const auto shard = (12 * layout_of(j).layer[0].dense.rest.padded + outside) / data;
    CHECK(rows[row::model_parameters].count() == 2 * shard);
    CHECK(rows[row::master_parameters].count() == 4 * shard);
    CHECK(rows[row::gradients].count() == 4 * shard);
    const auto before = static_cast<double>(rows.total().count() - 2 * outside);
    CHECK(before == doctest::Approx(static_cast<double>(measured)).epsilon(0.006));
  }
}

// mem-max-allocated-bytes. It is reached in the loss of the first micro-batch: see gathered_by_final_norm.
TEST_CASE("peaks of the functional test") {
  struct measured {
    const gpu& on;
    std::int64_t data, peak;
  };
  const measured all[] = {{gpus::h100_sxm_80gb, 4, 1'469'652'992}, {gpus::gb200_186gb, 4, 1'494'818'816}, {gpus::gb200_186gb, 2, 1'642'060'800}};
  for (const auto& m : all) {
    const auto r = replay(functional_test(m.on, m.data));
    CAPTURE(m.peak);
    CHECK(static_cast<double>(r.ranks[0].allocated.count()) == doctest::Approx(static_cast<double>(m.peak)).epsilon(0.002));
  }
}

namespace {

/// What is there of the groups that come and go.
struct held {
  bytes live{0};
  template <class... More>
  void put(detail::group_slot, std::int64_t, bytes size, More...) { live += size; }
  template <class... More>
  void drop(detail::group_slot, std::int64_t, bytes size, More...) { live -= size; }

  /// … while a layer runs, which is then over.
  template <class Units>
  bytes during(Units& units, std::int64_t i) {
    units.begin(i, *this);
    const auto now = live;
    units.end(i, *this);
    return now;
  }
};

}  // namespace

// Half of 1e9 elements is ahead: three layers of 218 million and a little. The last layers have fewer in front of them.
TEST_CASE("layers gathered ahead") {
  const auto j = llama(8);
  const auto l = layout_of(j);
  CHECK(l.prefetch == 500'000'000);
  CHECK(l.queue == 1'000'000'000);
  const detail::fsdp_order order(j.model, l);
  const bytes one{2 * l.layer[0].dense.rest.padded};
  detail::fsdp_gathers up(order, l, 32, false), down(order, l, 32, true);
  held rising, falling, single;
  for (std::int64_t i = 0; i < 32; ++i) {
    CHECK(rising.during(up, i) == (i < 28 ? 4 : 32 - i) * one);
    CHECK(falling.during(down, 31 - i) == (i < 28 ? 4 : 32 - i) * one);
  }
  // A portion of one element: no layer waits for another.
  auto small = j;
  small.sharding.communication_unit = 1;
  const auto none = layout_of(small);
  const detail::fsdp_order alone(j.model, none);
  detail::fsdp_gathers each(alone, none, 32, false);
  for (std::int64_t i = 0; i < 32; ++i) CHECK(single.during(each, i) == one);
}

// Head and norm, 525 million elements, are reduced first; 525 + 3 × 218 is more than 1e9, so that the fifth to come waits for the oldest.
TEST_CASE("gradients under way") {
  const auto j = llama(8);
  const auto l = layout_of(j);
  const detail::fsdp_order order(j.model, l);
  const auto one = l.gradients(l.layer[0].dense), head = l.gradients(l.back);
  CHECK(one == bytes{2 * l.layer[0].dense.rest.padded});  // megatron-fsdp-main-grads-dtype auto: bf16
  detail::fsdp_reductions reduced(order, l, 32);
  held waiting;
  reduced.push_ends(l.back, waiting);
  for (std::int64_t i = 31; i >= 0; --i) {
    const auto before = 31 - i;
    CHECK(waiting.during(reduced, i) == (before <= 3 ? head + (before + 1) * one : (before == 4 ? 5 : 6) * one));
  }
}

// data_parallel_sharding_strategy: what is divided over 8 ranks. Master and moments in fp32, gradients and parameters in bf16.
TEST_CASE("strategies") {
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    auto j = llama(8);
    j.sharding.stage = stage;
    const auto l = layout_of(j);
    const auto all = 32 * l.layer[0].dense.rest.padded + l.front.rest.padded + l.back.rest.padded;
    const auto r = estimate(j);
    const auto& b = r.ranks[0].at_phase[static_cast<std::size_t>(phase::reduce)];
    CAPTURE(stage);
    CHECK(b[row::model_parameters].count() == 2 * all / (stage == 3 ? 8 : 1));
    CHECK(b[row::gradients].count() == 2 * all / (stage >= 2 ? 8 : 1));
    CHECK(b[row::master_parameters].count() == 4 * all / (stage >= 1 ? 8 : 1));
    CHECK(b[row::optimizer_state].count() == 8 * 8'030'261'248 / (stage >= 1 ? 8 : 1));
    CHECK((b[row::gathered_parameters] > 0_B) == (stage == 3));
    // bf16 gradients become fp32 for the step: the optimizer's share of them.
    CHECK(r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::temporaries].count() == 4 * 8'030'261'248 / (stage >= 1 ? 8 : 1));
  }
}

// fsdp_double_buffer: two layers' weights and gradients stay, whatever runs.
TEST_CASE("double buffers") {
  auto j = llama(8);
  const auto without = estimate(j);
  j.sharding.double_buffer = choice::yes;
  const auto with = estimate(j);
  const auto one = 2 * layout_of(j).layer[0].dense.rest.padded;
  const auto at = [](const report& r, phase p, row of) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][of].count(); };
  CHECK(at(with, phase::save, row::gathered_parameters) - at(without, phase::save, row::gathered_parameters) == 2 * one);
  CHECK(at(with, phase::save, row::communication_buffers) - at(without, phase::save, row::communication_buffers) == 2 * one);
  CHECK(at(with, phase::forward, row::gathered_parameters) == at(with, phase::save, row::gathered_parameters));
}

// Experts are sharded over the ranks that hold the same ones: 8 × 2 tensor-parallel ranks are 4 times an expert-parallel group of 4.
TEST_CASE("experts over their own group") {
  auto j = llama(16);
  j.model = models::mixtral_8x7b;
  j.parallel = {.data = 8, .tensor = 2, .sequence = true, .expert = 4};
  const auto l = layout_of(j);
  CHECK(l.layer[1].dense.ranks == 8);
  CHECK(l.layer[1].experts.ranks == 4);
  CHECK(l.layer[1].experts.rest.exact == 2 * 3 * 4096 * 14'336);
  j.parallel.expert = 8;
  j.parallel.expert_tensor = 2;
  const auto whole = layout_of(j);
  CHECK(whole.layer[1].experts.ranks == 1);  // nobody else holds them: never gathered, never reduced
  CHECK(whole.gathered(whole.layer[1].experts) == 0_B);
  CHECK(whole.gradients(whole.layer[1].experts) == 0_B);
}

TEST_CASE("what is not modelled is refused") {
  auto j = llama(8);
  j.parallel.pipeline = 2;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("pipeline"), job_error);
  j = llama(8);
  j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = 4};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("checkpoint"), job_error);
  j = llama(8);
  j.framework = frameworks::hf_trainer;
  CHECK_THROWS_AS(estimate(j), job_error);
}

// A mask over layers that are not there changes nothing but that every layer is looked at: layers that find the same gathers are passed in one
// step where none is masked.
TEST_CASE("layers that find the same need not be looked at one by one") {
  for (const std::int64_t layers : {1, 2, 5, 24, 61})
    for (const std::int64_t dense : {0, 1, 3})
      for (const std::int64_t again : {0, 1, 7}) {
        job j{.model = models::qwen3_30b_a3b, .framework = frameworks::megatron, .parallel = {.expert = 4}, .sharding = megatron_fsdp(), .batch = {.micro = 1, .sequence = 2048}};
        j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
        j.model.layers = layers;
        j.model.experts.first_dense_layers = dense;
        if (again > 0) j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = again};
        auto one_by_one = j;
        one_by_one.model.experts.dense_mask[1] = std::uint64_t{1} << 63;
        CAPTURE(layers);
        CAPTURE(dense);
        CAPTURE(again);
        CHECK((estimate(one_by_one) == estimate(j)));
      }
}

// Which layers are dense decides what is gathered beside what, and not how much a rank holds: a list that stands evenly and two that do not.
TEST_CASE("dense layers may stand unevenly") {
  const auto with = [](std::uint64_t mask) {
    job j{.model = models::qwen3_30b_a3b, .framework = frameworks::megatron, .sharding = megatron_fsdp(), .batch = {.micro = 1, .sequence = 2048}};
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
    j.model.layers = 8;
    j.model.experts.dense_mask[0] = mask;
    return estimate(j).ranks[0].at_peak;
  };
  const auto even = with(0b101010);
  for (const std::uint64_t mask : {0b100110U, 0b10000110U})
    for (const auto r : {row::model_parameters, row::gradients, row::master_parameters, row::optimizer_state}) CHECK(with(mask)[r] == even[r]);
}

TEST_CASE("at compile time, too") {
  static constexpr job sharded = [] {
    job j{.model = models::llama_3_1_8b, .framework = frameworks::megatron, .sharding = megatron_fsdp(), .batch = {.micro = 1, .sequence = 4096}};
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
    return j;
  }();
  BOTH(estimate(sharded).fits());
}

}  // namespace test_megatron_fsdp
