// Distributed under the Boost Software License, Version 1.0.
// Methods with a reference, a teacher or another head are replayed as fine-tuning is: what estimate() adds up is what a replay asks for, and what it takes
// beside that are the allocator's holes.
#include "../replayed_steps.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace test_method_replay {

using namespace headroom;
using namespace headroom::literals;

namespace {

struct method {
  std::string name;
  objective what;
  bool adapts{};
};
std::vector<method> methods() {
  objective distilled{.kind = objective_kind::distill, .code = method_code::trl};
  distilled.frozen = {.model = models::llama_3_1_8b};
  return {{"dpo, a copy", {.kind = objective_kind::dpo, .code = method_code::trl}},
          {"dpo, LLaMA-Factory's", {.kind = objective_kind::dpo, .code = method_code::llama_factory}},
          {"dpo, adapters off", {.kind = objective_kind::dpo, .code = method_code::trl}, true},
          {"dpo, before the first step", {.kind = objective_kind::dpo, .code = method_code::trl, .reference = reference_way::precomputed}},
          {"kto", {.kind = objective_kind::kto, .code = method_code::trl}},
          {"orpo", {.kind = objective_kind::orpo, .code = method_code::trl}},
          {"simpo", {.kind = objective_kind::simpo, .code = method_code::trl}},
          {"reward", {.kind = objective_kind::reward, .code = method_code::trl}},
          {"classification", {.kind = objective_kind::classification, .code = method_code::trl}, true},
          {"embedding", {.kind = objective_kind::embedding, .code = method_code::trl}},
          {"distillation", distilled}};
}
job with(const method& m, const sharding& of) {
  job j{.model = models::llama_3_2_1b,
        .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = of.kind == sharding_kind::none ? 1 : 4},
        .framework = of.by(sharder::deepspeed) ? frameworks::deepspeed : frameworks::hf_trainer,
        .precision = precisions::bf16,
        .optimizer = optimizers::adamw,
        .sharding = of,
        .batch = {.micro = 2, .sequence = 512},
        .recompute = recompute::full,
        .attention = attention::flash,
        .objective = m.what};
  if (of.by(sharder::deepspeed)) j.precision = precisions::bf16_mixed;
  if (m.adapts) j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::bf16};
  return j;
}

}  // namespace

TEST_CASE("a replay of a method asks for what is estimated") {
  int seen = 0;
  for (const auto& m : methods())
    for (const auto& of : {sharding{}, ddp(), zero(1), zero(2), zero(3), fsdp2()}) {
      const auto j = with(m, of);
      CAPTURE(m.name);
      CAPTURE(static_cast<int>(of.kind));
      CAPTURE(of.stage);
      if (objection_to(j)) continue;
      REQUIRE(replays(j));
      const auto e = estimate(j);
      CHECK(max(replayed_steps(j).asked, e.ranks[0][phase::load]) == e.ranks[0].allocated);
      ++seen;
      const auto r = replay(j);
      CHECK(r.ranks[0].reserved >= r.ranks[0].active);
      CHECK(r.ranks[0].allocated >= e.ranks[0].allocated);
      CHECK(r.ranks[0].reserved <= e.ranks[0].active + most_fragmentation(j, weights_of(settle(j).model), e.ranks[0]) + 2 * mib);
    }
  CHECK(seen == 66);
}

// ms-swift's scripts whose tokens are known, since rows are packed full, or do not matter: what the first of them says of a GPU was read off the caching allocator
// (swift/trainers/patcher.py, torch.cuda.max_memory_reserved). Holes bring predictions nearer to it: its tensors alone are 62.2 GiB.
TEST_CASE("what a distillation reserved: 67 GiB") {
  std::ifstream in(HEADROOM_TEST_DATA "/objectives_measured.jsonl");
  int found = 0;
  for (std::string line; std::getline(in, line);) {
    const auto r = io::read_measured(line, "objectives_measured.jsonl");
    if (r.id != "swift-gkd-qwen3-8b-t8b-z3-packed") continue;
    ++found;
    const auto j = io::read_job(r.job);
    const auto tensors = estimate(j).ranks[0].allocated, reserved = replay(j).ranks[0].reserved;
    CHECK(tensors < reserved - 1_GiB);
    CHECK(static_cast<double>(reserved.count()) < r.value);
    CHECK(static_cast<double>(reserved.count()) > 0.95 * r.value);
  }
  CHECK(found == 1);
}

// Two classifiers that transformers' Trainer trained on an H100 (tests/accuracy/trainer_measured.jsonl): 3,026 and 2,818 MiB.
TEST_CASE("what classifiers reserved on an H100, within one and a half of a hundred") {
  std::ifstream in(HEADROOM_TEST_DATA "/../accuracy/trainer_measured.jsonl");
  int found = 0;
  for (std::string line; std::getline(in, line);) {
    const auto r = io::read_measured(line, "trainer_measured.jsonl");
    if (!r.id.ends_with("classification-reserved")) continue;
    CAPTURE(r.id);
    ++found;
    const auto j = io::read_job(r.job, io::file_base{});
    CHECK(std::abs(static_cast<double>(replay(j).ranks[0].reserved.count()) / r.value - 1) < 0.015);
    CHECK(static_cast<double>(estimate(j).ranks[0].active.count()) / r.value < 0.93);  // its tensors alone
  }
  CHECK(found == 2);
}

}  // namespace test_method_replay
