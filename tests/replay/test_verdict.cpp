// Distributed under the Boost Software License, Version 1.0.
// One verdict: what an estimate says for certain of a job, a replay says as well, whatever fragmentation does; and where it leaves the
// answer open a replay is what gives it, whoever asks.
#include "near_capacity.hpp"

#include <headroom/decide.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/solve/solve.hpp>

#include <doctest/doctest.h>

namespace test_verdict {

using namespace headroom;
using namespace headroom::literals;

TEST_CASE("no estimate says of a job near a GPU's capacity what a replay denies") {
  near_capacity::jobs source(2'026);
  int seen = 0, open = 0;
  std::array<int, 2> fitting{}, proved{};  // in segments of a fixed size, and in those that expand
  while (seen < draw::watched(6'000)) {
    const auto j = source.next();
    if (!j) continue;
    ++seen;
    CAPTURE(seen);
    CAPTURE(j->model.label.view());
    CAPTURE(j->framework.label.view());
    const auto estimated = estimate(*j);
    const auto replayed = replay(*j);
    REQUIRE((!estimated.fits() || replayed.fits()));
    REQUIRE((estimated.may_fit() || !replayed.fits()));
    REQUIRE(replayed.fits() == replayed.may_fit());
    open += is_decided(estimated) ? 0 : 1;
    const std::size_t kind = detail::expands_segments(*j) ? 1 : 0;
    fitting[kind] += replayed.fits() ? 1 : 0;
    proved[kind] += estimated.fits() ? 1 : 0;
  }
  MESSAGE("open: ", open, " of ", seen, "; fixed segments: ", proved[0], " of ", fitting[0], " that fit are proved to, expandable: ", proved[1], " of ", fitting[1]);
  CHECK(proved[1] * 4 > fitting[1] * 3);
}

TEST_CASE("nor of small jobs under FSDP2, of which nearly empty pages are half of what is reserved") {
  const auto small = [](double gib) {
    auto j = io::read_job(io::parse_json(R"({"model": {"layers": 3, "hidden": 320, "heads": 4, "ffn": 320, "vocab": 1000, "max_positions": 2048, "mlp": "plain", "norm": "layernorm"}, "framework": "torchtitan",
      "hardware": {"gpu": "mi300x-192gb", "nodes": 2}, "batch": {"micro": 2, "sequence": 128}, "precision": "bf16-mixed", "recompute": "full", "sharding": "fsdp2", "offload": {"optimizer": "cpu"}, "attention": "math"})", "job"));
    j.hardware.gpu.memory = bytes{static_cast<std::int64_t>(gib * 0x1p30)};
    return j;
  };
  // Three streams' segments: 64 MiB that stay, and some MiB in each.
  int seen = 0, fit = 0;
  for (double gib = 0.3; gib < 1.2; gib += 0.001) {
    const auto j = small(gib);
    const bool certain = estimate(j).fits(), fits = replay(j).fits();
    REQUIRE((!certain || fits));
    ++seen;
    fit += certain ? 1 : 0;
  }
  CHECK(fit > 0);
  CHECK(fit < seen);
}

TEST_CASE("what is decided without a replay is what a replay says, with any confidence") {
  // 3,000 jobs that fill a GPU to four fifths or more, and the same with seven tenths of their tokens; and one of 66B, of which a replay takes
  // twice what its tensors do: whole gradients of ZeRO-2's kind come and go beside flat parameters.
  std::vector<job> jobs;
  near_capacity::jobs source(11);
  for (int i = 0; i < draw::watched(6'000); ++i)
    if (const auto j = source.next()) {
      jobs.push_back(*j);
      auto less = *j;
      less.batch.sequence = j->batch.sequence * 7 / 10 / 64 * 64;
      if (less.batch.sequence > 0) jobs.push_back(less);
    }
  for (const std::int64_t micro : {1, 4, 8, 16}) {
    job j{.model = models::opt_66b, .hardware = {.gpu = gpus::b300_sxm_288gb, .nodes = 16, .gpus_per_node = 8}, .framework = frameworks::deepspeed, .batch = {.micro = micro, .sequence = 2048}, .recompute = recompute::full};
    j.sharding = fsdp1();
    j.sharding.stage = 2;
    jobs.push_back(j);
  }
  int seen = 0, certain = 0;
  for (const auto& j : jobs) {
    const auto estimated = estimate_all(j);
    std::optional<full_report> replayed;
    for (const double share : {0.5, 0.8, 0.95, 0.99, 0.999}) {
      ++seen;
      if (!is_decided(estimated, confidence{share})) continue;
      ++certain;
      if (!replayed) replayed = replay(j);
      CAPTURE(share);
      CAPTURE(j.model.label.view());
      CAPTURE(j.framework.label.view());
      REQUIRE(fits(estimated, confidence{share}) == fits(*replayed, confidence{share}));
    }
  }
  MESSAGE(certain, " of ", seen, " decided without a replay");
  CHECK(certain > 20);
}

TEST_CASE("a job whose tensors fit and whose segments do not, for all who ask") {
  static constexpr job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .batch = {.micro = 2, .sequence = 7680}, .recompute = recompute::full};
  constexpr auto estimated = estimate(j);
  static_assert(estimated.device() <= estimated.tightest().capacity);
  static_assert(!estimated.fits());
  static_assert(estimated.may_fit());
  static_assert(!fits(j));
  const auto replayed = replay(j);
  CHECK_FALSE(replayed.fits());
  CHECK(replayed.device() > replayed.tightest().capacity + 1_GiB);
  CHECK(replayed.tightest().fragmentation == bytes{0});
  CHECK(decide(j) == replayed);
  CHECK_FALSE(decided{}(j));
  const std::string text = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb"}, "framework": "libtorch", "batch": {"micro": 2, "sequence": 7680}, "recompute": "full"})";
  for (const bool full : {true, false}) CHECK(io::admit({.job = text, .full = full}).decision == io::decision::does_not_fit);

  // One that fits by a replay alone.
  auto less = j;
  less.batch.micro = 1;
  CHECK_FALSE(estimate(less).fits());
  CHECK(replay(less).fits());
  CHECK(decide(less) == replay(less));
}

TEST_CASE("what is solved for fits by a replay, and the next does not") {
  const job j{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .batch = {.micro = 1, .sequence = 2048}};
  const auto sure = solve(j, unknowns::micro_batch), exact = solve(j, unknowns::micro_batch, decided{});
  CHECK(sure.value > 0);
  CHECK(sure.value <= exact.value);
  CHECK(replay(exact.job).fits());
  auto next = exact.job;
  ++next.batch.micro;
  CHECK_FALSE(replay(next).fits());
}

}  // namespace test_verdict
