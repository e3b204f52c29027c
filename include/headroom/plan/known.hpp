// Distributed under the Boost Software License, Version 1.0.
// What the jobs of a search have in common, each worked out once: what it depends on is its key.
#pragma once

#include <headroom/cost/least.hpp>
#include <headroom/plan/fsdp_peak.hpp>
#include <headroom/plan/memo.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace headroom::detail {

/// What layers and ends take for a micro-batch.
struct layer_times {
  explicit layer_times(const layer_passes& p) : passes(p), busy(p) {}
  layer_passes passes;
  busy_layers busy;
};

/// What head and loss do, of the walk through a stack's layers.
class divided_head {
 public:
  explicit divided_head(const divided_layers& w) : saved_(w.head_saved), forward_(w.head_forward), backward_(w.head_backward), kept_(w.head_kept) {}
  void put_into(divided_layers& w) const { w.head_saved = saved_, w.head_forward = forward_, w.head_backward = backward_, w.head_kept = kept_; }

 private:
  moment saved_, forward_, backward_, kept_;
};

/// Of what may differ between jobs of a search, what the parts of an answer depend on.
struct job_keys {
  std::int64_t layers, head;    ///< the walk through a layer, and through the head, but for the micro-batch
  std::int64_t passes;          ///< the time of a layer that nothing of runs again
  std::int64_t degrees, ends;   ///< where layers lie
  std::int64_t recompute;       ///< which of them run again
  std::int64_t split, experts;  ///< into how many parts weights are divided
  std::int64_t shards;          ///< … and their states
};

/// Results refer to one another: all of them are forgotten together.
struct known_parts {
  memo<5, std::int64_t> layers;              ///< numbers of what a layer depends on
  memo<1, inventory> inventories;
  memo<3, rank_weights> weights;
  memo<3, stage_layout> layouts;
  memo<4, stage_order> orders;
  memo<6, weights_held> held;
  memo<2, layer_heights> heights;
  memo<2, divided_head> heads;
  memo<4, fsdp_layout> fsdp_layouts;
  memo<4, layer_passes> passes;
  memo<4, layer_times> times;
  memo<2, std::vector<stage_layers>> stages;
  memo<3, rank_parameters> parameters;
  std::vector<std::vector<std::int32_t>> cuts;

  static constexpr std::size_t most = 1 << 14;  ///< of each: some 40 MB together
  [[nodiscard]] bool full() const {
    return heights.size() > most || times.size() > most || heads.size() > most || passes.size() > most || held.size() > most || layouts.size() > most || orders.size() > most ||
           fsdp_layouts.size() > most || layers.size() > most || weights.size() > most || stages.size() > most || parameters.size() > most || cuts.size() > most;
  }

  /// A number for the layers of each chunk, where they are given: the same for the same.
  std::int64_t cut_of(const degrees& d) {
    const auto given = chunks_given(d);
    if (given == 0) return 0;
    const auto end = d.stage_layers + std::min<std::int64_t>(given, degrees::max_entries);
    for (auto i = cuts.size(); i-- > 0;)
      if (std::equal(d.stage_layers, end, cuts[i].begin(), cuts[i].end())) return static_cast<std::int64_t>(i) + 1;
    cuts.emplace_back(d.stage_layers, end);
    return static_cast<std::int64_t>(cuts.size());
  }

  job_keys keys_of(const settled_job& s) {
    const auto& j = *s.source;
    const auto& d = j.parallel;
    const auto& l = s.layer;
    const auto& r = j.recompute;
    const auto tensor = l.tensor + (l.sequence_split << 20) + (l.context << 40), experts = l.expert + (l.expert_tensor << 20) + (l.expert_imbalance << 40);
    // How checkpoints are cut matters to modules of multi-token prediction, and to where layers lie.
    const auto method = static_cast<std::int64_t>(r.method) << 4;
    const auto again = static_cast<std::int64_t>(r.mode) + (s.model.mtp_layers > 0 ? method : 0) + (static_cast<std::int64_t>(r.policy) << 8) + (static_cast<std::int64_t>(r.modules) << 12);
    const auto kept = r.mode == recompute_mode::selective ? again : 0;
    const auto stream = l.sequence + (static_cast<std::int64_t>(l.context_kind) << 50);
    const auto form = static_cast<std::int64_t>(s.on->compute_capability) + (std::int64_t{properties_of(d.schedule).splits_backward} << 32);
    const auto number = [&](std::int64_t of_experts, std::int64_t of_again) {
      const auto next = static_cast<std::int64_t>(layers.size());
      return layers.at({stream, tensor, of_experts, of_again, form}, [&] { return next; });
    };
    return {.layers = number(experts, again),
            .head = number(0, -1),
            .passes = number(experts, kept),
            .degrees = d.pipeline + (d.virtual_pipeline << 16) + (static_cast<std::int64_t>(d.schedule) << 32),
            .ends = d.first_stage_layers + (d.last_stage_layers << 24) + (cut_of(d) << 48),
            .recompute = (again | method) + (r.layers << 44),
            .split = d.tensor + (d.context << 20),
            .experts = experts,
            .shards = s.data + (d.replicate << 30) + (static_cast<std::int64_t>(j.sharding.kind) << 56) + (j.sharding.stage << 60)};
  }

  const inventory& inventory_of(const settled_job& s) {
    return inventories.at({s.model.vocab}, [&] { return weights_of(s.model); });
  }
  const rank_weights& weights_in(const settled_job& s, const job_keys& k) {
    return weights.at({s.model.vocab, s.layer.tensor, k.experts}, [&] { return rank_weights(s, inventory_of(s)); });
  }
  stage_layout& layout_in(const settled_job& s, const job_keys& k) {
    return layouts.at({k.degrees, k.ends, k.recompute}, [&] {
      auto made = layout_of(s);
      const auto& d = s.source->parallel;
      for (auto& kind : made.stages)
        kind.order = &orders.at({d.pipeline + (kind.chunks << 20) + (static_cast<std::int64_t>(d.schedule) << 40), kind.first + (kind.last << 20) + (kind.head << 40), kind.of.code(0), kind.of.code(1)},
                                [] { return stage_order{}; });
      return made;
    });
  }
  const weights_held& held_by(const settled_job& s, const job_keys& k, const stage_kind& kind) {
    return held.at({k.split, k.experts, k.degrees, k.ends, kind.first, k.shards},
                   [&] { return weights_held_of(s, weights_in(s, k), kind.first); });
  }
  layer_heights& heights_in(const settled_job& s, const job_keys& k) {
    return heights.at({k.layers, s.layer.samples}, [&] {
      if (s.model.mtp_layers > 0) return layer_heights(walk_divided_layers(s));
      // The head is the same whatever of the layers runs again.
      auto w = walk_divided_layers(s, {.outside = false});
      const auto& head = heads.at({k.head, s.layer.samples}, [&] { return divided_head(walk_divided_layers(s, {.attention = false, .dense = false, .sparse = false})); });
      head.put_into(w);
      return layer_heights(w);
    });
  }
  const fsdp_layout& fsdp_layout_in(const settled_job& s, const job_keys& k) {
    return fsdp_layouts.at({k.split, k.experts, k.shards, s.model.vocab}, [&] { return fsdp_layout_of(s, inventory_of(s)); });
  }
  /// `machine`: a number for it.
  const layer_times& times_in(const cost_scene& c, const job_keys& k, std::int64_t machine) {
    const auto& j = *c.job->source;
    return times.at({k.layers, c.layer.samples, machine, std::int64_t{j.sharding.gathers_units()}}, [&] {
      if (j.recompute.mode == recompute_mode::selective) return layer_times(passes_of(c, inventory_of(*c.job)));
      // Layers that are kept, and those that run again in full, are the same but for that.
      auto p = passes.at({k.passes, c.layer.samples, machine, std::int64_t{j.sharding.gathers_units()}}, [&] { return passes_of(c, inventory_of(*c.job)); });
      p.dense.again = p.sparse.again = {};
      settle_recompute(p.dense, c, false);
      settle_recompute(p.sparse, c, true);
      return layer_times(p);
    });
  }
  const std::vector<stage_layers>& stages_in(const settled_job& s, const job_keys& k) {
    return stages.at({k.degrees, k.ends}, [&] {
      std::vector<stage_layers> all;
      for_each_kind_of_stage(s, [&](const stage_layers& kind) { all.push_back(kind); });
      return all;
    });
  }
  const rank_parameters& parameters_in(const cost_scene& c, const job_keys& k, double share_of_layers) {
    return parameters.at({c.layer.tensor, k.experts, std::bit_cast<std::int64_t>(share_of_layers)}, [&] { return parameters_of(c, inventory_of(*c.job), share_of_layers); });
  }
};

}  // namespace headroom::detail
