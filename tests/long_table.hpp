// Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <headroom/model/shape.hpp>

/// The model with positions for any sequence that a test draws.
constexpr headroom::shape long_table(headroom::shape m) {
  m.max_positions = 8192;
  return m;
}
