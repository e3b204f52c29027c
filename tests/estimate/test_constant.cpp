// Distributed under the Boost Software License, Version 1.0.
// Models with an encoder or a tower are estimated in constant expressions, too, and to the same byte. tests/zoo does it with every model.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_constant {

using namespace headroom;

namespace {

constexpr job job_of(const shape& m) {
  return {.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .batch = {.sequence = 256}};
}

template <const shape& M>
void check_constant() {
  static constexpr job j = job_of(M);
  static constexpr report known = estimate(j);
  static_assert(known.ranks[0].allocated > bytes{0});
  CHECK(estimate(j) == known);
}

}  // namespace

TEST_CASE("an encoder-decoder, a model that hears and one that sees are constant expressions") {
  check_constant<models::flan_t5_xl>();
  check_constant<models::whisper_small>();
  check_constant<models::llava_1_5_7b>();
}

}  // namespace test_constant
