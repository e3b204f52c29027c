// Distributed under the Boost Software License, Version 1.0.
// Every entry point runs on a thread with a stack of 64 KB, as it is compiled here.
#include "draw.hpp"
#include "stack.hpp"

#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/full_report.hpp>
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace test_stack {

using namespace headroom;

namespace {

/// The most of many calls.
struct tallest {
  std::size_t bytes{};
  std::string of{};
  template <class Call>
  void see(const std::string& name, const Call& call) {
    const auto taken = stack::of([&] {
      try {
        call();
      } catch (const error&) {
      }
    });
    if (taken > bytes) bytes = taken, of = name;
  }
  void check(std::string_view what) const {
    CAPTURE(what);
    CAPTURE(of);
    CHECK(bytes <= stack::limit);
  }
};

template <class Call>
void over_random_jobs(std::string_view what, int n, const Call& call) {
  if (!stack::measured) return;
  draw::jobs jobs(64);
  tallest most;
  for (int i = 0; i < n; ++i) {
    static job j;  // no part of the stack that is looked at
    j = jobs.next();
    most.see(std::string{j.framework.label.view()} + " " + std::to_string(i), [&] { call(j); });
  }
  most.check(what);
}

}  // namespace

TEST_CASE("estimate() takes 64 KB of stack at most") {
  over_random_jobs("estimate", 300, [](const job& j) { (void)estimate(j); });
  over_random_jobs("estimate_all", 100, [](const job& j) { (void)estimate_all(j); });
  over_random_jobs("fits for sure", 100, [](const job& j) { (void)fits(j, 0.95); });
}

TEST_CASE("cost(), objection_to(), replay() and decide() do") {
  over_random_jobs("cost", 200, [](const job& j) { (void)cost(j); });
  over_random_jobs("objection_to", 400, [](const job& j) { (void)objection_to(j); });
  over_random_jobs("replay", 60, [](const job& j) { if (replays(j)) (void)replay(j); });
  over_random_jobs("decide", 60, [](const job& j) { (void)decide(j); });
}

TEST_CASE("solve(), balance_stages() and advise() do") {
  over_random_jobs("solve", 40, [](const job& j) { (void)solve(j, unknowns::micro_batch); });
  over_random_jobs("balance_stages", 60, [](const job& j) { (void)balance_stages(j); });
  over_random_jobs("advise", 30, [](const job& j) { (void)advise(j); });
}

TEST_CASE("plan() does") {
  if (!stack::measured) return;
  static search s;
  s.job = {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 1, .sequence = 2048}};
  tallest most;
  for (const auto& f : {frameworks::deepspeed, frameworks::hf_trainer, frameworks::megatron}) {
    s.job.framework = f;
    s.open = (1U << axes::all.size()) - 1;
    s.open_micro = true;
    s.global_batch = 16;
    most.see(std::string{f.label.view()}, [] { (void)plan(s, {.threads = 1}); });
  }
  most.check("plan");
}

TEST_CASE("Muon over many ranks does, and so does a stage of 64 chunks") {
  if (!stack::measured) return;
  static job j{.model = models::llama_3_1_8b,
               .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 64, .gpus_per_node = 8},
               .framework = frameworks::megatron,
               .optimizer = optimizers::muon,
               .sharding = {.kind = sharding_kind::megatron_distributed_optimizer, .stage = 1},
               .batch = {.micro = 1, .sequence = 2048}};
  tallest most;
  REQUIRE(!objection_to(j));
  most.see("muon", [] { (void)estimate(j); });
  j.optimizer = optimizers::adamw;
  j.model.layers = 256;
  j.parallel = {.pipeline = 4, .virtual_pipeline = 64};
  j.batch.accumulation = 8;
  REQUIRE(!objection_to(j));
  most.see("64 chunks", [] { (void)estimate(j); });
  j.framework = frameworks::torchtitan_202602;
  j.sharding = fsdp2();
  REQUIRE(!objection_to(j));
  most.see("64 eager chunks", [] { (void)estimate(j); });
  most.check("estimate");
}

TEST_CASE("a job with a reference does, and one that generates") {
  if (!stack::measured) return;
  static job j{.model = models::llama_3_1_8b,
               .hardware = {.gpu = gpus::a100_sxm_80gb, .gpus_per_node = 8},
               .framework = frameworks::deepspeed,
               .sharding = zero(3),
               .batch = {.micro = 2, .sequence = 1024},
               .recompute = recompute::full};
  j.objective = {.kind = objective_kind::dpo, .code = method_code::trl, .reference = reference_way::copy};
  tallest most;
  REQUIRE(!objection_to(j));
  most.see("dpo", [] { (void)estimate(j); });
  most.see("dpo's micro-batch", [] { (void)solve(j, unknowns::micro_batch); });
  j.objective = {.kind = objective_kind::grpo, .code = method_code::trl, .reference = reference_way::copy};
  j.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.3), .sleep = 2, .prompt = 512, .completion = 512, .generations = 8};
  REQUIRE(!objection_to(j));
  most.see("grpo", [] { (void)estimate(j); });
  most.see("grpo's share", [] { (void)solve(j, unknowns::engine_share); });
  j.objective = {.kind = objective_kind::ppo, .code = method_code::trl, .reference = reference_way::copy, .frozen = {.model = models::qwen3_0_6b}, .critic = {.model = models::qwen3_0_6b}};
  j.rollout = {.engine = engine_kind::trainer, .prompt = j.batch.sequence / 2, .completion = j.batch.sequence / 2};
  most.see("ppo", [] { (void)estimate(j); });
  most.check("estimate and solve");
}

}  // namespace test_stack
