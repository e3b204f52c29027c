// Distributed under the Boost Software License, Version 1.0.
// Which number format each kind of tensor has.
#pragma once

#include <headroom/layout/sharding.hpp>
#include <headroom/recipe/number_format.hpp>

namespace headroom {

/// A precision recipe. A format that is not set() is filled in by the framework.
struct precision {
  short_name label{};
  number_format parameters{};
  number_format compute{};
  number_format gradients{};
  number_format reduce{};
  number_format master{};
  number_format state{};
  choice autocast{};  ///< torch.autocast: wider weights are cast for each matrix multiplication, and the casts cached; unset: the framework's
  number_format frozen{};  ///< of weights that do not train; left open: as parameters

  [[nodiscard]] constexpr bool set() const { return parameters.set(); }
  [[nodiscard]] constexpr bool autocasts() const { return autocast == choice::yes; }
  /// Of weights that do not train.
  [[nodiscard]] constexpr const number_format& untrained() const { return frozen.set() ? frozen : parameters; }
  bool operator==(const precision&) const = default;
};

/// Whether matrices are multiplied in fewer than 16 bits, and what they multiply is quantised as it comes.
constexpr bool multiplies_narrow(const precision& p) { return p.compute.bits > 0 && p.compute.bits < 16; }

/// Fills formats that a recipe leaves open from those that it states: compute and gradients as parameters, reductions as gradients, no master
/// copy, the optimizer's state as what it updates.
constexpr void fill_open_formats(precision& p) {
  const auto fill = [](number_format& f, const number_format& with) {
    if (!f.set()) f = with;
  };
  fill(p.compute, p.parameters);
  fill(p.gradients, p.parameters);
  fill(p.reduce, p.gradients);
  fill(p.master, formats::none);
  fill(p.state, p.master.present() ? p.master : p.parameters);
}

/// Recipes of number formats. A new one is one value here, or anywhere else.
namespace precisions {
inline constexpr precision fp32{"fp32", formats::fp32, formats::fp32, formats::fp32, formats::fp32, formats::none, formats::fp32};
/// Everything in bf16, Adam's state included: torch optimizers keep state in the format of the parameter.
inline constexpr precision bf16{"bf16", formats::bf16, formats::bf16, formats::bf16, formats::bf16, formats::none, formats::bf16};
/// bf16 weights and gradients beside an fp32 master copy (Micikevicius et al. 2018; DeepSpeed, Megatron). Under FSDP the
/// sharded parameter is the fp32 copy and bf16 exists only while gathered: see settle().
inline constexpr precision bf16_mixed{"bf16-mixed", formats::bf16, formats::bf16, formats::bf16, formats::bf16, formats::fp32, formats::fp32};
inline constexpr precision fp16_mixed{"fp16-mixed", formats::fp16, formats::fp16, formats::fp16, formats::fp16, formats::fp32, formats::fp32};
inline constexpr precision bf16_autocast{"bf16-autocast", formats::fp32, formats::bf16, formats::fp32, formats::fp32, formats::none, formats::fp32, choice::yes};
inline constexpr precision fp16_autocast{"fp16-autocast", formats::fp32, formats::fp16, formats::fp32, formats::fp32, formats::none, formats::fp32, choice::yes};
inline constexpr precision fp8{"fp8", formats::bf16, formats::fp8, formats::bf16, formats::bf16, formats::fp32, formats::fp32};

inline constexpr std::array<precision, 7> all{fp32, bf16, bf16_mixed, fp16_mixed, bf16_autocast, fp16_autocast, fp8};
}  // namespace precisions

}  // namespace headroom
