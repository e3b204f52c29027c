// Distributed under the Boost Software License, Version 1.0.
// For a job that does not fit: the smallest changes to it that make it fit, and what they cost.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/decide.hpp>
#include <headroom/diagnose/method_changes.hpp>
#include <headroom/solve/balance.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// One change to a job. A change of one's own is one more of these.
struct change {
  std::string_view text;
  bool (*apply)(job&);  ///< false: there is nothing to change; whether the framework can do it is for estimate() to say
};

/// From those that cost least to those that change most: what is computed stays, then it takes longer, then it is another training.
namespace changes {

namespace detail {
constexpr std::int64_t replica_count(const job& j) { return j.hardware.gpus() / (j.parallel.tensor * j.parallel.pipeline * j.parallel.context); }
constexpr bool replicas(const job& j) { return replica_count(j) > 1; }
/// The optimizer on the host: ZeRO's, or where nothing is sharded an optimizer of one's own. FSDP can only move parameters and update together.
constexpr bool optimizer_on_host(job& j) {
  if (!j.sharding.divides() && !j.framework.sharding.offers_all()) return false;
  if (j.sharding.fully_sharded()) j.offload.parameters = place::on_cpu;
  return std::exchange(j.offload.optimizer, place::on_cpu) == place::on_gpu;
}
/// DeepSpeed offloads parameters in ZeRO's third stage alone (runtime/zero/config.py, offload_param).
constexpr bool parameters_on_host(job& j) {
  if (j.sharding.fully_sharded() || (j.sharding.by(sharder::deepspeed) && !j.sharding.cuts(sharded_state::weights)) || (!j.sharding.divides() && !j.framework.sharding.offers_all())) return false;
  return std::exchange(j.offload.parameters, place::on_cpu) == place::on_gpu;
}
constexpr bool zero_stage(job& j, std::int64_t stage) {
  if (!j.framework.sharding.offers(sharding_kind::zero)) return false;
  const bool more = (!j.sharding.divides() && replicas(j)) || (j.sharding.by(sharder::deepspeed) && j.sharding.stage < stage);
  if (!more) return false;
  j.sharding.kind = sharding_kind::zero;
  j.sharding.stage = stage;
  return true;
}
constexpr bool fsdp(job& j, sharding_kind kind) {
  if (j.sharding.divides() || !replicas(j) || !j.framework.sharding.offers(kind)) return false;
  j.sharding.kind = kind;
  j.sharding.stage = 3;
  return true;
}
constexpr bool loss(job& j, loss_kind kind) { return std::exchange(j.loss.kind, kind) != kind; }
constexpr bool micro(job& j, std::int64_t parts) {
  if (parts < 2 || j.batch.micro % parts != 0) return false;
  j.batch.micro /= parts;
  j.batch.accumulation = checked::mul(j.batch.accumulation, parts);
  return true;
}
/// Twice as many nodes have twice as many replicas, a degree that is doubled leaves half: a replica accumulates half or twice as many micro-batches, so
/// that a step reads as many sequences, as far as they can be halved, and the job runs with them. (Interleaved schedules, say, work on a micro-batch for
/// every stage at a time: Megatron-LM core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving.)
inline bool twice(std::int64_t& degree, job& j) {
  const auto before = replica_count(j);
  degree = checked::mul(degree, 2);
  j.parallel.data = 0;  // whatever the GPUs leave
  const auto now = replica_count(j);
  auto& n = j.batch.accumulation;
  const auto kept = n;
  if (now == 2 * before && n % 2 == 0) n /= 2;
  if (2 * now == before) n = checked::mul(n, 2);
  if (n == kept || !objection_to(j)) return true;
  const auto other = std::exchange(n, kept);
  if (objection_to(j)) n = other;  // it is refused for another reason
  return true;
}
/// On several kinds of GPU stages of as many layers are tight on the small kind alone.
inline bool balanced_stages(job& j) {
  if (j.hardware.kinds() == 1 || j.parallel.pipeline < 2 || j.parallel.virtual_pipeline > 1 || properties_of(j.parallel.schedule).both_ways()) return false;
#if HEADROOM_EXCEPTIONS
  const auto before = j.parallel;
  try {
#endif
    headroom::detail::balance(j);
#if HEADROOM_EXCEPTIONS
  } catch (const job_error&) {
    j.parallel = before;
    return false;
  }
#endif
  return true;
}
}  // namespace detail

inline constexpr std::array all{
    change{"environment.allocator.expandable_segments true",
           [](job& j) { return j.hardware.accelerator().maker != vendor::cpu && std::exchange(j.environment.expandable_segments, choice::yes) != choice::yes; }},
    change{"batch.lengths.order grouped", [](job& j) { return j.batch.varies() && std::exchange(j.batch.lengths.order, sample_order::grouped) == sample_order::shuffled; }},
    change{"batch.lengths.order longest-first",
           [](job& j) {
             const auto before = j.batch.varies() ? std::exchange(j.batch.lengths.order, sample_order::longest_first) : sample_order::longest_first;
             return before == sample_order::shuffled || before == sample_order::sorted;
           }},
    change{"batch.lengths.pad_to_multiple 256",
           [](job& j) {
             if (!j.batch.varies() || j.batch.lengths.pad_to_multiple >= 256) return false;
             j.batch.lengths.pad_to_multiple = 256;
             return true;
           }},
    change{"parallel.stage_layers by what fits", [](job& j) { return detail::balanced_stages(j); }},
    change{"rollout.sync_groups: a layer at a time", [](job& j) { return detail::layer_by_layer(j); }},
    change{"rollout.sleep 2", [](job& j) { return detail::engine_sleeps(j); }},
    change{"rollout.trainer_moves parameters and optimizer", [](job& j) { return detail::trainer_leaves(j); }},
    change{"objective.reference precomputed", [](job& j) { return detail::precomputed(j); }},
    change{"sharding.kind megatron-distributed-optimizer",
           [](job& j) {
             if (j.sharding.divides() || !detail::replicas(j) || !j.framework.sharding.offers(sharding_kind::megatron_distributed_optimizer)) return false;
             j.sharding.kind = sharding_kind::megatron_distributed_optimizer;
             return true;
           }},
    change{"sharding zero stage 1", [](job& j) { return detail::zero_stage(j, 1); }},
    change{"sharding zero stage 2", [](job& j) { return detail::zero_stage(j, 2); }},
    change{"parallel.sequence true", [](job& j) { return j.parallel.tensor > 1 && !std::exchange(j.parallel.sequence, true); }},
    change{"loss.kind fused-linear", [](job& j) { return detail::loss(j, loss_kind::fused_linear); }},
    change{"loss.kind chunked", [](job& j) { return detail::loss(j, loss_kind::chunked) && !headroom::detail::chunks_by_trl(j); }},
    change{"sharding zero stage 3", [](job& j) { return detail::zero_stage(j, 3); }},
    change{"sharding fsdp2", [](job& j) { return detail::fsdp(j, sharding_kind::fsdp2); }},
    change{"sharding fsdp1", [](job& j) { return detail::fsdp(j, sharding_kind::fsdp1); }},
    change{"batch.micro halved, batch.accumulation doubled", [](job& j) { return detail::micro(j, 2); }},
    change{"batch.micro 1, with as many micro-batches more", [](job& j) { return j.batch.micro > 2 && detail::micro(j, j.batch.micro); }},
    change{"recompute selective: core_attn",
           [](job& j) {
             if (j.recompute.mode != recompute_mode::none || j.framework.checkpointing.all_or_none) return false;
             j.recompute = {.mode = recompute_mode::selective, .modules = 1U << static_cast<int>(recompute_module::core_attn)};
             return true;
           }},
    change{"recompute selective: every other matmul",
           [](job& j) {
             if (j.recompute.mode != recompute_mode::none || j.framework.checkpointing.all_or_none) return false;
             j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul};
             return true;
           }},
    change{"recompute full",
           [](job& j) {
             if (j.recompute.mode == recompute_mode::full) return false;
             j.recompute = recompute::full;
             return true;
           }},
    change{"parallel.tensor doubled", [](job& j) { return detail::replicas(j) && detail::twice(j.parallel.tensor, j); }},
    change{"parallel.pipeline doubled", [](job& j) { return detail::replicas(j) && detail::twice(j.parallel.pipeline, j); }},
    change{"parallel.context doubled", [](job& j) { return detail::replicas(j) && detail::twice(j.parallel.context, j); }},
    change{"offload.optimizer cpu", [](job& j) { return detail::optimizer_on_host(j); }},
    change{"offload.activations cpu", [](job& j) { return std::exchange(j.offload.activations, place::on_cpu) == place::on_gpu; }},
    change{"offload.parameters cpu", [](job& j) { return detail::parameters_on_host(j); }},
    change{"hardware.nodes doubled", [](job& j) { return j.hardware.kinds() == 1 && detail::twice(j.hardware.nodes, j); }},
    change{"optimizer adamw-8bit",
           [](job& j) {
             if (j.optimizer.set() && j.optimizer.label != optimizers::adamw.label) return false;
             j.optimizer = optimizers::adamw_8bit;
             return true;
           }},
    change{"batch.sequence halved",
           [](job& j) {
             if (j.batch.sequence % 2 != 0) return false;
             j.batch.sequence /= 2;
             return true;
           }},
};

}  // namespace changes

/// What a judge says of a job; nothing where it is refused.
struct judgement {
  bytes device;    ///< of the tightest GPU
  bytes headroom;  ///< what it leaves there
  bool fits{};
};

/// One way to make a job fit: what is changed, and what the job needs and takes then.
struct advice {
  std::vector<const change*> changes;  ///< one to three, in the order in which they are made
  headroom::job job;                   ///< with them
  judgement outcome{};
  double seconds{};                    ///< of a step, predicted; 0: it is not
  double slower{1};                    ///< predicted time of a token, as a multiple of what it was
  double larger{1};                    ///< sequences of a step, as a multiple of what they were

  /// Whether a change left the replicas twice or half as many.
  [[nodiscard]] bool regroups() const {
    return std::any_of(changes.begin(), changes.end(), [](const change* c) { return c->text.starts_with("hardware.nodes") || (c->text.starts_with("parallel.") && c->text.ends_with(" doubled")); });
  }
};

namespace detail {

/// A step's seconds and seconds a token; none where they are not predicted.
inline std::optional<std::pair<double, double>> predicted_times(const job& j) {
#if HEADROOM_EXCEPTIONS
  try {
    const auto c = cost(j);
    return std::pair{c.step.value, 1 / c.tokens_per_second()};
  } catch (const error&) {
  }
#else
  (void)j;  // whether a step time is predicted is said by throwing
#endif
  return std::nullopt;
}

}  // namespace detail

/// Every single change that makes the job fit, in the order of the list; if none does, pairs; then three at a time. At most `most` of
/// them, no one twice. `judge(job)` gives std::optional<judgement>.
template <std::invocable<const job&> Judge>
std::vector<advice> advise(const job& given, Judge judge, std::size_t most = 8, std::span<const change> list = changes::all) {
  std::vector<advice> found;
  const auto change_with = [](advice& a, const change& c) {
    const auto before = std::make_unique<job>(a.job);
    if (!c.apply(a.job) || a.job == *before) return false;
    a.changes.push_back(&c);
    return true;
  };
  // `waiting` can be applied only after one of those that follow: sharding, say, after there are more nodes.
  const auto try_with = [&](const advice& base, const std::vector<const change*>& waiting, std::size_t from, std::size_t more, const auto& self) -> void {
    for (std::size_t i = from; i < list.size() && found.size() < most; ++i) {
      auto copy = std::make_unique<advice>(base);  // on the heap, as all jobs here: they are large
      auto& next = *copy;
      auto still = waiting;
      if (change_with(next, list[i]))
        std::erase_if(still, [&](const change* c) { return change_with(next, *c); });
      else
        still.push_back(&list[i]);
      if (more > 1) {
        self(next, still, i + 1, more - 1, self);
        continue;
      }
      if (!still.empty()) continue;
      const auto seen = judge(next.job);
      if (!seen || !seen->fits) continue;
      next.outcome = *seen;
      const auto sequences = [](const job& j) { return detail::sequences_of_step(j) * static_cast<double>(changes::detail::replica_count(j)); };
      next.larger = sequences(next.job) / sequences(given);
      found.push_back(std::move(next));
    }
  };
  const auto start = std::make_unique<advice>();
  start->job = given;
  for (std::size_t together = 1; together <= 3 && found.empty(); ++together) try_with(*start, {}, 0, together, try_with);
  if (const auto before = detail::predicted_times(given); before && !found.empty())
    for (auto& a : found)
      if (const auto with = detail::predicted_times(a.job)) {
        a.seconds = with->first;
        a.slower = with->second / before->second;
      }
  return found;
}

#if HEADROOM_EXCEPTIONS
/// What a report says, with a confidence: at the upper end of its range; nothing where making it throws.
template <class Report>
std::optional<judgement> judged(const job& j, Report report_of, std::optional<confidence> sure = {}) {
  try {
    const auto r = report_of(j);
    return judgement{r.device(), r.headroom(), sure ? fits(r, *sure) : r.fits()};
  } catch (const error&) {
    return std::nullopt;
  }
}

/// By decide(job).
inline std::vector<advice> advise(const job& given, std::size_t most = 8) {
  return advise(given, [](const job& j) { return judged(j, [](const job& k) { return decide(k); }); }, most);
}
#endif

}  // namespace headroom
