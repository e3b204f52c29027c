// Distributed under the Boost Software License, Version 1.0.
// The temporaries of an Adam that updates tensor by tensor.
// Source: torch/optim/adamw.py _single_tensor_adamw.
#pragma once

#include <headroom/units/quantity.hpp>

namespace headroom::detail {

/// sqrt, then its quotient, while Python still names the previous tensor's.
struct update_loop {
  bytes tallest{};  ///< two of a tensor's temporaries and the one before's, at their most
  bytes beside{};   ///< of it, the one before's

  /// The tensor that is updated next has temporaries of that size.
  constexpr void update(bytes temporary) {
    if (in_layers && first_of_layer == bytes{0}) first_of_layer = temporary;
    rise(temporary);
    previous = temporary;
  }
  /// The weights of one layer are updated one after another, then those of the next: the last comes before the first.
  constexpr void begin_layers() {
    first_of_layer = bytes{0};
    in_layers = true;
  }
  constexpr void end_layers(bool repeated) {
    if (repeated) rise(first_of_layer);
    in_layers = false;
  }

 private:
  bytes previous{}, first_of_layer{};
  bool in_layers{};

  constexpr void rise(bytes temporary) {
    if (previous + 2 * temporary <= tallest) return;
    tallest = previous + 2 * temporary;
    beside = previous;
  }
};

}  // namespace headroom::detail
