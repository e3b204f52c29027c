// Distributed under the Boost Software License, Version 1.0.
// Layers of one's own: estimate(job, layer) walks them where the library's decoder layers would stand.
#pragma once

#include <headroom/block/cross.hpp>
#include <headroom/block/layer.hpp>
#include <headroom/model/inventory.hpp>

#include <concepts>

namespace headroom {

/// A layer that the model's stack is made of. A value with three functions, all of them constexpr where the estimate is to be:
///   add_weights(list, m, where)          lists the weights of every layer in `where`, each with the module it comes nearest to;
///   parts()                              programs that the layer runs as, each from residual stream to residual stream;
///   part(i, scene, trained, flows)       builds one of them. `trained`: modules that train here; `flows`: its input needs a gradient.
/// The job's shape says the rest: layers, hidden, vocabulary, head and loss.
template <class L>
concept own_layer = requires(const L& layer, inventory& list, const shape& m, const layer_span& where, const scene& s, const module_set& trained) {
  layer.add_weights(list, m, where);
  { layer.parts() } -> std::convertible_to<int>;
  { layer.part(0, s, trained, true) } -> std::same_as<program>;
};

namespace detail {

/// The library's own layers, as the shape describes them.
struct shipped_layers {
  static constexpr inventory weights(const shape& m) { return weights_of(m); }
  template <class Run>
  static constexpr layer_walk walk(const scene& s, const Run& run, bool accumulate) {
    if (s.model->encoder.cross_attention) return walk_cross_layer(s, run.trained, run.input_has_gradient, run.recomputes, accumulate);
    return walk_layer(s, run.kind, run.trained, run.experts, run.input_has_gradient, run.recomputes, accumulate);
  }
};

template <own_layer L>
struct given_layers {
  const L& own;
  [[nodiscard]] constexpr inventory weights(const shape& m) const {
    headroom::check(m);
    inventory list = inventory::blank();
    add_embedding(list, m);
    own.add_weights(list, m, layer_span{0, m.layers, 1});
    add_head(list, m);
    return list;
  }
  template <class Run>
  [[nodiscard]] constexpr layer_walk walk(const scene& s, const Run& run, bool accumulate) const {
    layer_walk r;
    bool flows = run.input_has_gradient;
    for (int i = 0; i < own.parts(); ++i) {
      join(r, own.part(i, s, run.trained, flows), i == 0, run.recomputes, accumulate);
      flows = r.output_has_gradient;
    }
    return r;
  }
  constexpr void check(const job& j) const {
    if (!j.framework.modules.eager() || j.framework.runtime != runtime::autograd)
      refuse("headroom: a layer of one's own is walked where autograd runs eager layers; choose another framework than", j.framework.label);
    if (own.parts() < 1) refuse("headroom: a layer of one's own must run as at least one part; parts", own.parts());
    if (j.compile || j.recompute.mode == recompute_mode::selective)
      refuse("headroom: a layer of one's own is walked as it is written: compile must be false, and recompute none or full");
    const auto& m = j.model;
    if (m.sparse() || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.vision.kind != vision_kind::none || m.encoder.layers > 0)
      refuse("headroom: a layer of one's own replaces the stack: the shape must leave experts, mla, pattern, mtp_layers, vision and encoder out");
  }
};

}  // namespace detail

}  // namespace headroom
