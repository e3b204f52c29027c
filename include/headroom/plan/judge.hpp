// Distributed under the Boost Software License, Version 1.0.
// plan(search) by estimate() and cost().
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/objection.hpp>
#include <headroom/plan/memo.hpp>
#include <headroom/plan/peak.hpp>
#include <headroom/plan/plan.hpp>

#include <bit>
#include <optional>

namespace headroom {

/// Memory first; the time only of what may fit. Which of the plans that a search names do fit is for confirmed_plan() (plan/confirm.hpp).
constexpr judged_plan judge_plan(const job& j) {
  if (const auto why = objection_to(j)) return {.refused = why};
  const auto r = estimate(j);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j).step.value : 0.0, {}};
}

/// … with layers of one's own (block/own_layer.hpp).
template <own_stack Own>
constexpr judged_plan judge_plan(const job& j, const Own& own) {
  if (const auto why = objection_to(j, own)) return {.refused = why};
  const auto r = estimate(j, own);
  return {r.may_fit(), r.device(), r.may_fit() ? cost(j, own).step.value : 0.0, {}};
}

/// judge_plan() for the jobs of one search, one after the other: what jobs have in common is worked out once. They may differ in what
/// axes.hpp opens, in the batch, and in nothing else. For one thread.
/// Errors: those of estimate() and cost().
class plan_judge {
 public:
  judged_plan operator()(const job& j) {
    return divided(j) ? judge_divided(j) : judge_plan(j);
  }

 private:
  [[gnu::noinline]] judged_plan judge_divided(const job& j) {
    if (const auto why = objection_to(j)) return {.refused = why};
    const auto s = detail::settle_checked(j);
    const auto keys = keys_of(s);
    const auto& list = inventories_.at({s.model.vocab}, [&] { return weights_of(s.model); });
    const auto device = j.sharding.gathers_units() ? device_of_fsdp(s, keys, list) : device_of_stages(s, keys, list);
    if (!device) return judge_plan(j);
    if (*device > s.on->memory) return {false, *device, 0.0, {}};
    detail::check_cost(j);
    return {true, *device, seconds_of(s, keys, list), {}};
  }

  using layer_key = std::array<std::int64_t, 6>;

  /// Whether a job is one of divided layers, without what would be asked of its host, its pools or its graphs.
  static bool divided(const job& j) {
    return j.framework.modules.megatron() && j.framework.runtime == runtime::autograd && j.hardware.kinds() == 1 &&
           j.hardware.accelerator().maker != vendor::cpu && j.hardware.host_memory == bytes{0} && j.hardware.nvme == bytes{0} && j.offload.activations == place::on_gpu &&
           j.optimizer.vector_moments == 0 && !captures_first(j);
  }

  /// What the parts of an answer depend on, of what may differ between jobs of a search.
  struct job_keys {
    layer_key layers;           ///< the walk through a layer, and its time
    std::int64_t degrees, ends; ///< where layers lie
    std::int64_t split;         ///< into how many parts a weight is divided
    std::int64_t shards;        ///< … its states
  };
  job_keys keys_of(const settled_job& s) {
    const auto& j = *s.source;
    const auto& d = j.parallel;
    return {key_of_layer(s), d.pipeline + (d.virtual_pipeline << 16) + (static_cast<std::int64_t>(d.schedule) << 32), d.first_stage_layers + (d.last_stage_layers << 24) + (cut_of(d) << 48),
            d.tensor + (d.expert << 20) + (d.expert_tensor << 40), s.data + (d.replicate << 30) + (static_cast<std::int64_t>(j.sharding.kind) << 56) + (j.sharding.stage << 60)};
  }

  static layer_key key_of_layer(const settled_job& s) {
    const auto& l = s.layer;
    const auto& r = s.source->recompute;
    const auto flag = [](bool yes, int at) { return std::int64_t{yes} << at; };
    return {l.samples + (static_cast<std::int64_t>(l.context_kind) << 50), l.sequence, l.tensor + (l.sequence_split << 20) + (l.context << 40),
            l.expert + (l.expert_tensor << 20) + (l.expert_imbalance << 40),
            static_cast<std::int64_t>(r.mode) + (static_cast<std::int64_t>(r.method) << 4) + (static_cast<std::int64_t>(r.policy) << 8) + (static_cast<std::int64_t>(r.modules) << 12),
            static_cast<std::int64_t>(s.on->compute_capability) + flag(properties_of(s.source->parallel.schedule).splits_backward, 32) +
                flag(s.source->sharding.gathers_units(), 33)};
  }

  /// A number for the layers of each chunk, where they are given: the same for the same.
  std::int64_t cut_of(const degrees& d) {
    const auto given = chunks_given(d);
    if (given == 0) return 0;
    const auto end = d.stage_layers + std::min<std::int64_t>(given, degrees::max_entries);
    for (auto i = cuts_.size(); i-- > 0;)
      if (std::equal(d.stage_layers, end, cuts_[i].begin(), cuts_[i].end())) return static_cast<std::int64_t>(i) + 1;
    cuts_.emplace_back(d.stage_layers, end);
    return static_cast<std::int64_t>(cuts_.size());
  }

  const detail::scheduled_moments& moments_of(const settled_job& s, const detail::stage_kind& k) {
    const auto& j = *s.source;
    const auto& d = j.parallel;
    const auto micros = detail::enough_micros(j, k.first);  // the first is followed longest
    return moments_.at({d.pipeline + (k.chunks << 20) + (static_cast<std::int64_t>(d.schedule) << 40), k.first + (k.last << 20) + (k.head << 40), k.of.code(0), k.of.code(1), micros}, [&] { return detail::moments_of(s, k); });
  }

  /// Nothing where a stage has more kinds of chunk than are told apart.
  std::optional<bytes> device_of_stages(const settled_job& s, const job_keys& keys, const inventory& list) {
    const auto& layers = keys.layers;
    auto& layout = layouts_.at({keys.degrees, keys.split, keys.ends, layers[4], s.source->recompute.layers}, [&] { return detail::layout_of(s, list); });
    if (!layout.alike) return std::nullopt;
    auto& heights = walks_.at(layers, [&] { return detail::layer_heights(s); });
    const auto moments = [&](const detail::stage_kind& k) -> const detail::scheduled_moments& { return moments_of(s, k); };
    const auto held = [&](const detail::stage_kind& k) -> const detail::weights_held& {
      return held_.at({layers[2], layers[3], keys.degrees, keys.ends, k.first + (k.last << 32), keys.shards}, [&] { return detail::weights_held_of(s, k); });
    };
    return detail::device_of(s, round_up(detail::highest_peak(s, heights, layout, moments, held), 2 * mib));
  }

  std::optional<bytes> device_of_fsdp(const settled_job& s, const job_keys& keys, const inventory& list) {
    const auto& d = s.source->parallel;
    const auto& walked = whole_walks_.at(keys.layers, [&] { return walk_divided_layers(s); });
    const auto& buffers = buffers_.at({keys.split, keys.shards, d.context}, [&] { return detail::fsdp_layout_of(s, list); });
    rank_report rank;
    detail::finish_rank(rank, s, walk_stage(s, detail::rank_weights(s, list), stage_cut(d, s.model.layers), walked, 0, detail::shipped_order{}, nullptr, &buffers), 1);
    return rank.device;
  }

  double seconds_of(const settled_job& s, const job_keys& keys, const inventory& list) {
    const auto& l = keys.layers;
    const auto c = detail::cost_scene_of(s, rates_of(*s.on));
    const auto machine = std::bit_cast<std::int64_t>(c.on.matmul) ^ std::bit_cast<std::int64_t>(c.on.links.network) ^ c.on.links.domain;
    const auto& stages = stages_.at({keys.degrees, keys.ends}, [&] {
      std::vector<detail::stage_layers> all;
      detail::for_each_kind_of_stage(s, [&](const detail::stage_layers& k) { all.push_back(k); });
      return all;
    });
    const auto load = detail::load_of(c, passes_.at({l[0], l[1], l[2], l[3], l[4], l[5], machine}, [&] { return detail::passes_of(c, list); }),
                                      [&](auto&& visit) { for (const auto& k : stages) visit(k); });
    const auto& weights = weights_.at({keys.split, std::bit_cast<std::int64_t>(load.share)}, [&] { return detail::parameters_of(c, list, load.share); });
    return detail::step_of(c, load, weights).step.value;
  }

  std::vector<std::vector<std::int32_t>> cuts_;
  detail::memo<1, inventory> inventories_{4};
  detail::memo<5, detail::stage_layout> layouts_{12};
  detail::memo<6, detail::layer_heights> walks_{13};
  detail::memo<6, divided_layers> whole_walks_{12};
  detail::memo<3, detail::fsdp_layout> buffers_{8};
  detail::memo<6, detail::weights_held> held_{12};
  detail::memo<5, detail::scheduled_moments> moments_{13};
  detail::memo<7, detail::layer_passes> passes_{13};
  detail::memo<2, std::vector<detail::stage_layers>> stages_{8};
  detail::memo<2, detail::rank_parameters> weights_{8};
};

inline plan_result plan(const search& s, const plan_options& o = {}) { return plan(s, plan_judge{}, o); }
/// … with layers of one's own (block/own_layer.hpp).
/// Errors: those of plan(search). A job whose pattern names a layer that is not among those given is rejected, as any that is refused.
template <own_stack Own>
plan_result plan(const search& s, const Own& own, const plan_options& o = {}) {
  return plan(s, [&](const job& j) { return judge_plan(j, own); }, o);
}

}  // namespace headroom
