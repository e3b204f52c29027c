// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that can be left open, and what they may be: one entry each. Their order is that of the search, since what one may
// be depends on those before it.
#pragma once

#include <headroom/plan/engine_axes.hpp>

namespace headroom {

/// The job with its open keys, and what stays the same.
struct search {
  headroom::job job{};             ///< open keys are as they would be alone: degrees 1, nothing offloaded; nodes and GPUs of a node as many as there may be
  std::uint32_t open{};            ///< bit i: axes::all[i]
  bool open_cut{};                 ///< parallel.stage_layers: which layers a stage has; see divide_by_time()
  bool open_micro{};               ///< batch.micro, and with it batch.accumulation
  std::int64_t global_batch{};     ///< sequences of a step, of all data-parallel ranks; 0: those of `job`
  bool keeps_micro{};              ///< … but batch.micro is the job's, and accumulation what that leaves of global_batch
  bool keeps_accumulation{};       ///< … but batch.accumulation is the job's
};

namespace axes {

namespace detail {

/// GPUs that the degrees set so far leave.
constexpr std::int64_t left(const job& j) {
  const auto& d = j.parallel;
  return j.hardware.gpus() / (d.tensor * d.pipeline * d.context);
}
constexpr choices either(bool possible) {
  choices c;
  c.add(0);
  if (possible) c.add(1);
  return c;
}
/// Powers of two, and the most.
constexpr choices up_to(std::int64_t most) {
  choices c;
  for (std::int64_t n = 1; n < most; n *= 2) c.add(n);
  c.add(most);
  return c;
}
constexpr std::int64_t code(sharding_kind kind, std::int64_t stage) { return 4 * static_cast<std::int64_t>(kind) + stage; }
/// Whether so many stages that the layers do not divide by are worth a try: where no more stages are even. Megatron takes any cut
/// (pipeline-model-parallel-layout).
constexpr bool uneven(const job& j, std::int64_t stages) {
  const auto& d = j.parallel;
  if (!j.framework.modules.megatron() || stages > j.model.layers || j.hardware.kinds() > 1 || chunks_given(d) > 0 || d.first_stage_layers + d.last_stage_layers > 0) return false;
  for (auto p = stages; p <= j.model.layers && p <= degrees::max_chunks; ++p)
    if (j.model.layers % p == 0 && left(j) % p == 0) return false;
  return true;
}
/// Cuts layers that do not divide by their chunks: the ends, which hold embedding and head, get no more than the others.
constexpr void cut_unevenly(job& j) {
  auto& d = j.parallel;
  const auto chunks = d.pipeline * d.virtual_pipeline, more = j.model.layers % chunks;
  if (more == 0 || j.model.layers < chunks || j.hardware.kinds() > 1) return;
  d.chunks = static_cast<std::int32_t>(chunks);
  for (std::int64_t i = 0; i < chunks; ++i) d.stage_layers[i] = static_cast<std::int32_t>(j.model.layers / chunks + (i > 0 && i <= more ? 1 : 0));
}
/// Whether a framework has a schedule: of Megatron's those that no trainer built on it has to bring.
constexpr bool runs(const profile& framework, const schedule_properties& s) { return framework.modules.megatron() ? s.megatron && s.place != chunk_place::in_a_v : !s.torch.empty(); }
constexpr void set_place(place& p, std::int64_t v) { p = v != 0 ? place::on_cpu : place::on_gpu; }

}  // namespace detail

/// Of one kind of GPU: which nodes of a mixed cluster would go is not for a search to say.
inline constexpr axis nodes{"hardware.nodes", [](const job& j) { return detail::up_to(j.hardware.nodes); }, [](job& j, std::int64_t v) { j.hardware.nodes = v; }};
inline constexpr axis gpus_per_node{"hardware.gpus_per_node", [](const job& j) { return detail::up_to(j.hardware.gpus_per_node); },
                                    [](job& j, std::int64_t v) { j.hardware.gpus_per_node = v; }};
/// Tensor parallelism stays within a node.
inline constexpr axis tensor{
    "parallel.tensor",
    [](const job& j) {
      return detail::divisors(j.hardware.gpus_per_node, 64, [&](std::int64_t t) { return j.model.heads % t == 0 && j.model.kv_heads % t == 0 && j.model.ffn % t == 0; });
    },
    [](job& j, std::int64_t v) { j.parallel.tensor = v; }};
inline constexpr axis pipeline{
    "parallel.pipeline",
    [](const job& j) {  // of a mixed cluster, stages need not be equally deep: see stage_divisions()
      const bool mixed = j.hardware.kinds() > 1;
      return detail::divisors(detail::left(j), degrees::max_chunks,
                              [&](std::int64_t p) { return j.model.layers % p == 0 || (mixed ? p <= j.model.layers : detail::uneven(j, p)); });
    },
    [](job& j, std::int64_t v) {
      j.parallel.pipeline = v;
      if (j.model.layers % v != 0) detail::cut_unevenly(j);
    }};
inline constexpr axis context{
    "parallel.context", [](const job& j) { return detail::divisors(detail::left(j), 64, [&](std::int64_t c) { return c == 1 || j.batch.sequence % (2 * c) == 0; }); },
    [](job& j, std::int64_t v) { j.parallel.context = v; }};
inline constexpr axis expert{
    "parallel.expert",
    [](const job& j) {
      const auto ranks = j.hardware.gpus() / j.parallel.pipeline;
      return detail::divisors(j.model.sparse() ? j.model.experts.count : 1, 1 << 10, [&](std::int64_t e) { return ranks % (e * j.parallel.expert_tensor) == 0; });
    },
    [](job& j, std::int64_t v) { j.parallel.expert = v; }};
/// Experts are divided as the other weights are, or less.
inline constexpr axis expert_tensor{
    "parallel.expert_tensor",
    [](const job& j) {
      const auto ranks = j.hardware.gpus() / j.parallel.pipeline;
      return detail::divisors(j.model.sparse() ? j.parallel.tensor : 1, 64, [&](std::int64_t t) { return t == 1 || (j.model.experts.ffn % t == 0 && ranks % (j.parallel.expert * t) == 0); });
    },
    [](job& j, std::int64_t v) { j.parallel.expert_tensor = v; }};
/// Every kind that the framework has; ZeRO on one GPU, too, for what it offloads.
inline constexpr axis sharding{
    "sharding",
    [](const job& j) {
      using enum sharding_kind;
      choices c;
      if (detail::left(j) * j.parallel.context == 1) {
        c.add(detail::code(none, 0));
        if (j.framework.sharding.offers(zero))
          for (std::int64_t stage = 2; stage <= 3; ++stage) c.add(detail::code(zero, stage));
        return c;
      }
      const auto add = [&](sharding_kind kind, std::int64_t first, std::int64_t last) {
        if (j.framework.sharding.offers(kind))
          for (auto stage = first; stage <= last; ++stage) c.add(detail::code(kind, stage));
      };
      add(ddp, 0, 0), add(zero, 1, 3), add(fsdp1, 3, 3), add(fsdp2, 3, 3), add(megatron_distributed_optimizer, 1, 1);
      if (j.parallel.pipeline == 1) add(megatron_fsdp, 3, 3);  // pipelines of it are not modelled
      if (c.size() == 0) c.add(detail::code(none, 0));
      return c;
    },
    [](job& j, std::int64_t v) {
      j.sharding.kind = static_cast<sharding_kind>(v / 4);
      j.sharding.stage = v % 4;
    }};
inline constexpr axis sequence{"parallel.sequence", [](const job& j) { return detail::either(j.parallel.tensor > 1); },
                               [](job& j, std::int64_t v) { j.parallel.sequence = v != 0; }};
/// Chunks of a stage; with more than one the schedule interleaves them.
inline constexpr axis virtual_pipeline{
    "parallel.virtual_pipeline",
    [](const job& j) {
      const auto p = j.parallel.pipeline, most = degrees::max_chunks / p;
      if (j.model.layers % p == 0) return detail::divisors(p > 1 ? j.model.layers / p : 1, most, [](std::int64_t) { return true; });
      choices c;
      if (j.hardware.kinds() > 1) c.add(1);
      else for (std::int64_t v = 1; v <= most && v * p <= j.model.layers; ++v) c.add(v);
      return c;
    },
    [](job& j, std::int64_t v) {
      j.parallel.virtual_pipeline = v;
      if (j.model.layers % j.parallel.pipeline != 0) detail::cut_unevenly(j);
      if (v > 1 || properties_of(j.parallel.schedule).chunks != 1) j.parallel.schedule = usual_schedule(v);
    }};
inline constexpr axis order{
    "parallel.schedule",
    [](const job& j) {
      choices c;
      c.add(static_cast<std::int64_t>(usual_schedule(j.parallel.virtual_pipeline)));
      for (const auto& s : schedules)
        if (s.searched && detail::runs(j.framework, s) && j.parallel.pipeline > 1 && j.parallel.virtual_pipeline == s.chunks) c.add(static_cast<std::int64_t>(s.kind));
      return c;
    },
    [](job& j, std::int64_t v) { j.parallel.schedule = static_cast<schedule>(v); }};
/// None; what selective recompute is known for; the first quarter, half and three quarters of each chunk's layers; all.
inline constexpr axis recomputation{
    "recompute",
    [](const job& j) {
      choices c;  // a schedule that puts weight gradients off has nothing computed again
      for (std::int64_t v = 0; v <= (properties_of(j.parallel.schedule).splits_backward ? 0 : 6); ++v)
        if (v == 0 || v == 6 || !j.framework.checkpointing.all_or_none) c.add(v);
      return c;
    },
    [](job& j, std::int64_t v) {
      const auto chunk = j.model.layers / (j.parallel.pipeline * j.parallel.virtual_pipeline);
      const auto block = [&](std::int64_t quarters) {
        const auto n = chunk * quarters / 4;
        return recompute{.mode = recompute_mode::full, .method = recompute_method::block, .layers = n < 1 ? 1 : n};
      };
      switch (v) {
        case 0: j.recompute = recompute::none; break;
        case 1: j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::core_attn)}; break;
        case 2: j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul}; break;
        case 3:
        case 4:
        case 5: j.recompute = block(v - 2); break;
        default: j.recompute = recompute::full;
      }
    }};
/// Where nothing is sharded, by an optimizer of one's own.
inline constexpr axis optimizer_place{
    "offload.optimizer",
    [](const job& j) { return detail::either(j.sharding.divides() || j.framework.sharding.offers_all()); },
    [](job& j, std::int64_t v) { detail::set_place(j.offload.optimizer, v); }};
/// ZeRO's third stage alone can (deepspeed runtime/zero/config.py, offload_param). FSDP has parameters, gradients and update together on the
/// host (torch distributed/fsdp/api.py CPUOffload, _fully_shard/_fsdp_api.py CPUOffloadPolicy).
inline constexpr axis parameter_place{
    "offload.parameters",
    [](const job& j) {
      if (!j.sharding.fully_sharded()) return detail::either(j.sharding.by(sharder::deepspeed) && j.sharding.cuts(sharded_state::weights));
      choices c;
      c.add(j.offload.optimizer == place::on_gpu ? 0 : 1);
      return c;
    },
    [](job& j, std::int64_t v) { detail::set_place(j.offload.parameters, v); }};
inline constexpr axis activation_place{"offload.activations", [](const job&) { return detail::either(true); }, [](job& j, std::int64_t v) { detail::set_place(j.offload.activations, v); }};

/// GPUs and degrees first: the GPUs are divided among them, and a search is divided by them. The others follow.
inline constexpr std::array all{nodes,    gpus_per_node,    engine_place,  tensor, pipeline,      context,         expert,          expert_tensor,   sharding,
                                sequence, virtual_pipeline, order,  recomputation, optimizer_place, parameter_place, activation_place,
                                engine_tensor, engine_share, engine_sleep};
inline constexpr std::size_t degrees_end = 8;

/// The place of a key in `all`; size() where it is none.
constexpr std::size_t find(std::string_view key) {
  std::size_t i = 0;
  while (i < all.size() && all[i].key != key) ++i;
  return i;
}
constexpr std::uint32_t bit(const axis& a) { return std::uint32_t{1} << find(a.key); }
/// Those whose values are refused or not whatever the degrees are.
inline constexpr std::uint32_t of_framework = bit(sharding) | bit(recomputation) | bit(optimizer_place) | bit(parameter_place) | bit(activation_place);

}  // namespace axes

}  // namespace headroom
