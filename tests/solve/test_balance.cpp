// Distributed under the Boost Software License, Version 1.0.
// Clusters of several kinds of GPU, and stages balanced over them, against a search of every division.
#include <headroom/headroom.hpp>

#include "both.hpp"

#include <string_view>

namespace test_balance {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr job mixed{
    .model = models::llama_3_1_8b,
    .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8, .others = {{gpus::a100_sxm_40gb, 8}}},
    .framework = frameworks::megatron,
    .parallel = {.tensor = 4, .pipeline = 4},
    .batch = {.micro = 1, .sequence = 4096, .accumulation = 8},
};
constexpr report seen = estimate(mixed);

std::int64_t layers_of(const job& j) {
  std::int64_t n = 0;
  for (std::int32_t i = 0; i < j.parallel.chunks; ++i) n += j.parallel.stage_layers[i];
  return n;
}

}  // namespace

TEST_CASE("a mixed cluster has one report for each stage and kind of GPU") {
  BOTH(seen.size == 4);
  BOTH(seen.ranks[1].gpu == gpus::h100_sxm_80gb.label);
  BOTH(seen.ranks[2].gpu == gpus::a100_sxm_40gb.label);
  BOTH(seen.ranks[2].capacity == gpus::a100_sxm_40gb.memory);
  BOTH(seen.ranks[2].count == 4);
  BOTH(seen.tightest().gpu == gpus::a100_sxm_40gb.label);
  std::int64_t gpus_seen = 0;
  for (const auto& r : seen) gpus_seen += r.count;
  CHECK(gpus_seen == 16);
}

TEST_CASE("a stage that lies on two kinds has two reports") {
  auto j = mixed;
  j.hardware.others.list[0].count = 6;
  const auto r = estimate(j);
  REQUIRE(r.size == 5);
  CHECK(r.ranks[2].pipeline_stage == 2);
  CHECK(r.ranks[2].count == 2);
  CHECK(r.ranks[3].pipeline_stage == 2);
  CHECK(r.ranks[3].count == 2);
  // cuBLAS and TransformerEngine keep larger workspaces on Hopper; the layers are the same.
  CHECK(r.ranks[2].at_peak[row::model_parameters] == r.ranks[3].at_peak[row::model_parameters]);
  CHECK(r.ranks[2].at_peak[row::workspace] > r.ranks[3].at_peak[row::workspace]);
}

TEST_CASE("a job without a pipeline has one report for each kind, and fits on the smallest or not at all") {
  job j{.model = models::llama_3_1_8b,
        .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8, .others = {{gpus::rtx_4090, 3}, {gpus::a100_sxm_40gb, 1}}},
        .sharding = zero(3), .batch = {.micro = 2, .sequence = 8192}, .recompute = recompute::full};
  const auto r = estimate(j);
  REQUIRE(r.size == 3);
  CHECK(r.ranks[0].count == 4);
  CHECK(r.ranks[1].count == 3);
  CHECK(r.ranks[2].count == 1);
  CHECK(r.ranks[0].fits());
  CHECK_FALSE(r.ranks[1].fits());
  CHECK_FALSE(r.fits());
  auto alone = j;
  alone.hardware = {.gpu = gpus::rtx_4090, .gpus_per_node = 8};
  CHECK(estimate(alone).ranks[0].device == r.ranks[1].device);
}

TEST_CASE("counts that do not add up are refused") {
  auto j = mixed;
  j.hardware.others.list[0].count = 16;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("counts of a mixed cluster"), job_error);
  j.hardware.others.list[0].count = -1;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("counts of a mixed cluster"), job_error);
}

TEST_CASE("balanced stages are the best of all divisions") {
  for (const auto accumulation : {1, 8})
    for (const auto& small : {gpus::a100_sxm_40gb, gpus::l4}) {
      auto j = mixed;
      j.model.layers = 17;
      j.batch.accumulation = accumulation;
      j.hardware.others.list[0].gpu = small;
      const auto balanced = balance_stages(j);
      CHECK(layers_of(balanced) == 17);
      bytes best{};
      bool any = false;
      for (std::int32_t a = 1; a <= 14; ++a)
        for (std::int32_t b = 1; a + b <= 15; ++b)
          for (std::int32_t c = 1; a + b + c <= 16; ++c) {
            auto other = balanced;
            const std::int32_t layers[] = {a, b, c, 17 - a - b - c};
            for (std::size_t i = 0; i < 4; ++i) other.parallel.stage_layers[i] = layers[i];
            const auto left = estimate(other).headroom();
            if (!any || left > best) best = left;
            any = true;
          }
      CHECK(estimate(balanced).headroom() == best);
    }
}

TEST_CASE("two stages are the best of all divisions, over two kinds of GPU in either order") {
  for (const auto& [first, second] : {std::pair{gpus::h100_sxm_80gb, gpus::l4}, std::pair{gpus::l4, gpus::h100_sxm_80gb}}) {
    auto j = mixed;
    j.model.layers = 15;
    j.parallel.pipeline = 2;
    j.hardware.gpu = first;
    j.hardware.others.list[0].gpu = second;
    const auto balanced = balance_stages(j);
    CHECK(layers_of(balanced) == 15);
    bytes best{};
    for (std::int32_t a = 1; a < 15; ++a) {
      auto other = balanced;
      other.parallel.stage_layers[0] = a;
      other.parallel.stage_layers[1] = 15 - a;
      const auto left = estimate(other).headroom();
      if (a == 1 || left > best) best = left;
    }
    CHECK(estimate(balanced).headroom() == best);
    CHECK((balanced.parallel.stage_layers[0] > balanced.parallel.stage_layers[1]) == (first == gpus::h100_sxm_80gb));
  }
}

TEST_CASE("a stage on two kinds of GPU is as tight as the tighter of them, and a kind named twice is one kind") {
  auto j = mixed;
  j.model.layers = 12;
  for (const auto& [first, second] : {std::pair{gpus::h100_sxm_80gb, gpus::l4}, std::pair{gpus::l4, gpus::h100_sxm_80gb}}) {
    j.hardware.gpu = first;
    j.hardware.others = {{second, 6}};  // stage 2 has two of one kind and two of the other
    const auto balanced = balance_stages(j);
    bytes best{};
    bool any = false;
    for (std::int32_t a = 1; a <= 9; ++a)
      for (std::int32_t b = 1; a + b <= 10; ++b)
        for (std::int32_t c = 1; a + b + c <= 11; ++c) {
          auto other = balanced;
          const std::int32_t layers[] = {a, b, c, 12 - a - b - c};
          for (std::size_t i = 0; i < 4; ++i) other.parallel.stage_layers[i] = layers[i];
          const auto left = estimate(other).headroom();
          if (!any || left > best) best = left;
          any = true;
        }
    CHECK(estimate(balanced).headroom() == best);
    auto twice = j;
    twice.hardware.others = {{second, 3}, {second, 3}};
    const auto again = balance_stages(twice);
    for (std::size_t i = 0; i < 4; ++i) CHECK(again.parallel.stage_layers[i] == balanced.parallel.stage_layers[i]);
  }
}

TEST_CASE("one kind of GPU: the last stage, which has the logits, gets no more layers than the middle ones") {
  auto j = mixed;
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 2, .gpus_per_node = 8};
  const auto balanced = balance_stages(j);
  const auto& n = balanced.parallel.stage_layers;
  CHECK(n[0] < n[2]);  // 1F1B holds four micro-batches on the first stage
  CHECK(estimate(balanced).headroom() > estimate(j).headroom());
}

TEST_CASE("what cannot be balanced is refused") {
  auto j = mixed;
  j.parallel.virtual_pipeline = 2;
  CHECK_THROWS_WITH_AS(balance_stages(j), doctest::Contains("virtual_pipeline must be 1"), job_error);
  j = mixed;
  j.model.layers = 3;
  CHECK_THROWS_WITH_AS(balance_stages(j), doctest::Contains("every pipeline stage needs a layer"), job_error);
}

// In a constant expression too.
static_assert([] {
  auto j = mixed;
  j.model.layers = 6;
  const auto b = balance_stages(j);
  return b.parallel.stage_layers[0] + b.parallel.stage_layers[1] + b.parallel.stage_layers[2] + b.parallel.stage_layers[3] == 6;
}());

TEST_CASE("stages of a hybrid stack are the best of all cuts") {
  // Megatron's letters: attention and experts lie at one end, so that even stages are not even.
  job j;
  j.framework = frameworks::megatron;
  j.model = {.layers = 12, .hidden = 1024, .heads = 16, .ffn = 4096, .vocab = 32000};
  j.model.ssm = {.heads = 32, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128, .conv_bias = true};
  j.model.experts = {.count = 8, .active = 2, .ffn = 4096};
  for (const char letter : std::string_view{"MMMM*-*-*E*E"})
    j.model.pattern.add(letter == 'M'   ? layer_kind{mixer_kind::mamba2, feed_forward_kind::none}
                        : letter == '*' ? layer_kind{mixer_kind::attention, feed_forward_kind::none}
                        : letter == 'E' ? layer_kind{mixer_kind::none, feed_forward_kind::experts}
                                        : layer_kind{mixer_kind::none, feed_forward_kind::dense});
  j.hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 3};
  j.precision = precisions::bf16_mixed;
  j.parallel.pipeline = 3;
  j.batch = {.micro = 2, .sequence = 2048, .accumulation = 6};
  j.attention = attention::te;
  const auto balanced = balance_stages(j);
  CHECK(layers_of(balanced) == 12);
  bytes best{}, even{};
  bool any = false;
  for (std::int32_t a = 1; a <= 10; ++a)
    for (std::int32_t b = 1; a + b <= 11; ++b) {
      auto other = balanced;
      const std::int32_t layers[] = {a, b, 12 - a - b};
      for (std::size_t i = 0; i < 3; ++i) other.parallel.stage_layers[i] = layers[i];
      const auto left = estimate(other).headroom();
      if (!any || left > best) best = left;
      if (a == 4 && b == 4) even = left;
      any = true;
    }
  CHECK(estimate(balanced).headroom() == best);
  CHECK(best > even);
}

TEST_CASE("experts behind dense layers, and a head as heavy as several layers: the best of all cuts") {
  for (const bool sparse : {true, false}) {
    job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8}, .framework = frameworks::megatron, .parallel = {.pipeline = 4},
          .batch = {.micro = 1, .sequence = 4096, .accumulation = 16}, .attention = attention::flash};
    j.model.layers = 13;
    if (sparse) {
      j.model.vocab = 32'000;
      j.model.experts = {.count = 16, .active = 4, .ffn = 4096, .first_dense_layers = 5};
      j.parallel.expert = 2;
    }
    const auto balanced = balance_stages(j);
    bytes best{};
    int tried = 0;
    auto other = balanced;
    for (std::int32_t a = 1; a <= 10; ++a)
      for (std::int32_t b = 1; a + b <= 11; ++b)
        for (std::int32_t c = 1; a + b + c <= 12; ++c) {
          const std::int32_t layers[] = {a, b, c, 13 - a - b - c};
          for (std::size_t i = 0; i < 4; ++i) other.parallel.stage_layers[i] = layers[i];
          const auto left = estimate(other).headroom();
          if (tried++ == 0 || left > best) best = left;
        }
    CHECK(tried == 220);
    CHECK(estimate(balanced).headroom() == best);
  }
}

}  // namespace test_balance
