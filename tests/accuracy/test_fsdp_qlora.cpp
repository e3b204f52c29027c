// Distributed under the Boost Software License, Version 1.0.
// fsdp_qlora's own benchmark of March 2024: two 24 GB GPUs, LoRA and QLoRA over FSDP1, peak of reserved memory.
#include <headroom/replay.hpp>
#include <headroom/replay/load_trace.hpp>
#include <headroom/replay/tensor_memory.hpp>
#include <headroom/replay/wrap_trace.hpp>

#include "records.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace test_fsdp_qlora {

using namespace accuracy;

TEST_CASE("fsdp_qlora's benchmark") {
  for (const auto& r : all_records()) {
    if (r.of.family != "fsdp-qlora") continue;
    CAPTURE(r.of.id);
    // The 70B run reserved 16.0 GB; a replay of the allocator gives 14.6, and no term is known that is missing. On the 4090s a GPU's memory is
    // full in both runs with offload: cached segments are given back, and what is left of them depends on the order.
    const bool full = r.of.id.find("-4090") != std::string::npos;
    CHECK(std::abs(r.error()) <= (r.of.what == headroom::io::metric::allocated ? 0.001 : r.of.id == "fsdpqlora-70b-qlora-off-bs2" ? 0.09 : full ? 0.063 : 0.018));
  }
}

TEST_CASE("fsdp_qlora's benchmark: what wrapping the model has reserved") {
  // "It's actually about 3.72GiB (see reserved_after_model_wrap)": Llama-2 7B, QLoRA, two GPUs.
  for (const auto& r : all_records()) {
    if (r.of.id != "fsdpqlora-7b-qlora-512") continue;
    const auto s = headroom::settle(r.job);
    const auto list = headroom::weights_of(s.model);
    headroom::caching_allocator allocator;
    headroom::tensor_memory memory(allocator);
    headroom::detail::quantise_weights(memory, allocator, s, list);
    headroom::detail::wrap_units(memory, s, list);
    CHECK(std::abs(static_cast<double>(allocator.reserved()) / (1 << 30) - 3.72) <= 0.005);
  }
}

}  // namespace test_fsdp_qlora
