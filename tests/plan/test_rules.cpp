// Distributed under the Boost Software License, Version 1.0.
// Rules of thumb (examples/rules_of_thumb.cpp) against the ZeRO paper, hand counts and the planner.
#include <headroom/decide.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include "../../examples/rules/rules.hpp"

namespace test_rules {

using namespace headroom;
using namespace headroom::literals;

namespace {

struct machine_and_model {
  shape model;
  cluster on;
};
const machine_and_model cases[] = {
    {models::llama_3_2_1b, {.gpu = gpus::rtx_4090}},
    {models::llama_3_2_1b, {.gpu = gpus::a100_sxm_80gb}},
    {models::qwen2_5_0_5b, {.gpu = gpus::rtx_3090, .gpus_per_node = 4}},
    {models::llama_3_2_3b, {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8}},
    {models::llama_3_2_3b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 2}},
    {models::llama_3_1_8b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}},
    {models::llama_3_1_8b, {.gpu = gpus::a100_sxm_40gb, .nodes = 4, .gpus_per_node = 8}},
    {models::llama_2_13b, {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8}},
    {models::yi_34b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8, .host_memory = 2048_GiB}},
    {models::llama_3_1_70b, {.gpu = gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8}},
    {models::llama_3_1_405b, {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8, .host_memory = 1024_GiB}},
};

double saved(const sharding& how, std::int64_t gpus) {
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = gpus / 8, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
        .sharding = zero(0), .batch = {.sequence = 2048}};
  const auto without = states(j).gpu.total();
  j.sharding = how;
  return 1 - static_cast<double>(states(j).gpu.total().count()) / static_cast<double>(without.count());
}

}  // namespace

TEST_CASE("ZeRO saves what its paper's figure 1 says, which is no one percentage") {
  // Rajbhandari et al. 2020, figure 1: 7.5B on 64 GPUs: 120 GB, then 31.4, 16.6 and 1.9 GB.
  CHECK(saved(zero(1), 64) == doctest::Approx(1 - 31.4 / 120).epsilon(0.002));
  CHECK(saved(zero(2), 64) == doctest::Approx(1 - 16.6 / 120).epsilon(0.002));
  CHECK(saved(zero(3), 64) == doctest::Approx(1 - 1.9 / 120).epsilon(0.002));
  // … and on 8: 12, 14 and 16 of 16 bytes are divided.
  CHECK(saved(zero(1), 8) == doctest::Approx(12.0 / 16 * 7 / 8).epsilon(1e-3));
  CHECK(saved(zero(2), 8) == doctest::Approx(14.0 / 16 * 7 / 8).epsilon(1e-3));
  CHECK(saved(zero(3), 8) == doctest::Approx(7.0 / 8).epsilon(2e-3));
}

TEST_CASE("the largest model of a machine") {
  job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed,
        .batch = {.micro = 1, .sequence = 2048}, .recompute = recompute::full};
  rules::set_layers(j, 32);
  CHECK(headroom::count(j.model).total == headroom::count(models::llama_2_7b).total);
  rules::set_layers(j, 40);
  CHECK(headroom::count(j.model).total == headroom::count(models::llama_2_13b).total);
  // 16 bytes a parameter and nothing else fill an A100 of 81,050 MiB with 5.31B.
  const auto one = headroom::count(solve(j, rules::size, decided{}).job.model).total;
  CHECK(one < parameters{5'312'000'000});
  CHECK(one > parameters{4'500'000'000});
  // ZeRO-2 on 8 of 40,335 MiB: 2 + 14 / 8 bytes; "20B" would need 2 for itself.
  j.hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8};
  j.sharding = zero(2);
  const auto eight = headroom::count(solve(j, rules::size, decided{}).job.model).total;
  CHECK(eight < parameters{40'335LL * 1'048'576 * 100 / 375});
  CHECK(eight > parameters{8'000'000'000});
  // Offloaded, 64 layers or 50B take 16 bytes of each on the host, so 70B need more than a TiB there.
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8, .host_memory = 1024_GiB};
  j.sharding = zero(3);
  j.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  CHECK(headroom::count(solve(j, rules::size, decided{}).job.model).total < parameters{1024LL * 1'073'741'824 / 16});
  j.hardware.host_memory = 2048_GiB;
  CHECK(headroom::count(solve(j, rules::size, decided{}).job.model).total > parameters{70'000'000'000});
}

TEST_CASE("the planner is never worse than the flow chart, whose every stop is in its space") {
  int charted = 0, faster = 0;
  for (const auto& c : cases) {
    CAPTURE(c.model.label.view());
    CAPTURE(c.on.gpu.label.view());
    constexpr std::int64_t sequence = 4096, global = 64;
    const auto path = rules::follow_chart(c.model, c.on, sequence, global);
    const auto space = rules::all_choices(c.model, c.on, sequence, global);
    for (const auto& stop : path) {
      int seen = 0;
      (void)plan(space, [&](const job& j) {
        seen += j == stop.job ? 1 : 0;
        return judged_plan{.fits = true, .device = bytes{1}, .seconds = 1};
      }, {.threads = 1});
      CHECK(seen >= 1);
    }
    const auto r = plan(space, {.top = 1});
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {  // why each was rejected: more than there is, of GPU or host
      const auto report = estimate(path[i].job);
      CHECK((report.device() > report.tightest().capacity || (report.host.capacity > bytes{0} && report.host.per_node > report.host.capacity)));
    }
    if (!path.back().seen.fits) continue;
    ++charted;
    REQUIRE_FALSE(r.best.empty());
    CHECK(r.best.front().outcome.fits);
    CHECK(r.best.front().outcome.seconds <= path.back().seen.seconds);
    faster += r.best.front().outcome.seconds < 0.98 * path.back().seen.seconds ? 1 : 0;
  }
  CHECK(charted >= 9);
  CHECK(faster >= 3);
}

}  // namespace test_rules
