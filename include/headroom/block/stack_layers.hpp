// Distributed under the Boost Software License, Version 1.0.
// The layers that a stack may be made of: the library's, one's own among them, or one of one's own alone. A step is walked, replayed and
// timed with one of the three.
#pragma once

#include <headroom/block/cross.hpp>
#include <headroom/block/layer.hpp>
#include <headroom/block/own_layer.hpp>
#include <headroom/model/inventory.hpp>

namespace headroom {

namespace detail {

/// The library's own layers, as the shape describes them.
struct shipped_layers {
  static constexpr bool any_own = false;
  static constexpr inventory weights(const shape& m) { return weights_of(m); }
  static constexpr layer_walk walk(const scene& s, const auto& run, bool accumulate) {
    if (s.model->encoder.cross_attention) return walk_cross_layer(s, run.trained, run.input_has_gradient, run.recomputes, accumulate);
    return walk_layer(s, run.kind, run.trained, run.experts, run.input_has_gradient, run.recomputes, accumulate);
  }
  static constexpr void for_each_block(const scene& s, layer_kind kind, const module_set& trained, bool flows, const auto& visit) {
    if (s.model->encoder.cross_attention) return for_each_cross_block(s, trained, flows, visit);
    headroom::for_each_block(s, kind, trained, flows, visit);
  }
  static constexpr objection check(const job& j, const auto& no) {
    return j.model.pattern.names_own() ? object_to_own(j.model, mixer_kind::own, no) : objection{};
  }
};

/// Lists the weights of a layer of one's own as the library's are: each tensor beside those like it in other layers, what has none like it first.
template <own_layer L>
constexpr void add_own_weights(inventory& list, const shape& m, const L& own, const layer_span& where, int begin) {
  inventory theirs = inventory::blank();
  own.add_weights(theirs, m, where);
  const auto alike = [](const weight& a, const weight& b) {
    return b.layers.count > 0 && a.role == b.role && a.rows == b.rows && a.columns == b.columns && a.linear == b.linear && a.expert == b.expert;
  };
  for (const auto& w : theirs) {
    auto place = list.size;
    while (place > begin && !alike(w, list.entries[place - 1])) --place;
    list.insert(place > begin ? place : begin++, w);
  }
}

/// What the parts of a layer leave to those behind it.
struct own_end {
  bool flows{};
  std::int64_t matrices{};
};

/// The programs of a layer of one's own, one after the other.
template <own_layer L, class Visit>
constexpr own_end visit_parts(const L& own, const scene& s, const module_set& trained, bool flows, const Visit& visit) {
  own_end r{flows, 0};
  for (int i = 0; i < own.parts(); ++i) {
    with_made([&] { return own.part(i, s, trained, r.flows); }, [&](const program& p) {
      if (!p.input().valid() || !p.output().valid() || p.size(p.input()) != p.size(p.output()))
        refuse("headroom: each part of a layer of one's own must lead from the residual stream to one as large; part", i);
      visit(p);
      r = {p.needs_gradient(p.output()), r.matrices + p.matrices()};
    });
  }
  return r;
}

template <own_layer L>
constexpr layer_flops flops_of(const L& own, const scene& s) {
  if constexpr (!tells_flops<L>) {
    return {};
  } else if constexpr (std::convertible_to<decltype(own.flops(s)), double>) {
    return {own.flops(s), 0, own.flops(s)};
  } else {
    return own.flops(s);
  }
}

/// Where layers of one's own are walked. `label`: of one of them.
template <std::size_t N, class No>
constexpr objection check_own_place(const job& j, const basic_name<N>& label, const No& no) {
  if (!j.framework.modules.eager() || j.framework.runtime != runtime::autograd)
    return no("headroom: a layer of one's own is walked where autograd runs eager layers; choose another framework than", j.framework.label);
  if (j.compile || j.recompute.mode == recompute_mode::selective)
    return no("headroom: a layer of one's own is walked as it is written: compile must be false, and recompute none or full");
  if (j.framework.modules.dtensor() && j.parallel.pipeline > 1)
    return no("headroom: layers of one's own are not modelled in this framework's pipelines by this version: parallel.pipeline must be 1; layer", label);
  return {};
}

/// The library's layers, and others among them.
template <labelled_layer... L>
struct mixed_layers {
  static constexpr bool any_own = true;
  const own_layers<L...>& own;

  [[nodiscard]] constexpr inventory weights(const shape& m) const {
    return weights_of(m, [&](inventory& list, mixer_kind kind, const layer_span& where, int begin) {
      if (!own.visit(m.pattern.label_of(kind).view(), [&](const auto& layer) { add_own_weights(list, m, layer, where, begin); })) object_to_own(m, kind, refusing{});
    });
  }
  [[nodiscard]] constexpr layer_walk walk(const scene& s, const auto& run, bool accumulate) const {
    if (!is_own(run.kind.mixer)) return shipped_layers::walk(s, run, accumulate);
    return walk_layer(s, run.kind, run.trained, run.experts, run.input_has_gradient, run.recomputes, accumulate,
                      [&](const scene& sc, layer_kind kind, const module_set& trained, bool flows, const auto& visit) { for_each_block(sc, kind, trained, flows, visit); });
  }
  constexpr void for_each_block(const scene& s, layer_kind kind, const module_set& trained, bool flows, const auto& visit) const {
    if (!is_own(kind.mixer)) return shipped_layers::for_each_block(s, kind, trained, flows, visit);
    const auto end = for_each_part(s, kind, trained, flows, visit);
    visit_feed_forward(s, kind, trained, end.flows, end.matrices, visit);
  }
  /// Of a layer of one's own, without what of the library's stands behind it.
  constexpr own_end for_each_part(const scene& s, layer_kind kind, const module_set& trained, bool flows, const auto& visit) const {
    own_end r;
    own.visit(label(s, kind), [&](const auto& layer) { r = visit_parts(layer, s, trained, flows, visit); });
    return r;
  }
  [[nodiscard]] static constexpr bool replaces(layer_kind kind) { return is_own(kind.mixer); }
  [[nodiscard]] static constexpr layer_kind behind(layer_kind kind) { return {mixer_kind::none, kind.feeds}; }
  [[nodiscard]] constexpr layer_flops flops(const scene& s, layer_kind kind) const {
    layer_flops r;
    own.visit(label(s, kind), [&](const auto& layer) { r = flops_of(layer, s); });
    return r;
  }
  /// Whether each says what it computes beside its matrices.
  static constexpr bool tells_all_flops = (tells_flops<L> && ...);

  constexpr objection check(const job& j, const auto& no) const {
    const auto& m = j.model;
    if (!m.pattern.names_own()) return {};
    const auto& p = j.parallel;
    for (std::size_t i = 0; i < layer_pattern::most_own && !m.pattern.own[i].empty(); ++i) {
      const auto& name = m.pattern.own[i];
      int parts = 1;
      if (!own.visit(name.view(), [&](const auto& layer) { parts = layer.parts(); })) return no("headroom: model.pattern names a layer that own_layers{…} does not have; label", name);
      if (parts < 1) return no("headroom: a layer of one's own must run as at least one part; label", name);
      if (const auto why = check_own_place(j, name, no)) return why;
      if (p.tensor > 1 || p.context > 1 || p.expert > 1)
        return no("headroom: layers of one's own are not divided by this version: parallel.tensor, context and expert must be 1; label", name);
    }
    return {};
  }

 private:
  static constexpr std::string_view label(const scene& s, layer_kind kind) { return s.model->pattern.label_of(kind.mixer).view(); }
};

/// One layer that the whole stack is made of.
template <own_layer L>
struct given_layers {
  static constexpr bool any_own = true;
  const L& own;
  [[nodiscard]] constexpr inventory weights(const shape& m) const {
    headroom::check(m);
    inventory list = inventory::blank();
    add_embedding(list, m);
    own.add_weights(list, m, layer_span{0, m.layers, 1});
    add_head(list, m);
    return list;
  }
  [[nodiscard]] constexpr layer_walk walk(const scene& s, const auto& run, bool accumulate) const {
    return walk_layer(s, run.kind, run.trained, run.experts, run.input_has_gradient, run.recomputes, accumulate,
                      [&](const scene& sc, layer_kind kind, const module_set& trained, bool flows, const auto& visit) { for_each_block(sc, kind, trained, flows, visit); });
  }
  constexpr void for_each_block(const scene& s, layer_kind kind, const module_set& trained, bool flows, const auto& visit) const {
    for_each_part(s, kind, trained, flows, visit);
  }
  constexpr own_end for_each_part(const scene& s, layer_kind, const module_set& trained, bool flows, const auto& visit) const {
    return visit_parts(own, s, trained, flows, visit);
  }
  [[nodiscard]] static constexpr bool replaces(layer_kind) { return true; }
  [[nodiscard]] static constexpr layer_kind behind(layer_kind) { return {mixer_kind::none, feed_forward_kind::none}; }
  [[nodiscard]] constexpr layer_flops flops(const scene& s, layer_kind) const { return flops_of(own, s); }
  static constexpr bool tells_all_flops = tells_flops<L>;

  constexpr objection check(const job& j, const auto& no) const {
    if (own.parts() < 1) return no("headroom: a layer of one's own must run as at least one part; parts", own.parts());
    if (const auto why = check_own_place(j, j.model.label, no)) return why;
    const auto& m = j.model;
    if (m.sparse() || m.latent() || m.pattern.given() || m.mtp_layers > 0 || m.vision.kind != vision_kind::none || m.encoder.layers > 0)
      return no("headroom: a layer of one's own replaces the stack: the shape must leave experts, mla, pattern, mtp_layers, vision and encoder out; beside the library's own_layers{layer} takes it");
    return {};
  }
};

template <labelled_layer... L>
constexpr mixed_layers<L...> layers_from(const own_layers<L...>& own) {
  return {own};
}
template <own_layer L>
constexpr given_layers<L> layers_from(const L& own) {
  return {own};
}

}  // namespace detail

/// What estimate(), replay(), cost() and others take beside a job: own_layers{…}, or a layer that the whole stack is made of.
template <class T>
concept own_stack = requires(const T& own) { detail::layers_from(own); };

}  // namespace headroom
