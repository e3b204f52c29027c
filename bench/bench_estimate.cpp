// Distributed under the Boost Software License, Version 1.0.
// How long an estimate takes. A time says little on somebody else's machine, so each line also counts in units of something
// that every machine does: "copies" is the time as a multiple of copying one report, "adds" as a multiple of one checked
// 64-bit addition in a dependent chain.
#include <headroom/model/zoo.hpp>
#include <headroom/headroom.hpp>
#include <headroom/model/inventory.hpp>
#include <headroom/replay.hpp>
#if HEADROOM_BENCH_IO
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>
#endif

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace {

headroom::job one_gpu() {
  return {
      .model = headroom::models::llama_3_1_8b,
      .hardware = {.gpu = headroom::gpus::h100_sxm_80gb},
      .batch = {.micro = 1, .sequence = 4096},
  };
}

headroom::job zero3() {
  headroom::job job = one_gpu();
  job.hardware.gpus_per_node = 8;
  job.sharding = headroom::zero(3);
  return job;
}

headroom::job zero3_recomputed() {
  headroom::job job = zero3();
  job.recompute = headroom::recompute::full;
  return job;
}

headroom::job experts() {
  headroom::job job = zero3_recomputed();
  job.model = headroom::models::mixtral_8x7b;
  return job;
}

/// Seconds of one call, the best of many.
template <class Work>
double seconds_of(int calls, Work work) {
  using clock = std::chrono::steady_clock;
  double best = 1;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto start = clock::now();
    for (int i = 0; i < calls; ++i) work();
    best = std::min(best, std::chrono::duration<double>(clock::now() - start).count() / calls);
  }
  return best;
}

double copy_seconds() {
  static const double seconds = [] {
    headroom::report from{};
    headroom::report to{};
    return seconds_of(1000, [&] {
      benchmark::DoNotOptimize(&from);
      benchmark::ClobberMemory();
      to = from;
      benchmark::DoNotOptimize(&to);
      benchmark::ClobberMemory();
    });
  }();
  return seconds;
}

double add_seconds() {
  static const double seconds = [] {
    std::int64_t sum = 0;
    return seconds_of(10000, [&] {
      sum = headroom::checked::add(sum, 1);
      benchmark::DoNotOptimize(sum);
    });
  }();
  return seconds;
}

template <class Work>
void measure(benchmark::State& state, Work work) {
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(work());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const double seconds = elapsed.count() / static_cast<double>(state.iterations());
  state.counters["copies"] = seconds / copy_seconds();
  state.counters["adds"] = seconds / add_seconds();
}

void estimate_of(benchmark::State& state, headroom::job (*make)()) {
  headroom::job job = make();
  try {
    (void)headroom::estimate(job);
  } catch (const headroom::error& refused) {
    return state.SkipWithError(refused.what());
  }
  measure(state, [&] {
    benchmark::DoNotOptimize(&job);  // not a constant
    benchmark::ClobberMemory();
    return headroom::estimate(job);
  });
}

headroom::job eighty_layers() {
  headroom::job job = one_gpu();
  job.model = headroom::models::llama_3_1_70b;
  job.hardware.gpu.memory = headroom::bytes{std::int64_t{1} << 42};  // nothing is given back
  return job;
}

headroom::job eighty_layers_recomputed() {
  headroom::job job = eighty_layers();
  job.recompute = headroom::recompute::full;
  return job;
}

headroom::job eighty_layers_fsdp2() {
  headroom::job job = eighty_layers();
  job.hardware.gpus_per_node = 8;
  job.sharding = headroom::fsdp2();
  return job;
}

/// Two steps, allocation by allocation.
void replay_of(benchmark::State& state, headroom::job (*make)()) {
  headroom::job job = make();
  measure(state, [&] {
    benchmark::DoNotOptimize(&job);
    benchmark::ClobberMemory();
    return headroom::replay(job);
  });
}

void cost_of(benchmark::State& state, headroom::job (*make)()) {
  headroom::job job = make();
  measure(state, [&] {
    benchmark::DoNotOptimize(&job);
    benchmark::ClobberMemory();
    return headroom::cost(job);
  });
}

void count_parameters(benchmark::State& state, const headroom::shape& model) {
  headroom::shape shape = model;
  measure(state, [&] {
    benchmark::DoNotOptimize(&shape);
    benchmark::ClobberMemory();
    return headroom::count(shape);
  });
}

void find_model(benchmark::State& state) {
  measure(state, [] { return headroom::models::find("llama-3.1-8b"); });
}

#if HEADROOM_BENCH_IO
/// All of it: the text of a job file in, the text of a report out.
void job_file_to_report_file(benchmark::State& state) {
  const std::string text = R"({
    "model": "llama-3.1-8b",
    "hardware": {"gpu": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 8},
    "precision": "bf16-mixed",
    "parallel": {"data": 8},
    "sharding": "zero3",
    "batch": {"micro": 1, "sequence": 4096},
    "recompute": "full"
  })";
  measure(state, [&] { return headroom::io::to_json(headroom::estimate(headroom::io::read_job(headroom::io::parse_json(text, "job")))).dump(); });
}
#endif

}  // namespace

BENCHMARK_CAPTURE(estimate_of, llama_8b_one_gpu, one_gpu);
BENCHMARK_CAPTURE(estimate_of, llama_8b_zero3_on_8, zero3);
BENCHMARK_CAPTURE(estimate_of, llama_8b_zero3_on_8_full_recompute, zero3_recomputed);
BENCHMARK_CAPTURE(estimate_of, mixtral_8x7b_zero3_on_8_full_recompute, experts);
BENCHMARK_CAPTURE(replay_of, llama_8b_one_gpu, one_gpu);
BENCHMARK_CAPTURE(replay_of, llama_70b, eighty_layers);
BENCHMARK_CAPTURE(replay_of, llama_70b_full_recompute, eighty_layers_recomputed);
BENCHMARK_CAPTURE(replay_of, llama_70b_fsdp2, eighty_layers_fsdp2);
BENCHMARK_CAPTURE(cost_of, llama_8b_one_gpu, one_gpu);
BENCHMARK_CAPTURE(cost_of, llama_8b_zero3_on_8_full_recompute, zero3_recomputed);
BENCHMARK_CAPTURE(count_parameters, llama_8b, headroom::models::llama_3_1_8b);
BENCHMARK_CAPTURE(count_parameters, mixtral_8x7b, headroom::models::mixtral_8x7b);
BENCHMARK(find_model);
#if HEADROOM_BENCH_IO
BENCHMARK(job_file_to_report_file);
#endif

BENCHMARK_MAIN();
