// Distributed under the Boost Software License, Version 1.0.
// Muon under Megatron's layer-wise distributed optimizer, counted by hand from core/optimizer/layer_wise_optimizer.py, and held to what
// its functional tests have allocated after a step (mem-allocated-bytes of tests/functional_tests/test_cases/moe/
// gpt3_moe_mcore_te_ep8_resume_torch_dist_{muon,dist_muon,dist_muon_param_layout}).
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_layer_wise {

using namespace headroom;
using namespace headroom::literals;

namespace {

// The test's model: 12 layers of 512, 8 experts of 1024. Of one of 8 ranks: the embedding 50,304 × 512, positions 1024 × 512; in each layer
// qkv 1536 × 512, projection 512 × 512, router 8 × 512, four vectors of 512; an expert of 2 × 1024 × 512; two vectors at the end.
constexpr std::int64_t table = 50'304 * 512, positions = 1024 * 512, qkv = 1536 * 512, projection = 512 * 512, router = 8 * 512, vectors = 50 * 512;
constexpr std::int64_t experts = 12 * 2 * 1024 * 512;
constexpr std::int64_t matrices = positions + 12 * (qkv + projection + router);
constexpr std::int64_t all = table + vectors + matrices + experts;

job functional_test() {
  job j;
  j.model = {.layers = 12, .hidden = 512, .heads = 8, .ffn = 2048, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm,
             .norm_bias = true, .position = position_kind::learned, .max_positions = 1024, .vocab = 50257, .vocab_multiple = 128, .tied = true,
             .experts = {.count = 8, .active = 2, .ffn = 1024}};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::megatron;
  j.framework.gradients.fused_accumulation = false;
  j.framework.experts.gemm = expert_gemm::grouped_gemm;
  j.framework.experts.dispatcher = token_dispatcher::all_gather;
  j.optimizer = optimizers::muon;
  j.parallel = {.data = 8, .expert = 8};
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.batch = {.micro = 4, .sequence = 1024};
  j.attention = attention::te;
  j.dropout = {{100'000}, {100'000}, {100'000}};
  j.environment.cublas_workspace = 32_MiB;
  return j;
}

breakdown after_step(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::save)]; }

}  // namespace

// emerging_optimizers.py _is_nonlinear_or_embedding: word embedding, head and vectors are AdamW's; learned positions are a matrix.
TEST_CASE("without distribution") {
  auto j = functional_test();
  j.sharding = ddp();
  const auto b = after_step(j);
  CHECK(b[row::master_parameters].count() == 4 * all);
  CHECK(b[row::optimizer_state].count() == 4 * (matrices + experts) + 8 * (table + vectors));
  CHECK(static_cast<double>(b.total().count()) == doctest::Approx(1'096'719'872).epsilon(0.004));
}

// no-use-layer-wise-param-layout. By size: 50 vectors, 12 routers, 12 projections, positions, 12 qkv, the table: 88 weights, dealt to ranks 0
// to 7 and back. The eighth and the ninth of each sixteen are rank 7's: six vectors, two routers, two projections, and, last, the table.
TEST_CASE("whole weights dealt out by size") {
  auto j = functional_test();
  j.framework.optimizer.muon = muon_layout::dealt_out;
  const auto b = after_step(j);
  const std::int64_t of_muon = 2 * (router + projection) + experts, of_adamw = table + 6 * 512;
  CHECK(b[row::model_parameters].count() == 2 * all);
  CHECK(b[row::gradients].count() == 4 * all);
  CHECK(b[row::master_parameters].count() == 4 * (of_muon + of_adamw));
  CHECK(b[row::optimizer_state].count() == 4 * of_muon + 8 * of_adamw);
  CHECK(static_cast<double>(b.total().count()) == doctest::Approx(994'063'360).epsilon(0.003));
  // allgather_params: all dense weights once more, in bf16.
  const auto r = estimate(j);
  CHECK(r.ranks[0].at_phase[static_cast<std::size_t>(phase::step)][row::temporaries].count() == 2 * (all - experts));
}

// Costs are long × short²: qkv 402 million, positions 268, projection 134. Twelve qkv over eight ranks: the first four have two. Positions go
// to the fifth; projections to the three with one qkv until all have 805 million (three each; the fifth gets one); the last two projections
// go to the first two ranks, which then own 2 qkv and a projection: 1,835,008, what every part is padded to. Each expert is on one rank.
TEST_CASE("whole weights laid out in a buffer") {
  const auto j = functional_test();
  const auto b = after_step(j);
  const std::int64_t part = 2 * qkv + projection;
  const std::int64_t buffer = 8 * part + experts + table + vectors;
  CHECK(b[row::model_parameters].count() == 2 * buffer);
  CHECK(b[row::gradients].count() == 4 * buffer);
  CHECK(b[row::master_parameters].count() == 4 * (part + experts + (table + vectors) / 8));
  CHECK(b[row::optimizer_state].count() == 4 * (part + experts) + 8 * (table + vectors) / 8);
  CHECK(static_cast<double>(b.total().count()) == doctest::Approx(742'158'848).epsilon(0.003));
}

// On one node of four: gpt3_moe_mcore_te_ep8_resume_torch_dist_dist_muon_param_layout_1node on GB200.
TEST_CASE("on four ranks, two experts on each") {
  auto j = functional_test();
  j.hardware = {.gpu = gpus::gb200_186gb, .gpus_per_node = 4};
  j.parallel = {.data = 4, .expert = 4};
  j.batch.accumulation = 2;
  CHECK(static_cast<double>(after_step(j).total().count()) == doctest::Approx(946'676'736).epsilon(0.003));
}

TEST_CASE("buffers hold everything, and no rank more than its part") {
  for (const bool overlaps : {false, true})
    for (const std::int64_t data : {1, 2, 8, 64, 512}) {
      job j{.model = models::llama_3_1_8b, .framework = frameworks::megatron, .optimizer = optimizers::muon};
      j.framework.optimizer.muon = overlaps ? muon_layout::buckets : muon_layout::one_buffer;
      j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = data};
      j.hardware.gpus_per_node = 1;
      j.parallel.data = data;
      j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
      j.batch = {.micro = 1, .sequence = 1024};
      const auto s = settle(j);
      const auto list = weights_of(s.model);
      const stage_cut cut(j.parallel, s.model.layers, j.framework.pipeline.split);
      const detail::whole_weights weights(s, list, cut, 0);
      std::int64_t sum = 0;
      for (const auto& w : weights)
        if (w.matrix) sum += w.elements() * w.copies;
      CHECK(sum == 32 * (std::int64_t{6144} * 4096 + 4096 * 4096 + 3 * 14'336 * 4096));
      const auto own = detail::lay_out(weights, data, overlaps ? 40'000'000 : 0, [](const detail::whole_weight&) { return true; });
      CAPTURE(data);
      CHECK(own.buffer >= sum);
      CHECK(own.buffer % data == 0);
      CHECK(own.matrices >= sum / data);
      CHECK(own.matrices <= own.buffer / data);
      if (data <= 8) CHECK(own.buffer <= sum + sum / 8);
    }
}

TEST_CASE("what is not modelled is refused") {
  auto j = functional_test();
  j.parallel.replicate = 2;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("replicate"), job_error);
  j = functional_test();
  j.framework.optimizer.precision_aware = true;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("precision-aware"), job_error);
}

}  // namespace test_layer_wise
