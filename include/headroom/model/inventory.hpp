// Distributed under the Boost Software License, Version 1.0.
// Every weight tensor of a model, by kind: how many, how large, which module, how it may be split. Parameter counts,
// states, adapters and sharding are all read off this one list.
#pragma once

#include <headroom/model/check.hpp>
#include <headroom/model/decoder.hpp>
#include <headroom/model/towers.hpp>
#include <headroom/model/weight.hpp>

#include <array>
#include <string_view>

namespace headroom {

/// The list. A tied head is not in it: that matrix is the embedding. `add_own`: see add_layers().
constexpr inventory weights_of(const shape& m, const auto& add_own) {
  check(m);
  inventory list = inventory::blank();
  detail::add_embedding(list, m);
  detail::add_vision(list, m);
  detail::add_layers(list, m, add_own);
  detail::add_encoder(list, m);
  detail::add_head(list, m);
  detail::add_mtp(list, m);
  return list;
}

/// Every weight of a model. Errors: job_error for a pattern that names layers of one's own, which are not given here.
constexpr inventory weights_of(const shape& m) {
  return weights_of(m, [&](inventory&, mixer_kind kind, const layer_span&, int) { detail::object_to_own(m, kind, refusing{}); });
}

/// What a report groups parameters by.
enum class component : std::uint8_t {
  embedding, attention, mlp, experts, shared_experts, router, norm, head, mtp, encoder, vision, projector, other,
};
inline constexpr int component_count = static_cast<int>(component::other) + 1;

/// Its name in a report.
constexpr std::string_view name_of(component c) {
  constexpr std::string_view names[] = {"embedding", "attention", "mlp", "experts", "shared_experts", "router", "norm",
                                        "head", "mtp", "encoder", "vision", "projector", "other"};
  return names[static_cast<int>(c)];
}

/// The component that a module's weights are counted in.
constexpr component component_of(module m) {
  switch (m) {
    case module::embedding:
    case module::position: return component::embedding;
    case module::q_proj:
    case module::k_proj:
    case module::v_proj:
    case module::o_proj:
    case module::mla_down:
    case module::mixer_in:
    case module::mixer_out:
    case module::mixer:
    case module::cross_attention: return component::attention;
    case module::gate_proj:
    case module::up_proj:
    case module::down_proj:
    case module::layer_input: return component::mlp;
    case module::experts_gate:
    case module::experts_up:
    case module::experts_down: return component::experts;
    case module::shared_gate:
    case module::shared_up:
    case module::shared_down: return component::shared_experts;
    case module::router: return component::router;
    case module::norm: return component::norm;
    case module::head: return component::head;
    case module::mtp: return component::mtp;
    case module::encoder: return component::encoder;
    case module::vision: return component::vision;
    case module::projector: return component::projector;
    case module::other: break;
  }
  return component::other;
}

/// Parameters of a model: unique tensors, a tied matrix once, buffers never.
struct parameter_count {
  parameters total{};
  parameters active{};  ///< read for one token: total without the experts that a token does not visit. Embeddings, head,
                        ///< routers and shared experts count; model cards often leave the embeddings out
  parameters frozen{};  ///< parameters that never train (Whisper's sinusoids)
  std::array<parameters, component_count> by_component{};

  [[nodiscard]] constexpr parameters of(component c) const { return by_component[static_cast<std::size_t>(c)]; }
  [[nodiscard]] constexpr parameters trainable() const { return total - frozen; }
  bool operator==(const parameter_count&) const = default;
};

/// The parameters of a list of weights, in all and by component; of `experts.count` experts `experts.active` are active.
constexpr parameter_count count(const inventory& list, const expert_shape& experts) {
  parameter_count r;
  for (const auto& w : list) {
    const parameters all = w.total();
    r.total += all;
    r.by_component[static_cast<std::size_t>(component_of(w.role))] += all;
    if (w.frozen) r.frozen += all;
    r.active += w.expert && experts.count > 0 ? all / experts.count * experts.active : all;
  }
  return r;
}
/// Elements that a model's layers hold beside their weights, in the weights' format, on every rank.
constexpr std::int64_t buffers_of(const shape& m) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; m.pattern.given() && i < m.layers; ++i)
    if (m.kind_of(i).mixer == mixer_kind::lightning_attention) sum = checked::add(sum, detail::lightning_buffers(m));
  return sum;
}

/// The parameters of a model, exact. Errors: those of weights_of(); overflow_error beyond 63 bits.
constexpr parameter_count count(const shape& m) { return count(weights_of(m), m.experts); }

}  // namespace headroom
