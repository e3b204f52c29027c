// Distributed under the Boost Software License, Version 1.0.
// plan_judge against judging every job by itself: what it remembers, what jobs of a line share and the least times change nothing.
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/plan/memo.hpp>

#include <doctest/doctest.h>

#include <string>

#include "../estimate/dice.hpp"
#include <long_table.hpp>

namespace test_lines {

using namespace headroom;

namespace {

/// What the jobs of a search have in common.
job common(draw::dice& dice) {
  job j;
  const shape models[] = {models::llama_3_1_8b, long_table(models::gpt2_xl), models::mixtral_8x7b, models::deepseek_v3, models::qwen3_30b_a3b};
  j.model = models[dice.index(5)];
  j.model.layers = dice.pick({8, 12, 24, 61});
  j.hardware = {.gpu = dice.flip() ? gpus::h100_sxm_80gb : gpus::b200_sxm_180gb, .nodes = dice.pick({2, 8, 16}), .gpus_per_node = 8};
  j.framework = frameworks::megatron;
  j.framework.pipeline.microbatch_group = dice.flip() ? 0 : 4;
  j.framework.attention.masks_in_loader = dice.flip();
  if (dice.flip()) j.precision = headroom::precisions::bf16_mixed;
  if (j.model.sparse() && dice.flip()) j.model.experts.every = 1 + dice.pick({0, 1});
  j.attention = dice.flip() ? attention::te : attention::flash;
  j.batch.sequence = 4096;
  return j;
}
void set_batch(draw::dice& dice, job& j) {
  j.batch.micro = dice.pick({1, 1, 2, 4});
  j.batch.accumulation = dice.pick({1, 2, 8, 16, 64});
}
/// One of its jobs.
job any(draw::dice& dice, const job& base) {
  auto j = base;
  j.parallel.tensor = dice.pick({1, 2, 8});
  axes::pipeline.set(j, dice.pick({1, 2, 4, 8}));
  j.parallel.context = dice.pick({1, 1, 2});
  if (base.model.sparse()) j.parallel.expert = dice.pick({1, 4, 8});
  j.parallel.sequence = dice.flip();
  axes::virtual_pipeline.set(j, j.parallel.pipeline > 1 ? dice.pick({1, 1, 2, 3}) : 1);
  const schedule orders[] = {schedule::one_forward_one_backward, schedule::gpipe, schedule::zero_bubble, schedule::dualpipe};
  j.parallel.schedule = j.parallel.virtual_pipeline > 1 ? schedule::interleaved : orders[dice.index(4)];
  if (j.parallel.pipeline > 2 && j.parallel.chunks == 0 && dice.flip()) j.parallel.first_stage_layers = dice.pick({1, 2}), j.parallel.last_stage_layers = dice.pick({0, 1});
  if (dice.flip()) j.sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1};
  if (j.parallel.pipeline == 1 && j.parallel.virtual_pipeline == 1 && dice.flip()) {
    j.sharding = megatron_fsdp(dice.pick({1, 2, 3, 3}));
    j.parallel.schedule = schedule::one_forward_one_backward;
  }
  axes::recomputation.set(j, dice.pick({0, 1, 3, 4, 6}));
  if (dice.flip() && dice.flip()) j.recompute = {.mode = recompute_mode::full, .method = recompute_method::uniform, .layers = dice.pick({1, 2, 3})};
  set_batch(dice, j);
  return j;
}

struct answer {
  judged_plan seen;
  std::string refused;
};
template <class Judge>
answer answer_of(const Judge& judge) {
  answer r;
  try {
    r.seen = judge();
    if (r.seen.refused) r.refused = r.seen.refused.in_words().what();
  } catch (const error& e) {
    r.refused = e.what();
  }
  return r;
}

}  // namespace

TEST_CASE("what jobs of a search have in common changes nothing: one after the other they are judged as each is by itself") {
  draw::dice dice(97);
  std::int64_t same = 0, refused = 0;
  for (int i = 0; i < draw::some(40); ++i) {
    const auto base = common(dice);
    plan_judge judge;
    for (int k = 0; k < 400; ++k) {
      const auto j = any(dice, base);
      const auto alone = answer_of([&] { return (void)estimate(j), judge_plan(j); }), here = answer_of([&] { return judge(j); });
      CAPTURE(i);
      CAPTURE(k);
      CHECK(here.refused == alone.refused);
      ++(alone.refused.empty() ? same : refused);
      if (!alone.refused.empty()) continue;
      CHECK(here.seen.fits == alone.seen.fits);
      CHECK(here.seen.device == alone.seen.device);
      CHECK(here.seen.seconds == alone.seen.seconds);
    }
  }
  CHECK(same > draw::some(4000));
  CHECK(refused > 0);
}

TEST_CASE("jobs of a line are judged as each is by itself, and none takes less than its least time") {
  draw::dice dice(101);
  std::int64_t same = 0, refused = 0, fitting = 0, close = 0;
  for (int i = 0; i < draw::some(40); ++i) {
    const auto base = common(dice);
    plan_judge judge;
    for (int k = 0; k < 120; ++k) {
      auto j = any(dice, base);
      judge.begin(j);
      for (int n = 0; n < 4; ++n) {
        set_batch(dice, j);
        const auto alone = answer_of([&] { return judge_plan(j); }), here = answer_of([&] { return judge.next(); });
        CAPTURE(i);
        CAPTURE(k);
        CAPTURE(n);
        CHECK(here.refused == alone.refused);
        ++(alone.refused.empty() ? same : refused);
        if (!alone.refused.empty()) continue;
        CHECK(here.seen.fits == alone.seen.fits);
        if (!alone.seen.fits) continue;
        CHECK(here.seen.device == alone.seen.device);
        CHECK(here.seen.seconds <= alone.seen.seconds);
        CHECK(judge.seconds() == alone.seen.seconds);
        ++fitting;
        close += here.seen.seconds > 0.8 * alone.seen.seconds ? 1 : 0;
      }
    }
  }
  CHECK(same > draw::some(6000));
  CHECK(refused > 0);
  CHECK(fitting > draw::some(2000));
  CHECK(close * 2 > fitting);  // or it would leave nothing out
}

// Three of four layers of Qwen3.5 are Gated DeltaNet.
TEST_CASE("a least time counts the layers of every kind") {
  job j;
  j.model = {.layers = 16, .hidden = 2560, .heads = 16, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .vocab = 32'000, .tied = true};
  j.model.qk_norm = j.model.gated_attention = true;
  j.model.ssm = {.heads = 32, .head_dim = 128, .state = 128, .groups = 16, .conv = 4};
  for (int i = 0; i < 3; ++i) j.model.pattern.add({mixer_kind::gated_delta_net});
  j.model.pattern.add({mixer_kind::attention});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::megatron_swift;
  j.framework.rotary.writes_out = true;
  j.attention = attention::flash;
  j.parallel = {.data = 2, .tensor = 2, .sequence = true, .pipeline = 2};
  j.batch = {.micro = 1, .sequence = 4096, .accumulation = 32};
  plan_judge judge;
  judge.begin(j);
  const auto least = judge.next();
  REQUIRE(least.fits);
  CHECK(least.seconds <= judge.seconds());
  CHECK(least.seconds > 0.8 * judge.seconds());
}

TEST_CASE("a judge that has judged is copied as one that knows nothing, and judges the same") {
  draw::dice dice(7);
  const auto base = common(dice);
  plan_judge judge;
  for (int k = 0; k < 20; ++k) {
    const auto j = any(dice, base);
    const auto first = answer_of([&] { return judge(j); });
    auto copy = judge;
    const auto again = answer_of([&] { return copy(j); });
    auto other = base;  // of another search
    other.model = long_table(models::gpt2_xl);
    (void)answer_of([&] { return copy(other); });
    copy = judge;
    CHECK(answer_of([&] { return copy(j); }).seen.device == first.seen.device);
    CHECK(again.refused == first.refused);
    CHECK(again.seen.device == first.seen.device);
    CHECK(again.seen.seconds == first.seen.seconds);
  }
}

TEST_CASE("results stay where they are while a table grows, and each is made once") {
  detail::memo<2, std::int64_t> known;
  std::int64_t made = 0;
  const auto ask = [&](std::int64_t n) -> std::int64_t& {
    return known.at({n, n % 7}, [&] { return ++made, n * n; });
  };
  const auto* first = &ask(0);
  for (std::int64_t n = 0; n < 5000; ++n) CHECK(ask(n) == n * n);
  for (std::int64_t n = 0; n < 5000; ++n) CHECK(ask(n) == n * n);
  CHECK(made == 5000);
  CHECK(known.size() == 5000);
  CHECK(&ask(0) == first);
  CHECK_THROWS_AS(known.at({-1, 0}, []() -> std::int64_t { refuse("headroom: no"); }), job_error);
  CHECK(known.size() == 5000);
}

}  // namespace test_lines
