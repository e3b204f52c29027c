// Distributed under the Boost Software License, Version 1.0.
// How many configurations a search judges in a second, memory and time: on one core and on all. A rate says little on somebody else's
// machine, so each line also counts in units of judging every configuration by itself with estimate() and cost() ("plain" is how many
// times as fast the search is), and says how many more configurations it has passed over because another proves that they do not fit.
#include <headroom/headroom.hpp>
#include <headroom/plan/judge.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace {

using namespace headroom;

search all_of_megatron(const shape& model, std::int64_t nodes, std::int64_t sequence, std::int64_t global) {
  search s;
  s.job = {.model = model, .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = nodes, .gpus_per_node = 8}, .framework = frameworks::megatron, .batch = {.micro = 1, .sequence = sequence},
           .attention = attention::te};
  for (std::size_t i = 0; i < axes::all.size(); ++i)
    if (!axes::all[i].key.starts_with("offload") && !axes::all[i].key.starts_with("hardware")) s.open |= std::uint32_t{1} << i;
  s.open_micro = true;
  s.global_batch = global;
  return s;
}

search dense_70b_on_512() { return all_of_megatron(models::llama_3_1_70b, 64, 8192, 1024); }
search experts_671b_on_16384() { return all_of_megatron(models::deepseek_v3, 2048, 4096, 16384); }

/// Configurations a second, each by itself on one core, of every `parts`-th division of the GPUs: the best of three.
double plain_rate(const search& s, std::int64_t parts) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto r = plan(s, judge_plan, {.threads = 1, .parts = parts});
    best = std::max(best, static_cast<double>(r.evaluated) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void search_of(benchmark::State& state, search (*make)(), bool all_cores) {
  const auto s = make();
  const auto plain = plain_rate(s, s.job.model.sparse() ? 61 : 1);
  plan_result r;
  for (auto _ : state) r = plan(s, {.threads = all_cores ? std::max(1U, std::thread::hardware_concurrency()) : 1U});
  const auto evaluated = static_cast<double>(r.evaluated);
  state.counters["configurations"] = evaluated;
  state.counters["passed_over"] = static_cast<double>(r.passed_over);
  state.counters["per_second"] = benchmark::Counter(evaluated, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["plain"] = benchmark::Counter(evaluated / plain, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

BENCHMARK_CAPTURE(search_of, llama_70b_on_512_one_core, dense_70b_on_512, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(search_of, llama_70b_on_512_all_cores, dense_70b_on_512, true)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(search_of, deepseek_v3_on_16384_one_core, experts_671b_on_16384, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(search_of, deepseek_v3_on_16384_all_cores, experts_671b_on_16384, true)->Unit(benchmark::kMillisecond)->UseRealTime();

BENCHMARK_MAIN();
