// Distributed under the Boost Software License, Version 1.0.
// A time that no step of a job takes less than: a few multiplications, where the step itself takes hundreds. A search looks closer at those
// alone whose least time is below what it has.
#pragma once

#include <headroom/cost/step.hpp>

namespace headroom::detail {

/// Of all directions of a micro-batch: what the device is busy, and a processor core. A direction takes the longer of the two, so that all
/// of them take the longer of these sums at least.
struct busy_seconds {
  double device{}, host{};
  constexpr void add(const busy_seconds& o, double times = 1) { device += times * o.device, host += times * o.host; }
  [[nodiscard]] constexpr double longer() const { return device > host ? device : host; }
};
/// … of a kind of layer, or an end: what runs once, and what recomputation repeats.
struct busy_part {
  busy_seconds once{}, again{};
  constexpr busy_part() = default;
  constexpr explicit busy_part(const both_passes& p)
      : once{p.forward.device() + p.backward.device(), p.forward.host + p.backward.host}, again{p.again.device(), p.again.host} {}
  [[nodiscard]] constexpr busy_seconds with(double share) const { return {once.device + share * again.device, once.host + share * again.host}; }
};
struct busy_layers {
  busy_part dense{}, sparse{}, first{}, last{}, plain{}, scans{};
  constexpr busy_layers() = default;
  constexpr explicit busy_layers(const layer_passes& p) : dense(p.dense), sparse(p.sparse), first(p.first), last(p.last), plain(p.plain), scans(p.scans) {}
};

/// Of step_of(): the pipeline alone, without what its stages send, and the update's constant. `whole` and `kinds(visit)`: the layers of the
/// model, and those of each kind of stage. `again`: recomputed_share().
template <class Kinds>
constexpr double least_seconds(const settled_job& s, const busy_layers& layers, const stage_layers& whole, const Kinds& kinds, double again, const rates& share) {
  const auto dense = layers.dense.with(again), sparse = layers.sparse.with(again), first = layers.first.with(1), last = layers.last.with(1), plain = layers.plain.with(again), scans = layers.scans.with(again);
  const auto work = [&](const stage_layers& on) {
    busy_seconds t;
    t.add(dense, static_cast<double>(on.dense));
    t.add(sparse, static_cast<double>(on.sparse));
    t.add(plain, static_cast<double>(on.plain));
    t.add(scans, static_cast<double>(on.scans));
    if (on.first) t.add(first);
    if (!on.last) return t.longer();
    t.add(last);
    t.add(s.model.sparse() ? sparse : dense, static_cast<double>(s.model.mtp_layers));
    return t.longer();
  };
  const auto& d = s.source->parallel;
  const auto& order = properties_of(d.schedule);
  const auto micros = static_cast<double>(s.source->batch.accumulation);
  const double all = work(whole);
  double piped = micros * all;
  if (!order.one_process && d.pipeline > 1) {
    double slowest = 0;
    kinds([&](const stage_layers& on) {
      if (const double t = work(on); t > slowest) slowest = t;
    });
    // With the bubble (p - 1)(F + B) / v of the other stages' mean: it falls as the slowest rises, by less than the micro-batches take more.
    const double chunks = d.virtual_pipeline > 1 ? static_cast<double>(d.virtual_pipeline) : 1.0;
    const double bubble = order.bubble == fill_and_drain && all > slowest ? (all - slowest) / chunks : 0.0;
    piped = micros * slowest + bubble;
  }
  return (piped + share.step) * (1 - 1e-9);  // sums in another order differ in their last digits
}

}  // namespace headroom::detail
