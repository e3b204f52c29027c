// Distributed under the Boost Software License, Version 1.0.
// Matrix multiplications: how long one takes by its sizes.
#pragma once

#include <headroom/cost/machine.hpp>

namespace headroom {

/// rows × inner times inner × columns, `batch` times.
struct matmul {
  double rows{};
  double columns{};
  double inner{};
  double batch{1};
  [[nodiscard]] constexpr double flops() const { return 2 * rows * columns * inner * batch; }
};

/// Tensor cores want 16-byte rows: 8 elements of 16 bits (NVIDIA, Matrix Multiplication Background User's Guide, section 4.1).
/// Other sizes run on kernels without them.
constexpr bool aligned(std::int64_t features, std::int64_t width) { return features * width % 16 == 0; }

/// Up to whole tiles of 128 × 128, in which the results are computed (the same guide, section 4.2).
constexpr double whole_tiles(double n) {
  const auto tiles = static_cast<std::int64_t>((n + 127) / 128);
  return n < 128 ? 128.0 : 128.0 * static_cast<double>(tiles);
}

/// `rate`: FLOP/s of large multiplications. What is read and written is not hidden behind the first and last tiles.
constexpr double seconds_of(const matmul& x, double rate) {
  return 2 * whole_tiles(x.rows) * whole_tiles(x.columns) * x.inner * x.batch / rate;
}

}  // namespace headroom
