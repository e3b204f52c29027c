// Distributed under the Boost Software License, Version 1.0.
// Layers of one's own: beside the library's in a pattern, estimate(job, own_layers{a, b}), or as the whole stack, estimate(job, layer).
#pragma once

#include <headroom/block/program.hpp>
#include <headroom/block/scene.hpp>
#include <headroom/model/weight.hpp>

#include <array>
#include <concepts>

namespace headroom {

/// A layer told from outside. A value with three functions, all of them constexpr where the answer is to be:
///   add_weights(list, m, where)          lists the weights of every layer in `where`, each with the module it comes nearest to;
///   parts()                              programs that the layer runs as, each from residual stream to residual stream;
///   part(i, scene, trained, flows)       builds one of them. `trained`: modules that train here; `flows`: its input needs a gradient.
/// The job's shape says the rest: layers, hidden, vocabulary, head and loss. Two more are asked for where they are there:
///   label()                              the name by which model.pattern, and a job file, name it: 1 to 23 characters;
///   flops(scene)                         what it computes beside the matrices that it lists (layer_flops, or a number): cost() asks.
template <class L>
concept own_layer = requires(const L& layer, inventory& list, const shape& m, const layer_span& where, const scene& s, const module_set& trained) {
  layer.add_weights(list, m, where);
  { layer.parts() } -> std::convertible_to<int>;
  { layer.part(0, s, trained, true) } -> std::same_as<program>;
};
/// … with a label by which a model's pattern names it.
template <class L>
concept labelled_layer = own_layer<L> && requires(const L& layer) {
  { layer.label() } -> std::convertible_to<std::string_view>;
};

/// Whether a layer says what it computes beside its matrices.
template <class L>
concept tells_flops = requires(const L& layer, const scene& s) { layer.flops(s); };

/// FLOPs of a layer in a forward of a micro-batch on one rank, beside the matrices that it lists.
struct layer_flops {
  double model{};       ///< as published model FLOPs count them: of attention the whole square
  double attention{};   ///< that run at the rate of a fused attention kernel; backward runs 2.5 times as many
  double multiplied{};  ///< that run at the rate of 16-bit multiplications; backward runs twice as many. A number alone is `model` and this
};

/// Layers of one's own for a model whose pattern names them by label, wherever shipped kinds may stand:
///   job.model.pattern.add_own("mixer");  job.model.pattern.add({});          // one of them, then a layer of the library's
///   estimate(job, own_layers{mixer{.inner = 4096}})                          // and fits, cost, solve; replay, decide, plan at run time
/// `add_own("mixer", feed_forward_kind::dense)` has the library's MLP, with its norm, behind it. A call is refused with a job_error where the
/// pattern names a layer that it is not given, where the framework does not run eager layers by autograd, and where parallelism divides layers.
template <labelled_layer... L>
struct own_layers;

template <>
struct own_layers<> {
  static constexpr std::size_t size = 0;
  template <class Visit>
  constexpr bool visit(std::string_view, const Visit&) const {
    return false;
  }
};

template <labelled_layer First, labelled_layer... Rest>
struct own_layers<First, Rest...> {
  static constexpr std::size_t size = 1 + sizeof...(Rest);
  First first;
  own_layers<Rest...> rest;

  constexpr explicit own_layers(const First& a, const Rest&... b) : first(a), rest(b...) {
    if (rest.visit(first.label(), [](const auto&) {})) refuse("headroom: own_layers{…}: two layers have the same label", short_name{std::string_view{first.label()}});
  }
  /// Calls visit(layer) with the one of that label. False: there is none.
  constexpr bool visit(std::string_view label, const auto& visit) const {
    if (std::string_view{first.label()} != label) return rest.visit(label, visit);
    visit(first);
    return true;
  }
  /// For io::read_job(); they are the layers' own text.
  [[nodiscard]] constexpr std::array<std::string_view, size> labels() const {
    std::array<std::string_view, size> r{first.label()};
    if constexpr (size > 1) {
      const auto others = rest.labels();
      for (std::size_t i = 1; i < size; ++i) r[i] = others[i - 1];
    }
    return r;
  }
};
template <class... L>
own_layers(const L&...) -> own_layers<L...>;

}  // namespace headroom
