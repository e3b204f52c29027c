// Distributed under the Boost Software License, Version 1.0.
// Quantisation-aware training: linear layers multiply numbers that were rounded as they will be once the model is quantised, in the format that they had
// (pytorch/ao torchao/quantization/qat: IntxFakeQuantizer since v0.12 of 2025-07, before which a mask of one byte was kept, Int4WeightFakeQuantizer for
// 16-bit activations since v0.14; read up to v0.17 of 2026-03).
#pragma once

#include <cstdint>

namespace headroom {

/// torchao's class that rounds weights (quantization/qat/fake_quantizer.py). `intx`: IntxFakeQuantizer, whose scales are made outside the graph and kept by
/// the layer. `int4`: Int4WeightFakeQuantizer for 16-bit activations, whose scales are part of the graph.
enum class fake_quantizer : std::uint8_t { none, intx, int4 };

/// How linear layers are trained towards quantisation.
struct fake_quantization {
  fake_quantizer weights{};
  std::int64_t group{};  ///< weights of a row that share a scale
  bool activations{};    ///< what enters is rounded, too, by IntxFakeQuantizer: a scale and a zero point a token

  [[nodiscard]] constexpr bool active() const { return weights != fake_quantizer::none; }
  bool operator==(const fake_quantization&) const = default;
};

}  // namespace headroom
