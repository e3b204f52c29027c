// Distributed under the Boost Software License, Version 1.0.
// nanotron's layers, states and stages, counted by hand from its source (huggingface/nanotron 67c5ebb6).
#include <headroom/headroom.hpp>
#include <headroom/measured.hpp>
#include <headroom/replay.hpp>

#include "both.hpp"

#include <algorithm>

namespace test_nanotron_step {

using namespace headroom;

namespace {

/// 1,024 features, 8 heads, 4 of them of keys and values if grouped, 4,096 in between; 2,048 tokens.
constexpr job llama(std::int64_t layers, std::int64_t tensor, bool grouped = false) {
  job j{.model = {.layers = layers, .hidden = 1024, .heads = 8, .kv_heads = grouped ? 4 : 8, .head_dim = 128, .ffn = 4096, .vocab = 32768, .tied = false, .fused_qkv = true, .fused_gate_up = true},
        .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor},
        .framework = frameworks::nanotron,
        .parallel = {.tensor = tensor, .sequence = tensor > 1},
        .batch = {.micro = 2, .sequence = 1024, .accumulation = 2},
        .attention = attention::flash};
  j.framework.communication.overlaps_input_gradients = true;
  return j;
}
constexpr std::int64_t activations_at_loss(const job& j) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count(); }
constexpr std::int64_t rows_of(const job& j, row r) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(phase::step)][r].count(); }

constexpr std::int64_t x = 2 * 2048 * 1024, f = 2 * 2048 * 4096, tokens = 2048;

}  // namespace

// Its input, both norms' outputs and the sum between the halves: 4 X. q, k and v in another order, 3 X; k and v again, 2 X; what attention makes, X. Gate and
// up, 2 F, what the function makes of one, F, and the product, F. A statistic for each norm's rows, and one for each head's (fp32).
TEST_CASE("what a layer saves") {
  BOTH(activations_at_loss(llama(3, 1)) - activations_at_loss(llama(2, 1)) == 10 * x + 4 * f + 2 * 4 * tokens + 4 * tokens * 8);
  BOTH(activations_at_loss(llama(3, 2)) - activations_at_loss(llama(2, 2)) == (10 * x + 4 * f + 2 * 4 * tokens + 4 * tokens * 8) / 2);
  // Grouped: q is a copy of its own, and of k and v only what is joined of them stays, of half the width each.
  BOTH(activations_at_loss(llama(3, 1, true)) - activations_at_loss(llama(2, 1, true)) == 7 * x + 4 * f + 2 * 4 * tokens + 4 * tokens * 8);
}

TEST_CASE("states") {
  // 2 V h + L (4 h² + 3 h I + 2 h) + h of two layers: 100,668,416 parameters.
  constexpr std::int64_t n = 2 * 32768 * 1024 + 2 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024) + 1024;
  static_assert(n == 100'668'416);
  auto j = llama(2, 1);
  CHECK(rows_of(j, row::model_parameters) == 2 * n);
  CHECK(rows_of(j, row::gradients) == 4 * n);
  CHECK(rows_of(j, row::master_parameters) == 4 * n);
  CHECK(rows_of(j, row::optimizer_state) == 8 * n);
  CHECK(rows_of(j, row::communication_buffers) == 0);
  j.hardware.gpus_per_node = 4;
  j.parallel.data = 4;
  j.sharding = ddp();
  CHECK(rows_of(j, row::communication_buffers) == 2 * n);  // DDP's buckets
  j.sharding = zero(1);
  CHECK(rows_of(j, row::communication_buffers) == 0);
  CHECK(rows_of(j, row::gradients) == 4 * n);
  CHECK(rows_of(j, row::master_parameters) == n);
  CHECK(rows_of(j, row::optimizer_state) == 2 * n);
  CHECK(rows_of(j, row::temporaries) == 2 * n / 4 + 2 * n + 2 * n);  // shards, gathered, and the tensor that NCCL fills
}

TEST_CASE("buffers of tensor-parallel ranks, and what is left open") {
  auto j = llama(2, 2);
  CHECK(rows_of(j, row::communication_buffers) == 2 * x);  // allgather, allgather2
  j.framework.communication.overlaps_input_gradients = false;
  CHECK(rows_of(j, row::communication_buffers) == x);
  CHECK(estimate(j).assumptions.has(assumption::host_ahead_of_collectives));
  CHECK_FALSE(estimate(llama(2, 1)).assumptions.has(assumption::host_ahead_of_collectives));
}

// What collectives read of a layer: in forward two partial sums of all tokens, X each, in backward two gradients of all tokens, and six tensors of an eighth. Of a long
// step those of 22 layers wait for the GPU at most, of whichever micro-batch. In the only one of a step the host starts even: fewer, never more.
TEST_CASE("a step begins with the host even with the GPU") {
  const auto reserved = [](std::int64_t micro, std::int64_t accumulation) {
    auto j = llama(8, 8);
    j.batch.micro = micro;
    j.batch.accumulation = accumulation;
    return replay(j).ranks[0].reserved.count();
  };
  double most = 0;  // of X that a longer step has waiting more
  for (const std::int64_t micro : {8, 16, 24, 32, 48, 64, 256}) {
    const auto more = static_cast<double>(reserved(micro, 64) - reserved(micro, 1)) / static_cast<double>(micro * 1024 * 1024 * 2);
    CHECK(more >= 0);
    CHECK(more <= 22 * (2 + 6 / 8.0));
    most = std::max(most, more);
  }
  CHECK(most >= 14 * 2);  // eight layers of the step's own are ahead at most: 22 less those
}

// A stage writes and reads shapes of what it sends and receives, and waits for its GPU at each. Between two messages lie a forward of its four layers, in a longer step a
// backward and a forward: of four layers three, of eight seven wait for the GPU at most, beside the one that the host works on. Each has two partial sums or gradients of
// all tokens, X, and six tensors of a half. Of a GPU whose speed is not known one layer is assumed.
TEST_CASE("a stage's host is even with the GPU after each message") {
  const auto ahead = [](std::int64_t micro, std::int64_t accumulation) {
    auto j = llama(8, 2);
    j.parallel.pipeline = 2;
    j.hardware.nodes = 2;
    j.batch.micro = micro;
    j.batch.accumulation = accumulation;
    const auto known = replay(j).ranks[0].reserved.count();
    j.hardware.gpu.bandwidth_gb_s = 0;
    return static_cast<double>(known - replay(j).ranks[0].reserved.count()) / static_cast<double>(micro * 1024 * 1024 * 2);
  };
  for (const std::int64_t micro : {128, 256}) {
    const auto one = ahead(micro, 2), more = ahead(micro, 64);
    CHECK(one >= 2 * 2);
    CHECK(one <= 3 * (2 + 6 / 2.0));
    CHECK(more >= one + 3 * 2);
    CHECK(more <= 7 * (2 + 6 / 2.0));
  }
}

// The first stage of four, of two layers each, sends three times before it receives: its third forward and its fourth wait for the GPU, four layers of two partial sums
// of all tokens, X, and three tensors of a half. Up to 32 nodes; the loop of larger runs mostly waits for its messages.
TEST_CASE("the first stage's host goes on past its sends") {
  const auto reserved = [](std::int64_t nodes, std::int64_t pipeline) {
    auto j = llama(2 * pipeline, 2);
    j.parallel.pipeline = pipeline;
    j.hardware.nodes = nodes;
    j.batch.micro = 64;
    j.batch.accumulation = 8;
    const auto r = replay(j);
    return static_cast<double>(r.ranks[0].reserved.count()) / static_cast<double>(64 * 1024 * 1024 * 2);
  };
  CHECK(reserved(32, 4) - reserved(64, 4) >= 2 * 2);
  CHECK(reserved(32, 4) - reserved(64, 4) <= 4 * (2 + 3 / 2.0));
  CHECK(reserved(32, 2) == doctest::Approx(reserved(64, 2)).epsilon(1e-6));
}

// A run that reserved more has a host that was further ahead, where tensor parallelism leaves that open: no other run has it in common. Without tensor parallelism the
// rest is of the plan: four fifths of it are the other's, too, and three tenths of where tensors found their places, which is most of it here.
TEST_CASE("how far one run's host was ahead says nothing of another's") {
  for (const std::int64_t tensor : {1, 8}) {
    const auto ran = llama(8, tensor);
    auto other = ran;
    other.batch.accumulation = 4;
    const auto was = replay(ran).ranks[0].reserved, more = was / 100;
    measured_run figures;
    figures.measured[static_cast<std::size_t>(reading::reserved)] = was + more;
    const auto before = replay(other).ranks[0].reserved;
    other.measured = measured_by(ran, figures);
    const auto moved = static_cast<double>((replay(other).ranks[0].reserved - before).count()) / static_cast<double>(more.count());
    CAPTURE(tensor);
    CHECK(moved >= (tensor == 1 ? 0.25 : 0));
    CHECK(moved <= (tensor == 1 ? 0.4 : 0.15));
  }
}

TEST_CASE("what is not modelled is refused") {
  auto j = llama(2, 1);
  j.sharding = zero(2);
  j.hardware.gpus_per_node = 2;
  CHECK(std::string_view{objection_to(j).sentence}.find("stage 0 or 1") != std::string_view::npos);
}

}  // namespace test_nanotron_step
