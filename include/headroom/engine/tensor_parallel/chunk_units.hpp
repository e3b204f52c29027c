// Distributed under the Boost Software License, Version 1.0.
// Who does something around a chunk's layers (engine/tensor_parallel/chunk_step.hpp): nobody, nanotron or DeepSpeed.
#pragma once

#include <headroom/engine/tensor_parallel/kept_gradients.hpp>

namespace headroom::detail {

enum class chunk_units : std::uint8_t { none, nanotron, deepspeed };
constexpr chunk_units units_of(const settled_job& s) {
  const auto& f = s.source->framework;
  if (f.modules.deepspeed()) return chunk_units::deepspeed;
  return f.gradients.stay_in_micro_batch ? chunk_units::nanotron : chunk_units::none;
}

/// use(units) with those of a job. `first`, `last`: the chunk has the embedding, or the head.
constexpr void with_units(const settled_job& s, bool first, bool last, auto& to, const auto& use) {
  switch (units_of(s)) {
    case chunk_units::none: {
      weights_in_place units;
      return use(units);
    }
    case chunk_units::nanotron: {
      kept_gradients units(sizes_of_embedding(s), first, to);
      return use(units);
    }
    case chunk_units::deepspeed: break;
  }
  deepspeed_chunk units(pipe_of(s, first, last), to);
  use(units);
}

}  // namespace headroom::detail
