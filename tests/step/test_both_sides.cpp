// Distributed under the Boost Software License, Version 1.0.
// Conditions that are mostly met together, each from both sides: what a search cuts unevenly, what a cache is kept in, what a loss goes with, what a
// correction and an explanation leave, what a trainer's method is taken for, where blocks grow.
#include <headroom/allocator/allocator.hpp>
#include <headroom/headroom.hpp>
#include <headroom/measured/correct.hpp>
#include <headroom/measured/explain.hpp>
#include <headroom/model/zoo.hpp>
#include <headroom/plan/axes.hpp>
#include <headroom/rollout/key_value_cache.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "limits.hpp"

namespace test_both_sides {

using namespace headroom;

// A cut that divides the layers, and leaves a whole number of GPUs, is even; where one of no fewer stages is there, an uneven one is not tried.
TEST_CASE("layers are cut unevenly where no more stages are even") {
  int even = 0, uneven = 0;
  for (std::int64_t layers = 1; layers <= 30; ++layers)
    for (const std::int64_t gpus : {1, 2, 6, 8, 12, 16})
      for (std::int64_t stages = 1; stages <= 32; ++stages) {
        job j{.model = models::llama_2_7b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = gpus}, .framework = frameworks::megatron};
        j.model.layers = layers;
        bool divides = stages > layers;
        for (auto p = stages; p <= std::min(layers, std::int64_t{degrees::max_chunks}); ++p) {
          const bool whole = layers / p * p == layers, places = gpus / p * p == gpus;
          divides = divides || (whole && places);
        }
        CAPTURE(layers);
        CAPTURE(gpus);
        CAPTURE(stages);
        CHECK(axes::detail::uneven(j, stages) == !divides);
        (divides ? even : uneven) += 1;
        j.framework = frameworks::hf_trainer;
        CHECK_FALSE(axes::detail::uneven(j, stages));
      }
  CHECK(even > 100);
  CHECK(uneven > 100);
}

// Llama-3.1-8B: 32 layers, a key and a value of 8 heads of 128.
TEST_CASE("keys and values are kept in whole bytes an element") {
  const auto& m = models::llama_3_1_8b;
  CHECK(token_bytes(m, 1, formats::bf16) == bytes{32 * 2 * 8 * 128 * 2});
  CHECK(token_bytes(m, 1, formats::fp16) == bytes{32 * 2 * 8 * 128 * 2});
  CHECK(token_bytes(m, 1, formats::fp32) == bytes{32 * 2 * 8 * 128 * 4});
  CHECK(token_bytes(m, 1, formats::fp8) == bytes{32 * 2 * 8 * 128});
  CHECK(token_bytes(m, 4, formats::fp8) == bytes{32 * 2 * 2 * 128});
  for (const auto& f : {formats::nf4, formats::int8, formats::none}) CHECK_THROWS_WITH_AS(token_bytes(m, 1, f), doctest::Contains("rollout.kv_format"), job_error);
}

// Whoever passes by one condition meets the others: a mixture of experts under transformers' Trainer, with one thing that the loss does not go with.
TEST_CASE("the loss that balances experts goes with none of these") {
  job j{.model = models::mixtral_8x7b, .hardware = {.gpu = gpus::h200_sxm_141gb, .gpus_per_node = 8}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 256}};
  j.loss.balances_experts = true;
  const char* const modelled = "loss.balances_experts is modelled for fine-tuning";
  limits::check_all(j, {
      {"", [](job&) {}},
      {"", [](job& of) { of.framework = frameworks::deepspeed; }},
      {"", [](job& of) { of.loss.kind = loss_kind::full; }},
      {modelled, [](job& of) { of.model = models::llama_2_7b; }},
      {modelled, [](job& of) { of.framework = frameworks::libtorch; }},
      {modelled, [](job& of) { of.framework = frameworks::torchtitan_202607; }},
      {modelled, [](job& of) { of.framework = frameworks::torchtune_202409; }},
      {modelled, [](job& of) { of.objective.kind = objective_kind::dpo; }},
      {modelled, [](job& of) { of.parallel.pipeline = 2; }},
      {modelled, [](job& of) { of.loss.kind = loss_kind::cut; }},
      {modelled, [](job& of) { of.compile = true; }},
      {"Megatron balances experts within its layers", [](job& of) { of.framework = frameworks::megatron; }},
  });
}

TEST_CASE("TRL's loss in chunks goes with none of these") {
  job j{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 256}};
  j.loss.kind = loss_kind::chunked;
  const char* const modelled = "TRL's chunked_nll";
  limits::check_all(j, {
      {"", [](job&) {}},
      {"", [](job& of) { of.framework = frameworks::deepspeed; }},
      {modelled, [](job& of) { of.objective.kind = objective_kind::dpo; }},
      {modelled, [](job& of) { of.objective.code = method_code::openrlhf; }},
      {modelled, [](job& of) { of.sharding = fsdp2(); of.hardware.gpus_per_node = 2; }},
      {modelled, [](job& of) { of.evaluation.batch = 1; }},
      {modelled, [](job& of) { of.compile = true; }},
      {modelled, [](job& of) { of.model.logit_softcap = 30; }},
      {modelled, [](job& of) { of.model.head_bias = true; }},
      {modelled, [](job& of) { of.model.normalised_head = true; }},
      {modelled, [](job& of) { of.model.classes = 2; }},
      {modelled, [](job& of) { of.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::head}}; }},
      {"", [](job& of) { of.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj}}; }},
      {"is modelled for litgpt, torchtitan and torchtune alone", [](job& of) { of.framework = frameworks::libtorch; }},
  });
}

// A report of 100 at the peak of its backward, moved down by 30: what was above 70 is 70, what was not is as it was.
TEST_CASE("a peak that moves takes with it what would stand above it") {
  constexpr auto first = std::size_t{0}, backward = static_cast<std::size_t>(phase::backward), forward = static_cast<std::size_t>(phase::forward);
  rank_report before{};
  before.allocated = bytes{100};
  before.peak_phase = phase::backward;
  before.at_peak[row::temporaries] = bytes{60};
  before.at_peak[row::model_parameters] = bytes{40};
  for (std::size_t i = 0; i < before.phases.size(); ++i) before.phases[i] = bytes{i == first ? 90 : i == backward ? 100 : i == forward ? 70 : 20};
  before.at_phase[first][row::activations] = bytes{90};
  before.at_phase[forward][row::activations] = bytes{70};
  before.at_phase[backward] = before.at_peak;
  auto r = before;
  detail::move_peak(r, bytes{-30});
  CHECK(r.allocated == bytes{70});
  CHECK(r.at_peak[row::temporaries] == bytes{30});
  CHECK(r.at_peak[row::model_parameters] == bytes{40});
  CHECK(r.phases[first] == bytes{70});
  CHECK(r.phases[forward] == bytes{70});
  CHECK(r.phases[backward] == bytes{70});
  CHECK(r.at_phase[backward] == r.at_peak);
  CHECK(r.at_phase[first][row::activations] == bytes{70});
  CHECK(r.at_phase[forward] == before.at_phase[forward]);
  for (std::size_t i = 0; i < r.phases.size(); ++i) CHECK((r.phases[i] == before.phases[i] || before.phases[i] > bytes{70}));
  auto up = before;
  detail::move_peak(up, bytes{30});
  CHECK(up.at_peak[row::temporaries] == bytes{90});
  CHECK(up.phases[first] == bytes{90});
  CHECK(up.phases[backward] == bytes{130});
}

// Each source's share of the deviation that was seen: their squares make one, below as above.
TEST_CASE("what a measured run has seen of its sources makes one") {
  for (const std::int64_t off : {-4000, -300, 0, 300, 4000}) {
    measured_run run{.measured = {(100'000 + off) * mib, bytes{-1}, bytes{-1}, bytes{-1}}, .predicted = {100'000 * mib, 100'000 * mib, 120'000 * mib, 121'000 * mib}};
    for (std::size_t i = 0; i < uncertainties.size(); ++i)
      if (i % 3 != 2) run.of[i] = (1'000 + 700 * static_cast<std::int64_t>(i)) * mib;
    const auto e = explain(run);
    double below = 0, above = 0;
    int sources = 0;
    for (std::size_t i = 0; i < uncertainties.size(); ++i) {
      below += e.seen_below[i] * e.seen_below[i];
      above += e.seen_above[i] * e.seen_above[i];
      sources += e.sum[i] >= 0 && run.of[i] > bytes{0} ? 1 : 0;
    }
    CAPTURE(off);
    CHECK(sources > 3);
    CHECK(below == doctest::Approx(1));
    CHECK(above == doctest::Approx(1));
  }
}

// openrlhf/models/actor.py log_probs_from_logits: flash-attn's kernel where it is installed, chunks of rows where it is not; of whole logits, in fp32.
TEST_CASE("OpenRLHF's losses read labels' scores alike, whatever the method") {
  for (const auto kind : {objective_kind::dpo, objective_kind::kto, objective_kind::ppo, objective_kind::grpo, objective_kind::rloo})
    for (const bool kernels : {false, true}) {
      const auto loss = loss_of({.kind = kind, .code = method_code::openrlhf}, kernels);
      CAPTURE(static_cast<int>(kind));
      CHECK(loss.scores == (kernels ? label_scores::in_kernel : label_scores::in_chunks));
      CHECK_FALSE(loss.shifts);
      CHECK(loss.widens);
      CHECK_FALSE(loss.names_logits);
    }
}

TEST_CASE("a method is taken for TRL's where nobody says whose it is, and said to be") {
  job j{.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 256}};
  j.objective.kind = objective_kind::dpo;
  const auto unsaid = settle(j);
  CHECK(unsaid.assumptions.has(assumption::method_of_trl));
  j.objective.code = method_code::trl;
  const auto said = settle(j);
  CHECK_FALSE(said.assumptions.has(assumption::method_of_trl));
  CHECK(said.layer.scoring == unsaid.layer.scoring);
  j.objective.code = method_code::llama_factory;
  const auto other = settle(j);
  CHECK_FALSE(other.assumptions.has(assumption::method_of_trl));
  CHECK(other.layer.scoring != unsaid.layer.scoring);
  CHECK(other.layer.scoring.scores == label_scores::whole);
}

// get_free_block's expandable_size: of two free blocks that fit the one that can grow less is taken, which is the one that no unmapped page follows.
TEST_CASE("a free block that a hole follows is kept for what fits nowhere else") {
  constexpr std::int64_t one = std::int64_t{1} << 20;
  caching_allocator a({.expandable_segments = true});
  a.allocate(10 * one);
  const auto middle = a.allocate(40 * one);
  a.allocate(10 * one);
  a.release(middle);
  a.empty_cache();  // of 10 to 50 the page from 20 to 40: 10 free in front of it, 10 behind
  CHECK(a.reserved() == 40 * one);
  const auto taken = a.allocate(8 * one);  // of those behind
  // The 10 in front and the hole are 30 in a row; had the 8 been taken there, what is left would be 32.
  a.allocate(31 * one);
  CHECK(a.reserved() == 80 * one);
  a.allocate(30 * one);
  CHECK(a.reserved() == 100 * one);
  a.release(taken);
}

// Megatron-LM megatron_fsdp.py: suggested_communication_unit_size, of which half is gathered ahead; else two average layers, and at least 1e9 elements.
TEST_CASE("a communication unit that is given is taken as it is, none among them") {
  for (const std::int64_t unit : {-1, 0, 1, 500'000'000}) {
    job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::megatron, .sharding = megatron_fsdp(), .batch = {.micro = 1, .sequence = 256}, .attention = attention::te};
    j.sharding.communication_unit = unit;
    const auto s = settle(j);
    const auto layout = detail::fsdp_layout_of(s, weights_of(s.model));
    const auto expected = unit < 0 ? 1'000'000'000 : unit;  // a layer has 218,112,000 elements
    CHECK(layout.queue == expected);
    CHECK(layout.prefetch == expected / 2);
  }
}

}  // namespace test_both_sides
