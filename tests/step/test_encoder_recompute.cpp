// Distributed under the Boost Software License, Version 1.0.
// An encoder's layers under recompute: whole layers keep what enters them, and nothing else; none and selective keep what their operations save.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include "../block/families.hpp"

namespace test_encoder_recompute {

using namespace families;

namespace {

/// What lies there when the loss is computed.
std::int64_t saved(shape m, std::int64_t encoder_layers, recompute how) {
  m.encoder.layers = encoder_layers;
  job j{.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 128}, .recompute = how, .attention = attention::sdpa};
  const auto r = estimate(j);
  return r.ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
}

}  // namespace

TEST_CASE("recomputed layers of an encoder keep their input, others more than ten of it") {
  int seen = 0;
  for (const auto& f : all()) {
    const auto& m = f.model;
    if (m.encoder.layers < 2 || !m.encoder.cross_attention || m.layers > 12 || f.type == "whisper") continue;
    CAPTURE(f.type);
    const auto positions = 2 * (m.encoder.sequence > 0 ? m.encoder.sequence : 128), input = positions * m.hidden * 2;
    try {
      const auto whole = saved(m, 4, recompute::full) - saved(m, 2, recompute::full), none = saved(m, 4, recompute::none) - saved(m, 2, recompute::none);
      CHECK(whole >= 2 * input);
      CHECK(whole < 2 * input * 11 / 10);
      CHECK(none > 2 * 5 * input);
      ++seen;
    } catch (const job_error& e) {
      const std::string why = e.what();
      CAPTURE(why);
      CHECK(why.find("headroom: ") == 0);
    }
  }
  CHECK(seen >= 3);
}

}  // namespace test_encoder_recompute
