// Distributed under the Boost Software License, Version 1.0.
// The planner against trying everything: other loops, nothing passed over, one thread.
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "../estimate/dice.hpp"
#include <long_table.hpp>

namespace test_plan {

using namespace headroom;
using namespace headroom::literals;

namespace {

constexpr std::uint32_t bit(std::string_view key) { return 1U << axes::find(key); }

struct seen_plan {
  double seconds;
  std::int64_t device;
  friend auto operator<=>(const seen_plan&, const seen_plan&) = default;
};

/// Stages that layers do not divide by are tried where there is no even cut into as many or more, by a trainer that can cut anywhere.
bool tries_uneven(const job& j, std::int64_t p, std::int64_t ranks) {
  if (!j.framework.modules.megatron() || p > j.model.layers) return false;
  for (std::int64_t more = p + 1; more <= j.model.layers; ++more)
    if (j.model.layers % more == 0 && ranks % more == 0) return false;
  return true;
}

/// Every combination of whatever could be meant; what is refused is not possible.
std::vector<seen_plan> brute_force(const search& s) {
  std::vector<seen_plan> all;
  const auto is_open = [&](std::string_view key) { return (s.open & bit(key)) != 0; };
  const auto gpus = s.job.hardware.gpus();
  const auto upto = [&](std::string_view key, std::int64_t n) { return is_open(key) ? n : 1; };
  for (std::int64_t t = 1; t <= upto("parallel.tensor", s.job.hardware.gpus_per_node); ++t)
    for (std::int64_t p = 1; p <= upto("parallel.pipeline", gpus); ++p)
      for (std::int64_t c = 1; c <= upto("parallel.context", gpus); ++c)
        for (std::int64_t e = 1; e <= upto("parallel.expert", 8); ++e) {
          if (gpus % (t * p * c) != 0 || (c > 1 && s.job.batch.sequence % (2 * c) != 0)) continue;
          const auto data = gpus / (t * p * c);
          const bool even = s.job.model.layers % p == 0;
          if (!even && !tries_uneven(s.job, p, gpus / t)) continue;
          for (int kind = 0; kind < (is_open("sharding") ? 9 : 1); ++kind)
            for (int sequence = 0; sequence < (is_open("parallel.sequence") && t > 1 ? 2 : 1); ++sequence)
              for (std::int64_t v = 1; v <= (is_open("parallel.virtual_pipeline") && p > 1 ? 24 : 1); ++v)
                for (int again = 0; again < (is_open("recompute") ? 2 : 1); ++again)
                  for (int off = 0; off < (is_open("offload.optimizer") ? 2 : 1); ++off)
                    for (std::int64_t micro = 1; micro <= (s.open_micro ? s.global_batch : 1); ++micro) {
                      auto j = s.job;
                      j.parallel.tensor = t, j.parallel.pipeline = p, j.parallel.context = c, j.parallel.expert = e;
                      if (is_open("parallel.sequence")) j.parallel.sequence = sequence != 0;
                      j.parallel.virtual_pipeline = v;
                      if (v > 1) j.parallel.schedule = schedule::interleaved;
                      const auto chunks = p * v, each = s.job.model.layers / chunks, more = s.job.model.layers % chunks;
                      if (more != 0 && (even || each == 0)) continue;
                      if (more != 0) {  // the first chunk has the embedding, the last ones have the head and what is left
                        j.parallel.chunks = static_cast<std::int32_t>(chunks);
                        for (std::int64_t i = 0; i < chunks; ++i) j.parallel.stage_layers[i] = static_cast<std::int32_t>(1 <= i && i <= more ? each + 1 : each);
                      }
                      if (is_open("sharding")) {
                        const sharding kinds[] = {{}, ddp(), zero(1), zero(2), zero(3), fsdp1(), fsdp2(), {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1}, megatron_fsdp()};
                        // Where there is nothing to divide, nothing is, but for ZeRO's offload; where there is, plain is called ddp.
                        if (kind == 0 ? data * c != 1 : data * c == 1 && kind != 3 && kind != 4) continue;
                        const std::string_view trainer = j.framework.label.view();
                        if (kind > 1 && trainer == "deepspeed" && kinds[kind].kind != sharding_kind::zero) continue;
                        if (kind > 1 && trainer == "torchtitan" && kinds[kind].kind != sharding_kind::fsdp2) continue;
                        j.sharding.kind = kinds[kind].kind, j.sharding.stage = kinds[kind].stage;
                      }
                      if (off != 0 && j.sharding.kind <= sharding_kind::ddp) continue;  // these three trainers have no other offload
                      if (is_open("recompute")) j.recompute = again != 0 ? recompute::full : recompute::none;
                      if (off != 0) j.offload.optimizer = place::on_cpu;
                      if (s.open_micro) {
                        if (s.global_batch % (data * micro) != 0) continue;
                        j.batch.micro = micro;
                        j.batch.accumulation = s.global_batch / (data * micro);
                      }
                      try {
                        const auto seen = judge_plan(j);
                        if (seen.fits) all.push_back({seen.seconds, seen.device.count()});
                      } catch (const job_error&) {
                      }
                    }
        }
  std::sort(all.begin(), all.end());
  return all;
}

search any(draw::dice& dice) {
  search s;
  const shape models[] = {models::llama_3_1_8b, long_table(models::gpt2_xl), models::mixtral_8x7b, models::qwen2_5_7b};
  s.job.model = models[dice.index(4)];
  s.job.model.layers = dice.pick({4, 8, 12, 24});
  s.job.hardware = {.gpu = dice.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_40gb, .nodes = dice.pick({1, 2}), .gpus_per_node = dice.pick({1, 2, 4, 8})};
  const profile* trainers[] = {&headroom::frameworks::megatron, &headroom::frameworks::deepspeed, &headroom::frameworks::torchtitan_202504, &headroom::frameworks::megatron};
  s.job.framework = *trainers[dice.index(4)];
  s.job.batch = {.micro = 1, .sequence = dice.pick({1024, 4096, 8192})};
  s.job.attention = attention::flash;
  for (const auto key : {"parallel.tensor", "parallel.pipeline", "parallel.context", "sharding", "parallel.sequence", "parallel.virtual_pipeline", "offload.optimizer"})
    if (dice.flip()) s.open |= bit(key);
  if (s.job.model.sparse() && dice.flip()) s.open |= bit("parallel.expert");
  s.open_micro = dice.flip();
  if (s.open_micro) s.global_batch = dice.pick({8, 16, 24, 48});
  return s;
}

}  // namespace

TEST_CASE("the fastest plans are those of trying everything, with any number of threads") {
  draw::dice dice(41);
  int found = 0;
  for (int i = 0; i < draw::some(200); ++i) {
    const auto s = any(dice);
    CAPTURE(i);
    CAPTURE(s.job.model.label.view());
    CAPTURE(s.job.framework.label.view());
    CAPTURE(s.open);
    const auto all = brute_force(s);
    const auto one = plan(s, {.top = 12, .threads = 1}), three = plan(s, {.top = 12, .threads = 3});
    CHECK(one.fitting == static_cast<std::int64_t>(all.size()));
    REQUIRE(one.best.size() == std::min<std::size_t>(all.size(), 12));
    for (std::size_t k = 0; k < one.best.size(); ++k) {
      CHECK(one.best[k].outcome.seconds == all[k].seconds);
      CHECK(one.best[k].job == three.best[k].job);
      CHECK(estimate(one.best[k].job).may_fit());
    }
    CHECK(one.evaluated == three.evaluated);
    CHECK(one.rejected == three.rejected);
    CHECK(one.front.size() == three.front.size());
    // The front: of all that fit, each is beaten in time or memory by none.
    for (const auto& f : one.front)
      for (const auto& a : all) CHECK_FALSE((a.seconds <= f.outcome.seconds && a.device < f.outcome.device.count()));
    found += all.empty() ? 0 : 1;
  }
  CHECK(found > draw::some(100));
}

TEST_CASE("a search tries the schedules that a framework has") {
  search s;
  s.job = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::torchtitan_202508, .sharding = fsdp2()};
  s.job.batch = {.micro = 1, .sequence = 4096, .accumulation = 8};
  s.job.parallel = {.data = 2, .pipeline = 4};
  s.open = bit("parallel.virtual_pipeline") | bit("parallel.schedule");
  const auto found = [&](schedule kind) {
    const auto r = plan(s, {.top = 100});
    return std::any_of(r.best.begin(), r.best.end(), [&](const ranked_plan& p) { return p.job.parallel.schedule == kind; });
  };
  CHECK(found(schedule::zero_bubble_v));
  CHECK(found(schedule::interleaved));
  CHECK_FALSE(found(schedule::zero_bubble));
  s.job.framework = frameworks::megatron;
  s.job.sharding = ddp();
  CHECK(found(schedule::zero_bubble));
  CHECK_FALSE(found(schedule::zero_bubble_v));
}

TEST_CASE("parts of a search join to the whole") {
  search s;
  s.job = {.model = models::llama_3_1_70b, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.micro = 1, .sequence = 8192}};
  s.open = bit("parallel.tensor") | bit("parallel.pipeline") | bit("parallel.context") | bit("sharding") | bit("recompute");
  s.open_micro = true;
  s.global_batch = 64;
  const auto whole = plan(s);
  plan_result joined;
  for (std::int64_t part = 0; part < 3; ++part) detail::join(joined, plan(s, {.part = part, .parts = 3}), 10);
  CHECK(joined.evaluated == whole.evaluated);
  CHECK(joined.rejected == whole.rejected);
  REQUIRE(joined.best.size() == whole.best.size());
  for (std::size_t i = 0; i < whole.best.size(); ++i) CHECK(joined.best[i].job == whole.best[i].job);
  CHECK(joined.front.size() == whole.front.size());
}

TEST_CASE("a search that is stopped says so, and one that makes no sense is refused") {
  search s;
  s.job = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 1, .sequence = 4096}};
  s.open = bit("sharding");
  std::stop_source source;
  source.request_stop();
  CHECK_FALSE(plan(s, {.stop = source.get_token()}).complete);
  CHECK(plan(s).complete);
  s.open_micro = true;
  CHECK_THROWS_WITH_AS(plan(s), doctest::Contains("how many sequences a step has"), job_error);
  s.global_batch = 8;
  CHECK_THROWS_WITH_AS(plan(s, {.part = 3, .parts = 3}), doctest::Contains("part of a search"), job_error);
  CHECK(axes::all[axes::find("parallel.tensor")].key == "parallel.tensor");
  CHECK(axes::find("parallel.tensors") == axes::all.size());
}

}  // namespace test_plan
