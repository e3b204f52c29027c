// Distributed under the Boost Software License, Version 1.0.
// Stages on kinds of GPU of several generations: what a rank holds is decided by the GPU that it lies on, not by the cluster's first.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_mixed_generations {

using namespace headroom;

namespace {

job in_fp8(const cluster& on) {
  job j;
  j.model = models::llama_3_1_8b;
  j.hardware = on;
  j.framework = frameworks::megatron;
  j.precision = precisions::bf16_mixed;
  j.precision.compute = formats::fp8;
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  j.parallel.pipeline = 2;
  j.batch = {.micro = 1, .sequence = 4096, .accumulation = 8};
  return j;
}
cluster all(const gpu& g) { return {.gpu = g, .nodes = 1, .gpus_per_node = 8}; }
cluster half(const gpu& first, const gpu& last) {
  auto c = all(first);
  c.others.add({last, 4});
  return c;
}
void same_rank(const rank_report& a, const rank_report& b) {
  REQUIRE(a.pipeline_stage == b.pipeline_stage);
  for (std::size_t p = 0; p < a.at_phase.size(); ++p) CHECK(a.at_phase[p] == b.at_phase[p]);
  CHECK(a.device == b.device);
}

}  // namespace

// TransformerEngine keeps a second fp8 copy of a weight, transposed, where the tensor cores multiply in one order alone: before Blackwell
// (pytorch/tensor/float8_tensor.py; is_non_tn_fp8_gemm_supported, compute capability 10.0). A byte of each weight of 16 layers of 4096: q and o, k and v of
// 1024 columns, three matrices of 14336.
TEST_CASE("a stage holds the copies of fp8 weights that its own GPU needs") {
  const auto blackwell = gpus::b200_sxm_180gb, hopper = gpus::h100_sxm_80gb;
  const auto new_alone = estimate(in_fp8(all(blackwell))), old_alone = estimate(in_fp8(all(hopper)));
  for (const bool new_first : {true, false}) {
    const auto mixed = estimate(in_fp8(new_first ? half(blackwell, hopper) : half(hopper, blackwell)));
    REQUIRE(mixed.size == 2);
    same_rank(mixed.ranks[0], new_first ? new_alone.ranks[0] : old_alone.ranks[0]);
    same_rank(mixed.ranks[1], new_first ? old_alone.ranks[1] : new_alone.ranks[1]);
  }
  const auto copies = [](const report& r) { return r.ranks[0].at_phase[static_cast<std::size_t>(phase::forward)][row::workspace].count(); };
  CHECK(copies(old_alone) - copies(new_alone) == 16LL * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336));
}

TEST_CASE("what one kind of GPU cannot do, the cluster cannot") {
  auto j = in_fp8(half(gpus::b200_sxm_180gb, gpus::h100_sxm_80gb));
  j.precision.compute = formats::nvfp4;
  CHECK(std::string(objection_to(j).sentence).find("nvfp4 needs Blackwell") != std::string::npos);
  j.hardware = half(gpus::b200_sxm_180gb, gpus::b200_sxm_180gb);
  CHECK_FALSE(objection_to(j));
}

}  // namespace test_mixed_generations
