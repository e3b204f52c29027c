// Distributed under the Boost Software License, Version 1.0.
// FSDP2's units written out: the pools of its streams, by hand from torch's calls, and the tallest moment, beside the walk that only adds up.
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include "../estimate/dice.hpp"
#include "../replayed_steps.hpp"

#include <doctest/doctest.h>

namespace test_unit_trace {

using namespace headroom;

namespace {

constexpr std::int64_t mib_ = 1 << 20;
constexpr shape llama{.layers = 3, .hidden = 2048, .heads = 16, .kv_heads = 16, .head_dim = 128, .ffn = 4096, .vocab = 16384};

job titan(const profile& framework) {
  job j{.model = llama, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = framework, .sharding = fsdp2(),
        .batch = {.micro = 1, .sequence = 128}, .attention = attention::flash};
  j.parallel.data = 8;
  j.environment.expandable_segments = choice::yes;
  return j;
}

replayed_steps replayed(const job& j) { return replayed_steps(j, 0, {.expandable_segments = true}); }

constexpr std::int64_t in_segments(std::int64_t b) { return (b + 20 * mib_ - 1) / (20 * mib_) * (20 * mib_); }

}  // namespace

TEST_CASE("the pool of the all-gather: two units, and the shard that the first was gathered from") {
  const std::int64_t layer = 2 * 4 * 2048 * 2048 + 2 * 3 * 2048 * 4096 + 2 * 2 * 2048, root = 2 * (2 * 16384 * 2048 + 2048);
  // Root in one unit: its output is there until the first layer has been copied out. foreach_all_gather makes the bf16 shard, then the output,
  // behind it; where the root's shard was there is room for the layer's.
  CHECK(replayed(titan(frameworks::torchtitan_202404)).allocator.reserved(stream::gather) == in_segments(root / 8 + root + layer));
  // The embedding by itself.
  const std::int64_t table = root / 2;
  CHECK(replayed(titan(frameworks::torchtitan_202508)).allocator.reserved(stream::gather) >= in_segments(table / 8 + table + layer));
}

TEST_CASE("the pool of the reduction holds a rank's share of every gradient, in fp32, for ever") {
  const std::int64_t parameters = 3 * (4 * 2048 * 2048 + 3 * 2048 * 4096 + 2 * 2048) + 2 * 16384 * 2048 + 2048;
  CHECK(replayed(titan(frameworks::torchtitan_202404)).allocator.reserved(stream::reduce) == in_segments(4 * parameters / 8));
}

TEST_CASE("no reduction, no pool: adapters alone are reduced beside a frozen base") {
  auto j = titan(frameworks::torchtune_202409);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}, .format = formats::bf16};
  // A of 8 × 2048 and B of 2048 × 8 in each layer, an eighth here, in bf16: 4096 bytes each. Small blocks.
  CHECK(replayed(j).allocator.reserved(stream::reduce) == 2 * mib_);
}

TEST_CASE("the tallest moment is the walked one") {
  draw::dice dice(5);
  for (int i = 0; i < draw::some(120); ++i) {
    auto j = titan(dice.flip() ? frameworks::torchtitan_202404 : frameworks::torchtune_202401);
    j.model.layers = dice.pick({2, 5});
    j.model.vocab = dice.pick({32000, 64000});
    j.batch.micro = dice.pick({1, 2});
    j.batch.sequence = dice.pick({2048, 4096});
    j.batch.accumulation = dice.pick({1, 3});
    j.recompute = dice.flip() ? recompute::full : recompute::none;
    if (dice.flip()) j.sharding.reshard_after_forward = choice::no;
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    const auto walked = estimate(j).ranks[0].allocated;
    const auto apart = bytes{replayed(j).allocator.peak_allocated()} - walked;
    CHECK(max(apart, -apart) <= walked / 200);
  }
}

}  // namespace test_unit_trace
