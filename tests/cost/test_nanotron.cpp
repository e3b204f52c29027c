// Distributed under the Boost Software License, Version 1.0.
// Steps of nanotron that its processors set the pace of: what they start of a layer, counted in its code by hand.
#include <headroom/cost/cost.hpp>
#include <headroom/framework/frameworks.hpp>
#include <headroom/headroom.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

namespace test_nanotron_cost {

using namespace headroom;

namespace {

/// Layers so small that starting their kernels takes longest.
job small(std::int64_t layers, std::int64_t tensor) {
  job j{.model = *models::find("llama-2-7b"), .hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::nanotron,
        .parallel = {.tensor = tensor, .sequence = tensor > 1}, .batch = {.sequence = 512, .accumulation = 8}};
  j.hardware.gpus_per_node = tensor;
  j.model.layers = layers, j.model.hidden = 512, j.model.heads = j.model.kv_heads = 8, j.model.head_dim = 64, j.model.ffn = 1024, j.model.vocab = 1024;
  return j;
}
double seconds_of(const job& j) { return cost(j).step.value; }
/// Operations that are started for each layer of a micro-batch.
double started(std::int64_t tensor, bool asynchronous, bool gathers_again = true) {
  const auto with = [&](std::int64_t layers) {
    auto j = small(layers, tensor);
    j.framework.communication.overlaps_input_gradients = asynchronous;
    j.framework.communication.keeps_gathered = !gathers_again;
    return seconds_of(j);
  };
  return (with(12) - with(2)) / 10 / 8 / calibrated::hopper.host_operation;
}

/// Of a step over so many data-parallel ranks, what each layer more adds, by one rate alone: what slices take, or what collectives take to start.
double sliced(std::int64_t ranks, bool shards, double latency = 0) {
  rates r{.matmul = 1e30, .flash_first = 1e30, .flash = 1e30, .flash_fast = 1e30, .memory = 1e30, .link = 1e30, .network = 1e30};
  r.unaligned = 1e30, r.latency = latency, r.host_operation = r.kernel_gap = r.hop = r.round = r.host_collective = r.stall = r.channels = r.step = 0;
  const auto with = [&](std::int64_t layers) {
    auto j = small(layers, 1);
    j.hardware.nodes = ranks / 8, j.hardware.gpus_per_node = 8;
    j.model.fused_qkv = j.model.fused_gate_up = true;
    if (shards) j.sharding = zero(1);
    return cost(j, r).step.value;
  };
  if (latency > 0) r.host_slice = 0;
  return (with(12) - with(2)) / 10 / (latency > 0 ? latency : r.host_slice);
}

}  // namespace

// optim/zero.py _all_gather_params and distributed.py all_gather_coalesced: of each parameter (four matrices and two norms a layer) each rank's part is a slice, and a copy.
TEST_CASE("ZeRO-1 of nanotron slices every parameter for every rank") {
  CHECK(sliced(16, true) == doctest::Approx(16 * 6));
  CHECK(sliced(256, true) == doctest::Approx(256 * 6));
  CHECK(sliced(256, false) == doctest::Approx(0));
}

// optim/gradient_accumulator.py get_fp32_accum_hook: of DDP's buckets each tensor is summed by itself, twice the start of a gather. ZeRO-1 sums one buffer.
TEST_CASE("DDP of nanotron sums tensor by tensor") {
  CHECK(sliced(16, false, 1e-3) == doctest::Approx(2 * 6));
  CHECK(sliced(16, true, 1e-3) == doctest::Approx(0));
}

TEST_CASE("operations that a processor starts for a layer, forward and backward") {
  // models/llama.py. Forward: norm, q | k | v, their copy in another order, keys beside values and their copy, queries and keys turned, attention, output, sum;
  // norm, gate | up, silu, product, down, sum. Mask: zeros, sum and running sum, of queries and of keys.
  constexpr double forward = 16 + 6;
  // Backward: as many, and two copies that join gradients of q, k and v, and of gate and up; an addition in fp32 for each of four matrices and two norms.
  constexpr double backward = 16 + 2 + 6;
  constexpr double alone = forward + backward;
  CHECK(started(1, false) == doctest::Approx(alone).epsilon(0.02));
  // Gathered before q | k | v and gate | up, scattered behind output and down; backward gathers both ends' gradients and both inputs, and scatters two gradients.
  CHECK(started(8, false) == doctest::Approx(alone + 4 + 6).epsilon(0.02));
  CHECK(started(8, false, false) == doctest::Approx(alone + 4 + 4).epsilon(0.02));  // inputs stay
  // Two multiplications of forward and two of backward are three.
  CHECK(started(8, true) == doctest::Approx(alone + 4 + 6 + 4 + 4).epsilon(0.02));
  CHECK(started(2, true) == doctest::Approx(alone + 4 + 6 + 2 + 2).epsilon(0.02));
}

}  // namespace test_nanotron_cost
