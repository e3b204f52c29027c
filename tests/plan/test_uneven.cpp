// Distributed under the Boost Software License, Version 1.0.
// Pipelines whose layers differ, over one kind of GPU: the cut that a search names, against every cut.
#include <headroom/framework/frameworks.hpp>
#include <headroom/io/search_reader.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>

namespace test_uneven {

using namespace headroom;

namespace {

/// Calls visit(job) with every cut of its stack into so many chunks of at least a layer.
void for_each_cut(job j, const std::function<void(const job&)>& visit) {
  const auto chunks = j.parallel.pipeline * j.parallel.virtual_pipeline;
  j.parallel.chunks = static_cast<std::int32_t>(chunks);
  const std::function<void(std::int64_t, std::int64_t)> cut = [&](std::int64_t chunk, std::int64_t left) {
    if (chunk + 1 == chunks) {
      j.parallel.stage_layers[chunk] = left;
      return visit(j);
    }
    for (std::int64_t n = 1; n <= left - (chunks - 1 - chunk); ++n) {
      j.parallel.stage_layers[chunk] = n;
      cut(chunk + 1, left - n);
    }
  };
  cut(0, j.model.layers);
}

struct best_cut {
  double seconds{};
  int all{}, fit{};
};
best_cut best_of_all(const job& j) {
  best_cut r;
  for_each_cut(j, [&](const job& one) {
    ++r.all;
    if (!estimate(one).may_fit()) return;
    const auto t = cost(one).step.value;
    if (r.fit++ == 0 || t < r.seconds) r.seconds = t;
  });
  return r;
}

/// Megatron's letters: Mamba-2 at one end, attention and experts at the other.
job hybrid(std::string_view letters, std::int64_t stages) {
  job j;
  j.framework = frameworks::megatron;
  j.model = {.layers = static_cast<std::int64_t>(letters.size()), .hidden = 2048, .heads = 16, .ffn = 8192, .vocab = 128'000};
  j.model.ssm = {.heads = 64, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128, .conv_bias = true};
  j.model.experts = {.count = 16, .active = 2, .ffn = 8192};
  for (const char letter : letters)
    j.model.pattern.add(letter == 'M'   ? layer_kind{mixer_kind::mamba2, feed_forward_kind::none}
                        : letter == '*' ? layer_kind{mixer_kind::attention, feed_forward_kind::none}
                        : letter == 'E' ? layer_kind{mixer_kind::none, feed_forward_kind::experts}
                                        : layer_kind{mixer_kind::none, feed_forward_kind::dense});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = stages};
  j.precision = precisions::bf16_mixed;
  j.parallel.pipeline = stages;
  j.batch = {.micro = 1, .sequence = 4096, .accumulation = 16};
  j.attention = attention::te;
  return j;
}

/// Llama 3.1 8B's layers, few of them: the head is as large as several.
job heavy_ends(std::int64_t layers, const profile& trainer) {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = trainer,
        .parallel = {.tensor = 2, .pipeline = 4}, .batch = {.micro = 1, .sequence = 4096, .accumulation = 16}, .attention = attention::flash};
  j.model.layers = layers;
  if (trainer.modules.dtensor()) {
    j.sharding = {.kind = sharding_kind::fsdp2, .stage = 3};
    j.loss = {.kind = loss_kind::full};
    j.hardware.nodes = 2;
  }
  return j;
}

/// Dense layers in front of experts.
job dense_first() {
  auto j = heavy_ends(14, frameworks::megatron);
  j.model.vocab = 32'000;
  j.model.experts = {.count = 16, .active = 4, .ffn = 4096, .first_dense_layers = 4};
  j.parallel.tensor = 1, j.parallel.expert = 2;
  j.hardware.nodes = 4;
  return j;
}

}  // namespace

TEST_CASE("stages of a hybrid are cut so that the step is the shortest of all cuts that fit") {
  for (const auto letters : {"MMMM*-*-*E*E", "E-E-MMMMMMMM", "M-M*M-M*M-M*"})
    for (const std::int64_t stages : {2, 3, 4}) {
      CAPTURE(letters);
      CAPTURE(stages);
      const auto j = hybrid(letters, stages);
      const auto best = best_of_all(j);
      REQUIRE(best.fit > 0);
      const auto r = plan(search{.job = j}, {.threads = 1});
      REQUIRE_FALSE(r.best.empty());
      CHECK(r.best.front().outcome.seconds >= best.seconds * (1 - 1e-12));
      CHECK(r.best.front().outcome.seconds <= 1.001 * best.seconds);
    }
}

TEST_CASE("what fits is found where even stages do not fit") {
  // Two thirds of the memory that even stages take: of the cuts, few fit.
  auto j = hybrid("E-E-MMMMMMMM", 3);
  const auto even = estimate(j).device();
  j.hardware.gpu.memory = even - bytes{even.count() / 8};
  REQUIRE_FALSE(estimate(j).may_fit());
  const auto best = best_of_all(j);
  REQUIRE(best.fit > 0);
  REQUIRE(best.fit < best.all);
  const auto r = plan(search{.job = j}, {.threads = 1});
  REQUIRE_FALSE(r.best.empty());
  CHECK(estimate(r.best.front().job).may_fit());
  CHECK(r.best.front().outcome.seconds <= 1.01 * best.seconds);
}

TEST_CASE("of memory that one cut alone fills to the last byte that cut is found, and of a byte less none") {
  auto j = hybrid("E-E-MMMMMMMM", 3);
  const auto without = [](const rank_report& k) { return k.needs() - k.surplus; };
  bytes least{std::numeric_limits<std::int64_t>::max()};
  for_each_cut(j, [&](const job& one) {
    const auto r = estimate(one);
    bytes most{};
    for (const auto& k : r) most = std::max(most, without(k));
    least = std::min(least, most);
  });
  const auto found = [&](bytes memory) {
    j.hardware.gpu.memory = memory;
    return !plan(search{.job = j}, {.threads = 1}).best.empty();
  };
  CHECK(found(least));
  CHECK_FALSE(found(least - bytes{1}));
}

TEST_CASE("experts behind dense layers, and heavy ends, where the search leaves parallel.stage_layers open") {
  for (const auto& j : {dense_first(), heavy_ends(12, frameworks::megatron), heavy_ends(12, frameworks::torchtitan_202508)}) {
    CAPTURE(j.framework.label.view());
    const auto best = best_of_all(j);
    REQUIRE(best.fit > 0);
    search s{.job = j};
    const auto even = plan(s, {.threads = 1});
    CHECK(even.evaluated == 1);
    s.open_cut = true;
    const auto r = plan(s, {.threads = 1});
    REQUIRE_FALSE(r.best.empty());
    CHECK(r.best.front().outcome.seconds <= 1.001 * best.seconds);
    CHECK((even.best.empty() || r.best.front().outcome.seconds < even.best.front().outcome.seconds));
  }
}

TEST_CASE("interleaved stages are cut chunk by chunk, and never for the worse") {
  auto j = heavy_ends(16, frameworks::megatron);
  j.parallel.virtual_pipeline = 2;
  j.parallel.schedule = usual_schedule(2);
  search s{.job = j, .open_cut = true};
  const auto r = plan(s, {.threads = 1});
  REQUIRE_FALSE(r.best.empty());
  CHECK(r.best.front().outcome.seconds <= cost(j).step.value);
  CHECK(r.best.front().job.parallel.chunks == 8);
}

TEST_CASE("stages that are given, whole GPUs and trainers that cut by themselves are left alone") {
  auto j = hybrid("MMMM*-*-*E*E", 3);
  j.parallel.chunks = 3;
  const std::int64_t said[] = {6, 3, 3};
  for (std::size_t i = 0; i < 3; ++i) j.parallel.stage_layers[i] = said[i];
  CHECK(plan(search{.job = j}, {.threads = 1}).evaluated == 1);
  auto dense = heavy_ends(12, frameworks::megatron);
  CHECK(plan(search{.job = dense}, {.threads = 1}).evaluated == 1);
  dense.parallel.pipeline = 1;
  CHECK(plan(search{.job = dense, .open_cut = true}, {.threads = 1}).evaluated == 1);
  CHECK_FALSE(detail::takes_any_cut(frameworks::nanotron));
  CHECK_FALSE(detail::takes_any_cut(frameworks::deepspeed));
}

TEST_CASE("a search says that the cut is open by \"auto\"") {
  const auto text = [](const char* layers) {
    return io::json_value::parse(std::string{R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "megatron", "batch": {"micro": 1, "sequence": 4096},
                                  "parallel": {"tensor": 2, "pipeline": 4, "stage_layers": )"} + layers + "}}");
  };
  CHECK(io::read_search(text("\"auto\"")).open_cut);
  CHECK(io::read_search(text("\"auto\"")).job.parallel.chunks == 0);
  CHECK_FALSE(io::read_search(text("[8, 8, 8, 8]")).open_cut);
}

}  // namespace test_uneven
