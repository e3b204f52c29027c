// Distributed under the Boost Software License, Version 1.0.
// Optimizers as data: what each keeps for a weight tensor. A new optimizer is one value.
#pragma once

#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// How the update is carried out, which decides its temporaries: one kernel, lists of tensors, or tensor by tensor.
enum class implementation : std::uint8_t { unset, fused, foreach, loop };

/// What state a rows × columns matrix has: of its own size, one vector a side (Adafactor), or projected to `rank`.
enum class state_extent : std::uint8_t { full, factored, low_rank };

struct optimizer {
  short_name label{};
  std::int32_t moments{};                    ///< state tensors for each weight tensor
  state_extent extent{state_extent::full};   ///< of matrices; vectors always have full() state
  number_format state{};                     ///< not set(): the precision recipe's
  std::int64_t plain_below{};                ///< tensors with fewer elements keep fp32 state (bitsandbytes min_8bit_size)
  std::int64_t paged_from{};                 ///< tensors with at least this many elements keep state in managed memory; 0: none
  bool plain_embedding{};                    ///< embeddings keep fp32 state (transformers registers them with bitsandbytes so)
  std::int64_t rank{};                       ///< of low-rank state
  bool stores_projector{};                   ///< GaLore keeps its projection; APOLLO draws it again from a seed
  std::int32_t vector_moments{};             ///< Muon: matrices have `moments` state tensors, all else this many; 0: `moments` for all
  bool in_backward{};                        ///< the update runs as soon as a gradient is there, and frees it
  bool updates_in_place{};                   ///< without temporaries, however it is carried out (torch/optim/sgd.py, without weight decay)
  std::int64_t blocks{};                     ///< BAdam: one of so many blocks of layers trains at a time
  std::int64_t update_interval{};            ///< steps between changes of projection or block; informative
  implementation how{implementation::unset};

  [[nodiscard]] constexpr bool set() const { return !label.empty(); }
  friend constexpr bool operator==(const optimizer&, const optimizer&) = default;
};

/// Sources: Kingma & Ba 2015 (two moments); Shazeer & Stern 2018, section 4 (row and column sums, no first moment);
/// Chen et al. 2023 (Lion: one); Zhao et al. 2024, section 4.2 (GaLore: moments r × n and projection m × r for m <= n);
/// Zhu et al. 2024 (APOLLO: the same without storing the projection; mini: rank 1); Lv et al. 2023 (LOMO: nothing;
/// AdaLomo: factored second moment); Luo et al. 2024 (BAdam); Jordan et al. 2024 (Muon: momentum for matrices);
/// bitsandbytes optim/optimizer.py (8-bit blocks, 4096-element floor, pages from 1e5 elements).
namespace optimizers {
inline constexpr optimizer adamw{.label = "adamw", .moments = 2};
inline constexpr optimizer adam{.label = "adam", .moments = 2};
inline constexpr optimizer adamw_8bit{.label = "adamw-8bit", .moments = 2, .state = formats::int8_blockwise, .plain_below = 4096};
inline constexpr optimizer paged_adamw_8bit{
    .label = "paged-adamw-8bit", .moments = 2, .state = formats::int8_blockwise, .plain_below = 4096, .paged_from = 100'000};
inline constexpr optimizer paged_adamw{.label = "paged-adamw", .moments = 2, .state = formats::fp32, .paged_from = 100'000};
inline constexpr optimizer adafactor{.label = "adafactor", .moments = 1, .extent = state_extent::factored, .state = formats::fp32};
inline constexpr optimizer lion{.label = "lion", .moments = 1};
inline constexpr optimizer sgd{.label = "sgd", .moments = 0, .updates_in_place = true};
inline constexpr optimizer sgd_momentum{.label = "sgd-momentum", .moments = 1, .updates_in_place = true};
inline constexpr optimizer adagrad{.label = "adagrad", .moments = 1};
inline constexpr optimizer galore{.label = "galore", .moments = 2, .extent = state_extent::low_rank, .rank = 128, .stores_projector = true, .update_interval = 200};
inline constexpr optimizer apollo{.label = "apollo", .moments = 2, .extent = state_extent::low_rank, .rank = 256, .update_interval = 200};
inline constexpr optimizer apollo_mini{.label = "apollo-mini", .moments = 2, .extent = state_extent::low_rank, .rank = 1, .update_interval = 200};
inline constexpr optimizer lomo{.label = "lomo", .moments = 0, .in_backward = true};
inline constexpr optimizer adalomo{.label = "adalomo", .moments = 1, .extent = state_extent::factored, .state = formats::fp32, .in_backward = true};
inline constexpr optimizer badam{.label = "badam", .moments = 2, .blocks = 32, .update_interval = 100};
inline constexpr optimizer muon{.label = "muon", .moments = 1, .vector_moments = 2};

inline constexpr std::array<optimizer, 17> all{adamw, adam, adamw_8bit, paged_adamw_8bit, paged_adamw, adafactor, lion, sgd, sgd_momentum,
                                               galore, apollo, apollo_mini, lomo, adalomo, badam, muon, adagrad};
}  // namespace optimizers

}  // namespace headroom
