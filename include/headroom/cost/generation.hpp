// Distributed under the Boost Software License, Version 1.0.
// How long completions take to be written: prompts by FLOPs, tokens by the bytes that each of them has read (Pope et al. 2022, "Efficiently scaling
// transformer inference", section 2.1: weights once a step of all sequences, keys and values of each sequence).
#pragma once

#include <headroom/cost/step.hpp>
#include <headroom/rollout/engine_memory.hpp>
#include <headroom/rollout/generation.hpp>

namespace headroom {

/// One engine, or one trainer's module, and what it is asked for.
struct generation_load {
  double sequences{};        ///< to be written
  double at_once{};          ///< … side by side
  double prompts{};          ///< read; completions of one prompt share its keys and values where an engine caches prefixes
  double prompt{}, completion{};  ///< tokens
  std::int64_t tensor{1};    ///< GPUs that divide the model
  bool cached{true};         ///< keys and values are kept; else every token reads its text again
  bool all_logits{};         ///< … and the head reads all of it
};

namespace detail {

/// Weights that one step of `at_once` sequences reads on a GPU: all but experts that nobody visits. Routing is taken as even and independent.
constexpr double weights_read(const shape& m, const inventory& list, const generation_load& g, double width) {
  double missed = 1;
  if (m.sparse()) {
    const double passed = 1 - static_cast<double>(m.experts.active) / static_cast<double>(m.experts.count);
    for (double i = 0; i < g.at_once && missed > 1e-6; ++i) missed *= passed;
  }
  double sum = 0;
  for (const auto& w : list) {
    if (w.role == module::mtp || (w.role == module::embedding && !m.tied)) continue;
    sum += static_cast<double>(w.total().count()) * (w.expert ? 1 - missed : 1.0);
  }
  return sum * width / static_cast<double>(g.tensor);
}

/// `host`: seconds of a processor for one forward of the trainer's own module; 0 where CUDA graphs start the kernels. `share`: of bandwidth and peak
/// as in training (cost/rates.hpp).
constexpr double generation_seconds(const shape& m, const inventory& list, const machine& on, const generation_load& g, double width, double cache_of_token, double host) {
  if (g.sequences <= 0 || g.at_once <= 0) return 0;
  const double tensor = static_cast<double>(g.tensor);
  const auto flops_of = [&](double samples, double length) { return forward_flops_of(m, list, samples, length, causal_convention::half_square).total(); };
  const double reading = g.cached ? flops_of(g.prompts, g.prompt) / tensor / on.matmul_16 : 0.0;
  // On average a completion is half there.
  const double context = g.prompt + g.completion / 2;
  const double moved = (weights_read(m, list, g, width) + (g.cached ? g.at_once * context * cache_of_token : 0.0)) / on.memory;
  // Without keys and values as much as the texts so far take, the mean of a polynomial of second degree (Simpson's rule).
  const auto again = [&](double length) {
    const auto f = forward_flops_of(m, list, g.at_once, length, causal_convention::half_square);
    return f.layers + f.attention + f.head / (g.all_logits ? 1.0 : length);
  };
  const double flops_of_token = g.cached ? flops_of(g.at_once, 1) : (again(g.prompt) + 4 * again(context) + again(g.prompt + g.completion)) / 6;
  const double computed = flops_of_token / tensor / on.matmul_16;
  // Each GPU reads the others' partial sums at once (vllm distributed/device_communicators/custom_all_reduce.py), so that a reduction starts once.
  const rank_group group{g.tensor, 1};
  const double exchanged = static_cast<double>(2 * m.layers) * (reduce_seconds(on.links, group, g.at_once * static_cast<double>(m.hidden) * width) - start_up(on.links, group));
  const double device = (moved > computed ? moved : computed) + exchanged;
  const double token = device > host ? device : host;
  return reading + token * g.completion * g.sequences / g.at_once;
}

}  // namespace detail

}  // namespace headroom
