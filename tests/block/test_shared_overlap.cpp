// Distributed under the Boost Software License, Version 1.0.
// --moe-shared-expert-overlap: the shared expert's first layer keeps an input that was gathered before it (Megatron-LM core/transformer/moe/shared_experts.py).
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_shared_overlap {

using namespace headroom;

namespace {

constexpr std::int64_t tokens = 2 * 512, h = 2048;

job mixture(bool overlaps, bool sequence, std::int64_t tensor = 2) {
  job j{.model = models::qwen1_5_moe_a2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 4}, .framework = frameworks::megatron};
  j.parallel.tensor = tensor;
  j.parallel.expert = 2;
  j.parallel.sequence = sequence;
  j.precision = precisions::bf16_mixed;
  j.attention = attention::flash;
  j.batch = {.micro = 2, .sequence = 512};
  j.framework.experts.dispatcher = token_dispatcher::all_to_all;
  j.framework.experts.overlaps_shared = overlaps;
  return j;
}
divided_layers::layer walked(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return detail::cost_of(detail::walk_divided_layer(sc, trained_modules(j, -1), {mixer_kind::attention, feed_forward_kind::experts}, false), false);
}

}  // namespace

TEST_CASE("a shared expert that overlaps keeps its input whole where sequence parallelism divides it") {
  // In bf16 all tokens' rows, beside the rank's own half that the router keeps.
  CHECK(walked(mixture(true, true)).saved.total - walked(mixture(false, true)).saved.total == bytes{2 * tokens * h});
  CHECK(walked(mixture(true, false)).saved.total == walked(mixture(false, false)).saved.total);
  CHECK(walked(mixture(true, false, 1)).saved.total == walked(mixture(false, false, 1)).saved.total);
  const auto backward = [](const job& j) { return estimate(j).ranks[0][phase::backward]; };
  CHECK(backward(mixture(true, true)) - backward(mixture(false, true)) >= bytes{23 * 2 * tokens * h});
}

}  // namespace test_shared_overlap
