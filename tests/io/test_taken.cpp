// Distributed under the Boost Software License, Version 1.0.
// What others hold of a GPU is no part of what a process can use, whoever is asked.
#include "../both.hpp"

#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/admission.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/plan/judge.hpp>
#include <headroom/solve/solve.hpp>

#include <doctest/doctest.h>

namespace test_taken {

using namespace headroom;

namespace {

constexpr job with_taken(job j, bytes taken) {
  j.hardware.taken = taken;
  return j;
}

/// Nothing of it is replayed, so that the edge is a byte wide.
constexpr job counted{.model = models::gpt2, .hardware = {.gpu = gpus::l4}, .framework = frameworks::llm_c, .batch = {.micro = 4, .sequence = 1024}};
constexpr bytes spare = estimate(counted).headroom();

constexpr job eager{.model = models::gpt2_xl, .hardware = {.gpu = gpus::a100_sxm_40gb}, .framework = frameworks::hf_trainer, .batch = {.micro = 1, .sequence = 1024},
                    .environment = {.expandable_segments = choice::yes}};

}  // namespace

TEST_CASE("a byte more than is left does not fit") {
  BOTH(spare > bytes{0});
  BOTH(fits(with_taken(counted, spare)));
  BOTH(!fits(with_taken(counted, spare + bytes{1})));
  BOTH(estimate(with_taken(counted, spare)).headroom() == bytes{0});
  BOTH(estimate(with_taken(counted, 5 * gib)).tightest().capacity == 22702 * mib - 5 * gib);  // an L4 has 22,702 MiB
  BOTH(estimate(with_taken(counted, 5 * gib)).device() == estimate(counted).device());
  // All of it, and more than there is.
  BOTH(!fits(with_taken(counted, 22702 * mib)));
  BOTH(estimate(with_taken(counted, 30 * gib)).tightest().capacity == bytes{0});
  CHECK_THROWS_AS((void)estimate(with_taken(counted, bytes{-1})), job_error);
}

TEST_CASE("a replay has as much less to allocate from") {
  const auto alone = replay(eager);
  const auto need = alone.device();
  CHECK(replay(with_taken(eager, 40335 * mib - need)).fits());
  CHECK_FALSE(replay(with_taken(eager, 40335 * mib - need + 64 * mib)).fits());
  CHECK(replay(with_taken(eager, 8 * gib)).tightest().capacity == 40335 * mib - 8 * gib);
}

TEST_CASE("solve finds what a smaller card of the same kind takes") {
  auto smaller = eager;
  smaller.hardware.gpu.memory -= 10 * gib;
  const auto n = solve(with_taken(eager, 10 * gib), unknowns::micro_batch, decided{}).value;
  CHECK(n == solve(smaller, unknowns::micro_batch, decided{}).value);
  CHECK(n < solve(eager, unknowns::micro_batch, decided{}).value);
  // A card has to have what the job needs and what others hold: 7 GiB more.
  const auto needs = solve(eager, unknowns::gpu_memory, decided{}).value;
  CHECK(solve(with_taken(eager, 7 * gib), unknowns::gpu_memory, decided{}).value == needs + 7);
}

TEST_CASE("plan and advice judge by what is left") {
  job j{.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.micro = 1, .sequence = 4096}};
  j.parallel.tensor = 4;
  plan_judge judge;
  const auto need = judge(j).device;
  for (const auto& [taken, fit] : {std::pair{81009 * mib - need, true}, std::pair{81009 * mib - need + bytes{1}, false}}) {
    const auto with = with_taken(j, taken);
    CHECK(judge(with).fits == fit);
    CHECK(judge_plan(with).fits == fit);
  }
  for (const auto& a : advise(with_taken(eager, 30 * gib))) CHECK(a.outcome.device + a.outcome.headroom == 40335 * mib - 30 * gib);
}

TEST_CASE("a job file says it in GiB, and a report that it was said") {
  constexpr std::string_view text =
      R"({"model": "gpt2", "hardware": {"gpu": "l4", "taken_gib": 1.5}, "framework": "llm.c", "batch": {"micro": 4, "sequence": 1024}})";
  const auto seen = io::admit({.job = text});
  CHECK(seen.decision == io::decision::fits);
  CHECK(seen.job.hardware.taken == 1536 * mib);
  CHECK(io::to_text(*seen.report, seen.job).find(" of 20.67 GiB, others hold 1.50 GiB\n") != std::string::npos);
  const auto json = io::to_json(*seen.report);
  CHECK(json["ranks"][0]["taken"] == 1536 * 1048576);
  CHECK(json["ranks"][0]["capacity"] == (22702 - 1536) * 1048576LL);
  CHECK(io::job_to_json(seen.job)["hardware"]["taken_gib"] == 1.5);
  CHECK(io::admit({.job = R"({"model": "gpt2", "hardware": {"gpu": "l4", "taken_gib": 21.9}, "framework": "llm.c", "batch": {"micro": 4, "sequence": 1024}})"}).decision == io::decision::does_not_fit);
  const auto wrong = io::admit({.job = R"({"model": "gpt2", "hardware": {"gpu": "l4", "taken_gib": -1}, "batch": {"sequence": 1024}})"});
  CHECK(wrong.decision == io::decision::bad_input);
  CHECK(wrong.sentence.find("hardware.taken_gib") != std::string::npos);
}

TEST_CASE("what others hold, they hold of each kind of GPU") {
  job j = eager;
  j.hardware.gpus_per_node = 2;
  j.hardware.others.add({gpus::rtx_4090, 1});
  const auto r = estimate(with_taken(j, 4 * gib));
  CHECK(r.ranks[0].capacity == 40335 * mib - 4 * gib);
  CHECK(r.last().capacity == 24207 * mib - 4 * gib);
}

TEST_CASE("memory that is the host's, too") {
  job j = eager;
  j.hardware.gpu = gpus::gb10;
  CHECK(estimate(j).tightest().capacity == 122548 * mib);
  CHECK(estimate(j).assumptions.has(assumption::unified_memory));
  CHECK_FALSE(estimate(with_taken(j, 8 * gib)).assumptions.has(assumption::unified_memory));
  CHECK_FALSE(estimate(eager).assumptions.has(assumption::unified_memory));
  j.offload.activations = place::on_cpu;
  CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("offload frees nothing where the GPU's memory is the host's, too"), job_error);
}

TEST_CASE("what a compiler lays out as a whole is refused, and its tensors can be counted") {
  for (const auto& g : {gpus::tpu_v4, gpus::tpu_v5e, gpus::tpu_v5p, gpus::tpu_v6e, gpus::trainium2_96gb}) {
    job j = eager;
    j.hardware.gpu = g;
    CAPTURE(g.label.view());
    CHECK_THROWS_WITH_AS((void)estimate(j), doctest::Contains("are laid out as a whole by a compiler"), job_error);
  }
  const auto r = io::admit({.job = R"({"model": "gpt2", "hardware": {"gpu": {"name": "tpu-v5e", "vendor": "cpu"}}, "batch": {"sequence": 1024}})"});
  REQUIRE(r.report);
  CHECK(r.report->tightest().capacity == 16 * gib);
  CHECK(r.report->tightest().outside == outside_allocator{bytes{0}, bytes{0}});
}

TEST_CASE("each name of the table is there once, and what is known of a GPU is plausible") {
  for (const auto& g : gpus::all) {
    CAPTURE(g.label.view());
    CHECK(std::count_if(gpus::all.begin(), gpus::all.end(), [&](const gpu& o) { return o.label == g.label; }) == 1);
    CHECK(io::find_gpu(g.label.view()) == &g);
    if (g.maker == vendor::cpu) continue;
    CHECK(g.memory >= 7 * gib);
    CHECK(g.memory <= 300 * gib);
    CHECK(g.bandwidth_gb_s > 200);
    CHECK((g.maker == vendor::nvidia) == (g.compute_capability > 0));
    if (g.bf16_tflops_x10 > 0 && g.maker == vendor::nvidia) CHECK(g.compute_capability >= 80);
    if (g.fp8_tflops_x10 > 0 && g.maker == vendor::nvidia) CHECK(g.compute_capability >= 89);
  }
  for (const auto& a : gpus::aliases) CHECK(io::find_gpu(a.from.view())->label == a.to);
  for (const auto& a : gpus::driver_names) CHECK(io::find_gpu(a.from.view())->label == a.to);
}

}  // namespace test_taken
