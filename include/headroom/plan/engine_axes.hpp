// Distributed under the Boost Software License, Version 1.0.
// What a search may choose of an engine that writes completions: the GPUs that it runs on, how many of them hold the model together, how much of each
// it takes, and what it gives back while the trainer works.
#pragma once

#include <headroom/plan/axis.hpp>

namespace headroom {

namespace axes {

namespace detail {

/// vLLM takes nine tenths of a GPU where nobody says otherwise (vllm config/cache.py CacheConfig.gpu_memory_utilization); a GPU of its own is not
/// shared with a trainer. How much SGLang takes it works out when it starts.
inline constexpr memory_share alone = memory_share::of(0.9);
constexpr bool moves_out(const job& j) { return (j.rollout.engine == engine_kind::vllm || j.rollout.engine == engine_kind::vllm_0_8) && j.hardware.kinds() == 1; }

}  // namespace detail

/// Of the job's GPUs: 0, the engine is on all of them, which train, too; else so many are its own, and the others train. Whole nodes where there
/// are several; of more than sixteen, powers of two.
inline constexpr axis engine_place{
    "rollout.placement",
    [](const job& j) {
      choices c;
      c.add(0);
      const auto& h = j.hardware;
      const auto each = h.nodes > 1 ? h.gpus_per_node : 1, most = h.nodes > 1 ? h.nodes : h.gpus_per_node;
      for (std::int64_t n = 1; detail::moves_out(j) && n < most; n = most > 16 ? 2 * n : n + 1) c.add(n * each);
      return c;
    },
    [](job& j, std::int64_t v) {
      auto& r = j.rollout;
      r.placement = v == 0 ? rollout_place::colocated : rollout_place::separate;
      if (v == 0) return;
      r.gpus = static_cast<std::int32_t>(v);
      r.share = detail::alone;
      r.sleep = 0;
      r.trainer_moves = {};
      if (j.hardware.nodes > 1) j.hardware.nodes -= v / j.hardware.gpus_per_node;
      else j.hardware.gpus_per_node -= v;
    }};

/// Within as many GPUs as a node has that trains.
inline constexpr axis engine_tensor{
    "rollout.tensor",
    [](const job& j) {
      const bool shares = j.rollout.shares_gpus();
      return detail::divisors(shares || j.rollout.gpus > 0 ? j.hardware.gpus_per_node : 1, 64, [&](std::int64_t t) { return j.model.heads % t == 0 && (shares || j.rollout.gpus % t == 0); });
    },
    [](job& j, std::int64_t v) { j.rollout.tensor = v; }};
/// In hundredths.
inline constexpr axis engine_share{
    "rollout.share",
    [](const job& j) {
      choices c;
      if (!j.rollout.shares_gpus()) c.add(j.rollout.share.per_million / 10'000);
      else for (std::int64_t v = 10; v <= 95; v += 5) c.add(v);
      return c;
    },
    [](job& j, std::int64_t v) { j.rollout.share.per_million = static_cast<std::int32_t>(v * 10'000); }};
inline constexpr axis engine_sleep{
    "rollout.sleep",
    [](const job& j) {
      choices c;
      for (std::int32_t v = 0; v <= (j.rollout.shares_gpus() ? 2 : 0); ++v) c.add(v);
      return c;
    },
    [](job& j, std::int64_t v) { j.rollout.sleep = static_cast<std::int32_t>(v); }};

}  // namespace axes

}  // namespace headroom
