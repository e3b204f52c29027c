// Distributed under the Boost Software License, Version 1.0.
// A line of a search: jobs that differ in batch.micro and batch.accumulation alone, one after the other. What they share is looked up once.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/plan/known.hpp>

#include <optional>

namespace headroom::detail {

/// Whether objection_to() says the same of a job whatever its number of micro-batches: it asks for that of schedules that cannot run any
/// (layout/schedule_kind.hpp, engine/tensor_parallel/limits.hpp). False where that is not known at once.
constexpr bool runs_any_batch(const job& j) {
  const auto& d = j.parallel;
  const auto& order = properties_of(d.schedule);
  return !order.both_ways() && order.least_rounds == 0 && (d.virtual_pipeline == 1 || j.batch.accumulation % d.pipeline == 0) &&
         (j.batch.accumulation <= 65'536 || order.steady(d.pipeline, 0, d.pipeline) <= 65'536);
}

/// Memory and time of the jobs of a line whose layers are divided (Megatron's), without what would be asked of their host, pools or graphs.
class divided_line {
 public:
  /// Errors: those of settle(); `j` has passed check(). It and what is known have to outlive the line.
  divided_line(const job& j, known_parts& known, stage_peaks& stages)
      : settled_(settle_checked(j)), known_(&known), stages_(&stages), keys_(known.keys_of(settled_)), units_(j.sharding.gathers_units()) {
    const auto& s = settled_;
    if (units_) {
      fsdp_.emplace().begin(s, known.fsdp_layout_in(s, keys_), known.weights_in(s, keys_));
    } else {
      auto& layout = known.layout_in(s, keys_);
      alike_ = layout.alike;
      if (!alike_) return;
      stages.begin(s, layout, [&](const stage_kind& k) { return known.held_by(s, keys_, k); });
    }
    outside_ = device_of(s, bytes{0});
    fits_never_ = in_segments(units_ ? fsdp_->least() : stages.least()) > j.hardware.left_of(*s.on);
  }
  /// Not: a stage has more kinds of chunk than are told apart, and the line cannot be judged.
  [[nodiscard]] bool alike() const { return alike_; }
  /// The weights alone are too large.
  [[nodiscard]] bool fits_never() const { return fits_never_; }

  /// What the job as it is now needs of a GPU; or, where that is above `limit`, something else above it.
  bytes device(bytes limit) {
    auto& s = settled_;
    settle_micro_batch(s);
    auto& layers = known_->heights_in(s, keys_);
    return units_ ? outside_ + fsdp_->reserved(s, layers.gathered) : in_segments(stages_->highest(s, layers, limit));
  }
  /// No less than this is the time of a step of the job that device() was last asked of.
  /// Errors: those of cost().
  double least() {
    if (!time_) {
      check_cost(*settled_.source);
      time_.emplace(settled_, *known_, keys_);
    }
    auto& t = *time_;
    t.scene.layer.samples = settled_.layer.samples;
    t.scene.layer.tokens = settled_.layer.tokens;
    t.layers = &known_->times_in(t.scene, keys_, t.machine);
    return least_seconds(settled_, t.layers->busy, t.whole, t.kinds, t.again, t.scene.share);
  }
  /// The time itself; least() has been asked.
  double seconds() {
    auto& t = *time_;
    const auto load = load_of(t.scene, t.layers->passes, t.kinds);
    if (t.weights == nullptr) t.weights = &known_->parameters_in(t.scene, keys_, load.share);
    return step_of(t.scene, load, *t.weights).step.value;
  }

 private:
  struct kinds_of_stage {
    const std::vector<stage_layers>* all;
    template <class Visit>
    void operator()(Visit&& visit) const {
      for (const auto& k : *all) visit(k);
    }
  };
  struct timed {
    timed(const settled_job& s, known_parts& known, const job_keys& k)
        : scene(cost_scene_of(s, rates_of(*s.on))), machine(std::bit_cast<std::int64_t>(scene.on.matmul) ^ std::bit_cast<std::int64_t>(scene.on.links.network) ^ scene.on.links.domain),
          kinds{&known.stages_in(s, k)}, whole{.first = true, .last = true}, again(recomputed_share(s)) {
      whole.add(s.model, 0, s.model.layers);
    }
    cost_scene scene;
    std::int64_t machine;
    kinds_of_stage kinds;
    stage_layers whole;
    double again;
    const layer_times* layers{};        ///< of the job
    const rank_parameters* weights{};   ///< of the fullest stage
  };

  /// What is used of a GPU whose allocator holds so much at its peak.
  [[nodiscard]] bytes in_segments(bytes peak) const { return outside_ + round_up(peak, 2 * mib); }

  settled_job settled_;
  known_parts* known_;
  stage_peaks* stages_;
  job_keys keys_;
  bytes outside_{};
  bool units_, alike_ = true, fits_never_ = false;
  std::optional<fsdp_peaks> fsdp_{};
  std::optional<timed> time_{};
};

}  // namespace headroom::detail
