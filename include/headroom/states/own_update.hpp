// Distributed under the Boost Software License, Version 1.0.
// Temporaries of an optimizer's own code (recipe/update_programs.hpp), added up over the tensors of a rank.
#pragma once

#include <headroom/model/weight.hpp>
#include <headroom/recipe/update.hpp>

namespace headroom::detail {

/// Tables that some optimizers treat apart.
enum class table_kind : std::uint8_t { none, embedding, head };
constexpr table_kind table_of(module m) { return m == module::embedding ? table_kind::embedding : m == module::head ? table_kind::head : table_kind::none; }

/// Adds up what an optimizer's own code makes for a moment, tensor by tensor.
class update_sum {
 public:
  struct held {
    bytes size{};
  };

  constexpr void run(const update_program& p, const updated_tensor& t, std::int64_t granule) {
    run_update(
        p, t, named_,
        [&](std::int64_t n) {
          const bytes b{checked::add(n, granule - 1) & ~(granule - 1)};
          live_ += b;
          tallest_ = max(tallest_, live_);
          return held{b};
        },
        [&](const held& h) { live_ = live_ - h.size; });
  }
  [[nodiscard]] constexpr bytes tallest() const { return tallest_; }

 private:
  std::array<held, update_program::names> named_{};
  bytes live_{}, tallest_{};
};

}  // namespace headroom::detail
