// Distributed under the Boost Software License, Version 1.0.
// What trains: adapters beside a frozen base, or a chosen part of the model.
#pragma once

#include <headroom/model/inventory.hpp>
#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// A probability in millionths: exact and structural. Memory only asks whether it is zero.
struct probability {
  std::int32_t per_million{};
  static constexpr probability of(double p) {
    if (!(p >= 0.0 && p <= 1.0)) refuse("headroom: a probability lies between 0 and 1");
    return {static_cast<std::int32_t>(p * 1e6 + 0.5)};
  }
  [[nodiscard]] constexpr bool positive() const { return per_million > 0; }
  bool operator==(const probability&) const = default;
};

/// A set of modules, as bits.
struct module_set {
  std::uint32_t bits{};
  constexpr module_set() = default;
  constexpr module_set(std::initializer_list<module> list) {
    for (auto m : list) bits |= bit(m);
  }
  static constexpr std::uint32_t bit(module m) { return std::uint32_t{1} << static_cast<int>(m); }
  [[nodiscard]] constexpr bool has(module m) const { return (bits & bit(m)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  constexpr module_set& operator|=(module_set b) { bits |= b.bits; return *this; }
  bool operator==(const module_set&) const = default;
};
static_assert(module_count <= 32);

/// Every linear layer but the head: what PEFT's "all-linear" means, but for routers, which most models had as linear layers before transformers 5: they are named beside it.
inline constexpr module_set all_linear{module::q_proj,       module::k_proj,     module::v_proj,       module::o_proj,    module::mla_down,
                                       module::gate_proj,    module::up_proj,    module::down_proj,    module::experts_gate, module::experts_up,
                                       module::experts_down, module::shared_gate, module::shared_up,   module::shared_down,  module::mixer_in,     module::mixer_out,
                                       module::layer_input};

/// What is trained beside a frozen matrix.
enum class adapter_kind : std::uint8_t { none, lora, dora };

/// LoRA (Hu et al. 2021): for a target of in × out features, A of rank × in and B of out × rank. DoRA (Liu et al. 2024) adds a
/// magnitude for each output feature.
struct adapter {
  adapter_kind kind{adapter_kind::none};
  std::int64_t rank{};
  module_set targets{};
  number_format format{};  ///< of A and B; not set(): that of the compute format
  probability dropout{};
  number_format base{};    ///< of the frozen weights; not set(): the recipe's parameter format
  module_set base_skips{}; ///< linear layers that stay in the parameter format although the base is quantised
  module_set base_also{};  ///< what is quantised beside the language model's linear layers: head, vision, projector, experts that are parameters
  number_format rest{};    ///< of frozen weights that are not quantised beside a quantised base; not set(): as the framework leaves them
  number_format rest_experts{};  ///< of routed experts among them; not set(): as the others
  bool fused_qkv{};        ///< one A and one B over the fused q, k, v projection
  module_set vision_targets{};     ///< where targets have vision: which matrices of each of the tower's layers; empty: all
  module_set projector_targets{};  ///< where they have projector: which of its layers; empty: all
  module_set modules_to_save{};  ///< modules of which a copy trains in full beside the adapters (peft utils/other.py ModulesToSaveWrapper)

  [[nodiscard]] constexpr bool active() const { return kind != adapter_kind::none; }
  /// Of `copies` of a weight, how many have an adapter.
  [[nodiscard]] constexpr std::int64_t beside(const weight& w, std::int64_t copies) const {
    if (!active()) return 0;
    if (w.role == module::encoder || w.role == module::cross_attention) return (w.parts & part_bits(targets.bits)) != 0 ? copies : 0;  // PEFT names the modules of all stacks alike
    if (!targets.has(w.role)) return 0;
    const auto of = w.role == module::vision ? vision_targets.bits : w.role == module::projector ? projector_targets.bits : 0;
    if (of == 0) return copies;
    const auto named = static_cast<std::uint8_t>(w.parts & part_bits(of));
    return w.parts == 0 ? 0 : copies / std::popcount(w.parts) * std::popcount(named);
  }
  bool operator==(const adapter&) const = default;
};

/// One line of a `trainable` list: these modules, in these layers, of so many experts.
struct selection {
  std::int64_t first_layer{};
  std::int64_t last_layer{-1};    ///< inclusive; -1: every layer and what lies outside the stack, and then first_layer is 0
  std::int64_t experts{-1};       ///< how many routed experts of each layer; -1: all
  module_set modules{};           ///< empty: all
  bool operator==(const selection&) const = default;
};

/// Which weights train. Nothing selected: all of them (adapters alone, with an adapter).
struct trainable {
  static constexpr int capacity = 8;
  selection list[capacity]{};
  std::int32_t size{};

  constexpr trainable() = default;
  constexpr trainable(std::initializer_list<selection> selections) {
    for (const auto& s : selections) add(s);
  }
  constexpr void add(const selection& s) {
    if (size == capacity) refuse("headroom: trainable holds at most 8 selections; join some", size);
    list[size++] = s;
  }
  [[nodiscard]] constexpr bool all() const { return size == 0; }
  bool operator==(const trainable&) const = default;
};

/// Probabilities of dropout: of hidden states, of attention's weights, of embeddings.
struct dropout {
  probability hidden{};
  probability attention{};
  probability embedding{};
  bool operator==(const dropout&) const = default;
};

}  // namespace headroom
