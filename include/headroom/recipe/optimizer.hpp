// Distributed under the Boost Software License, Version 1.0.
// Optimizers as data: what each keeps for a weight tensor. A new optimizer is one value.
#pragma once

#include <headroom/recipe/number_format.hpp>
#include <headroom/recipe/update_programs.hpp>

namespace headroom {

/// How the update is carried out, which decides its temporaries: one kernel, lists of tensors, or tensor by tensor.
enum class implementation : std::uint8_t { unset, fused, foreach, loop };

/// What state a rows × columns matrix has: of its own size, one vector a side (Adafactor), projected to `rank`, one number a row (Adam-mini), or
/// of its own size and square matrices of its sides (SOAP).
enum class state_extent : std::uint8_t { full, factored, low_rank, rows, preconditioned };

/// What an optimizer keeps for each trained parameter, and what its update makes for a moment.
struct optimizer {
  short_name label{};
  std::int32_t moments{};                    ///< state tensors for each weight tensor
  state_extent extent{state_extent::full};   ///< of matrices; vectors always have full() state
  number_format state{};                     ///< not set(): the precision recipe's
  std::int32_t whole_moments{};              ///< beside a reduced state: tensors of the weight's own size
  std::int64_t plain_below{};                ///< tensors with fewer elements keep fp32 state (bitsandbytes min_8bit_size)
  bool plain_as_weight{};                    ///< … or the weight's format, and so do tensors that whole blocks do not fill (torchao)
  std::int64_t paged_from{};                 ///< tensors with at least this many elements keep state in managed memory; 0: none
  bool plain_embedding{};                    ///< embeddings keep fp32 state (the Trainer registers them with bitsandbytes so)
  std::int64_t rank{};                       ///< of low-rank state
  bool stores_projector{};                   ///< the projection is kept from one step to the next
  bool keeps_singular_vectors{};             ///< … as a part of all singular vectors, where gradients are fp32 and nothing is cast
  bool factors{};                            ///< what is projected, and matrices that are not, have one vector a side (GaLore's Adafactor, whose gradients are fp32)
  std::int64_t most_side{};                  ///< preconditioned: sides up to this have fp32 matrices, of which each has
  std::int32_t side_matrices{};              ///< … so many
  std::int32_t vector_moments{};             ///< Muon: matrices have `moments` state tensors, all else this many; 0: `moments` for all
  bool in_backward{};                        ///< the update runs as soon as a gradient is there, and frees it
  bool updates_in_place{};                   ///< without temporaries, however it is carried out (torch/optim/sgd.py, without weight decay)
  bool compensates{};                        ///< one tensor more beside weights of 16 bits without a master copy: what rounding took (Kahan)
  std::int32_t error_bits{};                 ///< … in so many bits a number, without scales
  bool on_host{};                            ///< state lies in host memory, and is copied to the GPU for each update
  std::int64_t blocks{};                     ///< BAdam: one of so many blocks of layers trains at a time
  std::int64_t update_interval{};            ///< steps between changes of projection or block; informative
  implementation how{implementation::unset};
  implementation usually{implementation::unset};  ///< how its own code is carried out where nobody says; unset: as the framework has torch's
  std::int32_t foreach_copies{};             ///< parameter-sized temporaries of its foreach update; 0: the framework's, which are Adam's
  const update_program* by_tensor{};         ///< its own code that updates tensor by tensor; null: torch's, as `how` says

  [[nodiscard]] constexpr bool set() const { return !label.empty(); }
  bool operator==(const optimizer&) const = default;
};

/// Sources: Kingma & Ba 2015 (two moments); Shazeer & Stern 2018, section 4 (row and column sums, no first moment);
/// Chen et al. 2023 (Lion: one); Zhao et al. 2024, section 4.2 (GaLore: moments r × n and projection m × r for m <= n; linear layers alone:
/// transformers trainer_optimizer.py _setup_low_rank_optimizer); galore_torch galore_projector.py (a slice of the singular vectors is cast, or
/// keeps them all); Zhu et al. 2024 (APOLLO: the same; mini: rank 1) and apollo_torch random_projector.py (ortho_matrix stays); Lv et al. 2023
/// (LOMO: nothing; AdaLomo: factored second moment); Luo et al. 2024 (BAdam); Jordan et al. 2024 (Muon: momentum for matrices);
/// bitsandbytes optim/optimizer.py (8-bit blocks, 4096-element floor, pages from 1e5 elements; fp32 otherwise), optim/ademamix.py (state1 is two
/// moments); torchao optim/adam.py _new_buffer; schedulefree adamw_schedulefree.py (z, exp_avg_sq; denom), sgd_schedulefree.py (z);
/// torch/optim/adagrad.py (sum; of foreach std and numerator, which weight decay makes the gradient's copy), rmsprop.py (square_avg; of foreach avg); optimi adam.py, stableadamw.py _init_state (exp_avg, exp_avg_sq, kahan_comp; scalars are left out);
/// adam_mini.py (m, vmean); CAME.py (exp_avg; two factored statistics); prodigyopt prodigy.py (s, p0);
/// galore_torch adamw8bit.py, adafactor.py; nikhilvyas/SOAP soap.py 5d1afba init_preconditioner (GG, Q; sides up to 10,000; vectors have Adam's alone);
/// iShohei220/adopt and axolotl utils/optimizers/adopt.py _multi_tensor_adopt (exp_avg, exp_avg_sq; sqrt, quotient); grokadamw grokadamw.py (three, on
/// "cpu"); torchdistx anyprecision_optimizer.py as transformers calls it (both moments fp32, no Kahan sum); flashoptim optimizers.py (8.5 bits a
/// moment; master_weight_bits 24: 8 bits beside 16-bit weights); deepspeed ops/lamb/fused_lamb.py and apex fused_lamb.py (Adam's two; one kernel).
namespace optimizers {
namespace detail {
/// bitsandbytes' versions of an optimizer: in 8 bits, and with managed memory.
constexpr optimizer of_bitsandbytes(short_name label, std::int32_t moments, bool in_8_bits, bool paged) {
  optimizer o{.label = label, .moments = moments, .state = in_8_bits ? formats::int8_blockwise : formats::fp32};
  o.plain_below = in_8_bits ? 4096 : 0;
  o.paged_from = paged ? 100'000 : 0;
  o.by_tensor = &updates::one_kernel;
  return o;
}
constexpr optimizer of_torchao(short_name label, const number_format& state) {
  optimizer o{.label = label, .moments = 2, .state = state, .plain_below = 4096, .plain_as_weight = true};
  o.by_tensor = &updates::torchao;
  return o;
}
constexpr optimizer of_flashoptim(short_name label, std::int32_t moments) {
  return {.label = label, .moments = moments, .state = formats::int8_flash, .error_bits = 8, .by_tensor = &updates::flash};
}
}  // namespace detail

inline constexpr optimizer adamw{.label = "adamw", .moments = 2};
inline constexpr optimizer adam{.label = "adam", .moments = 2};
inline constexpr optimizer adamw_8bit = detail::of_bitsandbytes("adamw-8bit", 2, true, false);
inline constexpr optimizer paged_adamw_8bit = detail::of_bitsandbytes("paged-adamw-8bit", 2, true, true);
inline constexpr optimizer paged_adamw = detail::of_bitsandbytes("paged-adamw", 2, false, true);
inline constexpr optimizer lion = detail::of_bitsandbytes("lion", 1, false, false);
inline constexpr optimizer lion_8bit = detail::of_bitsandbytes("lion-8bit", 1, true, false);
inline constexpr optimizer paged_lion = detail::of_bitsandbytes("paged-lion", 1, false, true);
inline constexpr optimizer paged_lion_8bit = detail::of_bitsandbytes("paged-lion-8bit", 1, true, true);
inline constexpr optimizer ademamix = detail::of_bitsandbytes("ademamix", 3, false, false);
inline constexpr optimizer ademamix_8bit = detail::of_bitsandbytes("ademamix-8bit", 3, true, false);
inline constexpr optimizer paged_ademamix = detail::of_bitsandbytes("paged-ademamix", 3, false, true);
inline constexpr optimizer paged_ademamix_8bit = detail::of_bitsandbytes("paged-ademamix-8bit", 3, true, true);
inline constexpr optimizer rmsprop_bnb = detail::of_bitsandbytes("rmsprop-bnb", 1, false, false);
inline constexpr optimizer rmsprop_8bit = detail::of_bitsandbytes("rmsprop-8bit", 1, true, false);
inline constexpr optimizer adamw_torchao_8bit = detail::of_torchao("adamw-torchao-8bit", formats::int8_torchao);
inline constexpr optimizer adamw_torchao_4bit = detail::of_torchao("adamw-torchao-4bit", formats::int4_torchao);
inline constexpr optimizer adamw_torchao_fp8 = detail::of_torchao("adamw-torchao-fp8", formats::fp8_torchao);
inline constexpr optimizer adafactor{.label = "adafactor", .moments = 1, .extent = state_extent::factored, .state = formats::fp32, .by_tensor = &updates::adafactor};
inline constexpr optimizer sgd{.label = "sgd", .moments = 0, .updates_in_place = true};
inline constexpr optimizer sgd_momentum{.label = "sgd-momentum", .moments = 1, .updates_in_place = true};
inline constexpr optimizer adagrad{.label = "adagrad", .moments = 1, .foreach_copies = 2};
inline constexpr optimizer rmsprop{.label = "rmsprop", .moments = 1, .usually = implementation::foreach, .foreach_copies = 1};
/// optimi's Triton kernels, which it takes on GPUs since torch 2.6.
inline constexpr optimizer stable_adamw{.label = "stable-adamw", .moments = 2, .compensates = true, .by_tensor = &updates::one_kernel};
inline constexpr optimizer optimi_adamw{.label = "optimi-adamw", .moments = 2, .compensates = true, .by_tensor = &updates::optimi};
inline constexpr optimizer galore{.label = "galore", .moments = 2, .extent = state_extent::low_rank, .rank = 128, .stores_projector = true, .keeps_singular_vectors = true,
                                  .update_interval = 200, .by_tensor = &updates::galore};
inline constexpr optimizer galore_8bit{.label = "galore-8bit", .moments = 2, .extent = state_extent::low_rank, .state = formats::int8_blockwise, .plain_below = 4096, .rank = 128,
                                       .stores_projector = true, .keeps_singular_vectors = true, .update_interval = 200, .by_tensor = &updates::galore_8bit};
inline constexpr optimizer galore_adafactor{.label = "galore-adafactor", .moments = 1, .extent = state_extent::low_rank, .state = formats::fp32, .rank = 128, .stores_projector = true,
                                            .keeps_singular_vectors = true, .factors = true, .update_interval = 200, .by_tensor = &updates::galore_adafactor};
inline constexpr optimizer apollo{.label = "apollo", .moments = 2, .extent = state_extent::low_rank, .rank = 256, .stores_projector = true, .update_interval = 200, .by_tensor = &updates::apollo};
inline constexpr optimizer apollo_mini{.label = "apollo-mini", .moments = 2, .extent = state_extent::low_rank, .rank = 1, .stores_projector = true, .update_interval = 200, .by_tensor = &updates::apollo};
inline constexpr optimizer lomo{.label = "lomo", .moments = 0, .in_backward = true, .by_tensor = &updates::lomo};
inline constexpr optimizer adalomo{.label = "adalomo", .moments = 1, .extent = state_extent::factored, .state = formats::fp32, .in_backward = true, .by_tensor = &updates::adalomo};
inline constexpr optimizer badam{.label = "badam", .moments = 2, .blocks = 32, .update_interval = 100};
inline constexpr optimizer muon{.label = "muon", .moments = 1, .vector_moments = 2, .by_tensor = &updates::muon};
inline constexpr optimizer adam_mini{.label = "adam-mini", .moments = 1, .extent = state_extent::rows, .whole_moments = 1, .by_tensor = &updates::adam_mini};
inline constexpr optimizer came{.label = "came", .moments = 2, .extent = state_extent::factored, .state = formats::fp32, .whole_moments = 1, .by_tensor = &updates::came};
inline constexpr optimizer prodigy{.label = "prodigy", .moments = 4, .by_tensor = &updates::prodigy};
inline constexpr optimizer schedule_free_adamw{.label = "schedule-free-adamw", .moments = 2, .usually = implementation::foreach, .foreach_copies = 1};
inline constexpr optimizer schedule_free_sgd{.label = "schedule-free-sgd", .moments = 1, .updates_in_place = true};
inline constexpr optimizer adopt{.label = "adopt", .moments = 2, .usually = implementation::foreach, .foreach_copies = 2};
inline constexpr optimizer grokadamw{.label = "grokadamw", .moments = 3, .on_host = true, .by_tensor = &updates::grokadamw};
inline constexpr optimizer anyprecision_adamw{.label = "anyprecision-adamw", .moments = 2, .state = formats::fp32, .by_tensor = &updates::anyprecision};
inline constexpr optimizer lamb{.label = "lamb", .moments = 2, .by_tensor = &updates::one_kernel};
inline constexpr optimizer soap{.label = "soap", .moments = 2, .extent = state_extent::preconditioned, .state = formats::fp32, .most_side = 10'000, .side_matrices = 2, .by_tensor = &updates::soap};
inline constexpr optimizer flash_adamw = detail::of_flashoptim("flash-adamw", 2);
inline constexpr optimizer flash_lion = detail::of_flashoptim("flash-lion", 1);

inline constexpr std::array<optimizer, 46> all{
    adamw, adam, adamw_8bit, paged_adamw_8bit, paged_adamw, adafactor, lion, sgd, sgd_momentum, galore, apollo, apollo_mini, lomo, adalomo, badam, muon, adagrad,
    lion_8bit, paged_lion, paged_lion_8bit, ademamix, ademamix_8bit, paged_ademamix, paged_ademamix_8bit, rmsprop_bnb, rmsprop_8bit,
    adamw_torchao_8bit, adamw_torchao_4bit, adamw_torchao_fp8, adam_mini, came, prodigy, schedule_free_adamw, schedule_free_sgd,
    rmsprop, stable_adamw, optimi_adamw,
    galore_8bit, galore_adafactor, adopt, grokadamw, anyprecision_adamw, lamb, soap, flash_adamw, flash_lion};
}  // namespace optimizers

}  // namespace headroom
