// Distributed under the Boost Software License, Version 1.0.
// What Megatron's experts keep beside what their layers save, counted by hand from core/transformer/moe/{moe_utils,token_dispatcher,experts}.py
// of each date: a toy of its functional tests (gpt3_mcore_te_tp2_pp1_te_8experts2parallel_ddp_average_in_collective).
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_megatron_experts {

using namespace headroom;
using namespace headroom::literals;

namespace {

// 4 samples of 1,024 tokens, two tensor-parallel ranks: 2,048 tokens of the stream on each. Experts are divided over two groups of two ranks,
// so 8,192 tokens choose one of 8 experts each, and half of them come to the 4 experts of this rank's group, which has half of their width.
constexpr std::int64_t layers = 12, hidden = 512, width = 2048 / 2, sent = 2048, computed = 8192 / 2;

constexpr job toy() {
  job j;
  j.model = {.layers = layers, .hidden = hidden, .heads = 8, .ffn = 2048, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm,
             .norm_bias = true, .position = position_kind::learned, .max_positions = 1024, .vocab = 50257, .vocab_multiple = 128, .tied = true,
             .experts = {.count = 8, .active = 1, .ffn = 2048}};
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::megatron;
  j.framework.gradients.fused_accumulation = false;
  j.framework.attention.deterministic = true;
  j.framework.experts.gemm = expert_gemm::grouped_gemm;
  j.framework.experts.dispatcher = token_dispatcher::all_gather;
  j.parallel = {.data = 4, .tensor = 2, .sequence = true, .expert = 2, .expert_tensor = 2};
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  j.batch = {.micro = 4, .sequence = 1024};
  j.attention = attention::eager;
  return j;
}

breakdown at_peak(const job& j) { return estimate(j).ranks[0].at_peak; }

/// Of a job, what a change of it adds to the row at the peak.
template <class Change>
std::int64_t added(const job& j, row of, Change change) {
  auto other = j;
  change(other);
  return (at_peak(other)[of] - at_peak(j)[of]).count();
}

}  // namespace

// unpermute adds the experts' results to zeros with index_add_, and torch's derivative of that (tools/autograd/derivatives.yaml) reads the shape
// of what was added: `grad.index_select(dim, index).expand_as(source)`. So the results stay, one tensor of 16-bit numbers a layer.
TEST_CASE("deterministic mode keeps what experts return, since 2025-10") {
  const auto since = [](job& j) { j.framework.experts.adds_by_index = true; };
  auto j = toy();
  CHECK(j.framework.experts.adds_by_index);
  j.framework.experts.adds_by_index = false;
  CHECK(added(j, row::activations, since) == layers * computed * hidden * 2);

  // By all-to-all, what is added has come back to the ranks that sent it.
  j.framework.experts.dispatcher = token_dispatcher::all_to_all;
  CHECK(added(j, row::activations, since) == layers * sent * hidden * 2);

  // scatter_add_ in any other mode, and TransformerEngine's kernel, keep indices alone.
  auto free = j;
  free.framework.attention.deterministic = false;
  CHECK(added(free, row::activations, since) == 0);
  auto fused = j;
  fused.framework.experts.fuses_permutation = true;
  CHECK(added(fused, row::activations, since) == 0);
}

// Until 2025-04 the dispatcher multiplied the experts' results, which stay for the weights' gradient, and nothing stood between GELU and the
// second projection.
TEST_CASE("the router's weights multiplied what experts return, until 2025-04") {
  auto j = toy();
  j.framework.experts.adds_by_index = false;
  const auto before = [](job& o) { o.framework.experts.weighs_returned = true; };
  CHECK(added(j, row::activations, before) == layers * computed * (hidden - width) * 2);
  j.framework.experts.dispatcher = token_dispatcher::all_to_all;
  CHECK(added(j, row::activations, before) == layers * (sent * hidden - computed * width) * 2);
}

TEST_CASE("what a release does is told by its date") {
  const auto at = [](std::int32_t date) { return frameworks::find("megatron", date)->experts; };
  for (const std::int32_t date : {0, 202511, 202608}) CHECK((at(date).adds_by_index && !at(date).weighs_returned));
  for (const std::int32_t date : {202504, 202510}) CHECK_FALSE((at(date).adds_by_index || at(date).weighs_returned));
  for (const std::int32_t date : {202301, 202312, 202404, 202406, 202501, 202503}) CHECK((!at(date).adds_by_index && at(date).weighs_returned));
}

// GroupedMLP, of TransformerEngine before 1.9: GELU and the router's weight are one compiled function of the first projection's result, and
// the multiplications are not TransformerEngine's, whose four streams have 4 MiB each on A100.
TEST_CASE("grouped experts without TransformerEngine's layers") {
  auto j = toy();
  j.framework.experts.adds_by_index = false;
  j.environment.torch = 205;
  const auto older = [](job& o) { o.environment.torch = 204; };
  CHECK(added(j, row::activations, older) == -layers * computed * width * 2);
  CHECK(added(j, row::workspace, older) == -4 * (4_MiB).count());

  // One by one they are the MLPs of dense layers.
  j.framework.experts.gemm = expert_gemm::one_by_one;
  CHECK(added(j, row::activations, older) == 0);
  CHECK(added(j, row::workspace, older) == 0);
}

TEST_CASE("at compile time, too") { static_assert(estimate(toy()).ranks[0].allocated > 2_GiB); }

}  // namespace test_megatron_experts
