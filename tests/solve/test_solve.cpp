// Distributed under the Boost Software License, Version 1.0.
// What bisection finds, against trying every value; and that the answer fits while the next does not.
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include "both.hpp"

namespace test_solve {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr job llama{
    .model = models::llama_3_1_8b,
    .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
    .framework = frameworks::deepspeed,
    .precision = precisions::bf16_mixed,
    .sharding = zero(3),
    .batch = {.micro = 1, .sequence = 4096},
    .recompute = recompute::full,
};
constexpr auto micro = solve(llama, unknowns::micro_batch);

/// The first value, one step after the other, at which the verdict is another than at the one before it.
std::int64_t tried_one_by_one(const job& given, const unknown& u, std::int64_t last) {
  const auto step = u.step(given);
  auto j = given;
  std::int64_t best = 0;
  for (std::int64_t n = step; n <= last; n += step) {
    u.set(j, n);
    if (u.fewest && fits(j)) return n;
    if (!u.fewest && !fits(j)) return best;
    best = n;
  }
  return u.fewest ? 0 : best;
}

constexpr job next_of(const solution& s, const unknown& u) {
  auto j = s.job;
  u.set(j, s.value + (u.fewest ? -s.step : s.step));
  return j;
}

}  // namespace

TEST_CASE("the largest micro-batch, at compile time and at run time") {
  BOTH(micro.found);
  BOTH(fits(micro.job));
  BOTH(!fits(next_of(micro, unknowns::micro_batch)));
  CHECK(solve(llama, unknowns::micro_batch).value == micro.value);
  CHECK(tried_one_by_one(llama, unknowns::micro_batch, 100) == micro.value);
}

TEST_CASE("every key: what trying each value finds, and the next one does not fit") {
  auto megatron = llama;
  megatron.framework = frameworks::megatron;
  megatron.precision = {};
  megatron.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  megatron.parallel = {.tensor = 2, .sequence = true, .pipeline = 2, .context = 2};
  megatron.recompute = {};
  auto moe = megatron;
  moe.model = models::mixtral_8x7b;
  moe.hardware.nodes = 2;
  moe.parallel = {.tensor = 2, .sequence = true, .pipeline = 2, .expert = 8};
  for (auto given : {llama, megatron, moe}) {
    for (const auto& u : unknowns::all) {
      if (u.key.substr(0, 8) == "rollout.") continue;  // tests/rollout
      if (u.key == unknowns::sequence.key) given.batch.micro = 2;
      CAPTURE(given.framework.label.view());
      CAPTURE(std::string(u.key));
      const auto s = solve(given, u);
      const auto step = u.step(given);
      const auto last = u.key == unknowns::sequence.key ? 60'000 : u.key == unknowns::host_memory.key ? 100 : 2'000;
      CHECK(s.step == step);
      if (s.found && s.value <= last) CHECK(s.value == tried_one_by_one(given, u, last));
      if (s.found) CHECK(s.value % step == 0);
      if (s.found) CHECK(fits(s.job));
      if (s.found && !s.limited && s.value > step) CHECK_FALSE(fits(next_of(s, u)));
      if (s.found && !u.fewest) CHECK_FALSE((!s.limited && fits(next_of(s, u))));
    }
  }
}

TEST_CASE("a sequence holds its images: no shorter one is tried") {
  job j{.model = models::qwen3_vl_4b, .hardware = {.gpu = gpus::a100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 64}, .recompute = recompute::full};
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear};
  j.batch.images = {.count = 2, .width = 640, .height = 512};  // patches of 16 pixels, four of them a token: 2 x 20 x 16
  CHECK_THROWS_AS((void)estimate(j), job_error);
  const auto s = solve(j, unknowns::sequence);
  REQUIRE(s.found);
  CHECK(s.value > 640);
  CHECK(fits(s.job));
  CHECK_FALSE(fits(next_of(s, unknowns::sequence)));
  j.batch.sequence = 640;
  const auto images = estimate(j).ranks[0];
  j.hardware.taken = j.hardware.accelerator().memory - images.device - images.fragmentation - 8_GiB / 1024;  // room for little more than the images
  const auto least = solve(j, unknowns::sequence);
  CHECK(least.value >= 640);
  CHECK(least.value < 700);
  j.hardware.taken += 1_GiB;
  CHECK(solve(j, unknowns::sequence).value == 0);
}

TEST_CASE("nodes come in multiples of what the degrees take") {
  job j = llama;
  j.framework = frameworks::megatron;
  j.precision = {};
  j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer};
  j.model = models::llama_3_1_70b;
  j.recompute = {};
  j.parallel = {.data = 3, .tensor = 8, .pipeline = 3, .first_stage_layers = 26};  // 24 GPUs: 3 nodes
  CHECK(unknowns::nodes.step(j) == 3);
  const auto s = solve(j, unknowns::nodes);
  REQUIRE(s.found);
  CHECK(s.value % 3 == 0);
  CHECK(s.job.parallel.data == 0);
  j.model = models::mixtral_8x7b;
  j.parallel = {.tensor = 2, .pipeline = 4, .expert = 8};  // each stage needs 8 ranks for the experts
  CHECK(unknowns::nodes.step(j) == 4);
}

TEST_CASE("nothing fits") {
  job j = llama;
  j.model = models::llama_3_1_405b;
  j.hardware = {.gpu = gpus::rtx_4090};
  j.sharding = {};
  const auto s = solve(j, unknowns::micro_batch);
  CHECK_FALSE(s);
  CHECK(s.value == 0);
  CHECK(s.job.batch.micro == 1);
  CHECK_FALSE(solve(j, unknowns::layers).limited);
}

TEST_CASE("the end of the range") {
  job j = llama;
  j.model = models::gpt2;
  j.sharding = {};
  const auto s = solve(j, unknowns::sequence);
  CHECK(s.found);
  CHECK(s.limited);  // GPT-2's table of positions has 1,024 rows
  CHECK(s.value == 1024);
}

TEST_CASE("a verdict and an unknown of one's own") {
  constexpr unknown width{"model.ffn", false, [](const job&) -> std::int64_t { return 256; }, [](const job&) -> std::int64_t { return 1 << 24; },
                          [](job& j, std::int64_t n) { j.model.ffn = n; }};
  const auto spare = [](const job& j) { return estimate(j).headroom() >= 10_GiB; };
  const auto s = solve(llama, width, spare);
  REQUIRE(s.found);
  CHECK(spare(s.job));
  CHECK_FALSE(spare(next_of(s, width)));
}

TEST_CASE("sentences") {
  auto mixed = llama;
  mixed.hardware.others = {{gpus::rtx_4090, 4}};
  CHECK_THROWS_WITH_AS(solve(mixed, unknowns::nodes), doctest::Contains("mixed cluster"), job_error);
  auto deep = llama;
  deep.model = models::gpt2;
  deep.parallel.context = 4096;
  CHECK_THROWS_WITH_AS(solve(deep, unknowns::sequence), doctest::Contains("no value to try"), job_error);
  CHECK(unknowns::find("batch.micro") == &unknowns::all[0]);
  CHECK(unknowns::find("batch.macro") == nullptr);
}

TEST_CASE("a sample's images take of its sequence what their towers make tokens of") {
  auto j = job{.model = *models::find("llava-1.5-7b"), .hardware = {.gpu = gpus::h100_sxm_80gb}};
  CHECK(detail::tokens_of_images(j) == 1);  // none are given
  j.batch.images.count = 1;
  CHECK(detail::tokens_of_images(j) == 576);
  j.model.vision.patch = 1, j.model.vision.image = 4, j.model.vision.image_height = 4;
  CHECK(detail::tokens_of_images(j) == 16);  // a patch of one pixel is one
  j.model.vision.patch = 0;
  CHECK(detail::tokens_of_images(j) == 1);
  j.model.vision.patch = 5;
  CHECK(detail::tokens_of_images(j) == 1);  // none fits
}

}  // namespace test_solve
