// Distributed under the Boost Software License, Version 1.0.
// The largest micro-batch, sequence or depth that fits, the fewest GPUs, the least memory: one number of a job, the rest given.
#pragma once

#include <headroom/fits.hpp>

#include <array>
#include <string_view>

namespace headroom {

/// A number of a job that can be solved for. A variable of one's own is one more of these.
struct unknown {
  std::string_view key;                    ///< its key in the job file
  bool fewest{};                           ///< less of it is what runs out; else more
  std::int64_t (*step)(const job&);        ///< values are multiples of this
  std::int64_t (*most)(const job&);        ///< larger ones are not tried
  void (*set)(job&, std::int64_t value);
  std::int64_t (*first)(const job&) = nullptr;  ///< smaller ones are not tried, as no program runs with them; none: `step`
  std::int64_t parts{1};                        ///< values count so many parts of one: 100 for hundredths
};

namespace detail {

/// GPUs come in multiples of this: what all degrees but `data` take, and what groups within the data-parallel ranks need.
constexpr std::int64_t smallest_cluster(const job& j) {
  const auto& d = j.parallel;
  const auto& z = j.sharding;
  const auto positive = [](std::int64_t n) { return n < 1 ? 1 : n; };
  const auto replica = checked::mul(d.tensor, d.pipeline);
  auto least = checked::mul(replica, checked::lcm(positive(d.context), positive(d.replicate)));
  if (j.model.sparse()) least = checked::lcm(least, checked::mul(d.pipeline, checked::mul(d.expert, d.expert_tensor)));
  for (const auto group : {z.mics_shard_size, z.zero_hpz_partition_size})
    if (group > 1) least = checked::lcm(least, checked::mul(replica, d.context, group));
  return least;
}

/// Tokens that a sample's images take of its sequence; 1 where none are given. Megatron-LM's tower has images of one size, whether they are given or not.
constexpr std::int64_t tokens_of_images(const job& j) {
  const auto v = seen(j.model.vision, j.batch.images);
  if ((!j.batch.images.given() && v.kind != vision_kind::megatron_clip) || v.patch < 1 || v.image < v.patch) return 1;
  const auto tokens = tokens_in_sequence(j.model.vision, j.batch.images);
  return tokens > 1 ? tokens : 1;
}

constexpr void set_gpus(job& j, std::int64_t nodes, std::int64_t each) {
  if (j.hardware.kinds() > 1) refuse("headroom: the GPUs of a mixed cluster are counted by kind and cannot be solved for; name one kind. Kinds", static_cast<std::int64_t>(j.hardware.kinds()));
  j.hardware.nodes = nodes;
  j.hardware.gpus_per_node = each;
  j.parallel.data = 0;  // whatever the GPUs leave
}

}  // namespace detail

/// What `headroom solve --for` knows. Of GPUs and nodes the data-parallel ranks become more, with the micro-batch of each as it is.
namespace unknowns {
inline constexpr unknown micro_batch{
    "batch.micro", false, [](const job&) -> std::int64_t { return 1; }, [](const job&) -> std::int64_t { return 1 << 20; },
    [](job& j, std::int64_t n) { j.batch.micro = n; }};
/// Tokens that context and sequence parallelism divide; learned positions end where their table does.
inline constexpr unknown sequence{
    "batch.sequence", false,
    [](const job& j) -> std::int64_t {
      const auto context = j.parallel.context, tensor = j.parallel.sequence ? j.parallel.tensor : 1;
      return checked::mul(context, tensor, context > 1 && tensor % 2 != 0 ? 2 : 1);  // a piece from either end for each rank of context
    },
    [](const job& j) -> std::int64_t { return j.model.position == position_kind::learned && j.model.max_positions > 0 ? j.model.max_positions : 1 << 28; },
    [](job& j, std::int64_t n) { j.batch.sequence = n; },
    [](const job& j) -> std::int64_t { return detail::tokens_of_images(j); }};
/// Stages of equal depth.
inline constexpr unknown layers{
    "model.layers", false, [](const job& j) -> std::int64_t { return checked::mul(j.parallel.pipeline, j.parallel.virtual_pipeline); },
    [](const job&) -> std::int64_t { return 1 << 16; },
    [](job& j, std::int64_t n) {
      j.model.layers = n;
      j.parallel.first_stage_layers = j.parallel.last_stage_layers = 0;
      j.parallel.chunks = 0;
      for (auto& count : j.parallel.stage_layers) count = 0;
    }};
inline constexpr unknown nodes{
    "hardware.nodes", true,
    [](const job& j) -> std::int64_t {
      const auto least = detail::smallest_cluster(j);
      return least / checked::gcd(least, j.hardware.gpus_per_node);
    },
    [](const job&) -> std::int64_t { return 1 << 16; }, [](job& j, std::int64_t n) { detail::set_gpus(j, n, j.hardware.gpus_per_node); }};
inline constexpr unknown gpus_per_node{
    "hardware.gpus_per_node", true,
    [](const job& j) -> std::int64_t {
      const auto least = detail::smallest_cluster(j);
      return least / checked::gcd(least, j.hardware.nodes);
    },
    [](const job&) -> std::int64_t { return 1 << 10; }, [](job& j, std::int64_t n) { detail::set_gpus(j, j.hardware.nodes, n); }};
/// In GiB: what a GPU of the kind must have.
inline constexpr unknown gpu_memory{
    "hardware.gpu.memory_gib", true, [](const job&) -> std::int64_t { return 1; }, [](const job&) -> std::int64_t { return 1 << 20; },
    [](job& j, std::int64_t n) {
      if (j.hardware.kinds() > 1) refuse("headroom: the memory of a mixed cluster's GPUs cannot be solved for: of which kind is not said; name one kind. Kinds", static_cast<std::int64_t>(j.hardware.kinds()));
      j.hardware.gpu = j.hardware.accelerator();
      j.hardware.gpu.memory = n * gib;
    }};
/// In GiB, of each node.
inline constexpr unknown host_memory{
    "hardware.host_memory_gib", true, [](const job&) -> std::int64_t { return 1; }, [](const job&) -> std::int64_t { return 1 << 20; },
    [](job& j, std::int64_t n) { j.hardware.host_memory = n * gib; }};

/// In hundredths: the largest part of a GPU that the engine may take. It starts where one sequence's keys and values have room.
inline constexpr unknown engine_share{
    "rollout.share", false, [](const job&) -> std::int64_t { return 1; }, [](const job&) -> std::int64_t { return 100; },
    [](job& j, std::int64_t n) { j.rollout.share.per_million = static_cast<std::int32_t>(n * 10'000); },
    [](const job& j) -> std::int64_t {
      const auto& r = j.rollout;
      if (!r.shares_gpus()) refuse("headroom: rollout.share is solved for where an engine of its own is on the GPUs that train: rollout.placement \"colocated\"");
      if (properties_of(r.engine).share != share_rule::beside_it) refuse("headroom: rollout.share is solved for of vLLM since 0.9 alone: the share of others depends on what the trainer holds");
      for (std::int64_t n = 1; n < 100; ++n) {
        auto tried = r;
        tried.share.per_million = static_cast<std::int32_t>(n * 10'000);
        if (!check_start(j.model, tried, engine_memory_of(j.model, weights_of(j.model), tried, j.hardware.accelerator().memory, j.hardware.taken))) return n;
      }
      return 100;
    },
    100};
/// Tokens of a completion, beside the prompt's.
inline constexpr unknown completion{
    "rollout.completion", false, [](const job&) -> std::int64_t { return 1; },
    [](const job& j) -> std::int64_t {
      if (!j.rollout.given()) refuse("headroom: rollout.completion is solved for where completions are generated: rollout");
      return j.model.position == position_kind::learned && j.model.max_positions > j.rollout.prompt ? j.model.max_positions - j.rollout.prompt : 1 << 28;
    },
    [](job& j, std::int64_t n) {
      j.rollout.completion = n;
      j.batch.sequence = checked::add(j.rollout.prompt, n);
    }};

/// Completions of each prompt, of as many prompts in a step as there are: micro-batches become more, of the size that they have.
inline constexpr unknown generations{
    "rollout.generations", false,
    [](const job& j) -> std::int64_t {
      if (j.rollout.generations < 1) refuse("headroom: rollout.generations is solved for from a number of completions of each prompt, which says how many prompts a step has: rollout.generations");
      const auto at_once = checked::mul(j.batch.micro, j.hardware.gpus()), completions = checked::mul(at_once, j.batch.accumulation);
      if (completions % j.rollout.generations != 0) refuse("headroom: rollout.generations must divide batch.micro × accumulation × the GPUs, the completions of a step", j.rollout.generations);
      return at_once / checked::gcd(at_once, completions / j.rollout.generations);
    },
    [](const job&) -> std::int64_t { return 1 << 16; },
    [](job& j, std::int64_t n) {
      j.batch.accumulation = checked::mul(j.batch.accumulation, n) / j.rollout.generations;
      j.rollout.generations = n;
    }};

inline constexpr std::array all{micro_batch, sequence, layers, nodes, gpus_per_node, gpu_memory, host_memory, engine_share, completion, generations};

/// Other names that they go by.
struct other_name {
  std::string_view name, key;
};
inline constexpr std::array other_names{other_name{"batch.generations", "rollout.generations"}, other_name{"batch.completion", "rollout.completion"}, other_name{"rollout.memory_share", "rollout.share"}};


/// By key; none: nullptr.
constexpr const unknown* find(std::string_view key) {
  for (const auto& o : other_names)
    if (o.name == key) key = o.key;
  for (const auto& u : all)
    if (u.key == key) return &u;
  return nullptr;
}
}  // namespace unknowns

/// What came out. The job with the value set fits; with the next one (`step` more of the largest, `step` fewer of the fewest) it does
/// not, unless the value is the last that is tried.
struct solution {
  bool found{};          ///< whether any value fits
  bool limited{};        ///< the value is the end of the range, not of the memory
  std::int64_t value{};
  std::int64_t step{1};  ///< from one value to the next
  headroom::job job{};   ///< with the value; where none fits, with the one that comes closest

  constexpr explicit operator bool() const { return found; }
};

/// By bisection, of what `fits(job)` says: any verdict that turns once along the key.
/// Errors: job_error where the job is refused at the smallest value.
constexpr solution solve(const job& given, const unknown& u, auto fits) {
  solution s{.step = u.step(given), .job = given};
  const auto last = u.most(given) / s.step, first = u.first == nullptr ? 1 : checked::ceil_div(u.first(given), s.step);
  if (last < 1) refuse("headroom: there is no value to try: parallelism divides the key into parts larger than its range; step", s.step);
  if (first > last)
    refuse("headroom: there is no value to try: the smallest is above the largest (batch.sequence must hold the tokens of a sample's images, and ends at model.max_positions where positions are learned); the "
           "smallest", checked::mul(first, s.step));
  const auto holds = [&](std::int64_t n) {
    u.set(s.job, n * s.step);
    return fits(s.job) != u.fewest;  // whether n lies before the turn
  };
  // `low` lies before the turn, `high` behind it.
  std::int64_t low = first - 1, high = first;
  while (high <= last && holds(high)) {
    low = high;
    high = high <= last / 2 || high == last ? 2 * high : last;
  }
  if (high <= last) {
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      (holds(middle) ? low : high) = middle;
    }
  } else {
    high = last + 1;
  }
  const auto n = u.fewest ? high : low;
  s.found = n >= first && n <= last;
  s.limited = !u.fewest && n == last;
  s.value = s.found ? n * s.step : 0;
  u.set(s.job, (n < first ? first : n > last ? last : n) * s.step);
  return s;
}

/// By estimate(): what fits for certain. At compile time as well: static_assert(solve(job, unknowns::micro_batch).value >= 4).
/// solve(job, unknown, decided{}) (decide.hpp) also finds what only a replay says to fit.
constexpr solution solve(const job& given, const unknown& u) {
  return solve(given, u, [](const job& j) { return fits(j); });
}

/// … with layers of one's own (block/own_layer.hpp).
template <own_stack Own>
constexpr solution solve(const job& given, const unknown& u, Own own) {
  return solve(given, u, [&](const job& j) { return fits(j, own); });
}

}  // namespace headroom
